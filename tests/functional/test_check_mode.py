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
    assert [played.result.get("msg", "") for played in run] == [""] * len(tasks)
    assert all(played.result["changed"] for played in run)
    assert not any(played.written for played in run)


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
