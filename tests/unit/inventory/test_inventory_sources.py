"""Inventory sources: complete lists or a failure, one or several services, and the cache."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData

from simulator.launch import Simulator
from support.inventory_sources import Source, collect_warnings, names
from support.stub_server import StubRequest, StubResponse, StubServer

MANY = 2345


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings."""
    return collect_warnings(monkeypatch)


@pytest.fixture(scope="module")
def crowd() -> Iterator[Simulator]:
    """A service with many hosts."""
    with Simulator("--hosts", str(MANY), "--vms", "0") as simulator:
        yield simulator


@pytest.fixture
def many(crowd: Simulator) -> Simulator:
    crowd.configure(cursor_repeat=False, cursor_shrink=False, cursor_lifetime=600.0, query_paging=True)
    crowd.clear_faults()
    crowd.clear_log()
    return crowd


def queries(sim: Simulator, operation: str) -> list[dict[str, Any]]:
    """Return the requests for an operation."""
    return [entry for entry in sim.log() if entry["operation"] == operation]


def read_refusal(source: Source) -> str:
    """Return the message of a source that fails, and check that the inventory is empty."""
    inventory = InventoryData()
    with pytest.raises(AnsibleParserError) as caught:
        source.fill(inventory)
    assert list(inventory.hosts) == []
    assert str(source.path) in str(caught.value)
    return str(caught.value)


# ----------------------------------------------------------------------------------------------------------- complete


@pytest.mark.parametrize("page_size", [100, 999, 1000, 5000])
@pytest.mark.parametrize("credentials", ["session_id", "api_token"])
def test_all_are_listed_at_any_page_size(many: Simulator, tmp_path: Path, page_size: int, credentials: str) -> None:
    secret = {"session_id": many.session, "api_token": many.token}[credentials]
    source = Source(tmp_path, "hosts", base_url=many.url, page_size=page_size, **{credentials: secret})
    expected = sorted(record["name"] for record in many.records("host"))
    assert names(source.fill()) == expected
    assert len(expected) == MANY
    operation = {"session_id": "QueryHost", "api_token": "CursorQuery"}[credentials]
    assert all("uuid" in json.dumps(entry["query"]) for entry in queries(many, operation)), "pages need an order"


def test_a_service_without_paging_returns_all(many: Simulator, tmp_path: Path) -> None:
    many.configure(query_paging=False)
    source = Source(tmp_path, "hosts", base_url=many.url, session_id=many.session, primary_storages=False)
    assert len(names(source.fill())) == MANY


def test_a_cursor_that_repeats_is_a_failure(many: Simulator, tmp_path: Path) -> None:
    many.configure(cursor_repeat=True)
    source = Source(tmp_path, "hosts", base_url=many.url, api_token=many.token, page_size=500)
    assert "repeats itself" in read_refusal(source)


def test_a_cursor_that_expires_is_a_failure(many: Simulator, tmp_path: Path) -> None:
    many.configure(cursor_lifetime=0.0)
    source = Source(tmp_path, "hosts", base_url=many.url, api_token=many.token, page_size=500)
    assert "unknown or expired" in read_refusal(source)


@pytest.mark.parametrize(("version", "reason"), [("latest", "like 4.10.10"), (4.1, "must be quoted")])
def test_invalid_service_version(sim: Simulator, tmp_path: Path, version: Any, reason: str) -> None:
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, service_version=version)
    assert reason in read_refusal(source)


class Pages:
    """A service whose records a test can alter in ``change``, after each request."""

    def __init__(self, count: int, most: int = 1000) -> None:
        self.uuids = [f"a{number:031x}" for number in range(count)]
        self.most, self.requests = most, 0

    def answer(self, request: StubRequest) -> StubResponse:
        """Respond to a query."""
        start, limit = (int(request.query[name][0]) for name in ("start", "limit"))
        page = [{"uuid": uuid, "name": uuid} for uuid in self.uuids[start : start + min(limit, self.most)]]
        response = StubResponse(200, {"inventories": page, "total": len(self.uuids)})
        self.requests += 1
        self.change()
        return response

    def change(self) -> None:
        """Change nothing."""


