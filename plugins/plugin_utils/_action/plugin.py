# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs any module of the collection inside the controller: a module process would take ten times as long.

The files in ``plugins/action`` make it available under the names of the modules, so that core finds it by the name of a
task, applies the defaults of that module, and loads it once, before it forks a worker for each task. With a redirect to
one action plugin, all modules would get the defaults of that plugin's module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import ansible.constants
import ansible.utils.display
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils._api.errors import (
    InvalidOptions,
    LoginFailed,
    VirtinfraError,
)
from ...module_utils._api.references import mark_nulls
from ...module_utils._client.sessions import AccountSession
from ...module_utils._engine.context import TaskInterrupted
from ...module_utils._http.adapter import HAS_REQUESTS
from ...module_utils._http.connection import tls_context
from ...module_utils._masking.masker import Masker
from ...module_utils._masking.patterns import compile_patterns
from ...module_utils._masking.terminal import escape_controls
from ...module_utils._modules.options import CONNECTION, GROUP_OPTIONS
from ...module_utils._modules.spec import (
    OWN_SESSION,
    REQUEST_LOG,
    REQUEST_LOG_VERBOSITY,
    ModuleSpec,
    connection_options,
    options_message,
    own_session_mark,
)
from .._run_sessions import FileStore, TaskSession
from .interrupts import end_worker, log_after_exit, signals_as_exceptions, stop_with_parent
from .locks import RunLock

# Built once, in the parent process, and inherited by every worker.
tls_context(True, None, None, None)
compile_patterns()


# The name of the action group in module_defaults.
GROUP = "group/virtinfra.manager.api"

# The timeout, in seconds, of a request to log in for a module process, which can also log in itself.
HANDOVER_TIMEOUT = 10.0

UNOBSERVED = (
    "Nothing registers the result of this task with poll 0, so nobody notices if it fails. Register it, and wait for it"
    " with async_status."
)

display = Display()


class Handover(NamedTuple):
    """The options of a module process, its own session, and the session of the run if the process logs in instead."""

    arguments: dict[str, Any]
    own: TaskSession | None = None
    not_created: AccountSession | None = None


