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
  - The module reads them with a query, which needs O(session_id). It uses a cursor query, which needs O(api_token),
    when O(filters) is given, when the session is missing and when the service does not offer the query.
  - With a cursor query the module checks the conditions of O(query) itself. It can check documented fields except
    times, compares exactly, and fails on other conditions.
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
"""

RETURN = r"""
hosts:
  description: The hosts.
  returned: success
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the host., type: str, sample: a0000003000040008000000000000001}
    name: {description: The name of the host., type: str, sample: host-1}
    description: {description: The description., type: str, sample: hypervisor 1}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    cluster_uuid: {description: The uuid of the cluster., type: str, sample: a0000002000040008000000000000001}
    management_ip:
      description: The IP address or name at which the service manages the host.
      type: str
      sample: "10.0.0.11"
    hypervisor_type: {description: The type of the hypervisor., type: str, sample: KVM}
    state: {description: Whether the service uses the host., type: str, sample: Enabled}
    status: {description: Whether the service is connected to the host., type: str, sample: Connected}
    architecture: {description: The architecture of the CPU., type: str, sample: x86_64}
    hostname: {description: The hostname of the operating system., type: str, sample: host-1.example.com}
    nqn: {description: The NVMe qualified name., type: str, sample: "nqn.2014-08.org.nvmexpress:uuid:host-1"}
    total_cpu_capacity: {description: The CPU capacity that VMs can use., type: int, sample: 320}
    available_cpu_capacity: {description: The available CPU capacity., type: int, sample: 300}
    total_memory_capacity: {description: "The memory that VMs can use, in bytes.", type: int, sample: 274877906944}
    available_memory_capacity: {description: "The available memory, in bytes.", type: int, sample: 206158430208}
    cpu_sockets: {description: The number of physical CPU sockets., type: int, sample: 2}
    cpu_num: {description: The number of logical CPUs., type: int, sample: 32}
    ipmi_address: {description: The address of the IPMI controller., type: str, sample: "172.31.0.2"}
    ipmi_username: {description: The user of the IPMI controller., type: str, sample: admin}
    ipmi_power_status:
      description: "Whether the host is switched on, as the IPMI controller reports it."
      type: str
      sample: POWER_ON
    ipmi_port: {description: The port of the IPMI controller., type: int, sample: 623}
    create_date: {description: When the host was added., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the host was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    cpu_status: {description: The hardware status of the CPUs., type: str, sample: Normal}
    memory_status: {description: The hardware status of the memory., type: str, sample: Normal}
    disk_status: {description: The hardware status of the disks., type: str, sample: Normal}
    nic_status: {description: The hardware status of the NICs., type: str, sample: Normal}
    gpu_status: {description: The hardware status of the GPUs., type: str, sample: Normal}
    power_supply_status: {description: The hardware status of the power supplies., type: str, sample: Normal}
    fan_status: {description: The hardware status of the fans., type: str, sample: Normal}
    raid_status: {description: The hardware status of the RAID controllers., type: str, sample: Normal}
    temperature_status: {description: The hardware status of the temperature., type: str, sample: Normal}
total:
  description: The number of matching hosts, including those beyond O(limit).
  returned: success
  type: int
  sample: 1
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._modules.read import list_module

MODULE = list_module("QueryHost", returns="hosts", cursor="host")


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
