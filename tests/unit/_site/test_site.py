"""What workflows read and select, and failures of batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import ModuleContext
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import Task
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site, drop_label, select

from simulator.launch import Simulator
from support.collection import load_spec
from support.module_runner import run_module

DEFAULTS: dict[str, Any] = {}
BATCH = partial(run_objects, lambda dummy: DEFAULTS)


@pytest.fixture
def context(sim: Simulator) -> Iterator[ModuleContext]:
    """The context of a workflow outside check mode."""
    spec = load_spec("workflow")
    defaults = {name: rules.get("default") for name, rules in spec.argument_spec.items()}
    given = {**defaults, "base_url": sim.url, "session_id": sim.session, "role": "vm_snapshots"}
    task = Task(spec, given, check_mode=False)
    with task.open_client(Hooks(Masker())) as client:
        yield ModuleContext(task.params, {}, client)


def record(number: int, name: str) -> dict[str, str]:
    """Return a record."""
    return {"uuid": f"u{number}", "name": name}


def test_names_and_uuids_select() -> None:
    records = [record(1, "db"), record(2, "db-10"), record(3, "web"), record(4, "web"), record(5, "u1")]
    assert select(records, []).objects == records
    chosen = select(records, ["db-10", "u1", "web", "nowhere", "nowhere"])
    assert [each["uuid"] for each in chosen.objects] == ["u1", "u2", "u3", "u4"]
    assert chosen.missing == ["nowhere"]
    assert chosen.ambiguous == {"u3", "u4"}


def test_a_uuid_makes_a_name_clear() -> None:
    records = [record(1, "web"), record(2, "web")]
    chosen = select(records, ["u1"])
    assert ([each["uuid"] for each in chosen.objects], chosen.ambiguous) == (["u1"], frozenset())
    assert select(records, ["u1", "web"]).ambiguous == {"u2"}
    assert select(records, ["u1", "web"]).missing == []


def test_removed_vms_are_not_selected(sim: Simulator, context: ModuleContext) -> None:
    first, second, *dummy = sim.records("vm")
    sim.change("vm", first["uuid"], state="Destroyed")
    chosen = Site(context, BATCH).select_vms(["name~=vm-%"], ["vm-1", "vm-2", second["uuid"]])
    assert ([each["name"] for each in chosen.objects], chosen.missing) == (["vm-2"], ["vm-1"])


def test_a_failed_read_is_an_error(sim: Simulator, context: ModuleContext) -> None:
    sim.fault("fail", operation="QueryVmInstance", count=20, error={"code": "SYS.1006", "details": "no database"})
    with pytest.raises(VirtinfraError, match="no database") as failure:
        Site(context, BATCH).read("vm_info", query=[])
    assert failure.value.error["code"] == "SYS.1006"


def test_failures_stay_with_their_objects(context: ModuleContext) -> None:
    objects = [{"name": "vm-1", "state": "stopped"}, {"name": "vm-99", "state": "stopped"}, {"nam": "vm-2"}]
    results = Site(context, BATCH).batch("vm", objects, 2, wait_timeout=60)
    assert [(result["changed"], result["failed"]) for result in results] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert context.changed
    assert Site(context, BATCH).batch("vm", [], 2) == []


def test_messages_do_not_repeat_their_objects(context: ModuleContext) -> None:
    """The report has the name of the object, and the message had its uuid."""
    uuid = "a0000004000040008000000000000099"
    results = Site(context, BATCH).batch(
        "vm", [{"uuid": uuid, "state": "stopped"}, {"name": "vm-99", "state": "stopped"}], 2
    )
    assert [result["msg"].split(" ")[0] for result in results] == ["no", "no"]
    result = {"msg": "vm v1: StopVmInstance failed: the host h1: is down"}
    assert drop_label(result, {"uuid": "v1"}) == {"msg": "StopVmInstance failed: the host h1: is down"}
    assert drop_label(result, {"uuid": "h1"}) == drop_label(result, {}) == result


def test_the_first_changes_are_shown(sim: Simulator, context: ModuleContext) -> None:
    """The roles showed 50,000 lines."""
    site = Site(context, partial(run_objects, lambda dummy: {}, shows_diff=True))
    site.batch("sns_topic", [{"name": f"new-{number}"} for number in range(25)], 5)
    site.batch("sns_topic", [{"name": "new-1"}], 5)
    diff = site.build_diff()
    uuids = {topic["name"]: topic["uuid"] for topic in sim.records("topic")}
    headers = [f"sns_topic new-{number} ({uuids[f'new-{number}']})" for number in range(2)]
    assert [each["after_header"] for each in diff[:2]] == headers
    assert (len(diff), diff[-1]) == (21, {"prepared": "and 5 more changes\n"})


def test_a_workflow_waits_whatever_the_defaults_are(context: ModuleContext) -> None:
    context.params = {**context.params, "wait": False}
    (result,) = Site(context, BATCH).batch("vm", [{"name": "vm-1", "state": "stopped"}], 2)
    assert (result["vm"]["state"], "job" in result) == ("Stopped", False)


def test_options_that_no_object_can_have_fail_for_all(context: ModuleContext) -> None:
    results = Site(context, BATCH).batch("vm", [{"name": "vm-1"}, {"name": "vm-2"}], 0)
    assert [result["msg"] for result in results] == ["concurrency must be at least 1"] * 2


@pytest.mark.usefixtures("context")
def test_a_workflow_needs_the_controller(sim: Simulator) -> None:
    options = {"base_url": sim.url, "session_id": sim.session, "role": "vm_snapshots"}
    assert "only inside the controller" in run_module("workflow", options).result["msg"]
