"""Log in with an account, log out, share the session of an account between calls, and open a client with it."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from .._api.error_code import add_causes, list_error_codes
from .._api.errors import (
    ApiError,
    LoginFailed,
    ResponseLost,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from .._api.operations import get_operation
from .._http.connection import CREDENTIAL_OPTIONS, ConnectionOptions
from .._http.hooks import do_nothing
from .._http.transport import MAX_OUTAGE
from .client import CallOptions, Client, Hooks, create_client, get_without_credentials, open_session_client
from .replies import build_unsupported_error, drop_doubt
from .stores import SessionStore
from .waiting import wait_for_job

# How often a login whose response is lost is retried, and the first pause, in seconds; the pauses double. A session
# that no client knows expires.
MAX_LOGIN_RETRIES = 3
LOGIN_BACKOFF = 0.3

# The code with which the service refuses a login because the account has too many sessions, and the growth of the
# elapsed time after which the login is tried again: sessions of other runs end.
_TOO_MANY_SESSIONS = "ID.1006"
_LOGIN_RATIO = 0.5

# A read that each service has.
COMMON_READ = "QueryPrimaryStorage"

# The timeout, in seconds, of a logout whose result is ignored.
LOGOUT_TIMEOUT = 5.0


def hash_password(password: str) -> str:
    """Return a password as the service expects it: its SHA-512 hash in hexadecimal digits."""
    return hashlib.sha512(password.encode()).hexdigest()


def log_in(client: Client, account: str, password: str) -> str:
    """Return a new session of an account. While it has too many, wait until one of them ends, until the wait timeout.

    Raise Unsupported if the service has no login, and LoginFailed for other errors.
    """
    try:
        return _log_in_when_possible(client, account, password)
    except Unsupported:
        raise
    except VirtinfraError as reason:
        raise LoginFailed.from_error(reason).with_label(f"account {account}") from None


def _log_in_when_possible(client: Client, account: str, password: str) -> str:
    begin, deadline = client.hooks.clock.monotonic(), client.wait.compute_deadline()
    label = f"the end of a session of the account {account}, which has as many as the service permits"
    for dummy in chain([0.0], client.wait.poll_intervals(label, deadline, _LOGIN_RATIO)):
        try:
            return _log_in(client, account, password)
        except ApiError as refusal:
            if _TOO_MANY_SESSIONS not in list_error_codes(refusal.error):
                raise
            last = refusal
    last.add_sentence(f" None of them ended within {client.hooks.clock.monotonic() - begin:.0f} s.")
    raise last


def _log_in(client: Client, account: str, password: str) -> str:
    params = {"accountName": account, "password": hash_password(password)}
    retries, begin = min(client.connection.request_retries, MAX_LOGIN_RETRIES), client.hooks.clock.monotonic()
    for attempt in range(retries + 1):
        try:
            reply = wait_for_job(client, client.start_job("LogInByAccount", params))
            break
        except ResponseLost:
            if attempt == retries or client.hooks.clock.monotonic() - begin > MAX_OUTAGE:
                raise
            client.hooks.clock.sleep(LOGIN_BACKOFF * 2**attempt)
        except Unsupported as refusal:
            raise _explain_missing_login(client, refusal) from None
    inventory = reply.get("inventory")
    session_id = inventory.get("uuid") if isinstance(inventory, dict) else None
    if not isinstance(session_id, str) or not re.fullmatch(r"[\x21-\x7e]+", session_id):
        raise TransportError("the response to LogInByAccount has no session in inventory.uuid", transient=False)
    return session_id


def _explain_missing_login(client: Client, refusal: Unsupported) -> Unsupported:
    """Return why the service has no login: it knows no accounts, or the path prefix is wrong.

    A read that each service has shows which. It needs a session, so the service refuses it if the prefix is right.
    """
    remedy = "Check path_prefix."
    if not refusal.doubts_prefix or _is_prefix_right(client):
        prefix, status = client.connection.path_prefix, refusal.result["status"]
        refusal = build_unsupported_error(get_operation("LogInByAccount"), prefix, status, is_prefix_known=True)
        remedy = "Get a session in another way and pass it as session_id."
    # The remedy is part of the reason, because the remedies that callers add would not help.
    return Unsupported(f"{refusal.reason}. {remedy}", doubts_prefix=refusal.doubts_prefix, **refusal.result)


def explain_refusal(client: Client, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of a task that failed, perhaps due to the path prefix, with what is known about the prefix.

    A wrong prefix explains all failures. If it is right, the result does not doubt it.
    """
    refusal = client.prefix.refusal
    is_right = client.prefix.is_known or _is_prefix_right(client)
    if is_right:
        error = result["error"]
        return {**result, "msg": drop_doubt(result["msg"]), "error": {**error, "details": drop_doubt(error["details"])}}
    if refusal is None or is_right is None:
        return result
    prefix, status = client.connection.path_prefix, refusal.result["status"]
    operation = get_operation(str(refusal.result["operation"]))
    request = f"HTTP status {status} for {operation.method} {operation.build_path(prefix)}"
    reason = f"path_prefix {prefix!r} is wrong, because the service has nothing below it ({request})"
    failure = Unsupported(reason, "Check path_prefix.", doubts_prefix=True, **refusal.result)
    return {**result, "msg": str(failure), "error": failure.error, **failure.result}


