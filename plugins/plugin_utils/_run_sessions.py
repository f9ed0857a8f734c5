# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""One session per account for a whole run of Ansible.

The process that loads this file first owns the sessions: the controller's main process, which loads the plugins of a
task before it forks the workers, and reads the inventory. All of its workers share the sessions through files in
Ansible's temporary folder of the run, and the process logs out when it ends, also after Ctrl-C. Only if a plugin, for
example a lookup, is loaded in a worker first, its sessions end with that worker.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing import active_children
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import ansible.constants
from ansible_collections.virtinfra.manager.plugins.module_utils._connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._sessions import (
    end_session,
    without_credentials,
)

OWNER = os.getpid()

# The longest wait, in seconds, for remaining workers of an interrupted run.
MAX_WAIT_FOR_WORKERS = 10.0


class FileStore:
    """Stores the session of an account in a file that only the user can read, for all processes of this run.

    A second file contains the last login that failed. It does not depend on the owner of the sessions, because no
    process of the run may repeat a login that the service refused.
    """

    is_private = False

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        folder = ansible.constants.DEFAULT_LOCAL_TMP
        key = (folder, connection.origin, connection.path_prefix, connection.account, connection.account_password)
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        self._path, self._failure_path = (Path(folder, f"virtinfra-{kind}-{name}") for kind in (OWNER, "failure"))

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


@contextmanager
def _locked(path: Path) -> Iterator[dict[str, Any]]:
    """Return a context manager for the values in a file, which locks the file; changes are stored."""
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise VirtinfraError(
            f"cannot store the session in {path.parent}: {error.strerror}. Check local_tmp in ansible.cfg."
        ) from None
    with file:
        values = _load(file.read())
        before = dict(values)
        try:
            yield values
        finally:
            if values != before:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(values))


def log_out_all() -> None:
    """Log out of all sessions that this process owns, once its workers have ended: one may still be logging in."""
    if os.getpid() != OWNER:
        return
    # The file of a session is created before the login. Without a file, no worker delays the end of the run.
    deadline = time.monotonic() + MAX_WAIT_FOR_WORKERS
    for worker in active_children() if _files() else ():
        worker.join(max(0.0, deadline - time.monotonic()))
    for path in _files():
        with suppress(OSError):
            kept = _load(path.read_text(encoding="utf-8"))
            path.unlink()
            if session_id := kept.get("session_id"):
                end_session(ConnectionOptions(**kept["connection"]), session_id)


def _files() -> list[Path]:
    """Return the files of all sessions that this process owns."""
    return list(Path(ansible.constants.DEFAULT_LOCAL_TMP).glob(f"virtinfra-{OWNER}-*"))


def _load(text: str) -> dict[str, Any]:
    """Return the values in a file; none if the process was killed while it wrote the file."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


# Workers do not call atexit functions, nor finalizers that were registered before the fork.
atexit.register(log_out_all)
Finalize(None, log_out_all, exitpriority=1)
