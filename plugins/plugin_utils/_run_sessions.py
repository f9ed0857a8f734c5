# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""One session per account for a whole run of Ansible.

The process that loads this file first owns the sessions: the controller's main process, which loads the plugins of a
task before it forks the workers, and reads the inventory. All of its workers share the sessions through files in
Ansible's temporary folder of the run, and the process logs out when it ends, also after Ctrl-C, SIGTERM and SIGHUP.
Only if a plugin, for example a lookup, is loaded in a worker first, its sessions end with that worker.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from multiprocessing import active_children
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, Any

import ansible.constants
from ansible.utils.display import Display

from ..module_utils._api.errors import VirtinfraError
from ..module_utils._client.client import Client
from ..module_utils._client.sessions import (
    LOGOUT_TIMEOUT,
    end_session,
    is_valid,
    without_credentials,
)
from ..module_utils._http.connection import ConnectionOptions

display = Display()

OWNER = os.getpid()

# The longest wait, in seconds, for remaining workers of an interrupted run.
MAX_WAIT_FOR_WORKERS = 10.0


def run_file(*key: str | None, kind: str = "") -> Path:
    """Return the path of the file for a key. Without a kind, the owner of the sessions removes the file."""
    folder = ansible.constants.DEFAULT_LOCAL_TMP
    return Path(folder, f"virtinfra-{kind or OWNER}-{hashlib.sha256(json.dumps([folder, *key]).encode()).hexdigest()}")


def open_locked(path: Path, operation: int = fcntl.LOCK_EX) -> IO[str]:
    """Open and lock a file of the run, which only the user can read. It is created if it does not exist.

    Raise BlockingIOError when ``operation`` does not wait and another process holds the lock.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, operation)
        except OSError:
            os.close(number)
            raise
    except BlockingIOError:
        raise
    except OSError as error:
        raise VirtinfraError(
            f"cannot write to {path.parent}: {error.strerror}. Check local_tmp in ansible.cfg."
        ) from None
    return os.fdopen(number, "r+", encoding="utf-8")


class FileStore:
    """Stores the session of an account in a file that only the user can read, for all processes of this run.

    A second file contains the last login that failed. It does not depend on the owner of the sessions, because no
    process of the run may repeat a login that the service refused.
    """

    is_private = False

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        key = (connection.origin, connection.path_prefix, connection.account, connection.account_password)
        self._path, self._failure_path = run_file(*key), run_file(*key, kind="failure")
        self.facts = FileFacts(connection)

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Return a context manager for the stored values, which locks them; changes are stored."""
        with _locked(self._failure_path) as failed, _locked(self._path) as opened:
            kept = {**opened, **failed}
            try:
                yield kept
            finally:
                failed.clear()
                if "failure" in kept:
                    failed["failure"] = kept.pop("failure")
                opened.clear()
                if kept:
                    opened.update(kept, connection=asdict(without_credentials(self._connection)))


class FileFacts:
    """Stores the facts about a server in a file, for all processes of this run."""

    def __init__(self, connection: ConnectionOptions) -> None:
        self._path = run_file(connection.origin, connection.path_prefix, kind="facts")

    def get(self, name: str) -> str | None:
        """Return a fact, None if it is not known."""
        with suppress(VirtinfraError), _locked(self._path) as facts:
            return facts.get(name)
        return None

    def set(self, name: str, fact: str) -> None:
        """Store a fact, unless the file cannot be written: then each task finds it out."""
        with suppress(VirtinfraError), _locked(self._path) as facts:
            facts[name] = fact


@contextmanager
def _locked(path: Path) -> Iterator[dict[str, Any]]:
    """Return a context manager for the values in a file, which locks the file; changes are stored."""
    with open_locked(path) as file:
        values = load_values(file.read())
        before = dict(values)
        try:
            yield values
        finally:
            if values != before:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(values))


