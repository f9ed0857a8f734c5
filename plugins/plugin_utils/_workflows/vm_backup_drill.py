"""Prove restore points: make VMs of them without a network, start them, see them running, and remove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from posixpath import normpath
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.references import build_uuid
from .._site.marked_vms import read_vms
from .._site.report import Entry, Report, name_some
from .._site.settings import VmBackupDrillSettings
from .._site.site import GONE, Site, explain_missing
from .._site.wish import Wish, index
from .._vm_backups.plan import check_folder, find_other_run, warn_of_addresses
from .._vm_backups.report import Made
from .._vm_restores.exports import TargetExports
from .._vm_restores.run import RestoreRun, list_points
from .._vm_restores.vm_from_point import (
    DRILL,
    choose_cluster,
    describe_call,
    find_cluster,
    list_copies,
    make,
    match_volumes,
)

# The tasks of the role run for the data mover.
RUNS_ON_HOSTS = True

# What a point is proved to be: its files are sound, a VM of it has run, its guest has answered.
CHECKED, RAN, ANSWERED = "checked", "ran", "answered"

# Each drill takes it, so that one drill of a repository runs at a time, and marked VMs of other runs are left-overs.
LOCK = build_uuid("vm_backup_drill")

# The seconds between two looks at VMs that run.
PAUSE = 5.0


class Settings(VmBackupDrillSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        check_folder(self.repository, "vm_backup_drill_repository")
        if not 0 <= self.min_free_percent < 100:
            raise InvalidOptions(f"vm_backup_drill_min_free_percent must be from 0 to 99, not {self.min_free_percent}")

    @property
    def mark(self) -> str:
        """The description of the VMs of a drill of this repository. The workflow removes no others."""
        return f"{DRILL} It is made of a restore point in {normpath(self.repository)} on {self.mover}."


@dataclass
class PointDrill:
    """A point to prove, and what is proved of it. A ``problem`` is why it is not.

    ``uuid`` and ``call`` are those of the VM that is made; ``why`` is the reason why only the files are checked.
    """

    point: Record
    uuid: str = ""
    call: Record | None = None
    why: str | None = None
    problem: str | None = None
    level: str | None = None
    is_made: bool = False
    restore_seconds: int | None = None
    watched_seconds: int | None = None
    remains: str | None = None

    @classmethod
    def plan(cls, site: Site, point: Record, run: str, settings: Settings) -> PointDrill:
        """Return what is done with a point."""
        uuid = build_uuid(f"vm_backup_drill {run} {point['vm_uuid']}")
        try:
            list_copies(point)
            cluster = choose_cluster(site, point, settings.cluster, "vm_backup_drill_cluster")
        except VirtinfraError as failure:
            return cls(point, uuid, why=f"No VM can be made of it: {failure}.")
        name, mark = f"drill-{point['vm_name']}", settings.mark
        call = describe_call(point, name=name, description=mark, resourceUuid=uuid, clusterUuid=cluster)
        return cls(point, uuid, call)

    @property
    def sources(self) -> list[str]:
        """The volumes of the point."""
        return [str(copy["volume_uuid"]) for copy in self.point["volumes"]]

    @property
    def size(self) -> int:
        """The size of the volumes in bytes."""
        return sum(int(copy["size"]) for copy in self.point["volumes"])

    @property
    def is_due(self) -> bool:
        """Whether a VM is made of the point."""
        return self.call is not None and self.why is None and self.problem is None

    @property
    def runs(self) -> bool:
        """Whether its VM was started, and was not seen in another state since."""
        return self.level is not None and self.level != CHECKED and self.problem is None

    def build_proof(self, now: datetime) -> Record | None:
        """Return what is noted in the repository about the point, None if nothing is proved."""
        if self.problem:
            return None
        known = {"restore_seconds": self.restore_seconds, "watched_seconds": self.watched_seconds}
        proof = {name: value for name, value in known.items() if value is not None}
        return {**proof, "level": self.level, "time": now.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def build_entry(self) -> Entry:
        """Return the entry of the VM in the report."""
        error = " ".join(filter(None, (self.problem, self.remains))) or None
        proved = None if self.problem else self.level
        outcome = "failed" if error else str(proved)
        name, uuid = self.point["vm_name"], self.point["vm_uuid"]
        members = {
            "vm": name,
            "vm_uuid": uuid,
            "point": self.point["point"],
            "outcome": outcome,
            "proved": proved,
            "restore_seconds": self.restore_seconds,
            "watched_seconds": self.watched_seconds,
            "why": self.why,
            "error": error,
        }
        return Entry(Made(word=outcome, error=error), f"{name} ({uuid})", members, uuid)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Prove points, and return an entry for each VM. A failure stays with its VM.

    Raise VirtinfraError, with nothing changed, if another drill of the repository runs, or if there is no such cluster.
    """
    settings = Settings(**options)
    settings.check()
    if settings.cluster:
        find_cluster(site, settings.cluster, "vm_backup_drill_cluster")
    warn_of_addresses(site, settings.host_address, "vm_backup_drill_host_address")
    listed = list_points(site, "vm_backup_drill", settings.repository, settings.mover, records=True)
    chosen, drills = choose(listed["points"], settings)
    with RestoreRun(site, settings.repository, settings.mover, settings.rate_limit) as restore:
        due = [PointDrill.plan(site, point, restore.uuid, settings) for point in chosen]
        drills += due
        site.ask(Wish({each.point["vm_uuid"]: {"vm": each.point["vm_name"]} for each in drills}))
        _take(restore, due)
        for drill in due:
            _check(restore, drill)
        if not site.check_mode:
            drills += _Drilling(site, settings, restore, due).run()
            for drill in due:
                _note(restore, drill, site.get_date())
    _warn_of_files(site, due)
    is_predicted = site.check_mode and any(drill.problem is None for drill in due)
    return Report("VMs", [drill.build_entry() for drill in drills], has_changed=is_predicted)


