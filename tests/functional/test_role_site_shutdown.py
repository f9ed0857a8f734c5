"""What the role site_shutdown does when its time is over."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner

LATE = "site_shutdown_time_limit was over before it could be stopped"


@pytest.mark.parametrize("cold", [True, False])
def test_a_group_without_time_is_powered_off_or_fails(
    sim: Simulator, playbook_runner: PlaybookRunner, cold: bool
) -> None:
    """Reading the site has taken the second that the groups had."""
    sim.reset(vms=4, sync=True)
    sim.fault("slow", "QueryVmInstance", seconds=1.1)
    given: dict[str, Any] = {
        "site_shutdown_groups": [{"name": "first", "vms": ["vm-1"]}, {"name": "second", "vms": ["vm-3"]}],
        "site_shutdown_remaining": False,
        "site_shutdown_hosts": False,
        "site_shutdown_time_limit": 1,
        "site_shutdown_cold": cold,
    }
    role = {"ansible.builtin.include_role": {"name": "virtinfra.manager.site_shutdown"}}
    run = playbook_runner.play(role, vars=given, ignore_errors=False)
    report = run.get_fact("site_shutdown_report")
    vms = {vm["name"]: vm["state"] for vm in sim.records("vm")}
    if cold:
        assert {(entry["outcome"], entry["powered_off"], entry["error"]) for entry in report} == {
            ("changed", True, None)
        }
        assert (run.code, vms["vm-1"], vms["vm-3"]) == (0, "Stopped", "Stopped")
    else:
        assert {(entry["outcome"], entry["error"]) for entry in report} == {("failed", LATE)}
        assert (run.code, vms["vm-1"], vms["vm-3"]) == (2, "Running", "Running")
        assert LATE in run.output
