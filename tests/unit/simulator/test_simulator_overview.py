"""The data that the simulator serves for its page. tests/browser tests the page itself."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from simulator.http.page import number_tasks
from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

DISABLE = {"changeHostState": {"stateEvent": "disable"}}


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def overview(sim: Simulator) -> dict[str, Any]:
    reply: dict[str, Any] = sim.control("GET", "overview")
    return reply


def test_page_is_no_api_call_and_changes_none(api: HttpClient) -> None:
    api.sim.configure(rate_limit=1.0)
    page = requests.get(f"{api.sim.url}/", timeout=30)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'; connect-src 'self'" in page.headers["Content-Security-Policy"]
    overview(api.sim)
    assert api.sim.log() == []
    unknown = api.send("GET", "/index.html")
    assert (unknown.status_code, unknown.text, "Content-Type" in unknown.headers) == (404, "Not Found", False)
    assert len(api.sim.log()) == 1


def test_tables_have_totals_and_the_last_rows(api: HttpClient) -> None:
    api.sim.reset(hosts=60, vms=2, cbt_tasks=2)
    api.sim.change("host", seeded_uuid("host", 1), status="Disconnected")
    new_host = {"name": "\udcff", "managementIp": "10.9.9.9", "username": "root", "password": "secret"}
    api.send("POST", "hosts/kvm", {"params": {**new_host, "clusterUuid": seeded_uuid("cluster", 1)}})
    api.sim.advance()
    parts = overview(api.sim)
    hosts = parts["hosts"]
    assert (hosts["total"], hosts["states"]) == (61, {"Connected": 60, "Disconnected": 1})
    assert [host["name"] for host in hosts["rows"]] == [*(f"host-{number}" for number in range(37, 61)), "\udcff"]
    assert [vm["host"] for vm in parts["vms"]["rows"]] == ["host-1", ""]
    assert parts["cbt_tasks"]["rows"][1] == {"name": "cbt-task-2", "status": "Stopped", "vms": ["vm-2"], "scratch": 0}


def test_jobs_and_calls_start_with_the_newest(api: HttpClient) -> None:
    cause = {"code": "SYS.1002", "details": "root cause"}
    api.sim.fault("fail", "ChangeHostState", error={"code": "SYS.1001", "details": "outer", "causes": [cause]})
    api.error("PUT", f"hosts/{seeded_uuid('host', 1)}/actions", DISABLE)
    api.sim.configure(latency=600.0)
    api.send("PUT", f"hosts/{seeded_uuid('host', 2)}/actions", DISABLE)
    parts = overview(api.sim)
    assert [job["state"] for job in parts["jobs"]["rows"]] == ["Pending", "Failed"]
    assert (parts["jobs"]["total"], parts["jobs"]["states"]) == (2, {"Failed": 1, "Pending": 1})
    assert parts["jobs"]["rows"][1]["error"].endswith("root cause")
    calls = parts["calls"]
    # Polls are counted but not listed.
    assert (calls["total"] > 2, [call["faults"] for call in calls["rows"]]) == (True, [[], ["fail"]])
    assert parts["faults"][0]["happened"] == 1
    assert [job["target"] for job in parts["jobs"]["rows"]] == ["host-2", "host-1"]


def test_jobs_show_their_objects_by_name(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    nic, vm = seeded_uuid("vmnic", 3), seeded_uuid("vm", 3)
    new_host = {"name": "new", "managementIp": "10.9.9.9", "username": "root", "password": "secret"}
    api.send("POST", "hosts/kvm", {"params": {**new_host, "clusterUuid": seeded_uuid("cluster", 1)}})
    api.send("POST", "cbt-task/create", {"params": {"name": "backup", "vmInstanceUuid": vm}})
    api.send("DELETE", f"vm-instances/nics/{nic}")
    api.send("DELETE", f"vm-instances/{'f' * 32}")
    targets = [job["target"] for job in overview(api.sim)["jobs"]["rows"]]
    api.sim.advance()
    assert targets == ["f" * 32, "vnic000003.0", "backup", "new"]
    # The name remains when the object is gone.
    assert [job["target"] for job in overview(api.sim)["jobs"]["rows"]] == targets


def test_calls_over_one_connection_are_those_of_one_task(api: HttpClient) -> None:
    ports = [1, 1, 2, 2, 3, 2, 3]
    entries = [{"client": "::1", "port": port, "time": number} for number, port in enumerate(ports)]
    assert number_tasks(entries[::-1]) == {("::1", 3): 0, ("::1", 2): 0, ("::1", 1): 1}


def test_storages_and_endpoints_are_shown(sim: Simulator) -> None:
    parts = overview(sim)
    assert parts["storages"]["rows"][0]["name"] == "ps-1"
    assert parts["endpoints"]["rows"][0] == {
        "name": "snmp-endpoint-1",
        "type": "Snmp",
        "state": "Enabled",
        "platform": "snmp-1",
    }
