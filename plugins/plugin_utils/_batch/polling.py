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
from itertools import islice
from typing import Any

from ...module_utils._api.errors import TransportError, VirtinfraError
from ...module_utils._client.client import Client
from ...module_utils._client.jobs import (
    MAX_BATCH_RATIO,
    RUNNING,
    SHORTEST_INTERVAL,
    SUCCEEDED,
    Job,
    asks_to_wait_longer,
    compute_interval,
    poll_job,
)
from ...module_utils._http.adapter import MAX_CONNECTIONS

# The part of jobs that may still be running when they are polled first. Jobs that are polled later end unnoticed for a
# longer time.
RUNNING_SHARE = 0.3

# By which part the expected duration grows at most after a round of polls, and the part of it after which the oldest
# job is polled first.
GROWTH = 0.1
OLDEST_PART = 0.8

# Until a job of an operation has ended, the first jobs of it are polled as samples. Polls of the others would show the
# duration hardly earlier. They are polled seldom, because all samples may take longer: after 20, 40, 80 s and so on.
SAMPLES = 10
MIN_UNSAMPLED_PAUSE = 20.0

# The growth of the elapsed time after which a job is polled again whose duration is unknown, and the highest rate of
# polls that may find a running job, per second.
UNKNOWN_RATIO = 0.5
RUNNING_RATE = 200.0


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

    @property
    def is_polled(self) -> bool:
        """Whether the job has been polled."""
        return self.last_poll > self.began

    def compute_due_time(self, expected: float | None, is_oldest: bool, others: int, is_sample: bool = True) -> float:
        """Return when to poll the job.

        ``expected`` is the duration of jobs of its operation, if it is known. ``others`` is the number of jobs of which
        a poll may find that they are running.
        """
        usual = self.began + (expected or 0.0) * (OLDEST_PART if is_oldest else 1.0)
        if expected is not None and not self.is_polled:
            due = usual
        else:
            elapsed, longest = self.last_poll - self.began, self.client.wait.interval
            if is_oldest:
                pause = compute_interval(elapsed, longest, 0.0)
            elif expected is None and not is_sample:
                pause = max(elapsed, MIN_UNSAMPLED_PAUSE)
            else:
                ratio = UNKNOWN_RATIO if expected is None else MAX_BATCH_RATIO
                pause = max(compute_interval(elapsed, longest, 0.0, ratio), others / RUNNING_RATE)
            due = max(self.last_poll + pause, usual)
        return min(due, max(self.deadline, self.last_poll))

    def poll(self) -> None:
        """Poll the job. End the wait with the job, or at the deadline."""
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


class Durations:
    """The expected duration of the jobs of each operation, in seconds.

    It is not that of the longest or the average job, but the time after which most jobs have ended: it becomes longer
    when too many jobs are still running at their first poll, and shorter when nearly all have ended.
    """

    def __init__(self) -> None:
        self._expected: dict[str, float] = {}

    def get(self, job: Job) -> float | None:
        """Return the expected duration of a job, None if no job of its operation has succeeded yet."""
        return self._expected.get(job.operation)

    def learn(self, first_polls: Sequence[Wait], waits: Sequence[Wait]) -> None:
        """Learn from a round of polls of ``waits``. ``first_polls`` are those with which the duration is tested."""
        for operation, expected in self._expected.items():
            tested = [wait for wait in first_polls if wait.job.operation == operation]
            if tested:
                share = sum(wait.job.state == RUNNING for wait in tested) / len(tested)
                self._expected[operation] = max(SHORTEST_INTERVAL, expected * (1 + GROWTH * (share - RUNNING_SHARE)))
        for wait in waits:
            if wait.job.state == SUCCEEDED:
                self._expected.setdefault(wait.job.operation, wait.last_poll - wait.began)


class JobPoller:
    """Polls the jobs for which threads wait.

    The oldest job is polled as often as a single one. The others are polled when jobs of their operation usually have
    ended, as the first ones show, so that most jobs are polled once. Until then some of them are polled now and then,
    because the oldest may take longer than they do, and so are those that take longer than usual.
    """

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._waits: list[Wait] = []
        self._durations = Durations()
        self._stopped: BaseException | None = None
        # When the next poll is due, in seconds of the clock.
        self._wakes_at = math.inf
        self._pool = ThreadPoolExecutor(MAX_CONNECTIONS)
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, client: Client, jobs: Sequence[Job], deadline: float) -> TransportError | None:
        """Wait until all jobs have ended or the deadline; return the error of the last poll if it was inconclusive."""
        now = self._clock.monotonic()
        waits = [Wait(client, job, deadline, now, now) for job in jobs]
        with self._condition:
            is_first = not self._waits
            self._waits += waits
            count = len(self._waits)
            # Most new jobs are due after those that are known, and the due times of all take time to compute.
            times = (self._compute_due_time(wait, is_first, count, self._is_sample(wait)) for wait in waits)
            if min(times) < self._wakes_at:
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
            while due := self._wait_for_due():
                self._poll(due)
        except BaseException as error:  # The threads that wait would never end.
            self.stop(error)

    def _wait_for_due(self) -> list[Wait]:
        """Wait until jobs are due, and return them; none when polling was stopped."""
        with self._condition:
            while self._stopped is None:
                self._waits = [wait for wait in self._waits if not wait.is_over.is_set()]
                pause, self._wakes_at = None, math.inf
                if self._waits:
                    now = self._clock.monotonic()
                    times = self._list_due_times()
                    if due := [wait for wait, time in zip(self._waits, times, strict=True) if time <= now]:
                        return due
                    self._wakes_at = min(times)
                    pause = self._wakes_at - now
                self._clock.wait(self._condition, pause)
        return []

    def _list_due_times(self) -> list[float]:
        """Return when each of the jobs is due, the oldest first."""
        are_samples = [self._is_sample(wait) for wait in self._waits]
        running = sum(wait.is_polled or is_sample for wait, is_sample in zip(self._waits, are_samples, strict=True))
        return [
            self._compute_due_time(wait, not number, running, is_sample)
            for number, (wait, is_sample) in enumerate(zip(self._waits, are_samples, strict=True))
        ]

    def _is_sample(self, wait: Wait) -> bool:
        """Return whether a job is one of the first of its operation, whose duration is not known yet."""
        if self._durations.get(wait.job) is not None:
            return False
        of_operation = (other for other in self._waits if other.job.operation == wait.job.operation)
        return any(other is wait for other in islice(of_operation, SAMPLES))

    def _compute_due_time(self, wait: Wait, is_oldest: bool, running: int, is_sample: bool) -> float:
        return wait.compute_due_time(self._durations.get(wait.job), is_oldest, running, is_sample)

    def _poll(self, due: Sequence[Wait]) -> None:
        """Poll jobs concurrently, and learn how long they take."""
        with self._condition:
            oldest = self._waits[0]
        first_polls = [wait for wait in due if not wait.is_polled and wait is not oldest]
        list(self._pool.map(Wait.poll, due))
        with self._condition:
            self._durations.learn(first_polls, due)
