"""Migrate all VMs of hosts to other hosts, and prove that none is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import InvalidOptions, SeveralFailed, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._client.lists import extract_records
from ...module_utils._masking.terminal import escape_controls
from .report import Entry, Outcome, Report
from .site import Site, select
from .wish import Wish

# The states of VMs that are on no host, or will soon be on none.
IDLE = ("Created", "Stopped", "Stopping", "Destroying", "Destroyed", "Expunging")

# The states of VMs that can migrate. A paused one stays paused.
MOVABLE = ("Running", "Paused")

# What permits that VMs stay on a host.
REMEDY = "Set host_evacuation_unmovable to keep to leave them where they are."

# What the service is asked for each VM, and for how many VMs at the same time.
QUESTION = "GetVmMigrationCandidateHosts"
QUESTIONS = 20


@dataclass(frozen=True)
class Settings:
    """The variables of the role."""

    hosts: list[str]
    targets: list[str]
    unmovable: str
    concurrency: int
    timeout: int
    undo: list[Record] | None = None

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not self.hosts and self.undo is None:
            raise InvalidOptions("No VM was migrated. Give host_evacuation_hosts")
        if self.concurrency < 1:
            raise InvalidOptions(
                f"No VM was migrated. host_evacuation_concurrency must be at least 1, not {self.concurrency}"
            )
        members = {"vm_uuid", "from_uuid", "outcome"}
        if not all(members <= entry.keys() for entry in self.undo or ()):
            raise InvalidOptions(
                "No VM was migrated. host_evacuation_undo must be the host_evacuation_report of an earlier run"
            )

    @property
    def moved(self) -> dict[str, str]:
        """The hosts on which the VMs ran that an earlier run has migrated, by the uuids of the VMs."""
        return {entry["vm_uuid"]: entry["from_uuid"] for entry in self.undo or () if entry["outcome"] == "changed"}


@dataclass
class Migration:
    """A VM, the host on which it runs, the one that was chosen for it, and what becomes of it."""

    vm: str
    vm_uuid: str
    from_name: str | None
    from_uuid: str
    to_name: str | None = None
    to_uuid: str | None = None
    obstacle: str | None = None
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def label(self) -> str:
        """The VM in messages."""
        return f"{self.vm} ({self.vm_uuid})"

    def describe_move(self) -> str:
        """Return which VM migrates to which host, for the terminal."""
        return escape_controls(f"{self.vm}: {self.from_name} -> {self.to_name}")

    def build_entry(self) -> Entry:
        """Return the entry of the report."""
        members = {
            "vm": self.vm,
            "vm_uuid": self.vm_uuid,
            "from": self.from_name,
            "from_uuid": self.from_uuid,
            "to": self.to_name,
            "to_uuid": self.to_uuid,
            "outcome": self.outcome.name,
            "error": self.outcome.reason,
        }
        return Entry(self.outcome, self.label, members, self.vm_uuid)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Migrate the VMs, and return what became of each of them."""
    settings = Settings(**options)
    settings.check()
    records = site.read("host_info")["hosts"]
    evacuated = [] if settings.undo is not None else find_hosts(records, settings.hosts)
    allowed = [] if settings.undo is not None or not settings.targets else find_hosts(records, settings.targets)
    vms = choose_vms(_read_vms(site, evacuated), evacuated, settings)
    site.ask(Wish({vm["uuid"]: {"vm": vm["name"], "vm_uuid": vm["uuid"]} for vm in vms}))
    answers, local_storages = _ask(site, vms)
    limits = Limits(allowed, evacuated, None if settings.undo is None else settings.moved)
    migrations = plan_migrations(vms, records, answers, limits, local_storages)
    refuse(migrations, settings)
    _migrate(site, [each for each in migrations if each.to_uuid], settings)
    if settings.undo is None and not site.check_mode:
        migrations += _prove(site, migrations, evacuated, {host["uuid"]: host["name"] for host in records})
    entries = [each.build_entry() for each in migrations]
    return Report("VMs", entries, next={"moves": [each.describe_move() for each in migrations if each.to_name]})


def find_hosts(records: Sequence[Record], references: Sequence[str]) -> list[str]:
    """Return the uuids of hosts. Raise InvalidOptions for references that select none, or several."""
    selection = select(records, references)
    ambiguous = [host["name"] for host in selection.objects if host["uuid"] in selection.ambiguous]
    if unclear := [*selection.missing, *dict.fromkeys(ambiguous)]:
        names = ", ".join(unclear)
        raise InvalidOptions(
            f"No VM was migrated. No host, or several hosts, have these names: {names}. Check them, or give uuids."
        )
    return [host["uuid"] for host in selection.objects]


