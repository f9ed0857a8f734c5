# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: vm
short_description: Start, stop, migrate, change and remove virtual machines
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Starts, stops, restarts and pauses virtual machines, migrates running ones to other hosts, changes their name,
    description and size, recovers destroyed ones and removes them.
  - The module creates no VM, see M(virtinfra.manager.vm_from_snapshot_group). It fails for a template.
  - All operations that it calls are ones that some services lack. The module then fails, and says which one is missing,
    before it changes anything.
extends_documentation_fragment:
  - virtinfra.manager._removal
  - virtinfra.manager._connection
  - virtinfra.manager._wait
  - virtinfra.manager._wait.times
  - virtinfra.manager._tags.object
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
      - O(state=restarted) restarts a running VM each time.
      - When the service does not list VMs and there is no O(api_token) for a cursor query, the module fails unless
        O(uuid) is given. With O(uuid) it acts without comparing, reports a change and warns.
options:
  state:
    description:
      - V(present) changes no state, V(running), V(stopped) and V(paused) lead to that state. A paused VM is resumed to
        run, and a stopped one is started to be paused.
      - V(restarted) restarts the guest of a running VM each time. It starts a stopped VM.
      - V(absent) destroys the VM, also a running one. Its guest is not shut down first. The service keeps a destroyed
        VM for some days, in which O(recover=true) recovers it. The module fails, and removes nothing, if another option
        differs from the VM, for example O(name). A VM that is destroyed already stays as it is, unless O(expunge) is
        V(true).
    type: str
    choices: [present, running, stopped, restarted, paused, absent]
    default: present
  uuid:
    description: The uuid of the VM.
    type: str
  name:
    description:
      - The name of the VM. It selects the VM when O(uuid) is not given. Destroyed VMs are ignored if another VM has the
        name. The module fails when several VMs have it.
      - With O(uuid), the new name of the VM.
    type: str
  description:
    description: The description of the VM.
    type: str
  cpu_num:
    description: The number of CPUs. It is only changed while the VM is stopped, and the module fails for any other VM.
    type: int
  memory_size:
    description:
      - The memory in bytes, or with a unit of 1024, such as V(16G). The module refuses less than 1 MiB.
      - It is only changed while the VM is stopped, and the module fails for any other VM.
    type: bytes
  stop_type:
    description: V(grace) asks the guest to shut down, V(cold) cuts the power. Without it, the service uses V(grace).
    type: str
    choices: [grace, cold]
  host:
    description:
      - The host on which the VM runs, by name or uuid. A running VM on another host migrates to it, and a VM that is
        started is started on it.
      - A VM that does not run, and is not started, stays as it is, because it is on no host. For such a VM, and with
        O(state=stopped) and O(state=absent), the host is not compared.
      - Before anything is changed, and also in check mode, the module fails if the service does not name the host among
        those to which the VM can migrate, if the root volume of the VM is on local storage, or if the VM is paused. The
        message names the hosts that are possible. If the service cannot list them, a warning says so.
      - After a migration the VM must run on the host, or else the module fails, and says where the VM is.
    type: str
    aliases: [host_uuid]
  cluster:
    description: The cluster in which a VM is started, by name or uuid, unless O(host) is given. It is not compared.
    type: str
    aliases: [cluster_uuid]
  recover:
    description:
      - Whether to recover a destroyed VM. It is stopped then, and its data volumes are no longer attached.
      - It cannot be used with O(state=absent).
    type: bool
    default: false
  data_volumes:
    description:
      - What O(state=absent) does with the data volumes of the VM. V(keep) leaves them, detached. V(delete) deletes
        those that are attached to the VM. Volumes that several VMs share are not deleted.
      - V(delete) also deletes the volumes that a destroyed VM had until then, so a task that failed in between can run
        again. It leaves those that were ever detached from a VM, because they may be kept on purpose. The task that
        failed names them, to be deleted with M(virtinfra.manager.api). If several destroyed VMs have the O(name), it is
        the one that was destroyed last. Some services remove a destroyed VM at once. Its volumes are then found by
        O(uuid) only.
    type: str
    choices: [keep, delete]
    default: keep
  expunge:
    description:
      - Whether O(state=absent) also removes the destroyed VM and the deleted data volumes for good, instead of some
        days later. This cannot be undone.
      - If both a VM that exists and a destroyed one have the O(name), the module fails and asks for the O(uuid).
    type: bool
    default: false
