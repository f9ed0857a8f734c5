"""Measure backups beside nbdcopy and qemu-img, and for how long the role keeps a session open beside its reads.

All verify what they have written, as by default; the other programs do not.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.playbooks import run_playbook
from simulator.launch import Simulator
from support.kvm_host import MIB
from support.repositories import make_repository

# The Python of the distribution, for which a package contains libnbd.
PYTHON = "/usr/bin/python3"

# The copy whose session is measured: how much it reads, and how much of it in a second.
LENGTH, RATE = 32 * MIB, 4


def measure() -> Iterator[Figure]:
    """Yield the figures."""
    copies = run_copies()
    ours = copies["backup_point"]
    label = "a full copy of 512 MiB into qcow2, against {}"
    yield Figure("backup_nbdcopy", label.format("nbdcopy"), ours / copies["nbdcopy"], 1.2, "G10")
    yield Figure("backup_qemu_img", label.format("qemu-img convert"), ours / copies["qemu-img"])
    yield Figure("backup_increment", "what an increment reads, against what changed", copies["increment"], 2.2, "G10")
    label = "what a restore writes, of a volume that differs in 5 %, against what differs"
    yield Figure("backup_restore", label, copies["restore"], 1.1, "G10")
    label = "for how long a session is open beside its copy and the verification, s"
    yield Figure("backup_session", label, measure_session(), 5.0, "G10")


def run_copies() -> dict[str, float]:
    """Return what benchmarks.backup_copies measures, which needs libnbd."""
    ended = subprocess.run([PYTHON, "-m", "benchmarks.backup_copies"], check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(ended.stdout)
    return figures


def measure_session() -> float:
    """Return the seconds between the calls that enable and disable, without those that the two reads need."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Simulator("--disks", f"{folder}/disks", "--disk-size", "64M", "--latency", "0") as simulator,
    ):
        simulator.reset(vms=1, cbt_tasks=0)
        vm = simulator.records("vm")[0]
        simulator.change("vm", vm["uuid"], state="Running")
        simulator.guest_write(vm["rootVolumeUuid"], 0, LENGTH, 1)
        repository = make_repository(Path(folder, "repository"))
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "roles": ["virtinfra.manager.vm_backup"],
            "vars": {
                "vm_backup_vms": [vm["uuid"]],
                "vm_backup_repository": str(repository),
                "vm_backup_rate_limit": RATE,
                "vm_backup_min_free_percent": 0,
            },
        }
        requests = run_playbook([play], simulator).requests
    times = {entry["operation"]: float(entry["time"]) for entry in requests}
    return times["DisableCbtTask"] - times["EnableCbtTask"] - 2 * LENGTH / MIB / RATE
