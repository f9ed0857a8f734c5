"""Several hosts of a play ask for the same new object at the same time: one task creates it, the others find it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run
from support.scenarios import CHAT, SCENARIOS, Scenario

HOSTS = 4
CREATIONS = (
    "AddKVMHost",
    "CreateCbtTask",
    "CreateSNSWorkchatEndpoint",
    "CreateSNSSnmpEndpoint",
    "CreateVmInstanceFromVolumeSnapshotGroup",
    "AttachL3NetworkToVm",
)


def endpoint(name: str, **options: Any) -> dict[str, Any]:
    """Return a task for an endpoint."""
    return {"virtinfra.manager.sns_endpoint": {"type": "workchat", "name": name, "url": CHAT, **options}}


def run_on_hosts(runner: PlaybookRunner, folder: Path, *tasks: Mapping[str, Any], **keywords: Any) -> Run:
    """Run tasks on four hosts with a local connection, at the same time."""
    hosts: dict[str, Any] = {f"site-{number}": {"number": number} for number in range(HOSTS)}
    common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": common}}), encoding="utf-8")
    arguments = ["-i", str(inventory), f"-f{HOSTS}"]
    return runner.play(*map(dict, tasks), hosts="all", arguments=arguments, **keywords)


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.operation in CREATIONS], ids=str)
def test_one_task_creates_the_object(
    playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path, scenario: Scenario
) -> None:
    sim.configure(latency=0.3)
    before = sim.state()
    task = {f"virtinfra.manager.{scenario.module}": {**scenario.options}}
    run = run_on_hosts(playbook_runner, tmp_path, task)
    assert scenario.times(before, sim.state()) == 1
    assert sorted(result["changed"] for result in run.results) == [False, False, False, True], run.output
    assert not [result["warnings"] for result in run.results if "warnings" in result]


def test_a_creation_that_does_not_end_delays_no_other_names(
    playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path
) -> None:
    sim.fault("hang", "CreateSNSWorkchatEndpoint")
    before = sim.records("endpoint")
    run = run_on_hosts(playbook_runner, tmp_path, endpoint("ops-{{ number }}", wait_timeout=5))
    assert [result["changed"] for result in run.results] == [True] * HOSTS, run.output
    assert sorted("error" in result for result in run.results) == [False, False, False, True]
    assert len(sim.records("endpoint")) == len(before) + HOSTS - 1


def test_tasks_do_not_repeat_a_creation_that_does_not_end(
    playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path
) -> None:
    """The tasks wait for it until their own deadline. Services ignore the case of names and spaces behind them."""
    sim.fault("hang", "CreateSNSWorkchatEndpoint", count=None)
    name = "{{ ['ops', 'OPS ', 'Ops', 'oPs'][number] }}"
    run = run_on_hosts(playbook_runner, tmp_path, endpoint(name, wait_timeout=2))
    assert sum(entry["operation"] == "CreateSNSWorkchatEndpoint" for entry in sim.log()) == 1
    assert [result["error"]["code"] for result in run.results] == ["TIMEOUT"] * HOSTS, run.output
    assert sorted(result["changed"] for result in run.results) == [False, False, False, True]


def test_tasks_that_do_not_wait_create_one_object(
    playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path
) -> None:
    """The other tasks wait for the job of the first task: only its end shows whether they must create the object."""
    sim.configure(latency=0.5)
    run = run_on_hosts(playbook_runner, tmp_path, endpoint("ops", wait=False))
    assert [each["name"] for each in sim.records("endpoint")].count("ops") == 1
    assert sorted(result["changed"] for result in run.results) == [False, False, False, True], run.output


def test_a_creation_that_failed_is_repeated(playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path) -> None:
    sim.fault("fail", "CreateSNSWorkchatEndpoint")
    run = run_on_hosts(playbook_runner, tmp_path, endpoint("ops"))
    assert [each["name"] for each in sim.records("endpoint")].count("ops") == 1
    assert sorted("error" in result for result in run.results) == [False, False, False, True], run.output
    assert sum(result["changed"] for result in run.results) == 1


def test_the_lock_needs_no_further_request(playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path) -> None:
    """A task alone reads the object as often as in a module process, which has no lock."""
    requests = [
        [entry["operation"] for entry in playbook_runner.play(endpoint(name), as_module=as_module).tasks[0].requests]
        for name, as_module in (("ops-1", True), ("ops-2", False))
    ]
    assert requests[0] == requests[1]
    assert "CreateSNSWorkchatEndpoint" in requests[0]


def test_the_warning_about_a_second_object_blames_nobody(
    playbook_runner: PlaybookRunner, sim: Simulator, tmp_path: Path
) -> None:
    """Module processes do not wait for each other, so that there are several."""
    sim.configure(latency=3)
    connection = {"ansible_connection": "elsewhere"}
    run = run_on_hosts(playbook_runner, tmp_path, endpoint("ops"), as_module=True, vars=connection)
    warnings = [warning for result in run.results for warning in result.get("warnings", ())]
    assert [each["name"] for each in sim.records("endpoint")].count("ops") > 1
    assert any("by another task, another run or a user" in warning for warning in warnings), run.output
    assert not any("because another run" in warning for warning in warnings)
