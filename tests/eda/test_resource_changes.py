"""The event source resource_changes: one event for each change, across polls, restarts and outages."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.event_sources import Rules, running, wait_until

RECORDS = 2000
INTERVAL = 0.05


@pytest.fixture(scope="module")
def running_crowd() -> Iterator[Simulator]:
    with Simulator("--hosts", str(RECORDS), "--vms", "1", "--latency", "0") as simulator:
        yield simulator


@pytest.fixture
def crowd(running_crowd: Simulator) -> Simulator:
    """A service with 2,000 hosts."""
    running_crowd.reset()
    return running_crowd


def args_of(sim: Simulator, **args: Any) -> dict[str, Any]:
    """Return the arguments of a source that polls often and retries nothing."""
    return {"base_url": sim.url, "session_id": sim.session, "interval": INTERVAL, "request_retries": 0, **args}


def count_polls(sim: Simulator, operation: str) -> int:
    """Return how many lists of a service were requested."""
    return sum(entry["operation"] == operation for entry in sim.log())


async def polls(sim: Simulator, operation: str, count: int) -> None:
    """Wait until this number of further lists has been requested."""
    before = await asyncio.to_thread(count_polls, sim, operation)
    await wait_until(lambda: count_polls(sim, operation) >= before + count, in_thread=True)


def hosts_of(sim: Simulator) -> list[str]:
    """Return the uuids of all hosts."""
    return sorted(str(record["uuid"]) for record in sim.records("host"))


def test_each_change_once_across_a_restart_and_an_outage(
    crowd: Simulator, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Change 200 of 2,000 hosts in five portions; the third while the source is stopped, the fourth in an outage."""
    uuids = hosts_of(crowd)
    args = args_of(crowd, resource_type="host", state_file=str(tmp_path / "state.sqlite"))
    events: list[dict[str, Any]] = []

    def change(portion: int) -> None:
        for uuid in uuids[portion * 40 : portion * 40 + 40]:
            crowd.change("host", uuid, diskStatus="Error")

    async def first_run() -> None:
        rules = Rules()
        async with running("resource_changes", args, rules):
            await polls(crowd, "QueryHost", 8)
            assert rules.events == []
            for portion in (0, 1):
                await asyncio.to_thread(change, portion)
                await rules.wait_for(40 * portion + 40)
            # The next poll shows that the last event is stored; until then a restart would deliver the event again.
            await polls(crowd, "QueryHost", 8)
        events.extend(rules.events)

    async def second_run() -> None:
        rules = Rules()
        async with running("resource_changes", args, rules):
            await rules.wait_for(40)
            await asyncio.to_thread(crowd.fault, "status", "QueryHost", status=502, count=3)
            await asyncio.to_thread(change, 3)
            await rules.wait_for(80)
            await asyncio.to_thread(change, 4)
            await rules.wait_for(120)
            await polls(crowd, "QueryHost", 8)
        events.extend(rules.events)

    asyncio.run(first_run())
    change(2)
    asyncio.run(second_run())
    assert sorted(event["change"]["uuid"] for event in events) == uuids[:200]
    changes = [{name: event["change"][name] for name in ("field", "before", "after")} for event in events]
    assert all(change == {"field": "disk_status", "before": "Normal", "after": "Error"} for change in changes)
    assert events[0]["record"]["disk_status"] == "Error"
    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 2, warnings
    assert "cannot be read, polling continues" in warnings[0]
    assert "can be read again after" in warnings[1]


@pytest.mark.parametrize(("name", "similar"), [("Bob's host", "Bob-s host"), ("=x", "x")])
def test_query_for_a_name_that_services_misread(sim: Simulator, name: str, similar: str) -> None:
    watched, other = hosts_of(sim)[:2]
    sim.change("host", watched, name=name)
    sim.change("host", other, name=similar)

    async def play(rules: Rules) -> None:
        async with running("resource_changes", args_of(sim, resource_type="host", query=[f"name= {name}"]), rules):
            await polls(sim, "QueryHost", 2)
            for uuid in (other, watched):
                await asyncio.to_thread(sim.change, "host", uuid, diskStatus="Error")
            await rules.wait_for(1)
            await polls(sim, "QueryHost", 2)

    rules = Rules()
    asyncio.run(play(rules))
    assert [event["change"]["uuid"] for event in rules.events] == [watched]


