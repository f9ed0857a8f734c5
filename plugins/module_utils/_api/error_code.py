"""The service's ErrorCode (section "ErrorCode"): its nested errors, and what a message says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    "SYS.1001": "A timeout occurred in the service: check whether the call was performed.",
    "SYS.1003": "An object that the call refers to does not exist: check the uuids.",
    "SYS.1010": "The service is starting: run the task again later.",
    "SYS.1012": "A part of the service was not available: check whether the call was performed.",
    "SYS.1018": "The account of this {credential} has no access to an object of the call: use another account or share"
    " the object with it.",
    "SYS.1019": "The account of this {credential} lacks the permission: use another account or grant the permission.",
    "SYS.2111": "A part of the service was not available: check whether the call was performed.",
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
    "session_before_account": {
        "credential": "session of session_id",
        "remedy": "it takes precedence over account. Remove session_id, also from the environment, to log in",
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

# The codes when an account may not make a call. Some services have only the first code. Others have the second one for
# an operation that is not permitted, and the third one for an object that is not accessible.
NO_PERMISSION = ("ID.1002", "SYS.1019", "SYS.1018")

# The codes for a refused account or session.
_ACCOUNT_AREAS = ("ID.", "LOGIN_CONTROL.")

# The codes of a service that is starting, or a part of which cannot be reached. They say nothing about the operation.
STARTING = "SYS.1010"
UNAVAILABLE = (STARTING, "SYS.1012", "SYS.2111")

# The codes after which an operation may have been performed, or still be: a timeout in the service, or those above.
OUTCOME_OPEN = ("SYS.1001", *UNAVAILABLE)

# The codes for errors inside the service, and those above.
INTERNAL = ("SYS.1000", *OUTCOME_OPEN)

# The code of the service for an object that does not exist.
NO_SUCH_OBJECT = "SYS.1003"

# The remedies for HTTP statuses of an overloaded service; {wait} says for how long it asks to send nothing.
OVERLOAD_HINTS = {
    429: "The service is overloaded{wait}: run the task again later, or fewer tasks at the same time (throttle).",
    503: "The service or a proxy in front of it is overloaded or restarts{wait}: run the task again later.",
}

# The length of the texts of an ErrorCode in a message, and how many of its deepest causes a message quotes.
MAX_TEXT = 2000
MAX_QUOTED = 5

# How many causes of an ErrorCode a result contains, and on how many levels.
MAX_CAUSES = 50
MAX_DEPTH = 20


def is_error_code(error: Any) -> bool:
    """Return whether a value is an ErrorCode of the service: an object with a ``code`` like ``<AREA>.<number>``."""
    code = error.get("code") if isinstance(error, Mapping) else None
    return isinstance(code, str) and re.fullmatch(r"\w+(\.\w+)*\.\d+", code.strip(), re.ASCII) is not None


def is_about_account(code: str) -> bool:
    """Return whether a code is about the account, its session or its permissions, whatever the object is."""
    return code in NO_PERMISSION or code.startswith(_ACCOUNT_AREAS)


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


def explain(error: Mapping[str, Any], credential: str) -> str:
    """Return the codes and texts of an error, those of its deepest causes, and a hint, as the end of a message."""
    deepest = [nested for nested in list_errors(error)[1:] if not nested["causes"]]
    cause_codes = list(dict.fromkeys(cause["code"] for cause in deepest if cause["code"] not in ("", error["code"])))
    codes = ", caused by ".join(filter(None, [error["code"], ", ".join(cause_codes[:MAX_QUOTED])]))
    explanation = f" ({codes}): " if codes else ": "
    explanation += _quote_texts(error, deepest[:MAX_QUOTED])
    hint = next((find_hint(code, credential) for code in (error["code"], *cause_codes) if code in HINTS), "")
    return add_hint(explanation, hint)


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


def add_hint(message: str, hint: str) -> str:
    """Return a message with a hint as its last sentence; an empty hint adds nothing."""
    return f"{message.rstrip('.')}. {hint}" if hint else message


def find_hint(code: str, credential: str) -> str:
    """Return the remedy for a code of the service."""
    return HINTS[code].format_map(CREDENTIALS[credential])


def find_overload_hint(status: int, retry_after: float) -> str:
    """Return the remedy for a status of an overloaded service; empty for another status."""
    wait = f" and asks to wait {retry_after:.0f} s" if retry_after else ""
    return OVERLOAD_HINTS[status].format(wait=wait) if status in OVERLOAD_HINTS else ""