class TaskSession:
    """The session of one task that may outlive the run. Its module process ends it when the task has ended."""

    def __init__(self, connection: ConnectionOptions, session_id: str) -> None:
        self._connection, self.session_id = without_credentials(connection), session_id

    def watch(self, task: str) -> None:
        """Let the owner warn at the end of the run if the task still runs. ``task`` describes it."""
        kept = {"session_id": self.session_id, "task": task, "connection": asdict(self._connection)}
        with _locked(run_file("task", self.session_id)) as values:
            values.update(kept)

    def end(self) -> None:
        """End the session of a task that did not start."""
        end_session(self._connection, self.session_id)


def warn_of_running_task(kept: Mapping[str, Any]) -> None:
    """Warn that a task still runs, as its session shows, while the run ends."""
    connection = ConnectionOptions(**kept["connection"])
    timeout = min(connection.request_timeout, LOGOUT_TIMEOUT)
    with Client(replace(connection, request_retries=0, request_timeout=timeout)) as client, suppress(VirtinfraError):
        if is_valid(client, kept["session_id"]):
            display.warning(
                f"{kept['task']} still runs, with a session of its own. This run does not show whether it fails: wait"
                " for it with async_status before the run ends."
            )


def log_out_all() -> None:
    """Log out of all sessions that this process owns, once its workers have ended: one may still be logging in.

    Warn of tasks that have sessions of their own and still run.
    """
    if os.getpid() != OWNER:
        return
    # The file of a session is created before the login. Without a file, no worker delays the end of the run.
    deadline = time.monotonic() + MAX_WAIT_FOR_WORKERS
    for worker in active_children() if _files() else ():
        worker.join(max(0.0, deadline - time.monotonic()))
    for path in _files():
        with suppress(OSError):
            kept = load_values(path.read_text(encoding="utf-8"))
            path.unlink()
            if "task" in kept:
                warn_of_running_task(kept)
            elif session_id := kept.get("session_id"):
                end_session(ConnectionOptions(**kept["connection"]), session_id)


class LogoutOnSignal:
    """Makes the owner log out before a signal ends it; then the signal has the effect that it had before.

    Python calls no atexit functions after SIGTERM and SIGHUP. ansible-playbook installs its own handler of SIGTERM when
    it begins with the tasks, so each fork of a worker installs this one again. The worker gets what was there before.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        """Handle the signals that would end the owner now, without those that it ignores, as under nohup."""
        if os.getpid() != OWNER or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) not in (None, signal.SIG_IGN, self._log_out):
                self._before[number] = signal.signal(number, self._log_out)

    def remove(self) -> None:
        """Install the handlers that were there before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _log_out(self, number: int, dummy: Any) -> None:
        before = dict(self._before)
        for each in before:
            # Closing a terminal sends SIGHUP twice.
            signal.signal(each, signal.SIG_IGN)
        try:
            end_workers(number)
            log_out_all()
        finally:
            signal.signal(number, before[number])
            os.kill(os.getpid(), number)


def end_workers(number: int) -> None:
    """Send a signal to the workers of this process, which would use its sessions after it has logged out.

    In newer versions of core a worker has a process group of its own.
    """
    for worker in active_children() if _files() and os.getpid() == OWNER else ():
        if worker.pid:
            with suppress(OSError):
                os.kill(worker.pid, number)


def _files() -> list[Path]:
    """Return the files of all sessions that this process owns."""
    return list(Path(ansible.constants.DEFAULT_LOCAL_TMP).glob(f"virtinfra-{OWNER}-*"))


def load_values(text: str) -> dict[str, Any]:
    """Return the values in a file; none if the process was killed while it wrote the file."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


# Workers do not call atexit functions, nor finalizers that were registered before the fork.
atexit.register(log_out_all)
Finalize(None, log_out_all, exitpriority=1)

_on_signal = LogoutOnSignal()
_on_signal.install()
os.register_at_fork(before=_on_signal.install, after_in_child=_on_signal.remove)
