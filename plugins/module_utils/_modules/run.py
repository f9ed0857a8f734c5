"""The run of a module: its options become a `ModuleContext`, and its outcome a result without secrets."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property, lru_cache
from traceback import format_exc
from typing import Any, NamedTuple

from ansible.module_utils.errors import AnsibleValidationError, UnsupportedError

from .._api.errors import Bug, InvalidOptions, NotFound, TransportError, Unsupported, VirtinfraError
from .._api.operation import ABSENT
from .._api.operations import OPERATIONS
from .._api.records import RECORD_FIELDS, Record, to_snake_case
from .._api.references import list_names
from .._api.resource_types import REFERS_TO
from .._client.client import CallOptions, Client, Hooks, open_session_client
from .._client.jobs import FAILED, RUNNING, UNKNOWN
from .._client.replies import doubts_prefix
from .._engine.context import ModuleContext, TaskInterrupted
from .._http.connection import ConnectionOptions
from .._http.webhooks import Webhook
from .._masking.masker import Masker, collect_secrets
from .._masking.terminal import escape_controls
from .spec import ModuleSpec


class ModuleResult(NamedTuple):
    """The outcome of a run: the result for Ansible, with ``failed`` and ``msg`` after a failure, and warnings."""

    result: dict[str, Any]
    warnings: list[str]


class Task:
    """A module with the options of a task, as Ansible has validated them. What they mean is found out once."""

    def __init__(self, spec: ModuleSpec, options: Mapping[str, Any], check_mode: bool) -> None:
        self.spec, self.check_mode, self._options = spec, check_mode, options

    @cached_property
    def params(self) -> Record:
        """The options with normalized references. Raise InvalidOptions."""
        return self.spec.with_references(self._options, self.check_mode)

    @cached_property
    def connection(self) -> ConnectionOptions:
        """The connection among the options. Raise InvalidOptions."""
        return self.spec.connection(self.params)

    def predict(self) -> Task:
        """Return the task in check mode, in which it sends only reads."""
        task = Task(self.spec, self._options, check_mode=True)
        task.connection = self.connection
        return task

    def open_client(self, hooks: Hooks) -> AbstractContextManager[Client]:
        """Open a client. A module process usually gets a session, so it loads the code for logins only for an account.

        Raise InvalidOptions.
        """
        options = _build_call_options(self.params, self.check_mode)
        if not self.connection.needs_login:
            return open_session_client(self.connection, options, hooks)
        from .._client.sessions import open_client

        return open_client(self.connection, options, hooks)

    def check(self, hooks: Hooks) -> None:
        """Raise InvalidOptions for options that `execute` would refuse before it sends anything."""
        with self.open_client(hooks):
            desired = self.spec.read_desired(self.params)
        if self.spec.check:
            self.spec.check(desired, self.check_mode)


def execute(task: Task, hooks: Hooks) -> ModuleResult:
    """Run a task and return the result without the secrets of the masker in ``hooks``.

    This is the only place where a VirtinfraError becomes a failed result, where secrets are masked in all output,
    and where control characters are removed from messages and warnings. Raise TaskInterrupted when an exception
    from outside, or from the hook ``before_send``, stops it during a call.
    """
    outcome = _run(task, hooks)
    result = mask_result(task.spec, outcome.result, hooks.masker, hooks.is_hidden)
    if task.check_mode:
        # The job events of Automation Controller show check mode only by the member check_mode.
        result["check_mode"] = True
    # Control characters are escaped after masking, because masking finds only unchanged secrets.
    if "msg" in result:
        result["msg"] = escape_controls(result["msg"])
    if "exception" in result:
        result["exception"] = "\n".join(map(escape_controls, result["exception"].split("\n")))
    return ModuleResult(result, [escape_controls(hooks.masker.mask_text(warning)) for warning in outcome.warnings])


def _run(task: Task, hooks: Hooks) -> ModuleResult:
    """Run a task and return the result with its secrets."""
    try:
        with task.open_client(hooks) as client:
            outcome = _run_with_client(task, client)
            if _is_due_to_outdated_name(outcome, task.params, client):
                client.names.forget()
                outcome = _run_with_client(task, client)
            outcome = _explain_prefix(outcome, client)
            outcome.warnings.extend(client.prefix.warnings)
        return outcome
    except VirtinfraError as failure:
        return _build_failure(None, failure)
    except Exception as mistake:
        return _build_failure(None, _describe_mistake(mistake))


def _explain_prefix(outcome: ModuleResult, client: Client) -> ModuleResult:
    """Return the outcome; if the path prefix is wrong, its message says only this, because nothing else would help.

    If the prefix is right, the message does not doubt it.
    """
    result = outcome.result
    is_unsupported = result.get("failed") and result["error"]["code"] == Unsupported.code
    if not (is_unsupported and (client.prefix.refusal or doubts_prefix(result))):
        return outcome
    # A module process whose task succeeds does not load the code for sessions.
    from .._client.sessions import explain_refusal

    return outcome._replace(result=dict(explain_refusal(client, result)))


def _is_due_to_outdated_name(outcome: ModuleResult, params: Mapping[str, Any], client: Client) -> bool:
    """Return whether a task changed nothing because a remembered name is that of another object now.

    It has failed, or it has found nothing to remove.
    """
    result = outcome.result
    if result["changed"] or params.get("job_uuid"):
        return False
    if not result.get("failed") and params.get("state") != ABSENT:
        return False
    is_outage = result.get("failed") and result["error"]["code"] == TransportError.code
    if is_outage or any(job.state != FAILED for job in client.jobs):
        return False
    with suppress(VirtinfraError):
        return not client.names.verify()
    return False


def _run_with_client(task: Task, client: Client) -> ModuleResult:
    """Run a task and return the result with its secrets."""
    context, spec, given = None, task.spec, task.params
    params: Mapping[str, Any] = given
    try:
        params = _resolve_names(client, spec, given)
        missing = _describe_missing(spec, params) if given.get("state") == ABSENT else []
        is_object_predicted = spec.selects_predicted_object(params)
        desired = spec.read_desired(params)
        context = ModuleContext(params, desired, client, task.check_mode, is_object_predicted)
        context.warnings.extend(missing)
        result = spec.run(context)
        if params is not given:
            from .._client.names import add_given_names

            result = add_given_names(client, result, given, params, spec.parameters)
        return ModuleResult({"changed": context.changed, **result}, context.warnings)
    except VirtinfraError as failure:
        failure.message = _name_options(spec, failure.message)
        if task.check_mode and isinstance(failure, NotFound) and not client.hooks.is_in_role:
            failure.use_check_mode_remedy()
        failed = _build_failure(context, failure)
        if params is not given:
            from .._client.names import name_objects

            failed.result["msg"] = name_objects(failed.result["msg"], given, params)
        return failed
    except Exception as mistake:
        return _build_failure(context, _describe_mistake(mistake))
    except BaseException as stop:
        jobs = context.client.jobs if context else []
        if context and jobs and jobs[-1].state in (RUNNING, UNKNOWN):
            raise TaskInterrupted.during(jobs[-1], context.completed_operations, client.hooks.masker) from stop
        raise


# A parameter of an operation in a message, such as managementIp of AddKVMHost.
_OF_OPERATION = re.compile(r"(the parameter )?\b(\w+) of ([A-Z]\w+)")


def _name_options(spec: ModuleSpec, message: str) -> str:
    """Return a message with the options that the user has given in place of parameters of operations."""
    options = {parameter: option for option, parameter in spec.parameters.items()}

    def name(found: re.Match[str]) -> str:
        beginning, parameter, operation = found.groups()
        if parameter not in options or operation not in OPERATIONS:
            return found[0]
        return f"{'the option ' if beginning else ''}{options[parameter]}"

    return _OF_OPERATION.sub(name, message)


def _resolve_names(client: Client, spec: ModuleSpec, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options with uuids in place of names; the same options if they contain no name."""
    references = spec.references
    if not any(list_names(params.get(option)) for option, name in references.items() if name in REFERS_TO):
        return params
    # A module process whose options contain no name does not load the code for names.
    from .._client.names import resolve_names

    return resolve_names(client, params, references, may_be_missing=params.get("state") == ABSENT)


