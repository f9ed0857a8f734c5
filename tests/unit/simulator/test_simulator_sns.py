# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's notification endpoints, platforms, persons and subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.store import seeded_uuid
from simulator.talk import Talk

WORKCHAT = "sns/application-endpoints/workchat"
SNMP = "sns/application-endpoints/snmp"
PERSON = f"sns/application-endpoints/teamchat/at-persons/{seeded_uuid('person', 1)}/actions"
PLATFORM = f"sns/application-platforms/snmp/{seeded_uuid('platform', 1)}"
TEAMCHAT = seeded_uuid("endpoint", 2)


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def chat(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "chat", "url": "https://chat.example.com/key", **params}}


def test_workchat_endpoint(talk: Talk) -> None:
    params = {"atAll": True, "atPersonUserIds": ["anna", "bert"], "atPersonList": {"carl": "Carl", "anna": "Anna"}}
    endpoint = talk.inventory("POST", WORKCHAT, chat(**params))
    assert (endpoint["atAll"], endpoint["state"], endpoint["type"]) == (True, "Enabled", "WorkChat")
    assert set(endpoint["atPersonUserIds"]) == {"anna", "bert", "carl"}
    assert endpoint["atPersonUserIds"] != sorted(endpoint["atPersonUserIds"])
    assert endpoint["platform"]["uuid"] == endpoint["platformUuid"] == seeded_uuid("platform", 3)
    assert talk.found(f"{WORKCHAT}?q=url=https://chat.example.com/key") == [endpoint]
    assert talk.found(f"{WORKCHAT}/{endpoint['uuid']}") == [endpoint]
    again = talk.inventory("POST", WORKCHAT, chat())
    assert again["uuid"] != endpoint["uuid"]
    assert again["atAll"] is False
    assert len(talk.found(WORKCHAT)) == 2
    assert talk.found(f"{WORKCHAT}/{TEAMCHAT}") == []


@pytest.mark.parametrize(
    "params",
    [
        {"atPersonUserIds": []},
        {"atPersonList": {}},
        {"atPersonUserIds": ["x" * 257]},
        {"atPersonList": {"x" * 257: "X"}},
        {"atPersonList": {"x": "X" * 129}},
        {"url": None},
        {"url": "x" * 2049},
        {"name": None},
    ],
)
def test_a_workchat_endpoint_that_is_refused(talk: Talk, params: dict[str, Any]) -> None:
    assert talk.code("POST", WORKCHAT, chat(**params)) == "SYS.1007"
    assert talk.found(WORKCHAT) == []


@pytest.mark.parametrize("params", [{"atPersonUserIds": "anna"}, {"atPersonUserIds": [10]}, {"atAll": "true"}])
def test_a_value_that_cannot_be_parsed_is_refused_at_once(talk: Talk, params: dict[str, Any]) -> None:
    assert talk.refused("POST", WORKCHAT, chat(**params))


def test_persons_in_the_records(talk: Talk) -> None:
    talk.sim.configure(at_person_list="list")
    params = {"atPersonUserIds": ["bert"], "atPersonList": {"anna": "Anna"}}
    uuid = talk.inventory("POST", WORKCHAT, chat(**params))["uuid"]
    (endpoint,) = talk.found(f"{WORKCHAT}/{uuid}")
    assert {person["userId"]: person.get("remark") for person in endpoint["atPersonList"]} == {
        "anna": "Anna",
        "bert": None,
    }
    talk.sim.configure(at_person_list="map")
    assert talk.found(f"{WORKCHAT}/{uuid}")[0]["atPersonList"] == {"anna": "Anna", "bert": None}
    talk.sim.configure(at_person_list="absent")
    assert "atPersonList" not in talk.found(f"{WORKCHAT}/{uuid}")[0]


@pytest.mark.parametrize(
    ("spelling", "given", "expected"),
    [("atAll", "atALL", False), ("atALL", "atAll", False), ("atALL", "atALL", True), ("both", "atALL", True)],
)
def test_spelling_of_at_all(talk: Talk, spelling: str, given: str, expected: bool) -> None:
    talk.sim.configure(at_all_spelling=spelling)
    assert talk.inventory("POST", WORKCHAT, chat(**{given: True}))["atAll"] is expected


def test_persons_can_be_required(talk: Talk) -> None:
    talk.sim.configure(persons_required=True)
    assert talk.code("POST", WORKCHAT, chat()) == "SYS.1007"
    assert talk.code("POST", WORKCHAT, chat(atPersonUserIds=["anna"])) == "SYS.1007"
    talk.inventory("POST", WORKCHAT, chat(atPersonUserIds=["anna"], atPersonList={"anna": "Anna"}))


def test_the_query_of_workchat_endpoints_can_be_empty(talk: Talk) -> None:
    talk.sim.configure(workchat_query_empty=True, success_members=True)
    talk.inventory("POST", WORKCHAT, chat())
    assert talk.call("GET", WORKCHAT) == {}


