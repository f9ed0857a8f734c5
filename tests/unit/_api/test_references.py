"""Uuids in options: normalized or refused; null in check mode and in a real run."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import NullReference, to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._api.references import (
    PREDICTED as PREDICTED_MARK,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.references import (
    format_option_name,
    is_reference,
    mark_nulls,
    normalize_references,
    normalize_uuid,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import (
    REFERS_TO,
    RESOURCE_TYPES,
)

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.collection import MODULES, load_spec, module
from support.module_runner import ModuleRun, ModuleRunner

HEX = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
NOT_VERSION_4 = "ffffffffffffffffffffffffffffffff"


def spell_differently(text: str) -> str:
    """Return a uuid in capitals and with dashes."""
    return f" {str(uuid.UUID(text)).upper()} "


# -------------------------------------------------------------------------------------------------------- one spelling


@pytest.mark.parametrize("text", [HEX, HEX.upper(), spell_differently(HEX), str(uuid.UUID(HEX)), f"{HEX}\n"])
def test_every_spelling_of_a_uuid_is_the_same(text: str) -> None:
    assert normalize_uuid("uuid", text) == HEX


def test_uuids_of_any_version_are_uuids() -> None:
    assert normalize_uuid("uuid", NOT_VERSION_4) == NOT_VERSION_4


@pytest.mark.parametrize("text", ["../../hosts", "my-vm", HEX[:-1], HEX + "0", "g" * 32, "\u0661" * 32, f"{{{HEX}}}"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptions, match=r"vm_instance_uuid must be a uuid \(32 hexadecimal digits\), not "):
        normalize_uuid("vm_instance_uuid", text)


# The module whose references are those of the kinds of the catalogue.
OF_KINDS = {"resource"}


def test_references_are_known_by_their_names() -> None:
    """Each option that refers to another object is named after it, and has the API's name as its alias."""
    tasks = [load_spec(name) for name in MODULES if name not in OF_KINDS]
    names = {(option, parameter) for task in tasks for option, parameter in task.parameters.items()}
    for task in tasks:
        references = {option: name for option, name in task.parameters.items() if name in REFERS_TO}
        assert all(to_snake_case(name) in task.argument_spec[option]["aliases"] for option, name in references.items())
    assert {name for dummy, name in names if "Uuid" in name and name not in ("jobUuid", "resourceUuid")} == {
        *REFERS_TO
    } - {
        "tagUuid",
        "vmNicUuid",
        "destL3NetworkUuid",
        "hostUuid",
        "nicUuid",
        "interfaceUuid",
        "rootVolumeUuid",
        "rootDiskOfferingUuid",
        "primaryStorageUuidForDataVolume",
        "volumeUuid",
        "vmUuid",
        "templatedVmInstanceUuid",
        "dataDiskOfferingUuids",
        "uuids",
    } | {"hostUuid"}
    assert {format_option_name(parameter) for dummy, parameter in names} == {option for option, dummy in names}
    parameters = ("uuid", "vmInstanceUuid", "tagUuids", "primaryStorageUuidForRootVolume", "vmNicUuid")
    assert all(map(is_reference, parameters))
    assert not any(map(is_reference, ("userId", "user_id", "atPersonUserIds", "session_id", "name", "uuidless")))


def test_every_option_that_refers_to_an_object_takes_its_name_and_says_so() -> None:
    """A uuid alone identifies the object itself, a new object, a job, or a NIC, which has no name."""
    wrong = []
    for name in MODULES:
        for option, details in module(name).options.items():
            parameter = load_spec(name).parameters.get(option, option)
            if is_reference(parameter) and parameter not in ("uuid", "resourceUuid", "jobUuid"):
                texts = " ".join(details["description"]) if isinstance(details["description"], list) else ""
                is_named = parameter in REFERS_TO or name in OF_KINDS
                how = "by uuid" if option == "nic" else "by name or uuid"
                if not is_named or how not in (texts or details["description"]):
                    wrong.append(f"{name}: {option}")
    assert wrong == []