def _describe_missing(spec: ModuleSpec, params: Mapping[str, Any]) -> list[str]:
    """Return a warning for each name in resolved options that no object has, so that nothing of it can be removed."""
    types = {option: REFERS_TO[name] for option, name in spec.references.items() if name in REFERS_TO}
    return [
        f"{option}: no {resource_type.noun} has the name {name!r}, so nothing of it is removed."
        for option, resource_type in types.items()
        for name in list_names(params.get(option))
    ]


def _describe_mistake(mistake: Exception) -> VirtinfraError:
    """Return the failure for the exception that is being handled: a bug, unless the machine has no memory left."""
    if isinstance(mistake, MemoryError) or getattr(mistake, "errno", None) == errno.ENOMEM:
        return VirtinfraError(
            "This machine has no memory left for the task. Read or change fewer objects at a time, for example with"
            " query or concurrency, or run fewer tasks at the same time (forks)."
        )
    return Bug(f"This is a bug in the collection: {type(mistake).__name__}: {mistake}", exception=format_exc())


def _build_failure(context: ModuleContext | None, failure: VirtinfraError) -> ModuleResult:
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


def describe_failure(failure: VirtinfraError) -> dict[str, Any]:
    """Return the failed result of a task, or of an object of a batch, whose module was not started."""
    return {"failed": True, "msg": escape_controls(str(failure)), "error": failure.error}


