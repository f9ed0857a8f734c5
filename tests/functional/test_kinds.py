"""A play makes objects of all kinds: predicted as a whole, made once, unchanged afterwards, and removed."""

from __future__ import annotations

from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import get_row, list_states

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


def play(runner: PlaybookRunner, tasks: list[Options], *arguments: str) -> Run:
    run = runner.play(*({"virtinfra.manager.resource": options} for options in tasks), arguments=arguments)
    assert [each.result.get("msg") for each in run if each.status != "ok"] == []
    return run


def test_objects_of_all_kinds(playbook_runner: PlaybookRunner) -> None:
    tasks = list_tasks()
    predicted = play(playbook_runner, tasks, "--check", "--diff")
    made = play(playbook_runner, tasks)
    assert [each.result["changed"] for each in predicted] == [each.result["changed"] for each in made]
    again = play(playbook_runner, tasks, "--check")
    assert [each.result["resource"] for each in again if each.result["changed"]] == []
    play(playbook_runner, list_removals(tasks))


def test_objects_in_a_module_process(playbook_runner: PlaybookRunner) -> None:
    """The code is that of the controller, so one attachment is enough."""
    tasks = KIND_TASKS["volume_attachment"]
    for options in tasks.before:
        playbook_runner.run_module("resource", options)
    runs = [playbook_runner.run_module("resource", tasks.creates, check, True) for check in (True, False, False)]
    assert [run.result.get("changed") for run in runs] == [True, True, False], runs[1].result.get("msg")
