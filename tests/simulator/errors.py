# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How an operation fails: the ErrorCode of the service, with its chain of causes."""

from __future__ import annotations

import typing as t

DESCRIPTIONS = {
    "SYS.1000": "An internal error occurred",
    "SYS.1001": "A message or an operation timed out",
    "SYS.1003": "The resource does not exist",
    "SYS.1006": "The operation failed",
    "SYS.1007": "One or more arguments are wrong",
    "ID.1001": "The session is invalid or expired",
    "ID.1002": "The operation is not permitted",
    "ID.1003": "The quota is exceeded",
    "HOST.1001": "The operation on the host failed",
}


class Failure(Exception):
    """The operation failed. `cause` is the Failure behind it."""

    def __init__(self, code: str, details: str, cause: Failure | None = None) -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.cause = cause

    def document(self) -> dict[str, t.Any]:
        """Return the ErrorCode, all its documented members present."""
        return {
            "code": self.code,
            "description": DESCRIPTIONS.get(self.code, "The operation failed"),
            "details": self.details,
            "elaboration": None,
            "opaque": None,
            "cause": self.cause.document() if self.cause else None,
        }


class Refusal(Exception):
    """The call is refused at once, in plain text, before it becomes an operation."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


def bad_argument(details: str) -> Failure:
    """The failure of an argument that cannot be accepted."""
    return Failure("SYS.1007", details)


def not_found(kind: str, uuid: str) -> Failure:
    """The failure of a uuid that no resource of the kind has."""
    return Failure("SYS.1003", f"resource[type: {kind}, uuid: {uuid}] not found")


def refused(details: str) -> Failure:
    """The failure of an operation that the state of its resource does not allow."""
    return Failure("SYS.1006", details)
