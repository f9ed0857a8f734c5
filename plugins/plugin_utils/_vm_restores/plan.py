"""What is written into which volumes, and what speaks against it. All is read before anything is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.references import is_name, unify_uuid
from .._site.site import GONE, Site
from .._vm_backups.plan import find_other_run, has_session, list_ended
from .settings import CREATED, Settings

NOTHING = "Nothing was changed."

# How many points a message names in place of one that does not exist.
MAX_POINTS = 5

# What to do about a point.
_NEWEST = "Omit vm_backup_restore_point for the newest point, or choose one of its newest:"
_ANOTHER = "Choose another point with vm_backup_restore_point"
_CHECKED = "Check vm_backup_restore_vm and vm_backup_restore_repository"


def find_vm(site: Site, reference: str) -> Record | None:
    """Return the VM with a uuid or a name, None if there is none. Raise InvalidOptions if there are several."""
    selection = site.select_vms([], [reference])
    if len(selection.objects) > 1:
        raise InvalidOptions(
            f"several VMs have the name or uuid {reference}. {NOTHING} Check vm_backup_restore_vm, or give a uuid"
        )
    return next(iter(selection.objects), None)


def refuse_missing(site: Site, points: Sequence[Record], settings: Settings) -> None:
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


def choose_point(points: Sequence[Record], vm: Record | None, settings: Settings) -> Record:
    """Return the point to restore, by default the newest. Raise InvalidOptions if there is none, or it is not whole.

    ``points`` can be those of several VMs, and ``vm`` is the one whose point is written, None for any.
    """
    found = [point for point in points if _is_meant(point, vm, settings)]
    sources = sorted({point["vm_uuid"] for point in found})
    if len(sources) > 1:
        raise InvalidOptions(
            f"several VMs have such points: {', '.join(sources)}. {NOTHING} Give a uuid as vm_backup_restore_vm"
        )
    if not found:
        _refuse_keys(points, vm, settings)
        wanted = f"the point {settings.point}" if settings.point else "a point"
        others = {str(point["point"]) for point in points if _is_meant(point, vm, replace(settings, point=None))}
        newest_ones = ", ".join(sorted(others, reverse=True)[:MAX_POINTS])
        hint = f"{_NEWEST} {newest_ones}" if others else _CHECKED
        raise InvalidOptions(
            f"the repository {settings.repository} does not have {wanted} of the VM {settings.vm}. {NOTHING} {hint}"
        )
    newest = max(found, key=lambda point: str(point["point"]))
    if not newest["whole"]:
        problems = "; ".join(newest["problems"])
        raise InvalidOptions(f"the point {newest['point']} is not whole: {problems}. {NOTHING} {_ANOTHER}")
    if not newest["volumes"]:
        raise InvalidOptions(f"the point {newest['point']} has no volumes. {NOTHING} {_ANOTHER}")
    return newest


def _refuse_keys(points: Sequence[Record], vm: Record | None, settings: Settings) -> None:
    """Raise InvalidOptions for keys of the map that are no volumes of any point, with the volumes of the newest one."""
    known = {copy["volume_uuid"] for point in points for copy in point["volumes"]}
    unknown = [str(key) for key in settings.map if key not in known]
    if not unknown:
        return
    unmapped = replace(settings, map={})
    own = [point for point in points if _is_meant(point, None, unmapped) or _is_meant(point, vm, unmapped)]
    newest = max(own, key=lambda point: str(point["point"]), default=None)
    listed = f". The point {newest['point']} has {_name_volumes(newest, vm)}" if newest else ""
    raise InvalidOptions(
        f"vm_backup_restore_map: no point in {settings.repository} has volumes {', '.join(unknown)}. {NOTHING} Its keys"
        f" must be uuids of volumes of the point, and its values uuids of volumes of the VM {settings.vm}{listed}"
    )


def _name_volumes(point: Record, vm: Record | None) -> str:
    """Return the uuids of the volumes of a point, with the names of those that the VM has."""
    names = {volume["uuid"]: f" ({volume['name']})" for volume in (vm and vm["all_volumes"]) or ()}
    return ", ".join(f"{uuid}{names.get(uuid, '')}" for uuid in (copy["volume_uuid"] for copy in point["volumes"]))


def _is_meant(point: Record, vm: Record | None, settings: Settings) -> bool:
    """Return whether the variables mean a point."""
    if settings.point and point["point"] != settings.point:
        return False
    if settings.map:
        return settings.map.keys() <= {copy["volume_uuid"] for copy in point["volumes"]}
    if vm:
        return bool(point["vm_uuid"] == vm["uuid"])
    return settings.vm in (point["vm_uuid"], point["vm_name"])


def refuse_busy(vm: Record, tasks: Sequence[Record], listed: Record, settings: Settings) -> None:
    """Raise InvalidOptions if the VM runs, or something reads or writes its volumes. Runs that have ended do not."""
    if vm["state"] not in settings.accepted:
        hints = {CREATED: " Stop it"}
        hint = "" if settings.stop else hints.get(settings.kind, " Stop it, or set vm_backup_restore_stop")
        raise InvalidOptions(f"a restore needs a stopped VM, and {vm['name']} is {vm['state']}. {NOTHING}{hint}")
    for task in tasks:
        if vm["uuid"] in (task["resource_uuids"] or ()) and has_session(task, is_running=False):
            raise InvalidOptions(
                f"a backup session of {vm['name']} is open: the CBT task {task['name']}. {NOTHING} End this session"
            )
    ended = list_ended({"others": listed["runs"]})
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
        raise InvalidOptions(
            f"the point {point['point']} has no volumes {', '.join(unknown)}. {NOTHING} Give the uuids of its volumes,"
            f" which are {_name_volumes(point, vm)}, in vm_backup_restore_volumes or vm_backup_restore_map"
        )
    targets = []
    for source in dict.fromkeys(settings.volumes or copies):
        uuid = settings.map.get(source, source)
        if uuid not in attached and is_name(unify_uuid(str(uuid))):
            named = ", ".join(f"{each} ({volume['name']})" for each, volume in attached.items())
            raise InvalidOptions(
                f"vm_backup_restore_map: {uuid!r} is no uuid. {NOTHING} Give those of volumes of {vm['name']}: {named}"
            )
        if uuid not in attached:
            raise InvalidOptions(
                f"the volume {uuid} is not attached to {vm['name']}, and volumes of other VMs stay. {NOTHING}"
                " Choose others with vm_backup_restore_volumes, or use vm_backup_restore_map"
            )
        target = attached[uuid]
        _refuse_size(target, copies[source]["size"], settings.allow_larger)
        known = {"name": target["name"], "size": target["size"], "storage": target.get("primary_storage_uuid")}
        targets.append({"source": source, "uuid": uuid, **known, "point": point["point"]})
    if len({target["uuid"] for target in targets}) < len(targets):
        raise InvalidOptions(f"vm_backup_restore_map has several copies for one volume. {NOTHING}")
    return targets


def _refuse_size(target: Record, size: int, allow_larger: bool) -> None:
    """Raise InvalidOptions unless a volume has the size of its copy, or may be larger."""
    name = f"{target['name']} ({target['uuid']})"
    if target["size"] is None:
        raise InvalidOptions(
            f"the service does not say how large the volume {name} is, and its copy has {size} bytes. {NOTHING}"
        )
    if target["size"] < size or (target["size"] > size and not allow_larger):
        raise InvalidOptions(
            f"the volume {name} has {target['size']} bytes, and its copy {size}. {NOTHING} A volume that is larger is"
            " accepted with vm_backup_restore_allow_larger"
        )


def refuse_lack_of_room(site: Site, targets: Sequence[Record], points: Sequence[Record]) -> None:
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


def describe_overwriting(vm: Record, point: Record, targets: Sequence[Record]) -> list[str]:
    """Return lines that say what is overwritten, and which volumes of the VM are not."""
    lines = [f"The point {point['point']} of {point['vm_name']} overwrites these volumes of {vm['name']}:"]
    lines += [f"- {target['name']} ({target['uuid']}), {target['size']} bytes" for target in targets]
    overwritten = {target["uuid"] for target in targets}
    others = [volume for volume in vm["all_volumes"] or () if volume["uuid"] not in overwritten]
    return lines + [f"- not {volume['name']} ({volume['uuid']}), which stays as it is" for volume in others]