def source_of(folder: Path, service: StubServer, **options: Any) -> Source:
    """Return a source of hosts from a stub server."""
    return Source(folder, "hosts", base_url=service.url, session_id="a-session", primary_storages=False, **options)


def test_a_service_that_truncates_pages_is_read_completely(tmp_path: Path) -> None:
    with StubServer(Pages(250, most=40).answer) as service:
        assert len(names(source_of(tmp_path, service, page_size=100).fill())) == 250


def test_a_service_that_repeats_a_page_is_a_failure(tmp_path: Path) -> None:
    class Repeating(Pages):
        """Ignores the parameter start."""

        def answer(self, request: StubRequest) -> StubResponse:
            request.query["start"][0] = "0"
            page = [{"uuid": uuid, "name": uuid} for uuid in self.uuids[:100]]
            return StubResponse(200, {"inventories": page, "total": len(self.uuids)})

    with StubServer(Repeating(250).answer) as service:
        assert "100 of 250 records" in read_refusal(source_of(tmp_path, service, page_size=100))


def test_hosts_that_move_to_an_earlier_page_are_listed(tmp_path: Path) -> None:
    class Shrinking(Pages):
        """Removes its first host after the first page."""

        def change(self) -> None:
            if self.requests == 1:
                del self.uuids[0]

    with StubServer(Shrinking(250).answer) as service:
        hosts = names(source_of(tmp_path, service, page_size=50).fill())
    assert set(hosts) - {f"a{0:031x}"} == {f"a{number:031x}" for number in range(1, 250)}


def test_a_list_that_keeps_changing_is_a_failure(tmp_path: Path) -> None:
    class Growing(Pages):
        """Adds a host after every request."""

        def change(self) -> None:
            self.uuids.insert(0, f"f{self.requests:031x}")

    with StubServer(Growing(250).answer) as service:
        assert "number of records changed" in read_refusal(source_of(tmp_path, service, page_size=50))


def test_a_page_that_fails_leaves_nothing_behind(many: Simulator, tmp_path: Path) -> None:
    many.fault("status", "QueryHost", status=500, skip=2)
    source = Source(tmp_path, "hosts", base_url=many.url, session_id=many.session, page_size=500, request_retries=0)
    assert "QueryHost failed" in read_refusal(source)


# ------------------------------------------------------------------------------------------------------ query, cursor


def test_credentials_decide_how_records_are_read(sim: Simulator, tmp_path: Path) -> None:
    both = {"session_id": sim.session, "api_token": sim.token}
    for options, operation in [
        (both, "QueryHost"),
        ({"api_token": sim.token}, "CursorQuery"),
        ({**both, "source": "cursor"}, "CursorQuery"),
        ({**both, "filters": "state=Enabled"}, "CursorQuery"),
        ({**both, "query": "state=Enabled"}, "QueryHost"),
    ]:
        sim.clear_log()
        source = Source(tmp_path, "hosts", base_url=sim.url, primary_storages=False, related_names=False, **options)
        assert len(names(source.fill())) == 3
        assert {entry["operation"] for entry in sim.log()} == {operation}


def test_a_service_without_the_query_is_read_with_a_cursor(sim: Simulator, tmp_path: Path) -> None:
    sim.configure(companions="404")
    options = {"base_url": sim.url, "session_id": sim.session}
    assert "does not offer QueryHost" in read_refusal(Source(tmp_path, "hosts", **options))
    options["api_token"] = sim.token
    assert len(names(Source(tmp_path, "hosts", **options).fill())) == 3
    assert "does not offer QueryHost" in read_refusal(Source(tmp_path, "hosts", source="query", **options))


