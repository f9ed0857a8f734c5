"""How the VMs of a backup are copied, by which mover and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._run.owner import has_ended, is_ending
from .._site.report import name_some
from .._site.site import Site

# The state of a VM that is copied through exports.
STOPPED = "Stopped"

AUTO, FULL, INCREMENTAL, COMPARED = "auto", "full", "incremental", "compared"

# For how many seconds a run on another machine may be silent until it counts as ended, if it does not say how long.
LONG_SILENCE = 900

# The types of volumes that a backup session contains.
COPIED_TYPES = ("Root", "Data")

# The statuses of CBT tasks that have a session, or may have left a part of one on the host.
OPEN, FAILED = ("Running", "Starting"), "Failed"

# What says where a volume is served.
SERVED = ("nbd_server", "nbd_port", "scratch_node_name")


@dataclass(frozen=True)
class Mover:
    """What a data mover returned about the repository, or why it cannot be used."""

    name: str
    points: Sequence[Record] = ()
    checkpoints: Sequence[Record] = ()
    others: Sequence[Record] = ()
    problem: str | None = None

    @classmethod
    def from_result(cls, name: str, taken: Record, min_free_percent: int) -> Mover:
        """Return the mover of its result of backup_run, which lists the points, with what a plan needs of them.

        A mover has a problem if less than this part of the repository's file system is free.
        """
        others = taken.get("others") or ()
        if reason := find_reason(taken):
            return cls(name, others=others, problem=f"The data mover {name} cannot be used: {reason}.")
        listed = taken["listed"]
        free, total = int(listed["space"]["free_bytes"]), int(listed["space"]["total_bytes"])
        problem = None
        if free < total * min_free_percent // 100:
            problem = (
                f"The repository on the data mover {name} has too little space: {free} of {total} bytes are free, and"
                f" vm_backup_min_free_percent is {min_free_percent}. Delete points, or use another repository."
            )
        needed = ("vm_uuid", "point", "mode")
        points = [
            {member: point[member] for member in needed}
            for point in listed["points"]
            if point["whole"] and not point.get("future")
        ]
        return cls(name, points, listed["checkpoints"], others, problem)

    def list_whole(self, vm_uuid: str) -> list[Record]:
        """Return the points of a VM that can be restored, oldest first. Points of the future do not count."""
        return [point for point in self.points if point["vm_uuid"] == vm_uuid]

    def choose_checkpoint(self, vm_uuid: str) -> str | None:
        """Return the checkpoint from which the next increment of a VM counts: that of most recent copies."""
        known = [each for each in self.checkpoints if each["vm_uuid"] == vm_uuid and each["checkpoint"]]
        newest = max(known, key=lambda each: str(each["point"]), default=None)
        return str(newest["checkpoint"]) if newest else None


@dataclass
class VmCopy:
    """The copy of a VM: how it is planned, its session, and its result. A ``problem`` is why there will be no copy."""

    vm: Record
    choice: Choice
    checkpoint: str | None = None
    task_uuid: str | None = None
    started: float = 0.0
    opened: float = 0.0
    volumes: list[Record] = field(default_factory=list)
    scratch_volumes: list[str] = field(default_factory=list)
    job: str | None = None
    result: Record | None = None
    problem: str | None = None
    # Whether the VM, which is off, is marked for exports, and whether the service may have exported its volumes.
    is_marked: bool = False
    is_exported: bool = False
    # Whether vm_backup_after is due, because vm_backup_before was called, and how it has failed.
    is_hooked: bool = False
    after_problem: str | None = None
    # When the data mover has said for the last time how far the copy is, at first when the copy was started.
    known: float = 0.0

    @property
    def uuid(self) -> str:
        """The uuid of the VM."""
        return str(self.vm["uuid"])

    @property
    def is_off(self) -> bool:
        """Whether the VM is copied through exports, which have no bitmap, in place of a session."""
        return bool(self.vm["state"] == STOPPED)

    @property
    def mode(self) -> str:
        """How the VM is copied."""
        return COMPARED if self.is_off and self.choice.mode == AUTO else self.choice.mode

    @property
    def outcome(self) -> str:
        """The outcome that is expected."""
        return INCREMENTAL if self.mode == AUTO else self.mode

    def receive(self, reply: Any, addresses: Mapping[str, str], failure: str | None) -> None:
        """Note how the service serves the volumes of the VM, or why there will be no copy.

        The data mover fails for volumes that are missing among them.
        """
        infos = read_infos(reply)
        self.volumes = [replace_address(info, get_host(self.vm), addresses) for info in infos]
        self.problem = failure or (None if infos else "The service has returned no volumes to copy.")

    @classmethod
    def plan(cls, vm: Record, mover: Mover, full_every: int, compare_every: int) -> VmCopy:
        """Return how a mover copies a VM."""
        checkpoint = mover.choose_checkpoint(vm["uuid"])
        choice = choose_mode(mover.list_whole(vm["uuid"]), checkpoint, full_every, compare_every)
        return cls(vm, choice, checkpoint if choice.mode == AUTO else None)


def find_reason(result: Record, unreachable: str = "it is unreachable") -> str | None:
    """Return why a task on a data mover has failed, without a full stop, None if it has not."""
    if not (result.get("failed") or result.get("unreachable")):
        return None
    # A module that did not begin has no message of its own, only what its Python has written.
    errors = str(result.get("module_stderr") or result.get("module_stdout") or "").strip()
    line = -1 if "Traceback" in errors else 0
    reason = f"its Python has failed: {errors.splitlines()[line]}" if errors else str(result.get("msg") or "")
    # Core puts this before the messages of tasks of a role.
    reason = reason.removeprefix("Task failed: ").removeprefix("Module failed: ").removeprefix("Action failed: ")
    return (reason or unreachable).rstrip(".")


def check_folder(path: str, variable: str) -> None:
    """Raise InvalidOptions for a folder whose path depends on where a task of the data mover runs."""
    if not path.startswith(("/", "~", "$")):
        raise InvalidOptions(f"{variable} must be an absolute path on the data mover, not {path}")


def require_vms(site: Site, vms: Sequence[Record], query: Sequence[str], prefix: str, fails: bool) -> None:
    """Warn if no VM meets the query of a page, in the variable with a prefix.

    Raise InvalidOptions if the role shall fail for VMs without a point: it would not.
    """
    if vms:
        return
    problem = f"No VM meets {prefix}_query ({', '.join(query)}), so"
    if fails:
        raise InvalidOptions(f"{problem} {prefix}_fail would check none. Correct it.")
    site.warn(f"{problem} the page shows no VM that is to be protected. Check whether a condition is misspelt")


def list_ended(taking: Record) -> list[str]:
    """Return the other runs in a result of backup_run that have ended, or of which nothing was heard for long."""
    return [str(other["run"]) for other in taking.get("others") or () if _is_over(other)]


def _is_over(other: Record) -> bool:
    owner = other["owner"]
    is_gone = has_ended(owner)
    if is_gone is None:
        return bool(other["silent_seconds"] > _get_patience(owner))
    return is_gone and not is_ending(owner)


def _get_patience(owner: Record) -> int:
    return int(owner.get("patience", LONG_SILENCE))


def find_other_run(others: Iterable[Record], vm_uuid: str) -> str | None:
    """Return that another run has a VM, None if none has."""
    for other in others:
        if vm_uuid in other["vm_uuids"]:
            owner = other["owner"]
            return (
                f"Another run copies or restores the VM: process {owner.get('process')} on {owner.get('host')}, which"
                f" was heard of {other['silent_seconds']} s ago. Wait until it has ended. If it was killed, it counts"
                f" as ended after {_get_patience(owner)} s, or when backup_run gets its uuid,"
                f" {other['run']}, in ended."
            )
    return None


@dataclass(frozen=True)
class Choice:
    """How a VM is copied, and why."""

    mode: str
    why: str


def choose_mode(points: Sequence[Record], checkpoint: str | None, full_every: int, compare_every: int) -> Choice:
    """Return how the next point of a VM is made. ``points`` are its whole points, oldest first.

    ``checkpoint`` is that from which an increment counts. Each ``full_every``-th point is full, and each
    ``compare_every``-th is at least compared; 0 is never.
    """
    if not points:
        return Choice(FULL, "the repository has no whole point of the VM")
    if is_due(points, (FULL,), full_every):
        return Choice(
            FULL, f"each {full_every}th point begins a new chain" if full_every > 1 else "all points are full"
        )
    if is_due(points, (FULL, COMPARED), compare_every):
        every = f"each {compare_every}th point is" if compare_every > 1 else "all points are"
        return Choice(COMPARED, f"{every} made by comparison")
    if checkpoint is None:
        return Choice(COMPARED, "the newest point has no checkpoint from which an increment can count")
    return Choice(AUTO, f"the newest point is {points[-1]['point']}")


def is_due(points: Sequence[Record], modes: Sequence[str], every: int) -> bool:
    """Return whether the next point is the one of these modes, of which each ``every``-th is."""
    since = next((number for number, point in enumerate(reversed(points)) if point["mode"] in modes), len(points))
    return every > 0 and since + 1 >= every


def assign_movers(vms: Sequence[Record], movers: Sequence[Mover]) -> dict[str, Mover]:
    """Return the mover of each VM, by its uuid: the one that has its newest point.

    If several have it, or none, it is the mover of the other VMs on its host, so that ``vm_backup_per_host`` holds, or
    else the one with the least to do. ``movers`` are those that can be used; there must be one.
    """
    load: Counter[str] = Counter()
    assigned, of_host, free = dict[str, Mover](), dict[Any, Mover](), list[tuple[Record, list[Mover]]]()
    for vm in vms:
        newest = [max((each["point"] for each in mover.list_whole(vm["uuid"])), default="") for mover in movers]
        able = [mover for mover, point in zip(movers, newest, strict=True) if point == max(newest)]
        if len(able) > 1:
            free.append((vm, able))
            continue
        assigned[vm["uuid"]] = able[0]
        load[able[0].name] += sum_sizes(vm)
        of_host.setdefault(vm.get("host_uuid"), able[0])
    for vm, able in free:
        host = vm.get("host_uuid")
        known = of_host.get(host) if host else None
        chosen = known if known in able else min(able, key=lambda mover: load[mover.name])
        load[chosen.name] += sum_sizes(vm)
        of_host.setdefault(host, chosen)
        assigned[vm["uuid"]] = chosen
    return assigned


def choose_share(vms: Sequence[Record], movers: Sequence[Mover], name: str) -> list[Record]:
    """Return the VMs that a mover copies, smallest first.

    If none can be used, the first one says so, and ends what earlier runs have left.
    """
    usable = [mover for mover in movers if mover.problem is None] or movers[:1]
    assigned = assign_movers(vms, usable) if usable else {}
    return sorted((vm for vm in vms if usable and assigned[vm["uuid"]].name == name), key=sum_sizes)


def list_copied(vm: Record) -> list[Record]:
    """Return the volumes of a VM that a session contains."""
    return [
        volume
        for volume in vm.get("all_volumes") or ()
        if volume.get("type") in COPIED_TYPES and volume.get("status") == "Ready" and not volume.get("is_shareable")
    ]


def is_excluded(volume: Record, patterns: Iterable[str]) -> bool:
    """Return whether the name or the uuid of a volume matches one of these patterns."""
    known = [str(volume[member]) for member in ("uuid", "name") if volume.get(member)]
    return any(fnmatchcase(each, pattern) for pattern in patterns for each in known)


def list_useless(patterns: Iterable[str], vms: Iterable[Record]) -> list[str]:
    """Return the patterns that the name or the uuid of no volume of these VMs matches."""
    volumes = [volume for vm in vms for volume in vm.get("all_volumes") or ()]
    return [pattern for pattern in patterns if not any(is_excluded(volume, [pattern]) for volume in volumes)]


def sum_sizes(vm: Record) -> int:
    """Return how many bytes the volumes of a session have."""
    return sum(int(volume.get("size") or 0) for volume in list_copied(vm))


def get_host(vm: Record) -> Any:
    """Return the uuid of the host of a VM, of one that is off that of its last one."""
    return vm.get("host_uuid") or vm.get("last_host_uuid")


def choose_due(left: Iterable[VmCopy], are_open: Sequence[VmCopy], concurrency: int, per_host: int) -> list[VmCopy]:
    """Return the first VMs whose sessions may be open beside others.

    At most ``concurrency`` sessions are open, and ``per_host`` on one host.
    """
    hosts = Counter(get_host(copy.vm) for copy in are_open)
    due: list[VmCopy] = []
    for copy in left:
        host = get_host(copy.vm)
        if len(due) + len(are_open) < concurrency and hosts[host] < per_host:
            due.append(copy)
            hosts[host] += 1
    return due


@dataclass
class Space:
    """The free space of the primary storages, as scratch volumes take it. Storages that are not shown have enough."""

    storages: Mapping[str, Record]
    min_free_percent: int
    taken: Counter[str] = field(default_factory=Counter)

    def take(self, vm: Record) -> str | None:
        """Take the space of the scratch volumes of a VM, or return why there is too little."""
        needed: Counter[str] = Counter()
        for volume in list_copied(vm):
            needed[str(volume.get("primary_storage_uuid"))] += int(volume.get("size") or 0)
        for uuid, size in needed.items():
            storage = self.storages.get(uuid)
            if storage is None or storage.get("available_capacity") is None:
                continue
            reserved = int(storage.get("total_capacity") or 0) * self.min_free_percent // 100
            free = int(storage["available_capacity"]) - self.taken[uuid]
            if free - size < reserved:
                return (
                    f"The primary storage {storage.get('name')} has too little space for the scratch volumes: {free}"
                    f" bytes are free, {size} are needed, and vm_backup_min_free_percent keeps {reserved} free. No"
                    " session was opened, because writes of the guest fail when the storage is full. Free space on it."
                )
        self.taken.update(needed)
        return None


def replace_address(info: Record, host_uuid: str | None, addresses: Mapping[str, str]) -> Record:
    """Return an entry of a session with the other address of its host, which its address or its uuid selects."""
    other = addresses.get(str(info.get("nbd_server"))) or addresses.get(str(host_uuid))
    return {**info, "nbd_server": other} if other else info


def warn_of_addresses(site: Site, addresses: Mapping[str, str], variable: str) -> None:
    """Warn of keys of a variable with other addresses that neither the address nor the uuid of a host is."""
    if not addresses:
        return
    try:
        hosts = site.read("host_info")["hosts"]
    except VirtinfraError:
        # Some accounts see no hosts.
        return
    known = {str(host[member]) for host in hosts for member in ("uuid", "management_ip")}
    if unknown := [str(key) for key in addresses if str(key) not in known]:
        possible = name_some([f"{host['management_ip']} ({host['name']})" for host in hosts])
        site.warn(
            f"{variable}: no host has the management address or uuid {name_some(unknown)}. The hosts are {possible}"
        )


def read_infos(reply: Any) -> list[Record]:
    """Return how the volumes of a session, or exported ones, are served; none if an entry of the reply is unusable."""
    infos = reply if isinstance(reply, list) else []
    return infos if all(map(_is_usable, infos)) else []


def _is_usable(info: Any) -> bool:
    if not (isinstance(info, Mapping) and isinstance(info.get("volume"), Mapping)):
        return False
    return bool(get_volume_uuid(info) and all(info.get(name) for name in SERVED))


def get_volume_uuid(info: Mapping[str, Any]) -> str:
    """Return the uuid of the volume of a session or of an export."""
    return str(info["volume"].get("volume_uuid") or info["volume"].get("resource_uuid") or "")


def has_session(task: Record, is_running: bool) -> bool:
    """Return whether a CBT task has an open session, or has left a part of one."""
    return bool(task["status"] in OPEN or task.get("scratch_volumes") or (task["status"] == FAILED and is_running))