def choose(points: Sequence[Record], settings: Settings) -> tuple[list[Record], list[PointDrill]]:
    """Return the newest whole point of each VM that is proved, longest unproved first, and what has failed already.

    A VM whose newest point has run already is not chosen. Raise InvalidOptions for VMs that have no points.
    """
    due, failed = list[Record](), list[PointDrill]()
    for of_vm in _list_wanted(points, settings):
        whole = [point for point in of_vm if point["whole"]]
        if not whole:
            problems = "; ".join(of_vm[-1]["problems"])
            failed.append(PointDrill(of_vm[-1], problem=f"It has no whole point: {problems}."))
        elif (whole[-1].get("proved") or {}).get("level") not in (RAN, ANSWERED):
            due.append(whole[-1])
    return due[: settings.count or None], failed


def _list_wanted(points: Sequence[Record], settings: Settings) -> list[list[Record]]:
    """Return the points of each VM that is meant, longest unproved first. Raise InvalidOptions."""
    by_vm: dict[str, list[Record]] = {}
    for point in points:
        if not point.get("future"):
            by_vm.setdefault(str(point["vm_uuid"]), []).append(point)
    names = {uuid: {uuid, *(each["vm_name"] for each in of_vm)} for uuid, of_vm in by_vm.items()}
    if unknown := [each for each in settings.vms if not any(each in known for known in names.values())]:
        raise InvalidOptions(
            f"the repository {settings.repository} has no points of the VMs {', '.join(unknown)}. Nothing was changed."
            f" Check vm_backup_drill_vms.{explain_missing(unknown)}"
        )
    wanted = [of_vm for uuid, of_vm in by_vm.items() if not settings.vms or not names[uuid].isdisjoint(settings.vms)]
    return sorted(wanted, key=lambda of_vm: (find_last_proof(of_vm), str(of_vm[-1]["vm_name"]), of_vm[-1]["vm_uuid"]))


def find_last_proof(points: Sequence[Record]) -> str:
    """Return when a point of a VM was proved last, in whatever way. Empty if none ever was."""
    return max((str(point["proved"]["time"]) for point in points if point.get("proved")), default="")


def _take(restore: RestoreRun, drills: Sequence[PointDrill]) -> None:
    """Take the VMs for this run. Raise VirtinfraError."""
    taken = restore.take_over([LOCK, *(each.point["vm_uuid"] for each in drills), *(each.uuid for each in drills)])
    if reason := restore.find_failure(taken):
        raise VirtinfraError(f"The VMs could not be taken for this run: {reason}. Nothing was changed.")
    if find_other_run(taken["others"], LOCK):
        raise VirtinfraError("Another drill of this repository runs. Wait until it has ended. Nothing was changed.")


def _check(restore: RestoreRun, drill: PointDrill) -> None:
    """Check the files of a point: what is proved at least, and in check mode what would be."""
    try:
        restore.check(drill.point, drill.sources)
        drill.level = RAN if drill.is_due else CHECKED
    except VirtinfraError as failure:
        drill.problem = str(failure)


