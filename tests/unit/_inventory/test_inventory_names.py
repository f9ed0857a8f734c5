"""Valid host names and addresses."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import is_address
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.hostvars import is_variable_name
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.names import deduplicate_names, is_host_name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "host-1",
            "web server 1",
            "10.0.0.1",
            "fd00::1",
            "a.b",
            "_a",
            "a" * 253,
            "1",
            "local-host",
            "\u00e4",
            "e\u0301",
        ),
        *("\u865a\u62df\u673a-1", "\u0e17\u0e35\u0e48", "\u0928\u092e\u0938\u094d\u0924\u0947"),
    ],
)
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
        *("{{ x }}", "{% x %}", "{", "}", "#jinja2: x", "all", "ungrouped", "\ud800"),
        *(
            "!none",
            "&x",
            "~.*",
            "a,b",
            "x[0:5]",
            "@x",
            "$(id)",
            ";id",
            "root@10.0.0.5",
            "*",
            "a:b",
            "a|b",
            "a?",
            "`id`",
        ),
        *("web server (1)", "a'b", 'a"b', "a=b", "a%b", "fe80::1%eth0", " a", "a ", "a\u00a0b", "a\u200bb", "a\u202eb"),
    ],
)
def test_names_that_hosts_cannot_have(name: str) -> None:
    assert not is_host_name(name)
    assert not is_host_name(name, allow_localhost=True)


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "::2", "host-1.example.com", "host_1", "::ffff:10.0.0.1"])
def test_addresses(address: str) -> None:
    assert is_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "-oProxyCommand=id",
        "a b",
        "a;b",
        "{{ x }}",
        "a/b",
        "a\n",
        "x" * 254,
        "\u00e4",
        "localhost:22",
        "127.0.0.1:",
        "a:b",
    ],
)
def test_invalid_addresses(address: str) -> None:
    assert not is_address(address)
    assert not is_address(address, allow_localhost=True)


@pytest.mark.parametrize(
    "text",
    [
        *("localhost", "LOCALHOST", "LocalHost.", "localhost..", "localhost.localdomain", "Localhost.LocalDomain."),
        *("a.localhost", "localhost4", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback"),
        *("127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.0.1.", "0", "00", "0x0", "0.0", "0.0.0.0"),
        *("0x7f.1", "0x7F000001", "017700000001", "0177.0.0.1", "2130706433", "127.0.1"),
        *("::1", "::", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7f00:1", "::ffff:0.0.0.0", "::127.0.0.1"),
    ],
)
def test_this_machine_is_skipped_unless_allowed(text: str) -> None:
    assert not is_host_name(text)
    assert not is_address(text)
    assert is_host_name(text, allow_localhost=True)
    assert is_address(text, allow_localhost=True)


@pytest.mark.parametrize("name", ["\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "\uff11\uff12\uff17.1"])
def test_names_that_resolvers_map_to_this_machine(name: str) -> None:
    assert not is_host_name(name)


def test_names_of_variables() -> None:
    assert is_variable_name("virtinfra_name")
    taken = ["name", "hosts", "ansible_host", "inventory_hostname", "group_names", "hostvars", "environment", "class"]
    assert not any(map(is_variable_name, [*taken, "", "1a", "a-b", "a b", "ä"]))


@pytest.mark.parametrize("mark", ["\u034f", "\ufe0f", "\u180b"])
def test_marks_that_resolvers_ignore_do_not_change_a_name(mark: str) -> None:
    """Resolvers drop these marks before they look up an internationalized name (RFC 3454, table B.1)."""
    assert not is_host_name(f"local{mark}host")
    assert is_host_name(f"local{mark}host", allow_localhost=True)
    assert is_host_name(f"web{mark}1")


NAMES, UUIDS, SERVICES = ["a", "b", "a", "c", "a"], ["1", "2", "3", "4", "3"], ["n", "n", "n", "n", "s"]


def test_names_that_are_unique_stay() -> None:
    for policy in ("rename", "first", "error"):
        assert deduplicate_names(["a", "b"], [["1", "2"]], policy) == (["a", "b"], [])


def test_each_of_duplicate_names_is_renamed() -> None:
    names, (warning,) = deduplicate_names(NAMES, [UUIDS, SERVICES], "rename")
    assert names == ["a_1", "b", "a_3_n", "c", "a_3_s"]
    assert "a (3 times)" in warning


def test_the_first_of_duplicate_names_is_kept() -> None:
    names, (warning,) = deduplicate_names(NAMES, [UUIDS], "first")
    assert names == ["a", "b", None, "c", None]
    assert "skipped 2 records" in warning


def test_duplicate_names_are_an_error() -> None:
    with pytest.raises(VirtinfraError, match=r"a \(3 times\)"):
        deduplicate_names(NAMES, [UUIDS], "error")


def test_a_long_name_has_room_for_the_uuid() -> None:
    names, dummy = deduplicate_names(["x" * 253] * 2, [["1" * 32, "2" * 32]], "rename")
    assert [len(name or "") for name in names] == [253, 253]
    assert len(set(names)) == 2


def test_a_renamed_host_does_not_take_the_name_of_another() -> None:
    names, dummy = deduplicate_names(["a", "a", "a_1"], [["1", "2", "3"], ["1", "2", "3"]], "rename")
    assert names == ["a_1_1", "a_2", "a_1_3"]


def test_indistinguishable_records_are_a_failure() -> None:
    with pytest.raises(VirtinfraError, match="several services return the same record"):
        deduplicate_names(["a", "a"], [["1", "1"], ["n", "n"]], "rename")
