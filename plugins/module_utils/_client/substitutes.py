"""Find out whether a server has an operation or its substitute, and call the one that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._api.errors import Unsupported
from .._api.operation import Operation
from .._api.operations import OPERATIONS
from .jobs import Job
from .stores import ServerFacts

# Which operations of a record type the server has: the documented ones, their substitutes, or neither form of the
# reads. A server without the reads may still have one of the writes.
DOCUMENTED, SUBSTITUTE, UNREADABLE = "documented", "substitute", "unreadable"


# The fact that a cursor query has replaced a read.
_FALLBACK = "fallback"


def read_either(
    operation: Operation,
    params: Mapping[str, Any],
    facts: ServerFacts,
    send: Callable[[str, Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Send a read, or its substitute if the server has that, and return the reply.

    Raise Unsupported when the server has neither, or may have neither.
    """
    fact = facts.get(operation.record) if operation.substitute else DOCUMENTED
    if fact in (DOCUMENTED, SUBSTITUTE):
        return send(operation.substitute if fact == SUBSTITUTE else operation.name, params)
    try:
        reply = send(operation.name, params)
    except Unsupported:
        if fact is None:
            try:
                reply = send(operation.substitute, params)
            except Unsupported:
                facts[operation.record] = UNREADABLE
            else:
                # A service that has none of both may take the path of this one for that of an object.
                if not _may_be_read_by_uuid(OPERATIONS[operation.substitute], params, reply):
                    facts[operation.record] = SUBSTITUTE
                    return reply
        raise
    if not _may_be_read_by_uuid(operation, params, reply):
        facts[operation.record] = DOCUMENTED
        return reply
    try:
        other = send(operation.substitute, {**params, "replyWithCount": True})
    except Unsupported:
        return reply
    if _may_be_read_by_uuid(operation, params, other):
        raise Unsupported(
            f"the empty responses do not show whether the service has {operation.name} or {operation.substitute}",
            operation=operation.name,
        )
    facts[operation.record] = SUBSTITUTE
    return other


class PathPrefix:
    """What the responses to a client show about the path prefix.

    A cursor query has another prefix, so it may replace a read whose prefix is wrong, while writes would fail.
    ``facts`` are shared by a run, which gets the warning once. ``refusal`` is the first one that a wrong prefix may
    explain.
    """

    def __init__(self, facts: ServerFacts, is_known: bool) -> None:
        self._facts = facts
        self._refusals: list[str] = []
        self._warnings: list[str] = []
        self.is_known = is_known
        self.refusal: Unsupported | None = None

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user; none if an operation below the prefix was found."""
        return [] if self.is_known else self._warnings

    def note(self, operation: Operation) -> None:
        """Note that an operation was found, which proves the prefix if its path has it."""
        self.is_known = self.is_known or operation.credential != "token"

    @contextmanager
    def observe(self, operation: Operation) -> Iterator[None]:
        """Observe a call, which may be refused because the prefix is wrong, or replace a read that was."""
        try:
            yield
        except Unsupported as lack:
            if lack.doubts_prefix:
                self.refusal = self.refusal or lack
            if lack.result.get("status") == 404 and not self.is_known:
                self._refusals.append(lack.reason)
            raise
        if operation.credential == "token" and self._refusals and not self._facts.get(_FALLBACK):
            self._facts[_FALLBACK] = operation.name
            self._warnings.append(f"{self._refusals[0]}, so a cursor query was used instead. Check path_prefix.")


def start_either(operation: Operation, facts: ServerFacts, send: Callable[[str], Job]) -> Job:
    """Send a write, or its substitute if the server has that, and return its job.

    Raise Unsupported when the server has neither.
    """
    fact = facts.get(operation.record) if operation.substitute else DOCUMENTED
    if fact in (DOCUMENTED, SUBSTITUTE):
        return send(operation.substitute if fact == SUBSTITUTE else operation.name)
    try:
        job = send(operation.name)
    except Unsupported as refusal:
        # The service did not perform the call, because it does not have the operation.
        try:
            job = send(operation.substitute)
        except Unsupported:
            raise Unsupported(
                f"the service offers neither {operation.name} nor {operation.substitute}, which some servers have"
                f" instead: {refusal.reason}",
                "Check the version and edition of the service.",
                **refusal.result,
            ) from None
        facts[operation.record] = SUBSTITUTE
        return job
    facts[operation.record] = DOCUMENTED
    return job


def _may_be_read_by_uuid(operation: Operation, params: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
    """Return whether a server without this collection would reply the same.

    It takes the last part of the path for a uuid if the collection above has a read by uuid: the reply is an empty
    list. Such reads ignore all parameters, so a list with a total is the reply of a query.
    """
    above = operation.path.rpartition("/")[0]
    is_collection = operation.request(params).path.endswith(operation.path)
    has_read = any(row.get_by_uuid and row.path == above for row in OPERATIONS.values())
    return is_collection and has_read and reply.get("inventories") == [] and "total" not in reply