def test_connection_of_a_profile(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "virtinfra" / "profiles.yml"
    file.parent.mkdir()
    values = f"{{base_url: '{sim.url}', session_id_command: echo {sim.session}, request_retries: 0}}"
    file.write_text(f"profiles: {{prod: {values}}}", encoding="utf-8")
    file.chmod(0o600)
    args = {"profile": "prod", "interval": INTERVAL, "resource_type": "host"}

    async def play(rules: Rules) -> None:
        async with running("resource_changes", args, rules):
            await polls(sim, "QueryHost", 2)
            await asyncio.to_thread(sim.change, "host", hosts_of(sim)[0], diskStatus="Error")
            await rules.wait_for(1)

    rules = Rules()
    asyncio.run(play(rules))
    assert len(rules.events) == 1

    async def fail() -> None:
        async with running("resource_changes", {**args, "profile": "pord"}, Rules()) as source:
            await wait_until(source.done)

    with pytest.raises(Exception, match=r"has no profile pord\. Did you mean prod\?"):
        asyncio.run(fail())


@pytest.mark.parametrize("code", ["ID.1007", "LOGIN_CONTROL.1002"])
def test_a_refused_login_ends_the_source(sim: Simulator, code: str) -> None:
    """A source that polls forever would never read anything, because it does not repeat a refused login."""
    sim.configure(login_refusal=code)
    args = {"base_url": sim.url, "account": "admin", "account_password": "simulator-password", "interval": INTERVAL}

    async def play() -> None:
        async with running("resource_changes", {**args, "resource_type": "host"}, Rules()) as source:
            await wait_until(source.done)

    with pytest.raises(Exception, match=rf"account admin: LogInByAccount failed \({code}\)"):
        asyncio.run(play())
    assert sim.sessions()["failed_logins"] == 1


def test_all_changes_of_a_poll_are_one_event(crowd: Simulator, tmp_path: Path) -> None:
    """The changes of a poll are stored together: a restart does not deliver some of them again."""
    uuids = hosts_of(crowd)[:40]
    args = args_of(crowd, resource_type="host", fields=["status"], state_file=str(tmp_path / "state.sqlite"))

    async def run(rules: Rules) -> None:
        async with running("resource_changes", {**args, "collect_changes": True}, rules):
            # The poll after an event shows that the event is stored.
            await polls(crowd, "QueryHost", 8)

    first, second, third = Rules(), Rules(), Rules()
    asyncio.run(run(first))
    for uuid in uuids:
        crowd.change("host", uuid, status="Disconnected")
    asyncio.run(run(second))
    asyncio.run(run(third))
    assert (first.events, third.events) == ([], [])
    changes = [change for event in second.events for change in event["changes"]]
    assert [change["change"]["uuid"] for change in changes] == uuids
    assert {change["record"]["status"] for change in changes} == {"Disconnected"}
    # Records of hosts are a few kilobytes, so that their number, and not their size, fits into one event.
    assert len(second.events) == 1
    assert second.events[0]["shortened"] == 0


def test_an_event_has_the_name_in_inventories(sim: Simulator) -> None:
    """A job that is limited to the name of the object would concern all hosts, several, or none."""
    uuids = hosts_of(sim)
    for uuid, name in zip(uuids, ("all", "twin", "twin"), strict=True):
        sim.change("host", uuid, name=name)

    async def play(rules: Rules) -> None:
        async with running("resource_changes", args_of(sim, resource_type="host", fields=["state"]), rules):
            await polls(sim, "QueryHost", 1)
            for uuid in uuids:
                sim.change("host", uuid, state="Disabled")
            await polls(sim, "QueryHost", 2)

    rules = Rules()
    asyncio.run(play(rules))
    found = {event["change"]["uuid"]: event["change"]["inventory_hostname"] for event in rules.events}
    assert found == {uuids[0]: uuids[0], **{uuid: f"twin_{uuid}" for uuid in uuids[1:]}}


def test_threshold_has_hysteresis(sim: Simulator) -> None:
    """Low under 10 %, normal from 12 %, and unchanged between both limits."""
    (uuid, *dummy) = sorted(record["uuid"] for record in sim.records("primarystorage"))
    total = 1000
    threshold = {"field": "available_capacity", "below": 10, "rearm": 12}
    args = args_of(sim, resource_type="primarystorage", fields=[], thresholds=[threshold])

    async def play(rules: Rules) -> None:
        async with running("resource_changes", args, rules):
            for percent in (50, 11, 9, 11, 8, 12, 11, 9):
                sim.change("primarystorage", uuid, availableCapacity=percent * total // 100, totalCapacity=total)
                # The second list is requested after the events of the first.
                await polls(sim, "QueryPrimaryStorage", 2)

    sim.change("primarystorage", uuid, availableCapacity=500, totalCapacity=total)
    rules = Rules()
    asyncio.run(play(rules))
    changes = [event["change"] for event in rules.events]
    assert [(change["before"], change["after"], change["percent"]) for change in changes] == [
        ("normal", "low", 9),
        ("low", "normal", 12),
        ("normal", "low", 9),
    ]
    assert changes[0]["field"] == "available_capacity"
    assert (changes[0]["below"], changes[0]["rearm"]) == (10, 12)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "missing required arguments: resource_type"),
        ({"resource_type": "zone"}, "value of resource_type must be one of"),
        ({"resource_type": "host", "base_url": None}, "base_url is required"),
        ({"resource_type": "host", "session_id": None}, "there are no credentials. Give session_id, or account and"),
        ({"resource_type": "host", "field": ["state"]}, "unknown argument field. Did you mean fields?"),
        ({"resource_type": "host", "poll_interval": 9}, "unknown argument poll_interval. Did you mean interval?"),
        (
            {"resource_type": "host", "field": None, "period": 9},
            "unknown argument field. Did you mean fields? Unknown argument period. Did you mean interval?",
        ),
        (
            {"resource_type": "vm", "fields": ["status", "nmae"]},
            "vm records have no field status. Did you mean state? Vm records have no field nmae. Did you mean name?",
        ),
        ({"resource_type": "vm", "fields": ["status"]}, "fields: vm records have no field status. Did you mean state?"),
        ({"resource_type": "vm", "thresholds": [{"field": "state", "below": 1}]}, "state is not a capacity of vm "),
        (
            {"resource_type": "primarystorage", "thresholds": [{"field": "state", "below": 1}]},
            "Use one of: available_capacity, available_physical_capacity.",
        ),
        (
            {
                "resource_type": "primarystorage",
                "thresholds": [{"field": "available_capacity", "below": 12, "rearm": 10}],
            },
            "rearm from below to 100 percent",
        ),
        ({"resource_type": "host", "interval": 0}, "interval must be more than 0 seconds"),
        ({"resource_type": "host", "query": ["state"]}, "state"),
        ({"resource_type": "host", "interval": "30s"}, "interval must be a number of seconds, not '30s'"),
        (
            {"resource_type": "host", "state_file": "/nowhere/state"},
            "state_file /nowhere/state cannot be used: the folder /nowhere does not exist. Create it.",
        ),
        (
            {"resource_type": "host", "state_file": "/proc"},
            "state_file /proc cannot be used: [Errno 21] Is a directory",
        ),
        (
            {"resource_type": "primarystorage", "thresholds": [{"field": "available_capacity", "below": "10%"}]},
            "thresholds[0].below must be a number, such as 10, in percent, not '10%'",
        ),
        (
            {"resource_type": "primarystorage", "thresholds": {"field": "available_capacity", "below": 10}},
            "thresholds must be a list, such as [{field: available_capacity, below: 10}], not {'field'",
        ),
        (
            {"resource_type": "vm", "fields": []},
            "fields is empty and there are no thresholds, so nothing is watched. Add thresholds, or leave out",
        ),
    ],
)
def test_wrong_arguments_have_one_message(sim: Simulator, args: dict[str, Any], message: str) -> None:
    async def play() -> None:
        async with running("resource_changes", {**args_of(sim), **args}, Rules()) as source:
            await asyncio.wait([source])

    with pytest.raises(Exception, match=re.escape(message)) as caught:
        asyncio.run(play())
    assert type(caught.value).__name__ == "InvalidOptions"


@pytest.mark.parametrize("operation", ["LogInByAccount", "QueryHost"])
def test_the_end_of_the_source_ends_its_session(sim: Simulator, operation: str) -> None:
    """The session ends even if the thread logs in or waits for a list at that time; it does not log in again."""
    args = args_of(sim, session_id=None, account="admin", account_password="simulator-password", resource_type="host")
    sim.fault("slow", operation, seconds=1, skip=int(operation == "QueryHost"))

    async def play() -> None:
        async with running("resource_changes", args, Rules()):
            await wait_until(lambda: sim.faults()[0]["happened"] > 0, in_thread=True)

    asyncio.run(play())
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
