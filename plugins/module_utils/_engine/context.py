"""One run of a task, and its interruption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._api.errors import WaitTimeout
from .._api.records import Record
from .._client.client import Client
from .._client.jobs import Job
from .._masking.masker import Masker
from .._masking.terminal import escape_controls


@dataclass
class ModuleContext:
    """One run of a task: the validated options, the client, and members of the result.

    ``desired`` holds the module's own options that have a value, by their API names. ``is_object_predicted`` is True in
    check mode when a reference that selects the object is null, because an earlier task would have created what it
    refers to. ``changed`` says whether a call has changed something; the result or a failure can set it too.
    """

    params: Mapping[str, Any]
    desired: Record
    client: Client
    check_mode: bool = False
    is_object_predicted: bool = False
    changed: bool = False
    completed_operations: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def record_call(self, operation: str, changed: bool = True, warnings: Iterable[str] = ()) -> None:
        """Record that a call has succeeded, or was sent without waiting for it."""
        self.changed |= changed
        self.completed_operations.append(operation)
        self.warnings.extend(warnings)


class TaskInterrupted(BaseException):
    """A task was interrupted during calls; ``result`` has members of its result. Both are masked."""

    def __init__(self, message: str, masker: Masker, **result: Any) -> None:
        super().__init__(escape_controls(masker.mask_text(message)))
        error = WaitTimeout(str(self)).error
        self.result: dict[str, Any] = masker.mask_value({"error": error, "changed": True, **result})

    @classmethod
    def during(cls, job: Job, done: list[str], masker: Masker) -> TaskInterrupted:
        """Return the interruption of a task that has called the operations in ``done`` before."""
        message = f"{describe_call(job)} may still be running in the service. Continue with job_wait, job {job.uuid}."
        return cls(message, masker, job=job.build_handle(), **({"done": done} if done else {}))


def describe_call(job: Job) -> str:
    """Return the operation of a job with the label of its object."""
    return f"{job.label}: {job.operation}" if job.label else job.operation
