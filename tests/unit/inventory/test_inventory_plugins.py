"""The names, variables, addresses and groups of hosts, VMs and primary storages in the inventory."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Semaphore
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.plugins.loader import inventory_loader
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS, to_snake_case
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.names import name_objects

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.collection import ROOT
from support.inventory_sources import Source, collect_warnings, names, trust
from support.stub_server import StubRequest, StubResponse, StubServer

Fill = Callable[..., InventoryData]

# The types of objects in user tags.
TYPES = {"host": "HostVO", "vm": "VmInstanceVO", "primarystorage": "PrimaryStorageVO"}


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which the warnings of Ansible are added."""
    return collect_warnings(monkeypatch)


@pytest.fixture
def fill(sim: Simulator, tmp_path: Path) -> Fill:
    """Fill an inventory with a plugin and its options."""

    def fill_inventory(plugin: str, inventory: InventoryData | None = None, **options: Any) -> InventoryData:
        connection = {"base_url": sim.url, "session_id": sim.session}
        return Source(tmp_path, plugin, **{**connection, **options}).fill(inventory)

    return fill_inventory


# ---------------------------------------------------------------------------------------------------------- variables


@pytest.mark.parametrize(
    ("plugin", "kind", "record", "name"),
    [
        ("hosts", "host", "HostInventory", "host-1"),
        ("vms", "vm", "VmInstanceInventory", "vm-1"),
        ("primary_storages", "primarystorage", "PrimaryStorageInventory", "ps-1"),
    ],
)
def test_every_documented_field_is_a_variable(
    sim: Simulator, fill: Fill, plugin: str, kind: str, record: str, name: str
) -> None:
    variables = fill(plugin).hosts[name].vars
    (stored,) = [stored for stored in sim.records(kind) if stored["name"] == name]
    for field in RECORD_FIELDS[record]:
        value = variables[f"virtinfra_{to_snake_case(field)}"]
        if not isinstance(value, (list, dict)) and not field.endswith("Date"):
            assert value == stored[field]
    assert variables["virtinfra_service"] == sim.url
    assert variables["virtinfra_service_url"] == f"{sim.url}/service"


@pytest.mark.parametrize(
    ("plugin", "record"), [("vms", "VmInstanceInventory"), ("primary_storages", "PrimaryStorageInventory")]
)
def test_every_variable_that_is_added_is_declared(fill: Fill, plugin: str, record: str) -> None:
    options = dict.fromkeys(("images", "instance_offerings", "security_groups", "affinity_groups"), True)
    inventory = fill(plugin, hosts=True, **(options if plugin == "vms" else {}))
    added = inventory_loader.get(f"virtinfra.manager.{plugin}").ADDED
    declared = {
        f"virtinfra_{to_snake_case(field)}" for field in (*RECORD_FIELDS[record], *added, "service", "serviceUrl")
    }
    hosts = [host for host in inventory.hosts.values() if declared <= host.vars.keys()]
    assert hosts
    assert {name for host in hosts for name in host.vars if name.startswith("virtinfra_")} == declared


def test_records_in_variables_have_all_their_fields(sim: Simulator, fill: Fill) -> None:
    sim.configure(null_members=False)
    hosts, vms = fill("hosts", network_facts=True).hosts.values(), fill("vms").hosts.values()
    for kind, variable, entries in (
        ("HostNetworkInterface", "virtinfra_nics", hosts),
        ("VmNicInventory", "virtinfra_vm_nics", vms),
        ("Volume", "virtinfra_all_volumes", vms),
    ):
        records = [record for host in entries for record in host.vars[variable] or []]
        assert records
        assert all({to_snake_case(field) for field in RECORD_FIELDS[kind]} <= record.keys() for record in records)


@pytest.mark.parametrize("plugin", ["hosts", "vms", "primary_storages"])
def test_a_cursor_query_returns_the_same(sim: Simulator, fill: Fill, plugin: str) -> None:
    # The simulator alternates the forms of timestamps.
    sim.configure(timestamps="plain")
    options = {"api_token": sim.token, "hosts": True, "primary_storages": True}
    del options["hosts" if plugin == "hosts" else "primary_storages"]
    by_query, by_cursor = (fill(plugin, source=source, **options) for source in ("query", "cursor"))
    assert list(by_query.hosts) == list(by_cursor.hosts)
    for name, host in by_query.hosts.items():
        assert host.vars == by_cursor.hosts[name].vars


def test_the_inventory_of_the_readme_groups_hosts_by_the_names_of_their_clusters(fill: Fill) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall("```yaml\n(.*?)```", readme, re.DOTALL) if "plugin:" in block)
    options = yaml.safe_load(block)
    inventory = fill(options.pop("plugin").rpartition(".")[2], **options)
    assert {host.name for host in inventory.groups["cluster_cluster_1"].hosts} == {"host-1", "host-3"}


