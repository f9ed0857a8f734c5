# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names and addresses: what Ansible can take."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import Failure
from ansible_collections.virtinfra.manager.plugins.plugin_utils._names import (
    is_address,
    is_host_name,
    is_variable_name,
    unambiguous,
)


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
