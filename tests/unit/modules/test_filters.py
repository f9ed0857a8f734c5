"""The filters that the roles use to build lists."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.filter.columns_to_rows import build_rows


def test_columns_become_rows() -> None:
    assert build_rows({"name": ["a", "b"], "state": "present", "tags": iter([[1], None])}) == [
        {"name": "a", "state": "present", "tags": [1]},
        {"name": "b", "state": "present", "tags": None},
    ]
    assert build_rows({"name": [], "state": None}) == []
    assert build_rows({"name": map(str, range(2)), "options": {"a": 1}}) == [
        {"name": "0", "options": {"a": 1}},
        {"name": "1", "options": {"a": 1}},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["a", "b"], "uuid": ["c"]}, "not name: 2, uuid: 1"),
        ({"name": "a"}, "not no list"),
        ({}, "not no list"),
        (["a"], "must be a dictionary"),
    ],
)
def test_columns_without_a_common_length_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        build_rows(columns)
