"""Which VMs the runs of a controller copy.

``ROOT/.runs/RUN.json`` says it of one run, which writes it again while it works. So another run sees, before it opens
or ends a session, that the VM is taken, and for how long nothing was heard of the run that has taken it. The folder
``ROOT/.runs/RUN.jobs`` has the files of its async jobs, and the results of its copies. Both are removed when the run
has ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .failures import BackupFailure
from .files import open_lock, replace_private_file, write_private_file
from .manifest import check_uuid, is_uuid
from .repository import Repository

FOLDER = ".runs"

# After how many seconds without a sign of life of its run a task ends that works for it.
LONGEST_SILENCE = 120.0


@dataclass(frozen=True)
class OtherRun:
    """A run that has taken VMs. ``silent`` is for how many seconds nothing was heard of it."""

    run: str
    owner: Mapping[str, Any]
    vm_uuids: Sequence[str]
    silent: int

    def describe(self) -> dict[str, Any]:
        """Return the run as results have it."""
        return {
            "run": self.run,
            "owner": dict(self.owner),
            "vm_uuids": list(self.vm_uuids),
            "silent_seconds": self.silent,
        }


class Runs:
    """The runs of a repository."""

    def __init__(self, repository: Repository) -> None:
        self._folder = repository.root / FOLDER

    def take(
        self, run: str, owner: Mapping[str, Any], vm_uuids: Sequence[str], ended: Collection[str], predict: bool
    ) -> tuple[list[str], list[OtherRun]]:
        """Take VMs for a run, except those of other runs; return what it has taken, and the others that have some.

        Runs among ``ended`` lose theirs. The runs of several data movers with one repository are parts of one, and
        their owners have the same ``run``. ``predict`` writes nothing. Raise BackupFailure for a run that has no uuid.
        """
        path = self._locate(run)
        if predict:
            return self._divide(run, owner, vm_uuids, ended)
        with self._locked():
            for each in ended:
                self._remove(each)
            taken, others = self._divide(run, owner, vm_uuids, ended)
            replace_private_file(path, json.dumps({"owner": owner, "vm_uuids": taken}))
        return taken, others

    def touch(self, run: str, predict: bool) -> list[str]:
        """Show that a run still works, and return its VMs. Raise BackupFailure if it has none any more."""
        path = self._locate(run)
        try:
            if not predict:
                os.utime(path)
            return list(json.loads(path.read_text(encoding="utf-8"))["vm_uuids"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackupFailure(f"the run {run} has no VMs in {self._folder.parent} any more") from error

    def watch(self, run: str | None, clock: Callable[[], float] = time.monotonic) -> Callable[[], None]:
        """Return a function that raises BackupFailure when a task of a run must end, without a run never.

        The run has given its VMs back, or its controller is silent: it was stopped, so nobody waits for the task, and
        nobody knows that it writes. The times of the file count only as a change, because clocks can differ.
        """
        path = self._locate(run) if run else None
        seen: int | None = None
        since = clock()

        def check() -> None:
            nonlocal seen, since
            if path is None:
                return
            try:
                changed = path.stat().st_mtime_ns
            except FileNotFoundError:
                raise BackupFailure(f"the run {run} has ended, and this task with it") from None
            except OSError:
                return
            if changed != seen:
                seen, since = changed, clock()
            elif clock() - since > LONGEST_SILENCE:
                raise BackupFailure(
                    f"the controller was silent for {LONGEST_SILENCE:.0f} s, so the run {run} has ended, and this task"
                    " with it"
                )

        return check

    def find(self, vm_uuids: Collection[str]) -> list[OtherRun]:
        """Return the runs that have some of these VMs."""
        return [run for run in self._read() if not set(vm_uuids).isdisjoint(run.vm_uuids)]

    def has(self, run: str) -> bool:
        """Return whether a run has taken VMs, or may have."""
        return self._locate(run).exists()

    def forget(self, run: str, predict: bool) -> bool:
        """Give back the VMs of a run. Return whether it had any."""
        if not self.has(run):
            return False
        if not predict:
            with self._locked():
                self._remove(run)
        return True

    def locate_jobs(self, run: str) -> Path:
        """Return the folder for the files of the async jobs of a run. Only the owner of the runs can enter it.

        Ansible's own one is in the home, in which its tasks write and read by different rules.
        """
        return self._locate(run).with_suffix(".jobs")

    def keep_result(self, run: str, vm_uuid: str, result: Mapping[str, Any]) -> None:
        """Keep the result of a copy for the next sign of life of its run, while the run has VMs.

        Without it, Ansible's own file of the job has the result.
        """
        path = self._locate_result(run, vm_uuid)
        with suppress(OSError):
            if self.has(run):
                path.parent.mkdir(mode=0o700, exist_ok=True)
                replace_private_file(path, json.dumps(result))

    def read_results(self, run: str, vm_uuids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the results of the copies of a run that have ended, each with the uuid of its VM."""
        found = []
        for uuid in vm_uuids:
            with suppress(OSError, ValueError):
                result = json.loads(self._locate_result(run, uuid).read_text(encoding="utf-8"))
                found.append({**result, "vm_uuid": uuid})
        return found

    def decide(self, run: str, decisions: Mapping[str, bool]) -> None:
        """Write for the copies of VMs whether they become points. Raise BackupFailure if that cannot be written."""
        for uuid, is_right in decisions.items():
            path = self._locate_decision(run, uuid)
            try:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                write_private_file(path, json.dumps(is_right))
            except OSError as error:
                raise BackupFailure(f"{path} cannot be written: {error.strerror}") from error

    def read_decision(self, run: str, vm_uuid: str) -> bool | None:
        """Return whether the copy of a VM becomes a point, None if that is not decided yet."""
        with suppress(OSError, ValueError):
            return bool(json.loads(self._locate_decision(run, vm_uuid).read_text(encoding="utf-8")))
        return None

    def _locate_decision(self, run: str, vm_uuid: str) -> Path:
        return self.locate_jobs(run) / f"{check_uuid(vm_uuid, 'a VM')}.decision"

    def _locate_result(self, run: str, vm_uuid: str) -> Path:
        return self.locate_jobs(run) / f"{check_uuid(vm_uuid, 'a VM')}.result"

    def _remove(self, run: str) -> None:
        self._locate(run).unlink(missing_ok=True)
        shutil.rmtree(self.locate_jobs(run), ignore_errors=True)

    def _divide(
        self, run: str, owner: Mapping[str, Any], vm_uuids: Sequence[str], ended: Collection[str]
    ) -> tuple[list[str], list[OtherRun]]:
        others = [
            other
            for other in self.find(vm_uuids)
            if other.run not in {run, *ended} and not (owner.get("run") and other.owner.get("run") == owner["run"])
        ]
        taken = {uuid for other in others for uuid in other.vm_uuids}
        return [uuid for uuid in vm_uuids if uuid not in taken], others

    def _read(self) -> Iterator[OtherRun]:
        """Yield all runs. Raise BackupFailure for one that cannot be read, because it may have any VM.

        A run that has ended meanwhile has none, and what a power failure left of a file is not one of a run.
        """
        for path in sorted(self._folder.glob("*.json")):
            try:
                text, changed = path.read_text(encoding="utf-8"), path.stat().st_mtime
            except FileNotFoundError:
                continue
            except OSError as error:
                raise BackupFailure(f"{path} cannot be read, so it is not known what runs: {error.strerror}") from error
            with suppress(ValueError, KeyError, TypeError):
                content = json.loads(text)
                silent = max(0, round(time.time() - changed))
                if is_uuid(path.stem):
                    yield OtherRun(path.stem, dict(content["owner"]), list(content["vm_uuids"]), silent)

    def _locate(self, run: str) -> Path:
        return self._folder / f"{check_uuid(run, 'a run')}.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder, which exists from now on. It is locked for milliseconds."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            file = open_lock(self._folder / ".lock")
        except OSError as error:
            raise BackupFailure(f"{self._folder} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)
