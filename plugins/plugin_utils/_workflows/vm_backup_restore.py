"""Export the volumes of a stopped VM, so that a data mover writes a restore point into them, and end the exports.

A VM that was removed is made again before. Its description says so until it is as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._run.owner import describe_owner
from .._site.marks import Mark, Marks
from .._site.report import Entry, Report
from .._site.settings import VmBackupRestoreSettings
from .._site.site import GONE, Site
from .._site.wish import Wish, index
from .._vm_backups.exports import HOW_TO_END, is_refused
from .._vm_backups.plan import (
    SILENCE,
    check_repository,
    find_other_run,
    find_reason,
    get_volume_uuid,
    has_session,
    list_ended,
    read_infos,
    replace_address,
)
from .._vm_backups.report import Made
from .._vm_backups.restored_disk import (
    export_disk,
    find_left,
    finish_disk,
    list_disks,
    list_lines,
    name_disks,
    plan_disk,
    remove_carriers,
    remove_disk,
)
from .._vm_backups.vm_from_point import (
    NEW,
    NONE,
    attach_nics,
    choose_cluster,
    choose_uuid,
    describe_call,
    find,
    find_conflicts,
    list_copies,
    list_nics,
    make,
    match_volumes,
    name_volume,
)

# The description of the snapshot groups that the workflow takes.
MARK = "Taken by the role virtinfra.manager.vm_backup_restore, before a restore."

# What is done with the point: it is written into the VM that exists, or into one that is made.
RESTORED, CREATED = "restored", "created"

# One of its volumes becomes a new disk of a VM, or all such disks of a VM are removed.
ATTACHED, DETACHED = "attached", "detached"

# How the description of a VM that the workflow has made begins, until it is as it was.
UNFINISHED = "Being made by the role virtinfra.manager.vm_backup_restore. Do not start it: run the role again."

# The words of the mark of a VM: how it was before it was stopped, and after the first one that it may be half written.
WRITING, RUNNING, STOPPED = "writing", "Running", "Stopped"

# The states of a VM that a call of this role is changing.
CHANGING = ("Starting", "Stopping")

NOTHING = "Nothing was changed."

# What became of a volume: the words of backup_restore, and one for what the data mover has not said.
WRITTEN, UNTOUCHED, UNKNOWN = ("restored", "unchanged"), "untouched", "unknown"


class Settings(VmBackupRestoreSettings):
    """The variables of the role, and what follows from them."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The states of the VM in which a restore may begin."""
        return (STOPPED, RUNNING) if self.stop else (STOPPED,)

    @property
    def creates(self) -> bool:
        """Whether the VM is made."""
        return self.state == CREATED

    @property
    def is_about_disks(self) -> bool:
        """Whether disks are attached or removed, so that no VM is written."""
        return self.state in (ATTACHED, DETACHED)

    def check(self) -> None:
        """Raise InvalidOptions for variables that do not fit."""
        check_repository(self.repository, "vm_backup_restore_repository")
        if self.to_directory and (self.volumes or self.map or self.start or self.stop):
            raise InvalidOptions(
                "vm_backup_restore_to_directory writes all volumes of the point into files, and does not touch the VM."
                " Omit vm_backup_restore_volumes, vm_backup_restore_map, vm_backup_restore_stop and"
                " vm_backup_restore_start"
            )
        if self.creates and (self.to_directory or self.volumes or self.map or self.stop):
            raise InvalidOptions(
                "vm_backup_restore_state created makes a VM with all volumes of the point. Omit"
                " vm_backup_restore_to_directory, vm_backup_restore_volumes, vm_backup_restore_map and"
                " vm_backup_restore_stop"
            )
        if self.is_about_disks and (self.to_directory or self.map or self.stop or self.start):
            raise InvalidOptions(
                f"vm_backup_restore_state {self.state} is about disks of a VM that goes on running. Omit"
                " vm_backup_restore_to_directory, vm_backup_restore_map, vm_backup_restore_stop and"
                " vm_backup_restore_start"
            )
        if self.state == ATTACHED and len(self.volumes) != 1:
            raise InvalidOptions("vm_backup_restore_state attached needs one volume in vm_backup_restore_volumes")
        if self.attach_to and not self.is_about_disks:
            raise InvalidOptions("vm_backup_restore_attach_to needs vm_backup_restore_state attached or detached")
        if (self.name or self.cluster) and not self.creates:
            raise InvalidOptions(
                "vm_backup_restore_name and vm_backup_restore_cluster are those of a VM that is made. Set"
                " vm_backup_restore_state to created"
            )
        if self.rate_limit < 0:
            raise InvalidOptions(f"vm_backup_restore_rate_limit must be at least 0, not {self.rate_limit}")


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the mover to ask for points, and the VM whose points it lists: all, if it is not that of the point."""
    settings = Settings(**options)
    settings.check()
    vm = None if settings.to_directory or settings.creates else _find_vm(site, settings.vm)
    uuids = [vm["uuid"]] if vm and not settings.map else None
    asked = {"vm_uuids": uuids, "mover": settings.mover, "repository": settings.repository}
    return Report("volumes", next={**asked, "records": settings.creates})


def _find_vm(site: Site, reference: str) -> Record | None:
    """Return the VM with a uuid or a name, None if there is none. Raise InvalidOptions if there are several."""
    selection = site.select_vms([], [reference])
    if len(selection.objects) > 1:
        raise InvalidOptions(
            f"several VMs have the name or uuid {reference}. {NOTHING} Check vm_backup_restore_vm, or give a uuid"
        )
    return next(iter(selection.objects), None)


def _refuse_missing(site: Site, points: Sequence[Record], settings: Settings) -> None:
    """Raise InvalidOptions that says how a VM comes back that is not there."""
    rows = [vm for vm in site.read("vm_info")["vms"] if settings.vm in (vm["uuid"], vm["name"])]
    destroyed = "".join(
        f" The VM {vm['uuid']} with this name is only destroyed: the module vm recovers it with recover: true, and its"
        " newest state with it, but for its data volumes."
        for vm in rows
        if vm["state"] == GONE[0]
    )
    found = [point for point in points if settings.vm in (point["vm_uuid"], point["vm_name"])]
    newest = max((str(point["point"]) for point in found), default=None)
    way = (
        f"The repository has its point {newest}. Set vm_backup_restore_state to created, which makes the VM again, or"
        " vm_backup_restore_to_directory, which writes the volumes into files"
        if newest
        else "The repository has no point of it. Check vm_backup_restore_vm"
    )
    raise InvalidOptions(f"no VM has the name or uuid {settings.vm}. {NOTHING}{destroyed} {way}")


def plan(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Return what would be overwritten. Raise InvalidOptions if anything speaks against it."""
    settings, listed = Settings(**options), given["listed"]
    if settings.creates:
        return Report("volumes", next=_plan_creation(site, listed, settings))
    if settings.is_about_disks:
        return Report("volumes", next=_plan_disks(site, listed, settings))
    vm = None if settings.to_directory else _find_vm(site, settings.vm)
    if vm is None and not settings.to_directory:
        _refuse_missing(site, listed["points"], settings)
    point = choose_point(listed["points"], vm, settings)
    if vm is None:
        lines = [f"All volumes of the point {point['point']} are written into files in {settings.to_directory}."]
        targets = [_describe_file(copy, settings) for copy in point["volumes"]]
        files = {"vm": None, "point": point, "targets": targets, "lines": lines}
        return Report("volumes", next={**files, "runs": [], "checks": [], "has_leftover": False})
    vm = _await_earlier(site, vm, point, settings)
    ended = list_ended({"others": listed["runs"]})
    refuse_busy(vm, site.read("cbt_task_info")["cbt_tasks"], listed, ended, settings)
    targets = choose_targets(point, vm, settings)
    if settings.snapshot_first:
        _refuse_lack_of_room(site, targets, [each for each in listed["points"] if each["vm_uuid"] == point["vm_uuid"]])
    planned = {"vm": vm, "point": point, "targets": targets, **_plan_work(vm, point, targets, listed, ended, settings)}
    return Report("volumes", next={**planned, "lines": describe(vm, point, targets)})


