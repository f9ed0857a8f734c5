"""Prove restore points: make VMs of them without a network, start them, see them running, and remove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from posixpath import normpath
from typing import Any
from uuid import uuid4

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.references import build_uuid
from .._run.owner import describe_owner
from .._site.marked_vms import read_vms
from .._site.report import Entry, Report
from .._site.settings import VmBackupDrillSettings
from .._site.site import GONE, Site
from .._site.wish import Wish, index
from .._vm_backups.plan import (
    SILENCE,
    check_repository,
    find_other_run,
    find_reason,
    list_ended,
    read_infos,
    replace_address,
)
from .._vm_backups.report import Made
from .._vm_backups.vm_from_point import DRILL, choose_cluster, describe_call, list_copies, make, match_volumes
from .vm_backup_restore import match_exports

# What a point is proved to be: its files are sound, a VM of it has run, its guest has answered.
CHECKED, RAN, ANSWERED = "checked", "ran", "answered"

# Each drill takes it, so that one drill of a repository runs at a time, and marked VMs of other runs are left-overs.
LOCK = build_uuid("vm_backup_drill")

# The seconds between two looks at VMs that run.
PAUSE = 5.0

UNREACHABLE = "The data mover is unreachable"

# What an entry says about the proof of a VM, with the values of one without a proof.
NO_PROOF: Mapping[str, Any] = {"proved": None, "restore_seconds": None, "watched_seconds": None, "why": None}


class Settings(VmBackupDrillSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        check_repository(self.repository, "vm_backup_drill_repository")
        for name in ("count", "watch", "rate_limit"):
            if getattr(self, name) < 0:
                raise InvalidOptions(f"vm_backup_drill_{name} must be at least 0, not {getattr(self, name)}")
        if not 0 <= self.min_free_percent < 100:
            raise InvalidOptions(f"vm_backup_drill_min_free_percent must be from 0 to 99, not {self.min_free_percent}")

    @property
    def mark(self) -> str:
        """The description of the VMs of a drill of this repository. The workflow removes no others."""
        return f"{DRILL} It is made of a restore point in {normpath(self.repository)} on {self.mover}."


def select(dummy_site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the mover to ask for points."""
    settings = Settings(**options)
    settings.check()
    return Report("VMs", next={"repository": settings.repository, "mover": settings.mover})


