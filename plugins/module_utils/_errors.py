# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""What can go wrong, as exceptions that know what to tell the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ADVICE = {
    "ID.1001": "The session is invalid or has expired: log in again and pass the new one as session_id.",
    "ID.1002": "The account of this session may not do this: use another account or have it permitted.",
    "ID.1003": "A quota is used up: free something or have the quota raised.",
    "SYS.1001": "The service gave up waiting; look at the object before you try again.",
    "SYS.1003": "Something named in the call does not exist: check the uuids.",
}


# The longest text of an ErrorCode that stands in a message; the whole of it stands in the result.
LONGEST_WORD = 2000


class Failure(Exception):
    """Anything that ends a task; its text is a sentence for the user.

    ``facts`` are further members of the task's result. ``label`` says which object it is about.
    """

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts
        self.label = ""

    def about(self, label: str) -> Failure:
        """Name the object that the failure is about, unless a place nearer to it already did."""
        self.label = self.label or label
        return self

    def __str__(self) -> str:
        return f"{self.label}: {self.message}" if self.label else self.message


class BadInput(Failure):
    """The options cannot be right; nothing was sent."""


class NotUnique(Failure):
    """More than one record has the given name."""

    def __init__(self, what: str, uuids: list[str]) -> None:
        super().__init__(
            f"{len(uuids)} objects have {what}: {', '.join(sorted(uuids))}. Say which one by its uuid.", uuids=uuids
        )


class Unreadable(Failure):
    """The service has no way to read records of this kind with the credentials at hand."""


class TransportError(Failure):
    """No answer that makes sense came back. ``transient`` tells whether it may come when asked again."""

    def __init__(self, message: str, transient: bool = True, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.transient = transient


class AnswerLost(TransportError):
    """A writing call may or may not have been taken: its answer did not arrive. ``job`` is what it may be known by."""

    job: Any = None


class OutcomeUnknown(Failure):
    """A writing call may have happened and there is no way to find out."""


class ReadTakenForChange(OutcomeUnknown):
    """A GET was answered with a job: a service that ignores the verb may have changed or deleted something."""

    def __init__(self, operation: str, path: str, job: Any) -> None:
        started = f"job {job.uuid}" if job else "a job that it does not name"
        super().__init__(
            f"{operation}: the service took the read for a change: it answered GET {path} with HTTP status 202 and"
            f" started {started}. It may have changed or deleted the object. Check the job and the object, and do not"
            " run this again against this service.",
            changed=True,
            **({"job": job.handle()} if job else {}),
        )


class ApiError(Failure):
    """The service answered that an operation failed. ``error`` is the whole ErrorCode (section ErrorCode).

    ``transient`` tells whether it was but a proxy or an overload, which may pass.
    """

    def __init__(self, operation: str, status: int, error: Mapping[str, Any] | None, text: str = "") -> None:
        self.operation, self.status, self.error = operation, status, dict(error or {})
        self.code = str(self.error.get("code") or "")
        self.transient = not self.error and status in (408, 429, 502, 503, 504)
        super().__init__(
            self._sentence(text.strip()), operation=operation, status=status, error=self.error or {"details": text}
        )

    def _sentence(self, text: str) -> str:
        if not self.error:
            return f"{self.operation} failed with HTTP status {self.status}" + (f": {text}" if text else "")
        chain = error_chain(self.error)
        words = [str(self.error.get("description") or "")]
        words += [str(each.get("details") or each.get("description") or "") for each in chain[:: len(chain) - 1 or 1]]
        told = ": ".join(dict.fromkeys(word.strip()[:LONGEST_WORD] for word in words if word.strip()))
        code = chain[-1].get("code") or self.code
        codes = self.code if code == self.code else f"{self.code}, caused by {code}"
        advice = ADVICE.get(self.code) or ADVICE.get(str(code)) or ""
        return f"{self.operation} failed ({codes}): " + (f"{told.rstrip('.')}. {advice}" if advice else told)


class JobExpired(Failure):
    """What became of ``job`` cannot be asked: the service does not know it (any more), or ``reason`` says why."""

    def __init__(self, job: Any, reason: str = "") -> None:
        super().__init__(reason or f"the service does not know the job {job.uuid} (any more)", job=job.handle())
        self.job = job


class WaitTimeout(Failure):
    """The job, or the object after it, was not ready in time; it goes on in the service."""


def error_chain(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the ErrorCode and its causes, the root cause last; at most 20 of them."""
    chain = [error]
    while isinstance(cause := chain[-1].get("cause"), Mapping) and len(chain) < 20:
        chain.append(cause)
    return chain
