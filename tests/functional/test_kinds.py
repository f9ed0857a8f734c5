"""A play makes objects of all kinds: predicted as a whole, made once, unchanged afterwards, and removed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import get_row, list_states

from simulator.launch import Simulator
from support.kind_tasks import KIND_TASKS
from support.playbook_runner import PlaybookRunner, Run

Options = dict[str, Any]


def list_tasks() -> list[Options]:
    """Return the options of tasks that make objects of all kinds, each after those that it needs."""
    tasks: list[Options] = []
    for each in KIND_TASKS.values():
        tasks += [options for options in (*each.before, each.creates) if options not in tasks]
    return tasks


def list_removals(tasks: list[Options]) -> list[Options]:
    """Return the options of tasks that remove the objects, in the opposite order."""
    removable = [options for options in reversed(tasks) if "absent" in list_states(get_row(options["kind"]))]
    selected = [{name: value for name, value in options.items() if name != "properties"} for options in removable]
    return [{**options, "state": "absent", "force": True} for options in selected]


def play(runner: PlaybookRunner, tasks: list[Options], *arguments: str, as_module: bool = False) -> Run:
    books = [{"virtinfra.manager.resource": options} for options in tasks]
    run = runner.play(*books, arguments=arguments, as_module=as_module)
    assert [each.result.get("msg") for each in run if each.status != "ok"] == []
    return run


def list_changed(run: Run) -> list[int]:
    """Return the numbers of the tasks that report a change."""
    return [number for number, each in enumerate(run) if each.result["changed"]]


def test_objects_of_all_kinds(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Predicted as a whole, made, made again and predicted again, removed and removed again."""
    tasks, nothing = list_tasks(), sim.state()
    predicted = play(playbook_runner, tasks, "--check", "--diff")
    assert sim.state() == nothing
    made = play(playbook_runner, tasks)
    assert list_changed(predicted) == list_changed(made) == list(range(len(tasks)))
    for arguments in ([], ["--check"]):
        assert list_changed(play(playbook_runner, tasks, *arguments)) == []
    removals = list_removals(tasks)
    for arguments in (["--check"], []):
        assert list_changed(play(playbook_runner, removals, *arguments)) == list(range(len(removals)))
    assert list_changed(play(playbook_runner, removals)) == []


@pytest.mark.nightly
def test_objects_of_all_kinds_in_module_processes(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Each task is predicted when the objects that it needs exist, because module processes know no other task."""
    tasks = list_tasks()
    for options in tasks:
        runs = [
            playbook_runner.run_module("resource", options, check, as_module=True)
            for check in (True, False, False, True)
        ]
        assert [run.result.get("changed") for run in runs] == [True, True, False, False], runs[1].result.get("msg")
    removals = list_removals(tasks)
    assert list_changed(play(playbook_runner, removals, as_module=True)) == list(range(len(removals)))
    assert list_changed(play(playbook_runner, removals, as_module=True)) == []


def test_objects_in_a_module_process(playbook_runner: PlaybookRunner) -> None:
    """The code is that of the controller, so one attachment is enough."""
    tasks = KIND_TASKS["volume_attachment"]
    for options in tasks.before:
        playbook_runner.run_module("resource", options)
    runs = [playbook_runner.run_module("resource", tasks.creates, check, True) for check in (True, False, False)]
    assert [run.result.get("changed") for run in runs] == [True, True, False], runs[1].result.get("msg")
