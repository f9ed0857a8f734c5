"""Run the workflow of the role vm_backup in this process, with data movers whose runs are real, and copies are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.process import execute
from ansible_collections.virtinfra.manager.plugins.modules.backup_run import MODULE
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import MoverHost

from support.repositories import make_repository
from support.workflow_runner import WorkflowRun, WorkflowRunner

Record = dict[str, Any]

SPACE = {"free_bytes": 50, "total_bytes": 100}

SELECTED, READ, COPIED = (f"__vm_backup_{name}" for name in ("selected", "read", "copied"))


def make_point(vm_uuid: str, point: str = "20261126T021500Z", mode: str = "full", **more: Any) -> Record:
    """Return a point as backup_point_info returns it."""
    nothing: Record = {"volumes": [], "left_out": []}
    return {"vm_uuid": vm_uuid, "point": point, "whole": True, "mode": mode, **nothing, **more}


def make_volume(uuid: str, checkpoint: str | None = None) -> Record:
    """Return the copy of a volume in a point."""
    counts = dict.fromkeys(("bytes_read", "bytes_written", "bytes_verified", "bytes_compared"), 1)
    known = {"volume_uuid": uuid, "checkpoint": checkpoint, "encrypted": False, "verified": True}
    return {**known, **counts, "reason": "the repository has no whole point of the VM"}


def make_result(point: Record) -> Record:
    """Return what backup_point returns of a new point."""
    return {"point": point, "kept": [], "kept_as_bases": [], "deleted": [], "problems": [], "changed": True}


def run_no_command(command: Any) -> tuple[int, str, str]:
    """Fail: no module that runs here needs a command."""
    raise AssertionError(command)


class FakeMover:
    """A data mover with a repository. Copies end as a test wants, by default at once and with a point.

    ``results`` are those of copies by the names of their VMs, None for one that still runs, and ``failure`` is the
    result of all modules. ``on_start`` is called with the options of each copy, ``on_run`` before each module.
    """

    def __init__(self, folder: Path, name: str = "localhost") -> None:
        self.repository, self.name = make_repository(folder), name
        self.points: list[Record] = []
        self.checkpoints: list[Record] = []
        self.space: Mapping[str, int] = SPACE
        self.results: dict[str, Record | None] = {}
        self.running: list[Record] = []
        self.failure: Record | None = None
        self.check = False
        self.modules: list[str] = []
        self.started: list[Record] = []
        self.on_start: Callable[[Record], None] = lambda dummy: None
        self.on_run: Callable[[str], None] = lambda dummy: None
        # The commands that ran, with their environments, and what one returns.
        self.commands: list[tuple[list[str], Mapping[str, str]]] = []
        self.on_command: Callable[[Sequence[str]], Record] = lambda dummy: {"rc": 0}

    def run(self, module: str, arguments: Mapping[str, Any]) -> Record:
        """Return the result of a module."""
        self.modules.append(module)
        self.on_run(module)
        if self.failure:
            return self.failure
        options = ArgumentSpecValidator(MODULE.options).validate(arguments)
        assert not options.error_messages, options.error_messages
        result = execute(MODULE, options.validated_parameters, self.check, run_no_command)
        taken = set(result.get("taken", ()))
        copies = [copy for copy in self.started if copy["vm"]["uuid"] in taken]
        ended = [(copy["vm"]["uuid"], self._finish(copy)) for copy in copies]
        if arguments.get("list_points"):
            result["listed"] = {"points": self.points, "checkpoints": self.checkpoints, "space": self.space}
        return {
            **result,
            "running": self.running,
            "results": [{**known, "vm_uuid": uuid} for uuid, known in ended if known],
        }

    def _finish(self, copy: Record) -> Record | None:
        vm = copy["vm"]
        if vm["name"] in self.results:
            return self.results[vm["name"]]
        volumes = [make_volume(info["volume"]["volume_uuid"], info.get("bitmap_name")) for info in copy["volumes"]]
        mode = "incremental" if copy["mode"] == "auto" else copy["mode"]
        return make_result(make_point(vm["uuid"], "20261127T021500Z", mode, volumes=volumes))

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> Record:
        """Start a copy."""
        assert (module, folder.endswith(".jobs"), timeout > 0) == ("backup_point", True, True)
        self.modules.append(module)
        self.started.append(dict(arguments))
        self.on_start(self.started[-1])
        return {"ansible_job_id": f"j{len(self.started)}", "started": 1}

    def look(self, job: str, folder: str) -> Record:
        """Return the result of a job."""
        self.modules.append("async_status")
        return {}

    def run_command(self, command: Sequence[str], environment: Mapping[str, str]) -> Record:
        """Return the result of a command, which does not run in check mode."""
        if self.check:
            return {"rc": 0, "skipped": True}
        self.commands.append((list(command), environment))
        return self.on_command(command)


@dataclass
class BackupRun:
    """What the steps of the role have done together."""

    ran: list[WorkflowRun] = field(default_factory=list)

    @property
    def last(self) -> WorkflowRun:
        """The last step that ran."""
        return self.ran[-1]

    @property
    def entries(self) -> dict[str, Record]:
        """The entries of the report by the names of the VMs."""
        return {entry["vm"]: entry for entry in self.last.report}

    @property
    def outcomes(self) -> list[str]:
        """The outcomes in the order of the report."""
        return self.last.outcomes

    @property
    def errors(self) -> list[str | None]:
        """The errors in the order of the report."""
        return [entry["error"] for entry in self.last.report]

    @property
    def calls(self) -> list[str]:
        """The operations that were called with another method than GET, in order."""
        return [call for each in self.ran for call in each.calls]

    @property
    def warnings(self) -> list[str]:
        """The warnings of all steps."""
        return [warning for each in self.ran for warning in each.warnings]

    @property
    def is_changed(self) -> bool:
        """Whether a step has changed something, or predicts it."""
        return any(each.result.get("changed") for each in self.ran)

    def combine(self) -> WorkflowRun:
        """Return the steps as one run."""
        log = [entry for each in self.ran for entry in each.log]
        return WorkflowRun({**self.last.result, "changed": self.is_changed}, self.warnings, log)


class PlayHost(MoverHost, Protocol):
    """A data mover as a host of a play. ``check`` is the check mode of its modules."""

    repository: Path
    name: str
    check: bool


class BackupRunner:
    """Run the role vm_backup as its tasks do: for each of the movers, which are the hosts of the play."""

    def __init__(self, work: WorkflowRunner, *movers: PlayHost) -> None:
        self.work, self.movers = work, movers

    def __call__(self, check: bool = False, options: Mapping[str, Any] | None = None, **variables: Any) -> BackupRun:
        """Run the role; ``variables`` have no prefix, and ``options`` are those of the module."""
        values = {"query": ["name~=vm-%"], "repository": str(self.movers[0].repository), **variables}
        given = {f"vm_backup_{name}": value for name, value in values.items()}
        names = [mover.name for mover in self.movers]
        hostvars: dict[str, Record] = {name: {} for name in names}
        lists = dict.fromkeys(("ansible_play_batch", "ansible_play_hosts", "ansible_play_hosts_all"), names)
        done = BackupRun()

        def step(name: str, mover: PlayHost) -> Record:
            self.work.mover, mover.check = mover, check
            play = {"inventory_hostname": mover.name, "hostvars": hostvars, **lists, **given}
            done.ran.append(self.work("vm_backup", play, check, step=name, **(options or {})))
            return done.last.result

        first = self.movers[0]
        selected = step("select", first)
        if "next" not in selected:
            return done
        for name in names:
            hostvars[name][SELECTED] = selected
        for variable, name in ((READ, "read"), (COPIED, "copy")):
            for mover in self.movers:
                hostvars[mover.name][variable] = step(name, mover)
        step("report", first)
        return done
