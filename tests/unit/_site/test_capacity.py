"""The page about capacity: how much is in use, which VMs lack a restore point, and what fails the role."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.capacity import (
    COMPONENTS,
    build_capacity_rows,
    count_tasks,
    find_overdue,
    sum_rows,
)

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, read_page


def storage(total: Any, free: Any, physical_total: Any = None, physical_free: Any = None) -> dict[str, Any]:
    """Return a connected primary storage."""
    return {
        "name": "ps-1",
        "type": "Ceph",
        "state": "Enabled",
        "status": "Connected",
        "total_capacity": total,
        "available_capacity": free,
        "total_physical_capacity": physical_total,
        "available_physical_capacity": physical_free,
    }


def test_capacities_of_storages() -> None:
    given = [storage(1000, 251), storage(1000, 250), storage(1000, 900, 10, 1), storage(None, None), storage(10, 20)]
    rows = [row for record in given for row in build_capacity_rows([record])]
    assert [(row["total"], row["used"], row["percent"]) for row in rows] == [
        (1000, 749, 74),
        (1000, 750, 75),
        (1000, 100, 10),
        (0, 0, None),
        (10, 0, 0),
    ]
    assert [row["level"] for row in rows] == [0, 1, 2, 0, 0]
    assert rows[0]["detail"] == "Ceph, Enabled, Connected"
    (lost,) = build_capacity_rows([{**storage(10, 10), "state": None, "status": None, "name": None}])
    assert (lost["level"], lost["name"], lost["detail"]) == (1, "", "Ceph, unknown, unknown")


def test_hardware_errors_of_hosts() -> None:
    host = {
        **dict.fromkeys(COMPONENTS),
        "name": "host-1",
        "management_ip": "10.0.0.1",
        "state": "Enabled",
        "status": "Connected",
        "total_cpu_capacity": 100,
        "available_cpu_capacity": 15,
        "total_memory_capacity": 0,
        "available_memory_capacity": 0,
    }
    normal = {**host, "cpu_status": "Normal"}
    broken = {**normal, "fan_status": "Error", "raid_status": "Error"}
    rows = [row for record in (host, normal, broken) for row in build_capacity_rows([record], 80, 86)]
    assert [row["hardware"] for row in rows] == ["unknown", "Normal", "Error: fan, RAID"]
    assert [row["level"] for row in rows] == [1, 1, 2]
    assert (rows[0]["cpu_used"], rows[0]["cpu_percent"], rows[0]["memory_percent"]) == (85, 85, None)
    assert rows[0]["detail"] == "10.0.0.1, Enabled, Connected"


def test_vms_without_a_recent_point() -> None:
    """A point that is not whole does not count, and neither does one of a VM that is gone."""
    vms = [{"uuid": f"u{number}", "name": f"vm-{number}", "state": "Running"} for number in range(6)]
    points = [
        {"vm_uuid": vm, "created": f"2026-11-{day}T00:00:00Z", "whole": whole}
        for vm, day, whole in (
            *(("u0", 27, True), ("u0", 20, True)),
            *(("u1", 20, True), ("u1", 27, False)),
            *(("u2", 24, True), ("u3", 18, True), ("u4", 25, True), ("gone", 1, True)),
        )
    ]
    limit = datetime(2026, 11, 25, tzinfo=timezone.utc)
    assert [(row["name"], row["newest"]) for row in find_overdue(vms, points, limit)] == [
        ("vm-5", None),
        ("vm-3", "2026-11-18T00:00:00Z"),
        ("vm-1", "2026-11-20T00:00:00Z"),
        ("vm-2", "2026-11-24T00:00:00Z"),
    ]


def test_sums_of_rows() -> None:
    """The worst come first. Sums leave out what the service does not send."""
    names = {"b-10": (1000, 251), "B-2": (1000, 251), "A": (1000, 251), "full": (1000, 50), "unknown": (None, None)}
    rows = build_capacity_rows([{**storage(*sizes), "name": name} for name, sizes in names.items()])
    assert [row["name"] for row in rows] == ["full", "A", "B-2", "b-10", "unknown"]
    assert sum_rows(rows, ["", "physical_"]) == {
        "count": 5,
        "connected": 5,
        "warn": 0,
        "bad": 1,
        "total": 4000,
        "used": 3197,
        "percent": 79,
        "physical_total": 0,
        "physical_used": 0,
        "physical_percent": None,
    }


def test_tasks_by_status() -> None:
    """A status can have the name of a method of Python."""
    tasks = [{"status": status} for status in ("items", "items", "Running", None)]
    statuses = {"items": 2, "Running": 1, "unknown": 1}
    assert count_tasks(tasks, 4) == {"count": 4, "open": 1, "statuses": statuses}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the pages into a folder of the test, which is also the home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def run(work: WorkflowRunner, points: list[dict[str, Any]], **variables: Any) -> WorkflowRun:
    """Calculate a page."""
    given = {f"capacity_report_{name}": value for name, value in {"path": "page.html", **variables}.items()}
    return work("capacity_report", given, step="calculate", given={"points": points})


def test_a_part_that_cannot_be_read(sim: Simulator, work: WorkflowRunner) -> None:
    sim.fault("fail", operation="QueryPrimaryStorage", error={"code": "SYS.1006", "details": "no"})
    ran = run(work, [])
    assert [(entry["name"], entry["outcome"]) for entry in ran.report] == [
        ("storages", "failed"),
        ("hosts", "read completely"),
        ("cbt_tasks", "read completely"),
    ]
    totals = ran.result["next"]["totals"]
    assert (totals["storages"], totals["backups"], totals["failed"][0]["part"]) == (None, None, "storages")
    assert (totals["hosts"]["count"], totals["path"]) == (len(sim.records("host")), str(Path.cwd() / "page.html"))
    incomplete = "The capacity report is not complete: 1 of its 3 parts could not be read"
    assert ran.message.startswith(f"{incomplete}: storages: QueryPrimaryStorage failed")
    assert (ran.result["failed_count"], ran.calls, ran.result["changed"]) == (1, [], True)


def test_what_the_page_shows(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """Beside the totals: the storages and hosts, and the CBT tasks that need attention, in the order of their names."""
    sim.reset(cbt_tasks=3)
    tasks = sim.records("cbttask")
    for task, name in zip(tasks, ("job-10", "job-9", "job-2"), strict=True):
        sim.change("cbttask", task["uuid"], name=name, status="Failed" if name == "job-2" else "Running")
    given = {"warn_percent": 11, "bad_percent": 22, "path": "page.html", "file_mode": "0600"}
    ran = run(work, [], **given)
    after, page = ran.result["next"], read_page(ran)
    shown = re.findall("<bdi>(.*?)</bdi>", page)
    assert [name for name in shown if name.startswith("job-")] == ["job-9", "job-10", "job-2"]
    assert ("11 %</b> or more" in page, "22 %</b> or more" in page, 'id="backups"' in page) == (True, True, False)
    for kind in ("primarystorage", "host"):
        assert {record["name"] for record in sim.records(kind)} <= {*shown}
    assert re.search(r"<time>\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>", page)
    path = tmp_path / "page.html"
    assert (path.stat().st_mode & 0o777, after["path"]) == (0o600, str(path))
    assert (after["totals"]["path"], after["totals"]["failed"]) == (str(path), [])
    totals = after["totals"]["cbt_tasks"]
    assert (totals["count"], totals["open"], totals["statuses"]) == (3, 2, {"Running": 2, "Failed": 1})
    assert after["totals"]["hosts"]["hardware_errors"] == 0
    numbers = {"hosts": len(sim.records("host")), "storages": len(sim.records("primarystorage"))}
    assert {**numbers, "CBT tasks": 3, "open backup sessions": 2}.items() <= after["numbers"].items()
    assert not any("VMs" in label for label in after["numbers"])
    assert run(work, [], path="~/home.html").result["next"]["totals"]["path"] == str(tmp_path / "home.html")
    assert (tmp_path / "home.html").is_file()
    assert run(work, [], path="$HOME/of-home.html").result["next"]["totals"]["path"] == str(tmp_path / "of-home.html")


def test_only_a_change_beside_the_time_is_one(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run(work, []).result["changed"]
    path.write_text(re.sub("<time>.*?</time>", "<time>2020-02-20 20:20 UTC</time>", path.read_text()))
    assert not run(work, []).result["changed"]
    assert "2020-02-20" not in path.read_text()
    sim.change("host", sim.records("host")[0]["uuid"], name="renamed")
    assert run(work, []).result["changed"]
    assert "renamed" in path.read_text()


def test_backups_on_the_page(sim: Simulator, work: WorkflowRunner) -> None:
    """A failure of a mover is one of the part. A message names the first VMs only."""
    sim.reset(vms=12)
    given: dict[str, Any] = {"backup_repository": "/srv", "backup_days": 5, "backup_query": ["name~=vm-%"]}
    ran = run(work, [{"points": []}], **given)
    after = ran.result["next"]
    names = [f"vm-{number}" for number in range(1, 13)]
    assert [row["name"] for row in after["totals"]["backups"]["vms"]] == names
    assert after["numbers"]["VMs without a recent restore point"] == 12
    assert "no restore point of the last 5 days" in read_page(ran)
    ran = run(work, [{"points": []}], **given, backup_fail=True)
    assert ran.message == (f"12 of 12 VMs have no restore point of the last 5 days: {', '.join(names[:10])}, ...")
    assert ran.result["failures"] == ["backups: 12 VMs are overdue"]
    ran = run(work, [{"points": []}, {"failed": True, "msg": "no such folder"}], **given)
    backups = ran.report[-1]
    assert (backups["name"], backups["outcome"]) == ("backups", "failed")
    assert "could not be read: no such folder. Check capacity_report_backup_repository and" in backups["error"]
    sim.fault("fail", operation="QueryHost", error={"code": "SYS.1006", "details": "no"})
    ran = run(work, [{"points": []}], **given, backup_fail=True)
    assert ran.message.startswith("The capacity report is not complete: 1 of its 4 parts could not be read. 12 of 12")
    assert ran.result["next"]["totals"]["hosts"] is None


def test_nothing_can_be_read(sim: Simulator, work: WorkflowRunner) -> None:
    """Then an existing page is kept."""
    for operation in ("QueryPrimaryStorage", "QueryHost", "QueryCbtTask"):
        sim.fault("fail", operation=operation, error={"code": "SYS.1006", "details": "no"}, count=None)
    Path("page.html").write_text("earlier")
    ran = run(work, [])
    assert (ran.result["next"]["path"], ran.result["failed_count"], ran.result["changed"]) == ("", 3, False)
    assert Path("page.html").read_text() == "earlier"


def test_vms_without_a_point_fail_on_request(sim: Simulator, work: WorkflowRunner) -> None:
    first, second = sim.records("vm")[:2]
    made = {"vm_uuid": first["uuid"], "created": "2999-01-01T00:00:00Z", "whole": True}
    given = {"backup_repository": "/srv", "backup_query": [f"name?={first['name']},{second['name']}"]}
    points: list[dict[str, Any]] = [{"points": [made]}, {"points": []}]
    ran = run(work, points, **given)
    assert ran.result["failed_count"] == 0
    for days, overdue in ((1, 2), (4, 1)):
        made["created"] = (datetime.now(timezone.utc) - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert run(work, points, **given, backup_days=days).result["next"]["totals"]["backups"]["overdue"] == overdue
    made["created"] = "2999-01-01T00:00:00Z"
    totals = ran.result["next"]["totals"]["backups"]
    assert (totals["count"], totals["overdue"], totals["vms"][0]["uuid"]) == (2, 1, second["uuid"])
    ran = run(work, points, **given, backup_fail=True)
    assert ran.message == f"1 of 2 VMs have no restore point of the last 2 days: {second['name']}"
    assert ran.result["failed_count"] == 1
    ran = run(work, points, **{**given, "backup_query": ["name=nobody"]}, backup_fail=True)
    assert ran.message.startswith("No VM meets capacity_report_backup_query (name=nobody), so capacity_report_backup_f")
    ran = run(work, points, **{**given, "backup_query": ["nme=vm-1"]})
    assert ran.report[-1]["error"].startswith("capacity_report_backup_query: query 'nme=vm-1': VMs have no field")
    lost = {"unreachable": True, "msg": "no route", "item": "localhost"}
    ran = run(work, [lost], **given, backup_fail=True)
    (failed,) = ran.result["next"]["totals"]["failed"]
    assert failed["part"] == "backups"
    assert failed["error"].startswith("The restore points of localhost could not be read: no route. Check capacity_")
    assert ran.result["next"]["totals"]["backups"] is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"warn_percent": 95}, "capacity_report_warn_percent is 95 and capacity_report_bad_percent is 90"),
        ({"backup_days": 0}, "capacity_report_backup_days is 0. It must be above 0"),
        ({"backup_days": 3}, "capacity_report_backup_days needs capacity_report_backup_repository, the folder"),
        ({"backup_mover": ["mover-1"]}, "capacity_report_backup_mover needs capacity_report_backup_repository"),
        ({"backup_fail": True}, "capacity_report_backup_fail needs capacity_report_backup_repository"),
        ({"warn_precent": 5}, "Did you mean capacity_report_warn_percent?"),
    ],
)
def test_mistakes_are_found_before_anything_is_read(
    sim: Simulator, work: WorkflowRunner, variables: dict[str, Any], message: str
) -> None:
    given = {f"capacity_report_{name}": value for name, value in {"path": "page.html", **variables}.items()}
    ran = work("capacity_report", given, step="select")
    assert message in ran.message
    assert ran.log == []


def test_movers_are_asked_with_a_repository_only(sim: Simulator, work: WorkflowRunner) -> None:
    """A text in place of the list of movers is a list."""
    given = {"capacity_report_path": "page.html"}
    assert work("capacity_report", given, step="select").result["next"]["movers"] == []
    given |= {"capacity_report_backup_mover": "mover-1,mover-2", "capacity_report_backup_repository": "/srv"}
    assert work("capacity_report", given, step="select").result["next"]["movers"] == ["mover-1", "mover-2"]
