"""The exceptions that end a task, and the service's ErrorCode (section "ErrorCode").

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
from collections.abc import Iterable, Mapping
from typing import Any

# The remedies for codes of the service.
HINTS = {
    "HOST.1001": "An operation on the host failed: look at the host and the log of the service's agent on it.",
    "HOST.1002": "The host is not connected to the service: check the host, then reconnect it.",
    "HOST.1003": "The service cannot connect to the host: check its address, SSH port, login and firewall.",
    "ID.1000": "Check account and account_password.",
    "ID.1001": "The {credential} is invalid or has expired: {remedy}.",
    "ID.1002": "The account of this {credential} lacks the permission: use another account or grant the permission.",
    "ID.1003": "A quota is exhausted: delete unused objects or raise the quota.",
    "ID.1006": "End sessions of the account that are no longer used.",
    "ID.1007": "Enable the account.",
    "ID.2001": "Use an account that needs no second factor.",
    "LOGIN_CONTROL.1000": "Change the password in the service's user interface, then set account_password to it.",
    "LOGIN_CONTROL.1002": "Wait until the lock has ended before you run the task again.",
    "LOGIN_CONTROL.1003": "A task cannot solve a captcha. Get a session in another way and pass it as session_id.",
    "LOGIN_CONTROL.1004": "Permit logins from the address of this machine in the service.",
    "LOGIN_CONTROL.1005": "A task cannot solve a captcha. Get a session in another way and pass it as session_id.",
    "SYS.1001": "A timeout occurred in the service: check the object before you repeat the call.",
    "SYS.1003": "An object that the call refers to does not exist: check the uuids.",
    "VM.1008": "The VM could not migrate. The cause says why.",
    "VM.1010": "The state of the VM does not permit the call. Change the state, or wait until it has changed.",
}

# The terms in HINTS for the credential of a call: the session, the access key or the token of an option; the session of
# an account, which has been renewed before the failure; or, for a job that another task started, the session of that
# task.
CREDENTIALS = {
    "session_id": {
        "credential": "session",
        "remedy": "log in again and pass the new one as session_id, or pass account and account_password",
    },
    "account": {
        "credential": "session",
        "remedy": "the service also refused the session of a new login. Check how long sessions last and how many an"
        " account may have",
    },
    "started": {
        "credential": "session of the task that started it",
        "remedy": "the service did not perform the call. Run that task again, with a new session_id or with account and"
        " account_password",
    },
    "access_key": {
        "credential": "access key",
        "remedy": "check access_key_id and access_key_secret, and whether the key is enabled in the service",
    },
    "api_token": {"credential": "API token", "remedy": "create a new one and pass it as api_token"},
}

# The HTTP statuses when a credential is not accepted, and when its account lacks a permission.
UNAUTHORIZED, FORBIDDEN = 401, 403

# The code of the service for an object that does not exist.
NO_SUCH_OBJECT = "SYS.1003"

# Codes with which a service refuses an account: wrong credentials, too many sessions, disabled, second factor, password
# expired, locked. Services lock an account after several failed logins, so the login is not repeated.
_FINAL_REFUSAL = re.compile(r"ID\.(1000|1007|2001)|LOGIN_CONTROL\.\d+", re.ASCII)

# HTTP statuses of a proxy or of an overloaded service, which may be temporary.
TRANSIENT_STATUSES = (408, 429, 502, 503, 504)

# The first HTTP status that reports a failure of the server.
SERVER_ERROR = 500

NOT_FOUND, METHOD_NOT_ALLOWED = 404, 405

# Codes for errors inside the service and for its timeouts.
_INTERNAL = ("SYS.1000", "SYS.1001")

# The remedies for HTTP statuses of an overloaded service; {wait} says for how long it asks to send nothing.
OVERLOAD_HINTS = {
    429: "The service is overloaded{wait}: run the task again later, or fewer tasks at the same time (throttle).",
    503: "The service or a proxy in front of it is overloaded or restarts{wait}: run the task again later.",
}

# The length of the texts of an ErrorCode in a message, and how many of its deepest causes a message quotes.
MAX_TEXT = 2000
MAX_QUOTED = 5

# What to do in check mode about an object that a name or uuid should select.
PREDICTED_EARLIER = "If an earlier task creates it, add when: not ansible_check_mode."

# How many causes of an ErrorCode a result contains, and on how many levels.
MAX_CAUSES = 50
MAX_DEPTH = 20


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
        self._message_in_check_mode = f"{reason}. {check_mode_remedy}"

    def use_check_mode_remedy(self) -> None:
        """Give the message the remedy of check mode."""
        self.message = self._message_in_check_mode


class OutdatedName(VirtinfraError):
    """Another object has the name for which the task used a remembered uuid. Nothing was sent."""


class IncompleteList(VirtinfraError):
    """The service did not send all records of a list, or the list changed while it was read."""

    is_outage = True


class AmbiguousMatch(VirtinfraError):
    """Several records have an attribute, such as ``the name 'web'``, that should select one."""

    code = "AMBIGUOUS"
    description = "Several objects match."

    def __init__(self, attribute: str, uuids: list[str], remedy: str = "Select one by uuid.") -> None:
        super().__init__(f"{len(uuids)} objects have {attribute}: {', '.join(sorted(uuids))}. {remedy}", uuids=uuids)


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
        super().__init__(f"{message.rstrip('.')}. {_find_overload_hint(status, retry_after)}")
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
    came from a proxy or an overloaded service, and may be temporary. ``is_of_own_job`` is True if the error ended the
    job with the id that was sent with the call; if False, it may be the response to a second delivery of the call by a
    proxy.
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
            message = f"{operation} failed{_explain(self._error, credential)}"
        else:
            self._error = add_causes({"description": f"HTTP status {status}", "details": text.strip()})
            self.code = f"HTTP_{status}"
            if self.transient and status not in OVERLOAD_HINTS:
                self.code = TransportError.code
            message = f"{operation} failed with HTTP status {status}"
            if text.strip():
                message += f": {text.strip()}"
            hint = (
                _find_hint("ID.1001", credential)
                if status == UNAUTHORIZED
                else _find_overload_hint(status, retry_after)
            )
            message = _add_hint(message, hint)
        super().__init__(message, operation=operation, status=status)
        has_reason = is_error_code(error)
        # Services answer a query with an internal error if they do not know one of its fields.
        is_read = operation.startswith(("Query", "Cursor"))
        is_internal = self.code in _INTERNAL and not (is_read and self.code == "SYS.1000")
        self.is_outage = is_internal if has_reason else self.transient or status >= SERVER_ERROR

    @property
    def error(self) -> dict[str, Any]:
        """The ErrorCode with all of its members, and its nested errors in the list ``causes``."""
        return {**self._error, "code": self.code}


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


def suggest_name(name: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return a sentence with the most similar known name, and a space before it; empty if none is similar enough.

    ``similarity`` is measured by difflib, from 0 to 1. Names that differ only in case are the same.
    """
    # difflib is imported late because only failures need it, and the import takes 1.5 ms.
    from difflib import get_close_matches

    names = {candidate.casefold(): candidate for candidate in known}
    similar = get_close_matches(name.casefold(), names, 1, similarity)
    return f" Did you mean {names[similar[0]]}?" if similar else ""


