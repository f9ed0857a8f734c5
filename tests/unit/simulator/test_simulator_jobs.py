# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's jobs: the 202, polls, job ids, timeouts, webhooks, and who may call."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from simulator.launch import Simulator
from simulator.store import seeded_uuid
from simulator.talk import Talk
from support.stub_server import taken_port

HOST = seeded_uuid("host", 1)
PATH = f"hosts/{HOST}/actions"
BODY = {"changeHostState": {"stateEvent": "disable"}}
WRONG = {"changeHostState": {"stateEvent": "wrong"}}
JOB = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def is_plain(answer: requests.Response, status: int) -> bool:
    return answer.status_code == status and "Content-Type" not in answer.headers


def test_a_job(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    answer = talk.send("PUT", PATH, BODY)
    assert answer.status_code == 202
    assert "Location" not in answer.headers
    reply = answer.json()
    assert reply["apiTimeout"] == 30 * 60 * 1000
    base, dummy, job_id = reply["location"].partition("/service/v1/api-jobs/")
    assert base == "http://192.0.2.1:8080"
    assert len(job_id) == 32
    pending = talk.poll(job_id)
    assert (pending.status_code, pending.json()) == (202, {})
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Enabled"
    talk.sim.advance()
    for dummy in range(2):
        done = talk.poll(job_id)
        assert (done.status_code, done.json()["inventory"]["state"]) == (200, "Disabled")
        assert done.json().get("success") is None
        assert "error" not in done.json()


def test_a_failed_job(talk: Talk) -> None:
    error = talk.failure("PUT", PATH, WRONG)
    assert set(error) == {"code", "description", "details", "causes", "i18nDetails"}
    assert error["code"] == "SYS.1007"
    assert error["i18nDetails"] == error["details"]
    assert error["causes"] == []


def test_an_unknown_and_an_expired_job(talk: Talk) -> None:
    assert is_plain(talk.poll(JOB), 404)
    talk.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    talk.sim.configure(job_lifetime=0.0)
    assert is_plain(talk.poll(JOB), 404)


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("right", "{url}/service/v1/api-jobs/{job}"),
        ("relative", "/service/v1/api-jobs/{job}"),
        ("foreign", "https://203.0.113.9:8443/service/v1/api-jobs/{job}"),
        ("malformed", "http://[192.0.2.1:port/service/v1/api-jobs/{job}"),
        ("missing", None),
    ],
)
def test_polling_addresses(talk: Talk, switch: str, expected: str | None) -> None:
    talk.sim.configure(location=switch, location_header=True, api_timeout=False)
    answer = talk.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    location = expected and expected.format(url=talk.sim.url, job=JOB)
    assert answer.json() == ({"location": location} if location else {})
    assert answer.headers["Location"].endswith(f"/service/v1/api-jobs/{JOB}")


