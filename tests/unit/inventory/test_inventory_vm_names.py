"""The names of images, instance offerings, security groups and affinity groups in the inventory of VMs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.inventory_sources import Source, collect_warnings, names
from support.module_runner import ModuleRunner
from support.stub_server import StubRequest, StubResponse, StubServer

Fill = Callable[..., InventoryData]

# The options, with their variables and the queries that they need.
OPTIONS = {
    "images": ("virtinfra_image_name", ("QueryImage",)),
    "instance_offerings": ("virtinfra_instance_offering_name", ("QueryInstanceOffering",)),
    "security_groups": ("virtinfra_security_group_names", ("QuerySecurityGroup", "QueryVmNicInSecurityGroup")),
    "affinity_groups": ("virtinfra_affinity_group_names", ("QueryAffinityGroup",)),
}
KEYED = [{"key": variable, "prefix": option} for option, (variable, dummy) in OPTIONS.items()]
QUERIES = [query for dummy, queries in OPTIONS.values() for query in queries]
VMS = 30


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which the warnings of Ansible are added."""
    return collect_warnings(monkeypatch)


@pytest.fixture
def fill(sim: Simulator, run: ModuleRunner, tmp_path: Path) -> Fill:
    """Fill an inventory of VMs, of which all but the last are in two security groups, and two in an affinity group."""
    sim.reset(vms=VMS)
    nics = [seeded_uuid("vmnic", number) for number in range(1, VMS)]
    for name in ("web", "db"):
        group = call(run, "CreateSecurityGroup", name=name)["inventory"]["uuid"]
        call(run, "AddVmNicToSecurityGroup", securityGroupUuid=group, vmNicUuids=nics)
    group = call(run, "CreateAffinityGroup", name="apart")["inventory"]["uuid"]
    for number in (1, 2):
        call(run, "AddVmToAffinityGroup", affinityGroupUuid=group, uuid=seeded_uuid("vm", number))
    sim.clear_log()

    def fill_inventory(cache: bool = False, **options: Any) -> InventoryData:
        connection = {"base_url": sim.url, "session_id": sim.session}
        return Source(tmp_path, "vms", **{**connection, **options}).fill(cache=cache)

    return fill_inventory


def call(run: ModuleRunner, operation: str, **params: Any) -> Any:
    """Call an operation that succeeds, and return its reply."""
    return run("api", {"operation": operation, "params": params}).result["reply"]


def count_requests(sim: Simulator) -> Counter[str]:
    """Return how often each operation was called."""
    return Counter(entry["operation"] for entry in sim.log())


