"""What a task returns about its object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS, Record
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import SUCCEEDED, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import (
    Current,
    Found,
    Missing,
    Predicted,
    Unreadable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.results import (
    describe_remaining,
    describe_target,
    extract_extras,
    find_unchanged_state,
    find_unmet_expectations,
    find_unreached_fields,
    format_diff,
    format_pending_job,
    format_predicted_job,
    format_record,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import (
    PlannedCall,
    Settling,
    StateTransition,
)
from ansible_collections.virtinfra.manager.plugins.modules.cbt_task import CBT_TASK
from ansible_collections.virtinfra.manager.plugins.modules.host_nic_service import SERVICES
from ansible_collections.virtinfra.manager.plugins.modules.kvm_host import KVM_HOST

UUID = "a" * 32
HOST = {"uuid": UUID, "name": "host-1", "state": "Enabled", "status": "Connected"}
MOVED = Settling(must_reach=("hostUuid",))
MIGRATION = PlannedCall("MigrateVm", {"uuid": UUID}, {"uuid": UUID, "hostUuid": "h2"}, settling=MOVED)


@pytest.mark.parametrize(
    ("params", "noun", "label"),
    [
        ({"name": "web", "managementIp": "192.0.2.1", "uuid": UUID}, "vm", "vm web"),
        ({"uuid": UUID, "managementIp": "192.0.2.1"}, "host", "host 192.0.2.1"),
        ({"uuid": UUID, "name": None, "vmInstanceUuid": "v"}, "vm", f"vm {UUID}"),
        ({"uuid": UUID}, "", UUID),
        ({"vmInstanceUuid": "v", "ip": "192.0.2.1"}, "nic", "nic of vm v"),
        ({"vmInstanceUuid": "v", "l3NetworkUuid": "l"}, "", "vm v, l3_network l"),
        ({"volumeUuids": ["a"], "vmInstanceUuid": None}, "export", "export of volumes a"),
        ({"volumeUuids": ["a", "b", "c"]}, "", "volumes a and 2 more"),
        ({"volumeUuids": []}, "export", "export"),
        ({}, "", ""),
    ],
)
def test_object_in_a_message(params: Record, noun: str, label: str) -> None:
    assert describe_target(params, noun) == label


def test_handle_of_a_job_is_returned_while_it_runs() -> None:
    handle = {
        "uuid": UUID,
        "job_uuid": None,
        "location": "/jobs/1",
        "operation": "AddKVMHost",
        "object": None,
        "state": "running",
    }
    assert format_pending_job(Job(UUID, "/jobs/1", "AddKVMHost")) == {"job": handle}
    assert format_pending_job(Job(UUID, "/jobs/1", "AddKVMHost", state=SUCCEEDED)) == {}
    unknown = {
        "uuid": None,
        "job_uuid": None,
        "location": None,
        "operation": "AddKVMHost",
        "object": None,
        "state": "unknown",
    }
    assert format_predicted_job("AddKVMHost", wait=False) == {"job": unknown}
    assert format_predicted_job("AddKVMHost", wait=True) == {}


def test_record_has_all_fields_of_its_type() -> None:
    host = format_record(KVM_HOST, HOST)["host"]
    assert (host["name"], host["management_ip"], len(host)) == ("host-1", None, len(RECORD_FIELDS["HostInventory"]))
    assert format_record(KVM_HOST, None) == {"host": None}


def test_extras_of_a_reply_are_what_is_not_the_record() -> None:
    """Records of another type are completed; what is no record is dropped."""
    assert extract_extras(KVM_HOST, "AddKVMHost", {"inventory": HOST}) == {}
    nic = {"uuid": UUID, "ip": "192.0.2.1"}
    extras = extract_extras(KVM_HOST, "QueryVmNic", {"inventories": [nic, "text"]})
    assert extras == {"records": [{**dict.fromkeys(RECORD_FIELDS["VmNicInventory"]), **nic}]}
    assert extract_extras(KVM_HOST, "QueryVmNic", {"inventories": "text"}) == {}


REMOVAL = replace(CBT_TASK, transitions={"absent": StateTransition("DisableCbtTask", "status", ("Stopped",))})
STOP = PlannedCall("DisableCbtTask", {"uuid": UUID}, {"uuid": UUID, "status": "Stopped"})


@pytest.mark.parametrize(
    ("state", "call", "before", "after", "unchanged"),
    [
        ("absent", STOP, {"status": "Running"}, {"status": "Running"}, "status is still Running"),
        ("absent", STOP, {"status": "Running"}, {"status": "Stopped"}, None),
        ("absent", STOP, {"status": "Running"}, {"status": "Stopping"}, None),
        ("absent", STOP, {"status": "Running"}, {"status": None}, None),
        ("absent", STOP, {"status": "Running"}, {"uuid": UUID}, None),
        ("absent", STOP, {"status": "Stopped"}, {"status": "Stopped"}, None),
        ("absent", STOP, {"status": "Running"}, None, None),
        ("absent", STOP, None, {"status": "Running"}, None),
        ("absent", STOP._replace(expected=None), {"status": "Running"}, {"status": "Running"}, None),
        ("enabled", STOP, {"status": "Running"}, {"status": "Running"}, None),
    ],
)
def test_step_of_a_removal_that_changed_nothing(
    state: str, call: PlannedCall, before: Record | None, after: Record | None, unchanged: str | None
) -> None:
    assert find_unchanged_state(REMOVAL, state, call, before, after) == unchanged
    assert find_unchanged_state(CBT_TASK, state, call, before, after) is None


@pytest.mark.parametrize(
    ("current", "unreached"),
    [
        (Found({"uuid": UUID, "hostUuid": "h1"}), {"hostUuid": "h2"}),
        (Found({"uuid": UUID}), {"hostUuid": "h2"}),
        (Found({"uuid": UUID, "hostUuid": "h2", "name": "other"}), {}),
        (Missing(), {}),
        (Unreadable(Unsupported("no query"), {"uuid": UUID}), {}),
        (Predicted({"uuid": UUID}), {}),
    ],
)
def test_values_that_a_call_must_reach(current: Current, unreached: Record) -> None:
    assert find_unreached_fields(MIGRATION, current) == unreached


DELETION = PlannedCall("DeleteHost", {"uuid": UUID}, None)


@pytest.mark.parametrize(
    ("state", "call", "current", "sentence"),
    [
        ("absent", DELETION, Found(HOST), "The host still exists: state Enabled, status Connected."),
        ("absent", DELETION, Found({"uuid": UUID, "state": "Enabled"}), "The host still exists: state Enabled."),
        ("absent", DELETION, Found({"uuid": UUID}), "The host still exists."),
        ("absent", DELETION, Missing(), ""),
        ("absent", DELETION, Found({**HOST, "uuid": "b" * 32}), ""),
        ("absent", DELETION, Unreadable(Unsupported("no query"), HOST), ""),
        ("present", DELETION, Found(HOST), ""),
        ("present", MIGRATION, Found({"uuid": UUID, "hostUuid": "h1"}), "Now host_uuid is 'h1'."),
        (
            "present",
            MIGRATION._replace(settling=Settling(must_reach=("state", "hostUuid"))),
            Found({"uuid": UUID, "state": "Running"}),
            "Now state is 'Running' and host_uuid is None.",
        ),
        ("present", MIGRATION, Missing(), ""),
    ],
)
def test_object_after_a_failed_call(state: str, call: PlannedCall, current: Current, sentence: str) -> None:
    assert describe_remaining(KVM_HOST, state, call, current) == sentence


@pytest.mark.parametrize(
    ("state", "current", "remaining", "unmet"),
    [
        ("absent", HOST, [PlannedCall("ChangeHostState", {}, {"state": "Disabled"})], [True]),
        ("present", HOST, [PlannedCall("ChangeHostState", {}, {"state": "Disabled"})], [True]),
        ("enabled", HOST, [PlannedCall("UpdateHost", {}, {"unknown": 1})], []),
        ("enabled", {**HOST, "unknown": 2}, [PlannedCall("UpdateHost", {}, {"unknown": 1})], [False]),
        ("enabled", None, [PlannedCall("UpdateHost", {}, {"name": "host-2"})], [False]),
        ("enabled", HOST, [PlannedCall("UpdateHost", {}, {"name": "other"}, is_visible=False)], []),
        ("enabled", HOST, [PlannedCall("UpdateHost", {}, {"status": "Connecting"}, is_visible=False)], [True]),
        ("absent", HOST, [DELETION], []),
    ],
)
def test_expectations_that_successful_calls_did_not_meet(
    state: str, current: Record | None, remaining: list[PlannedCall], unmet: list[Any]
) -> None:
    found = find_unmet_expectations(KVM_HOST, state, current, remaining)
    assert [is_state for dummy, is_state in found] == unmet


def test_diff_of_a_created_object_has_no_empty_fields() -> None:
    record = {"uuid": "a" * 32, "name": "host-1", "description": None}
    renamed = {**record, "name": "host-2"}
    assert format_diff(KVM_HOST, None, record) == {"before": {}, "after": {"uuid": "a" * 32, "name": "host-1"}}
    assert format_diff(KVM_HOST, record, None) == {"before": {"uuid": "a" * 32, "name": "host-1"}, "after": {}}
    both = format_diff(KVM_HOST, record, renamed)
    assert both["before"]["description"] is both["after"]["description"] is None


def test_diff_of_a_result_that_is_a_list() -> None:
    services = [{"interfaceUuid": "a" * 32, "vlanId": 0, "serviceType": "StorageNetwork"}]
    shown = {"services": [{"interface_uuid": "a" * 32, "vlan_id": 0, "service_type": "StorageNetwork"}]}
    diff = format_diff(SERVICES, {"services": services}, {"services": []})
    assert diff == {"before": shown, "after": {}}


def test_values_that_a_successful_call_did_not_set_are_named() -> None:
    record = {"uuid": "a" * 32, "name": "host-1", "description": "old", "state": "Disabled"}
    update = PlannedCall("UpdateHost", {}, {**record, "name": "host-2", "description": "new"})
    enable = PlannedCall("ChangeHostState", {}, {**record, "state": "Enabled"})
    done = PlannedCall("UpdateHost", {}, dict(record))
    assert list(find_unmet_expectations(KVM_HOST, "enabled", record, [update, enable, done])) == [
        (
            "UpdateHost succeeded, but name is 'host-1' (expected 'host-2'), description is 'old' (expected 'new')",
            False,
        ),
        ("ChangeHostState succeeded, but state is 'Disabled' (expected 'Enabled')", True),
    ]
