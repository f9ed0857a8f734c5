"""The demo of backups, as `make demo-backup` runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[1] / "tools" / "demo_backup.py"


def run_demo(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the demo with these environment variables."""
    return subprocess.run(
        [sys.executable, DEMO], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_demo_shows_two_backups_and_a_restore() -> None:
    shown = run_demo()
    assert shown.returncode == 0, shown.stdout + shown.stderr
    outcomes = re.findall(r"^ *- (full|incremental|changed|unchanged) +(\d)$", shown.stdout, re.MULTILINE)
    assert outcomes == [("full", "1"), ("incremental", "1"), ("changed", "1"), ("unchanged", "1")]
    full, increment = (int(size) for size in re.findall(r"^Restore point \w+: (\d+) KiB", shown.stdout, re.MULTILINE))
    assert full > 4096 > 1024 > increment
    assert shown.stdout.endswith("The disk of vm-1 is that of the second point, says qemu-img compare.\n")


def test_the_demo_names_the_packages_that_it_needs() -> None:
    shown = run_demo(PATH="/nowhere")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "needs qemu-img, qemu-io, qemu-nbd, qemu-storage-daemon, setpriv" in shown.stderr
    for package in ("qemu-utils", "qemu-system-common", "python3-libnbd", "qemu-tools"):
        assert package in shown.stderr