def test_conditions_go_to_the_service_and_are_checked_again(
    sim: Simulator, tmp_path: Path, warnings: list[str]
) -> None:
    first, second = sim.records("host")[:2]
    sim.change("host", first["uuid"], state="Disabled")
    options = {"base_url": sim.url, "session_id": sim.session, "primary_storages": False}
    assert names(Source(tmp_path, "hosts", query=["state=Disabled"], **options).fill()) == [first["name"]]
    assert queries(sim, "QueryHost")[-1]["query"]["q"] == ["state=Disabled"]
    assert warnings == []
    for text, similar in (("why?=x", "why-=x"), ("Bob's", "Bob-s"), ("=x", "-x")):
        sim.change("host", first["uuid"], description=text)
        sim.change("host", second["uuid"], description=similar)
        source = Source(tmp_path, "hosts", query=[f"description= {text}"], **options)
        assert (names(source.fill()), warnings) == ([first["name"]], [])
    assert queries(sim, "QueryHost")[-1]["query"]["q"] == ["description~=_x"]


def test_a_service_that_ignores_conditions_is_checked(tmp_path: Path, warnings: list[str]) -> None:
    with StubServer(Pages(10).answer) as service:
        hosts = names(source_of(tmp_path, service, query=[f"uuid=a{7:031x}"]).fill())
    assert hosts == [f"a{7:031x}"]
    (warning,) = warnings
    assert "9 records that do not meet the conditions" in warning


def test_filters_of_a_cursor_are_sent_and_checked(sim: Simulator, tmp_path: Path) -> None:
    uuid = sim.records("host")[0]["uuid"]
    sim.change("host", uuid, state="Disabled")
    options = {"base_url": sim.url, "api_token": sim.token, "filters": ["state=Disabled"], "related_names": False}
    options["primary_storages"] = False
    assert len(names(Source(tmp_path, "hosts", **options).fill())) == 1
    assert queries(sim, "CursorQuery")[-1]["query"]["filter"] == ["state=Disabled"]


def test_a_string_is_one_condition(sim: Simulator, tmp_path: Path) -> None:
    options = {"base_url": sim.url, "session_id": sim.session, "query": "state?=Enabled,Disabled"}
    assert len(names(Source(tmp_path, "hosts", **options).fill())) == 3
    assert queries(sim, "QueryHost")[-1]["query"]["q"] == ["state?=Enabled,Disabled"]


# ----------------------------------------------------------------------------------------------------------- services


