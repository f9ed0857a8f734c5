"""The event source job_results: which posts become events, and which are refused."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
import yaml
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from conftest import ClientFactory
from jinja2 import Template

from simulator.launch import Simulator
from support.collection import ROOT
from support.event_sources import Rules, deliver, job_headers, plugin, post, receiving, running, wait_until
from support.stub_server import StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
FAILURE = {
    "error": {
        "code": "HOST.1003",
        "description": "connection error for KVM host",
        "causes": [{"code": "SYS.1006", "details": "ssh: password=hunter22 was refused"}],
    }
}


async def statuses_of(rules: Rules, posts: list[tuple[str, bytes, dict[str, str]]], **args: Any) -> list[int]:
    """Send posts (path and query after the URL, body, headers) one after another and return the statuses."""
    async with receiving(rules, **args) as url, aiohttp.ClientSession() as session:
        found = []
        for tail, body, headers in posts:
            target = url.rpartition("/")[0] + tail if tail.startswith("/") else url + tail
            async with session.post(target, data=body, headers=headers) as response:
                found.append(response.status)
        await rules.wait_for(found.count(204) and 1)
        return found


def events_of(*posts: tuple[str, bytes, dict[str, str]], **args: Any) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the statuses and the events of posts."""
    rules = Rules()
    return asyncio.run(statuses_of(rules, list(posts), **args)), rules.events


# -------------------------------------------------------------------------------------------------------------- events


def test_event_of_a_success() -> None:
    body = json.dumps({"inventory": {"uuid": HOST, "name": "host-1"}}).encode()
    statuses, events = events_of(("?about=host-1&operation=ChangeHostState", body, job_headers(JOB)))
    assert statuses == [204]
    assert events == [
        {
            "job": {"uuid": JOB, "succeeded": True, "batch": None},
            "operation": "ChangeHostState",
            "about": "host-1",
            "result": {"inventory": {"uuid": HOST, "name": "host-1"}},
        }
    ]


def test_event_of_a_failure() -> None:
    """Its error has all causes, without credentials."""
    statuses, (event,) = events_of(("", json.dumps(FAILURE).encode(), job_headers(JOB, "false")))
    assert statuses == [204]
    assert event["job"] == {"uuid": JOB, "succeeded": False, "batch": None}
    assert event["error"]["code"] == "HOST.1003"
    assert [cause["code"] for cause in event["error"]["causes"]] == ["SYS.1006"]
    assert event["msg"].startswith("the operation failed (HOST.1003, caused by SYS.1006)")
    assert "result" not in event
    assert "hunter22" not in json.dumps(event)


@pytest.mark.parametrize(
    ("headers", "body", "succeeded", "batch"),
    [
        ({"x-job-uuid": JOB, "x-job-success": "TRUE"}, b"{}", True, None),
        ({"X-JOB-UUID": JOB, "X-JOB-SUCCESS": "false"}, b"{}", False, None),
        ({"X-Job-UUID": JOB, "X-Job-Success": "true", "x-job-batch": "PARTIAL"}, b"{}", True, "PARTIAL"),
        ({"X-Job-UUID": JOB, "X-Job-Success": "true"}, json.dumps(FAILURE).encode(), False, None),
        ({"X-Job-UUID": JOB}, json.dumps(FAILURE).encode(), False, None),
        ({"X-Job-UUID": JOB, "X-Job-Success": "true"}, b'{"success": false}', False, None),
    ],
)
def test_headers_in_any_case_and_contradictions(
    headers: dict[str, str], body: bytes, succeeded: bool, batch: str | None
) -> None:
    statuses, (event,) = events_of(("", body, headers))
    assert statuses == [204]
    assert event["job"] == {"uuid": JOB, "succeeded": succeeded, "batch": batch}


