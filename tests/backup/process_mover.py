"""A data mover whose modules run in this process, and whose clock tests can set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.clock import Clock as MoverClock
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.process import execute
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock

from support.kvm_host import run_command

Record = dict[str, Any]

# How many copies a mover makes at the same time, at most.
COPIES = 8


class ProcessMover:
    """Runs the modules of data movers as they are, without processes of their own."""

    def __init__(self, repository: Path, name: str = "localhost") -> None:
        self.repository, self.name, self.check = repository, name, False
        self._threads = ThreadPoolExecutor(COPIES)
        self._jobs: dict[str, Future[Record]] = {}

    def run(self, module: str, arguments: Mapping[str, Any]) -> Record:
        """Return the result of a module."""
        spec = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{module}").MODULE
        validated = ArgumentSpecValidator(spec.options, **spec.constraints).validate(arguments)
        assert not validated.error_messages, validated.error_messages
        return execute(spec, validated.validated_parameters, self.check, run_command)

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> Record:
        """Start a copy."""
        return self.submit(self.run, module, arguments)

    def submit(self, run: Callable[[str, Mapping[str, Any]], Record], *given: Any) -> Record:
        """Start a function, and return its job."""
        job = f"j{len(self._jobs)}"
        self._jobs[job] = self._threads.submit(run, *given)
        return {"ansible_job_id": job, "started": 1}

    def is_idle(self) -> bool:
        """Return whether no copy works."""
        return all(job.done() for job in self._jobs.values())

    def look(self, job: str, folder: str) -> Record:
        """Return the result of a copy, nothing while it works."""
        return self._jobs[job].result() if self._jobs[job].done() else {}

    def run_command(self, command: Sequence[str], environment: Mapping[str, str]) -> Record:
        """Return the result of a command."""
        raise AssertionError(command)

    def close(self) -> None:
        """Wait for the end of all copies."""
        self._threads.shutdown()


@contextmanager
def at(now: datetime) -> Iterator[None]:
    """Let it be this time on the controller and on its data mover."""
    frozen = staticmethod(lambda: now)
    with mock.patch.object(Clock, "now", frozen), mock.patch.object(MoverClock, "now", frozen):
        yield
