# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the service holds, and whether a task told the truth about changing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from simulator.launch import Simulator
from support.scenarios import State

# Dates change with every write; a trap that was sent is no change.
IGNORED = frozenset(("createDate", "lastOpDate", "lastDetachDate", "traps", "tags"))


def settled(sim: Simulator) -> State:
    """Let end what is under way and return the state of the service."""
    for dummy in range(3):
        sim.advance()
    return sim.state()


def substance(value: Any) -> Any:
    """Return a state without what changes by itself."""
    if isinstance(value, dict):
        return {name: substance(each) for name, each in value.items() if name not in IGNORED}
    if isinstance(value, list):
        return [substance(each) for each in value]
    return value


def wrong_changed(result: Mapping[str, Any], before: State, after: State, action: bool = False) -> str | None:
    """Return what is wrong with what a task says of its changes; None when it tells the truth.

    An ``action`` may say that it changed what was so before. Who cannot know may say that there was a change.
    """
    if "exception" in result:
        return f"it ran into a bug: {result['exception']}"
    if result.get("failed") and not result.get("msg"):
        return "it failed without a word"
    changed, differs = bool(result["changed"]), substance(before) != substance(after)
    if differs and not changed:
        return f"it says that it changed nothing: {result.get('msg', 'it succeeded')}"
    if changed and not differs and not (action or "job" in result):
        return f"it says that it changed something: {result.get('msg', 'it succeeded')}"
    return None


def duplicates(state: State) -> list[str]:
    """Return what there is more than once although a task makes it once."""
    found = []
    for kind, *keys in (("host", "managementIp"), ("endpoint", "type", "name"), ("vm", "name"), ("cbttask", "name")):
        counts = Counter(" ".join(str(record[key]) for key in keys) for record in state[kind])
        found += [f"{count} times the {kind} {value}" for value, count in counts.items() if count > 1]
    for vm in state["vm"]:
        counts = Counter(nic["l3NetworkUuid"] for nic in vm["vmNics"])
        found += [f"{count} NICs of {vm['name']} on {network}" for network, count in counts.items() if count > 1]
    return found