def test_refused_posts(caplog: pytest.LogCaptureFixture) -> None:
    """Each with its status, none with an event, and the log counts them."""
    caplog.set_level(logging.WARNING)
    good = job_headers(JOB)
    cases: list[tuple[int, str, bytes, dict[str, str]]] = [
        (404, "/wrong", b"{}", good),
        (404, "/secret/more", b"{}", good),
        (400, "", b"{}", {"X-Job-Success": "true"}),
        (400, "", b"{}", {"X-Job-UUID": "no id", "X-Job-Success": "true"}),
        (400, "", b"{}", {"X-Job-UUID": JOB}),
        (400, "", b"not json", good),
        (400, "", b"[]", good),
        (400, "", b"\xff", good),
        (400, "", b"[" * 100_000, good),
        (413, "", b'{"a": "' + b"x" * 200_000 + b'"}', good),
    ]
    statuses, events = events_of(*[case[1:] for case in cases], body_limit=100_000)
    assert statuses == [case[0] for case in cases]
    assert events == []
    assert "refused 1 posts so far, the last from 127.0.0.1: wrong path" in caplog.text
    assert "refused 4 posts so far, the last from 127.0.0.1: the body is not a JSON object" in caplog.text


def test_token_is_required_and_other_methods_are_refused() -> None:
    async def play(rules: Rules) -> list[int]:
        async with receiving(rules, token="a-token") as url, aiohttp.ClientSession() as session:
            wrong = [await post(session, url, JOB), await post(session, url, JOB, Authorization="Bearer a-toke")]
            async with session.get(url, headers={"Authorization": "Bearer a-token"}) as response:
                wrong.append(response.status)
            return [*wrong, await post(session, url, JOB, Authorization="Bearer a-token")]

    assert asyncio.run(play(Rules())) == [401, 401, 405, 204]


@pytest.mark.parametrize("with_client_cert", [True, False])
def test_tls_with_client_certificates(tmp_path: Path, with_client_cert: bool) -> None:
    authority = trustme.CA()
    server, ca_file = authority.issue_cert("127.0.0.1"), tmp_path / "ca.pem"
    certfile = tmp_path / "server.pem"
    server.private_key_and_cert_chain_pem.write_to_path(certfile)
    authority.cert_pem.write_to_path(ca_file)
    context = ssl.create_default_context(cafile=ca_file)
    if with_client_cert:
        authority.issue_cert("service@example.com").configure_cert(context)

    async def play(rules: Rules) -> int:
        files = {"certfile": str(certfile), "client_ca": str(ca_file)}
        connector = aiohttp.TCPConnector(ssl=context)
        async with receiving(rules, "https", **files) as url, aiohttp.ClientSession(connector=connector) as session:
            return await post(session, url, JOB)

    if with_client_cert:
        assert asyncio.run(play(Rules())) == 204
    else:
        with pytest.raises(aiohttp.ClientError):
            asyncio.run(play(Rules()))


# ----------------------------------------------------------------------------------------------- repeats and the buffer


def test_each_job_once_although_posts_repeat_and_come_together() -> None:
    async def play(rules: Rules) -> None:
        async with receiving(rules) as url, aiohttp.ClientSession() as session:
            statuses = await asyncio.gather(*(post(session, url, f"{number % 20:032x}") for number in range(60)))
            assert set(statuses) == {204}
            await rules.wait_for(20)

    rules = Rules()
    asyncio.run(play(rules))
    assert sorted(event["job"]["uuid"] for event in rules.events) == [f"{number:032x}" for number in range(20)]