def test_prefix_and_suffix(fill: Fill, warnings: list[str]) -> None:
    variables = fill("hosts", hostvars_prefix="v_", hostvars_suffix="_x").hosts["host-1"].vars
    assert variables["v_management_ip_x"] == variables["ansible_host"] == "10.0.0.11"
    assert not [name for name in variables if name.startswith("virtinfra_")]
    assert warnings == []


@pytest.mark.parametrize("variable", ["virtinfra_service", "virtinfra_name", "virtinfra_primary_storages"])
def test_every_variable_is_known_if_no_record_is_listed(fill: Fill, variable: str) -> None:
    assert names(fill("hosts", query=["name=nowhere"], hostnames=[variable])) == []


def test_the_name_of_the_service_can_be_the_name_of_a_host(sim: Simulator, fill: Fill) -> None:
    services = [{"name": "north", "base_url": sim.url, "session_id": sim.session}]
    for source in ("service", "virtinfra_service"):
        assert names(fill("hosts", query=["name=host-1"], services=services, hostnames=[source])) == ["north"]


def test_reserved_names_are_skipped(fill: Fill, warnings: list[str]) -> None:
    inventory = fill("primary_storages", hostvars_prefix="", keyed_groups=[{"key": "type", "separator": ""}])
    variables = inventory.hosts["ps-1"].vars
    assert variables["state"] == "Enabled"
    assert "name" not in variables
    assert "hosts" not in variables
    assert "" not in variables
    assert names(inventory, "LocalStorage") == ["ps-2"]
    assert "skipped fields whose variable names are reserved: hosts, name" in warnings


def test_hosts_of_an_earlier_source_keep_their_variables(sim: Simulator, fill: Fill) -> None:
    inventory = InventoryData()
    inventory.add_group("earlier")
    inventory.add_host("host-1", "earlier")
    inventory.set_variable("host-1", "site", trust("{{ 'no' ~ 'rth' }}"))
    inventory.set_variable("host-1", "virtinfra_state", "Unknown")
    fill("hosts", inventory, compose={"where": "site ~ '/' ~ virtinfra_state"}, keyed_groups=[{"key": "site"}])
    variables = inventory.hosts["host-1"].vars
    assert variables["virtinfra_state"] == "Enabled"
    assert variables["where"] == "north/Enabled"
    assert names(inventory, "earlier") == names(inventory, "_north") == ["host-1"]
    assert "where" not in inventory.hosts["host-2"].vars


# -------------------------------------------------------------------------------------------------------------- names


def list_names(fill: Fill, *preferences: str, **options: Any) -> list[str]:
    """Return the names of hosts with these items of hostnames."""
    return names(fill("hosts", hostnames=list(preferences), **options))


def test_names_in_order_of_preference(sim: Simulator, fill: Fill) -> None:
    uuids = [record["uuid"] for record in sim.records("host")]
    sim.change("host", uuids[0], hostname="first.example.com")
    sim.change("host", uuids[1], hostname=None)
    assert list_names(fill, "hostname", "name") == ["first.example.com", "host-2", "host-3.example.com"]
    assert list_names(fill, "uuid") == sorted(uuids)
    assert (
        list_names(fill, "management_ip") == list_names(fill, "managementIp") == ["10.0.0.11", "10.0.0.12", "10.0.0.13"]
    )
    assert list_names(fill, "virtinfra_name | upper") == ["HOST-1", "HOST-2", "HOST-3"]
    assert list_names(fill, "{{ virtinfra_name }}.example.com")[0] == "host-1.example.com"
    assert list_names(fill, "nowhere | default('') | trim", "name") == ["host-1", "host-2", "host-3"]
    for source, prefix in (("nowhere | trim", ""), ("virtinfra_hostname ~ ''", "x_")):
        with pytest.raises(AnsibleParserError, match="hostnames: no host has a variable"):
            list_names(fill, source, "name", hostvars_prefix=prefix)


@pytest.mark.parametrize(
    "source", ["virtinfra_name | regex_replace('-', '.')", " {{ virtinfra_name | regex_replace('-', '.') }} "]
)
def test_names_that_only_core_can_evaluate(fill: Fill, source: str) -> None:
    assert list_names(fill, source, strict=True) == ["host.1", "host.2", "host.3"]


