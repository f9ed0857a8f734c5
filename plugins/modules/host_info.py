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
  - "Find a host - C(virtinfra.manager.host_info: {name: host-1})"
  - "List at most ten enabled hosts of a cluster - C(virtinfra.manager.host_info: {query: [state=Enabled,
    cluster.name=cluster-1], limit: 10})"
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
options:
  include_tags:
    description:
      - Whether to add the user tags of each host as C(tags), among them the marks of roles, which say what a role will
        put back. This needs one more query, which lists the tags of all objects unless the result has one host.
    type: bool
    default: false
    version_added: 1.0.0
extends_documentation_fragment:
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
    - The fields, see R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records), are C(uuid),
      C(name), C(description), C(zone_uuid), C(cluster_uuid), C(management_ip), C(hypervisor_type), C(state), C(status),
      C(architecture), C(hostname), C(nqn), C(total_cpu_capacity), C(available_cpu_capacity), C(total_memory_capacity),
      C(available_memory_capacity), C(cpu_sockets), C(cpu_num), C(ipmi_address), C(ipmi_username), C(ipmi_power_status),
      C(ipmi_port), C(create_date), C(last_op_date), C(cpu_status), C(memory_status), C(disk_status), C(nic_status),
      C(gpu_status), C(power_supply_status), C(fan_status), C(raid_status), C(temperature_status), C(username) and
      C(ssh_port). C(tags) is returned when O(include_tags) is true.
  returned: success
  type: list
  elements: dict
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