def mask_result(spec: ModuleSpec, result: Mapping[str, Any], masker: Masker, is_hidden: bool = False) -> dict[str, Any]:
    """Return a result with secrets masked, except for the members that a success returns to later tasks."""
    returned = spec.secret_results + (spec.hidden_results if is_hidden else ())
    unmasked = () if result.get("failed") else returned
    return {name: value if name in unmasked else masker.mask_value(value) for name, value in result.items()}


def build_masker(spec: ModuleSpec, params: Mapping[str, Any]) -> Masker:
    """Return the masker of the secrets in these options."""
    secrets = collect_secrets(spec.argument_spec, params)
    return Masker(secrets, lambda: _list_documented_names() | spec.argument_spec.keys())


# Members of results that the tables of operations and records do not contain.
_OTHER_NAMES = (
    "module_args before after uuid location operation state result error code description details cause causes"
)


@lru_cache(maxsize=1)
def _list_documented_names() -> frozenset[str]:
    """Return the documented member names of results, which are never masked."""
    names = {*_OTHER_NAMES.split(), *(name for fields in RECORD_FIELDS.values() for name in fields)}
    for operation in OPERATIONS.values():
        names.update(operation.parameters, operation.result)
    return frozenset({*names, *map(to_snake_case, names)})


def _build_call_options(params: Mapping[str, Any], check_mode: bool) -> CallOptions:
    """Return the call options of a task; a module may lack some of them. Raise InvalidOptions."""
    api_timeout = params.get("api_timeout")
    if api_timeout is not None and api_timeout < 1:
        raise InvalidOptions(f"api_timeout must be at least 1 second, not {api_timeout}. Omit it for no limit")
    # Without the option wait, a task only waits, and may look once.
    if params.get("wait") and params.get("wait_timeout") == 0:
        raise InvalidOptions("wait_timeout must be more than 0 seconds. With wait: false, the task does not wait")
    waiting = {name: params[name] for name in ("wait_timeout", "wait_interval") if name in params}
    webhook = Webhook(params.get("webhook_url"), params.get("webhook_key"))
    return CallOptions(read_only=check_mode, webhook=webhook, api_timeout=api_timeout, **waiting)


def describe_option_errors(name: str, errors: Iterable[AnsibleValidationError]) -> str:
    """Return the message about options of the module ``name`` that Ansible does not accept.

    A misspelt option comes first, because another error may report the option that it stands for as missing.
    """
    first = min(errors, key=lambda error: not isinstance(error, UnsupportedError))
    if isinstance(first, UnsupportedError):
        return f"Unsupported parameters for ({name}) module: {first.msg}"
    return _EXCLUSIVE.sub(_describe_exclusive, _REQUIRED_IF.sub(_describe_required_if, str(first.msg)))


# What Ansible says of options of which a task may have one.
_EXCLUSIVE = re.compile(r"parameters are mutually exclusive: ([^,]+).*")

# What Ansible says of options that the value of another one requires.
_REQUIRED_IF = re.compile(r"(\w+) is (\S+) but (all|any) of the following are missing: (.+)")


def _describe_exclusive(found: re.Match[str]) -> str:
    """Return which options cannot be given together, the first ones only, and what to do about it."""
    # Only failures need it.
    from .words import REMARKS

    names = " and ".join(found[1].split("|"))
    return f"{names} cannot be used together. {REMARKS.get(found[1], 'Remove one of them')}"


def _describe_required_if(found: re.Match[str]) -> str:
    """Return what is missing, without the assumption that the user has given the value: it may be the default."""
    option, value, number, missing = found.groups()
    names = missing.split(", ")
    if number == "any" and len(names) > 1:
        return f"one of {missing} is required with {option} {value}"
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} required with {option} {value}"