def test_job_uuids(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    assert talk.send("PUT", PATH, BODY, {"X-Job-UUID": JOB}).json()["location"].endswith(JOB)
    again = talk.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    assert is_plain(again, 400)
    assert again.text == f"Duplicate job uuid[{JOB}]"
    for wrong in ("", "x", JOB[:-1], "01234567-89ab-4def-8123-456789abcdef"):
        assert is_plain(talk.send("PUT", PATH, BODY, {"X-Job-UUID": wrong}), 400)
    talk.sim.configure(job_uuid="ignore")
    other = talk.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    assert other.status_code == 202
    assert JOB not in other.text


def test_timeouts(talk: Talk) -> None:
    talk.sim.configure(latency=600.0)
    answer = talk.send("PUT", PATH, BODY, {"X-API-Timeout": "60"})
    assert answer.json()["apiTimeout"] == 60_000
    talk.sim.advance()
    assert talk.finished(answer).json()["error"]["code"] == "SYS.1001"
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Enabled"
    for wrong in ("x", "0", "-1", "inf"):
        assert is_plain(talk.send("PUT", PATH, BODY, {"X-API-Timeout": wrong}), 400)
    for path in ("hosts/kvm", f"cbt-task/enable/{HOST}", "cbt-task/exportvolume"):
        assert talk.send("POST", path, {}).json()["apiTimeout"] == 3 * 60 * 60 * 1000


def test_latency_by_operation(talk: Talk) -> None:
    talk.sim.configure(latencies={"ChangeHostState": 600.0})
    answer = talk.send("PUT", PATH, BODY)
    talk.call("DELETE", f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in")
    assert talk.poll(answer.json()["location"].rpartition("/")[2]).status_code == 202


def test_results_at_once(talk: Talk) -> None:
    talk.sim.configure(sync=True)
    answer = talk.send("PUT", PATH, BODY)
    assert (answer.status_code, answer.json()["inventory"]["state"]) == (200, "Disabled")
    assert talk.send("PUT", PATH, WRONG).json()["error"]["code"] == "SYS.1007"
    assert talk.send("PUT", PATH, {"changeHostState": {"stateEvent": "maintain"}}).status_code == 200


def test_what_is_refused_before_a_job(talk: Talk) -> None:
    url = f"{talk.sim.url}/service/v1/{PATH}"
    authorization = {"Authorization": "OAuth simulator-session"}
    for body in (b"{", b"[]", b"\xff", b"", b'{"other": {}}', b'{"changeHostState": 1}'):
        assert is_plain(requests.put(url, data=body, headers=authorization, timeout=30), 400)
    assert is_plain(talk.send("POST", "cbt-task/create", {"params": []}), 400)
    assert is_plain(talk.send("GET", "nothing"), 404)
    assert is_plain(talk.send("GET", "hosts/"), 404)
    assert is_plain(talk.send("GET", "cbt-task/create/x"), 404)


def test_the_verb_counts_only_where_a_path_has_several_operations(talk: Talk) -> None:
    storage = seeded_uuid("primarystorage", 1)
    task = talk.inventory("POST", "cbt-task/create", {"params": {"name": "x", "vmInstanceUuid": seeded_uuid("vm", 1)}})
    path = f"cbt-task/{task['uuid']}"
    assert talk.inventory("POST", PATH, BODY)["state"] == "Disabled"
    assert is_plain(talk.send("GET", PATH), 400)
    assert talk.code("GET", "hosts/kvm") == "SYS.1007"
    assert talk.code("GET", f"primary-storage/{storage}") == "SYS.1006"
    assert talk.found(path) == [task]
    assert is_plain(talk.send("PUT", path, {}), 405)
    talk.sim.configure(verbs_matter=True)
    for method, refused in (("POST", PATH), ("GET", "cbt-task/enable/x"), ("GET", f"primary-storage/{storage}")):
        assert is_plain(talk.send(method, refused, BODY), 405)
    talk.sim.configure(further_operations=False)
    assert is_plain(talk.send("DELETE", f"primary-storage/{storage}"), 404)


def test_a_post_without_params_is_a_post_with_none(talk: Talk) -> None:
    path = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 2)}"
    bodies: list[dict[str, Any] | None] = [{}, {"params": None}, {"params": {}}, None]
    for body in bodies:
        talk.inventory("POST", path, body)
    assert talk.code("POST", "cbt-task/create", {"name": "x", "vmInstanceUuid": seeded_uuid("vm", 1)}) == "SYS.1007"


def test_credentials(talk: Talk) -> None:
    cursor = "/api/v1/resources/cursor-query?resourceType=host"
    for method, path in (("GET", "hosts"), ("PUT", PATH)):
        assert is_plain(talk.send(method, path, BODY, {"Authorization": None}), 400)
        assert is_plain(talk.send(method, path, BODY, {"Authorization": "Bearer simulator-token"}), 403)
    for header in (None, "OAuth simulator-session", "Basic eDp5"):
        assert is_plain(talk.send("GET", cursor, headers={"Authorization": header}), 401)
    wrong = {"Authorization": "Bearer wrong"}
    assert talk.failure("GET", cursor, headers=wrong)["code"] == "ID.1001"
    wrong = {"Authorization": "OAuth wrong"}
    assert talk.send("GET", "hosts", headers=wrong).status_code == 503
    assert talk.failure("GET", "hosts", headers=wrong)["code"] == "ID.1001"
    assert talk.send("PUT", PATH, BODY, wrong).status_code == 202
    assert talk.failure("PUT", PATH, BODY, wrong)["code"] == "ID.1001"
    assert talk.found(f"hosts/{HOST}")[0]["state"] == "Enabled"


