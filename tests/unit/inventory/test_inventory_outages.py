"""Inventory sources of which a service cannot be read: ``on_failure``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.cache import BaseFileCacheModule
from ansible.plugins.loader import inventory_loader
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.cache import CachedRecords

from simulator.launch import Simulator
from support.inventory_sources import Source, collect_warnings, names, shape
from support.stub_server import StubRequest, StubResponse, StubServer

HOUR = 3600

# Nothing listens on this port.
DEAD = {"name": "south", "base_url": "http://127.0.0.1:1", "request_retries": 0}

KINDS = {"hosts": ("host", "hosts"), "vms": ("vm", "VMs"), "primary_storages": ("primarystorage", "primary storages")}


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings."""
    return collect_warnings(monkeypatch)


class CachedSource(Source):
    """A source with its own folder for a file cache."""

    def __init__(self, folder: Path, plugin: str, **options: Any) -> None:
        self.folder = folder / "cache"
        place = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(self.folder)}
        super().__init__(folder, plugin, **{**place, "request_retries": 0, **options})

    def change_entries(self, seconds: float) -> None:
        """Make the cache entries older by some seconds."""
        for path in self.folder.iterdir():
            entry = json.loads(path.read_text(encoding="utf-8"))
            content = entry.get("__payload__", entry)
            content = json.loads(content) if isinstance(content, str) else content
            content["time"] -= seconds
            text = json.dumps({**entry, "__payload__": json.dumps(content)} if "__payload__" in entry else content)
            path.write_text(text, encoding="utf-8")


def north(sim: Simulator) -> dict[str, Any]:
    """Return a service that works."""
    return {"name": "north", "base_url": sim.url, "session_id": sim.session}


def refusal(source: Source, cache: bool = False) -> str:
    """Return the message of a source that fails and adds nothing."""
    inventory = InventoryData()
    with pytest.raises(AnsibleParserError) as caught:
        source.fill(inventory, cache=cache)
    assert list(inventory.hosts) == []
    return str(caught.value)


@pytest.mark.parametrize("plugin", KINDS)
def test_the_hosts_of_the_other_services_come(sim: Simulator, tmp_path: Path, warnings: list[str], plugin: str) -> None:
    kind, noun = KINDS[plugin]
    services = [{**DEAD, "on_failure": "skip"}, north(sim)]
    inventory = Source(tmp_path, plugin, session_id="a-session", services=services).fill()
    assert {record["name"] for record in sim.records(kind)} <= set(names(inventory))
    (warning,) = warnings
    assert warning.startswith("south: Query")
    assert ": cannot connect to http://127.0.0.1:1: " in warning
    assert warning.endswith(f". The {noun} of this service are missing (on_failure: skip).")


def test_the_option_of_the_source_is_the_default_of_each_service(
    sim: Simulator, tmp_path: Path, warnings: list[str]
) -> None:
    options = {"session_id": "a-session", "on_failure": "skip"}
    assert len(names(Source(tmp_path, "hosts", services=[north(sim), DEAD], **options).fill())) == 3
    assert len(warnings) == 1
    services = [north(sim), {**DEAD, "on_failure": "fail"}]
    assert "cannot connect to http://127.0.0.1:1" in refusal(Source(tmp_path, "hosts", services=services, **options))
    services = [north(sim), {**DEAD, "on_failure": "perhaps"}]
    assert "services[1]: value of on_failure must be one of" in refusal(Source(tmp_path, "hosts", services=services))


def test_a_source_of_which_no_service_can_be_read_fails(sim: Simulator, tmp_path: Path) -> None:
    services = [DEAD, {**DEAD, "name": "east"}]
    source = Source(tmp_path, "hosts", session_id="a-session", services=services, on_failure="skip")
    message = refusal(source)
    assert "no service can be read (on_failure: skip). south: " in message
    assert "east: " in message


