"""What a repository has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from .clock import Clock
from .files import hash_file, sum_sizes
from .history import History
from .images import QemuImg
from .manifest import Point, VolumeCopy, is_future
from .meter import read_progress
from .proofs import read_proof
from .repository import Repository
from .runs import Runs
from .space import read_space


def list_points(
    repository: Repository, vm_uuids: Sequence[str] | None, qemu: QemuImg | None = None, has_records: bool = False
) -> dict[str, Any]:
    """Return the points, the newest whole checkpoint of each volume, what works, what is left, and the free space.

    ``vm_uuids`` selects VMs; those without a folder have no points. With ``qemu``, all files are read and checked.
    ``has_records`` adds the record of the VM to each point.
    """
    now = Clock.now()
    uuids = repository.list_vms() if vm_uuids is None else list(dict.fromkeys(vm_uuids))
    points: list[dict[str, Any]] = []
    checkpoints: list[dict[str, Any]] = []
    for uuid in uuids:
        history = History.read(repository.vm(uuid), now)
        records = {point.stamp: dict(point.vm) for point in history.points} if has_records else {}
        described = _describe_points(history, qemu)
        points += [{**each, "vm": records.get(each["point"])} if has_records else each for each in described]
        checkpoints += _list_checkpoints(repository, history)
    free, total = read_space(repository.root)
    space = {"free_bytes": free, "total_bytes": total}
    work = {"running": list_running(repository, uuids), "runs": list_runs(repository, uuids)}
    leftovers = list_leftovers(repository, uuids, {each["vm_uuid"] for each in work["running"]})
    return {"points": points, "checkpoints": checkpoints, **work, "leftovers": leftovers, "space": space}


def list_leftovers(repository: Repository, vm_uuids: Iterable[str], busy: Collection[str]) -> list[dict[str, Any]]:
    """Return what killed tasks have left in the folders of VMs that are not ``busy``."""
    return [
        {"vm_uuid": uuid, "folder": str(path), "file_bytes": sum_sizes(path)}
        for uuid in vm_uuids
        if uuid not in busy
        for path in repository.vm(uuid).list_leftovers()
    ]


def list_runs(repository: Repository, vm_uuids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the runs that have taken some of these VMs."""
    return [run.describe() for run in Runs(repository).find(vm_uuids)]


def list_running(repository: Repository, vm_uuids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the progress of the tasks that work on these VMs."""
    found = (read_progress(repository.vm(uuid).progress) for uuid in vm_uuids)
    return [progress for progress in found if progress]


def _describe_points(history: History, qemu: QemuImg | None) -> list[dict[str, Any]]:
    """Return the points of a VM. It is not locked, so that no backup waits for a check, but points never change."""
    # The file of a base is read once for all points that need it.
    check = lru_cache(maxsize=None)(partial(_check_file, qemu=qemu)) if qemu else None
    points = {point.stamp: point for point in history.points}
    stamps = sorted({*points, *history.unreadable})
    described = [
        _describe(history, points[stamp], check) if stamp in points else _describe_unreadable(history, stamp)
        for stamp in stamps
    ]
    present = {*history.folder.list_stamps()}
    return [point for point in described if point["point"] in present]


def _describe_unreadable(history: History, stamp: str) -> dict[str, Any]:
    """Return a point whose manifest cannot be read as results have it."""
    nothing: dict[str, Any] = {"vm_name": None, "created": None, "mode": None, "file_bytes": None}
    lists: dict[str, Any] = {"volumes": [], "left_out": [], "proved": None}
    known = {"whole": False, "future": is_future(stamp, history.now), "problems": [history.unreadable[stamp]]}
    return {"vm_uuid": history.folder.vm_uuid, "point": stamp, **nothing, **lists, **known}


def _describe(history: History, point: Point, check: Callable[..., str | None] | None) -> dict[str, Any]:
    """Return a point as results have it, with its problems."""
    problems = list(history.list_problems(point))
    if check and not problems:
        problems = [problem for volume in point.volumes if (problem := _check_chain(history, point, volume, check))]
    future = is_future(point.stamp, history.now)
    proved = read_proof(history.folder, point.stamp)
    return {**point.describe(), "proved": proved, "whole": not problems, "future": future, "problems": problems}


def _check_chain(history: History, point: Point, volume: VolumeCopy, check: Callable[..., str | None]) -> str | None:
    """Return what is wrong with the files that a copy needs, None if nothing is."""
    for stamp, copied in history.folder.list_chain(history.points, point.stamp, volume.volume_uuid):
        if problem := check(history.folder.image(stamp, volume.volume_uuid), copied.sha256):
            return problem
    return None


def _check_file(path: Path, expected: str | None, qemu: QemuImg) -> str | None:
    """Return what is wrong with a file, None if its checksum is the expected one and QEMU finds no fault in it."""
    try:
        if hash_file(path) != expected:
            return f"{path} is damaged: its checksum is not that of the manifest"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return qemu.find_fault(path)


def _list_checkpoints(repository: Repository, history: History) -> list[dict[str, Any]]:
    """Return for each volume of the newest point the checkpoint of its newest whole copy; None if none can be used."""
    points, found = history.present, []
    for volume in points[-1].volumes if points else ():
        bases = history.list_bases(volume.volume_uuid)
        is_usable = bases and not repository.was_restored(volume.volume_uuid)
        found.append(
            {
                "vm_uuid": history.folder.vm_uuid,
                "volume_uuid": volume.volume_uuid,
                "checkpoint": bases[0].checkpoint if is_usable else None,
                "point": bases[0].stamp if bases else None,
            }
        )
    return found
