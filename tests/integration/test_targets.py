"""The integration targets of modules and inventories, played without ansible-test.

ansible-test starts ansible-playbook and a simulator for each target, which takes longer than most of its tasks. Here
each target is played in a fork of a process that has imported Ansible, against a simulator in its initial state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.launch import Simulator
from support.collection import ROOT
from support.preloaded_ansible import run_ansible_playbook

FOLDER = ROOT / "tests" / "integration" / "targets"
START = "setup_simulator"

# The targets of roles run playbooks themselves.
TARGETS = sorted(path.name for path in FOLDER.iterdir() if path.name != START and not path.name.startswith("role_"))


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    """A simulator like those that targets start."""
    with Simulator() as simulator:
        yield simulator


@pytest.mark.parametrize("target", TARGETS)
def test_target(simulator: Simulator, target: str, tmp_path: Path) -> None:
    simulator.reset()
    # This role takes the place of the one that starts a simulator.
    (tmp_path / "roles" / START).mkdir(parents=True)
    (tmp_path / "roles" / target).symlink_to(FOLDER / target)
    playbook, output = tmp_path / "playbook.yml", tmp_path / "output"
    playbook.write_text(json.dumps([{"hosts": "testhost", "gather_facts": False, "roles": [target]}]))
    variables = {
        "ansible_async_dir": str(tmp_path / "async"),
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "output_dir": str(tmp_path),
        "virtinfra_connection": {
            "base_url": simulator.url,
            "session_id": simulator.session,
            "api_token": simulator.token,
        },
        "virtinfra_simulator_url": simulator.url,
    }
    arguments = ["--inventory", "testhost,", "--extra-vars", json.dumps(variables), str(playbook)]
    code = run_ansible_playbook(arguments, {}, output)
    assert code == 0, output.read_text(encoding="utf-8")
