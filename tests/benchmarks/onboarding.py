# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role host_onboarding adds to the time that the service itself takes to add hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from simulator.launch import Simulator

HOSTS = 500
FORKS = 50
JOB = 5.0


def measure() -> Iterator[tuple[str, float, float | None]]:
    """Yield what is measured, the measured value, and what it must not exceed (None: only for information).

    All is for information: the goal is about jobs of minutes, for which no benchmark can wait, and jobs of seconds end
    before the controller has started the tasks of as many hosts as may run at a time.
    """
    with Simulator("--latency", f"AddKVMHost={JOB}") as simulator:
        seconds = onboard(simulator.url)
    jobs = HOSTS / FORKS * JOB
    yield f"{HOSTS} hosts onboarded, {FORKS} at a time, jobs of {JOB:g} s, s", seconds, None
    yield "the same / (1.1 x jobs + 20 ms a host) (G6)", seconds / (1.1 * jobs + 0.02 * HOSTS), None
    yield "Ansible's own, ms a host (G6)", (seconds - jobs) / HOSTS * 1000, None


def onboard(url: str) -> float:
    """Return the seconds that the playbook takes for new hosts, each with the service types of one interface."""
    services = [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}]
    variables = {
        "host_onboarding_cluster": "cluster-1",
        "host_onboarding_username": "root",
        "host_onboarding_password": "only-for-the-simulator",
        "host_onboarding_services": services,
    }
    hosts = {f"node-{number}": {"ansible_host": f"10.1.{number // 250}.{number % 250 + 1}"} for number in range(HOSTS)}
    environment = {**os.environ, "VIRTINFRA_BASE_URL": url, "VIRTINFRA_SESSION_ID": Simulator.session}
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder, "hosts.json")
        inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": variables}}), encoding="utf-8")
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(inventory), "-f", str(FORKS)]
        begin = time.monotonic()
        subprocess.run(
            [*command, "virtinfra.manager.onboard_hosts"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return time.monotonic() - begin
