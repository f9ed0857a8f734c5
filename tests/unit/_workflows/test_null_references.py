"""References of roles that are null, or empty as core before 2.19 makes them, in check mode and in the run.

An object that check mode only predicts is referred to by the workflows themselves, which their own tests show.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRunner, create_play

GROUP = "a000000b000040008000000000000001"
NEW = {"name": "new-1", "management_ip": "10.1.0.1", "username": "root", "password": "only-4-the-simulator"}
ONBOARDING = {"state": "enabled", "services": [], "timeout": 60, "concurrency": 500}


def onboard(**variables: Any) -> dict[str, Any]:
    """Return the variables of a play that onboards a host."""
    given = {f"host_onboarding_{name}": value for name, value in {**ONBOARDING, **variables}.items()}
    return create_play({"a": {"__host_onboarding_wanted": {**given, "names": [*given, "host_onboarding_report"]}}})


def restore(**options: Any) -> dict[str, Any]:
    """Return the variables that restore a VM."""
    return {"vm_restore_vms": [{"name": "new", "snapshot_group": GROUP, **options}]}


def notify(**options: Any) -> dict[str, Any]:
    """Return the variables with an endpoint that exists."""
    return {"notifications_endpoints": [{"name": "snmp-endpoint-1", "type": "snmp", **options}]}


# The role, the function that builds its variables, those of the object, the reference, and whether the role needs it.
CASES: dict[str, tuple[str, Any, dict[str, Any], str, bool]] = {
    "an existing host": (
        "host_onboarding",
        onboard,
        {"name": "host-1", "management_ip": "10.0.0.11"},
        "cluster",
        False,
    ),
    "a new host": ("host_onboarding", onboard, NEW, "cluster", True),
    "a restored VM": ("vm_restore", restore, {}, "cluster", False),
    "an endpoint": ("notifications", notify, {}, "platform", False),
}


@pytest.mark.parametrize("null", [None, ""])
@pytest.mark.parametrize("case", CASES)
def test_a_null_reference_of_a_role(sim: Simulator, work: WorkflowRunner, case: str, null: str | None) -> None:
    role, build, options, reference, is_needed = CASES[case]
    outcomes = []
    for given in ({}, {reference: null}):
        for check in (True, False):
            sim.reset(snapshot_groups=1)
            ran = work(role, build(**options, **given), check)
            outcomes.append((ran.outcomes, ran.result["changed"]))
    assert outcomes[:2] == outcomes[2:]
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0][0] == ["failed"]) == is_needed
