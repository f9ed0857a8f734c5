"""A task for each writing operation, with a function that counts how often it was performed, and requests of writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

State = Mapping[str, Any]
Times = Callable[[State, State], int]

CLUSTER = "a0000002000040008000000000000001"
HOST = "a0000003000040008000000000000001"
THIRD_HOST = "a0000003000040008000000000000003"
VM = "a0000004000040008000000000000001"
STOPPED_VM = "a0000004000040008000000000000002"
L3 = "a0000005000040008000000000000002"
NIC = "a0000006000040008000000000000001"
VOLUME = "a0000007000040008000000000000003"
ROOT_VOLUME, DATA_VOLUME = "a0000007000040008000000000000001", "a0000007000040008000000000000002"
HOST_NIC = "a0000009000040008000000000000002"
IMAGE = "a0000012000040008000000000000001"
SNAPSHOT_GROUP = "a000000b000040008000000000000001"
SNAPSHOT = "a0000014000040008000000000000002"
PLATFORM = "a000000c000040008000000000000001"
ENDPOINT = "a000000d000040008000000000000001"
CHAT_ENDPOINT = "a000000d000040008000000000000002"
TOPIC = "a000000e000040008000000000000001"
OTHER_TOPIC = "a000000e000040008000000000000002"
PERSON = "a000000f000040008000000000000001"
NEW_PERSON = "5d1c0a5e6f7b4c3d8e9fa0b1c2d3e4f5"
CREATED_TASK = "a0000010000040008000000000000001"
RUNNING_TASK = "a0000010000040008000000000000003"
USER_TAG = "a000001a000040008000000000000001"
PATTERN = "a000001d000040008000000000000001"
PASSWORD = "Tr0ub4dor & 3"
CHAT = "https://chat.example.com/send?key=5c0ffee5-1dea"


@dataclass(frozen=True)
class Scenario:
    """A task that makes one call of ``operation``.

    ``times`` counts from the states before and after how often it was performed. An ``action`` calls it each time it
    runs. ``prepare`` are changes of the seeded records, as (kind, uuid, members).
    """

    name: str
    operation: str
    module: str
    options: Mapping[str, Any]
    times: Times
    action: bool = False
    changes: bool = True
    prepare: tuple[tuple[str, str, Mapping[str, Any]], ...] = field(default=())

    def __str__(self) -> str:
        return self.name


def more(kind: str, **members: Any) -> Times:
    """Count the new records of a kind that have these members."""

    def times(before: State, after: State) -> int:
        old = {record["uuid"] for record in before[kind]}
        return sum(
            record["uuid"] not in old and all(record.get(name) == value for name, value in members.items())
            for record in after[kind]
        )

    return times


def gone(kind: str, uuid: str) -> Times:
    """Count whether a record no longer exists."""
    return lambda before, after: int(all(record["uuid"] != uuid for record in after[kind]))


def has(kind: str, uuid: str, **members: Any) -> Times:
    """Count whether a record has these members."""

    def times(before: State, after: State) -> int:
        matches = [record for record in after[kind] if record["uuid"] == uuid]
        return sum(all(record.get(name) == value for name, value in members.items()) for record in matches)

    return times


def nics_of(vm: Mapping[str, Any], network: str) -> list[Mapping[str, Any]]:
    """Return the NICs of a VM on a network."""
    return [nic for nic in vm["vmNics"] if nic["l3NetworkUuid"] == network]


def attached(before: State, after: State) -> int:
    """Count the NICs of the VM on the network."""
    return sum(len(nics_of(vm, L3)) for vm in after["vm"] if vm["uuid"] == VM)


def nic_has(**members: Any) -> Times:
    """Count whether the NIC has these members."""

    def times(before: State, after: State) -> int:
        nics = [nic for vm in after["vm"] for nic in vm["vmNics"] if nic["uuid"] == NIC]
        return int(all(nics[0].get(name) == value for name, value in members.items()))

    return times


def served(before: State, after: State) -> int:
    """Count whether the host interface has the service types."""
    rows = [row for row in after["services"] if row["interfaceUuid"] == HOST_NIC]
    return int(sorted(row["serviceType"] for row in rows) == ["BackupNetwork", "StorageNetwork"])


NEW_HOST = {
    "name": "host-91",
    "management_ip": "10.0.0.91",
    "cluster": CLUSTER,
    "username": "root",
    "password": PASSWORD,
}

# Persons of the chats that no seeded endpoint has: the kind of their records, the name of the chat in operations, the
# type of its endpoints, and what identifies a person.
OTHER_PERSONS = (
    ("wecomperson", "WeCom", "WorkChat", "userId"),
    ("dingtalkperson", "DingTalk", "DingTalk", "phoneNumber"),
)

SCENARIOS = (
    Scenario("add-host", "AddKVMHost", "kvm_host", NEW_HOST, more("host", managementIp="10.0.0.91")),
    Scenario(
        "disable-host",
        "ChangeHostState",
        "kvm_host",
        {"uuid": HOST, "state": "disabled"},
        has("host", HOST, state="Disabled"),
    ),
    Scenario(
        "maintain-host",
        "ChangeHostState",
        "kvm_host",
        {"name": "host-1", "state": "maintenance"},
        has("host", HOST, state="Maintenance"),
    ),
    Scenario(
        "take-host-back",
        "ChangeHostState",
        "kvm_host",
        {"management_ip": "10.0.0.11", "state": "enabled"},
        has("host", HOST, state="Enabled", status="Connected"),
        prepare=(("host", HOST, {"state": "Maintenance"}),),
    ),
    Scenario(
        "start-vm",
        "StartVmInstance",
        "api",
        {"operation": "StartVmInstance", "params": {"uuid": STOPPED_VM}},
        has("vm", STOPPED_VM, state="Running"),
        action=True,
    ),
    Scenario(
        "stop-vm",
        "StopVmInstance",
        "api",
        {"operation": "StopVmInstance", "params": {"uuid": VM, "type": "cold"}},
        has("vm", VM, state="Stopped"),
        action=True,
    ),
    Scenario(
        "migrate-vm",
        "MigrateVm",
        "vm",
        {"uuid": VM, "host": THIRD_HOST},
        has("vm", VM, hostUuid=THIRD_HOST),
    ),
    Scenario(
        "reboot-vm",
        "RebootVmInstance",
        "api",
        {"operation": "RebootVmInstance", "params": {"uuid": VM}},
        lambda before, after: sum(vm.get("_reboots", 0) for vm in after["vm"]),
        action=True,
    ),
    Scenario(
        "pause-vm",
        "PauseVmInstance",
        "api",
        {"operation": "PauseVmInstance", "params": {"uuid": VM}},
        has("vm", VM, state="Paused"),
        action=True,
    ),
    Scenario(
        "resume-vm",
        "ResumeVmInstance",
        "api",
        {"operation": "ResumeVmInstance", "params": {"uuid": VM}},
        has("vm", VM, state="Running"),
        action=True,
        prepare=(("vm", VM, {"state": "Paused"}),),
    ),
    Scenario(
        "update-vm",
        "UpdateVmInstance",
        "api",
        {"operation": "UpdateVmInstance", "params": {"uuid": STOPPED_VM, "cpuNum": 8}},
        has("vm", STOPPED_VM, cpuNum=8),
        action=True,
    ),
    Scenario(
        "destroy-vm",
        "DestroyVmInstance",
        "api",
        {"operation": "DestroyVmInstance", "params": {"uuid": VM}},
        has("vm", VM, state="Destroyed"),
        action=True,
    ),
    Scenario(
        "expunge-vm",
        "ExpungeVmInstance",
        "api",
        {"operation": "ExpungeVmInstance", "params": {"uuid": STOPPED_VM}},
        gone("vm", STOPPED_VM),
        action=True,
        prepare=(("vm", STOPPED_VM, {"state": "Destroyed"}),),
    ),
    Scenario(
        "recover-vm",
        "RecoverVmInstance",
        "api",
        {"operation": "RecoverVmInstance", "params": {"uuid": STOPPED_VM}},
        has("vm", STOPPED_VM, state="Stopped"),
        action=True,
        prepare=(("vm", STOPPED_VM, {"state": "Destroyed"}),),
    ),
    Scenario(
        "delete-host",
        "DeleteHost",
        "api",
        {"operation": "DeleteHost", "params": {"uuid": THIRD_HOST}},
        gone("host", THIRD_HOST),
        action=True,
    ),
    Scenario(
        "reconnect-host",
        "ReconnectHost",
        "api",
        {"operation": "ReconnectHost", "params": {"uuid": HOST}},
        has("host", HOST, status="Connected"),
        action=True,
        prepare=(("host", HOST, {"status": "Disconnected"}),),
    ),
    Scenario(
        "move-host",
        "UpdateHost",
        "api",
        {"operation": "UpdateHost", "params": {"uuid": HOST, "managementIp": "10.0.0.92"}},
        has("host", HOST, managementIp="10.0.0.92"),
        action=True,
    ),
    Scenario(
        "change-login-of-host",
        "UpdateKVMHost",
        "api",
        {"operation": "UpdateKVMHost", "params": {"uuid": HOST, "username": "admin", "password": PASSWORD}},
        has("host", HOST, username="admin"),
        action=True,
    ),
    Scenario(
        "change-ipmi-of-host",
        "UpdateHostIpmi",
        "kvm_host",
        {"uuid": HOST, "ipmi_username": "operator", "ipmi_password": PASSWORD},
        has("host", HOST, ipmiUsername="operator"),
    ),
    Scenario(
        "power-on-host",
        "PowerOnHost",
        "kvm_host",
        {"uuid": HOST, "power": "on"},
        has("host", HOST, ipmiPowerStatus="POWER_ON", status="Connected"),
        prepare=(("host", HOST, {"ipmiPowerStatus": "POWER_OFF", "status": "Disconnected"}),),
    ),
    Scenario(
        "shut-down-host",
        "ShutdownHost",
        "kvm_host",
        {"uuid": HOST, "power": "off", "force": True},
        has("host", HOST, ipmiPowerStatus="POWER_OFF", status="Disconnected"),
    ),
    Scenario(
        "reset-host",
        "PowerResetHost",
        "kvm_host",
        {"uuid": HOST, "power": "reset", "force": True},
        lambda before, after: sum(host.get("_resets", 0) for host in after["host"]),
        action=True,
    ),
    Scenario(
        "disable-endpoint",
        "ChangeSNSApplicationEndpointState",
        "api",
        {"operation": "ChangeSNSApplicationEndpointState", "params": {"uuid": ENDPOINT, "stateEvent": "disable"}},
        has("endpoint", ENDPOINT, state="Disabled"),
        action=True,
    ),
    Scenario(
        "delete-endpoint",
        "DeleteSNSApplicationEndpoint",
        "api",
        {"operation": "DeleteSNSApplicationEndpoint", "params": {"uuid": ENDPOINT}},
        gone("endpoint", ENDPOINT),
        action=True,
    ),
    Scenario(
        "change-chat-room",
        "UpdateSNSWeComEndpoint",
        "api",
        {"operation": "UpdateSNSWeComEndpoint", "params": {"uuid": CHAT_ENDPOINT, "url": CHAT}},
        has("endpoint", CHAT_ENDPOINT, url=CHAT),
        action=True,
        prepare=(("endpoint", CHAT_ENDPOINT, {"type": "WorkChat"}),),
    ),
    *(
        Scenario(
            f"change-{kind.lower()}-endpoint",
            operation,
            "api",
            {"operation": operation, "params": {"uuid": CHAT_ENDPOINT, "url": CHAT}},
            has("endpoint", CHAT_ENDPOINT, url=CHAT),
            action=True,
            prepare=(("endpoint", CHAT_ENDPOINT, {"type": kind}),),
        )
        for operation, kind in (
            ("UpdateSNSFeiShuEndpoint", "TeamChat"),
            ("UpdateSNSDingTalkEndpoint", "DingTalk"),
            ("UpdateSNSHttpEndpoint", "HTTP"),
            ("UpdateSNSMicrosoftTeamsEndpoint", "MicrosoftTeams"),
        )
    ),
    Scenario(
        "create-snmp-platform",
        "CreateSNSSnmpPlatform",
        "api",
        {"operation": "CreateSNSSnmpPlatform", "params": {"name": "traps", "snmpAddress": "10.9.9.9", "snmpPort": 162}},
        more("platform", name="traps"),
        action=True,
    ),
    Scenario(
        "disable-platform",
        "ChangeSNSApplicationPlatformState",
        "api",
        {"operation": "ChangeSNSApplicationPlatformState", "params": {"uuid": PLATFORM, "stateEvent": "disable"}},
        has("platform", PLATFORM, state="Disabled"),
        action=True,
    ),
    Scenario(
        "rename-platform",
        "UpdateSNSApplicationPlatform",
        "api",
        {"operation": "UpdateSNSApplicationPlatform", "params": {"uuid": PLATFORM, "name": "traps"}},
        has("platform", PLATFORM, name="traps"),
        action=True,
    ),
    Scenario(
        "delete-platform",
        "DeleteSNSApplicationPlatform",
        "api",
        {"operation": "DeleteSNSApplicationPlatform", "params": {"uuid": PLATFORM}},
        gone("platform", PLATFORM),
        action=True,
    ),
    Scenario(
        "create-topic",
        "CreateSNSTopic",
        "api",
        {"operation": "CreateSNSTopic", "params": {"name": "alarms", "locale": "en_US"}},
        more("topic", name="alarms"),
        action=True,
    ),
    Scenario(
        "rename-topic",
        "UpdateSNSTopic",
        "api",
        {"operation": "UpdateSNSTopic", "params": {"uuid": TOPIC, "name": "alarms"}},
        has("topic", TOPIC, name="alarms"),
        action=True,
    ),
    Scenario(
        "disable-topic",
        "ChangeSNSTopicState",
        "api",
        {"operation": "ChangeSNSTopicState", "params": {"uuid": TOPIC, "stateEvent": "disable"}},
        has("topic", TOPIC, state="Disabled"),
        action=True,
    ),
    Scenario(
        "delete-topic",
        "DeleteSNSTopic",
        "api",
        {"operation": "DeleteSNSTopic", "params": {"uuid": TOPIC}},
        gone("topic", TOPIC),
        action=True,
    ),
    Scenario(
        "subscribe",
        "SubscribeSNSTopic",
        "api",
        {"operation": "SubscribeSNSTopic", "params": {"topicUuid": OTHER_TOPIC, "endpointUuid": ENDPOINT}},
        lambda before, after: len(after["subscriber"]) - len(before["subscriber"]),
        action=True,
    ),
    Scenario(
        "unsubscribe",
        "UnsubscribeSNSTopic",
        "api",
        {"operation": "UnsubscribeSNSTopic", "params": {"topicUuid": TOPIC, "endpointUuid": ENDPOINT}},
        lambda before, after: len(before["subscriber"]) - len(after["subscriber"]),
        action=True,
    ),
    Scenario(
        "unexport-volumes",
        "UnexportNbdVolumes",
        "api",
        {"operation": "UnexportNbdVolumes", "params": {"vmInstanceUuid": STOPPED_VM, "volumeUuids": [VOLUME]}},
        lambda before, after: int(not after["exported"].get(STOPPED_VM)),
        action=True,
        prepare=(("exported", STOPPED_VM, {"volumeUuids": [VOLUME]}),),
    ),
    Scenario(
        "add-person",
        "AddSNSFeiShuAtPerson",
        "api",
        {"operation": "AddSNSFeiShuAtPerson", "params": {"userId": "carol", "endpointUuid": CHAT_ENDPOINT}},
        more("person", userId="carol"),
        action=True,
    ),
    Scenario(
        "remove-person",
        "RemoveSNSFeiShuAtPerson",
        "api",
        {"operation": "RemoveSNSFeiShuAtPerson", "params": {"userId": "user-1", "endpointUuid": CHAT_ENDPOINT}},
        gone("person", PERSON),
        action=True,
    ),
    *(
        Scenario(
            f"add-{kind}",
            f"AddSNS{name}AtPerson",
            "api",
            {"operation": f"AddSNS{name}AtPerson", "params": {key: "carol", "endpointUuid": CHAT_ENDPOINT}},
            more(kind, **{key: "carol"}),
            action=True,
            prepare=(("endpoint", CHAT_ENDPOINT, {"type": endpoint_type}),),
        )
        for kind, name, endpoint_type, key in OTHER_PERSONS
    ),
    *(
        Scenario(
            f"remove-{kind}",
            f"RemoveSNS{name}AtPerson",
            "api",
            {"operation": f"RemoveSNS{name}AtPerson", "params": {key: "carol", "endpointUuid": CHAT_ENDPOINT}},
            gone(kind, NEW_PERSON),
            action=True,
            prepare=(
                ("endpoint", CHAT_ENDPOINT, {"type": endpoint_type}),
                (kind, NEW_PERSON, {key: "carol", "endpointUuid": CHAT_ENDPOINT}),
            ),
        )
        for kind, name, endpoint_type, key in OTHER_PERSONS
    ),
    Scenario(
        "create-cbt-task",
        "CreateCbtTask",
        "cbt_task",
        {"name": "backup-5", "task_type": "full", "vms": ["a0000004000040008000000000000005"]},
        more("cbttask", name="backup-5"),
    ),
    Scenario(
        "enable-cbt-task",
        "EnableCbtTask",
        "cbt_task",
        {"uuid": CREATED_TASK, "state": "enabled"},
        has("cbttask", CREATED_TASK, status="Running"),
    ),
    Scenario(
        "disable-cbt-task",
        "DisableCbtTask",
        "cbt_task",
        {"uuid": RUNNING_TASK, "state": "disabled"},
        has("cbttask", RUNNING_TASK, status="Stopped"),
    ),
    Scenario(
        "delete-cbt-task",
        "DeleteCbtTask",
        "cbt_task",
        {"uuid": CREATED_TASK, "state": "absent"},
        gone("cbttask", CREATED_TASK),
    ),
    Scenario(
        "export-volumes",
        "ExportNbdVolumes",
        "cbt_volume_export",
        {"vm": STOPPED_VM, "volumes": [VOLUME]},
        lambda before, after: len(after["exported"].get(STOPPED_VM, ())),
        action=True,
    ),
    Scenario(
        "create-workchat-endpoint",
        "CreateSNSWorkchatEndpoint",
        "sns_endpoint",
        {"type": "workchat", "name": "chat", "url": CHAT, "at_person_user_ids": ["ann", "bob"]},
        more("endpoint", name="chat"),
    ),
    Scenario(
        "create-snmp-endpoint",
        "CreateSNSSnmpEndpoint",
        "sns_endpoint",
        {"type": "snmp", "name": "traps", "platform": PLATFORM},
        more("endpoint", name="traps"),
    ),
    Scenario(
        "describe-endpoint",
        "UpdateSNSApplicationEndpoint",
        "sns_endpoint",
        {"type": "snmp", "uuid": ENDPOINT, "description": "to the night shift"},
        has("endpoint", ENDPOINT, description="to the night shift"),
    ),
    Scenario(
        "move-snmp-platform",
        "UpdateSNSSnmpPlatform",
        "sns_snmp_platform",
        {"uuid": PLATFORM, "snmp_address": "10.9.9.9", "snmp_port": 1162},
        has("platform", PLATFORM, snmpAddress="10.9.9.9", snmpPort=1162),
    ),
    Scenario(
        "rename-person",
        "UpdateAtPersonOfAtTeamchatEndpoint",
        "sns_teamchat_person",
        {"uuid": PERSON, "user_id": "carol", "remark": "on call"},
        has("person", PERSON, userId="carol", remark="on call"),
    ),
    Scenario(
        "test-snmp",
        "SNSSnmpTestConnection",
        "sns_snmp_test",
        {"platform": PLATFORM},
        lambda before, after: len(after["traps"]) - len(before["traps"]),
        action=True,
        changes=False,
    ),
    Scenario(
        "make-vm",
        "CreateVmInstanceFromVolumeSnapshotGroup",
        "vm_from_snapshot_group",
        {"name": "restored", "snapshot_group": SNAPSHOT_GROUP, "l3_networks": [L3]},
        more("vm", name="restored"),
    ),
    Scenario(
        "make-vm-of-image",
        "CreateVmInstance",
        "api",
        {
            "operation": "CreateVmInstance",
            "params": {"name": "web", "imageUuid": IMAGE, "cpuNum": 2, "memorySize": 2**31, "l3NetworkUuids": [L3]},
        },
        more("vm", name="web"),
        action=True,
    ),
    Scenario(
        "clone-vm",
        "CloneVmInstance",
        "api",
        {"operation": "CloneVmInstance", "params": {"vmInstanceUuid": VM, "names": ["web"]}},
        more("vm", name="web"),
        action=True,
    ),
    Scenario(
        "make-vm-of-template",
        "CreateVmInstanceFromTemplatedVmInstance",
        "api",
        {
            "operation": "CreateVmInstanceFromTemplatedVmInstance",
            "params": {"templatedVmInstanceUuid": STOPPED_VM, "names": ["web"]},
        },
        more("vm", name="web"),
        action=True,
        prepare=(("templatedvminstance", STOPPED_VM, {"name": "template"}),),
    ),
    Scenario(
        "make-volume",
        "CreateDataVolume",
        "api",
        {"operation": "CreateDataVolume", "params": {"name": "data", "diskSize": 2**30}},
        more("volume", name="data"),
        action=True,
    ),
    Scenario(
        "grow-volume",
        "ResizeDataVolume",
        "api",
        {"operation": "ResizeDataVolume", "params": {"uuid": DATA_VOLUME, "size": 2**40}},
        has("volume", DATA_VOLUME, size=2**40),
        action=True,
    ),
    Scenario(
        "grow-root-volume",
        "ResizeRootVolume",
        "api",
        {"operation": "ResizeRootVolume", "params": {"uuid": ROOT_VOLUME, "size": 2**40}},
        has("volume", ROOT_VOLUME, size=2**40),
        action=True,
    ),
    Scenario(
        "attach-volume",
        "AttachDataVolumeToVm",
        "api",
        {"operation": "AttachDataVolumeToVm", "params": {"volumeUuid": DATA_VOLUME, "vmInstanceUuid": STOPPED_VM}},
        has("volume", DATA_VOLUME, vmInstanceUuid=STOPPED_VM),
        action=True,
        prepare=(("volume", DATA_VOLUME, {"vmInstanceUuid": None}),),
    ),
    Scenario(
        "detach-volume",
        "DetachDataVolumeFromVm",
        "api",
        {"operation": "DetachDataVolumeFromVm", "params": {"uuid": DATA_VOLUME}},
        has("volume", DATA_VOLUME, vmInstanceUuid=None),
        action=True,
    ),
    Scenario(
        "rename-volume",
        "UpdateVolume",
        "api",
        {"operation": "UpdateVolume", "params": {"uuid": DATA_VOLUME, "name": "renamed"}},
        has("volume", DATA_VOLUME, name="renamed"),
        action=True,
    ),
    Scenario(
        "attach-network",
        "AttachL3NetworkToVm",
        "vm_nic",
        {"vm": VM, "l3_network": L3},
        attached,
    ),
    Scenario(
        "disable-nic",
        "ChangeVmNicState",
        "vm_nic",
        {"uuid": NIC, "state": "disabled"},
        nic_has(state="disable"),
    ),
    Scenario(
        "move-nic",
        "ChangeVmNicNetwork",
        "vm_nic",
        {"uuid": NIC, "l3_network": L3},
        nic_has(l3NetworkUuid=L3),
    ),
    Scenario(
        "delete-nic-qos",
        "DeleteNicQos",
        "vm_nic_qos",
        {"uuid": NIC, "direction": "in"},
        lambda before, after: int("in" not in after["qos"].get(NIC, ())),
    ),
    Scenario(
        "delete-volume",
        "DeleteDataVolume",
        "api",
        {"operation": "DeleteDataVolume", "params": {"uuid": DATA_VOLUME}},
        has("volume", DATA_VOLUME, status="Deleted"),
        action=True,
    ),
    Scenario(
        "recover-volume",
        "RecoverDataVolume",
        "api",
        {"operation": "RecoverDataVolume", "params": {"uuid": DATA_VOLUME}},
        has("volume", DATA_VOLUME, status="Ready"),
        action=True,
        prepare=(("volume", DATA_VOLUME, {"status": "Deleted", "vmInstanceUuid": None}),),
    ),
    Scenario(
        "expunge-volume",
        "ExpungeDataVolume",
        "api",
        {"operation": "ExpungeDataVolume", "params": {"uuid": DATA_VOLUME}},
        gone("volume", DATA_VOLUME),
        action=True,
        prepare=(("volume", DATA_VOLUME, {"status": "Deleted", "vmInstanceUuid": None}),),
    ),
    Scenario(
        "take-snapshots",
        "CreateVolumeSnapshotGroup",
        "api",
        {"operation": "CreateVolumeSnapshotGroup", "params": {"rootVolumeUuid": VOLUME, "name": "before"}},
        more("snapshotgroup", name="before"),
        action=True,
    ),
    Scenario(
        "delete-snapshots",
        "DeleteVolumeSnapshotGroup",
        "api",
        {"operation": "DeleteVolumeSnapshotGroup", "params": {"uuid": SNAPSHOT_GROUP}},
        gone("snapshotgroup", SNAPSHOT_GROUP),
        action=True,
    ),
    Scenario(
        "revert-vm",
        "RevertVmFromSnapshotGroup",
        "api",
        {"operation": "RevertVmFromSnapshotGroup", "params": {"uuid": SNAPSHOT_GROUP}},
        has("volume", DATA_VOLUME, _snapshotUuid=SNAPSHOT),
        action=True,
        prepare=(("vm", VM, {"state": "Stopped"}),),
    ),
    Scenario(
        "rename-snapshots",
        "UpdateVolumeSnapshotGroup",
        "api",
        {"operation": "UpdateVolumeSnapshotGroup", "params": {"uuid": SNAPSHOT_GROUP, "name": "renamed"}},
        has("snapshotgroup", SNAPSHOT_GROUP, name="renamed"),
        action=True,
    ),
    Scenario(
        "ungroup-snapshots",
        "UngroupVolumeSnapshotGroup",
        "api",
        {"operation": "UngroupVolumeSnapshotGroup", "params": {"uuid": SNAPSHOT_GROUP}},
        gone("snapshotgroup", SNAPSHOT_GROUP),
        action=True,
    ),
    Scenario(
        "limit-nic",
        "SetNicQos",
        "api",
        {"operation": "SetNicQos", "params": {"uuid": NIC, "outboundBandwidth": 2**20}},
        lambda before, after: int(after["qos"].get(NIC, {}).get("out") == 2**20),
        action=True,
    ),
    Scenario(
        "detach-nic",
        "DetachL3NetworkFromVm",
        "api",
        {"operation": "DetachL3NetworkFromVm", "params": {"uuid": NIC}},
        gone("vmnic", NIC),
        action=True,
    ),
    Scenario(
        "create-user-tag",
        "CreateUserTag",
        "api",
        {"operation": "CreateUserTag", "params": {"resourceType": "HostVO", "resourceUuid": HOST, "tag": "production"}},
        more("usertag", tag="production"),
        action=True,
    ),
    Scenario(
        "delete-user-tag",
        "DeleteTag",
        "api",
        {"operation": "DeleteTag", "params": {"uuid": USER_TAG}},
        gone("usertag", USER_TAG),
        action=True,
    ),
    Scenario(
        "create-tag-pattern",
        "CreateTag",
        "api",
        {"operation": "CreateTag", "params": {"name": "production", "value": "production"}},
        more("tagpattern", value="production"),
        action=True,
    ),
    Scenario(
        "attach-tag-pattern",
        "AttachTagToResources",
        "api",
        {"operation": "AttachTagToResources", "params": {"tagUuid": PATTERN, "resourceUuids": [HOST]}},
        more("usertag", resourceUuid=HOST, tag="pattern-1"),
        action=True,
    ),
    Scenario(
        "detach-tag-pattern",
        "DetachTagFromResources",
        "api",
        {"operation": "DetachTagFromResources", "params": {"tagUuid": PATTERN, "resourceUuids": [VM]}},
        gone("usertag", USER_TAG),
        action=True,
        prepare=(("usertag", USER_TAG, {"tagPatternUuid": PATTERN}),),
    ),
    Scenario(
        "tag-host",
        "CreateUserTag",
        "kvm_host",
        {"uuid": HOST, "tags": ["production"], "tags_mode": "add"},
        more("usertag", resourceUuid=HOST, tag="production"),
    ),
    Scenario(
        "set-service-types",
        "SetServiceTypeOnHostNetworkInterface",
        "host_nic_service",
        {"interfaces": [HOST_NIC], "service_types": ["StorageNetwork", "BackupNetwork"]},
        served,
    ),
)

# The module and its options for each operation that destroys or recovers an object, which SCENARIOS call with ``api``.
_BY_MODULE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "DestroyVmInstance": ("vm", {"uuid": VM, "state": "absent"}),
    "ExpungeVmInstance": ("vm", {"uuid": STOPPED_VM, "state": "absent", "expunge": True}),
    "RecoverVmInstance": ("vm", {"uuid": STOPPED_VM, "recover": True}),
    "DeleteHost": (
        "kvm_host",
        {"uuid": THIRD_HOST, "state": "absent", "force": True, "destroy_local_storage": True},
    ),
    "DeleteSNSApplicationEndpoint": ("sns_endpoint", {"type": "any", "uuid": ENDPOINT, "state": "absent"}),
    "DeleteSNSApplicationPlatform": ("sns_snmp_platform", {"uuid": PLATFORM, "state": "absent", "force": True}),
    "DeleteSNSTopic": ("sns_topic", {"uuid": TOPIC, "state": "absent", "force": True}),
    "RemoveSNSFeiShuAtPerson": ("sns_teamchat_person", {"uuid": PERSON, "state": "absent"}),
    "DetachL3NetworkFromVm": ("vm_nic", {"uuid": NIC, "state": "absent"}),
    "DeleteVolumeSnapshotGroup": ("vm_snapshot_group", {"uuid": SNAPSHOT_GROUP, "state": "absent"}),
    "DeleteTag": ("vm", {"uuid": VM, "tags": []}),
}

# A disconnected host is not put into maintenance before its removal.
_DISCONNECTED = ("host", THIRD_HOST, {"status": "Disconnected"})

# The VM is destroyed, and its data volume is free since then.
_DESTROYED = ("vm", VM, {"state": "Destroyed", "hostUuid": None})
_FREE_VOLUME: Mapping[str, Any] = {"vmInstanceUuid": None, "lastDetachDate": None}
_WITH_VOLUMES: Mapping[str, Any] = {"uuid": VM, "state": "absent", "data_volumes": "delete"}


def all_gone(before: State, after: State) -> int:
    """Count whether the VM and its data volume no longer exist."""
    return min(gone("vm", VM)(before, after), gone("volume", DATA_VOLUME)(before, after))


# Removals with several calls, and those that need other changes of the seeded records than the scenarios above.
_CHAINS = (
    *(
        Scenario(f"remove-vm-and-volume by {operation}", operation, "vm", {**_WITH_VOLUMES, "expunge": True}, all_gone)
        for operation in ("DestroyVmInstance", "DeleteDataVolume", "ExpungeDataVolume", "ExpungeVmInstance")
    ),
    Scenario(
        "remove-volume-of-destroyed-vm",
        "DeleteDataVolume",
        "vm",
        _WITH_VOLUMES,
        has("volume", DATA_VOLUME, status="Deleted"),
        prepare=(_DESTROYED, ("volume", DATA_VOLUME, _FREE_VOLUME)),
    ),
    Scenario(
        "expunge-volume-of-destroyed-vm",
        "ExpungeDataVolume",
        "vm",
        {**_WITH_VOLUMES, "expunge": True},
        all_gone,
        prepare=(_DESTROYED, ("volume", DATA_VOLUME, {**_FREE_VOLUME, "status": "Deleted"})),
    ),
    *(
        Scenario(
            f"drain-and-delete-host by {operation}",
            operation,
            "kvm_host",
            {"uuid": HOST, "state": "absent", "evacuate": True, "destroy_local_storage": True, "running_vms": "stop"},
            gone("host", HOST),
        )
        for operation in ("ChangeHostState", "DeleteHost")
    ),
    Scenario(
        "unsubscribe with sns_endpoint",
        "UnsubscribeSNSTopic",
        "sns_endpoint",
        {"type": "snmp", "uuid": ENDPOINT, "topics": []},
        lambda before, after: len(before["subscriber"]) - len(after["subscriber"]),
    ),
    Scenario(
        "revert-vm with vm_snapshot_group",
        "RevertVmFromSnapshotGroup",
        "vm_snapshot_group",
        {"uuid": SNAPSHOT_GROUP, "state": "reverted", "force": True},
        has("volume", DATA_VOLUME, _snapshotUuid=SNAPSHOT),
        action=True,
        prepare=(("vm", VM, {"state": "Stopped", "hostUuid": None}),),
    ),
)

# A task of a module for each of these operations: unlike ``api``, it has to converge.
REMOVALS = (
    *(
        replace(
            scenario,
            name=f"{scenario.name} with {module}",
            module=module,
            options=options,
            action=False,
            prepare=(*scenario.prepare, _DISCONNECTED),
        )
        for scenario in SCENARIOS
        for module, options in [_BY_MODULE.get(scenario.operation, ("", {}))]
        if module
    ),
    *_CHAINS,
)

# The chats whose endpoints mention persons, their part of the paths, and the parameter of a person.
_CHATS = (("FeiShu", "feishu", "userId"), ("WeCom", "we-com", "userId"), ("DingTalk", "ding-talk", "phoneNumber"))

# The request of each write that the API document lacks: parameters, the method and the path below the prefix, and the
# body. They are written by hand, so that the table of operations is not compared with itself.
WIRE: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "UnexportNbdVolumes": (
        {"volumeUuids": ["v"], "vmInstanceUuid": "u"},
        "POST cbt-task/unexportvolume",
        {"params": {"volumeUuids": ["v"], "vmInstanceUuid": "u"}},
    ),
    "DeleteSNSApplicationEndpoint": ({"uuid": "u"}, "DELETE sns/application-endpoints/u", {}),
    "ChangeSNSApplicationEndpointState": (
        {"uuid": "u", "stateEvent": "enable"},
        "PUT sns/application-endpoints/u/actions",
        {"changeSNSApplicationEndpointState": {"stateEvent": "enable"}},
    ),
    "DeleteSNSApplicationPlatform": ({"uuid": "u"}, "DELETE sns/application-platforms/u", {}),
    "UpdateSNSApplicationPlatform": (
        {"uuid": "u", "name": "n"},
        "PUT sns/application-platforms/u/actions",
        {"updateSNSApplicationPlatform": {"name": "n"}},
    ),
    "ChangeSNSApplicationPlatformState": (
        {"uuid": "u", "stateEvent": "disable"},
        "PUT sns/application-platforms/u/actions",
        {"changeSNSApplicationPlatformState": {"stateEvent": "disable"}},
    ),
    "CreateSNSSnmpPlatform": (
        {"name": "n", "snmpAddress": "192.0.2.1", "snmpPort": 162},
        "POST sns/application-platforms/snmp",
        {"params": {"name": "n", "snmpAddress": "192.0.2.1", "snmpPort": 162}},
    ),
    "SubscribeSNSTopic": ({"topicUuid": "t", "endpointUuid": "e"}, "POST sns/topics/t/endpoints/e", {"params": {}}),
    "UnsubscribeSNSTopic": ({"topicUuid": "t", "endpointUuid": "e"}, "DELETE sns/topics/t/endpoints/e", {}),
    "DestroyVmInstance": (
        {"uuid": "u", "deleteMode": "Enforcing"},
        "DELETE vm-instances/u?deleteMode=Enforcing",
        {"deleteMode": "Enforcing"},
    ),
    "StartVmInstance": (
        {"uuid": "u", "hostUuid": "h"},
        "PUT vm-instances/u/actions",
        {"startVmInstance": {"hostUuid": "h"}},
    ),
    "StopVmInstance": (
        {"uuid": "u", "type": "cold", "stopHA": "true"},
        "PUT vm-instances/u/actions",
        {"stopVmInstance": {"type": "cold", "stopHA": "true"}},
    ),
    "MigrateVm": ({"uuid": "u", "hostUuid": "h"}, "PUT vm-instances/u/actions", {"migrateVm": {"hostUuid": "h"}}),
    "RebootVmInstance": ({"uuid": "u"}, "PUT vm-instances/u/actions", {"rebootVmInstance": {}}),
    "PauseVmInstance": ({"uuid": "u"}, "PUT vm-instances/u/actions", {"pauseVmInstance": {}}),
    "ResumeVmInstance": ({"uuid": "u"}, "PUT vm-instances/u/actions", {"resumeVmInstance": {}}),
    "ExpungeVmInstance": ({"uuid": "u"}, "PUT vm-instances/u/actions", {"expungeVmInstance": {}}),
    "RecoverVmInstance": ({"uuid": "u"}, "PUT vm-instances/u/actions", {"recoverVmInstance": {}}),
    "UpdateVmInstance": (
        {"uuid": "u", "cpuNum": 2, "memorySize": 2**40},
        "PUT vm-instances/u/actions",
        {"updateVmInstance": {"cpuNum": 2, "memorySize": 2**40}},
    ),
    "SetNicQos": (
        {"uuid": "u", "outboundBandwidth": 2**20},
        "PUT vm-instances/u/actions",
        {"setNicQos": {"outboundBandwidth": 2**20}},
    ),
    "DetachL3NetworkFromVm": ({"uuid": "u"}, "DELETE vm-instances/nics/u", {}),
    "ReconnectHost": ({"uuid": "u"}, "PUT hosts/u/actions", {"reconnectHost": {}}),
    "UpdateHost": ({"uuid": "u", "name": "n"}, "PUT hosts/u/actions", {"updateHost": {"name": "n"}}),
    "UpdateKVMHost": (
        {"uuid": "u", "username": "root", "password": "p", "sshPort": 2222},
        "PUT hosts/kvm/u/actions",
        {"updateKVMHost": {"username": "root", "password": "p", "sshPort": 2222}},
    ),
    "UpdateHostIpmi": (
        {"uuid": "u", "ipmiAddress": "192.0.2.3", "ipmiPort": 623},
        "PUT hosts/ipmi/u/actions",
        {"updateHostIpmi": {"ipmiAddress": "192.0.2.3", "ipmiPort": 623}},
    ),
    "PowerOnHost": ({"uuid": "u"}, "PUT hosts/power/u/actions", {"powerOnHost": {}}),
    "ShutdownHost": (
        {"uuid": "u", "force": True, "method": "IPMI"},
        "PUT hosts/power/u/actions",
        {"shutdownHost": {"force": True, "method": "IPMI"}},
    ),
    "PowerResetHost": (
        {"uuid": "u", "method": "AUTO"},
        "PUT hosts/power/u/actions",
        {"powerResetHost": {"method": "AUTO"}},
    ),
    "DeleteHost": ({"uuid": "u"}, "DELETE hosts/u", {}),
    "CreateSNSWeComEndpoint": (
        {"url": "https://chat.example.com/", "atAll": True, "name": "n"},
        "POST sns/application-endpoints/we-com",
        {"params": {"url": "https://chat.example.com/", "atAll": True, "atALL": True, "name": "n"}},
    ),
    **{
        f"UpdateSNS{kind}Endpoint": (
            {"uuid": "u", "url": "https://chat.example.com/"},
            f"PUT sns/application-endpoints/{path}/u/actions",
            {f"updateSNS{kind}Endpoint": {"url": "https://chat.example.com/"}},
        )
        for kind, path in {
            "WeCom": "we-com",
            "FeiShu": "feishu",
            "DingTalk": "ding-talk",
            "Http": "http",
            "MicrosoftTeams": "microsoft-teams",
        }.items()
    },
    "UpdateAtPersonOfAtFeiShuEndpoint": (
        {"uuid": "u", "endpointUuid": "e", "remark": "r"},
        "PUT sns/application-endpoints/feishu/at-persons/u/actions",
        {"updateAtPersonOfAtFeiShuEndpoint": {"endpointUuid": "e", "remark": "r"}},
    ),
    **{
        f"AddSNS{kind}AtPerson": (
            {key: "p", "endpointUuid": "e"},
            f"POST sns/application-endpoints/{path}/at-persons",
            {"params": {key: "p", "endpointUuid": "e"}},
        )
        for kind, path, key in _CHATS
    },
    **{
        f"RemoveSNS{kind}AtPerson": (
            {key: "p", "endpointUuid": "e"},
            f"DELETE sns/application-endpoints/{path}/e/at-persons/p",
            {},
        )
        for kind, path, key in _CHATS
    },
    "LogInByAccount": (
        {"accountName": "a", "password": "p"},
        "PUT accounts/login",
        {"logInByAccount": {"accountName": "a", "password": "p"}},
    ),
    "LogOut": ({"sessionUuid": "s"}, "DELETE accounts/sessions/s", {}),
    "CreateUserTag": (
        {"resourceType": "HostVO", "resourceUuid": "u", "tag": "t"},
        "POST user-tags",
        {"params": {"resourceType": "HostVO", "resourceUuid": "u", "tag": "t"}},
    ),
    "DeleteTag": ({"uuid": "u"}, "DELETE tags/u", {}),
    "CreateTag": (
        {"name": "n", "value": "v", "type": "simple"},
        "POST tags",
        {"params": {"name": "n", "value": "v", "type": "simple"}},
    ),
    "AttachTagToResources": (
        {"tagUuid": "t", "resourceUuids": ["a", "b"]},
        "POST tags/t/resources",
        {"params": {"resourceUuids": ["a", "b"]}},
    ),
    "DetachTagFromResources": (
        {"tagUuid": "t", "resourceUuids": ["a", "b"]},
        "DELETE tags/t/resources?resourceUuids=a&resourceUuids=b",
        {"resourceUuids": ["a", "b"]},
    ),
    "CreateVmInstance": (
        {
            "name": "n",
            "rootDiskSize": 1 << 30,
            "strategy": "CreateStopped",
            "dataDiskSizes": [1 << 31],
            "systemTags": ["a"],
        },
        "POST vm-instances",
        {
            "params": {"name": "n", "rootDiskSize": 1 << 30, "strategy": "CreateStopped", "dataDiskSizes": [1 << 31]},
            "systemTags": ["a"],
        },
    ),
    "CloneVmInstance": (
        {"vmInstanceUuid": "v", "names": ["n"]},
        "PUT vm-instances/v/actions",
        {"cloneVmInstance": {"names": ["n"]}},
    ),
    "CreateVmInstanceFromTemplatedVmInstance": (
        {"templatedVmInstanceUuid": "v", "names": ["n"], "cpuNum": 2},
        "POST vm-instances/v/create-vmInstance-from-templated-vmInstance",
        {"params": {"names": ["n"], "cpuNum": 2}},
    ),
    "CreateDataVolume": (
        {"name": "n", "diskSize": 1 << 30},
        "POST volumes/data",
        {"params": {"name": "n", "diskSize": 1 << 30}},
    ),
    "ResizeDataVolume": (
        {"uuid": "u", "size": 2},
        "PUT volumes/data/resize/u/actions",
        {"resizeDataVolume": {"size": 2}},
    ),
    "ResizeRootVolume": (
        {"uuid": "u", "vmInstanceUuid": "v", "size": 2},
        "PUT volumes/resize/u/actions",
        {"resizeRootVolume": {"vmInstanceUuid": "v", "size": 2}},
    ),
    "AttachDataVolumeToVm": (
        {"volumeUuid": "u", "vmInstanceUuid": "v"},
        "POST volumes/u/vm-instances/v",
        {"params": {}},
    ),
    "DetachDataVolumeFromVm": (
        {"uuid": "u", "vmUuid": "v"},
        "DELETE volumes/u/vm-instances?vmUuid=v",
        {"vmUuid": "v"},
    ),
    "UpdateVolume": ({"uuid": "u", "name": "n"}, "PUT volumes/u/actions", {"updateVolume": {"name": "n"}}),
    "DeleteDataVolume": ({"uuid": "u"}, "DELETE volumes/u", {}),
    "RecoverDataVolume": ({"uuid": "u"}, "PUT volumes/u/actions", {"recoverDataVolume": {}}),
    "ExpungeDataVolume": ({"uuid": "u"}, "PUT volumes/u/actions", {"expungeDataVolume": {}}),
    "CreateVolumeSnapshotGroup": (
        {"rootVolumeUuid": "v", "name": "n", "withMemory": False},
        "POST volume-snapshots/group",
        {"params": {"rootVolumeUuid": "v", "name": "n", "withMemory": False}},
    ),
    "DeleteVolumeSnapshotGroup": (
        {"uuid": "u", "scope": "single"},
        "DELETE volume-snapshots/group/u?scope=single",
        {"scope": "single"},
    ),
    "RevertVmFromSnapshotGroup": (
        {"uuid": "u"},
        "PUT volume-snapshots/group/u/actions",
        {"revertVmFromSnapshotGroup": {}},
    ),
    "UpdateVolumeSnapshotGroup": (
        {"uuid": "u", "description": "d"},
        "PUT volume-snapshots/group/u/actions",
        {"updateVolumeSnapshotGroup": {"description": "d"}},
    ),
    "UngroupVolumeSnapshotGroup": ({"uuid": "u"}, "DELETE volume-snapshots/ungroup/u", {}),
    "CreateSNSTopic": (
        {"name": "n", "locale": "en_US"},
        "POST sns/topics",
        {"params": {"name": "n", "locale": "en_US"}},
    ),
    "DeleteSNSTopic": ({"uuid": "u"}, "DELETE sns/topics/u", {}),
    "UpdateSNSTopic": ({"uuid": "u", "name": "n"}, "PUT sns/topics/u/actions", {"updateSNSTopic": {"name": "n"}}),
    "ChangeSNSTopicState": (
        {"uuid": "u", "stateEvent": "enable"},
        "PUT zwatch/topics/u/actions",
        {"changeSNSTopicState": {"stateEvent": "enable"}},
    ),
}
