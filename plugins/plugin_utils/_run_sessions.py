# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""One session per account for a whole run of Ansible.

The process that loads this file first owns the sessions: the controller's main process, which loads the plugins of a
task before it forks the workers, and reads the inventory. All of its workers share them by files in Ansible's temporary
folder of the run, and it logs out when it ends, also after Ctrl-C. Only a plugin that is loaded in a worker first, as a
lookup may be, has sessions that end with that worker.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import ansible.constants
from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._sessions import log_out

OWNER = os.getpid()

# The seconds that each logout at the end of a run may take.
LOGOUT_TIMEOUT = 5.0

_SECRETS = ("session_id", "api_token", "account", "account_password")


class FileStore:
    """Keeps the session of an account in a file that only the user can read, for all processes of this run."""

    is_private = False

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        folder = ansible.constants.DEFAULT_LOCAL_TMP
        key = (folder, connection.origin, connection.path_prefix, connection.account, connection.account_password)
        self._path = Path(folder, f"virtinfra-{OWNER}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()}")

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Return what is kept, for nobody but the caller until it is left; changes to it are kept."""
        with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            kept = _load(file.read())
            before = dict(kept)
            try:
                yield kept
            finally:
                if kept != before:
                    options = {name: value for name, value in asdict(self._connection).items() if name not in _SECRETS}
                    file.seek(0)
                    file.truncate()
                    file.write(json.dumps({**kept, "connection": options}))


def log_out_all() -> None:
    """Log out of all sessions that this process owns. Nobody is left to hear of a failure; sessions expire."""
    if os.getpid() != OWNER:
        return
    for path in Path(ansible.constants.DEFAULT_LOCAL_TMP).glob(f"virtinfra-{OWNER}-*"):
        with suppress(VirtinfraError, OSError):
            kept = _load(path.read_text(encoding="utf-8"))
            path.unlink()
            if session_id := kept.get("session_id"):
                options = {**kept["connection"], "request_retries": 0, "request_timeout": LOGOUT_TIMEOUT}
                with Client(ConnectionOptions(**options)) as client:
                    log_out(client, session_id)


def _load(text: str) -> dict[str, Any]:
    """Return what a file keeps; nothing if the process that wrote it was killed."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


# Workers end without the first; nothing that was registered before they were forked is called in them.
atexit.register(log_out_all)
Finalize(None, log_out_all, exitpriority=1)
