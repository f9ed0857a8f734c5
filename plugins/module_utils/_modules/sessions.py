"""The module that logs in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._api.errors import InvalidOptions, ResponseLost
from .._client.client import Client
from .._client.sessions import (
    AccountSession,
    is_valid,
    log_out,
)
from .._engine.context import ModuleContext
from .._http.connection import ConnectionOptions
from .options import Options
from .spec import ModuleSpec


def refuse_access_key(connection: ConnectionOptions) -> None:
    """Raise InvalidOptions if a session is requested with an access key."""
    if connection.access_key:
        raise InvalidOptions(
            "an access key has no session: pass access_key_id and access_key_secret to modules, inventories and event"
            " sources instead of session_id. To log in, give account and account_password, and remove the access key"
        )


def build_missing_account_error(reason: str = "") -> InvalidOptions:
    """Return the error of a login without an account. ``reason`` says why a login is needed."""
    return InvalidOptions(
        f"account and account_password are needed to log in{reason}. Give them, or set VIRTINFRA_ACCOUNT and"
        " VIRTINFRA_ACCOUNT_PASSWORD"
    )


class SessionSpec(ModuleSpec):
    """The module that manages a session."""

    def connection(self, params: Mapping[str, Any]) -> ConnectionOptions:
        """Return the connection. If it has an account, the session among the options is not its credential.

        Raise InvalidOptions for an access key.
        """
        connection = super().connection(params)
        refuse_access_key(connection)
        return replace(connection, session_id=None) if connection.account_password else connection


def session_module(options: Options, **constraints: Any) -> ModuleSpec:
    """Return the module that returns a valid session as ``session_id``, or ends the session of the options."""
    return SessionSpec(_change_session, options, constraints=constraints, secret_results=("session_id",))


def _change_session(context: ModuleContext) -> dict[str, Any]:
    """Log in unless the session of the options is valid, or end it."""
    session_id = context.params["session_id"]
    # None if the service cannot validate sessions.
    valid = is_valid(context.client, session_id) if session_id else False
    if context.params["state"] == "absent":
        if valid is not False and not context.check_mode:
            _log_out(context.client, session_id)
        context.changed = valid is not False
        return {"session_id": None}
    if valid or (valid is None and not context.params["account"]):
        return {"session_id": session_id}
    return {"session_id": _log_in(context)}


def _log_in(context: ModuleContext) -> str | None:
    """Return a new session of the account, None in check mode."""
    sessions = context.client.sessions
    if not isinstance(sessions, AccountSession):
        reason = ": session_id is invalid or has expired" if context.params["session_id"] else ""
        raise build_missing_account_error(reason)
    session_id = None if context.check_mode else sessions.create_session()
    context.changed = True
    return session_id


def _log_out(client: Client, session_id: str) -> None:
    """End a session. Raise ResponseLost, whose result says ``changed``, if it is unknown whether it has ended."""
    try:
        log_out(client, session_id)
    except ResponseLost as lost:
        lost.result["changed"] = True
        raise
