"""The disks of all VMs in a folder, the processes of running VMs, and exports of volumes."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import OperationError
from .machine import Machine, SessionPlan
from .processes import ADDRESS, Process, find_free_port, find_missing_parts, greets, run
from .relay import Relay

PORT_TRIES = 3


class DisksUnavailable(ValueError):
    """This machine or the folder cannot have disks; the message says what to do."""


class Disks:
    """Each volume is a qcow2 file in the folder. It is made when it is first used, with the size of its record."""

    def __init__(self, folder: Path, size: int) -> None:
        """Take a folder for disks of `size` bytes. Raise DisksUnavailable if it is not empty, or QEMU is missing."""
        if missing := find_missing_parts():
            raise DisksUnavailable(
                f"--disks needs {', '.join(missing)}, which this machine lacks. On Debian and Ubuntu, install the"
                " packages qemu-utils and qemu-system-common"
            )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            has_files = any(folder.iterdir())
        except OSError as error:
            raise DisksUnavailable(f"--disks cannot use {folder}: {error.strerror}") from None
        if has_files:
            raise DisksUnavailable(f"--disks needs an empty folder, and {folder} has files")
        self.size = size
        self._folder = folder.resolve()
        self._sizes: dict[str, int] = {}
        self._machines: dict[str, Machine] = {}
        self._exports: dict[str, Process] = {}
        self._relays: dict[str, Relay] = {}

    def path_of(self, volume: str) -> Path:
        """Return the file of a volume."""
        return self._folder / f"{volume}.qcow2"

    def provide(self, volume: str, size: int) -> None:
        """Make the file of a volume, if it is missing, or let it grow to the size."""
        if volume not in self._sizes:
            run("qemu-img", "create", "-q", "-f", "qcow2", self.path_of(volume), str(size))
        elif self._sizes[volume] < size:
            machine = next((each for each in self._machines.values() if each.has_open(volume)), None)
            if machine:
                machine.resize(volume, size)
            else:
                run("qemu-img", "resize", "-q", self.path_of(volume), str(size))
        self._sizes[volume] = size

    def remove(self, volume: str) -> None:
        """Remove the file of a volume that no longer exists."""
        self.end_export(volume)
        if self._sizes.pop(volume, None) is not None:
            self.path_of(volume).unlink(missing_ok=True)

    def open_session(self, vm: str, plan: SessionPlan) -> dict[str, dict[str, Any]]:
        """Open the backup session of a running VM, whose files exist; return how each volume is served."""
        return self._machine(vm).open_session(plan)

    def close_session(self, vm: str) -> None:
        """End the backup session of a VM. A VM whose process has ended has no session."""
        if machine := self._machines.get(vm):
            machine.close_session()

    def write(self, vm: str, volume: str, offset: int, length: int, seed: int) -> None:
        """Write the bytes of `random.Random(seed)` as the guest of a running VM does; raise OperationError if not."""
        file = self._folder / "guest-data"
        file.write_bytes(random.Random(seed).randbytes(length))
        try:
            self._machine(vm).write(volume, offset, file, length)
        finally:
            file.unlink()

    def _machine(self, vm: str) -> Machine:
        if vm not in self._machines:
            self._machines[vm] = Machine(self.path_of)
        return self._machines[vm]

    def stop_vm(self, vm: str) -> None:
        """End the process of a VM, with its session and its checkpoints."""
        if machine := self._machines.pop(vm, None):
            machine.end()

    def export(self, volume: str, is_cut: bool) -> dict[str, Any]:
        """Export a volume, writable, to one client; return where. Raise OperationError if a process has it open.

        One that is cut ends in the middle of the work of its client.
        """
        for attempt in range(PORT_TRIES):
            port = find_free_port()
            process = Process(
                *("qemu-nbd", "-p", str(port), "-b", ADDRESS, "-f", "qcow2", "-x", volume, self.path_of(volume))
            )
            try:
                process.wait_until(partial(greets, port), "qemu-nbd")
            except OperationError:
                process.end()
                # Another process may have taken the port in the meantime.
                if attempt == PORT_TRIES - 1:
                    raise
            else:
                break
        self._exports[volume] = process
        if is_cut:
            self._relays[volume] = Relay(port)
            port = self._relays[volume].port
        return {"nbdServer": ADDRESS, "nbdPort": port}

    def end_export(self, volume: str) -> None:
        """End the export of a volume, if it has not ended by itself."""
        if relay := self._relays.pop(volume, None):
            relay.close()
        if process := self._exports.pop(volume, None):
            process.end()

    def clear(self) -> None:
        """End all processes and remove all files."""
        for vm in list(self._machines):
            self.stop_vm(vm)
        for volume in list(self._sizes):
            self.remove(volume)
