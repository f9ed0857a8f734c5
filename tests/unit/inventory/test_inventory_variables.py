"""The option ``variables``: the inventory is the one with all variables without those that are not listed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible_collections.virtinfra.manager.plugins.module_utils._api.record_fields import COMPUTED_FIELDS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import (
    to_snake_case,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import paginate
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory import services as _services
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.examples import count_examples
from support.inventory_sources import Source, collect_warnings, names, plain, shape

QUERIES = {"hosts": "QueryHost", "vms": "QueryVmInstance", "primary_storages": "QueryPrimaryStorage"}
KINDS = {"hosts": "host", "vms": "vm", "primary_storages": "primarystorage"}
HOSTILE = ("{{ lookup('pipe', 'echo executed') }}", "{% raw %}", "a {{ virtinfra_uuid }}\n", "[1, 2]", "ünïcode")

SHARED = ["uuid", "name", "description", "state", "zone_uuid", "zone_name", "create_date", "service", "service_url"]
OWN = {
    "hosts": "status cluster_uuid cluster_name management_ip cpu_num primary_storages ansible_host hostname",
    "vms": "type vm_nics addresses host host_name host_uuid cluster_name ansible_host memory_size all_volumes",
    "primary_storages": "type hosts attached_cluster_uuids total_capacity url mount_path",
}
NAMES = {plugin: [*SHARED, *own.split()] for plugin, own in OWN.items()}


def expressions_on(plugin: str) -> list[str]:
    """Return expressions that need one, several, other or unknown variables."""
    variables = [name if name == "ansible_host" else f"virtinfra_{name}" for name in NAMES[plugin]]
    return [
        *variables,
        *(f"{name} is defined" for name in variables),
        *(f"{name} | string | length" for name in variables[:4]),
        "virtinfra_name ~ '-' ~ virtinfra_state",
        "virtinfra_zone_name | default(virtinfra_uuid) | lower",
        "(virtinfra_create_date | virtinfra.manager.to_datetime).year",
        "lookup('ansible.builtin.vars', 'virtinfra_' ~ 'state')",
        "inventory_hostname ~ virtinfra_description",
        "virtinfra_nowhere | default(virtinfra_name)",
        "virtinfra_nowhere is defined",
        "virtinfra_name[:3] if virtinfra_state else (composed | default('x'))",
    ]


@st.composite
def sources(draw: st.DrawFn, plugin: str) -> dict[str, Any]:
    """Return options of a source."""
    expressions = st.sampled_from(expressions_on(plugin))
    keyed = st.fixed_dictionaries({"key": expressions}, optional={"prefix": st.just("p")})
    composed = st.sampled_from(["composed", "virtinfra_state", "ansible_host", "virtinfra_zone_name"])
    return {
        "variables": draw(st.lists(st.sampled_from(NAMES[plugin]), max_size=5, unique=True)),
        "compose": draw(st.dictionaries(composed, expressions, max_size=2)),
        "groups": draw(st.dictionaries(st.sampled_from(["one", "two"]), expressions, max_size=2)),
        "keyed_groups": draw(st.lists(keyed, max_size=2)),
        "include": draw(st.lists(st.one_of(st.just("virtinfra_name is defined"), expressions), max_size=2)),
        "hostnames": draw(st.lists(st.one_of(st.sampled_from(["uuid", "state"]), expressions), max_size=2)),
        "strict": draw(st.booleans()),
        "query": draw(st.sampled_from([[], ["state=Enabled"], ["name~=%1"]])),
    }


def restrict(inventory: dict[str, Any], related: set[str], variables: list[str], compose: dict[str, str]) -> Any:
    """Return the shape of an inventory with the listed and the composed variables of the hosts that are not related."""
    listed = {name if name == "ansible_host" else f"virtinfra_{name}" for name in variables}
    kept = {plain(name) for name in (*listed, *compose, "inventory_file", "inventory_dir")}
    hosts = {
        host: content if host in related else {name: value for name, value in content.items() if name in kept}
        for host, content in inventory["hosts"].items()
    }
    return {**inventory, "hosts": hosts}


def fill(source: Source) -> InventoryData | str:
    """Return the inventory of a source, or its failure."""
    try:
        return source.fill()
    except AnsibleParserError as failure:
        return str(failure)


@pytest.mark.parametrize("plugin", QUERIES)
def test_equals_the_inventory_with_all_variables(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: str
) -> None:
    collect_warnings(monkeypatch)
    for record, text in zip(sim.records(KINDS[plugin]), HOSTILE, strict=False):
        sim.change(KINDS[plugin], record["uuid"], description=text, name=f"x {text}"[:40])
    access = {"base_url": sim.url, "session_id": sim.session}

    @given(sources(plugin))
    @settings(max_examples=count_examples(20), deadline=None, suppress_health_check=list(HealthCheck))
    def check(options: dict[str, Any]) -> None:
        everything = {name: value for name, value in options.items() if name != "variables"}
        expected = fill(Source(tmp_path, plugin, **access, **everything))
        actual = fill(Source(tmp_path, plugin, **access, **options))
        if isinstance(expected, str) or isinstance(actual, str):
            assert actual == expected
            return
        groups = [group for name, group in expected.groups.items() if name.startswith("hosts_of_")]
        related = {host.name for group in groups for host in group.hosts}
        assert shape(actual) == restrict(shape(expected), related, options["variables"], options["compose"])

    check()


def requested_fields(sim: Simulator, operation: str) -> list[set[str]]:
    """Return the fields in the requests for an operation."""
    requests = [entry["query"].get("fields", [""])[0] for entry in sim.log() if entry["operation"] == operation]
    return [set(fields.split(",")) - {""} for fields in requests]


@pytest.mark.parametrize(
    ("plugin", "options", "fields", "others"),
    [
        ("hosts", {"variables": ["name", "state"]}, {"uuid", "name", "state"}, set()),
        ("hosts", {"variables": []}, {"uuid", "name"}, set()),
        ("hosts", {"variables": ["ansible_host"], "hostnames": ["uuid"]}, {"uuid", "managementIp"}, set()),
        ("hosts", {"variables": ["cluster_name"]}, {"uuid", "name", "clusterUuid"}, {"QueryCluster"}),
        ("hosts", {"variables": ["primary_storages"]}, {"uuid", "name", "clusterUuid"}, {"QueryPrimaryStorage"}),
        ("hosts", {"variables": ["bondings"], "network_facts": True}, {"uuid", "name"}, {"GetHostNetworkFacts"}),
        ("hosts", {"variables": ["name"], "network_facts": True}, {"uuid", "name"}, set()),
        ("hosts", {"variables": ["name"], "query": ["cpuNum>0"]}, set(), set()),
        ("hosts", {"variables": ["name"], "compose": {"x": "virtinfra_hostname"}}, {"uuid", "name", "hostname"}, set()),
        ("hosts", {"variables": ["name"], "user_tags": True}, {"uuid", "name"}, set()),
        ("hosts", {"variables": ["user_tags"], "user_tags": True}, {"uuid", "name"}, {"QueryUserTag"}),
        ("vms", {"variables": ["name"]}, {"uuid", "name", "state"}, set()),
        ("vms", {"variables": ["ansible_host"]}, set(), set()),
        ("vms", {"variables": ["host_name"]}, {"uuid", "name", "state", "hostUuid"}, {"QueryHost"}),
        (
            "vms",
            {"variables": ["name"], "keyed_groups": [{"key": "virtinfra_host.name"}]},
            {"uuid", "name", "state", "hostUuid"},
            {"QueryHost"},
        ),
        ("vms", {"variables": ["image_name"]}, {"uuid", "name", "state", "imageUuid"}, {"QueryImage"}),
        ("vms", {"variables": ["name"], "images": True}, {"uuid", "name", "state"}, set()),
        ("vms", {"variables": ["name"], "networks": ["l3-1"]}, {"uuid", "name", "state"}, set()),
        (
            "vms",
            {"variables": ["ansible_host"], "networks": ["l3-1"]},
            set(),
            {"QueryL3Network"},
        ),
        ("primary_storages", {"variables": ["url"], "hosts": False}, {"uuid", "name", "url"}, set()),
    ],
)
def test_only_what_is_needed_is_requested(
    sim: Simulator, tmp_path: Path, plugin: str, options: dict[str, Any], fields: set[str], others: set[str]
) -> None:
    Source(tmp_path, plugin, base_url=sim.url, session_id=sim.session, **options).fill()
    assert requested_fields(sim, QUERIES[plugin]) == [fields]
    assert {entry["operation"] for entry in sim.log()} == {QUERIES[plugin], *others}


@pytest.mark.parametrize(
    ("options", "members"),
    [
        ({}, {"deviceId", "ip", "l3NetworkUuid", "usedIps"}),
        ({"networks": ["l3-1"]}, {"deviceId", "ip", "l3NetworkUuid", "usedIps"}),
        ({"compose": {"macs": "virtinfra_vm_nics | map(attribute='mac') | list"}}, {"mac", "uuid", "vmInstanceUuid"}),
    ],
)
def test_records_are_reduced_as_soon_as_they_are_read(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], members: set[str]
) -> None:
    """Records that are read ahead take most of the memory, and a service returns all of them with addresses."""
    records: list[dict[str, Any]] = []

    def note_pages(*arguments: Any, limit: Any, connections: Any, **options: Any) -> Iterator[Any]:
        for page, total in paginate(*arguments, limit=limit, connections=connections, **options):
            records.extend(page)
            yield page, total

    monkeypatch.setattr(_services, "paginate", note_pages)
    access = {"base_url": sim.url, "session_id": sim.session, "hosts": False}
    selected = Source(tmp_path, "vms", **access, variables=["ansible_host"], **options).fill()
    vms = [record for record in records if "vmNics" in record]
    assert all(vm.keys() == {"uuid", "name", "state", "vmNics"} for vm in vms)
    nics = [nic for vm in vms for nic in vm["vmNics"]]
    assert nics
    assert all(members <= nic.keys() for nic in nics)
    assert all("mac" in nic for nic in nics) == ("mac" in members)
    everything = Source(tmp_path, "vms", **access, **options).fill()
    addresses = {host.name: host.vars.get("ansible_host") for host in everything.hosts.values()}
    assert {host.name: host.vars.get("ansible_host") for host in selected.hosts.values()} == addresses


@pytest.mark.parametrize(
    "options",
    [
        {"compose": {"x": "lookup('ansible.builtin.vars', 'virtinfra_name')"}},
        {"compose": {"x": "virtinfra_not_documented | default('')"}},
        {"compose": {"x": "undocumented | default('')"}, "hostvars_prefix": ""},
    ],
)
def test_all_fields_are_read_if_any_may_be_needed(sim: Simulator, tmp_path: Path, options: dict[str, Any]) -> None:
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, variables=["state"], **options)
    variables = source.fill().hosts["host-1"].vars
    assert requested_fields(sim, "QueryHost") == [set()]
    prefix = options.get("hostvars_prefix", "virtinfra_")
    assert variables.keys() - {"x", "inventory_file", "inventory_dir"} == {f"{prefix}state"}


def test_a_template_of_an_earlier_source_may_need_any_field(sim: Simulator, tmp_path: Path) -> None:
    options = {"base_url": sim.url, "session_id": sim.session, "variables": ["state"], "compose": {"x": "url"}}
    source = Source(tmp_path, "hosts", **options)
    inventory = InventoryData()
    for value, fields in (("plain", {"uuid", "name", "state"}), ("{{ virtinfra_hostname }}", set())):
        inventory.hosts[inventory.add_host("host-1")].vars["url"] = value
        sim.clear_log()
        source.fill(inventory)
        assert requested_fields(sim, "QueryHost") == [fields]


def without_fields(sim: Simulator, tmp_path: Path, plugin: str, **access: Any) -> None:
    """Check that a source has exactly the listed variables, although the service sends more fields."""
    listed = ["name", "state", "zone_name"]
    everything = Source(tmp_path, plugin, base_url=sim.url, **access).fill()
    selected = Source(tmp_path, plugin, base_url=sim.url, variables=listed, **access).fill()
    for record in sim.records(KINDS[plugin]):
        host = selected.hosts[record["name"]]
        assert host.vars.keys() - {"inventory_file", "inventory_dir"} == {f"virtinfra_{name}" for name in listed}
        for name in listed:
            variable = f"virtinfra_{name}"
            assert plain(host.vars[variable]) == plain(everything.hosts[record["name"]].vars[variable])


@pytest.mark.parametrize("plugin", QUERIES)
def test_a_service_that_ignores_the_parameter(sim: Simulator, tmp_path: Path, plugin: str) -> None:
    sim.configure(query_paging=False)
    without_fields(sim, tmp_path, plugin, session_id=sim.session)


@pytest.mark.parametrize("plugin", QUERIES)
def test_a_cursor_query_has_no_such_parameter(sim: Simulator, tmp_path: Path, plugin: str) -> None:
    without_fields(sim, tmp_path, plugin, api_token=sim.token)


@pytest.mark.parametrize("code", ["SYS.1000", "SYS.1007"])
def test_a_service_that_refuses_a_field(sim: Simulator, tmp_path: Path, code: str) -> None:
    sim.fault("fail", "QueryHost", error={"code": code, "details": "no such field"}, count=1)
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, variables=["name"])
    variables = source.fill().hosts["host-1"].vars
    assert variables.keys() - {"inventory_file", "inventory_dir"} == {"virtinfra_name"}
    assert requested_fields(sim, "QueryHost") == [{"uuid", "name"}, set()]


@pytest.mark.parametrize(
    ("plugin", "record"),
    [("hosts", "HostInventory"), ("vms", "VmInstanceInventory"), ("primary_storages", "PrimaryStorageInventory")],
)
def test_fields_that_services_compute_are_read_with_whole_records(
    sim: Simulator, tmp_path: Path, plugin: str, record: str
) -> None:
    """A query that asks for a single one of them fails."""
    everything = Source(tmp_path, plugin, base_url=sim.url, session_id=sim.session).fill().hosts
    for field in COMPUTED_FIELDS[record]:
        sim.clear_log()
        name = to_snake_case(field)
        source = Source(tmp_path, plugin, base_url=sim.url, session_id=sim.session, variables=["name", name])
        selected = source.fill().hosts
        assert requested_fields(sim, QUERIES[plugin]) == [set()]
        for host, variables in everything.items():
            assert plain(selected[host].vars.get(f"virtinfra_{name}")) == plain(variables.vars.get(f"virtinfra_{name}"))


def test_an_outage_is_no_refusal_of_fields(sim: Simulator, tmp_path: Path) -> None:
    sim.fault("status", "QueryHost", status=500, count=9)
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, variables=["name"], request_retries=0)
    with pytest.raises(AnsibleParserError, match="QueryHost failed with HTTP status 500"):
        source.fill()
    assert len(requested_fields(sim, "QueryHost")) == 1


def test_the_cache_distinguishes_fields(sim: Simulator, tmp_path: Path) -> None:
    place = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    options = {"base_url": sim.url, "session_id": sim.session, **place}
    source = Source(tmp_path, "hosts", variables=["name"], **options)
    source.fill(cache=True)
    source.write(variables=["name", "state"], **options)
    sim.clear_log()
    assert source.fill(cache=True).hosts["host-1"].vars["virtinfra_state"] == "Enabled"
    assert sim.log() != []
    source.write(variables=["name"], groups={"on": "virtinfra_state == 'Enabled'"}, **options)
    sim.clear_log()
    inventory = source.fill(cache=True)
    assert sim.log() == [], "the same fields are needed"
    assert len(names(inventory, "on")) == 3
    assert "virtinfra_state" not in inventory.hosts["host-1"].vars
    source.write(**options)
    assert source.fill(cache=True).hosts["host-1"].vars["virtinfra_hostname"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nmae", "there is no variable nmae. Did you mean name?"),
        ("virtinfra_name", "Did you mean name? Names have no prefix."),
        ("virtinfra_cluster_name", "Did you mean cluster_name? Names have no prefix."),
        ("managementIp", "Did you mean management_ip?"),
        ("vm_nics", "Did you mean nics?"),
        ("colour", "there is no variable colour. The variables are ansible_host,"),
    ],
)
def test_an_unknown_variable_is_refused(sim: Simulator, tmp_path: Path, name: str, hint: str) -> None:
    source = Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, variables=[name])
    with pytest.raises(AnsibleParserError) as caught:
        source.fill()
    assert f"variables: there is no variable {name}." in str(caught.value)
    assert hint in str(caught.value)
    assert sim.log() == []


def test_the_hosts_of_storages_have_all_their_variables(sim: Simulator, tmp_path: Path) -> None:
    access = {"base_url": sim.url, "session_id": sim.session}
    everything = Source(tmp_path, "primary_storages", **access).fill()
    selected = Source(tmp_path, "primary_storages", variables=["name", "hosts"], **access).fill()
    assert plain(selected.hosts["host-1"].vars) == plain(everything.hosts["host-1"].vars)
    storage = sim.records("primarystorage")[0]["name"]
    assert selected.hosts[storage].vars["virtinfra_hosts"] == everything.hosts[storage].vars["virtinfra_hosts"]
