# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: host_info
short_description: List hosts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Lists hosts. The list is complete, or the module fails.
  - List all hosts - C(virtinfra.manager.host_info:)
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
extends_documentation_fragment:
  - virtinfra.manager._tags.listed
  - virtinfra.manager._connection
  - virtinfra.manager._listing
  - virtinfra.manager._listing.names
  - virtinfra.manager._listing.filters
  - virtinfra.manager._query_fields.host
  - virtinfra.manager._attributes
  - virtinfra.manager._attributes.facts
  - virtinfra.manager._attributes.actiongroup_api
seealso:
  - module: virtinfra.manager.kvm_host
  - module: virtinfra.manager.host_network_info
  - module: virtinfra.manager.resource_info
"""

EXAMPLES = r"""
- name: List all hosts
  virtinfra.manager.host_info:

- name: Find a host
  virtinfra.manager.host_info:
    name: host-1

- name: List at most ten enabled hosts of a cluster
  virtinfra.manager.host_info:
    query:
      - state=Enabled
      - cluster.name=cluster-1
    limit: 10

- name: Wait until a host is connected
  virtinfra.manager.host_info:
    name: host-1
    wait_for:
      field: status
      values: [Connected]
      timeout: 600

- name: List all hosts with their user tags
  virtinfra.manager.host_info:
    include_tags: true
"""

RETURN = r"""
hosts:
  description:
    - The hosts.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(total_memory_capacity) and C(available_memory_capacity) are in bytes. C(tags) is returned when O(include_tags)
      is true.
  returned: success
  type: list
  elements: dict
  sample:
    [{uuid: a0000003000040008000000000000001, name: host-1, description: hypervisor 1,
      zone_uuid: a0000001000040008000000000000001, cluster_uuid: a0000002000040008000000000000001,
      management_ip: 10.0.0.11, hypervisor_type: KVM, state: Enabled, status: Connected, architecture: x86_64,
      hostname: host-1.example.com, nqn: 'nqn.2014-08.org.nvmexpress:uuid:host-1', total_cpu_capacity: 320,
      available_cpu_capacity: 300, total_memory_capacity: 274877906944, available_memory_capacity: 206158430208,
      cpu_sockets: 2, cpu_num: 32, ipmi_address: 172.31.0.2, ipmi_username: admin, ipmi_power_status: POWER_ON,
      ipmi_port: 623, create_date: 'Jan 6, 2024 4:52:16 AM', last_op_date: 'Jan 6, 2024 4:52:16 AM',
      cpu_status: Normal, memory_status: Normal, disk_status: Normal, nic_status: Normal, gpu_status: Normal,
      power_supply_status: Normal, fan_status: Normal, raid_status: Normal, temperature_status: Normal, username: root,
      ssh_port: 22, tags: [production]}]
total:
  description: The number of matching hosts, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.options import TAG_OPTION
from ..module_utils._modules.read import list_module

MODULE = list_module("QueryHost", returns="hosts", cursor="host", options=TAG_OPTION)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
