"""Topics, subscriptions, and the states and the removal of endpoints, platforms and persons."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.current import Found
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.plan import plan
from ansible_collections.virtinfra.manager.plugins.modules.sns_endpoint import ENDPOINTS

from simulator.launch import Simulator
from support.module_runner import ModuleRunner
from support.scenarios import CHAT_ENDPOINT, ENDPOINT, NEW_PERSON, OTHER_TOPIC, PERSON, PLATFORM, TOPIC

ROOM = {"type": "workchat", "name": "chat", "url": "https://chat.example.com/send?key=1"}
RECEIVER = {"name": "night-shift", "snmp_address": "192.0.2.51", "snmp_port": 162}
COLLEAGUE = {"endpoint": "teamchat-endpoint-1", "user_id": "user-9", "remark": "deputy"}


def topics_of(sim: Simulator, endpoint: str) -> list[str]:
    """Return the uuids of the topics that an endpoint subscribes to."""
    return sorted(each["topicUuid"] for each in sim.records("subscriber") if each["endpointUuid"] == endpoint)


@pytest.mark.parametrize(
    ("module", "options", "operation"),
    [
        ("sns_topic", {"name": "topic-1"}, "ChangeSNSTopicState"),
        ("sns_snmp_platform", {"name": "snmp-1"}, "ChangeSNSApplicationPlatformState"),
        ("sns_endpoint", {"type": "any", "name": "snmp-endpoint-1"}, "ChangeSNSApplicationEndpointState"),
    ],
)
def test_object_is_disabled_and_enabled(
    run: ModuleRunner, module: str, options: dict[str, Any], operation: str
) -> None:
    run.idle(module, {**options, "state": "enabled"})
    for state in ("disabled", "enabled"):
        assert run.twice(module, {**options, "state": state}).calls == [operation]


@pytest.mark.parametrize(
    ("module", "options", "kind", "uuid", "also_removed"),
    [
        ("sns_topic", {"name": "topic-2"}, "topic", OTHER_TOPIC, []),
        ("sns_endpoint", {"type": "any", "uuid": ENDPOINT}, "endpoint", ENDPOINT, ["topic-1"]),
        (
            "sns_endpoint",
            {"type": "any", "name": "teamchat-endpoint-1", "topics": ["topic-1"], "delete_mode": "enforcing"},
            "endpoint",
            CHAT_ENDPOINT,
            ["topic-1", "user-1", "user-2"],
        ),
        ("sns_snmp_platform", {"name": "snmp-1", "force": True}, "platform", PLATFORM, ["snmp-endpoint-1"]),
        ("sns_teamchat_person", {"uuid": PERSON, "user_id": "user-1"}, "person", PERSON, None),
    ],
)
def test_object_is_removed_once(
    run: ModuleRunner,
    sim: Simulator,
    module: str,
    options: dict[str, Any],
    kind: str,
    uuid: str,
    also_removed: list[str] | None,
) -> None:
    ran = run.twice(module, {**options, "state": "absent"})
    assert uuid not in [record["uuid"] for record in sim.records(kind)]
    if also_removed is not None:
        assert [item["name"] for item in ran["also_removed"]] == also_removed
    if "delete_mode" in options:
        (sent,) = [entry for entry in ran.log if entry["method"] == "DELETE"]
        assert sent["query"]["deleteMode"] == ["Enforcing"]


def add_person(sim: Simulator, kind: str, endpoint_type: str, key: str, value: str) -> None:
    sim.change("endpoint", CHAT_ENDPOINT, type=endpoint_type)
    sim.change(kind, NEW_PERSON, **{key: value, "endpointUuid": CHAT_ENDPOINT})


PERSON_KINDS = [
    ("wecomperson", "WorkChat", "userId", "QuerySNSWeComAtPerson"),
    ("wecomperson", "WeCom", "userId", "QuerySNSWeComAtPerson"),
    ("dingtalkperson", "DingTalk", "phoneNumber", "QuerySNSDingTalkAtPerson"),
    ("dingtalkperson", "ding-talk", "phoneNumber", "QuerySNSDingTalkAtPerson"),
]
ANY_ENDPOINT_ABSENT = {"type": "any", "uuid": CHAT_ENDPOINT, "state": "absent"}


@pytest.mark.parametrize(("kind", "endpoint_type", "key"), [row[:3] for row in PERSON_KINDS])
def test_persons_of_each_kind_are_removed_with_their_endpoint(
    run: ModuleRunner, sim: Simulator, kind: str, endpoint_type: str, key: str
) -> None:
    add_person(sim, kind, endpoint_type, key, "+8613800000000")
    ran = run.twice("sns_endpoint", ANY_ENDPOINT_ABSENT)
    persons = [item for item in ran["also_removed"] if item["type"] == "person"]
    assert persons == [{"type": "person", "uuid": NEW_PERSON, "name": "+8613800000000"}]
    assert (ran.warnings, sim.records(kind)) == ([], [])


@pytest.mark.parametrize("verbs_matter", [False, True])
@pytest.mark.parametrize(("endpoint_type", "query"), [(row[1], row[3]) for row in PERSON_KINDS])
def test_service_without_a_query_has_no_such_persons(
    run: ModuleRunner, sim: Simulator, endpoint_type: str, query: str, verbs_matter: bool
) -> None:
    sim.configure(missing_operations=[query], verbs_matter=verbs_matter)
    sim.change("endpoint", CHAT_ENDPOINT, type=endpoint_type)
    ran = run.twice("sns_endpoint", ANY_ENDPOINT_ABSENT)
    assert ([item["type"] for item in ran["also_removed"]], ran.warnings) == (["subscriber"], [])


def test_persons_that_cannot_be_read_are_a_warning(run: ModuleRunner, sim: Simulator) -> None:
    add_person(sim, "wecomperson", "WorkChat", "userId", "carol")
    sim.fault("fail", "QuerySNSWeComAtPerson", error={"code": "ID.1002", "details": "no right"}, count=None)
    ran = run("sns_endpoint", ANY_ENDPOINT_ABSENT)
    assert any("cannot check which persons are removed with the endpoint" in warning for warning in ran.warnings)


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        ("sns_topic", {"name": "topic-1"}, "2 subscribers would be lost: snmp-endpoint-1 (a"),
        ("sns_snmp_platform", {"uuid": PLATFORM}, "1 endpoint would be lost: snmp-endpoint-1 (a"),
        ("sns_topic", {"uuid": OTHER_TOPIC, "name": "topic-1"}, "name (is 'topic-2', should be 'topic-1')"),
        ("sns_endpoint", {"type": "any", "uuid": ENDPOINT, "topics": []}, "Nothing was removed"),
        ("sns_teamchat_person", {"uuid": PERSON, "user_id": "user-2"}, "user_id (is 'user-1', should be 'user-2')"),
    ],
)
def test_removal_that_is_refused(run: ModuleRunner, module: str, options: dict[str, Any], words: str) -> None:
    assert words in run.refused(module, {**options, "state": "absent"})


def test_topics_of_an_endpoint_are_exact(run: ModuleRunner, sim: Simulator) -> None:
    ran = run.twice("sns_endpoint", {"type": "snmp", "name": "snmp-endpoint-1", "topics": ["topic-2"]})
    assert ran["endpoint"]["topic_uuids"] == topics_of(sim, ENDPOINT) == [OTHER_TOPIC]
    # Core before 2.19 makes an empty string of null.
    run.idle("sns_endpoint", {"type": "snmp", "name": "snmp-endpoint-1", "topics": ""})
    run.twice("sns_endpoint", {"type": "snmp", "name": "snmp-endpoint-1", "topics": []})
    assert topics_of(sim, ENDPOINT) == []
    assert topics_of(sim, CHAT_ENDPOINT) == [TOPIC]
    unread = run.idle("sns_endpoint", {"type": "snmp", "name": "snmp-endpoint-1"})
    assert "topic_uuids" not in unread["endpoint"]


def test_new_endpoint_is_subscribed(run: ModuleRunner, sim: Simulator) -> None:
    ran = run.twice("sns_endpoint", {**ROOM, "topics": ["topic-1", OTHER_TOPIC], "state": "disabled"})
    assert topics_of(sim, ran["endpoint"]["uuid"]) == [TOPIC, OTHER_TOPIC]
    assert ran["endpoint"]["state"] == "Disabled"


@pytest.mark.parametrize("missing", ["SubscribeSNSTopic", "ChangeSNSApplicationEndpointState"])
def test_nothing_is_created_if_a_later_operation_is_missing(run: ModuleRunner, sim: Simulator, missing: str) -> None:
    sim.configure(missing_operations=[missing])
    ran = run("sns_endpoint", {**ROOM, "topics": ["topic-1"], "state": "disabled"})
    assert f"the service does not offer {missing}" in ran.message
    assert not ran.changed
    assert [record["name"] for record in sim.records("endpoint")] == ["snmp-endpoint-1", "teamchat-endpoint-1"]


def test_room_of_an_endpoint_is_changed(run: ModuleRunner, sim: Simulator) -> None:
    run.twice("sns_endpoint", ROOM)
    changed = {**ROOM, "url": "https://chat.example.com/send?key=2", "at_all": True, "description": "by night"}
    ran = run.twice("sns_endpoint", changed)
    assert ran.calls == ["UpdateSNSWeComEndpoint"]
    assert ran.sent("UpdateSNSWeComEndpoint").keys() == {"url", "atAll", "description"}
    assert run.twice("sns_endpoint", {**changed, "description": ""}).calls == ["UpdateSNSApplicationEndpoint"]
    sim.configure(missing_operations=["UpdateSNSWeComEndpoint"])
    ran = run("sns_endpoint", ROOM)
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert not ran.changed


NEW_URL = {"type": "any", "uuid": CHAT_ENDPOINT, "url": "https://chat.example.com/send?key=5f2d9c1e"}


@pytest.mark.parametrize(
    ("kind", "options", "update"),
    [
        ("WorkChat", {"at_all": True}, "UpdateSNSWeComEndpoint"),
        ("TeamChat", {"at_all": True}, "UpdateSNSFeiShuEndpoint"),
        ("DingTalk", {"at_all": True}, "UpdateSNSDingTalkEndpoint"),
        ("HTTP", {}, "UpdateSNSHttpEndpoint"),
        ("MicrosoftTeams", {}, "UpdateSNSMicrosoftTeamsEndpoint"),
    ],
)
def test_url_of_an_endpoint_of_any_type_is_changed(
    run: ModuleRunner, sim: Simulator, kind: str, options: dict[str, Any], update: str
) -> None:
    sim.change("endpoint", CHAT_ENDPOINT, type=kind)
    options = {**NEW_URL, **options}
    sim.configure(missing_operations=[update])
    ran = run("sns_endpoint", options)
    assert (ran["error"]["code"], ran.changed) == ("UNSUPPORTED", False)
    assert f"the service does not offer {update}" in ran.message
    sim.configure(missing_operations=[])
    ran = run.twice("sns_endpoint", options)
    assert ran.calls == [update]
    assert ran.warnings == []
    assert "5f2d9c1e" not in str(ran.result)
    described = run.twice("sns_endpoint", {**options, "description": "by night"})
    assert described.calls == ["UpdateSNSApplicationEndpoint"]


@pytest.mark.parametrize(
    ("kind", "options", "names"),
    [
        ("Snmp", {"at_all": True}, "url, at_all"),
        ("Email", {}, "url"),
        ("HTTP", {"at_all": True}, "at_all"),
        ("MicrosoftTeams", {"at_all": False}, "at_all"),
    ],
)
def test_url_of_an_endpoint_of_another_type(
    run: ModuleRunner, sim: Simulator, kind: str, options: dict[str, Any], names: str
) -> None:
    sim.change("endpoint", CHAT_ENDPOINT, type=kind)
    message = run.refused("sns_endpoint", {**NEW_URL, **options, "description": "by night"})
    assert f"{names} cannot be used with an endpoint of the type {kind}. Omit {names}." in message


def test_url_of_an_endpoint_of_unknown_type(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(companions="404")
    message = run.refused("sns_endpoint", NEW_URL)
    assert "cannot read the type of the endpoint, on which url depends" in message
    assert message.endswith("Omit url.")


@pytest.mark.parametrize("kind", ["we-com", "WeCom", "Fei-Shu", "feishu", "DING-TALK", "Http", "microsoft-teams"])
def test_url_that_the_service_does_not_show_is_set_each_time(kind: str) -> None:
    record = {"uuid": CHAT_ENDPOINT, "type": kind}
    desired = {"uuid": CHAT_ENDPOINT, "url": NEW_URL["url"]}
    (call,) = plan(ENDPOINTS["any"], "present", desired, Found(record))
    assert call.params == desired
    assert call.warning == "the service does not show url, so it is set each time"


def test_url_is_compared_before_the_removal(run: ModuleRunner, sim: Simulator) -> None:
    absent = {**NEW_URL, "state": "absent"}
    assert "a masked part differs" in run.refused("sns_endpoint", absent)
    record = {"uuid": CHAT_ENDPOINT, "type": "TeamChat"}
    with pytest.raises(Unsupported, match="cannot compare url, because the service does not show it"):
        plan(ENDPOINTS["any"], "absent", {"uuid": CHAT_ENDPOINT, "url": NEW_URL["url"]}, Found(record))
    sim.change("endpoint", CHAT_ENDPOINT, type="Email")
    assert "url cannot be used with an endpoint of the type Email" in run.refused("sns_endpoint", absent)
    sim.change("endpoint", CHAT_ENDPOINT, type="TeamChat", url=NEW_URL["url"])
    assert run.twice("sns_endpoint", absent).calls == ["DeleteSNSApplicationEndpoint"]


def test_url_of_an_endpoint_that_check_mode_only_predicts(run: ModuleRunner) -> None:
    for state in ("present", "absent"):
        options = {**NEW_URL, "uuid": None, "state": state}
        ran = run("sns_endpoint", options, check=True, predicted=("endpoint",))
        assert (ran.changed, ran.failed, ran.warnings) == (True, False, [])


def test_secret_of_an_endpoint_is_masked(run: ModuleRunner) -> None:
    params = {"uuid": CHAT_ENDPOINT, "url": NEW_URL["url"], "secret": "q7LmZ0pW", "name": "signed with q7LmZ0pW"}
    ran = run("api", {"operation": "UpdateSNSFeiShuEndpoint", "params": params})
    assert ran.changed
    assert ran.sent("UpdateSNSFeiShuEndpoint")["secret"]
    assert "q7LmZ0pW" not in str(ran.result)
    assert "5f2d9c1e" not in str(ran.result)


def test_platform_with_the_address_of_another_one(run: ModuleRunner, sim: Simulator) -> None:
    (platform,) = [record for record in sim.records("platform") if record["type"] == "Snmp"]
    options = {"name": "other", "snmp_address": platform["snmpAddress"], "snmp_port": platform["snmpPort"]}
    assert "the platform 'snmp-1' (a" in run("sns_snmp_platform", options, check=True).message
    ran = run("sns_snmp_platform", options)
    assert "the platform 'snmp-1' (a" in ran.message
    assert ran["error"]["causes"][0]["code"] == "SYS.1007"
    assert not ran.changed


def test_person_of_an_endpoint_that_does_not_exist(run: ModuleRunner) -> None:
    run.idle("sns_teamchat_person", {**COLLEAGUE, "endpoint": "nowhere", "state": "absent"})


def test_language_of_the_messages_is_changed(run: ModuleRunner, sim: Simulator) -> None:
    topic = sim.records("topic")[0]
    changed = run.twice("sns_topic", {"name": topic["name"], "locale": "zh_CN"})
    assert changed.sent("UpdateSNSTopic") == {"locale": "zh_CN"}
    assert sim.records("topic")[0]["locale"] == "zh_CN"


@pytest.mark.parametrize(
    ("operation", "params", "message"),
    [
        (
            "UpdateSNSWeComEndpoint",
            {"url": f"https://{'x' * 249}"},
            "url of UpdateSNSWeComEndpoint must have at most 256",
        ),
        (
            "AddSNSFeiShuAtPerson",
            {"userId": "u" * 65},
            "userId of AddSNSFeiShuAtPerson must have at most 64 characters",
        ),
    ],
)
def test_limits_of_an_operation(
    run: ModuleRunner, sim: Simulator, operation: str, params: dict[str, str], message: str
) -> None:
    endpoint = str(sim.records("endpoint")[0]["uuid"])
    key = "endpointUuid" if operation.startswith("Add") else "uuid"
    ran = run("api", {"operation": operation, "params": {**params, key: endpoint}})
    assert message in ran.message
    assert ran.log == []


def test_a_record_without_its_uuid_does_not_mean_that_a_topic_is_gone(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("other_response", "QuerySNSTopic", reply={"inventory": {"name": "x"}})
    ran = run("sns_topic", {"uuid": TOPIC, "state": "absent"})
    assert ran["error"]["code"] == "UNREACHABLE"
    assert "QuerySNSTopic has a record without uuid" in ran.message


def test_a_record_of_no_subscription_does_not_mean_that_an_endpoint_has_none(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("other_response", "QuerySNSTopicSubscriber", reply={"inventory": {"name": "x"}})
    ran = run("sns_endpoint", {"type": "any", "uuid": CHAT_ENDPOINT, "topics": []})
    assert ran["error"]["code"] == "UNREACHABLE"
    assert "QuerySNSTopicSubscriber has a record without endpointUuid or topicUuid" in ran.message