def _await_earlier(site: Site, vm: Record, point: Record, settings: Settings) -> Record:
    """Return the VM, after the end of the call with which an earlier run is starting or stopping it.

    Raise VirtinfraError if it does not end in time.
    """
    if vm["state"] not in CHANGING:
        return vm
    mark = _VmMark(site, {"vm": vm, "point": point})
    if mark.was:
        mark.settle(settings.timeout)
    return _find_vm(site, vm["uuid"]) or {**vm, "state": "gone"}


def _plan_work(
    vm: Record, point: Record, targets: Sequence[Record], listed: Record, ended: list[str], settings: Settings
) -> Record:
    """Return the run that takes the VM, and what the data mover checks."""
    # The point may be that of another VM, whose folder says how far the restore is.
    vms = list(dict.fromkeys((point["vm_uuid"], vm["uuid"])))
    run = {"run": str(uuid4()), "owner": describe_owner(settings.timeout + SILENCE), "vm_uuids": vms, "ended": ended}
    # The exports of a run that was killed remain.
    has_leftover = any(each["run"] in ended and vm["uuid"] in each["vm_uuids"] for each in listed["runs"])
    # Whatever can be read is read before the VM is stopped.
    check = {**_describe_copy(point, settings), "sources": [target["source"] for target in targets], "run": run["run"]}
    return {"runs": [run], "checks": [check], "has_leftover": has_leftover}


