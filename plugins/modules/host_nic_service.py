# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: host_nic_service
short_description: Manage the service types of host network interfaces
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Sets the service types (kinds of traffic) of physical interfaces of hosts, for each of the given VLANs.
  - "Use an interface for tenant networks and for migration - C(virtinfra.manager.host_nic_service: {host: host-1,
    interfaces: [eth1], service_types: [TenantNetwork, MigrationNetwork]})"
  - The given types replace those of each interface and VLAN. Only interfaces and VLANs that differ are set.
  - The API can neither add nor remove V(ManagementNetwork). The module keeps that type on an interface that has it, and
    warns when it sets other types on the same interface. It fails if V(ManagementNetwork) would have to be added.
extends_documentation_fragment:
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags
  - virtinfra.manager._references
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.actiongroup_api
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - When the service does not show the service types of interfaces, the module sets them each time, reports a
        change and warns.
options:
  state:
    description: V(present) sets exactly the given service types.
    type: str
    choices: [present]
    default: present
  host:
    description:
      - The host of the O(interfaces), by name or uuid. Required if they are given by name and several hosts have
        interfaces with these names.
      - The module fails, and changes nothing, if an interface to set is on another host.
    type: str
    aliases: [host_uuid]
  interfaces:
    description: The physical interfaces, by name or uuid. Their names are, for example, V(eth1).
    type: list
    elements: str
    aliases: [interface_uuids]
    required: true
  vlan_ids:
    description: The VLANs on these interfaces, from 0 to 4094. By default 0, which means the interfaces themselves.
      With an empty list, the module does nothing, and warns.
    type: list
    elements: int
  service_types:
    description: The service types, in any order. An empty list removes all of them.
    type: list
    elements: str
    choices: [ManagementNetwork, TenantNetwork, StorageNetwork, BackupNetwork, MigrationNetwork]
    required: true
seealso:
  - module: virtinfra.manager.host_network_info
  - module: virtinfra.manager.host_nic_candidate_info
  - module: virtinfra.manager.kvm_host
  - module: virtinfra.manager.batch
"""

EXAMPLES = r"""
- name: Use an interface for tenant networks and for migration
  virtinfra.manager.host_nic_service:
    host: host-1
    interfaces: [eth1]
    service_types: [TenantNetwork, MigrationNetwork]

- name: Use a VLAN on two interfaces for storage
  virtinfra.manager.host_nic_service:
    interfaces:
      - a0000009000040008000000000000002
      - a0000009000040008000000000000006
    vlan_ids: [100]
    service_types: [StorageNetwork]

- name: Remove all service types of an interface
  virtinfra.manager.host_nic_service:
    host: host-1
    interfaces: [eth1]
    service_types: []
"""

RETURN = r"""
services:
  description: The service types of each interface and VLAN. In check mode and with O(wait=false), the predicted ones.
  returned: success
  type: list
  elements: dict
  contains:
    interface_uuid:
      description: The uuid of the interface.
      type: str
    interface_name:
      description: The name of the interface, as the task gives it. Null for another interface.
      type: str
      returned: when O(interfaces) is a name
    vlan_id:
      description: The VLAN, 0 for the interface itself.
      type: int
    service_types:
      description: The service types, sorted.
      type: list
      elements: str
  sample:
    - interface_uuid: a0000009000040008000000000000002
      vlan_id: 0
      service_types: [MigrationNetwork, TenantNetwork]
records:
  description:
    - The records that the service created when the module set service types, one for each interface, VLAN and service
      type.
    - The service creates new records each time service types are set, so their dates show when that was.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
  returned: when service types were set
  type: list
  elements: dict
  sample:
    [{id: 7, interface_uuid: a0000009000040008000000000000002, interface_name: eth0, vlan_id: 0,
      create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM', service_type: ManagementNetwork}]
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  sample: >-
    {uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, job_uuid: 5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c,
    location: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c, operation: StartVmInstance, object: vm vm-1,
    state: running}
"""


from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.spec import ResourceSpec
from ..module_utils._modules.options import reference, references
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.hosts import MANAGEMENT, find_nothing_to_set, plan_service_types, read_nic_services

SERVICES = ResourceSpec(
    record_type="HostNicServices",
    result_key="services",
    find=read_nic_services,
    update="SetServiceTypeOnHostNetworkInterface",
    plan=plan_service_types,
    find_ignored=find_nothing_to_set,
    format_result=lambda record: {"services": (record or {}).get("services", [])},
)
MODULE = resource_module(
    SERVICES,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present"]},
        "host": reference("hostUuid"),
        "interfaces": references("interfaceUuids", required=True),
        "vlan_ids": {"type": "list", "elements": "int"},
        "service_types": {
            "type": "list",
            "elements": "str",
            "required": True,
            "choices": [MANAGEMENT, "TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork"],
        },
    },
    selecting_options=("host",),
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
