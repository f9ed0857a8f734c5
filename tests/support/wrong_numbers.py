"""A service that sends something else in the place of numbers."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.record_fields import NUMBER_FIELDS

from simulator.launch import Simulator

WRONG_NUMBERS: tuple[object, ...] = ("NaN", "Infinity", "12 GiB", "", " 4096", True, [], {})

# The records with numbers that modules and roles read.
KINDS = ("vm", "volume", "host", "primarystorage", "snapshotgroup", "platform")

# With a shift of 0, each number goes to some calls; all shifts together send each number to each call.
SHIFTS = [0, *(pytest.param(shift, marks=pytest.mark.nightly) for shift in range(1, len(WRONG_NUMBERS)))]


def choose_wrong_number(position: int, shift: int) -> object:
    """Return the number for the call at a position."""
    return WRONG_NUMBERS[(position + shift) % len(WRONG_NUMBERS)]


def send_wrong_numbers(sim: Simulator, number: object) -> None:
    """Replace all numbers in the records of a simulator."""
    for kind in KINDS:
        for record in sim.records(kind):
            wrong = {name: number for name in record if name in NUMBER_FIELDS}
            sim.change(kind, record["uuid"], **wrong)
