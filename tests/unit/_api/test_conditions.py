"""Query conditions: which are sent, which the collection checks, and which are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.conditions import (
    describe_blanks,
    describe_oversights,
    describe_unknown_fields,
    find_value_warnings,
    parse_all,
    parse_condition,
    parse_local_conditions,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.equality import format_equality
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    Unsupported,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._api.field_values import FIELD_VALUES
from ansible_collections.virtinfra.manager.plugins.module_utils._api.record_fields import NUMBER_FIELDS

from simulator.description import records
from support.query_fields import list_field_values
from support.written import OUTDATED

HOST = "HostInventory"


@pytest.mark.parametrize(
    ("text", "record", "excluded"),
    [
        ("state=Enabled", {"state": "Enabled"}, False),
        ("state=Enabled", {"state": " enabled "}, False),
        ("state=Enabled", {"state": "Disabled"}, True),
        ("state!=Enabled", {"state": "Enabled"}, True),
        ("state!=Enabled", {"state": "enabled"}, False),
        ("state?=Enabled,Disabled", {"state": "Disabled"}, False),
        ("state?=Enabled,Disabled", {"state": "Maintenance"}, True),
        ("state!?=Enabled,Disabled", {"state": "Disabled"}, True),
        ("state!?=Enabled,Disabled", {"state": "Maintenance"}, False),
        ("name~=host-%", {"name": "host-1"}, False),
        ("name~=host-_", {"name": "host-12"}, True),
        ("name~=host.1", {"name": "host-1"}, True),
        ("name!~=host-%", {"name": "host-1"}, True),
        ("name!~=host-%", {"name": "HOST-1"}, False),
        ("name=cafe", {"name": "Caf\u00e9"}, False),
        ("name!=cafe", {"name": "Caf\u00e9"}, False),
        ("cpuNum=32", {"cpuNum": 32}, False),
        ("cpuNum=32", {"cpuNum": 64}, True),
        ("cpuNum>32", {"cpuNum": 32}, True),
        ("cpuNum>=32", {"cpuNum": 32}, False),
        ("cpuNum<32", {"cpuNum": 64}, True),
        ("cpuNum<=32.5", {"cpuNum": 32}, False),
        ("createDate>Jan 6, 2017 3:51:16 AM", {"createDate": "Jan 6, 2016 3:51:16 AM"}, True),
        ("createDate<=2017-01-06", {"createDate": "Jan 6, 2017 12:00:00 AM"}, False),
        ("createDate=2017-01-06 15:51:16", {"createDate": "Jan 6, 2017, 3:51:16\u202fPM"}, False),
        ("createDate!=2017-01-06 15:51:16", {"createDate": "Jan 6, 2017, 3:51:16 PM"}, True),
        ("createDate?=2017-01-06,2017-01-07", {"createDate": "Jan 7, 2017 12:00:00 AM"}, False),
        ("createDate~=2017-01-%", {"createDate": "Feb 7, 2017 12:00:00 AM"}, True),
        ("createDate>2017-01-06", {"createDate": "yesterday"}, False),
        ("description is null", {"description": "x"}, True),
        ("description is null", {"description": None}, False),
        ("description not null", {"description": None}, True),
        ("description not null", {}, False),
        ("state=Enabled", {}, False),
        ("cluster.name=cluster-1", {"cluster": "other"}, False),
        ("attachedClusterUuids=a", {"attachedClusterUuids": ["b"]}, False),
        ("encrypted=true", {"encrypted": True}, False),
        ("encrypted=true", {"encrypted": False}, True),
    ],
)
def test_only_what_surely_does_not_meet_a_condition_is_excluded(text: str, record: Any, excluded: bool) -> None:
    assert parse_condition(text, HOST).rejects(record) is excluded


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("a>=b", "a__b"),
        ("a!=b", "a__b"),
        ("50%~=x", "50%__x"),
        ("why?=x", "why__x"),
        ("a=b~=c", "a_b__c"),
        ("Bob's VM", "Bob_s VM"),
        ("it's 100%_", "it_s 100%_"),
        ("'", "_"),
        ("a\\'b is null", "a__b is null"),
        (" =x", "_x"),
        (" ==", "__"),
    ],
)
def test_a_value_that_services_misread_is_sent_as_a_pattern_and_compared_exactly(value: str, pattern: str) -> None:
    condition = parse_condition(f"name={value}", HOST)
    assert condition.sent == format_equality("name", value.strip()) == f"name~={pattern}"
    assert not condition.rejects({"name": value.strip()})
    assert condition.rejects({"name": value.upper() + "A"})
    assert condition.rejects({"name": value.strip().replace("'", "x").replace("=", "x")})
    assert condition.rejects({})


@pytest.mark.parametrize(
    ("text", "sent", "met", "unmet"),
    [
        ("name~=Bob's%", "name~=Bob_s%", "Bob's VM", "Bob-s VM"),
        ("name!=Bob's VM", None, "Bob-s VM", "Bob's VM"),
        ("name!~=%'%", None, "Bob", "Bob's"),
        ("name?=a, Bob's VM", None, "Bob's VM", "b"),
        ("name!?=a, Bob's VM", None, "b", "Bob's VM"),
    ],
)
def test_an_apostrophe_is_not_sent(text: str, sent: str | None, met: str, unmet: str) -> None:
    condition = parse_condition(text, HOST)
    assert condition.sent == sent
    assert not condition.rejects({"name": met})
    assert condition.rejects({"name": unmet})


@pytest.mark.parametrize("text", ["cluster.name=Bob's", "__userTag__=Bob's", "colour=Bob's", "name>Bob's"])
def test_an_apostrophe_that_cannot_be_compared_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(text, HOST)
    assert refused.value.message == (
        f"query {text!r} cannot be sent: services fail on an apostrophe. Use ~=, and write _ for each character that"
        " services misread."
    )


@pytest.mark.parametrize(
    ("text", "record", "excluded"),
    [
        ("state=Enabled", {"state": "Enabled"}, False),
        ("state=Enabled", {"state": "enabled"}, True),
        ("state=Enabled", {}, True),
        ("state!=Enabled", {"state": "Disabled"}, False),
        ("state!=Enabled", {}, True),
        ("cpuNum>32", {"cpuNum": 64}, False),
        ("cpuNum>32", {"cpuNum": 32}, True),
        ("description is null", {}, False),
        ("description not null", {}, True),
        ("name=cafe", {"name": "Caf\u00e9"}, True),
        ("name=a>=b", {"name": "a>=b"}, False),
    ],
)
def test_conditions_that_are_not_sent_are_checked_exactly(text: str, record: Any, excluded: bool) -> None:
    (condition,) = parse_local_conditions([text], HOST)
    assert condition.rejects(record) is excluded


@pytest.mark.parametrize(
    "text", ["cluster.name=a", "__systemTag__=a", "colour=blue", "createDate>Jan 6, 2017 3:51:16 AM"]
)
def test_conditions_that_only_the_service_can_check(text: str) -> None:
    with pytest.raises(Unsupported) as refused:
        parse_local_conditions([text], HOST)
    sent = text.replace("Jan 6, 2017 3:51:16 AM", "2017-01-06 03:51:16")
    assert refused.value.message == f"only the service can check the condition {sent!r}"


@pytest.mark.parametrize("field", ["createDate", "lastOpDate", "lastDetachDate", "cluster.createDate"])
@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("2024-01-06", "2024-01-06 00:00:00"),
        ("2024-01-06T08:00", "2024-01-06 08:00:00"),
        ("2024-01-06T08:00:01", "2024-01-06 08:00:01"),
        (" 2024-01-06 08:00:00 ", "2024-01-06 08:00:00"),
        ("Jan 6, 2024 8:00:00 PM", "2024-01-06 20:00:00"),
        ("Jan 6, 2024, 12:00:00\u202fAM", "2024-01-06 00:00:00"),
    ],
)
def test_dates_are_sent_as_databases_compare_them(field: str, value: str, sent: str) -> None:
    """Databases take any other form for a date before all others, and ``>`` would match each object."""
    for operator in ("=", "!=", ">", ">=", "<", "<="):
        assert parse_condition(f"{field}{operator}{value}", HOST).sent == f"{field}{operator}{sent}"


WRONG_DATES = [
    "Bob's",
    "",
    "yesterday",
    "now",
    "2024",
    "2024-02-30",
    "2024-01-06T25:00:00",
    "2024-01-06T08:00:00Z",
    "2024-01-06T08:00:00+08:00",
    "06.01.2024",
    "1704528000",
    "Jan 6 2024",
    "Jan 6, 2024 18:00:00 PM",
]


@pytest.mark.parametrize("operator", ["=", "!=", ">", ">=", "<", "<=", "?=", "~="])
@pytest.mark.parametrize("value", WRONG_DATES)
def test_other_dates_are_refused(operator: str, value: str) -> None:
    if operator == "~=" and set(value) <= set("0123456789:%_ -") and value:
        assert parse_condition(f"createDate~={value}", HOST).sent == f"createDate~={value}"
        return
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(f"createDate{operator}{value}", HOST)
    assert "createDate " in refused.value.message
    assert "2024-01-" in refused.value.message


@pytest.mark.parametrize(
    "condition", ["cpuNum=abc", "cpuNum>many", "deviceId=", "cpuNum>='3'", "cpuNum?=1,x", "size>1G"]
)
def test_texts_that_are_no_numbers_are_refused(condition: str) -> None:
    """Databases would compare with 0."""
    with pytest.raises(InvalidOptions, match="needs a number, not"):
        parse_condition(condition, HOST)


def test_number_fields_are_those_of_the_description() -> None:
    shown = {(name, field.type == "int") for fields in records().values() for name, field in fields.items()}
    assert {name for name, is_number in shown if is_number} == NUMBER_FIELDS
    assert not {name for name, is_number in shown if not is_number} & NUMBER_FIELDS


def test_condition_that_cannot_be_checked_is_refused() -> None:
    problems = {
        "cluster.name=a>=b": "the service would use '>=' as the operator",
        "cluster.name?==b": "the service would drop the '=' at the beginning of the value",
    }
    for text, problem in problems.items():
        with pytest.raises(InvalidOptions, match=rf"^query {re.escape(repr(text))} cannot be sent: {problem}\. Use ~="):
            parse_condition(text, HOST)
    with pytest.raises(InvalidOptions) as refused:
        parse_condition("state", HOST)
    assert refused.value.message == (
        "query 'state' is not a condition: it has none of the operators !=, >=, <=, !?=, !~=, ~=, ?=, =, >, <, is null,"
        " not null"
    )


HEX, DASHED = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c", "5D1F3F9A-0E7B-4F0D-9B9A-0C6F3A7F1B2C"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("state = Enabled", "state=Enabled"),
        (" state != Enabled ", "state!=Enabled"),
        ("cpuNum >= 32", "cpuNum>=32"),
        ("name ~= host-%", "name~=host-%"),
        ("state ?= Enabled, Disabled", "state?=Enabled,Disabled"),
        ("state !?= Enabled , Disabled", "state!?=Enabled,Disabled"),
        ("name=two words", "name=two words"),
        ("description  is null", "description is null"),
        ("description not null ", "description not null"),
        ("description=", "description="),
        ("vmNics.uuid = a", "vmNics.uuid=a"),
        (f"vmNics.uuid = {DASHED}", f"vmNics.uuid={HEX}"),
        (f"clusterUuid != {DASHED}", f"clusterUuid!={HEX}"),
        (f"uuid ?= {DASHED}, {HEX}", f"uuid?={HEX},{HEX}"),
        (f"name={DASHED}", f"name={DASHED}"),
        ("__systemTag__ = a", "__systemTag__=a"),
        ("__userTag__=a", "__userTag__=a"),
        ("colour=blue", "colour=blue"),
    ],
)
def test_conditions_are_sent_without_spaces_around_the_operator(text: str, sent: str) -> None:
    assert parse_condition(text, HOST).text == sent


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("state==Enabled", "="),
        ("state !== Enabled", "!="),
        ("state<>Enabled", "!="),
        ("name=~a%", "~="),
        ("cpuNum=>3", ">="),
        ("name=~^vm", "name~=vm%"),
        ("name =~ vm-\\d+$", "name~=%vm-%, which also matches other characters"),
        ("name=~^vm-[12]a$", "name?=vm-1a,vm-2a"),
        ("name=~^vm-[^a]$", "name~=vm-_, which also matches other characters"),
        ("name=~^a.b$", "name~=a_b"),
    ],
)
def test_operators_of_other_languages_are_refused(text: str, meant: str) -> None:
    with pytest.raises(InvalidOptions, match=rf"^query {re.escape(repr(text))} has the operator [=!<>~]+,") as refused:
        parse_condition(text, HOST)
    remark = " There are no regular expressions." if meant.startswith("name") else ""
    assert refused.value.message.endswith(f", which services do not know.{remark} Write {meant}.")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("virtinfra_state == 'Running'", "state=Running"),
        ("virtinfra_memory_size == 4", "="),
        ("virtinfra_cluster_name == 'c'", "cluster.name=c"),
        ("virtinfra_user_tags == 'web'", "__userTag__=web"),
        ("virtinfra_state in ['Running']", "state?=Running"),
        ("virtinfra_host_uuid null", "hostUuid is null"),
        ("virtinfra_other == 'a'", "virtinfra_other=a"),
    ],
)
def test_a_variable_of_an_inventory_is_answered_with_its_field(text: str, meant: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(text, "VmInstanceInventory")
    assert refused.value.message.endswith(f" Write {meant}.")


def test_a_variable_of_an_inventory_with_the_name_of_another_object_is_refused() -> None:
    with pytest.raises(InvalidOptions, match=r"have no field virtinfra_cluster_name\. Did you mean cluster\.name\?"):
        parse_condition("virtinfra_cluster_name=c", "VmInstanceInventory")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("state in Enabled,Disabled", "state?=Enabled,Disabled"),
        ("state IN ('Enabled', 'Disabled')", "state?=Enabled,Disabled"),
        ("state not in [Enabled]", "state!?=Enabled"),
        ("name like 'vm%'", "name~=vm%"),
        ("totalMemoryCapacity>4G", "totalMemoryCapacity>4294967296"),
        ("totalMemoryCapacity <= 1.5 TiB", "totalMemoryCapacity<=1649267441664"),
        ("not state=Enabled", "state!=Enabled"),
        ("NOT (state == 'Enabled')", "state!=Enabled"),
        ("!name~=web%", "name!~=web%"),
        ("not cpuNum>2", "cpuNum<=2"),
        ("not name != web", "name=web"),
    ],
)
def test_what_users_of_sql_mean_is_said(text: str, meant: str) -> None:
    with pytest.raises(InvalidOptions, match=rf"\. Write {re.escape(meant)}\.$"):
        parse_condition(text, HOST)


@pytest.mark.parametrize(
    "text",
    [
        *("state!=Enabled AND name=vm-1", "cpuNum>2 and state=Enabled", "name=a or zone.name=b", "name=a && cpuNum>=2"),
        *("state=Enabled&&name=vm-1", "state=Enabled&managementIp=10.0.0.1", "state=Enabled|state=Disabled"),
        *("state=Enabled, cpuNum>=4", "cpuNum>=4,state?=Enabled,Disabled", "state?=Enabled,Disabled,cpuNum>=4"),
    ],
)
def test_several_conditions_in_one_are_refused(text: str) -> None:
    with pytest.raises(InvalidOptions, match="contains several conditions"):
        parse_condition(text, HOST)
    assert parse_condition("name=a and colour=b", HOST).value == "a and colour=b"
    assert parse_condition("name=a, colour=b", HOST).value == "a, colour=b"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (" state=Enabled", "state=Enabled"),
        ("state =Enabled", "state=Enabled"),
        ("cpuNum>= 2", "cpuNum>=2"),
        ("name=two words", ""),
        ("createDate>2024-01-06", ""),
        ("description is null", ""),
    ],
)
def test_blanks_in_a_condition_that_is_sent_as_it_is(text: str, sent: str) -> None:
    problem = f"the condition {text!r}: the blanks are part of the field or the value. Write {sent}."
    assert describe_blanks([text], HOST) == ([problem] if sent else [])


@pytest.mark.parametrize("text", ["state?=Enabled,Disabled", "state=Enabled, Disabled"])
def test_values_that_were_split_off_are_refused(text: str) -> None:
    with pytest.raises(
        InvalidOptions, match=r"A string is split at commas, so write a list: .*'state\?=Enabled,Disabled'"
    ):
        parse_all(text.split(","), HOST)
    # A pattern is no list of values.
    with pytest.raises(InvalidOptions, match="has none of the operators"):
        parse_all(["name~=web-%", "db"], HOST)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("stat=Enabled", "state"),
        ("State=Enabled", "state"),
        ("management_ip=10.0.0.1", "managementIp"),
        ("managementIP=10.0.0.1", "managementIp"),
        ("clusterUUID=a", "clusterUuid"),
        ("names~=host%", "name"),
        ("__usertag__=tag-1", "__userTag__"),
        ("__user_tags__ ~= tag%", "__userTag__"),
        ("__systemtag__=a", "__systemTag__"),
        ("usertag=tag-1", "__userTag__"),
        ("system_tag=a", "__systemTag__"),
    ],
)
def test_misspelled_fields_are_refused(text: str, meant: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(text, HOST)
    field = re.split("[ =~]", text)[0]
    assert refused.value.message == (
        f"query {text!r}: hosts have no field {field}. Did you mean {meant}? If the service has a field {field},"
        " send the query with the module api."
    )
    if not is_tag(field):
        assert parse_condition(text, "of unknown fields").text == text


@pytest.mark.parametrize(
    ("record_type", "field", "meant"),
    [
        (HOST, "hostName", "name or hostname"),
        (HOST, "host_name", "name or hostname"),
        (HOST, "clusterName", "cluster.name"),
        ("ClusterInventory", "clusterName", "name"),
        ("ClusterInventory", "cluster", "name"),
        ("VmInstanceInventory", "vmName", "name"),
        ("VmInstanceInventory", "displayName", "name"),
        ("VmInstanceInventory", "instance_name", "name"),
        ("VmInstanceInventory", "hostName", "host.name"),
        ("VmInstanceInventory", "imageName", "image.name"),
        ("VmInstanceInventory", "l3NetworkName", "vmNics.l3Network.name"),
        ("ImageInventory", "imageName", "name"),
        ("L3NetworkInventory", "l3NetworkName", "name"),
        ("Volume", "vmName", "vmInstance.name"),
        ("Volume", "diskName", "name"),
        ("Volume", "storageName", "primaryStorage.name"),
        ("VmNicInventory", "nicName", "internalName"),
        ("PrimaryStorageInventory", "clusterName", "cluster.name"),
    ],
)
def test_the_name_of_an_object_by_its_noun(record_type: str, field: str, meant: str) -> None:
    with pytest.raises(InvalidOptions, match=rf"have no field {field}\. Did you mean {re.escape(meant)}\?"):
        parse_condition(f"{field}=a", record_type)


@pytest.mark.parametrize("field", ["clusterName", "cluster", "userName", "name", "cluster.name"])
def test_the_name_of_an_object_to_which_records_have_no_relation(field: str) -> None:
    assert parse_condition(f"{field}=a", "ImageInventory").field == field


@pytest.mark.parametrize(
    ("record_type", "condition", "owner", "meant"),
    [
        ("VmNicInventory", "vm.name=vm-1", "vm", "vmInstance.name"),
        ("VolumeSnapshotGroupInventory", "vm.name=vm-1", "vm", "vmInstance.name"),
        ("Volume", "vm.name=vm-1", "vm", "vmInstance.name"),
        ("VmInstanceInventory", "vm.name=vm-1", "vm", "name"),
        ("VmInstanceInventory", "l3Network.name=l3-1", "l3Network", "vmNics.l3Network.name"),
        ("VmInstanceInventory", "volumes.size>1073741824", "volumes", "allVolumes.size"),
        ("VmInstanceInventory", "disk.size>1073741824", "disk", "allVolumes.size"),
        ("VmInstanceInventory", "nic.usedIps.ip=10.0.0.5", "nic", "vmNics.usedIps.ip"),
        ("VmInstanceInventory", "rootVolume.size>0", "", ""),
        ("VmInstanceInventory", "allVolumes.colour=a", "", ""),
        (HOST, "vm.name=vm-1", "", ""),
        ("PrimaryStorageInventory", "cluster.name=a", "", ""),
    ],
)
def test_a_related_object_that_a_service_has_refused(record_type: str, condition: str, owner: str, meant: str) -> None:
    sentence = describe_unknown_fields([condition], record_type)
    assert (f" {owner} is no related object of " in sentence, meant in sentence) == (bool(owner), True)
    assert sentence.endswith(f". Did you mean {meant}?") if owner else not sentence


def is_tag(field: str) -> bool:
    return "tag" in field


@pytest.mark.parametrize("text", ["=Enabled", "the state=Enabled", "state ! = Enabled", "<5"])
def test_invalid_field_names_are_refused(text: str) -> None:
    with pytest.raises(InvalidOptions, match="cannot be the name of a field"):
        parse_condition(text, HOST)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("clusterUuid is not null", "clusterUuid not null"),
        ("clusterUuid IS NULL", "clusterUuid is null"),
        ("clusterUuid NOT NULL", "clusterUuid not null"),
    ],
)
def test_condition_for_a_missing_value_in_the_words_of_sql(text: str, meant: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(text, HOST)
    assert refused.value.message.endswith(f"Write {meant}.")
    assert parse_condition(meant, HOST).text == meant


@pytest.mark.parametrize("value", ["", "a=b", "a>b", "is null", "a!b", "a b", "a\\b", 'a"b', "50%", "a_b", "ä"])
def test_values_that_can_be_queried(value: str) -> None:
    assert format_equality("name", value) == f"name={value}"


@pytest.mark.parametrize(
    ("condition", "unknown"),
    [
        ("state=Running", ""),
        ("state = Running", ""),
        ("state!=Runing", "Runing"),
        ("state=running", "running"),
        ("state?=Running,Stoped", "Stoped"),
        ("state?=Running,Stopped", ""),
        ("state!?=Running,Stoped", "Stoped"),
        ("state=Running,Stopped", ""),
        ("state=Running|Paused", ""),
        ("state?=Running|Paused", ""),
        ("state=Running or Paused", ""),
        ("state~=Run%", ""),
        ("state is null", ""),
        ("name=running", ""),
        ("vmNics.state=enable", ""),
        ("vmNics.usedIps.state=running", ""),
        ("image.state=running", ""),
        ("nothing", ""),
    ],
)
def test_a_value_that_is_not_documented_gives_a_warning(condition: str, unknown: str) -> None:
    warnings = find_value_warnings([condition], "VmInstanceInventory")
    assert len(warnings) == bool(unknown)
    assert all(f"{unknown!r} is not a documented value of state. Did you mean" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("state!=Running, Stopped", "!= compares with one value. Write state!?=Running,Stopped."),
        ("name!=vm-1,vm-3", "!= compares with one value. Write name!?=vm-1,vm-3."),
        ("name!=vm-1*", "!= compares with the whole value. Write name!~=vm-1%."),
        ("name!=vm-1*,vm-3*", "!= compares with no patterns. Give each as an item of its own, such as name!~=a%."),
        ("name!?=vm-1%,vm-3", "!?= compares with no patterns. Give each as an item of its own, such as name!~=a%."),
        ("name!~=vm-1*", "* matches only itself. Write name!~=vm-1%."),
        ("name !~= ^vm-.*", "there are no regular expressions. Write name!~=vm-%."),
        ("name!~=vm", "!~= compares the whole value with a pattern. Write name!~=%vm%, or name!=vm."),
        ('name!="vm-1"', "the quotes are part of the value. Write name!=vm-1."),
        ("name!?=[vm-1, vm-3]", "the brackets are part of the values. Write name!?=vm-1,vm-3."),
        ("hostUuid!=null", "it compares with the text null. Write hostUuid not null."),
        ("hostUuid!=host-1", "hostUuid is a uuid. Write host.name!=host-1."),
        ("state!=Running|Paused", "!= compares with one value. Write state!?=Running,Paused."),
        ("name!?=vm-%", "!?= compares with whole values. Write name!~=vm-%."),
        (
            "vmNics.ip!=10.101.0.0/24",
            "it compares with one address, not with a range. Write vmNics.ip!~=10.101.0.%.",
        ),
        (
            "vmNics.ip!=10.101.16.0/20",
            (
                "it compares with one address, and no pattern expresses 10.101.16.0/20, whose third octet is from 16 to"
                " 31. Exclude each octet with an item of its own, such as vmNics.ip!~=10.101.16.%."
            ),
        ),
        ("name!=vm-1", ""),
        ("name!?=vm-1,vm-3", ""),
        ("name!~=vm-1%", ""),
        ("description!=", ""),
        ("hostUuid!=" + "a" * 32, ""),
    ],
)
def test_exclusions_that_exclude_nothing(condition: str, advice: str) -> None:
    """They select too much, so that only a warning shows them. It is given once, also without records."""
    warnings = find_value_warnings([condition], "VmInstanceInventory")
    assert warnings == ([f"the condition {condition!r}: {advice}"] if advice else [])
    assert describe_oversights([condition]) == []


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (
            "vmNics.state=up",
            "'up' is not a documented value of vmNics.state. The documented values are enable, disable.",
        ),
        ("vmNics.state!?=disable,down", "'down' is not a documented value of vmNics.state."),
        ("cluster.state=enabled", "'enabled' is not a documented value of cluster.state. Did you mean Enabled?"),
        ("host.status=connected", "'connected' is not a documented value of host.status. Did you mean Connected?"),
    ],
)
def test_a_value_of_another_object_that_is_not_documented_gives_a_warning(condition: str, problem: str) -> None:
    (warning,) = find_value_warnings([condition], "VmInstanceInventory")
    assert warning.startswith(f"the condition {condition!r}: {problem}")


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("memorySize>64", "memorySize>68719476736 for 64 GiB"),
        ("memorySize >= 4096", "memorySize>=4294967296 for 4096 MiB"),
        ("host.availableMemoryCapacity>0.5", "host.availableMemoryCapacity>536870912 for 0.5 GiB"),
        ("memorySize>0", ""),
        ("memorySize>1048576", ""),
        ("cpuNum>64", ""),
    ],
)
def test_a_number_of_bytes_that_nothing_is_as_small_as(condition: str, meant: str) -> None:
    warnings = find_value_warnings([condition], "VmInstanceInventory")
    field = re.split("[ >]", condition)[0]
    assert warnings == ([f"the condition {condition!r}: {field} is in bytes. Write {meant}."] if meant else [])


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("name?=vm-%", "?= compares with whole values. Write name~=vm-%."),
        (
            "name?=vm-1,db-*",
            "?= compares with whole values. Write name~=db-%. Each pattern needs a query of its own.",
        ),
        ("state=Running|Paused", "= compares with one value. Write state?=Running,Paused."),
        ("state = Running || Paused", "= compares with one value. Write state?=Running,Paused."),
        ("state=Running or Paused", "= compares with one value. Write state?=Running,Paused."),
        ("virtinfra_state == 'Running'", "services do not know the operator ==. Write state=Running."),
        ('state == "Running"', "services do not know the operator ==. Write state=Running."),
        ("state == Running", "services do not know the operator ==. Write =."),
        ("name <> 'vm-1'", "services do not know the operator <>. Write name!=vm-1."),
        (
            "vmNics.ip?=10.101.0.0/24,10.102.0.0/24",
            (
                "it compares with one address, not with a range. Write vmNics.ip~=10.101.0.%. Each value needs a query"
                " of its own."
            ),
        ),
        ("name=~^vm-.*", "services do not know the operator =~. There are no regular expressions. Write name~=vm-%."),
    ],
)
def test_operators_of_other_languages_that_select_nothing(condition: str, remedy: str) -> None:
    """The filters of an inventory are sent as they are. The quotes and the operator are mended together."""
    warnings = describe_oversights([condition], "VmInstanceInventory")
    assert warnings == [f"the condition {condition!r}: {remedy}"]


UUID = "0123456789abcdef0123456789abcdef"
DASHED = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        (f"name={UUID}", f"uuid={UUID}"),
        (f"name = {DASHED}", f"uuid={DASHED}"),
        (f"name?={UUID},{DASHED}", f"uuid?={UUID},{DASHED}"),
        (f"host.name={UUID}", f"hostUuid={UUID}"),
        (f"allVolumes.name={UUID}", f"allVolumes.uuid={UUID}"),
        (f"vmNics.l3Network.name={UUID}", f"vmNics.l3Network.uuid={UUID}"),
        (f"name={UUID[1:]}", ""),
        (f"description={UUID}", ""),
    ],
)
def test_a_uuid_in_place_of_a_name(condition: str, meant: str) -> None:
    warnings = describe_oversights([condition], "VmInstanceInventory")
    value = re.split(" ?[?]?= ?", condition)[1]
    remedy = f"the condition {condition!r}: {value} looks like a uuid, not like a name. Write {meant}."
    assert warnings == ([remedy] if meant else [])


@pytest.mark.parametrize(
    ("condition", "role"),
    [
        ("availableMemoryCapacity>50%", ", or use the role capacity_report"),
        ("availableCpuCapacity < 10.5 %", ", or use the role capacity_report"),
        ("cpuNum>50%", ""),
    ],
)
def test_a_share_cannot_be_asked_for(condition: str, role: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        parse_condition(condition, HOST)
    assert refused.value.message.endswith(
        f". Services compare with no share of another field. List the objects, and compare in an expression{role}."
    )


ONE = "it compares with one address,"


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("10.101.0.0/24", f"{ONE} not with a range. Write vmNics.ip~=10.101.0.%."),
        ("10.101.0.11/16", f"{ONE} not with a range. Write vmNics.ip~=10.101.%."),
        ("10.101.0.0/255.255.0.0", f"{ONE} not with a range. Write vmNics.ip~=10.101.%."),
        ("10.0.0.0/8", f"{ONE} not with a range. Write vmNics.ip~=10.%."),
        ("10.101.0.11/32", f"{ONE} without a prefix length. Write vmNics.ip=10.101.0.11."),
        (
            "10.101.16.0/20",
            (
                f"{ONE} and no pattern expresses 10.101.16.0/20, whose third octet is from 16 to 31. Each octet needs a"
                " query of its own, such as vmNics.ip~=10.101.16.%."
            ),
        ),
        (
            "10.101.6.7/22",
            (
                f"{ONE} and no pattern expresses 10.101.4.0/22, whose third octet is from 4 to 7. Each octet needs a"
                " query of its own, such as vmNics.ip~=10.101.4.%."
            ),
        ),
        (
            "10.64.0.0/10",
            (
                f"{ONE} and no pattern expresses 10.64.0.0/10, whose second octet is from 64 to 127. Each octet needs a"
                " query of its own, such as vmNics.ip~=10.64.%."
            ),
        ),
        (
            "10.101.0.9/30",
            (
                f"{ONE} and no pattern expresses 10.101.0.8/30, whose last octet is from 8 to 11. Write"
                " vmNics.ip?=10.101.0.8,10.101.0.9,10.101.0.10,10.101.0.11."
            ),
        ),
        (
            "10.101.0.0/25",
            (
                f"{ONE} and no pattern expresses 10.101.0.0/25, whose last octet is from 0 to 127. List the addresses"
                " behind ?=, separated by commas."
            ),
        ),
        (
            "0.0.0.0/0",
            (
                f"{ONE} and no pattern expresses 0.0.0.0/0, whose first octet is from 0 to 255. Each octet needs a"
                " query of its own, such as vmNics.ip~=0.%."
            ),
        ),
        ("10.101.0.0/33", f"{ONE} and 10.101.0.0/33 is none."),
        ("10.101.0.5-10.101.0.6", f"{ONE} not with a range. Write vmNics.ip?=10.101.0.5,10.101.0.6."),
        ("10.101.0.5-7", f"{ONE} not with a range. Write vmNics.ip?=10.101.0.5,10.101.0.6,10.101.0.7."),
        (
            "10.101.0.5 - 10.101.2.20",
            f"{ONE} not with a range. List the addresses behind ?=, separated by commas.",
        ),
        ("2001:db8::/32", f"{ONE} not with a range. Write vmNics.ip~=2001:db8:%."),
        ("2001:DB8:1:02::7/64", f"{ONE} not with a range. Write vmNics.ip~=2001:db8:1:2:%."),
        ("2001:db8::7/128", f"{ONE} without a prefix length. Write vmNics.ip=2001:db8::7."),
        ("2001:db8::/64", f"{ONE} and no pattern expresses 2001:db8::/64, because services compare texts."),
        ("2001:db8::/36", f"{ONE} and no pattern expresses 2001:db8::/36, because services compare texts."),
        ("::/0", f"{ONE} and no pattern expresses ::/0, because services compare texts."),
    ],
)
@pytest.mark.parametrize("operator", ["=", "?=", "~="])
def test_a_network_is_answered_with_a_pattern_only_if_one_matches_no_other_addresses(
    operator: str, value: str, remedy: str
) -> None:
    """Plays change what they list, so a pattern that matches more would do harm."""
    condition = f"vmNics.ip{operator}{value}"
    assert describe_oversights([condition]) == [f"the condition {condition!r}: {remedy}"]


@pytest.mark.parametrize("value", ["web-1", "10.101.0.11", "2001:db8::7", "web-10.101", "web/24", "1-x"])
def test_an_address_is_no_network(value: str) -> None:
    assert describe_oversights([f"vmNics.ip={value}", f"name={value}"]) == []


def test_values_of_fields_are_those_on_the_pages_of_modules() -> None:
    assert list_field_values() == FIELD_VALUES, OUTDATED.format(path="plugins/module_utils/_api/field_values.py")
