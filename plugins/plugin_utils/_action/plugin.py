"""Run any module of the collection inside the controller: a module process would take ten times as long.

The files in ``plugins/action`` make the action plugin available under the names of the modules, so that core finds it
by the name of a task, applies the defaults of that module, and loads it once, before it forks a worker for each task.
With a redirect to one action plugin, all modules would get the defaults of that plugin's module.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import ansible.constants
import ansible.context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils._modules.process import REQUEST_LOG_VERBOSITY
from ...module_utils._api.conditions import parse_conditions
from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import is_localhost
from ...module_utils._client.client import Hooks, ignore_changes
from ...module_utils._client.names import resolve_names
from ...module_utils._engine.context import TaskInterrupted
from ...module_utils._http.adapter import HAS_REQUESTS, AdapterPool
from ...module_utils._http.connection import MISSING_ADDRESS, build_tls_context
from ...module_utils._http.failures import read_error
from ...module_utils._masking.masker import Masker
from ...module_utils._masking.patterns import compile_patterns
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.options import GROUP_OPTIONS
from ...module_utils._modules.run import Task, build_masker, describe_failure, describe_option_errors, execute
from ...module_utils._modules.sizes import unify_values
from ...module_utils._modules.spec import ModuleSpec
from .._batch.batch import run_objects
from .._batch.modules import load_spec
from .._run.encrypted import decrypt_values
from .._run.given_options import keep_other_tags
from .._run.names import suspend_names
from .._run.predictions import list_created, list_predicted, note_changes, note_prediction
from .._run.profiles import VARIABLE, Profiles
from .._run.sessions import FileStore
from .._run.variables import describe_unread_address, warn_of_unknown_variables
from .._workflows.run import run_workflow, runs_on_hosts
from .environment import patch_environ
from .handover import ModuleProcess
from .interrupts import ParentWatch, end_worker, log_after_exit, raise_on_signals
from .label import name_task
from .locks import RunLock
from .mover_runner import MoverRunner
from .run_once import refuse_repeated_run, require_one_service
from .secrets import register_secrets
from .terminal import show_progress

# The parent process builds the TLS context and the patterns once, and every worker inherits them.
build_tls_context(True, None, None, None)
compile_patterns()

# The parent process warns once, before it forks the workers.
warn_of_unknown_variables(os.environ)

# A module process loads the files of these functions when it needs them. The parent process loads them now, because
# every worker would compile them again.
LOADED_LATE = (parse_conditions, read_error, resolve_names)

# The connections of this worker, for all items of a loop and all attempts of until. They end with the worker.
CONNECTIONS = AdapterPool()

# The name of the action group in module_defaults.
GROUP = "group/virtinfra.manager.api"

# The module that does the work of a role.
WORKFLOW = "workflow"

display = Display()


def find_group_defaults(task: Any) -> dict[str, Any]:
    """Return the defaults of the action group that apply to a task. Defaults of inner blocks replace others."""
    defaults: dict[str, Any] = {}
    for module_defaults in task.module_defaults:
        defaults = module_defaults.get(GROUP) or defaults
    return defaults


def is_become_a_keyword(task: Any) -> bool:
    """Return whether the keyword asks for become, not a variable, the command line or the configuration."""
    return bool(task.become) and not ansible.context.CLIARGS.get("become")


class ActionModule(ActionBase):
    """Runs the MODULE of the module with this name, or starts a module process if the task requires one."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of the task, the same as that of a module process."""
        super().run(tmp, task_vars)
        name = self._task.action.rpartition(".")[2]
        full_name = f"virtinfra.manager.{name}"
        self._label = name_task(self._task, task_vars or {})
        self._profiles = Profiles.from_loader(self._loader)
        variables: dict[str, Any] = {}
        self._compute_environment_string(variables)
        warn_of_unknown_variables(variables)
        spec = load_spec(name)
        self._task.args = decrypt_values(self._remove_unsupported_defaults(spec))
        try:
            if spec.only_in_controller:
                refuse_repeated_run(self._task, task_vars or {})
            require_one_service(self._task, (GROUP, full_name), self._templar, task_vars or {})
            arguments = unify_values(spec.all_options, self._complete_options(full_name, spec, variables))
            with patch_environ(variables):
                check_forms(spec.all_options, arguments, record_type=spec.record_type, module=name)
            spec.refuse_contradictions(arguments)
            register_secrets(spec, arguments)
        except VirtinfraError as failure:
            masked: dict[str, Any] = build_masker(spec, self._task.args).mask_value(describe_failure(failure))
            return masked
        obstacle = self._find_obstacle((task_vars or {}).get("inventory_hostname"))
        if obstacle is None:
            with patch_environ(variables):
                result = self._run_in_process(full_name, spec, arguments, task_vars or {}, variables)
        elif spec.only_in_controller:
            role = self._task.args.get("role") if name == WORKFLOW else None
            runner = f"the role {role}" if role else name
            return describe_failure(InvalidOptions(f"{runner} runs only inside the controller, but {obstacle}"))
        else:
            result = self._run_in_module_process(full_name, spec, arguments, variables, task_vars)
        if result.get("failed") and MISSING_ADDRESS in str(result.get("msg")):
            result["msg"] += describe_unread_address(task_vars or {})
        if spec.secret_results and not result.get("failed"):
            # The result contains a secret that later tasks use, so Ansible must not show it.
            result["_ansible_no_log"] = True
        return result

    def _run_in_module_process(
        self,
        full_name: str,
        spec: ModuleSpec,
        arguments: dict[str, Any],
        variables: dict[str, Any],
        task_vars: dict[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the result of a module process. ``variables`` are the environment variables of the task."""
        if spec.can_change_objects:
            suspend_names()
        process = ModuleProcess(self, spec, self._label, Hooks(Masker(), on_request=self._choose_request_log()))
        try:
            result = process.run(full_name, arguments, variables, task_vars)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            raise AnsibleError(f"{error}{self._explain_become()}") from error
        if self._task.check_mode and result.get("changed"):
            note_prediction(spec.own_types)
        if result.get("failed") and "error" not in result:
            result["msg"] = f"{result.get('msg', '')}{self._explain_become()}"
        return result

    def _complete_options(self, full_name: str, spec: ModuleSpec, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the task with those of its profile. ``variables`` are those of its environment."""
        options = self._task.args
        if "tags" in options:
            options = keep_other_tags(options, self._find_defaults(full_name))
        arguments = spec.mark_nulls(options, list_created() if self._task.check_mode else ())
        if arguments.get("profile") is None and VARIABLE in variables:
            arguments = {**arguments, "profile": variables[VARIABLE]}
        return self._profiles.complete(arguments)

    def _remove_unsupported_defaults(self, spec: ModuleSpec) -> dict[str, Any]:
        """Return the options of the task without defaults of the action group that the module does not support.

        A default may be meant for all modules with such an option, for example C(webhook_url). A name that no module
        has is kept, so that it is reported as an error.
        """
        arguments: dict[str, Any] = self._task.args
        supported = spec.argument_spec.keys() - set(spec.unsupported)
        unsupported = [name for name in arguments if name in GROUP_OPTIONS and name not in supported]
        if not unsupported:
            return arguments
        defaults = self._templar.template(find_group_defaults(self._task))
        ignored = {name for name in unsupported if name in defaults and defaults[name] == arguments[name]}
        return {name: value for name, value in arguments.items() if name not in ignored}

    def _find_defaults(self, name: str) -> dict[str, Any]:
        """Return the defaults of the play for a module that the task runs: those of its group, and its own."""
        defaults: dict[str, Any] = dict(self._templar.template(find_group_defaults(self._task)))
        for module_defaults in self._task.module_defaults:
            # The defaults of a module can be a template, too.
            defaults.update(self._templar.template(module_defaults.get(name)) or {})
        defaults_with_secrets: dict[str, Any] = decrypt_values(defaults)
        return defaults_with_secrets

    def _find_obstacle(self, host: str | None) -> str | None:
        """Return why the task must run in a module process, with what to do, or None if it runs in the controller.

        A default for all hosts, such as the variable C(ansible_become), reaches localhost, too. A module needs the
        rights of no other user there, so only the keyword asks for a module process.
        """
        connection = str(getattr(self._connection, "transport", "")).rpartition(".")[2]
        # The connection and become of some workflows are for the modules that they run.
        is_workflow = self._task.action.endswith(WORKFLOW)
        is_of_modules = is_workflow and runs_on_hosts(self._task.args.get("role"))
        if self._task.async_val:
            return "the task has the keyword async. Remove it"
        if connection != "local" and not is_of_modules:
            # With connection: local, the role would run for each host of the play.
            is_of_hosts = is_workflow and not (self._task.delegate_to or is_localhost(str(host)))
            remedy = "hosts: localhost in the play" if is_of_hosts else "connection: local or delegate_to: localhost"
            return f"the connection of the task is {connection}. Set {remedy}"
        if self._connection.become and is_become_a_keyword(self._task) and not is_of_modules:
            return "the keyword become is true for the task, its block or its play. Set become: false for the task"
        if not HAS_REQUESTS:
            install = shlex.join([sys.executable, "-m", "pip", "install", "requests"])
            return f"its Python {sys.executable} lacks the library requests. Install it: {install}"
        return None

    def _explain_become(self) -> str:
        """Return a sentence for the failure of a process that did not start, which names the default for become."""
        if not self._connection.become or is_become_a_keyword(self._task):
            return ""
        return (
            " This task uses become because of the variable ansible_become, the command line or the configuration. If"
            " it needs no become, set ansible_become to false for its host."
        )

    def _run_in_process(
        self,
        name: str,
        spec: ModuleSpec,
        arguments: dict[str, Any],
        task_vars: dict[str, Any],
        variables: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the result. ``variables`` are the environment variables of the task."""
        parent, mover = ParentWatch(), MoverRunner(self, task_vars, variables)
        spec = _choose_run(self, name, spec, arguments, task_vars, mover)
        validation = ArgumentSpecValidator(spec.argument_spec, **spec.constraints).validate(arguments)
        params = validation.validated_parameters
        masker = build_masker(spec, params)
        if validation.error_messages:
            message = describe_option_errors(name, validation.errors.errors)
            error = InvalidOptions(masker.mask_text(message))
            result: dict[str, Any] = {"failed": True, "msg": str(error), "error": error.error}
        else:
            hooks = Hooks(
                masker,
                on_progress=None if self._task.no_log else partial(show_progress, self._label),
                on_request=self._choose_request_log(),
                before_send=parent.check,
                outlive_parent=parent.dismiss,
                new_store=FileStore,
                new_lock=RunLock,
                note_prediction=note_prediction,
                note_changes=note_changes if ansible.context.CLIARGS.get("check") else ignore_changes,
                list_predicted=list_predicted if self._task.check_mode else dict,
                connections=CONNECTIONS,
                is_hidden=bool(self._task.no_log),
            )
            result = self._execute(spec, params, hooks)
        if warnings := [*spec.find_alias_warnings(arguments), *result.pop("warnings", ())]:
            result["warnings"] = warnings
        # Newer versions of core show the invocation only on demand; older versions lack the option and always show it.
        if getattr(ansible.constants, "INJECT_INVOCATION", True):
            result["invocation"] = masker.mask_value({"module_args": params})
        return result

    def _execute(self, spec: ModuleSpec, params: Mapping[str, Any], hooks: Hooks) -> dict[str, Any]:
        """Execute the module. If it is stopped during a call, report the call in the result or at least in a line."""
        with raise_on_signals():
            try:
                outcome = execute(Task(spec, params, self._task.check_mode), hooks)
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

    def _choose_request_log(self) -> Callable[[str], None] | None:
        is_logged = display.verbosity >= REQUEST_LOG_VERBOSITY and not self._task.no_log
        return (lambda line: display.vvv(f"{self._label}: {line}")) if is_logged else None


def _choose_run(
    action: ActionModule,
    name: str,
    spec: ModuleSpec,
    arguments: dict[str, Any],
    task_vars: dict[str, Any],
    mover: MoverRunner,
) -> ModuleSpec:
    """Return the description of a module with what only the controller can do, if that is its work."""
    batch = partial(
        run_objects,
        action._find_defaults,
        shows_diff=action._task.diff,
        profiles=action._profiles,
        # The defaults for all modules must not reach the objects of a module that refuses the option.
        given={**arguments, **dict.fromkeys(spec.unsupported)},
    )
    reading = (task_vars, action._templar.template, action._loader.load_from_file)
    runs = {
        "batch": batch,
        WORKFLOW: partial(run_workflow, *reading, batch, mover=mover, shows_diff=action._task.diff),
    }
    run = runs.get(name.rpartition(".")[2])
    return replace(spec, run=run) if run else spec
