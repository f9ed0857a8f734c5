"""Write a restore point back, in two tasks for the data mover: the first one shows what would be written.

Both run modules on the data mover, and call the service from the controller. Before the VM is stopped, whatever can be
read is read, and the point is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import Report
from .._site.site import Site
from .._site.wish import Wish
from .._vm_backups.plan import warn_of_addresses
from .._vm_restores.creation import Creating, plan_creation
from .._vm_restores.disk import Attaching, complete, plan_disk, plan_removal, remove_disks
from .._vm_restores.overwriting import Overwriting, plan_overwriting
from .._vm_restores.plan import NOTHING, choose_point, find_vm
from .._vm_restores.report import build_entries, find_unwritten, list_volumes, name_restore
from .._vm_restores.run import RestoreRun, list_points
from .._vm_restores.settings import ATTACHED, CREATED, DETACHED, FILES, RESTORED, Settings
from .._vm_restores.writing import PointWriting

# The tasks of the role run for the data mover.
RUNS_ON_HOSTS = True


def plan(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return what would be written. Raise InvalidOptions if anything speaks against it."""
    settings = Settings(**options)
    settings.check()
    warn_of_addresses(site, settings.host_address, "vm_backup_restore_host_address")
    return Report("volumes", next=PLANS[settings.kind](site, settings, _read_points(site, settings)))


def _read_points(site: Site, settings: Settings) -> Record:
    """Return the points that may be meant, and the runs in the repository. Raise VirtinfraError."""
    wanted: dict[str, object] = {}
    if settings.kind == CREATED:
        wanted["records"] = True
    elif settings.kind != FILES and not settings.map and (vm := find_vm(site, settings.vm)):
        wanted["vm_uuids"] = [vm["uuid"]]
    return list_points(site, "vm_backup_restore", settings.repository, settings.mover, **wanted)


def _plan_files(dummy: Site, settings: Settings, listed: Record) -> Record:
    """Return which files are written."""
    point, folder = choose_point(listed["points"], None, settings), settings.to_directory
    paths = {copy["volume_uuid"]: f"{folder}/{copy['volume_uuid']}.raw" for copy in point["volumes"]}
    targets = [
        {"source": copy["volume_uuid"], "uuid": paths[copy["volume_uuid"]], "size": copy["size"]}
        for copy in point["volumes"]
    ]
    lines = [f"All volumes of the point {point['point']} are written into files in {folder}."]
    return {"vm": None, "point": point, "targets": targets, "lines": lines}


PLANS: Mapping[str, Callable[[Site, Settings, Record], Record]] = {
    FILES: _plan_files,
    RESTORED: plan_overwriting,
    CREATED: plan_creation,
    ATTACHED: plan_disk,
    DETACHED: plan_removal,
}

WRITINGS: Mapping[str, type[PointWriting]] = {RESTORED: Overwriting, CREATED: Creating, ATTACHED: Attaching}


def restore(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Do what the plan says, and return an entry for each volume."""
    settings, planned = Settings(**options), given["plan"]
    _require_confirmation(site, planned["vm"], settings)
    if settings.kind == DETACHED:
        return remove_disks(site, settings, planned)
    name = name_restore(planned["vm"], planned["point"])["vm"]
    site.ask(Wish({each["source"]: {"vm": name, "volume": each["source"]} for each in planned["targets"]}))
    if settings.kind == FILES:
        return _write_files(site, settings, planned)
    if planned["is_done"] or planned.get("is_made"):
        return _report_done(site, settings, planned)
    return _write(site, settings, planned)


def _require_confirmation(site: Site, vm: Record | None, settings: Settings) -> None:
    """Raise InvalidOptions unless the user has confirmed what is overwritten."""
    if vm and settings.kind == RESTORED and not site.check_mode and settings.confirm != vm["name"]:
        raise InvalidOptions(
            f"vm_backup_restore_confirm must be the name of the VM, {vm['name']}, because the volumes that were listed"
            f" are overwritten. {NOTHING}"
        )


def _write_files(site: Site, settings: Settings, planned: Record) -> Report:
    """Write the volumes of a point into files."""
    point, run = planned["point"], RestoreRun(site, settings.repository, settings.mover, settings.rate_limit)
    result = run.write_files(point, str(settings.to_directory))
    rows = list_volumes(planned["targets"], result, predicts=False)
    problem = run.find_failure(result) or find_unwritten(rows)
    entries = build_entries(name_restore(None, point), rows, [problem] if problem else [])
    return Report("volumes", entries, has_changed=bool(result.get("changed")))


def _report_done(site: Site, settings: Settings, planned: Record) -> Report:
    """Return that an earlier run has done everything, after what it has left of a disk is done."""
    problems = complete(site, settings, planned) if settings.kind == ATTACHED and not site.check_mode else []
    state = "unchanged" if planned["is_done"] else "restored"
    rows = [{**row, "state": state} for row in list_volumes(planned["targets"], None, predicts=True)]
    entries = build_entries(name_restore(planned["vm"], planned["point"]), rows, problems)
    return Report("volumes", entries, has_changed=site.check_mode and not planned["is_done"])


def _write(site: Site, settings: Settings, planned: Record) -> Report:
    """Take the VM, check the files of the point, and write it. Nothing is changed if another run has the VM."""
    point, targets = planned["point"], planned["targets"]
    with RestoreRun(site, settings.repository, settings.mover, settings.rate_limit) as run:
        problems = []
        try:
            # The point may be that of another VM, whose folder says how far the restore is.
            written = planned["call"]["resourceUuid"] if settings.kind == ATTACHED else planned["vm"]["uuid"]
            run.require([*dict.fromkeys((point["vm_uuid"], written))])
            run.check(point, [target["source"] for target in targets])
        except VirtinfraError as failure:
            problems = [f"{str(failure).rstrip('.')}. {NOTHING}"]
        if not (problems or site.check_mode):
            return WRITINGS[settings.kind](site, settings, planned, run).write()
    rows = list_volumes(targets, None, predicts=not problems)
    return Report(
        "volumes", build_entries(name_restore(planned["vm"], point), rows, problems), has_changed=not problems
    )


STEPS = {"plan": plan, "restore": restore}
