"""Run modules on a data mover, over the connection of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from .._jinja.marks import make_unsafe
from .environment import pop_credentials

# What async_status says of a job without a file.
NO_JOB = "could not find job"

# What async adds to the result of a module.
OF_ASYNC = (
    *("ansible_job_id", "ansible_parsed", "results_file", "started", "finished"),
    *("stdout", "stdout_lines", "stderr", "stderr_lines"),
)


class MoverRunner:
    """Runs modules over the connection of the task of an action.

    A data mover that is unreachable, or cannot run modules, is a failed result.
    """

    def __init__(self, action: ActionBase, task_vars: dict[str, Any] | None, environment: Mapping[str, Any]) -> None:
        """``environment`` is that of the task. The command line of a module would show the credentials in it."""
        self._action, self._task, self._variables = action, action._task, task_vars
        self._environment = dict(environment)
        pop_credentials(self._environment)

    def run(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a module."""
        return self._execute(f"virtinfra.manager.{module}", arguments)

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> dict[str, Any]:
        """Start a module that may run for so many seconds, and return its job, whose file is in a folder.

        By itself, core writes in $HOME, and looks in the home of passwd.
        """
        self._action._connection._shell.set_option("async_dir", folder)
        self._task.async_val = timeout
        try:
            return self._execute(f"virtinfra.manager.{module}", arguments, wrap_async=True)
        finally:
            self._task.async_val = 0

    def look(self, job: str, folder: str) -> dict[str, Any]:
        """Return the result of a job, nothing while it works."""
        arguments = {"jid": job, "_async_dir": folder, "mode": "status"}
        result = self._execute("ansible.legacy.async_status", arguments)
        if result.get("unreachable") or not result.get("finished"):
            return {}
        if result.get("msg") == NO_JOB:
            # Another run has taken this one for ended, and removed its files.
            return {"failed": True, "changed": True, "msg": "The result of the task on the data mover is lost."}
        return {name: value for name, value in result.items() if name not in OF_ASYNC}

    def run_command(self, command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Return the result of a command that runs without a shell, in check mode without running it.

        Core evaluates the environment of a task as templates, and the texts of the service are none.
        """
        arguments = {"argv": list(command), "expand_argument_vars": False}
        return self._execute("ansible.legacy.command", arguments, environment=make_unsafe(dict(environment)))

    def _execute(
        self,
        module: str,
        arguments: Mapping[str, Any],
        wrap_async: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        try:
            with self._set_environment(environment or {}):
                result: dict[str, Any] = self._action._execute_module(
                    module, dict(arguments), task_vars=self._variables, wrap_async=wrap_async
                )
        except AnsibleConnectionFailure as failure:
            # The next module opens the connection again, in a new temporary folder.
            self._action._connection._shell.tmpdir = None
            return {"failed": True, "unreachable": True, "msg": str(failure)}
        except AnsibleError as failure:
            return {"failed": True, "msg": str(failure)}
        return {**result, "warnings": [_read_warning(warning) for warning in result.get("warnings") or ()]}

    @contextmanager
    def _set_environment(self, more: Mapping[str, str]) -> Iterator[None]:
        """Let modules have the environment variables of the task without credentials, and more."""
        environment = self._task.environment
        self._task.environment = [self._environment, more]
        try:
            yield
        finally:
            self._task.environment = environment


def _read_warning(warning: Any) -> str:
    """Return the text of a warning, which core 2.19 and newer make an object of."""
    return str(getattr(getattr(warning, "event", None), "msg", warning))
