"""Each property of each kind: set by the creation, changed or refused later; and each kind's name, state and tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import (
    Property,
    list_properties,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import KINDS, Kind
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import list_states

from simulator.launch import Simulator
from support.kind_calls import check_calls
from support.kind_tasks import KIND_TASKS, identify
from support.kind_values import UNKNOWN_TO_THE_SIMULATOR, find_values
from support.module_runner import ModuleRun, ModuleRunner
from support.predictions import is_possible

# What the service sets with each change.
DATES = {"create_date", "last_op_date"}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.configure(latency=0)
    return ModuleRunner(sim)


def prepare(run: ModuleRunner, kind: Kind) -> dict[str, Any]:
    """Run the tasks that those of a kind need; return the options of the task that creates its object."""
    tasks = KIND_TASKS[kind.name]
    for options in tasks.before:
        assert not run("resource", options).failed
    return tasks.creates


def run_as_predicted(run: ModuleRunner, options: dict[str, Any]) -> ModuleRun:
    """Check that a task changes what check mode predicts, and nothing when it runs again."""
    checked = run("resource", options, check=True)
    ran = run.twice("resource", options)
    for shown in ("before", "after"):
        predicted, actual = ({**each["diff"][shown]} for each in (checked, ran))
        # A field that check mode does not know is null, or missing.
        known = {name: value for name, value in predicted.items() if value is not None and name not in DATES}
        assert is_possible(known, {name: actual.get(name) for name in known}), shown
    assert ran.warnings == []
    check_calls(options["kind"], ran.log)
    return ran


def list_all_properties() -> Iterator[Any]:
    for kind in KINDS:
        for name, each in list_properties(kind).items():
            if name not in UNKNOWN_TO_THE_SIMULATOR:
                yield pytest.param(kind, each, id=f"{kind.name}-{name}")


@pytest.mark.parametrize(("kind", "each"), list(list_all_properties()))
def test_property_is_set_and_changed_or_refused_by_name(run: ModuleRunner, kind: Kind, each: Property) -> None:
    creates, values = prepare(run, kind), find_values(kind, each)
    properties = creates.get("properties", {}) if values.instead is None else values.instead
    run_as_predicted(run, {**creates, "properties": {**properties, each.name: values.created}})
    if values.created == values.changed:
        assert len(each.parameter.choices) == 1
        return
    change = {**identify(KIND_TASKS[kind.name]), "properties": {**values.needs, each.name: values.changed}}
    if not each.is_shown and not values.needs and kind.name != "scheduler_trigger":
        # It is not compared, and sent with other changes.
        run.idle("resource", change)
    elif each.can_change:
        run_as_predicted(run, change)
    else:
        message = run.refused("resource", change)
        assert f": the API cannot change {each.name} (is " in message
        assert ", should be " in message


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.update and kind.create], ids=lambda kind: kind.name)
def test_object_has_a_name_a_uuid_states_and_tags(run: ModuleRunner, kind: Kind) -> None:
    uuid = run.twice("resource", prepare(run, kind))["resource"]["uuid"]
    selected = {"kind": kind.name, "uuid": uuid}
    run.idle("resource", selected)
    assert run_as_predicted(run, {**selected, "name": "renamed"})["resource"]["name"] == "renamed"
    assert run.idle("resource", {"kind": kind.name, "name": "renamed"})["resource"]["uuid"] == uuid
    for state in ("disabled", "enabled"):
        if state in list_states(kind):
            ran = run_as_predicted(run, {**selected, "state": state})
            assert ran["resource"]["state"] == state.capitalize()
    for tags in (["a", "b::c"], ["b::c"], []) if kind.tagged_type else ():
        assert run_as_predicted(run, {**selected, "tags": tags})["resource"]["tags"] == tags
    assert run.twice("resource", {**selected, "state": "absent"})["resource"] is None
    assert f"no {kind.noun} with uuid " in run.refused("resource", selected) or kind.deleted


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.tagged_type], ids=lambda kind: kind.name)
def test_new_object_has_the_tags_of_its_task(run: ModuleRunner, kind: Kind) -> None:
    assert run_as_predicted(run, {**prepare(run, kind), "tags": ["new"]})["resource"]["tags"] == ["new"]