def test_full_buffer_refuses_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The rules are busy until the service has been refused."""
    done = asyncio.Event()

    async def play(rules: Rules) -> None:
        async with receiving(rules, buffer_size=2) as url, aiohttp.ClientSession() as session:
            statuses = [await post(session, url, f"{number:032x}") for number in range(5)]
            # The rules run the action of one result; a second one is in their queue, and a third one waits for the
            # queue.
            assert statuses[0] == 204
            assert statuses.count(204) in (2, 3)
            done.set()
            await asyncio.gather(*(deliver(session, url, f"{number:032x}") for number in range(5)))
            await rules.wait_for(5)

    rules = Rules(done.wait)
    asyncio.run(play(rules))
    assert len({event["job"]["uuid"] for event in rules.events}) == len(rules.events) == 5
    assert "the buffer is full" in caplog.text


def test_spool_delivers_acknowledged_results_after_a_restart(tmp_path: Path) -> None:
    """A result that the rules have taken is not delivered again, and its duplicate is recognized."""
    spool = tmp_path / "spool.sqlite"

    async def fill(rules: Rules) -> None:
        async with receiving(rules, spool=str(spool)) as url, aiohttp.ClientSession() as session:
            for number in range(3):
                assert await post(session, url, f"{number:032x}") == 204
            # The second result is put into the queue when the first result has been removed from the spool.
            await wait_until(rules.queue.full)

    async def restart(rules: Rules) -> None:
        async with receiving(rules, spool=str(spool)) as url, aiohttp.ClientSession() as session:
            await rules.wait_for(2)
            assert await post(session, url, f"{0:032x}") == 204
            assert await post(session, url, f"{9:032x}") == 204
            await rules.wait_for(3)

    blocked, after = Rules(asyncio.Event().wait), Rules()
    asyncio.run(fill(blocked))
    asyncio.run(restart(after))
    assert spool.stat().st_mode & 0o777 == 0o600
    # The rules began the action of the first result; the second result was still in their queue.
    assert [event["job"]["uuid"][-1] for event in blocked.events] == ["0"]
    assert [event["job"]["uuid"][-1] for event in after.events] == ["1", "2", "9"]


# ---------------------------------------------------------------------------------------------------------- collecting


def test_results_are_collected_until_the_buffer_is_full() -> None:
    """The first event has what fits into the buffer, although the time is not over; nothing is lost or left over."""

    async def play(rules: Rules) -> None:
        async with receiving(rules, collect_seconds=3600, buffer_size=4) as url, aiohttp.ClientSession() as session:
            await asyncio.gather(*(deliver(session, url, f"{number:032x}") for number in range(8)))
            await rules.wait_for(2)

    rules = Rules()
    asyncio.run(play(rules))
    assert [len(event["jobs"]) for event in rules.events] == [4, 4]
    assert {event["failed"] for event in rules.events} == {0}
    uuids = sorted(result["job"]["uuid"] for event in rules.events for result in event["jobs"])
    assert uuids == [f"{number:032x}" for number in range(8)]


def test_collected_results_survive_a_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Waiting results survive, and those of an event that the rules have not taken. Large results are shortened."""
    spool, large = str(tmp_path / "spool.sqlite"), json.dumps({"inventory": {"name": "x" * 300_000}}).encode()

    async def fill(rules: Rules) -> None:
        async with receiving(rules, collect_seconds=3600, spool=spool) as url, aiohttp.ClientSession() as session:
            assert await post(session, url, f"{0:032x}") == 204
            assert await post(session, url, f"{1:032x}", large) == 204

    async def restart(rules: Rules) -> None:
        async with receiving(rules, collect_seconds=0.01, spool=spool):
            await rules.wait_for(1)

    stopped, after = Rules(), Rules()
    asyncio.run(fill(stopped))
    asyncio.run(restart(after))
    assert stopped.events == []
    (event,) = after.events
    assert (event["failed"], event["succeeded"], event["shortened"]) == (0, 2, 1)
    first, second = event["jobs"]
    assert first["result"] == {}
    assert second == {"job": {"uuid": f"{1:032x}", "succeeded": True, "batch": None}, "shortened": True}
    assert "1 of 2 results are shortened" in caplog.text


# ---------------------------------------------------------------------------------------------------------- confirming