def test_sessions_expire(talk: Talk) -> None:
    talk.sim.configure(session_expired=True)
    assert talk.code("GET", "hosts") == "ID.1001"
    talk.sim.configure(session_expired=False)
    talk.found("hosts")
    talk.sim.configure(token_expired=True)
    assert talk.code("GET", "/api/v1/resources/cursor-query?resourceType=host") == "ID.1001"
    talk.sim.configure(session_lifetime=0.0)
    assert talk.code("GET", "hosts") == "ID.1001"
    talk.sim.reset(session="another")
    assert talk.code("GET", "hosts") == "ID.1001"
    talk.call("GET", "hosts", headers={"Authorization": "OAuth another"})


class Receiver:
    """A receiver of webhooks that answers with the statuses it was given, the last one for ever."""

    def __init__(self, *statuses: int) -> None:
        self.deliveries: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()
        remaining = list(statuses)
        deliveries = self.deliveries

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = remaining.pop(0) if len(remaining) > 1 else remaining[0]
                self.send_response(status)
                self.end_headers()
                deliveries.put((dict(self.headers), body))

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    @contextlib.contextmanager
    def listening(self) -> Iterator[Receiver]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def next(self) -> tuple[dict[str, str], Any]:
        headers, body = self.deliveries.get(timeout=30)
        return headers, json.loads(body)


def hook(receiver: Receiver) -> dict[str, str]:
    return {"X-Web-Hook": receiver.url, "X-Job-UUID": JOB}


def test_webhook(talk: Talk) -> None:
    with Receiver(200).listening() as receiver:
        answer = talk.send("PUT", PATH, BODY, hook(receiver))
        assert (answer.status_code, "location" in answer.json()) == (202, True)
        headers, body = receiver.next()
        assert (headers["X-Job-Success"], headers["X-Job-UUID"]) == ("true", JOB)
        assert "Authorization" not in headers
        assert body == talk.poll(JOB).json()
        assert body["inventory"]["state"] == "Disabled"


def test_webhook_of_a_failure_without_a_job_uuid(talk: Talk) -> None:
    with Receiver(200).listening() as receiver:
        answer = talk.send("PUT", PATH, WRONG, {"X-Web-Hook": receiver.url})
        headers, body = receiver.next()
        assert headers["X-Job-Success"] == "false"
        assert answer.json()["location"].endswith(headers["X-Job-UUID"])
        assert body["error"]["code"] == "SYS.1007"


def test_webhooks_are_tried_again(talk: Talk) -> None:
    talk.sim.configure(webhook_interval=0.0)
    with Receiver(500, 302, 404, 204).listening() as receiver:
        talk.send("PUT", PATH, BODY, hook(receiver))
        assert len({receiver.next()[0]["X-Job-UUID"] for dummy in range(4)}) == 1
        talk.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        assert receiver.next()[0]["X-Job-UUID"] != JOB


def test_webhooks_are_dropped_in_the_end(talk: Talk) -> None:
    talk.sim.configure(webhook_interval=0.0, webhook_tries=3)
    with Receiver(500).listening() as failing, Receiver(200).listening() as receiver:
        talk.send("PUT", PATH, BODY, hook(failing))
        for dummy in range(3):
            failing.next()
        talk.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        receiver.next()
        assert failing.deliveries.empty()


def test_a_webhook_is_tried_until_its_receiver_is_there(talk: Talk) -> None:
    with taken_port() as late:
        talk.sim.configure(webhook_interval=0.05, webhook_tries=400)
        talk.send("PUT", PATH, BODY, {"X-Web-Hook": f"http://127.0.0.1:{late.getsockname()[1]}/", "X-Job-UUID": JOB})
        while talk.poll(JOB).status_code == 202:
            time.sleep(0.01)
        late.listen()
        late.settimeout(30)
        connection, dummy = late.accept()
        assert connection.recv(100).startswith(b"POST / HTTP/1.1")
        connection.close()


def test_webhook_faults(talk: Talk) -> None:
    talk.sim.fault("duplicate_webhook", "ChangeHostState")
    talk.sim.fault("drop_webhook", "DeleteNicQos")
    with Receiver(200).listening() as receiver:
        talk.send("PUT", PATH, BODY, hook(receiver))
        assert receiver.next() == receiver.next()
        nic = f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
        assert talk.finished(talk.send("DELETE", nic, None, {"X-Web-Hook": receiver.url})).json() == {}
        talk.sim.fault("late_webhook", "ChangeHostState", seconds=0.01)
        answer = talk.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        assert answer.json()["location"].endswith(receiver.next()[0]["X-Job-UUID"])
        assert receiver.deliveries.empty()