class ActionModule(ActionBase):
    """Runs the MODULE of the module with this name, or starts a module process if the task requires one."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of the task, the same as that of a module process."""
        super().run(tmp, task_vars)
        name = self._task.action.rpartition(".")[2]
        self._label = self._name_task(task_vars or {})
        variables: dict[str, Any] = {}
        self._compute_environment_string(variables)
        spec: ModuleSpec = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").MODULE
        self._task.args = self._without_defaults_for_others(spec)
        if not self._can_run_in_process():
            return self._run_as_module(f"virtinfra.manager.{name}", spec, variables, task_vars)
        with patched_environ(variables):
            return self._run_in_process(f"virtinfra.manager.{name}", spec)

    def _without_defaults_for_others(self, spec: ModuleSpec) -> dict[str, Any]:
        """Return the options of the task without defaults of the action group that the module does not support.

        A default may be meant for all modules with such an option, for example C(webhook_url). A name that no module
        has is an error and is kept.
        """
        arguments: dict[str, Any] = self._task.args
        foreign = [name for name in arguments if name in GROUP_OPTIONS and name not in spec.argument_spec]
        if not foreign:
            return arguments
        defaults: dict[str, Any] = {}
        for each in self._task.module_defaults:
            defaults = each.get(GROUP) or defaults
        defaults = self._templar.template(defaults)
        unused = [name for name in foreign if name in defaults and defaults[name] == arguments[name]]
        return {name: value for name, value in arguments.items() if name not in unused}

    def _can_run_in_process(self) -> bool:
        """Return whether the task may run in the controller's process, which must have the library requests."""
        local = str(getattr(self._connection, "transport", "")).rpartition(".")[2] == "local"
        return HAS_REQUESTS and local and not (self._task.async_val or self._connection.become)

    def _run_as_module(
        self, name: str, spec: ModuleSpec, variables: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Run the task in a module process, whose command line everyone can read: pass credentials as options."""
        if spec.secret_results and self._task.async_val:
            error = InvalidOptions(f"{name} cannot be used with async, which would show its result")
            return {"failed": True, "msg": str(error), "error": error.error}
        credentials = {
            f"VIRTINFRA_{option.upper()}": option for option, rules in GROUP_OPTIONS.items() if rules.get("no_log")
        }
        from_environment = {option: variables.pop(each) for each, option in credentials.items() if each in variables}
        known = {option: value for option, value in from_environment.items() if option in spec.argument_spec}
        arguments = {**known, **_prefer_given(mark_nulls(self._task.args, spec.parameters))}
        try:
            with patched_environ(variables):
                handover = self._with_session(arguments, spec)
        except VirtinfraError as failure:
            return {"failed": True, "msg": escape_controls(str(failure)), "error": failure.error}
        result = self._start_module(name, handover, variables, task_vars)
        for line in result.pop(REQUEST_LOG, ()):
            self._show_request(line)
        if handover.not_created and result.get("operation") == "LogInByAccount":
            handover.not_created.remember_failure(result)
        return _hide(result, spec)

    def _start_module(
        self, name: str, handover: Handover, variables: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Run a module process, which ends the session of its own. End that session if no process starts."""
        own, before = handover.own, self._task.environment
        mark = {OWN_SESSION: own_session_mark(own.session_id)} if own else {}
        with ExitStack() as not_started:
            if own:
                not_started.callback(own.end)
            try:
                self._task.environment = [{**variables, **mark}]
                result = dict(
                    self._execute_module(
                        module_name=name,
                        module_args=handover.arguments,
                        task_vars=task_vars,
                        wrap_async=self._task.async_val,
                    )
                )
            finally:
                # A retry of the task reads its credentials again.
                self._task.environment = before
            if job := result.get("ansible_job_id"):
                not_started.pop_all()
                if own:
                    own.watch(f"{self._label} (async job {job})")
                if self._is_detached and not self._task.register:
                    result["warnings"] = [*result.get("warnings", ()), UNOBSERVED]
        return result

    @property
    def _is_detached(self) -> bool:
        """Whether the task may outlive the run."""
        return bool(self._task.async_val and not self._task.poll)

    def _with_session(self, arguments: dict[str, Any], spec: ModuleSpec) -> Handover:
        """Return the options of a module process, with the session of this run instead of the password of an account.

        A task that may outlive the run gets a session of its own, unless its process will refuse the options. A module
        that returns a new session gets the password and logs in; so does every module if only the host of its process
        can reach the service. Raise LoginFailed when the service refuses the account.
        """
        given = {name: value for name, value in arguments.items() if name in CONNECTION}
        validation = ArgumentSpecValidator(CONNECTION).validate(given)
        params = validation.validated_parameters
        if validation.error_messages or params["session_id"] or not params["account"]:
            return Handover(arguments)
        login = {name: params[name] for name in ("account", "account_password")}
        session = own = None
        try:
            connection = connection_options(params)
            timeout = min(connection.request_timeout, HANDOVER_TIMEOUT)
            brief = replace(connection, request_retries=0, request_timeout=timeout)
            session = AccountSession(brief, FileStore(connection), Masker(), self._request_log())
            if spec.secret_results:
                session.raise_refusal()
                return Handover(arguments, not_created=session)
            if self._is_detached and not _option_errors(spec, arguments):
                own = TaskSession(connection, session.new_session())
            session_id = own.session_id if own else session.valid()
            return Handover({**arguments, **dict.fromkeys(login), "session_id": session_id}, own)
        except VirtinfraError as failure:
            if isinstance(failure, LoginFailed) and failure.is_refusal:
                raise
            return Handover({**arguments, **login, "session_id": None}, not_created=session)

    def _run_in_process(self, name: str, spec: ModuleSpec) -> dict[str, Any]:
        arguments = _prefer_given(mark_nulls(self._task.args, spec.parameters))
        validation = ArgumentSpecValidator(spec.argument_spec, **spec.constraints).validate(arguments)
        params = validation.validated_parameters
        masker = spec.masker(params)
        if validation.error_messages:
            message = options_message(name, validation.errors.errors)
            error = InvalidOptions(masker.text(message))
            result: dict[str, Any] = {"failed": True, "msg": str(error), "error": error.error}
        else:
            result = self._execute(spec, params)
        if warnings := [*spec.alias_warnings(arguments), *result.pop("warnings", ())]:
            result["warnings"] = warnings
        # Newer versions of core show it only on demand; older versions lack this option and always show it.
        if getattr(ansible.constants, "INJECT_INVOCATION", True):
            result["invocation"] = masker.value({"module_args": params})
        return _hide(result, spec)

    def _execute(self, task: ModuleSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a task; if it is stopped during a call, report the call in the result or at least in a line."""
        on_progress = None if self._task.no_log else self._show_progress
        with signals_as_exceptions():
            try:
                outcome = task.execute(
                    params,
                    self._task.check_mode,
                    on_progress,
                    self._request_log(),
                    stop_with_parent(),
                    FileStore,
                    RunLock,
                )
            except KeyboardInterrupt:
                end_worker()
            except TaskInterrupted as stop:
                if isinstance(stop.__cause__, KeyboardInterrupt):
                    log_after_exit(f"{self._label}: {stop}")
                    end_worker()
                period = {"period": self._task.timeout}
                return {"failed": True, "msg": f"Task timeout exceeded. {stop}", "timedout": period, **stop.result}
        warnings = {"warnings": outcome.warnings} if outcome.warnings else {}
        return {**outcome.result, **warnings}

    def _name_task(self, task_vars: Mapping[str, Any]) -> str:
        """Return a label with the inventory host, the host that the task is delegated to, and the task's name."""
        host, delegate = task_vars.get("inventory_hostname"), self._task.delegate_to
        return f"[{host} -> {delegate}] {self._task.get_name()}" if delegate else f"[{host}] {self._task.get_name()}"

    def _show_progress(self, line: str) -> None:
        display.display(f"{self._label}: {line}")

    def _request_log(self) -> Callable[[str], None] | None:
        logged = display.verbosity >= REQUEST_LOG_VERBOSITY and not self._task.no_log
        return self._show_request if logged else None

    def _show_request(self, line: str) -> None:
        display.vvv(f"{self._label}: {line}")


def _option_errors(spec: ModuleSpec, arguments: dict[str, Any]) -> list[str]:
    """Return why a module process will refuse these options."""
    return list(ArgumentSpecValidator(spec.argument_spec, **spec.constraints).validate(arguments).error_messages)


def _prefer_given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a task, without a session of the environment if the task sets an account."""
    return {"session_id": None, **arguments} if arguments.get("account") else arguments


def _hide(result: dict[str, Any], spec: ModuleSpec) -> dict[str, Any]:
    """Return a result that Ansible does not show if it contains a secret for later tasks."""
    return {**result, "_ansible_no_log": True} if spec.secret_results and not result.get("failed") else result


@contextmanager
def patched_environ(variables: Mapping[str, Any]) -> Iterator[None]:
    """Set the task's environment variables in this worker process, and restore the previous values."""
    before = dict(os.environ)
    os.environ.update({key: str(value) for key, value in variables.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
