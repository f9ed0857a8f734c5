# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The description of a module, `ModuleSpec`, and its run inside the controller or in a module process."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from traceback import format_exc
from typing import Any

from ansible.module_utils import basic
from ansible.module_utils.errors import AnsibleValidationError, UnsupportedError

from .._api.errors import (
    Bug,
    InvalidOptions,
    VirtinfraError,
)
from .._api.operations import OPERATIONS
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    to_snake_case,
)
from .._client.client import CallOptions
from .._client.jobs import RUNNING, UNKNOWN
from .._client.names import resolve_names
from .._client.sessions import end_session, open_client
from .._engine.context import ModuleContext, TaskInterrupted
from .._http.connection import ConnectionOptions
from .._http.hooks import Hooks
from .._http.webhooks import Webhook
from .._masking.masker import (
    MIN_SECRET_LENGTH,
    Masker,
    collect_secrets,
)
from .._masking.terminal import escape_controls
from .options import Options, TaskOptions

# At this verbosity a module process returns a line for each request in this member, which the action plugin removes and
# shows. In the result of an asynchronous task the member remains.
REQUEST_LOG_VERBOSITY = 3
REQUEST_LOG = "virtinfra_requests"

# The environment variable with the mark of a session that the controller created for one module process, which ends it.
# It is on the command line, so it does not contain the session.
OWN_SESSION = "VIRTINFRA_OWN_SESSION"


@dataclass(frozen=True)
class ModuleResult:
    """The outcome of a run: the result for Ansible, with ``failed`` and ``msg`` after a failure, and warnings."""

    result: dict[str, Any]
    warnings: list[str]


@dataclass(frozen=True)
class ModuleSpec(TaskOptions):
    """A module: its function, its own options, the operations that it calls, and the constraints on its options.

    ``shared_options`` are further option groups, in addition to the connection's. ``selecting_options`` are not
    required, but select the object of the module when they are given. ``secret_results`` are members of the result for
    later tasks: they are not masked, but the result of a success is not shown.
    """

    run: Callable[[ModuleContext], dict[str, Any]]
    options: Options
    operations: tuple[str, ...] = ()
    shared_options: tuple[Options, ...] = ()
    constraints: Mapping[str, Any] = field(default_factory=dict)
    selecting_options: tuple[str, ...] = ()
    secret_results: tuple[str, ...] = ()

    def masker(self, params: Mapping[str, Any]) -> Masker:
        """Return the masker of the secrets in these options."""
        return Masker(
            collect_secrets(self.argument_spec, params), lambda: _documented_names() | self.argument_spec.keys()
        )

    def execute(self, params: Mapping[str, Any], check_mode: bool, hooks: Hooks) -> ModuleResult:
        """Run with validated options and return the result without the secrets of the masker in ``hooks``.

        This is the only place where a VirtinfraError becomes a failed result, where secrets are masked in all output,
        and where control characters are removed from messages and warnings. Raise TaskInterrupted when an exception
        from outside, or from the hook ``before_send``, stops it during a call.
        """
        outcome = self._run(params, check_mode, hooks)
        result = self._masked(outcome.result, hooks.masker)
        if check_mode:
            # The events of a job show it in no other way.
            result["check_mode"] = True
        # After masking, which must find the secrets unchanged.
        if "msg" in result:
            result["msg"] = escape_controls(result["msg"])
        if "exception" in result:
            result["exception"] = "\n".join(map(escape_controls, result["exception"].split("\n")))
        return ModuleResult(result, [escape_controls(hooks.masker.mask_text(warning)) for warning in outcome.warnings])

    def _run(self, params: Mapping[str, Any], check_mode: bool, hooks: Hooks) -> ModuleResult:
        context = None
        try:
            params = self.with_references(params, check_mode)
            connection = ConnectionOptions.from_params(params)
            if "LogInByAccount" in self.operations and connection.account_password:
                # The session among the options is the object of the task, not its credential.
                connection = replace(connection, session_id=None)
            with open_client(connection, call_options(params, check_mode), hooks) as client:
                params = resolve_names(client, params, self.parameters)
                has_null_key = isinstance(params.get("uuid"), NullReference) or any(self.null_selecting_options(params))
                desired = self.desired(params)
                context = ModuleContext(params, desired, client, check_mode, check_mode and has_null_key)
                result = self.run(context)
            return ModuleResult({"changed": context.changed, **result}, context.warnings)
        except VirtinfraError as failure:
            return self._failed(context, failure)
        except Exception as mistake:
            bug = Bug(f"This is a bug in the collection: {type(mistake).__name__}: {mistake}", exception=format_exc())
            return self._failed(context, bug)
        except BaseException as stop:
            jobs = context.client.jobs if context else []
            if context and jobs and jobs[-1].state in (RUNNING, UNKNOWN):
                raise TaskInterrupted(jobs[-1], context.completed_operations, hooks.masker) from stop
            raise

    def _failed(self, context: ModuleContext | None, failure: VirtinfraError) -> ModuleResult:
        """Return the failed result; the guide Errors lists its members."""
        result = {
            "failed": True,
            "msg": str(failure),
            "error": failure.error,
            "changed": bool(context and context.changed),
            **({"done": context.completed_operations} if context and context.completed_operations else {}),
            **failure.result,
        }
        return ModuleResult(result, context.warnings if context else [])

    def _masked(self, result: Mapping[str, Any], masker: Masker) -> dict[str, Any]:
        shown = () if result.get("failed") else self.secret_results
        return {name: value if name in shown else masker.mask_value(value) for name, value in result.items()}

    def run_as_module(self) -> None:
        """Run in a module process."""
        task = self

        # Linters replace the class in its module to read the options, so it is looked up there when it is needed.
        class Module(basic.AnsibleModule):
            """An AnsibleModule that masks all its output, also for invalid options; Ansible itself masks less."""

            params: dict[str, Any]

            def exit_json(self, **result: Any) -> None:
                super().exit_json(**self._masked(result))

            def fail_json(self, msg: str, **result: Any) -> None:
                # Without an error, the failure is Ansible's own: it does not accept the options.
                if "error" not in result and (errors := self.validation_result.errors.errors):
                    msg = options_message(self._name, errors)
                super().fail_json(**self._masked({"msg": msg, "error": InvalidOptions(msg).error, **result}))

            def log(self, msg: str, log_args: Mapping[str, Any] | None = None) -> None:
                """Write to the system log, where Ansible does not mask options without C(no_log)."""
                masker = task.masker(self.params)
                arguments = {name: masker.mask_text(str(value)) for name, value in (log_args or {}).items()}
                super().log(masker.mask_text(msg), arguments)

            def _masked(self, result: dict[str, Any]) -> dict[str, Any]:
                masker = task.masker(self.params)
                # Ansible would mask the characters of a very short secret in every word.
                secrets = collect_secrets(task.argument_spec, self.params)
                secrets -= {result.get(name) for name in task.secret_results}
                self.no_log_values = {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}
                self.params = masker.mask_value(self.params)
                return task._masked(result, masker)

        module = Module(argument_spec=self.argument_spec, supports_check_mode=True, **self.constraints)
        requests: list[str] = []
        logged = module._verbosity >= REQUEST_LOG_VERBOSITY and not module.no_log
        hooks = Hooks(self.masker(module.params), on_request=requests.append if logged else None)
        with own_session_ended(module.params, hooks):
            outcome = self.execute(module.params, module.check_mode, hooks)
        if requests:
            outcome.result[REQUEST_LOG] = requests
        for warning in outcome.warnings:
            module.warn(warning)
        # Without this the interpreter takes 27 ms longer to exit, because it collects all objects of requests.
        gc.freeze()
        if outcome.result.get("failed"):
            module.fail_json(**outcome.result)
        module.exit_json(**outcome.result)


