"""The types of objects whose operations are those of the catalogue: what their records have, and how they depend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NAMED = ("uuid", "name", "description", "createDate", "lastOpDate")


@dataclass(frozen=True)
class Kind:
    """A type of objects.

    `name` is the part of its operations' names, `table` that of its records. `fields` are members of its records
    in addition to NAMED, `defaults` their values in a new one. `creates` maps operations that create to members of
    the new record; by default, it is `Create<name>`. `cascade` are types, each with the member that refers to an object
    of this one, whose objects are removed with it. `unique` are members of which no two objects have the same values.
    `quota` is the quota that counts its objects.
    """

    table: str
    name: str
    fields: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    creates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cascade: tuple[tuple[str, str], ...] = ()
    unique: tuple[str, ...] = ()
    quota: str = ""
    has_state: bool = True
    has_update: bool = True

    @property
    def record_fields(self) -> frozenset[str]:
        """All members of a record."""
        return frozenset((*NAMED, *self.fields, *self.defaults, *(("state",) if self.has_state else ())))

    @property
    def creations(self) -> Mapping[str, Mapping[str, Any]]:
        """The operations that create an object, with what they add to its record."""
        return self.creates or {f"Create{self.name}": {}}


KINDS = (
    Kind(
        "zone",
        "Zone",
        defaults={"type": "zstack", "isDefault": False},
        cascade=(("cluster", "zoneUuid"), ("l2network", "zoneUuid"), ("primarystorage", "zoneUuid")),
    ),
    Kind(
        "cluster",
        "Cluster",
        ("zoneUuid", "hypervisorType"),
        {"type": "zstack", "architecture": "x86_64"},
        cascade=(("host", "clusterUuid"),),
    ),
    Kind(
        "diskoffering",
        "DiskOffering",
        ("diskSize",),
        {
            "sortKey": 0,
            "type": "DefaultDiskOfferingType",
            "allocatorStrategy": "DefaultPrimaryStorageAllocationStrategy",
        },
    ),
    Kind(
        "instanceoffering",
        "InstanceOffering",
        ("cpuNum", "memorySize"),
        {
            "cpuSpeed": 0,
            "reservedMemorySize": 0,
            "sortKey": 0,
            "type": "UserVm",
            "allocatorStrategy": "LeastVmPreferredHostAllocatorStrategy",
        },
    ),
    Kind(
        "image",
        "Image",
        ("url", "guestOsType"),
        {
            "status": "Ready",
            "mediaType": "RootVolumeTemplate",
            "format": "qcow2",
            "platform": "Linux",
            "architecture": "x86_64",
            "virtio": True,
            "system": False,
            "type": "zstack",
            "size": 10 * 1024**3,
            "actualSize": 2 * 1024**3,
            "backupStorageRefs": [],
        },
        creates={"AddImage": {"status": "Downloading"}},
        quota="image.num",
    ),
    Kind(
        "backupstorage",
        "BackupStorage",
        ("url",),
        {
            "type": "ImageStoreBackupStorage",
            "status": "Connected",
            "totalCapacity": 10 * 1024**4,
            "availableCapacity": 8 * 1024**4,
            "attachedZoneUuids": [],
        },
    ),
    Kind(
        "l2network",
        "L2Network",
        ("zoneUuid", "physicalInterface", "type", "vlan", "virtualNetworkId"),
        {"vSwitchType": "LinuxBridge", "attachedClusterUuids": []},
        creates={
            "CreateL2NoVlanNetwork": {"type": "L2NoVlanNetwork"},
            "CreateL2VlanNetwork": {"type": "L2VlanNetwork"},
        },
        cascade=(("l3network", "l2NetworkUuid"),),
        quota="l2.num",
        has_state=False,
    ),
    Kind(
        "l3network",
        "L3Network",
        ("zoneUuid", "l2NetworkUuid", "dnsDomain"),
        {
            "type": "L3BasicNetwork",
            "category": "Private",
            "ipVersion": 4,
            "system": False,
            "enableIPAM": True,
            "ipRanges": [],
            "networkServices": [],
        },
        cascade=(("vip", "l3NetworkUuid"),),
        quota="l3.num",
    ),
    Kind(
        "networkserviceprovider",
        "NetworkServiceProvider",
        ("networkServiceTypes",),
        {"type": "Flat", "attachedL2NetworkUuids": []},
        has_state=False,
    ),
    Kind(
        "securitygroup",
        "SecurityGroup",
        defaults={"ipVersion": 4, "internalId": 0, "attachedL3NetworkUuids": [], "rules": []},
        quota="securityGroup.num",
    ),
    Kind(
        "affinitygroup",
        "AffinityGroup",
        ("zoneUuid",),
        {"policy": "antiSoft", "type": "host", "version": "1.0", "appliance": "CUSTOMER", "usages": []},
        quota="affinitygroup.num",
    ),
    Kind("account", "Account", defaults={"type": "Normal"}, unique=("name",)),
    Kind("tagpattern", "Tag", ("value", "color"), {"type": "simple"}, creates={"CreateTag": {}}, has_state=False),
    Kind("sshkeypair", "SshKeyPair", ("publicKey",), quota="sshkeypair.num", has_state=False),
    Kind(
        "schedulerjob",
        "SchedulerJob",
        ("targetResourceUuid", "jobClassName", "jobData"),
        {"triggersUuid": []},
        quota="scheduler.num",
    ),
    Kind(
        "schedulertrigger",
        "SchedulerTrigger",
        ("schedulerInterval", "repeatCount", "startTime", "stopTime", "cron"),
        {"schedulerType": "simple", "jobsUuid": []},
        quota="scheduler.trigger.num",
        has_state=False,
    ),
    Kind(
        "vip",
        "Vip",
        ("l3NetworkUuid", "ipRangeUuid", "ip", "netmask", "gateway", "useFor"),
        {"serviceProvider": "vrouter", "prefixLen": 16, "system": False},
        cascade=(("eip", "vipUuid"), ("portforwarding", "vipUuid"), ("loadbalancer", "vipUuid")),
        quota="vip.num",
    ),
    Kind("eip", "Eip", ("vipUuid", "vmNicUuid", "vipIp", "guestIp"), quota="eip.num"),
    Kind(
        "portforwarding",
        "PortForwardingRule",
        (
            "vipUuid",
            "vmNicUuid",
            "vipIp",
            "guestIp",
            "vipPortStart",
            "vipPortEnd",
            "privatePortStart",
            "privatePortEnd",
            "allowedCidr",
        ),
        {"protocolType": "TCP"},
        quota="portForwarding.num",
    ),
    Kind(
        "loadbalancer",
        "LoadBalancer",
        ("vipUuid",),
        {"type": "Shared"},
        cascade=(("listener", "loadBalancerUuid"),),
        quota="loadBalancer.num",
    ),
    Kind(
        "listener",
        "LoadBalancerListener",
        ("loadBalancerUuid", "loadBalancerPort", "instancePort"),
        {"protocol": "tcp", "vmNicRefs": []},
        quota="loadBalancerListener.num",
        has_state=False,
    ),
)

REFERENCES = {
    "zoneUuid": "zone",
    "clusterUuid": "cluster",
    "l2NetworkUuid": "l2network",
    "l3NetworkUuid": "l3network",
    "ipRangeUuid": "iprange",
    "backupStorageUuids": "backupstorage",
    "vipUuid": "vip",
    "vmNicUuid": "vmnic",
    "vmNicUuids": "vmnic",
    "vmInstanceUuid": "vm",
    "isoUuid": "image",
    "primaryStorageUuid": "primarystorage",
    "diskOfferingUuid": "diskoffering",
    "securityGroupUuid": "securitygroup",
    "affinityGroupUuid": "affinitygroup",
    "accountUuid": "account",
    "identityUuid": "account",
    "loadBalancerUuid": "loadbalancer",
    "schedulerJobUuid": "schedulerjob",
    "schedulerTriggerUuid": "schedulertrigger",
}
"""The types of the objects that parameters refer to."""

ROWS = {
    "quota": frozenset(("uuid", "name", "identityUuid", "identityType", "value", "createDate", "lastOpDate")),
    "accountresourceref": frozenset(("accountUuid", "resourceUuid", "resourceType", "createDate", "lastOpDate")),
    "nicinsecuritygroup": frozenset(
        ("uuid", "securityGroupUuid", "vmNicUuid", "vmInstanceUuid", "priority", "createDate", "lastOpDate")
    ),
}
"""The types of records that relate objects, with their members."""

ADMIN = "36c27e8ff05c4780bf6d2fa65700f22e"
"""The uuid of the account of the administrator, which all servers have in common."""

TAGGED = {
    "IpRangeVO": "iprange",
    "DiskOfferingVO": "diskoffering",
    "L2NetworkVO": "l2network",
    "SecurityGroupVO": "securitygroup",
    "AffinityGroupVO": "affinitygroup",
    "AccountVO": "account",
    "SshKeyPairVO": "sshkeypair",
    "SchedulerJobVO": "schedulerjob",
    "SchedulerTriggerVO": "schedulertrigger",
    "VipVO": "vip",
    "EipVO": "eip",
    "PortForwardingRuleVO": "portforwarding",
    "LoadBalancerVO": "loadbalancer",
    "LoadBalancerListenerVO": "listener",
}
"""Maps the types of resources in user tags to the types of records."""
