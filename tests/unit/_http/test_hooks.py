"""What a run provides by default: names that one task remembers, and lines for the user."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import TaskNames
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker

UUIDS = {"host-1": "a" * 32}


def test_a_task_looks_a_name_up_once() -> None:
    names, asked = TaskNames(), []

    def look_up() -> dict[str, str]:
        asked.append(1)
        return UUIDS

    for key in (("name", "host-1"), ("name", "host-1"), ("name", "host-2")):
        assert names.find("host", key, look_up) == (UUIDS, False)
    assert len(asked) == 2
    names.find("vm", ("name", "host-1"), look_up)
    names.forget(["host", "image"])
    names.find("vm", ("name", "host-1"), look_up)
    assert len(asked) == 3
    names.find("host", ("name", "host-1"), look_up)
    assert len(asked) == 4


def test_a_lookup_that_fails_is_not_repeated() -> None:
    """Of several objects with one name, each reports the failure."""

    def fail() -> dict[str, str]:
        raise LookupError("no connection")

    names = TaskNames()
    for dummy in range(2):
        with pytest.raises(LookupError, match="no connection"):
            names.find("host", ("name", "host-1"), fail)


def test_lookups_of_each_type_are_counted() -> None:
    names = TaskNames()
    counts = [names.count_lookup(resource_type) for resource_type in ("host", "host", "vm", "host")]
    assert counts == [0, 1, 0, 2]


def test_lines_for_the_user_show_neither_secrets_nor_control_characters() -> None:
    progress: list[str] = []
    requests: list[str] = []
    hooks = Hooks(Masker(["the-session"]), on_progress=progress.append, on_request=requests.append)
    hooks.show_progress("waiting\x1b[31m with the-session")
    hooks.log_request("GET /hosts?session=the-session\x07")
    assert progress == [r"waiting\x1b[31m with ********"]
    assert requests == [r"GET /hosts?session=********\x07"]
    silent = Hooks(Masker([]))
    silent.show_progress("waiting")
    silent.log_request("GET")
