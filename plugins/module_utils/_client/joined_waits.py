"""Poll the jobs of many threads in one place, as few times as possible."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from typing import Any

from .._api.errors import TransportError, VirtinfraError
from .._http.adapter import MAX_CONNECTIONS
from .client import Client
from .jobs import RUNNING, SHORTEST_INTERVAL, SUCCEEDED, Job, compute_interval
from .joined_reads import Turnout
from .waiting import MAX_BATCH_RATIO, asks_to_wait_longer, poll_job

# The part of jobs that may still be running when they are polled first. Jobs that are polled later end unnoticed for a
# longer time.
RUNNING_SHARE = 0.3

# By which part the expected duration grows at most after a round of polls, and the part of it after which the oldest
# job is polled first.
GROWTH = 0.1
OLDEST_PART = 0.8

# Until a job of an operation has succeeded, one of so many jobs is polled as a sample, each time another one, and at
# most this number of samples at the same time. Polls of all would show the duration hardly earlier.
JOBS_PER_SAMPLE = 50
MAX_SAMPLES = 10

# The growth of the elapsed time after which the next samples are polled, and the highest rate of polls that may find a
# running job, per second.
UNKNOWN_RATIO = 0.5
RUNNING_RATE = 200.0


@dataclass(eq=False)
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

    def compute_due_time(self, expected: float | None, is_oldest: bool, others: int) -> float:
        """Return when to poll the job, unless it is a sample.

        ``expected`` is the duration of jobs of its operation, if it is known. ``others`` is the number of jobs of which
        a poll may find that they are running.
        """
        usual = self.began + (expected or 0.0) * (OLDEST_PART if is_oldest else 1.0)
        elapsed, longest = self.last_poll - self.began, self.client.wait.interval
        if expected is not None and not self.is_polled:
            due = usual
        elif is_oldest:
            due = max(self.last_poll + compute_interval(elapsed, longest, 0.0), usual)
        elif expected is None:
            due = math.inf
        else:
            pause = max(compute_interval(elapsed, longest, 0.0, MAX_BATCH_RATIO), others / RUNNING_RATE)
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


def schedule_samples(waits: Sequence[Wait]) -> dict[Wait, float]:
    """Return the next samples of jobs of one operation, the oldest first, and when to poll them.

    If the last samples have failed, they are no longer among the jobs, so that the next ones are due at once.
    """
    oldest = waits[0]
    last_poll = max((wait.last_poll for wait in waits if wait.is_polled), default=oldest.began)
    pause = compute_interval(last_poll - oldest.began, oldest.client.wait.interval, 0.0, UNKNOWN_RATIO)
    count = min(MAX_SAMPLES, math.ceil(len(waits) / JOBS_PER_SAMPLE))
    samples = nsmallest(count, waits, key=attrgetter("last_poll"))
    return dict.fromkeys(samples, last_poll + pause)


class JobPoller:
    """Polls the jobs for which threads wait.

    The oldest job is polled as often as a single one. The others are polled when jobs of their operation usually have
    ended, so that most jobs are polled once. Until one has succeeded, samples of them are polled now and then, because
    the oldest may take longer than they do. Jobs that take longer than usual are polled again.
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
            # Most new jobs are due after those that are known, and the due times of all take time to compute.
            if not self._waits or any(map(self._may_be_due_first, waits)):
                self._condition.notify()
            self._waits += waits
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

    def _may_be_due_first(self, wait: Wait) -> bool:
        """Return whether a new job may be due before those that are known."""
        expected = self._durations.get(wait.job)
        if wait.compute_due_time(expected, is_oldest=False, others=0) < self._wakes_at:
            return True
        # The next samples are jobs that began before it, unless there is none beside the oldest job.
        of_operation = (other for other in self._waits if other.job.operation == wait.job.operation)
        return expected is None and len(list(islice(of_operation, 2))) < 2

    def _list_due_times(self) -> list[float]:
        """Return when each of the jobs is due, the oldest first."""
        running = sum(wait.is_polled for wait in self._waits)
        sample_times = self._schedule_samples()
        return [
            min(
                wait.compute_due_time(self._durations.get(wait.job), not number, running),
                sample_times.get(wait, math.inf),
            )
            for number, wait in enumerate(self._waits)
        ]

    def _schedule_samples(self) -> dict[Wait, float]:
        """Return the next samples of each operation of which the duration is not known yet, and when to poll them."""
        waits_by_operation: dict[str, list[Wait]] = {}
        for wait in self._waits[1:]:
            if self._durations.get(wait.job) is None:
                waits_by_operation.setdefault(wait.job.operation, []).append(wait)
        times: dict[Wait, float] = {}
        for waits in waits_by_operation.values():
            times |= schedule_samples(waits)
        return times

    def _poll(self, due: Sequence[Wait]) -> None:
        """Poll jobs concurrently, and learn how long they take."""
        with self._condition:
            oldest = self._waits[0]
        first_polls = [wait for wait in due if not wait.is_polled and wait is not oldest]
        list(self._pool.map(Wait.poll, due))
        with self._condition:
            self._durations.learn(first_polls, due)


class JoinedWaits:
    """Waits for the jobs of the threads of a batch. Reads of other threads do not wait for a thread meanwhile."""

    def __init__(self, poller: JobPoller, turnout: Turnout) -> None:
        self._poller, self._turnout = poller, turnout

    def wait(self, client: Client, jobs: Sequence[Job], deadline: float) -> TransportError | None:
        """Wait until all jobs have ended or the deadline; return the error of the last poll if it was inconclusive."""
        with self._turnout.paused():
            return self._poller.wait(client, jobs, deadline)
