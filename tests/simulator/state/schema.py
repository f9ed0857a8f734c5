"""The queryable fields of each record type, and the relations between types."""

from __future__ import annotations

from .. import kinds
from ..description import computed_fields, records

DATED = ("createDate", "lastOpDate")

# The record of docs/openapi.yaml of each type.
RECORDS = {
    "zone": "ZoneInventory",
    "cluster": "ClusterInventory",
    "host": "HostInventory",
    "vm": "VmInstanceInventory",
    "templatedvminstance": "TemplatedVmInstanceInventory",
    "l3network": "L3NetworkInventory",
    "vmnic": "VmNicInventory",
    "volume": "Volume",
    "primarystorage": "PrimaryStorageInventory",
    "hostnic": "HostNetworkInterface",
    "bonding": "Bonding",
    "snapshotgroup": "VolumeSnapshotGroupInventory",
    "platform": "SNSApplicationPlatformInventory",
    "endpoint": "SNSApplicationEndpointInventory",
    "topic": "SNSTopicInventory",
    "subscriber": "SNSTopicSubscriber",
    "person": "SNSTeamchatAtPersonInventory",
    "wecomperson": "SNSWeComAtPersonInventory",
    "dingtalkperson": "SNSDingTalkAtPersonInventory",
    "cbttask": "CbtTaskInventory",
    "tagpattern": "TagPatternInventory",
    "usertag": "UserTagInventory",
}

FIELDS: dict[str, frozenset[str]] = {
    **{kind: frozenset(records()[record]) for kind, record in RECORDS.items()},
    # Types of the cursor query whose records docs/openapi.yaml does not describe.
    "iprange": frozenset(
        (
            *("uuid", "name", "description", "l3NetworkUuid", "startIp", "endIp", "netmask", "gateway", "networkCidr"),
            *("ipVersion", "prefixLen", "ipRangeType", *DATED),
        )
    ),
    **{kind.table: kind.record_fields for kind in kinds.KINDS if kind.table not in RECORDS},
    **kinds.ROWS,
}

COMPUTED: dict[str, frozenset[str]] = {
    kind: computed_fields()[record] for kind, record in RECORDS.items() if record in computed_fields()
}
"""The fields that are no columns of the record's own table: a query cannot ask for them with `fields`."""

RELATIONS: dict[tuple[str, str], tuple[str, str]] = {
    ("cluster", "zone"): ("zoneUuid", "zone"),
    ("host", "zone"): ("zoneUuid", "zone"),
    ("host", "cluster"): ("clusterUuid", "cluster"),
    ("vm", "zone"): ("zoneUuid", "zone"),
    ("vm", "cluster"): ("clusterUuid", "cluster"),
    ("vm", "host"): ("hostUuid", "host"),
    ("vm", "image"): ("imageUuid", "image"),
    ("vm", "instanceOffering"): ("instanceOfferingUuid", "instanceoffering"),
    ("vmnic", "vmInstance"): ("vmInstanceUuid", "vm"),
    ("vmnic", "l3Network"): ("l3NetworkUuid", "l3network"),
    ("volume", "vmInstance"): ("vmInstanceUuid", "vm"),
    ("volume", "primaryStorage"): ("primaryStorageUuid", "primarystorage"),
    ("primarystorage", "zone"): ("zoneUuid", "zone"),
    ("primarystorage", "cluster"): ("attachedClusterUuids", "cluster"),
    ("hostnic", "host"): ("hostUuid", "host"),
    ("hostnic", "bonding"): ("bondingUuid", "bonding"),
    ("bonding", "host"): ("hostUuid", "host"),
    ("snapshotgroup", "vmInstance"): ("vmInstanceUuid", "vm"),
    ("endpoint", "platform"): ("platformUuid", "platform"),
    ("subscriber", "topic"): ("topicUuid", "topic"),
    ("subscriber", "endpoint"): ("endpointUuid", "endpoint"),
    ("person", "endpoint"): ("endpointUuid", "endpoint"),
    ("wecomperson", "endpoint"): ("endpointUuid", "endpoint"),
    ("dingtalkperson", "endpoint"): ("endpointUuid", "endpoint"),
}
"""Maps (type, name) to the member with the uuid or uuids, and the type that they refer to."""

TAGGED_TYPES = {
    "ZoneVO": "zone",
    "ClusterVO": "cluster",
    "HostVO": "host",
    "VmInstanceVO": "vm",
    "VmNicVO": "vmnic",
    "VolumeVO": "volume",
    "PrimaryStorageVO": "primarystorage",
    "L3NetworkVO": "l3network",
    "VolumeSnapshotGroupVO": "snapshotgroup",
    "CbtTaskVO": "cbttask",
    "SNSApplicationPlatformVO": "platform",
    "SNSApplicationEndpointVO": "endpoint",
    "SNSTopicVO": "topic",
    "ImageVO": "image",
    "InstanceOfferingVO": "instanceoffering",
    **kinds.TAGGED,
}
"""Maps the types of resources in user tags to the types of records."""