def test_several_services_with_their_own_credentials(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    with Simulator("--hosts", "4", "--session", "another-session") as other:
        services = [
            {"name": "north", "base_url": sim.url, "session_id": sim.session},
            {"name": "south", "base_url": other.url, "api_token": other.token, "filters": "name!=host-1"},
        ]
        source = Source(tmp_path, "hosts", services=services, keyed_groups=[{"key": "virtinfra_service"}])
        inventory = source.fill()
        assert {entry["operation"] for entry in other.log()} == {"CursorQuery"}
    # Both simulators have the same hosts, so the name of the service is appended.
    uuids = {record["name"]: record["uuid"] for record in sim.records("host")}
    both = [f"{name}_{uuids[name]}_{uuids[name]}" for name in ("host-2", "host-3")]
    assert names(inventory, "_north") == ["host-1", *[f"{name}_north" for name in both]]
    assert names(inventory, "_south") == [*[f"{name}_south" for name in both], "host-4"]
    assert [warning for warning in warnings if "host-2 (2 times)" in warning]


def test_a_service_defaults_to_the_options_of_the_plugin(sim: Simulator, tmp_path: Path) -> None:
    shared = {"base_url": sim.url, "session_id": "wrong", "api_token": sim.token, "page_size": 2}
    source = Source(tmp_path, "hosts", services=[{"session_id": sim.session}], **shared)
    assert len(names(source.fill())) == 3
    assert {entry["operation"] for entry in sim.log()} == {
        "QueryHost",
        "QueryPrimaryStorage",
        "QueryCluster",
        "QueryZone",
    }


def test_overlapping_queries_list_a_host_once(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    services = [{"name": "a", "query": "state=Enabled"}, {"name": "a", "query": "cpuNum>0"}]
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, services=services)
    assert names(source.fill()) == ["host-1", "host-2", "host-3"]
    assert warnings == []


def test_one_service_that_fails_is_a_failure_of_all(sim: Simulator, tmp_path: Path) -> None:
    services = [{"base_url": sim.url}, {"base_url": sim.url, "session_id": "wrong"}]
    assert "ID.1001" in read_refusal(Source(tmp_path, "hosts", session_id=sim.session, services=services))


# -------------------------------------------------------------------------------------------------------------- cache


def test_a_hit_makes_no_request(sim: Simulator, tmp_path: Path) -> None:
    place = {"cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    options = {"base_url": sim.url, "session_id": sim.session, "network_facts": True, "cache": True, **place}
    source = Source(tmp_path, "hosts", **options)
    first = source.fill(cache=True)
    sim.clear_log()
    second = source.fill(cache=True)
    assert sim.log() == []
    assert {name: host.vars for name, host in first.hosts.items()} == {
        name: host.vars for name, host in second.hosts.items()
    }
    assert second.hosts["host-1"].vars["virtinfra_bondings"]
    (entry,) = (tmp_path / "cache").iterdir()
    assert sim.session not in entry.read_text(encoding="utf-8")

    sim.change("host", sim.records("host")[0]["uuid"], name="renamed")
    assert "renamed" not in names(source.fill(cache=True)), "the cache must have answered"
    assert "renamed" in names(source.fill(cache=False)), "a refresh must ask"
    sim.clear_log()
    assert "renamed" in names(source.fill(cache=True)), "a refresh must store"
    assert sim.log() == []


@pytest.mark.parametrize("prefix", ["", "mine_"])
def test_only_the_owner_can_read_the_cache(sim: Simulator, tmp_path: Path, prefix: str) -> None:
    folder = tmp_path / "new" / "cache"
    options = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(folder), "cache_prefix": prefix}
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, **options)
    source.fill(cache=True)
    (entry,) = folder.iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    entry.chmod(0o644)
    source.fill(cache=True)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600, "one that an earlier version wrote must be closed too"


