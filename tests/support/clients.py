"""Create clients, without a session of an account."""

from __future__ import annotations

from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import CallOptions, Client, Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.known_names import KnownNames
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import TaskNames
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import (
    ConnectionOptions,
    GivenSession,
    SessionSource,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.webhooks import Webhook


def make_client(
    connection: ConnectionOptions,
    sessions: SessionSource | None = None,
    webhook_url: str | None = None,
    webhook_key: str | None = None,
    **options: Any,
) -> Client:
    """Return a client; ``options`` are fields of CallOptions and of Hooks."""
    calls = {name: options.pop(name) for name in list(options) if name in CallOptions._fields}
    hooks = Hooks(connection.create_masker(), **options)
    return Client(
        connection,
        CallOptions(webhook=Webhook(webhook_url, webhook_key), **calls),
        hooks,
        sessions or GivenSession(connection.session_id),
        {},
        KnownNames(TaskNames(), hooks.clock),
    )
