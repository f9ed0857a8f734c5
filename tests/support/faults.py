"""The faults of the simulator after which the client repeats a read."""

from __future__ import annotations

from typing import Any

TRANSIENT_FAULTS: list[dict[str, Any]] = [
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "status", "status": 429},
    {"fault": "status", "status": 502},
    {"fault": "status", "status": 503},
    {"fault": "status", "status": 504},
]


def name_fault(fault: dict[str, Any]) -> str:
    """Return the name of a fault in the ids of tests."""
    return f"{fault['fault']}-{fault.get('status', '')}{fault.get('garbage', '')}"
