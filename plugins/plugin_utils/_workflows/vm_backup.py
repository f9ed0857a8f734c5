"""Open backup sessions for copies on data movers, and end them. The role runs a step before and after each copy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from posixpath import normpath
from typing import Any
from uuid import uuid4

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._run.owner import describe_owner
from .backup_plan import (
    AUTO,
    FULL,
    SILENCE,
    Choice,
    Mover,
    Space,
    assign_movers,
    build_uri,
    check_repository,
    choose_due,
    choose_mode,
    find_hindrance,
    find_other_run,
    get_volume_uuid,
    has_session,
    is_excluded,
    list_ended,
    list_lacking,
    list_lost,
    read_infos,
    replace_address,
    sum_sizes,
)
from .backup_progress import choose_pause, count_turn, describe_progress, find_progress
from .backup_report import Copy, build_members, build_report, judge_copy
from .backup_scratch import SCRATCH_FOR, remove_left
from .report import Report, name_some
from .settings import VmBackupSettings
from .site import Selection, Site
from .window import Window
from .wish import Wish

# How the descriptions of the workflow's CBT tasks begin. It enables, disables and deletes no others.
MARK = "Backup session of the role virtinfra.manager.vm_backup."

# What the description of a CBT task says about where its sessions are copied to.
_DESCRIPTION = re.compile(rf"{re.escape(MARK)} It copies to (?P<folder>.+) on (?P<movers>.+)\.", re.DOTALL)

# How the service names scratch volumes.
SCRATCH_NAMES = "Cbt-volume-of-%"

# How many seconds ending a session may take, and how long a copy may go on that its data mover should have ended.
END_TIMEOUT, GRACE = 1800, 60

# The variables that must be above zero.
_POSITIVE = ("concurrency", "per_host", "timeout")

AMBIGUOUS = "Several VMs have this name. Give the uuid of the VM."
MISSING = "No such VM. Check the name or uuid, and vm_backup_query."


class Settings(VmBackupSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not (self.query or self.vms):
            raise InvalidOptions("give vm_backup_query or vm_backup_vms")
        if self.state == "present" and not self.repository:
            raise InvalidOptions(
                "give vm_backup_repository, the folder on the data mover with the restore points, in which runs see"
                " each other"
            )
        if self.repository:
            check_repository(self.repository, "vm_backup_repository")
        if not (self.mover and self.task_prefix):
            raise InvalidOptions("vm_backup_mover and vm_backup_task_prefix must not be empty")
        numbers = {name: getattr(self, name) for name in (*_POSITIVE, "full_every", "compare_every", "rate_limit")}
        kept = {f"keep.{rule}": number for rule, number in self.keep.items() if number is not None}
        for name, number in {**numbers, **kept}.items():
            least = 1 if name in _POSITIVE else 0
            if number < least:
                raise InvalidOptions(f"vm_backup_{name} must be at least {least}, not {number}")
        if not 0 <= self.min_free_percent < 100:
            raise InvalidOptions(f"vm_backup_min_free_percent must be from 0 to 99, not {self.min_free_percent}")

    @property
    def most_open(self) -> int:
        """How many sessions are open at the same time. The tasks of a user copy one VM after the other."""
        return 1 if self.copy_tasks else self.concurrency

    def is_ours(self, task: Record) -> bool:
        """Return whether the role has created a CBT task."""
        has_mark = str(task["description"]).startswith(MARK)
        return has_mark and str(task["name"]).startswith(self.task_prefix)

    @property
    def description(self) -> str:
        """The description of new CBT tasks. Runs with another repository see in it that this one has the VM."""
        return f"{MARK} It copies to {normpath(str(self.repository))} on {', '.join(sorted(self.mover))}."

    def find_other_repository(self, task: Record) -> str | None:
        """Return where the sessions of a task of the role are copied to, None if runs there and here see each other.

        They do in a folder that they have in common on a data mover. Without a repository, the user wants all ended.
        """
        found = _DESCRIPTION.fullmatch(str(task["description"]))
        if found is None or self.repository is None or not self.is_ours(task):
            return None
        is_same = found["folder"] == normpath(self.repository)
        is_here = is_same and not set(self.mover).isdisjoint(found["movers"].split(", "))
        return None if is_here else f"{found['folder']} on {found['movers']}"

    def find_task(self, tasks: Iterable[Record], vm_uuid: str) -> Record | None:
        """Return the CBT task of a VM, also one of another product; by its name if the service hides the VMs."""
        found = [task for task in tasks if vm_uuid in self._list_vms(task)]
        return max(found, key=self.is_ours, default=None)

    def _list_vms(self, task: Record) -> list[str]:
        if task["resource_uuids"] is not None:
            return list(task["resource_uuids"])
        return [str(task["name"]).removeprefix(self.task_prefix)] if self.is_ours(task) else []


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the uuids of the VMs, and the movers to ask for their points."""
    settings = Settings(**options)
    settings.check()
    selection = _select(site, settings)
    return Report(
        "VMs",
        next={
            "vm_uuids": [vm["uuid"] for vm in selection.objects],
            "asked": [{"vm": vm["name"], "vm_uuid": vm["uuid"]} for vm in selection.objects],
            "movers": settings.mover if settings.repository else [],
            "repository": settings.repository,
            "initialize": settings.initialize,
            "run": str(uuid4()),
            # A turn that opens a session waits for a job, and tasks of a user are part of a turn.
            "owner": describe_owner(settings.timeout + SILENCE),
        },
    )


