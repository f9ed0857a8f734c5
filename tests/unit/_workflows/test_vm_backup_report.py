"""The page about backups: how well each VM is protected, what is not and why, and what fails the role."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._vm_backups.overview import find_end

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRun, WorkflowRunner

GIB = 1024**3
HOSTILE = "<script>alert(1)</script><time>"

Given = dict[str, Any]


def make_point(number: int, days: float, **members: Any) -> Given:
    """Return a point of a VM with this number, so many days old, as backup_point_info returns it."""
    created = datetime.now(timezone.utc) - timedelta(days=days)
    point = {
        "vm_uuid": seeded_uuid("vm", number),
        "vm_name": f"vm-{number}",
        "point": created.strftime("%Y%m%dT%H%M%SZ"),
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mode": "incremental",
        "file_bytes": GIB,
        "volumes": [],
        "left_out": [],
        "whole": True,
        "problems": [],
        "proved": None,
    }
    return {**point, **members}


def make_mover(*points: Given, item: str = "mover-1", **members: Any) -> Given:
    """Return the result of backup_point_info on a mover."""
    space = {"free_bytes": 50 * GIB, "total_bytes": 100 * GIB}
    return {"item": item, "points": list(points), "leftovers": [], "space": space, **members}


class Role:
    """The last step of the role, which gets the results of the movers."""

    def __init__(self, sim: Simulator, folder: Path) -> None:
        sim.reset(vms=4, user_tags=0)
        self.path, self._sim = folder / "backups.html", sim

    def __call__(self, *results: Given, **variables: Any) -> WorkflowRun:
        given = {"path": str(self.path), "repository": "/srv/backups", **variables}
        prefixed = {f"vm_backup_report_{name}": value for name, value in given.items()}
        return WorkflowRunner(self._sim)(
            "vm_backup_report", prefixed, step="calculate", given={"points": list(results)}
        )


@pytest.fixture
def role(sim: Simulator, tmp_path: Path) -> Role:
    return Role(sim, tmp_path)


def read_overview(ran: WorkflowRun) -> Given:
    """Return what the fact of the role is. It is also in the file beside the page."""
    overview: Given = ran.result["next"]["overview"]
    page, written = read_page(ran), json.loads(Path(overview["path"]).with_suffix(".json").read_text(encoding="utf-8"))
    assert datetime.strptime(written.pop("as_of"), "%Y-%m-%dT%H:%M:%SZ")
    assert written == overview
    assert "<script" not in page
    return overview


def read_page(ran: WorkflowRun) -> str:
    """Return the page."""
    return Path(ran.result["next"]["overview"]["path"]).read_text(encoding="utf-8")


def test_each_vm_is_judged_by_its_newest_point_that_can_be_restored(role: Role) -> None:
    broken = {"whole": False, "problems": ["a file is missing"]}
    ran = role(
        make_mover(
            make_point(1, 20),
            make_point(1, 0.5, mode="full"),
            make_point(2, 5),
            make_point(2, 0.2, **broken),
            make_point(3, 1, **broken),
            make_point(4, -3, future=True),
        )
    )
    overview = read_overview(ran)
    assert {vm["vm"]: (vm["outcome"], vm["error"]) for vm in overview["vms"]} == {
        "vm-1": ("protected", None),
        "vm-2": (
            "overdue",
            "The newest restore point is older than 2 days. A newer one cannot be restored: a file is missing.",
        ),
        "vm-3": ("not protected", "No point can be restored: a file is missing."),
        "vm-4": ("not protected", "It has no restore point."),
    }
    # What is wrong comes first.
    assert [vm["vm"] for vm in overview["vms"]][-2:] == ["vm-2", "vm-1"]
    protected = overview["vms"][-1]
    assert (protected["mode"], protected["points"], protected["total_bytes"]) == ("full", 2, 2 * GIB)
    assert overview["counts"] == {"protected": 1, "unknown": 0, "overdue": 1, "not protected": 2}
    assert ran.result["failed_count"] == 0
    failed = role(make_mover(make_point(1, 0.5)), fail=True)
    assert failed.result["failed_count"] == 3
    assert failed.message == "3 of 4 VMs have no restore point of the last 2 days: vm-2, vm-3, vm-4"


def test_a_query_without_vms_fails_a_report_that_may_fail(role: Role) -> None:
    """It would be green, and protect nothing."""
    silent = role(make_mover(make_point(1, 0.5)), query=["name=nobody"])
    assert silent.result["failed_count"] == 0
    (warning,) = silent.warnings
    assert warning.startswith("No VM meets vm_backup_report_query (name=nobody), so the page shows no VM that")
    assert role(make_mover(make_point(1, 0.5))).warnings == []
    ran = role(make_mover(make_point(1, 0.5)), query=["name=nobody"], fail=True)
    assert ran.message.startswith("No VM meets vm_backup_report_query (name=nobody), so vm_backup_report_fail would")


def test_what_is_not_protected_is_said(role: Role, sim: Simulator) -> None:
    """Volumes without a copy, VMs outside the query, points of removed VMs, and what interrupted tasks have left."""
    sim.change("vm", seeded_uuid("vm", 4), state="Destroyed")
    left_out = [{"volume_uuid": "v", "name": "quorum", "reason": "it is shareable"}]
    leftover = {"vm_uuid": seeded_uuid("vm", 1), "folder": "/srv/backups/x/20261127T021500Z.partial", "file_bytes": 7}
    points = (
        make_point(1, 0.5, left_out=left_out),
        make_point(3, 3),
        make_point(4, 9),
        make_point(4, 8),
        make_point(9, 7),
    )
    ran = role(make_mover(*points, leftovers=[leftover]), query=["name=vm-1"])
    overview = read_overview(ran)
    assert [vm["vm"] for vm in overview["vms"]] == ["vm-1"]
    assert [(each["vm"], each["volume"], each["reason"]) for each in overview["volumes"]] == [
        ("vm-1", "quorum", "it is shareable")
    ]
    # vm-3 is outside the query, and has a point.
    outside = overview["outside"]
    assert (outside["count"], outside["vms"]) == (1, [])
    (covered,) = outside["covered"]
    assert (covered["vm"], covered["created"], covered["points"]) == ("vm-3", points[1]["created"], 1)
    section = read_page(ran).partition('id="outside"')[2].partition("</section>")[0]
    assert all(text in section for text in ("vm-3", "3 days old", "older than 2 days"))
    assert [(each["vm"], each["points"], each["total_bytes"]) for each in overview["removed"]] == [
        ("vm-4", 2, 2 * GIB),
        ("vm-9", 1, GIB),
    ]
    assert overview["leftovers"] == [{**leftover, "vm": "vm-1"}]
    for text in ("quorum", "it is shareable", "that no point covers: 1", "vm-9", ".partial"):
        assert text in read_page(ran)
    named = role(make_mover(*points), query=["name=vm-1"], names=True)
    assert read_overview(named)["outside"]["vms"] == ["vm-2"]


def test_vms_outside_the_query_that_have_points(role: Role) -> None:
    """A VM that has left the query is on the page, the one with the oldest newest point first, and fails nothing."""
    points = make_point(2, 5), make_point(3, 30), make_point(3, 40), make_point(4, 0.5)
    ran = role(make_mover(*points, make_point(1, 0.5)), query=["name=vm-1"], fail=True)
    overview = read_overview(ran)
    assert [vm["vm"] for vm in overview["outside"]["covered"]] == ["vm-3", "vm-2", "vm-4"]
    assert (overview["outside"]["count"], ran.result["failed_count"]) == (0, 0)
    section = read_page(ran).partition('id="outside"')[2].partition("</section>")[0]
    assert re.findall(r"(\d+ days old|today)", section) == ["30 days old", "5 days old", "today"]
    # The card counts all points, which take the space of the repository.
    assert "5.0 GiB" in read_page(ran)


def test_points_of_removed_vms_expire_without_the_newest_ones_and_their_bases(role: Role) -> None:
    def based(days: float, base: str | None, **members: Any) -> Given:
        return make_point(9, days, volumes=[{"base": base}], **members)

    unneeded, base = based(900, None), based(800, None)
    newest_whole = based(700, base["point"])
    broken = based(600, None, whole=False, problems=["a file is missing"])
    points = unneeded, base, newest_whole, broken
    (removed,) = read_overview(role(make_mover(*points)))["removed"]
    assert (removed["expired"], removed["mover"]) == ([unneeded["point"]], "mover-1")
    (young,) = read_overview(role(make_mover(*points), removed_days=1000))["removed"]
    assert young["expired"] == []
    unreadable = {**broken, "created": None, "point": "20260101T000000Z"}
    (unclear,) = read_overview(role(make_mover(*points, unreadable)))["removed"]
    assert unclear["expired"] == []


def test_a_policy_by_tags(role: Role, sim: Simulator) -> None:
    """As the guide selects VMs: a VM without a tag is in no policy, and is named."""
    for number, policy in ((1, "gold"), (2, "silver"), (3, "bronze")):
        tag = {"name": f"vm-{number}", "tags": [f"backup:{policy}"]}
        assert not ModuleRunner(sim)("vm", tag).failed
    overview = read_overview(role(make_mover(), query=["__userTag__=backup:gold"], names=True))
    assert [vm["vm"] for vm in overview["vms"]] == ["vm-1"]
    assert overview["outside"] == {"count": 3, "vms": ["vm-2", "vm-3", "vm-4"], "covered": []}


def test_proofs_and_ends_of_points(role: Role) -> None:
    """A VM of a point was started, or only its files were checked; the newest point need not be the proved one."""
    ran = {"time": "2026-11-20T03:00:00Z", "level": "ran", "restore_seconds": 95}
    checked = {"time": "2026-11-27T03:00:00Z", "level": "checked"}
    points = make_point(1, 9, proved=ran), make_point(1, 1, proved=checked)
    done = role(make_mover(*points), query=["name=vm-1"], keep={"daily": 14, "weekly": 8})
    (vm,) = read_overview(done)["vms"]
    assert (vm["checked"], vm["proved"], vm["restore_seconds"]) == (checked["time"], ran["time"], 95)
    assert vm["kept_until"] == find_end(points[1]["created"], {"weekly": 8})
    assert "restored in <bdi>95</bdi> s" in read_page(done)


@pytest.mark.parametrize(
    ("keep", "end", "shown"),
    [
        ({}, None, "no end"),
        ({"last": 3}, None, "newer points replace it"),
        ({"last": 3, "daily": 14}, "2026-12-11T02:00:00Z", "<bdi>"),
        ({"daily": 14, "weekly": 8, "monthly": 1}, "2027-01-22T02:00:00Z", "<bdi>"),
    ],
)
def test_until_when_points_are_kept(role: Role, keep: Given, end: str | None, shown: str) -> None:
    assert find_end("2026-11-27T02:00:00Z", keep) == end
    page = read_page(role(make_mover(make_point(1, 1)), query=["name=vm-1"], keep=keep))
    assert shown in page[page.index('id="vms"') :]


def test_a_repository_that_cannot_be_read(role: Role) -> None:
    """A VM without a recent point elsewhere may have one there: it is not known, and not called unprotected."""
    ran = role(make_mover(make_point(1, 0.5)), {"item": "mover-2", "unreachable": True, "msg": "No route to host."})
    overview = read_overview(ran)
    assert {vm["vm"]: vm["outcome"] for vm in overview["vms"]}["vm-1"] == "protected"
    assert overview["counts"] == {"protected": 1, "unknown": 3, "overdue": 0, "not protected": 0}
    assert ran.result["failed_count"] == 1
    assert ran.result["next"]["numbers"]["VMs"] == len(overview["vms"]) == len(ran.result["report"]) - 1
    assert "The restore points of mover-2 could not be read: No route to host" in ran.message
    assert "No route to host" in read_page(ran)


def test_how_long_the_space_is_sufficient(role: Role) -> None:
    """A shared repository is counted once for each mover, and its points once."""
    points = make_point(1, 1), make_point(1, 30)
    overview = read_overview(role(make_mover(*points), make_mover(*points, item="mover-2")))
    assert [(each["mover"], each["days_left"]) for each in overview["repositories"]] == [
        ("mover-1", 700),
        ("mover-2", 700),
    ]
    assert [vm["points"] for vm in overview["vms"] if vm["vm"] == "vm-1"] == [2]
    (unused,) = read_overview(role(make_mover()))["repositories"]
    assert unused["days_left"] is None


def test_texts_of_the_service_are_no_markup(role: Role, sim: Simulator) -> None:
    sim.change("vm", seeded_uuid("vm", 1), name=HOSTILE)
    point = make_point(1, 9, left_out=[{"volume_uuid": "v", "name": HOSTILE, "reason": HOSTILE}])
    removed = make_point(9, 9, vm_name=HOSTILE)
    ran = role(make_mover(point, removed), query=[f"uuid?={point['vm_uuid']}"])
    read_overview(ran)
    assert len(re.findall(r"<time>[-0-9: UTC]+</time>", read_page(ran))) == 1
    assert "&lt;time&gt;" in read_page(ran)


def test_only_the_time_differs_if_nothing_has_changed(role: Role) -> None:
    """Both files get the time of the run, which is no change."""
    point = make_point(1, 0.5)
    assert role(make_mover(point)).result["changed"]
    old = {role.path: (r"<time>[^<]*</time>", "<time>2020-02-20 20:20 UTC</time>")}
    old[role.path.with_suffix(".json")] = (r'"as_of": "[^"]*"', '"as_of": "2020-02-20T20:20:20Z"')
    for path, (pattern, text) in old.items():
        path.write_text(re.sub(pattern, text, path.read_text(encoding="utf-8")), encoding="utf-8")
    assert not role(make_mover(point)).result["changed"]
    for path in old:
        assert "2020-02-20" not in path.read_text(encoding="utf-8")
    assert role(make_mover(point, make_point(1, 0.1))).result["changed"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"repository": "backups"}, "vm_backup_report_repository must be an absolute path on the data mover"),
        ({"keep": {"daily": -1}}, "vm_backup_report_keep.daily must be at least 0, not -1"),
        ({"keep": {"dayly": 1}}, "vm_backup_report_keep: there is no option dayly. Did you mean daily?"),
        ({"days": 0}, "vm_backup_report_days is 0. It must be above 0."),
        ({"removed_days": 0}, "vm_backup_report_removed_days is 0. It must be above 0."),
    ],
)
def test_each_check_has_its_message(sim: Simulator, variables: Given, message: str) -> None:
    given = {"path": "page.html", "repository": "/srv/backups", **variables}
    prefixed = {f"vm_backup_report_{name}": value for name, value in given.items()}
    assert message in WorkflowRunner(sim)("vm_backup_report", prefixed, step="select").message


def test_vms_with_numbers_are_in_the_order_of_people(sim: Simulator, role: Role) -> None:
    sim.reset(vms=11, user_tags=0)
    assert [entry["vm"] for entry in role(make_mover()).report] == [f"vm-{number}" for number in range(1, 12)]
    ran = role(make_mover(), query=["name=vm-1"], names=True)
    assert ran.result["next"]["overview"]["outside"]["vms"] == [f"vm-{number}" for number in range(2, 12)]


def test_the_key_of_a_tag_as_a_field(role: Role) -> None:
    """The service refuses an unknown field in its own words, without the variable."""
    message = role(make_mover(), query=["backup=gold"]).message
    assert message.startswith("vm_backup_report_query: QueryVmInstance failed (SYS.1000)")
    assert message.endswith("If backup is the key of a tag, write the tag itself, such as __userTag__=backup::gold.")