OUTAGES: list[tuple[str, dict[str, Any]]] = [
    ("status", {"status": 500}),
    ("status", {"status": 503}),
    ("status", {"status": 429}),
    ("status", {"status": 502}),
    ("drop_before", {}),
    ("truncate", {}),
    *(
        ("fail", {"error": {"code": code, "details": "not now"}})
        for code in ("SYS.1001", "SYS.1010", "SYS.1012", "SYS.2111")
    ),
    ("status", {"status": 404, "form": "container"}),
]
FAILURES: list[tuple[str, dict[str, Any]]] = [
    ("fail", {"error": {"code": "ID.1001", "details": "expired"}}),
    *(
        ("fail", {"error": {"code": code, "details": "permission denied"}})
        for code in ("ID.1002", "SYS.1018", "SYS.1019")
    ),
    ("fail", {"error": {"code": "SYS.1007", "details": "no such field"}}),
    ("fail", {"error": {"code": "SYS.1000", "details": "no such field"}}),
    ("status", {"status": 401}),
    ("status", {"status": 404}),
    ("redirect", {"url": "http://127.0.0.1:1/login"}),
    ("html", {}),
]


@pytest.mark.parametrize(("fault", "details"), OUTAGES)
@pytest.mark.parametrize("skip", [0, 1])
def test_outages(
    sim: Simulator, tmp_path: Path, warnings: list[str], fault: str, details: dict[str, Any], skip: int
) -> None:
    """The first or the second page of the second service fails, so that none of its hosts come."""
    sim.change("host", sim.records("host")[0]["uuid"], managementIp="127.0.0.1")
    options = {"request_retries": 0, "primary_storages": False, "related_names": False}
    services = [north(sim), {**north(sim), "name": "south", "on_failure": "skip"}]
    source = Source(tmp_path, "hosts", services=services, page_size=2, **options)
    sim.fault(fault, "QueryHost", skip=2 + skip, count=9, **details)
    inventory = source.fill()
    assert {host.vars["virtinfra_service"] for host in inventory.hosts.values()} == {"north"}
    assert len(names(inventory)) == 3
    assert [warning.split(":")[0] for warning in warnings] == ["south", "ignored 1 invalid ansible_host values (first"]


@pytest.mark.parametrize(("fault", "details"), FAILURES)
@pytest.mark.parametrize("on_failure", ["skip", "last_known"])
def test_failures_that_are_no_outage(
    sim: Simulator, tmp_path: Path, warnings: list[str], fault: str, details: dict[str, Any], on_failure: str
) -> None:
    services = [north(sim), {**north(sim), "name": "south", "on_failure": on_failure}]
    source = CachedSource(tmp_path, "hosts", services=services, primary_storages=False, related_names=False)
    source.fill()
    sim.fault(fault, "QueryHost", skip=1, count=9, **details)
    assert "QueryHost" in refusal(source)
    assert [warning for warning in warnings if "on_failure" in warning] == []


@pytest.mark.parametrize("on_failure", ["skip", "last_known"])
def test_a_condition_on_an_unknown_field_is_no_outage(sim: Simulator, tmp_path: Path, on_failure: str) -> None:
    services = [north(sim), {**north(sim), "name": "south", "query": ["rackNumber=4"], "on_failure": on_failure}]
    source = CachedSource(tmp_path, "hosts", services=services, primary_storages=False, related_names=False)
    assert "QueryHost failed (SYS.1000)" in refusal(source)


def test_a_wrong_password_is_no_outage(sim: Simulator, tmp_path: Path) -> None:
    wrong: dict[str, Any] = {"name": "south", "base_url": sim.url, "account": "admin", "account_password": "wr0ng"}
    message = refusal(Source(tmp_path, "hosts", services=[north(sim), wrong], on_failure="skip"))
    assert "ID.1000" in message
    assert "wr0ng" not in message
    sim.fault("status", "LogInByAccount", status=503, count=99)
    wrong.update(account="other", request_retries=0)
    assert len(names(Source(tmp_path, "hosts", services=[north(sim), wrong], on_failure="skip").fill())) == 3


def test_a_required_list_that_cannot_be_read_is_an_outage(sim: Simulator, tmp_path: Path) -> None:
    services = [north(sim), {**north(sim), "name": "south"}]
    source = Source(tmp_path, "vms", services=services, on_failure="skip", hosts=True, request_retries=0)
    sim.fault("status", "QueryHost", status=500, skip=1)
    assert {host.vars["virtinfra_service"] for host in source.fill().hosts.values()} == {"north"}


