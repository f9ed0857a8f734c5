"""One session per account for a whole run of Ansible.

All processes of the run share the sessions through files, and the owner of the files logs out when it ends, also after
Ctrl-C, SIGTERM and SIGHUP.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing import active_children
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._client.client import Hooks
from ...module_utils._client.sessions import (
    drop_credentials,
    end_session,
    is_valid,
    open_brief_client,
)
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._masking.masker import Masker
from .files import edit_values, is_owner, list_owned_files, locate_file, parse_values
from .memory import edit_secrets
from .names import FileNames
from .signals import CleanupOnSignal

display = Display()

# The longest wait, in seconds, for remaining workers of an interrupted run.
MAX_WAIT_FOR_WORKERS = 10.0


class FileStore:
    """Stores the session of an account in a file, for all processes of this run.

    A second file contains the last login that failed. It does not depend on the owner, because no process of the run
    may repeat a login that the service refused.
    """

    is_private = False

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        key = (connection.origin, connection.path_prefix, connection.account, connection.account_password)
        self._path, self._failure_path = locate_file(*key), locate_file(*key, kind="failure")
        self.facts = FileFacts(connection)
        self.names = FileNames(connection)

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Return a context manager for the stored values, which locks them; changes are stored."""
        with edit_values(self._failure_path) as failed, edit_values(self._path) as session:
            values = {**session, **failed}
            try:
                yield values
            finally:
                failed.clear()
                if "failure" in values:
                    failed["failure"] = values.pop("failure")
                session.clear()
                if values:
                    session.update(values, connection=describe_connection(self._connection, self._path))


class FileFacts:
    """Stores the facts about a server in a file, for all processes of this run."""

    def __init__(self, connection: ConnectionOptions) -> None:
        self._path = locate_file(connection.origin, connection.path_prefix, kind="facts")

    def get(self, name: str, /) -> str | None:
        """Return what is known about a record type, None if nothing is known."""
        with suppress(VirtinfraError), edit_values(self._path) as facts:
            return facts.get(name)
        return None

    def __setitem__(self, name: str, fact: str, /) -> None:
        """Store a fact. If the file cannot be written, each task finds it out again."""
        with suppress(VirtinfraError), edit_values(self._path) as facts:
            facts[name] = fact


class TaskSession:
    """The session of one task that may outlive the run. Its module process ends it when the task has ended."""

    def __init__(self, connection: ConnectionOptions, session_id: str) -> None:
        self._connection, self.session_id = drop_credentials(connection), session_id

    def watch(self, task: str) -> None:
        """Let the owner warn at the end of the run if the task still runs. ``task`` describes it."""
        path = locate_file("task", self.session_id)
        with edit_values(path) as values:
            connection = describe_connection(self._connection, path)
            values.update(session_id=self.session_id, task=task, connection=connection)

    def end(self) -> None:
        """End the session of a task that did not start."""
        end_session(self._connection, self.session_id, Hooks(Masker([self.session_id])))


def log_out_all() -> None:
    """Log out of all sessions that this process owns, once its workers have ended: one may still be logging in.

    Warn of tasks that have sessions of their own and still run.
    """
    if not is_owner():
        return
    # The file of a session is created before its login, so without a file no worker can be logging in.
    deadline = time.monotonic() + MAX_WAIT_FOR_WORKERS
    for worker in active_children() if list_owned_files() else ():
        worker.join(max(0.0, deadline - time.monotonic()))
    for path in list_owned_files():
        with suppress(OSError, VirtinfraError):
            values = parse_values(path.read_text(encoding="utf-8"))
            path.unlink()
            connection = restore_connection(values.get("connection"), path)
            if connection and "task" in values:
                warn_of_running_task(values, connection)
            elif connection and (session_id := values.get("session_id")):
                end_session(connection, session_id, Hooks(Masker([session_id])))


def describe_connection(connection: ConnectionOptions, path: Path) -> dict[str, Any]:
    """Return the options for a logout, which are stored in this file: without secrets.

    The proxy, whose URL may contain a password, is kept in memory.
    """
    if connection.proxy_url:
        with edit_secrets() as secrets:
            secrets[path.name] = connection.proxy_url
    return {**asdict(drop_credentials(connection)), "proxy_url": "" if connection.proxy_url else None}


def restore_connection(values: Mapping[str, Any] | None, path: Path) -> ConnectionOptions | None:
    """Return the connection that a file describes; None without one, and if its proxy is not known any more."""
    if not values:
        return None
    if values["proxy_url"] is None:
        return ConnectionOptions(**values)
    with edit_secrets() as secrets:
        proxy_url = secrets.get(path.name)
    return ConnectionOptions(**{**values, "proxy_url": proxy_url}) if proxy_url else None


def warn_of_running_task(values: Mapping[str, Any], connection: ConnectionOptions) -> None:
    """Warn of a task that still runs while the run ends, as its session shows."""
    hooks = Hooks(Masker([values["session_id"]]))
    with open_brief_client(connection, hooks) as client, suppress(VirtinfraError):
        if is_valid(client, values["session_id"]):
            display.warning(
                f"{values['task']} still runs, with a session of its own. This run does not show whether it fails: wait"
                " for it with async_status before the run ends."
            )


def log_out_after_signal(number: int) -> None:
    """Send a signal to the workers, which would use the sessions after the logout, and log out.

    In newer versions of core a worker has a process group of its own.
    """
    for worker in active_children() if list_owned_files() and is_owner() else ():
        if worker.pid:
            with suppress(OSError):
                os.kill(worker.pid, number)
    log_out_all()


# Workers do not call atexit functions, nor finalizers that were registered before the fork.
atexit.register(log_out_all)
Finalize(None, log_out_all, exitpriority=1)

_on_signal = CleanupOnSignal(log_out_after_signal)
_on_signal.install()
_on_signal.install_around_forks()
