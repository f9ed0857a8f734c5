# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deliveries of results to the webhooks that callers named."""

from __future__ import annotations

import asyncio
import importlib
import typing as t

from .jobs import Job

if t.TYPE_CHECKING:
    from .service import Service

TIMEOUT = 10.0
"""Seconds that a receiver has to answer."""


class Webhooks:
    """Delivers results in the background, again and again until a receiver takes them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    def deliver(self, job: Job) -> None:
        """Send the result of a finished job on its way."""
        wrong = self._service.faults.webhook(job.operation.name)
        if "drop_webhook" in wrong:
            return
        delay = wrong["late_webhook"].seconds if "late_webhook" in wrong else 0.0
        for dummy in range(2 if "duplicate_webhook" in wrong else 1):
            task = asyncio.get_running_loop().create_task(self._try(job, delay))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Give up all deliveries under way."""
        for task in self._tasks:
            task.cancel()

    async def _try(self, job: Job, delay: float) -> None:
        await asyncio.sleep(delay)
        # httpx takes a while to import and few callers want webhooks.
        httpx = await asyncio.to_thread(importlib.import_module, "httpx")
        headers = {
            "Content-Type": "application/json;charset=UTF-8",
            "X-Job-Success": "true" if job.succeeded else "false",
            "X-Job-UUID": job.id,
        }
        switches = self._service.switches
        async with httpx.AsyncClient(verify=False, trust_env=False, timeout=TIMEOUT) as client:
            for attempt in range(switches.webhook_tries):
                if attempt:
                    await asyncio.sleep(switches.webhook_interval)
                try:
                    answer = await client.post(job.webhook, content=job.answer[1].encode(), headers=headers)
                except (httpx.HTTPError, httpx.InvalidURL, ValueError):
                    continue
                if answer.is_success:
                    return