def _warn_of_files(site: Site, drills: Sequence[PointDrill]) -> None:
    """Warn of the points that prove less than the user wants, with the reasons."""
    names: dict[str, list[str]] = {}
    for drill in drills:
        if drill.why and not drill.problem:
            names.setdefault(drill.why, []).append(drill.point["vm_name"])
    for why, vms in names.items():
        site.warn(
            f"Of these VMs, only the files of the points are checked, and no VM is started: {name_some(vms)}. {why}"
        )


class _Drilling:
    """The VMs that are made of points. All are removed in any case."""

    def __init__(self, site: Site, settings: Settings, restore: RestoreRun, drills: Sequence[PointDrill]) -> None:
        self._site, self._settings, self._restore, self._drills = site, settings, restore, drills

    def run(self) -> list[PointDrill]:
        """Make, write and start the VMs, see them running, and return what of earlier runs remains."""
        for drill in self._drills:
            drill.level = CHECKED
        try:
            with self._site.outlive_run():
                remove(self._site, find_remains(self._site, self._settings), self._settings)
                free = self._read_room()
                for drill in self._drills:
                    self._take_room(free, drill)
                    if drill.is_due:
                        self._write(drill)
                for drill in self._drills:
                    if drill.is_due:
                        self._start(drill)
                self._watch()
        finally:
            left = self._clean()
        return left

    def _read_room(self) -> list[int] | str:
        """Return how many bytes each primary storage can spare, or why this is not known."""
        try:
            storages = self._site.read("primary_storage_info")["primary_storages"]
        except VirtinfraError as failure:
            return f"It is not known whether the primary storages have room: {failure}."
        percent = self._settings.min_free_percent
        return [spare for storage in storages if (spare := measure_spare(storage, percent)) > 0]

    def _take_room(self, free: list[int] | str, drill: PointDrill) -> None:
        """Take the room of a VM, or note why there is none."""
        if not drill.is_due:
            return
        if isinstance(free, str):
            drill.why = free
        elif not take_room(free, drill.size):
            drill.why = f"No primary storage has room for a VM of {drill.size} bytes."

    def _write(self, drill: PointDrill) -> None:
        """Make the VM of a point, and write its volumes."""
        site, settings, began = self._site, self._settings, self._site.get_time()
        exports = None
        try:
            vm = make(site, drill.call or {}, settings.timeout)
            drill.is_made = True
            targets = [{"source": source, "uuid": uuid} for source, uuid in match_volumes(drill.point, vm).items()]
            exports = TargetExports(site, vm, targets, settings.timeout, settings.host_address)
            result = self._restore.write(drill.point, exports.open(), only_different=False, remember=False)
            drill.problem = self._find_unwritten(drill, result)
        except VirtinfraError as failure:
            drill.problem = str(failure)
        if exports and (remains := exports.end()):
            drill.problem = drill.problem or remains
        drill.restore_seconds = round(site.get_time() - began)

    def _find_unwritten(self, drill: PointDrill, result: Record) -> str | None:
        if reason := self._restore.find_failure(result):
            return f"The volumes could not be written: {reason}."
        if not all(row["verified"] for row in result["volumes"]) or len(result["volumes"]) != len(drill.sources):
            return "The data mover has not said that it has written all volumes."
        return None

    def _start(self, drill: PointDrill) -> None:
        """Start the VM of a point, whose volumes are written."""
        began = self._site.get_time()
        vm, common = {"uuid": drill.uuid}, {"state": "running", "wait_timeout": self._settings.timeout}
        result = self._site.change("vm", vm, **common)
        if result["failed"]:
            drill.problem = f"The VM could not be started: {str(result['msg']).rstrip('.')}."
        else:
            drill.restore_seconds = (drill.restore_seconds or 0) + round(self._site.get_time() - began)
            drill.level = RAN

    def _watch(self) -> None:
        """Look at the VMs that were started until the end of the time, and note those that do not run any more."""
        site, seconds, began = self._site, self._settings.watch, self._site.get_time()
        started = [drill for drill in self._drills if drill.runs]
        while True:
            seen = site.get_time() - began
            self._note_stopped([drill for drill in started if drill.runs], round(seen))
            if seen >= seconds or not any(drill.runs for drill in started):
                break
            count = sum(drill.runs for drill in started)
            site.show(f"VMs that run: {count} of {len(started)}, for {round(seen)} of {seconds} s")
            site.pause(min(PAUSE, seconds - seen))
            self._restore.beat_if_due()
        for drill in started:
            drill.watched_seconds = seconds
            if drill.runs and self._has_answered(drill):
                drill.level = ANSWERED

    def _note_stopped(self, drills: Sequence[PointDrill], seconds: int) -> None:
        """Note which VMs are not seen running, ``seconds`` after they were started."""
        try:
            vms = index(read_vms(self._site, [drill.uuid for drill in drills])) if drills else {}
        except VirtinfraError as failure:
            for drill in drills:
                drill.problem = f"It is not known whether the VM runs: {failure}."
            return
        for drill in drills:
            state = vms[drill.uuid]["state"] if drill.uuid in vms else "gone"
            if state != "Running":
                drill.problem = f"The VM was {state} {seconds} s after it was started."

    def _has_answered(self, drill: PointDrill) -> bool:
        """Return whether the guest of a VM answers. Some guests have no tools, and some services do not know them."""
        try:
            reply = self._site.read("api", operation="GetVmGuestToolsInfo", params={"uuid": drill.uuid})["reply"]
        except VirtinfraError:
            return False
        return has_answered(reply)

    def _clean(self) -> list[PointDrill]:
        """Remove all VMs of drills of the repository. Note which remain, and return those of earlier runs."""
        site, own = self._site, {drill.uuid: drill for drill in self._drills}
        try:
            problems = remove(site, find_remains(site, self._settings), self._settings)
        except VirtinfraError as failure:
            unknown = f"It is not known whether its VM remains, which the next run removes: {failure}."
            problems = {drill.uuid: unknown for drill in self._drills if drill.is_made}
        for uuid, drill in own.items():
            drill.remains = problems.get(uuid)
        return [
            PointDrill({"vm_name": "drill", "vm_uuid": uuid, "point": None}, problem=problem)
            for uuid, problem in problems.items()
            if uuid not in own
        ]


