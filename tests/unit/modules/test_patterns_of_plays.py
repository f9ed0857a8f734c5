"""Which hosts a pattern of a play selects."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.hosts import select_hosts
from ansible_collections.virtinfra.manager.plugins.test.selecting_hosts import is_selecting_hosts

GROUPS = {"all": ["host-1", "host-2", "web-1"], "kvm": ["host-1", "host-2"], "ungrouped": ["web-1"]}


@pytest.mark.parametrize(
    ("pattern", "hosts", "is_selecting"),
    [
        ("host-1", ["host-1"], True),
        ("kvm", ["localhost", "host-2"], True),
        ("kvm,!host-1", ["host-2"], True),
        ("all:!kvm", ["web-1"], True),
        ("kvm[1]", ["host-2"], True),
        ("~web", ["web-1"], True),
        (["web-1", "host-1"], ["host-1"], True),
        (["kvm", "!host-1"], ["host-2"], True),
        ("localhost", ["localhost"], True),
        # --limit leaves other hosts.
        ("host-1", ["host-2"], False),
        ("kvm", ["localhost", "web-1"], False),
        ("kvm,!host-1", ["host-1"], False),
        ("localhost", ["host-1"], False),
        ("hots-1", ["host-1"], False),
        (["hots-1"], ["host-1"], False),
        ([], ["host-1"], False),
        (None, ["host-1"], False),
        ("~(", ["host-1"], False),
        (7, ["host-1"], False),
        ([["host-1"]], ["host-1"], False),
    ],
)
def test_a_pattern_selects_hosts_as_a_play_does(pattern: Any, hosts: list[str], is_selecting: bool) -> None:
    assert is_selecting_hosts(pattern, GROUPS, hosts) is is_selecting


@pytest.mark.parametrize(
    ("pattern", "limit", "selected"),
    [
        ("localhost", None, ["localhost"]),
        ("localhost", "", ["localhost"]),
        ("localhost", "localhost", ["localhost"]),
        ("localhost", "kvm,localhost", ["localhost"]),
        # Only a pattern that names localhost selects the one that is not in the inventory.
        ("localhost", "all", []),
        ("localhost", "!host-1", []),
        ("localhost", "kvm", []),
        ("localhost,all", "kvm:!host-1", ["host-2"]),
        ("localhost,all", "hots-1", []),
    ],
)
def test_a_limit_leaves_the_hosts_that_ansible_leaves(pattern: str, limit: str | None, selected: list[str]) -> None:
    assert select_hosts(pattern, GROUPS, limit) == selected
