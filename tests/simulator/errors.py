"""Errors: an ErrorCode of the service with its causes, and requests that are rejected at once."""

from __future__ import annotations

from typing import Any

DESCRIPTIONS = {
    "SYS.1000": "An internal error occurred",
    "SYS.1001": "A message or an operation timed out",
    "SYS.1003": "The resource does not exist",
    "SYS.1004": "The resource could not be deleted",
    "SYS.1006": "The operation failed",
    "SYS.1007": "One or more arguments are wrong",
    "SYS.1010": "The management node is not ready",
    "SYS.1012": "The management node is unavailable",
    "SYS.1018": "The resource is not accessible",
    "SYS.1019": "The operation is denied",
    "SYS.1090": "Several errors occurred",
    "SYS.2111": "A message could not be sent",
    "ID.1000": "The account name or the password is wrong",
    "ID.1001": "The session is invalid or expired",
    "ID.1002": "The operation is not permitted",
    "ID.1003": "The quota is exceeded",
    "ID.1006": "The account has too many sessions",
    "ID.1007": "The account is disabled",
    "ID.2001": "A second factor is required",
    "LOGIN_CONTROL.1000": "The password must be changed",
    "LOGIN_CONTROL.1002": "The account is locked",
    "LOGIN_CONTROL.1003": "The captcha is wrong",
    "LOGIN_CONTROL.1004": "The address is not permitted",
    "LOGIN_CONTROL.1005": "A captcha is required",
    "VM.1008": "The virtual machine could not migrate",
    "VM.1010": "The state of the virtual machine does not allow the operation",
    "HOST.1001": "The operation on the host failed",
    "HOST.1003": "The connection to the host failed",
}

LOGIN_REFUSALS = {
    "ID.1006": "the login sessions hit limit of max allowed concurrent login sessions",
    "ID.1007": "account[admin] is disabled",
    "ID.2001": "account[admin] needs two factor authentication",
    "LOGIN_CONTROL.1000": "the password of account[admin] has expired, change it first",
    "LOGIN_CONTROL.1002": "account[admin] is locked, try again in 292 seconds",
    "LOGIN_CONTROL.1003": "wrong captcha",
    "LOGIN_CONTROL.1004": "the client address is not in the whitelist",
    "LOGIN_CONTROL.1005": "captcha is required after several failed logins",
}
"""Details of the errors with which a login is refused, by their codes."""


class OperationError(Exception):
    """The operation failed. `causes` are the errors that caused it."""

    def __init__(self, code: str, details: str, *causes: OperationError) -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.causes = causes

    def to_error_code(self, nesting: str, extras: bool) -> dict[str, Any]:
        """Return the ErrorCode with all documented members.

        `nesting` is `cause` (the first cause only), `causes` (a list of all) or `both`.
        With `extras`, members that the document lacks are included.
        """
        causes = [cause.to_error_code(nesting, extras) for cause in self.causes]
        return {
            "code": self.code,
            "description": DESCRIPTIONS.get(self.code, "The operation failed"),
            "details": self.details,
            "elaboration": None,
            "opaque": None,
            "cause": causes[0] if causes and nesting != "causes" else None,
            **({"causes": causes} if nesting != "cause" else {}),
            **({"i18nDetails": self.details} if extras else {}),
        }


class RequestRejected(Exception):
    """The request is rejected at once with a plain-text reply, before an operation starts."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


def invalid_argument(details: str) -> OperationError:
    """Return the error for an invalid argument."""
    return OperationError("SYS.1007", details)


def not_found(kind: str, uuid: str) -> OperationError:
    """Return the error for a uuid that no resource of the type has."""
    return OperationError("SYS.1003", f"resource[type: {kind}, uuid: {uuid}] not found")


def operation_refused(details: str, *causes: OperationError) -> OperationError:
    """Return the error for an operation that the state of its resource does not allow."""
    return OperationError("SYS.1006", details, *causes)


def wrong_vm_state(uuid: str, state: str, action: str) -> OperationError:
    """Return the error for an action that a VM in this state does not allow."""
    return OperationError("VM.1010", f"vm[uuid: {uuid}] is {state}, which does not allow to {action} it")