def test_references_in_lists_and_in_lists_of_mappings_are_normalized() -> None:
    other = spell_differently(HEX)
    assert normalize_references(
        {
            "tagUuids": [other],
            "groups": [{"uuid": other, "state": "x"}],
            "name": other,
            "uuid": None,
            "host_uuids": [""],
        }
    ) == {"tagUuids": [HEX], "groups": [{"uuid": HEX, "state": "x"}], "name": other, "uuid": None, "host_uuids": []}


@pytest.mark.parametrize("null", ["", "  ", "None"])
def test_null_of_a_template_is_unknown(null: str) -> None:
    found = normalize_references({"uuid": null, "hostUuids": [HEX, null]})
    assert isinstance(found["uuid"], NullReference)
    assert isinstance(found["hostUuids"][1], NullReference)


def test_nulls_are_marked_where_a_reference_is_expected() -> None:
    arguments = {"uuid": None, "name": None, "host_uuids": None, "tags": [None, "", HEX], "host": "", "vm": None}
    assert mark_nulls(arguments, {"tags": "tagUuids", "host": "hostUuid", "vm": "vmInstanceUuid"}) == {
        "uuid": "None",
        "name": None,
        "host_uuids": None,
        "tags": ["None", "None", HEX],
        "host": "None",
        "vm": "None",
    }


def test_null_is_marked_as_predicted_if_an_earlier_task_predicted_its_type() -> None:
    arguments = {"uuid": None, "host": "", "topics": [None], "params": {"vmInstanceUuid": None, "hostUuid": None}}
    parameters = {"host": "hostUuid", "topics": "topicUuids"}

    def list_predicted(own: str, *predicted: str) -> list[str]:
        marked = mark_nulls(arguments, parameters, (own,), predicted)
        values = {**marked, "topics": marked["topics"][0], **marked["params"]}
        return [name for name, value in values.items() if value == PREDICTED_MARK]

    assert list_predicted("vm") == []
    assert list_predicted("vm", "host") == ["host", "hostUuid"]
    assert list_predicted("vm", "vm", "topic") == ["uuid", "topics", "vmInstanceUuid"]


VM, HOST, NIC = seeded_uuid("vm", 5), seeded_uuid("host", 1), seeded_uuid("vmnic", 1)
NETWORK, PLATFORM, PERSON = seeded_uuid("l3network", 2), seeded_uuid("platform", 1), seeded_uuid("person", 1)

CHANGING: dict[str, Mapping[str, Any]] = {
    "cbt_task": {"name": "n", "vm": VM},
    "kvm_host": {"uuid": HOST, "state": "disabled"},
    "vm_nic": {"vm": VM, "l3_network": NETWORK},
    "sns_snmp_platform": {"uuid": PLATFORM, "snmp_port": 1},
    "sns_teamchat_person": {"uuid": PERSON, "remark": "changed"},
    "sns_endpoint": {"type": "snmp", "name": "n", "platform": PLATFORM},
    "vm_from_snapshot_group": {
        "name": "n",
        "snapshot_group": seeded_uuid("snapshotgroup", 1),
        "l3_networks": [NETWORK],
    },
    "host_nic_service": {"interfaces": [seeded_uuid("hostnic", 2)], "service_types": ["BackupNetwork"]},
    "vm_snapshot_group": {"vm": VM, "name": "n"},
}
CALLING: dict[str, Mapping[str, Any]] = {
    "vm_nic_qos": {"uuid": NIC, "direction": "in"},
    "sns_snmp_test": {"platform": PLATFORM},
    "cbt_volume_export": {"vm": seeded_uuid("vm", 4), "volumes": [seeded_uuid("volume", 7)]},
}
READING: dict[str, Mapping[str, Any]] = {
    "vm_info": {"uuid": VM},
    "vm_nic_info": {"vm": VM},
    "host_info": {"uuid": HOST},
    "cbt_task_info": {"vm": VM},
    "vm_snapshot_group_info": {"vm": VM},
    "primary_storage_info": {"uuid": seeded_uuid("primarystorage", 1)},
    "sns_endpoint_info": {"uuid": seeded_uuid("endpoint", 1)},
    "host_network_info": {"hosts": [HOST]},
    "host_nic_candidate_info": {"hosts": [HOST]},
    "sns_topic_subscriber_info": {"topic": seeded_uuid("topic", 1)},
}