def _plan_creation(site: Site, listed: Record, settings: Settings) -> Record:
    """Return the plan for a VM that is made of a point, or that an earlier run has made. Raise InvalidOptions."""
    point = choose_point(listed["points"], None, settings)
    name, copies = settings.name or str(point["vm_name"]), list_copies(point)
    vms: list[Record] = site.read("vm_info")["vms"]
    uuid = choose_uuid(f"vm_backup_restore {point['vm_uuid']} {point['point']} {name}", index(vms))
    made = next((vm for vm in vms if vm["uuid"] == uuid), None)
    _refuse_twins(name, uuid, vms)
    targets = [
        {"source": copy["volume_uuid"], "uuid": None, "name": name_volume(point, copy), "size": copy["size"]}
        for copy in copies
    ]
    if made and not is_unfinished(made):
        line = f"The VM {name} ({uuid}) was made of the point {point['point']} by an earlier run, and stays as it is."
        idle = {"runs": [], "checks": [], "has_leftover": False, "call": None}
        return {"vm": made, "point": point, "targets": targets, **idle, "lines": [line]}
    nics = list_nics(point, settings.nics)
    if conflicts := find_conflicts(nics, uuid, vms):
        raise InvalidOptions(
            f"{'; '.join(conflicts)}. {NOTHING} Set vm_backup_restore_nics to {NEW} or {NONE}, or detach these NICs"
        )
    _refuse_missing_networks(site, nics)
    vm = made or {"uuid": uuid, "name": name, "state": STOPPED, "all_volumes": []}
    ended = list_ended({"others": listed["runs"]})
    refuse_busy(vm, [], listed, ended, settings)
    # The description is there from the first moment, so that the VM is never taken for a whole one.
    description = f"{UNFINISHED} Restore point {point['point']} of {point['vm_name']}."
    cluster = choose_cluster(site, point, settings.cluster, "vm_backup_restore_cluster")
    call = describe_call(point, name=name, description=description, resourceUuid=uuid, clusterUuid=cluster)
    work = _plan_work(vm, point, targets, listed, ended, settings)
    planned = {"vm": vm, "point": point, "targets": targets, **work, "call": call, "nics": nics}
    return {**planned, "lines": describe_creation(planned)}


def _plan_disks(site: Site, listed: Record, settings: Settings) -> Record:
    """Return the plan for a disk that is attached, or for those that are removed. Raise InvalidOptions."""
    idle = {"runs": [], "checks": [], "has_leftover": False}
    source_vm = _find_vm(site, settings.vm)
    vm = _find_vm(site, settings.attach_to) if settings.attach_to else source_vm
    if settings.state == DETACHED:
        # The disks name their VM by its uuid, also when it is gone.
        gone = {"uuid": settings.attach_to or settings.vm, "name": settings.attach_to or settings.vm}
        disks = list_disks(site, (vm or gone)["uuid"])
        lines = [f"These disks of {(vm or gone)['name']} are removed: {name_disks(disks)}"]
        return {"vm": vm or gone, "point": None, "targets": [], **idle, "disks": disks, "lines": lines}
    if vm is None:
        raise InvalidOptions(
            f"no VM has the name or uuid {settings.attach_to or settings.vm}, so it gets no disk. {NOTHING} Set"
            " vm_backup_restore_attach_to"
        )
    point = choose_point(listed["points"], source_vm, settings)
    (source,) = settings.volumes
    disk = plan_disk(site, vm, point, source)
    known = {"source": source, "uuid": (disk["made"] or {}).get("uuid"), "size": disk["size"]}
    targets = [{**known, "name": disk["call"]["name"]}]
    planned = {"vm": vm, "point": point, "targets": targets, "disk": disk, "lines": list_lines(vm, point, disk)}
    if disk["made"]:
        return {**planned, **idle}
    ended = list_ended({"others": listed["runs"]})
    carrier = {**vm, "uuid": disk["call"]["resourceUuid"]}
    return {**planned, **_plan_work(carrier, point, targets, listed, ended, settings)}


def is_unfinished(vm: Record) -> bool:
    """Return whether the workflow has made a VM, and not finished it."""
    return str(vm.get("description")).startswith(UNFINISHED)


def _refuse_twins(name: str, uuid: str, vms: Sequence[Record]) -> None:
    """Raise InvalidOptions if another VM has the name of the new one."""
    if twin := next((vm for vm in vms if vm["name"] == name and vm["uuid"] != uuid and vm["state"] not in GONE), None):
        raise InvalidOptions(
            f"a VM has the name {name} already ({twin['uuid']}). {NOTHING} To write the point into it, omit"
            " vm_backup_restore_state. To make another VM beside it, set vm_backup_restore_name"
        )


def _refuse_missing_networks(site: Site, nics: Sequence[Record]) -> None:
    """Raise InvalidOptions if a network of the new VM does not exist."""
    wanted = {nic["l3_network"] for nic in nics}
    known = (
        {each["uuid"] for each in site.read("resource_info", resource_type="l3_network")["resources"]} if nics else ()
    )
    if missing := sorted(wanted.difference(known)):
        raise InvalidOptions(
            f"the service has no L3 networks {', '.join(missing)}, which the VM had. {NOTHING} Set"
            f" vm_backup_restore_nics to {NONE}, and attach NICs with the module vm_nic"
        )


