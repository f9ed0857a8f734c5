"""The simulator's notification endpoints, platforms, persons and subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

WORKCHAT = "sns/application-endpoints/workchat"
SNMP = "sns/application-endpoints/snmp"
PERSON = f"sns/application-endpoints/teamchat/at-persons/{seeded_uuid('person', 1)}/actions"
PLATFORM = f"sns/application-platforms/snmp/{seeded_uuid('platform', 1)}"
TEAMCHAT = seeded_uuid("endpoint", 2)


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def chat(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "chat", "url": "https://chat.example.com/key", **params}}


def test_create_workchat_endpoint(api: HttpClient) -> None:
    params = {"atAll": True, "atPersonUserIds": ["anna", "bert"], "atPersonList": {"carl": "Carl", "anna": "Anna"}}
    endpoint = api.inventory("POST", WORKCHAT, chat(**params))
    assert (endpoint["atAll"], endpoint["state"], endpoint["type"]) == (True, "Enabled", "WorkChat")
    assert set(endpoint["atPersonUserIds"]) == {"anna", "bert", "carl"}
    assert endpoint["atPersonUserIds"] != sorted(endpoint["atPersonUserIds"])
    assert endpoint["platform"]["uuid"] == endpoint["platformUuid"] == seeded_uuid("platform", 3)
    assert api.query(f"{WORKCHAT}?q=url=https://chat.example.com/key") == [endpoint]
    assert api.query(f"{WORKCHAT}/{endpoint['uuid']}") == [endpoint]
    again = api.inventory("POST", WORKCHAT, chat())
    assert again["uuid"] != endpoint["uuid"]
    assert again["atAll"] is False
    assert len(api.query(WORKCHAT)) == 2
    assert api.query(f"{WORKCHAT}/{TEAMCHAT}") == []


@pytest.mark.parametrize(
    "params",
    [
        {"atPersonUserIds": ["x" * 257]},
        {"atPersonList": {"x" * 257: "X"}},
        {"atPersonList": {"x": "X" * 129}},
    ],
)
def test_persons_of_a_new_endpoint_can_be_too_long(api: HttpClient, params: dict[str, Any]) -> None:
    assert api.error_code("POST", WORKCHAT, chat(**params)) == "SYS.1007"
    assert api.query(WORKCHAT) == []


def test_workchat_records_list_persons(api: HttpClient) -> None:
    api.sim.configure(at_person_list="list")
    params = {"atPersonUserIds": ["bert"], "atPersonList": {"anna": "Anna"}}
    uuid = api.inventory("POST", WORKCHAT, chat(**params))["uuid"]
    (endpoint,) = api.query(f"{WORKCHAT}/{uuid}")
    assert {person["userId"]: person.get("remark") for person in endpoint["atPersonList"]} == {
        "anna": "Anna",
        "bert": None,
    }
    api.sim.configure(at_person_list="map")
    assert api.query(f"{WORKCHAT}/{uuid}")[0]["atPersonList"] == {"anna": "Anna", "bert": None}
    api.sim.configure(at_person_list="absent")
    assert "atPersonList" not in api.query(f"{WORKCHAT}/{uuid}")[0]


@pytest.mark.parametrize(
    ("spelling", "given", "expected"),
    [("atAll", "atALL", False), ("atALL", "atAll", False), ("atALL", "atALL", True), ("both", "atALL", True)],
)
def test_at_all_has_the_spelling_of_the_switch(api: HttpClient, spelling: str, given: str, expected: bool) -> None:
    api.sim.configure(at_all_spelling=spelling)
    assert api.inventory("POST", WORKCHAT, chat(**{given: True}))["atAll"] is expected


def test_persons_can_be_required(api: HttpClient) -> None:
    api.sim.configure(persons_required=True)
    assert api.error_code("POST", WORKCHAT, chat()) == "SYS.1007"
    assert api.error_code("POST", WORKCHAT, chat(atPersonUserIds=["anna"])) == "SYS.1007"
    api.inventory("POST", WORKCHAT, chat(atPersonUserIds=["anna"], atPersonList={"anna": "Anna"}))


def test_workchat_query_can_be_empty(api: HttpClient) -> None:
    api.sim.configure(workchat_query_empty=True, success_members=True)
    api.inventory("POST", WORKCHAT, chat())
    assert api.call("GET", WORKCHAT) == {}


def test_create_snmp_endpoint(api: HttpClient) -> None:
    endpoint = api.inventory("POST", SNMP, {"params": {"name": "traps"}})
    assert (endpoint["platformUuid"], endpoint["connectionStatus"]) == (seeded_uuid("platform", 1), "UP")
    assert api.query(f"sns/application-endpoints/{endpoint['uuid']}") == [endpoint]
    with_platform = {"params": {"name": "traps", "platformUuid": seeded_uuid("platform", 1)}}
    assert api.inventory("POST", SNMP, with_platform)["uuid"] != endpoint["uuid"]
    chat_platform = {"params": {"name": "traps", "platformUuid": seeded_uuid("platform", 2)}}
    assert api.error_code("POST", SNMP, chat_platform) == "SYS.1003"
    api.sim.configure(snmp_platform_required=True)
    assert api.error_code("POST", SNMP, {"params": {"name": "traps"}}) == "SYS.1000"
    api.inventory("POST", SNMP, with_platform)


def test_update_endpoint_changes_given_members(api: HttpClient) -> None:
    path = f"sns/application-endpoints/{TEAMCHAT}"
    (before,) = api.query(path)

    def update(**members: Any) -> Any:
        return api.inventory("PUT", f"{path}/actions", {"updateSNSApplicationEndpoint": members})

    after = update(name="new", description=None)
    assert (after["name"], after["description"]) == ("new", before["description"])
    assert update(description="")["description"] == ""
    assert update()["name"] == "new"
    assert after["createDate"] == before["createDate"]
    assert after["lastOpDate"] != before["lastOpDate"]
    snmp = api.inventory("POST", "sns/application-platforms/snmp", platform_params())["uuid"]
    own = f"sns/application-endpoints/{seeded_uuid('endpoint', 1)}/actions"
    moved = api.inventory("PUT", own, {"updateSNSApplicationEndpoint": {"platformUuid": snmp}})
    assert (moved["platformUuid"], moved["name"]) == (snmp, "snmp-endpoint-1")
    foreign = {"updateSNSApplicationEndpoint": {"platformUuid": snmp}}
    assert api.error_code("PUT", f"{path}/actions", foreign) == "SYS.1007"
    unknown = f"sns/application-endpoints/{seeded_uuid('endpoint', 99)}/actions"
    assert api.error_code("PUT", unknown, {"updateSNSApplicationEndpoint": {"name": "x"}}) == "SYS.1003"


def platform_params(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "other", "snmpAddress": "192.0.2.7", "snmpPort": 162, **params}}


def person(**params: Any) -> dict[str, Any]:
    return {"updateAtPersonOfAtTeamchatEndpoint": {"endpointUuid": TEAMCHAT, "remark": "boss", **params}}


def test_update_person(api: HttpClient) -> None:
    changed = api.inventory("PUT", PERSON, person())
    assert (changed["userId"], changed["remark"], changed["endpointUuid"]) == ("user-1", "boss", TEAMCHAT)
    assert api.inventory("PUT", PERSON, person(userId="user-9"))["userId"] == "user-9"
    found = api.query("sns/application-endpoints/teamchat/at-persons?q=userId=user-9")
    assert [record["uuid"] for record in found] == [seeded_uuid("person", 1)]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"userId": "user-1"}, "SYS.1007"),
        ({"userId": " user-1 "}, "SYS.1007"),
        ({"userId": "user-2"}, "SYS.1007"),
        ({"endpointUuid": seeded_uuid("endpoint", 1)}, "SYS.1007"),
        ({"endpointUuid": seeded_uuid("endpoint", 99)}, "SYS.1003"),
    ],
)
def test_update_person_rejects_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("PUT", PERSON, person(**params)) == code
    assert [record["remark"] for record in api.sim.records("person")] == ["operator 1", "operator 2"]


def test_update_person_without_remark(api: HttpClient) -> None:
    changed = api.inventory("PUT", PERSON, person(remark=None, userId="user-9"))
    assert (changed["userId"], changed["remark"]) == ("user-9", "operator 1")
    api.sim.configure(remark_required=True)
    assert api.error_code("PUT", PERSON, person(remark=None)) == "SYS.1007"


def platform(**params: Any) -> dict[str, Any]:
    return {"updateSNSSnmpPlatform": {"snmpAddress": "192.0.2.1", "snmpPort": 163, **params}}


def test_update_snmp_platform(api: HttpClient) -> None:
    changed = api.inventory("PUT", PLATFORM, platform(description=""))
    assert (changed["snmpAddress"], changed["snmpPort"], changed["name"]) == ("192.0.2.1", 163, "snmp-1")
    assert (changed["description"], changed["state"]) == ("", "Enabled")
    assert api.inventory("PUT", PLATFORM, platform(name="new"))["name"] == "new"
    api.sim.configure(extra_members=False)
    assert "snmpAddress" not in api.inventory("PUT", PLATFORM, platform())


def test_platforms_are_listed_by_type(api: HttpClient) -> None:
    other = PLATFORM.replace(seeded_uuid("platform", 1), seeded_uuid("platform", 2))
    assert api.error_code("PUT", other, platform()) == "SYS.1003"
    assert [record["name"] for record in api.query("sns/application-platforms/snmp")] == ["snmp-1"]
    assert len(api.query("sns/application-platforms")) == 3


def test_snmp_test_sends_one_trap(api: HttpClient) -> None:
    path = f"{SNMP}/test-connection"
    by_platform = {"params": {"platformUuid": seeded_uuid("platform", 1)}}
    reply = api.call("POST", path, by_platform)
    assert (reply["connected"], reply["webhookResp"]) == (True, {"statusCode": 200})
    api.sim.configure(snmp_connected=False)
    by_endpoint = {"params": {"endpointUuid": seeded_uuid("endpoint", 1)}}
    assert api.call("POST", path, by_endpoint)["connected"] is False
    traps = api.sim.state()["traps"]
    assert traps == [
        {"address": "192.0.2.161", "port": 162, "connected": True},
        {"address": "192.0.2.161", "port": 162, "connected": False},
    ]
    assert api.error_code("POST", path, {"params": {}}) == "SYS.1007"
    assert api.error_code("POST", path, {"params": {"platformUuid": seeded_uuid("platform", 9)}}) == "SYS.1003"
    assert api.error_code("POST", path, {"params": {"endpointUuid": TEAMCHAT}}) == "SYS.1003"
    assert api.sim.state()["traps"] == traps


def test_subscribers_are_listed(api: HttpClient) -> None:
    path = "sns/topics/subscribers"
    found = api.query(f"{path}?q=topicUuid={seeded_uuid('topic', 1)}")
    assert {record["endpointUuid"] for record in found} == {seeded_uuid("endpoint", 1), TEAMCHAT}
    assert all(set(record) == {"topicUuid", "endpointUuid", "createDate", "lastOpDate"} for record in found)
    assert len(api.query(f"{path}?q=endpoint.name=snmp-endpoint-1")) == 1
    assert api.query(f"{path}/{seeded_uuid('subscriber', 1)}") == []


def test_address_and_port_of_a_new_snmp_platform_are_unique(api: HttpClient) -> None:
    path = "sns/application-platforms/snmp"
    first = api.inventory("POST", path, platform_params())
    assert api.error_code("POST", path, platform_params()) == "SYS.1007"
    second = api.inventory("POST", path, platform_params(snmpPort=163))
    change = {"snmpAddress": first["snmpAddress"], "snmpPort": first["snmpPort"]}
    assert api.inventory("PUT", f"{path}/{second['uuid']}", {"updateSNSSnmpPlatform": change})["name"] == "other"


def test_snmp_platform_is_created_and_deleted_with_its_endpoints(api: HttpClient) -> None:
    created = api.inventory("POST", "sns/application-platforms/snmp", platform_params(description="traps"))
    assert (created["type"], created["snmpPort"], created["description"]) == ("Snmp", 162, "traps")
    assert api.error_code("POST", "sns/application-platforms/snmp", platform_params(snmpPort=0)) == "SYS.1007"
    for number in (1, 1, 2):
        assert api.call("DELETE", f"sns/application-platforms/{seeded_uuid('platform', number)}") == {}
    assert api.query("sns/application-endpoints") == api.query("sns/topics/subscribers") == []
    assert api.query("sns/application-endpoints/teamchat/at-persons") == []
    assert {record["uuid"] for record in api.query("sns/application-platforms")} == {
        created["uuid"],
        seeded_uuid("platform", 3),
    }


def test_endpoint_is_deleted_with_its_subscriptions(api: HttpClient) -> None:
    for dummy in range(2):
        assert api.call("DELETE", f"sns/application-endpoints/{TEAMCHAT}") == {}
    assert [record["uuid"] for record in api.query("sns/application-endpoints")] == [seeded_uuid("endpoint", 1)]
    assert [record["endpointUuid"] for record in api.query("sns/topics/subscribers")] == [seeded_uuid("endpoint", 1)]
    assert api.query("sns/application-endpoints/teamchat/at-persons") == []


@pytest.mark.parametrize(
    ("path", "kind", "member"),
    [
        ("sns/application-endpoints", "endpoint", "changeSNSApplicationEndpointState"),
        ("sns/application-platforms", "platform", "changeSNSApplicationPlatformState"),
        ("zwatch/topics", "topic", "changeSNSTopicState"),
    ],
)
def test_a_state_that_is_set_twice(api: HttpClient, path: str, kind: str, member: str) -> None:
    for event, state in (("disable", "Disabled"), ("disable", "Disabled"), ("enable", "Enabled")):
        body = {member: {"stateEvent": event}}
        assert api.inventory("PUT", f"{path}/{seeded_uuid(kind, 1)}/actions", body)["state"] == state


def test_topic_is_created_and_deleted_with_its_subscriptions(api: HttpClient) -> None:
    assert api.inventory("POST", "sns/topics", {"params": {"name": "alarms", "locale": "zh_CN"}})["locale"] == "zh_CN"
    for dummy in range(2):
        assert api.call("DELETE", f"sns/topics/{seeded_uuid('topic', 1)}") == {}
    assert api.query("sns/topics/subscribers") == []
    assert [record["name"] for record in api.query("sns/topics")] == ["topic-2", "alarms"]


def test_built_in_platform_cannot_be_deleted(api: HttpClient) -> None:
    platform = seeded_uuid("platform", 1)
    api.sim.configure(builtin_platforms=[platform])
    assert api.error_code("DELETE", f"sns/application-platforms/{platform}") == "SYS.1006"


def test_person_is_added_and_removed(api: HttpClient) -> None:
    persons = "sns/application-endpoints/feishu/at-persons"
    body = {"params": {"userId": "carol", "endpointUuid": TEAMCHAT}}
    assert api.inventory("POST", persons, body)["userId"] == "carol"
    assert api.error_code("POST", persons, body) == "SYS.1007"
    for dummy in range(2):
        assert api.call("DELETE", f"sns/application-endpoints/feishu/{TEAMCHAT}/at-persons/carol") == {}
    assert len(api.query("sns/application-endpoints/teamchat/at-persons")) == 2


@pytest.mark.parametrize(
    ("path", "kind", "key"), [("we-com", "WorkChat", "userId"), ("ding-talk", "DingTalk", "phoneNumber")]
)
def test_persons_are_those_of_endpoints_of_their_kind(api: HttpClient, path: str, kind: str, key: str) -> None:
    api.sim.change("endpoint", TEAMCHAT, type=kind)
    persons = f"sns/application-endpoints/{path}/at-persons"
    body = {"params": {key: "carol", "endpointUuid": TEAMCHAT, "remark": "at night"}}
    added = api.inventory("POST", persons, body)
    assert (added[key], added["remark"]) == ("carol", "at night")
    assert api.error_code("POST", persons, body) == "SYS.1007"
    assert api.query(f"{persons}?q={key}=carol&q=endpoint.type={kind}") == [added]
    assert api.error_code("POST", "sns/application-endpoints/feishu/at-persons", person_params(TEAMCHAT)) == "SYS.1003"
    other = {"params": {key: "carol", "endpointUuid": seeded_uuid("endpoint", 1)}}
    assert api.error_code("POST", persons, other) == "SYS.1003"
    for dummy in range(2):
        assert api.call("DELETE", f"sns/application-endpoints/{path}/{TEAMCHAT}/at-persons/carol") == {}
    assert api.query(persons) == []
    api.inventory("POST", persons, body)
    api.call("DELETE", f"sns/application-endpoints/{TEAMCHAT}")
    assert api.query(persons) == []


def person_params(endpoint: str) -> dict[str, Any]:
    return {"params": {"userId": "carol", "endpointUuid": endpoint}}


def test_record_of_a_workchat_endpoint_shows_its_persons(api: HttpClient) -> None:
    persons = "sns/application-endpoints/we-com/at-persons"
    uuid = api.inventory("POST", WORKCHAT, chat(atPersonUserIds=["anna"], atPersonList={"bert": "Bert"}))["uuid"]
    assert {person["userId"]: person.get("remark") for person in api.query(persons)} == {"anna": None, "bert": "Bert"}
    api.inventory("POST", persons, person_params(uuid))
    api.call("DELETE", f"sns/application-endpoints/we-com/{uuid}/at-persons/anna")
    assert set(api.query(f"{WORKCHAT}/{uuid}")[0]["atPersonUserIds"]) == {"bert", "carol"}


def test_room_of_an_endpoint_is_changed(api: HttpClient) -> None:
    path = "sns/application-endpoints/we-com/{}/actions"
    room = api.inventory("POST", WORKCHAT, {"params": {"name": "chat", "url": "https://chat.example.com/1"}})
    changes = {"url": "https://chat.example.com/2", "atAll": True}
    changed = api.inventory("PUT", path.format(room["uuid"]), {"updateSNSWeComEndpoint": changes})
    assert changes.items() <= changed.items()
    assert api.error_code("PUT", path.format(TEAMCHAT), {"updateSNSWeComEndpoint": changes}) == "SYS.1003"


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        ("TeamChat", "feishu", "updateSNSFeiShuEndpoint"),
        ("DingTalk", "ding-talk", "updateSNSDingTalkEndpoint"),
        ("HTTP", "http", "updateSNSHttpEndpoint"),
        ("MicrosoftTeams", "microsoft-teams", "updateSNSMicrosoftTeamsEndpoint"),
    ],
)
def test_webhook_of_an_endpoint_is_changed(api: HttpClient, sim: Simulator, kind: str, path: str, name: str) -> None:
    path = f"sns/application-endpoints/{path}/{TEAMCHAT}/actions"
    sim.change("endpoint", TEAMCHAT, type=kind)
    changes = {"url": "https://chat.example.com/2", **({"secret": "signature"} if kind == "TeamChat" else {})}
    changed = api.inventory("PUT", path, {name: changes})
    assert changed["url"] == changes["url"]
    assert "signature" not in str(changed)
    sim.change("endpoint", TEAMCHAT, type="Email")
    assert api.error_code("PUT", path, {name: changes}) == "SYS.1003"


def test_endpoint_is_subscribed_and_unsubscribed(api: HttpClient) -> None:
    endpoint = api.inventory("POST", SNMP, {"params": {"name": "traps"}})["uuid"]
    path = f"sns/topics/{seeded_uuid('topic', 1)}/endpoints/{endpoint}"
    assert api.call("POST", path, {"params": {}}) == {}
    assert api.error_code("POST", path, {"params": {}}) == "SYS.1000"
    found = f"sns/topics/subscribers?q=endpointUuid={endpoint}"
    assert [record["topicUuid"] for record in api.query(found)] == [seeded_uuid("topic", 1)]
    for dummy in range(2):
        assert api.call("DELETE", path) == {}
    assert api.query(found) == []
    assert len(api.query("sns/topics/subscribers")) == 2
    assert api.error_code("POST", f"{path[:-1]}x", {"params": {}}) == "SYS.1003"
