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
  - Adding a host takes minutes. When a host leaves maintenance, the module waits until it is connected again.
  - The module changes the name, the description and the management address of an existing host if the service has the
    operation for it. It cannot change the cluster, and fails if that differs.
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
      - When the service does not list hosts and there is no O(api_token) for a cursor query, the module acts
        without comparing, reports a change and warns.
      - O(power=reset) resets the host each time.
options:
  state:
    description:
      - V(present) adds the host if it does not exist, and does not change the state of an existing one.
      - V(enabled), V(disabled) and V(maintenance) add the host if it does not exist, and change it to that state.
      - V(disabled) works on a host that is disconnected or connecting, and does not wait for it to be connected.
      - V(enabled) waits until the host is no longer connecting. It fails when a host that was connected before ends up
        disconnected.
      - V(maintenance) waits while the host is connecting, and then starts the maintenance. V(enabled) and V(disabled)
        cancel a maintenance that has not been reached yet.
      - V(reconnected) adds the host if it does not exist, and connects the service to an existing one again each time.
        Services refuse this in maintenance.
      - V(absent) removes the host. The module fails with the code C(IN_USE), and calls nothing, if VMs run on the host,
        or if the root volume of a VM lies on its local storage, unless O(force) is V(true). It also fails, and removes
        nothing, if another option differs from the host, for example O(name).
      - V(reconnected) and V(absent) need operations that some services lack.
    type: str
    choices: [present, enabled, disabled, maintenance, reconnected, absent]
    default: present
  uuid:
    description: The uuid of the host.
    type: str
  management_ip:
    description:
      - The address at which the service manages the host. It selects the host when O(uuid) is not given.
      - If no host has this address, O(name) selects the host, and its address is changed, unless O(cluster),
        O(username) and O(password) are all given, with which a host is added. The service then connects to the host
        again.
      - Required to add a host. It must not be a loopback address such as V(localhost), with which the service would
        make its own machine a hypervisor.
    type: str
  name:
    description:
      - The name of the host. It selects the host when neither O(uuid) nor O(management_ip) is given. Names need not be
        unique. The module fails when several hosts have the name.
      - The new name of a host that O(uuid) or O(management_ip) selects. The module fails when another host has it.
      - Required to add a host.
    type: str
  description:
    description: The description of the host.
    type: str
  cluster:
    description: The cluster of the host, by name or uuid. Required to add a host.
    type: str
    aliases: [cluster_uuid]
  username:
    description:
      - The SSH user with which the service sets up a host that is added. Required to add a host.
      - For an existing host, see O(update_password).
    type: str
  password:
    description: The password of O(username). Required to add a host. It is never compared.
    type: str
  ssh_port:
    description: The SSH port of the host. For an existing host, see O(update_password).
    type: int
  update_password:
    description:
      - When O(username), O(password) and O(ssh_port) are set. With V(on_create), only when the host is added;
        they are not compared with an existing host.
      - With V(always), also for an existing host, if O(password) is given, or if the service shows another user or port
        or does not show them. With O(password), the task reports a change each time, because the service never shows
        it. The service connects to the host again, except in maintenance, and the task fails if it cannot.
      - O(ipmi_password) is set with V(on_create) when another option of the IPMI controller differs, and with V(always)
        each time.
    type: str
    choices: [on_create, always]
    default: on_create
    version_added: 1.0.0
  power:
    description:
      - Whether the host is switched on, by its IPMI controller. Without it, its power is not changed.
      - V(on) switches the host on before other changes, and waits until the service is connected to it, unless it stays
        in maintenance. A host to which the service is connected is on.
      - V(off) shuts the host down after other changes, so that it can be used with O(state=maintenance), and waits
        until it is off.
      - V(reset) restarts the host at once, each time, and waits as V(on) does. With O(state=maintenance), it is reset
        in maintenance.
      - V(off) and V(reset) stop the VMs on the host. The module fails with the code C(IN_USE), and calls nothing, if a
        VM runs on it, unless O(force) is V(true). In maintenance, no VM does, so O(state=maintenance) with V(off) moves
        or stops them first, as O(running_vms) permits. RV(stopped_vms) lists the VMs that were stopped.
      - V(on) and V(off) are compared with RV(host.ipmi_power_status), which the service reads from the controller every
        few minutes. If it is unknown, or says V(off) while the service is connected to the host, the module makes the
        call. The service then asks the controller, and does nothing if the host is as requested.
      - The module fails if the service does not know the address or the login of the controller.
      - YAML reads an unquoted V(on) and V(off) as booleans, which the module accepts.
      - It cannot be used with O(state=absent), nor V(off) with O(state=reconnected), and only V(on) for a host that
        does not exist.
      - These operations are ones that some services lack.
    type: str
    choices: ["on", "off", reset]
    version_added: 1.0.0
  stop_type:
    description:
      - How O(power=off) switches the host off. V(grace) asks its operating system to shut down, V(cold) cuts the power.
        Without it, the service uses V(grace), and the task fails if the host is still on after some minutes.
    type: str
    choices: [grace, cold]
    version_added: 1.0.0
  ipmi_address:
    description:
      - The address of the IPMI controller. The service finds it when it connects to the host, and refuses to change it
        before.
    type: str
    version_added: 1.0.0
  ipmi_username:
    description: The user of the IPMI controller.
    type: str
    version_added: 1.0.0
  ipmi_password:
    description:
      - The password of O(ipmi_username). It is never compared, see O(update_password).
      - The service logs in to the controller, and refuses the change of these options if it cannot.
    type: str
    version_added: 1.0.0
  ipmi_port:
    description: The port of the IPMI controller.
    type: int
    version_added: 1.0.0
  running_vms:
    description:
      - What O(state=maintenance), and O(state=absent) with O(force=true), may do to the VMs that run on the host. Other
        states ignore it.
      - A service stops VMs whose root volume lies on a primary storage of type LocalStorage, and by its default setting
        (C(host.maintenance.policy) is C(StopVmOnMigrationFailure)) VMs that cannot migrate. Nothing starts them again.
      - With V(migrate), the module fails with the code C(IN_USE), and starts no maintenance, if one of the VMs cannot
        migrate. It examines all of them, also in check mode, and warns of what the service does not show.
      - With V(stop), VMs that cannot migrate may be stopped. RV(stopped_vms) lists them.
      - With V(any), the module does not examine whether the VMs can migrate, and check mode does not predict it.
    type: str
    choices: [migrate, stop, any]
    default: migrate
    version_added: 1.0.0
  force:
    description:
      - Whether O(power) may stop VMs on the host, and O(state=absent) may remove a host with VMs on it. With V(true)
        and O(state=absent), the host is put into maintenance first, with O(running_vms) as for O(state=maintenance),
        unless it is disconnected. Then it is removed.
      - The service destroys the VMs whose root volume lies on the local storage of the host, and the data volumes
        there. It stops the VMs that still run on the host.
    type: bool
    default: false
    version_added: 1.0.0
  system_tags:
    description:
      - System tags to send with the call, for example V(pageTableExtensionDisabled), which disables EPT on a new host.
