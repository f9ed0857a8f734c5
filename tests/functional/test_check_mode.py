"""Check mode predicts whole plays, also tasks that use objects which an earlier task would have created."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Run

CHAIN: list[dict[str, Any]] = [
    {
        "virtinfra.manager.vm_from_snapshot_group": {
            "name": "n",
            "snapshot_group": seeded_uuid("snapshotgroup", 1),
        },
        "register": "vm",
    },
    {
        "virtinfra.manager.vm_nic": {"vm": "{{ vm.vm.uuid }}", "l3_network": seeded_uuid("l3network", 2)},
        "register": "nic",
    },
    {"virtinfra.manager.vm_nic": {"uuid": "{{ nic.nic.uuid }}", "state": "disabled"}},
    {"virtinfra.manager.cbt_task": {"name": "n", "vm": "{{ vm.vm.uuid }}", "state": "enabled"}},
    {"virtinfra.manager.cbt_task": {"name": "m", "task_type": "t", "vms": ["{{ vm.vm.uuid }}"]}},
    {"virtinfra.manager.cbt_task": {"name": "o", "task_type": "t", "vms": "{{ [vm.vm.uuid] }}"}},
    {"virtinfra.manager.cbt_task": {"vm": "{{ vm.vm.uuid }}", "state": "absent"}},
    {"virtinfra.manager.vm_nic_qos": {"uuid": "{{ nic.nic.uuid }}", "direction": "in"}},
    {
        "virtinfra.manager.kvm_host": {
            "name": "n",
            "management_ip": "192.0.2.9",
            "cluster": "cluster-1",
            "username": "root",
            "password": "secret",
        },
        "register": "host",
    },
    {"virtinfra.manager.vm": {"name": "vm-1", "state": "running", "host": "{{ host.host.uuid }}"}},
    {
        "virtinfra.manager.batch": {
            "module": "vm",
            "objects": [{"name": "vm-2", "state": "running", "host": "{{ host.host.uuid }}"}],
        }
    },
    {
        "virtinfra.manager.api": {
            "operation": "ChangeVmNicState",
            "params": {"vmNicUuid": "{{ nic.nic.uuid }}", "state": "disable"},
        }
    },
]
# Module processes are slow, so they run one task of each kind: a new object, one that depends on it, the module for all
# operations.
IN_PROCESSES = [CHAIN[0], CHAIN[1], CHAIN[-1]]


@pytest.mark.parametrize(
    ("tasks", "as_module"), [(CHAIN, False), (IN_PROCESSES, True)], ids=["controller", "module process"]
)
def test_chain_of_tasks_is_predicted_in_check_mode(
    playbook_runner: PlaybookRunner, tasks: list[dict[str, Any]], as_module: bool
) -> None:
    run = playbook_runner.play(*tasks, as_module=as_module, arguments=["--check"])
    assert [played.result.get("msg") for played in run if not played.result["changed"]] == []
    assert not any(played.written for played in run)


# Tasks with a null, or with what is null before core 2.19, which no earlier task has predicted. The objects exist.
NULLS: list[dict[str, Any]] = [
    {"virtinfra.manager.vm": {"name": "vm-1", "state": "running", "host": None}},
    {"virtinfra.manager.vm": {"name": "vm-1", "uuid": None, "cpu_num": 3}},
    {"virtinfra.manager.vm_nic": {"uuid": seeded_uuid("vmnic", 1), "l3_network": None}},
    {"virtinfra.manager.sns_endpoint": {"type": "snmp", "name": "snmp-endpoint-1", "platform": None, "topics": None}},
    {"virtinfra.manager.kvm_host": {"name": "host-1", "cluster": None, "tag_patterns": None}},
    {"virtinfra.manager.kvm_host": {"uuid": None, "state": "disabled"}},
    {"virtinfra.manager.cbt_task": {"vm": None, "state": "absent"}},
    {"virtinfra.manager.vm_snapshot_group": {"vm": None, "name": "n"}},
    {"virtinfra.manager.vm_info": {"uuid": None}},
    {"virtinfra.manager.batch": {"module": "vm", "objects": [{"name": "vm-1", "state": "running", "host": None}]}},
    {"virtinfra.manager.api": {"operation": "ChangeHostState", "params": {"uuid": None, "stateEvent": "disable"}}},
]
NULLS_IN_PROCESSES = [NULLS[0], NULLS[5]]


def replace_null(value: Any, null: Any) -> Any:
    """Return options in which a null is another value."""
    if isinstance(value, dict):
        return {name: replace_null(member, null) for name, member in value.items()}
    if isinstance(value, list):
        return [replace_null(item, null) for item in value]
    return null if value is None else value


@pytest.mark.parametrize(
    ("tasks", "as_module", "null"),
    [*((NULLS, False, null) for null in (None, "", "{{ none }}")), (NULLS_IN_PROCESSES, True, "{{ none }}")],
)
def test_null_that_no_task_predicted_is_the_same_in_check_mode_and_in_a_run(
    sim: Simulator, playbook_runner: PlaybookRunner, tasks: list[dict[str, Any]], as_module: bool, null: str | None
) -> None:
    tasks = [{**replace_null(task, null), "ignore_errors": True} for task in tasks]
    sim.reset(cbt_tasks=1)
    checked = playbook_runner.play(*tasks, as_module=as_module, arguments=["--check"])
    ran = playbook_runner.play(*tasks, as_module=as_module)
    outcomes = [[(each.result["changed"], each.result.get("msg", "")) for each in run] for run in (checked, ran)]
    assert outcomes[0] == outcomes[1]
    refused = [index for index, (dummy, message) in enumerate(outcomes[1]) if "must not be null or empty" in message]
    assert refused == ([1] if as_module else [5, 6, 7, 8, 10])


@pytest.fixture
def demo(sim: Simulator, playbook_runner: PlaybookRunner) -> Any:
    """Run the demo."""
    environment = {
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
        "VIRTINFRA_API_TOKEN": sim.token,
    }

    def play(*arguments: str) -> Run:
        run = playbook_runner.playbook("virtinfra.manager.demo", arguments, environment)
        assert run.code == 0, run.output
        return run

    return play


def changes(run: Run) -> list[tuple[str, list[bool]]]:
    """Return the tasks that changed something, each with the results of its items."""
    return [
        (each.task, [item["changed"] for item in each.result.get("results", [each.result])])
        for each in run
        if each.result.get("changed")
    ]


def test_check_mode_of_the_demo(sim: Simulator, demo: Any) -> None:
    before = sim.state()
    checked = demo("--check")
    assert [request for played in checked for request in played.requests if request["method"] != "GET"] == []
    assert sim.state() == before
    ran = demo()
    assert changes(checked) == changes(ran) != []
    again = demo()
    assert changes(again) == []
    # The README shows the second run, and says how many objects the first one changes.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (summary,) = (played.result["msg"] for played in again if played.task == "Show a summary")
    assert [line for line in summary if f"    - {line}\n" not in readme] == []
    assert f"The first run: {sum(sum(items) for dummy, items in changes(ran))} objects changed.\n" in readme
