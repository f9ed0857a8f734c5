# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""What a module is: a Task. It runs in a module process (here) or in the controller (the action ``api``)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any

from ansible.module_utils import basic
from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    BadInput,
    Bug,
    Failure,
    WaitTimeout,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import Job, Wait
from ansible_collections.virtinfra.manager.plugins.module_utils._options import CONNECTION, TAGS, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, camel
from ansible_collections.virtinfra.manager.plugins.module_utils._secrets import secrets_of
from ansible_collections.virtinfra.manager.plugins.module_utils._transport import Clock

# At this verbosity a module process returns a line about each request in this member, which the action takes out and
# shows. In the result of an asynchronous task the member stays.
REQUEST_LOG_VERBOSITY = 3
REQUEST_LOG = "virtinfra_requests"

# Options with these endings name something: an empty text is a mistake there, not a value.
IDENTIFIERS = ("uuid", "name", "url", "_uuid", "_ip", "_mac", "_address", "user_id", "username")


@dataclass
class Context:
    """One run of a task: the validated options, the service, and what is to be told besides the result.

    ``wanted`` holds the module's own options that were given, by their API names. ``changed`` turns true when a call
    has succeeded.
    """

    params: Mapping[str, Any]
    wanted: Record
    client: Client
    check_mode: bool = False
    changed: bool = False
    done: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Interrupted(BaseException):
    """A task was stopped from outside while a call was under way; ``facts`` are members of its result."""

    def __init__(self, job: Job, done: list[str]) -> None:
        super().__init__(f"{job.operation} may still run in the service; job_wait can take up the job {job.uuid}")
        error = WaitTimeout(str(self)).error
        self.facts = {"error": error, "changed": True, "job": job.handle(), **({"done": done} if done else {})}


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the result as Ansible takes it (with ``failed`` and ``msg`` after a failure) and warnings."""

    result: dict[str, Any]
    warnings: list[str]


@dataclass(frozen=True)
class Task:
    """A module: the function that does it, its own options, the operations that it calls, and the options' rules.

    ``shared`` are the option groups that it takes besides those of the connection.
    """

    run: Callable[[Context], dict[str, Any]]
    options: Options
    operations: tuple[str, ...] = ()
    shared: tuple[Options, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def argument_spec(self) -> dict[str, Any]:
        """All options in Ansible's form."""
        spec: dict[str, Any] = dict(CONNECTION)
        for options in (*self.shared, self.options):
            spec.update(options)
        return spec

    def execute(
        self,
        params: Mapping[str, Any],
        check_mode: bool = False,
        tell: Callable[[str], None] | None = None,
        on_request: Callable[[str], None] | None = None,
    ) -> Outcome:
        """Run with validated options. This is the one place where a Failure becomes a failed result.

        Raises Interrupted when something from outside stops it while a call is under way.
        """
        context = None
        try:
            with connect(params, check_mode, tell, on_request) as client:
                context = Context(params, self._wanted(params), client, check_mode)
                result = self.run(context)
            return Outcome({"changed": context.changed, **result}, context.warnings)
        except Failure as failure:
            return self._failed(context, failure)
        except Exception as mistake:
            # Its text may hold anything, so it takes the way on which secrets are taken out.
            bug = Bug(f"This is a bug of the collection: {type(mistake).__name__}: {mistake}", exception=format_exc())
            return self._failed(context, bug)
        except BaseException as stop:
            if context is None or (job := context.client.unfinished) is None:
                raise
            raise Interrupted(job, context.done) from stop

    def _failed(self, context: Context | None, failure: Failure) -> Outcome:
        """Return the failed result; docs/errors.md lists its members."""
        result = {
            "failed": True,
            "msg": str(failure),
            "error": failure.error,
            "changed": bool(context and context.changed),
            **({"done": context.done} if context and context.done else {}),
            **failure.facts,
        }
        return Outcome(result, context.warnings if context else [])

    def run_as_module(self) -> None:
        """Run in a module process."""
        # Linters replace the class in its module to learn the options, so it is looked up there when it is needed.
        module = basic.AnsibleModule(argument_spec=self.argument_spec, supports_check_mode=True, **self.rules)
        module.no_log_values = secrets_of(self.argument_spec, module.params)
        requests: list[str] = []
        logged = module._verbosity >= REQUEST_LOG_VERBOSITY and not module.no_log
        outcome = self.execute(module.params, module.check_mode, None, requests.append if logged else None)
        if requests:
            outcome.result[REQUEST_LOG] = requests
        for warning in outcome.warnings:
            module.warn(warning)
        # Without this the interpreter takes 27 ms longer to end, for it collects all that requests brought.
        gc.freeze()
        if outcome.result.get("failed"):
            module.fail_json(**outcome.result)
        module.exit_json(**outcome.result)

    def _wanted(self, params: Mapping[str, Any]) -> Record:
        wanted = {}
        for name in (*self.options, *(TAGS if TAGS in self.shared else ())):
            value = params.get(name)
            if isinstance(value, str):
                value = value.strip()
                if not value and name.endswith(IDENTIFIERS):
                    raise BadInput(f"{name} must not be empty")
            if value is not None:
                # Ansible makes a list of an empty text in this way.
                wanted[camel(name)] = [] if value == [""] else value
        return wanted


def connect(
    params: Mapping[str, Any],
    read_only: bool = False,
    tell: Callable[[str], None] | None = None,
    on_request: Callable[[str], None] | None = None,
) -> Client:
    """Return a client for validated options."""
    options = {name: params[name] for name in CONNECTION}
    options["base_url"] = options["base_url"] or ""
    waiting = {name: params[f"wait_{name}"] for name in ("timeout", "interval") if f"wait_{name}" in params}
    sending = {name: params.get(name) for name in ("job_uuid", "webhook_url", "api_timeout")}
    return Client(
        ConnectionOptions(**options), read_only, Wait(Clock, tell=tell, **waiting), on_request=on_request, **sending
    )