seealso:
  - module: virtinfra.manager.host_info
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

- name: Add a tag to a host
  virtinfra.manager.kvm_host:
    name: host-1
    tags: [production]
    tags_mode: add

- name: Put a host into maintenance, unless VMs run on it that cannot migrate; wait at most one hour
  virtinfra.manager.kvm_host:
    name: host-1
    state: maintenance
    wait_timeout: 3600

- name: Put a host into maintenance, and stop the VMs that cannot migrate
  virtinfra.manager.kvm_host:
    name: host-3
    state: maintenance
    running_vms: stop
  register: maintenance

- name: Enable it again and wait until it is connected
  virtinfra.manager.kvm_host:
    name: host-1
    state: enabled

- name: Rename a host and change its description
  virtinfra.manager.kvm_host:
    management_ip: 10.0.0.12
    name: host-2-spare
    description: for tests

- name: Switch a host off after its VMs have moved to other hosts
  virtinfra.manager.kvm_host:
    name: host-3
    state: maintenance
    running_vms: stop
    power: "off"

- name: Switch it on, and wait until it is connected
  virtinfra.manager.kvm_host:
    name: host-3
    state: enabled
    power: "on"

- name: Change the login of its IPMI controller
  virtinfra.manager.kvm_host:
    name: host-3
    ipmi_username: operator
    ipmi_password: "{{ ipmi_password }}"

- name: Remove a host; move its VMs to other hosts first
  virtinfra.manager.kvm_host:
    name: host-1
    state: absent
    force: true

- name: Start the VMs that the maintenance stopped
  virtinfra.manager.api:
    operation: StartVmInstance
    params:
      uuid: "{{ item.uuid }}"
  loop: "{{ maintenance.stopped_vms }}"