def test_only_confirmed_results_are_believed(sim: Simulator) -> None:
    """Forged posts are refused; a forged post for a job that has ended delivers its true result, once."""
    forged = json.dumps({"inventory": {"name": "forged"}}).encode()

    async def play(rules: Rules) -> list[int]:
        connection: dict[str, Any] = {"base_url": sim.url, "confirm": None, "request_retries": 0}
        async with receiving(rules, **connection) as url, aiohttp.ClientSession() as session:
            found = [await post(session, url, JOB, forged)]
            sim.fault("hang", "ChangeHostState")
            start = {"changeHostState": {"stateEvent": "disable"}}
            hanging, ended = "1" * 32, "2" * 32
            for uuid in (hanging, ended):
                headers = {"Authorization": f"OAuth {sim.session}", "X-Job-UUID": uuid}
                target = f"{sim.url}/service/v1/hosts/{HOST}/actions"
                async with session.put(target, json=start, headers=headers) as response:
                    assert response.status == 202
            await asyncio.to_thread(sim.advance)
            found += [await post(session, url, hanging, forged), await post(session, url, ended, forged)]
            found.append(await post(session, url, ended, forged))
            await asyncio.to_thread(sim.fault, "status", "poll", status=502)
            found.append(await post(session, url, "3" * 32, forged))
            await rules.wait_for(1)
            return found

    rules = Rules()
    assert asyncio.run(play(rules)) == [403, 403, 204, 204, 503]
    (event,) = rules.events
    assert event["result"]["inventory"]["name"] == "host-1"


class ConfirmedJob:
    """A job of the simulator that has ended, and the URL of its webhook, which the simulator does not call."""

    def __init__(self, sim: Simulator, new_client: ClientFactory, url: str, key: str | None = None) -> None:
        sim.fault("drop_webhook", "ChangeHostState")
        client = new_client(webhook_url=url, **({"webhook_key": key} if key else {}))
        self.uuid = client.start_job("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"}).uuid
        sim.advance()
        self.url = next(
            entry["headers"]["x-web-hook"] for entry in sim.log() if entry["operation"] == "ChangeHostState"
        )


FORGED_QUERY = "about=forged&operation=DeleteHost"


@pytest.mark.parametrize("status", [404, 503])
def test_error_code_for_an_unknown_id_is_not_the_failure_of_a_job(status: int) -> None:
    """The service knows the job by another id: the post of its success is refused, and no event of a failure exists."""
    unknown = StubResponse(status, {"error": {"code": "SYS.1003", "details": "no such job"}})

    async def play(service: StubServer, rules: Rules) -> int:
        async with receiving(rules, base_url=service.url, confirm=True) as url, aiohttp.ClientSession() as session:
            return await post(session, url, JOB)

    rules = Rules()
    with StubServer(lambda request: unknown) as service:
        assert asyncio.run(play(service, rules)) == 403
    assert rules.events == []


def test_an_event_of_a_confirmed_result_has_no_unconfirmed_member(sim: Simulator, new_client: ClientFactory) -> None:
    """Anyone who knows the URL can choose them, and the first post for a job counts."""

    async def play(rules: Rules) -> list[int]:
        async with receiving(rules, base_url=sim.url, confirm=True) as url, aiohttp.ClientSession() as session:
            job = await asyncio.to_thread(ConfirmedJob, sim, new_client, f"{url}?about=host-1")
            forged = await post(session, f"{url}?{FORGED_QUERY}", job.uuid, b"{}", **{"X-Job-Batch": "FORGED"})
            return [forged, await post(session, job.url, job.uuid)]

    rules = Rules()
    assert asyncio.run(play(rules)) == [204, 204]
    (event,) = rules.events
    assert event.keys() == {"job", "result"}
    assert event["job"].items() >= {"succeeded": True, "batch": None}.items()