def test_snmp_endpoint(talk: Talk) -> None:
    endpoint = talk.inventory("POST", SNMP, {"params": {"name": "traps"}})
    assert (endpoint["platformUuid"], endpoint["connectionStatus"]) == (seeded_uuid("platform", 1), "UP")
    assert talk.found(f"sns/application-endpoints/{endpoint['uuid']}") == [endpoint]
    with_platform = {"params": {"name": "traps", "platformUuid": seeded_uuid("platform", 1)}}
    assert talk.inventory("POST", SNMP, with_platform)["uuid"] != endpoint["uuid"]
    chat_platform = {"params": {"name": "traps", "platformUuid": seeded_uuid("platform", 2)}}
    assert talk.code("POST", SNMP, chat_platform) == "SYS.1003"
    talk.sim.configure(snmp_platform_required=True)
    assert talk.code("POST", SNMP, {"params": {"name": "traps"}}) == "SYS.1000"
    talk.inventory("POST", SNMP, with_platform)


def test_only_given_members_of_an_endpoint_change(talk: Talk) -> None:
    path = f"sns/application-endpoints/{TEAMCHAT}"
    (before,) = talk.found(path)

    def update(**members: Any) -> Any:
        return talk.inventory("PUT", f"{path}/actions", {"updateSNSApplicationEndpoint": members})

    after = update(name="new", description=None)
    assert (after["name"], after["description"]) == ("new", before["description"])
    assert update(description="")["description"] == ""
    assert update()["name"] == "new"
    assert after["createDate"] == before["createDate"]
    assert after["lastOpDate"] != before["lastOpDate"]
    snmp = talk.inventory("POST", "sns/application-platforms/snmp", platform_params())["uuid"]
    own = f"sns/application-endpoints/{seeded_uuid('endpoint', 1)}/actions"
    moved = talk.inventory("PUT", own, {"updateSNSApplicationEndpoint": {"platformUuid": snmp}})
    assert (moved["platformUuid"], moved["name"]) == (snmp, "snmp-endpoint-1")
    foreign = {"updateSNSApplicationEndpoint": {"platformUuid": snmp}}
    assert talk.code("PUT", f"{path}/actions", foreign) == "SYS.1007"
    unknown = f"sns/application-endpoints/{seeded_uuid('endpoint', 99)}/actions"
    assert talk.code("PUT", unknown, {"updateSNSApplicationEndpoint": {"name": "x"}}) == "SYS.1003"


def platform_params(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "other", "snmpAddress": "192.0.2.7", "snmpPort": 162, **params}}


def person(**params: Any) -> dict[str, Any]:
    return {"updateAtPersonOfAtTeamchatEndpoint": {"endpointUuid": TEAMCHAT, "remark": "boss", **params}}


def test_person(talk: Talk) -> None:
    changed = talk.inventory("PUT", PERSON, person())
    assert (changed["userId"], changed["remark"], changed["endpointUuid"]) == ("user-1", "boss", TEAMCHAT)
    assert talk.inventory("PUT", PERSON, person(userId="user-9"))["userId"] == "user-9"
    found = talk.found("sns/application-endpoints/teamchat/at-persons?q=userId=user-9")
    assert [one["uuid"] for one in found] == [seeded_uuid("person", 1)]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"userId": "user-1"}, "SYS.1007"),
        ({"userId": " user-1 "}, "SYS.1007"),
        ({"userId": "user-2"}, "SYS.1007"),
        ({"userId": "x" * 257}, "SYS.1007"),
        ({"remark": "x" * 129}, "SYS.1007"),
        ({"endpointUuid": None}, "SYS.1007"),
        ({"endpointUuid": seeded_uuid("endpoint", 1)}, "SYS.1007"),
        ({"endpointUuid": seeded_uuid("endpoint", 99)}, "SYS.1003"),
    ],
)
def test_a_person_that_cannot_be_changed(talk: Talk, params: dict[str, Any], code: str) -> None:
    assert talk.code("PUT", PERSON, person(**params)) == code
    assert [one["remark"] for one in talk.sim.records("person")] == ["operator 1", "operator 2"]


def test_the_remark_of_a_person_may_be_left_out(talk: Talk) -> None:
    changed = talk.inventory("PUT", PERSON, person(remark=None, userId="user-9"))
    assert (changed["userId"], changed["remark"]) == ("user-9", "operator 1")
    talk.sim.configure(remark_required=True)
    assert talk.code("PUT", PERSON, person(remark=None)) == "SYS.1007"


def platform(**params: Any) -> dict[str, Any]:
    return {"updateSNSSnmpPlatform": {"snmpAddress": "192.0.2.1", "snmpPort": 163, **params}}


def test_snmp_platform(talk: Talk) -> None:
    changed = talk.inventory("PUT", PLATFORM, platform(description=""))
    assert (changed["snmpAddress"], changed["snmpPort"], changed["name"]) == ("192.0.2.1", 163, "snmp-1")
    assert (changed["description"], changed["state"]) == ("", "Enabled")
    assert talk.inventory("PUT", PLATFORM, platform(name="new"))["name"] == "new"
    talk.sim.configure(extra_members=False)
    assert "snmpAddress" not in talk.inventory("PUT", PLATFORM, platform())


