"""The kinds of objects of the module ``resource``: a row for each, each attachment of two objects, and each setting.

The operations, their parameters, types and choices are those of the catalogue. A row has what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from .._engine.guards import LOST
from .vm_states import ATTACHING_STATES, CHANGING_STATES

# The effect on objects that lose what they use, but remain.
BEREFT = "left without it"


@dataclass(frozen=True)
class Use:
    """Objects that are affected when an object is deleted.

    ``type`` is their type in messages, ``query`` lists them with the condition that ``field`` is the uuid of the
    object, and ``also`` that of the second object of an attachment. ``effect`` is LOST if they are removed with it.
    ``uuid`` and ``name`` are the fields that identify them.
    """

    type: str
    query: str
    field: str
    effect: str = LOST
    reason: str = ""
    uuid: str = "uuid"
    name: str = "name"
    also: str = ""


class Fit(NamedTuple):
    """A parameter, or a member of a part, that services accept only with some values of another one, or without it.

    ``remedy`` says what to do about others, for a limit: a rule without it would permit more than was meant.
    """

    name: str
    other: str
    values: tuple[str, ...] = ()
    remedy: str = ""

    def refuses(self, values: Mapping[str, Any]) -> bool:
        """Return whether services refuse this parameter or member with these values of others."""
        given = values.get(self.other)
        return given is not None and given not in self.values


class Need(NamedTuple):
    """Parameters, one of which the creation of an object needs, always or if another parameter has a value."""

    names: tuple[str, ...]
    other: str = ""
    value: str = ""


class Demand(NamedTuple):
    """Values that an object of an attachment has before it is attached. Services refuse others.

    ``end`` is the option with the object, ``also`` are further values, with which the service may wait or refuse.
    """

    end: str
    field: str
    values: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parts:
    """A property of a kind that is a list, whose items are added and removed by operations of their own.

    ``name`` is the property and the field of the record. ``owner`` is the parameter of ``add`` with the uuid of the
    object, ``added`` that with the new items, and ``removed`` the parameter of ``remove`` with the uuids of items.
    ``members`` are the members of an item with their choices, ``words`` what users call them, of which the first is
    meant that fits the others, and ``defaults`` the values of those that an item does not give: a rule without a range
    of addresses is for all addresses. ``change`` changes ``changeable`` members of an item; the other ones tell it from
    the others. No two items share the members in ``unique``, by default all that tell them apart. An item of a record
    in which all of ``kept`` have these values is the service's own, and remains. ``fits`` are the members that some
    values of others exclude. The first member of ``grouped`` is the object that offers those in the second, and its
    record lists them in ``offered``.
    """

    name: str
    add: str
    owner: str
    added: str
    remove: str
    removed: str
    members: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, Any] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()
    offered: str = ""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    change: str = ""
    changeable: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()

    @property
    def identity(self) -> tuple[str, ...]:
        """The members that tell an item from the others."""
        return tuple(name for name in self.members if name not in self.changeable)


@dataclass(frozen=True, eq=False)
class Kind:
    """A type of objects.

    ``noun`` is its term in messages. ``create`` has operations by the property that calls for one, or "" for all
    others. ``change`` has operations that change one property, by its parameter in the creation, in addition to
    ``update``: a size, which can only grow. ``change_state`` enables and disables. ``parent`` is the parameter of the
    creation with the object within which it has its name. ``fields`` are names of the record for parameters, where
    these differ, and None for those that no record shows. ``unsettled`` are values of ``status`` that change without a
    call, ``deleted`` is that of an object that ``recover`` brings back, and ``expunge`` removes for good.
    ``tagged_type`` is the type in user tags. ``fits`` are parameters that some values of others exclude, and ``needs``
    those that some values need. ``units`` are those of numbers, in words. ``choices`` are those that the catalogue does
    not know.
    """

    name: str
    noun: str
    query: str
    create: Mapping[str, str] = field(default_factory=dict)
    update: str | None = None
    delete: str | None = None
    change: Mapping[str, str] = field(default_factory=dict)
    change_state: str | None = None
    parent: str = ""
    fields: Mapping[str, str | None] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    deleted: str = ""
    recover: str = ""
    expunge: str = ""
    uses: tuple[Use, ...] = ()
    parts: tuple[Parts, ...] = ()
    tagged_type: str = ""
    fits: tuple[Fit, ...] = ()
    needs: tuple[Need, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Attachment:
    """Two objects that are attached to each other or not.

    ``ends`` are the options with the objects, each with the parameter for it. ``query`` shows it: the records whose
    ``of`` is the uuid of the first object, in which ``path`` leads to that of the second one.
    ``is_exclusive`` says that the first object is attached to one other at most. ``parameters`` maps parameters of the
    operations to those of the ends, where the names differ. ``demands`` are what the objects must be.
    """

    name: str
    noun: str
    attach: str
    detach: str
    ends: Mapping[str, str]
    query: str
    path: str
    of: str = "uuid"
    is_exclusive: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    uses: tuple[Use, ...] = ()
    demands: tuple[Demand, ...] = ()


@dataclass(frozen=True, eq=False)
class Setting:
    """A value of an object that the record of the object does not show.

    ``ends`` is the option with the object, with the parameter for it. ``read`` is the operation that returns the value
    as ``member`` of its reply, ``change`` the one that sets it with the parameter ``value``, and ``reset`` the one that
    leaves ``default``. ``parameters`` maps a parameter of the operations to that of the object, as for an attachment.
    """

    name: str
    noun: str
    read: str
    change: str
    reset: str
    value: str
    member: str
    ends: Mapping[str, str]
    parameters: Mapping[str, str]
    default: Any = None


# The rows of all forms.
Row: TypeAlias = "Kind | Attachment | Setting"

_VMS_OF_IMAGE = Use("vm", "QueryVmInstance", "imageUuid", BEREFT, "its root volume was made from the image")
_RULE = {
    "type": ("Ingress", "Egress"),
    "protocol": ("ALL", "TCP", "UDP", "ICMP"),
    "action": ("ACCEPT", "DROP"),
    "state": ("Enabled", "Disabled"),
    "ipVersion": (),
    "srcIpRange": (),
    "dstIpRange": (),
    "dstPortRange": (),
    "remoteSecurityGroupUuid": (),
    "description": (),
}

_FITS_OF_RULES = (
    Fit("dstPortRange", "protocol", ("TCP", "UDP"), "Only TCP and UDP have ports: give one of them as protocol"),
    Fit("srcIpRange", "type", ("Ingress",), "Did you mean dst_ip_range?"),
    Fit("dstIpRange", "type", ("Egress",), "Did you mean src_ip_range?"),
    Fit("srcIpRange", "remoteSecurityGroupUuid"),
    Fit("dstIpRange", "remoteSecurityGroupUuid"),
)

_WORDS_OF_RULES = {
    "direction": ("type",),
    "proto": ("protocol",),
    "policy": ("action",),
    "ether_type": ("ipVersion",),
    **dict.fromkeys(("cidr", "cidr_ip", "remote_ip_prefix"), ("srcIpRange", "dstIpRange")),
    **dict.fromkeys(("source", "source_ip", "src"), ("srcIpRange",)),
    **dict.fromkeys(("destination", "dest", "dst"), ("dstIpRange",)),
    **dict.fromkeys(("port", "ports", "port_range", "port_range_min", "port_range_max", "to_port"), ("dstPortRange",)),
    **dict.fromkeys(("remote_group", "security_group"), ("remoteSecurityGroupUuid",)),
}

_HIDDEN_OF_LISTENER = (
    *("aclStatus", "aclType", "aclUuids", "certificateUuid", "securityPolicyType"),
    *("healthCheckProtocol", "healthCheckMethod", "healthCheckURI", "healthCheckHttpCode"),
)

KINDS = (
    Kind(
        "account",
        "account",
        "QueryAccount",
        create={"": "CreateAccount"},
        update="UpdateAccount",
        delete="DeleteAccount",
        change_state="UpdateAccount",
        fields={"password": None, "oldPassword": None},
        uses=(
            Use(
                "object",
                "QueryAccountResourceRef",
                "accountUuid",
                BEREFT,
                "it belongs to the account",
                "resourceUuid",
                "resourceType",
            ),
        ),
        tagged_type="AccountVO",
    ),
    Kind(
        "affinity_group",
        "affinity group",
        "QueryAffinityGroup",
        create={"": "CreateAffinityGroup"},
        update="UpdateAffinityGroup",
        delete="DeleteAffinityGroup",
        change_state="ChangeAffinityGroupState",
        fields={"subType": None},
        tagged_type="AffinityGroupVO",
    ),
    Kind(
        "cluster",
        "cluster",
        "QueryCluster",
        create={"": "CreateCluster"},
        update="UpdateCluster",
        delete="DeleteCluster",
        change_state="ChangeClusterState",
        parent="zoneUuid",
        uses=(Use("host", "QueryHost", "clusterUuid"),),
        tagged_type="ClusterVO",
    ),
    Kind(
        "disk_offering",
        "disk offering",
        "QueryDiskOffering",
        create={"": "CreateDiskOffering"},
        update="UpdateDiskOffering",
        delete="DeleteDiskOffering",
        change_state="ChangeDiskOfferingState",
        fields={"allocationStrategy": "allocatorStrategy"},
        tagged_type="DiskOfferingVO",
    ),
    Kind(
        "eip",
        "EIP",
        "QueryEip",
        create={"": "CreateEip"},
        update="UpdateEip",
        delete="DeleteEip",
        change_state="ChangeEipState",
        parent="vipUuid",
        fields={"usedIpUuid": None},
        uses=(Use("vm_nic", "QueryEip", "uuid", BEREFT, "it is reached by it", "vmNicUuid", "guestIp"),),
        tagged_type="EipVO",
    ),
    Kind(
        "image",
        "image",
        "QueryImage",
        create={"": "AddImage"},
        update="UpdateImage",
        delete="DeleteImage",
        change_state="ChangeImageState",
        fields={"backupStorageUuids": None},
        unsettled=("Creating", "Downloading"),
        deleted="Deleted",
        recover="RecoverImage",
        expunge="ExpungeImage",
        uses=(
            _VMS_OF_IMAGE,
            Use("vm", "QueryVmInstance", "vmCdRoms.isoUuid", BEREFT, "the ISO is in its drive"),
        ),
        tagged_type="ImageVO",
    ),
    Kind(
        "instance_offering",
        "instance offering",
        "QueryInstanceOffering",
        create={"": "CreateInstanceOffering"},
        update="UpdateInstanceOffering",
        delete="DeleteInstanceOffering",
        change_state="ChangeInstanceOfferingState",
        tagged_type="InstanceOfferingVO",
    ),
    Kind(
        "ip_range",
        "IP range",
        "QueryIpRange",
        create={"networkCidr": "AddIpRangeByNetworkCidr", "": "AddIpRange"},
        update="UpdateIpRange",
        delete="DeleteIpRange",
        parent="l3NetworkUuid",
        uses=(Use("vm_nic", "QueryVmNic", "usedIps.ipRangeUuid", BEREFT, name="ip"),),
        tagged_type="IpRangeVO",
    ),
    Kind(
        "l2_network",
        "L2 network",
        "QueryL2Network",
        create={"vlan": "CreateL2VlanNetwork", "": "CreateL2NoVlanNetwork"},
        update="UpdateL2Network",
        delete="DeleteL2Network",
        parent="zoneUuid",
        uses=(Use("l3_network", "QueryL3Network", "l2NetworkUuid"),),
        tagged_type="L2NetworkVO",
    ),
    Kind(
        "l3_network",
        "L3 network",
        "QueryL3Network",
        create={"": "CreateL3Network"},
        update="UpdateL3Network",
        delete="DeleteL3Network",
        change_state="ChangeL3NetworkState",
        parent="l2NetworkUuid",
        uses=(
            Use("vm_nic", "QueryVmNic", "l3NetworkUuid", name="ip"),
            Use("ip_range", "QueryIpRange", "l3NetworkUuid"),
            Use("vip", "QueryVip", "l3NetworkUuid"),
        ),
        parts=(
            Parts(
                "networkServices",
                add="AttachNetworkServiceToL3Network",
                owner="l3NetworkUuid",
                added="networkServices",
                remove="DetachNetworkServiceFromL3Network",
                removed="networkServices",
                members={"networkServiceProviderUuid": (), "networkServiceType": ()},
                grouped=("networkServiceProviderUuid", "networkServiceType"),
                offered="networkServiceTypes",
                unique=("networkServiceType",),
            ),
        ),
        tagged_type="L3NetworkVO",
    ),
    Kind(
        "load_balancer",
        "load balancer",
        "QueryLoadBalancer",
        create={"": "CreateLoadBalancer"},
        update="UpdateLoadBalancer",
        delete="DeleteLoadBalancer",
        parent="vipUuid",
        uses=(Use("load_balancer_listener", "QueryLoadBalancerListener", "loadBalancerUuid"),),
        tagged_type="LoadBalancerVO",
    ),
    Kind(
        "load_balancer_listener",
        "listener",
        "QueryLoadBalancerListener",
        create={"": "CreateLoadBalancerListener"},
        update="UpdateLoadBalancerListener",
        delete="DeleteLoadBalancerListener",
        parent="loadBalancerUuid",
        fields=dict.fromkeys(_HIDDEN_OF_LISTENER),
        tagged_type="LoadBalancerListenerVO",
        choices={"protocol": ("tcp", "udp", "http", "https")},
    ),
    Kind(
        "port_forwarding",
        "port forwarding rule",
        "QueryPortForwardingRule",
        create={"": "CreatePortForwardingRule"},
        update="UpdatePortForwardingRule",
        delete="DeletePortForwardingRule",
        change_state="ChangePortForwardingRuleState",
        parent="vipUuid",
        uses=(Use("vm_nic", "QueryPortForwardingRule", "uuid", BEREFT, "it is reached by it", "vmNicUuid", "guestIp"),),
        tagged_type="PortForwardingRuleVO",
    ),
    Kind(
        "quota",
        "quota",
        "QueryQuota",
        update="UpdateQuota",
        parent="identityUuid",
        units={"value": "objects, or of bytes for a quota of a size"},
    ),
    Kind(
        "scheduler_job",
        "scheduler job",
        "QuerySchedulerJob",
        create={"": "CreateSchedulerJob"},
        update="UpdateSchedulerJob",
        delete="DeleteSchedulerJob",
        change_state="ChangeSchedulerState",
        fields={"type": None, "parameters": None},
        tagged_type="SchedulerJobVO",
    ),
    Kind(
        "scheduler_trigger",
        "scheduler trigger",
        "QuerySchedulerTrigger",
        create={"": "CreateSchedulerTrigger"},
        update="UpdateSchedulerTrigger",
        delete="DeleteSchedulerTrigger",
        # Records have these times as texts, without a time zone.
        fields={"startTime": None, "stopTime": None},
        uses=(Use("scheduler_job", "QuerySchedulerJob", "triggersUuid", BEREFT),),
        tagged_type="SchedulerTriggerVO",
        fits=(
            Fit("cron", "schedulerType", ("cron",)),
            Fit("schedulerInterval", "schedulerType", ("simple",)),
        ),
        needs=(
            Need(("cron",), "schedulerType", "cron"),
            Need(("startTime",), "schedulerType", "simple"),
            Need(("schedulerInterval", "repeatCount"), "schedulerType", "simple"),
        ),
        units={
            "schedulerInterval": "seconds",
            **dict.fromkeys(("startTime", "stopTime"), "seconds since 1970, as date +%s prints them"),
        },
    ),
    Kind(
        "security_group",
        "security group",
        "QuerySecurityGroup",
        create={"": "CreateSecurityGroup"},
        update="UpdateSecurityGroup",
        delete="DeleteSecurityGroup",
        change_state="ChangeSecurityGroupState",
        uses=(
            Use(
                "vm_nic",
                "QueryVmNicInSecurityGroup",
                "securityGroupUuid",
                BEREFT,
                "its rules no longer apply",
                "vmNicUuid",
                "vmInstanceUuid",
            ),
        ),
        parts=(
            Parts(
                "rules",
                add="AddSecurityGroupRule",
                owner="securityGroupUuid",
                added="rules",
                remove="DeleteSecurityGroupRule",
                removed="ruleUuids",
                members=_RULE,
                kept={"priority": 0},
                words=_WORDS_OF_RULES,
                defaults={"protocol": "ALL", "action": "ACCEPT", "ipVersion": 4, "state": "Enabled"},
                change="ChangeSecurityGroupRule",
                changeable=("state", "description"),
                fits=_FITS_OF_RULES,
            ),
        ),
        tagged_type="SecurityGroupVO",
    ),
    Kind(
        "ssh_key_pair",
        "SSH key pair",
        "QuerySshKeyPair",
        create={"": "CreateSshKeyPair"},
        update="UpdateSshKeyPair",
        delete="DeleteSshKeyPair",
        tagged_type="SshKeyPairVO",
    ),
    Kind(
        "tag",
        "tag",
        "QueryTag",
        create={"": "CreateTag"},
        update="UpdateTag",
        delete="DeleteTag",
        uses=(Use("user_tag", "QueryUserTag", "tagPatternUuid", name="resourceUuid"),),
    ),
    Kind(
        "vip",
        "VIP",
        "QueryVip",
        create={"": "CreateVip"},
        update="UpdateVip",
        delete="DeleteVip",
        change_state="ChangeVipState",
        parent="l3NetworkUuid",
        fields={"requiredIp": "ip", "allocatorStrategy": None},
        uses=(
            Use("eip", "QueryEip", "vipUuid"),
            Use("port_forwarding", "QueryPortForwardingRule", "vipUuid"),
            Use("load_balancer", "QueryLoadBalancer", "vipUuid"),
        ),
        tagged_type="VipVO",
    ),
    Kind(
        "volume",
        "volume",
        "QueryVolume",
        create={"": "CreateDataVolume"},
        update="UpdateVolume",
        delete="DeleteDataVolume",
        change={"diskSize": "ResizeDataVolume"},
        change_state="ChangeVolumeState",
        fields={"diskSize": "size"},
        unsettled=("Creating", "Migrating"),
        deleted="Deleted",
        recover="RecoverDataVolume",
        expunge="ExpungeDataVolume",
        uses=(Use("vm", "QueryVmInstance", "allVolumes.uuid", BEREFT, "the volume is attached to it"),),
        tagged_type="VolumeVO",
        fits=(Fit("diskOfferingUuid", "diskSize"),),
        needs=(Need(("diskSize", "diskOfferingUuid")),),
    ),
    Kind(
        "zone",
        "zone",
        "QueryZone",
        create={"": "CreateZone"},
        update="UpdateZone",
        delete="DeleteZone",
        change_state="ChangeZoneState",
        fields={"type": None},
        uses=(
            Use("cluster", "QueryCluster", "zoneUuid"),
            Use("host", "QueryHost", "zoneUuid"),
            Use("vm", "QueryVmInstance", "zoneUuid"),
            Use("primary_storage", "QueryPrimaryStorage", "zoneUuid"),
            Use("l2_network", "QueryL2Network", "zoneUuid"),
        ),
        tagged_type="ZoneVO",
    ),
)

_ATTACHING_VM = Demand("vm", "state", ATTACHING_STATES, CHANGING_STATES)

ATTACHMENTS = (
    Attachment(
        "affinity_group_member",
        "membership",
        "AddVmToAffinityGroup",
        "RemoveVmFromAffinityGroup",
        {"affinity_group": "affinityGroupUuid", "vm": "vmInstanceUuid"},
        "QueryAffinityGroup",
        "usages.resourceUuid",
        parameters={"uuid": "vmInstanceUuid"},
    ),
    Attachment(
        "eip_attachment",
        "attachment",
        "AttachEip",
        "DetachEip",
        {"eip": "eipUuid", "nic": "vmNicUuid"},
        "QueryEip",
        "vmNicUuid",
        is_exclusive=True,
        parameters={"uuid": "eipUuid"},
    ),
    Attachment(
        "iso_attachment",
        "attachment",
        "AttachIsoToVmInstance",
        "DetachIsoFromVmInstance",
        {"vm": "vmInstanceUuid", "iso": "isoUuid"},
        "QueryVmInstance",
        "vmCdRoms.isoUuid",
        demands=(
            _ATTACHING_VM,
            Demand("iso", "mediaType", ("ISO",)),
            Demand("iso", "state", ("Enabled",)),
            Demand("iso", "status", ("Ready",)),
        ),
    ),
    Attachment(
        "l2_network_attachment",
        "attachment",
        "AttachL2NetworkToCluster",
        "DetachL2NetworkFromCluster",
        {"l2_network": "l2NetworkUuid", "cluster": "clusterUuid"},
        "QueryL2Network",
        "attachedClusterUuids",
        uses=(Use("vm", "QueryVmInstance", "vmNics.l3Network.l2NetworkUuid", BEREFT, also="clusterUuid"),),
    ),
    Attachment(
        "load_balancer_member",
        "membership",
        "AddVmNicToLoadBalancer",
        "RemoveVmNicFromLoadBalancer",
        {"listener": "listenerUuid", "nic": "vmNicUuid"},
        "QueryLoadBalancerListener",
        "vmNicRefs.vmNicUuid",
        parameters={"vmNicUuids": "vmNicUuid"},
    ),
    Attachment(
        "port_forwarding_attachment",
        "attachment",
        "AttachPortForwardingRule",
        "DetachPortForwardingRule",
        {"port_forwarding": "ruleUuid", "nic": "vmNicUuid"},
        "QueryPortForwardingRule",
        "vmNicUuid",
        is_exclusive=True,
        parameters={"uuid": "ruleUuid"},
    ),
    Attachment(
        "scheduler_job_trigger",
        "trigger",
        "AddSchedulerJobToSchedulerTrigger",
        "RemoveSchedulerJobFromSchedulerTrigger",
        {"scheduler_job": "schedulerJobUuid", "scheduler_trigger": "schedulerTriggerUuid"},
        "QuerySchedulerJob",
        "triggersUuid",
    ),
    Attachment(
        "security_group_attachment",
        "attachment",
        "AddVmNicToSecurityGroup",
        "DeleteVmNicFromSecurityGroup",
        {"security_group": "securityGroupUuid", "nic": "vmNicUuid"},
        "QueryVmNicInSecurityGroup",
        "vmNicUuid",
        of="securityGroupUuid",
        parameters={"vmNicUuids": "vmNicUuid"},
    ),
    Attachment(
        "security_group_network",
        "attachment",
        "AttachSecurityGroupToL3Network",
        "DetachSecurityGroupFromL3Network",
        {"security_group": "securityGroupUuid", "l3_network": "l3NetworkUuid"},
        "QuerySecurityGroup",
        "attachedL3NetworkUuids",
    ),
    Attachment(
        "storage_attachment",
        "attachment",
        "AttachPrimaryStorageToCluster",
        "DetachPrimaryStorageFromCluster",
        {"primary_storage": "primaryStorageUuid", "cluster": "clusterUuid"},
        "QueryPrimaryStorage",
        "attachedClusterUuids",
        uses=(Use("vm", "QueryVmInstance", "allVolumes.primaryStorageUuid", BEREFT, also="clusterUuid"),),
    ),
    Attachment(
        "volume_attachment",
        "attachment",
        "AttachDataVolumeToVm",
        "DetachDataVolumeFromVm",
        {"volume": "volumeUuid", "vm": "vmInstanceUuid"},
        "QueryVolume",
        "vmInstanceUuid",
        is_exclusive=True,
        parameters={"uuid": "volumeUuid", "vmUuid": "vmInstanceUuid"},
        demands=(_ATTACHING_VM, Demand("volume", "state", ("Enabled",))),
    ),
)

SETTINGS = (
    Setting(
        "vm_boot_order",
        "boot order",
        "GetVmBootOrder",
        "SetVmBootOrder",
        "SetVmBootOrder",
        "bootOrder",
        "orders",
        {"vm": "vmInstanceUuid"},
        {"uuid": "vmInstanceUuid"},
        default=["HardDisk"],
    ),
    Setting(
        "vm_ha",
        "HA level",
        "GetVmInstanceHaLevel",
        "SetVmInstanceHaLevel",
        "DeleteVmInstanceHaLevel",
        "level",
        "level",
        {"vm": "vmInstanceUuid"},
        {"uuid": "vmInstanceUuid"},
    ),
)