def test_names_that_no_host_can_have(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    uuids = [record["uuid"] for record in sim.records("host")]
    for uuid, name in zip(uuids, ["../../etc/passwd", "localhost", "x" * 10000], strict=True):
        sim.change("host", uuid, name=name)
    assert names(fill("hosts")) == sorted(uuids)
    assert "ignored 3 invalid host names" in warnings[0]
    assert len(warnings[0]) < 300
    assert list_names(fill, "name", "hostname") == [f"host-{number}.example.com" for number in (1, 2, 3)]


@pytest.mark.parametrize("policy", ["rename", "first", "error"])
def test_hosts_with_the_same_name(sim: Simulator, fill: Fill, warnings: list[str], policy: str) -> None:
    uuids = [record["uuid"] for record in sim.records("host")]
    sim.change("host", uuids[1], name="host-1")
    if policy == "error":
        with pytest.raises(AnsibleParserError, match=r"duplicates: .* host-1 \(2 times\)"):
            fill("hosts", duplicates=policy)
        return
    expected = {"rename": [f"host-1_{uuids[0]}", f"host-1_{uuids[1]}", "host-3"], "first": ["host-1", "host-3"]}
    inventory = fill("hosts", duplicates=policy)
    assert names(inventory) == expected[policy]
    assert len(warnings) == 1
    assert "host-1 (2 times)" in warnings[0]
    if policy == "first":
        assert inventory.hosts["host-1"].vars["virtinfra_uuid"] == uuids[0]


def test_conditions_apply_before_names_are_assigned(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    uuids = [record["uuid"] for record in sim.records("host")]
    sim.change("host", uuids[1], name="host-1", state="Disabled")
    assert names(fill("hosts", exclude="virtinfra_state == 'Disabled'")) == ["host-1", "host-3"]
    assert names(fill("hosts", include=["virtinfra_state == 'Disabled'", "virtinfra_name == 'host-3'"])) == [
        "host-1",
        "host-3",
    ]
    assert names(fill("hosts", include="virtinfra_name == 'host-1'", exclude=["virtinfra_state == 'Disabled'"])) == [
        "host-1"
    ]
    assert warnings == []
    assert names(fill("hosts", include="virtinfra_state == 'Disabled'", exclude="virtinfra_name > 1")) == ["host-1"]
    assert "include and exclude could not be evaluated 3 times" in warnings[0]


# ---------------------------------------------------------------------------------------------------------- addresses


def test_invalid_addresses_are_not_used(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    sim.change("host", sim.records("host")[0]["uuid"], managementIp="-oProxyCommand=id")
    variables = fill("hosts").hosts["host-1"].vars
    assert "ansible_host" not in variables
    assert variables["virtinfra_management_ip"] == "-oProxyCommand=id"
    assert "ignored 1 invalid ansible_host values" in warnings[0]


def nic(device: int, network: str, *ips: str) -> dict[str, Any]:
    """Return the members of a NIC that contain its addresses."""
    used = [{"ip": ip, "l3NetworkUuid": network} for ip in ips]
    return {"deviceId": device, "l3NetworkUuid": network, "ip": ips[0] if ips else None, "usedIps": used}


MACHINE = {
    "uuid": "1",
    "name": "m",
    "vmNics": [nic(1, "b" * 32, "10.2.0.1", "fd00::1"), nic(0, "a" * 32, "10.1.0.1"), nic(2, "c" * 32)],
}


@pytest.mark.parametrize(
    ("networks", "address"),
    [
        ([], "10.1.0.1"),
        (["b" * 32], "10.2.0.1"),
        (["BBBBBBBB-bbbb-bbbb-bbbb-bbbbbbbbbbbb"], "10.2.0.1"),
        (["fd00::/16"], "fd00::1"),
        (["192.168.0.0/16", "10.2.0.0/16"], "10.2.0.1"),
        (["c" * 32, "a" * 32], "10.1.0.1"),
        (["192.168.0.0/16"], None),
    ],
)
def test_the_address_of_a_vm(tmp_path: Path, networks: list[str], address: str | None) -> None:
    with StubServer(lambda request: StubResponse(200, {"inventories": [MACHINE], "total": 1})) as service:
        source = Source(tmp_path, "vms", base_url=service.url, session_id="a-session", networks=networks, hosts=False)
        variables = source.fill().hosts["m"].vars
    assert variables.get("ansible_host") == address
    assert variables["virtinfra_addresses"] == ["10.1.0.1", "10.2.0.1", "fd00::1"]
    assert "virtinfra_host" not in variables


@pytest.mark.parametrize("credentials", [{}, {"session_id": None, "source": "cursor"}])
def test_networks_of_addresses_are_selected_by_name(sim: Simulator, fill: Fill, credentials: dict[str, Any]) -> None:
    (vm,) = [vm for vm in sim.records("vm") if vm["name"] == "vm-1"]
    (address,) = [nic["ip"] for nic in vm["vmNics"]]
    (network,) = [item["name"] for item in sim.records("l3network") if item["uuid"] == vm["vmNics"][0]["l3NetworkUuid"]]
    variables = fill("vms", api_token=sim.token, networks=["192.0.2.0/24", network], **credentials).hosts["vm-1"].vars
    assert variables["ansible_host"] == address
    assert [nic["l3_network_name"] for nic in variables["virtinfra_vm_nics"]] == [network]
    with pytest.raises(AnsibleParserError, match=rf"networks: {sim.url} has no L3 network 'nowhere'.*{network}"):
        fill("vms", api_token=sim.token, networks=["nowhere"], **credentials)


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        ({"networks": ["10.11.0.0/16"]}, True),
        ({"networks": ["10.11.0.0/16", "10.101.0.0/16"]}, False),
        ({"networks": ["10.11.0.0/16"], "compose": {"ansible_host": "virtinfra_name"}}, False),
        ({"networks": ["10.11.0.0/16"], "variables": ["name"]}, False),
        ({"networks": ["10.11.0.0/16"], "query": ["name=vm-1"]}, False),
        ({"networks": []}, False),
    ],
)
def test_networks_without_an_address_of_any_vm(
    fill: Fill, warnings: list[str], options: dict[str, Any], warns: bool
) -> None:
    """For one VM that is no sign of a mistake, and with another ansible_host it has no effect."""
    assert len(fill("vms", **options).hosts) >= 1
    expected = "networks: none of 6 VMs with addresses has one in 10.11.0.0/16, so ansible_host is set for none"
    assert warnings == ([expected] if warns else [])


@pytest.mark.parametrize("network", ["10.101.0.0", "fd00::"])
def test_a_range_without_the_length_of_its_prefix_is_refused(sim: Simulator, fill: Fill, network: str) -> None:
    with pytest.raises(AnsibleParserError, match=f"networks: {network} is one address. Give the range"):
        fill("vms", networks=["l3-1", network])


def test_names_of_networks_come_from_the_cache(sim: Simulator, tmp_path: Path) -> None:
    cache = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    source = Source(tmp_path, "vms", base_url=sim.url, session_id=sim.session, networks=["l3-1"], **cache)
    read = source.fill(cache=True).hosts["vm-1"].vars
    assert read["virtinfra_vm_nics"][0]["l3_network_name"] == "l3-1"
    sim.clear_log()
    assert source.fill(cache=True).hosts["vm-1"].vars == read
    assert sim.log() == []


@pytest.mark.parametrize(
    ("name", "content", "is_ours"),
    [
        ("site.yml", "plugin: virtinfra.manager.vms", True),
        ("site.virtinfra_hosts.yaml", "plugin: 'virtinfra.manager.vms'  # VMs", True),
        ("site.virtinfra_vms.yml", "$ANSIBLE_VAULT;1.1;AES256", True),
        ("site.yml", "plugin: amazon.aws.aws_ec2", False),
        ("site.yml", "all: {vars: {plugin: virtinfra.manager.vms}}", False),
        ("site.ini", "plugin: virtinfra.manager.vms", False),
    ],
)
def test_a_source_belongs_to_a_plugin_by_name_or_content(
    tmp_path: Path, warnings: list[str], name: str, content: str, is_ours: bool
) -> None:
    path = tmp_path / name
    path.write_text(f"{content}\nbase_url: http://127.0.0.1\n", encoding="utf-8")
    assert inventory_loader.get("virtinfra.manager.vms").verify_file(str(path)) is is_ours
    assert warnings == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": {"a": "x = 'Enabled'"}}, "groups: a: .* is not a valid expression: .* Write == to compare."),
        ({"compose": {"a": "'{{ virtinfra_name }}'"}}, "compose: a: .* is a text with braces. Expressions are without"),
        ({"compose": {"a": "name ~"}}, "compose: a: 'name ~' is not a valid expression"),
        ({"keyed_groups": [{"key": "name |", "prefix": "a"}]}, "keyed_groups: .* is not a valid expression"),
        ({"include": ["x = 1"]}, "include: 'x = 1' is not a valid expression"),
        ({"exclude": ["(x"]}, "exclude: .* is not a valid expression"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_an_expression_with_a_syntax_error_fails(
    sim: Simulator, fill: Fill, options: dict[str, Any], message: str, strict: bool
) -> None:
    sim.clear_log()
    with pytest.raises(AnsibleParserError, match=message):
        fill("hosts", strict=strict, **options)
    assert sim.log() == []


def test_values_of_conditions_that_are_not_documented_give_a_warning(fill: Fill, warnings: list[str]) -> None:
    fill("vms", query=["state=running"])
    assert "'running' is not a documented value of state. Did you mean Running? The documented values" in warnings[0]


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ({}, ["vm-1", "vm-4", "vm-5", "vm-6"]),
        ({"query": ["name~=vm-%"]}, ["vm-1", "vm-4", "vm-5", "vm-6"]),
        ({"query": ["state=Destroyed"]}, ["vm-2"]),
        ({"query": ["state ?= Destroyed,Expunging"]}, ["vm-2", "vm-3"]),
        ({"source": "cursor"}, ["vm-1", "vm-4", "vm-5", "vm-6"]),
        ({"source": "cursor", "filters": ["state=Expunging"]}, ["vm-3"]),
    ],
)
def test_deleted_vms_are_listed_only_by_their_state(
    sim: Simulator, fill: Fill, options: dict[str, Any], listed: list[str]
) -> None:
    vms = {vm["name"]: vm["uuid"] for vm in sim.records("vm")}
    sim.change("vm", vms["vm-2"], state="Destroyed")
    sim.change("vm", vms["vm-3"], state="Expunging")
    assert names(fill("vms", api_token=sim.token, **options)) == listed


