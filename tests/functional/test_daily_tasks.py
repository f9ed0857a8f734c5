"""What people do with the platform every day: predicted, done, done again, changed and removed, with names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.text.formatters import bytes_to_human

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run
from support.predictions import is_possible

PHASES = ("present", "changed", "absent")
DAILY_TASKS = yaml.safe_load(Path(__file__).with_name("daily_tasks.yml").read_text(encoding="utf-8"))

# Fields with a number of bytes, which the daily tasks write with a unit.
SIZES = ("size", "memorySize")


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_objects_are_predicted_made_changed_and_removed(
    sim: Simulator, playbook_runner: PlaybookRunner, first: int
) -> None:
    """Every second daily task, from the first or the second one; they share nine playbooks, with a play for each."""
    tasks, nothing = DAILY_TASKS[first::2], sim.state()
    for phase in PHASES:
        converge(sim, playbook_runner, tasks, phase)
        state = name_objects(sim.state())
        unmet = [task["name"] for task in tasks if not is_shown(task["shows"].get(phase, {}), state)]
        assert unmet == [], phase
    assert name_objects(sim.state()) == name_objects(nothing)


def converge(sim: Simulator, runner: PlaybookRunner, tasks: Sequence[Mapping[str, Any]], phase: str) -> None:
    """Predict a phase of daily tasks, run it as predicted, and run it again without a change."""
    plays = [runner.build_play(*task[phase], name=task["name"]) for task in tasks]

    def play(*arguments: str) -> Run:
        run = runner.playbook(plays, arguments)
        failures = [(each.play, each.result.get("msg")) for each in run if each.status != "ok"]
        assert failures == []
        return run

    before = sim.state()
    predicted = play("--check", "--diff")
    assert sim.state() == before
    done = play("--diff")
    assert list(find_untrue_predictions(predicted, done)) == []
    after = sim.state()
    assert [each.play for each in play() if each.result["changed"]] == []
    assert sim.state() == after


def find_untrue_predictions(predicted: Run, done: Run) -> Iterator[str]:
    """Yield what check mode predicted and the run did not do, or did without a prediction."""
    for expected, actual in zip(predicted, done, strict=True):
        if expected.result["changed"] != actual.result["changed"]:
            yield f"{expected.play}: {expected.action} has changed={actual.result['changed']}"
        before, after = (expected.result.get("diff", {}).get(side, {}) for side in ("before", "after"))
        shown = actual.result.get("diff", {}).get("after", {})
        for name in [name for name in after.keys() & shown.keys() if after[name] != before.get(name)]:
            if not is_possible(after[name], shown[name]):
                yield f"{expected.play}: {expected.action} predicts {name}={after[name]}, and it is {shown[name]}"


def name_objects(state: Mapping[str, Any]) -> Any:
    """Return a state without times, with sizes with a unit, and with names or addresses of NICs in place of uuids."""
    lists = [records for records in state.values() if isinstance(records, list)]
    objects = [record for records in lists for record in records if record.get("uuid")]
    names = {record["uuid"]: record.get("name") or record.get("ip") for record in objects}

    def replace(value: Any, field: str = "") -> Any:
        if isinstance(value, Mapping):
            return {name: replace(member, name) for name, member in value.items() if name != "lastOpDate"}
        if isinstance(value, list):
            return [replace(item) for item in value]
        if field in SIZES and value is not None:
            return bytes_to_human(value).replace(".00 ", "").removesuffix("B")
        return names.get(value) or value if isinstance(value, str) and field != "uuid" else value

    return replace(state)


def is_shown(expected: Any, actual: Any) -> bool:
    """Return whether a value has the expected members. Each expected item of a list is one of its items."""
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(is_shown(value, actual[name]) for name, value in expected.items())
    if isinstance(expected, list):
        return all(any(is_shown(each, item) for item in actual) for each in expected)
    return bool(expected == actual)
