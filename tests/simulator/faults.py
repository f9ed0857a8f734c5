# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults on demand: what is to go wrong, for which operation, and how often."""

from __future__ import annotations

import dataclasses
import random
import typing as t

KINDS = (
    "drop_before",
    "drop_after",
    "truncate",
    "slow",
    "status",
    "html",
    "garbage",
    "redirect",
    "empty",
    "close",
    "duplicate",
    "interim",
    "hang",
    "expire",
    "fail",
    "session_expiry",
    "duplicate_webhook",
    "drop_webhook",
    "late_webhook",
)
GARBAGE = ("json", "utf8", "types", "missing", "login", "deep", "huge", "bomb")
FORMS = ("", "plain", "html", "json")
TYPES: dict[str, type | tuple[type, ...]] = {
    "fault": str,
    "operation": str,
    "method": str,
    "count": (int, type(None)),
    "skip": int,
    "probability": (int, float),
    "seed": int,
    "seconds": (int, float),
    "status": int,
    "retry_after": (int, str, type(None)),
    "taken": (bool, type(None)),
    "garbage": str,
    "form": str,
    "url": str,
    "error": dict,
}


class BadFault(ValueError):
    """A fault is not one that the simulator knows."""


@dataclasses.dataclass
class Fault:
    """One fault and how often it has still to happen."""

    fault: str
    operation: str = "*"
    """An operation's name, `poll`, or `*` for every request."""
    method: str = ""
    """Only requests of this HTTP method."""
    count: int | None = 1
    """How often; null: for ever."""
    skip: int = 0
    """Matching requests that pass unharmed first."""
    probability: float = 1.0
    seed: int = 0
    seconds: float = 1.0
    status: int = 502
    retry_after: int | str | None = None
    taken: bool | None = None
    """Whether the request takes effect although its answer is spoilt; null: as the fault has it by default."""
    garbage: str = "json"
    form: str = ""
    """What the body of a status is: plain, html, json; empty: as usual for the status."""
    url: str = ""
    error: dict[str, t.Any] = dataclasses.field(
        default_factory=lambda: {"code": "SYS.1006", "details": "the operation failed on demand"}
    )
    happened: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def matches(self, operation: str, method: str) -> bool:
        """Tell whether the fault happens to this request, and count it."""
        if self.operation not in ("*", operation) or (self.method and self.method != method) or self.count == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self._random.random() >= self.probability:
            return False
        self.happened += 1
        if self.count:
            self.count -= 1
        return True

    @property
    def effective(self) -> bool:
        """Whether the request is taken: the default of garbage is yes, of the other spoilt answers no."""
        return self.fault == "garbage" if self.taken is None else self.taken

    def document(self) -> dict[str, t.Any]:
        """Return the fault as the control plane shows it."""
        return dataclasses.asdict(self)


def _check_members(given: dict[str, t.Any]) -> None:
    for name, value in given.items():
        if name not in TYPES:
            raise BadFault(f"unknown member {name}")
        if not isinstance(value, TYPES[name]):
            raise BadFault(f"{name} has the wrong type: {value!r}")
    for name, choices in (("garbage", GARBAGE), ("form", FORMS)):
        if given.get(name, choices[0]) not in choices:
            raise BadFault(f"{name} must be one of {', '.join(filter(None, choices))}")


def parse(given: t.Any, operations: t.Container[str]) -> Fault:
    """Return the fault that a JSON object describes; raise BadFault when it describes none."""
    if not isinstance(given, dict):
        raise BadFault("a fault is an object")
    _check_members(given)
    if given.get("fault") not in KINDS:
        raise BadFault(f"fault must be one of {', '.join(KINDS)}")
    operation = given.get("operation", "*")
    if operation not in ("*", "poll") and operation not in operations:
        raise BadFault(f"unknown operation {operation}")
    if given["fault"] == "redirect" and not given.get("url"):
        raise BadFault("a redirect needs a url")
    if given["fault"] == "fail" and not {"code", "details"} <= set(given.get("error", {"code": "", "details": ""})):
        raise BadFault("an error has code and details")
    return Fault(**given)


class Faults:
    """The faults that are set."""

    WEBHOOK = ("duplicate_webhook", "drop_webhook", "late_webhook")
    GROUPS = (
        ("slow",),
        ("session_expiry",),
        ("duplicate",),
        ("interim",),
        ("hang", "expire", "fail"),
        ("drop_before", "drop_after", "truncate", "status", "html", "garbage", "redirect", "empty", "close"),
    )
    """Of each group one fault at most happens to a request; the next ones wait for the next request."""

    def __init__(self) -> None:
        self.all: list[Fault] = []

    def take(self, operation: str, method: str) -> list[Fault]:
        """Return the faults that happen to this request."""
        happening = (
            next((fault for fault in self.all if fault.fault in group and fault.matches(operation, method)), None)
            for group in self.GROUPS
        )
        return [fault for fault in happening if fault]

    def webhook(self, operation: str) -> dict[str, Fault]:
        """Return the faults that happen to this delivery, by name."""
        return {
            fault.fault: fault for fault in self.all if fault.fault in self.WEBHOOK and fault.matches(operation, "POST")
        }
