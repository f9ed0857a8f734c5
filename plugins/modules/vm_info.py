# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm_info
short_description: List virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists virtual machines with their NICs and volumes. The list is complete, or the module fails.
  - List all VMs - C(virtinfra.manager.vm_info:)
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
  - VMs in every state are listed. Services keep a deleted VM for some time in the state V(Destroyed) or V(Expunging).
    Use O(query=state!=Destroyed) to exclude such VMs.
extends_documentation_fragment:
  - virtinfra.manager._tags.listed
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
  - virtinfra.manager._query_fields.vm
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
options:
  console:
    description:
      - Whether to read the address of the console of each VM that runs, with a request for each. It contains no
        password and no token.
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.vm
  - module: virtinfra.manager.vm_nic
  - module: virtinfra.manager.resource_info
"""

EXAMPLES = r"""
- name: List all VMs
  virtinfra.manager.vm_info:

- name: List the running VMs of a host
  virtinfra.manager.vm_info:
    query:
      - state=Running
      - host.name=host-1

- name: Find the console of a VM
  virtinfra.manager.vm_info:
    name: vm-1
    console: true

- name: Wait until a VM that starts by itself runs, or has crashed
  virtinfra.manager.vm_info:
    name: vm-1
    wait_for:
      field: state
      values: [Running, Crashed]
  register: started
  failed_when: started is failed or started.vms[0].state == 'Crashed'

- name: Wait until no VM migrates
  virtinfra.manager.vm_info:
    query: [state=Migrating]
    wait_for:
      exists: false
      timeout: 1800

- name: List the VMs that the role vm_power has stopped
  virtinfra.manager.vm_info:
    query:
      - __userTag__=virtinfra.manager vm_power default 01 Running
    include_tags: true
"""

RETURN = r"""
vms:
  description:
    - The VMs.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(memory_size) is in bytes. C(console) is returned when O(console) is true. C(tags) is returned when
      O(include_tags) is true.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000004000040008000000000000001, name: vm-1, type: UserVm, description: guest 1,
      zone_uuid: a0000001000040008000000000000001, cluster_uuid: a0000002000040008000000000000001,
      image_uuid: a0000012000040008000000000000001, host_uuid: a0000003000040008000000000000001,
      last_host_uuid: a0000003000040008000000000000001, instance_offering_uuid: a0000013000040008000000000000001,
      root_volume_uuid: a0000007000040008000000000000001, default_l3_network_uuid: a0000005000040008000000000000001,
      platform: Linux, architecture: x86_64, hypervisor_type: KVM, memory_size: 4294967296, cpu_num: 2, cpu_speed: 0,
      allocator_strategy: LeastVmPreferredHostAllocatorStrategy, create_date: 'Jan 6, 2024 4:52:16 AM',
      last_op_date: 'Jan 6, 2024 4:52:16 AM', state: Running, guest_os_type: Linux,
      vm_nics:
        [{uuid: a0000006000040008000000000000001, type: VNIC, ip: 10.101.0.11, mac: 'fa:00:00:00:00:01',
          hypervisor_type: KVM, netmask: 255.255.0.0, gateway: 10.101.0.1, meta_data: '{}', driver_type: virtio,
          internal_name: vnic000001.0, state: enable, ip_version: 4, device_id: 0}],
      all_volumes:
        [{uuid: a0000007000040008000000000000001, name: root-of-vm-1, type: Root,
          description: was attached to another machine,
          install_path: /storage/volumes/a0000007000040008000000000000001.qcow2, format: qcow2, state: Enabled,
          status: Ready, volume_qos: total=10485760, size: 42949672960, actual_size: 2147483648, device_id: 0,
          is_shareable: false, encrypted: false}],
      vm_cd_roms:
        [{uuid: a0000015000040008000000000000001, name: cd-rom-of-vm-1, iso_install_path: /storage/images/tools.iso,
          description: guest tools, device_id: 0}], console: {protocol: vnc, host_ip: 10.0.0.11, port: 5900},
      tags: [production]}]
total:
  description: The number of matching VMs, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.consoles import with_consoles
from ..module_utils._modules.options import TAG_OPTION
from ..module_utils._modules.read import list_module

MODULE = with_consoles(list_module("QueryVmInstance", returns="vms", cursor="vm", options=TAG_OPTION))


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
