# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: kvm_host
short_description: Manage KVM hosts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Adds, changes, reconnects and removes KVM hosts, enables and disables them, puts them into maintenance and back, and
    switches them on and off.
  - "Put a host into maintenance, and stop the VMs that cannot migrate - C(virtinfra.manager.kvm_host: {name: host-3,
    state: maintenance, running_vms: stop})"
  - It cannot change the cluster of a host, and fails if that differs.
extends_documentation_fragment:
  - virtinfra.manager._removal
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
  - virtinfra.manager._creation
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
      - From a service without a list of hosts, without O(api_token), it acts without comparing, and warns.
      - O(power=reset) resets the host each time.
options:
  state:
    description:
      - V(present) adds the host if it does not exist. V(enabled), V(disabled) and V(maintenance) also change its state,
        V(reconnected) connects it again each time. V(absent) removes it, unless VMs run on it or lie on its local
        storage, see O(evacuate), O(force) and O(destroy_local_storage).
    type: str
    choices: [present, enabled, disabled, maintenance, reconnected, absent]
    default: present
  uuid:
    description: The uuid of the host.
    type: str
  management_ip:
    description:
      - Its address, required to add a host. It selects one without O(uuid).
    type: str
  name:
    description:
      - Its name, required to add a host. It selects one without O(uuid) and O(management_ip), else it is the new name.
        The task warns if only O(management_ip) selects a host, and renames it.
    type: str
  description:
    description: The description of the host.
    type: str
  cluster:
    description: Its cluster, by name or uuid, required to add a host.
    type: str
    aliases: [cluster_uuid]
  username:
    description: The SSH user, required to add a host.
    type: str
  password:
    description: The SSH password of a new host, see O(update_password).
    type: str
  ssh_port:
    description: The SSH port of the host.
    type: int
  update_password:
    description:
      - V(on_create) sets O(username), O(password) and O(ssh_port) only when the host is added, V(always) sets them and
        O(ipmi_password) each time.
    type: str
    choices: [on_create, always]
    default: on_create
    version_added: 1.0.0
  power:
    description:
      - V(on) switches the host on before other changes, V(off) shuts it down after them, V(reset) restarts it at once,
        each time. V(off) and V(reset) fail if VMs run on it, see O(force).
    type: str
    choices: ["on", "off", reset]
    version_added: 1.0.0
  stop_type:
    description: V(grace) shuts the system down for O(power=off), V(cold) cuts the power.
    type: str
    choices: [grace, cold]
    version_added: 1.0.0
  ipmi_address:
    description: The address of the IPMI controller.
    type: str
    version_added: 1.0.0
  ipmi_username:
    description: The user of the IPMI controller.
    type: str
    version_added: 1.0.0
  ipmi_password:
    description: The password of O(ipmi_username), never compared.
    type: str
    version_added: 1.0.0
  ipmi_port:
    description: The port of the IPMI controller.
    type: int
    version_added: 1.0.0
  running_vms:
    description:
      - What a maintenance may do to VMs. V(migrate) fails if one cannot migrate, V(stop) permits stopping those, and
        V(any) examines none.
    type: str
    choices: [migrate, stop, any]
    default: migrate
    version_added: 1.0.0
  evacuate:
    description: Whether O(state=absent) puts it into maintenance first.
    type: bool
    default: false
    version_added: 1.0.0
  force:
    description: Whether O(power) and O(state=absent) may stop VMs.
    type: bool
    default: false
    version_added: 1.0.0
  destroy_local_storage:
    description: Whether O(state=absent) may destroy VMs and data volumes on local storage.
    type: bool
    default: false
    version_added: 1.0.0
  system_tags:
    description:
      - System tags to send with the call. V(pageTableExtensionDisabled) disables EPT on a new host.
notes:
  - The guide R(Modules in detail, ansible_collections.virtinfra.manager.docsite.guide_details) says step by step what
    the module does.
seealso:
  - module: virtinfra.manager.host_info
  - module: virtinfra.manager.host_nic_service
  - module: virtinfra.manager.vm
"""

EXAMPLES = r"""
- name: Make sure that a host exists and is enabled
  virtinfra.manager.kvm_host:
    management_ip: 10.0.0.21
    name: host-21
    cluster: cluster-1
    username: root
    password: "{{ ssh_password }}"
    state: enabled

- name: Put a host into maintenance, and stop the VMs that cannot migrate
  virtinfra.manager.kvm_host: {name: host-3, state: maintenance, running_vms: stop}
  register: maintenance

- name: Switch a host off after its VMs have moved to other hosts
  virtinfra.manager.kvm_host: {name: host-3, state: maintenance, running_vms: stop, power: "off"}

- name: Switch it on, and wait until it is connected
  virtinfra.manager.kvm_host: {name: host-3, state: enabled, power: "on"}

- name: Remove a host after its VMs have moved to other hosts, unless VMs or volumes lie on its local storage
  virtinfra.manager.kvm_host: {name: host-21, state: absent, evacuate: true}

- name: Start the VMs that the maintenance stopped
  virtinfra.manager.batch:
    module: vm
    common: {state: running}
    objects: "{{ maintenance.stopped_vms }}"
