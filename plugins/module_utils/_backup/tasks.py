"""The tasks of the data mover: options become calls, and what they return results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .backup import BackupOutcome, BackupTask, back_up, delete_points
from .failures import BackupFailure
from .images import QemuImg
from .listing import list_points, list_running
from .plan import Export, Wish
from .proofs import write_proof
from .repository import Repository
from .restore import RestoreTask, build_targets, restore
from .retention import check_numbers
from .runs import Runs

Params = Mapping[str, Any]


def run_backup_point(params: Params, predict: bool, qemu: QemuImg) -> dict[str, Any]:
    """Make a point, or delete points."""
    keep = params["keep"] or {}
    repository, warnings = _open_repository(params, predict)
    if params["state"] == "proved":
        return {**_note_proof(repository, params, predict), "warnings": warnings}
    if params["state"] == "present":
        outcome = back_up(repository, _build_backup_task(params, keep), qemu, predict)
    else:
        check_numbers(keep)
        vm_uuid = params["vm_uuid"] or params["vm"].get("uuid")
        outcome = delete_points(repository, vm_uuid, keep, params["points"] or (), predict)
    result = _describe_outcome(outcome)
    return {**result, "warnings": [*warnings, *result["warnings"]]}


def _note_proof(repository: Repository, params: Params, predict: bool) -> dict[str, Any]:
    """Note that points were proved."""
    folder = repository.vm(params["vm_uuid"] or params["vm"].get("uuid"))
    proof = {name: value for name, value in params["proof"].items() if value is not None}
    noted = [write_proof(folder, stamp, proof, predict) for stamp in params["points"]]
    nothing: dict[str, Any] = {"point": None, "kept": [], "kept_as_bases": [], "deleted": [], "problems": []}
    return {"changed": any(noted), **nothing}


def run_backup_point_info(params: Params, dummy_predict: bool, qemu: QemuImg) -> dict[str, Any]:
    """List points."""
    repository = Repository(params["repository"], params["initialize"] or None)
    listed = list_points(repository, params["vm_uuids"], qemu if params["check"] else None, params["records"])
    return {"changed": False, **listed}


def run_backup_run(params: Params, predict: bool, dummy_qemu: QemuImg) -> dict[str, Any]:
    """Take VMs for a run, or give them back."""
    repository, warnings = _open_repository(params, predict)
    run, vm_uuids, runs = params["run"], params["vm_uuids"], Runs(repository)
    nothing: dict[str, Any] = {"changed": False, "taken": [], "others": [], "listed": None}
    result: dict[str, Any] = {**nothing, "jobs": str(runs.locate_jobs(run)), "warnings": warnings}
    if params["state"] == "absent":
        return {**result, "changed": runs.forget(run, predict), "running": [], "results": []}
    if vm_uuids is None:
        result["taken"] = runs.touch(run, predict)
    else:
        result["changed"] = not runs.has(run) or bool(params["ended"])
        result["taken"], others = runs.take(run, params["owner"] or {}, vm_uuids, params["ended"] or (), predict)
        result["others"] = [other.describe() for other in others]
    if not predict:
        runs.decide(run, {uuid: bool(each) for uuid, each in (params["decisions"] or {}).items()})
    # A copy that ends meanwhile is missing among the first, and so is among the second.
    running = list_running(repository, result["taken"])
    if params["list_points"]:
        try:
            result["listed"] = list_points(repository, vm_uuids or result["taken"])
        except (BackupFailure, OSError) as failure:
            # Which other runs have VMs counts also where the points cannot be read.
            raise BackupFailure(str(failure), **result) from failure
    return {**result, "running": running, "results": runs.read_results(run, result["taken"])}


def keep_copy_result(params: Params, result: Mapping[str, Any]) -> None:
    """Keep the result of a copy, from which its run learns at its next sign of life that the copy has ended."""
    if params["run"] and params["state"] == "present":
        runs = Runs(Repository(params["repository"]))
        runs.keep_result(params["run"], str(params["vm"].get("uuid")), result)


def run_backup_restore(params: Params, predict: bool, qemu: QemuImg) -> dict[str, Any]:
    """Write a point back."""
    task = RestoreTask(
        vm_uuid=params["vm_uuid"],
        point=params["point"],
        targets=build_targets(params["volumes"] or ()),
        directory=params["directory"],
        only_checked=params["check_volumes"] or (),
        image_format=params["format"],
        **{name: params[name] for name in ("only_different", "allow_larger", "check", "verify", "rate_limit", "run")},
        remember=params["remember"],
    )
    began = time.monotonic()
    outcome = restore(Repository(params["repository"]), task, qemu, predict)
    return {
        "changed": outcome.is_changed,
        "point": outcome.point,
        "volumes": outcome.describe(),
        "seconds": round(time.monotonic() - began),
        "warnings": outcome.warnings,
    }


def _open_repository(params: Params, predict: bool) -> tuple[Repository, list[str]]:
    """Return the repository, which a task with ``initialize`` makes, and warnings."""
    repository = Repository(params["repository"], params["initialize"])
    if not params["initialize"]:
        return repository, []
    if repository.is_marked:
        warning = (
            f"{repository.root} is a repository already. Remove initialize: with it, a task also makes a repository"
            " of a mount point that is not mounted"
        )
        return repository, [warning]
    if not predict:
        repository.mark()
    return repository, []


def _build_backup_task(params: Params, keep: Mapping[str, int | None]) -> BackupTask:
    """Return the task to make a point. Raise BackupFailure for numbers that make no sense."""
    if not 0 <= params["min_free_percent"] < 100:
        raise BackupFailure(f"min_free_percent must be from 0 to 99, not {params['min_free_percent']}")
    return BackupTask(
        vm=params["vm"],
        exports=[Export.from_info(info) for info in params["volumes"]],
        wish=Wish(params["mode"], params["base_checkpoint"]),
        keep=keep,
        exclude=params["exclude_volumes"] or (),
        **{name: params[name] for name in ("verify", "compare_spread", "compression", "rate_limit")},
        **{name: params[name] for name in ("min_free_percent", "run", "ask")},
    )


def _describe_outcome(outcome: BackupOutcome) -> dict[str, Any]:
    """Return the result of backup_point."""
    return {
        "changed": outcome.before != outcome.after,
        "point": outcome.point,
        "kept": outcome.retention.kept,
        "kept_as_bases": outcome.retention.bases,
        "deleted": outcome.retention.deleted,
        "diff": {"before": {"points": outcome.before}, "after": {"points": outcome.after}},
        "problems": [*outcome.warnings, *outcome.problems],
        "warnings": [*outcome.warnings, *outcome.problems],
    }