# ------------------------------------------------------------------------------------------------------- what is near


def test_a_vm_has_its_host(sim: Simulator, fill: Fill) -> None:
    vm = sim.records("vm")[0]
    (host,) = [host for host in sim.records("host") if host["uuid"] == vm["hostUuid"]]
    sim.change("vm", sim.records("vm")[1]["uuid"], hostUuid=None)
    inventory = fill("vms", keyed_groups=[{"key": "virtinfra_host.name", "prefix": "on"}])
    assert inventory.hosts["vm-1"].vars["virtinfra_host"] == {
        "uuid": host["uuid"],
        "name": host["name"],
        "management_ip": host["managementIp"],
        "state": host["state"],
        "status": host["status"],
    }
    assert inventory.hosts["vm-2"].vars["virtinfra_host"] is None
    assert "vm-1" in names(inventory, f"on_{host['name'].replace('-', '_')}")


def count_calls(sim: Simulator, operation: str) -> int:
    """Return how often an operation was called."""
    return sum(request["operation"] == operation for request in sim.log())


@pytest.mark.parametrize(
    ("plugin", "kind", "fields"),
    [
        ("hosts", "host", {"cluster": "cluster", "zone": "zone"}),
        ("vms", "vm", {"cluster": "cluster", "zone": "zone", "host": "host"}),
        ("primary_storages", "primarystorage", {"zone": "zone"}),
    ],
)
def test_names_beside_uuids(sim: Simulator, fill: Fill, plugin: str, kind: str, fields: dict[str, str]) -> None:
    # The records of the second page have the names that were listed with the first.
    inventory = fill(plugin, page_size=2)
    for record in sim.records(kind):
        variables = inventory.hosts[record["name"]].vars
        for field, related in fields.items():
            named = {item["uuid"]: item["name"] for item in sim.records(related)}
            assert variables[f"virtinfra_{field}_name"] == named.get(record[f"{field}Uuid"])
        assert variables["virtinfra_zone_name"]
    assert (count_calls(sim, "QueryCluster"), count_calls(sim, "QueryZone")) == (1, 1)


