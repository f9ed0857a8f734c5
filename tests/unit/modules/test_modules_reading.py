"""The info modules: complete lists by queries and cursors, selected by uuid, name, conditions and filters."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.filter.to_datetime import FilterModule
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS, to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import LISTED_TYPES

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.collection import MODULES, ROOT, called_operations, module
from support.module_runner import ModuleRun, ModuleRunner
from support.query_fields import list_fields, list_related

NOWHERE = "f" * 32

# Each module that lists with a query, with the member of its result, the resource, and options for the test.
LISTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cbt_task_info": ("cbt_tasks", "cbttask", {}),
    "host_info": ("hosts", "host", {}),
    "primary_storage_info": ("primary_storages", "primarystorage", {}),
    "sns_endpoint_info": ("endpoints", "endpoint", {"type": "any"}),
    "sns_topic_subscriber_info": ("subscribers", "subscriber", {}),
    "vm_info": ("vms", "vm", {}),
    "vm_nic_info": ("nics", "vmnic", {}),
    "vm_snapshot_group_info": ("snapshot_groups", "snapshotgroup", {}),
}
NAMED = [name for name in LISTS if name not in ("sns_topic_subscriber_info", "vm_nic_info")]
MANY = {"hosts": 7, "vms": 7, "primary_storages": 7, "cbt_tasks": 7, "snapshot_groups": 7}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.reset(**MANY)
    return ModuleRunner(sim)


def list_records(run: ModuleRunner, lister: str, **options: Any) -> list[dict[str, Any]]:
    """Return the records that a module lists, after checking `changed` and the total."""
    member, dummy, usual = LISTS[lister]
    ran = run(lister, {**usual, **options})
    assert ran.calls == []
    return check_records(ran, member, options.get("limit"))


def check_records(ran: ModuleRun, member: str, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a successful result."""
    assert not ran.failed, ran.message
    assert ran.result.keys() == {"changed", member, "total"}
    assert not ran.changed
    records: list[dict[str, Any]] = ran[member]
    assert len(records) <= ran["total"]
    assert len(records) == ran["total"] or len(records) == limit
    return records


def uuids(records: list[dict[str, Any]]) -> list[str]:
    return sorted(str(record["uuid"]) for record in records)


# -------------------------------------------------------------------------------------------------------------- queries


def test_snapshot_groups_of_a_vm(run: ModuleRunner, sim: Simulator) -> None:
    """The groups of the VM are selected by its name or uuid, and combined with other conditions."""
    vm = seeded_uuid("vm", 3)
    (group,) = list_records(run, "vm_snapshot_group_info", vm="vm-3")
    assert (group["name"], group["vm_instance_uuid"]) == ("snapshot-group-3", vm)
    assert group["volume_snapshot_refs"][0].keys() == {
        *("volume_snapshot_uuid", "volume_uuid", "device_id", "snapshot_deleted")
    }
    assert group.pop("vm_instance_name") == "vm-3"
    assert list_records(run, "vm_snapshot_group_info", vm=vm) == [group]
    assert list_records(run, "vm_snapshot_group_info", vm=vm, name="snapshot-group-1") == []


@pytest.mark.parametrize("name", NAMED)
def test_all_are_listed(run: ModuleRunner, sim: Simulator, name: str) -> None:
    assert uuids(list_records(run, name)) == uuids(sim.records(LISTS[name][1]))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("single", [False, True])
def test_one_record_by_its_uuid(run: ModuleRunner, sim: Simulator, name: str, single: bool) -> None:
    """Servers return a list with one record or the record itself."""
    sim.configure(single_inventory=single)
    record = sim.records(LISTS[name][1])[0]
    assert uuids(list_records(run, name, uuid=record["uuid"])) == [record["uuid"]]
    assert list_records(run, name, uuid=NOWHERE) == []
    assert list_records(run, name, uuid=record["uuid"], name="another") == []
    assert uuids(list_records(run, name, uuid=record["uuid"], name=record["name"])) == [record["uuid"]]


@pytest.mark.parametrize("name", NAMED)
def test_all_of_a_name(run: ModuleRunner, sim: Simulator, name: str) -> None:
    kind = LISTS[name][1]
    first, second = (str(record["uuid"]) for record in sim.records(kind)[:2])
    for uuid in (first, second):
        sim.change(kind, uuid, name="twins >= one")
    assert uuids(list_records(run, name, name="twins >= one")) == sorted([first, second])
    assert list_records(run, name, name="twins") == []


