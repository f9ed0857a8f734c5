"""Run the demo playbook twice against its own simulator, and fail if the second run changed anything."""

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


def play(environment: dict[str, str], arguments: list[str], playbook: str = PLAYBOOK) -> str:
    """Run a playbook, show its output as it comes, and return it. Raise SystemExit when it fails."""
    command = ["ansible-playbook", playbook, *arguments]
    shown = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        for line in run.stdout or ():
            print(line, end="", flush=True)
            shown.append(line)
    if run.returncode:
        raise SystemExit(f"{playbook} failed with exit code {run.returncode}")
    return "".join(shown)


def count_changes(output: str) -> int:
    """Return how many objects the tasks of a run changed, each counted once for a task."""
    return len(re.findall(r"^changed: ", re.sub(r"\x1b\[[0-9;]*m", "", output), re.MULTILINE))


def main() -> None:
    """Run the demo. The arguments of the command line go to ansible-playbook."""
    print("Starting a simulated service ...", flush=True)
    with Simulator() as simulator:
        environment = {
            **os.environ,
            **OUTPUT,
            "VIRTINFRA_BASE_URL": simulator.url,
            "VIRTINFRA_SESSION_ID": simulator.session,
            "VIRTINFRA_API_TOKEN": simulator.token,
        }
        counts = []
        for number in ("first", "second"):
            print(f"Running {PLAYBOOK} for the {number} time ...", flush=True)
            counts.append(count_changes(play(environment, sys.argv[1:])))
    for number, count in zip(("first", "second"), counts, strict=True):
        print(f"The {number} run: {count} objects changed.")
    if counts[1]:
        raise SystemExit("The second run should have changed nothing.")


if __name__ == "__main__":
    main()