"""

RETURN = r"""
host:
  description:
    - The host, null when it does not exist. In check mode and with O(wait=false), it and the lists of VMs are
      predicted.
    - R(Fields of results, ansible_collections.virtinfra.manager.docsite.guide_records) describes the fields.
      C(total_memory_capacity) and C(available_memory_capacity) are in bytes. C(tags) is returned when O(tags) is given.
  returned: success
  type: dict
  sample: >-
    {uuid: a0000003000040008000000000000001, name: host-1, description: hypervisor 1,
    zone_uuid: a0000001000040008000000000000001, cluster_uuid: a0000002000040008000000000000001,
    cluster_name: cluster-1, management_ip: 10.0.0.11, hypervisor_type: KVM, state: Enabled, status: Connected,
    architecture: x86_64, hostname: host-1.example.com, nqn: 'nqn.2014-08.org.nvmexpress:uuid:host-1',
    total_cpu_capacity: 320, available_cpu_capacity: 300, total_memory_capacity: 274877906944,
    available_memory_capacity: 206158430208, cpu_sockets: 2, cpu_num: 32, ipmi_address: 172.31.0.2,
    ipmi_username: admin, ipmi_power_status: POWER_ON, ipmi_port: 623, create_date: 'Jan 6, 2024 4:52:16 AM',
    last_op_date: 'Jan 6, 2024 4:52:16 AM', cpu_status: Normal, memory_status: Normal, disk_status: Normal,
    nic_status: Normal, gpu_status: Normal, power_supply_status: Normal, fan_status: Normal, raid_status: Normal,
    temperature_status: Normal, username: root, ssh_port: 22, tags: [production]}
migrated_vms:
  description:
    - The VMs that the maintenance migrated to other hosts.
  returned: success and O(state=maintenance) or O(state=absent)
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000001, name: vm-1}]
stopped_vms:
  description:
    - The VMs that this task stopped. Nothing starts them again.
  returned: success, and failure after such a call
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000003, name: vm-3}]
remaining_vms:
  description:
    - The VMs that it left there, because their state is not known.
  returned: success and O(state=maintenance) or O(state=absent)
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000003, name: vm-3}]
also_removed:
  description:
    - What was destroyed with the host's local storage.
  returned: success and O(state=absent)
  type: list
  elements: dict
  sample: [{type: vm, uuid: a0000004000040008000000000000003, name: vm-3}]
in_use_by:
  description:
    - The VMs that cannot migrate, without O(force) those that run there, without O(destroy_local_storage) what lies on
      its local storage.
  returned: failure with the code C(IN_USE)
  type: list
  elements: dict
  sample: [{uuid: a0000004000040008000000000000003, name: vm-3, type: vm, reason: its root volume is on local storage}]
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
from ..module_utils._engine.spec import ResourceSpec, StateTransition
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.host_vms import HOST_GUARDS
from ..module_utils._resources.hosts import (
    DISCONNECTED,
    HOST_KEYS,
    MAINTENANCE,
    RECONNECTED,
    find_host,
    find_host_refusal,
    find_ignored_login,
    plan_host,
)

KVM_HOST = ResourceSpec(
    record_type="HostInventory",
    result_key="host",
    tagged_type="HostVO",
    find=find_host,
    create="AddKVMHost",
    update="UpdateHost",
    delete="DeleteHost",
    keys=HOST_KEYS,
    transitions={
        "enabled": StateTransition(
            "ChangeHostState", "state", ("Enabled",), {"stateEvent": "enable"}, settles=("status",)
        ),
        "disabled": StateTransition("ChangeHostState", "state", ("Disabled",), {"stateEvent": "disable"}),
        "maintenance": StateTransition(
            "ChangeHostState", "state", ("Maintenance", "PreMaintenance"), {"stateEvent": "maintain"}, needs=("status",)
        ),
        RECONNECTED: StateTransition("ReconnectHost", "status", ("Connected",)),
        # A removal with an evacuation begins with a maintenance.
        "absent": StateTransition(
            "ChangeHostState", "state", (MAINTENANCE,), {"stateEvent": "maintain"}, needs=("status",)
        ),
    },
    transitional_values={"state": ("PreMaintenance",), "status": ("Connecting",)},
    failed_values={"status": (DISCONNECTED,)},
    guards=HOST_GUARDS,
    plan=plan_host,
    find_refusal=find_host_refusal,
    find_ignored=find_ignored_login,
)
MODULE = resource_module(
    KVM_HOST,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *KVM_HOST.transitions]},
        **IDENTITY_OPTIONS,
        "management_ip": {"type": "str"},
        "description": {"type": "str"},
        "cluster": reference("clusterUuid"),
        "username": {"type": "str"},
        "password": {"type": "str", "no_log": True},
        "ssh_port": {"type": "int"},
        "update_password": {"type": "str", "default": "on_create", "choices": ["on_create", "always"], "no_log": False},
        "power": {"type": "str", "choices": ["on", "off", "reset"]},
        "stop_type": {"type": "str", "choices": ["grace", "cold"]},
        "ipmi_address": {"type": "str"},
        "ipmi_username": {"type": "str"},
        "ipmi_password": {"type": "str", "no_log": True},
        "ipmi_port": {"type": "int"},
        "running_vms": {"type": "str", "default": "migrate", "choices": ["migrate", "stop", "any"]},
        "evacuate": {"type": "bool", "default": False},
        "destroy_local_storage": {"type": "bool", "default": False},
        **REMOVAL_OPTIONS,
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "management_ip", "name")],
    required_if=[("update_password", "always", ["username", "password", "ssh_port", "ipmi_password"], True)],
    only_absent=("evacuate", "destroy_local_storage"),
    never_absent=("power", "update_password"),
    acts_with={
        "stop_type": {"power": ("off",)},
        "running_vms": {"state": ("maintenance",), "evacuate": (True,)},
        "force": {"power": ("off", "reset"), "state": ("absent",)},
    },
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