@pytest.mark.parametrize("name", NAMED)
def test_conditions_are_the_services(run: ModuleRunner, sim: Simulator, name: str) -> None:
    record = sim.records(LISTS[name][1])[0]
    conditions = [f"uuid={record['uuid']}", f"name={record['name']}"]
    assert uuids(list_records(run, name, query=conditions)) == [record["uuid"]]
    assert list_records(run, name, query=[*conditions, "name=another"]) == []
    assert list_records(run, name, query=conditions, name="another") == []
    assert list_records(run, name, query=["name=another"], uuid=record["uuid"]) == []


@pytest.mark.parametrize("name", LISTS)
def test_limit(run: ModuleRunner, name: str) -> None:
    ran = run(name, {**LISTS[name][2], "limit": 1})
    assert len(check_records(ran, LISTS[name][0], 1)) == 1
    assert ran["total"] == len(list_records(run, name)) > 1
    refused = run(name, {"limit": 0})
    assert refused.message == "limit must be at least 1"
    assert refused.log == []


@pytest.mark.parametrize("name", LISTS)
def test_missing_object(run: ModuleRunner, sim: Simulator, name: str) -> None:
    sim.reset(hosts=0, vms=0, cbt_tasks=0)
    other = {"sns_topic_subscriber_info": {"topic": NOWHERE}, "vm_nic_info": {"vm": NOWHERE}}
    options = other.get(name, {"name": "nobody"})
    assert list_records(run, name, **options) == []


@pytest.mark.parametrize("name", LISTS)
def test_invalid_condition(run: ModuleRunner, name: str) -> None:
    for condition in ("colour=blue", "state"):
        ran = run(name, {**LISTS[name][2], "query": [condition]})
        assert ran.failed
        assert ran.message.startswith("query 'state' is not a condition" if condition == "state" else "Query")


def test_conditions_with_spaces_mean_the_same(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", sim.records("host")[0]["uuid"], state="Disabled")
    for query, number in (("state = Enabled", 6), ("state != Enabled", 1), (" state  ?= Enabled, Disabled ", 7)):
        assert len(list_records(run, "host_info", query=[query])) == number


def test_condition_that_services_misread_is_checked_locally(run: ModuleRunner, sim: Simulator) -> None:
    first, second = sim.records("host")[:2]
    for host in (first, second):
        sim.change("host", host["uuid"], description="a>=b")
    ran = run("host_info", {"query": ["description=a>=b", "state=Enabled"], "limit": 1})
    assert [record["uuid"] for record in ran["hosts"]] == [first["uuid"]]
    assert ran["total"] == 2
    assert {tuple(query["q"]) for query in ran.queries("QueryHost")} == {("description~=a__b", "state=Enabled")}
    assert len(list_records(run, "host_info", query=["description=a>=b"], name=second["name"])) == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "state == 'Enabled'",
            "query \"state == 'Enabled'\" has the operator ==, which services do not know. Write state=Enabled.",
        ),
        ("state==Enabled", "query 'state==Enabled' has the operator ==, which services do not know. Write =."),
        ("stat=Enabled", "query 'stat=Enabled': hosts have no field stat. Did you mean state?"),
    ],
)
def test_invalid_condition_is_not_sent(run: ModuleRunner, query: str, message: str) -> None:
    ran = run("host_info", {"query": [query]})
    assert ran.message.startswith(message)
    assert ran.log == []


def test_fields_of_other_resources_and_tags_are_sent(run: ModuleRunner, sim: Simulator) -> None:
    nic = sim.records("vmnic")[0]
    (vm,) = list_records(run, "vm_info", query=[f"vmNics.uuid = {nic['uuid']}"])
    assert vm["uuid"] == nic["vmInstanceUuid"]
    ran = run("vm_info", {"query": ["__systemTag__ = x"]})
    assert ran.queries("QueryVmInstance")[0]["q"] == ["__systemTag__=x"]