seealso:
  - module: virtinfra.manager.vm_info
  - module: virtinfra.manager.vm_from_snapshot_group
"""

EXAMPLES = r"""
- name: Start a VM
  virtinfra.manager.vm:
    name: vm-2
    state: running

- name: Stop a VM and change its size
  virtinfra.manager.vm:
    name: vm-1
    state: stopped
    cpu_num: 8
    memory_size: 16G

- name: Migrate a running VM to another host
  virtinfra.manager.vm:
    name: vm-1
    state: running
    host: host-3

- name: Rename a VM
  virtinfra.manager.vm:
    uuid: a0000004000040008000000000000001
    name: web-1

- name: Give a VM exactly these tags
  virtinfra.manager.vm:
    name: vm-4
    tags:
      - production
      - backup::daily

- name: Destroy a VM, which can be recovered for some days
  virtinfra.manager.vm:
    name: web-1
    state: absent

- name: Remove a VM and its data volumes for good
  virtinfra.manager.vm:
    name: vm-3
    state: absent
    data_volumes: delete
    expunge: true
"""

RETURN = r"""
vm:
  description: The VM. In check mode and with O(wait=false), the predicted one. Null when it was removed.
  returned: success
  type: dict
  contains:
    uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
    name: {description: The name of the VM. Names are not unique., type: str, sample: vm-1}
    description: {description: The description., type: str, sample: guest 1}
    zone_uuid: {description: The uuid of the zone., type: str, sample: a0000001000040008000000000000001}
    cluster_uuid: {description: The uuid of the cluster., type: str, sample: a0000002000040008000000000000001}
    cluster_name:
      description: "The name of the cluster, as the task gives it. Null for another cluster."
      type: str
      sample: cluster-1
      returned: when O(cluster) is a name
    image_uuid:
      description: The uuid of the image of the root volume.
      type: str
      sample: a0000012000040008000000000000001
    host_uuid:
      description: The uuid of the host that runs the VM. Null if it does not run.
      type: str
      sample: a0000003000040008000000000000001
    host_name:
      description: "The name of the host, as the task gives it. Null for another host."
      type: str
      sample: host-1
      returned: when O(host) is a name
    last_host_uuid:
      description: The uuid of the host that last ran the VM.
      type: str
      sample: a0000003000040008000000000000001
    instance_offering_uuid:
      description: The uuid of the instance offering.
      type: str
      sample: a0000013000040008000000000000001
    root_volume_uuid: {description: The uuid of the root volume., type: str, sample: a0000007000040008000000000000001}
    default_l3_network_uuid:
      description: The uuid of the default L3 network.
      type: str
      sample: a0000005000040008000000000000001
    platform: {description: The platform of the guest., type: str, sample: Linux}
    architecture: {description: The architecture of the CPU., type: str, sample: x86_64}
    type: {description: The type. Appliances are VMs of the platform itself., type: str, sample: UserVm}
    hypervisor_type: {description: The type of the hypervisor., type: str, sample: KVM}
    memory_size: {description: The memory in bytes., type: int, sample: 4294967296}
    cpu_num: {description: The number of CPUs., type: int, sample: 2}
    cpu_speed: {description: The speed of the CPUs., type: int, sample: 0}
    allocator_strategy:
      description: How the service chooses the host.
      type: str
      sample: LeastVmPreferredHostAllocatorStrategy
    create_date: {description: When the VM was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    last_op_date: {description: When the VM was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    state: {description: The state of the VM., type: str, sample: Running}
    guest_os_type: {description: The operating system of the guest., type: str, sample: Linux}
    vm_nics:
      description: The NICs.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        l3_network_uuid: {description: The uuid of the L3 network., type: str, sample: a0000005000040008000000000000001}
        ip: {description: The IP address., type: str, sample: "10.101.0.11"}
        mac: {description: The MAC address., type: str, sample: "fa:00:00:00:00:01"}
        hypervisor_type: {description: The type of the hypervisor., type: str, sample: KVM}
        netmask: {description: The netmask., type: str, sample: "255.255.0.0"}
        gateway: {description: The gateway., type: str, sample: "10.101.0.1"}
        meta_data: {description: Further data of the service., type: str, sample: "{}"}
        driver_type: {description: The driver., type: str, sample: virtio}
        internal_name: {description: The name of the device on the host., type: str, sample: vnic000001.0}
        type: {description: The type of the NIC., type: str, sample: VNIC}
        state: {description: Whether the NIC is enabled., type: str, sample: enable}
        ip_version: {description: The version of the IP address., type: int, sample: 4}
        device_id: {description: The number of the NIC in its VM., type: int, sample: 0}
        create_date: {description: When the NIC was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the NIC was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        used_ips:
          description: The IP addresses that the NIC uses.
          type: list
          elements: dict
          contains:
            uuid: {description: The uuid of the address record., type: str, sample: a0000016000040008000000000000001}
            ip_range_uuid: {description: The uuid of the IP range., type: str, sample: a0000011000040008000000000000001}
            l3_network_uuid:
              description: The uuid of the L3 network.
              type: str
              sample: a0000005000040008000000000000001
            ip: {description: The IP address., type: str, sample: "10.101.0.11"}
            netmask: {description: The netmask., type: str, sample: "255.255.0.0"}
            gateway: {description: The gateway., type: str, sample: "10.101.0.1"}
            used_for: {description: What the address is used for., type: str, sample: VM}
            vm_nic_uuid: {description: The uuid of the NIC., type: str, sample: a0000006000040008000000000000001}
            ip_version: {description: The version of the IP address., type: int, sample: 4}
            ip_in_long: {description: The IPv4 address as a number., type: int, sample: 174391307}
            create_date: {description: When the record was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
            last_op_date: {description: When the record was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    all_volumes:
      description: The volumes.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the volume., type: str, sample: a0000007000040008000000000000001}
        name: {description: The name of the volume., type: str, sample: root-of-vm-1}
        description: {description: The description., type: str, sample: was attached to another machine}
        primary_storage_uuid:
          description: The uuid of the primary storage.
          type: str
          sample: a0000008000040008000000000000001
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        disk_offering_uuid:
          description: The uuid of the disk offering.
          type: str
          sample: a0000017000040008000000000000001
        root_image_uuid:
          description: The uuid of the image from which a root volume was made.
          type: str
          sample: a0000012000040008000000000000001
        install_path:
          description: The path on the primary storage.
          type: str
          sample: /storage/volumes/a0000007000040008000000000000001.qcow2
        type: {description: The type of the volume., type: str, sample: Root}
        format: {description: The format of the volume., type: str, sample: qcow2}
        state: {description: The state of the volume., type: str, sample: Enabled}
        status: {description: The status of the volume., type: str, sample: Ready}
        volume_qos: {description: The limits of the volume., type: str, sample: total=10485760}
        last_vm_instance_uuid:
          description: The uuid of the VM to which the volume was attached before.
          type: str
          sample: a0000004000040008000000000000001
        size: {description: The size in bytes., type: int, sample: 42949672960}
        actual_size: {description: The bytes that the volume occupies., type: int, sample: 2147483648}
        device_id: {description: The number of the volume in its VM., type: int, sample: 0}
        is_shareable: {description: Whether several VMs can use the volume., type: bool, sample: false}
        encrypted: {description: Whether the volume is encrypted., type: bool, sample: false}
        create_date: {description: When the volume was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the volume was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_detach_date: {description: When the volume was last detached., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    vm_cd_roms:
      description: The CD-ROM drives.
      type: list
      elements: dict
      contains:
        uuid: {description: The uuid of the drive., type: str, sample: a0000015000040008000000000000001}
        vm_instance_uuid: {description: The uuid of the VM., type: str, sample: a0000004000040008000000000000001}
        iso_uuid:
          description: The uuid of the inserted ISO image.
          type: str
          sample: a0000012000040008000000000000001
        iso_install_path:
          description: The path of the inserted ISO image.
          type: str
          sample: /storage/images/tools.iso
        name: {description: The name of the drive., type: str, sample: cd-rom-of-vm-1}
        description: {description: The description., type: str, sample: guest tools}
        device_id: {description: The number of the drive in its VM., type: int, sample: 0}
        create_date: {description: When the drive was created., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
        last_op_date: {description: When the drive was last changed., type: str, sample: "Jan 6, 2024 4:52:16 AM"}
    tags:
      description: "The user tags, sorted."
      type: list
      elements: str
      sample: [production]
      returned: when O(tags) is given
also_removed:
  description:
    - What is removed with the VM, its data volumes with O(data_volumes=delete), its CBT tasks, and its snapshot groups,
      which exist until the VM is expunged.
  returned: success and O(state=absent)
  type: list
  elements: dict
  contains:
    type: {description: "V(volume), V(cbt_task) or V(snapshot_group).", type: str, sample: volume}
    uuid: {description: The uuid of the object., type: str, sample: a0000007000040008000000000000002}
    name: {description: The name of the object., type: str, sample: data-of-vm-1}
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
    operation: {description: The operation., type: str, sample: StartVmInstance}
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
from ..module_utils._modules.options import IDENTITY_OPTIONS, REMOVAL_OPTIONS, reference
from ..module_utils._modules.resource import resource_module
from ..module_utils._resources.host_vms import MIGRATION_TARGETS
from ..module_utils._resources.vms import (
    CHANGING_STATES,
    VM_DEPENDENTS,
    find_vm,
    hide_volumes_to_remove,
    plan_vm,
    remember_vm,
)

VM = ResourceSpec(
    record_type="VmInstanceInventory",
    result_key="vm",
    tagged_type="VmInstanceVO",
    find=find_vm,
    update="UpdateVmInstance",
    delete="DestroyVmInstance",
    transitions={
        "running": StateTransition("StartVmInstance", "state", ("Running",), needs=("state",)),
        "stopped": StateTransition("StopVmInstance", "state", ("Stopped",), needs=("state",)),
        "restarted": StateTransition("RebootVmInstance", "state", ("Running",), needs=("state",)),
        "paused": StateTransition("PauseVmInstance", "state", ("Paused",), needs=("state",)),
        "absent": StateTransition("DestroyVmInstance", "state", ("Destroyed",), needs=("state",)),
    },
    transitional_values={"state": CHANGING_STATES},
    guards={
        "absent": (VM_DEPENDENTS,),
        **dict.fromkeys(("present", "running", "restarted", "paused"), (MIGRATION_TARGETS,)),
    },
    remember=remember_vm,
    plan=plan_vm,
    format_result=hide_volumes_to_remove,
)
MODULE = resource_module(
    VM,
    options={
        "state": {"type": "str", "default": "present", "choices": ["present", *VM.transitions]},
        **IDENTITY_OPTIONS,
        "description": {"type": "str"},
        "cpu_num": {"type": "int"},
        "memory_size": {"type": "bytes"},
        "stop_type": {"type": "str", "choices": ["grace", "cold"]},
        "host": reference("hostUuid"),
        "cluster": reference("clusterUuid"),
        "recover": {"type": "bool", "default": False},
        "data_volumes": {"type": "str", "default": "keep", "choices": ["keep", "delete"]},
        "expunge": {"type": "bool", "default": False},
        "delete_mode": REMOVAL_OPTIONS["delete_mode"],
    },
    required_one_of=[("uuid", "name")],
    only_absent=("data_volumes", "expunge"),
    never_absent=("recover",),
)


def main() -> None:
    """Run as a module."""
    run_as_module(MODULE)


if __name__ == "__main__":
    main()