def test_another_query_is_not_answered_from_the_cache(sim: Simulator, tmp_path: Path) -> None:
    place = {"cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    options = {"base_url": sim.url, "session_id": sim.session, "cache": True, **place}
    source = Source(tmp_path, "hosts", **options)
    assert len(names(source.fill(cache=True))) == 3
    for changed in ({"query": "name=host-1"}, {"services": [{"query": "name=host-1"}]}):
        source.write(**options, **changed)
        assert names(source.fill(cache=True)) == ["host-1"]
    source.write(**options, network_facts=True)
    assert source.fill(cache=True).hosts["host-2"].vars["virtinfra_nics"]
    source.write(**options, network_facts=True, hostvars_prefix="v_")
    sim.clear_log()
    assert source.fill(cache=True).hosts["host-2"].vars["v_nics"]
    assert sim.log() == []


# ------------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keyed_group": []}, "unknown option keyed_group. Did you mean keyed_groups?"),
        (
            {"keyed_group": [], "hostname": []},
            "prefix: state}]. Unknown option hostname. Did you mean base_url or hostnames?",
        ),
        ({"base_url": "ftp://x"}, "base_url must look like"),
        ({"base_url": None}, "base_url is required"),
        ({"session_id": None}, "there are no credentials. Give session_id, or account and"),
        ({"session_id": "a b"}, "session_id must be printable ASCII"),
        ({"page_size": "many"}, "page_size"),
        ({"page_size": 0}, "page_size must be at least 1"),
        ({"source": "telepathy"}, "source"),
        ({"duplicates": "ignore"}, "duplicates"),
        ({"network_facts": "sometimes"}, "network_facts must be true or false, not 'sometimes'"),
        ({"strict": "strict"}, "strict must be true or false, not 'strict'"),
        ({"keyed_groups": [{"key": "x", "prefx": "p"}]}, "keyed_groups: an entry has no prefx. Did you mean prefix?"),
        ({"request_timeout": 0}, "request_timeout"),
        ({"services": [{"bse_url": "x"}]}, "services[0]"),
        ({"services": [{}, {"base_url": "ftp://x"}]}, "services[1]: base_url must look like"),
        ({"services": ["x"]}, "services"),
        ({"query": "state"}, "'state' is not a condition"),
        ({"filters": "x", "query": "state=Enabled"}, "query needs source: query, filters need source: cursor"),
        ({"filters": "x", "source": "query"}, "filters need source: cursor"),
        ({"hostnames": "nmae"}, "hostnames: hosts have no variable nmae. Did you mean name?"),
        ({"hostnames": "{name}.example.com"}, """. Write "{{ virtinfra_name }}.example.com". The fields are uuid, """),
        ({"hostnames": "{virtinfra_name}-{rack}"}, """. Write "{{ virtinfra_name }}-{rack}". The fields are uuid, """),
        (
            {"hostnames": ["virtinfra_name.example.com"]},
            """no member example. To join it to a text, write "{{ virtinfra_name }}.example.com".""",
        ),
        (
            {"hostnames": ["virtinfra_name.my-site.com"]},
            """write "{{ virtinfra_name }}.my-site.com".""",
        ),
        ({"hostnames": "fqdn"}, "hostnames: hosts have no variable fqdn. The fields are "),
        ({"exclude": ["rack-1"]}, "To select the host rack-1, write virtinfra_name == 'rack-1'."),
        ({"exclude": ["virtinfra_name == rack-1"]}, "To give the text rack-1, write it in quotes: 'rack-1'."),
        ({"networks": []}, "unknown option networks. The options are "),
        ({"keyed_groups": [{"key": "virtinfra_state", "prefix": "{{ x }}"}]}, "braces are not evaluated"),
        (
            {"hostnames": ["config.name", "guest.hostName"]},
            "no host has a variable config. All hosts would have the same name. Give a field, such as name, or",
        ),
        ({"hostnames": ["{{ name }}.example.com", "name"]}, "a variable name. Did you mean virtinfra_name?"),
        ({"hostvars_prefix": "1-"}, "hostvars_prefix"),
        ({"base_url": "{{ nowhere }}"}, "base_url: "),
        ({"base_url": "http://127.0.0.1:1", "request_retries": 0}, "cannot connect to http://127.0.0.1:1"),
        ({"strict": True, "include": "virtinfra_name > 1"}, "include and exclude could not be evaluated 3 times"),
        ({"strict": True, "hostnames": "nowhere ~ ''"}, "hostnames: "),
        ({"strict": True, "compose": {"x": "virtinfra_name.a.b"}}, "Could not set x for host host-1"),
        ({"keyed_groups": [{"key": "virtinfra_name", "parent_group": "host_1", "separator": ""}]}, "keyed_groups: "),
    ],
)
def test_a_wrong_option_is_named(sim: Simulator, tmp_path: Path, options: dict[str, Any], words: str) -> None:
    all_options = {"base_url": sim.url, "session_id": sim.session, "primary_storages": False, **options}
    source = Source(tmp_path, "hosts", **{name: value for name, value in all_options.items() if value is not None})
    assert words in read_refusal(source)


