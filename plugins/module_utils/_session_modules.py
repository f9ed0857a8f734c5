# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The module that logs in and out."""

from __future__ import annotations

from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions, ResponseLost
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import ModuleContext, ModuleSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._options import Options
from ansible_collections.virtinfra.manager.plugins.module_utils._sessions import AccountSession, is_valid, log_out


def session_module(options: Options, **constraints: Any) -> ModuleSpec:
    """Return the module that returns a valid session as ``session_id``, or ends the session of the options."""
    return ModuleSpec(
        _run,
        options,
        ("LogInByAccount", "ValidateSession", "LogOut"),
        constraints=constraints,
        secret_results=("session_id",),
    )


def _run(context: ModuleContext) -> dict[str, Any]:
    client, given = context.client, context.params["session_id"]
    valid = is_valid(client, given) if given else False
    if context.params["state"] == "absent":
        if valid is not False and not context.check_mode:
            _log_out(client, given)
        context.changed = valid is not False
        return {"session_id": None}
    if valid or (valid is None and not context.params["account"]):
        return {"session_id": given}
    if not isinstance(client.sessions, AccountSession):
        reason = ": session_id is invalid or has expired" if given else ""
        raise InvalidOptions(f"account and account_password are needed to log in{reason}")
    session_id = None if context.check_mode else client.sessions.new_session()
    context.changed = True
    return {"session_id": session_id}


def _log_out(client: Client, session_id: str) -> None:
    """End a session. Raise ResponseLost, whose result says ``changed``, if it is unknown whether it has ended."""
    try:
        log_out(client, session_id)
    except ResponseLost as lost:
        lost.result["changed"] = True
        raise