def test_an_incomplete_list_is_an_outage(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": [{"uuid": "a" * 32, "name": "a"}], "total": 5})

    with StubServer(answer) as server:
        services = [north(sim), {"name": "south", "base_url": server.url, "session_id": "a-session"}]
        source = Source(tmp_path, "hosts", services=services, on_failure="skip", primary_storages=False)
        assert len(names(source.fill())) == 3
    assert "1 of 5 records" in warnings[0]


# --------------------------------------------------------------------------------------------------------- last_known


@pytest.mark.parametrize("plugin", KINDS)
@pytest.mark.parametrize("cache", [False, True])
def test_the_last_known_records_replace_a_service(
    sim: Simulator, tmp_path: Path, warnings: list[str], plugin: str, cache: bool
) -> None:
    """With ``cache`` the entry has expired; without it, the user asked for a refresh."""
    groups = {"keyed_groups": [{"key": "virtinfra_state"}]}
    source = CachedSource(tmp_path, plugin, services=[north(sim)], on_failure="last_known", **groups)
    before = shape(source.fill())
    source.change_entries((2 * HOUR + 5 * 60) if cache else 0)
    sim.fault("drop_before", "*", count=99)
    assert shape(source.fill(cache=cache)) == before
    (warning,) = warnings
    age = "2 h 5 min" if cache else "0 s"
    assert warning.startswith("north: ")
    assert f" of this service come from the cache and are {age} old (on_failure: last_known)." in warning


def test_an_entry_that_has_not_expired_makes_no_request(sim: Simulator, tmp_path: Path) -> None:
    source = CachedSource(
        tmp_path, "hosts", services=[north(sim)], on_failure="last_known", cache_timeout=HOUR, primary_storages=False
    )
    source.fill()
    sim.clear_log()
    source.change_entries(HOUR - 60)
    source.fill(cache=True)
    assert sim.log() == []
    source.change_entries(120)
    source.fill(cache=True)
    assert "QueryHost" in {entry["operation"] for entry in sim.log()}
    sim.clear_log()
    source.fill(cache=True)
    assert sim.log() == [], "the new records must be in the cache"


def test_entries_of_the_other_services_expire_although_one_is_written(sim: Simulator, tmp_path: Path) -> None:
    """Core writes all entries of a source when one has changed, so the time of their files does not count."""
    options = {"cache_timeout": HOUR, "primary_storages": False, "related_names": False}
    services = [north(sim), {**north(sim), "name": "south", "query": "state=Enabled"}]
    source = CachedSource(tmp_path, "hosts", services=services, **options)
    source.fill()
    source.change_entries(HOUR - 60)
    services[1]["query"] = "cpuNum>0"
    source.write(**_options(source), services=services, **options)
    sim.clear_log()
    source.fill(cache=True)
    assert [entry["query"].get("q") for entry in sim.log()] == [["cpuNum>0"]], "only one service has changed"
    source.change_entries(120)
    sim.clear_log()
    source.fill(cache=True)
    assert len(sim.log()) == 1, "the entry of the first service must have expired"


def _options(source: CachedSource) -> dict[str, Any]:
    return {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(source.folder)}


def test_services_that_can_be_read_are_cached_without_the_others(sim: Simulator, tmp_path: Path) -> None:
    services = [north(sim), {**DEAD, "session_id": "a-session"}]
    source = CachedSource(tmp_path, "hosts", services=services, on_failure="skip")
    source.fill()
    sim.clear_log()
    assert len(names(source.fill(cache=True))) == 3
    assert sim.log() == []
    assert len(list(source.folder.iterdir())) == 1, "a service that was skipped must not have an entry"


def test_another_account_does_not_get_the_cached_records(sim: Simulator, tmp_path: Path) -> None:
    source = CachedSource(tmp_path, "hosts", services=[north(sim)], primary_storages=False)
    source.fill()
    source.write(**{**_options(source), "services": [{**north(sim), "session_id": "0" * 32}]})
    assert "session" in refusal(source, cache=True)


def test_records_of_the_future_are_read_again(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    """The clock was ahead when they were stored, so their age is unknown."""
    source = CachedSource(tmp_path, "hosts", services=[north(sim)], on_failure="last_known", cache_timeout=2 * HOUR)
    before = shape(source.fill())
    source.change_entries(-HOUR)
    sim.clear_log()
    source.fill(cache=True)
    assert sim.log() != []
    source.change_entries(-HOUR)
    sim.fault("drop_before", "*", count=99)
    assert shape(source.fill(cache=True)) == before
    assert "come from the cache and are of unknown age, because their time is in the future" in warnings[-1]


def test_a_service_without_cached_records_fails(sim: Simulator, tmp_path: Path) -> None:
    source = CachedSource(tmp_path, "hosts", services=[north(sim)], on_failure="last_known")
    sim.fault("drop_before", "*", count=99)
    message = refusal(source)
    assert message.endswith("The cache has no records of this service (on_failure: last_known).")
    assert "north: " in message
    sim.clear_faults()
    source.fill()
    sim.fault("drop_before", "*", count=99)
    changed = [{**north(sim), "query": "name=host-1"}]
    source.write(**_options(source), services=changed, on_failure="last_known", request_retries=0)
    assert "The cache has no records of this service" in refusal(source), "other records must not replace them"


def test_an_entry_of_another_user_is_read_from_the_service(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    """Nobody, not even root, can read or replace a folder in place of the file."""
    source = CachedSource(tmp_path, "hosts", services=[north(sim)])
    before = shape(source.fill())
    (entry,) = source.folder.iterdir()
    entry.unlink()
    (entry / "in the way").mkdir(parents=True)
    assert shape(source.fill(cache=True)) == before
    assert any("cache" in warning for warning in warnings)


def test_a_folder_of_another_user_is_not_used(
    sim: Simulator, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = CachedSource(tmp_path, "hosts", services=[north(sim)], on_failure="last_known")
    before = shape(source.fill())
    monkeypatch.setattr(os, "access", lambda path, *dummy: os.fsdecode(path) != str(source.folder))
    assert shape(source.fill(cache=True)) == before
    assert f"The cache folder {source.folder} is that of another user, so it is not used" in warnings[-1]


def test_a_cache_that_cannot_be_written_is_a_warning(
    sim: Simulator, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*dummy: Any) -> None:
        raise PermissionError("the folder is read-only")

    monkeypatch.setattr(BaseFileCacheModule, "set", refuse)
    source = CachedSource(tmp_path, "hosts", services=[north(sim)])
    assert len(names(source.fill())) == 3
    assert warnings == ["The cache cannot be written: the folder is read-only"]


def test_records_that_the_cache_has_dropped_are_missed_at_once(
    sim: Simulator, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As memcached does with an entry above 1 MB."""
    monkeypatch.setattr(BaseFileCacheModule, "set", lambda *dummy: None)
    source = CachedSource(tmp_path, "hosts", services=[north(sim)])
    source.fill()
    assert warnings == [], "only last_known needs the records later"
    source.write(**_options(source), services=[north(sim)], on_failure="last_known")
    source.fill()
    assert warnings[-1].startswith("north: the cache plugin has not kept the records (0.0 MB), so on_failure")


@pytest.mark.parametrize("options", [{}, {"cache": True}, {"cache": True, "cache_plugin": "memory"}, {"cache": False}])
def test_last_known_needs_a_cache_that_lasts(sim: Simulator, tmp_path: Path, options: dict[str, Any]) -> None:
    for place in ({"on_failure": "last_known"}, {"services": [{**north(sim), "on_failure": "last_known"}]}):
        sim.clear_log()
        source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, **place, **options)
        assert "on_failure: last_known needs cache: true and a cache_plugin that keeps" in refusal(source)
        assert sim.log() == []


def test_a_newer_entry_of_another_process_is_not_replaced(sim: Simulator, tmp_path: Path) -> None:
    source = CachedSource(tmp_path, "hosts", services=[north(sim)], on_failure="last_known")
    source.fill()
    sim.fault("drop_before", "*", count=99)
    plugin = inventory_loader.get("virtinfra.manager.hosts")
    plugin.parse(InventoryData(), DataLoader(), str(source.path), False)
    sim.clear_faults()
    sim.change("host", sim.records("host")[0]["uuid"], name="renamed")
    source.fill()
    plugin.update_cache_if_changed()
    assert "renamed" in names(source.fill(cache=True))


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (-50, "of unknown age, because their time is in the future"),
        *(
            (0, "0 s old"),
            (59, "59 s old"),
            (3600, "1 h old"),
            (3605, "1 h 5 s old"),
            (3 * 86400 + 7300, "3 d 2 h old"),
        ),
    ],
)
def test_age(monkeypatch: pytest.MonkeyPatch, seconds: int, age: str) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    assert CachedRecords(1_000_000.0 - seconds, "[[], null]").age == age
