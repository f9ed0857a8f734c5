# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans for tables of current records, desired options and expected calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    NotFound,
    Unchangeable,
    Unsupported,
    VirtinfraError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS, Record
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import (
    Current,
    Found,
    Missing,
    PlannedCall,
    ResourceSpec,
    StateTransition,
    Unreadable,
    find_drift,
    find_failed_value,
    find_transitional_field,
    list_needed_fields,
    list_settling_fields,
    plan,
    predict_created,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.reader import assume_record

UUID = "a000000d000040008000000000000001"
NEW_HOST = {
    "managementIp": "10.0.0.21",
    "name": "host-21",
    "clusterUuid": "c",
    "username": "root",
    "password": "p",
}
HOST = {"uuid": UUID, "name": "host-21", "managementIp": "10.0.0.21", "clusterUuid": "c", "state": "Enabled"}
TASK = {"uuid": UUID, "name": "nightly", "description": "d", "status": "Running"}
ENDPOINT = {"uuid": UUID, "name": "traps", "description": "old", "platformUuid": "p", "state": "Enabled"}


def find_nothing(client: Client, desired: Record) -> Record | None:
    """Replace the finder in tests that only plan."""
    raise AssertionError("a plan reads nothing")


KVM_HOST = ResourceSpec(
    record_type="HostInventory",
    result_key="host",
    find=find_nothing,
    create="AddKVMHost",
    keys=("uuid", "managementIp", "name"),
    transitions={
        "enabled": StateTransition(
            "ChangeHostState", "state", ("Enabled",), {"stateEvent": "enable"}, settles=("status",)
        ),
        "disabled": StateTransition("ChangeHostState", "state", ("Disabled",), {"stateEvent": "disable"}),
        "maintenance": StateTransition(
            "ChangeHostState",
            "state",
            ("Maintenance", "PreMaintenance"),
            {"stateEvent": "maintain"},
            needs=("status",),
        ),
    },
    transitional_values={"state": ("PreMaintenance",), "status": ("Connecting",)},
    failed_values={"status": ("Disconnected",)},
)
CBT_TASK = ResourceSpec(
    record_type="CbtTaskInventory",
    result_key="cbt_task",
    find=find_nothing,
    create="CreateCbtTask",
    delete="DeleteCbtTask",
    transitions={"enabled": StateTransition("EnableCbtTask", "status", ("Running", "Starting"))},
)
SNMP_ENDPOINT = ResourceSpec(
    record_type="SNSApplicationEndpointInventory",
    result_key="endpoint",
    find=find_nothing,
    create="CreateSNSSnmpEndpoint",
    update="UpdateSNSApplicationEndpoint",
)
NIC = ResourceSpec(
    record_type="VmNicInventory",
    result_key="nic",
    find=find_nothing,
    update="ChangeVmNicNetwork",
    transitions={"disabled": StateTransition("ChangeVmNicState", "state", ("disable",), {"state": "disable"})},
)
PLATFORM = ResourceSpec(
    record_type="SNSApplicationPlatformInventory",
    result_key="platform",
    find=find_nothing,
    update="UpdateSNSSnmpPlatform",
)


def known(record: Record | None) -> Current:
    """Return what is known of an object that the service shows with this record, or does not have."""
    return Found(record) if record else Missing()


def calls(resource: ResourceSpec, state: str, desired: Record, current: Record | None) -> list[tuple[str, Record]]:
    """Return the planned calls: operation and parameters."""
    return [(step.operation, step.params) for step in plan(resource, state, desired, known(current))]


PLANS: dict[str, tuple[ResourceSpec, str, Record, Record | None, list[tuple[str, Record]]]] = {
    "there and as wanted": (KVM_HOST, "present", NEW_HOST, HOST, []),
    "there, only its name given": (KVM_HOST, "present", {"name": "host-21"}, HOST, []),
    "there in the wanted state": (KVM_HOST, "enabled", NEW_HOST, HOST, []),
    "on its way to the wanted state": (KVM_HOST, "maintenance", NEW_HOST, {**HOST, "state": "PreMaintenance"}, []),
    "missing": (KVM_HOST, "present", NEW_HOST, None, [("AddKVMHost", NEW_HOST)]),
    "missing, wanted in a state that the service decides on": (
        KVM_HOST,
        "enabled",
        NEW_HOST,
        None,
        [("AddKVMHost", NEW_HOST), ("ChangeHostState", {"stateEvent": "enable"})],
    ),
    "in another state": (
        KVM_HOST,
        "maintenance",
        {"name": "host-21"},
        HOST,
        [("ChangeHostState", {"uuid": UUID, "stateEvent": "maintain"})],
    ),
    "absent and not there": (CBT_TASK, "absent", {"name": "nightly"}, None, []),
    "absent and there": (CBT_TASK, "absent", {"name": "nightly"}, TASK, [("DeleteCbtTask", {"uuid": UUID})]),
    "absent, with the options of the deletion": (
        CBT_TASK,
        "absent",
        {"name": "nightly", "force": True, "deleteMode": "Enforcing", "description": "d"},
        TASK,
        [("DeleteCbtTask", {"uuid": UUID, "force": True, "deleteMode": "Enforcing"})],
    ),
    "a parameter of the move": (
        CBT_TASK,
        "enabled",
        {"name": "nightly", "bitmapName": "b"},
        {**TASK, "status": "Stopped"},
        [("EnableCbtTask", {"uuid": UUID, "bitmapName": "b"})],
    ),
    "drift that one call settles": (
        SNMP_ENDPOINT,
        "present",
        {"uuid": UUID, "name": "new", "description": "new", "platformUuid": "p"},
        ENDPOINT,
        [("UpdateSNSApplicationEndpoint", {"uuid": UUID, "name": "new", "description": "new"})],
    ),
    "drift in one of two": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "description": "new"},
        ENDPOINT,
        [("UpdateSNSApplicationEndpoint", {"uuid": UUID, "description": "new"})],
    ),
    "emptied": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "description": ""},
        ENDPOINT,
        [("UpdateSNSApplicationEndpoint", {"uuid": UUID, "description": ""})],
    ),
    "empty already": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "description": ""},
        {**ENDPOINT, "description": None},
        [],
    ),
    "blanks around it": (SNMP_ENDPOINT, "present", {"name": " traps "}, ENDPOINT, []),
    "tags go along with a call": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "description": "new", "systemTags": ["s::1"], "userTags": []},
        ENDPOINT,
        [
            (
                "UpdateSNSApplicationEndpoint",
                {"uuid": UUID, "description": "new", "systemTags": ["s::1"], "userTags": []},
            )
        ],
    ),
    "tags alone are no reason for a call": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "systemTags": ["s::1"]},
        ENDPOINT,
        [],
    ),
    "what an update requires comes from the options": (
        PLATFORM,
        "present",
        {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 162, "name": "n"},
        {"uuid": UUID, "name": "old", "snmpAddress": "192.0.2.1", "snmpPort": 162},
        [("UpdateSNSSnmpPlatform", {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 162, "name": "n"})],
    ),
    "what an update requires comes from the record": (
        PLATFORM,
        "present",
        {"uuid": UUID, "snmpPort": 163},
        {"uuid": UUID, "name": "old", "snmpAddress": "192.0.2.1", "snmpPort": 162},
        [("UpdateSNSSnmpPlatform", {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 163})],
    ),
    "parameters that the record names differently": (
        NIC,
        "disabled",
        {"uuid": UUID},
        {"uuid": UUID, "state": "enable", "l3NetworkUuid": "l"},
        [("ChangeVmNicState", {"vmNicUuid": UUID, "state": "disable"})],
    ),
}


