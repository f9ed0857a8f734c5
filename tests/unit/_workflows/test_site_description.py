"""The files with which the workflow site_description describes a service, and what they do not describe."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with two hosts."""
    sim.reset(clusters=1, hosts=2, vms=0)
    return sim


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the files, which does not exist yet."""
    return tmp_path / "my" / "site"


def describe(work: WorkflowRunner, folder: Path, check: bool = False) -> WorkflowRun:
    """Describe the service."""
    return work("site_description", {"site_description_folder": str(folder)}, check)


def list_files(folder: Path) -> list[str]:
    """Return the names of all files in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


FILES = ["group_vars/all/notifications.yml", "hosts.yml"]


def test_hosts_and_notifications_are_described(service: Simulator, work: WorkflowRunner, folder: Path) -> None:
    predicted = describe(work, folder, check=True)
    assert (predicted.outcomes, predicted.result["changed"], folder.parent.exists()) == (["changed"] * 2, True, False)
    ran = describe(work, folder)
    assert [(entry["kind"], entry["name"], entry["outcome"]) for entry in ran.report] == [
        ("file", "hosts.yml", "changed"),
        ("file", "group_vars/all/notifications.yml", "changed"),
    ]
    assert (ran.result["failed_count"], ran.result["changed"], ran.calls) == (0, True, [])
    described = ran.result["next"]
    assert described["folder"] == str(folder)
    assert list_files(folder) == FILES
    # Nobody else can read the files, or see their names.
    paths = (folder.parent, folder, folder / "group_vars", folder / "group_vars" / "all", *map(folder.joinpath, FILES))
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o700] * 4 + [0o600] * 2
    notifications, hosts = (yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in FILES)
    assert sorted(hosts["site_hosts"]["hosts"]) == ["host-1", "host-2"]
    assert "notifications_topics" in notifications
    assert described["numbers"]["host"] == 2
    assert described["numbers"].keys() == {"host", "service", "platform", "topic", "endpoint", "person"}
    (folder / "hosts.yml").chmod(0o644)
    again = describe(work, folder)
    assert (again.outcomes, again.result["changed"]) == (["changed", "unchanged"], True)
    assert (describe(work, folder).result["changed"], list_files(folder)) == (False, FILES)


def test_what_cannot_be_described(service: Simulator, work: WorkflowRunner, folder: Path) -> None:
    """An object that the roles cannot describe is skipped; records that cannot be read are a failure."""
    service.change("host", service.records("host")[0]["uuid"], state="Odd")
    skipped = describe(work, folder)
    problem = skipped.report[-1]
    assert (problem["kind"], problem["name"], problem["outcome"]) == ("host", "host-1", "skipped")
    assert (skipped.outcomes, skipped.result["failed_count"]) == (["changed", "changed", "skipped"], 0)

    service.fault("fail", "QuerySNSTopic", count=None)
    service.change("host", service.records("host")[1]["uuid"], state="Disabled")
    (folder / "group_vars" / "all" / "notifications.yml").write_text("earlier", encoding="utf-8")
    failed = describe(work, folder)
    assert (failed.outcomes[0], failed.outcomes[-1]) == ("changed", "failed")
    assert (folder / "group_vars" / "all" / "notifications.yml").read_text(encoding="utf-8") == "earlier"
    incomplete = "The description is not complete. Files whose records could not be read were not changed"
    assert failed.message.startswith(f"{incomplete}: topics: QuerySNSTopic failed")


def test_a_service_without_optional_records(service: Simulator, work: WorkflowRunner, folder: Path) -> None:
    """Hosts are described without the service types of their interfaces, which is no failure."""
    service.configure(missing_operations=["GetHostNicServiceTypeStatistic"])
    ran = describe(work, folder)
    assert (ran.outcomes, ran.result["next"]["numbers"]["service"]) == (["changed"] * 2, 0)
    assert list_files(folder) == FILES
