"""The comparison of a service with variables: what is read of them, and what fails the role."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.site_drift import summarize

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

HOST = {"host_onboarding_name": "host-1", "host_onboarding_management_ip": "ADDRESS"}


def compare(sim: Simulator, work: WorkflowRunner, host: dict[str, Any] | None = None, **variables: Any) -> WorkflowRun:
    """Compare the service with one host, by default the first one, and the variables of the role notifications."""
    address = next(record["managementIp"] for record in sim.records("host") if record["name"] == "host-1")
    given = {**HOST, "host_onboarding_management_ip": address, **(host or {})}
    play = {"groups": {"site_hosts": ["h"]}, "hostvars": {"h": given}}
    return work("site_drift", {**play, **variables})


def outcomes(run: WorkflowRun, kind: str) -> dict[str, str]:
    """Return the outcomes of the objects of a kind."""
    return {entry["name"]: entry["outcome"] for entry in run.report if entry["kind"] == kind}


def test_drift_is_found_with_reads_only(sim: Simulator, work: WorkflowRunner) -> None:
    ran = compare(sim, work, {"host_onboarding_state": "disabled"}, notifications_topics=[{"name": "topic-1"}])
    assert outcomes(ran, "topic") == {"topic-1": "same", "topic-2": "not described"}
    assert outcomes(ran, "host")["host-1"] == "differs"
    (error,) = (entry["error"] for entry in ran.report if entry["name"] == "host-1")
    assert error == "state is 'Enabled', described as 'Disabled'"
    assert ran.calls == []
    assert ran.result["changed"] is False
    differing = len([each for each in ran.report if each["outcome"] != "same"])
    assert ran.message.startswith(f"{differing} of {len(ran.report)} objects differ from their description: host-1: ")


def test_an_address_that_may_be_a_secret_differs_in_silence(
    sim: Simulator, run: ModuleRunner, work: WorkflowRunner
) -> None:
    """Its difference is named only where nothing else differs, and without the addresses."""
    chat = {"type": "workchat", "name": "operators", "url": "https://chat.example.com/send?key=one"}
    run("sns_endpoint", {**chat, "state": "disabled"})
    other = [{**chat, "url": "https://chat.example.com/send?key=another", "state": "enabled"}]

    def explain() -> str:
        report = compare(sim, work, notifications_endpoints=other).report
        return next(str(entry["error"]) for entry in report if entry["name"] == "operators")

    assert explain() == "state is 'Disabled', described as 'Enabled'"
    run("sns_endpoint", {"name": "operators", "type": "workchat", "state": "enabled"})
    assert explain() == "url differs"


def test_a_host_has_its_name_in_the_inventory(sim: Simulator, work: WorkflowRunner) -> None:
    """A variable can give the host another name."""
    ran = compare(sim, work, {"host_onboarding_name": None})
    (error,) = (entry["error"] for entry in ran.report if entry["name"] == "h")
    assert error == "name is 'host-1', described as 'h'"


def test_only_failures_count_on_request(sim: Simulator, work: WorkflowRunner) -> None:
    ran = compare(sim, work, site_drift_fail="no")
    assert "not described" in ran.outcomes
    assert ran.result["failed_count"] == 0
    sim.fault("fail", "QuerySNSTopic", count=None)
    ran = compare(sim, work, site_drift_fail=False)
    assert (ran.result["failed_count"], ran.report[-1]["kind"], ran.report[-1]["outcome"]) == (1, "records", "failed")
    assert ran.message.startswith(f"1 of {len(ran.report)} objects could not be checked: topics: QuerySNSTopic failed")


def test_service_types_that_are_no_records(sim: Simulator, work: WorkflowRunner) -> None:
    sim.fault("garbage", "GetHostNicServiceTypeStatistic", garbage="types", count=None)
    ran = compare(sim, work)
    (failed,) = (entry for entry in ran.report if entry["outcome"] == "failed")
    assert (failed["kind"], failed["name"]) == ("records", "services")
    assert "GetHostNicServiceTypeStatistic" in failed["error"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"host": {"host_onboarding_stat": "x"}},
            "host h: the role host_onboarding has no variable host_onboarding_stat",
        ),
        ({"notifications_topic": []}, "Did you mean notifications_topics"),
        ({"site_drift_groups": "x"}, "Did you mean site_drift_group"),
        ({"site_drift_group": "none"}, "Nothing is described: the group none (site_drift_group) has no hosts"),
    ],
)
def test_mistakes_are_found_before_anything_is_read(
    sim: Simulator, work: WorkflowRunner, variables: dict[str, Any], message: str
) -> None:
    ran = compare(sim, work, **variables)
    assert message in ran.message
    assert ran.result["error"]["code"] == "INVALID"
    assert ran.log == []


def test_a_host_without_its_address_is_not_compared_silently(sim: Simulator, work: WorkflowRunner) -> None:
    """The host of the service is not described then."""
    ran = compare(sim, work, {"host_onboarding_management_ip": None})
    (entry,) = (entry for entry in ran.report if entry["outcome"] == "skipped")
    assert (entry["kind"], entry["name"]) == ("host", "host-1")
    assert "it has no host_onboarding_management_ip" in entry["error"]
    assert [each["outcome"] for each in ran.report if each["name"] == "host-1"] == ["skipped", "not described"]


def test_a_group_without_hosts_is_named_beside_described_notifications(sim: Simulator, work: WorkflowRunner) -> None:
    ran = compare(sim, work, site_drift_group="none", notifications_topics=[{"name": "topic-1"}])
    errors = {entry["error"] for entry in ran.report if entry["kind"] == "host"}
    assert errors == {"the service has it, but the group none (site_drift_group) has no hosts"}
    assert "the group none (site_drift_group) has no hosts" in ran.message


def test_summary_of_differences_and_failures() -> None:
    rows = [{"outcome": outcome, "error": "x"} for outcome in ("same", "differs", "failed", "skipped")]
    assert summarize(rows, True) == "1 of 4 objects differ from their description, and 1 could not be checked"
    assert summarize(rows, False) == "1 of 4 objects could not be checked"
    assert summarize(rows[:2], False) == ""
