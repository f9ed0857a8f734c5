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
  - "List the running VMs of a host - C(virtinfra.manager.vm_info: {query: [state=Running, host.name=host-1]})"
  - "Wait until no VM migrates - C(virtinfra.manager.vm_info: {query: [state=Migrating], wait_for: {exists: false,
    timeout: 1800}})"
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
  - VMs in every state are listed. Services keep a deleted VM for some time in the state V(Destroyed) or V(Expunging).
    Use O(query=state!=Destroyed) to exclude such VMs.
options:
  include_tags:
    description:
      - Whether to add the user tags of each VM as C(tags), among them the marks of roles, which say what a role will
        put back. This needs one more query, which lists the tags of all objects unless the result has one VM.
    type: bool
    default: false
    version_added: 1.0.0
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
  - virtinfra.manager._query_fields.vm
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
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
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(name), C(description), C(zone_uuid), C(cluster_uuid), C(image_uuid), C(host_uuid), C(last_host_uuid),
      C(instance_offering_uuid), C(root_volume_uuid), C(default_l3_network_uuid), C(platform), C(architecture), C(type),
      C(hypervisor_type), C(memory_size), C(cpu_num), C(cpu_speed), C(allocator_strategy), C(create_date),
      C(last_op_date), C(state), C(guest_os_type), C(vm_nics), C(all_volumes) and C(vm_cd_roms). C(tags) is returned
      when O(include_tags) is true.
  returned: success
  type: list
  elements: dict
total:
  description: The number of matching VMs, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import TAG_OPTION
from ..module_utils._modules.read import list_module

MODULE = list_module("QueryVmInstance", returns="vms", cursor="vm", options=TAG_OPTION)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
