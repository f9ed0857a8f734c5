"""Export the volumes of a stopped VM, so that a data mover writes a restore point into them, and end the exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from ...module_utils._api.error_code import list_error_codes
from ...module_utils._api.errors import InvalidOptions, Unchangeable, VirtinfraError
from ...module_utils._api.operations import get_operation
from ...module_utils._api.records import Record
from .._run.owner import describe_owner
from .backup_plan import SILENCE, find_other_run, get_volume_uuid, has_session, list_ended, read_infos, replace_address
from .backup_report import Made
from .report import Entry, Report
from .site import Site
from .wish import Wish

# The description of the snapshot groups that the workflow takes.
MARK = "Taken by the role virtinfra.manager.vm_backup_restore, before a restore."

NOTHING = "Nothing was changed."

# What became of a volume if the data mover has not said it.
UNKNOWN = "unknown"

HOW_TO_END = "end them with the module cbt_volume_export and state: absent"


@dataclass(frozen=True)
class Settings:
    """The variables of the role."""

    vm: str
    point: str | None
    volumes: list[str]
    repository: str
    mover: str
    confirm: str | None
    stop: bool
    start: bool
    snapshot_first: bool
    only_different: bool
    map: Mapping[str, str]
    to_directory: str | None
    allow_larger: bool
    host_address: Mapping[str, str]
    rate_limit: int
    timeout: int

    def check(self) -> None:
        """Raise InvalidOptions for variables that do not fit."""
        if self.to_directory and (self.volumes or self.map or self.start or self.stop):
            raise InvalidOptions(
                "vm_backup_restore_to_directory writes all volumes of the point into files, and does not touch the VM."
                " Omit vm_backup_restore_volumes, vm_backup_restore_map, vm_backup_restore_stop and"
                " vm_backup_restore_start"
            )
        if self.rate_limit < 0:
            raise InvalidOptions(f"vm_backup_restore_rate_limit must be at least 0, not {self.rate_limit}")


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the mover to ask for points, and the VM whose points it lists: all, if the VM was made of another one."""
    settings = Settings(**options)
    settings.check()
    vm = None if settings.to_directory else _find_vm(site, settings.vm)
    uuids = [vm["uuid"]] if vm and not settings.map else None
    return Report("volumes", next={"vm_uuids": uuids, "mover": settings.mover, "repository": settings.repository})


def _find_vm(site: Site, reference: str) -> Record:
    """Return the VM with a uuid or a name. Raise InvalidOptions if there is none, or several."""
    selection = site.select_vms([], [reference])
    if len(selection.objects) != 1:
        problem = "several VMs have" if selection.objects else "no VM has"
        raise InvalidOptions(
            f"{problem} the name or uuid {reference}. {NOTHING} Check vm_backup_restore_vm, or give a uuid"
        )
    return selection.objects[0]


