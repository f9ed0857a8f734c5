# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Poll the jobs of many threads in one place, as few times as possible."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ...module_utils._api.errors import TransportError, VirtinfraError
from ...module_utils._client.client import Client
from ...module_utils._client.jobs import BACKOFF_RATIO, RUNNING, Job, asks_to_wait_longer, compute_interval, poll_job
from ...module_utils._http.adapter import MAX_CONNECTIONS

# The growth of the elapsed time after which a job is polled again that is not the oldest, and the highest rate of such
# polls, per second. They are only needed when an older job takes longer than younger ones.
OTHERS_RATIO = 0.5
OTHERS_RATE = 200.0


@dataclass
class Wait:
    """The wait of a thread for one job; ``error`` is that of the last poll if it was inconclusive."""

    client: Client
    job: Job
    deadline: float
    began: float
    last_poll: float
    error: TransportError | None = None
    failure: VirtinfraError | None = None
    is_over: threading.Event = field(default_factory=threading.Event)

    def compute_due_time(self, others: int = 0) -> float:
        """Return when to poll the job: the oldest one, or one of this number of others."""
        ratio = OTHERS_RATIO if others else BACKOFF_RATIO
        pause = compute_interval(self.last_poll - self.began, self.client.wait.interval, 0.0, ratio)
        due = self.last_poll + max(pause, others / OTHERS_RATE)
        return min(due, max(self.deadline, self.last_poll))

    def poll(self) -> bool:
        """Poll the job and return whether it has ended. End the wait with the job, or at the deadline."""
        try:
            poll_job(self.client, self.job)
            self.error = None
        except TransportError as inconclusive:
            self.error = inconclusive
        except VirtinfraError as failure:
            self.failure = failure
        self.last_poll = self.client.hooks.clock.monotonic()
        has_ended = self.job.state != RUNNING
        is_late = self.last_poll >= self.deadline or bool(
            self.error and asks_to_wait_longer(self.client, self.error, self.deadline)
        )
        if has_ended or is_late or self.failure:
            self.is_over.set()
        return has_ended


class JobPoller:
    """Polls the jobs for which threads wait.

    The oldest job is polled as often as a single one. When it has ended, the next one is polled, then the next two,
    four, ... until one is still running, so that a job is polled once after its end and rarely before. Jobs that are
    not the oldest are also polled now and then, because the oldest may take longer than they do.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waits: list[Wait] = []
        self._stopped: BaseException | None = None
        # When the next poll is due, in seconds of the clock.
        self._wakes_at = math.inf
        self._pool = ThreadPoolExecutor(MAX_CONNECTIONS)
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, client: Client, jobs: Sequence[Job], deadline: float) -> TransportError | None:
        """Wait until all jobs have ended or the deadline; return the error of the last poll if it was inconclusive."""
        now = client.hooks.clock.monotonic()
        waits = [Wait(client, job, deadline, now, now) for job in jobs]
        with self._condition:
            self._waits += waits
            # Most new jobs are due after those that are known, and the due times of all take time to compute.
            if min(wait.compute_due_time(len(self._waits) - 1) for wait in waits) < self._wakes_at:
                self._condition.notify()
        for wait in waits:
            if self._stopped is None:
                wait.is_over.wait()
        if self._stopped is not None:
            raise self._stopped
        for wait in waits:
            if wait.failure:
                raise wait.failure
        return next((wait.error for wait in waits if wait.error), None)

    def stop(self, reason: BaseException) -> None:
        """Stop polling, and raise this exception in all threads that wait."""
        with self._condition:
            self._stopped = self._stopped or reason
            waits = list(self._waits)
            self._condition.notify()
        for wait in waits:
            wait.is_over.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        try:
            while self._sleep():
                self._poll_due()
        except BaseException as error:  # The threads that wait would never end.
            self.stop(error)

    def _sleep(self) -> bool:
        """Wait until a job is due, and return True; False when polling was stopped."""
        with self._condition:
            while self._stopped is None:
                self._waits = [wait for wait in self._waits if not wait.is_over.is_set()]
                pause, self._wakes_at = None, math.inf
                if self._waits:
                    clock = self._waits[0].client.hooks.clock
                    self._wakes_at = min(due for dummy, due in self._list_due_times())
                    pause = self._wakes_at - clock.monotonic()
                    if pause <= 0:
                        return True
                self._condition.wait(pause)
        return False

    def _list_due_times(self) -> list[tuple[Wait, float]]:
        """Return the jobs with the times at which they are due, the oldest first."""
        others = len(self._waits) - 1
        return [(wait, wait.compute_due_time(others if number else 0)) for number, wait in enumerate(self._waits)]

    def _poll_due(self) -> None:
        """Poll the jobs that are due. If one has ended, poll those after it, until one is still running."""
        with self._condition:
            times = self._list_due_times()
        now = times[0][0].client.hooks.clock.monotonic()
        is_due = [due <= now for dummy, due in times]
        due = [wait for (wait, dummy), is_now in zip(times, is_due, strict=True) if is_now]
        if not any(self._poll(due)):
            return
        ended = [number for number, (wait, dummy) in enumerate(times) if is_due[number] and wait.is_over.is_set()]
        others = [wait for number, (wait, dummy) in enumerate(times) if number > ended[-1] and not is_due[number]]
        count = 1
        while others and all(self._poll(others[:count])):
            others, count = others[count:], 2 * count

    def _poll(self, waits: Sequence[Wait]) -> list[bool]:
        """Poll jobs concurrently; return which have ended."""
        return list(self._pool.map(Wait.poll, waits))
