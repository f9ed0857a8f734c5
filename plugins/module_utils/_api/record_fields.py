"""The fields of the records of the service. The session ``format`` writes this file from docs/openapi.yaml."""

from __future__ import annotations

from collections.abc import Mapping

# The documented fields of each type of record.
SERVICE_FIELDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(names.split())
    for kind, names in {
        "CbtTaskInventory": "uuid name description createDate lastOpDate status",
        "SNSWorkchatEndpointInventory": (
            "url atAll atPersonUserIds name uuid description type state platformUuid createDate lastOpDate platform"
        ),
        "ZoneInventory": "uuid name description createDate lastOpDate state type isDefault",
        "ClusterInventory": (
            "uuid name description createDate lastOpDate state zoneUuid hypervisorType type architecture"
        ),
        "L3NetworkInventory": (
            "uuid name description createDate lastOpDate zoneUuid l2NetworkUuid type category state ipVersion"
            " dnsDomain system enableIPAM ipRanges networkServices"
        ),
        "ImageInventory": (
            "uuid name description createDate lastOpDate state status size mediaType format platform guestOsType"
            " architecture"
        ),
        "InstanceOfferingInventory": ("uuid name description createDate lastOpDate cpuNum memorySize cpuSpeed state"),
        "DiskOfferingInventory": "uuid name description createDate lastOpDate diskSize state",
        "SshKeyPairInventory": "uuid name description createDate lastOpDate publicKey",
        "TemplatedVmInstanceInventory": "uuid name description createDate lastOpDate",
        "SNSTopicInventory": "uuid name description createDate lastOpDate state locale",
        "SNSApplicationPlatformInventory": "uuid name description type createDate lastOpDate state",
        "SNSApplicationEndpointInventory": "name uuid description type platformUuid createDate lastOpDate state",
        "SNSTeamchatAtPersonInventory": "uuid userId endpointUuid createDate lastOpDate remark",
        "SNSWeComAtPersonInventory": "uuid userId endpointUuid remark createDate lastOpDate",
        "SNSDingTalkAtPersonInventory": "uuid phoneNumber endpointUuid remark createDate lastOpDate",
        "SNSTopicSubscriber": "topicUuid endpointUuid createDate lastOpDate",
        "VolumeSnapshotGroupInventory": (
            "uuid name description createDate lastOpDate vmInstanceUuid snapshotCount volumeSnapshotRefs"
        ),
        "UserTagInventory": ("uuid resourceUuid resourceType tag type tagPatternUuid createDate lastOpDate"),
        "TagPatternInventory": "uuid name value color description type createDate lastOpDate",
        "VolumeSnapshotRef": "volumeSnapshotUuid volumeUuid deviceId snapshotDeleted",
        "VmInstanceInventory": (
            "uuid name description zoneUuid clusterUuid imageUuid hostUuid lastHostUuid instanceOfferingUuid"
            " rootVolumeUuid defaultL3NetworkUuid platform architecture type hypervisorType memorySize cpuNum"
            " cpuSpeed allocatorStrategy createDate lastOpDate state guestOsType vmNics allVolumes vmCdRoms"
        ),
        "VmNicInventory": (
            "uuid vmInstanceUuid l3NetworkUuid ip mac hypervisorType netmask gateway metaData driverType"
            " internalName type state ipVersion deviceId createDate lastOpDate usedIps"
        ),
        "UsedIp": (
            "uuid ipRangeUuid l3NetworkUuid ip netmask gateway usedFor vmNicUuid ipVersion ipInLong createDate"
            " lastOpDate"
        ),
        "Volume": (
            "uuid name description primaryStorageUuid vmInstanceUuid diskOfferingUuid rootImageUuid installPath"
            " type format state status volumeQos lastVmInstanceUuid size actualSize deviceId isShareable encrypted"
            " createDate lastOpDate lastDetachDate"
        ),
        "CdRom": ("uuid vmInstanceUuid isoUuid isoInstallPath name description deviceId createDate lastOpDate"),
        "HostInventory": (
            "uuid name description zoneUuid clusterUuid managementIp hypervisorType state status architecture"
            " hostname nqn totalCpuCapacity availableCpuCapacity totalMemoryCapacity availableMemoryCapacity"
            " cpuSockets cpuNum ipmiAddress ipmiUsername ipmiPowerStatus ipmiPort createDate lastOpDate cpuStatus"
            " memoryStatus diskStatus nicStatus gpuStatus powerSupplyStatus fanStatus raidStatus temperatureStatus"
        ),
        "Bonding": (
            "uuid hostUuid bondingName mode xmitHashPolicy miiStatus mac ipAddresses miimon allSlavesActive"
            " createDate lastOpDate slaves"
        ),
        "HostNetworkInterface": (
            "uuid hostUuid bondingUuid interfaceName mac pciDeviceAddress interfaceType speed slaveActive"
            " carrierActive ipAddresses createDate lastOpDate"
        ),
        "CandidateNetworkInterface": (
            "uuid hostUuid bondingUuid interfaceName mac pciDeviceAddress interfaceType speed slaveActive"
            " carrierActive ipAddresses createDate lastOpDate gateway callBackIp offloadStatus description"
        ),
        "HostNicServiceType": "id interfaceUuid vlanId createDate lastOpDate serviceType",
        "PrimaryStorageInventory": (
            "uuid zoneUuid name url description type state status mountPath totalCapacity availableCapacity"
            " totalPhysicalCapacity availablePhysicalCapacity systemUsedCapacity createDate lastOpDate"
            " attachedClusterUuids"
        ),
    }.items()
}

# The fields that services compute or take from other tables. A query for single fields that names one of them fails.
COMPUTED_FIELDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(names.split())
    for kind, names in {
        "VolumeSnapshotGroupInventory": "volumeSnapshotRefs",
        "VmInstanceInventory": "vmNics allVolumes vmCdRoms",
        "HostInventory": (
            "totalCpuCapacity availableCpuCapacity totalMemoryCapacity availableMemoryCapacity cpuSockets cpuNum"
            " ipmiAddress ipmiUsername ipmiPowerStatus ipmiPort cpuStatus memoryStatus diskStatus nicStatus"
            " gpuStatus powerSupplyStatus fanStatus raidStatus temperatureStatus"
        ),
        "PrimaryStorageInventory": (
            "totalCapacity availableCapacity totalPhysicalCapacity availablePhysicalCapacity systemUsedCapacity"
            " attachedClusterUuids"
        ),
    }.items()
}

# The fields of records that are numbers. Databases read a string that is not a number as 0.
NUMBER_FIELDS = frozenset(
    (
        "actualSize availableCapacity availableCpuCapacity availableMemoryCapacity availablePhysicalCapacity"
        " cpuNum cpuSockets cpuSpeed deviceId diskSize id ipInLong ipVersion ipmiPort memorySize miimon"
        " nbdPort size snapshotCount snmpPort speed sshPort systemUsedCapacity totalCapacity totalCpuCapacity"
        " totalMemoryCapacity totalPhysicalCapacity vlanId"
    ).split()
)

# Members that contain a record, or a list of records.
NESTED: Mapping[str, str] = {
    "platform": "SNSApplicationPlatformInventory",
    "volumeSnapshotRefs": "VolumeSnapshotRef",
    "vmNics": "VmNicInventory",
    "allVolumes": "Volume",
    "vmCdRoms": "CdRom",
    "usedIps": "UsedIp",
    "slaves": "HostNetworkInterface",
    "bondings": "Bonding",
    "nics": "HostNetworkInterface",
    "candidateNics": "CandidateNetworkInterface",
}