def _is_prefix_right(client: Client) -> bool | None:
    """Return whether the service has operations below the prefix, None if no response arrives.

    If it has, it refuses a read without credentials. A session that it does not know would count as a failed login.
    """
    try:
        get_without_credentials(client.with_retries(0), COMMON_READ, {"limit": 1})
    except TransportError as failure:
        return False if failure.status else None
    except Unsupported:
        return False
    except VirtinfraError:
        return True
    return True


def is_valid(client: Client, session_id: str) -> bool | None:
    """Return whether a session is valid, None if the service cannot check it."""
    try:
        valid = client.get("ValidateSession", {"sessionUuid": session_id}).get("valid")
    except Unsupported:
        return None
    return valid if isinstance(valid, bool) else None


def log_out(client: Client, session_id: str) -> None:
    """End a session. Succeed if it has already ended."""
    wait_for_job(client, client.start_job("LogOut", {"sessionUuid": session_id}))


def end_session(connection: ConnectionOptions, session_id: str, hooks: Hooks) -> None:
    """Log out, and ignore a failure, because the task that could report it has ended."""
    with open_brief_client(connection, hooks) as client, suppress(VirtinfraError):
        log_out(client, session_id)


def open_brief_client(connection: ConnectionOptions, hooks: Hooks) -> AbstractContextManager[Client]:
    """Open a client for a session whose user has ended: it does not retry, and waits only briefly for a response.

    Nothing prevents its requests: a task that is interrupted logs out.
    """
    timeout = min(connection.request_timeout, LOGOUT_TIMEOUT)
    brief = replace(drop_credentials(connection), request_retries=0, request_timeout=timeout)
    return open_session_client(brief, CallOptions(), replace(hooks, before_send=do_nothing))


def drop_credentials(connection: ConnectionOptions) -> ConnectionOptions:
    """Return the options for operations that need no credentials."""
    nothing: dict[str, Any] = dict.fromkeys(name for options in CREDENTIAL_OPTIONS for name in options)
    return replace(connection, api_token=None, **nothing)