def describe_creation(planned: Record) -> list[str]:
    """Return lines that say what VM is made."""
    call, point = planned["call"], planned["point"]
    lines = [f"The VM {call['name']} is made of the point {point['point']} of {point['vm_name']}, with these volumes:"]
    lines += [f"- {target['name']} ({target['source']}), {target['size']} bytes" for target in planned["targets"]]
    lines += [f"- not {each['name']} ({each['volume_uuid']}): {each['reason']}" for each in point.get("left_out") or ()]
    nics = [
        f"- a NIC in the network {nic['l3_network']}, {nic.get('static_ip') or 'new address'}"
        for nic in planned["nics"]
    ]
    return lines + (nics or ["- no NIC"])


def _describe_file(copy: Record, settings: Settings) -> Record:
    """Return the file that is written for a volume of the point."""
    path = f"{settings.to_directory}/{copy['volume_uuid']}.raw"
    return {"source": copy["volume_uuid"], "uuid": path, "name": path, "size": copy["size"]}


def _describe_copy(point: Record, settings: Settings) -> Record:
    """Return what each task of the data mover about the point needs."""
    options = {"repository": settings.repository, "rate_limit": settings.rate_limit}
    return {**options, "vm_uuid": point["vm_uuid"], "point": point["point"]}


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
    if not newest["volumes"]:
        raise InvalidOptions(f"the point {newest['point']} has no volumes. {NOTHING} Choose another point")
    return newest


def refuse_busy(vm: Record, tasks: Sequence[Record], listed: Record, ended: Sequence[str], settings: Settings) -> None:
    """Raise InvalidOptions if the VM runs, or something reads or writes its volumes. Runs that have ended do not."""
    if vm["state"] not in settings.accepted:
        hint = "" if settings.stop else " Stop it" if settings.creates else " Stop it, or set vm_backup_restore_stop"
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
        if target["size"] is None:
            raise InvalidOptions(
                f"the service does not say how large the volume {target['name']} ({uuid}) is, and its copy has {size}"
                f" bytes. {NOTHING}"
            )
        if target["size"] < size or (target["size"] > size and not settings.allow_larger):
            raise InvalidOptions(
                f"the volume {target['name']} ({uuid}) has {target['size']} bytes, and its copy {size}. {NOTHING} A"
                " volume that is larger is accepted with vm_backup_restore_allow_larger"
            )
        storage = target.get("primary_storage_uuid")
        known = {"name": target["name"], "size": target["size"], "storage": storage, "point": point["point"]}
        targets.append({"source": source, "uuid": uuid, **known})
    if len({target["uuid"] for target in targets}) < len(targets):
        raise InvalidOptions(f"vm_backup_restore_map has several copies for one volume. {NOTHING}")
    return targets


def _refuse_lack_of_room(site: Site, targets: Sequence[Record], points: Sequence[Record]) -> None:
    """Raise InvalidOptions if a primary storage may become full while volumes are written that have a new snapshot.

    What is written is kept beside the snapshot. ``points`` are those of the VM of the point.
    """
    try:
        storages = site.read("primary_storage_info")["primary_storages"]
    except VirtinfraError as failure:
        site.warn(f"It is not known whether the primary storages have room for the restore: {failure}")
        return
    needed: Counter[str] = Counter()
    for target in targets:
        needed[str(target["storage"])] += count_written(target, points)
    for storage in storages:
        free, most = storage.get("available_physical_capacity"), needed[str(storage["uuid"])]
        if free is not None and free < most:
            raise InvalidOptions(
                f"the primary storage {storage.get('name')} has {free} bytes free, and up to {most} are written beside"
                f" the snapshot group. {NOTHING} Free space on it, or set vm_backup_restore_snapshot_first to false"
            )


def count_written(target: Record, points: Sequence[Record]) -> int:
    """Return how many bytes a restore of a volume writes at most: its size, or what the files of its copy have."""
    by_stamp = {point["point"]: point for point in points}
    stamp, total = target["point"], 0
    while stamp is not None:
        copies = by_stamp[stamp]["volumes"] if stamp in by_stamp else ()
        copy: Record = next((each for each in copies if each["volume_uuid"] == target["source"]), {})
        if copy.get("file_bytes") is None or copy.get("compression") != "none":
            return int(target["size"])
        total, stamp = total + int(copy["file_bytes"]), copy["base"]
    return min(int(target["size"]), total)


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
    if vm and settings.state == RESTORED and not site.check_mode and settings.confirm != vm["name"]:
        raise InvalidOptions(
            f"vm_backup_restore_confirm must be the name of the VM, {vm['name']}, because the volumes that were listed"
            f" are overwritten. {NOTHING}"
        )
    return Report("volumes")