def plan(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Return the points to prove, and what the data mover checks. VMs without a whole point have failed."""
    settings, listed = Settings(**options), given["listed"]
    chosen, entries = choose(listed["points"], settings)
    run = str(uuid4())
    items = [_plan_item(site, point, run, settings) for point in chosen]
    ended = list_ended({"others": listed["runs"]})
    taken = {"run": run, "owner": describe_owner(settings.timeout + settings.watch + SILENCE), "ended": ended}
    uuids = [LOCK, *(item["vm_uuid"] for item in items), *(item["uuid"] for item in items)]
    known = {"repository": settings.repository, "rate_limit": settings.rate_limit, "run": run}
    checks = [{**known, **{name: item[name] for name in ("vm_uuid", "point", "sources")}} for item in items]
    planned = {"runs": [{**taken, "vm_uuids": uuids}], "checks": checks, "items": items, "entries": entries}
    return Report("VMs", [_build_entry(each) for each in entries], next=planned)


def choose(points: Sequence[Record], settings: Settings) -> tuple[list[Record], list[Record]]:
    """Return the newest whole point of each VM that is proved, longest unproved first, and entries of failed VMs.

    A VM whose newest point has run already is not chosen. Raise InvalidOptions for VMs that have no points.
    """
    by_vm: dict[str, list[Record]] = {}
    for point in points:
        if not point.get("future"):
            by_vm.setdefault(str(point["vm_uuid"]), []).append(point)
    names = {uuid: {uuid, *(each["vm_name"] for each in of_vm)} for uuid, of_vm in by_vm.items()}
    if unknown := [each for each in settings.vms if not any(each in known for known in names.values())]:
        raise InvalidOptions(
            f"the repository {settings.repository} has no points of the VMs {', '.join(unknown)}. Nothing was changed."
            " Check vm_backup_drill_vms"
        )
    wanted = [uuid for uuid in by_vm if not settings.vms or not names[uuid].isdisjoint(settings.vms)]
    due, entries = [], []
    for uuid in sorted(wanted, key=lambda uuid: (find_last_proof(by_vm[uuid]), str(by_vm[uuid][-1]["vm_name"]), uuid)):
        whole = [point for point in by_vm[uuid] if point["whole"]]
        if not whole:
            problems = "; ".join(by_vm[uuid][-1]["problems"])
            entries.append(describe_failure(by_vm[uuid][-1], f"It has no whole point: {problems}."))
        elif (whole[-1].get("proved") or {}).get("level") not in (RAN, ANSWERED):
            due.append(whole[-1])
    return due[: settings.count or None], entries


def find_last_proof(points: Sequence[Record]) -> str:
    """Return when a point of a VM was proved last, in whatever way. Empty if none ever was."""
    return max((str(point["proved"]["time"]) for point in points if point.get("proved")), default="")


def name_vm(point: Record) -> Record:
    """Return the members that name the VM of a point in the report."""
    return {"vm": point.get("vm_name") or point.get("vm"), "vm_uuid": point["vm_uuid"]}


def describe_failure(point: Record, error: str) -> Record:
    """Return the entry of a VM that was not proved."""
    return {**name_vm(point), "point": point["point"], "outcome": "failed", **NO_PROOF, "error": error}


def _plan_item(site: Site, point: Record, run: str, settings: Settings) -> Record:
    """Return what is done with a point: the call that makes its VM, or why none can be made."""
    uuid = build_uuid(f"vm_backup_drill {run} {point['vm_uuid']}")
    sources = [copy["volume_uuid"] for copy in point["volumes"]]
    item = {"vm_uuid": point["vm_uuid"], "vm": point["vm_name"], "point": point["point"], "uuid": uuid, "run": run}
    item |= {"record": point, "problem": None}
    try:
        copies = list_copies(point)
        cluster = choose_cluster(site, point, settings.cluster, "vm_backup_drill_cluster")
    except VirtinfraError as failure:
        return {**item, "sources": sources, "call": None, "why": f"No VM can be made of it: {failure}."}
    name = f"drill-{point['vm_name']}"
    call = describe_call(point, name=name, description=settings.mark, resourceUuid=uuid, clusterUuid=cluster)
    size = sum(int(copy["size"]) for copy in copies)
    return {**item, "sources": sources, "call": call, "size": size, "why": None}


def begin(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Remove what earlier runs have left, make the VMs, and export their volumes. A failure stays with its VM.

    Raise VirtinfraError if another drill of the repository runs.
    """
    settings, planned = Settings(**options), given["plan"]
    if problem := find_other_drill(given["taken"]):
        raise VirtinfraError(f"{problem} Nothing was changed.")
    items = [
        {**item, "problem": find_check_failure(item, result)}
        for item, result in zip(planned["items"], given["checked"], strict=True)
    ]
    if site.check_mode:
        return Report("VMs", next={"items": items, "work": []}, has_changed=any(not each["problem"] for each in items))
    remove(site, find_remains(site, settings), settings)
    free = _read_room(site, items, settings)
    made = [_make(site, item, free, settings) for item in items]
    work = [item["work"] for item in made if item.get("work")]
    return Report("VMs", next={"items": made, "work": work}, has_changed=bool(work))


def find_other_drill(results: Sequence[Record]) -> str | None:
    """Return why the VMs are not those of this run, None if they are. ``results`` are those of backup_run."""
    for result in results:
        if problem := find_reason(result, UNREACHABLE):
            return f"The VMs could not be taken for this run: {problem}."
        if find_other_run(result["others"], LOCK):
            return "Another drill of this repository runs. Wait until it has ended."
    return None if results else "The VMs were not taken for this run."


def find_check_failure(item: Record, result: Record) -> str | None:
    """Return why the files of a point are not sound, or are not known to be. None if they are."""
    if problem := find_reason(result, UNREACHABLE):
        return f"The files of the point could not be checked, or are damaged: {problem}."
    if {row["volume_uuid"] for row in result["volumes"]} != {*item["sources"]}:
        return "The data mover has not checked all volumes of the point."
    return None


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
    # A run that was killed may have left them. If one remains, the removal says what it means.
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


def _read_room(site: Site, items: Sequence[Record], settings: Settings) -> list[int] | str:
    """Return how many bytes each primary storage can spare, or why this is not known."""
    if not any(item["call"] for item in items):
        return []
    try:
        storages = site.read("primary_storage_info")["primary_storages"]
    except VirtinfraError as failure:
        return f"It is not known whether the primary storages have room: {failure}."
    return [spare for storage in storages if (spare := measure_spare(storage, settings.min_free_percent)) > 0]


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


def _make(site: Site, item: Record, free: list[int] | str, settings: Settings) -> Record:
    """Make the VM of an item, and export its volumes, if its files are sound and there is room. Return the item."""
    if item["problem"] or not item["call"]:
        return item
    if isinstance(free, str):
        return {**item, "why": free}
    if not take_room(free, item["size"]):
        return {**item, "why": f"No primary storage has room for a VM of {item['size']} bytes."}
    began = site.get_time()
    try:
        vm = make(site, item["call"], settings.timeout)
        mapped = match_volumes(item["record"], vm)
        targets = [{"source": source, "uuid": uuid} for source, uuid in mapped.items()]
        exports = {"vm": vm["uuid"], "volumes": list(mapped.values())}
        exported = site.change("cbt_volume_export", exports, wait_timeout=settings.timeout)
        if exported["failed"]:
            raise VirtinfraError(f"The volumes could not be exported: {str(exported['msg']).rstrip('.')}.")
        infos = match_exports(read_infos(exported.get("volume_infos")), targets)
    except VirtinfraError as failure:
        return {**item, "problem": str(failure)}
    host = vm.get("host_uuid") or vm.get("last_host_uuid")
    volumes = [replace_address(info, host, settings.host_address) for info in infos]
    known = {"repository": settings.repository, "rate_limit": settings.rate_limit}
    work = {**known, "run": item["run"], "vm_uuid": item["vm_uuid"], "point": item["point"], "volumes": volumes}
    return {**item, "work": work, "made_seconds": round(site.get_time() - began)}


def end(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Start the VMs that are written, see them running, remove all, and return what is proved of each."""
    settings, planned, begun = Settings(**options), given["plan"], given["begun"].get("next") or {}
    interrupted = f"{find_reason(given['begun']) or 'The run was interrupted'}."
    items = begun.get("items") or [{**item, "problem": interrupted} for item in planned["items"]]
    results = {item["uuid"]: result for item, result in zip(_list_made(items), given["written"], strict=False)}
    items = [_judge_writing(item, results.get(item["uuid"])) if item.get("work") else item for item in items]
    entries = list(planned["entries"])
    # Without the lock of the drill, the VMs with the mark are those of another one.
    if not (site.check_mode or find_other_drill(given["taken"])):
        _end_exports(site, items, settings)
        items = _watch(site, [_start(site, item, settings) for item in items], settings)
        items, left = _clean(site, items, settings)
        entries += left
    proofs = [] if site.check_mode else [proof for item in items if (proof := build_proof(item, site.get_date()))]
    entries += [build_members(item) for item in items]
    return Report("VMs", [_build_entry(each) for each in entries], next={"entries": entries, "proofs": proofs})


def _list_made(items: Sequence[Record]) -> list[Record]:
    """Return the items whose VMs were made, in the order in which they are written."""
    return [item for item in items if item.get("work")]


def _judge_writing(item: Record, result: Record | None) -> Record:
    """Return an item with what became of its volumes."""
    if result is None:
        return {**item, "problem": "The volumes were not written, because the run was interrupted."}
    if problem := find_reason(result, UNREACHABLE):
        return {**item, "problem": f"The volumes could not be written: {problem}."}
    if not all(row["verified"] for row in result["volumes"]) or len(result["volumes"]) != len(item["sources"]):
        return {**item, "problem": "The data mover has not said that it has written all volumes."}
    return {**item, "written_seconds": result["seconds"]}


def _end_exports(site: Site, items: Sequence[Record], settings: Settings) -> None:
    """End the exports. One that remains is ended with its VM, and the service says so."""
    made = _list_made(items)
    exports = [
        {"vm": item["uuid"], "volumes": [info["volume"]["volume_uuid"] for info in item["work"]["volumes"]]}
        for item in made
    ]
    site.batch("cbt_volume_export", exports, 1, state="absent", wait_timeout=settings.timeout)


def _start(site: Site, item: Record, settings: Settings) -> Record:
    """Start the VM of an item whose volumes are written."""
    if item["problem"] or not item.get("work"):
        return item
    began = site.get_time()
    result = site.change("vm", {"uuid": item["uuid"]}, state="running", wait_timeout=settings.timeout)
    if result["failed"]:
        return {**item, "problem": f"The VM could not be started: {str(result['msg']).rstrip('.')}."}
    seconds = item["made_seconds"] + item["written_seconds"] + round(site.get_time() - began)
    return {**item, "restore_seconds": seconds, "level": RAN}


def _watch(site: Site, items: Sequence[Record], settings: Settings) -> list[Record]:
    """Look at the VMs that were started until the end of the time, and note those that do not run any more."""
    problems: dict[str, str] = {}
    uuids = [str(item["uuid"]) for item in items if item.get("level") == RAN]
    began = site.get_time()
    while True:
        seen = round(site.get_time() - began)
        problems = {**_find_stopped(site, [uuid for uuid in uuids if uuid not in problems], seen), **problems}
        left = settings.watch - (site.get_time() - began)
        if left <= 0 or len(problems) == len(uuids):
            break
        site.pause(min(PAUSE, left))
    watched = [
        {**item, "problem": problems.get(str(item["uuid"])), "watched_seconds": settings.watch}
        if item.get("level") == RAN
        else item
        for item in items
    ]
    return [_ask_guest(site, item) for item in watched]


def _find_stopped(site: Site, uuids: Sequence[str], seconds: int) -> dict[str, str]:
    """Return why VMs are not seen running, ``seconds`` after they were started, by their uuids."""
    try:
        states = {uuid: vm["state"] for uuid, vm in index(read_vms(site, uuids)).items()} if uuids else {}
    except VirtinfraError as failure:
        return dict.fromkeys(uuids, f"It is not known whether the VM runs: {failure}.")
    return {
        uuid: f"The VM was {states.get(uuid, 'gone')} {seconds} s after it was started."
        for uuid in uuids
        if states.get(uuid) != "Running"
    }


def _ask_guest(site: Site, item: Record) -> Record:
    """Return an item of a VM that runs with whether its guest answers. Not each guest has tools, nor each service."""
    if item.get("level") != RAN or item["problem"]:
        return item
    try:
        reply = site.read("api", operation="GetVmGuestToolsInfo", params={"uuid": item["uuid"]})["reply"]
    except VirtinfraError:
        return item
    return {**item, "level": ANSWERED} if has_answered(reply) else item


def has_answered(reply: Any) -> bool:
    """Return whether guest tools have answered, as the service says it."""
    return isinstance(reply, Mapping) and str(reply.get("status")).lower() in ("connected", "running")


def _clean(site: Site, items: Sequence[Record], settings: Settings) -> tuple[list[Record], list[Record]]:
    """Remove all VMs of drills of the repository. Return the items, and entries of VMs of earlier runs that remain."""
    try:
        problems = remove(site, find_remains(site, settings), settings)
    except VirtinfraError as failure:
        unknown = f"It is not known whether its VM remains, which the next run removes: {failure}."
        problems = {str(item["uuid"]): unknown for item in items if item.get("work")}
    own = {str(item["uuid"]) for item in items}
    left = [
        {"vm": f"drill ({uuid})", "vm_uuid": uuid, "point": None, "outcome": "failed", **NO_PROOF, "error": problem}
        for uuid, problem in problems.items()
        if uuid not in own
    ]
    return [{**item, "remains": problems.get(str(item["uuid"]))} for item in items], left


def build_proof(item: Record, now: datetime) -> Record | None:
    """Return what is noted in the repository about a point, None if nothing is proved."""
    if item["problem"]:
        return None
    proof = {name: item[name] for name in ("restore_seconds", "watched_seconds") if name in item}
    proof |= {"level": find_level(item), "time": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {"vm_uuid": item["vm_uuid"], "point": item["point"], "proof": proof}


def find_level(item: Record) -> str:
    """Return how far a point is proved; in check mode, how far it would be."""
    return str(item.get("level") or (CHECKED if item["why"] else RAN))


def build_members(item: Record) -> Record:
    """Return the entry of a VM in the report."""
    error = " ".join(filter(None, (item["problem"], item.get("remains")))) or None
    known = {name: item.get(name) for name in ("restore_seconds", "watched_seconds", "why")}
    proved = None if item["problem"] else find_level(item)
    named = {"vm": item["vm"], "vm_uuid": item["vm_uuid"], "point": item["point"]}
    return {**named, "outcome": "failed" if error else proved, **NO_PROOF, **known, "proved": proved, "error": error}


def report(site: Site, dummy: Mapping[str, Any], given: Record) -> Report:
    """Return the entries of all VMs. One whose proof could not be noted has failed."""
    named = [*given["plan"]["items"], *given["plan"]["entries"]]
    site.ask(Wish({each["vm_uuid"]: name_vm(each) for each in named}))
    reasons = {
        proof["vm_uuid"]: problem
        for proof, result in zip(given["proofs"], given["noted"], strict=True)
        if (problem := find_reason(result, UNREACHABLE))
    }
    entries = [
        {**each, "outcome": "failed", "error": f"It is {each['proved']}, but that could not be noted: {reason}."}
        if (reason := reasons.get(each["vm_uuid"]))
        else each
        for each in given["entries"]
    ]
    return Report("VMs", [_build_entry(each) for each in entries])


def _build_entry(members: Record) -> Entry:
    error = members["error"] if members["outcome"] == "failed" else None
    return Entry(
        Made(word=members["outcome"], error=error),
        f"{members['vm']} ({members['vm_uuid']})",
        members,
        members["vm_uuid"],
    )


STEPS = {"select": select, "plan": plan, "begin": begin, "end": end, "report": report}