@pytest.mark.parametrize("case", PLANS)
def test_plan(case: str) -> None:
    resource, state, desired, current, expected = PLANS[case]
    assert calls(resource, state, desired, current) == expected


@pytest.mark.parametrize("case", PLANS)
def test_planned_calls_can_be_made(case: str) -> None:
    resource, state, desired, current, dummy = PLANS[case]
    for step in plan(resource, state, desired, known(current)):
        params = (
            {"uuid": UUID, **step.params}
            if "uuid" in {parameter.name for parameter in get_operation(step.operation).path_params}
            else step.params
        )
        assert get_operation(step.operation).request(params)


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_leads_to_the_expected_record(case: str) -> None:
    """With the expected record as the current one, the plan is empty."""
    resource, state, desired, current, dummy = PLANS[case]
    steps = plan(resource, state, desired, known(current))
    after = steps[-1].expected if steps else current
    if after:
        desired, after = {**desired, "uuid": UUID}, {**after, "uuid": UUID}
    assert plan(resource, state, desired, known(after)) == []


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_does_not_modify_its_arguments(case: str) -> None:
    resource, state, desired, current, dummy = PLANS[case]
    before = repr((desired, current))
    plan(resource, state, desired, known(current))
    assert repr((desired, current)) == before


REFUSED: dict[str, tuple[ResourceSpec, str, Record, Record | None, type[VirtinfraError], str]] = {
    "options missing to create": (
        KVM_HOST,
        "present",
        {"name": "host-21", "managementIp": "10.0.0.21"},
        None,
        NotFound,
        (
            "no host with management_ip '10.0.0.21'. Check the management_ip, or give username, password and cluster to"
            " add it."
        ),
    ),
    "one option missing": (
        KVM_HOST,
        "enabled",
        {name: value for name, value in NEW_HOST.items() if name != "password"},
        None,
        NotFound,
        "no host with management_ip '10.0.0.21'. Check the management_ip, or give password to add it.",
    ),
    "a uuid that is not there": (
        KVM_HOST,
        "present",
        {**NEW_HOST, "uuid": UUID},
        None,
        NotFound,
        f"no host with uuid '{UUID}'. Check the uuid, or omit it to add one.",
    ),
    "drift where there is no update": (
        KVM_HOST,
        "enabled",
        {"managementIp": "10.0.0.21", "name": "other", "clusterUuid": "c2"},
        HOST,
        Unchangeable,
        (
            "the API cannot change name (is 'host-21', should be 'other'), cluster (is 'c', should be 'c2'). The host"
            " was found by management_ip '10.0.0.21'."
        ),
    ),
    "drift of a value that is not set": (
        NIC,
        "present",
        {"l3NetworkUuid": "l", "driverType": "e1000"},
        {"uuid": UUID, "l3NetworkUuid": "l", "driverType": None},
        Unchangeable,
        "the API cannot change driver_type (is not set, should be 'e1000')",
    ),
    "drift that the update does not take": (
        SNMP_ENDPOINT,
        "present",
        {"name": "traps", "description": "new", "state": "Disabled"},
        ENDPOINT,
        Unchangeable,
        "the API cannot change state (is 'Enabled', should be 'Disabled'). The endpoint was found by name 'traps'.",
    ),
    "required by the update and nowhere known": (
        PLATFORM,
        "present",
        {"uuid": UUID, "name": "n"},
        {"uuid": UUID, "name": "old"},
        InvalidOptions,
        "snmp_address, snmp_port are required for UpdateSNSSnmpPlatform",
    ),
    "one option of the update missing": (
        PLATFORM,
        "present",
        {"uuid": UUID, "name": "n", "snmpPort": 162},
        {"uuid": UUID, "name": "old"},
        InvalidOptions,
        "snmp_address is required for UpdateSNSSnmpPlatform",
    ),
    "a uuid that cannot be created": (
        NIC,
        "present",
        {"uuid": UUID, "l3NetworkUuid": "l"},
        None,
        NotFound,
        f"no nic with uuid '{UUID}', and the API cannot create one. Check the uuid.",
    ),
    "another object than the one to delete": (
        CBT_TASK,
        "absent",
        {"name": "nightly", "description": "other", "status": "Stopped"},
        TASK,
        Unchangeable,
        (
            "the options differ from the existing cbt task: description (is 'd', should be 'other'), status (is"
            " 'Running', should be 'Stopped'). The cbt task was found by name 'nightly'. Nothing was removed."
            " Correct the options."
        ),
    ),
    "another object, selected by nothing that it has": (
        CBT_TASK,
        "absent",
        {"name": "other"},
        TASK,
        Unchangeable,
        (
            "the options differ from the existing cbt task: name (is 'nightly', should be 'other'). Nothing was"
            " removed. Correct the options."
        ),
    ),
    "nothing to create it with": (
        NIC,
        "present",
        {"l3NetworkUuid": "l"},
        None,
        NotFound,
        "no such nic, and the API cannot create one. Check the options.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    resource, state, desired, current, kind, message = REFUSED[case]
    with pytest.raises(kind) as refused:
        plan(resource, state, desired, known(current))
    assert refused.value.message == message


def test_prediction_of_a_create_has_the_desired_values_without_secrets() -> None:
    (step,) = plan(KVM_HOST, "present", NEW_HOST, Missing())
    assert step.expected is not None
    assert step.expected.keys() == set(RECORD_FIELDS["HostInventory"])
    expected = {name: value for name, value in step.expected.items() if value is not None}
    assert expected == {"managementIp": "10.0.0.21", "name": "host-21", "clusterUuid": "c"}


def test_prediction_keeps_unchanged_values() -> None:
    (step,) = plan(SNMP_ENDPOINT, "present", {"uuid": UUID, "description": "new"}, Found(ENDPOINT))
    assert step.expected == {**ENDPOINT, "description": "new"}


def test_prediction_of_a_transition_is_its_first_target_value() -> None:
    (step,) = plan(KVM_HOST, "maintenance", {"uuid": UUID}, Found(HOST))
    assert step.expected == {**HOST, "state": "Maintenance"}


def test_prediction_of_a_deletion_is_null() -> None:
    deletion = PlannedCall("DeleteCbtTask", {"uuid": UUID}, None)
    assert plan(CBT_TASK, "absent", {"name": "nightly"}, Found(TASK)) == [deletion]


def test_steps_build_on_each_other() -> None:
    first, second = plan(KVM_HOST, "maintenance", NEW_HOST, Missing())
    assert first.expected is not None
    assert second.expected == {**first.expected, "state": "Maintenance"}


def test_hidden_values_are_set_with_a_warning() -> None:
    current = Found({"uuid": UUID, "name": "n"})
    (step,) = plan(PLATFORM, "present", {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 162}, current)
    assert step.warning == "the service does not show snmp_address, snmp_port, so it is set each time"
    assert step.params == {"uuid": UUID, "snmpAddress": "192.0.2.1", "snmpPort": 162}


def test_options_of_a_create_are_not_compared() -> None:
    assert calls(KVM_HOST, "present", {**NEW_HOST, "password": "other", "sshPort": 23}, HOST) == []


def test_present_does_not_change_the_state() -> None:
    assert calls(KVM_HOST, "present", NEW_HOST, {**HOST, "state": "Maintenance"}) == []


def test_own_plan_replaces_the_default() -> None:
    def own(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        return [PlannedCall("DeleteNicQos", {"arguments": (resource.result_key, state, desired, current.record)}, None)]

    resource = replace(CBT_TASK, plan=own)
    assert calls(resource, "absent", {"a": 1}, {"b": 2}) == [
        ("DeleteNicQos", {"arguments": ("cbt_task", "absent", {"a": 1}, {"b": 2})})
    ]


@pytest.mark.parametrize(
    ("desired", "current", "expected"),
    [
        ({"name": "a"}, {"name": "a"}, {}),
        ({"name": "a"}, {"name": "b"}, {"name": "a"}),
        ({"uuid": "a"}, {"uuid": "b"}, {}),
        ({"name": "a"}, {}, {"name": "a"}),
        ({"password": "a"}, {}, {}),
        ({"somethingNew": "a"}, {"somethingNew": "b"}, {"somethingNew": "a"}),
        ({"description": ""}, {"description": None}, {}),
    ],
)
def test_drift(desired: Record, current: Record, expected: Record) -> None:
    assert find_drift(KVM_HOST, desired, current) == expected


def test_created_record_has_the_fields_of_its_type() -> None:
    assert predict_created(CBT_TASK, {"name": "n", "vmInstanceUuid": "v"}) == {
        **dict.fromkeys(RECORD_FIELDS["CbtTaskInventory"]),
        "name": "n",
    }


def test_operations_of_a_resource() -> None:
    assert KVM_HOST.operations == ("AddKVMHost", "ChangeHostState")
    assert CBT_TASK.operations == ("CreateCbtTask", "DeleteCbtTask", "EnableCbtTask")


@pytest.mark.parametrize(
    ("record", "is_passing"),
    [
        (None, None),
        ({}, None),
        (HOST, None),
        ({**HOST, "status": "Connecting"}, "status"),
        ({**HOST, "state": "PreMaintenance", "status": "Connected"}, "state"),
        ({**HOST, "status": "Disconnected"}, None),
    ],
)
def test_passing(record: Record | None, is_passing: str | None) -> None:
    assert find_transitional_field(KVM_HOST, ("state", "status"), record) == is_passing
    assert find_transitional_field(KVM_HOST, (), record) is None


@pytest.mark.parametrize(
    ("state", "operation", "fields"),
    [
        ("present", None, ()),
        ("disabled", None, ("state",)),
        ("enabled", None, ("state", "status")),
        ("present", "AddKVMHost", ("state", "status")),
        ("disabled", "AddKVMHost", ("state", "status")),
        ("disabled", "ChangeHostState", ("state",)),
        ("enabled", "ChangeHostState", ("state", "status")),
        ("maintenance", "ChangeHostState", ("state",)),
    ],
)
def test_transitional_fields(state: str, operation: str | None, fields: tuple[str, ...]) -> None:
    assert list_settling_fields(KVM_HOST, state, operation) == fields


def test_only_a_maintenance_needs_a_stable_host_before_the_call() -> None:
    states = ("present", *KVM_HOST.transitions)
    needed = {state: list_needed_fields(KVM_HOST, state, "ChangeHostState") for state in states}
    assert needed == {"present": (), "enabled": (), "disabled": (), "maintenance": ("status",)}
    assert list_needed_fields(KVM_HOST, "maintenance", "AddKVMHost") == ()


@pytest.mark.parametrize(
    ("state", "operation", "before", "after", "failed"),
    [
        ("enabled", "ChangeHostState", "Connected", "Disconnected", "status Disconnected"),
        ("enabled", "ChangeHostState", "Disconnected", "Disconnected", None),
        ("enabled", "ChangeHostState", "Connecting", "Disconnected", None),
        ("enabled", "ChangeHostState", "Connected", "Connected", None),
        ("disabled", "ChangeHostState", "Connected", "Disconnected", None),
        ("present", "AddKVMHost", None, "Disconnected", "status Disconnected"),
    ],
)
def test_failed_value_before_a_call_is_not_its_failure(
    state: str, operation: str, before: str | None, after: str, failed: str | None
) -> None:
    record = before and {**HOST, "status": before}
    assert find_failed_value(KVM_HOST, state, operation, record or None, {**HOST, "status": after}) == failed


def test_failed_value_before_a_call_that_changes_it() -> None:
    resource = replace(CBT_TASK, failed_values={"status": ("Failed",)})
    task = {"uuid": UUID, "status": "Failed"}
    assert find_failed_value(resource, "enabled", "EnableCbtTask", task, task) == "status Failed"


# ---------------------------------------------------------------------------------- objects that cannot be read at all


def test_nothing_is_assumed_without_a_uuid() -> None:
    assert assume_record(KVM_HOST, NEW_HOST) is None


def test_unreadable_object_with_a_uuid_is_assumed_to_exist() -> None:
    assumed = assume_record(SNMP_ENDPOINT, {"uuid": UUID, "name": "n", "type": "t"})
    assert assumed == {"uuid": UUID, "type": "t"}


@pytest.mark.parametrize(
    ("resource", "state", "desired", "operations"),
    [
        (KVM_HOST, "enabled", {"uuid": UUID}, ["ChangeHostState"]),
        (KVM_HOST, "present", {"uuid": UUID, "name": "n"}, []),
        (SNMP_ENDPOINT, "present", {"uuid": UUID, "name": "n"}, ["UpdateSNSApplicationEndpoint"]),
        (CBT_TASK, "absent", {"uuid": UUID}, ["DeleteCbtTask"]),
    ],
)
def test_unknown_values_are_set(resource: ResourceSpec, state: str, desired: Record, operations: list[Any]) -> None:
    steps = plan(resource, state, desired, Unreadable(Unsupported("no query"), assume_record(resource, desired)))
    assert [step.operation for step in steps] == operations
