"""The state of the service, and whether `changed` of a task is correct."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from support.scenarios import State

# Dates change with every write; sending a trap changes nothing.
IGNORED = frozenset(("createDate", "lastOpDate", "lastDetachDate", "traps", "tags"))

UUID = re.compile(r"\b[0-9a-f]{32}\b")


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


def list_uuids(state: State) -> frozenset[str]:
    """Return the uuids in a state."""
    return frozenset(UUID.findall(json.dumps(state)))


def replace_unpredictable(state: State, known: Collection[str], chosen: Collection[str] = (), noted: str = "") -> State:
    """Return a state without dates, with one placeholder for all uuids that are not ``known``.

    ``chosen`` are members for which the service takes another value each time. Whether they are ``noted`` remains.
    """
    text = json.dumps(drop_dates(state))
    for name in chosen:
        text = re.sub(rf'(?<="{name}": )("[^"]*"|\d+)', lambda found: json.dumps(noted in found[0]), text)
    replaced: State = json.loads(UUID.sub(lambda uuid: uuid[0] if uuid[0] in known else "new", text))
    return {kind: sorted(records, key=json.dumps) for kind, records in replaced.items()}


def compare(wanted: State, found: State) -> str:
    """Return the first lines in which two states of a service differ, an empty text if they do not."""
    if wanted == found:
        return ""
    before, after = (json.dumps(state, indent=1).splitlines() for state in (wanted, found))
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    differences = [line for line in lines if not line.startswith(("---", "+++"))]
    return " ".join(differences[:6])


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
