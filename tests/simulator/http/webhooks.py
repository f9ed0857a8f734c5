"""Deliver the results of jobs to webhooks."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, cast

from ..state.jobs import Job

if TYPE_CHECKING:
    from ..service import Service

TIMEOUT = 10.0
"""Seconds to wait for the response of a receiver."""

BATCH_OPERATIONS = ("ExportNbdVolumes", "SetServiceTypeOnHostNetworkInterface", "UnexportNbdVolumes")
"""Operations on several objects. Their deliveries have another header with the outcome."""


class Webhooks:
    """Delivers results in the background, with retries."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    def deliver(self, job: Job) -> None:
        """Start delivering the result of a finished job."""
        faults = self._service.faults.select_for_webhook(job.operation.name)
        if "drop_webhook" in faults:
            return
        delay = faults["late_webhook"].seconds if "late_webhook" in faults else 0.0
        for dummy in range(2 if "duplicate_webhook" in faults else 1):
            task = asyncio.get_running_loop().create_task(self._deliver_with_retries(job, delay))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Cancel all pending deliveries."""
        for task in self._tasks:
            task.cancel()

    async def send(self, url: str, job_id: str, succeeded: bool, body: str, batch: bool = False) -> int | None:
        """Send one delivery and return the status of the response, None without one."""
        # httpx is slow to import, and few callers use webhooks.
        httpx = await asyncio.to_thread(importlib.import_module, "httpx")
        headers = {
            "Content-Type": "application/json;charset=UTF-8",
            "X-Job-Success": "true" if succeeded else "false",
            "X-Job-UUID": job_id,
        }
        if batch:
            headers["X-Job-Batch"] = "SUCCESS" if succeeded else "FAILED"
        try:
            async with httpx.AsyncClient(verify=False, trust_env=False, timeout=TIMEOUT) as client:
                return cast(int, (await client.post(url, content=body.encode(), headers=headers)).status_code)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return None

    async def _deliver_with_retries(self, job: Job, delay: float) -> None:
        await asyncio.sleep(delay)
        batch = job.operation.name in BATCH_OPERATIONS
        switches = self._service.switches
        for attempt in range(switches.webhook_tries):
            if attempt:
                await asyncio.sleep(switches.webhook_interval)
            status = await self.send(job.webhook, job.id, job.succeeded, job.result[1], batch)
            if status is not None and 200 <= status < 300:
                return