def _read_vms(site: Site, hosts: Sequence[str]) -> list[Record]:
    """Return the VMs of hosts, all VMs without hosts."""
    vms: list[Record] = site.read("vm_info", query=[f"hostUuid?={','.join(hosts)}"] if hosts else [])["vms"]
    return vms


def choose_vms(vms: Iterable[Record], hosts: Collection[str], settings: Settings) -> list[Record]:
    """Return the VMs to migrate: those on the hosts, or those that are not back on the hosts on which they ran."""
    present = [vm for vm in vms if vm["host_uuid"] and vm["state"] not in IDLE]
    if settings.undo is None:
        return [vm for vm in present if vm["host_uuid"] in hosts]
    moved = settings.moved
    return [vm for vm in present if vm["uuid"] in moved and vm["host_uuid"] != moved[vm["uuid"]]]


def _ask(site: Site, vms: Sequence[Record]) -> tuple[dict[str, Record], set[str]]:
    """Return what the service says about the hosts that can take each VM, and the storages that are local."""
    if not vms:
        return {}, set()
    movable = [vm["uuid"] for vm in vms if vm["state"] in MOVABLE]
    try:
        storages = site.read("primary_storage_info")["primary_storages"]
    except VirtinfraError as failure:
        raise SeveralFailed(f"No VM was migrated. {failure}", failure.error) from failure
    objects = [{"params": {"vmInstanceUuid": uuid}} for uuid in movable]
    answers = site.batch("api", objects, QUESTIONS, operation=QUESTION)
    local = {storage["uuid"] for storage in storages if storage["type"] == "LocalStorage"}
    return dict(zip(movable, answers, strict=True)), local


# ---------------------------------------------------------------------------------------------------------------- plan


