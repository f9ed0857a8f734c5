"""Conversion and comparison of records."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import (
    PRESERVED_KEY_MEMBERS,
    RECORD_FIELDS,
    complete_record,
    find_invalid_member,
    is_address,
    is_localhost,
    is_same_value,
    normalize_address,
    record_to_result,
    to_camel_case,
    to_datetime,
    to_snake_case,
)
from hypothesis import given
from hypothesis import strategies as st

from simulator.description import records

# Their spelling does not follow from an option: the module api sends the first, the catalogue spells the second.
IRREGULAR = {"stopHA", "enableIPAM"}
NAMES = sorted(
    {name for row in OPERATIONS.values() for name in row.parameters}.union(*RECORD_FIELDS.values()) - IRREGULAR
)


def test_every_name_is_converted_in_both_directions(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name):
            option = to_snake_case(name)
            assert option == option.lower()
            assert to_camel_case(option) == name


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("uuid", "uuid"),
        ("managementIp", "management_ip"),
        ("l3NetworkUuid", "l3_network_uuid"),
        ("destL3NetworkUuid", "dest_l3_network_uuid"),
        ("vmNicUuid", "vm_nic_uuid"),
        ("ipInLong", "ip_in_long"),
        ("volumeCbtBackupInfos", "volume_cbt_backup_infos"),
        ("atAll", "at_all"),
    ],
)
def test_names(name: str, option: str) -> None:
    assert to_snake_case(name) == option


def test_name_that_is_too_long_is_not_converted() -> None:
    """Names that are too long are not converted, because the conversion takes quadratic time."""
    for name in ("aB" * 500_000, "aB" * 33):
        assert record_to_result({name: {"vmNics": []}}) == {name: {"vm_nics": []}}
    assert max(len(name) for fields in RECORD_FIELDS.values() for name in fields) < 64


def test_names_are_unique_within_a_record() -> None:
    for kind, fields in RECORD_FIELDS.items():
        assert len({to_snake_case(name) for name in fields}) == len(fields), kind


def test_records_are_converted_deeply() -> None:
    record = {"vmNics": [{"l3NetworkUuid": "l", "usedIps": [{"ipRangeUuid": "r"}]}], "cpuNum": 2, "nqn": None}
    assert record_to_result(record) == {
        "vm_nics": [{"l3_network_uuid": "l", "used_ips": [{"ip_range_uuid": "r"}]}],
        "cpu_num": 2,
        "nqn": None,
    }


@pytest.mark.parametrize("member", sorted(PRESERVED_KEY_MEMBERS))
def test_keys_that_are_data_are_kept(member: str) -> None:
    content = {"someKey": {"innerKey": 1}, "X-Header": "v", "a0000003000040008000000000000001": []}
    assert record_to_result({member: content}) == {to_snake_case(member): content}


def test_all_members_whose_keys_are_data_are_known() -> None:
    free = {name for row in OPERATIONS.values() for name, each in row.parameters.items() if each.type == "dict"}
    assert free <= PRESERVED_KEY_MEMBERS
    open_fields = {name for fields in records().values() for name, each in fields.items() if each.type == "dict"}
    assert open_fields & PRESERVED_KEY_MEMBERS == {"opaque"}


@pytest.mark.parametrize("kind", RECORD_FIELDS)
def test_every_record_has_one_shape(kind: str) -> None:
    record = complete_record(kind, {"uuid": "u", "somethingNew": 1})
    assert record == {**dict.fromkeys(RECORD_FIELDS[kind]), "uuid": "u", "somethingNew": 1}


@pytest.mark.parametrize(
    ("desired", "current"),
    [
        ("a", "a"),
        (" a ", "a"),
        ("a", " a\n"),
        ("", None),
        ("", ""),
        (5, 5),
        (5, "5"),
        (False, None),
        (False, False),
        (True, True),
        ([], None),
        ([], []),
        (["a", "b"], ["b", "a"]),
        (["a", "a"], ["a"]),
        ([1, 2], ["2", "1"]),
        ({}, None),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_same(desired: Any, current: Any) -> None:
    assert is_same_value(desired, current)


@pytest.mark.parametrize(
    ("desired", "current"),
    [
        ("a", "A"),
        ("a", None),
        ("", "a"),
        ("a b", "ab"),
        (5, 6),
        (5, None),
        (0, None),
        (True, None),
        (True, False),
        (False, True),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        ([], ["a"]),
        (["a"], None),
        ({"a": 1}, {}),
        ({"a": 1}, None),
        ({}, {"a": 1}),
    ],
)
def test_not_same(desired: Any, current: Any) -> None:
    assert not is_same_value(desired, current)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" FA-16-3E-00-00-01", "fa:16:3e:00:00:01"),
        ("FA163E000001", "fa:16:3e:00:00:01"),
        ("fa16.3e00.0001", "fa:16:3e:00:00:01"),
        ("fa-16:3e-00-00-01", "fa-16:3e-00-00-01"),
        ("web-1", "web-1"),
        ("10.0.0.1 ", "10.0.0.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("None", "none"),
    ],
)
def test_addresses_have_one_form(text: str, canonical: str) -> None:
    assert normalize_address(text) == canonical


TEXTS = st.text("aZ0 \n\u00e9\u202f", max_size=4)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS | st.integers())


@given(VALUES)
def test_every_value_equals_itself(value: Any) -> None:
    assert is_same_value(value, value)


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_lists_are_compared_both_ways(first: list[str], second: list[str]) -> None:
    assert is_same_value(first, second) == is_same_value(second, first)
    assert is_same_value(first, second) == ({text.strip() for text in first} == {text.strip() for text in second})


JANUARY = datetime.datetime(2017, 1, 6, 3, 51, 16)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jan 6, 2017 3:51:16 AM", JANUARY),
        ("Jan 6, 2017, 3:51:16 AM", JANUARY),
        ("Jan 6, 2017, 3:51:16\u202fAM", JANUARY),
        ("Jan 06, 2017 03:51:16 AM", JANUARY),
        ("Dec 31, 2024 12:00:00 AM", datetime.datetime(2024, 12, 31, 0, 0, 0)),
        ("Dec 31, 2024 12:59:59 PM", datetime.datetime(2024, 12, 31, 12, 59, 59)),
        ("Feb 29, 2024 11:00:01 PM", datetime.datetime(2024, 2, 29, 23, 0, 1)),
    ],
)
def test_timestamps(text: str, expected: datetime.datetime) -> None:
    assert to_datetime(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2017-01-06T03:51:16",
        "Jan 6, 2017",
        "Foo 6, 2017 3:51:16 AM",
        "Jan 32, 2017 3:51:16 AM",
        "Feb 29, 2023 3:51:16 AM",
        "Jan 6, 2017 13:51:16 AM",
        "Jan 6, 2017 0:51:16 AM",
        "Jan 6, 2017 3:60:16 AM",
        "Jan 6, 2017 3:51:16",
    ],
)
def test_other_text_is_no_timestamp(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- the words differ between our check and that of datetime
        to_datetime(text)


@given(st.datetimes(min_value=datetime.datetime(1970, 1, 1), max_value=datetime.datetime(9999, 12, 31)))
def test_every_timestamp_can_be_parsed(moment: datetime.datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=None)
    hour, half = moment.hour % 12 or 12, "PM" if moment.hour >= 12 else "AM"
    month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[moment.month - 1]
    text = f"{month} {moment.day}, {moment.year:04} {hour}:{moment.minute:02}:{moment.second:02} {half}"
    assert to_datetime(text) == moment


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, None),
        ({"name": 5, "state": [], "cpuNum": "many"}, None),
        ({"uuid": "a", "type": None, "ip": "10.0.0.1", "vlanId": 0}, None),
        ({"uuid": 5}, "uuid"),
        ({"mac": ["fa:16:3e:00:00:01"]}, "mac"),
        ({"vlanId": "0"}, "vlanId"),
        ({"vlanId": 0, "interfaceUuid": {}}, "interfaceUuid"),
        ({"vmNics": None, "serviceTypes": [], "resourceRefs": [{"resourceUuid": "a"}]}, None),
        ({"vmNics": "none"}, "vmNics"),
        ({"vmNics": {}}, None),
        ({"vmNics": {"uuid": "a"}}, "vmNics"),
        ({"vmNics": [{"uuid": "a"}, None]}, "vmNics"),
        ({"vmNics": [{"uuid": "a"}, {"uuid": "b", "ip": 7}]}, "vmNics.ip"),
        ({"vmNics": [{"usedIps": [{"ip": "10.0.0.1"}, 5]}]}, "vmNics.usedIps"),
        ({"resourceRefs": [{"resourceUuid": 7}]}, "resourceRefs.resourceUuid"),
        ({"serviceTypes": ["StorageNetwork", 7]}, "serviceTypes"),
        ({"serviceTypes": ["StorageNetwork"]}, None),
        ({"atPersonUserIds": "user-1"}, "atPersonUserIds"),
    ],
)
def test_members_that_tasks_rely_on(record: dict[str, Any], expected: str | None) -> None:
    assert find_invalid_member(record) == expected


def test_invalid_timestamp_is_named() -> None:
    with pytest.raises(ValueError, match="such as 'Jan 6, 2017 3:51:16 AM': '2024-01-06'"):
        to_datetime("2024-01-06")


THIS_MACHINE = """
    localhost LocalHost. localhost.localdomain db.localhost localhost4 localhost6.localdomain6 ip6-loopback loopback
    127.0.0.1 127.1 0x7f.1 017700000001 2130706433 0.0.0.0 0 ::1 ::ffff:127.0.0.1 ::127.0.0.1 ::
""".split()
# Full-width letters and digits, and a mark that resolvers ignore.
THIS_MACHINE += ["\uff11\uff12\uff17.0.0.1", "\uff4cocalhost", "local\ufe0fhost"]
OTHER_MACHINES = """
    localhosts mylocalhost localhost.example.com ip6-loopbacks 10.0.0.1 126.255.255.255 128.0.0.1 1.0.0.0 fe80::1 x0
    host-127.0.0.1 127.0.0.1.example.com 2001:db8::1 ::ffff:10.0.0.1 ::10.0.0.1 2001:db8::127.0.0.1
""".split()


def test_names_and_addresses_of_this_machine(subtests: pytest.Subtests) -> None:
    for text in THIS_MACHINE:
        with subtests.test(text):
            assert is_localhost(text)
            assert not is_address(text)
    for text in OTHER_MACHINES:
        with subtests.test(text):
            assert not is_localhost(text)
    assert is_localhost(" localhost ")
    assert is_address("127.0.0.1", allow_localhost=True)
    assert not is_address("-oProxyCommand=sh", allow_localhost=True)
    assert not any(map(is_address, ("10.0.0.1:22", "db:22", "fe80::1::2", "[2001:db8::1]")))
