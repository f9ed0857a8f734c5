# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions of queries, names and addresses: what is checked here, and what Ansible can take."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, Failure
from ansible_collections.virtinfra.manager.plugins.module_utils._records import FIELDS
from ansible_collections.virtinfra.manager.plugins.plugin_utils._conditions import parsed
from ansible_collections.virtinfra.manager.plugins.plugin_utils._names import (
    is_address,
    is_host_name,
    is_variable_name,
    unambiguous,
)

HOST = FIELDS["HostInventory"]


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
        ("cpuNum=32", {"cpuNum": 32}, False),
        ("cpuNum=32", {"cpuNum": 64}, True),
        ("cpuNum>32", {"cpuNum": 32}, True),
        ("cpuNum>=32", {"cpuNum": 32}, False),
        ("cpuNum<32", {"cpuNum": 64}, True),
        ("cpuNum<=32.5", {"cpuNum": 32}, False),
        ("createDate>Jan 6, 2017 3:51:16 AM", {"createDate": "Jan 6, 2016 3:51:16 AM"}, False),
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
    assert parsed(text, HOST).excludes(record) is excluded


@pytest.mark.parametrize("text", ["name=a>=b", "name=a!=b", "name=50%~=x", "name=why?=x"])
def test_a_value_with_an_operator_is_checked_here_and_exactly(text: str) -> None:
    condition = parsed(text, HOST)
    value = text.partition("=")[2]
    assert condition.misread
    assert not condition.excludes({"name": value})
    assert condition.excludes({"name": value.upper()})
    assert condition.excludes({})


def test_what_nobody_can_check_is_refused() -> None:
    with pytest.raises(BadInput, match="the service would take '>=' for the operator"):
        parsed("cluster.name=a>=b", HOST)
    with pytest.raises(BadInput, match="none of the operators"):
        parsed("state", HOST)


@pytest.mark.parametrize("name", ["host-1", "web server (1)", "10.0.0.1", "fd00::1", "ä", "a.b", "a" * 253, "x,y"])
def test_names_that_hosts_can_have(name: str) -> None:
    assert is_host_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "a/b",
            "../x",
            "..",
            ".hidden",
            "a\\b",
            "a\nb",
            "a\tb",
            "\x00",
            "a" * 254,
            "-oProxyCommand=id",
            "a\u2028b",
        ),
        *("{{ x }}", "{% x %}", "{", "}", "#jinja2: x", "localhost", "127.0.0.1", "::1", "all", "ungrouped", "\ud800"),
    ],
)
def test_names_that_hosts_cannot_have(name: str) -> None:
    assert not is_host_name(name)


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "::2", "host-1.example.com", "host_1"])
def test_addresses(address: str) -> None:
    assert is_address(address)


@pytest.mark.parametrize("address", ["", "-oProxyCommand=id", "a b", "a;b", "{{ x }}", "a/b", "a\n", "x" * 254, "ä"])
def test_what_is_no_address(address: str) -> None:
    assert not is_address(address)


def test_names_of_variables() -> None:
    assert is_variable_name("virtinfra_name")
    taken = ["name", "hosts", "ansible_host", "inventory_hostname", "group_names", "hostvars", "environment", "class"]
    assert not any(map(is_variable_name, [*taken, "", "1a", "a-b", "a b", "ä"]))


NAMES, UUIDS, SERVICES = ["a", "b", "a", "c", "a"], ["1", "2", "3", "4", "3"], ["n", "n", "n", "n", "s"]


def test_names_that_are_unique_stay() -> None:
    for policy in ("rename", "first", "error"):
        assert unambiguous(["a", "b"], [["1", "2"]], policy) == (["a", "b"], [])


def test_each_of_several_with_one_name_is_renamed() -> None:
    names, (warning,) = unambiguous(NAMES, [UUIDS, SERVICES], "rename")
    assert names == ["a_1", "b", "a_3_n", "c", "a_3_s"]
    assert "a (3 times)" in warning


def test_the_first_of_several_with_one_name_is_kept() -> None:
    names, (warning,) = unambiguous(NAMES, [UUIDS], "first")
    assert names == ["a", "b", None, "c", None]
    assert "2 records are left out" in warning


def test_several_with_one_name_are_an_error() -> None:
    with pytest.raises(Failure, match=r"a \(3 times\)"):
        unambiguous(NAMES, [UUIDS], "error")


def test_a_long_name_has_room_for_the_uuid() -> None:
    names, dummy = unambiguous(["x" * 253] * 2, [["1" * 32, "2" * 32]], "rename")
    assert [len(name or "") for name in names] == [253, 253]
    assert len(set(names)) == 2


def test_a_name_made_by_renaming_is_not_taken_from_another() -> None:
    names, dummy = unambiguous(["a", "a", "a_1"], [["1", "2", "3"], ["1", "2", "3"]], "rename")
    assert names == ["a_1_1", "a_2", "a_1_3"]


def test_what_nothing_tells_apart_is_a_failure() -> None:
    with pytest.raises(Failure, match="nothing tells these records apart"):
        unambiguous(["a", "a"], [["1", "1"], ["n", "n"]], "rename")