def test_a_signed_query_is_used_and_a_forged_one_is_refused(sim: Simulator, new_client: ClientFactory) -> None:
    """The signature is that of one job and one query."""

    async def play(rules: Rules) -> list[int]:
        options: dict[str, Any] = {"base_url": sim.url, "confirm": True, "webhook_key": "a key"}
        async with receiving(rules, **options) as url, aiohttp.ClientSession() as session:
            query = "about=h%C3%B6st+1&operation=ChangeHostState"
            job = await asyncio.to_thread(ConfirmedJob, sim, new_client, f"{url}?{query}", "a key")
            signature = job.url.rpartition("&")[2]
            forged = (url, f"{url}?{FORGED_QUERY}", f"{url}?{FORGED_QUERY}&{signature}", f"{job.url}0")
            statuses = [await post(session, target, job.uuid) for target in forged]
            statuses.append(await post(session, job.url, "1" * 32))
            batch = {"X-Job-Batch": "FORGED"}
            return [*statuses, await post(session, f"{job.url}&about=forged", job.uuid, b"{}", **batch)]

    rules = Rules()
    assert asyncio.run(play(rules)) == [403] * 5 + [204]
    (event,) = rules.events
    assert (event["about"], event["operation"], event["job"]["batch"]) == ("höst 1", "ChangeHostState", None)


# ----------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"port": None}, "missing required arguments: port"),
        ({"path": None}, "missing required arguments: path"),
        ({"port": "many"}, "port must be a whole number, not 'many'"),
        ({"collect_seconds": "5s"}, "collect_seconds must be a number of seconds, not '5s'"),
        ({"port": 0}, "port must be from 1 to 65535"),
        ({"path": "/"}, "path must have the form /a-secret-of-your-own"),
        ({"path": "secret"}, "path must have the form /a-secret-of-your-own"),
        ({"token": ""}, "token must be printable ASCII without spaces, and not empty"),
        ({"buffersize": 1}, "unknown argument buffersize. Did you mean buffer_size?"),
        ({"buffer_size": 0}, "buffer_size must be at least 1"),
        ({"keyfile": "/nowhere/key.pem"}, "keyfile needs certfile"),
        ({"certfile": "/nowhere/cert.pem"}, "certfile /nowhere/cert.pem cannot be used: "),
        ({"confirm": None}, "base_url is required"),
        ({"spool": "/nowhere/spool"}, "spool /nowhere/spool cannot be used: "),
        ({"host": "192.0.2.1"}, "cannot listen on 192.0.2.1 port "),
    ],
)
def test_wrong_arguments_have_one_message(args: dict[str, Any], message: str) -> None:
    async def play() -> None:
        given = {"host": "127.0.0.1", "port": 65000, "path": "/secret", "confirm": False, **args}
        async with running("job_results", given, Rules()) as source:
            await asyncio.wait([source])

    with pytest.raises(Exception, match=message) as caught:
        asyncio.run(play())
    assert type(caught.value).__name__ == "InvalidOptions"
    assert "\n" not in str(caught.value)


def test_spool_is_for_one_source(tmp_path: Path) -> None:
    spool = str(tmp_path / "spool.sqlite")

    async def play() -> None:
        async with receiving(Rules(), spool=spool), receiving(Rules(), spool=spool):
            pass

    with pytest.raises(Exception, match=r"spool .* cannot be used: another process uses it"):
        asyncio.run(play())


# --------------------------------------------------------------------------------------------------------- rulebooks


@pytest.mark.parametrize("rulebook", ["failed_jobs", "failed_jobs_template"])
@pytest.mark.parametrize(
    ("variables", "missing"), [({}, "job_results_port"), ({"job_results_port": 5443}, "job_results_path")]
)
def test_a_rulebook_names_its_missing_variable(rulebook: str, variables: dict[str, Any], missing: str) -> None:
    (rules,) = yaml.safe_load((ROOT / "extensions" / "eda" / "rulebooks" / f"{rulebook}.yml").read_text("utf-8"))
    arguments = rules["sources"][0]["virtinfra.manager.job_results"]
    rendered = {name: Template(value).render(variables) for name, value in arguments.items()}
    given = {name: value for name, value in rendered.items() if value != "None"}
    with pytest.raises(InvalidOptions, match=f"set the variable {missing}"):
        asyncio.run(plugin("event_source", "job_results")(asyncio.Queue(1), given))
