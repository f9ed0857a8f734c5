# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's faults on demand, and its rate limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from simulator.launch import Simulator, SimulatorError
from simulator.store import seeded_uuid
from simulator.talk import Talk

PATH = f"hosts/{seeded_uuid('host', 1)}/actions"
BODY = {"changeHostState": {"stateEvent": "disable"}}
JOB = "0123456789abcdef0123456789abcdef"
MINE = {"X-Job-UUID": JOB}


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def test_dropped_before_it_is_taken(talk: Talk) -> None:
    talk.sim.fault("drop_before", "ChangeHostState")
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        talk.send("PUT", PATH, BODY, MINE)
    assert talk.poll(JOB).status_code == 404
    assert talk.send("PUT", PATH, BODY, MINE).status_code == 202


def test_dropped_after_it_was_taken(talk: Talk) -> None:
    talk.sim.fault("drop_after", "ChangeHostState")
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        talk.send("PUT", PATH, BODY, MINE)
    assert talk.poll(JOB).json()["inventory"]["state"] == "Disabled"
    assert talk.send("PUT", PATH, BODY, MINE).text == f"Duplicate job uuid[{JOB}]"


def test_truncated(talk: Talk) -> None:
    talk.sim.fault("truncate", "QueryHost")
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        talk.send("GET", "hosts")
    assert len(talk.found("hosts")) == 3


def test_slow(talk: Talk) -> None:
    talk.sim.fault("slow", "ChangeHostState", seconds=60)
    with pytest.raises(requests.ReadTimeout):
        talk.http.put(
            f"{talk.sim.url}/service/v1/{PATH}",
            json=BODY,
            headers={"Authorization": "OAuth simulator-session", **MINE},
            timeout=0.3,
        )
    assert talk.finished(talk.poll(JOB)).status_code == 200
    talk.sim.fault("slow", "ChangeHostState", seconds=60, taken=False)
    with pytest.raises(requests.ReadTimeout):
        talk.http.put(f"{talk.sim.url}/service/v1/{PATH}", json=BODY, timeout=0.3)
    assert len(talk.sim.log()) == 3


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
def test_other_answers(
    talk: Talk, fault: dict[str, Any], status: int, kind: str | None, retry_after: str | None
) -> None:
    talk.sim.fault(**fault, operation="ChangeHostState", method="PUT")
    answer = talk.send("PUT", PATH, BODY, MINE)
    assert (answer.status_code, answer.headers.get("Content-Type")) == (status, kind)
    assert (answer.headers.get("Retry-After") or "").startswith(retry_after or "")
    assert answer.text.startswith("<html>") is (kind is not None)
    assert talk.poll(JOB).status_code == 404
    talk.sim.fault(**fault, operation="ChangeHostState", taken=True)
    assert talk.send("PUT", PATH, BODY, MINE).status_code == status
    assert talk.finished(talk.poll(JOB)).status_code == 200


def test_redirect(talk: Talk) -> None:
    talk.sim.fault("redirect", url="http://192.0.2.7/elsewhere")
    talk.sim.fault("redirect", url="/elsewhere", status=307)
    answer = talk.send("GET", "hosts")
    assert (answer.status_code, answer.headers["Location"]) == (302, "http://192.0.2.7/elsewhere")
    assert talk.send("GET", "hosts").status_code == 307


def test_hanging_and_expiring_jobs(talk: Talk) -> None:
    talk.sim.fault("hang", "ChangeHostState")
    talk.send("PUT", PATH, {"changeHostState": {"stateEvent": "maintain"}}, MINE)
    talk.sim.advance()
    assert talk.poll(JOB).status_code == 202
    assert talk.sim.records("host")[0]["state"] == "PreMaintenance"
    talk.sim.fault("expire", "ChangeHostState")
    answer = talk.send("PUT", PATH, BODY)
    assert talk.finished(answer).status_code == 404
    talk.sim.advance()
    assert talk.sim.records("host")[0]["state"] == "Disabled"


def test_polls_that_go_wrong(talk: Talk) -> None:
    talk.send("PUT", PATH, BODY, MINE)
    talk.sim.fault("hang", "poll", count=2)
    talk.sim.fault("expire", "poll")
    talk.sim.fault("fail", "poll", error={"code": "SYS.1001", "details": "late"})
    assert [talk.poll(JOB).status_code for dummy in range(5)] == [202, 202, 404, 503, 200]


