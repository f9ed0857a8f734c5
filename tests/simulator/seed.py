# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The seed: the objects after start and reset. Every record depends only on the number of its object."""

from __future__ import annotations

import collections.abc as c
import datetime as dt
import functools
import ipaddress

from . import record_builders, seed_sns
from .options import Seed
from .record_builders import NICS_PER_HOST
from .store import Record, Store, Table, seeded_uuid, timestamp

FIRST_MANAGEMENT_IP = int(ipaddress.IPv4Address("10.0.0.11"))
EPOCH = dt.datetime(2024, 1, 6, 3, 51, 16)
RAGGED_NIC = 10**9
"""Number of the extra NIC of host n: RAGGED_NIC + n."""
CBT_STATUSES = {True: ("Created", "Running"), False: ("Stopped", "Failed")}
"""Statuses of tasks by whether the VM is running."""


@functools.lru_cache(maxsize=1024)
def dates(number: int) -> dict[str, str]:
    """Return createDate and lastOpDate of the object with this number."""
    created = EPOCH + dt.timedelta(minutes=61 * number)
    return {
        "createDate": timestamp(created),
        "lastOpDate": timestamp(created + dt.timedelta(hours=5)),
    }


class Seeder:
    """Builds the seeded records: one method per type, with the number of the object, from 1."""

    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        self._first_network = self.l3_network(1)

    def store(self) -> Store:
        """Return the store after a reset."""
        seed = self.seed
        builders: dict[str, tuple[int, c.Callable[[int], Record]]] = {
            "zone": (1, self.zone),
            "cluster": (seed.clusters, self.cluster),
            "host": (seed.hosts, self.host),
            "hostnic": (seed.hosts * NICS_PER_HOST, self.host_nic),
            "bonding": (seed.hosts, self.bonding),
            "l3network": (seed.l3_networks, self.l3_network),
            "primarystorage": (seed.primary_storages, self.primary_storage),
            "image": (1, self.image),
            "instanceoffering": (1, self.instance_offering),
            "vm": (seed.vms + seed.destroyed_vms, self.vm),
            "snapshotgroup": (min(seed.snapshot_groups, seed.vms), self.snapshot_group),
            "cbttask": (min(seed.cbt_tasks, seed.vms), self.cbt_task),
            **seed_sns.builders(seed.persons, dates),
        }
        store = Store({kind: Table(kind, *builder) for kind, builder in builders.items()}, seed.random_seed)
        if seed.ragged_nics:
            for number in range(2, seed.hosts + 1, 2):
                store["hostnic"].put(self._host_nic(number, NICS_PER_HOST))
        if seed.vms:
            store.qos[seeded_uuid("vmnic", 1)] = {"in", "out"}
        return store

    def zone(self, number: int) -> Record:
        """Return the only zone."""
        members = {"uuid": seeded_uuid("zone", number), "name": f"zone-{number}", "description": None}
        return Record("zone", {**members, "state": "Enabled", "type": "zone", **dates(number)})

    def cluster(self, number: int) -> Record:
        """Return a KVM cluster."""
        return Record(
            "cluster",
            {
                "uuid": seeded_uuid("cluster", number),
                "name": f"cluster-{number}",
                "description": None,
                "zoneUuid": seeded_uuid("zone", 1),
                "hypervisorType": "KVM",
                "state": "Enabled",
                "type": "cluster",
                **dates(number),
            },
        )

    def host(self, number: int) -> Record:
        """Return a connected host; those of even number have many null members."""
        non_empty = number % 2 == 1
        return record_builders.build_host(
            {
                "uuid": seeded_uuid("host", number),
                "name": f"host-{number}",
                "description": f"hypervisor {number}" if non_empty else None,
                "zoneUuid": seeded_uuid("zone", 1),
                "clusterUuid": self._cluster_of(number),
                "managementIp": str(ipaddress.IPv4Address(FIRST_MANAGEMENT_IP + number - 1)),
                "hostname": f"host-{number}.example.com",
                "nqn": f"nqn.2014-08.org.nvmexpress:uuid:host-{number}" if non_empty else None,
                "ipmiAddress": f"172.31.{number // 250 % 256}.{number % 250 + 1}" if non_empty else None,
                "ipmiUsername": "admin" if non_empty else None,
                "ipmiPowerStatus": "POWER_ON" if non_empty else None,
                "ipmiPort": 623 if non_empty else None,
                "gpuStatus": "Unknown",
                "temperatureStatus": "Error" if number % 10 == 0 else "Normal",
                "_nics": [
                    seeded_uuid("hostnic", self._nic_number(number, slot)) for slot in range(self._nics_of(number))
                ],
                "_bondings": [seeded_uuid("bonding", number)],
            },
            dates(number),
        )

    def host_nic(self, number: int) -> Record:
        """Return a NIC of a host; each host has four."""
        host, slot = divmod(number - 1, NICS_PER_HOST)
        return self._host_nic(host + 1, slot)

    def bonding(self, number: int) -> Record:
        """Return bond0 of host n."""
        slaves = [self._host_nic(number, slot) for slot in record_builders.BONDED]
        return record_builders.build_bonding(
            seeded_uuid("host", number), seeded_uuid("bonding", number), slaves, dates(number)
        )

    def l3_network(self, number: int) -> Record:
        """Return an IPv4 network with one range."""
        uuid, prefix = seeded_uuid("l3network", number), f"10.{100 + number % 150}"
        ip_range = {
            "uuid": seeded_uuid("iprange", number),
            "l3NetworkUuid": uuid,
            "name": f"range-{number}",
            "startIp": f"{prefix}.0.10",
            "endIp": f"{prefix}.255.254",
            "netmask": "255.255.0.0",
            "gateway": f"{prefix}.0.1",
            "networkCidr": f"{prefix}.0.0/16",
            "ipVersion": 4,
            **dates(number),
        }
        return Record(
            "l3network",
            {
                "uuid": uuid,
                "name": f"l3-{number}",
                "description": None,
                "zoneUuid": seeded_uuid("zone", 1),
                "l2NetworkUuid": seeded_uuid("l2network", number),
                "type": "L3BasicNetwork",
                "category": "Private",
                "state": "Enabled",
                "ipVersion": 4,
                "ipRanges": [Record("iprange", ip_range)],
                **dates(number),
            },
        )

    def primary_storage(self, number: int) -> Record:
        """Return a primary storage that is attached to one cluster."""
        non_empty = number % 2 == 1
        return Record(
            "primarystorage",
            {
                "uuid": seeded_uuid("primarystorage", number),
                "zoneUuid": seeded_uuid("zone", 1),
                "name": f"ps-{number}",
                "url": f"/storage/ps-{number}",
                "description": f"primary storage {number}" if non_empty else None,
                "type": "LocalStorage" if non_empty else "NFS",
                "state": "Enabled",
                "status": "Connected",
                "mountPath": f"/storage/ps-{number}",
                "totalCapacity": 10240 * record_builders.GIB,
                "availableCapacity": 8192 * record_builders.GIB,
                "totalPhysicalCapacity": 10240 * record_builders.GIB,
                "availablePhysicalCapacity": 9000 * record_builders.GIB,
                "systemUsedCapacity": 20 * record_builders.GIB if non_empty else None,
                "attachedClusterUuids": [self._cluster_of(number)],
                **dates(number),
            },
        )

    def image(self, number: int) -> Record:
        """Return the image of all root volumes."""
        members = {"uuid": seeded_uuid("image", number), "name": f"image-{number}", "description": None}
        return Record("image", {**members, "state": "Enabled", "status": "Ready", "format": "qcow2", **dates(number)})

    def instance_offering(self, number: int) -> Record:
        """Return an offering of 4 CPUs and 8 GiB."""
        members = {"uuid": seeded_uuid("instanceoffering", number), "name": f"offering-{number}", "description": None}
        size = {"cpuNum": 4, "memorySize": 8 * record_builders.GIB, "cpuSpeed": 0}
        return Record("instanceoffering", {**members, **size, "state": "Enabled", **dates(number)})

    def vm(self, number: int) -> Record:
        """Return a VM with a NIC, a root and a data volume; those of odd number are running.

        VMs after number `vms` are destroyed; they have the names of the first ones.
        """
        destroyed = number > self.seed.vms
        uuid, host = seeded_uuid("vm", number), 1 + (number - 1) % max(self.seed.hosts, 1)
        host_uuid = seeded_uuid("host", host) if self.seed.hosts else None
        running = number % 2 == 1 and not destroyed
        return record_builders.build_vm(
            {
                "uuid": uuid,
                "name": f"vm-{number - self.seed.vms if destroyed else number}",
                "description": f"guest {number}" if running else None,
                "zoneUuid": seeded_uuid("zone", 1),
                "clusterUuid": self._cluster_of(host),
                "imageUuid": seeded_uuid("image", 1),
                "hostUuid": host_uuid if running else None,
                "lastHostUuid": host_uuid,
                "instanceOfferingUuid": seeded_uuid("instanceoffering", 1) if running else None,
                "rootVolumeUuid": seeded_uuid("volume", 2 * number - 1),
                "defaultL3NetworkUuid": seeded_uuid("l3network", 1),
                "platform": "Windows" if number % 3 == 0 else "Linux",
                "guestOsType": "Windows" if number % 3 == 0 else "Linux",
                "state": "Destroyed" if destroyed else "Running" if running else "Stopped",
                "vmNics": [self._vm_nic(number)],
                "allVolumes": [self._volume(number, device) for device in (0, 1)],
                "vmCdRoms": [self._cd_rom(number)],
            },
            dates(number),
        )

    def snapshot_group(self, number: int) -> Record:
        """Return a snapshot group of VM n with a snapshot of each of its two volumes."""
        return Record(
            "snapshotgroup",
            {
                "uuid": seeded_uuid("snapshotgroup", number),
                "name": f"snapshot-group-{number}",
                "description": None,
                "vmInstanceUuid": seeded_uuid("vm", number),
                "snapshotCount": 2,
                "volumeSnapshotRefs": [
                    {
                        "volumeSnapshotUuid": seeded_uuid("snapshot", 2 * number - 1 + device),
                        "volumeUuid": seeded_uuid("volume", 2 * number - 1 + device),
                        "deviceId": device,
                    }
                    for device in (0, 1)
                ],
                **dates(number),
            },
        )

    def cbt_task(self, number: int) -> Record:
        """Return a CBT task of VM n."""
        uuid, vm_uuid = seeded_uuid("cbttask", number), seeded_uuid("vm", number)
        statuses = CBT_STATUSES[number % 2 == 1]
        return Record(
            "cbttask",
            {
                "uuid": uuid,
                "name": f"cbt-task-{number}",
                "description": None if number % 2 == 0 else f"backup {number}",
                "status": statuses[(number - 1) // 2 % 2],
                "resourceRefs": [{"taskUuid": uuid, "resourceUuid": vm_uuid, "resourceType": "VmInstanceVO"}],
                **dates(number),
            },
        )

    def _cluster_of(self, number: int) -> str:
        return seeded_uuid("cluster", 1 + (number - 1) % self.seed.clusters)

    def _nics_of(self, host: int) -> int:
        return NICS_PER_HOST + (self.seed.ragged_nics and host % 2 == 0)

    def _nic_number(self, host: int, slot: int) -> int:
        return RAGGED_NIC + host if slot >= NICS_PER_HOST else NICS_PER_HOST * (host - 1) + 1 + slot

    def _host_nic(self, host: int, slot: int) -> Record:
        return record_builders.build_host_nic(
            seeded_uuid("host", host),
            seeded_uuid("hostnic", self._nic_number(host, slot)),
            slot,
            seeded_uuid("bonding", host),
            dates(host),
        )

    def _vm_nic(self, number: int) -> Record:
        network = self._first_network
        first = int(ipaddress.IPv4Address(network["ipRanges"][0]["startIp"]))
        return record_builders.build_nic(
            {
                "uuid": seeded_uuid("vmnic", number),
                "vmInstanceUuid": seeded_uuid("vm", number),
                "deviceId": 0,
                "mac": record_builders.mac_address(0, number),
                "metaData": "{}" if number % 2 else None,
            },
            network,
            str(ipaddress.IPv4Address(first + number)),
            seeded_uuid("usedip", number),
            dates(number),
        )

    def _volume(self, vm: int, device: int) -> Record:
        kind = "Data" if device else "Root"
        detached = device and vm % 2
        return record_builders.build_volume(
            {
                "uuid": seeded_uuid("volume", 2 * vm - 1 + device),
                "name": f"{kind.lower()}-of-vm-{vm}",
                "type": kind,
                "deviceId": device,
                "vmInstanceUuid": seeded_uuid("vm", vm),
                "primaryStorageUuid": seeded_uuid("primarystorage", 1 + (vm - 1) % self.seed.primary_storages),
                "rootImageUuid": None if device else seeded_uuid("image", 1),
                "diskOfferingUuid": seeded_uuid("diskoffering", 1) if device else None,
                "description": "was attached to another machine" if detached else None,
                "lastDetachDate": dates(vm)["createDate"] if detached else None,
                "volumeQos": "total=10485760" if detached else None,
            },
            dates(vm),
        )

    def _cd_rom(self, vm: int) -> Record:
        return Record(
            "cdrom",
            {
                "uuid": seeded_uuid("cdrom", vm),
                "vmInstanceUuid": seeded_uuid("vm", vm),
                "isoUuid": seeded_uuid("image", 1) if vm % 2 else None,
                "isoInstallPath": "/storage/images/tools.iso" if vm % 2 else None,
                "name": f"cd-rom-of-vm-{vm}",
                "description": "guest tools" if vm % 2 else None,
                "deviceId": 0,
                **dates(vm),
            },
        )