def begin(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Stop the VM if asked, take a snapshot group, and export the volumes; return what was done if that fails.

    Raise VirtinfraError if nothing was done, because another run has the VM, or the point is damaged.
    """
    settings, planned = Settings(**options), given["plan"]
    vm, point = planned["vm"], planned["point"]
    if problem := find_obstacle(given):
        raise VirtinfraError(f"{problem} {NOTHING}")
    if settings.is_about_disks:
        return _begin_disks(site, planned, settings)
    common = _describe_copy(point, settings)
    common |= {name: getattr(settings, name) for name in ("only_different", "allow_larger")}
    if vm is None:
        files = {"volumes": None, "directory": settings.to_directory}
        work = {**common, **files, "run": None, "check": True, "remember": True}
        return Report("volumes", next={"work": [work], "snapshot_group": None})
    if not planned["runs"]:
        return Report("volumes", next={"work": [], "snapshot_group": None, "is_done": True})
    if site.check_mode:
        return Report("volumes", next={"work": [], "snapshot_group": None}, has_changed=True)
    begun = _Begun(planned)
    try:
        if settings.creates:
            begun.plan = planned = _make_vm(site, planned, settings)
        infos = _prepare(site, planned, settings, begun)
    except VirtinfraError as failure:
        # The last step needs to know what was done until then.
        return Report("volumes", next={"work": [], **asdict(begun), "problem": str(failure)})
    # The files were checked just before. Again, it would take time in which the VM is off.
    run = planned["runs"][0]["run"]
    work = {**common, "volumes": infos, "directory": None, "run": run, "check": False, "remember": True}
    return Report("volumes", next={"work": [work], **asdict(begun)}, has_changed=True)


def _begin_disks(site: Site, planned: Record, settings: Settings) -> Report:
    """Make and export the disk that is attached, unless an earlier run has written it. Disks are removed at the end."""
    if site.check_mode or not planned["runs"]:
        has_changed = site.check_mode and not _has_all_disks(planned)
        return Report("volumes", next={"work": [], "snapshot_group": None}, has_changed=has_changed)
    try:
        uuid, infos = export_disk(site, planned["disk"], settings.host_address, settings.timeout)
    except VirtinfraError as failure:
        return Report("volumes", next={"work": [], "problem": str(failure)}, has_changed=True)
    where = {"volumes": infos, "directory": None, "run": planned["runs"][0]["run"]}
    # The disk is empty, and no backup knows it.
    how = {"only_different": False, "allow_larger": False, "check": False, "remember": False}
    work = {**_describe_copy(planned["point"], settings), **where, **how}
    return Report("volumes", next={"work": [work], "written": uuid}, has_changed=True)


def _has_all_disks(planned: Record) -> bool:
    """Return whether nothing is to be done: the disk is attached, or none is to be removed."""
    if "disks" in planned:
        return not planned["disks"]
    made = planned["disk"]["made"]
    return bool(made and made.get("vm_instance_uuid") == planned["vm"]["uuid"])


def _end_disks(site: Site, planned: Record, settings: Settings, given: Record) -> Report:
    """Attach the disk that is written, or remove disks, and return an entry for each."""
    if "disks" in planned:
        return _remove_disks(site, planned, settings)
    begun, results = given["begun"].get("next") or {}, given.get("restored") or []
    disk, is_done, name = planned["disk"], _has_all_disks(planned), planned["vm"]["name"]
    site.ask(Wish({disk["source"]: {"vm": name, "volume": disk["source"]}}))
    rows = list_volumes(planned["targets"], results, site.check_mode)
    problems = list(filter(None, [find_failure(given["begun"]), begun.get("problem"), *map(find_failure, results)]))
    is_written = bool(results) and all(row["state"] in WRITTEN for row in rows)
    if not (problems or disk["made"] or is_written or site.check_mode):
        problems.append("The data mover has not said that it has written the volume")
    uuid = begun.get("written") or (disk["made"] or {}).get("uuid")
    if not site.check_mode and not find_obstacle(given):
        written = begun.get("written") if is_written and not problems else None
        problems += finish_disk(site, planned["vm"], disk, written, settings.timeout)
    state = "unchanged" if is_done else "restored"
    rows = [{**row, "target": uuid, "state": row["state"] if problems else state} for row in rows]
    return Report("volumes", build_entries(planned, rows, problems, None), has_changed=not (is_done or site.check_mode))


def _remove_disks(site: Site, planned: Record, settings: Settings) -> Report:
    """Remove the disks of a VM, and what runs that were killed have left, and return an entry for each disk."""
    vm, entries = planned["vm"], list[Entry]()
    asked = {disk["uuid"]: {"vm": vm["name"], "volume": disk["uuid"]} for disk in planned["disks"]}
    site.ask(Wish(asked, lambda: index(list_disks(site, vm["uuid"])), find_left))
    for disk in planned["disks"]:
        error = None if site.check_mode else remove_disk(site, disk, settings.timeout)
        row = {"volume_uuid": disk["uuid"], "target": disk["uuid"], "size": disk["size"], "state": "removed"}
        entries += build_entries({"vm": vm, "point": {"point": None}}, [row], [error] if error else [], None)
    if not site.check_mode:
        for problem in remove_carriers(site, vm["uuid"], settings.timeout):
            site.warn(problem)
    return Report("volumes", entries, has_changed=bool(planned["disks"]))


@dataclass
class _Begun:
    """What was done before the volumes are written: this snapshot group taken, the volumes exported.

    ``plan`` is that of the restore, with the VM and its volumes if this run, or an earlier one, has made them.

    ``is_marked`` says whether the VM has the mark of this run; ``ran`` whether it ran until this run, or an earlier one
    that was interrupted, stopped it; ``is_off`` whether it is known to be stopped; ``was_half`` whether an earlier run
    may have left it half written.
    """

    plan: Record
    is_marked: bool = False
    ran: bool = False
    is_off: bool = False
    was_half: bool = False
    snapshot_group: str | None = None
    exported: bool = False


def _make_vm(site: Site, planned: Record, settings: Settings) -> Record:
    """Make the VM unless an earlier run has, and return the plan with its volumes. Raise VirtinfraError."""
    vm = make(site, planned["call"], settings.timeout)
    if not is_unfinished(vm):
        raise VirtinfraError(f"The VM {vm['name']} ({vm['uuid']}) is not one that this role makes. It stays as it is.")
    return _adopt(planned, vm, settings)


def _adopt(planned: Record, vm: Record, settings: Settings) -> Record:
    """Return the plan with a VM that was made, and its volumes. Raise VirtinfraError if it has others than it must."""
    mapped = replace(settings, map=match_volumes(planned["point"], vm))
    return {**planned, "vm": vm, "targets": choose_targets(planned["point"], vm, mapped)}


def _finish_vm(site: Site, planned: Record, settings: Settings) -> list[str]:
    """Give a VM that was made its NICs and its description, and return why it is not as it was."""
    vm, point = planned["vm"], planned["point"]
    problems = attach_nics(site, vm["uuid"], planned["nics"], settings.timeout)
    if problems:
        return [
            *problems,
            "Run the role again when the address is free, or attach the NIC with the module vm_nic first",
        ]
    description = point["vm"].get("description") or f"Made of the restore point {point['point']} of {point['vm_name']}."
    result = site.change("vm", {"uuid": vm["uuid"], "description": description}, wait_timeout=settings.timeout)
    return [f"The VM is restored, but could not get its description: {result['msg']}"] if result["failed"] else []


class _VmMark:
    """The mark of the VM, which says what this run will put back, and whether the VM may be half written.

    Its label is the name of the point.
    """

    def __init__(self, site: Site, planned: Record) -> None:
        self._site, self._uuid = site, str(planned["vm"]["uuid"])
        self._marks = Marks(site, "vm_backup_restore", planned["point"]["point"].lower(), "VmInstanceVO", 1)
        self._found = self._find()

    def _find(self) -> list[Mark]:
        return [mark for mark in self._marks.find() if mark.object_uuid == self._uuid]

    @property
    def says_writing(self) -> bool:
        """Whether the VM may be half written."""
        return any(WRITING in mark.note.split() for mark in self._found)

    @property
    def was(self) -> str | None:
        """The state of the VM before the first run that has not ended well, None without one."""
        return self._found[0].was if self._found else None

    @property
    def texts(self) -> str:
        """The tags that the VM has."""
        return ", ".join(f"'{mark.text}'" for mark in self._found)

    def settle(self, timeout: int) -> None:
        """Wait until no call of an earlier run is in flight. Raise VirtinfraError if one is."""
        for problem in self._marks.settle(self._found, timeout).values():
            raise VirtinfraError(f"{problem}. {NOTHING} Wait until it has ended")

    def set(self, was: str, is_writing: bool) -> None:
        """Mark the VM, in place of the mark that it has. Raise VirtinfraError if the service does not show the mark."""
        note = f"{WRITING} {was}" if is_writing else was
        self._found = [*self._marks.set({self._uuid: note}, self._found).marks.values()]

    def power(self, state: str, timeout: int) -> str | None:
        """Start or stop the VM, and return why that has failed. Another run can find a call that is in flight."""
        jobs = self._marks.choose_jobs(self._found)
        (result,) = self._site.batch("vm", [{"uuid": self._uuid}], 1, jobs, state=state, wait_timeout=timeout)
        if not result["failed"] and (result.get("vm") or {}).get("state", "").lower() != state:
            return f"the service does not show that it is {state}"
        return str(result["msg"]) if result["failed"] else None

    def export(self, volumes: Record, timeout: int) -> Record:
        """Export volumes of the VM, and return the result. Another run can find a call that is in flight."""
        jobs = self._marks.choose_jobs(self._found)
        (result,) = self._site.batch("cbt_volume_export", [volumes], 1, jobs, wait_timeout=timeout)
        return result

    def take_off(self) -> list[str]:
        """Take off the mark, and one that a later mark could not replace. Return why a mark remains."""
        self._found = self._find()
        reasons = self._marks.take_off(self._found).values()
        return [f"The tag {self.texts} of the VM could not be removed: {reason}. Remove it" for reason in reasons]


def _prepare(site: Site, planned: Record, settings: Settings, begun: _Begun) -> list[Record]:
    """Prepare the VM, note it in ``begun``, and return the exports of its volumes. Raise VirtinfraError."""
    vm, targets = planned["vm"], planned["targets"]
    mark = _VmMark(site, planned)
    mark.settle(settings.timeout)
    state = _require_unchanged(site, vm, targets, settings.accepted)
    was = mark.was if mark.was and state == STOPPED else state
    begun.was_half = mark.says_writing
    mark.set(was, begun.was_half)
    begun.is_marked = True
    begun.ran, begun.is_off = was == RUNNING, state == STOPPED
    if state != STOPPED:
        if reason := mark.power("stopped", settings.timeout):
            raise VirtinfraError(f"The VM could not be stopped: {reason}")
        begun.is_off = True
        _require_unchanged(site, vm, targets, (STOPPED,))
    if settings.snapshot_first and not settings.creates:
        begun.snapshot_group = _take_snapshots(site, vm, settings)
    mark.set(was, is_writing=True)
    if planned["has_leftover"] or begun.was_half:
        # Exports of a run that was killed would prevent those of this one.
        _end_exports(site, planned)
    exported = mark.export(_describe_exports(planned), settings.timeout)
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


def find_obstacle(given: Record) -> str | None:
    """Return why nothing may be done: another run has the VM, or the point cannot be restored. None if neither is so.

    ``given`` has the results of the tasks that have taken the VM and checked the files.
    """
    planned = given["plan"]
    if problem := find_other_work(planned["runs"], given["taken"]):
        return problem
    for check, result in zip(planned["checks"], given["checked"], strict=True):
        if problem := find_failure(result):
            return f"The point {check['point']} could not be checked, or is damaged: {problem.rstrip('.')}."
        if {row["volume_uuid"] for row in result["volumes"]} != {*check["sources"]}:
            return f"The data mover has not checked all volumes of the point {check['point']}."
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


def _require_unchanged(site: Site, vm: Record, targets: Sequence[Record], accepted: Sequence[str]) -> str:
    """Return the state of the VM. Raise VirtinfraError unless it is accepted, and the VM has the volumes to write."""
    current = site.select_vms([], [vm["uuid"]]).objects
    attached = {volume["uuid"] for each in current for volume in each["all_volumes"] or ()}
    state = str(current[0]["state"]) if current else "gone"
    if state not in accepted or not attached.issuperset(target["uuid"] for target in targets):
        raise VirtinfraError(f"{vm['name']} has changed meanwhile: it is {state}. No volume was overwritten.")
    return state


def _take_snapshots(site: Site, vm: Record, settings: Settings) -> str:
    """Take a snapshot group of the VM, and return its name."""
    name = f"before-restore-{site.get_date():%Y%m%dT%H%M%SZ}"
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
    """End the exports, leave the VM as it has to be, and return an entry for each volume."""
    settings, planned, begun = Settings(**options), given["plan"], given["begun"].get("next") or {}
    if settings.is_about_disks:
        return _end_disks(site, planned, settings, given)
    if settings.creates:
        planned = begun.get("plan") or _find_made(site, planned, settings)
    vm, results = planned["vm"], given.get("restored") or []
    name = (vm or {"name": planned["point"]["vm_name"]})["name"]
    site.ask(Wish({each["source"]: {"vm": name, "volume": each["source"]} for each in planned["targets"]}))
    rows = list_volumes(planned["targets"], results, site.check_mode)
    if begun.get("is_done"):
        rows = [{**row, "state": "unchanged"} for row in rows]
    problems = list(filter(None, [find_failure(given["begun"]), begun.get("problem"), *map(find_failure, results)]))
    if not problems and not all(row["state"] in WRITTEN for row in rows):
        problems.append("The data mover has not said that it has written all volumes")
    if vm and not begun.get("is_done") and _may_have_begun(site, given):
        # A step that was interrupted does not say whether it has exported the volumes and stopped the VM.
        begun = begun or {"exported": has_targets(planned), "ran": vm["state"] != STOPPED}
        _finish(site, settings, _Restored(planned, begun, rows, problems))
    return Report("volumes", build_entries(planned, rows, problems, begun.get("snapshot_group")))


def has_targets(planned: Record) -> bool:
    """Return whether the volumes to write exist. Those of a VM that was not made do not."""
    return all(target["uuid"] for target in planned["targets"])


def _find_made(site: Site, planned: Record, settings: Settings) -> Record:
    """Return the plan with the VM that an interrupted step has made; as it is if it has made none, or in check mode."""
    if site.check_mode or not planned["call"]:
        return planned
    try:
        vm = find(site, planned["vm"]["uuid"])
        return _adopt(planned, vm, settings) if vm and is_unfinished(vm) else planned
    except VirtinfraError:
        return planned


def _may_have_begun(site: Site, given: Record) -> bool:
    """Return whether this run may have changed anything. Exports of others stay."""
    if site.check_mode or find_obstacle(given):
        return False
    return bool(given["begun"].get("next") or given["begun"].get("failed"))


@dataclass
class _Restored:
    """A restore whose volumes are written, or will not be: the plan, what was done before, the rows of the volumes.

    ``problems`` are why it has failed.
    """

    planned: Record
    begun: Record
    rows: Sequence[Record]
    problems: list[str]

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written, in no volume."""
        return all(row["state"] in (UNTOUCHED, "unchanged") for row in self.rows)


def _finish(site: Site, settings: Settings, done: _Restored) -> None:
    """End the exports, leave the VM as it has to be, and note what has failed."""
    was_started = None if done.is_untouched else find_start(site, done.planned["vm"])
    problems = done.problems
    if was_started:
        problems.append(was_started)
    remains = _find_remaining_exports(site, done)
    if remains:
        problems.append(f"{remains.rstrip('.')}. To be safe, {HOW_TO_END}")
    if not done.begun.get("is_marked", True):
        return
    try:
        mark = _VmMark(site, done.planned)
        may_be_half = not done.is_untouched or done.begun.get("was_half", mark.says_writing)
        if not problems and settings.creates:
            problems += _finish_vm(site, done.planned, settings)
        if not problems:
            _leave(mark, settings.start, settings, problems, "The VM is restored, but could not be started")
        elif done.begun["ran"] and not (may_be_half or remains):
            _leave(mark, True, settings, problems, "The VM was stopped, and could not be started again")
        else:
            if done.begun.get("is_off") and not was_started and (settings.start or settings.stop or may_be_half):
                problems.append("The VM was not started")
            if may_be_half or remains:
                problems.append(f"It has the tag {mark.texts} until a restore has succeeded")
            else:
                problems += mark.take_off()
    except VirtinfraError as failure:
        problems.append(f"The mark of the VM could not be changed, so it was not started: {failure}")


def _find_remaining_exports(site: Site, done: _Restored) -> str | None:
    """End the exports, and return why they may remain, None if they do not."""
    if not done.begun["exported"]:
        return None
    ended = _end_exports(site, done.planned)
    if ended["failed"]:
        return f"The exports could not be ended: {ended['msg']}"
    if done.begun.get("is_off") and not ended["changed"]:
        return "It is not known whether the exports have ended"
    return None


def _leave(mark: _VmMark, is_started: bool, settings: Settings, problems: list[str], failure: str) -> None:
    """Start a VM that is not half written if it has to run, and take its mark off. Raise VirtinfraError."""
    if is_started:
        # The run may be killed now. The VM is whole, and has only to be started.
        mark.set(RUNNING, is_writing=False)
        if reason := mark.power("running", settings.timeout):
            problems.append(f"{failure}: {reason}")
            return
        if problems:
            problems.append("The VM runs, as before")
    problems += mark.take_off()


def find_start(site: Site, vm: Record) -> str | None:
    """Return that the VM, whose volumes were written, does not stand still any more, None if it does."""
    try:
        current = site.select_vms([], [vm["uuid"]]).objects
    except VirtinfraError as failure:
        return f"It is not known whether the VM was started while its volumes were written: {failure}"
    state = current[0]["state"] if current else "gone"
    if state == "Stopped":
        return None
    return (
        f"The VM is {state}: it was started, or removed, while its volumes were written, by somebody or by the high"
        " availability of the service. Its volumes are not those of the point. Stop it, and run the role again"
    )


def find_failure(result: Record) -> str | None:
    """Return why a task has failed, None if it has not."""
    return find_reason(result, "The data mover is unreachable")


def list_volumes(targets: Sequence[Record], results: Sequence[Record], predicts: bool) -> list[Record]:
    """Return what became of each target: what backup_restore returned, or what is known without it."""
    known = {row["volume_uuid"]: row for result in results for row in result.get("volumes") or ()}
    state = "restored" if predicts else UNTOUCHED
    if any("volumes" not in result for result in results):
        # The module did not return: its process was killed, or its machine is unreachable.
        state = UNKNOWN
    return [
        known.get(each["source"])
        or {"volume_uuid": each["source"], "target": each["uuid"], "size": each["size"], "state": state}
        for each in targets
    ]


def build_entries(planned: Record, rows: Sequence[Record], problems: Sequence[str], group: str | None) -> list[Entry]:
    """Return an entry for each volume."""
    vm, point = planned["vm"], planned["point"]
    entries = []
    for row in rows:
        state = row["state"]
        sentences = [f"{problem.rstrip('.')}." for problem in problems]
        error = " ".join(filter(None, [*sentences, describe_half(row, group)])) if problems else None
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
            "outcome": "failed" if problems else {"restored": "changed", "removed": "changed"}.get(state, state),
            "error": error,
        }
        entries.append(
            Entry(
                Made(word=members["outcome"], error=error),
                str(row["target"] or row["volume_uuid"]),
                members,
                row["volume_uuid"],
            )
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
    known = {"restored": "This volume is restored.", "unchanged": "This volume has the content already.", "removed": ""}
    return known.get(row["state"], "This volume was not overwritten.")


STEPS = {"select": select, "plan": plan, "confirm": confirm, "begin": begin, "end": end}
