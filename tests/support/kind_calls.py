"""Compares the calls of the module ``resource`` with the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import get_row, list_operations

from simulator import catalogue


def check_calls(kind: str, log: Iterable[Mapping[str, Any]]) -> None:
    """Check that the calls in a log are those of a kind, with the methods and parameters that servers have for them.

    The simulator knows an operation by its path. Tags are set by operations of their own.
    """
    for entry in log:
        name = entry["operation"]
        if entry["method"] == "GET" or (name in ("CreateUserTag", "DeleteTag") and kind != "tag"):
            continue
        assert name in list_operations(get_row(kind))
        stated = catalogue.find(name)
        assert entry["method"] == stated.method
        body = entry["body"] or {}
        if stated.method == "DELETE":
            # A map has a parameter for each of its keys, after a point.
            given = {each.partition(".")[0] for each in entry["query"].keys() | body.keys()}
        else:
            given = body.get(stated.body_key or "", {}).keys()
        known = {*stated.parameters, "systemTags", "userTags"}
        assert given <= known, (name, given - known)
        needed = {each.name for each in stated.parameters.values() if each.required and each.where != "path"}
        assert needed <= given, (name, needed - given)