def own_session_mark(session_id: str) -> str:
    """Return the value of OWN_SESSION for a session."""
    return hashlib.sha256(session_id.encode()).hexdigest()


@contextmanager
def own_session_ended(params: Mapping[str, Any], hooks: Hooks) -> Iterator[None]:
    """Log out after the task, if the controller created the session for this process only."""
    session_id = params["session_id"]
    try:
        yield
    finally:
        if session_id and os.environ.get(OWN_SESSION) == own_session_mark(session_id):
            end_session(ConnectionOptions.from_params(params), session_id, hooks)


def options_message(name: str, errors: Iterable[AnsibleValidationError]) -> str:
    """Return the message about options of the module ``name`` that Ansible does not accept.

    A misspelt option comes first, because it can also be the one that another error misses.
    """
    first = min(errors, key=lambda error: not isinstance(error, UnsupportedError))
    is_misspelt = isinstance(first, UnsupportedError)
    return f"Unsupported parameters for ({name}) module: {first.msg}" if is_misspelt else str(first.msg)


# Members of results that the tables of operations and records do not contain.
_OWN_NAMES = "module_args before after uuid location operation state result error code description details cause causes"


@lru_cache(maxsize=1)
def _documented_names() -> frozenset[str]:
    """Return the documented member names of results, which are never masked."""
    names = {*_OWN_NAMES.split(), *(name for fields in RECORD_FIELDS.values() for name in fields)}
    for operation in OPERATIONS.values():
        names.update(operation.parameters, operation.result)
    return frozenset({*names, *map(to_snake_case, names)})


def call_options(params: Mapping[str, Any], check_mode: bool) -> CallOptions:
    """Return how a task makes its calls; a module does not have all of these options."""
    waiting = {name: params[name] for name in ("wait_timeout", "wait_interval") if name in params}
    webhook = Webhook(params.get("webhook_url"), params.get("webhook_key"))
    return CallOptions(read_only=check_mode, webhook=webhook, api_timeout=params.get("api_timeout"), **waiting)
