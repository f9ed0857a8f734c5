"""Back up a VM with real disks twice, destroy the data of its guest, restore it, and compare it with the last point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.demo import OUTPUT, play

from simulator.launch import Simulator

VM = "vm-1"
KIB = 1024
COMMANDS = ("qemu-img", "qemu-io", "qemu-nbd", "qemu-storage-daemon", "setpriv")
# The modules of restore points start again with one of these, for which packages contain libnbd.
PLATFORM_PYTHONS = ("/usr/libexec/platform-python", "/usr/bin/python3")
PACKAGES = (
    "On Debian and Ubuntu: apt install qemu-utils qemu-system-common python3-libnbd util-linux\n"
    "On RHEL and Fedora: dnf install qemu-img python3-libnbd util-linux\n"
    "On SUSE: zypper install qemu-img qemu-tools python3-libnbd util-linux"
)


def find_missing() -> list[str]:
    """Return the commands, and the library of Python, that this machine lacks."""
    missing = [command for command in COMMANDS if not shutil.which(command)]
    if not any(has_libnbd(python) for python in (sys.executable, *PLATFORM_PYTHONS)):
        missing.append("libnbd for the Python of the platform")
    return missing


def has_libnbd(python: str) -> bool:
    """Return whether an interpreter is there and has libnbd. PyPI has another package of its name."""
    command = [python, "-c", "import nbd; nbd.NBD"]
    return bool(shutil.which(python)) and subprocess.run(command, capture_output=True, check=False).returncode == 0


class Demo:
    """A simulator with real disks, one of its running VMs, and an empty repository."""

    def __init__(self, simulator: Simulator, folder: Path, arguments: Iterable[str]) -> None:
        """Take the folder for the repository, which has the disks, and arguments for each ansible-playbook."""
        self._simulator, self._folder, self._arguments = simulator, folder, arguments
        self._repository = folder / "repository"
        self._repository.mkdir()
        vm = next(record for record in simulator.records("vm") if record["name"] == VM)
        self._volume = str(vm["rootVolumeUuid"])

    def write(self, text: str, offset: int, length: int, seed: int) -> None:
        """Write random bytes to the first volume of the VM, as its guest does. Offset and length are in KiB."""
        print(f"\n{text}: {length} KiB.", flush=True)
        self._simulator.guest_write(self._volume, offset * KIB, length * KIB, seed)

    def play(self, text: str, playbook: str, **variables: object) -> None:
        """Run a playbook for the repository."""
        print(f"\n{text}: {playbook} ...", flush=True)
        environment = {
            **os.environ,
            **OUTPUT,
            "VIRTINFRA_BASE_URL": self._simulator.url,
            "VIRTINFRA_SESSION_ID": self._simulator.session,
            "VIRTINFRA_API_TOKEN": self._simulator.token,
        }
        play(environment, ["--extra-vars", json.dumps(variables), *self._arguments], playbook)

    def back_up(self, text: str) -> None:
        """Make a restore point of the VM."""
        variables = {"vms": [VM], "repository": str(self._repository), "min_free_percent": 0}
        # Once only: the first run writes a file into the folder, without which the others would fail.
        first = {} if any(self._repository.iterdir()) else {"initialize": True}
        given = {f"vm_backup_{name}": value for name, value in {**variables, **first}.items()}
        self.play(text, "virtinfra.manager.back_up_vms", **given)

    def restore(self, text: str) -> None:
        """Stop the VM, and write the newest point back into its volumes."""
        variables = {"vm": VM, "confirm": VM, "repository": str(self._repository), "stop": True}
        given = {f"vm_backup_restore_{name}": value for name, value in variables.items()}
        self.play(text, "virtinfra.manager.restore_vm_backup", **given)

    def compare(self) -> None:
        """Show the points, and compare the disk of the VM with the newest one. Raise SystemExit if they differ."""
        images = sorted(self._repository.rglob(f"{self._volume}.qcow2"))
        for image in images:
            print(f"Restore point {image.parent.name}: {image.stat().st_size // KIB} KiB for the first volume")
        disk = self._folder / "disks" / f"{self._volume}.qcow2"
        compared = subprocess.run(
            ["qemu-img", "compare", disk, images[-1]], capture_output=True, text=True, check=False
        )
        if compared.returncode or len(images) != 2:
            raise SystemExit(f"The disk of {VM} is not what was backed up. {compared.stdout}{compared.stderr}")
        print(f"The disk of {VM} is that of the second point, says qemu-img compare.")


def main() -> None:
    """Run the demo. The arguments of the command line go to ansible-playbook."""
    if missing := find_missing():
        raise SystemExit(f"The demo of backups needs {', '.join(missing)}, which this machine lacks.\n{PACKAGES}")
    print("Starting a simulated service with real disks ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        disks = ("--disks", str(Path(folder, "disks")), "--disk-size", "16M")
        with Simulator(*disks) as simulator:
            demo = Demo(simulator, Path(folder), sys.argv[1:])
            demo.write(f"The guest of {VM} writes", 0, 4096, seed=1)
            demo.back_up("The first backup, which is full")
            demo.write("The guest changes a part", 1024, 256, seed=2)
            demo.back_up("The second backup, which is an increment")
            demo.write("The guest overwrites everything", 0, 4096, seed=3)
            demo.restore(f"{VM} is restored")
            demo.compare()


if __name__ == "__main__":
    main()