def test_names_are_null_without_uuids_and_are_not_requested(sim: Simulator, fill: Fill) -> None:
    for vm in sim.records("vm"):
        sim.change("vm", vm["uuid"], clusterUuid=None, hostUuid=None)
    variables = fill("vms").hosts["vm-1"].vars
    assert variables["virtinfra_cluster_name"] is variables["virtinfra_host_name"] is None
    assert (count_calls(sim, "QueryCluster"), count_calls(sim, "QueryZone")) == (0, 1)


def test_names_that_cannot_be_read_cost_the_variables(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    sim.fault("fail", "QueryCluster", error={"code": "ID.1002", "details": "permission denied"}, count=2)
    variables = fill("hosts", page_size=1).hosts["host-2"].vars
    assert "virtinfra_cluster_name" not in variables
    assert variables["virtinfra_zone_name"] == sim.records("zone")[0]["name"]
    (warning,) = warnings
    assert "skipped related_names: QueryCluster failed (ID.1002)" in warning
    with pytest.raises(AnsibleParserError, match="related_names: QueryCluster failed"):
        fill("hosts", related_names=True)


@pytest.mark.parametrize(("plugin", "kind"), [("hosts", "host"), ("vms", "vm"), ("primary_storages", "primarystorage")])
def test_user_tags_come_from_one_list(sim: Simulator, fill: Fill, plugin: str, kind: str) -> None:
    tagged, other = sim.records(kind)[:2]
    sim.reset(user_tags=3)
    for number, text in enumerate(("zone::b", "production", "production"), 1):
        sim.change(
            "usertag", seeded_uuid("usertag", number), resourceUuid=tagged["uuid"], resourceType=TYPES[kind], tag=text
        )
    sim.clear_log()
    keyed = [{"key": "virtinfra_user_tags", "prefix": "tag"}]
    inventory = fill(plugin, user_tags=True, page_size=2, keyed_groups=keyed)
    pages = [entry for entry in sim.log() if entry["operation"] == "QueryUserTag"]
    assert [entry["query"]["start"] for entry in pages] == [["0"], ["2"]]
    assert inventory.hosts[tagged["name"]].vars["virtinfra_user_tags"] == ["production", "zone::b"]
    assert inventory.hosts[other["name"]].vars["virtinfra_user_tags"] == []
    groups = {name: [host.name for host in group.hosts] for name, group in inventory.groups.items() if "tag" in name}
    assert groups == {"tag_production": [tagged["name"]], "tag_zone__b": [tagged["name"]]}


def test_records_are_selected_by_a_user_tag(fill: Fill, warnings: list[str]) -> None:
    assert [*fill("vms", query=["__userTag__=tag-1"]).hosts] == ["vm-1"]
    assert warnings == []


def test_user_tags_are_not_listed_by_default(sim: Simulator, fill: Fill) -> None:
    sim.clear_log()
    assert "virtinfra_user_tags" not in fill("vms").hosts["vm-1"].vars
    assert all(entry["operation"] != "QueryUserTag" for entry in sim.log())


def test_user_tags_that_cannot_be_read_give_a_warning(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    sim.configure(missing_operations=["QueryUserTag"])
    assert "virtinfra_user_tags" not in fill("vms", user_tags=True).hosts["vm-1"].vars
    (warning,) = warnings
    assert warning.startswith(f"{sim.url}: skipped user_tags: the service does not offer QueryUserTag ")


def test_user_tags_are_cached(sim: Simulator, tmp_path: Path) -> None:
    cache = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    connection = {"base_url": sim.url, "session_id": sim.session}
    for is_cached in (False, True):
        sim.clear_log()
        inventory = Source(tmp_path, "vms", user_tags=True, **connection, **cache).fill(cache=True)
        assert inventory.hosts["vm-1"].vars["virtinfra_user_tags"] == ["tag-1"]
        assert (sim.log() == []) == is_cached
    without = Source(tmp_path, "vms", **connection, **cache).fill(cache=True)
    assert "virtinfra_user_tags" not in without.hosts["vm-1"].vars


def test_a_host_has_the_storages_of_its_cluster(sim: Simulator, fill: Fill) -> None:
    storage, other = sim.records("primarystorage")
    sim.change("primarystorage", other["uuid"], attachedClusterUuids=[])
    inventory = fill("hosts")
    for record in sim.records("host"):
        storages = inventory.hosts[record["name"]].vars["virtinfra_primary_storages"]
        expected = [storage["name"]] if record["clusterUuid"] in storage["attachedClusterUuids"] else []
        assert [variable["name"] for variable in storages] == expected
        assert all(variable["total_capacity"] == storage["totalCapacity"] for variable in storages)


def test_a_host_without_storages_has_an_empty_list(tmp_path: Path) -> None:
    def answer(request: StubRequest) -> StubResponse:
        hosts = [{"uuid": "1", "name": "h", "clusterUuid": "c"}] if request.path.endswith("hosts") else []
        return StubResponse(200, {"inventories": hosts, "total": len(hosts)})

    with StubServer(answer) as service:
        source = Source(tmp_path, "hosts", base_url=service.url, session_id="a-session")
        assert source.fill().hosts["h"].vars["virtinfra_primary_storages"] == []


def test_related_records_can_be_refused(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    denied = {"code": "ID.1002", "details": "permission denied"}
    sim.fault("fail", "QueryPrimaryStorage", error=denied, count=2)
    inventory = fill("hosts")
    assert len(inventory.hosts) == 3
    assert "virtinfra_primary_storages" not in inventory.hosts["host-1"].vars
    assert "skipped primary_storages: QueryPrimaryStorage failed (ID.1002)" in warnings[0]
    with pytest.raises(AnsibleParserError, match="primary_storages: QueryPrimaryStorage failed"):
        fill("hosts", primary_storages=True)


def test_unused_data_is_not_requested(sim: Simulator, fill: Fill, tmp_path: Path) -> None:
    fill("hosts", primary_storages=False, related_names=False)
    fill("vms", hosts=False, related_names=False)
    fill("primary_storages", hosts=False, related_names=False)
    operations = ["QueryHost", "QueryVmInstance", "QueryPrimaryStorage"]
    assert [entry["operation"] for entry in sim.log()] == operations


def test_a_token_is_enough_for_related_records(sim: Simulator, fill: Fill, tmp_path: Path) -> None:
    for plugin in ("hosts", "vms", "primary_storages"):
        by_token = Source(tmp_path, plugin, base_url=sim.url, api_token=sim.token).fill()
        by_session = fill(plugin)
        assert {name: host.vars.keys() for name, host in by_token.hosts.items()} == {
            name: host.vars.keys() for name, host in by_session.hosts.items()
        }
        assert set(by_token.groups) == set(by_session.groups)


def test_storages_whose_hosts_cannot_be_read_have_no_list_of_hosts(
    sim: Simulator, fill: Fill, warnings: list[str]
) -> None:
    sim.fault("fail", "QueryHost", error={"code": "ID.1002", "details": "permission denied"})
    storage = fill("primary_storages").hosts["ps-1"]
    assert "virtinfra_hosts" not in storage.vars
    assert "skipped hosts: QueryHost failed (ID.1002)" in warnings[0]


def test_network_facts(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    silent = sim.records("host")[1]
    sim.change("host", silent["uuid"], status="Disconnected")
    inventory = fill("hosts", network_facts=True, groups={"silent": "virtinfra_network_facts_error is not none"})
    variables = inventory.hosts["host-1"].vars
    assert [nic["interface_name"] for nic in variables["virtinfra_nics"]]
    assert variables["virtinfra_bondings"][0]["slaves"][0]["uuid"]
    assert variables["virtinfra_network_facts_error"] is None
    assert names(inventory, "silent") == [silent["name"]]
    assert "HOST.1001" in inventory.hosts[silent["name"]].vars["virtinfra_network_facts_error"]
    assert inventory.hosts[silent["name"]].vars["virtinfra_nics"] is None
    assert "could not read the network facts of 1 host" in warnings[0]


def test_network_facts_that_cannot_be_read_are_a_failure(sim: Simulator, tmp_path: Path) -> None:
    source = Source(tmp_path, "hosts", base_url=sim.url, api_token=sim.token, network_facts=True)
    with pytest.raises(AnsibleParserError, match="GetHostNetworkFacts needs session_id"):
        source.fill()


def test_network_facts_are_read_concurrently_within_a_limit(tmp_path: Path) -> None:
    gate, slots, acquired = Barrier(8), Semaphore(16), []

    def answer(request: StubRequest) -> StubResponse:
        if "network-facts" not in request.path:
            page = [{"uuid": f"{number:032x}", "name": f"host-{number}"} for number in range(64)]
            return StubResponse(200, {"inventories": page, "total": 64})
        acquired.append(slots.acquire(blocking=False))
        # No request is answered before eight have arrived.
        gate.wait(timeout=20)
        slots.release()
        return StubResponse(200, {"nics": [{"uuid": request.path[-32:]}]})

    with StubServer(answer) as service:
        options = {"base_url": service.url, "session_id": "a-session", "primary_storages": False, "network_facts": True}
        inventory = Source(tmp_path, "hosts", **options).fill()
    for host in inventory.hosts.values():
        assert [nic["uuid"] for nic in host.vars["virtinfra_nics"]] == [host.vars["virtinfra_uuid"]]
    assert len(acquired) == 64
    assert all(acquired), "more than 16 were asked at once"


def test_the_hosts_of_a_storage(sim: Simulator, fill: Fill) -> None:
    inventory = fill("primary_storages", groups={"local": "virtinfra_type == 'LocalStorage'"})
    for storage in sim.records("primarystorage"):
        clusters = storage["attachedClusterUuids"]
        attached = sorted(host["name"] for host in sim.records("host") if host["clusterUuid"] in clusters)
        assert names(inventory, f"hosts_of_{storage['name'].replace('-', '_')}") == attached
        assert sorted(inventory.hosts[storage["name"]].vars["virtinfra_hosts"]) == attached
        assert "ansible_host" not in inventory.hosts[storage["name"]].vars
    assert inventory.hosts["host-1"].vars["ansible_host"] == "10.0.0.11"
    assert "host-1" not in names(inventory, "local")


def test_the_hosts_of_a_storage_have_the_variables_of_the_plugin_hosts(fill: Fill) -> None:
    hosts, hosts_of_storages = ({**fill(plugin).hosts} for plugin in ("hosts", "primary_storages"))
    assert hosts.keys() <= hosts_of_storages.keys()
    for name, host in hosts.items():
        assert host.vars["virtinfra_primary_storages"]
        assert {**hosts_of_storages[name].vars, "inventory_file": None} == {**host.vars, "inventory_file": None}


def test_an_invalid_address_of_a_host_of_a_storage_is_ignored_with_a_warning(
    sim: Simulator, fill: Fill, warnings: list[str]
) -> None:
    sim.change("host", sim.records("host")[0]["uuid"], managementIp="127.0.0.1")
    inventory = fill("primary_storages")
    assert "ansible_host" not in inventory.hosts["host-1"].vars
    assert "ignored 1 invalid ansible_host values (first: '127.0.0.1')" in warnings


def test_known_hosts_of_a_storage_keep_their_variables(sim: Simulator, fill: Fill) -> None:
    inventory = fill("hosts", compose={"ansible_host": "'192.0.2.1'"})
    fill("primary_storages", inventory)
    assert inventory.hosts["host-1"].vars["ansible_host"] == "192.0.2.1"
    assert "host-1" in names(inventory, "hosts_of_ps_1")


def test_a_host_renamed_because_of_a_storage_has_its_variables(sim: Simulator, fill: Fill) -> None:
    storage, host = sim.records("primarystorage")[0], sim.records("host")[0]
    sim.change("primarystorage", storage["uuid"], name=host["name"])
    inventory = InventoryData()
    inventory.add_host(host["name"])
    fill("primary_storages", inventory)
    assert inventory.hosts[f"{host['name']}_{host['uuid']}"].vars["ansible_host"] == host["managementIp"]


def test_names_that_storages_and_hosts_share(sim: Simulator, fill: Fill) -> None:
    first, second = sim.records("primarystorage")
    host = sim.records("host")[0]
    sim.change("primarystorage", first["uuid"], name="host-1")
    sim.change("primarystorage", second["uuid"], name="host_1", attachedClusterUuids=first["attachedClusterUuids"])
    inventory = fill("primary_storages")
    assert inventory.hosts["host-1"].vars["virtinfra_uuid"] == first["uuid"]
    assert f"host-1_{host['uuid']}" in names(inventory, "hosts_of_host_1")
    assert f"host-1_{host['uuid']}" in names(inventory, f"hosts_of_host_1_{second['uuid']}")


def test_an_event_has_the_name_of_the_inventory(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    """The name of an object can be that of several, a pattern, or this machine."""
    records = sim.records("vm")
    given = ["twin", "twin", "all", "!prod", "localhost", " inner space ", "", "web*", f"twin_{records[0]['uuid']}"]
    for record, name in zip(records, given, strict=False):
        sim.change("vm", record["uuid"], name=name)
    hosts = fill("vms", exclude=["virtinfra_uuid is undefined"]).hosts.values()
    names = name_objects({record["uuid"]: record["name"] for record in sim.records("vm")})
    assert names == {host.vars["virtinfra_uuid"]: host.name for host in hosts if "virtinfra_uuid" in host.vars}
    assert names[records[3]["uuid"]] == records[3]["uuid"]


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (
            {"include": ["virtinfra_state == 'Disabled'"]},
            "include and exclude leave none of 3 hosts. In them, virtinfra_state is 'Enabled'",
        ),
        ({"exclude": ["virtinfra_name != ''"]}, "include and exclude leave none of 3 hosts"),
        (
            {"query": ["name='host-1'"]},
            "the condition \"name='host-1'\": the quotes are part of the value. Write name=host-1.",
        ),
        (
            {"query": ["name?=[host-1, host-3]"]},
            "the condition 'name?=[host-1, host-3]': the brackets are part of the values. Write name?=host-1,host-3.",
        ),
        ({"query": ["cluster.name=cluster1"]}, "query selects none of 3 hosts"),
    ],
)
def test_nothing_is_selected_without_a_word(
    sim: Simulator, fill: Fill, warnings: list[str], options: dict[str, Any], warning: str
) -> None:
    assert names(fill("hosts", primary_storages=False, **options)) == []
    (found,) = warnings
    assert found.removeprefix(f"{sim.url}: ").startswith(warning)


def test_a_cache_that_keeps_nothing(fill: Fill, warnings: list[str]) -> None:
    assert names(fill("hosts", cache=True))
    (warning,) = warnings
    assert warning.startswith("cache: true has no effect on later runs, because the cache plugin memory keeps nothing.")


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("VIRTINFRA_WAIT_TIMEOUT", "wait_timeout is an option of tasks: set it in the task, or in module_defaults."),
        ("VIRTINFRA_BASEURL", "Did you mean VIRTINFRA_BASE_URL?"),
        ("VIRTINFRA_USERNAME", "Did you mean VIRTINFRA_ACCOUNT?"),
        ("VIRTINFRA_PASSWORD", "Did you mean VIRTINFRA_ACCOUNT_PASSWORD?"),
        ("VIRTINFRA_VERIFY_SSL", "Did you mean VIRTINFRA_VALIDATE_CERTS?"),
        ("VIRTINFRA_HOST", "Did you mean VIRTINFRA_BASE_URL?"),
        ("VIRTINFRA_API_KEY", "Did you mean VIRTINFRA_API_TOKEN or VIRTINFRA_ACCESS_KEY_ID?"),
    ],
)
def test_environment_variables_that_nothing_reads(
    fill: Fill, warnings: list[str], monkeypatch: pytest.MonkeyPatch, variable: str, hint: str
) -> None:
    monkeypatch.setenv("VIRTINFRA_PROFILE", "")
    monkeypatch.setenv(variable, "5min")
    fill("hosts")
    assert warnings == [f"The environment variable {variable} is not read. {hint}"]


def test_values_that_a_host_may_have_are_not_doubted(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    """A host has it, the expression changes the variable before, the source composes it, or looks for a part of it."""
    host = sim.records("host")[0]
    sim.change("host", host["uuid"], state="Quarantine", cpuNum="4")
    fill(
        "hosts",
        groups={
            "a": "virtinfra_state in ['Quarantine', 'Enabled']",
            "b": "virtinfra_state | lower == 'enabled'",
            "c": "'Enab' in virtinfra_state",
            "d": "virtinfra_status == 'well'",
            "e": "virtinfra_name == 'web' or virtinfra_name is in ['a', virtinfra_uuid]",
            "f": "virtinfra_cpu_num == '4' and virtinfra_total_cpu_capacity != '' and virtinfra_total_cpu_capacity > 9",
            "g": "virtinfra_primary_storages == []",
            "j": "virtinfra_name",
            "h": "virtinfra_total_memory_capacity > 0 and virtinfra_total_memory_capacity / 1024**3 > 4",
            "i": "(virtinfra_create_date | virtinfra.manager.to_datetime) > '2024-01-06'",
        },
        compose={
            "virtinfra_status": "'well'",
            "virtinfra_primary_storages": "['ps-1']",
            "virtinfra_name": "true",
        },
        keyed_groups=[{"key": "virtinfra_primary_storages", "prefix": "in"}],
    )
    assert warnings == []


# -------------------------------------------------------------------------------------------------------------- start


@pytest.mark.parametrize("plugin", ["hosts", "vms", "primary_storages"])
def test_a_valid_source_loads_no_code_for_hints(plugin: str) -> None:
    """Each command with an inventory would compile it, and the catalogue of operations that hints need."""
    package = "ansible_collections.virtinfra.manager.plugins"
    unneeded = {f"{package}.module_utils.{name}" for name in ("_modules.hints", "_resources.kinds", "_api.catalogue")}
    source = f"import sys, {package}.inventory.{plugin}; print(*{unneeded!r} & {{*sys.modules}})"
    path = {"PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", source]
    assert not subprocess.run(command, env=path, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
