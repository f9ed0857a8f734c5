"""The exceptions that end a task.

Each exception has a stable code, which playbooks can compare; the guide Errors lists the codes.

* VirtinfraError              FAILED
  - Bug                       BUG
  - SeveralFailed             the code of the first failure
  - InvalidOptions            INVALID
  - NotFound                  NOT_FOUND
  - OutdatedName              FAILED
  - IncompleteList            FAILED
  - AmbiguousMatch            AMBIGUOUS
  - Unchangeable              UNCHANGEABLE
    + OtherObject             UNCHANGEABLE
  - InUse                     IN_USE
  - Unsupported               UNSUPPORTED
  - TransportError            UNREACHABLE
    + Overloaded              HTTP_429, HTTP_503
    + ResponseLost            OUTCOME_UNKNOWN
  - OutcomeUnknown            OUTCOME_UNKNOWN
    + ReadExecutedAsChange    OUTCOME_UNKNOWN
  - ApiError                  the code of the ErrorCode; without one HTTP_<status>, UNREACHABLE
  - LoginFailed               the code of the reason
  - JobNotFound               JOB_NOT_FOUND, OUTCOME_UNKNOWN
  - JobUuidUsed               JOB_UUID_USED
  - WaitTimeout               TIMEOUT
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .error_code import (
    INTERNAL,
    NO_PERMISSION,
    OUTCOME_OPEN,
    OVERLOAD_HINTS,
    UNAVAILABLE,
    add_causes,
    add_hint,
    explain,
    find_hint,
    find_overload_hint,
    is_about_account,
    is_error_code,
    list_error_codes,
)

# The HTTP statuses when a credential is not accepted, and when its account lacks a permission.
UNAUTHORIZED, FORBIDDEN = 401, 403

# Codes with which a service refuses an account: wrong credentials, too many sessions, disabled, second factor, password
# expired, locked. Services lock an account after several failed logins, so the login is not repeated.
_FINAL_REFUSAL = re.compile(r"ID\.(1000|1007|2001)|LOGIN_CONTROL\.\d+", re.ASCII)

# HTTP statuses of a proxy or of an overloaded service, which may be temporary.
TRANSIENT_STATUSES = (408, 429, 502, 503, 504)

# The first HTTP status that reports a failure of the server.
SERVER_ERROR = 500

NOT_FOUND, METHOD_NOT_ALLOWED = 404, 405

# What to do in check mode about an object that a name or uuid should select.
PREDICTED_EARLIER = "If an earlier task creates it, add when: not ansible_check_mode."


class VirtinfraError(Exception):
    """The base class of all failures; the message is a sentence for the user.

    ``description`` is the general meaning of the ``code``. ``result`` contains members of the task's result. ``label``
    names the object of the failed call. ``causes`` are the errors that led to this one, in the form of ``error``.
    ``references`` are the parameters of the uuids in the message, for callers that can look up names. ``retry_after``
    is for how many seconds an overloaded service asks to send nothing. ``is_outage`` says that the service or the way
    to it failed, so that the same options may succeed later.
    """

    code = "FAILED"
    description = "The operation failed, or the object did not reach the requested state."
    retry_after = 0.0
    is_outage = False

    def __init__(self, message: str, **result: Any) -> None:
        super().__init__(message)
        self.message = message
        self.result = result
        self.label = ""
        self.causes: list[dict[str, Any]] = []
        self.references: Mapping[str, str] = {}

    @property
    def error(self) -> dict[str, Any]:
        """The member ``error`` of the result: ``code``, ``description``, ``details`` and the list ``causes``."""
        return {"code": self.code, "description": self.description, "details": self.message, "causes": self.causes}

    def with_label(self, label: str) -> VirtinfraError:
        """Add the label of the object to the message, unless it already has one."""
        self.label = self.label or label
        return self

    def with_references(self, references: Mapping[str, str]) -> VirtinfraError:
        """Add the parameters of uuids in the message."""
        self.references = {**self.references, **references}
        return self

    def add_sentence(self, sentence: str) -> None:
        """Add a sentence, which begins with a space, to the message; an empty one adds nothing."""
        if sentence:
            self.message = f"{self.message.rstrip('.')}.{sentence}"

    def __str__(self) -> str:
        return f"{self.label}: {self.message}" if self.label else self.message


class Bug(VirtinfraError):
    """A bug in the collection."""

    code = "BUG"
    description = "This is a bug in the collection. Please report it."


class SeveralFailed(VirtinfraError):
    """Some of several items failed. ``error`` is that of the first failure; in the result each item has its own."""

    def __init__(self, message: str, first_error: Mapping[str, Any], **result: Any) -> None:
        super().__init__(message, **result)
        self._first_error = dict(first_error)

    @property
    def error(self) -> dict[str, Any]:
        """The error of the first item that failed."""
        return self._first_error


class InvalidOptions(VirtinfraError):
    """The options are invalid; nothing was sent."""

    code = "INVALID"
    description = "The options are invalid. Nothing was sent."


class NotFound(VirtinfraError):
    """An object that has to exist does not: a reason without a period at its end, and what to do about it.

    In check mode another remedy is likelier, because an earlier task may only have predicted the creation.
    """

    code = "NOT_FOUND"
    description = "An object that has to exist was not found."

    def __init__(self, reason: str, remedy: str, check_mode_remedy: str = PREDICTED_EARLIER) -> None:
        super().__init__(f"{reason}. {remedy}")
        self.reason = reason
        self._message_in_check_mode = f"{reason}. {check_mode_remedy}"

    def replace_remedy(self, remedy: str) -> None:
        """Give the message another remedy, also that of check mode."""
        self.message = self._message_in_check_mode = f"{self.reason}. {remedy}"

    def add_sentence(self, sentence: str) -> None:
        """Add a sentence to the message, also to that of check mode."""
        super().add_sentence(sentence)
        self._message_in_check_mode += sentence

    def use_check_mode_remedy(self) -> None:
        """Give the message the remedy of check mode."""
        self.message = self._message_in_check_mode


class OutdatedName(VirtinfraError):
    """Another object has the name for which the task used a remembered uuid. Nothing was sent."""


class IncompleteList(VirtinfraError):
    """The service did not send all records of a list, or the list changed while it was read."""

    is_outage = True


# How many uuids a message lists.
_LISTED = 5


class AmbiguousMatch(VirtinfraError):
    """Several records have an attribute, such as ``the name 'web'``, that should select one."""

    code = "AMBIGUOUS"
    description = "Several objects match."

    def __init__(self, attribute: str, uuids: list[str], remedy: str) -> None:
        listed = join_first(sorted(uuids), _LISTED)
        super().__init__(f"{len(uuids)} objects have {attribute}. {remedy} Their uuids: {listed}", uuids=uuids)


class Unchangeable(VirtinfraError):
    """The object differs from the options in something that the API cannot change, or not in the present state."""

    code = "UNCHANGEABLE"
    description = "The object differs from the options in something that the API cannot change."

    def __init__(self, message: str, references: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.references = references or {}


class OtherObject(Unchangeable):
    """The options differ from the object that was found, so it may be another one than they mean.

    Whoever knows which calls were made adds what was removed.
    """


class InUse(VirtinfraError):
    """A call would harm other objects, and the options do not permit it. ``in_use_by`` lists them in the result."""

    code = "IN_USE"
    description = "The call would harm other objects, and the options do not permit it. It was not made."


class Unsupported(VirtinfraError):
    """The service lacks an operation or a part of it that the task needs, or the credentials for it are missing.

    An unsupported write was not performed. ``reason`` is the message without the ``remedy``, for callers that know a
    better remedy. ``doubts_prefix`` says that a wrong path prefix is as likely.
    """

    code = "UNSUPPORTED"
    description = "The service does not offer the operation, or the credentials for it are missing."

    def __init__(self, reason: str, remedy: str = "", doubts_prefix: bool = False, **result: Any) -> None:
        super().__init__(f"{reason}. {remedy}" if remedy else reason, **result)
        self.reason = reason.rstrip(".")
        self.doubts_prefix = doubts_prefix


class TransportError(VirtinfraError):
    """No usable response arrived. ``transient`` says whether a retry can help.

    ``status`` is the HTTP status of a response without a usable result, 0 if no response arrived.
    """

    status = 0
    code = "UNREACHABLE"
    description = "No usable response arrived from the service."

    def __init__(self, message: str, transient: bool = True, **result: Any) -> None:
        super().__init__(message, **result)
        self.transient = self.is_outage = transient


class Overloaded(TransportError):
    """The service answered with the HTTP status 429 or 503, because it is overloaded."""

    description = "The service is overloaded."

    def __init__(self, message: str, status: int, retry_after: float) -> None:
        super().__init__(f"{message.rstrip('.')}. {find_overload_hint(status, retry_after)}")
        self.code, self.retry_after = f"HTTP_{status}", retry_after


class OutcomeUnknown(VirtinfraError):
    """A call may have changed something, and the outcome cannot be determined."""

    code = "OUTCOME_UNKNOWN"
    description = "The call may have changed something. Check the object before you repeat it."


class ResponseLost(TransportError):
    """The response to a write was lost, so the service may have accepted the call.

    ``job`` is the job of the call.
    """

    code, description = OutcomeUnknown.code, OutcomeUnknown.description
    job: Any = None


class ReadExecutedAsChange(OutcomeUnknown):
    """The service ignored the verb GET and started a job, which may have changed or deleted something."""

    def __init__(self, operation: str, path: str, job: Any) -> None:
        started = f"job {job.uuid}" if job else "a job without a known id"
        super().__init__(
            f"{operation}: the service executed the read as a change: it answered GET {path} with HTTP status 202 and"
            f" started {started}. It may have changed or deleted the object. Check the job and the object, and do not"
            " run this again against this service.",
            changed=True,
            **({"job": job.build_handle()} if job else {}),
        )


class ApiError(VirtinfraError):
    """The service reported that an operation failed. ``error`` is its ErrorCode in the form of `add_causes`.

    ``credential`` is the kind of credential of the call, a key of CREDENTIALS. ``transient`` says whether the error
    came from a proxy, or from a service that is overloaded or not available, and may be temporary. ``is_of_own_job`` is
    True if the error ended the job with the id that was sent with the call; if False, it may be the response to a
    second delivery of the call by a proxy.
    """

    is_of_own_job = False

    def __init__(
        self,
        operation: str,
        status: int,
        error: Mapping[str, Any] | None,
        text: str = "",
        credential: str = "session_id",
        retry_after: float = 0.0,
    ) -> None:
        self.operation, self.status, self.retry_after = operation, status, retry_after
        self.transient = not is_error_code(error) and status in TRANSIENT_STATUSES
        if error:
            self._error = add_causes(error)
            self.code = self._error["code"] or VirtinfraError.code
            message = f"{operation} failed{explain(self._error, credential)}"
        else:
            self._error = add_causes({"description": f"HTTP status {status}", "details": text.strip()})
            self.code = f"HTTP_{status}"
            if self.transient and status not in OVERLOAD_HINTS:
                self.code = TransportError.code
            message = f"{operation} failed with HTTP status {status}"
            if text.strip():
                message += f": {text.strip()}"
            hint = (
                find_hint("ID.1001", credential) if status == UNAUTHORIZED else find_overload_hint(status, retry_after)
            )
            message = add_hint(message, hint)
        super().__init__(message, operation=operation, status=status)
        has_reason = is_error_code(error)
        # Services answer a query with an internal error if they do not know one of its fields.
        is_read = operation.startswith(("Query", "Cursor"))
        is_internal = self.code in INTERNAL and not (is_read and self.code == "SYS.1000")
        self.is_outage = is_internal if has_reason else self.transient or status >= SERVER_ERROR
        self.transient = self.transient or (has_reason and self.code in UNAVAILABLE)

    @property
    def error(self) -> dict[str, Any]:
        """The ErrorCode with all of its members, and its nested errors in the list ``causes``."""
        return {**self._error, "code": self.code}

    @property
    def leaves_open(self) -> bool:
        """Whether the service lost sight of the call, which it may have performed or may still perform."""
        return self.code in OUTCOME_OPEN


def is_forbidden(error: VirtinfraError) -> bool:
    """Return whether the service refused a call because the account may not make it."""
    return isinstance(error, ApiError) and (error.code in NO_PERMISSION or error.status == FORBIDDEN)


def is_account_refused(error: VirtinfraError) -> bool:
    """Return whether the service refused a call because of the account or its session, whatever the object is."""
    return isinstance(error, ApiError) and (is_about_account(error.code) or error.status in (UNAUTHORIZED, FORBIDDEN))


class LoginFailed(VirtinfraError):
    """The login with an account failed; ``error`` is that of the reason.

    The call that needed the session was not sent, so nothing was changed.
    """

    def __init__(self, message: str, error: Mapping[str, Any], **result: Any) -> None:
        super().__init__(message, **result)
        self._error = dict(error)
        self.code = self._error["code"]

    @classmethod
    def from_error(cls, reason: VirtinfraError) -> LoginFailed:
        """Return a LoginFailed for an error.

        A lost response is reported as UNREACHABLE or as overload, because a login changes nothing.
        """
        is_outage = reason.is_outage
        if isinstance(reason, ApiError):
            failure = cls(reason.message, reason.error, operation=reason.operation, status=reason.status)
        elif isinstance(reason, ResponseLost) and reason.status in OVERLOAD_HINTS:
            reason = Overloaded(reason.message, reason.status, reason.retry_after)
            failure = cls(reason.message, reason.error)
        else:
            failure = cls(reason.message, TransportError(reason.message).error)
        failure.is_outage = is_outage
        return failure

    @property
    def is_refusal(self) -> bool:
        """Whether the service refused the login, instead of being unreachable."""
        return "status" in self.result

    @property
    def is_final(self) -> bool:
        """Whether the service refused the account, so that no client repeats the login in this run."""
        return any(map(_FINAL_REFUSAL.fullmatch, list_error_codes(self._error)))

    @property
    def error(self) -> dict[str, Any]:
        """The error of the reason."""
        return self._error


class JobNotFound(VirtinfraError):
    """The outcome of a job cannot be read.

    Without a ``reason``, the service does not know the job, or no longer knows it; with one, the code is
    OUTCOME_UNKNOWN.
    """

    code = "JOB_NOT_FOUND"
    description = "The service does not know the job, or no longer knows it."

    def __init__(self, job: Any, reason: str = "") -> None:
        unknown = (
            f"the service does not know job {job.uuid}, or no longer knows it. Check the id; if it is right, read the"
            " object to see what the job did"
        )
        super().__init__(reason or unknown, job=job.build_handle())
        self.job = job
        if reason:
            self.code, self.description = OutcomeUnknown.code, OutcomeUnknown.description


class JobUuidUsed(VirtinfraError):
    """The option ``job_uuid`` was used for an earlier call, so this call was not performed."""

    code = "JOB_UUID_USED"
    description = "The job_uuid was used for an earlier call. This call was not made."


class WaitTimeout(VirtinfraError):
    """A job did not end in time, or an object did not become stable in time. The service continues the operation."""

    code = "TIMEOUT"
    is_outage = True
    description = "The timeout has expired. An operation that was started continues in the service."


# How many unknown names a message explains.
_EXPLAINED = 5


def join_first(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return at most so many of the first texts, and how many others there are."""
    others = len(texts) - most
    more = f"{separator.rstrip(', ')} and {others} more" if others > 0 else ""
    return separator.join(texts[:most]) + more


