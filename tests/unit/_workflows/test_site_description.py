"""The files with which the workflow site_description describes a service, and what they do not describe."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
import yaml

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two hosts."""
    sim.reset(clusters=1, hosts=2, vms=0)
    return sim


def describe(work: WorkflowRunner) -> WorkflowRun:
    """Describe the service."""
    return work("site_description", {"site_description_folder": "/srv/site"}, step="describe")


def report(work: WorkflowRunner, described: dict[str, Any], written: list[bool]) -> WorkflowRun:
    """Report the files, of which those of ``written`` were changed."""
    names = [file["name"] for file in described["files"]]
    given = {"files": names, "written": written, "problems": described["problems"]}
    return work("site_description", {"site_description_folder": "/srv/site"}, step="report", given=given)


def test_hosts_and_notifications_are_described(service: Simulator, work: WorkflowRunner) -> None:
    described = describe(work).result["next"]
    assert described["folder"] == "/srv/site"
    assert described["folders"] == ["/srv/site", "/srv/site/group_vars", "/srv/site/group_vars/all"]
    files = {file["path"]: yaml.safe_load(b64decode(file["content"])) for file in described["files"]}
    (hosts,) = (content for path, content in files.items() if path == "/srv/site/hosts.yml")
    assert sorted(hosts["site_hosts"]["hosts"]) == ["host-1", "host-2"]
    assert described["numbers"]["host"] == 2
    assert described["numbers"].keys() == {"host", "service", "platform", "topic", "endpoint", "person"}
    assert {name for content in files.values() for name in content} >= {"site_hosts", "notifications_topics"}
    ran = report(work, described, [True, False])
    assert [(entry["kind"], entry["outcome"]) for entry in ran.report[:2]] == [
        ("file", "changed"),
        ("file", "unchanged"),
    ]
    assert ran.result["failed_count"] == 0


def test_what_cannot_be_described(service: Simulator, work: WorkflowRunner) -> None:
    """An object that the roles cannot describe is skipped; records that cannot be read are a failure."""
    service.change("host", service.records("host")[0]["uuid"], state="Odd")
    described = describe(work).result["next"]
    (problem,) = described["problems"]
    assert (problem["kind"], problem["name"], problem["outcome"]) == ("host", "host-1", "skipped")
    skipped = report(work, described, [True, True])
    assert (skipped.outcomes, skipped.result["failed_count"]) == (["changed", "changed", "skipped"], 0)

    service.fault("fail", "QuerySNSTopic", count=None)
    described = describe(work).result["next"]
    assert [file["name"] for file in described["files"]] == ["hosts.yml"]
    failed = report(work, described, [False])
    assert (failed.outcomes[0], failed.outcomes[-1]) == ("unchanged", "failed")
    incomplete = "The description is not complete. Files whose records could not be read were not changed"
    assert failed.message.startswith(f"{incomplete}: topics: QuerySNSTopic failed")


def test_a_service_without_optional_records(service: Simulator, work: WorkflowRunner) -> None:
    """Hosts are described without the service types of their interfaces, which is no failure."""
    service.configure(missing_operations=["GetHostNicServiceTypeStatistic"])
    described = describe(work).result["next"]
    assert (described["problems"], described["numbers"]["service"]) == ([], 0)
    assert [file["name"] for file in described["files"]] == ["hosts.yml", "group_vars/all/notifications.yml"]
