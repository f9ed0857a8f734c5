"""Injected faults: what goes wrong, for which operation, and how often."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Container
from typing import Any

FAULTS = {
    "drop_before": "The connection is reset (TCP RST) before the request is executed.",
    "drop_after": "The request is executed, then the connection is reset without a response.",
    "truncate": "Half of the response is sent, then the connection is closed.",
    "slow": "The response is delayed, by `seconds` (1).",
    "status": (
        "The response has the `status` (502), and no result: below 500 in plain text, from 500 as the HTML "
        "page of a proxy, or in the `form` `plain`, `html`, `json`, `container` (the page of a servlet "
        "container in which the service does not run yet) or `error` (an error of the service: `error`). "
        "`retry_after` is its header."
    ),
    "html": "The response is 200 with the HTML login page of a portal.",
    "garbage": (
        "The body of the response is unusable, by `garbage`: `json` (broken), `utf8` (invalid), `types` "
        '(wrong), `missing` (members), `login` (200, `{"status": "login required"}`), `deep` (nesting of '
        "100,000), `huge` (10 MiB) or `bomb` (256 MiB in 1 MiB of gzip)."
    ),
    "redirect": "The response is a redirect to `url`, with 302 or the `status`.",
    "empty": "The response is 200, or the `status`, without a body.",
    "close": "The connection is closed without a response.",
    "duplicate": "The request is executed twice, and the second response is the one that arrives.",
    "interim": "The response 103 Early Hints precedes the response.",
    "hang": "The job stays pending for ever; a poll returns pending; a read gets no response.",
    "expire": "The poll of the job is 404, although the operation is executed.",
    "other_job": (
        "The request is executed, and the 202 has the address of the job of another call, which failed with `error`."
    ),
    "other_response": (
        "The request is executed, and the response is that to another request: the failure `error`, or the "
        "JSON object `reply`."
    ),
    "fail": (
        "The job, the read or the poll fails with `error`: `code`, `details`, optionally `cause` or a list "
        "`causes`, of the same form. With `taken`, the job is executed."
    ),
    "session_expiry": "All sessions and the token are invalid, starting with this call.",
    "duplicate_webhook": "The result of the job is delivered twice.",
    "drop_webhook": "The result of the job is never delivered.",
    "late_webhook": "The delivery of the result is delayed, by `seconds`.",
}
"""What happens, by the name of the fault."""
GARBAGE = ("json", "utf8", "types", "missing", "login", "deep", "huge", "bomb")
FORMS = ("", "plain", "html", "json", "container", "error")
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
    "reply": dict,
}


class InvalidFault(ValueError):
    """The description of a fault is invalid."""


@dataclasses.dataclass
class Fault:
    """One fault, with the number of times that it still occurs."""

    fault: str
    operation: str = "*"
    """An operation's name, `poll`, or `*` for every request."""
    method: str = ""
    """Only requests of this HTTP method."""
    count: int | None = 1
    """How often it occurs; null: without limit."""
    skip: int = 0
    """Number of matching requests to let pass first."""
    probability: float = 1.0
    seed: int = 0
    seconds: float = 1.0
    status: int = 502
    retry_after: int | str | None = None
    taken: bool | None = None
    """Whether the request is executed although its response is damaged, or its job fails; null: the default of the
    fault."""
    garbage: str = "json"
    form: str = ""
    """Form of the body of a status: plain, html, json; container: the page of a servlet container for a path at which
    no application runs; error: the `error` of the service; empty: the usual one for the status."""
    url: str = ""
    error: dict[str, Any] = dataclasses.field(
        default_factory=lambda: {"code": "SYS.1006", "details": "the operation failed on demand"}
    )
    reply: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The reply to another request; empty: the error."""
    happened: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def matches(self, operation: str, method: str) -> bool:
        """Return whether the fault applies to this request, and count it."""
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
    def is_executed(self) -> bool:
        """Whether the request is executed: by default with a wrong body, not with other damaged responses."""
        return self.fault in ("garbage", "other_response") if self.taken is None else self.taken

    def to_json(self) -> dict[str, Any]:
        """Return the fault as the control API shows it."""
        return dataclasses.asdict(self)


def _check_members(members: dict[str, Any]) -> None:
    for name, value in members.items():
        if name not in TYPES:
            raise InvalidFault(f"unknown member {name}")
        if not isinstance(value, TYPES[name]):
            raise InvalidFault(f"{name} has the wrong type: {value!r}")
    for name, choices in (("garbage", GARBAGE), ("form", FORMS)):
        if members.get(name, choices[0]) not in choices:
            raise InvalidFault(f"{name} must be one of {', '.join(filter(None, choices))}")


def parse(members: Any, operations: Container[str]) -> Fault:
    """Return the fault that a JSON object describes; raise InvalidFault if it is invalid."""
    if not isinstance(members, dict):
        raise InvalidFault("a fault is an object")
    _check_members(members)
    if members.get("fault") not in FAULTS:
        raise InvalidFault(f"fault must be one of {', '.join(FAULTS)}")
    operation = members.get("operation", "*")
    if operation not in ("*", "poll") and operation not in operations:
        raise InvalidFault(f"unknown operation {operation}")
    if members["fault"] == "redirect" and not members.get("url"):
        raise InvalidFault("a redirect needs a url")
    if members["fault"] == "fail" and not {"code", "details"} <= set(members.get("error", {"code": "", "details": ""})):
        raise InvalidFault("an error has code and details")
    return Fault(**members)


class Faults:
    """The faults that were set."""

    WEBHOOK = ("duplicate_webhook", "drop_webhook", "late_webhook")
    GROUPS = (
        ("slow",),
        ("session_expiry",),
        ("duplicate",),
        ("interim",),
        ("hang", "expire", "fail", "other_job"),
        (
            *("drop_before", "drop_after", "truncate", "status", "html", "garbage", "redirect", "empty", "close"),
            "other_response",
        ),
    )
    """At most one fault of each group applies to a request; the others wait for the next request."""

    def __init__(self) -> None:
        self.all: list[Fault] = []

    def select(self, operation: str, method: str) -> list[Fault]:
        """Return the faults that apply to this request."""
        selected = (
            next((fault for fault in self.all if fault.fault in group and fault.matches(operation, method)), None)
            for group in self.GROUPS
        )
        return [fault for fault in selected if fault]

    def select_for_webhook(self, operation: str) -> dict[str, Fault]:
        """Return the faults that apply to this delivery, by name."""
        return {
            fault.fault: fault for fault in self.all if fault.fault in self.WEBHOOK and fault.matches(operation, "POST")
        }
