"""Run the integration targets as playbooks against a running simulator."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaos.playbooks import PlaybookRun, play
from simulator.launch import Simulator

FOLDER = Path(__file__).resolve().parent.parent / "integration" / "targets"
START = "setup_simulator"
# The targets of roles start their own simulator and run ansible-playbook. Sessions are not part of the compared state;
# chaos.sessions counts them.
TARGETS = sorted(
    path.name for path in FOLDER.iterdir() if path.name not in (START, "session") and not path.name.startswith("role_")
)


def run_target(sim: Simulator, name: str, faults: Sequence[Mapping[str, Any]] = ()) -> PlaybookRun:
    """Run a target against a new service with these faults."""
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0)
    for fault in faults:
        sim.fault(**fault)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "roles", START).mkdir(parents=True)
        playbook = Path(folder, "playbook.yml")
        playbook.write_text(
            json.dumps([{"hosts": "testhost", "gather_facts": False, "roles": [name]}]), encoding="utf-8"
        )
        connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "output_dir": folder,
            "virtinfra_connection": connection,
            "virtinfra_simulator_url": sim.url,
        }
        return play(
            *("--inventory", "testhost,", "--extra-vars", json.dumps(variables), str(playbook)),
            sim=sim,
            environment={"ANSIBLE_ROLES_PATH": f"{folder}/roles{os.pathsep}{FOLDER}"},
        )


def is_excused(run: PlaybookRun, reference: PlaybookRun) -> bool:
    """Return whether a task has a problem that it does not have in the reference run; then the playbook may fail."""
    return not _problems(run) <= _problems(reference)


def _problems(run: PlaybookRun) -> set[tuple[str, str]]:
    """Return the messages of failures and warnings of all tasks, without ids and times.

    Failures of assertions are omitted, because they only follow from another problem.
    """
    parts = [
        (task["name"], part)
        for task in run.tasks
        if task["action"] != "ansible.builtin.assert"
        for result in task["results"]
        for part in (result, *result.get("results", ()))
    ]
    return {
        (name, re.sub(r"[0-9a-f-]{32,}|\d+", "", str(text)))
        for name, part in parts
        for text in (
            *([part.get("msg")] if part.get("failed") else []),
            *(part.get("warnings") or []),
            *(job["state"] for job in part.get("jobs") or [] if job["state"] == "unknown"),
        )
    }
