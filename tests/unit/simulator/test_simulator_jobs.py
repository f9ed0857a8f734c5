"""The simulator's jobs: the 202, polls, job ids, timeouts, webhooks, and who may call."""

from __future__ import annotations

import ssl
import time
from typing import Any

import pytest
import requests
import trustme

from simulator.http_client import HttpClient
from simulator.launch import Simulator, SimulatorError
from simulator.state.store import seeded_uuid
from support.socket_servers import taken_port
from support.webhook_receiver import WebhookReceiver

HOST = seeded_uuid("host", 1)
PATH = f"hosts/{HOST}/actions"
BODY = {"changeHostState": {"stateEvent": "disable"}}
WRONG = {"changeHostState": {"stateEvent": "wrong"}}
JOB = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def is_plain(response: requests.Response, status: int) -> bool:
    return response.status_code == status and "Content-Type" not in response.headers


def test_job_is_polled_to_its_result(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    response = api.send("PUT", PATH, BODY)
    assert response.status_code == 202
    assert "Location" not in response.headers
    reply = response.json()
    assert reply["apiTimeout"] == 30 * 60 * 1000
    base, dummy, job_id = reply["location"].partition("/service/v1/api-jobs/")
    assert base == "http://192.0.2.1:8080"
    assert len(job_id) == 32
    pending = api.poll(job_id)
    assert (pending.status_code, pending.json()) == (202, {})
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Enabled"
    api.sim.advance()
    for dummy in range(2):
        done = api.poll(job_id)
        assert (done.status_code, done.json()["inventory"]["state"]) == (200, "Disabled")
        assert done.json().get("success") is None
        assert "error" not in done.json()


def test_job_fails_with_an_error_code(api: HttpClient) -> None:
    error = api.error("PUT", PATH, WRONG)
    assert set(error) == {"code", "description", "details", "causes", "i18nDetails"}
    assert error["code"] == "SYS.1007"
    assert error["i18nDetails"] == error["details"]
    assert error["causes"] == []


def test_job_is_404_when_unknown_or_expired(api: HttpClient) -> None:
    assert is_plain(api.poll(JOB), 404)
    api.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    api.sim.configure(job_lifetime=0.0)
    assert is_plain(api.poll(JOB), 404)


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
def test_location_has_the_form_of_the_switch(api: HttpClient, switch: str, expected: str | None) -> None:
    api.sim.configure(location=switch, location_header=True, api_timeout=False)
    response = api.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    location = expected and expected.format(url=api.sim.url, job=JOB)
    assert response.json() == ({"location": location} if location else {})
    assert response.headers["Location"].endswith(f"/service/v1/api-jobs/{JOB}")


def test_job_uuid_is_honoured_once_or_ignored(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    assert api.send("PUT", PATH, BODY, {"X-Job-UUID": JOB}).json()["location"].endswith(JOB)
    again = api.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    assert is_plain(again, 400)
    assert again.text == f"Duplicate job uuid[{JOB}]"
    for wrong in ("", "x", JOB[:-1], "01234567-89ab-4def-8123-456789abcdef"):
        assert is_plain(api.send("PUT", PATH, BODY, {"X-Job-UUID": wrong}), 400)
    api.sim.configure(job_uuid="ignore")
    other = api.send("PUT", PATH, BODY, {"X-Job-UUID": JOB})
    assert other.status_code == 202
    assert JOB not in other.text


def test_job_times_out(api: HttpClient) -> None:
    api.sim.configure(latency=600.0)
    response = api.send("PUT", PATH, BODY, {"X-API-Timeout": "60"})
    assert response.json()["apiTimeout"] == 60_000
    api.sim.advance()
    assert api.wait_for_job(response).json()["error"]["code"] == "SYS.1001"
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Enabled"
    for wrong in ("x", "0", "-1", "inf"):
        assert is_plain(api.send("PUT", PATH, BODY, {"X-API-Timeout": wrong}), 400)
    for path in ("hosts/kvm", f"cbt-task/enable/{HOST}", "cbt-task/exportvolume"):
        assert api.send("POST", path, {}).json()["apiTimeout"] == 3 * 60 * 60 * 1000


def test_latency_can_be_set_by_operation(api: HttpClient) -> None:
    api.sim.configure(latencies={"ChangeHostState": 600.0})
    response = api.send("PUT", PATH, BODY)
    api.call("DELETE", f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in")
    assert api.poll(response.json()["location"].rpartition("/")[2]).status_code == 202


def test_latency_can_differ_between_jobs(api: HttpClient) -> None:
    """With the usual seed, the first job is shorter and ends at once, and the second one is longer."""
    api.sim.configure(latency=600.0, latency_spread=2.0)
    api.call("PUT", PATH, BODY)
    response = api.send("PUT", PATH, BODY)
    assert api.poll(response.json()["location"].rpartition("/")[2]).status_code == 202


def test_sync_answers_with_the_result(api: HttpClient) -> None:
    api.sim.configure(sync=True)
    response = api.send("PUT", PATH, BODY)
    assert (response.status_code, response.json()["inventory"]["state"]) == (200, "Disabled")
    assert api.send("PUT", PATH, WRONG).json()["error"]["code"] == "SYS.1007"
    assert api.send("PUT", PATH, {"changeHostState": {"stateEvent": "maintain"}}).status_code == 200


def test_malformed_requests_are_rejected_before_a_job(api: HttpClient) -> None:
    url = f"{api.sim.url}/service/v1/{PATH}"
    authorization = {"Authorization": "OAuth simulator-session"}
    for body in (b"{", b"[]", b"\xff", b"", b'{"other": {}}', b'{"changeHostState": 1}'):
        assert is_plain(requests.put(url, data=body, headers=authorization, timeout=30), 400)
    assert is_plain(api.send("POST", "cbt-task/create", {"params": []}), 400)
    assert is_plain(api.send("GET", "nothing"), 404)
    assert is_plain(api.send("GET", "hosts/"), 404)
    assert is_plain(api.send("GET", "cbt-task/create/x"), 404)


def test_verbs_matter_only_on_paths_with_several_operations(api: HttpClient) -> None:
    storage = seeded_uuid("primarystorage", 1)
    task = api.inventory("POST", "cbt-task/create", {"params": {"name": "x", "vmInstanceUuid": seeded_uuid("vm", 1)}})
    path, action = f"cbt-task/{task['uuid']}", PATH.replace("hosts/", "hosts/kvm/")
    assert api.inventory("POST", action, {"updateKVMHost": {"name": "x"}})["name"] == "x"
    assert is_plain(api.send("GET", action), 400)
    assert api.error_code("GET", "hosts/kvm") == "SYS.1007"
    assert api.error_code("GET", f"primary-storage/{storage}") == "SYS.1006"
    assert api.query(path) == [task]
    assert is_plain(api.send("PUT", path, {}), 500)
    api.sim.configure(verbs_matter=True)
    for method, refused in (("POST", action), ("GET", "cbt-task/enable/x"), ("GET", f"primary-storage/{storage}")):
        assert is_plain(api.send(method, refused, BODY), 405)
    api.sim.configure(all_companions=False)
    assert is_plain(api.send("DELETE", f"primary-storage/{storage}"), 404)


def test_post_without_params_has_none(api: HttpClient) -> None:
    path = f"vm-instances/{seeded_uuid('vm', 1)}/l3-networks/{seeded_uuid('l3network', 2)}"
    bodies: list[dict[str, Any] | None] = [{}, {"params": None}, {"params": {}}, None]
    for body in bodies:
        api.inventory("POST", path, body)
    assert (
        api.error_code("POST", "cbt-task/create", {"name": "x", "vmInstanceUuid": seeded_uuid("vm", 1)}) == "SYS.1007"
    )


def test_credentials_are_checked_by_scheme_and_value(api: HttpClient) -> None:
    cursor = "/api/v1/resources/cursor-query?resourceType=host"
    for method, path in (("GET", "hosts"), ("PUT", PATH)):
        assert is_plain(api.send(method, path, BODY, {"Authorization": None}), 400)
        assert is_plain(api.send(method, path, BODY, {"Authorization": "Bearer simulator-token"}), 403)
    for header in (None, "OAuth simulator-session", "Basic eDp5"):
        assert is_plain(api.send("GET", cursor, headers={"Authorization": header}), 401)
    wrong = {"Authorization": "Bearer wrong"}
    assert api.error("GET", cursor, headers=wrong)["code"] == "ID.1001"
    wrong = {"Authorization": "OAuth wrong"}
    assert api.send("GET", "hosts", headers=wrong).status_code == 503
    assert api.error("GET", "hosts", headers=wrong)["code"] == "ID.1001"
    assert api.send("PUT", PATH, BODY, wrong).status_code == 202
    assert api.error("PUT", PATH, BODY, wrong)["code"] == "ID.1001"
    assert api.query(f"hosts/{HOST}")[0]["state"] == "Enabled"


def test_sessions_and_tokens_expire(api: HttpClient) -> None:
    api.sim.configure(session_expired=True)
    assert api.error_code("GET", "hosts") == "ID.1001"
    api.sim.configure(session_expired=False)
    api.query("hosts")
    api.sim.configure(token_expired=True)
    assert api.error_code("GET", "/api/v1/resources/cursor-query?resourceType=host") == "ID.1001"
    api.sim.configure(session_lifetime=0.0)
    assert api.error_code("GET", "hosts") == "ID.1001"
    api.sim.reset(session="another")
    assert api.error_code("GET", "hosts") == "ID.1001"
    api.call("GET", "hosts", headers={"Authorization": "OAuth another"})


def hook(receiver: WebhookReceiver) -> dict[str, str]:
    return {"X-Web-Hook": receiver.url, "X-Job-UUID": JOB}


def test_webhook_receives_the_result(api: HttpClient) -> None:
    with WebhookReceiver(200) as receiver:
        response = api.send("PUT", PATH, BODY, hook(receiver))
        assert (response.status_code, "location" in response.json()) == (202, True)
        headers, body = receiver.next()
        assert (headers["X-Job-Success"], headers["X-Job-UUID"]) == ("true", JOB)
        assert "Authorization" not in headers
        assert body == api.poll(JOB).json()
        assert body["inventory"]["state"] == "Disabled"


def test_webhook_does_not_verify_the_certificate_of_its_receiver(api: HttpClient) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("other.example.com").configure_cert(tls)
    with WebhookReceiver(200, tls=tls) as receiver:
        api.send("PUT", PATH, BODY, hook(receiver))
        assert receiver.next()[0]["X-Job-Success"] == "true"


def test_webhook_is_retried(api: HttpClient) -> None:
    api.sim.configure(webhook_interval=0.0)
    with WebhookReceiver(500, 302, 404, 204) as receiver:
        api.send("PUT", PATH, BODY, hook(receiver))
        assert len({receiver.next()[0]["X-Job-UUID"] for dummy in range(4)}) == 1
        api.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        assert receiver.next()[0]["X-Job-UUID"] != JOB


def test_webhook_is_dropped_after_all_tries(api: HttpClient) -> None:
    api.sim.configure(webhook_interval=0.0, webhook_tries=3)
    with WebhookReceiver(500) as failing, WebhookReceiver(200) as receiver:
        api.send("PUT", PATH, BODY, hook(failing))
        for dummy in range(3):
            failing.next()
        api.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        receiver.next()
        assert failing.deliveries.empty()


def test_webhook_is_retried_until_its_receiver_listens(api: HttpClient) -> None:
    with taken_port() as late:
        api.sim.configure(webhook_interval=0.05, webhook_tries=400)
        api.send("PUT", PATH, BODY, {"X-Web-Hook": f"http://127.0.0.1:{late.getsockname()[1]}/", "X-Job-UUID": JOB})
        while api.poll(JOB).status_code == 202:
            time.sleep(0.01)
        late.listen()
        late.settimeout(30)
        connection, dummy = late.accept()
        assert connection.recv(100).startswith(b"POST / HTTP/1.1")
        connection.close()


def test_webhook_faults_apply(api: HttpClient) -> None:
    api.sim.fault("duplicate_webhook", "ChangeHostState")
    api.sim.fault("drop_webhook", "DeleteNicQos")
    with WebhookReceiver(200) as receiver:
        api.send("PUT", PATH, BODY, hook(receiver))
        assert receiver.next() == receiver.next()
        nic = f"vm-instances/{seeded_uuid('vmnic', 1)}/nic-qos?direction=in"
        assert api.wait_for_job(api.send("DELETE", nic, None, {"X-Web-Hook": receiver.url})).json() == {}
        api.sim.fault("late_webhook", "ChangeHostState", seconds=0.01)
        response = api.send("PUT", PATH, BODY, {"X-Web-Hook": receiver.url})
        assert response.json()["location"].endswith(receiver.next()[0]["X-Job-UUID"])
        assert receiver.deliveries.empty()


def test_webhook_of_a_batch_operation_states_its_outcome(api: HttpClient) -> None:
    with WebhookReceiver(200) as receiver:
        api.send("POST", "hosts/nics/service-types", {"params": {}}, {"X-Web-Hook": receiver.url})
        assert receiver.next()[0]["X-Job-Batch"] == "FAILED"
        api.send("PUT", PATH, BODY, hook(receiver))
        assert "X-Job-Batch" not in receiver.next()[0]


def test_deliveries_on_demand(api: HttpClient) -> None:
    """A late delivery contains the real result, a forged delivery the result that the test chooses."""
    with WebhookReceiver(200, 200, 403) as receiver:
        api.send("PUT", PATH, BODY, hook(receiver))
        first = receiver.next()
        assert api.sim.deliver(receiver.url, JOB) == 200
        assert receiver.next() == first
        assert api.sim.deliver(receiver.url, "f" * 32, success=False, body={"error": {}}) == 403
        headers, body = receiver.next()
        assert (headers["X-Job-UUID"], headers["X-Job-Success"], body) == ("f" * 32, "false", {"error": {}})
        with pytest.raises(SimulatorError, match="unknown job"):
            api.sim.deliver(receiver.url, "e" * 32)
