"""The VMs of the seed: VMs with their NICs, volumes and CD-ROMs, snapshot groups, CBT tasks."""

from __future__ import annotations

import ipaddress

from ..state import records as record_builders
from ..state.store import Record, seeded_uuid
from ..switches.options import Seed
from .common import cluster_of, dates

CBT_STATUSES = {True: ("Created", "Running"), False: ("Stopped", "Failed")}
"""Statuses of tasks by whether the VM is running."""


class VmSeeder:
    """Builds the seeded records of VMs, snapshot groups and CBT tasks by their numbers, from 1."""

    def __init__(self, seed: Seed, network: Record, volume_size: int | None = None) -> None:
        self._seed = seed
        self._network = network
        self._sizes = {} if volume_size is None else {"size": volume_size, "actualSize": 0}

    def vm(self, number: int) -> Record:
        """Return a VM with a NIC, a root and a data volume; those of odd number are running.

        VMs after number `vms` are destroyed; they have the names of the first ones.
        """
        destroyed = number > self._seed.vms
        uuid, host = seeded_uuid("vm", number), 1 + (number - 1) % max(self._seed.hosts, 1)
        host_uuid = seeded_uuid("host", host) if self._seed.hosts else None
        running = number % 2 == 1 and not destroyed
        return record_builders.build_vm(
            {
                "uuid": uuid,
                "name": f"vm-{number - self._seed.vms if destroyed else number}",
                "description": f"guest {number}" if running else None,
                "zoneUuid": seeded_uuid("zone", 1),
                "clusterUuid": cluster_of(self._seed, host),
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

    def template(self, number: int) -> Record:
        """Return the record which shows that VM n is a template; it has the uuid of the VM."""
        members = {"uuid": seeded_uuid("vm", number), "name": f"vm-{number}", "description": None}
        return Record("templatedvminstance", {**members, **dates(number)})

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
                        "snapshotDeleted": False,
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

    def _vm_nic(self, number: int) -> Record:
        network = self._network
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
                "primaryStorageUuid": seeded_uuid("primarystorage", 1 + (vm - 1) % self._seed.primary_storages),
                "rootImageUuid": None if device else seeded_uuid("image", 1),
                "diskOfferingUuid": seeded_uuid("diskoffering", 1) if device else None,
                "description": "was attached to another machine" if detached else None,
                "lastDetachDate": dates(vm)["createDate"] if detached else None,
                "volumeQos": "total=10485760" if detached else None,
                **self._sizes,
            },
            dates(vm),
        )

    def deleted_volume(self, number: int) -> Record:
        """Return a deleted volume with the name of the data volume of VM n: it keeps its record for three days."""
        uuid = seeded_uuid("volume", 2 * (self._seed.vms + self._seed.destroyed_vms) + number)
        identity = {"uuid": uuid, "vmInstanceUuid": None, "deviceId": None, "status": "Deleted"}
        return Record("volume", {**self._volume(number, 1), **identity})

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