def test_a_read_that_hangs_or_fails(talk: Talk) -> None:
    talk.sim.fault("hang", "QueryHost")
    with pytest.raises(requests.ReadTimeout):
        talk.http.get(
            f"{talk.sim.url}/service/v1/hosts", headers={"Authorization": "OAuth simulator-session"}, timeout=0.2
        )
    talk.sim.fault("fail", "QueryHost")
    assert talk.code("GET", "hosts") == "SYS.1006"


def test_a_chain_of_causes(talk: Talk) -> None:
    root = {"code": "HOST.1001", "details": "the root"}
    middle = {"code": "SYS.1006", "details": "the middle", "cause": root}
    talk.sim.fault("fail", "AttachL3NetworkToVm", error={"code": "SYS.1000", "details": "the top", "cause": middle})
    path = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 1)}"
    assert talk.failure("POST", path, {})["causes"][0]["causes"][0]["details"] == "the root"


@pytest.mark.parametrize("nesting", ["causes", "cause", "both"])
def test_several_causes(talk: Talk, nesting: str) -> None:
    talk.sim.configure(error_nesting=nesting)
    causes = [{"code": "HOST.1001", "details": details} for details in ("one", "two")]
    talk.sim.fault("fail", "QueryHost", error={"code": "SYS.1090", "details": "the top", "causes": causes})
    error = talk.failure("GET", "hosts")
    assert ("cause" in error, "causes" in error) == (nesting != "causes", nesting != "cause")
    assert error.get("cause", causes[0])["details"] == "one"
    assert [cause["details"] for cause in error.get("causes", causes)] == ["one", "two"]


def test_a_session_that_expires_from_a_call_on(talk: Talk) -> None:
    talk.sim.fault("session_expiry", "QueryHost", skip=1)
    talk.found("hosts")
    talk.found("primary-storage")
    assert talk.code("GET", "hosts") == "ID.1001"
    assert talk.code("GET", "primary-storage") == "ID.1001"


@pytest.mark.parametrize("kind", ["json", "utf8", "types", "missing", "deep", "huge"])
def test_garbage(talk: Talk, kind: str) -> None:
    talk.sim.fault("garbage", "ChangeHostState", garbage=kind)
    answer = talk.send("PUT", PATH, BODY, MINE)
    assert answer.status_code == 202
    assert talk.finished(talk.poll(JOB)).status_code == 200
    if kind == "json":
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(answer.content)
    if kind == "utf8":
        with pytest.raises(UnicodeDecodeError):
            answer.content.decode()
    if kind == "types":
        assert (answer.json()["location"], answer.json()["inventory"]) == (5, 7)
    if kind == "missing":
        assert answer.json() == {}
    if kind == "deep":
        assert answer.content.count(b"[") == 100_000
    if kind == "huge":
        assert len(answer.content) > 10 * 2**20


def test_a_compressed_bomb(talk: Talk) -> None:
    talk.sim.fault("garbage", "QueryHost", garbage="bomb")
    url = f"{talk.sim.url}/service/v1/hosts"
    with talk.http.get(url, headers={"Authorization": "OAuth simulator-session"}, stream=True, timeout=30) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert int(answer.headers["Content-Length"]) < 2 * 2**20
        assert len(answer.raw.read(2**20, decode_content=True)) == 2**20


def test_counts_probabilities_and_log(talk: Talk) -> None:
    talk.sim.fault("status", "QueryHost", count=None, probability=0.5, seed=3)
    statuses = [talk.send("GET", "hosts").status_code for dummy in range(40)]
    assert 5 < statuses.count(502) < 35
    (fault,) = talk.sim.faults()
    assert (fault["happened"], fault["count"]) == (statuses.count(502), None)
    assert [len(entry["faults"]) for entry in talk.sim.log()] == [int(status == 502) for status in statuses]
    talk.sim.clear_faults()
    talk.sim.fault("status", "QueryHost", count=None, probability=0.5, seed=3)
    assert [talk.send("GET", "hosts").status_code for dummy in range(40)] == statuses
    talk.found("primary-storage")


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
def test_faults_that_are_refused(talk: Talk, fault: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError):
        talk.sim.fault(**fault)
    assert talk.sim.faults() == []


def test_rate_limit(talk: Talk) -> None:
    talk.sim.configure(rate_limit=3.0)
    statuses = [talk.poll(JOB).status_code for dummy in range(20)]
    assert statuses[:3] == [404] * 3
    assert 429 in statuses
    refused = next(entry for entry in talk.sim.log() if entry["status"] == 429)
    assert refused["operation"] is None
    talk.sim.configure(rate_limit=0.0)
    assert talk.poll(JOB).status_code == 404
