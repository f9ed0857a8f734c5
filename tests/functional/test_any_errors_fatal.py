"""With any_errors_fatal, a role that runs for each host finishes all hosts before the failure of one ends the play."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner

FAILING_ONCE = [{"ansible.builtin.fail": {"msg": "broken"}, "when": "inventory_hostname == 'host-1'"}]


@pytest.mark.parametrize(
    ("role", "outcomes", "states"),
    [
        ("host_maintenance", ["done", "failed"], ["Enabled", "Maintenance"]),
        ("host_removal", ["changed", "failed"], ["Maintenance"]),
    ],
)
def test_each_host_has_its_report(
    sim: Simulator,
    playbook_runner: PlaybookRunner,
    tmp_path: Path,
    role: str,
    outcomes: list[str],
    states: list[str],
) -> None:
    sim.reset(clusters=1, hosts=4, vms=0, latency=0.0, reconnect=0.0)
    sim.fault("fail", "DeleteHost")
    tasks, inventory = tmp_path / "tasks.json", tmp_path / "hosts.json"
    tasks.write_text(json.dumps(FAILING_ONCE), encoding="utf-8")
    hosts = {host["name"]: {f"{role}_uuid": host["uuid"]} for host in sim.records("host")[:2]}
    variables = {
        "host_maintenance_tasks": str(tasks),
        "host_removal_destroy_local_storage": True,
        "ansible_connection": "local",
    }
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}), encoding="utf-8")
    play = playbook_runner.build_play(
        {"ansible.builtin.debug": {"msg": "after the role"}},
        hosts="all",
        any_errors_fatal=True,
        ignore_errors=False,
        roles=[f"virtinfra.manager.{role}"],
    )
    run = playbook_runner.playbook([play], ["-i", str(inventory)])
    facts = [played.result.get("ansible_facts", {}) for played in run]
    # The first task of a role empties the report.
    reports = [each[f"{role}_report"] for each in facts if each.get(f"{role}_report")]
    assert sorted(report["outcome"] for report in reports) == outcomes, run.output
    assert run.code == 2
    assert "after the role" not in run.output
    assert sorted(host["state"] for host in sim.records("host") if host["name"] in hosts) == states