def describe_unknown_names(beginning: str, names: Sequence[str], suggest: Callable[[str], str]) -> str:
    """Return a sentence for each thing that was meant by names that there are not, which starts with ``beginning``.

    ``suggest`` returns what was probably meant by a name, with a space before it. Names with the same first sentence
    there, such as a list of all names, share it.
    """
    hints = {name: suggest(name) for name in names[:_EXPLAINED]}
    groups: dict[str, list[str]] = {}
    for name, hint in hints.items():
        groups.setdefault(hint.partition(". ")[0].rstrip("."), []).append(name)
    sentences: list[str] = []
    for first, *others in groups.values():
        # An example has no full stop.
        sentences = [each if each.endswith((".", "?")) else f"{each}." for each in sentences]
        start = f"{beginning[0].upper()}{beginning[1:]}" if sentences else beginning
        listed = f"{', '.join((first, *others[:-1]))} or {others[-1]}" if others else first
        sentences.append(f"{start} {listed}.{hints[first]}")
    more = [f"And {len(names) - _EXPLAINED} more"] if len(names) > _EXPLAINED else []
    return " ".join((*sentences, *more))


def suggest_name(name: str, known: Iterable[str], is_misspelling: bool = False) -> str:
    """Return a sentence with the most similar known name, and a space before it; empty if none is similar enough.

    With ``is_misspelling``, the names must differ by few letters. Names that differ only in case are the same.
    """
    # difflib is imported late because only failures need it, and the import takes 1.5 ms.
    from difflib import get_close_matches

    names, word = {candidate.casefold(): candidate for candidate in known}, name.casefold()
    similar = get_close_matches(word, names, 3)
    if is_misspelling:
        # One slip for each four letters, so that neither is another word: direction is not meant as description.
        slips = {each: count_slips(word, each) for each in similar}
        similar = sorted((each for each in similar if slips[each] <= max(1, len(word) // 4)), key=slips.__getitem__)
    return f" Did you mean {names[similar[0]]}?" if similar else ""


def has_word(text: str, word: str) -> bool:
    """Return whether a text contains a word, and not only as a part of a longer one."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def count_slips(word: str, other: str) -> int:
    """Return how many letters are added, missing, wrong, or exchanged with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for row, letter in enumerate(word, 1):
        counts = [row]
        for column, each in enumerate(other, 1):
            count = min(rows[-1][column] + 1, counts[-1] + 1, rows[-1][column - 1] + (letter != each))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == each:
                count = min(count, rows[-2][column - 2] + 1)
            counts.append(count)
        rows.append(counts)
    return rows[-1][-1]
