# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure the time that the role host_onboarding adds to the time of the service for adding hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulator.launch import Simulator

HOSTS = 500
# How many hosts Ansible works on concurrently, which is how many jobs run in the service concurrently.
FORKS = 50
# The duration of the job that adds a host, in seconds, and by which part it is longer or shorter. In a real service it
# takes minutes, and not the same time for each host.
JOB = 120.0
JOB_SPREAD = 0.1
IDLE_TASKS = 2

VARIABLES = {
    "host_onboarding_cluster": "cluster-1",
    "host_onboarding_username": "root",
    "host_onboarding_password": "only-for-the-simulator",
    "host_onboarding_services": [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}],
}


def measure() -> Iterator[tuple[str, float, float | None]]:
    """Yield the label of each measurement, its value, and its limit (None: only for information).

    The role works on other hosts while jobs run, so its own work delays a play only if the jobs are short. For
    comparison, `IDLE_TASKS` tasks that do nothing run on the same hosts.
    """
    idle = {"name": "Do nothing", "ansible.builtin.debug": {"msg": ""}, "delegate_to": "localhost", "become": False}
    play = {"hosts": "all", "gather_facts": False, "strategy": "host_pinned", "tasks": [idle] * IDLE_TASKS}
    options = ("--latency", f"AddKVMHost={JOB}", "--latency-spread", str(JOB_SPREAD))
    with tempfile.TemporaryDirectory() as folder, Simulator(*options) as simulator:
        inventory, playbook = Path(folder, "hosts.json"), Path(folder, "idle.json")
        inventory.write_text(json.dumps(inventory_of_new_hosts()), encoding="utf-8")
        playbook.write_text(json.dumps([play]), encoding="utf-8")
        own = seconds_of(str(playbook), inventory, simulator) / IDLE_TASKS
        seconds = seconds_of("virtinfra.manager.onboard_hosts", inventory, simulator)
    jobs = HOSTS / FORKS * JOB
    yield "a task that does nothing, ms a host", own / HOSTS * 1000, None
    yield f"{HOSTS} hosts onboarded, {FORKS} at a time, jobs of {JOB:g} s, s", seconds, None
    yield "added to the time of the jobs, ms a host", (seconds - jobs) / HOSTS * 1000, None
    yield "the play / (1.1 x the time of the jobs + 20 ms a host) (G6)", seconds / (1.1 * jobs + 0.02 * HOSTS), 1.0


def inventory_of_new_hosts() -> dict[str, Any]:
    """Return an inventory of hosts that the service does not have, with the variables of the role."""
    hosts = {f"node-{number}": {"ansible_host": f"10.1.{number // 250}.{number % 250 + 1}"} for number in range(HOSTS)}
    return {"all": {"hosts": hosts, "vars": VARIABLES}}


def seconds_of(playbook: str, inventory: Path, simulator: Simulator) -> float:
    """Return the seconds that a playbook takes."""
    environment = {**os.environ, "VIRTINFRA_BASE_URL": simulator.url, "VIRTINFRA_SESSION_ID": simulator.session}
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(inventory), "-f", str(FORKS), playbook]
    begin = time.monotonic()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin
