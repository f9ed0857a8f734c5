"""Run the workflows of roles in this process, without Ansible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import MoverHost
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.run import run_workflow

from simulator.launch import Simulator
from support.module_runner import run_module


def keep_value(value: Any) -> Any:
    """Return a value as it is, in place of the templates of Ansible."""
    return value


class Killed(BaseException):
    """The end of a run whose process is killed."""


@dataclass(frozen=True)
class WorkflowRun:
    """The result and the warnings of a workflow, and the requests that the simulator has received."""

    result: dict[str, Any]
    warnings: list[str]
    log: list[dict[str, Any]]

    @property
    def report(self) -> list[dict[str, Any]]:
        """The entries of the report. The test fails with the message of the task if there are none."""
        assert "report" in self.result, self.message
        return list(self.result["report"])

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of the entries."""
        return [entry["outcome"] for entry in self.report]

    @property
    def message(self) -> str:
        """The message of the task."""
        return str(self.result["msg"])

    @property
    def calls(self) -> list[str]:
        """The operations that were called with another method than GET, in order."""
        return [str(entry["operation"]) for entry in self.log if entry["method"] != "GET"]

    @property
    def reads(self) -> list[str]:
        """The operations that were called with GET, without polls, in order."""
        return [str(entry["operation"]) for entry in self.log if entry["method"] == "GET" and entry["operation"]]


def read_page(ran: WorkflowRun) -> str:
    """Return the page that a workflow has written."""
    return Path(ran.result["next"]["path"]).read_text(encoding="utf-8")


def create_play(hostvars: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the variables of a task of a play for the hosts with these variables, none of which has failed."""
    hosts = list(hostvars)
    lists = ("ansible_play_batch", "ansible_play_hosts", "ansible_play_hosts_all")
    return {"hostvars": hostvars, **dict.fromkeys(lists, hosts)}


class WorkflowRunner:
    """Run workflows against a simulator, with the variables of their roles.

    A runner with a number of requests is killed after so many: nothing is sent after that, as if the process had been
    killed, and it leaves nothing on the controller. `is_killed` catches its end.
    """

    def __init__(self, sim: Simulator, requests: int | None = None) -> None:
        self.sim, self._requests = sim, requests
        self.sent = 0
        # The host of the next runs, on which their modules run.
        self.mover: MoverHost | None = None

    def _check_life(self) -> None:
        if self._requests is not None and self.sent >= self._requests:
            raise Killed
        self.sent += 1

    def __call__(self, role: str, variables: Mapping[str, Any], check: bool = False, **options: Any) -> WorkflowRun:
        """Run the workflow of a role; ``options`` are those of the module."""
        connection = {"base_url": self.sim.url, "session_id": self.sim.session, "api_token": self.sim.token}
        self.sim.clear_log()
        outcome = run_module(
            "workflow",
            {**connection, **options, "role": role},
            check,
            run=partial(
                run_workflow,
                variables,
                keep_value,
                DataLoader().load_from_file,
                partial(run_objects, lambda dummy: {}),
                mover=self.mover,
            ),
            before_send=self._check_life,
        )
        return WorkflowRun(outcome.result, outcome.warnings, self.sim.log())

    def kill(self, after: int, role: str, variables: Mapping[str, Any], **options: Any) -> bool:
        """Kill the workflow of a role after so many requests; return whether it was killed."""
        return is_killed(lambda: WorkflowRunner(self.sim, after)(role, variables, **options))


def is_killed(run: Callable[[], object]) -> bool:
    """Run something with runners that are killed after some requests, and return whether one was."""
    try:
        run()
    except BaseException as end:
        if isinstance(end, Killed) or isinstance(end.__cause__, Killed):
            return True
        raise
    return False


def run_for_host(
    work: WorkflowRunner,
    role: str,
    host: str,
    variables: Mapping[str, Any],
    check: bool = False,
    batch: Mapping[str, Mapping[str, Any]] | None = None,
    hostvars: Mapping[str, Any] | None = None,
    **options: Any,
) -> WorkflowRun:
    """Run the workflow of a role that runs for each host of the play, or a step of it.

    ``variables`` have no prefix; the default of ``uuid`` is that of the host with this name in the simulator, and
    ``batch`` has the variables of further hosts of the batch, ``hostvars`` those of the inventory.
    """
    play = create_play_of_host(work, role, host, variables, batch, hostvars)
    return work(role, play, check, **options)


def run_maintenance(
    work: WorkflowRunner, host: str, tasks: Path, failure: Mapping[str, str] | None = None, **variables: Any
) -> WorkflowRun:
    """Run the steps of the role host_maintenance for a host, as its tasks do, and return the last one.

    The tasks do nothing; ``failure`` is what has failed in them.
    """
    given: dict[str, Any] = {"tasks": str(tasks), "running_vms": "stop", **variables}
    run = partial(run_for_host, work, "host_maintenance", host, given)
    checked = run(step="check").result["next"]
    entered = run(step="enter", given=checked).result["next"]
    return run(step="leave", given={**checked, "entered": entered, "failure": failure})


def kill_for_host(work: WorkflowRunner, after: int, host: str, variables: Mapping[str, Any], **options: Any) -> bool:
    """Kill a step of the role host_maintenance after so many requests, as `WorkflowRunner.kill` does."""
    role = "host_maintenance"
    return work.kill(after, role, create_play_of_host(work, role, host, variables), **options)


def create_play_of_host(
    work: WorkflowRunner,
    role: str,
    host: str,
    variables: Mapping[str, Any],
    batch: Mapping[str, Mapping[str, Any]] | None = None,
    hostvars: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the variables of a task of a role that runs for each host of the play, see `run_for_host`."""
    uuids = {record["name"]: record["uuid"] for record in work.sim.records("host")}
    given = {f"{role}_{name}": value for name, value in {"uuid": uuids.get(host), **variables}.items()}
    all_hosts = {host: hostvars or {}, **(batch or {})}
    play = {
        "inventory_hostname": host,
        "ansible_play_batch": list(all_hosts),
        "ansible_play_hosts_all": list(all_hosts),
        "hostvars": all_hosts,
        "playbook_dir": "/nowhere",
    }
    return {**play, **given}
