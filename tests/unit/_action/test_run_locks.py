"""The locks of a run, held by other processes."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import ansible.constants
import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.plugin_utils._action.locks import RunLock
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import files, sessions

SERVICE = ConnectionOptions(base_url="https://manager.example.com")
OTHER = ConnectionOptions(base_url="https://other.example.com")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ansible.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(files, "OWNER", os.getpid())
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_lock_ends_with_the_process_that_holds_it() -> None:
    reader, writer = os.pipe()
    holder = os.fork()
    if holder == 0:
        lock = RunLock(SERVICE, "ops")
        os.write(writer, b"1" if lock.acquire() and lock.is_first else b"0")
        signal.pause()
    try:
        assert os.read(reader, 1) == b"1"
        lock, others = RunLock(SERVICE, "ops"), [RunLock(SERVICE, "dev"), RunLock(OTHER, "ops")]
        assert not lock.acquire()
        assert all(other.acquire() and other.is_first for other in others)
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    assert lock.acquire()
    assert not lock.is_first


def test_a_lock_keeps_running_jobs_for_the_next_task(folder: Path) -> None:
    lock, following = RunLock(SERVICE, "ops"), RunLock(SERVICE, "ops")
    handle = {"uuid": "0" * 32, "location": "/service/v1/api-jobs/" + "0" * 32, "operation": "A", "state": "running"}
    assert lock.acquire()
    assert lock.running == []
    lock.release([handle])
    assert following.acquire()
    assert following.running == [handle]
    following.release([])
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sessions.log_out_all()
    assert list(folder.iterdir()) == []