def is_error_code(error: Any) -> bool:
    """Return whether a value is an ErrorCode of the service: an object with a ``code`` like ``<AREA>.<number>``."""
    code = error.get("code") if isinstance(error, Mapping) else None
    return isinstance(code, str) and re.fullmatch(r"\w+(\.\w+)*\.\d+", code.strip(), re.ASCII) is not None


def add_causes(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ErrorCode with its nested errors in lists ``causes``, from ``cause`` or ``causes``.

    All errors have the strings ``code``, ``description`` and ``details``. There are at most MAX_CAUSES causes, on at
    most MAX_DEPTH levels.
    """
    top = _copy_without_causes(error)
    level, remaining = [(error, top)], MAX_CAUSES
    for dummy in range(MAX_DEPTH):
        next_level = []
        for source, target in level:
            for cause in _list_causes(source)[:remaining]:
                nested = _copy_without_causes(cause)
                target["causes"].append(nested)
                next_level.append((cause, nested))
                remaining -= 1
        level = next_level
    return top


def _list_causes(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the errors directly below an ErrorCode. Some are only texts, which become the details of an error."""
    causes = list(error["causes"]) if isinstance(error.get("causes"), list) else [error.get("causes")]
    if error.get("cause") not in causes:
        causes.append(error.get("cause"))
    errors = [{"details": cause} if isinstance(cause, str) else cause for cause in causes if cause]
    return [cause for cause in errors if isinstance(cause, Mapping)]


def _copy_without_causes(error: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(error.get(name) or "") for name in ("code", "description", "details")}
    others = {name: value for name, value in error.items() if name not in (*texts, "cause", "causes")}
    return {**texts, **others, "causes": []}


def list_errors(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return an error in the form of `add_causes`, followed by all its nested errors, in pre-order."""
    return [error, *(nested for cause in error["causes"] for nested in list_errors(cause))]


def list_error_codes(error: Mapping[str, Any]) -> list[str]:
    """Return the code of an error in the form of `add_causes`, followed by those of all its nested errors."""
    return [str(nested["code"]) for nested in list_errors(error)]


def _explain(error: Mapping[str, Any], credential: str) -> str:
    """Return the codes and texts of an error, those of its deepest causes, and a hint, as the end of a message."""
    deepest = [nested for nested in list_errors(error)[1:] if not nested["causes"]]
    cause_codes = list(dict.fromkeys(cause["code"] for cause in deepest if cause["code"] not in ("", error["code"])))
    codes = ", caused by ".join(filter(None, [error["code"], ", ".join(cause_codes[:MAX_QUOTED])]))
    explanation = f" ({codes}): " if codes else ": "
    explanation += _quote_texts(error, deepest[:MAX_QUOTED])
    hint = next((_find_hint(code, credential) for code in (error["code"], *cause_codes) if code in HINTS), "")
    return _add_hint(explanation, hint)


def _quote_texts(error: Mapping[str, Any], causes: list[Mapping[str, Any]]) -> str:
    """Return the texts of an error and of causes, truncated, without those that are part of an earlier one."""
    texts = [error["description"], error["details"], *(cause["details"] or cause["description"] for cause in causes)]
    quoted: list[str] = []
    for text in texts:
        truncated = _truncate(text.strip(), MAX_TEXT // len(texts))
        # Errors often repeat the texts of their nested errors, also inside their own texts.
        is_repeated = any(truncated.casefold() in earlier.casefold() for earlier in quoted)
        quoted.append("" if is_repeated else truncated)
    description, details, *of_causes = quoted
    return ": ".join(filter(None, [description, details, "; ".join(filter(None, of_causes))]))


def _truncate(text: str, length: int) -> str:
    """Return a string, truncated between words if it is too long: a truncated secret would not be recognized."""
    return text if len(text) <= length else text[:length].rpartition(" ")[0] + " ..."


def _add_hint(message: str, hint: str) -> str:
    return f"{message.rstrip('.')}. {hint}" if hint else message


def _find_hint(code: str, credential: str) -> str:
    """Return the remedy for a code of the service."""
    return HINTS[code].format_map(CREDENTIALS[credential])


def _find_overload_hint(status: int, retry_after: float) -> str:
    """Return the remedy for a status of an overloaded service; empty for another status."""
    wait = f" and asks to wait {retry_after:.0f} s" if retry_after else ""
    return OVERLOAD_HINTS[status].format(wait=wait) if status in OVERLOAD_HINTS else ""