class Hosts:
    """The hosts, with the memory that they have left and the number of VMs that they get."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.names = {host["uuid"]: host["name"] for host in records}
        self._available = {host["uuid"]: host.get("available_memory_capacity") for host in records}
        self._needed: Counter[str] = Counter()
        self._vms: Counter[str] = Counter()

    def has_room(self, uuid: str, memory: int) -> bool:
        """Return whether a host has memory left for a VM; True if its memory is unknown."""
        available = self._available.get(uuid)
        return available is None or available - self._needed[uuid] >= memory

    def choose(self, uuids: Sequence[str], memory: int) -> str:
        """Return the host with the most memory left, and among these the one that gets the fewest VMs; reserve it."""
        chosen = min(uuids, key=self._rank)
        self._needed[chosen] += memory
        self._vms[chosen] += 1
        return chosen

    def _rank(self, uuid: str) -> tuple[int, int, str, str]:
        left = (self._available.get(uuid) or 0) - self._needed[uuid]
        return -left, self._vms[uuid], self.get_name(uuid), uuid

    def get_name(self, uuid: str) -> str:
        """Return the name of a host, or its uuid if it has no record."""
        return str(self.names.get(uuid, uuid))


@dataclass(frozen=True)
class Limits:
    """The hosts that may take VMs, all if there are none; those that must not; and the only one for each VM."""

    allowed: Collection[str] = ()
    excluded: Collection[str] = ()
    wanted: Mapping[str, str] | None = None

    def permit(self, vm: str, host: str) -> bool:
        """Return whether a VM may migrate to a host."""
        is_allowed = host not in self.excluded and (not self.allowed or host in self.allowed)
        return is_allowed and (self.wanted is None or self.wanted.get(vm, host) == host)


def plan_migrations(
    vms: Sequence[Record],
    hosts: Sequence[Record],
    answers: Mapping[str, Record],
    limits: Limits,
    local_storages: Collection[str] = (),
) -> list[Migration]:
    """Return for each VM to which host it migrates, or why it cannot.

    VMs with the fewest possible targets are placed first, then those with the most memory, each on the host with the
    most memory left, so that the same records always lead to the same plan.
    """
    known = Hosts(hosts)
    migrations = {
        vm["uuid"]: Migration(vm["name"], vm["uuid"], known.names.get(vm["host_uuid"]), vm["host_uuid"]) for vm in vms
    }
    possible: dict[str, list[str]] = {}
    for vm in vms:
        each = migrations[vm["uuid"]]
        each.obstacle, offered = read_targets(vm, answers.get(vm["uuid"]), local_storages)
        possible[vm["uuid"]] = [host for host in offered if limits.permit(vm["uuid"], host)]
        if each.obstacle is None and not possible[vm["uuid"]]:
            names = ", ".join(sorted(map(known.get_name, offered)))
            forbidden = "other hosts than that on which it ran" if limits.wanted else "hosts that must not take it"
            each.obstacle = f"it can only migrate to {forbidden}: {names}"
    for vm in sorted(vms, key=lambda vm: (len(possible[vm["uuid"]]), -_read_memory(vm), vm["name"], vm["uuid"])):
        _place(migrations[vm["uuid"]], _read_memory(vm), possible[vm["uuid"]], known)
    return list(migrations.values())


def _place(each: Migration, memory: int, possible: Iterable[str], known: Hosts) -> None:
    """Choose the host for a VM that can migrate."""
    if each.obstacle is not None:
        return
    with_room = [host for host in possible if known.has_room(host, memory)]
    if with_room:
        each.to_uuid = known.choose(with_room, memory)
        each.to_name = known.get_name(each.to_uuid)
    else:
        each.obstacle = "no host that can take it has enough memory left after the other VMs"


def read_targets(vm: Record, answer: Record | None, local_storages: Collection[str]) -> tuple[str | None, list[str]]:
    """Return why a VM cannot migrate, None if it can, and the uuids of the hosts that the service offers."""
    if vm["state"] not in MOVABLE:
        return f"it is {vm['state']}, and only a running or paused VM can migrate", []
    volumes = {volume["uuid"]: volume["primary_storage_uuid"] for volume in vm.get("all_volumes") or ()}
    if volumes.get(vm.get("root_volume_uuid")) in local_storages:
        return "its root volume is on local storage", []
    if answer is None or answer.get("failed"):
        return str((answer or {}).get("msg", "the service was not asked which hosts can take it")), []
    try:
        targets = extract_records(answer["reply"], QUESTION)
    except VirtinfraError as failure:
        return str(failure), []
    offered = [host["uuid"] for host in targets if host["uuid"] != vm["host_uuid"]]
    return None if offered else "no other host can take it", offered


def _read_memory(vm: Record) -> int:
    return int(vm.get("memory_size") or 0)


def refuse(migrations: Sequence[Migration], settings: Settings) -> None:
    """Skip the VMs that cannot migrate. Raise VirtinfraError if that is not permitted."""
    stuck = [each for each in migrations if each.obstacle is not None]
    if stuck and settings.unmovable == "fail":
        reasons = "; ".join(f"{each.label}: {each.obstacle}" for each in stuck)
        raise VirtinfraError(
            f"No VM was migrated, because {len(stuck)} of {len(migrations)} VMs cannot migrate: {reasons}. {REMEDY}"
        )
    for each in stuck:
        each.outcome.skipped = each.obstacle


# ---------------------------------------------------------------------------------------------------------- migrations


def _migrate(site: Site, migrations: Sequence[Migration], settings: Settings) -> None:
    """Migrate the VMs."""
    objects = [{"uuid": each.vm_uuid, "host": each.to_uuid} for each in migrations]
    results = site.batch("vm", objects, settings.concurrency, wait_timeout=settings.timeout)
    for each, result in zip(migrations, results, strict=True):
        each.outcome.note(result)


def _prove(
    site: Site, migrations: Sequence[Migration], hosts: Sequence[str], names: Mapping[str, str]
) -> list[Migration]:
    """Fail the VMs that are on the hosts again, and return those that came while the role ran.

    Raise VirtinfraError if the VMs cannot be read, and no migration can say so.
    """
    try:
        vms = _read_vms(site, hosts)
    except VirtinfraError as failure:
        if not migrations:
            raise
        for each in migrations:
            each.outcome.fail(f"The hosts could not be read again, so VMs may be left on them. {failure}")
        return []
    remaining = {vm["uuid"]: vm for vm in vms if vm["host_uuid"] in hosts and vm["state"] not in IDLE}
    for each in migrations:
        if each.vm_uuid in remaining and each.outcome.skipped is None:
            each.outcome.fail("It is on the host again.")
    planned = {each.vm_uuid for each in migrations}
    new = [
        Migration(vm["name"], uuid, names.get(vm["host_uuid"]), vm["host_uuid"])
        for uuid, vm in remaining.items()
        if uuid not in planned
    ]
    for each in new:
        each.outcome.fail("It came to the host while the role ran. Disable the host, and run the role again.")
    return new
