"""The modules for notifications: endpoints, platforms, persons and the connection test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ansible.constants
import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.finders import assume_fields
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.notifications import (
    assume_missing_fields,
)
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner

CHAT: dict[str, Any] = {
    "type": "workchat",
    "name": "operators",
    "url": "https://chat.example.com/send?key=8f14e45f",
    "at_person_list": {"user-1": "on call", "user-2": "deputy"},
    "description": "the control room",
}
SNMP: dict[str, Any] = {"type": "snmp", "name": "monitoring", "description": "traps"}


@pytest.fixture
def platform(sim: Simulator) -> str:
    """The uuid of the only SNMP platform."""
    return next(str(each["uuid"]) for each in sim.records("platform") if each["type"] == "Snmp")


@pytest.fixture
def person(sim: Simulator) -> dict[str, Any]:
    return sim.records("person")[0]


def endpoints(sim: Simulator, name: str) -> list[dict[str, Any]]:
    return [endpoint for endpoint in sim.records("endpoint") if endpoint["name"] == name]


# --------------------------------------------------------------------------------------------------- workchat endpoints


def test_persons_are_sent_in_both_forms(run: ModuleRunner) -> None:
    ran = run("sns_endpoint", CHAT)
    sent = ran.sent("CreateSNSWorkchatEndpoint")
    assert sorted(sent["atPersonUserIds"]) == ["user-1", "user-2"]
    assert sent["atPersonList"] == {"user-1": "on call", "user-2": "deputy"}


def test_persons_by_their_ids_only(run: ModuleRunner) -> None:
    options = {**CHAT, "at_person_list": None, "at_person_user_ids": ["user-2", "user-1"]}
    sent = run.twice("sns_endpoint", options).sent("CreateSNSWorkchatEndpoint")
    assert sent["atPersonUserIds"] == ["user-2", "user-1"]
    assert sent["atPersonList"].keys() == {"user-1", "user-2"}


def test_persons_in_both_forms_are_combined(run: ModuleRunner) -> None:
    options = {**CHAT, "at_person_user_ids": ["user-2", "user-9"]}
    sent = run.twice("sns_endpoint", options).sent("CreateSNSWorkchatEndpoint")
    assert sent["atPersonUserIds"] == ["user-2", "user-9", "user-1"]
    assert sent["atPersonList"] == {"user-1": "on call", "user-2": "deputy", "user-9": ""}


@pytest.mark.parametrize("empty", [{"at_person_list": {}}, {"at_person_list": None, "at_person_user_ids": []}])
def test_empty_persons_are_not_sent_on_create(run: ModuleRunner, empty: dict[str, Any]) -> None:
    """Servers refuse an empty list when the endpoint is created."""
    sent = run.twice("sns_endpoint", {**CHAT, **empty}).sent("CreateSNSWorkchatEndpoint")
    assert not {"atPersonUserIds", "atPersonList"} & sent.keys()


def test_server_that_requires_persons(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(persons_required=True)
    run.twice("sns_endpoint", CHAT)
    ran = run("sns_endpoint", {**CHAT, "name": "lonely", "at_person_list": None})
    assert "atPersonUserIds" in ran.message
    assert endpoints(sim, "lonely") == []


@pytest.mark.parametrize("spelling", ["atAll", "atALL", "both"])
@pytest.mark.parametrize("everybody", [True, False])
def test_at_all_in_both_spellings(run: ModuleRunner, sim: Simulator, spelling: str, everybody: bool) -> None:
    sim.configure(at_all_spelling=spelling)
    run.twice("sns_endpoint", {**CHAT, "at_all": everybody})
    assert endpoints(sim, "operators")[0]["atAll"] is everybody


def test_order_of_persons_does_not_matter(run: ModuleRunner) -> None:
    run("sns_endpoint", CHAT)
    for ids in (["user-1", "user-2"], ["user-2", "user-1"]):
        run.idle("sns_endpoint", {**CHAT, "at_person_list": None, "at_person_user_ids": ids})


def test_hidden_remarks_are_not_compared(run: ModuleRunner, sim: Simulator) -> None:
    uuid = run("sns_endpoint", CHAT)["endpoint"]["uuid"]
    sim.change("endpoint", uuid, atPersonList=None)
    run.idle("sns_endpoint", {**CHAT, "at_person_list": {"user-1": "on leave", "user-2": ""}})


@pytest.fixture
def listed_persons(run: ModuleRunner, sim: Simulator) -> str:
    """The uuid of an endpoint whose record shows its persons as a list of records."""
    endpoint = run("sns_endpoint", CHAT)["endpoint"]
    persons = [
        {"uuid": f"{number:032x}", "userId": user, "remark": remark, "endpointUuid": endpoint["uuid"]}
        for number, (user, remark) in enumerate({"user-2": "deputy", "user-1": "on call"}.items())
    ]
    sim.change("endpoint", endpoint["uuid"], atPersonList=persons)
    return str(endpoint["uuid"])


def test_persons_that_are_listed_as_records_are_compared(run: ModuleRunner, listed_persons: str) -> None:
    ran = run.idle("sns_endpoint", CHAT)
    assert ran["endpoint"]["at_person_list"] == {"user-1": "on call", "user-2": "deputy"}
    run.idle("sns_endpoint", {**CHAT, "at_person_list": None, "at_person_user_ids": ["user-1", "user-2"]})
    run.idle("sns_endpoint", {**CHAT, "at_person_list": {"user-1": "on call"}, "at_person_user_ids": ["user-2"]})
    run.twice("sns_endpoint", {**CHAT, "description": "moved"})


def test_listed_persons_have_their_uuids_in_the_list_of_endpoints(run: ModuleRunner, listed_persons: str) -> None:
    (endpoint,) = run("sns_endpoint_info", {"uuid": listed_persons})["endpoints"]
    assert [person["user_id"] for person in endpoint["at_person_list"]] == ["user-2", "user-1"]


def test_other_remark_cannot_be_set(run: ModuleRunner, listed_persons: str) -> None:
    options = {**CHAT, "at_person_list": {"user-1": "on leave", "user-2": "deputy"}}
    message = run.refused("sns_endpoint", options)
    present, desired = {"user-2": "deputy", "user-1": "on call"}, {"user-2": "deputy", "user-1": "on leave"}
    assert f"the API cannot change at_person_list (is {present}, should be {desired})" in message
    assert run("sns_endpoint", options)["error"]["code"] == "UNCHANGEABLE"


def test_persons_that_are_listed_only_as_records(run: ModuleRunner, sim: Simulator, listed_persons: str) -> None:
    sim.change("endpoint", listed_persons, atPersonUserIds=None)
    run.idle("sns_endpoint", CHAT)
    assert "at_person_user_ids" in run.refused("sns_endpoint", {**CHAT, "at_person_list": {"user-1": "on call"}})


def test_user_ids_and_remarks_are_sent_as_strings(run: ModuleRunner) -> None:
    sent = run.twice("sns_endpoint", {**CHAT, "at_person_list": {10: 4, 11: None}}).sent("CreateSNSWorkchatEndpoint")
    assert sent["atPersonUserIds"] == ["10", "11"]
    assert sent["atPersonList"] == {"10": "4", "11": ""}
    message = run.refused("sns_endpoint", {**CHAT, "name": "another", "at_person_list": {"user-1": {"remark": "r"}}})
    assert "at_person_list: the remark of user-1 must be a string, not a dict" in message


FIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "fewer people": ("at_person_user_ids", {"at_person_list": {"user-1": ""}}),
    "other people": ("at_person_user_ids", {"at_person_list": {"user-1": "", "user-3": ""}}),
    "nobody": ("at_person_user_ids", {"at_person_list": None, "at_person_user_ids": []}),
}


@pytest.mark.parametrize("case", FIXED)
def test_drift_that_the_api_cannot_change(run: ModuleRunner, case: str) -> None:
    run("sns_endpoint", CHAT)
    name, options = FIXED[case]
    message = run.refused("sns_endpoint", {**CHAT, **options})
    assert message.startswith(f"endpoint operators: the API cannot change {name} (is ")
    assert ", should be " in message
    assert "8f14e45f" not in message


def test_url_that_differs_in_what_is_masked(run: ModuleRunner) -> None:
    run("sns_endpoint", CHAT)
    message = run.refused("sns_endpoint", {**CHAT, "url": "https://chat.example.com/other", "state": "absent"})
    assert "8f14e45f" not in message
    assert "url (is 'https://chat.example.com/********', a masked part differs)" in message


def test_empty_description_is_sent(run: ModuleRunner) -> None:
    run("sns_endpoint", CHAT)
    ran = run.twice("sns_endpoint", {**CHAT, "description": ""})
    assert ran.sent("UpdateSNSApplicationEndpoint") == {"description": ""}


@pytest.mark.parametrize("options", [CHAT, SNMP], ids=["workchat", "snmp"])
def test_uuid_and_name_rename(run: ModuleRunner, sim: Simulator, options: dict[str, Any]) -> None:
    uuid = run("sns_endpoint", options)["endpoint"]["uuid"]
    ran = run.twice("sns_endpoint", {"type": options["type"], "uuid": uuid, "name": "renamed"})
    assert ran.sent("UpdateSNSApplicationEndpoint") == {"name": "renamed"}
    assert endpoints(sim, options["name"]) == []
    assert ran["endpoint"].get("url") == ("https://chat.example.com/********" if options is CHAT else None)
    assert "8f14e45f" not in str(ran.result)


@pytest.mark.parametrize("options", [CHAT, SNMP], ids=["workchat", "snmp"])
def test_two_with_the_same_name_are_ambiguous(run: ModuleRunner, sim: Simulator, options: dict[str, Any]) -> None:
    first = run("sns_endpoint", options)["endpoint"]["uuid"]
    second = run("sns_endpoint", {**options, "name": "second"})["endpoint"]["uuid"]
    sim.change("endpoint", second, name=options["name"])
    message = run.refused("sns_endpoint", options)
    assert first in message
    assert second in message
    run.idle("sns_endpoint", {**options, "uuid": second})


@pytest.mark.parametrize("missing", ["name", "url"])
def test_required_options_of_a_create(run: ModuleRunner, missing: str) -> None:
    options = {**CHAT, missing: None, **({"uuid": "f" * 32} if missing == "name" else {})}
    assert (f"give {missing} to create it" if missing == "url" else "no endpoint with uuid") in run.refused(
        "sns_endpoint", options
    )


def test_unknown_uuid_is_not_created(run: ModuleRunner) -> None:
    message = run.refused("sns_endpoint", {**CHAT, "uuid": "f" * 32})
    assert message.startswith(f"endpoint operators: no endpoint with uuid '{'f' * 32}'.")


def test_key_in_the_url_is_not_in_the_result(run: ModuleRunner) -> None:
    for check in (True, False, False):
        assert "8f14e45f" not in str(run("sns_endpoint", CHAT, check).result)


# ------------------------------------------------------------------------------------------------------- SNMP endpoints


def test_snmp_endpoint_without_a_platform(run: ModuleRunner, sim: Simulator) -> None:
    assert run.twice("sns_endpoint", SNMP).calls == ["CreateSNSSnmpEndpoint"]
    sim.configure(snmp_platform_required=True)
    ran = run("sns_endpoint", {**SNMP, "name": "another"})
    assert "CreateSNSSnmpEndpoint failed (SYS.1000)" in ran.message
    assert not ran.changed


@pytest.mark.parametrize("options", [SNMP, CHAT])
def test_platform_of_an_endpoint_changes(run: ModuleRunner, sim: Simulator, options: dict[str, Any]) -> None:
    endpoint = run("sns_endpoint", options)["endpoint"]
    other = seeded_uuid("platform", 2)
    sim.change("platform", other, type=endpoint["type"])
    ran = run.twice("sns_endpoint", {**options, "platform": other})
    assert ran.sent("UpdateSNSApplicationEndpoint") == {"platformUuid": other}
    assert ran["endpoint"]["platform_uuid"] == other


def test_new_workchat_endpoint_gets_its_platform(run: ModuleRunner, sim: Simulator) -> None:
    other = seeded_uuid("platform", 2)
    sim.change("platform", other, type="WorkChat")
    ran = run.twice("sns_endpoint", {**CHAT, "platform": other, "state": "disabled"})
    assert ran["endpoint"]["platform_uuid"] == other
    assert ran["endpoint"]["state"] == "Disabled"


@pytest.mark.parametrize("more", [{}, {"description": "x"}, {"state": "disabled"}])
def test_webhook_url_in_place_of_url_is_warned_of(run: ModuleRunner, more: dict[str, Any]) -> None:
    """A task that gives something else of the endpoint may have the address for its job."""
    ran = run("sns_endpoint", {"type": "any", "uuid": TEAMCHAT, "webhook_url": "https://chat.example.com/key", **more})
    assert ["is the option url" in warning for warning in ran.warnings] == ([] if more else [True])


def test_endpoint_of_another_type_is_not_selected(run: ModuleRunner, sim: Simulator) -> None:
    chat = run("sns_endpoint", {**CHAT, "name": "monitoring"})["endpoint"]["uuid"]
    snmp = run.twice("sns_endpoint", SNMP)["endpoint"]["uuid"]
    assert chat != snmp
    assert len(endpoints(sim, "monitoring")) == 2
    elsewhere = f"no endpoint with uuid {chat!r}. It exists with another type. Give type: workchat."
    assert elsewhere in run.refused("sns_endpoint", {"type": "snmp", "uuid": chat})
    assert "no endpoint with uuid" in run.refused("sns_endpoint", {"type": "workchat", "uuid": snmp})


def test_name_of_an_endpoint_of_another_type_is_said(run: ModuleRunner) -> None:
    """A second endpoint of the name is not proposed, and the absence of this one is reached."""
    run("sns_endpoint", SNMP)
    options = {"type": "workchat", "name": "monitoring", "state": "disabled"}
    message = run.refused("sns_endpoint", options)
    assert "no endpoint with name 'monitoring'. It exists with another type. Give type: snmp." in message
    assert run.idle("sns_endpoint", {**options, "state": "absent"})
    other = run.refused("sns_endpoint", {"type": "any", "name": "nowhere"})
    assert "Check the name, or give type workchat or snmp, and its options, to create it." in other


TEAMCHAT = seeded_uuid("endpoint", 2)


def test_endpoint_of_any_type_changes(run: ModuleRunner, sim: Simulator) -> None:
    """The API cannot create a teamchat endpoint, but can change an existing one."""
    renamed = run.twice("sns_endpoint", {"type": "any", "uuid": TEAMCHAT, "name": "night", "description": ""})
    assert renamed.sent("UpdateSNSApplicationEndpoint") == {"name": "night", "description": ""}
    assert (renamed["endpoint"]["name"], renamed["endpoint"]["type"]) == ("night", "TeamChat")
    run.twice("sns_endpoint", {"type": "any", "name": "night", "description": "alarms at night"})
    assert [endpoint["description"] for endpoint in endpoints(sim, "night")] == ["alarms at night"]


def test_endpoint_of_any_type_must_exist(run: ModuleRunner) -> None:
    for options in ({"name": "nowhere"}, {"uuid": "f" * 32, "name": "nowhere"}):
        checked, ran = (run("sns_endpoint", {"type": "any", **options}, check) for check in (True, False))
        assert checked["error"]["code"] == ran["error"]["code"] == "NOT_FOUND"
        assert checked.calls == ran.calls == []
    persons = {"type": "any", "uuid": TEAMCHAT, "at_person_user_ids": ["user-1"]}
    assert run.refused("sns_endpoint", persons) == "at_person_user_ids cannot be used with type any"


def test_options_of_the_other_type_are_refused(run: ModuleRunner) -> None:
    options = {**SNMP, "url": CHAT["url"], "at_all": True}
    assert run.refused("sns_endpoint", options) == (
        "url, at_all cannot be used with type snmp, which has name, description, platform, topics"
    )
    # No value of url fits to this type, so its form does not matter.
    assert "url cannot be used with type snmp" in run.refused("sns_endpoint", {**SNMP, "url": "udp://10.0.0.1:162"})


# ---------------------------------------------------------------------------------------- endpoints that cannot be read


def test_workchat_query_with_an_empty_reply(run: ModuleRunner, sim: Simulator) -> None:
    """The document shows an empty object as the reply, so the module uses the list of all endpoints."""
    sim.configure(workchat_query_empty=True)
    run.twice("sns_endpoint", CHAT)
    run.twice("sns_endpoint", {**CHAT, "description": "moved"})


def test_fields_missing_from_the_general_query_are_not_compared() -> None:
    desired = {"name": "n", "url": "u", "atPersonList": {"user-1": ""}}
    short = assume_fields(lambda dummy, desired: {"uuid": "1", "name": desired["name"]}, assume_missing_fields)
    full = assume_fields(lambda *dummy: {"uuid": "1", "url": "other", "atPersonUserIds": []}, assume_missing_fields)
    unknown: Any = None
    assert short(unknown, desired) == {"uuid": "1", "name": "n", "url": "u", "atPersonUserIds": ["user-1"]}
    assert full(unknown, desired) == {"uuid": "1", "url": "other", "atPersonUserIds": []}


@pytest.mark.parametrize("options", [CHAT, SNMP], ids=["workchat", "snmp"])
@pytest.mark.parametrize("status", ["404", "405"])
def test_nothing_is_created_twice_without_a_list(
    run: ModuleRunner, sim: Simulator, status: str, options: dict[str, Any]
) -> None:
    sim.configure(companions=status, workchat_query_empty=True)
    message = run.refused("sns_endpoint", options)
    assert "cannot check whether the object exists" in message
    assert "Give uuid" in message
    assert "module api" in message
    assert run("sns_endpoint", options).warnings == []


@pytest.mark.parametrize("options", [CHAT, SNMP], ids=["workchat", "snmp"])
def test_uuid_is_enough_without_a_list(run: ModuleRunner, sim: Simulator, options: dict[str, Any]) -> None:
    uuid = run("sns_endpoint", options)["endpoint"]["uuid"]
    sim.configure(companions="404", workchat_query_empty=True)
    for dummy in range(2):
        ran = run("sns_endpoint", {**options, "uuid": uuid, "name": "renamed"})
        assert ran.changed
        assert ran.calls == ["UpdateSNSApplicationEndpoint"]
        assert ran.sent("UpdateSNSApplicationEndpoint") == {"name": "renamed", "description": options["description"]}
        (warning,) = ran.warnings
        assert "is not known" in warning
        assert "does not offer QuerySNSApplicationEndpoint" in warning
    assert len(endpoints(sim, "renamed")) == 1


def test_created_with_the_module_api_if_endpoints_are_not_listed(run: ModuleRunner, sim: Simulator) -> None:
    """The documentation suggests creating the endpoint with the module api, and then giving its uuid."""
    sim.configure(companions="404")
    ran = run("api", {"operation": "CreateSNSSnmpEndpoint", "params": {"name": "monitoring"}})
    uuid = ran["reply"]["inventory"]["uuid"]
    assert run("sns_endpoint", {**SNMP, "uuid": uuid}).changed
    assert endpoints(sim, "monitoring")[0]["description"] == "traps"


# ------------------------------------------------------------------------------------------------------------ platforms


def test_platform_keeps_omitted_values(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    before = next(each for each in sim.records("platform") if each["uuid"] == platform)
    ran = run.twice("sns_snmp_platform", {"uuid": platform, "snmp_port": 1162})
    assert ran.sent("UpdateSNSSnmpPlatform") == {"snmpAddress": before["snmpAddress"], "snmpPort": 1162}
    assert ran["platform"]["name"] == before["name"]
    assert ran["platform"]["snmp_port"] == 1162


def test_platform_whose_address_the_service_does_not_show(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    sim.configure(extra_members=False)
    address = {"uuid": platform, "snmp_address": "192.0.2.50", "snmp_port": 162}
    for dummy in range(2):
        ran = run("sns_snmp_platform", address)
        assert ran.changed
        (warning,) = ran.warnings
        assert "does not show snmp_address, snmp_port, so it is set each time" in warning
    assert "snmp_address, snmp_port are required" in run.refused("sns_snmp_platform", {"uuid": platform, "name": "n"})
    assert "snmp_port is required" in run.refused("sns_snmp_platform", {**address, "snmp_port": None})


@pytest.mark.parametrize("status", ["404", "405"])
def test_platforms_that_cannot_be_read(run: ModuleRunner, sim: Simulator, platform: str, status: str) -> None:
    sim.configure(companions=status)
    options = {"uuid": platform, "snmp_address": "192.0.2.50", "snmp_port": 162}
    for dummy in range(2):
        ran = run("sns_snmp_platform", options)
        assert ran.changed
        (warning,) = ran.warnings
        assert "does not offer QuerySNSSnmpPlatform" in warning
    assert "are required" in run.refused("sns_snmp_platform", {"uuid": platform, "name": "n"})


def test_platforms_are_read_with_the_general_query(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    sim.fault("status", "QuerySNSSnmpPlatform", status=404, count=None)
    ran = run.twice("sns_snmp_platform", {"uuid": platform, "name": "other"})
    assert ran.warnings == []


@pytest.mark.parametrize("general", [False, True])
def test_platform_is_found_by_its_name(run: ModuleRunner, sim: Simulator, platform: str, general: bool) -> None:
    sim.change("platform", platform, name="receiver")
    chat = next(each["uuid"] for each in sim.records("platform") if each["type"] != "Snmp")
    sim.change("platform", chat, name="receiver")
    if general:
        sim.fault("status", "QuerySNSSnmpPlatform", status=404, count=None)
    ran = run.twice("sns_snmp_platform", {"name": "receiver", "snmp_port": 1162})
    assert ran["platform"]["uuid"] == platform
    message = run.refused("sns_snmp_platform", {"name": "nobody"})
    assert message == (
        "platform nobody: no platform with name 'nobody'. Check the name, or give snmp_address and snmp_port to create"
        " it."
    )


def test_missing_platform(run: ModuleRunner, sim: Simulator) -> None:
    chat = next(each["uuid"] for each in sim.records("platform") if each["type"] != "Snmp")
    for uuid in ("f" * 32, chat):
        options = {"uuid": uuid, "snmp_address": "192.0.2.50", "snmp_port": 162}
        assert f"no platform with uuid '{uuid}'. Check the uuid" in run.refused("sns_snmp_platform", options)


# ---------------------------------------------------------------------------------------------------------------
# persons


def test_own_user_id_is_never_sent(run: ModuleRunner, person: dict[str, Any]) -> None:
    """The service refuses a user id that the person already has."""
    same = {"uuid": person["uuid"], "user_id": f" {person['userId']} "}
    run.idle("sns_teamchat_person", same)
    ran = run.twice("sns_teamchat_person", {**same, "remark": "on leave"})
    sent = ran.sent("UpdateAtPersonOfAtTeamchatEndpoint")
    assert sent == {"endpointUuid": person["endpointUuid"], "remark": "on leave"}


def test_other_user_id_is_sent_with_what_is_needed(run: ModuleRunner, person: dict[str, Any]) -> None:
    ran = run.twice("sns_teamchat_person", {"uuid": person["uuid"], "user_id": "user-7"})
    sent = ran.sent("UpdateAtPersonOfAtTeamchatEndpoint")
    assert sent == {"endpointUuid": person["endpointUuid"], "userId": "user-7", "remark": person["remark"]}
    assert ran["person"]["user_id"] == "user-7"


def test_empty_remark_is_sent(run: ModuleRunner, person: dict[str, Any]) -> None:
    sent = run.twice("sns_teamchat_person", {"uuid": person["uuid"], "remark": ""})
    assert sent.sent("UpdateAtPersonOfAtTeamchatEndpoint")["remark"] == ""


def test_user_id_of_another_person_is_refused(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    other = sim.records("person")[1]["userId"]
    ran = run("sns_teamchat_person", {"uuid": person["uuid"], "user_id": other})
    assert f"already has a person with the user_id {other!r}" in ran.message
    assert not ran.changed


def test_person_stays_with_the_endpoint(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    other = next(each["uuid"] for each in sim.records("endpoint") if each["uuid"] != person["endpointUuid"])
    message = run.refused("sns_teamchat_person", {"uuid": person["uuid"], "endpoint": other, "remark": "r"})
    assert "the API cannot change endpoint" in message
    run.idle("sns_teamchat_person", {"uuid": person["uuid"], "endpoint": person["endpointUuid"]})


def test_persons_that_cannot_be_read(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    sim.configure(companions="404")
    options = {"uuid": person["uuid"], "endpoint": person["endpointUuid"], "remark": "on leave"}
    for dummy in range(2):
        ran = run("sns_teamchat_person", options)
        assert ran.changed
        assert len(ran.warnings) == 1
        assert ran["person"]["user_id"] == person["userId"]
    assert "Omit user_id." in run.refused("sns_teamchat_person", {**options, "user_id": "user-7"})
    assert "Give endpoint." in run.refused("sns_teamchat_person", {"uuid": person["uuid"], "remark": "r"})
    assert "Give remark." in run.refused("sns_teamchat_person", {**options, "remark": None})


def test_person_is_found_by_the_user_id_and_the_endpoint(
    run: ModuleRunner, sim: Simulator, person: dict[str, Any]
) -> None:
    key = {"user_id": person["userId"], "endpoint": person["endpointUuid"]}
    ran = run.twice("sns_teamchat_person", {**key, "remark": "on leave"})
    assert ran["person"]["uuid"] == person["uuid"]
    assert "userId" not in ran.sent("UpdateAtPersonOfAtTeamchatEndpoint")
    other = sim.records("person")[1]
    sim.change("person", other["uuid"], userId=person["userId"], endpointUuid="e" * 32)
    run.idle("sns_teamchat_person", key)
    message = run.refused("sns_teamchat_person", {"user_id": person["userId"]})
    assert f"2 objects have the user_id '{person['userId']}'" in message
    assert "no person with user_id 'nobody'" in run.refused("sns_teamchat_person", {"user_id": "nobody"})
    sim.configure(companions="404")
    message = run.refused("sns_teamchat_person", {**key, "remark": "r"})
    assert "cannot check whether the object exists" in message


def test_missing_person(run: ModuleRunner) -> None:
    assert "no person with uuid" in run.refused("sns_teamchat_person", {"uuid": "f" * 32, "remark": "r"})


# ------------------------------------------------------------------------------------------------------ connection test


@pytest.mark.parametrize("way", ["platform", "endpoint"])
def test_connection_is_tested_by_one_trap(run: ModuleRunner, sim: Simulator, platform: str, way: str) -> None:
    uuid = platform if way == "platform" else sim.records("endpoint")[0]["uuid"]
    ran = run("sns_snmp_test", {way: uuid})
    assert ran.result == {"changed": False, "connected": True, "webhook_resp": {"statusCode": 200}}
    assert len(sim.state()["traps"]) == 1


@pytest.mark.parametrize("way", ["platform", "endpoint"])
@pytest.mark.parametrize("check", [True, False])
def test_only_snmp_is_tested(run: ModuleRunner, sim: Simulator, way: str, check: bool) -> None:
    other = next(record for record in sim.records(way) if record["type"] == "TeamChat")
    ran = run("sns_snmp_test", {way: other["name"]}, check=check)
    assert ran.message.endswith(
        f"the {way} {other['name']!r} is of the type TeamChat, and only SNMP ones can be tested. Give another {way}."
    )
    assert ran.calls == ([] if check else ["SNSSnmpTestConnection"])


def test_check_mode_sends_no_trap(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    ran = run("sns_snmp_test", {"platform": platform}, check=True)
    assert ran.result == {"changed": False, "check_mode": True, "connected": None, "webhook_resp": None}
    assert sim.state()["traps"] == []


def test_receiver_that_does_not_answer(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    sim.configure(snmp_connected=False)
    ran = run("sns_snmp_test", {"platform": platform})
    assert ran.message.startswith(f"platform {platform}: the service could not reach the SNMP receiver")
    assert ran["connected"] is False
    assert ran["webhook_resp"]["statusCode"] == 504
    assert not ran.changed
    ran = run("sns_snmp_test", {"platform": platform, "fail_on_error": False})
    assert ran["connected"] is False
    assert not ran.failed


def test_connection_test_that_takes_too_long_changes_nothing(run: ModuleRunner, sim: Simulator, platform: str) -> None:
    sim.configure(latency=60.0)
    ran = run("sns_snmp_test", {"platform": platform}, wait_timeout=0.1)
    assert "still running" in ran.message
    assert not ran.changed
    assert ran["job"]["operation"] == "SNSSnmpTestConnection"


# --------------------------------------------------------------------------- servers with we-com and feishu, or neither


def endpoint_paths(log: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return method and last part of the paths of endpoints and persons in a log."""
    prefix = "/service/v1/sns/application-endpoints/"
    return [(entry["method"], entry["path"].removeprefix(prefix)) for entry in log if prefix in entry["path"]]


