"""The state of the service, and whether `changed` of a task is correct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from support.scenarios import State

# Dates change with every write; sending a trap changes nothing.
IGNORED = frozenset(("createDate", "lastOpDate", "lastDetachDate", "traps", "tags"))


def drop_dates(value: Any) -> Any:
    """Return a state without members that change without a call."""
    if isinstance(value, dict):
        return {name: drop_dates(item) for name, item in value.items() if name not in IGNORED}
    if isinstance(value, list):
        return [drop_dates(item) for item in value]
    return value


def differ(one: Any, other: Any) -> bool:
    """Return whether two states differ in members that change only by a call."""
    if one == other:
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        names = (one.keys() | other.keys()) - IGNORED
        return any(name not in one or name not in other or differ(one[name], other[name]) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(map(differ, one, other))
    return True


def explain_wrong_changed(result: Mapping[str, Any], before: State, after: State, action: bool = False) -> str | None:
    """Return why a task's `changed` is wrong or its failure is unusable, else None.

    An ``action`` may report a change although the state is the same. A task with an unknown outcome, which returns the
    ``job``, may also report a change.
    """
    if "exception" in result:
        return f"unexpected exception: {result['exception']}"
    if result.get("failed") and not result.get("msg"):
        return "it failed without a message"
    changed, differs = bool(result["changed"]), differ(before, after)
    if differs and not changed:
        return f"changed is false, but the state differs: {result.get('msg', 'it succeeded')}"
    if changed and not differs and not (action or "job" in result):
        return f"changed is true, but the state is the same: {result.get('msg', 'it succeeded')}"
    return None


def duplicates(state: State) -> list[str]:
    """Return the objects that exist more than once although their task creates only one."""
    found = []
    for kind, *keys in (("host", "managementIp"), ("endpoint", "type", "name"), ("vm", "name"), ("cbttask", "name")):
        counts = Counter(" ".join(str(record[key]) for key in keys) for record in state[kind])
        found += [f"{count} times the {kind} {value}" for value, count in counts.items() if count > 1]
    for vm in state["vm"]:
        counts = Counter(nic["l3NetworkUuid"] for nic in vm["vmNics"])
        found += [f"{count} NICs of {vm['name']} on {network}" for network, count in counts.items() if count > 1]
    return found
