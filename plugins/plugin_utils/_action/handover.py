"""Run a task in a module process, and hand over its credentials.

Everyone on the host can read the command line of a module process, which contains its environment variables. So
credentials are passed as options and, where possible, a session in place of the password of an account.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ...module_utils._modules.process import FOUND_ZONE, OWN_SESSION, REQUEST_LOG, mark_own_session
from ...module_utils._api.errors import InvalidOptions, LoginFailed, VirtinfraError
from ...module_utils._client.client import Hooks
from ...module_utils._client.sessions import AccountSession
from ...module_utils._client.stores import ServerFacts
from ...module_utils._client.time_zones import choose_zone, remember_zone
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._modules.options import CONNECTION
from ...module_utils._modules.run import describe_failure
from ...module_utils._modules.spec import ModuleSpec
from .._run.sessions import FileFacts, FileStore, TaskSession
from .environment import patch_environ, pop_credentials

# The timeout, in seconds, of a request to log in for a module process, which can also log in itself.
HANDOVER_TIMEOUT = 10.0

UNOBSERVED = (
    "Nothing registers the result of this task with poll 0, so nobody notices if it fails. Register it, and wait for it"
    " with async_status."
)


@dataclass(frozen=True)
class Handover:
    """The options of a module process, and the session that it uses or replaces.

    ``task_session`` is a session that only this process uses. ``account_session`` is the session of the run if the
    process logs in instead of using it. ``facts`` remembers the time zone that a process with an access key finds.
    """

    arguments: dict[str, Any]
    task_session: TaskSession | None = None
    account_session: AccountSession | None = None
    facts: ServerFacts | None = None


class ModuleProcess:
    """Runs the task of an action plugin in a module process. ``label`` names the task in messages."""

    def __init__(self, action: ActionBase, spec: ModuleSpec, label: str, hooks: Hooks) -> None:
        self._action, self._spec, self._label, self._hooks = action, spec, label, hooks
        self._task = action._task

    def run(
        self, name: str, arguments: Mapping[str, Any], variables: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the result of the module ``name``. ``variables`` are the environment variables of the task."""
        if self._spec.secret_results and self._task.async_val:
            return describe_failure(InvalidOptions(f"{name} cannot be used with async, which would show its result"))
        credentials = pop_credentials(variables)
        supported = {option: value for option, value in credentials.items() if option in self._spec.argument_spec}
        try:
            with patch_environ(variables):
                # The options are those of the profile already, and the host of the process must not name another one.
                handover = self._hand_over({**supported, **arguments, "profile": ""})
        except VirtinfraError as failure:
            return describe_failure(failure)
        result = self._start(name, handover, variables, task_vars)
        for line in result.pop(REQUEST_LOG, ()):
            self._hooks.log_request(line)
        zone = result.pop(FOUND_ZONE, None)
        if handover.facts and zone:
            remember_zone(handover.facts, zone)
        if handover.account_session and result.get("operation") == "LogInByAccount":
            handover.account_session.remember_failure(result)
        return result

    @property
    def _is_detached(self) -> bool:
        """Whether the task may outlive the run."""
        return bool(self._task.async_val and not self._task.poll)

    def _hand_over(self, arguments: dict[str, Any]) -> Handover:
        """Return the options of the process, with the session of this run instead of the password of an account.

        A module that returns a new session gets the password and logs in. So does every module if only the host of its
        process can reach the service. Raise LoginFailed when the service refuses the account.
        """
        validation = ArgumentSpecValidator(CONNECTION).validate(
            {name: value for name, value in arguments.items() if name in CONNECTION}
        )
        params = validation.validated_parameters
        if not validation.error_messages and params["access_key_id"]:
            return _hand_over_zone(arguments, params)
        if validation.error_messages or params["session_id"] or not params["account"]:
            return Handover(arguments)
        with_password = {
            **arguments,
            "account": params["account"],
            "account_password": params["account_password"],
            "session_id": None,
        }
        try:
            connection = ConnectionOptions.from_params(params)
        except VirtinfraError:
            return Handover(with_password)
        hooks = replace(self._hooks, masker=connection.create_masker())
        account_session = AccountSession(_limit_login(connection), hooks, FileStore(connection))
        try:
            if self._spec.secret_results:
                account_session.raise_refusal()
                return Handover(arguments, account_session=account_session)
            return self._hand_over_session(arguments, connection, account_session)
        except VirtinfraError as failure:
            if isinstance(failure, LoginFailed) and failure.is_refusal:
                raise
            return Handover(with_password, account_session=account_session)

    def _hand_over_session(
        self, arguments: dict[str, Any], connection: ConnectionOptions, account_session: AccountSession
    ) -> Handover:
        """Return the options of the process with a session.

        A task that may outlive the run gets a session of its own, unless its process will refuse the options.
        """
        task_session = None
        if self._is_detached and self._accepts(arguments):
            task_session = TaskSession(connection, account_session.create_session())
        session_id = task_session.session_id if task_session else account_session.get_valid_session()
        with_session = {**arguments, "account": None, "account_password": None, "session_id": session_id}
        return Handover(with_session, task_session)

    def _accepts(self, arguments: dict[str, Any]) -> bool:
        """Return whether the module process will accept these options."""
        validator = ArgumentSpecValidator(self._spec.argument_spec, **self._spec.constraints)
        return not validator.validate(arguments).error_messages

    def _start(
        self, name: str, handover: Handover, variables: dict[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Run the process, which ends the session of the task. End that session if no process starts."""
        session, task_environment = handover.task_session, self._task.environment
        mark = {OWN_SESSION: mark_own_session(session.session_id)} if session else {}
        with ExitStack() as not_started:
            if session:
                not_started.callback(session.end)
            try:
                self._task.environment = [{**variables, **mark}]
                result = dict(
                    self._action._execute_module(
                        module_name=name,
                        module_args=handover.arguments,
                        task_vars=task_vars,
                        wrap_async=self._task.async_val,
                    )
                )
            finally:
                # The environment is restored, because a retry of the task adds its credentials again.
                self._task.environment = task_environment
            if job := result.get("ansible_job_id"):
                not_started.pop_all()
                if session:
                    session.watch(f"{self._label} (async job {job})")
                if self._is_detached and not self._task.register:
                    result["warnings"] = [*result.get("warnings", ()), UNOBSERVED]
        return result


def _hand_over_zone(arguments: dict[str, Any], params: Mapping[str, Any]) -> Handover:
    """Return the options of a process with an access key: the time zone is the one that the run knows.

    It is that of the controller if neither the run nor the options know another one. The zone of the host on which the
    process runs says nothing about the service.
    """
    try:
        connection = ConnectionOptions.from_params(params)
    except VirtinfraError:
        return Handover(arguments)
    key, facts = connection.access_key, FileFacts(connection)
    if key is None:
        return Handover(arguments)
    return Handover({**arguments, "access_key_time_zone": choose_zone(key, facts).describe_zone()}, facts=facts)


def _limit_login(connection: ConnectionOptions) -> ConnectionOptions:
    """Return the options for a login whose failure the module process can still avoid by logging in itself."""
    return replace(connection, request_retries=0, request_timeout=min(connection.request_timeout, HANDOVER_TIMEOUT))