def plan(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Return what would be overwritten. Raise InvalidOptions if anything speaks against it."""
    settings, listed = Settings(**options), given["listed"]
    vm = None if settings.to_directory else _find_vm(site, settings.vm)
    point = choose_point(listed["points"], vm, settings)
    if vm is None:
        lines = [f"All volumes of the point {point['point']} are written into files in {settings.to_directory}."]
        files = {"vm": None, "point": point, "targets": [], "lines": lines, "runs": [], "has_leftover": False}
        return Report("volumes", next=files)
    ended = list_ended({"others": listed["runs"]})
    refuse_busy(vm, site.read("cbt_task_info")["cbt_tasks"], listed, ended, settings)
    targets = choose_targets(point, vm, settings)
    # The point may be that of another VM, whose folder says how far the restore is.
    vms = list(dict.fromkeys((point["vm_uuid"], vm["uuid"])))
    run = {"run": str(uuid4()), "owner": describe_owner(settings.timeout + SILENCE), "vm_uuids": vms, "ended": ended}
    # The exports of a run that was killed remain.
    has_leftover = any(each["run"] in ended and vm["uuid"] in each["vm_uuids"] for each in listed["runs"])
    planned = {"vm": vm, "point": point, "targets": targets, "runs": [run], "has_leftover": has_leftover}
    return Report("volumes", next={**planned, "lines": describe(vm, point, targets)})


def choose_point(points: Sequence[Record], vm: Record | None, settings: Settings) -> Record:
    """Return the point to restore, by default the newest. Raise InvalidOptions if there is none, or it is not whole."""
    if settings.map:
        found = [point for point in points if settings.map.keys() <= {each["volume_uuid"] for each in point["volumes"]}]
    elif vm:
        found = [point for point in points if point["vm_uuid"] == vm["uuid"]]
    else:
        found = [point for point in points if settings.vm in (point["vm_uuid"], point["vm_name"])]
    if settings.point:
        found = [point for point in found if point["point"] == settings.point]
    sources = sorted({point["vm_uuid"] for point in found})
    if len(sources) > 1:
        raise InvalidOptions(f"several VMs have such points: {', '.join(sources)}. {NOTHING} Give a uuid")
    if not found:
        wanted = f"the point {settings.point}" if settings.point else "a point"
        raise InvalidOptions(
            f"the repository {settings.repository} does not have {wanted} of the VM {settings.vm}. {NOTHING}"
        )
    newest = max(found, key=lambda point: str(point["point"]))
    if not newest["whole"]:
        problems = "; ".join(newest["problems"])
        raise InvalidOptions(f"the point {newest['point']} is not whole: {problems}. {NOTHING} Choose another point")
    return newest


def refuse_busy(vm: Record, tasks: Sequence[Record], listed: Record, ended: Sequence[str], settings: Settings) -> None:
    """Raise InvalidOptions if the VM runs, or something reads or writes its volumes. Runs that have ended do not."""
    accepted = ("Stopped", "Running") if settings.stop else ("Stopped",)
    if vm["state"] not in accepted:
        hint = "" if settings.stop else " Stop it, or set vm_backup_restore_stop"
        raise InvalidOptions(f"a restore needs a stopped VM, and {vm['name']} is {vm['state']}. {NOTHING}{hint}")
    for task in tasks:
        if vm["uuid"] in (task["resource_uuids"] or ()) and has_session(task, is_running=False):
            raise InvalidOptions(
                f"a backup session of {vm['name']} is open: the CBT task {task['name']}. {NOTHING} End this session"
            )
    if other := find_other_run([run for run in listed["runs"] if run["run"] not in ended], str(vm["uuid"])):
        raise InvalidOptions(f"{other} {NOTHING}")
    for each in listed["running"]:
        if each["vm_uuid"] == vm["uuid"]:
            raise InvalidOptions(
                f"another task copies or restores {vm['name']}: the point {each['point']}. {NOTHING} Wait"
                " until it has ended; without its controller, it ends within two minutes"
            )


def choose_targets(point: Record, vm: Record, settings: Settings) -> list[Record]:
    """Return the volumes to overwrite, each attached to the VM and as large as its copy. Raise InvalidOptions."""
    copies = {volume["volume_uuid"]: volume for volume in point["volumes"]}
    attached = {volume["uuid"]: volume for volume in vm["all_volumes"] or ()}
    if unknown := [uuid for uuid in (*settings.volumes, *settings.map) if uuid not in copies]:
        raise InvalidOptions(f"the point {point['point']} has no volumes {', '.join(unknown)}. {NOTHING}")
    targets = []
    for source in dict.fromkeys(settings.volumes or copies):
        uuid = settings.map.get(source, source)
        if uuid not in attached:
            raise InvalidOptions(
                f"the volume {uuid} is not attached to {vm['name']}, and volumes of other VMs stay. {NOTHING}"
                " Choose others with vm_backup_restore_volumes, or use vm_backup_restore_map"
            )
        target, size = attached[uuid], copies[source]["size"]
        if target["size"] < size or (target["size"] > size and not settings.allow_larger):
            raise InvalidOptions(
                f"the volume {target['name']} ({uuid}) has {target['size']} bytes, and its copy {size}. {NOTHING} A"
                " volume that is larger is accepted with vm_backup_restore_allow_larger"
            )
        targets.append({"source": source, "uuid": uuid, "name": target["name"], "size": target["size"]})
    if len({target["uuid"] for target in targets}) < len(targets):
        raise InvalidOptions(f"vm_backup_restore_map has several copies for one volume. {NOTHING}")
    return targets


def describe(vm: Record, point: Record, targets: Sequence[Record]) -> list[str]:
    """Return lines that say what is overwritten, and which volumes of the VM are not."""
    lines = [f"The point {point['point']} of {point['vm_name']} overwrites these volumes of {vm['name']}:"]
    lines += [f"- {target['name']} ({target['uuid']}), {target['size']} bytes" for target in targets]
    overwritten = {target["uuid"] for target in targets}
    others = [volume for volume in vm["all_volumes"] or () if volume["uuid"] not in overwritten]
    return lines + [f"- not {volume['name']} ({volume['uuid']}), which stays as it is" for volume in others]


def confirm(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Raise InvalidOptions unless the user has confirmed what is overwritten."""
    settings, vm = Settings(**options), given["plan"]["vm"]
    if vm and not site.check_mode and settings.confirm != vm["name"]:
        raise InvalidOptions(
            f"vm_backup_restore_confirm must be the name of the VM, {vm['name']}, because the volumes that were listed"
            f" are overwritten. {NOTHING}"
        )
    return Report("volumes")


def begin(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Stop the VM if asked, take a snapshot group, and export the volumes; return what was done if that fails.

    Raise VirtinfraError if nothing was done, because another run has the VM.
    """
    settings, planned = Settings(**options), given["plan"]
    vm, point = planned["vm"], planned["point"]
    if problem := find_other_work(planned["runs"], given["taken"]):
        raise VirtinfraError(f"{problem} {NOTHING}")
    common = {"repository": settings.repository, "vm_uuid": point["vm_uuid"], "point": point["point"]}
    common |= {name: getattr(settings, name) for name in ("only_different", "allow_larger", "rate_limit")}
    if vm is None:
        work = {**common, "volumes": None, "directory": settings.to_directory, "run": None}
        return Report("volumes", next={"work": [work], "snapshot_group": None})
    if site.check_mode:
        return Report("volumes", next={"work": [], "snapshot_group": None}, has_changed=True)
    begun = _Begun()
    try:
        infos = _prepare(site, planned, settings, begun)
    except VirtinfraError as failure:
        # The last step needs to know what was done until then.
        return Report("volumes", next={"work": [], **asdict(begun), "problem": str(failure)})
    work = {**common, "volumes": infos, "directory": None, "run": planned["runs"][0]["run"]}
    return Report("volumes", next={"work": [work], **asdict(begun)}, has_changed=True)


@dataclass
class _Begun:
    """What was done before the volumes are written: this snapshot group taken, the volumes exported.

    ``is_off`` says whether the VM is known to be stopped.
    """

    is_off: bool = False
    snapshot_group: str | None = None
    exported: bool = False


def _prepare(site: Site, planned: Record, settings: Settings, begun: _Begun) -> list[Record]:
    """Prepare the VM, note it in ``begun``, and return the exports of its volumes. Raise VirtinfraError."""
    vm, targets = planned["vm"], planned["targets"]
    if vm["state"] != "Stopped":
        stopping = {"state": "stopped", "wait_timeout": settings.timeout}
        _do(site, "The VM could not be stopped", "vm", {"uuid": vm["uuid"]}, **stopping)
        begun.is_off = True
    current = site.select_vms([], [vm["uuid"]]).objects
    begun.is_off = [each["state"] for each in current] == ["Stopped"]
    _require_unchanged(vm, current, targets)
    if settings.snapshot_first:
        begun.snapshot_group = _take_snapshots(site, vm, settings)
    if planned["has_leftover"]:
        # Exports of a run that was killed would prevent those of this one.
        _end_exports(site, planned)
    exported = site.change("cbt_volume_export", _describe_exports(planned), wait_timeout=settings.timeout)
    begun.exported = not is_refused(exported)
    if exported["failed"]:
        hint = "" if begun.exported else f". If they are exported already, and nobody uses the exports, {HOW_TO_END}"
        raise VirtinfraError(f"The volumes could not be exported: {str(exported['msg']).rstrip('.')}{hint}.")
    host = vm.get("host_uuid") or vm.get("last_host_uuid")
    infos = match_exports(read_infos(exported.get("volume_infos")), targets)
    return [replace_address(info, host, settings.host_address) for info in infos]


def find_other_work(runs: Sequence[Record], results: Sequence[Record]) -> str | None:
    """Return why the VM is not that of this run, None if it is. ``results`` are those of backup_run for ``runs``."""
    for run, result in zip(runs, results, strict=True):
        if problem := find_failure(result):
            return f"The VM could not be taken for this run: {problem.rstrip('.')}."
        others = (find_other_run(result["others"], uuid) for uuid in run["vm_uuids"])
        if other := next(filter(None, others), None):
            return other
    return None


def _do(site: Site, failure: str, module: str, target: Record, **options: Any) -> Record:
    """Run a module for one object, and return its result. Raise VirtinfraError, which begins with ``failure``."""
    result = site.change(module, target, **options)
    if result["failed"]:
        raise VirtinfraError(f"{failure}: {result['msg']}")
    return result


def _end_exports(site: Site, planned: Record) -> Record:
    """End the exports of the volumes to overwrite, and return the result of the module."""
    return site.change("cbt_volume_export", _describe_exports(planned), state="absent")


def _describe_exports(planned: Record) -> Record:
    return {"vm": planned["vm"]["uuid"], "volumes": [target["uuid"] for target in planned["targets"]]}


def is_refused(exported: Record) -> bool:
    """Return whether the service refused to export the volumes: exports that exist are not those of this run.

    Where the service ignores job ids, they may be its own, if a proxy delivered the call twice. These stay, too.
    """
    if not exported["failed"]:
        return False
    refusals = (Unchangeable.code, *get_operation("ExportNbdVolumes").duplicate_codes)
    return any(code in refusals for code in list_error_codes(exported["error"]))


def _require_unchanged(vm: Record, current: Sequence[Record], targets: Sequence[Record]) -> None:
    """Raise VirtinfraError unless the VM is stopped, and has the volumes to overwrite. ``current`` has it, if any."""
    attached = {volume["uuid"] for each in current for volume in each["all_volumes"] or ()}
    state = current[0]["state"] if current else "gone"
    if state != "Stopped" or not attached.issuperset(target["uuid"] for target in targets):
        raise VirtinfraError(f"{vm['name']} has changed meanwhile: it is {state}. No volume was overwritten.")


def _take_snapshots(site: Site, vm: Record, settings: Settings) -> str:
    """Take a snapshot group of the VM, and return its name."""
    name = f"before-restore-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    group = {"vm": vm["uuid"], "name": name, "description": MARK}
    failure = f"The snapshot group {name} could not be taken"
    taken = _do(site, failure, "vm_snapshot_group", group, wait_timeout=settings.timeout)
    if not taken.get("snapshot_group"):
        raise VirtinfraError(f"{failure}: the service does not list it")
    return name


def match_exports(infos: Sequence[Record], targets: Sequence[Record]) -> list[Record]:
    """Return the exports, each with the copy that its volume gets. Raise VirtinfraError unless each volume has one."""
    by_uuid = {get_volume_uuid(info): info for info in infos}
    if by_uuid.keys() != {target["uuid"] for target in targets}:
        raise VirtinfraError(
            "The service has not exported the volumes that it was asked for. No volume was overwritten."
        )
    return [{**by_uuid[target["uuid"]], "source": target["source"]} for target in targets]


def end(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """End the exports, start the VM if asked and all is restored, and return an entry for each volume."""
    settings, planned, begun = Settings(**options), given["plan"], given["begun"].get("next") or {}
    vm, results = planned["vm"], given.get("restored") or []
    site.ask(Wish({each["source"]: {"vm": vm["name"], "volume": each["source"]} for each in planned["targets"]}))
    problems = list(filter(None, [find_failure(given["begun"]), begun.get("problem"), *map(find_failure, results)]))
    if vm and _may_have_exports(site, given):
        ended = _end_exports(site, planned)
        if ended["failed"]:
            problems.append(f"The exports could not be ended: {ended['msg'].rstrip('.')}. To be safe, {HOW_TO_END}")
        elif begun.get("exported") and not ended["changed"]:
            problems.append(f"It is not known whether the exports have ended. To be safe, {HOW_TO_END}")
    rows = list_volumes(planned["targets"], results, site.check_mode)
    if vm and settings.start and not problems:
        started = site.change("vm", {"uuid": vm["uuid"]}, state="running", wait_timeout=settings.timeout)
        if started["failed"]:
            problems.append(f"The VM is restored, but could not be started: {started['msg']}")
        elif (started.get("vm") or {}).get("state") != "Running":
            problems.append("The VM is restored, but it is not known to run. Start it")
    elif problems and begun.get("is_off") and (settings.start or settings.stop or any(is_half(row) for row in rows)):
        problems.append("The VM was not started")
    return Report("volumes", build_entries(planned, rows, problems, begun.get("snapshot_group")))


def _may_have_exports(site: Site, given: Record) -> bool:
    """Return whether this run may have exported the volumes. Exports of others stay."""
    begun = given["begun"]
    if site.check_mode or find_other_work(given["plan"]["runs"], given["taken"]):
        return False
    # A step that does not say it was interrupted.
    return bool(begun["next"]["exported"] if begun.get("next") else begun.get("failed"))


def find_failure(result: Record) -> str | None:
    """Return why a task has failed, None if it has not."""
    if result.get("failed") or result.get("unreachable"):
        return str(result.get("msg") or "The data mover is unreachable.")
    return None


def list_volumes(targets: Sequence[Record], results: Sequence[Record], predicts: bool) -> Sequence[Record]:
    """Return what became of each volume: what backup_restore returned, or what is known without it."""
    if volumes := next((result["volumes"] for result in results if result.get("volumes")), None):
        return list(volumes)
    state = "restored" if predicts else "untouched"
    if any("volumes" not in result for result in results):
        # The module did not return: its process was killed, or its machine is unreachable.
        state = UNKNOWN
    return [
        {"volume_uuid": each["source"], "target": each["uuid"], "size": each["size"], "state": state}
        for each in targets
    ]


def build_entries(planned: Record, rows: Sequence[Record], problems: Sequence[str], group: str | None) -> list[Entry]:
    """Return an entry for each volume."""
    vm, point = planned["vm"], planned["point"]
    entries = []
    for row in rows:
        state = row["state"]
        sentences = [f"{problem.rstrip('.')}." for problem in problems]
        error = " ".join([*sentences, describe_half(row, group)]) if problems else None
        members = {
            "vm": vm["name"] if vm else point["vm_name"],
            "vm_uuid": vm["uuid"] if vm else point["vm_uuid"],
            "point": point["point"],
            "volume": row["volume_uuid"],
            "target": row["target"],
            "size": row["size"],
            "state": state,
            "bytes_written": row.get("bytes_written", 0),
            "verified": row.get("verified", False),
            "snapshot_group": group,
            "outcome": "failed" if problems else {"restored": "changed"}.get(state, state),
            "error": error,
        }
        entries.append(
            Entry(Made(word=members["outcome"], error=error), str(row["target"]), members, row["volume_uuid"])
        )
    return entries


def is_half(row: Record) -> bool:
    """Return whether a volume is or may be half written."""
    return row["state"] in ("incomplete", UNKNOWN)


def describe_half(row: Record, group: str | None) -> str:
    """Return what a failure has left of a volume."""
    if is_half(row):
        extent = "may be half written" if row["state"] == UNKNOWN else "is half written"
        revert = f", or set the VM back to the snapshot group {group}" if group else ""
        earlier = ", or to that of the first run if earlier ones have failed, too" if group else ""
        return f"This volume {extent}. Run the role again, which completes it{revert}{earlier}."
    return {"restored": "This volume is restored.", "unchanged": "This volume has the content already."}.get(
        row["state"], "This volume was not overwritten."
    )


STEPS = {"select": select, "plan": plan, "confirm": confirm, "begin": begin, "end": end}
