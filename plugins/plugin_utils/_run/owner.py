"""The process of a run of Ansible, as other runs can recognize it, and recognize that it has ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROC = Path("/proc")


def describe_owner(patience: int) -> dict[str, Any]:
    """Return the process of this run, which is the parent of its workers.

    ``machine`` is the same for two processes if one of them can see whether the other one runs: containers of a machine
    have process ids of their own. ``began`` distinguishes the process from a later one with its id. For
    ``patience`` seconds the run may be silent until others that cannot see its process count it as ended.
    """
    process = os.getppid()
    return {
        "host": socket.gethostname(),
        "machine": _identify_machine(),
        "process": process,
        "began": _began(process),
        "patience": patience,
    }


def describe_worker(patience: int, run: str) -> dict[str, Any]:
    """Return the process of this run and its worker, which ends what it has begun if the run ends before.

    Several workers can be parts of one ``run``.
    """
    worker = os.getpid()
    return {**describe_owner(patience), "run": run, "worker": worker, "worker_began": _began(worker)}


def has_ended(owner: Mapping[str, Any]) -> bool | None:
    """Return whether the process of a run has ended, None if this is not known: it was one of another machine."""
    return _has_ended(owner, "process", "began")


def is_ending(owner: Mapping[str, Any]) -> bool:
    """Return whether the process of a run has ended, but its worker has not yet."""
    return has_ended(owner) is True and _has_ended(owner, "worker", "worker_began") is False


def _has_ended(owner: Mapping[str, Any], process_key: str, began_key: str) -> bool | None:
    process = owner.get(process_key)
    if owner.get("machine") != _identify_machine() or not isinstance(process, int):
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        # The process is that of another user.
        return False
    return _began(process) != owner.get(began_key)


def _identify_machine() -> str:
    try:
        boot = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(PROC / 'self' / 'ns' / 'pid').readlink()}"
    except OSError:
        # No Linux, so no containers.
        return socket.gethostname()


def _began(process: int) -> str | None:
    """Return when a process has started, None where this is not known. A zombie has ended."""
    try:
        # The name of the program may contain spaces and parentheses.
        fields = (PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if fields[0] in "ZX" else fields[19]