def find_remains(site: Site, settings: Settings) -> list[Record]:
    """Return the VMs of earlier drills of this repository. Raise VirtinfraError if they cannot be read."""
    vms = site.read("vm_info")["vms"]
    return [vm for vm in vms if vm.get("description") == settings.mark and vm["state"] != "Expunging"]


def remove(site: Site, vms: Sequence[Record], settings: Settings) -> dict[str, str]:
    """Remove VMs of drills with their volumes, and return why some remain, by their uuids."""
    present = [vm for vm in vms if vm["state"] not in GONE]
    exports = [
        {"vm": vm["uuid"], "volumes": [volume["uuid"] for volume in vm["all_volumes"]]}
        for vm in present
        if vm["all_volumes"]
    ]
    # A run that was killed may have left such VMs. If one remains, the removal says what it means.
    site.batch("cbt_volume_export", exports, 1, state="absent", wait_timeout=settings.timeout)
    # The module compares the description: a VM that somebody keeps, and describes in another way, stays.
    objects = [{"uuid": vm["uuid"], "description": settings.mark} for vm in vms]
    common = {"state": "absent", "data_volumes": "delete", "expunge": True, "wait_timeout": settings.timeout}
    results = site.batch("vm", objects, 1, **common)
    return {
        str(vm["uuid"]): f"The VM {vm['name']} ({vm['uuid']}) of the drill remains: {str(result['msg']).rstrip('.')}."
        for vm, result in zip(vms, results, strict=True)
        if result["failed"]
    }


def measure_spare(storage: Record, min_free_percent: int) -> int:
    """Return how many bytes a primary storage can spare for volumes, 0 if it cannot be used."""
    if storage.get("state") != "Enabled" or storage.get("status") != "Connected":
        return 0
    spare = []
    for total, available in (
        ("total_capacity", "available_capacity"),
        ("total_physical_capacity", "available_physical_capacity"),
    ):
        if storage.get(available) is not None:
            spare.append(int(storage[available]) - int(storage.get(total) or 0) * min_free_percent // 100)
    return max(0, min(spare, default=0))


def take_room(free: list[int], size: int) -> bool:
    """Take room for the volumes of a VM on the storage with the most, and return whether there is enough."""
    largest = max(range(len(free)), key=free.__getitem__, default=None)
    if largest is None or free[largest] < size:
        return False
    free[largest] -= size
    return True


def has_answered(reply: Any) -> bool:
    """Return whether guest tools have answered, as the service says it."""
    return isinstance(reply, Mapping) and str(reply.get("status")).lower() in ("connected", "running")


def _note(restore: RestoreRun, drill: PointDrill, now: datetime) -> None:
    """Note in the repository what is proved of a point. A proof that could not be noted is none."""
    proof = drill.build_proof(now)
    if proof and (reason := restore.note_proof(drill.point, proof)):
        drill.problem = f"It is {drill.level}, but that could not be noted: {reason}."
