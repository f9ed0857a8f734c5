"""If the controller lacks ``requests``, tasks run in a module process, or the failure says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.launch import Simulator

COLLECTIONS = Path(__file__).resolve().parents[2] / ".cache"
BIN = Path(sys.executable).parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables with which Python does not find ``requests``."""
    (tmp_path / "without" / "requests").mkdir(parents=True)
    (tmp_path / "without" / "requests" / "__init__.py").write_text("raise ImportError('no requests')\n")
    return {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONPATH": str(tmp_path / "without"),
    }


def run(command: str, file: Path, content: Any, environment: dict[str, str], *arguments: str) -> str:
    """Run an Ansible program on a YAML file and return its output."""
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    line = [str(BIN / command), *arguments, str(file)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def test_tasks_use_the_python_that_has_requests(sim: Simulator, environment: dict[str, str], tmp_path: Path) -> None:
    complete = tmp_path / "python-with-requests"
    complete.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} "$@"\n')
    complete.chmod(0o755)
    read = {"virtinfra.manager.host_info": {"base_url": sim.url, "session_id": sim.session}}
    tasks = [
        {**read, "vars": {"ansible_python_interpreter": str(complete)}, "register": "read"},
        {"ansible.builtin.debug": {"msg": "{{ read.total }} hosts were read"}},
        {**read, "vars": {"ansible_python_interpreter": sys.executable}},
    ]
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]
    output = run("ansible-playbook", tmp_path / "book.yml", play, environment)
    assert "3 hosts were read" in output
    assert "Failed to import the required Python library (requests)" in output
    assert f"Python {sys.executable}" in output
    assert "Traceback" not in output


def test_batch_says_for_which_python_to_install_it(sim: Simulator, environment: dict[str, str], tmp_path: Path) -> None:
    options = {"base_url": sim.url, "session_id": sim.session, "module": "vm", "objects": [{"name": "vm-1"}]}
    play = [{"hosts": "localhost", "gather_facts": False, "tasks": [{"virtinfra.manager.batch": options}]}]
    output = run("ansible-playbook", tmp_path / "book.yml", play, environment)
    assert f"its Python {sys.executable} lacks the library requests" in output
    assert f"Install it: {sys.executable} -m pip install requests" in output
    assert "Traceback" not in output


def test_inventories_name_the_missing_requirement(sim: Simulator, environment: dict[str, str], tmp_path: Path) -> None:
    source = {"plugin": "virtinfra.manager.hosts", "base_url": sim.url, "session_id": sim.session}
    output = run("ansible-inventory", tmp_path / "a.virtinfra_hosts.yml", source, environment, "--graph", "-i")
    # Core before 2.19 wraps its warnings.
    assert "Failed to import the required Python library (requests)" in " ".join(output.split())
    assert "Traceback" not in output
