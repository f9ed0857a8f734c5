"""The seed: the objects after start and reset. Every record depends only on the number of its object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..kinds import ADMIN, KINDS, ROWS
from ..state import records as record_builders
from ..state.backup_sessions import seed_session
from ..state.records import NICS_PER_HOST
from ..state.store import ADDED_KINDS, Record, Store, Table, seeded_uuid
from ..switches.options import Seed
from . import sns as seed_sns
from .common import cluster_of, dates
from .hosts import HostSeeder
from .vms import VmSeeder

IMAGES = 2
# The services of each provider, by its name and type.
NETWORK_SERVICES = {
    ("Flat Network Service Provider", "Flat"): ["DHCP", "Userdata", "Eip"],
    ("vrouter", "vrouter"): ["DHCP", "DNS", "SNAT", "PortForwarding", "Eip", "LoadBalancer"],
}
BANDWIDTH = 10 * 1024**2


class Seeder:
    """Builds the seeded records: one method per type, with the number of the object, from 1."""

    def __init__(self, seed: Seed, volume_size: int | None = None) -> None:
        """Prepare a seed. Volumes have this size in bytes, by default those of real ones."""
        self._seed = seed
        self._volume_size = volume_size

    def store(self) -> Store:
        """Return the store after a reset."""
        seed = self._seed
        hosts, vms = HostSeeder(seed), VmSeeder(seed, self.l3_network(1), self._volume_size)
        builders: dict[str, tuple[int, Callable[[int], Record]]] = {
            "zone": (1, self.zone),
            "cluster": (seed.clusters, self.cluster),
            "host": (seed.hosts, hosts.host),
            "hostnic": (seed.hosts * NICS_PER_HOST, hosts.host_nic),
            "bonding": (seed.hosts, hosts.bonding),
            "l2network": (seed.l3_networks, self.l2_network),
            "l3network": (seed.l3_networks, self.l3_network),
            "primarystorage": (seed.primary_storages, self.primary_storage),
            "image": (IMAGES, self.image),
            "sshkeypair": (1, self.ssh_key_pair),
            "instanceoffering": (1, self.instance_offering),
            "diskoffering": (1, self.disk_offering),
            "backupstorage": (1, self.backup_storage),
            "networkserviceprovider": (len(NETWORK_SERVICES), self.network_service_provider),
            "usertag": (min(seed.user_tags, seed.vms), self.user_tag),
            "tagpattern": (1, self.tag_pattern),
            "vm": (seed.vms + seed.destroyed_vms, vms.vm),
            "snapshotgroup": (min(seed.snapshot_groups, seed.vms), vms.snapshot_group),
            "cbttask": (min(seed.cbt_tasks, seed.vms), vms.cbt_task),
            **seed_sns.builders(seed.persons, dates),
        }
        store = Store({kind: Table(kind, *builder) for kind, builder in builders.items()}, seed.random_seed)
        for kind in ("volume", *ADDED_KINDS, *ROWS, *(kind.table for kind in KINDS)):
            store.tables.setdefault(kind, Table(kind))
        store["account"].put(self.administrator())
        for number in range(1, seed.deleted_volumes + 1):
            store["volume"].put(vms.deleted_volume(number))
        store.tables["templatedvminstance"] = Table("templatedvminstance")
        for number in range(max(seed.vms - seed.templates, 0) + 1, seed.vms + 1):
            store["templatedvminstance"].put(vms.template(number))
        for number in range(1, min(seed.cbt_tasks, seed.vms) + 1):
            if (task := vms.cbt_task(number))["status"] == "Running":
                seed_session(store, task)
        if seed.ragged_nics:
            for number in range(2, seed.hosts + 1, 2):
                store["hostnic"].put(hosts.host_nic_of(number, NICS_PER_HOST))
        if seed.vms:
            store.qos[seeded_uuid("vmnic", 1)] = {"in": BANDWIDTH, "out": BANDWIDTH}
        return store

    def user_tag(self, number: int) -> Record:
        """Return the user tag of a VM."""
        members = {
            "uuid": seeded_uuid("usertag", number),
            "resourceUuid": seeded_uuid("vm", number),
            "resourceType": "VmInstanceVO",
            "tag": f"tag-{number}",
            "type": "User",
            "tagPatternUuid": None,
            **dates(number),
        }
        return Record("usertag", members)

    def tag_pattern(self, number: int) -> Record:
        """Return a tag pattern, which no object has."""
        members = {"uuid": seeded_uuid("tagpattern", number), "name": f"pattern-{number}", "description": None}
        return Record(
            "tagpattern",
            {**members, "value": f"pattern-{number}", "color": "#3399ff", "type": "simple", **dates(number)},
        )

    def zone(self, number: int) -> Record:
        """Return the only zone."""
        members = {"uuid": seeded_uuid("zone", number), "name": f"zone-{number}", "description": None}
        return Record("zone", {**members, "state": "Enabled", "type": "zstack", "isDefault": True, **dates(number)})

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
                "type": "zstack",
                "architecture": "x86_64",
                **dates(number),
            },
        )

    def l3_network(self, number: int) -> Record:
        """Return an IPv4 network with one range."""
        uuid, prefix = seeded_uuid("l3network", number), f"10.{100 + number % 150}"
        ip_range = {
            "uuid": seeded_uuid("iprange", number),
            "l3NetworkUuid": uuid,
            "name": f"range-{number}",
            "description": None,
            "startIp": f"{prefix}.0.10",
            "endIp": f"{prefix}.255.254",
            "netmask": "255.255.0.0",
            "gateway": f"{prefix}.0.1",
            "networkCidr": f"{prefix}.0.0/16",
            "ipVersion": 4,
            "prefixLen": 16,
            "ipRangeType": "Normal",
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
                "dnsDomain": None,
                "system": False,
                "enableIPAM": True,
                "ipRanges": [Record("iprange", ip_range)],
                "networkServices": [],
                **dates(number),
            },
        )

    def primary_storage(self, number: int) -> Record:
        """Return a primary storage that is attached to one cluster."""
        is_filled = number % 2 == 1
        return Record(
            "primarystorage",
            {
                "uuid": seeded_uuid("primarystorage", number),
                "zoneUuid": seeded_uuid("zone", 1),
                "name": f"ps-{number}",
                "url": f"/storage/ps-{number}",
                "description": f"primary storage {number}" if is_filled else None,
                "type": "LocalStorage" if number > self._seed.primary_storages - self._seed.local_storages else "NFS",
                "state": "Enabled",
                "status": "Connected",
                "mountPath": f"/storage/ps-{number}",
                "totalCapacity": 10240 * record_builders.GIB,
                "availableCapacity": 8192 * record_builders.GIB,
                "totalPhysicalCapacity": 10240 * record_builders.GIB,
                "availablePhysicalCapacity": 9000 * record_builders.GIB,
                "systemUsedCapacity": 20 * record_builders.GIB if is_filled else None,
                "attachedClusterUuids": [cluster_of(self._seed, number)],
                **dates(number),
            },
        )

    def l2_network(self, number: int) -> Record:
        """Return the L2 network of the L3 network with this number, which all clusters have."""
        clusters = [seeded_uuid("cluster", each) for each in range(1, self._seed.clusters + 1)]
        return Record(
            "l2network",
            {
                "uuid": seeded_uuid("l2network", number),
                "name": f"l2-{number}",
                "description": None,
                "zoneUuid": seeded_uuid("zone", 1),
                "physicalInterface": "bond0",
                "type": "L2VlanNetwork",
                "vlan": 100 + number,
                "virtualNetworkId": 100 + number,
                "vSwitchType": "LinuxBridge",
                "attachedClusterUuids": clusters,
                **dates(number),
            },
        )

    def image(self, number: int) -> Record:
        """Return the image of all root volumes, or the ISO after it."""
        storage = {"imageUuid": seeded_uuid("image", number), "backupStorageUuid": seeded_uuid("backupstorage", 1)}
        is_iso = number == IMAGES
        name, kind = (f"iso-{number}", "iso") if is_iso else (f"image-{number}", "qcow2")
        members = {
            "uuid": storage["imageUuid"],
            "name": name,
            "url": f"https://images.example.com/{name}.{kind}",
            "mediaType": "ISO" if is_iso else "RootVolumeTemplate",
            "format": kind,
            "guestOsType": "Linux",
            "backupStorageRefs": [{**storage, "status": "Ready"}],
        }
        return self._of_kind("image", number, members)

    def ssh_key_pair(self, number: int) -> Record:
        """Return the SSH key pair of an administrator."""
        members = {"uuid": seeded_uuid("sshkeypair", number), "name": f"key-{number}"}
        return self._of_kind("sshkeypair", number, {**members, "publicKey": f"ssh-ed25519 AAAA{number} admin"})

    def instance_offering(self, number: int) -> Record:
        """Return an offering of 4 CPUs and 8 GiB."""
        members = {"uuid": seeded_uuid("instanceoffering", number), "name": f"offering-{number}"}
        size = {"cpuNum": 4, "memorySize": 8 * record_builders.GIB}
        return self._of_kind("instanceoffering", number, {**members, **size})

    def disk_offering(self, number: int) -> Record:
        """Return the offering of all data volumes, of 100 GiB."""
        members = {"uuid": seeded_uuid("diskoffering", number), "name": f"disk-offering-{number}"}
        return self._of_kind("diskoffering", number, {**members, "diskSize": 100 * record_builders.GIB})

    def backup_storage(self, number: int) -> Record:
        """Return the storage of all images."""
        members = {"uuid": seeded_uuid("backupstorage", number), "name": f"bs-{number}", "url": f"/backup/bs-{number}"}
        return self._of_kind("backupstorage", number, {**members, "attachedZoneUuids": [seeded_uuid("zone", 1)]})

    def network_service_provider(self, number: int) -> Record:
        """Return a provider of network services."""
        (name, kind), services = list(NETWORK_SERVICES.items())[number - 1]
        members = {"uuid": seeded_uuid("networkserviceprovider", number), "name": name, "type": kind}
        return self._of_kind("networkserviceprovider", number, {**members, "networkServiceTypes": services})

    def administrator(self) -> Record:
        """Return the account of the administrator."""
        return self._of_kind("account", 1, {"uuid": ADMIN, "name": "admin", "type": "SystemAdmin"})

    def _of_kind(self, table: str, number: int, members: dict[str, Any]) -> Record:
        """Return an enabled object with the defaults of its kind."""
        kind = next(kind for kind in KINDS if kind.table == table)
        blank = dict.fromkeys(kind.record_fields)
        state = {"state": "Enabled"} if kind.has_state else {}
        return Record(table, {**blank, **kind.defaults, **state, **members, **dates(number)})
