"""Login and logout."""

from __future__ import annotations

import datetime as dt

from ..registry import Call, Reply, operation
from ..state.store import timestamp

ACCOUNT = "36c27e8ff05c4780bf6d2fa65700f22e"
"""The uuid of the account."""


@operation("LogInByAccount")
def log_in(call: Call) -> Reply:
    """Create a session."""
    uuid = call.service.sessions.log_in(call["accountName"], call["password"])
    now = dt.datetime.now()
    expired = now + dt.timedelta(seconds=call.switches.session_lifetime)
    dates = {"expiredDate": timestamp(expired), "createDate": timestamp(now)}
    return {"inventory": {"uuid": uuid, "accountUuid": ACCOUNT, **dates}}


@operation("ValidateSession")
def validate_session(call: Call) -> Reply:
    """Return whether a session is valid, without renewing it."""
    return {"valid": call.service.sessions.is_valid(call["sessionUuid"])}


@operation("LogOut", has_envelope=False)
def log_out(call: Call) -> Reply:
    """End a session."""
    call.service.sessions.log_out(call["sessionUuid"])
    return {}
