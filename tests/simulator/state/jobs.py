"""Jobs: asynchronous calls between the 202 and the result."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ..errors import OperationError
from ..registry import Call, Operation, Reply, Steps

PENDING = (202, "{}")


class Execution:
    """The execution of an operation in two parts: at the start and at the end of its job."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._call: Call | None = None
        self._steps: Steps | None = None
        self.duration = 0.0
        """The seconds that the job takes in addition to its latency; known after the first part."""

    def begin(self, call: Call) -> Reply | None:
        """Execute the first part; return the reply if there is no second part."""
        self._call = call
        if not self._operation.is_stepwise:
            return None
        self._steps = self._operation.handler(call)
        return self._advance(self._steps)

    def end(self, failure: OperationError | None = None, is_executed: bool = False) -> Reply:
        """Execute the second part and return the reply, or fail with the given error.

        With `is_executed` it fails although the operation was executed.
        """
        if failure and is_executed:
            self.end()
            raise failure
        if self._steps:
            return self._advance(self._steps, failure) or {}
        if failure:
            raise failure
        return cast(Reply, self._operation.handler(cast(Call, self._call)))

    def _advance(self, steps: Steps, failure: OperationError | None = None) -> Reply | None:
        try:
            if failure:
                steps.throw(failure)
            else:
                self.duration = next(steps)
        except StopIteration as stop:
            return cast(Reply, stop.value)
        return None


@dataclass
class Job:
    """A job. `result` is the status and the body of its poll."""

    id: str
    operation: Operation
    started: float
    timeout: float
    """Seconds until the job times out."""
    webhook: str = ""
    result: tuple[int, str] = PENDING
    hangs: bool = False
    expired: bool = False
    failure: OperationError | None = None
    """The error that an injected fault demands."""
    fails_when_executed: bool = False
    """Whether the job executes the operation before it fails with that error."""
    call: Call | None = None
    """The call that the job executes; None until it starts."""

    @property
    def succeeded(self) -> bool:
        """Whether the operation succeeded."""
        return self.result[0] == 200


class Jobs:
    """All jobs by id, and the timers of scheduled actions."""

    def __init__(self, on_finished: Callable[[Job], None]) -> None:
        self._jobs: dict[str, Job] = {}
        self._timers: dict[asyncio.TimerHandle, Callable[[], None]] = {}
        self._on_finished = on_finished

    def find(self, job_id: str, lifetime: float) -> Job | None:
        """Return the job, or None if it is unknown or started more than `lifetime` seconds ago."""
        job = self._jobs.get(job_id)
        if job and time.monotonic() - job.started > lifetime:
            del self._jobs[job_id]
            return None
        return job

    def all(self) -> list[Job]:
        """Return all jobs in the order of their starts."""
        return list(self._jobs.values())

    def add(self, job: Job) -> None:
        """Add a job that has ended."""
        self._jobs[job.id] = job

    def start(self, job: Job, prepare: Callable[[], Call], latency: float, serialize: Serializer) -> None:
        """Start the job. Check session and parameters now; execute the second part after the latency in seconds."""
        self._jobs[job.id] = job
        execution = Execution(job.operation)

        def begin() -> Reply | None:
            job.call = prepare()
            return execution.begin(job.call)

        def end() -> Reply:
            if latency + execution.duration > job.timeout:
                return execution.end(
                    OperationError("SYS.1001", f"{job.operation.name} timed out after {job.timeout:g} seconds")
                )
            return execution.end(job.failure, job.fails_when_executed)

        self._run_part(job, begin, serialize)
        if job.result == PENDING and not job.hangs:
            duration = min(latency + execution.duration, job.timeout)
            self.schedule(duration, lambda: self._run_part(job, end, serialize))

    def _run_part(self, job: Job, part: Callable[[], Reply | None], serialize: Serializer) -> None:
        try:
            reply = part()
        except OperationError as failure:
            job.result = (503, serialize(failure))
        except Exception as error:
            traceback.print_exc()
            job.result = (503, serialize(OperationError("SYS.1000", repr(error))))
        else:
            if reply is None:
                return
            job.result = (200, serialize(reply))
        self._on_finished(job)

    def schedule(self, delay: float, action: Callable[[], None]) -> None:
        """Run an action after a delay in seconds, unless a reset cancels it."""

        def act() -> None:
            del self._timers[timer]
            action()

        timer = asyncio.get_running_loop().call_later(delay, act)
        self._timers[timer] = act

    def advance(self) -> None:
        """Run all scheduled actions now, but not those that they schedule."""
        for timer, act in sorted(self._timers.items(), key=lambda item: item[0].when()):
            timer.cancel()
            act()

    def cancel(self) -> None:
        """Cancel all scheduled actions."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


Serializer = Callable[["Reply | OperationError"], str]
"""Returns the body of the poll of a finished job."""
