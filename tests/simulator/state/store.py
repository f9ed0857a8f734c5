"""The state of the simulated infrastructure: tables of records.

A record is never modified in place: a change puts a new record into the table. So a record that was handed out (to a
cursor, to a finished job) stays the same, and its JSON can be cached.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid as uuids
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import not_found
from .schema import FIELDS, TAGGED_TYPES

if TYPE_CHECKING:
    from ..disks.disks import Disks

KINDS = {
    "zone": 1,
    "cluster": 2,
    "host": 3,
    "vm": 4,
    "l3network": 5,
    "vmnic": 6,
    "volume": 7,
    "primarystorage": 8,
    "hostnic": 9,
    "bonding": 10,
    "snapshotgroup": 11,
    "platform": 12,
    "endpoint": 13,
    "topic": 14,
    "person": 15,
    "cbttask": 16,
    "iprange": 17,
    "image": 18,
    "instanceoffering": 19,
    "snapshot": 20,
    "cdrom": 21,
    "usedip": 22,
    "diskoffering": 23,
    "l2network": 24,
    "subscriber": 25,
    "usertag": 26,
    "wecomperson": 27,
    "dingtalkperson": 28,
    "tagpattern": 29,
    "backupstorage": 30,
    "sshkeypair": 31,
    "networkserviceprovider": 32,
}
ADDED_KINDS = ("wecomperson", "dingtalkperson", "templatedvminstance")
"""The types of which the seed has no records by default."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def seeded_uuid(kind: str, number: int) -> str:
    """Return the uuid of the seeded object of this type and number, from 1."""
    return f"a{KINDS[kind]:07x}000040008000{number:012x}"


def seeded_number(kind: str, uuid: str) -> int:
    """Return the number in a seeded uuid of this type, 0 for any other text."""
    if uuid[:20] != f"a{KINDS[kind]:07x}000040008000":
        return 0
    try:
        return int(uuid[20:], 16)
    except ValueError:
        return 0


def timestamp(when: dt.datetime) -> str:
    """Return the moment in the form `Jan 6, 2017, 3:51:16 AM`."""
    time = f"{when.hour % 12 or 12}:{when.minute:02}:{when.second:02}"
    return f"{MONTHS[when.month - 1]} {when.day}, {when.year}, {time} {'AM' if when.hour < 12 else 'PM'}"


