"""Plans for tables of current records, desired options and expected calls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import (
    RECORD_FIELDS,
    NullReference,
    PredictedReference,
    Record,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import (
    Current,
    Found,
    Missing,
    Unreadable,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.drift import find_drift, list_owner_params
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import build_call, plan, predict_created
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.reader import assume_record, predict_object
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.settling import (
    find_failed_value,
    find_transitional_field,
    list_needed_fields,
    list_settling_fields,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import (
    PlannedCall,
    ResourceSpec,
    StateTransition,
    remember_uuid,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.tags import list_desired_tags
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.chains import chain_plans
from ansible_collections.virtinfra.manager.plugins.modules.vm import VM

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
WEBHOOK = ResourceSpec(
    record_type="SNSWorkchatEndpointInventory", result_key="endpoint", find=find_nothing, keys=("uuid",)
)
HOST_WITH_TAGS = replace(KVM_HOST, tagged_type="HostVO")


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
    "drift of an object whose record lacks the option that selected it": (
        KVM_HOST,
        "enabled",
        {"managementIp": "10.0.0.21", "name": "other"},
        {"uuid": UUID, "name": "host-21", "state": "Enabled"},
        Unchangeable,
        (
            "the API cannot change management_ip (is not set, should be '10.0.0.21'), name (is 'host-21', should be"
            " 'other'). The host was found by management_ip '10.0.0.21'."
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
        f"no nic with uuid '{UUID}'. The API cannot create one, so check the uuid.",
    ),
    "another object than the one to delete": (
        CBT_TASK,
        "absent",
        {"name": "nightly", "description": "other", "status": "Stopped"},
        TASK,
        Unchangeable,
        (
            "the options differ from the existing cbt task: description (is 'd', should be 'other'), status (is"
            " 'Running', should be 'Stopped'). The cbt task was found by name 'nightly'."
        ),
    ),
    "another object, selected by nothing that it has": (
        CBT_TASK,
        "absent",
        {"name": "other"},
        TASK,
        Unchangeable,
        "the options differ from the existing cbt task: name (is 'nightly', should be 'other').",
    ),
    "options missing of which one replaces several": (
        CBT_TASK,
        "present",
        {"name": "nightly"},
        None,
        NotFound,
        "no cbt task with name 'nightly'. Check the name, or give vm to create it.",
    ),
    "values that differ only in their masked parts": (
        WEBHOOK,
        "present",
        {"uuid": UUID, "url": "https://chat.example.com/?key=2"},
        {"uuid": UUID, "url": "https://chat.example.com/?key=1"},
        Unchangeable,
        (
            "the API cannot change url (is 'https://chat.example.com/********', a masked part differs). The endpoint"
            f" was found by uuid '{UUID}'."
        ),
    ),
    "nothing to create it with": (
        NIC,
        "present",
        {"l3NetworkUuid": "l"},
        None,
        NotFound,
        "no such nic. The API cannot create one, so check the options.",
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


def test_warning_of_hidden_values_is_not_shown_without_any() -> None:
    desired = {"uuid": UUID, "name": "new", "snmpAddress": "192.0.2.1", "snmpPort": 162}
    current: Record = {**desired, "name": "old"}
    assert [step.warning for step in plan(PLATFORM, "present", desired, Found(current))] == [""]
    unreadable = Unreadable(Unsupported("no query"), {"uuid": UUID})
    assert [step.warning for step in plan(PLATFORM, "present", desired, unreadable)] == [""]


def test_change_and_transition_build_on_each_other() -> None:
    resource = replace(KVM_HOST, update="UpdateHost")
    update, disable = plan(resource, "disabled", {"uuid": UUID, "name": "new"}, Found(HOST))
    assert (update.operation, update.expected) == ("UpdateHost", {**HOST, "name": "new"})
    assert (disable.operation, disable.expected) == (
        "ChangeHostState",
        {**HOST, "name": "new", "state": "Disabled"},
    )


def test_owners_that_no_record_shows_are_not_compared_before_a_removal() -> None:
    """Tag patterns are no owners. A warning of the caller is kept."""
    desired = {"uuid": UUID, "vmInstanceUuid": "v", "resourceUuids": ["v"], "tagUuids": ["t"]}
    assert list_owner_params(CBT_TASK) == {"resourceUuids", "vmInstanceUuid"}
    (deletion,) = plan(CBT_TASK, "absent", desired, Found(TASK))
    assert deletion.warning == "the service does not show vm, vms, so it is not compared"
    call = build_call(CBT_TASK, CBT_TASK.delete, {"uuid": UUID, "vmInstanceUuid": "v"}, TASK, None, "careful")
    assert call.warning == "careful; the service does not show vm, so it is not compared"
    assert plan(CBT_TASK, "absent", {"name": "nightly"}, Found(TASK))[0].warning == ""


def test_removal_of_a_part_compares_the_options() -> None:
    """The object remains, but loses values."""
    nic = {"uuid": UUID, "internalName": "vnic1.0"}
    with pytest.raises(Unchangeable, match=r"should be 'vnic2\.0'"):
        build_call(NIC, "DeleteNicQos", {"uuid": UUID, "internalName": "vnic2.0", "direction": "in"}, nic, nic)


def test_options_missing_in_check_mode_may_come_from_an_earlier_task() -> None:
    with pytest.raises(NotFound) as missing:
        plan(KVM_HOST, "present", {"name": "host-21", "managementIp": "10.0.0.21"}, Missing())
    missing.value.use_check_mode_remedy()
    assert missing.value.message == (
        "no host with management_ip '10.0.0.21'. Give username, password and cluster to add it, or add when: not"
        " ansible_check_mode if an earlier task does so."
    )


def test_failure_names_the_uuids_that_differ() -> None:
    """Callers look up their names. A name is no uuid."""
    clusters = "c" * 32, "d" * 32
    desired = {"uuid": UUID, "name": "new", "clusterUuid": clusters[1]}
    for state, resource in (("present", KVM_HOST), ("absent", replace(KVM_HOST, delete="DeleteHost"))):
        with pytest.raises(Unchangeable) as failed:
            plan(resource, state, desired, Found({**HOST, "clusterUuid": clusters[0]}))
        assert failed.value.references == dict.fromkeys(clusters, "clusterUuid")


def test_later_reads_use_the_uuid() -> None:
    assert remember_uuid({"uuid": UUID, "name": "web"}) == {"uuid": UUID}
    assert remember_uuid({"name": "web"}) == {}


# ----------------------------------------------------------------------------------------------------- null references

NULL_CLUSTER = PredictedReference("cluster")


@pytest.mark.parametrize("null", [NullReference("cluster"), NULL_CLUSTER])
def test_null_reference_that_the_create_requires_is_in_the_plan(null: NullReference) -> None:
    """The reference is to an object that an earlier task would have created, or else the task is refused."""
    desired = {**NEW_HOST, "clusterUuid": null}
    (step,) = plan(KVM_HOST, "present", desired, Missing())
    assert step.params == desired
    assert step.params["clusterUuid"] is null


def test_null_reference_is_omitted_if_no_call_needs_it() -> None:
    """If an earlier task predicted its object, a value that the API can change will change."""
    resource = replace(NIC, create="AttachL3NetworkToVm")
    nic = {"uuid": UUID, "l3NetworkUuid": "l"}
    desired = {"uuid": UUID, "l3NetworkUuid": NullReference("l3_network")}
    assert plan(resource, "present", desired, Found(nic)) == []
    desired = {"uuid": UUID, "l3NetworkUuid": PredictedReference("l3_network")}
    (step,) = plan(resource, "present", desired, Found(nic))
    assert (step.operation, step.expected) == ("ChangeVmNicNetwork", {**nic, **desired})
    assert find_drift(KVM_HOST, {"clusterUuid": NULL_CLUSTER}, {**HOST}) == {}
    assert find_drift(resource, {"l3NetworkUuid": [NullReference("l3_network")]}, nic)


def test_failure_is_that_of_all_options_if_those_without_null_do_not_suffice() -> None:
    desired = {"uuid": NullReference("uuid"), "snmpPort": 162}
    with pytest.raises(InvalidOptions, match="snmp_address is required for UpdateSNSSnmpPlatform"):
        plan(PLATFORM, "present", desired, Found({"uuid": UUID, "name": "old"}))


def test_object_of_an_earlier_task_is_predicted() -> None:
    """Its own uuid is null: it will exist.

    If the uuid of its owner is null, it will be created, if the options suffice.
    """
    null = PredictedReference("uuid")
    predicted = predict_object(NIC, "present", {"uuid": null, "l3NetworkUuid": "l"})
    assert predicted.record == {"uuid": null, "l3NetworkUuid": NullReference("l3_network")}
    assert predict_object(KVM_HOST, "present", {**NEW_HOST, "clusterUuid": NULL_CLUSTER}) == Missing()
    selected = predict_object(KVM_HOST, "disabled", {"name": "host-21", "clusterUuid": NULL_CLUSTER})
    assert selected.record == {"uuid": null, "name": "host-21", "clusterUuid": NULL_CLUSTER}
    # The option that selects it is no change, although the API could change it.
    renamed = predict_object(replace(KVM_HOST, update="UpdateHost"), "disabled", {"name": "a", "managementIp": None})
    assert (renamed.record or {})["name"] == "a"


# ---------------------------------------------------------------------------------------------------------------- tags


def user_tag(text: str, pattern: str | None = None) -> Record:
    """Return the record of a user tag."""
    return {"uuid": f"uuid of {text}", "tag": text, "tagPatternUuid": pattern}


@pytest.mark.parametrize(
    ("mode", "tags", "present", "expected"),
    [
        ("exact", ["b", "a"], [], ["a", "b"]),
        ("exact", ["a"], [user_tag("a"), user_tag("c")], ["a"]),
        ("exact", ["a"], [user_tag("c", "p")], ["a", "c"]),
        ("exact", ["a"], [user_tag("c", "q")], ["a"]),
        (
            "exact",
            ["a"],
            [user_tag("virtinfra.manager vm_power x 01 Running")],
            ["a", "virtinfra.manager vm_power x 01 Running"],
        ),
        ("remove", ["virtinfra.manager a"], [user_tag("virtinfra.manager a")], []),
        ("exact", ["a"], [user_tag("A", "p")], ["a"]),
        ("exact", ["A", "a"], [user_tag("A", "p")], ["A", "a"]),
        ("add", ["b"], [user_tag("c"), user_tag("a")], ["a", "b", "c"]),
        ("add", ["B"], [user_tag("b")], ["B"]),
        ("add", [], [user_tag("c")], ["c"]),
        ("remove", ["c", "d"], [user_tag("c"), user_tag("b"), user_tag("a")], ["a", "b"]),
    ],
)
def test_tags_that_an_object_shall_have(mode: str, tags: list[str], present: list[Record], expected: list[str]) -> None:
    assert list_desired_tags({"tags": tags, "tagsMode": mode, "tagUuids": ["p"]}, present) == expected
    if not any(tag["tagPatternUuid"] for tag in present):
        assert list_desired_tags({"tags": tags, "tagsMode": mode}, present) == expected


def test_tags_are_added_before_others_are_removed() -> None:
    """A tag that differs in capital letters only is added after the removal of the other. Other changes come last."""
    resource = replace(HOST_WITH_TAGS, update="UpdateHost")
    present = user_tag("old"), user_tag("web"), user_tag("kept")
    desired = {"uuid": UUID, "name": "host-22", "tags": ["kept", "new", "Web"], "tagsMode": "exact"}
    current = Found({**HOST, "tags": ["kept", "old", "web"]}, present)
    steps = plan(resource, "present", desired, current)
    owner = {"resourceType": "HostVO", "resourceUuid": UUID}
    tagged = {**HOST, "tags": ["Web", "kept", "new"]}
    assert [(step.operation, step.params, step.expected) for step in steps] == [
        ("CreateUserTag", {**owner, "tag": "new"}, {**HOST, "tags": ["kept", "new", "old", "web"]}),
        ("DeleteTag", {"uuid": "uuid of old"}, {**HOST, "tags": ["kept", "new", "web"]}),
        ("DeleteTag", {"uuid": "uuid of web"}, {**HOST, "tags": ["kept", "new"]}),
        ("CreateUserTag", {**owner, "tag": "Web"}, tagged),
        ("UpdateHost", {"uuid": UUID, "name": "host-22"}, {**tagged, "name": "host-22"}),
    ]
    after = Found({**tagged, "name": "host-22"}, (user_tag("Web"), user_tag("kept"), user_tag("new")))
    assert plan(resource, "present", desired, after) == []


def test_create_sends_the_tags() -> None:
    """Calls after it do not; without tags, none are sent."""
    desired = {**NEW_HOST, "tags": ["b", "a"], "tagsMode": "add"}
    create, disable = plan(HOST_WITH_TAGS, "disabled", desired, Missing())
    assert create.params == {**NEW_HOST, "userTags": ["a", "b"]}
    assert disable.params == {"stateEvent": "disable"}
    assert [(step.expected or {})["tags"] for step in (create, disable)] == [["a", "b"]] * 2
    (create,) = plan(HOST_WITH_TAGS, "present", {**desired, "tags": []}, Missing())
    assert (create.params, (create.expected or {})["tags"]) == (NEW_HOST, [])


def test_tags_are_added_after_a_create_that_ignores_them() -> None:
    resource = replace(CBT_TASK, tagged_type="CbtTaskVO")
    desired = {"name": "nightly", "vmInstanceUuid": UUID, "tags": ["b", "a"], "tagsMode": "exact"}
    create, first, second = plan(resource, "present", desired, Missing())
    assert "userTags" not in create.params
    assert (create.expected or {})["tags"] == []
    assert [(call.operation, call.params["tag"]) for call in (first, second)] == [
        ("CreateUserTag", "a"),
        ("CreateUserTag", "b"),
    ]
    assert (second.expected or {})["tags"] == ["a", "b"]


def test_object_that_is_removed_must_have_the_tags() -> None:
    tags = {"tags": ["a"], "tagsMode": "exact"}
    resource = replace(CBT_TASK, tagged_type="CbtTaskVO")
    current = Found({**TASK, "tags": ["a"]}, (user_tag("a"),))
    assert [step.operation for step in plan(resource, "absent", {"uuid": UUID, **tags}, current)] == ["DeleteCbtTask"]
    other = Found({**TASK, "tags": ["b"]}, (user_tag("b"),))
    with pytest.raises(Unchangeable, match=r"tags \(is \['b'\], should be \['a'\]\)"):
        plan(resource, "absent", {"uuid": UUID, **tags}, other)


def test_tags_of_an_unreadable_object_cannot_be_compared() -> None:
    unreadable = Unreadable(Unsupported("no query", "Upgrade."), {"uuid": UUID})
    with pytest.raises(Unsupported) as refused:
        plan(HOST_WITH_TAGS, "present", {"uuid": UUID, "tags": ["a"], "tagsMode": "add"}, unreadable)
    assert refused.value.message == "cannot compare tags: no query. Omit tags."


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


def test_failed_value_that_the_call_expects_is_no_failure() -> None:
    host = {**HOST, "status": "Connected"}
    failed = {**HOST, "status": "Disconnected"}
    assert find_failed_value(KVM_HOST, "present", "AddKVMHost", host, failed, failed) is None
    assert find_failed_value(KVM_HOST, "present", "AddKVMHost", host, failed, host) == "status Disconnected"


def test_further_values_are_waited_for() -> None:
    further = {"powerStatus": ("POWER_UNKNOWN",)}
    host = {**HOST, "powerStatus": "POWER_UNKNOWN"}
    assert find_transitional_field(KVM_HOST, ("state", "name"), host, further) == "powerStatus"
    assert find_transitional_field(KVM_HOST, ("state", "name"), HOST, further) is None


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


def test_each_step_of_a_chain_sees_the_record_after_the_steps_before() -> None:
    def append(operation: str, expected: Record | None, current: Current) -> list[PlannedCall]:
        return [PlannedCall(operation, dict(current.record or {}), expected)]

    def skip(dummy: Current) -> list[PlannedCall]:
        return []

    calls = chain_plans(
        Found({"name": "a"}),
        skip,
        partial(append, "Update", {"name": "b"}),
        partial(append, "Delete", None),
        partial(append, "Create", {"name": "c"}),
    )
    assert [(call.operation, call.params) for call in calls] == [("Update", {"name": "a"}), ("Delete", {"name": "b"})]
    assert isinstance(calls[0].expect({"state": "Enabled"}).expected, dict)
    assert calls[1].expect({"state": "Enabled"}) is calls[1]


@pytest.mark.parametrize(
    ("before", "row", "operations"),
    [
        ("Stopped", StateTransition("PauseVmInstance", "state", ("Saved",), through="Running"), ["Start", "Pause"]),
        ("Running", StateTransition("PauseVmInstance", "state", ("Saved",), through="Running"), ["Pause"]),
        ("Saved", StateTransition("PauseVmInstance", "state", ("Saved",), through="Running"), []),
        ("Running", StateTransition("StopVmInstance", "state", ("Saved",)), ["Stop"]),
        ("Stopped", StateTransition("RebootVmInstance", "state", ("Running",), is_visible=False), ["Start"]),
        ("Running", StateTransition("RebootVmInstance", "state", ("Running",), is_visible=False), ["Reboot"]),
    ],
)
def test_new_state_of_a_vm_is_one_row(before: str, row: StateTransition, operations: list[str]) -> None:
    resource = replace(VM, transitions={**VM.transitions, "saved": row})
    vm = {"uuid": UUID, "name": "vm-1", "state": before, "hostUuid": "h"}
    calls = plan(resource, "saved", {"uuid": UUID}, Found(vm))
    assert [call.operation.removesuffix("VmInstance") for call in calls] == operations
    assert all((call.expected or {})["state"] in (*row.target_values, "Running") for call in calls)
    assert [call.is_visible for call in calls][-1:] == [call.operation != "RebootVmInstance" for call in calls][-1:]