def _select(site: Site, settings: Settings) -> Selection:
    selection = site.select_vms(settings.query, settings.vms)
    if not (selection.objects or selection.missing or settings.allow_empty):
        query = ", ".join(settings.query)
        raise InvalidOptions(f"No VM meets vm_backup_query ({query}). Check it, or set vm_backup_allow_empty.")
    return selection


def find_ended(dummy_site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Return the other runs that have VMs in the repository of a data mover, but have ended, and these movers.

    ``taken`` are the results of backup_run.
    """
    ended = {str(result["item"]): list_ended(result) for result in given["taken"]}
    runs = sorted({run for found in ended.values() for run in found})
    return Report("VMs", next={"ended": runs, "movers": [mover for mover, found in ended.items() if found]})


def plan(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """End what earlier runs left, and return the VMs to copy, smallest first, and the entries of the others."""
    settings = Settings(**options)
    takings = {result["item"]: result for result in given.get("taken") or ()}
    movers = [
        Mover.from_results(result, takings[result["item"]], 0 if settings.copy_tasks else settings.min_free_percent)
        for result in given.get("movers") or ()
    ]
    selection = _select(site, settings)
    tasks = _read_tasks(site)
    entries = [build_members({"name": name}, error=MISSING) for name in selection.missing]
    vms: list[Record] = []
    for vm in selection.objects:
        if error := AMBIGUOUS if vm["uuid"] in selection.ambiguous else find_obstacle(vm, tasks, movers, settings):
            entries.append(build_members(vm, error=error))
        else:
            vms.append(vm)
    ended = _end_sessions(site, vms, tasks, settings)
    entries += [build_members(vm, error=ended[vm["uuid"]]) for vm in vms if ended.get(vm["uuid"])]
    vms = [vm for vm in vms if not ended.get(vm["uuid"])]
    if settings.state == "ended":
        _name_leaked(site, selection.objects)
        entries += [build_members(vm, outcome="ended" if vm["uuid"] in ended else "unchanged") for vm in vms]
        return Report("VMs", next=_describe_plan([], entries, []))
    items, others = _choose(vms, tasks, movers, settings)
    if site.check_mode:
        others += _predict(site, items, settings)
        items = []
    will_copy = any(entry["outcome"] not in ("failed", "skipped") for entry in others)
    return Report("VMs", next=_describe_plan(items, [*entries, *others], movers), has_changed=will_copy)


def _describe_plan(items: Sequence[Record], entries: Sequence[Record], movers: Iterable[Mover]) -> Record:
    """Return what the turns of the role begin with, and the data movers that say how far copies are."""
    items = sorted(items, key=lambda item: sum_sizes(item["vm"]))
    names = [mover.name for mover in movers if mover.problem is None]
    return {"items": items, "entries": entries, **count_turn(0, bool(items)), "movers": names}


def find_obstacle(vm: Record, tasks: Iterable[Record], movers: Iterable[Mover], settings: Settings) -> str | None:
    """Return why nothing may be done for a VM, None if it may be copied."""
    task = settings.find_task(tasks, vm["uuid"])
    if task and not settings.is_ours(task):
        return (
            f"The VM has the CBT task {task['name']} ({task['uuid']}), which the role has not created, and a VM has one"
            " task. Delete it, or leave the VM to the product that it belongs to."
        )
    if task and has_session(task, vm["state"] == "Running") and (other := settings.find_other_repository(task)):
        return (
            f"A run that copies to {other} has a backup session of the VM, and a VM has one session. Wait until it has"
            " ended. If it was killed, run it again, or end the session: set vm_backup_state to ended, without"
            " vm_backup_repository."
        )
    return find_other_run([other for mover in movers for other in mover.others], str(vm["uuid"]))


def _choose(
    vms: Sequence[Record], tasks: Iterable[Record], movers: Sequence[Mover], settings: Settings
) -> tuple[list[Record], list[Record]]:
    """Return an item for each VM to copy, and the entries of those that cannot be copied."""
    entries = []
    for vm in vms:
        if vm["state"] != "Running":
            entries.append(build_members(vm, skipped=f"The VM is {vm['state']}. A backup session needs a running VM."))
    running = [vm for vm in vms if vm["state"] == "Running"]
    usable = [mover for mover in movers if mover.problem is None]
    if not usable:
        problem = " ".join(str(mover.problem) for mover in movers)
        return [], [*entries, *(build_members(vm, error=problem) for vm in running)]
    assigned = assign_movers(running, usable)
    return [_build_item(vm, assigned[vm["uuid"]], tasks, settings) for vm in running], entries


def _build_item(vm: Record, mover: Mover, tasks: Iterable[Record], settings: Settings) -> Record:
    """Return what the role and its steps need to know about a VM."""
    task, checkpoint = settings.find_task(tasks, vm["uuid"]), mover.choose_checkpoint(vm["uuid"])
    choice = choose_mode(mover.list_whole(vm["uuid"]), checkpoint, settings.full_every, settings.compare_every)
    if settings.copy_tasks:
        choice = Choice(FULL, "the tasks of vm_backup_copy_tasks have copied it")
    return {
        "vm": vm,
        "mover": mover.name,
        "mode": choice.mode,
        "outcome": choice.outcome,
        "why": choice.why,
        "bitmap_name": checkpoint if choice.mode == AUTO else None,
        "task_uuid": task["uuid"] if task else None,
    }


def _predict(site: Site, items: Iterable[Record], settings: Settings) -> list[Record]:
    """Return the entries that a run would have."""
    entries, storages = [], _read_space(site, settings).storages
    for item in items:
        # A VM waits until others have given their space back, so each must have room alone.
        if error := Space(storages, settings.min_free_percent).take(item["vm"]):
            entries.append(build_members(item["vm"], error=error))
        else:
            entries.append(build_members(item["vm"], outcome=item["outcome"], why=item["why"]))
    return entries


def _read_space(site: Site, settings: Settings) -> Space:
    storages = site.read("primary_storage_info")["primary_storages"]
    return Space({storage["uuid"]: storage for storage in storages}, settings.min_free_percent)


def _read_tasks(site: Site) -> list[Record]:
    tasks: list[Record] = site.read("cbt_task_info")["cbt_tasks"]
    return tasks


def take_turn(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """End the sessions whose copies have ended, open others in their places, or wait if there is nothing to do.

    ``looked`` are the results of the tasks that looked at the copies, and ``movers`` those of the data movers that were
    ``asked`` about them. The role starts to copy ``sessions``, looks at these and at ``copies``, and takes the next
    turn if there is more to do, see ``count_turn``.
    """
    settings, now = Settings(**options), site.get_time()
    copies = [Copy.from_result(result) for result in given["looked"]]
    over = [copy for copy in copies if copy.has_ended or now - copy.session["opened"] > settings.timeout + GRACE]
    running = [copy for copy in copies if copy not in over]
    entries = _finish(site, [copy.session for copy in over], {copy.vm_uuid: copy.result for copy in over}, settings)
    done = {entry["vm_uuid"] for entry in (*given["entries"], *entries)}
    not_open = [
        item for item in given["items"] if item["vm"]["uuid"] not in done.union(copy.vm_uuid for copy in running)
    ]
    window = Window(site.get_time, "vm_backup", settings.not_after)
    late = [] if window.is_open() else not_open
    not_open = [] if late else not_open
    sessions, others = _open_sessions(site, not_open, [copy.session for copy in running], given["movers"], settings)
    others += [build_members(item["vm"], error=window.reason) for item in late]
    progress = [(copy, find_progress(given["movers"], copy.vm_uuid)) for copy in running]
    for copy, known in progress:
        site.show(describe_progress(copy.session["vm"], known))
    if running and not (over or sessions or others):
        site.pause(min(choose_pause(known, now - copy.session["opened"]) for copy, known in progress))
    return Report(
        "VMs",
        next={
            "entries": [*entries, *others],
            # Core before 2.19 makes a string of a number in a template.
            **count_turn(int(given["turn"]), has_more=bool(running) or len(not_open) > len(others) - len(late)),
            "copies": [copy.describe() for copy in running],
            "movers": [mover for mover in given["asked"] if mover not in list_lost(given["movers"])],
            **_describe_work(sessions, min(settings.concurrency, len(given["items"])), settings),
        },
    )


def _open_sessions(
    site: Site, left: Sequence[Record], are_open: Sequence[Record], movers: Sequence[Record], settings: Settings
) -> tuple[list[Record], list[Record]]:
    """Open the sessions that may be open beside others, and return them, and the entries of the VMs that have none."""
    errors = {item["vm"]["uuid"]: find_hindrance(item, movers) for item in left}
    entries = [build_members(item["vm"], error=error) for item in left if (error := errors[item["vm"]["uuid"]])]
    left = [item for item in left if not errors[item["vm"]["uuid"]]]
    due = choose_due(left, are_open, settings.most_open, settings.per_host)
    if not due:
        return [], entries
    try:
        due, others = _prepare(site, due, settings, may_wait=bool(are_open))
    except VirtinfraError as failure:
        return [], [*entries, *(build_members(item["vm"], error=str(failure)) for item in due)]
    entries += others
    started = site.get_time()
    objects = [build_session_options(item, settings) for item in due]
    results = site.batch("cbt_task", objects, settings.most_open, state="enabled", wait_timeout=settings.timeout)
    times = {"started": started, "opened": site.get_time()}
    described = [_describe_session(item, result, settings) for item, result in zip(due, results, strict=True)]
    opened = [{**item, **session, **times} for item, session in zip(due, described, strict=True)]
    # What a failed call has begun must not wait for the copies of other VMs.
    entries += _finish(site, [session for session in opened if not session["volumes"]], {}, settings)
    return [session for session in opened if session["volumes"]], entries


def _prepare(
    site: Site, due: Sequence[Record], settings: Settings, may_wait: bool
) -> tuple[list[Record], list[Record]]:
    """Return the VMs whose sessions can be opened, and the entries of those that cannot. Raise VirtinfraError.

    Hours may have gone by since the plan: disks came or went, and a run with another repository may have a session.
    """
    current = {vm["uuid"]: vm for vm in _read_again(site, [item["vm"] for item in due])}
    due = [{**item, "vm": current.get(item["vm"]["uuid"], item["vm"])} for item in due]
    tasks = _read_tasks(site)
    errors = {item["vm"]["uuid"]: find_obstacle(item["vm"], tasks, (), settings) for item in due}
    entries = [build_members(item["vm"], error=error) for item in due if (error := errors[item["vm"]["uuid"]])]
    free = [item for item in due if not errors[item["vm"]["uuid"]]]
    taken, without_space = _take_space(site, free, settings, may_wait)
    ready, undeleted = _replace_tasks(site, taken, tasks, settings)
    return ready, [*entries, *without_space, *undeleted]


def _replace_tasks(
    site: Site, items: Sequence[Record], tasks: Iterable[Record], settings: Settings
) -> tuple[list[Record], list[Record]]:
    """Delete the CBT tasks without a session that name another repository: a description cannot be changed.

    Return the items, and the entries of those whose tasks could not be deleted.
    """
    by_uuid = {task["uuid"]: task for task in tasks}
    old = [
        item
        for item in items
        if (task := by_uuid.get(item["task_uuid"])) and settings.find_other_repository(task) is not None
    ]
    objects = [{"uuid": item["task_uuid"]} for item in old]
    results = site.batch("cbt_task", objects, settings.concurrency, state="absent", wait_timeout=END_TIMEOUT)
    errors = {
        item["vm"]["uuid"]: str(result["msg"]) for item, result in zip(old, results, strict=True) if result["failed"]
    }
    replaced = {item["vm"]["uuid"] for item in old}
    ready = [
        {**item, "task_uuid": None} if item["vm"]["uuid"] in replaced else item
        for item in items
        if item["vm"]["uuid"] not in errors
    ]
    return ready, [
        build_members(item["vm"], error=errors[uuid]) for item in old if (uuid := item["vm"]["uuid"]) in errors
    ]


def _take_space(
    site: Site, due: Sequence[Record], settings: Settings, may_wait: bool
) -> tuple[list[Record], list[Record]]:
    """Return the VMs whose scratch volumes have room, and the entries of the others, unless they may wait for some."""
    space, taken, entries = _read_space(site, settings), [], []
    for item in due:
        if (error := space.take(item["vm"])) is None:
            taken.append(item)
        elif not (may_wait or taken):
            entries.append(build_members(item["vm"], error=error))
    return taken, entries


def _describe_work(sessions: Sequence[Record], most: int, settings: Settings) -> Record:
    """Return what the tasks of the role need to copy the volumes of sessions, of which ``most`` are open at a time."""
    passed_on = (
        *("repository", "verify", "exclude_volumes", "keep", "compression", "min_free_percent"),
        *("timeout", "copy_tasks"),
    )
    return {
        "sessions": [] if settings.copy_tasks else sessions,
        "sessions_for_tasks": sessions if settings.copy_tasks else [],
        "rate_limit": max(1, settings.rate_limit // most) if settings.rate_limit else 0,
        **{name: getattr(settings, name) for name in passed_on},
    }


def build_session_options(item: Record, settings: Settings) -> Record:
    """Return the options of the module cbt_task that open the session of a VM."""
    bitmap = {"bitmap_name": item["bitmap_name"]} if item["bitmap_name"] else {}
    if item["task_uuid"]:
        return {"uuid": item["task_uuid"], **bitmap}
    uuid = item["vm"]["uuid"]
    return {"name": f"{settings.task_prefix}{uuid}", "description": settings.description, "vm": uuid, **bitmap}


def _describe_session(item: Record, result: Record, settings: Settings) -> Record:
    """Return the volumes of a session for backup_point, and for the tasks of a user; none after a failure."""
    infos = read_infos(result.get("volume_cbt_backup_infos"))
    if result["failed"] or not infos:
        problem = result["msg"] if result["failed"] else "The service has returned no volumes to copy."
        return {"volumes": [], "problem": problem}
    if lacking := list_lacking(item["vm"], infos, settings.exclude_volumes):
        problem = f"The backup session lacks the volumes {', '.join(lacking)} of the VM. Run the role again."
        return {"volumes": [], "problem": problem}
    names = {volume["uuid"]: volume.get("name") for volume in item["vm"].get("all_volumes") or ()}
    volumes = [replace_address(info, item["vm"].get("host_uuid"), settings.host_address) for info in infos]
    exports = [
        {
            "volume_uuid": get_volume_uuid(info),
            "device_id": info["volume"].get("device_id"),
            "uri": build_uri(info),
        }
        for info in volumes
        if not _is_excluded(info, names, settings)
    ]
    return {"volumes": volumes, "exports": exports, "scratch_volumes": result.get("scratch_volumes")}


def _is_excluded(info: Record, names: Mapping[str, Any], settings: Settings) -> bool:
    uuid = get_volume_uuid(info)
    return is_excluded({"uuid": uuid, "name": names.get(uuid)}, settings.exclude_volumes)


def end_sessions(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """End the sessions of VMs, and return their entries.

    ``items`` are sessions, or VMs of the plan, of which those among ``done`` have an entry already. ``copied`` is what
    the tasks of a user returned, and ``problem`` why the role could not go on.
    """
    settings = Settings(**options)
    done = {entry["vm_uuid"] for entry in given.get("done") or ()}
    problem = {"problem": given["problem"]} if given.get("problem") else {}
    items = [{**item, **problem} for item in given["items"] if item["vm"]["uuid"] not in done]
    copies = {item["vm"]["uuid"]: given["copied"] for item in items} if given.get("copied") else {}
    entries = _finish(site, items, copies, settings)
    return Report("VMs", next={"entries": entries})


def _finish(site: Site, items: Sequence[Record], copies: Mapping[str, Record], settings: Settings) -> list[Record]:
    """End the sessions of VMs, and return their entries. ``copies`` are results by the uuids of the VMs."""
    if not items:
        return []
    vms = [item["vm"] for item in items]
    try:
        remains: Mapping[str, str | None] = _end_sessions(site, _read_again(site, vms), _read_tasks(site), settings)
        # A successful call does not prove that the session has ended, so the tasks are read again.
        tasks = _read_tasks(site)
        remains = {**remains, **_find_unended(tasks, vms, settings, remains)}
        # A task goes with its VM, and its scratch volumes stay.
        known = {uuid for task in tasks for uuid in task.get("scratch_volumes") or ()}
        remains = {**remains, **remove_left(site, [item for item in items if "opened" in item], known)}
    except VirtinfraError as failure:
        unknown = f"It is not known whether the backup session was ended: {failure} Run the role again."
        remains = {vm["uuid"]: unknown for vm in vms}
    now = site.get_time()
    uuids = [vm["uuid"] for vm in vms]
    return [judge_copy(item, copies.get(uuid), remains.get(uuid), now) for item, uuid in zip(items, uuids, strict=True)]


def _read_again(site: Site, vms: Sequence[Record]) -> list[Record]:
    """Return VMs with their current states. Those that are gone are left out."""
    return list(site.select_vms([f"uuid?={','.join(vm['uuid'] for vm in vms)}"], []).objects)


def _end_sessions(
    site: Site, vms: Sequence[Record], tasks: Iterable[Record], settings: Settings
) -> dict[str, str | None]:
    """End the sessions of VMs, and return by the uuid of each VM that had one why it could not be ended, or None."""
    due = []
    for vm in vms:
        task = settings.find_task(tasks, vm["uuid"])
        is_ours = task and settings.is_ours(task) and settings.find_other_repository(task) is None
        if task and is_ours and has_session(task, vm["state"] == "Running"):
            due.append((vm, task))
    objects = [{"uuid": task["uuid"]} for vm, task in due]
    results = site.batch("cbt_task", objects, settings.concurrency, state="disabled", wait_timeout=END_TIMEOUT)
    return {
        vm["uuid"]: describe_remains(task, str(result["msg"])) if result["failed"] else None
        for (vm, task), result in zip(due, results, strict=True)
    }


def describe_remains(task: Record, reason: str) -> str:
    """Return what remains of a session that could not be ended, and how to remove it."""
    volumes = task.get("scratch_volumes")
    remains = f"the scratch volumes {name_some(volumes)} remain" if volumes else "its scratch volumes may remain"
    return (
        f"The backup session of the CBT task {task['name']} ({task['uuid']}) could not be ended, and {remains}:"
        f" {reason.rstrip('.')}. When the VM runs, run the role again, or disable the task."
    )


def _find_unended(
    tasks: Iterable[Record], vms: Sequence[Record], settings: Settings, remains: Mapping[str, str | None]
) -> dict[str, str]:
    """Return by the uuid of each VM whose session is open nevertheless what remains of it."""
    tasks = list(tasks)
    found = {vm["uuid"]: settings.find_task(tasks, vm["uuid"]) for vm in vms if not remains.get(vm["uuid"])}
    return {
        uuid: describe_remains(task, f"the service shows the status {task['status']}")
        for uuid, task in found.items()
        if task
        and settings.is_ours(task)
        and settings.find_other_repository(task) is None
        and has_session(task, is_running=False)
    }


def _name_leaked(site: Site, vms: Sequence[Record]) -> None:
    """Warn of scratch volumes of these VMs that belong to no CBT task. Nothing but a person removes them."""
    used = {uuid for task in _read_tasks(site) for uuid in task.get("scratch_volumes") or ()}
    try:
        volumes = site.read("resource_info", resource_type="volume", query=[f"name~={SCRATCH_NAMES}"])["resources"]
    except VirtinfraError as failure:
        site.warn(f"Scratch volumes that remained could not be looked for: {failure}")
        return
    ours = {f"{SCRATCH_FOR}{volume['uuid']}" for vm in vms for volume in vm.get("all_volumes") or ()}
    leaked = [
        f"{volume.get('name')} ({volume['uuid']})"
        for volume in volumes
        if volume.get("description") in ours and volume["uuid"] not in used
    ]
    if leaked:
        site.warn(
            f"These scratch volumes belong to no CBT task, and nothing removes them: {', '.join(leaked)}. Delete them"
            " in the service, if no other backup product uses them."
        )


def report(site: Site, dummy_options: Mapping[str, Any], given: Record) -> Report:
    """Return the report: the entries of all steps, and those of VMs that a step has not reached."""
    site.ask(Wish({vm["vm_uuid"]: vm for vm in given["asked"]}))
    return build_report(given["entries"], given["items"])


STEPS = {
    "select": select,
    "find_ended": find_ended,
    "plan": plan,
    "turn": take_turn,
    "end": end_sessions,
    "report": report,
}