def test_options_come_from_the_environment(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTINFRA_BASE_URL", sim.url)
    monkeypatch.setenv("VIRTINFRA_SESSION_ID", sim.session)
    assert len(names(Source(tmp_path, "hosts").fill())) == 3


def test_every_option_may_be_a_template(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SESSION", sim.session)
    (tmp_path / "size").write_text("2", encoding="utf-8")
    source = Source(
        tmp_path,
        "hosts",
        base_url=f"{{{{ '{sim.url}' }}}}",
        page_size=f"{{{{ lookup('ansible.builtin.file', '{tmp_path}/size') }}}}",
        validate_certs="{{ 1 == 1 }}",
        query="{{ ['state=Enabled'] }}",
        services=[{"session_id": "{{ lookup('ansible.builtin.env', 'MY_SESSION') }}", "name": "{{ 'nor' ~ 'th' }}"}],
        duplicates="{{ 'rename' }}",
        hostvars_prefix="{{ 'v_' }}",
    )
    inventory = source.fill()
    assert inventory.hosts["host-1"].vars["v_service"] == "north"
    assert [entry["query"]["limit"] for entry in queries(sim, "QueryHost")] == [["2"], ["2"]]
    assert queries(sim, "QueryHost")[0]["query"]["q"] == ["state=Enabled"]


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("state=Enabled, cpuNum>=2", ["state=Enabled", "cpuNum>=2"]),
        ("state?=Enabled,Disabled", ["state?=Enabled,Disabled"]),
        ("state?=Enabled, Disabled,description is null", ["state?=Enabled,Disabled", "description is null"]),
    ],
)
@pytest.mark.parametrize("is_entry", [False, True])
def test_conditions_in_one_text(
    sim: Simulator, tmp_path: Path, text: str, conditions: list[str], is_entry: bool
) -> None:
    options: dict[str, Any] = {"services": [{"query": text}]} if is_entry else {"query": text}
    Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, **options).fill()
    assert queries(sim, "QueryHost")[0]["query"]["q"] == conditions


@pytest.mark.parametrize(
    ("options", "hosts"),
    [
        ({"hostnames": "nowhere | default(''), name"}, ["host-1", "host-2", "host-3"]),
        ({"hostnames": "{{ virtinfra_name }}.example, name"}, [f"host-{number}.example" for number in (1, 2, 3)]),
        (
            {"hostnames": "[virtinfra_name, 'a,b' | replace(',', '-')] | join('.')"},
            [f"host-{n}.a-b" for n in (1, 2, 3)],
        ),
        ({"exclude": "virtinfra_name == 'host-1', virtinfra_name in ['host-2', 'x']"}, ["host-3"]),
        ({"exclude": "virtinfra_name is match('host-[12]{1,2}')"}, ["host-3"]),
        # Core evaluates a lookup.
        (
            {"include": "virtinfra_name == query('items', ['host-1'])[0], virtinfra_name == 'host-3'"},
            ["host-1", "host-3"],
        ),
        ({"variables": "name, state"}, ["host-1", "host-2", "host-3"]),
    ],
)
def test_a_text_in_place_of_a_list(
    sim: Simulator, tmp_path: Path, warnings: list[str], options: dict[str, Any], hosts: list[str]
) -> None:
    inventory = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, **options).fill()
    assert names(inventory) == hosts
    assert warnings == []
    expected = {"virtinfra_name", "virtinfra_state"}
    assert "variables" not in options or expected == {
        name for name in inventory.hosts["host-1"].vars if name.startswith("virtinfra_")
    }


def test_no_secret_is_shown(sim: Simulator, tmp_path: Path, warnings: list[str]) -> None:
    secrets = {"session_id": "s3cr3t-session", "api_token": "s3cr3t-token"}
    for options in (
        {"strict": True, "compose": {"x": "virtinfra_name.a.b"}},
        {"compose": {"x": "nowhere"}},
        {"source": "cursor"},
        {"source": "query"},
        {"page_size": "x"},
        {"services": [{"nonsense": 1}]},
        {"services": [{"base_url": "ftp://x"}]},
    ):
        message = read_refusal(Source(tmp_path, "hosts", **{"base_url": sim.url, **secrets, **options}))
        assert "s3cr3t" not in message + "".join(warnings)
