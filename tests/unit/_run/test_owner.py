"""Whether the process of another run has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import owner
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.owner import describe_owner, has_ended


def test_a_process_that_runs_has_not_ended() -> None:
    described = describe_owner(900)
    assert described["process"] == os.getppid()
    assert has_ended(described) is False
    # A later process has the id of the one that ended.
    assert has_ended({**described, "began": "1"}) is True


def test_a_process_of_another_machine_is_not_known() -> None:
    for unknown in ({"machine": "another"}, {"process": None}, {"process": "1"}):
        assert has_ended({**describe_owner(900), **unknown}) is None
    assert has_ended({}) is None


def test_a_process_that_was_killed_has_ended_before_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        described = {**describe_owner(900), "process": process.pid, "began": owner._began(process.pid)}
        assert has_ended(described) is False
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(described) is True
        process.wait()
        assert has_ended(described) is True


def test_a_controller_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id of the process is all that is known, as on macOS."""
    monkeypatch.setattr(owner, "PROC", tmp_path)
    described = describe_owner(900)
    assert (described["machine"], described["began"]) == (described["host"], None)
    assert has_ended(described) is False


def test_a_process_of_another_user_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*dummy: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert has_ended({**describe_owner(900), "process": 1}) is False
