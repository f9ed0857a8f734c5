# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the demo playbook twice against a simulator of its own, and fail if the second run changed anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from simulator.launch import Simulator

PLAYBOOK = "virtinfra.manager.demo"
OUTPUT = {
    "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
    # The demo needs no inventory.
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    "ANSIBLE_LOCALHOST_WARNING": "false",
    **({"ANSIBLE_FORCE_COLOR": "1"} if sys.stdout.isatty() else {}),
}


def play(environment: dict[str, str], arguments: list[str]) -> str:
    """Run the playbook, show its output as it comes, and return it. Raise SystemExit when it fails."""
    command = ["ansible-playbook", PLAYBOOK, *arguments]
    shown = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        for line in run.stdout or ():
            print(line, end="", flush=True)
            shown.append(line)
    if run.returncode:
        raise SystemExit(f"{PLAYBOOK} failed with exit code {run.returncode}")
    return "".join(shown)


def changes(output: str) -> int:
    """Return how many tasks changed something, by the recap of a run. Raise SystemExit without a recap."""
    recap = re.sub(r"\x1b\[[0-9;]*m", "", output).partition("PLAY RECAP")[2]
    counts = re.findall(r"\bchanged=(\d+)", recap)
    if not counts:
        raise SystemExit(f"{PLAYBOOK} ended without a recap")
    return sum(map(int, counts))


def main() -> None:
    """Run the demo. The arguments of the command line go to ansible-playbook."""
    with Simulator() as simulator:
        environment = {
            **os.environ,
            **OUTPUT,
            "VIRTINFRA_BASE_URL": simulator.url,
            "VIRTINFRA_SESSION_ID": "simulator-session",
            "VIRTINFRA_API_TOKEN": "simulator-token",
        }
        first, second = (changes(play(environment, sys.argv[1:])) for dummy in range(2))
        requests = len(simulator.log())
    print(f"The first run made {first} changes, the second {second}; the simulator answered {requests} requests.")
    if second:
        raise SystemExit("The second run should have changed nothing.")
    print("The second run found every object in the requested state, and changed nothing.")


if __name__ == "__main__":
    main()