def test_vms_are_grouped_with_one_request_for_each_list(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    inventory = fill(keyed_groups=KEYED)
    everyone = sorted(f"vm-{number}" for number in range(1, VMS + 1))
    assert names(inventory, "images_image_1") == everyone
    assert names(inventory, "instance_offerings_offering_1") == sorted(f"vm-{number}" for number in range(1, VMS, 2))
    members = [name for name in everyone if name != f"vm-{VMS}"]
    assert names(inventory, "security_groups_web") == names(inventory, "security_groups_db") == members
    assert names(inventory, "affinity_groups_apart") == ["vm-1", "vm-2"]
    variables = inventory.hosts[f"vm-{VMS}"].vars
    assert variables["virtinfra_security_group_names"] == variables["virtinfra_affinity_group_names"] == []
    assert variables["virtinfra_instance_offering_name"] is None
    assert inventory.hosts["vm-1"].vars["virtinfra_security_group_names"] == ["db", "web"]
    requests = count_requests(sim)
    assert {query: requests[query] for query in ("QueryVmInstance", *QUERIES)} == dict.fromkeys(
        ("QueryVmInstance", *QUERIES), 1
    )
    assert warnings == []


def test_lists_with_several_pages_are_complete(fill: Fill) -> None:
    inventory = fill(keyed_groups=KEYED, page_size=7)
    assert len(inventory.groups["security_groups_web"].hosts) == VMS - 1


def test_no_list_is_read_without_its_use(sim: Simulator, fill: Fill) -> None:
    variables = fill().hosts["vm-1"].vars
    assert not variables.keys() & {variable for variable, dummy in OPTIONS.values()}
    assert not count_requests(sim).keys() & set(QUERIES)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("way", ["option", "variables", "hostnames", "expression", "lookup"])
def test_only_what_is_used_is_listed(sim: Simulator, fill: Fill, option: str, way: str) -> None:
    variable, queries = OPTIONS[option]
    options: dict[str, Any] = {
        "option": {option: True},
        "variables": {"variables": ["name", variable.removeprefix("virtinfra_")]},
        "hostnames": {"hostnames": [variable.removeprefix("virtinfra_")], "duplicates": "first"},
        "expression": {"variables": ["name"], "groups": {"some": f"{variable} | string == 'x'"}},
        "lookup": {"groups": {"some": f"lookup('ansible.builtin.vars', '{variable}') | string == 'x'"}},
    }
    fill(**options[way])
    assert count_requests(sim).keys() & set(QUERIES) == set(queries)


@pytest.mark.parametrize("option", OPTIONS)
def test_names_that_are_switched_off_are_refused(fill: Fill, option: str) -> None:
    variable = OPTIONS[option][0]
    with pytest.raises(AnsibleParserError, match=f"the variable {variable} needs {option}: true"):
        fill(keyed_groups=[{"key": variable}], **{option: False})


@pytest.mark.parametrize("option", OPTIONS)
def test_names_that_cannot_be_read_give_a_warning(sim: Simulator, fill: Fill, warnings: list[str], option: str) -> None:
    variable, queries = OPTIONS[option]
    sim.configure(missing_operations=[queries[-1]])
    inventory = fill(keyed_groups=KEYED)
    assert len(inventory.hosts) == VMS
    assert variable not in inventory.hosts["vm-1"].vars
    assert warnings[0].startswith(f"{sim.url}: skipped {option}: the service does not offer {queries[-1]} ")
    (useless,) = warnings[1:]
    assert f"{variable} could be evaluated for none of {VMS} hosts" in useless
    with pytest.raises(AnsibleParserError, match=f"{option}: the service does not offer {queries[-1]}"):
        fill(**{option: True})


def test_token_alone_reads_all_but_the_security_groups(sim: Simulator, fill: Fill, warnings: list[str]) -> None:
    token = {"session_id": None, "api_token": sim.token}
    inventory = fill(keyed_groups=KEYED, **token)
    assert inventory.groups.keys() >= {"images_image_1", "instance_offerings_offering_1", "affinity_groups_apart"}
    assert warnings[0].startswith(
        f"{sim.url}: skipped security_groups: no cursor query lists the NICs in security groups"
    )
    with pytest.raises(AnsibleParserError, match="no cursor query lists the NICs in security groups"):
        fill(security_groups=True, **token)


def test_names_are_cached(sim: Simulator, tmp_path: Path, fill: Fill) -> None:
    cache = {"cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    fill(cache=True, **cache, keyed_groups=KEYED[:1])
    inventory = fill(cache=True, **cache, keyed_groups=KEYED)
    assert len(inventory.groups["security_groups_web"].hosts) == VMS - 1


def test_the_image_of_a_vm_may_be_deleted(sim: Simulator, fill: Fill) -> None:
    sim.change("image", seeded_uuid("image", 1), status="Deleted")
    assert fill(images=True).hosts["vm-1"].vars["virtinfra_image_name"] == "image-1"


def test_names_of_the_service_are_no_templates(sim: Simulator, fill: Fill) -> None:
    sim.change("image", seeded_uuid("image", 1), name="{{ 'executed' }}")
    inventory = fill(images=True, compose={"copied": "virtinfra_image_name ~ ''"})
    assert inventory.hosts["vm-1"].vars["copied"] == "{{ 'executed' }}"


@pytest.mark.parametrize(
    ("nic", "outcome"),
    [
        ({"uuid": "r", "vmInstanceUuid": "v", "securityGroupUuid": "unseen"}, ["unseen"]),
        ({"uuid": "r", "securityGroupUuid": "unseen"}, "a record without vmInstanceUuid"),
    ],
)
def test_a_group_that_is_not_seen_is_not_hidden(tmp_path: Path, nic: dict[str, str], outcome: Any) -> None:
    records = {
        "vm-instances": [{"uuid": "v", "name": "vm", "state": "Running"}],
        "security-groups/vm-instances/nics": [nic],
    }

    def answer(request: StubRequest) -> StubResponse:
        found = records.get(request.path.partition("/v1/")[2], [])
        return StubResponse(200, {"inventories": found, "total": len(found)})

    with StubServer(answer) as service:
        source = Source(tmp_path, "vms", base_url=service.url, session_id="a-session", security_groups=True)
        if isinstance(outcome, str):
            with pytest.raises(AnsibleParserError, match=outcome):
                source.fill()
        else:
            assert source.fill().hosts["vm"].vars["virtinfra_security_group_names"] == outcome
