"""Ask the service only once for the same, where several questions belong to one moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from .client import Client


class _Moment:
    """A client that remembers the replies of its reads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._replies: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply of a read, which must not be changed. A failure is not remembered."""
        key = json.dumps([name, params], sort_keys=True, default=str)
        if key not in self._replies:
            self._replies[key] = self._client.get(name, params)
        return self._replies[key]


def at_one_moment(client: Client) -> Client:
    """Return a client for reads between which nothing takes time. Drop it afterwards, or it shows what was."""
    return cast(Client, _Moment(client))
