"""The pages of roles: texts are data, and only the time differs between pages of the same data."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._pages.page import build_page, plan_file, show
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.drift_repair import find_newer

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRunner, read_page

HOSTILE = "<script>alert(1)</script>{{ 40 + 2 }}\x1b[31m\u202e\ud800&\"'"
WRITTEN = datetime(2026, 1, 1, 12, 0, tzinfo=timezone.utc)


def test_a_text_is_escaped() -> None:
    shown = show(HOSTILE)
    assert shown == (
        "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;{{ 40 + 2 }}\\x1b[31m\\u202e\\ud800&amp;&quot;&#x27;</bdi>"
    )
    assert shown.encode()


@pytest.mark.parametrize("earlier", [b"<time>2020-02-20 20:20 UTC</time>", b"<time>{{ x }}</time>", b"\xff", None])
def test_the_page_is_compared_as_if_it_had_the_time_of_the_one_that_exists(
    tmp_path: Path, earlier: bytes | None
) -> None:
    path = tmp_path / "page.html"
    if earlier is not None:
        path.write_bytes(earlier)
    file = plan_file("page", build_page("Title", "", [], [], WRITTEN), str(path), "0644")
    kept = "2020-02-20 20:20 UTC" if earlier and b"2020" in earlier else "2026-01-01 12:00 UTC"
    assert f"<time>{kept}</time>" in str(file.compared)
    assert "<time>2026-01-01 12:00 UTC</time>" in file.content
    assert (file.path, file.mode) == (path, "0644")


@pytest.mark.parametrize(("lead", "newer"), [(15, "service"), (13, None), (0, None), (-11, None), (-13, "description")])
def test_the_newer_side_is_named_where_it_is_newer_in_each_time_zone(lead: int, newer: str | None) -> None:
    service = WRITTEN.replace(tzinfo=None) + timedelta(hours=lead)
    assert find_newer(service, WRITTEN) == newer
    assert find_newer(None, WRITTEN) is find_newer(service, None) is None


def test_the_page_of_a_drift_says_what_repairs_it(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    """The names of hosts and folders are words for the shell."""
    folder = tmp_path / "my site"
    notifications = folder / "group_vars" / "all" / "notifications.yml"
    notifications.parent.mkdir(parents=True)
    for file, written in ((folder / "hosts.yml", WRITTEN), (notifications, WRITTEN - timedelta(days=9999))):
        file.touch()
        os.utime(file, (written.timestamp(), written.timestamp()))
    host, other = sim.records("host")[:2]
    sim.change("host", host["uuid"], lastOpDate="Jan 3, 2026 1:00:00 PM")
    hostile = HOSTILE.replace("\ud800", "")
    sim.change("host", other["uuid"], name=hostile)
    variables = {
        "host_onboarding_management_ip": host["managementIp"],
        "host_onboarding_state": "disabled",
        "inventory_file": str(folder / "hosts.yml"),
    }
    play = {"groups": {"site_hosts": ["h; rm -r x"]}, "hostvars": {"h; rm -r x": variables}}
    topics = {"notifications_topics": [{"name": "no such topic"}, {"name": sim.records("topic")[0]["name"]}]}
    ran = work("site_drift", {**play, **topics, "site_drift_path": str(tmp_path / "drift.html")})
    rows = {(row["kind"], row["name"]): row for row in ran.report}
    row = rows["host", "h; rm -r x"]
    assert (row["newer"], row["service_changed"], row["description_changed"]) == (
        "service",
        "2026-01-03T13:00:00",
        "2026-01-01T12:00:00Z",
    )
    inventory = f"'{folder}/hosts.yml'"
    assert row["command"] == f"ansible-playbook virtinfra.manager.onboard_hosts -i {inventory} --limit 'h; rm -r x'"
    missing = rows["topic", "no such topic"]
    assert missing["command"] == f"ansible-playbook virtinfra.manager.notifications -i {inventory}"
    assert (missing["service_changed"], missing["description_changed"]) == (None, "1998-08-17T12:00:00Z")
    (same,) = (each for each in ran.report if each["outcome"] == "same")
    assert (same["command"], same["newer"]) == (None, None)
    describe = "ansible-playbook virtinfra.manager.describe -e " + (f"""'{{"site_description_folder": "{folder}"}}'""")
    assert {each["command"] for each in ran.report if each["outcome"] == "not described"} == {describe}
    page = read_page(ran)
    assert "<strong>The service is newer.</strong>" in page
    assert show(hostile) in page
    assert "<script" not in page


def test_what_the_service_cannot_change_has_no_command(sim: Simulator, work: WorkflowRunner) -> None:
    host = sim.records("host")[0]
    variables = {"host_onboarding_management_ip": host["managementIp"], "host_onboarding_cluster": "cluster-2"}
    sim.reset(clusters=2)
    ran = work("site_drift", {"groups": {"site_hosts": ["host-1"]}, "hostvars": {"host-1": variables}})
    (row,) = (row for row in ran.report if row["name"] == "host-1")
    assert (row["outcome"], row["command"]) == ("differs", None)


def test_a_drift_that_could_not_be_read_keeps_the_page(sim: Simulator, work: WorkflowRunner, tmp_path: Path) -> None:
    play = {"groups": {"site_hosts": ["h"]}, "hostvars": {"h": {"host_onboarding_management_ip": "192.0.2.1"}}}
    variables = {**play, "site_drift_path": str(tmp_path / "page.html")}
    for operation in {*work("site_drift", variables).reads}:
        sim.fault("fail", operation=operation, error={"code": "SYS.1006", "details": "no"}, count=None)
    ran = work("site_drift", variables)
    assert {*ran.outcomes} == {"failed"}
    assert (ran.result["next"]["path"], ran.result["changed"]) == ("", False)
    assert "could not be read" not in (tmp_path / "page.html").read_text(encoding="utf-8")
