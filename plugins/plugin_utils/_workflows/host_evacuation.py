"""Migrate all VMs of hosts to other hosts, and prove that none is left; or migrate them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import InvalidOptions, SeveralFailed, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._client.lists import extract_records
from ...module_utils._masking.terminal import escape_controls
from .._site.marked_vms import REMOVED, read_vms
from .._site.marks import Mark, Marks
from .._site.report import Entry, Outcome, Report
from .._site.settings import HostEvacuationSettings
from .._site.site import GONE, Site, explain_missing, select
from .._site.wish import Wish, index

# The states of VMs that are on no host, or will soon be on none.
IDLE = ("Created", "Stopped", "Stopping", "Destroying", "Destroyed", "Expunging")

# The states of VMs that can migrate. A paused one stays paused.
MOVABLE = ("Running", "Paused")

# The variable that permits VMs to stay on a host.
REMEDY = "Set host_evacuation_unmovable to keep to leave them where they are."
OUTSIDE = "hosts that are not in host_evacuation_targets"
ADD_TARGETS = "host_evacuation_targets has only hosts that are evacuated. Add others, or omit it."

# What the service is asked for each VM, and for how many VMs at the same time.
QUESTION = "GetVmMigrationCandidateHosts"
QUESTIONS = 20


class Settings(HostEvacuationSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not self.hosts and self.state == "evacuated":
            raise InvalidOptions("No VM was migrated. Give host_evacuation_hosts")


@dataclass
class Migration:
    """A VM, the host on which it runs, the one that was chosen for it, and what becomes of it.

    ``mark`` says in the service on which host it ran before it was migrated.
    """

    vm: str
    vm_uuid: str
    from_name: str | None
    from_uuid: str | None
    to_name: str | None = None
    to_uuid: str | None = None
    obstacle: str | None = None
    mark: Mark | None = None
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
    marks = Marks(site, "host_evacuation", settings.label, "VmInstanceVO", settings.concurrency)
    records = site.read("host_info")["hosts"]
    if settings.state == "evacuated":
        migrations = _evacuate(site, marks, records, settings)
    elif settings.state == "restored":
        migrations = _restore(site, marks, records, settings)
    else:
        migrations = _unmark(site, marks, records, settings)
    moves = [each.describe_move() for each in migrations if each.to_name]
    return Report("VMs", [each.build_entry() for each in migrations], next={"moves": moves})


def _evacuate(site: Site, marks: Marks, records: Sequence[Record], settings: Settings) -> list[Migration]:
    """Migrate the VMs of the hosts, each marked before with its host, and prove that none is left."""
    evacuated = find_hosts(records, settings.hosts, "host_evacuation_hosts")
    allowed = find_hosts(records, settings.targets, "host_evacuation_targets") if settings.targets else []
    found = marks.find()
    vms = choose_vms(_read_vms(site, evacuated), evacuated)
    # A migration of an earlier run may end later than the one that would begin now.
    problems = marks.settle(_list_marks(found, vms), settings.timeout)
    if found and vms:
        vms = choose_vms(_read_vms(site, evacuated), evacuated)
    site.ask(Wish({vm["uuid"]: {"vm": vm["name"], "vm_uuid": vm["uuid"]} for vm in vms}))
    answers, local_storages = _ask(site, vms)
    migrations = plan_migrations(vms, records, answers, Limits(allowed, evacuated), local_storages)
    for each in migrations:
        if each.vm_uuid in problems:
            each.outcome.fail(problems[each.vm_uuid])
    refuse(migrations, settings, ADD_TARGETS if allowed and set(allowed) <= set(evacuated) else REMEDY)
    due = [each for each in migrations if each.to_uuid and each.outcome.error is None]
    _mark(marks, found, due)
    _migrate(site, marks, [each for each in due if each.outcome.error is None], settings)
    if not site.check_mode:
        migrations += _prove(site, migrations, evacuated, {host["uuid"]: host["name"] for host in records})
        _release(site, marks, migrations)
        _renew(site, marks, migrations)
    return migrations


def _restore(site: Site, marks: Marks, records: Sequence[Record], settings: Settings) -> list[Migration]:
    """Migrate the marked VMs back, and take off the marks of those that are back. Names and reports do not matter."""
    own = {mark.object_uuid: mark for mark in _find_own(site, marks, records, settings)}
    problems = marks.settle(own.values(), settings.timeout)
    vms = index(read_vms(site, list(own))) if own else {}
    site.ask(Wish({uuid: name_marked(mark, vms) for uuid, mark in own.items()}))
    known = Hosts(records)
    ended = {uuid: judge_marked(mark, vms.get(uuid), known, problems.get(uuid)) for uuid, mark in own.items()}
    judged = [each for each in ended.values() if each]
    due = [vms[uuid] for uuid, each in ended.items() if each is None]
    answers, local_storages = _ask(site, due)
    wanted = {uuid: mark.was for uuid, mark in own.items()}
    migrations = plan_migrations(due, records, answers, Limits(wanted=wanted), local_storages)
    _take_off(marks, [each for each in judged if each.outcome.error is None or each.from_uuid is None])
    refuse(migrations, settings)
    for each in migrations:
        each.mark = own[each.vm_uuid]
    _migrate(site, marks, [each for each in migrations if each.to_uuid], settings)
    if not site.check_mode:
        _prove_return(site, marks, [each for each in migrations if each.outcome.is_settled], known)
    return [*migrations, *judged]


def _find_own(site: Site, marks: Marks, records: Sequence[Record], settings: Settings) -> list[Mark]:
    """Return the marks with the label of the run, of VMs that ran on its hosts, if it has some.

    Warn if there are only marks with other labels, or of VMs that ran on other hosts.
    """
    hosts = find_hosts(records, settings.hosts, "host_evacuation_hosts") if settings.hosts else []
    found = marks.find()
    own = marks.list_own(found)
    marks.warn_of_others(found)
    chosen = [mark for mark in own if not hosts or mark.was in hosts]
    if left := len(own) - len(chosen):
        site.warn(f"{left} VMs with marks of the label {marks.label} are left: they ran on no host_evacuation_hosts")
    return chosen


def name_marked(mark: Mark, vms: Mapping[str, Record]) -> Record:
    """Return the members that name a marked VM in the report."""
    return {"vm": vms.get(mark.object_uuid, {}).get("name", REMOVED), "vm_uuid": mark.object_uuid}


def judge_marked(mark: Mark, vm: Record | None, hosts: Hosts, problem: str | None) -> Migration | None:
    """Return what became of a marked VM that is not to be migrated, None for one that is."""
    host = vm["host_uuid"] if vm else None
    name = vm["name"] if vm else REMOVED
    each = Migration(name, mark.object_uuid, hosts.get_name(host) if host else None, host, mark=mark)
    if problem is not None:
        each.outcome.fail(problem)
    elif vm is None or vm["state"] in GONE:
        each.from_uuid = None
        each.outcome.fail("it was destroyed meanwhile. Its mark was taken off")
    elif host != mark.was and (vm["state"] in IDLE or not host):
        each.outcome.skipped = f"it is {vm['state']}, so it is on no host. Its mark was taken off"
    elif host != mark.was:
        return None
    return each


def _unmark(site: Site, marks: Marks, records: Sequence[Record], settings: Settings) -> list[Migration]:
    """Take the marks of the label off, wherever the VMs are."""
    own = _find_own(site, marks, records, settings)
    vms = index(read_vms(site, [mark.object_uuid for mark in own])) if own else {}
    known = Hosts(records)
    migrations = []
    for mark in own:
        host = vms.get(mark.object_uuid, {}).get("host_uuid")
        name = name_marked(mark, vms)["vm"]
        outcome = Outcome(is_changed=True)
        migrations.append(
            Migration(name, mark.object_uuid, known.get_name(host) if host else None, host, mark=mark, outcome=outcome)
        )
    _take_off(marks, migrations)
    return migrations


def _list_marks(found: Iterable[Mark], vms: Iterable[Record]) -> list[Mark]:
    uuids = {vm["uuid"] for vm in vms}
    return [mark for mark in found if mark.object_uuid in uuids]


def choose_marks(found: Iterable[Mark], origins: Mapping[str, str]) -> dict[str, str]:
    """Return the host with which each VM is to be marked, by the uuids of the VMs. ``origins`` are where they are now.

    A VM that an earlier run has migrated to a host that is evacuated now keeps its mark, of whatever label: it returns
    to the first host. A mark with the host on which the VM is now is one of this run, or stale.
    """
    kept = {mark.object_uuid for mark in found if origins.get(mark.object_uuid) not in (None, mark.was)}
    return {vm: host for vm, host in origins.items() if vm not in kept}


def _mark(marks: Marks, found: Sequence[Mark], migrations: Sequence[Migration]) -> None:
    """Mark the VMs before the first of them migrates. A VM that cannot be marked has failed."""
    origins = {each.vm_uuid: str(each.from_uuid) for each in migrations}
    wanted = choose_marks(found, origins)
    marking = marks.set(wanted, found)
    kept = {mark.object_uuid: mark for mark in found if mark.object_uuid in origins.keys() - wanted.keys()}
    for each in migrations:
        each.mark = marking.marks.get(each.vm_uuid) or kept.get(each.vm_uuid)
        if each.vm_uuid in marking.problems:
            each.outcome.fail(f"it was not migrated, because it cannot be marked: {marking.problems[each.vm_uuid]}")


def _release(site: Site, marks: Marks, migrations: Iterable[Migration]) -> None:
    """Take the marks off VMs that have not left their hosts after all, unless a migration may be in flight."""
    failed = [each for each in migrations if each.mark and each.outcome.error is not None]
    # Without an answer the marks stay, which is the safe side.
    with suppress(VirtinfraError):
        problems = marks.settle([each.mark for each in failed if each.mark], 0)
        vms = index(read_vms(site, [each.vm_uuid for each in failed])) if failed else {}
        left = [
            each
            for each in failed
            if each.mark
            and each.vm_uuid not in problems
            and vms.get(each.vm_uuid, {}).get("host_uuid") == each.mark.was
        ]
        _take_off(marks, left)


def _renew(site: Site, marks: Marks, migrations: Iterable[Migration]) -> None:
    """Mark VMs again that have left their hosts, and whose marks another run has taken off. Fail those without one."""
    moved = {each.vm_uuid: each for each in migrations if each.mark and each.outcome.is_changed}
    own = [each.mark for each in moved.values() if each.mark]
    try:
        problems = marks.renew(own, lambda vm: vm["host_uuid"] != moved[vm["uuid"]].from_uuid)
    except VirtinfraError as failure:
        site.warn(f"It is not known whether all VMs that were migrated are still marked: {failure}")
        return
    for uuid, problem in problems.items():
        moved[uuid].outcome.fail(f"it was migrated, and another run has taken its mark off: {problem}")


def _prove_return(site: Site, marks: Marks, migrations: Sequence[Migration], hosts: Hosts) -> None:
    """Take the marks off VMs that are back, and fail the others."""
    if not migrations:
        return
    try:
        vms = index(read_vms(site, [each.vm_uuid for each in migrations]))
    except VirtinfraError as failure:
        for each in migrations:
            each.outcome.fail(f"It could not be read again. Its mark remains. {failure}")
        return
    for each in migrations:
        host = vms.get(each.vm_uuid, {}).get("host_uuid")
        if each.mark and host != each.mark.was:
            each.outcome.fail(
                f"It is on {hosts.get_name(str(host))}, and not back. Its mark remains. Run the role again."
            )
    _take_off(marks, [each for each in migrations if each.outcome.error is None])


def _take_off(marks: Marks, migrations: Iterable[Migration]) -> None:
    """Take the marks off VMs. A VM whose mark remains has failed, because a later run would migrate it."""
    by_vm = {each.vm_uuid: each for each in migrations if each.mark}
    for uuid, problem in marks.take_off([each.mark for each in by_vm.values() if each.mark]).items():
        by_vm[uuid].outcome.fail(f"its mark remains: {problem}")


def find_hosts(records: Sequence[Record], references: Sequence[str], variable: str) -> list[str]:
    """Return the uuids of hosts. Raise InvalidOptions for references in a variable that select none, or several."""
    selection = select(records, references)
    if problems := selection.find_problems("host", variable):
        addresses = [
            f" {host['management_ip']} is the address of {host['name']}."
            for host in records
            if host.get("management_ip") in selection.missing
        ]
        hints = f"{''.join(addresses)}{explain_missing(selection.missing)}"
        raise InvalidOptions(f"No VM was migrated: {'; '.join(problems)}.{hints}")
    return [host["uuid"] for host in selection.objects]


def _read_vms(site: Site, hosts: Sequence[str]) -> list[Record]:
    """Return the VMs of hosts."""
    vms: list[Record] = site.read("vm_info", query=[f"hostUuid?={','.join(hosts)}"])["vms"]
    return vms


def choose_vms(vms: Iterable[Record], hosts: Collection[str]) -> list[Record]:
    """Return the VMs to migrate: those on the hosts."""
    return [vm for vm in vms if vm["host_uuid"] in hosts and vm["state"] not in IDLE]


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

    def describe(self, hosts: Iterable[str]) -> tuple[str, list[str]]:
        """Return what the hosts are to which a VM could migrate if it were permitted, and those that are."""
        if self.wanted:
            return "other hosts than that on which it ran", list(hosts)
        outside = [host for host in hosts if host not in self.excluded and host not in self.allowed]
        return (OUTSIDE, outside) if outside else ("hosts that are evacuated, too", list(hosts))


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
            described, named = limits.describe(offered)
            each.obstacle = f"it can only migrate to {described}: {', '.join(sorted(map(known.get_name, named)))}"
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


def refuse(migrations: Sequence[Migration], settings: Settings, remedy: str = REMEDY) -> None:
    """Skip the VMs that cannot migrate. Raise VirtinfraError, which ends with the remedy, if that is not permitted."""
    stuck = [each for each in migrations if each.obstacle is not None]
    if stuck and settings.unmovable == "fail":
        reasons = "; ".join(f"{each.label}: {each.obstacle}" for each in stuck)
        raise VirtinfraError(
            f"No VM was migrated, because {len(stuck)} of {len(migrations)} VMs cannot migrate: {reasons}. {remedy}"
        )
    for each in stuck:
        each.outcome.skipped = each.obstacle


# ---------------------------------------------------------------------------------------------------------- migrations


def _migrate(site: Site, marks: Marks, migrations: Sequence[Migration], settings: Settings) -> None:
    """Migrate the VMs, with the job ids of their marks, by which the next run finds a migration in flight."""
    objects = [{"uuid": each.vm_uuid, "host": each.to_uuid} for each in migrations]
    jobs = marks.choose_jobs([each.mark for each in migrations if each.mark])
    results = site.batch("vm", objects, settings.concurrency, jobs, wait_timeout=settings.timeout)
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
