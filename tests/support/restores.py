"""Run the roles that restore points in this process, with a data mover whose runs are real, but not its writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups import mover_work

from support.backups import FakeMover
from support.workflow_runner import WorkflowRun, WorkflowRunner

Record = dict[str, Any]

STAMP = "20261127T021500Z"


def write_all(arguments: Record, state: str = "restored") -> Record:
    """Return what backup_restore returns when it has written all volumes."""
    known = {"size": 1, "bytes_written": 5, "bytes_verified": 5, "verified": True, "state": state}
    rows = [
        {"volume_uuid": info["source"], "target": info["volume"]["volume_uuid"], **known}
        for info in arguments["volumes"]
    ]
    return {"failed": False, "changed": state == "restored", "seconds": 7, "volumes": rows}


def check_all(arguments: Record) -> Record:
    """Return what backup_restore returns when it has only checked the files."""
    rows = [{"volume_uuid": uuid, "state": "untouched"} for uuid in arguments["check_volumes"]]
    return {"failed": False, "changed": False, "volumes": rows}


class RestoreMover(FakeMover):
    """A data mover that has points. ``check_files``, ``write`` and ``write_files`` are what backup_restore does."""

    def __init__(self, folder: Path, name: str = "localhost") -> None:
        super().__init__(folder, name)
        self.listed: Record = {"points": [], "running": [], "runs": []}
        # What happens at each step of the module backup_restore and backup_point.
        self.check_files: Callable[[Record], Record] = check_all
        self.write: Callable[[Record], Record] = write_all
        self.write_files: Callable[[Record], Record] = lambda dummy: {"failed": False, "changed": True, "volumes": []}
        self.note: Callable[[Record], Record] = lambda dummy: {"changed": True}
        # The options of all modules.
        self.given: list[tuple[str, Record]] = []

    def run(self, module: str, arguments: Mapping[str, Any]) -> Record:
        """Return the result of a module."""
        given = dict(arguments)
        self.given.append((module, given))
        if module == "backup_run":
            return super().run(module, given)
        self.modules.append(module)
        self.on_run(module)
        if self.failure:
            return self.failure
        if module == "backup_point_info":
            return self.listed
        return self.note(given) if module == "backup_point" else self._restore(given)

    def _restore(self, given: Record) -> Record:
        if "check_volumes" in given:
            return self.check_files(given)
        assert not self.check or "directory" in given
        return self.write(given) if "volumes" in given else self.write_files(given)

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> Record:
        """Start a module."""
        assert (module, folder.endswith(".jobs"), timeout > 0) == ("backup_restore", True, True)
        given = dict(arguments)
        self.modules.append(module)
        self.given.append((module, given))
        self.on_run(module)
        self._result = self.failure or self._restore(given)
        return {"ansible_job_id": "j1", "started": 1}

    def look(self, job: str, folder: str) -> Record:
        """Return the result of the job."""
        return self._result

    def take(self, uuids: list[str], **owner: Any) -> None:
        """Take VMs for another run, by default one of another machine."""
        other = {"host": "controller-2", "machine": "elsewhere", "process": 4711, "began": "1", "patience": 300}
        run = {"run": "5f0c3a52-7d3e-4c1b-9a58-0e5a3f1b2c4d", "owner": {**other, **owner}, "vm_uuids": uuids}
        taken = FakeMover.run(self, "backup_run", {"repository": str(self.repository), **run})
        assert taken["taken"] == uuids

    @property
    def written(self) -> list[Record]:
        """The options of backup_restore each time it wrote."""
        return [given for module, given in self.given if module == "backup_restore" and "check_volumes" not in given]


@dataclass
class RestoreRun:
    """What the two steps of the role vm_backup_restore have done; the second one is None if the first has failed."""

    planned: WorkflowRun
    done: WorkflowRun | None

    @property
    def last(self) -> WorkflowRun:
        """The last step that ran."""
        return self.done or self.planned

    @property
    def plan(self) -> Record:
        """What the first step returned for the second one."""
        return dict(self.planned.result["next"])

    @property
    def lines(self) -> list[str]:
        """What is shown before the second step."""
        return list(self.plan["lines"])

    @property
    def report(self) -> list[Record]:
        """The entries of the report."""
        return self.last.report

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of the volumes."""
        return self.last.outcomes

    @property
    def error(self) -> str:
        """The error of the first volume; empty without one."""
        return str(self.report[0]["error"] or "")

    @property
    def acts(self) -> list[str]:
        """The operations that were called with another method than GET, in order, without those of marks."""
        steps = [step for step in (self.planned, self.done) if step]
        return [call for step in steps for call in step.calls if call not in ("CreateUserTag", "DeleteTag")]

    def combine(self) -> WorkflowRun:
        """Return both steps as one run."""
        if self.done is None:
            return self.planned
        log, warnings = self.planned.log + self.done.log, self.planned.warnings + self.done.warnings
        return WorkflowRun(self.done.result, warnings, log)


class RestoreRunner:
    """Run the role vm_backup_restore as its tasks do; ``options`` are those of the module."""

    def __init__(self, work: WorkflowRunner, mover: RestoreMover, options: Mapping[str, Any] | None = None) -> None:
        self.work, self.mover, self._options = work, mover, options or {}

    def step(self, word: str, check: bool = False, given: Record | None = None, /, **variables: Any) -> WorkflowRun:
        """Run a step; ``variables`` have no prefix."""
        values = {"vm": "vm-1", "repository": str(self.mover.repository), "confirm": "vm-1", **variables}
        prefixed = {f"vm_backup_restore_{key}": value for key, value in values.items()}
        self.work.mover, self.mover.check = self.mover, check
        with patch.object(mover_work, "choose_pause", lambda *dummy: 0.0):
            return self.work("vm_backup_restore", prefixed, check, step=word, given=given, **self._options)

    def plan(self, check: bool = False, **variables: Any) -> WorkflowRun:
        """Run the step that says what would be written."""
        return self.step("plan", check, **variables)

    def restore(self, planned: WorkflowRun, check: bool = False, **variables: Any) -> RestoreRun:
        """Run the step that writes."""
        if "next" not in planned.result:
            return RestoreRun(planned, None)
        return RestoreRun(planned, self.step("restore", check, {"plan": planned.result["next"]}, **variables))

    def __call__(self, check: bool = False, **variables: Any) -> RestoreRun:
        """Run both steps."""
        return self.restore(self.plan(check, **variables), check, **variables)


class DrillRunner:
    """Run the role vm_backup_drill as its task does."""

    def __init__(self, work: WorkflowRunner, mover: RestoreMover) -> None:
        self.work, self.mover = work, mover

    def __call__(self, check: bool = False, **variables: Any) -> WorkflowRun:
        """Run the role; ``variables`` have no prefix."""
        values = {"repository": str(self.mover.repository), "count": 0, "watch": 0, **variables}
        prefixed = {f"vm_backup_drill_{key}": each for key, each in values.items()}
        self.work.mover, self.mover.check = self.mover, check
        with patch.object(mover_work, "choose_pause", lambda *dummy: 0.0):
            return self.work("vm_backup_drill", prefixed, check)