def test_nested_records_have_all_their_fields(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(null_members=False, **MANY)
    for vm in list_records(run, "vm_info"):
        for kind, records in (
            ("Volume", vm["all_volumes"]),
            ("CdRom", vm["vm_cd_roms"]),
            ("VmNicInventory", vm["vm_nics"]),
        ):
            assert records
            assert all({to_snake_case(field) for field in RECORD_FIELDS[kind]} <= record.keys() for record in records)
        for nic in vm["vm_nics"]:
            assert all(
                {to_snake_case(field) for field in RECORD_FIELDS["UsedIp"]} <= used.keys() for used in nic["used_ips"]
            )


def test_interfaces_have_all_their_fields(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(null_members=False, **MANY)
    hosts = [host["uuid"] for host in sim.records("host")]
    nic = {to_snake_case(field) for field in RECORD_FIELDS["HostNetworkInterface"]}
    for host in run("host_network_info", {"hosts": hosts})["hosts"]:
        assert [each for each in host["nics"] if each["bonding_uuid"] is None]
        assert all(nic <= each.keys() for each in host["nics"])
        for bonding in host["bondings"]:
            assert {to_snake_case(field) for field in RECORD_FIELDS["Bonding"]} <= bonding.keys()
            assert all(nic <= slave.keys() for slave in bonding["slaves"])
    candidates = run("host_nic_candidate_info", {"hosts": hosts})["candidate_nics"]
    assert candidates
    assert all(
        {to_snake_case(field) for field in RECORD_FIELDS["CandidateNetworkInterface"]} <= each.keys()
        for each in candidates
    )


@pytest.mark.parametrize("name", NAMED)
def test_one_form_of_results_for_all_services(run: ModuleRunner, sim: Simulator, name: str) -> None:
    query = called_operations(name)[1 if name == "sns_endpoint_info" else 0]
    documented = {to_snake_case(field) for field in RECORD_FIELDS[get_operation(query).record]}
    for null_members in (False, True):
        sim.configure(null_members=null_members)
        assert all(documented <= record.keys() for record in list_records(run, name))


def test_more_than_a_page(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(hosts=1203, vms=0)
    assert len(list_records(run, "host_info")) == 1203
    assert len(list_records(run, "host_info", limit=1001)) == 1001


def test_subscribers_by_topic_and_endpoint(run: ModuleRunner, sim: Simulator) -> None:
    first, second = sim.records("subscriber")[:2]
    assert len(list_records(run, "sns_topic_subscriber_info", topic=first["topicUuid"])) == 2
    (one,) = list_records(run, "sns_topic_subscriber_info", endpoint=second["endpointUuid"])
    assert one["endpoint_uuid"] == second["endpointUuid"]
    both = {"topic": first["topicUuid"], "endpoint": NOWHERE}
    assert list_records(run, "sns_topic_subscriber_info", **both) == []
    assert list_records(run, "sns_topic_subscriber_info", query=[f"endpointUuid={NOWHERE}"]) == []


def test_workchat_endpoints_have_their_url_and_persons(run: ModuleRunner) -> None:
    chat = {"type": "workchat", "name": "operators", "url": "https://chat.example.com/?key=8f14e45f"}
    run("sns_endpoint", {**chat, "at_person_user_ids": ["user-1"]})
    (endpoint,) = check_records(run("sns_endpoint_info", {"type": "workchat"}), "endpoints")
    assert endpoint["url"] == "https://chat.example.com/********"
    assert endpoint["at_person_user_ids"] == ["user-1"]
    assert endpoint["platform"]["type"] == "WorkChat"
    (found,) = check_records(run("sns_endpoint_info", {"name": "operators"}), "endpoints")
    assert {**found, **endpoint} == found
    assert "8f14e45f" not in str(run("sns_endpoint_info", {}).result)


def test_endpoints_of_all_types_have_the_uuids_of_their_platform_and_persons(run: ModuleRunner, sim: Simulator) -> None:
    """The modules that manage platforms and persons have options for their uuids."""
    endpoints = {endpoint["uuid"]: endpoint for endpoint in check_records(run("sns_endpoint_info", {}), "endpoints")}
    assert endpoints.keys() == {endpoint["uuid"] for endpoint in sim.records("endpoint")}
    for person in sim.records("person"):
        persons = endpoints[person["endpointUuid"]]["persons"]
        (shown,) = [shown for shown in persons if shown["uuid"] == person["uuid"]]
        assert (shown["user_id"], shown["remark"]) == (person["userId"], person["remark"])
        run.idle("sns_teamchat_person", {"uuid": shown["uuid"], "user_id": shown["user_id"]})
    snmp = next(endpoint for endpoint in endpoints.values() if endpoint["type"] == "Snmp")
    assert snmp["persons"] == []
    run.idle("sns_snmp_platform", {"uuid": snmp["platform_uuid"]})


def test_workchat_endpoints_are_listed_if_other_types_are_not(run: ModuleRunner, sim: Simulator) -> None:
    run("sns_endpoint", {"type": "workchat", "name": "operators", "url": "https://chat.example.com/"})
    sim.configure(companions="404")
    ran = run("sns_endpoint_info", {})
    (endpoint,) = check_records(ran, "endpoints")
    assert (endpoint["name"], endpoint["persons"]) == ("operators", None)
    (warning,) = ran.warnings
    assert warning.startswith("Only workchat endpoints are listed: the service does not offer QuerySNSApplicationEndp")
    assert run("sns_endpoint_info", {"type": "any"})["error"]["code"] == "UNSUPPORTED"


def test_workchat_query_with_empty_records(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(workchat_query_empty=True)
    ran = run("sns_endpoint_info", {"type": "workchat"})
    assert ran.message == "the response to QuerySNSWorkchatEndpoint has no inventories"
    assert len(check_records(run("sns_endpoint_info", {}), "endpoints")) == len(sim.records("endpoint"))


def test_cbt_tasks_of_a_vm(run: ModuleRunner, sim: Simulator) -> None:
    """A task is found by any of its VMs."""
    sim.reset(cbt_tasks=0)
    first, second, third = (vm["uuid"] for vm in sim.records("vm")[:3])
    pair = {"name": "pair", "task_type": "VmInstance", "vms": [second, third]}
    run("cbt_task", {"name": "single", "vm": first})
    run("cbt_task", pair)
    for vm, name in ((first, "single"), (second, "pair"), (third, "pair")):
        (task,) = check_records(run("cbt_task_info", {"vm": vm, "limit": 1}), "cbt_tasks")
        assert task["name"] == name
    assert (task["vm_instance_uuid"], task["resource_uuids"]) == (second, [second, third])
    assert check_records(run("cbt_task_info", {"vm": NOWHERE}), "cbt_tasks") == []
    assert check_records(run("cbt_task_info", {"vm": third, "name": "single"}), "cbt_tasks") == []


def test_cbt_tasks_of_a_vm_where_records_do_not_show_it(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(cbt_tasks=0)
    vm = sim.records("vm")[0]["uuid"]
    run("cbt_task", {"name": "single", "vm": vm})
    sim.configure(extra_members=False)
    (task,) = check_records(run("cbt_task_info", {}), "cbt_tasks")
    assert (task["vm_instance_uuid"], task["resource_uuids"]) == (None, None)
    ran = run("cbt_task_info", {"vm": vm})
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert "does not show the VMs" in ran.message


# -------------------------------------------------------------------------------------------------- queries and cursors


@pytest.mark.parametrize(("name", "lacking"), [("host_info", {}), ("vm_info", {"companions": "404"})])
def test_read_with_a_cursor_without_a_query(
    run: ModuleRunner, sim: Simulator, name: str, lacking: dict[str, Any]
) -> None:
    """Without a session there is no query, nor on a server that does not list the collection."""
    sim.configure(**lacking)
    session = sim.session if lacking else None
    member, kind, dummy = LISTS[name]
    record = sim.records(kind)[-1]
    for options, expected in (
        ({}, sim.records(kind)),
        ({"uuid": record["uuid"]}, [record]),
        ({"name": record["name"]}, [record]),
        ({"name": record["name"], "limit": 1}, [record]),
        ({"name": "nobody"}, []),
        ({"filters": [f"name={record['name']}"]}, [record]),
    ):
        ran = run(name, options, session_id=session)
        assert uuids(check_records(ran, member)) == uuids(expected)
        assert "CursorQuery" in [entry["operation"] for entry in ran.log]
    limited = run(name, {"limit": 2}, session_id=session)
    assert len(check_records(limited, member, 2)) == 2
    assert limited["total"] == 7


def test_conditions_are_checked_locally_with_a_cursor(run: ModuleRunner, sim: Simulator) -> None:
    for query in (["state=Running"], ["platform = Windows", "cpuNum>=2"], ["description not null", "name!=vm-1"]):
        sim.configure(companions="present")
        expected = run("vm_info", {"query": query, "limit": 1})
        everything = uuids(list_records(run, "vm_info", query=query))
        sim.configure(companions="404")
        ran = run("vm_info", {"query": query, "limit": 1})
        assert (len(ran["vms"]), ran["total"]) == (1, expected["total"])
        assert uuids(list_records(run, "vm_info", query=query)) == everything != []
    alone = run("vm_info", {"query": ["state=Running"]}, session_id=None)
    assert {vm["state"] for vm in alone["vms"]} == {"Running"}
    refused = run("vm_info", {"query": ["vmNics.l3Network.name=l3-1"]})
    assert refused["error"]["code"] == "UNSUPPORTED"
    assert "does not offer QueryVmInstance" in refused.message
    assert "only the service can check the condition 'vmNics.l3Network.name=l3-1'" in refused.message


@pytest.mark.parametrize("name", ["host_info", "vm_info"])
def test_filters_choose_the_cursor(run: ModuleRunner, sim: Simulator, name: str) -> None:
    """Filters need the cursor query, even if there is a session."""
    member, kind, dummy = LISTS[name]
    record = sim.records(kind)[0]
    filters = [f"name={record['name']}"]
    ran = run(name, {"filters": filters})
    assert uuids(check_records(ran, member)) == [record["uuid"]]
    assert [query["filter"] for query in ran.queries("CursorQuery")] == [filters]
    assert check_records(run(name, {"filters": filters, "name": "another"}), member) == []
    both = run(name, {"filters": filters, "query": ["state=Enabled"]})
    assert both.message.startswith("query and filters are mutually exclusive")
    assert both.log == []
    ran = run(name, {"filters": filters}, api_token=None)
    assert ran.message == (
        "CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment). It is for filters. The option query,"
        " and the filter sort for a result, need none."
    )
    assert ran.log == []


def test_neither_query_nor_cursor(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(companions="404")
    ran = run("vm_info", {}, api_token=None)
    assert ran.message == (
        "the service does not offer QueryVmInstance (HTTP status 404 for GET"
        " /service/v1/vm-instances);"
        " CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment)"
    )
    assert ran["error"]["code"] == "UNSUPPORTED"


@pytest.mark.parametrize("name", ["host_info", "vm_info"])
def test_uuid_in_a_condition_matches_in_any_spelling(run: ModuleRunner, name: str) -> None:
    kind = name.removesuffix("_info")
    spelled = str(UUID(seeded_uuid(kind, 1))).upper()
    assert run(name, {"query": [f"uuid = {spelled}"]})["total"] == 1
    assert run(name, {"query": [f"uuid ?= {spelled}, {seeded_uuid(kind, 2)}"]})["total"] == 2


# ------------------------------------------------------------------------------------------------ resources of any type

# The types with a query, as the documentation spells them.
TYPES = re.findall(r"V\((\w+)\)", str(module("resource_info").options["resource_type"]["description"]))
TYPES_OF_COMPANIONS = ["cluster", "l3_network", "snapshot_group", "topic", "volume", "zone"]


def resources(run: ModuleRunner, **options: Any) -> list[dict[str, Any]]:
    """Run resource_info and return the records that it lists. ``options`` may also override the connection."""
    return check_records(run("resource_info", options), "resources", options.get("limit"))


def test_types_with_a_query_are_documented() -> None:
    assert [name.replace("_", "") for name in TYPES] == list(LISTED_TYPES)


@pytest.mark.parametrize("resource_type", TYPES)
def test_resources_are_listed_by_session_or_token(run: ModuleRunner, sim: Simulator, resource_type: str) -> None:
    sim.configure(null_members=False)
    kind = resource_type.replace("_", "")
    expected = sim.records(kind)
    assert expected
    fields = {to_snake_case(field) for field in RECORD_FIELDS[LISTED_TYPES[kind].record]}
    for spelled in (resource_type, kind):
        queried = resources(run, resource_type=spelled, api_token=None)
        assert len(queried) == len(expected)
        assert all(fields <= record.keys() for record in queried)
        walked = resources(run, resource_type=spelled, session_id=None)
        assert sorted(map(str, walked)) == sorted(map(str, queried))
    if "uuid" in expected[0]:
        assert uuids(queried) == uuids(expected)


@pytest.mark.parametrize("resource_type", TYPES_OF_COMPANIONS)
@pytest.mark.parametrize("credential", ["api_token", "session_id"])
def test_resources_are_selected(run: ModuleRunner, sim: Simulator, resource_type: str, credential: str) -> None:
    """Without a session a cursor query lists the records, and the module selects among them."""
    first, *others = sim.records(resource_type.replace("_", ""))
    shared = {"resource_type": resource_type, credential: None}
    for options in ({"uuid": first["uuid"]}, {"name": first["name"]}, {"query": [f"name={first['name']}"]}):
        assert uuids(resources(run, **shared, **options)) == [first["uuid"]]
    assert resources(run, **shared, uuid=NOWHERE) == resources(run, **shared, name="nobody") == []
    assert len(resources(run, **shared, limit=1)) == 1
    assert len(resources(run, **shared, query=[f"name!={first['name']}"])) == len(others)


@pytest.mark.parametrize("resource_type", TYPES_OF_COMPANIONS)
def test_resources_are_listed_by_a_cursor_where_a_service_lacks_the_query(
    run: ModuleRunner, sim: Simulator, resource_type: str
) -> None:
    sim.configure(all_companions=False)
    kind = resource_type.replace("_", "")
    ran = run("resource_info", {"resource_type": resource_type})
    assert uuids(check_records(ran, "resources")) == uuids(sim.records(kind))
    refused = run("resource_info", {"resource_type": resource_type}, api_token=None)
    assert refused["error"]["code"] == "UNSUPPORTED"
    assert re.fullmatch(
        r"the service does not offer Query\w+ \(HTTP status 404 for GET /service/v1/[\w/-]+\);"
        r" CursorQuery needs"
        r" api_token \(or VIRTINFRA_API_TOKEN in the environment\)(\. Of the known servers, only ZSvirt has it\.)?",
        refused.message,
    )


@pytest.mark.parametrize("option", [{"filters": ["name=zone-1"]}, {"sort": "name"}, {"order": "desc"}])
def test_filters_and_an_order_choose_the_cursor(run: ModuleRunner, option: dict[str, Any]) -> None:
    ran = run("resource_info", {"resource_type": "zone", **option})
    assert len(check_records(ran, "resources")) == 1
    assert [entry["operation"] for entry in ran.log] == ["CursorQuery"]
    assert {entry["operation"] for entry in run("resource_info", {"resource_type": "zone"}).log} == {"QueryZone"}


def test_types_without_a_query_are_listed_by_a_cursor(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryBackupStorage"])
    (storage,) = sim.records("backupstorage")
    assert uuids(resources(run, resource_type="backup_storage", name=storage["name"])) == [storage["uuid"]]
    refused = run("resource_info", {"resource_type": "backup_storage", "query": ["state=Enabled"]})
    assert refused.message.startswith("the service does not offer QueryBackupStorage")
    assert refused.message.endswith("only the service can check the condition 'state=Enabled'")


def test_misspelled_condition_on_resources_is_not_sent(run: ModuleRunner) -> None:
    ran = run("resource_info", {"resource_type": "cluster", "query": ["zoneUid=1"]})
    assert ran.message.startswith("query 'zoneUid=1': clusters have no field zoneUid. Did you mean zoneUuid?")
    assert ran.log == []


# -------------------------------------------------------------------------------------------------------------- cursors


@pytest.mark.parametrize("page_size", [1, 3, 7, 1000])
def test_cursor_is_read_to_its_end(run: ModuleRunner, sim: Simulator, page_size: int) -> None:
    ran = run("resource_info", {"resource_type": "host", "page_size": page_size}, session_id=None)
    assert uuids(check_records(ran, "resources")) == uuids(sim.records("host"))
    assert len(ran.log) == -(-7 // page_size)


def test_cursor_with_a_limit(run: ModuleRunner) -> None:
    ran = run("resource_info", {"resource_type": "host", "page_size": 2, "limit": 3}, session_id=None)
    assert len(check_records(ran, "resources", 3)) == 3
    assert ran["total"] == 7
    assert len(ran.log) == 2


def test_cursor_without_records(run: ModuleRunner) -> None:
    assert check_records(run("resource_info", {"resource_type": "host", "filters": ["name=nobody"]}), "resources") == []


@pytest.mark.parametrize("option", ["page_size", "limit"])
def test_pages_and_limits_must_be_positive(run: ModuleRunner, option: str) -> None:
    ran = run("resource_info", {"resource_type": "host", option: 0})
    assert ran.message == f"{option} must be at least 1"
    assert ran.log == []


@pytest.mark.parametrize("answer", ["text", "error"])
def test_cursor_that_expires(run: ModuleRunner, sim: Simulator, answer: str) -> None:
    sim.configure(cursor_lifetime=0.0, cursor_expired=answer)
    ran = run("resource_info", {"resource_type": "host", "page_size": 2}, session_id=None)
    assert ran.message.startswith("CursorNext failed")
    assert "is unknown or expired" in ran.message
    assert "resources" not in ran.result


def test_cursor_that_repeats(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(cursor_repeat=True)
    ran = run("resource_info", {"resource_type": "host", "page_size": 2}, session_id=None)
    assert "the cursor for host repeats itself after" in ran.message
    assert len(ran.log) <= 7


def test_cursor_whose_total_shrinks(run: ModuleRunner, sim: Simulator) -> None:
    """The list is complete, and the total is not smaller than the list."""
    sim.configure(cursor_shrink=True)
    ran = run("resource_info", {"resource_type": "host", "page_size": 2}, session_id=None)
    assert uuids(check_records(ran, "resources")) == uuids(sim.records("host"))


def test_cursor_needs_its_token(run: ModuleRunner, sim: Simulator) -> None:
    ran = run("resource_info", {"resource_type": "host", "sort": "name"}, api_token=None)
    assert ran.message.startswith(
        "CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment). It is for sort."
    )
    sim.configure(token_expired=True)
    assert "ID.1001" in run("resource_info", {"resource_type": "host"}, session_id=None).message


def test_unknown_type_of_resource(run: ModuleRunner) -> None:
    ran = run("resource_info", {"resource_type": "unicorn"})
    assert "CursorQuery failed (SYS.1007)" in ran.message
    assert "unicorn" in ran.message
    ran = run("resource_info", {"resource_type": "unicorn"}, api_token=None)
    assert ran.message.startswith("no query is known for the resource type unicorn; CursorQuery needs api_token")


# ----------------------------------------------------------------------------------------------------------- timestamps


def test_every_timestamp_of_the_service_can_be_filtered(run: ModuleRunner, sim: Simulator) -> None:
    to_datetime = FilterModule().filters()["to_datetime"]
    for timestamps in ("mixed", "plain"):
        sim.configure(timestamps=timestamps)
        for record in list_records(run, "vm_info"):
            for nested in (record, *record["vm_nics"], *record["all_volumes"]):
                created, changed = (to_datetime(nested[name]) for name in ("create_date", "last_op_date"))
                assert "2024-" < created <= changed


@pytest.mark.parametrize(
    "text", ["", "yesterday", None, "2024-01-06T03:51:16", "Jan 6, 2024 13:51:16 AM", "Jan 32, 2024 1:51:16 AM"]
)
def test_filter_refuses_what_is_no_timestamp(text: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^to_datetime: "):
        FilterModule().filters()["to_datetime"](text)


def test_documented_fields_of_queries_are_those_of_the_service(run: ModuleRunner) -> None:
    """Each type can be queried by each of its fields, and by a field of each type of related objects."""
    refused = []
    for kind, resource_type in LISTED_TYPES.items():
        related = [f"{name}.uuid" for name in list_related(resource_type)]
        for field in (*list_fields(resource_type.record), *related):
            ran = run("resource_info", {"resource_type": kind, "query": [f"{field} not null"], "api_token": None})
            refused += [f"{kind}: {ran.message}"] if ran.failed else []
    assert refused == []


def test_pages_of_lists_and_inventories_document_the_fields_of_queries() -> None:
    """Each page that documents the option query documents the fields of its records."""
    lists = [name for name in MODULES if "query" in module(name).options]
    assert sorted(lists) == sorted([*LISTS, "resource_info"])
    notes = {name: [note for note in module(name).documentation["notes"] if "O(query) are" in note] for name in lists}
    for lister in LISTS:
        (fields,) = notes[lister]
        assert set(re.findall(r"C\((\w+)\)", fields)) == {*list_fields(LISTED_TYPES[LISTS[lister][1]].record)}
    assert any("guide_records" in note for note in module("resource_info").documentation["notes"])
    for path in (ROOT / "plugins" / "inventory").glob("*.py"):
        assert "virtinfra.manager._query_fields." in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("value", ["2024-01-06T08:00:00", "Jan 6, 2024 8:00:00 AM", "Jan 6, 2024, 8:00:00\u202fAM"])
def test_dates_in_conditions_select_by_time(run: ModuleRunner, value: str) -> None:
    """A service takes dates in the form of its replies for a date before all others."""
    for name, options in (("vm_info", {}), ("resource_info", {"resource_type": "vm"})):
        ran = run(name, {**options, "query": [f"createDate>{value}"]})
        assert sorted(vm["name"] for vm in ran["vms" if name == "vm_info" else "resources"]) == ["vm-5", "vm-6", "vm-7"]
    refused = run("vm_info", {"query": ["createDate>yesterday"]})
    assert refused["error"]["code"] == "INVALID"
    assert refused.log == []


@pytest.mark.parametrize(
    ("module", "key", "kind", "resource_type"),
    [("vm_info", "vms", "vm", "VmInstanceVO"), ("host_info", "hosts", "host", "HostVO")],
)
def test_user_tags_need_one_more_query(
    sim: Simulator, run: ModuleRunner, module: str, key: str, kind: str, resource_type: str
) -> None:
    """Only if they are asked for: that of one object, or one for all."""
    sim.reset(user_tags=0)
    first, second = (record["uuid"] for record in sim.records(kind)[:2])
    for uuid, tag in ((first, "b"), (first, "a"), (second, "c")):
        params = {"resourceType": resource_type, "resourceUuid": uuid, "tag": tag}
        run("api", {"operation": "CreateUserTag", "params": params})
    assert "tags" not in run(module, {})[key][0]
    ran = run(module, {"include_tags": True})
    tags = {record["uuid"]: record["tags"] for record in ran[key]}
    assert (tags.pop(first), tags.pop(second), {*map(str, tags.values())}) == (["a", "b"], ["c"], {"[]"})
    assert len(ran.queries("QueryUserTag")) == 1
    one = run(module, {"uuid": second, "include_tags": True})
    assert (one[key][0]["tags"], one.queries("QueryUserTag")[0]["q"]) == (["c"], [f"resourceUuid={second}"])
    assert not run(module, {"name": "nowhere", "include_tags": True}).queries("QueryUserTag")
    sim.configure(missing_operations=["QueryUserTag"])
    assert run(module, {"include_tags": True}).failed


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ({"name": "vm-*"}, "name 'vm-*' is no pattern. Write query: ['name~=vm-%']."),
        ({"name": "vm-1, vm-3"}, "name 'vm-1, vm-3' is one name. Write query: ['name?=vm-1,vm-3']."),
        (
            {"query": ["name='vm-1'"]},
            "the condition \"name='vm-1'\": the quotes are part of the value. Write name=vm-1.",
        ),
        (
            {"query": ["clusterUuid=cluster-1", f"hostUuid={'f' * 32}"]},
            "the condition 'clusterUuid=cluster-1': clusterUuid is a uuid. Write cluster.name=cluster-1.",
        ),
        (
            {"query": ["state=Running,Stopped"]},
            "the condition 'state=Running,Stopped': = compares with one value. Write state?=Running,Stopped.",
        ),
        ({"query": ["name~=^vm"]}, "the condition 'name~=^vm': there are no regular expressions. Write name~=vm%."),
        (
            {"query": ["name~=^vm-[12]$"]},
            "the condition 'name~=^vm-[12]$': there are no regular expressions. Write name?=vm-1,vm-2.",
        ),
        ({"query": ["uuid=vm-1"]}, "the condition 'uuid=vm-1': uuid is a uuid. Write name=vm-1."),
        (
            {"query": ["name?=vm-1; vm-2|vm-3"]},
            "the condition 'name?=vm-1; vm-2|vm-3': values are separated by commas. Write name?=vm-1,vm-2,vm-3.",
        ),
        (
            {"query": ["vmNics.ip=10.101.0.0/16"]},
            (
                "the condition 'vmNics.ip=10.101.0.0/16': it compares with one address, not with a range. Write"
                " vmNics.ip~=10.101.%."
            ),
        ),
        (
            {"query": ["vmNics.mac=FA-00-00-00-00-01"]},
            (
                "the condition 'vmNics.mac=FA-00-00-00-00-01': services write addresses of NICs with colons. Write"
                " vmNics.mac=fa:00:00:00:00:01."
            ),
        ),
        (
            {"query": ["name=vm-1", "name=vm-2"]},
            "name is compared with 2 values, and all conditions must hold. Write name?=vm-1,vm-2.",
        ),
        (
            {"query": ["name?=[vm-1, 'vm-3']"]},
            "the condition \"name?=[vm-1, 'vm-3']\": the brackets are part of the values. Write name?=vm-1,vm-3.",
        ),
    ],
)
def test_nothing_is_found_without_a_word(
    run: ModuleRunner, sim: Simulator, options: dict[str, Any], warning: str
) -> None:
    """The query that the warning proposes finds VMs. A VM that has the name as it was given is found without it."""
    assert (run("vm_info", options)["vms"], run("vm_info", options).warnings) == ([], [warning])
    correct = re.search(r"Write (?:query: \[')?(.*?)(?:'\])?\.$", warning)
    assert correct
    assert run("vm_info", {"query": [correct[1]]})["vms"]
    if "name" in options:
        sim.change("vm", sim.records("vm")[0]["uuid"], name=options["name"])
        found = run("vm_info", options)
        assert (len(found["vms"]), found.warnings) == (1, [])


@pytest.mark.parametrize(
    ("module", "options", "kind"),
    [("vm_info", {}, "vm"), ("host_info", {}, "host"), ("resource_info", {"resource_type": "cluster"}, "cluster")],
)
def test_a_uuid_given_as_a_name(
    run: ModuleRunner, sim: Simulator, module: str, options: dict[str, Any], kind: str
) -> None:
    uuid = sim.records(kind)[0]["uuid"]
    ran = run(module, {**options, "name": uuid})
    assert (ran["total"], ran.warnings) == (0, [f"name '{uuid}' looks like a uuid. Write uuid: {uuid}."])
    assert run(module, {**options, "uuid": uuid})["total"] == 1


def test_related_objects_of_other_names(run: ModuleRunner) -> None:
    """The service refuses them in its own words."""
    for name, field, meant in (
        ("vm_nic_info", "vm.name", "vmInstance.name"),
        ("vm_info", "l3Network.name", "vmNics.l3Network.name"),
        ("vm_info", "volumes.name", "allVolumes.name"),
    ):
        message = run(name, {"query": [f"{field}=a"]}).message
        assert "failed (SYS.1000)" in message
        assert message.endswith(f" Did you mean {meant}?")
        assert not run(name, {"query": [f"{meant}=a"]}).failed


# ------------------------------------------------------------------------------------------------------------ consoles


def test_console_of_a_vm_that_runs_is_read(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("vm_info", {"query": ["name?=vm-1,vm-2"], "console": True})
    consoles = {vm["name"]: vm["console"] for vm in ran["vms"]}
    assert consoles == {"vm-1": {"protocol": "vnc", "host_ip": "10.0.0.11", "port": 5900}, "vm-2": None}
    assert [entry["operation"] for entry in ran.log].count("GetVmConsoleAddress") == 1
    assert all("console" not in vm for vm in run("vm_info", {"name": "vm-1"})["vms"])


def test_console_that_cannot_be_read_fails_the_task(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(missing_operations=["GetVmConsoleAddress"])
    ran = run("vm_info", {"name": "vm-1", "console": True})
    assert "console of vm-1: the service does not offer GetVmConsoleAddress" in ran.message
