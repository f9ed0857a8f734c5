"""What a repository has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .failures import BackupFailure
from .files import hash_file
from .images import QemuImg
from .manifest import Point
from .meter import read_progress
from .repository import Repository, VmFolder
from .runs import Runs
from .space import read_space


def list_points(repository: Repository, vm_uuids: Sequence[str] | None, qemu: QemuImg | None = None) -> dict[str, Any]:
    """Return the points, the newest whole checkpoint of each volume, tasks and runs that work, and the free space.

    ``vm_uuids`` selects VMs; those without a folder have no points. With ``qemu``, all files are read and checked.
    """
    uuids = repository.list_vms() if vm_uuids is None else list(dict.fromkeys(vm_uuids))
    points: list[dict[str, Any]] = []
    checkpoints: list[dict[str, Any]] = []
    for uuid in uuids:
        folder = repository.vm(uuid)
        points += _describe_points(folder, qemu)
        checkpoints += _list_checkpoints(repository, folder)
    free, total = read_space(repository.root)
    space = {"free_bytes": free, "total_bytes": total}
    work = {"running": list_running(repository, uuids), "runs": list_runs(repository, uuids)}
    return {"points": points, "checkpoints": checkpoints, **work, "space": space}


def list_runs(repository: Repository, vm_uuids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the runs that have taken some of these VMs."""
    return [run.describe() for run in Runs(repository).find(vm_uuids)]


def list_running(repository: Repository, vm_uuids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the progress of the tasks that work on these VMs."""
    found = (read_progress(repository.vm(uuid).progress) for uuid in vm_uuids)
    return [progress for progress in found if progress]


def _describe_points(folder: VmFolder, qemu: QemuImg | None) -> list[dict[str, Any]]:
    """Return the points of a VM. It is not locked, so that no backup waits for a check, but points never change."""
    points = folder.read_points()
    described = [_describe(folder, points, stamp, qemu) for stamp in folder.list_stamps()]
    present = {*folder.list_stamps()}
    return [point for point in described if point["point"] in present]


def _describe(folder: VmFolder, points: list[Point], stamp: str, qemu: QemuImg | None) -> dict[str, Any]:
    """Return a point as results have it, with its problems."""
    try:
        point = folder.read_point(stamp)
    except BackupFailure as failure:
        nothing: dict[str, Any] = {"vm_name": None, "created": None, "mode": None, "file_bytes": None, "volumes": []}
        return {"vm_uuid": folder.vm_uuid, "point": stamp, **nothing, "whole": False, "problems": [str(failure)]}
    problems = []
    for volume in point.volumes:
        problem = folder.find_problem(points, stamp, volume.volume_uuid)
        path = folder.image(stamp, volume.volume_uuid)
        if problem is None and qemu:
            problem = _check_file(path, volume.sha256, qemu)
        if problem:
            problems.append(problem)
    return {**point.describe(), "whole": not problems, "problems": problems}


def _check_file(path: Path, expected: str | None, qemu: QemuImg) -> str | None:
    """Return what is wrong with a file, None if its checksum is the expected one and QEMU finds no fault in it."""
    try:
        if hash_file(path) != expected:
            return f"{path} is damaged: its checksum is not that of the manifest"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return qemu.find_fault(path)


def _list_checkpoints(repository: Repository, folder: VmFolder) -> list[dict[str, Any]]:
    """Return for each volume of the newest point the checkpoint of its newest whole copy; None if none can be used."""
    points, found = folder.read_points(), []
    for volume in points[-1].volumes if points else ():
        bases = folder.list_bases(points, volume.volume_uuid)
        is_usable = bases and not repository.was_restored(volume.volume_uuid)
        found.append(
            {
                "vm_uuid": folder.vm_uuid,
                "volume_uuid": volume.volume_uuid,
                "checkpoint": bases[0].checkpoint if is_usable else None,
                "point": bases[0].stamp if bases else None,
            }
        )
    return found