PARAMETERS = {option: parameter for each in MODULES for option, parameter in load_spec(each).parameters.items()}


def is_reference_option(option: str) -> bool:
    """Return whether an option refers to an object."""
    return is_reference(PARAMETERS.get(option, option))


def change_references(options: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """Return options with each reference, also in a list, replaced by the result of ``change``."""
    return {
        name: [change(item) for item in value]
        if is_reference_option(name) and isinstance(value, list)
        else change(value)
        if is_reference_option(name)
        else value
        for name, value in options.items()
    }


@pytest.mark.parametrize("name", [*CHANGING, *CALLING])
def test_spelling_of_a_uuid_changes_neither_the_calls_nor_the_result(
    sim: Simulator, run: ModuleRunner, name: str
) -> None:
    options = {**CHANGING, **CALLING}[name]
    sim.reset(sync=True)
    plain = run(name, options)
    sim.reset(sync=True)
    other = run(name, change_references(options, spell_differently))
    assert not other.failed, other.message
    calls = [
        [(entry["path"], entry["body"]) for entry in ran.log if entry["method"] != "GET"] for ran in (plain, other)
    ]
    assert calls[0] == calls[1]
    if name in CHANGING:
        run.idle(name, change_references(options, spell_differently))


@pytest.mark.parametrize("name", READING)
def test_spelling_of_a_uuid_does_not_change_what_is_read(run: ModuleRunner, name: str) -> None:
    plain = run(name, READING[name])
    other = run(name, change_references(READING[name], spell_differently))
    assert other.result == plain.result
    assert not other.failed


def test_existing_object_is_deleted_by_any_spelling_of_its_uuid(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(cbt_tasks=1)
    (task,) = sim.records("cbttask")
    assert run("cbt_task", {"uuid": spell_differently(task["uuid"]), "state": "absent"}).changed
    assert sim.records("cbttask") == []


def test_jobs_are_found_by_any_spelling_of_their_uuids(run: ModuleRunner) -> None:
    disabled = {"name": "host-1", "state": "disabled", "wait": False}
    started = run("kvm_host", disabled, job_uuid=spell_differently(HEX))
    assert started["job"]["uuid"] == HEX
    waited = run("job_wait", {"jobs": [{"uuid": spell_differently(HEX)}]})
    assert [job["state"] for job in waited["jobs"]] == ["succeeded"]


@pytest.mark.parametrize("name", [*CHANGING, *CALLING, *READING])
def test_invalid_uuid_is_refused_before_anything_is_sent(run: ModuleRunner, name: str) -> None:
    """The object itself is selected by its uuid.

    Other objects may also be given by name, so the text is looked up as a name.
    """
    options = {**CHANGING, **CALLING, **READING}[name]
    ran = run(name, change_references(options, lambda dummy: "../../hosts"))
    if "uuid" in options:
        assert "uuid must be a uuid (32 hexadecimal digits), not '../../hosts'" in ran.message
        assert (ran["error"]["code"], ran.log) == ("INVALID", [])
        assert re.search(r"\. Give (name|vm|user_id) in place of uuid\.$", ran.message)
    else:
        assert " has the name '../../hosts'. Check the name" in ran.message
        assert (ran["error"]["code"], ran.calls) == ("NOT_FOUND", [])
        assert not any("../" in entry["path"] for entry in ran.log)


@pytest.mark.parametrize("name", ["vm_from_snapshot_group", "api"])
def test_uuids_that_are_keys_are_normalized(run: ModuleRunner, name: str) -> None:
    options = {"name": "n", "snapshot_group": seeded_uuid("snapshotgroup", 1)}

    def call(key: str) -> ModuleRun:
        given = {**options, "data_volume_system_tags": {key: ["tag"]}}
        params = {PARAMETERS[option]: value for option, value in given.items()}
        operation = "CreateVmInstanceFromVolumeSnapshotGroup"
        return run(name, {"operation": operation, "params": params} if name == "api" else given)

    created = call(spell_differently(HEX))
    assert created.sent("CreateVmInstanceFromVolumeSnapshotGroup")["dataVolumeSystemTags"] == {HEX: ["tag"]}
    refused = call("snapshot-1")
    assert "must be a uuid (32 hexadecimal digits), not 'snapshot-1'" in refused.message
    assert refused.log == []


def test_parameters_of_any_operation_are_normalized(run: ModuleRunner) -> None:
    params = {"uuid": spell_differently(HOST), "stateEvent": "disable"}
    ran = run("api", {"operation": "ChangeHostState", "params": params})
    assert ran["reply"]["inventory"]["uuid"] == HOST
    refused = run("api", {"operation": "ChangeHostState", "params": {**params, "uuid": "../../hosts"}})
    assert "no host has the name '../../hosts'" in refused.message


# ---------------------------------------------------------------------------------------------------------------- nulls

NULLS = [None, "", "None"]
PREDICTED = tuple(RESOURCE_TYPES)


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("name", [*CHANGING, *CALLING])
def test_null_reference_to_a_predicted_object_predicts_a_change(run: ModuleRunner, name: str, null: Any) -> None:
    """An object that an earlier task would have created has no uuid yet."""
    options = change_references({**CHANGING, **CALLING}[name], lambda dummy: null)
    ran = run(name, options, check=True, predicted=PREDICTED)
    assert not ran.failed, ran.message
    assert ran.changed == (name != "sns_snmp_test")
    assert ran.calls == []
    assert "None" not in str([value for value in ran.result.values() if isinstance(value, str)])


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("name", [*CHANGING, *CALLING])
def test_null_reference_that_is_needed_has_one_message(run: ModuleRunner, name: str, null: Any) -> None:
    """A null reference that is not needed is omitted, like any other null option."""
    given = {**CHANGING, **CALLING}[name]
    options = change_references(given, lambda dummy: null)
    checked, ran = run(name, options, check=True), run(name, options)
    if name == "sns_endpoint":
        assert ran.sent("CreateSNSSnmpEndpoint") == {"name": "n"}
        assert checked.changed
        return
    references = [option for option in given if is_reference_option(option)]
    assert any(f"{option} must not " in ran.message for option in references), ran.message
    assert ran.message.count("\n") == 0
    assert ran["error"]["code"] == "INVALID"
    assert checked.calls == ran.calls == []
    assert checked.message == ran.message


def list_omissible() -> Iterator[tuple[str, str]]:
    """Yield the modules with those of their references that select nothing."""
    for name in (*CHANGING, *CALLING, *READING):
        spec = load_spec(name)
        constraints = [option for group in spec.constraints.get("required_one_of", ()) for option in group]
        needed = [option for options in spec.constraints.get("required_by", {}).values() for option in options]
        for option, rules in spec.options.items():
            selects = option in (*constraints, *needed, *spec.selecting_options) or rules.get("required")
            if is_reference(spec.parameters[option]) and not selects:
                yield name, option


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize(("name", "option"), [*list_omissible()])
def test_null_that_selects_nothing_is_not_given(
    sim: Simulator, run: ModuleRunner, name: str, option: str, null: Any
) -> None:
    """Check mode and the run treat it the same, and as if it were not given. Core before 2.19 makes "" of null."""
    given = {key: value for key, value in {**CHANGING, **CALLING, **READING}[name].items() if key != option}
    outcomes = []
    for options in (given, {**given, option: null}):
        for check in (True, False):
            sim.reset()
            ran = run(name, options, check)
            # Only names are read to explain a failure.
            sent = [entry["operation"] for entry in ran.log if "fields" not in (entry["query"] or ())]
            outcomes.append((ran.changed, ran.failed, drop_remedy(ran.message, option), sent))
    assert outcomes[:2] == outcomes[2:]


def drop_remedy(message: str, option: str) -> str:
    """Return a failure as one word if it is that the option is missing, which null is named for."""
    is_missing = (
        f"{option} must not be null" in message or f"give {option}" in message.lower() or f"{option} is req" in message
    )
    return "missing" if is_missing else message


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("name", READING)
def test_null_reference_selects_nothing_to_read(run: ModuleRunner, name: str, null: Any) -> None:
    options = change_references(READING[name], lambda dummy: null)
    predicted = run(name, options, check=True, predicted=PREDICTED)
    assert not predicted.failed, predicted.message
    assert predicted.log == []
    for check in (True, False):
        ran = run(name, options, check)
        assert "must not " in ran.message
        assert ran.log == []


def known_values(side: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a side of a diff that are not null."""
    return {name: value for name, value in side.items() if value is not None}


@pytest.mark.parametrize(
    ("name", "options", "after"),
    [
        ("cbt_task", {"state": "absent"}, {}),
        ("cbt_task", {"state": "disabled"}, {"status": "Stopped"}),
        ("kvm_host", {"state": "maintenance"}, {"state": "Maintenance"}),
        ("vm_nic", {"state": "disabled"}, {"state": "disable"}),
        ("vm_nic", {"l3_network": NETWORK}, {"l3_network_uuid": NETWORK}),
        ("sns_endpoint", {"type": "snmp", "name": "changed"}, {"name": "changed"}),
        ("sns_snmp_platform", {"name": "changed"}, {"name": "changed"}),
    ],
)
def test_object_whose_own_uuid_is_null_will_exist(
    run: ModuleRunner, name: str, options: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    ran = run(name, {**options, "uuid": None}, check=True, predicted=PREDICTED)
    assert ran.changed, ran.result
    assert known_values(ran["diff"]["before"]) == {}
    assert known_values(ran["diff"]["after"]) == after
    if "name" not in options:
        assert "uuid must not be null" in run.refused(name, {**options, "uuid": None})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vm_nic", {"uuid": NIC, "l3_network": None}),
        ("vm_nic", {"uuid": NIC, "vm": seeded_uuid("vm", 1), "l3_network": None}),
        ("sns_endpoint", {"type": "any", "name": "snmp-endpoint-1", "platform": None}),
        ("sns_endpoint", {"type": "any", "uuid": None, "name": "snmp-endpoint-1"}),
        ("sns_snmp_platform", {"uuid": None, "name": "renamed"}),
        ("sns_teamchat_person", {"user_id": "user-1", "endpoint": None, "remark": "changed"}),
        ("kvm_host", {"name": "host-1", "uuid": None, "state": "disabled"}),
        ("host_nic_service", {"interfaces": [None, seeded_uuid("hostnic", 2)], "service_types": []}),
    ],
)
def test_null_reference_that_a_call_can_set_predicts_a_change(
    run: ModuleRunner, name: str, options: Mapping[str, Any]
) -> None:
    ran = run(name, options, check=True, predicted=PREDICTED)
    assert not ran.failed, ran.message
    assert ran.changed, ran.result
    assert ran.calls == []


@pytest.mark.parametrize("state", ["absent", "disabled"])
def test_objects_of_a_predicted_object_are_predicted_too(run: ModuleRunner, state: str) -> None:
    """A play that deletes or stops the task of a VM that it creates does so because it creates that task as well."""
    ran = run("cbt_task", {"vm": None, "state": state}, check=True, predicted=("vm",))
    assert not ran.failed, ran.message
    assert ran.changed
    assert (ran["cbt_task"] is None) == (state == "absent")


def test_existing_object_is_found_by_name_with_a_null_reference(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(cbt_tasks=1)
    for check in (True, False):
        ran = run("cbt_task", {"name": "cbt-task-1", "vm": None}, check=check)
        assert not ran.failed, ran.message
        assert not ran.changed


@pytest.mark.parametrize("params", [{"uuid": None}, {"uuid": ""}, {"uuid": "None"}])
def test_null_parameter_of_any_operation(run: ModuleRunner, params: Mapping[str, Any]) -> None:
    options = {"operation": "ChangeHostState", "params": {**params, "stateEvent": "disable"}}
    checked = run("api", options, check=True, predicted=("host",))
    assert (checked.changed, checked.log) == (True, [])
    assert run.refused("api", options) == "uuid of ChangeHostState must not be null or empty"