class AccountSession:
    """The session of an account: created when it is first needed, and replaced when the service refuses it.

    All clients with the same store share one session; the first that needs it logs in, and the others wait. A login
    waits for ``wait_timeout`` seconds until the account has less sessions than the service permits.
    """

    credential = "account"

    def __init__(
        self,
        connection: ConnectionOptions,
        hooks: Hooks,
        store: SessionStore,
        wait_timeout: float = CallOptions().wait_timeout,
    ) -> None:
        self._connection, self._hooks, self._store = connection, hooks, store
        self._wait_timeout = wait_timeout
        self._session_id: str | None = None
        password = connection.account_password or ""
        hooks.masker.add(password, hash_password(password))

    def __enter__(self) -> AccountSession:
        return self

    def __exit__(self, *dummy: object) -> None:
        """Log out, unless other clients share the session. A login of another thread ends first."""
        if self._store.is_private:
            with self._store.open() as values:
                session_id = values.pop("session_id", None)
            if session_id:
                end_session(self._connection, session_id, self._hooks)

    def get_session(self) -> str:
        """Return the session; log in if there is none."""
        return self._session_id or self._share_session(refused=None)

    def renew(self, refused: str) -> str:
        """Return a session other than the one that the service refused, which another client may have created."""
        return self._share_session(refused)

    def validate(self) -> None:
        """Replace the session if the service says that it is invalid."""
        session_id = self.get_session()
        with self._open_login_client() as client:
            if is_valid(client, session_id) is False:
                self.renew(session_id)

    def get_valid_session(self) -> str:
        """Return a session that is valid, or that the service cannot check."""
        self.validate()
        return self.get_session()

    def create_session(self) -> str:
        """Return a new session that no client shares. The caller must end it."""
        with self._store.open() as values, self._open_login_client() as client:
            return self._log_in(client, values, time.monotonic())

    def _share_session(self, refused: str | None) -> str:
        """Return the stored session. Log in if there is none, or only the one that the service refused."""
        since = time.monotonic()
        with self._store.open() as values:
            if values.get("session_id") in (None, refused):
                with self._open_login_client() as client:
                    if refused and values.pop("session_id", None):
                        with suppress(VirtinfraError):
                            log_out(client, refused)
                    values["session_id"] = self._log_in(client, values, since)
            self._session_id = str(values["session_id"])
        self._hooks.masker.add(self._session_id)
        return self._session_id

    def _log_in(self, client: Client, values: dict[str, Any], since: float) -> str:
        """Log in, unless an equivalent login has already failed."""
        self._raise_known_failure(values, since)
        try:
            session_id = log_in(client, str(self._connection.account), str(self._connection.account_password))
        except LoginFailed as failed:
            values["failure"] = self._describe_failure(failed.message, failed.error, failed.result)
            raise
        return session_id

    def raise_refusal(self) -> None:
        """Raise LoginFailed if the service has refused the account in this run."""
        with self._store.open() as values:
            self._raise_known_failure(values)

    def _raise_known_failure(self, values: Mapping[str, Any], since: float = math.inf) -> None:
        """Raise the failure of the last login if it is final, or if it happened after ``since``, with as many retries.

        All clients that wait for a login share its failure, because their own logins would take as long, one after the
        other.
        """
        if failure := values.get("failure"):
            is_shared = failure["time"] > since and failure["retries"] >= self._connection.request_retries
            failed = LoginFailed(failure["message"], failure["error"], **failure["facts"])
            if is_shared or failed.is_final:
                raise failed.with_label(f"account {self._connection.account}")

    def remember_failure(self, result: Mapping[str, Any]) -> None:
        """Store the failed result of a process that logged in by itself, so that no other one repeats a refused login.

        The result comes from a process that may run on another machine, so it may have any form.
        """
        error = result.get("error")
        message = str(result.get("msg")).removeprefix(f"account {self._connection.account}: ")
        facts = {name: result[name] for name in ("operation", "status") if name in result}
        with self._store.open() as values:
            values["failure"] = self._describe_failure(
                message, add_causes(error if isinstance(error, Mapping) else {}), facts
            )

    def _describe_failure(self, message: str, error: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the description of a failed login for the store."""
        retries = self._connection.request_retries
        return {"message": message, "error": error, "facts": facts, "time": time.monotonic(), "retries": retries}

    def _open_login_client(self) -> AbstractContextManager[Client]:
        """Open a client that may log in, also in check mode, because this changes nothing that users manage."""
        options = CallOptions(wait_timeout=self._wait_timeout)
        return open_session_client(drop_credentials(self._connection), options, self._hooks)


def open_client(connection: ConnectionOptions, options: CallOptions, hooks: Hooks) -> AbstractContextManager[Client]:
    """Open a client with the access key, or else the session of the option session_id, or else of the account."""
    if connection.needs_login:
        return _open_account_client(connection, options, hooks)
    return open_session_client(connection, options, hooks)


@contextmanager
def _open_account_client(connection: ConnectionOptions, options: CallOptions, hooks: Hooks) -> Iterator[Client]:
    """Open a client with the session of the account. A session that nobody shares ends with the client."""
    store = hooks.new_store(connection)
    with (
        AccountSession(connection, hooks, store, options.wait_timeout) as sessions,
        create_client(connection, options, hooks, sessions, store) as client,
    ):
        yield client
