# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the fields that the option ``query`` takes. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The fields of each type of record."""

    CBT_TASK = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(name), C(description), C(createDate), C(lastOpDate) and C(status)."
  - "The known values of C(status) are V(Created), V(Starting), V(Running), V(Stopped) and V(Failed)."
"""

    ENDPOINT = r"""
options: {}
notes:
  - "The fields for O(query) are C(name), C(uuid), C(description), C(type), C(platformUuid), C(createDate),
    C(lastOpDate) and C(state)."
  - "The known values of C(state) are V(Enabled) and V(Disabled)."
  - "Fields of related objects follow a dot: C(platform.FIELD), for example V(platform.name=platform-1)."
"""

    HOST = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(name), C(description), C(zoneUuid), C(clusterUuid), C(managementIp),
    C(hypervisorType), C(state), C(status), C(architecture), C(hostname), C(nqn), C(totalCpuCapacity),
    C(availableCpuCapacity), C(totalMemoryCapacity), C(availableMemoryCapacity), C(cpuSockets), C(cpuNum),
    C(ipmiAddress), C(ipmiUsername), C(ipmiPowerStatus), C(ipmiPort), C(createDate), C(lastOpDate), C(cpuStatus),
    C(memoryStatus), C(diskStatus), C(nicStatus), C(gpuStatus), C(powerSupplyStatus), C(fanStatus), C(raidStatus) and
    C(temperatureStatus)."
  - "The known values of C(state) are V(Enabled), V(Disabled), V(PreMaintenance) and V(Maintenance)."
  - "The known values of C(status) are V(Connecting), V(Connected) and V(Disconnected)."
  - "The known values of C(cpuStatus), C(memoryStatus), C(diskStatus), C(nicStatus), C(gpuStatus), C(powerSupplyStatus),
    C(fanStatus), C(raidStatus) and C(temperatureStatus) are V(Normal), V(Error) and V(Unknown)."
  - "Fields of related objects follow a dot: C(zone.FIELD) and C(cluster.FIELD), for example V(cluster.name=cluster-1)."
"""

    PRIMARY_STORAGE = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(zoneUuid), C(name), C(url), C(description), C(type), C(state), C(status),
    C(mountPath), C(totalCapacity), C(availableCapacity), C(totalPhysicalCapacity), C(availablePhysicalCapacity),
    C(systemUsedCapacity), C(createDate) and C(lastOpDate)."
  - "The known values of C(state) are V(Enabled), V(Disabled), V(Maintenance) and V(Deleting)."
  - "The known values of C(status) are V(Connecting), V(Connected) and V(Disconnected)."
  - "Fields of related objects follow a dot: C(zone.FIELD) and C(cluster.FIELD), for example V(cluster.name=cluster-1)."
"""

    SNAPSHOT_GROUP = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(name), C(description), C(createDate), C(lastOpDate), C(vmInstanceUuid) and
    C(snapshotCount)."
  - "Fields of related objects follow a dot: C(vmInstance.FIELD), for example V(vmInstance.name=vm-1)."
"""

    SUBSCRIBER = r"""
options: {}
notes:
  - "The fields for O(query) are C(topicUuid), C(endpointUuid), C(createDate) and C(lastOpDate)."
  - "Fields of related objects follow a dot: C(topic.FIELD) and C(endpoint.FIELD), for example V(topic.name=topic-1)."
"""

    VM = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(name), C(description), C(zoneUuid), C(clusterUuid), C(imageUuid),
    C(hostUuid), C(lastHostUuid), C(instanceOfferingUuid), C(rootVolumeUuid), C(defaultL3NetworkUuid), C(platform),
    C(architecture), C(type), C(hypervisorType), C(memorySize), C(cpuNum), C(cpuSpeed), C(allocatorStrategy),
    C(createDate), C(lastOpDate), C(state) and C(guestOsType)."
  - "The known values of C(platform) are V(Linux), V(Windows) and V(Other)."
  - "The known values of C(type) are V(UserVm) and V(ApplianceVm)."
  - "The known values of C(state) are V(Created), V(Starting), V(Running), V(Stopping), V(Stopped), V(Rebooting),
    V(Destroying), V(Destroyed), V(Migrating), V(VolumeMigrating), V(VolumeRecovering), V(Expunging), V(Pausing),
    V(Paused), V(Resuming), V(Error), V(NoState), V(Unknown), V(Crashed) and V(Registering)."
  - "Fields of related objects follow a dot: C(zone.FIELD), C(cluster.FIELD), C(host.FIELD), C(image.FIELD),
    C(instanceOffering.FIELD), C(vmNics.FIELD) and C(allVolumes.FIELD), for example V(cluster.name=cluster-1)."
"""

    VM_NIC = r"""
options: {}
notes:
  - "The fields for O(query) are C(uuid), C(vmInstanceUuid), C(l3NetworkUuid), C(ip), C(mac), C(hypervisorType),
    C(netmask), C(gateway), C(metaData), C(driverType), C(internalName), C(type), C(state), C(ipVersion), C(deviceId),
    C(createDate) and C(lastOpDate)."
  - "The known values of C(state) are V(enable) and V(disable)."
  - "Fields of related objects follow a dot: C(vmInstance.FIELD) and C(l3Network.FIELD), for example
    V(vmInstance.name=vm-1)."
"""