def test_a_documented_server_sees_no_additional_requests(run: ModuleRunner) -> None:
    for check in (True, False, False):
        requested = endpoint_paths(run("sns_endpoint", CHAT, check).log)
        assert {path.partition("/")[0] for dummy, path in requested} == {"workchat"}
        assert len(requested) <= 3


@pytest.mark.parametrize("paging", [True, False])
def test_an_open_server_gets_one_we_com_endpoint(run: ModuleRunner, sim: Simulator, paging: bool) -> None:
    sim.configure(chats="open", query_paging=paging)
    ran = run.twice("sns_endpoint", CHAT)
    # Without a total, only the refusal of the documented operation shows that the server lacks it.
    assert ran.calls == [*([] if paging else ["None"]), "CreateSNSWeComEndpoint"]
    assert len(endpoints(sim, "operators")) == 1
    changed = run.twice("sns_endpoint", {**CHAT, "url": "https://chat.example.com/other"})
    assert changed.calls == ["UpdateSNSWeComEndpoint"]
    uuid = ran["endpoint"]["uuid"]
    renamed = run.twice("sns_endpoint", {"type": "workchat", "uuid": uuid, "name": "renamed"})
    assert renamed.calls == ["UpdateSNSApplicationEndpoint"]


def test_a_run_finds_out_once_which_operations_a_server_has(run_of_tasks: ModuleRunner, sim: Simulator) -> None:
    sim.configure(chats="open")
    first = endpoint_paths(run_of_tasks("sns_endpoint", CHAT, check=True).log)
    assert first == [("GET", "workchat"), ("GET", "we-com")]
    for name, options in (("sns_endpoint", CHAT), ("sns_endpoint_info", {"type": "workchat"})):
        chats = {path for dummy, path in endpoint_paths(run_of_tasks(name, options).log) if "/" not in path}
        assert chats == {"we-com"}


