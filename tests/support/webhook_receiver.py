"""A receiver of webhooks."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from queue import Queue
from typing import Any

from requests.structures import CaseInsensitiveDict

from support.stub_server import StubRequest, StubResponse, StubServer


class WebhookReceiver(StubServer):
    """A receiver that answers with the given statuses, then always with the last one."""

    def __init__(self, *statuses: int, tls: ssl.SSLContext | None = None) -> None:
        self.deliveries: Queue[StubRequest] = Queue()
        remaining = list(statuses)

        def answer(request: StubRequest) -> StubResponse:
            self.deliveries.put(request)
            return StubResponse(remaining.pop(0) if len(remaining) > 1 else remaining[0])

        super().__init__(answer, tls)

    def next(self) -> tuple[Mapping[str, str], Any]:
        """Wait for the next delivery; return its headers and its body."""
        request = self.deliveries.get(timeout=30)
        return CaseInsensitiveDict(request.headers), json.loads(request.body)
