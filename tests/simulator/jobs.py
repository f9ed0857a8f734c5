# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs: what becomes of an asynchronous call between its 202 and its result."""

from __future__ import annotations

import asyncio
import collections.abc as c
import dataclasses
import time
import traceback
import typing as t

from .errors import Failure
from .registry import Call, Operation, Reply, Steps

PENDING = (202, "{}")


class Work:
    """What an operation does, in its two parts."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._call: Call | None = None
        self._steps: Steps | None = None

    def begin(self, call: Call) -> Reply | None:
        """Do the first part; return the reply when that was all."""
        self._call = call
        if not self._operation.stepwise:
            return None
        self._steps = self._operation.handler(call)
        return self._advance(self._steps)

    def end(self, failure: Failure | None = None) -> Reply:
        """Do the second part and return the reply, or let the work fail with the failure."""
        if self._steps:
            return self._advance(self._steps, failure) or {}
        if failure:
            raise failure
        return t.cast(Reply, self._operation.handler(t.cast(Call, self._call)))

    @staticmethod
    def _advance(steps: Steps, failure: Failure | None = None) -> Reply | None:
        try:
            if failure:
                steps.throw(failure)
            else:
                next(steps)
        except StopIteration as done:
            return t.cast(Reply, done.value)
        return None


@dataclasses.dataclass
class Job:
    """A job. `answer` is the status and the body of its poll."""

    id: str
    operation: Operation
    started: float
    timeout: float
    """Seconds until the service gives up."""
    webhook: str = ""
    answer: tuple[int, str] = PENDING
    hangs: bool = False
    expired: bool = False
    failure: Failure | None = None
    """The failure that it is to end with, on demand."""

    @property
    def succeeded(self) -> bool:
        """Whether the operation did what it was asked for."""
        return self.answer[0] == 200


class Jobs:
    """All jobs by id, and the timers of what is still to happen."""

    def __init__(self, finished: c.Callable[[Job], None]) -> None:
        self._jobs: dict[str, Job] = {}
        self._timers: dict[asyncio.TimerHandle, c.Callable[[], None]] = {}
        self._finished = finished

    def find(self, job_id: str, lifetime: float) -> Job | None:
        """Return the job unless it is unknown or started longer ago than its lifetime, in seconds."""
        job = self._jobs.get(job_id)
        if job and time.monotonic() - job.started > lifetime:
            del self._jobs[job_id]
            return None
        return job

    def start(self, job: Job, prepare: c.Callable[[], Call], latency: float, write: Writer) -> None:
        """Start the job. Session and parameters are checked now, the work is done when the latency has passed."""
        self._jobs[job.id] = job
        work = Work(job.operation)

        def begin() -> Reply | None:
            return work.begin(prepare())

        def end() -> Reply:
            if latency > job.timeout:
                return work.end(Failure("SYS.1001", f"{job.operation.name} timed out after {job.timeout:g} seconds"))
            return work.end(job.failure)

        self._settle(job, begin, write)
        if job.answer == PENDING and not job.hangs:
            self.later(min(latency, job.timeout), lambda: self._settle(job, end, write))

    def _settle(self, job: Job, part: c.Callable[[], Reply | None], write: Writer) -> None:
        try:
            reply = part()
        except Failure as failure:
            job.answer = (503, write(failure))
        except Exception as error:
            traceback.print_exc()
            job.answer = (503, write(Failure("SYS.1000", repr(error))))
        else:
            if reply is None:
                return
            job.answer = (200, write(reply))
        self._finished(job)

    def later(self, delay: float, action: c.Callable[[], None]) -> None:
        """Do something after so many seconds, unless a reset comes first."""

        def act() -> None:
            del self._timers[timer]
            action()

        timer = asyncio.get_running_loop().call_later(delay, act)
        self._timers[timer] = act

    def advance(self) -> None:
        """Let happen now what was still to happen; what follows from that has to wait again."""
        for timer, act in sorted(self._timers.items(), key=lambda item: item[0].when()):
            timer.cancel()
            act()

    def cancel(self) -> None:
        """Let nothing more happen."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


Writer = c.Callable[["Reply | Failure"], str]
"""Writes the body of a job's poll."""
