"""The table of the service's operations, the only place with paths, bodies and parameter names.

Section "Endpoints" of the API document. Operations that it does not have are called companions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .errors import InvalidOptions, suggest_name
from .operation import Operation, Parameter, optional, required
from .unlisted import parse_unlisted

_SERVICES = ("ManagementNetwork", "TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork")
_CURSOR_RESULT = ("items", "total", "nextCursor", "hasMore")

# How a server removes an object that others depend on: Permissive, the default, stops at the first failure.
_DELETE_MODE = optional("deleteMode", choices=("Permissive", "Enforcing"))

# The languages of the messages of a topic.
_LOCALES = ("zh_CN", "en_US")

_CREATE_PARAMS = (
    optional("resourceUuid"),
    optional("tagUuids", "list", refers_to="tag_pattern"),
)


def _query(name: str, path: str, record: str, **details: Any) -> Operation:
    """Return the row of a query. All queries have the same parameters and the same result."""
    return Operation(
        name,
        "GET",
        path,
        is_write=False,
        params=(
            optional("uuid"),
            optional("q", "list"),
            optional("limit", "int"),
            optional("start", "int"),
            optional("sort"),
            optional("replyWithCount", "bool"),
            optional("count", "bool"),
            optional("fields"),
        ),
        result=("inventories",),
        record=record,
        **details,
    )


def _vm_action(name: str, *params: Parameter, **details: Any) -> Operation:
    """Return the row of a companion on a VM. They share one path; the body names the operation."""
    return Operation(
        name,
        "PUT",
        "vm-instances/{uuid}/actions",
        path_params=(required("uuid", refers_to="vm"),),
        params=params,
        result=("inventory",),
        record="VmInstanceInventory",
        **details,
    )


def _host_action(name: str, *params: Parameter, path: str = "hosts/{uuid}/actions", **details: Any) -> Operation:
    """Return the row of a companion on a host. Those with the same path differ by the body, as those on VMs."""
    return Operation(
        name,
        "PUT",
        path,
        path_params=(required("uuid", refers_to="host"),),
        params=params,
        result=("inventory",),
        record="HostInventory",
        **details,
    )


# Through what the service switches a host: by default its IPMI controller, if it knows it, else the agent on the host.
_POWER_METHOD = optional("method", choices=("AUTO", "AGENT", "IPMI"))

_STATE_EVENT = required("stateEvent", choices=("enable", "disable"))

# The records of the objects that companions change.
_SNS_RECORDS = {
    "endpoint": "SNSApplicationEndpointInventory",
    "platform": "SNSApplicationPlatformInventory",
    "topic": "SNSTopicInventory",
}


def _sns_change(name: str, collection: str, refers_to: str, *params: Parameter) -> Operation:
    """Return the row of a companion that changes an endpoint, platform or topic."""
    return Operation(
        name,
        "PUT",
        f"{collection}/{{uuid}}/actions",
        path_params=(required("uuid", refers_to=refers_to),),
        params=params,
        result=("inventory",),
        record=_SNS_RECORDS[refers_to],
    )


def _webhook_change(name: str, kind: str, *params: Parameter) -> Operation:
    """Return the row of a companion that changes endpoints of one kind, also the URL to which they post."""
    return _sns_change(
        name,
        f"sns/application-endpoints/{kind}",
        "endpoint",
        optional("name"),
        optional("description"),
        optional("platformUuid", refers_to="platform"),
        optional("url", longest=256),
        *params,
    )


def _deletion(name: str, path: str, refers_to: str, *params: Parameter, **details: Any) -> Operation:
    """Return the row of a companion that deletes an object, and succeeds if the object does not exist."""
    return Operation(
        name,
        "DELETE",
        path,
        path_params=(required("uuid", refers_to=refers_to),),
        params=(*params, _DELETE_MODE),
        may_be_empty=True,
        **details,
    )


def _person_operations(name: str, kind: str, key: str, record: str) -> tuple[Operation, Operation]:
    """Return the rows of the companions that add a person to an endpoint of one kind and remove it.

    ``key`` is the parameter that identifies the person. Removing one that the endpoint does not have succeeds.
    """
    return (
        Operation(
            f"AddSNS{name}AtPerson",
            "POST",
            f"sns/application-endpoints/{kind}/at-persons",
            is_idempotent=False,
            duplicate_codes=("SYS.1007",),
            params=(
                required(key, longest=64),
                required("endpointUuid", refers_to="endpoint"),
                optional("remark"),
                *_CREATE_PARAMS,
            ),
            result=("inventory",),
            record=record,
        ),
        Operation(
            f"RemoveSNS{name}AtPerson",
            "DELETE",
            f"sns/application-endpoints/{kind}/{{endpointUuid}}/at-persons/{{{key}}}",
            path_params=(required("endpointUuid", refers_to="endpoint"), required(key)),
            may_be_empty=True,
        ),
    )


_ROWS = (
    # CBT tasks
    Operation(
        "CreateCbtTask",
        "POST",
        "cbt-task/create",
        since="4.10.10",
        params=(
            required("name"),
            optional("description"),
            required("taskType"),
            required("resourceUuids", "list", refers_to="vm"),
            optional("resourceUuid"),
            optional("tagUuids", "list", refers_to="tag_pattern"),
            optional("vmInstanceUuid", refers_to="vm"),
        ),
        alternatives={"vmInstanceUuid": ("taskType", "resourceUuids")},
        duplicate_codes=("SYS.1006",),
        result=("inventory",),
        record="CbtTaskInventory",
    ),
    Operation(
        "DeleteCbtTask",
        "DELETE",
        "cbt-task/{uuid}",
        since="4.10.10",
        path_params=(required("uuid", refers_to="cbt_task"),),
        params=(
            optional("force", "bool"),
            _DELETE_MODE,
        ),
        may_be_empty=True,
    ),
    Operation(
        "DisableCbtTask",
        "POST",
        "cbt-task/disable/{uuid}",
        since="4.10.10",
        path_params=(required("uuid", refers_to="cbt_task"),),
        params=(optional("force", "bool"),),
        result=("inventory",),
        record="CbtTaskInventory",
        may_be_empty=True,
    ),
    Operation(
        "EnableCbtTask",
        "POST",
        "cbt-task/enable/{uuid}",
        since="4.10.10",
        path_params=(required("uuid", refers_to="cbt_task"),),
        params=(optional("bitmapName"),),
        result=("inventory", "volumeCbtBackupInfos"),
        record="CbtTaskInventory",
    ),
    _query("QueryCbtTask", "cbt-task", "CbtTaskInventory", since="4.10.10", get_by_uuid=True),
    Operation(
        "ExportNbdVolumes",
        "POST",
        "cbt-task/exportvolume",
        since="4.10.10",
        is_idempotent=False,
        duplicate_codes=("SYS.1006",),
        params=(
            required("volumeUuids", "list", refers_to="volume"),
            required("vmInstanceUuid", refers_to="vm"),
            optional("force", "bool"),
        ),
        result=("volumeInfos",),
        may_be_empty=True,
    ),
    # Notification
    Operation(
        "CreateSNSWorkchatEndpoint",
        "POST",
        "sns/application-endpoints/workchat",
        since="4.2.0",
        is_idempotent=False,
        params=(
            required("url"),
            optional("atAll", "bool", alias="atALL"),
            required("atPersonUserIds", "list", omit_if_unset=True),
            required("atPersonList", "dict", omit_if_unset=True),
            required("name"),
            optional("description"),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="SNSWorkchatEndpointInventory",
        substitute="CreateSNSWeComEndpoint",
    ),
    _query(
        "QuerySNSWorkchatEndpoint",
        "sns/application-endpoints/workchat",
        "SNSWorkchatEndpointInventory",
        get_by_uuid=True,
        substitute="QuerySNSWeComEndpoint",
    ),
    Operation(
        "CreateSNSSnmpEndpoint",
        "POST",
        "sns/application-endpoints/snmp",
        since="4.10.0",
        is_idempotent=False,
        params=(
            required("name"),
            optional("description"),
            optional("platformUuid", refers_to="platform"),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="SNSApplicationEndpointInventory",
    ),
    Operation(
        "UpdateSNSApplicationEndpoint",
        "PUT",
        "sns/application-endpoints/{uuid}/actions",
        since="2.3",
        path_params=(required("uuid", refers_to="endpoint"),),
        params=(
            optional("name"),
            optional("description"),
            optional("platformUuid", since="4.10.0", refers_to="platform"),
        ),
        result=("inventory",),
        record="SNSApplicationEndpointInventory",
    ),
    Operation(
        "UpdateAtPersonOfAtTeamchatEndpoint",
        "PUT",
        "sns/application-endpoints/teamchat/at-persons/{uuid}/actions",
        since="4.2.0",
        path_params=(required("uuid", refers_to="person"),),
        params=(
            required("endpointUuid", refers_to="endpoint"),
            optional("userId"),
            required("remark", omit_if_unset=True),
        ),
        result=("inventory",),
        record="SNSTeamchatAtPersonInventory",
        substitute="UpdateAtPersonOfAtFeiShuEndpoint",
    ),
    Operation(
        "UpdateSNSSnmpPlatform",
        "PUT",
        "sns/application-platforms/snmp/{uuid}",
        since="4.10.0",
        path_params=(required("uuid", refers_to="platform"),),
        params=(
            required("snmpAddress"),
            required("snmpPort", "int"),
            optional("name"),
            optional("description"),
        ),
        result=("inventory",),
        record="SNSApplicationPlatformInventory",
    ),
    Operation(
        "SNSSnmpTestConnection",
        "POST",
        "sns/application-endpoints/snmp/test-connection",
        since="4.10.0",
        is_idempotent=False,
        params=(
            optional("platformUuid", refers_to="platform"),
            optional("endpointUuid", refers_to="endpoint"),
        ),
        result=("connected", "webhookResp"),
    ),
    _query(
        "QuerySNSTopicSubscriber",
        "sns/topics/subscribers",
        "SNSTopicSubscriberInventory",
        since="2.3.1",
        get_by_uuid=True,
    ),
    # Virtual machines and NICs
    Operation(
        "CreateVmInstanceFromVolumeSnapshotGroup",
        "POST",
        "vm-instances/from/volume-snapshots/group/{volumeSnapshotGroupUuid}",
        since="3.11.0",
        is_idempotent=False,
        path_params=(required("volumeSnapshotGroupUuid", refers_to="snapshot_group"),),
        params=(
            required("name"),
            optional("description"),
            optional("instanceOfferingUuid", refers_to="instance_offering"),
            optional("cpuNum", "int"),
            optional("memorySize", "long"),
            optional("l3NetworkUuids", "list", refers_to="l3_network"),
            optional("type", choices=("UserVm", "ApplianceVm")),
            optional("zoneUuid", refers_to="zone"),
            optional("clusterUuid", refers_to="cluster"),
            optional("hostUuid", refers_to="host"),
            optional("primaryStorageUuidForRootVolume", refers_to="primary_storage"),
            optional("defaultL3NetworkUuid", refers_to="l3_network"),
            optional("strategy", choices=("InstantStart", "CreateStopped")),
            optional("rootVolumeSystemTags", "list"),
            optional("dataVolumeSystemTags", "dict"),
            optional("reservedMemorySize", "long", since="3.17.21"),
            optional("vmNicParams", "json", since="4.10.10"),
            optional("resetTpm", "bool", since="5.0.0"),
            optional("volumeSnapshotEncryptions", "list", since="5.1.0"),
            optional("vmEncryption", "bool", since="5.1.0"),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="VmInstanceInventory",
    ),
    Operation(
        "AttachL3NetworkToVm",
        "POST",
        "vm-instances/{vmInstanceUuid}/l3-networks/{l3NetworkUuid}",
        since="0.6",
        is_idempotent=False,
        path_params=(
            required("vmInstanceUuid", refers_to="vm"),
            required("l3NetworkUuid", refers_to="l3_network"),
        ),
        params=(
            optional("staticIp", field="ip"),
            optional("driverType", since="3.10.0"),
            optional("customMac", field="mac", since="3.10.0"),
            optional("vmNicParams", "json", is_compared=False, since="3.17.0"),
        ),
        result=("inventory",),
        record="VmInstanceInventory",
    ),
    Operation(
        "ChangeVmNicState",
        "PUT",
        "vm-instances/nics/{vmNicUuid}/actions",
        since="0.6",
        path_params=(required("vmNicUuid", field="uuid", refers_to="vm_nic"),),
        params=(required("state", choices=("enable", "disable"), since="3.15"),),
        result=("inventory",),
        record="VmInstanceInventory",
    ),
    Operation(
        "ChangeVmNicNetwork",
        "POST",
        "vm-instances/nics/{vmNicUuid}/l3-networks/{destL3NetworkUuid}",
        since="4.1.0",
        path_params=(
            required("vmNicUuid", field="uuid", refers_to="vm_nic"),
            required("destL3NetworkUuid", field="l3NetworkUuid", refers_to="l3_network"),
        ),
        params=(
            optional("staticIp", field="ip"),
            optional("vmNicParams", "json", is_compared=False, since="4.2.0"),
        ),
        result=("inventory",),
        record="VmNicInventory",
    ),
    Operation(
        "DeleteNicQos",
        "DELETE",
        "vm-instances/{uuid}/nic-qos",
        since="0.6",
        path_params=(required("uuid", refers_to="vm_nic"),),
        params=(required("direction", choices=("in", "out")),),
        may_be_empty=True,
    ),
    # Hosts
    Operation(
        "AddKVMHost",
        "POST",
        "hosts/kvm",
        since="0.6",
        duplicate_codes=("SYS.1007",),
        params=(
            required("username"),
            required("password"),
            optional("sshPort", "int"),
            required("name"),
            optional("description"),
            required("managementIp"),
            required("clusterUuid", refers_to="cluster"),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="HostInventory",
    ),
    Operation(
        "ChangeHostState",
        "PUT",
        "hosts/{uuid}/actions",
        since="0.6",
        path_params=(required("uuid", refers_to="host"),),
        params=(required("stateEvent", choices=("enable", "disable", "maintain")),),
        result=("inventory",),
        record="HostInventory",
        keeps_names=True,
    ),
    Operation(
        "GetHostNetworkFacts",
        "GET",
        "hosts/network-facts/{hostUuid}",
        since="3.5.0",
        is_write=False,
        path_params=(required("hostUuid", refers_to="host"),),
        result=("bondings", "nics"),
        record="HostNetworkInterface",
    ),
    Operation(
        "GetCandidateNetworkInterfaces",
        "GET",
        "cluster/hosts-network-interfaces",
        since="4.7.0",
        is_write=False,
        params=(
            required("hostUuids", "list", refers_to="host"),
            optional("interfaceType", since="4.1.0"),
            optional("intersecting", "bool", since="4.1.0"),
            optional("limit", "int"),
            optional("start", "int"),
        ),
        result=("slaveNames", "candidateNics"),
        record="CandidateNetworkInterface",
    ),
    Operation(
        "SetServiceTypeOnHostNetworkInterface",
        "POST",
        "hosts/nics/service-types",
        since="4.7.11",
        params=(
            required("interfaceUuids", "list", refers_to="host_nic"),
            optional("vlanIds", "list"),
            optional("serviceTypes", "list", choices=_SERVICES),
        ),
        replaces_values=True,
        result=("inventory", "inventories"),
        record="HostNicServiceType",
    ),
    # Storage
    _query("QueryPrimaryStorage", "primary-storage", "PrimaryStorageInventory", since="0.6"),
    # Cursor queries
    Operation(
        "CursorQuery",
        "GET",
        "/api/v1/resources/cursor-query",
        since="1.0",
        is_write=False,
        uses_token=True,
        params=(
            optional("resourceType"),
            optional("sort"),
            optional("order", choices=("asc", "desc")),
            optional("pageSize", "int"),
            optional("filter", "list"),
        ),
        result=_CURSOR_RESULT,
    ),
    Operation(
        "CursorNext",
        "GET",
        "/api/v1/resources/cursor-next",
        since="1.0",
        is_write=False,
        uses_token=True,
        params=(
            optional("cursor"),
            optional("pageSize", "int"),
        ),
        result=_CURSOR_RESULT,
    ),
)

# Operations that the API document does not have, and that a service may lack.
_COMPANIONS = (
    # Those that follow from convention 8: queries of collections.
    _query("QueryHost", "hosts", "HostInventory", get_by_uuid=True),
    _query("QueryVmInstance", "vm-instances", "VmInstanceInventory", get_by_uuid=True),
    _query("QueryVmNic", "vm-instances/nics", "VmNicInventory", get_by_uuid=True),
    _query(
        "QuerySNSApplicationEndpoint",
        "sns/application-endpoints",
        "SNSApplicationEndpointInventory",
        get_by_uuid=True,
    ),
    _query(
        "QuerySNSApplicationPlatform",
        "sns/application-platforms",
        "SNSApplicationPlatformInventory",
        get_by_uuid=True,
    ),
    _query("QuerySNSSnmpPlatform", "sns/application-platforms/snmp", "SNSApplicationPlatformInventory"),
    _query(
        "QuerySNSTeamchatAtPerson",
        "sns/application-endpoints/teamchat/at-persons",
        "SNSTeamchatAtPersonInventory",
        substitute="QuerySNSFeiShuAtPerson",
    ),
    _query("QuerySNSWeComAtPerson", "sns/application-endpoints/we-com/at-persons", "SNSWeComAtPersonInventory"),
    _query(
        "QuerySNSDingTalkAtPerson", "sns/application-endpoints/ding-talk/at-persons", "SNSDingTalkAtPersonInventory"
    ),
    _query("QueryHostNetworkInterface", "hosts/nics", "HostNetworkInterface"),
    Operation(
        "GetHostNicServiceTypeStatistic",
        "GET",
        "hosts/hosts-network-interfaces/service-type-statistic",
        is_write=False,
        params=(
            optional("interfaceUuid", refers_to="host_nic"),
            optional("vlanId", "int"),
            optional("hostUuid", refers_to="host"),
            optional("limit", "int"),
            optional("start", "int"),
            optional("replyWithCount", "bool"),
        ),
        result=("serviceTypeStatistics",),
        record="HostNicServiceTypeStatistic",
    ),
    # Companions that find the uuids that other operations need.
    _query("QueryZone", "zones", "ZoneInventory"),
    _query("QueryCluster", "clusters", "ClusterInventory"),
    _query("QueryL3Network", "l3-networks", "L3NetworkInventory"),
    _query("QueryVolume", "volumes", "Volume"),
    _query("QueryVolumeSnapshotGroup", "volume-snapshots/group", "VolumeSnapshotGroupInventory"),
    _query("QuerySNSTopic", "sns/topics", "SNSTopicInventory"),
    _query("QueryUserTag", "user-tags", "UserTagInventory"),
    # Services refuse a tag that the object has already.
    Operation(
        "CreateUserTag",
        "POST",
        "user-tags",
        params=(required("resourceType"), required("resourceUuid"), required("tag")),
        target="resourceUuid",
        duplicate_codes=("SYS.1006",),
        result=("inventory",),
        record="UserTagInventory",
    ),
    _deletion("DeleteTag", "tags/{uuid}", "user_tag"),
    # Tag patterns. An object to which one of the type simple is attached has its value as a user tag.
    _query("QueryTag", "tags", "TagPatternInventory"),
    Operation(
        "CreateTag",
        "POST",
        "tags",
        is_idempotent=False,
        params=(
            required("name", longest=128),
            required("value", longest=128),
            optional("description"),
            optional("color"),
            optional("type", choices=("simple", "withToken")),
        ),
        result=("inventory",),
        record="TagPatternInventory",
    ),
    # The job succeeds although the pattern was not attached to some of the objects. A second attachment is a success.
    Operation(
        "AttachTagToResources",
        "POST",
        "tags/{tagUuid}/resources",
        path_params=(required("tagUuid", refers_to="tag_pattern"),),
        params=(required("resourceUuids", "list"), optional("tokens", "dict")),
        result=("results",),
    ),
    Operation(
        "DetachTagFromResources",
        "DELETE",
        "tags/{tagUuid}/resources",
        path_params=(required("tagUuid", refers_to="tag_pattern"),),
        params=(required("resourceUuids", "list"),),
        may_be_empty=True,
    ),
    # A service that lacks GetNicQos and ignores the verb runs DeleteNicQos, and refuses it without a direction.
    Operation(
        "GetNicQos",
        "GET",
        "vm-instances/{nicUuid}/nic-qos",
        is_write=False,
        path_params=(required("nicUuid", refers_to="vm_nic"),),
        result=("outboundBandwidth", "inboundBandwidth"),
    ),
    Operation(
        "SetNicQos",
        "PUT",
        "vm-instances/{uuid}/actions",
        path_params=(required("uuid", refers_to="vm_nic"),),
        params=(optional("outboundBandwidth", "long"), optional("inboundBandwidth", "long")),
        may_be_empty=True,
    ),
    # The service refuses a second call, because the NIC no longer exists.
    Operation(
        "DetachL3NetworkFromVm",
        "DELETE",
        "vm-instances/nics/{uuid}",
        path_params=(required("uuid", refers_to="vm_nic"),),
        result=("inventory",),
        record="VmInstanceInventory",
        is_idempotent=False,
        duplicate_codes=("SYS.1003",),
    ),
    # Companions for the VMs on hosts.
    Operation(
        "GetVmMigrationCandidateHosts",
        "GET",
        "vm-instances/{vmInstanceUuid}/migration-target-hosts",
        is_write=False,
        path_params=(required("vmInstanceUuid", refers_to="vm"),),
        result=("inventories",),
        record="HostInventory",
    ),
    _vm_action(
        "StartVmInstance",
        optional("clusterUuid", refers_to="cluster"),
        optional("hostUuid", refers_to="host"),
    ),
    # The service takes stopHA as a string.
    _vm_action(
        "StopVmInstance",
        optional("type", choices=("grace", "cold"), field="stopType"),
        optional("stopHA", choices=("true", "false")),
    ),
    # The service refuses a second call, because the VM is migrating or is on that host already.
    _vm_action(
        "MigrateVm",
        optional("hostUuid", refers_to="host"),
        optional("strategy"),
        is_idempotent=False,
        duplicate_codes=("SYS.1006", "VM.1010"),
    ),
    # A service refuses a second call because of the state that the first one led to.
    _vm_action("RebootVmInstance", is_idempotent=False),
    _vm_action("PauseVmInstance", is_idempotent=False, duplicate_codes=("VM.1010",)),
    _vm_action("ResumeVmInstance", is_idempotent=False, duplicate_codes=("VM.1010",)),
    # Companions that change and remove VMs.
    _vm_action(
        "UpdateVmInstance",
        optional("name"),
        optional("description"),
        optional("defaultL3NetworkUuid", refers_to="l3_network"),
        optional("platform"),
        optional("cpuNum", "int"),
        optional("memorySize", "long"),
        optional("reservedMemorySize", "long"),
        optional("guestOsType"),
        optional("allocatorStrategy"),
    ),
    _query("QueryTemplatedVmInstance", "vm-instances/templatedVmInstance", "TemplatedVmInstanceInventory"),
    _deletion("DestroyVmInstance", "vm-instances/{uuid}", "vm"),
    Operation(
        "ExpungeVmInstance",
        "PUT",
        "vm-instances/{uuid}/actions",
        path_params=(required("uuid", refers_to="vm"),),
        is_idempotent=False,
        duplicate_codes=("SYS.1003",),
        may_be_empty=True,
    ),
    _vm_action("RecoverVmInstance", is_idempotent=False, duplicate_codes=("SYS.1006", "VM.1010")),
    # Companions that remove volumes. A service refuses a second call because of the status that the first one led to.
    _deletion("DeleteDataVolume", "volumes/{uuid}", "volume", is_idempotent=False, duplicate_codes=("SYS.1006",)),
    Operation(
        "RecoverDataVolume",
        "PUT",
        "volumes/{uuid}/actions",
        path_params=(required("uuid", refers_to="volume"),),
        result=("inventory",),
        record="Volume",
        is_idempotent=False,
        duplicate_codes=("SYS.1006",),
    ),
    Operation(
        "ExpungeDataVolume",
        "PUT",
        "volumes/{uuid}/actions",
        path_params=(required("uuid", refers_to="volume"),),
        may_be_empty=True,
    ),
    # Companions on snapshot groups. What was written to a volume between two reverts is lost with the second one.
    Operation(
        "CreateVolumeSnapshotGroup",
        "POST",
        "volume-snapshots/group",
        is_idempotent=False,
        params=(
            required("rootVolumeUuid", refers_to="volume"),
            required("name"),
            optional("description"),
            optional("withMemory", "bool", is_compared=False),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="VolumeSnapshotGroupInventory",
    ),
    _deletion(
        "DeleteVolumeSnapshotGroup",
        "volume-snapshots/group/{uuid}",
        "snapshot_group",
        optional("direction", since="4.10.6", choices=("pull", "commit", "auto")),
        optional("scope", since="4.10.6", choices=("single", "chain", "auto")),
        result=("results",),
    ),
    Operation(
        "RevertVmFromSnapshotGroup",
        "PUT",
        "volume-snapshots/group/{uuid}/actions",
        path_params=(required("uuid", refers_to="snapshot_group"),),
        result=("results",),
        is_idempotent=False,
        replaces_values=True,
    ),
    Operation(
        "UpdateVolumeSnapshotGroup",
        "PUT",
        "volume-snapshots/group/{uuid}/actions",
        path_params=(required("uuid", refers_to="snapshot_group"),),
        params=(optional("name"), optional("description")),
        result=("inventory",),
        record="VolumeSnapshotGroupInventory",
    ),
    _deletion("UngroupVolumeSnapshotGroup", "volume-snapshots/ungroup/{uuid}", "snapshot_group"),
    Operation(
        "CheckVolumeSnapshotGroupAvailability",
        "GET",
        "volume-snapshots/groups/availabilities",
        is_write=False,
        params=(required("uuids", "list", refers_to="snapshot_group"),),
        result=("results",),
    ),
    # Companions that change and remove hosts.
    _deletion(
        "DeleteHost",
        "hosts/{uuid}",
        "host",
        failure_effect="The service disables an enabled host before it deletes it, so the host may be disabled now",
    ),
    _host_action("ReconnectHost", keeps_names=True),
    # The service refuses a second call, because the host already has the new management address.
    _host_action(
        "UpdateHost",
        optional("name"),
        optional("description"),
        optional("managementIp"),
        is_idempotent=False,
        duplicate_codes=("SYS.1007",),
    ),
    _host_action(
        "UpdateKVMHost",
        optional("name"),
        optional("description"),
        optional("managementIp"),
        optional("username"),
        optional("password"),
        optional("sshPort", "int"),
        path="hosts/kvm/{uuid}/actions",
        is_idempotent=False,
        duplicate_codes=("SYS.1007",),
    ),
    # The reply has a part of the record of the host.
    replace(
        _host_action(
            "UpdateHostIpmi",
            optional("ipmiAddress"),
            optional("ipmiUsername"),
            optional("ipmiPassword"),
            optional("ipmiPort", "int"),
            path="hosts/ipmi/{uuid}/actions",
        ),
        result=(),
        may_be_empty=True,
        record="",
    ),
    _host_action("PowerOnHost", path="hosts/power/{uuid}/actions", keeps_names=True),
    _host_action(
        "ShutdownHost",
        optional("force", "bool"),
        _POWER_METHOD,
        path="hosts/power/{uuid}/actions",
        keeps_names=True,
    ),
    _host_action(
        "PowerResetHost", _POWER_METHOD, path="hosts/power/{uuid}/actions", is_idempotent=False, keeps_names=True
    ),
    # Companions that change and remove endpoints, platforms, topics and persons.
    _sns_change("ChangeSNSApplicationEndpointState", "sns/application-endpoints", "endpoint", _STATE_EVENT),
    _deletion("DeleteSNSApplicationEndpoint", "sns/application-endpoints/{uuid}", "endpoint"),
    replace(
        _webhook_change("UpdateSNSWeComEndpoint", "we-com", optional("atAll", "bool")),
        record="SNSWorkchatEndpointInventory",
    ),
    _webhook_change("UpdateSNSFeiShuEndpoint", "feishu", optional("atAll", "bool"), optional("secret")),
    _webhook_change("UpdateSNSDingTalkEndpoint", "ding-talk", optional("atAll", "bool"), optional("secret")),
    _webhook_change("UpdateSNSHttpEndpoint", "http", optional("username"), optional("password")),
    _webhook_change("UpdateSNSMicrosoftTeamsEndpoint", "microsoft-teams"),
    Operation(
        "CreateSNSSnmpPlatform",
        "POST",
        "sns/application-platforms/snmp",
        is_idempotent=False,
        duplicate_codes=("SYS.1007",),
        params=(
            required("name"),
            optional("description"),
            required("snmpAddress"),
            required("snmpPort", "int"),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="SNSApplicationPlatformInventory",
    ),
    _sns_change("ChangeSNSApplicationPlatformState", "sns/application-platforms", "platform", _STATE_EVENT),
    _sns_change(
        "UpdateSNSApplicationPlatform",
        "sns/application-platforms",
        "platform",
        optional("name"),
        optional("description"),
    ),
    _deletion("DeleteSNSApplicationPlatform", "sns/application-platforms/{uuid}", "platform"),
    Operation(
        "CreateSNSTopic",
        "POST",
        "sns/topics",
        is_idempotent=False,
        params=(
            required("name"),
            optional("description"),
            optional("locale", choices=_LOCALES),
            *_CREATE_PARAMS,
        ),
        result=("inventory",),
        record="SNSTopicInventory",
    ),
    _sns_change(
        "UpdateSNSTopic",
        "sns/topics",
        "topic",
        optional("name"),
        optional("description"),
        optional("locale", choices=_LOCALES),
    ),
    _sns_change("ChangeSNSTopicState", "zwatch/topics", "topic", _STATE_EVENT),
    _deletion("DeleteSNSTopic", "sns/topics/{uuid}", "topic"),
    Operation(
        "SubscribeSNSTopic",
        "POST",
        "sns/topics/{topicUuid}/endpoints/{endpointUuid}",
        duplicate_codes=("SYS.1000",),
        path_params=(required("topicUuid", refers_to="topic"), required("endpointUuid", refers_to="endpoint")),
        may_be_empty=True,
    ),
    Operation(
        "UnsubscribeSNSTopic",
        "DELETE",
        "sns/topics/{topicUuid}/endpoints/{endpointUuid}",
        path_params=(required("topicUuid", refers_to="topic"), required("endpointUuid", refers_to="endpoint")),
        may_be_empty=True,
    ),
    *_person_operations("FeiShu", "feishu", "userId", "SNSTeamchatAtPersonInventory"),
    *_person_operations("WeCom", "we-com", "userId", "SNSWeComAtPersonInventory"),
    *_person_operations("DingTalk", "ding-talk", "phoneNumber", "SNSDingTalkAtPersonInventory"),
    Operation(
        "UnexportNbdVolumes",
        "POST",
        "cbt-task/unexportvolume",
        params=(
            required("volumeUuids", "list", refers_to="volume"),
            required("vmInstanceUuid", refers_to="vm"),
        ),
        may_be_empty=True,
    ),
    # Companions for sessions and jobs.
    Operation(
        "LogInByAccount",
        "PUT",
        "accounts/login",
        is_public=True,
        params=(required("accountName"), required("password")),
        result=("inventory",),
    ),
    Operation(
        "ValidateSession",
        "GET",
        "accounts/sessions/{sessionUuid}/valid",
        is_write=False,
        is_public=True,
        path_params=(required("sessionUuid"),),
        result=("valid",),
    ),
    Operation(
        "LogOut",
        "DELETE",
        "accounts/sessions/{sessionUuid}",
        is_public=True,
        path_params=(required("sessionUuid"),),
        may_be_empty=True,
    ),
    Operation(
        "GetApiJob",
        "GET",
        "api-jobs/{uuid}",
        is_write=False,
        path_params=(required("uuid"),),
    ),
)

# The names of chats in the paths of documented operations, and those in the paths of their substitutes.
_SUBSTITUTE_CHATS = {"workchat": "we-com", "teamchat": "feishu"}


def _substitute(row: Operation) -> Operation:
    """Return the row of the companion that some servers have in place of this operation."""
    path = re.sub("|".join(_SUBSTITUTE_CHATS), lambda chat: _SUBSTITUTE_CHATS[chat[0]], row.path)
    return replace(row, name=row.substitute, path=path, since="", get_by_uuid=False, substitute="")


_SUBSTITUTES = tuple(_substitute(row) for row in (*_ROWS, *_COMPANIONS) if row.substitute)

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in (*_ROWS, *_COMPANIONS, *_SUBSTITUTES)}

# The names of the companions, among them the substitutes of documented operations.
COMPANIONS = frozenset(row.name for row in (*_COMPANIONS, *_SUBSTITUTES))


def get_operation(name: str) -> Operation:
    """Return the operation ``name``, which may be an unlisted one with method and path.

    Raise InvalidOptions, with a similar name, if it does not exist.
    """
    if name in OPERATIONS:
        return OPERATIONS[name]
    if " " in name:
        return parse_unlisted(name)
    hint = suggest_name(name, OPERATIONS) or f" Known operations: {', '.join(OPERATIONS)}."
    raise InvalidOptions(f"no operation {name}.{hint}")