@pytest.mark.parametrize("params", [{"snmpAddress": None}, {"snmpPort": None}, {"snmpPort": 0}, {"snmpPort": 65536}])
def test_address_and_port_of_a_platform_are_always_needed(talk: Talk, params: dict[str, Any]) -> None:
    assert talk.code("PUT", PLATFORM, platform(**params)) == "SYS.1007"


def test_platforms(talk: Talk) -> None:
    other = PLATFORM.replace(seeded_uuid("platform", 1), seeded_uuid("platform", 2))
    assert talk.code("PUT", other, platform()) == "SYS.1003"
    assert [one["name"] for one in talk.found("sns/application-platforms/snmp")] == ["snmp-1"]
    assert len(talk.found("sns/application-platforms")) == 3


def test_connection(talk: Talk) -> None:
    path = f"{SNMP}/test-connection"
    by_platform = {"params": {"platformUuid": seeded_uuid("platform", 1)}}
    reply = talk.call("POST", path, by_platform)
    assert (reply["connected"], reply["webhookResp"]) == (True, {"statusCode": 200})
    talk.sim.configure(snmp_connected=False)
    by_endpoint = {"params": {"endpointUuid": seeded_uuid("endpoint", 1)}}
    assert talk.call("POST", path, by_endpoint)["connected"] is False
    traps = talk.sim.state()["traps"]
    assert traps == [
        {"address": "192.0.2.161", "port": 162, "connected": True},
        {"address": "192.0.2.161", "port": 162, "connected": False},
    ]
    assert talk.code("POST", path, {"params": {}}) == "SYS.1007"
    assert talk.code("POST", path, {"params": {"platformUuid": seeded_uuid("platform", 9)}}) == "SYS.1003"
    assert talk.code("POST", path, {"params": {"endpointUuid": TEAMCHAT}}) == "SYS.1003"
    assert talk.sim.state()["traps"] == traps


def test_subscribers(talk: Talk) -> None:
    path = "sns/topics/subscribers"
    found = talk.found(f"{path}?q=topicUuid={seeded_uuid('topic', 1)}")
    assert {one["endpointUuid"] for one in found} == {seeded_uuid("endpoint", 1), TEAMCHAT}
    assert all(set(one) == {"topicUuid", "endpointUuid", "createDate", "lastOpDate"} for one in found)
    assert len(talk.found(f"{path}?q=endpoint.name=snmp-endpoint-1")) == 1
    assert talk.found(f"{path}/{seeded_uuid('subscriber', 1)}") == []


def test_an_snmp_platform_is_made_and_deleted_with_its_endpoints(talk: Talk) -> None:
    made = talk.inventory("POST", "sns/application-platforms/snmp", platform_params(description="traps"))
    assert (made["type"], made["snmpPort"], made["description"]) == ("Snmp", 162, "traps")
    assert talk.code("POST", "sns/application-platforms/snmp", platform_params(snmpPort=0)) == "SYS.1007"
    for number in (1, 1, 2):
        assert talk.call("DELETE", f"sns/application-platforms/{seeded_uuid('platform', number)}") == {}
    assert talk.found("sns/application-endpoints") == talk.found("sns/topics/subscribers") == []
    assert talk.found("sns/application-endpoints/teamchat/at-persons") == []
    assert {one["uuid"] for one in talk.found("sns/application-platforms")} == {
        made["uuid"],
        seeded_uuid("platform", 3),
    }


def test_an_endpoint_is_deleted_with_its_subscriptions(talk: Talk) -> None:
    for dummy in range(2):
        assert talk.call("DELETE", f"sns/application-endpoints/{TEAMCHAT}") == {}
    assert [one["uuid"] for one in talk.found("sns/application-endpoints")] == [seeded_uuid("endpoint", 1)]
    assert [one["endpointUuid"] for one in talk.found("sns/topics/subscribers")] == [seeded_uuid("endpoint", 1)]
    assert talk.found("sns/application-endpoints/teamchat/at-persons") == []


def test_subscribing_and_unsubscribing(talk: Talk) -> None:
    endpoint = talk.inventory("POST", SNMP, {"params": {"name": "traps"}})["uuid"]
    path = f"sns/topics/{seeded_uuid('topic', 1)}/endpoints/{endpoint}"
    for dummy in range(2):
        talk.call("POST", path, {"params": {}})
    found = f"sns/topics/subscribers?q=endpointUuid={endpoint}"
    assert [one["topicUuid"] for one in talk.found(found)] == [seeded_uuid("topic", 1)]
    for dummy in range(2):
        assert talk.call("DELETE", path) == {}
    assert talk.found(found) == []
    assert len(talk.found("sns/topics/subscribers")) == 2
    assert talk.code("POST", f"{path[:-1]}x", {"params": {}}) == "SYS.1003"
