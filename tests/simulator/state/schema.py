"""The queryable fields of each record type, and the relations between types."""

from __future__ import annotations


def _fields(names: str) -> frozenset[str]:
    return frozenset(names.split())


DATED = "createDate lastOpDate"
NAMED = f"uuid name description {DATED}"

FIELDS: dict[str, frozenset[str]] = {
    "zone": _fields(f"{NAMED} state type"),
    "cluster": _fields(f"{NAMED} zoneUuid hypervisorType state type"),
    "host": _fields(
        f"{NAMED} zoneUuid clusterUuid managementIp hypervisorType state status architecture hostname nqn "
        "totalCpuCapacity availableCpuCapacity totalMemoryCapacity availableMemoryCapacity cpuSockets cpuNum "
        "ipmiAddress ipmiUsername ipmiPowerStatus ipmiPort cpuStatus memoryStatus diskStatus nicStatus gpuStatus "
        "powerSupplyStatus fanStatus raidStatus temperatureStatus username sshPort"
    ),
    "vm": _fields(
        f"{NAMED} zoneUuid clusterUuid imageUuid hostUuid lastHostUuid instanceOfferingUuid rootVolumeUuid "
        "defaultL3NetworkUuid platform architecture type hypervisorType memorySize cpuNum cpuSpeed allocatorStrategy "
        "state guestOsType vmNics allVolumes vmCdRoms"
    ),
    "templatedvminstance": _fields(NAMED),
    "l3network": _fields(f"{NAMED} zoneUuid l2NetworkUuid type category state ipVersion ipRanges"),
    "vmnic": _fields(
        f"uuid vmInstanceUuid l3NetworkUuid ip mac hypervisorType netmask gateway metaData driverType internalName "
        f"type state ipVersion deviceId usedIps {DATED}"
    ),
    "volume": _fields(
        f"{NAMED} primaryStorageUuid vmInstanceUuid diskOfferingUuid rootImageUuid installPath type format state "
        "status volumeQos lastVmInstanceUuid size actualSize deviceId isShareable encrypted lastDetachDate"
    ),
    "primarystorage": _fields(
        f"{NAMED} zoneUuid url type state status mountPath totalCapacity availableCapacity totalPhysicalCapacity "
        "availablePhysicalCapacity systemUsedCapacity attachedClusterUuids"
    ),
    "hostnic": _fields(
        f"uuid hostUuid bondingUuid interfaceName interfaceType mac pciDeviceAddress speed slaveActive carrierActive "
        f"ipAddresses {DATED}"
    ),
    "bonding": _fields(
        f"uuid hostUuid bondingName mode xmitHashPolicy miiStatus mac ipAddresses miimon allSlavesActive slaves {DATED}"
    ),
    "snapshotgroup": _fields(f"{NAMED} vmInstanceUuid snapshotCount volumeSnapshotRefs"),
    "platform": _fields(f"{NAMED} type state snmpAddress snmpPort"),
    "endpoint": _fields(f"{NAMED} type state platformUuid connectionStatus url atAll atPersonUserIds atPersonList"),
    "topic": _fields(f"{NAMED} state locale"),
    "subscriber": _fields(f"topicUuid endpointUuid {DATED}"),
    "person": _fields(f"uuid userId endpointUuid remark {DATED}"),
    "wecomperson": _fields(f"uuid userId endpointUuid remark {DATED}"),
    "dingtalkperson": _fields(f"uuid phoneNumber endpointUuid remark {DATED}"),
    "cbttask": _fields(f"{NAMED} status resourceRefs"),
    "iprange": _fields(f"uuid name l3NetworkUuid startIp endIp netmask gateway networkCidr ipVersion {DATED}"),
    "image": _fields(f"{NAMED} state status format"),
    "instanceoffering": _fields(f"{NAMED} state cpuNum memorySize cpuSpeed"),
    "tagpattern": _fields(f"{NAMED} value color type"),
    "usertag": _fields(f"uuid resourceUuid resourceType tag type tagPatternUuid {DATED}"),
}

COMPUTED: dict[str, frozenset[str]] = {
    "host": _fields(
        "totalCpuCapacity availableCpuCapacity totalMemoryCapacity availableMemoryCapacity cpuSockets cpuNum "
        "ipmiAddress ipmiUsername ipmiPowerStatus ipmiPort cpuStatus memoryStatus diskStatus nicStatus gpuStatus "
        "powerSupplyStatus fanStatus raidStatus temperatureStatus"
    ),
    "vm": _fields("vmNics allVolumes vmCdRoms"),
    "primarystorage": _fields(
        "totalCapacity availableCapacity totalPhysicalCapacity availablePhysicalCapacity systemUsedCapacity "
        "attachedClusterUuids"
    ),
    "snapshotgroup": _fields("volumeSnapshotRefs"),
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
}
"""Maps the types of resources in user tags to the types of records."""