class Record(dict[str, Any]):
    """A record of a type. Members whose names start with an underscore are never sent."""

    __slots__ = ("cached_json", "kind")

    def __init__(self, kind: str, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.kind = kind
        self.cached_json: tuple[int, str] | None = None


class Table:
    """The records of one type by uuid. Seeded records are built on first access."""

    def __init__(self, kind: str, count: int = 0, make: Callable[[int], Record] | None = None) -> None:
        self.kind = kind
        self.version = 0
        self._records: dict[str, Record] = {}
        self._count = count if make else 0
        self._make = make
        self._list: tuple[int, list[Record]] | None = None

    def find(self, uuid: str) -> Record | None:
        """Return the record, or None."""
        record = self._records.get(uuid)
        if record is None and self._make and 1 <= (number := seeded_number(self.kind, uuid)) <= self._count:
            record = self._records[uuid] = self._make(number)
        return record

    def get(self, uuid: str) -> Record:
        """Return the record; raise OperationError if it does not exist."""
        record = self.find(uuid)
        if record is None:
            raise not_found(self.kind, uuid)
        return record

    def all(self) -> list[Record]:
        """Return all records, which must not be modified."""
        self._fill()
        if self._list is None or self._list[0] != self.version:
            self._list = (self.version, list(self._records.values()))
        return self._list[1]

    def put(self, record: Record) -> Record:
        """Add the record, or replace the one with its uuid."""
        self._fill()
        self.version += 1
        self._records[record["uuid"]] = record
        return record

    def change(self, uuid: str, **members: Any) -> Record:
        """Replace members of the record and return the new record."""
        return self.put(Record(self.kind, {**self.get(uuid), **members}))

    def remove(self, uuid: str) -> None:
        """Remove the record."""
        self.get(uuid)
        self._fill()
        self.version += 1
        del self._records[uuid]

    def put_without_uuid(self, record: Record) -> None:
        """Add a record of a type that has no uuid."""
        self._fill()
        self.version += 1
        self._records[f"{len(self._records)}-{self.version}"] = record

    def remove_where(self, matches: Callable[[Record], bool]) -> list[Record]:
        """Remove the records that match and return them."""
        self._fill()
        removed = {key: record for key, record in self._records.items() if matches(record)}
        self.version += bool(removed)
        for key in removed:
            del self._records[key]
        return list(removed.values())

    def _fill(self) -> None:
        if self._make:
            seeded = (seeded_uuid(self.kind, number) for number in range(1, self._count + 1))
            records_by_uuid = {
                uuid: self._records.get(uuid) or self._make(seeded_number(self.kind, uuid)) for uuid in seeded
            }
            self._records, self._make = records_by_uuid, None


class Store:
    """All tables, and the state that is not in a table."""

    def __init__(self, tables: dict[str, Table], random_seed: int) -> None:
        self.tables = tables
        self.services: dict[tuple[str, int], list[dict[str, Any]]] = {}
        """Service records by interface uuid and VLAN, if they differ from the seed."""
        self.qos: dict[str, dict[str, int]] = {}
        """Bandwidth limits by direction (in, out), by NIC uuid."""
        self.exported: dict[str, set[str]] = {}
        """Volume uuids that are exported, by virtual machine uuid."""
        self.checkpoints: dict[str, list[str]] = {}
        """The checkpoints that the hosts have, oldest first, by volume uuid."""
        self.nbd_ports: dict[str, int] = {}
        """The ports of open sessions by task uuid, and of exports by volume uuid."""
        self.tags: dict[str, dict[str, Any]] = {}
        """The uuids of tags and the system tags given at creation, by resource uuid."""
        self.traps: list[dict[str, Any]] = []
        """SNMP traps sent by connection tests."""
        self.disks: Disks | None = None
        """The real disks of the VMs, if there are any."""
        self.clock_offset = dt.timedelta()
        self._random = random.Random(random_seed)
        self._last_id = 10**6

    def __getitem__(self, kind: str) -> Table:
        return self.tables[kind]

    def generate_uuid(self) -> str:
        """Return a new version 4 uuid without dashes."""
        return uuids.UUID(int=self._random.getrandbits(128), version=4).hex

    def new_id(self) -> int:
        """Return a new integer id, above those of the seed."""
        self._last_id += 1
        return self._last_id

    def now(self) -> str:
        """Return the time of the service as a timestamp."""
        return timestamp(self.time())

    def time(self) -> dt.datetime:
        """Return the time of the service: local time, and what its clock was moved forward."""
        return dt.datetime.now() + self.clock_offset

    def records(self, kind: str) -> tuple[int, list[Record]]:
        """Return a version, which increases with every change, and all records of a type.

        NICs and volumes are parts of VMs, IP ranges of networks. Volumes that are attached to no VM have a table. The
        user tags of an object are removed with it.
        """
        if kind == "usertag":
            self[kind].remove_where(
                lambda tag: self.find(TAGGED_TYPES[tag["resourceType"]], tag["resourceUuid"]) is None
            )
        vms = self["vm"]
        if kind == "vmnic":
            return vms.version, [nic for vm in vms.all() for nic in vm["vmNics"]]
        if kind == "volume":
            detached = self[kind]
            attached = [volume for vm in vms.all() for volume in vm["allVolumes"]]
            return vms.version + detached.version, attached + detached.all()
        if kind == "iprange":
            networks = self["l3network"]
            return networks.version, [part for network in networks.all() for part in network["ipRanges"]]
        return self[kind].version, self[kind].all()

    def change(self, kind: str, uuid: str, **members: Any) -> Record:
        """Replace members of a record and its lastOpDate; return the new record."""
        return self[kind].change(uuid, lastOpDate=self.now(), **members)

    def replace_members(self, kind: str, uuid: str, members: dict[str, Any]) -> Record:
        """Replace members of a record, which may be a volume of a VM. Without vmInstanceUuid, it becomes detached.

        A record of a kind of ADDED_KINDS that does not exist is added.
        """
        if kind in ADDED_KINDS and self.find(kind, uuid) is None:
            return self[kind].put(
                Record(kind, {**dict.fromkeys(FIELDS[kind]), "uuid": uuid, **self.dates(), **members})
            )
        volume = self.find(kind, uuid) if kind == "volume" else None
        if volume is None or volume["vmInstanceUuid"] is None:
            return self[kind].change(uuid, **members)
        vm = self["vm"].get(volume["vmInstanceUuid"])
        changed = Record(kind, {**volume, **members})
        if changed["vmInstanceUuid"] is None:
            self["vm"].change(vm["uuid"], allVolumes=[each for each in vm["allVolumes"] if each is not volume])
            return self[kind].put(changed)
        self["vm"].change(vm["uuid"], allVolumes=[changed if each is volume else each for each in vm["allVolumes"]])
        return changed

    def dates(self) -> dict[str, str]:
        """Return createDate and lastOpDate of a new record."""
        now = self.now()
        return {"createDate": now, "lastOpDate": now}

    def find(self, kind: str, uuid: str) -> Record | None:
        """Return the record of a type, or None, also for subscribers, which have no uuid."""
        if kind == "vmnic":
            return self._nic_and_vm(uuid)[0]
        if kind in ("volume", "iprange"):
            return next((record for record in self.records(kind)[1] if record["uuid"] == uuid), None)
        return None if kind == "subscriber" else self[kind].find(uuid)

    def find_nic(self, uuid: str) -> tuple[Record, Record]:
        """Return a NIC and its VM; raise OperationError if it does not exist."""
        nic, vm = self._nic_and_vm(uuid)
        if nic is None or vm is None:
            raise not_found("vmnic", uuid)
        return nic, vm

    def _nic_and_vm(self, uuid: str) -> tuple[Record | None, Record | None]:
        number = seeded_number("vmnic", uuid)
        seeded = self["vm"].find(seeded_uuid("vm", number)) if number else None
        for vm in [seeded] if seeded else self["vm"].all():
            for nic in vm["vmNics"]:
                if nic["uuid"] == uuid:
                    return nic, vm
        return None, None

    def dump(self, kind: str | None) -> dict[str, Any]:
        """Return everything, or the records of one type, as data for JSON."""
        if kind:
            return {kind: self.records(kind)[1]}
        return {
            **{name: self.records(name)[1] for name in (*self.tables, "vmnic", "volume")},
            "services": [record for pair in self.services.values() for record in pair],
            "qos": {nic: limits for nic, limits in self.qos.items() if limits},
            "exported": {vm: sorted(volumes) for vm, volumes in self.exported.items() if volumes},
            "tags": _select_existing_tags(self),
            "traps": self.traps,
        }


def _select_existing_tags(store: Store) -> dict[str, dict[str, Any]]:
    """Return the tags of the objects that exist. The tags of an object are removed with it."""
    existing = {record.get("uuid") for kind in (*store.tables, "vmnic", "volume") for record in store.records(kind)[1]}
    return {uuid: tags for uuid, tags in store.tags.items() if uuid in existing}