"""

RETURN = r"""
host:
  description: The host. In check mode and with O(wait=false), the predicted one. Null when it does not exist.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the host., type: str, sample: a0000003000040008000000000000001}
    name: {description: The name of the host., type: str, sample: host-1}
    description: {description: The description., type: str, sample: hypervisor 1}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    cluster_uuid: {description: The uuid of the cluster., type: str, sample: a0000002000040008000000000000001}
    cluster_name:
      description: "The name of the cluster, as the task gives it. Null for another cluster."
      type: str
      sample: cluster-1
      returned: when O(cluster) is a name
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
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
migrated_vms:
  description:
    - The VMs that the maintenance migrated to other hosts. In check mode and with O(wait=false), those that should
      migrate.
  returned: success and O(state=maintenance) or O(state=absent)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    name: {description: The name of the VM., type: str, sample: vm-1}
stopped_vms:
  description:
    - The VMs that the maintenance stopped, because they could not migrate, or that stopped when the host was removed,
      switched off or reset. Nothing starts them again. In check mode and with O(wait=false), those that would be
      stopped.
    - Also returned when the maintenance or the removal was started and failed.
  returned: success, and O(state=maintenance) or O(state=absent) or O(power)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000003}
    name: {description: The name of the VM., type: str, sample: vm-3}
also_removed:
  description:
    - The VMs that were destroyed and the data volumes that were lost with the host, because they lay on its local
      storage. In check mode and with O(wait=false), those that would be.
  returned: success and O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: "V(vm) or V(volume).", type: str, sample: vm}
    uuid: {description: The uuid of the object., type: str, sample: a0000004000040008000000000000003}
    name: {description: The name of the object., type: str, sample: vm-3}
in_use_by:
  description:
    - The VMs that cannot migrate, with O(running_vms=migrate), or without O(force) the VMs on the host, with O(power),
      or with O(state=absent) also the volumes on its local storage.
  returned: failure with the code C(IN_USE)
  type: list
  elements: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000003}
    name: {description: The name of the VM., type: str, sample: vm-3}
    type: {description: "V(vm) or V(volume).", type: str, sample: vm}
    reason: {description: Why it is in use., type: str, sample: its root volume is on local storage}
job:
  description:
    - The handle of the job that is still running, for M(virtinfra.manager.job_wait).
    - In check mode, the handle of the job that would be started. It has no uuid, and its state is V(unknown).
  returned: when O(wait=false) starts a call, and in a failure when a job may still be running
  type: dict
  contains:
    uuid: {description: The uuid of the job., type: str, sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"}
    job_uuid:
      description: "The id that was sent with the call as X-Job-UUID, with which the service posts the result."
      type: str
      sample: "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
    location:
      description: The path at which the job is polled.
      type: str
      sample: /service/v1/api-jobs/5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c
    operation: {description: The operation., type: str, sample: AddKVMHost}
    object:
      description: "The object of the call as messages name it, null if the call names none."
      type: str
      sample: host host-1
    state: {description: "The state of the job: V(running) or V(unknown).", type: str, sample: running}
"""

from ..module_utils._python import check_python

check_python()

from ..module_utils._modules.process import run_as_module
from ..module_utils._engine.plan import ResourceSpec, StateTransition
from ..module_utils._modules.options import CREATE_OPTIONS, IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.host_vms import HOST_GUARDS
from ..module_utils._resources.hosts import DISCONNECTED, HOST_KEYS, MAINTENANCE, RECONNECTED, find_host, plan_host

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
            "ChangeHostState",
            "state",
            ("Maintenance", "PreMaintenance"),
            {"stateEvent": "maintain"},
            needs=("status",),
        ),
        RECONNECTED: StateTransition("ReconnectHost", "status", ("Connected",)),
        # A forced removal begins with a maintenance.
        "absent": StateTransition(
            "ChangeHostState", "state", (MAINTENANCE,), {"stateEvent": "maintain"}, needs=("status",)
        ),
    },
    transitional_values={"state": ("PreMaintenance",), "status": ("Connecting",)},
    failed_values={"status": (DISCONNECTED,)},
    guards=HOST_GUARDS,
    plan=plan_host,
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
        **REMOVAL_OPTIONS,
        **CREATE_OPTIONS,
    },
    required_one_of=[("uuid", "management_ip", "name")],
    required_if=[("update_password", "always", ["username", "password", "ssh_port", "ipmi_password"], True)],
    never_absent=("power", "update_password"),
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
