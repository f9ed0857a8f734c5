"""The simulator's faults on demand, and its rate limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS

from simulator.http_client import HttpClient
from simulator.launch import Simulator, SimulatorError
from simulator.state.store import seeded_uuid
from simulator.switches.fault_injection import WRONG_TYPES

PATH = f"hosts/{seeded_uuid('host', 1)}/actions"
BODY = {"changeHostState": {"stateEvent": "disable"}}
JOB = "0123456789abcdef0123456789abcdef"
MINE = {"X-Job-UUID": JOB}


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def test_garbage_has_the_members_of_all_replies() -> None:
    members = {name for row in OPERATIONS.values() for name in row.result}
    assert members - set(WRONG_TYPES) == set()


def test_drop_before_does_not_execute_the_request(api: HttpClient) -> None:
    api.sim.fault("drop_before", "ChangeHostState")
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        api.send("PUT", PATH, BODY, MINE)
    assert api.poll(JOB).status_code == 404
    assert api.send("PUT", PATH, BODY, MINE).status_code == 202


def test_drop_after_executes_the_request(api: HttpClient) -> None:
    api.sim.fault("drop_after", "ChangeHostState")
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        api.send("PUT", PATH, BODY, MINE)
    assert api.poll(JOB).json()["inventory"]["state"] == "Disabled"
    assert api.send("PUT", PATH, BODY, MINE).text == f"Duplicate job uuid[{JOB}]"


def test_truncate_sends_half_of_the_response(api: HttpClient) -> None:
    api.sim.fault("truncate", "QueryHost")
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        api.send("GET", "hosts")
    assert len(api.query("hosts")) == 3


def test_slow_delays_the_response(api: HttpClient) -> None:
    api.sim.fault("slow", "ChangeHostState", seconds=60)
    with pytest.raises(requests.ReadTimeout):
        api.http.put(
            f"{api.sim.url}/service/v1/{PATH}",
            json=BODY,
            headers={"Authorization": "OAuth simulator-session", **MINE},
            timeout=0.3,
        )
    assert api.wait_for_job(api.poll(JOB)).status_code == 200
    api.sim.fault("slow", "ChangeHostState", seconds=60, taken=False)
    with pytest.raises(requests.ReadTimeout):
        api.http.put(f"{api.sim.url}/service/v1/{PATH}", json=BODY, timeout=0.3)
    assert len(api.sim.log()) == 3


@pytest.mark.parametrize(
    ("fault", "status", "kind", "retry_after"),
    [
        ({"fault": "status", "status": 429}, 429, None, None),
        ({"fault": "status", "status": 429, "retry_after": 3}, 429, None, "3"),
        ({"fault": "status", "status": 502}, 502, "text/html", None),
        ({"fault": "status", "status": 503, "retry_after": "Fri, 01 Jan 2027 00:00:00 GMT"}, 503, "text/html", "Fri"),
        ({"fault": "status", "status": 504}, 504, "text/html", None),
        ({"fault": "html"}, 200, "text/html", None),
    ],
)
def test_status_faults_replace_the_response(
    api: HttpClient, fault: dict[str, Any], status: int, kind: str | None, retry_after: str | None
) -> None:
    api.sim.fault(**fault, operation="ChangeHostState", method="PUT")
    response = api.send("PUT", PATH, BODY, MINE)
    assert (response.status_code, response.headers.get("Content-Type")) == (status, kind)
    assert (response.headers.get("Retry-After") or "").startswith(retry_after or "")
    assert response.text.startswith("<html>") is (kind is not None)
    assert api.poll(JOB).status_code == 404
    api.sim.fault(**fault, operation="ChangeHostState", taken=True)
    assert api.send("PUT", PATH, BODY, MINE).status_code == status
    assert api.wait_for_job(api.poll(JOB)).status_code == 200


def test_redirect_goes_to_the_given_url(api: HttpClient) -> None:
    api.sim.fault("redirect", url="http://192.0.2.7/elsewhere")
    api.sim.fault("redirect", url="/elsewhere", status=307)
    response = api.send("GET", "hosts")
    assert (response.status_code, response.headers["Location"]) == (302, "http://192.0.2.7/elsewhere")
    assert api.send("GET", "hosts").status_code == 307


def test_jobs_hang_and_expire(api: HttpClient) -> None:
    api.sim.fault("hang", "ChangeHostState")
    api.send("PUT", PATH, {"changeHostState": {"stateEvent": "maintain"}}, MINE)
    api.sim.advance()
    assert api.poll(JOB).status_code == 202
    assert api.sim.records("host")[0]["state"] == "PreMaintenance"
    api.sim.fault("expire", "ChangeHostState")
    response = api.send("PUT", PATH, BODY)
    assert api.wait_for_job(response).status_code == 404
    api.sim.advance()
    assert api.sim.records("host")[0]["state"] == "Disabled"


def test_faults_apply_to_polls(api: HttpClient) -> None:
    api.send("PUT", PATH, BODY, MINE)
    api.sim.fault("hang", "poll", count=2)
    api.sim.fault("expire", "poll")
    api.sim.fault("fail", "poll", error={"code": "SYS.1001", "details": "late"})
    assert [api.poll(JOB).status_code for dummy in range(5)] == [202, 202, 404, 503, 200]


def test_faults_apply_to_reads(api: HttpClient) -> None:
    api.sim.fault("hang", "QueryHost")
    with pytest.raises(requests.ReadTimeout):
        api.http.get(
            f"{api.sim.url}/service/v1/hosts", headers={"Authorization": "OAuth simulator-session"}, timeout=0.2
        )
    api.sim.fault("fail", "QueryHost")
    assert api.error_code("GET", "hosts") == "SYS.1006"


def test_fail_has_a_chain_of_causes(api: HttpClient) -> None:
    root = {"code": "HOST.1001", "details": "the root"}
    middle = {"code": "SYS.1006", "details": "the middle", "cause": root}
    api.sim.fault("fail", "AttachL3NetworkToVm", error={"code": "SYS.1000", "details": "the top", "cause": middle})
    path = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 1)}"
    assert api.error("POST", path, {})["causes"][0]["causes"][0]["details"] == "the root"


@pytest.mark.parametrize("nesting", ["causes", "cause", "both"])
def test_fail_has_several_causes(api: HttpClient, nesting: str) -> None:
    api.sim.configure(error_nesting=nesting)
    causes = [{"code": "HOST.1001", "details": details} for details in ("one", "two")]
    api.sim.fault("fail", "QueryHost", error={"code": "SYS.1090", "details": "the top", "causes": causes})
    error = api.error("GET", "hosts")
    assert ("cause" in error, "causes" in error) == (nesting != "causes", nesting != "cause")
    assert error.get("cause", causes[0])["details"] == "one"
    assert [cause["details"] for cause in error.get("causes", causes)] == ["one", "two"]


def test_session_expiry_starts_with_a_call(api: HttpClient) -> None:
    api.sim.fault("session_expiry", "QueryHost", skip=1)
    api.query("hosts")
    api.query("primary-storage")
    assert api.error_code("GET", "hosts") == "ID.1001"
    assert api.error_code("GET", "primary-storage") == "ID.1001"


@pytest.mark.parametrize("kind", ["json", "utf8", "types", "missing", "deep", "huge"])
def test_garbage_replaces_the_body(api: HttpClient, kind: str) -> None:
    api.sim.fault("garbage", "ChangeHostState", garbage=kind)
    response = api.send("PUT", PATH, BODY, MINE)
    assert response.status_code == 202
    assert api.wait_for_job(api.poll(JOB)).status_code == 200
    if kind == "json":
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(response.content)
    if kind == "utf8":
        with pytest.raises(UnicodeDecodeError):
            response.content.decode()
    if kind == "types":
        assert (response.json()["location"], response.json()["inventory"]) == (5, 7)
    if kind == "missing":
        assert response.json() == {}
    if kind == "deep":
        assert response.content.count(b"[") == 100_000
    if kind == "huge":
        assert len(response.content) > 10 * 2**20


def test_garbage_can_be_a_compression_bomb(api: HttpClient) -> None:
    api.sim.fault("garbage", "QueryHost", garbage="bomb")
    url = f"{api.sim.url}/service/v1/hosts"
    with api.http.get(url, headers={"Authorization": "OAuth simulator-session"}, stream=True, timeout=30) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert int(response.headers["Content-Length"]) < 2 * 2**20
        assert len(response.raw.read(2**20, decode_content=True)) == 2**20


def test_faults_have_counts_and_probabilities_and_are_logged(api: HttpClient) -> None:
    api.sim.fault("status", "QueryHost", count=None, probability=0.5, seed=3)
    statuses = [api.send("GET", "hosts").status_code for dummy in range(40)]
    assert 5 < statuses.count(502) < 35
    (fault,) = api.sim.faults()
    assert (fault["happened"], fault["count"]) == (statuses.count(502), None)
    assert [len(entry["faults"]) for entry in api.sim.log()] == [int(status == 502) for status in statuses]
    api.sim.clear_faults()
    api.sim.fault("status", "QueryHost", count=None, probability=0.5, seed=3)
    assert [api.send("GET", "hosts").status_code for dummy in range(40)] == statuses
    api.query("primary-storage")


@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "nonsense"},
        {"fault": "slow", "operation": "Nonsense"},
        {"fault": "slow", "seconds": "1"},
        {"fault": "slow", "nonsense": 1},
        {"fault": "garbage", "garbage": "nonsense"},
        {"fault": "redirect"},
        {"fault": "fail", "error": {"code": "SYS.1000"}},
    ],
)
def test_invalid_faults_are_rejected(api: HttpClient, fault: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError):
        api.sim.fault(**fault)
    assert api.sim.faults() == []


def test_rate_limit_counts_polls(api: HttpClient) -> None:
    api.sim.configure(rate_limit=3.0)
    responses = [api.poll(JOB) for dummy in range(20)]
    assert [response.status_code for response in responses[:3]] == [404] * 3
    limited = next(response for response in responses if response.status_code == 429)
    assert not {"Retry-After", "Content-Type"} & set(limited.headers)
    refused = next(entry for entry in api.sim.log() if entry["status"] == 429)
    assert refused["operation"] is None
    api.sim.configure(rate_limit=0.0)
    assert api.poll(JOB).status_code == 404
