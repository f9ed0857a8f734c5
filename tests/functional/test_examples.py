# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The complete playbooks of docs/examples and of the guides: predicted, run, and run again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Run

EXAMPLES = ROOT / "docs" / "examples"
SHOWN = sorted(EXAMPLES.glob("*/playbook.yml"))
INVENTORY = EXAMPLES / "play_over_inventory" / "lab.virtinfra_hosts.yml"
VMS = 40


def playbooks_of_guide(guide: str) -> list[str]:
    """Return the YAML blocks of a guide that begin with a play."""
    text = (ROOT / "docs" / "docsite" / "rst" / f"guide_{guide}.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"yaml\+jinja\n\n(.*?)\n\n(?=\S)", text, re.S)
    return [block for block in map(dedent, blocks) if "hosts: localhost" in block]


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    """One playbook of all examples, so that one process runs them all."""
    (first_steps,) = playbooks_of_guide("getting_started")
    by_requests, by_module = playbooks_of_guide("migrating")
    # Check mode skips the requests and so leaves nothing to continue with.
    by_requests = by_requests.replace("gather_facts: false", "gather_facts: false\n  tags: [requests]")
    guides = {"first_steps": first_steps, "by_module": by_module, "by_requests": by_requests}
    for name, text in guides.items():
        (tmp_path / f"{name}.yml").write_text(text, encoding="utf-8")
    paths = [*(tmp_path / f"{name}.yml" for name in guides), *SHOWN]
    book = tmp_path / "all.yml"
    book.write_text(json.dumps([{"import_playbook": str(path)} for path in paths]), encoding="utf-8")
    return book


def test_examples(sim: Simulator, playbook_runner: PlaybookRunner, playbook: Path) -> None:
    sim.reset(vms=VMS)
    environment = {
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "NEW_HOSTS_PASSWORD": "secret",
        "VIRTINFRA_ACCOUNT": "admin",
        "VIRTINFRA_ACCOUNT_PASSWORD": "password",
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
    }

    def play(*arguments: str) -> Run:
        vault = ["--vault-password-file", str(EXAMPLES / "vault" / "vault_password.txt")]
        options = ["-i", str(INVENTORY), "-e", "ssh_password=secret", *vault, *arguments]
        run = playbook_runner.playbook(str(playbook), options, environment)
        assert run.code == 0, run.output
        return run

    def changed(run: Run) -> list[str]:
        return [played.task for played in run if played.result.get("changed")]

    predicted = play("--check", "--skip-tags", "requests")
    assert sim.records("cbttask") == []
    assert len(sim.records("host")) == 3

    done = play()
    assert {played.task for played in predicted if played.result.get("changed")} <= set(changed(done))
    hosts = {host["name"]: host["state"] for host in sim.records("host")}
    assert sorted(hosts)[2:] == ["host-21", "host-3", "host-31", "host-32", "host-33"]
    assert hosts["host-1"] == "Maintenance"
    assert len(sim.records("cbttask")) == VMS // 2
    assert {task["status"] for task in sim.records("cbttask")} == {"Running"}
    waits = [played.result["summary"]["succeeded"] for played in done if played.action.endswith("job_wait")]
    # The guide to the first steps has protected one of them.
    assert waits == [VMS // 2 - 1, VMS // 2 - 1]

    # Only the hosts that are new in the inventory differ.
    assert changed(play("--skip-tags", "requests")) == ["Set the service types of the interface"] * 4