@pytest.fixture
def run_of_tasks(sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleRunner:
    """Run modules as the tasks of one run of Ansible."""
    monkeypatch.setattr(ansible.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return ModuleRunner(sim, FileStore)


def test_the_person_of_a_feishu_endpoint(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    sim.configure(chats="open")
    options = {"endpoint": person["endpointUuid"], "user_id": person["userId"], "remark": "on call"}
    ran = run.twice("sns_teamchat_person", options)
    assert ran.calls == ["UpdateAtPersonOfAtFeiShuEndpoint"]
    assert ran["person"]["remark"] == "on call"
    listed = run("sns_endpoint_info", {"uuid": person["endpointUuid"]})["endpoints"][0]["persons"]
    assert "on call" in [each["remark"] for each in listed]


def test_the_endpoint_info_of_an_open_server(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(chats="open")
    uuid = run("sns_endpoint", CHAT)["endpoint"]["uuid"]
    for options in ({"type": "workchat"}, {"uuid": uuid}, {"type": "workchat", "name": "operators"}):
        listed = {each["uuid"]: each for each in run("sns_endpoint_info", options)["endpoints"]}
        assert {each["user_id"]: each["remark"] for each in listed[uuid]["at_person_list"]} == CHAT["at_person_list"]


def test_a_write_finds_out_what_no_read_has_shown(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    sim.configure(chats="open")
    params = {"uuid": person["uuid"], "endpointUuid": person["endpointUuid"], "remark": "changed"}
    ran = run("api", {"operation": "UpdateAtPersonOfAtTeamchatEndpoint", "params": params})
    assert ran.changed
    assert sim.records("person")[0]["remark"] == "changed"


def test_a_server_with_neither_is_named(run: ModuleRunner, sim: Simulator, person: dict[str, Any]) -> None:
    sim.configure(chats="none")
    ran = run("sns_endpoint", CHAT)
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert ran.message == (
        "endpoint operators: the service offers neither CreateSNSWorkchatEndpoint nor CreateSNSWeComEndpoint, which"
        " some servers have instead: the service does not offer CreateSNSWorkchatEndpoint, which needs version 4.2.0"
        " or newer (HTTP status 500 for POST /service/v1/sns/application-endpoints/workchat). Check the version and"
        " edition of the service."
    )
    options = {"uuid": person["uuid"], "endpoint": person["endpointUuid"], "remark": "on call"}
    ran = run("sns_teamchat_person", options)
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert "neither UpdateAtPersonOfAtTeamchatEndpoint nor UpdateAtPersonOfAtFeiShuEndpoint" in ran.message


def test_a_substitute_has_the_job_id_of_the_refused_call(
    run: ModuleRunner, sim: Simulator, person: dict[str, Any]
) -> None:
    """The refusal may be the response to another call, so that the documented operation was performed."""
    sim.configure(chats="open")
    params = {"uuid": person["uuid"], "endpointUuid": person["endpointUuid"], "remark": "changed"}
    ran = run("api", {"operation": "UpdateAtPersonOfAtTeamchatEndpoint", "params": params})
    ids = [entry["headers"]["x-job-uuid"] for entry in ran.log if entry["method"] == "PUT"]
    assert len(ids) == 2
    assert len(set(ids)) == 1
