"""Run a module on a data mover by itself, as a task of a user does, check its options, and show how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any
from uuid import uuid4

from ansible.plugins.action import ActionBase

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._http.hooks import Clock
from ...module_utils._masking.terminal import escape_controls
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.run import describe_failure
from .._run.owner import describe_owner
from .._vm_backups.mover_work import run_long
from .._vm_backups.plan import LONG_SILENCE, find_other_run, list_ended
from .label import name_task
from .mover_runner import MoverRunner
from .terminal import show_progress

CLOCK = Clock()


class MoverAction(ActionBase):
    """Runs a module on a data mover, and shows its progress while it copies volumes."""

    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of the module."""
        super().run(tmp, task_vars)
        self._variables, self._runner = task_vars, MoverRunner(self, task_vars, self._read_environment())
        options = self._task.args
        try:
            self._check(options)
        except InvalidOptions as mistake:
            return describe_failure(mistake)
        vm = options.get("vm") if isinstance(options.get("vm"), Mapping) else {"uuid": options.get("vm_uuid")}
        has_volumes = options.get("volumes") or options.get("check_volumes")
        copies = has_volumes and options.get("repository") and vm.get("uuid")
        if self._task.async_val or self._task.check_mode or not copies:
            if self._task.async_val:
                # By itself, core writes the file of the job in $HOME, and looks in the home of passwd.
                self._connection._shell.set_option("async_dir", self._find_jobs())
            result: dict[str, Any] = self._execute_module(task_vars=task_vars, wrap_async=self._task.async_val)
            return result
        if options.get("run"):
            touched = self._take(options)
            return touched if touched.get("failed") else self._run(options, vm, touched["jobs"])
        return self._run_alone({**options, "run": str(uuid4())}, vm)

    def _check(self, options: Mapping[str, Any]) -> None:
        """Raise InvalidOptions for what the module would refuse on the data mover without a hint."""
        module = self._task.action.rpartition(".")[2]
        found = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{module}")
        check_forms(found.MODULE.options, options, module=module)

    def _run_alone(self, options: Mapping[str, Any], vm: Mapping[str, Any]) -> dict[str, Any]:
        """Take the VM, run the task, and give it back."""
        first = {"initialize": options["initialize"]} if "initialize" in options else {}
        taken = self._take(options, vm_uuids=[vm["uuid"]], owner=describe_owner(LONG_SILENCE), **first)
        warnings = taken.get("warnings") or []
        if ended := list_ended(taken):
            taken = self._take(options, vm_uuids=[vm["uuid"]], owner=describe_owner(LONG_SILENCE), ended=ended)
        try:
            if taken.get("failed"):
                return taken
            if other := find_other_run(taken["others"], str(vm["uuid"])):
                return {"failed": True, "changed": False, "volumes": [], "msg": other}
            # The repository exists now, so that initialize would be a mistake.
            result = self._run({name: value for name, value in options.items() if name not in first}, vm, taken["jobs"])
            return {**result, "warnings": [*warnings, *result.get("warnings", ())]} if warnings else result
        finally:
            self._take(options, state="absent")

    def _take(self, options: Mapping[str, Any], **given: Any) -> dict[str, Any]:
        arguments = {"repository": options["repository"], "run": options["run"], **given}
        return self._runner.run("backup_run", arguments)

    def _run(self, options: Mapping[str, Any], vm: Mapping[str, Any], folder: str) -> dict[str, Any]:
        """Run the module, whose job is in a folder, for a VM that is taken."""
        module, label = self._task.action.rpartition(".")[2], str(vm.get("name") or vm["uuid"])
        return run_long(self._runner, self, module, options, label, folder, lambda: self._take(options))

    def get_time(self) -> float:
        """Return the time in seconds, which no change of the clock affects."""
        return float(CLOCK.monotonic())

    def pause(self, seconds: float) -> None:
        """Wait until the module is looked at again."""
        CLOCK.sleep(seconds)

    def show(self, line: str) -> None:
        """Show a line while the module works."""
        if not self._task.no_log:
            show_progress(name_task(self._task, self._variables or {}), escape_controls(line))

    def _read_environment(self) -> dict[str, Any]:
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        return environment

    def _find_jobs(self) -> str:
        """Return the folder in which the module async_status looks for jobs."""
        folder: str = self._remote_expand_user(self.get_shell_option("async_dir", default="~/.ansible_async"))
        return folder
