"""Copy and restore a volume, beside other programs, and print the figures as JSON. The platform's Python has libnbd."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import BackupTask, back_up
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.extents import count_bytes, decode_bitmap
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.images import QemuImg
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Export, Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.restore import (
    RestoreTask,
    build_targets,
    restore,
)

from support.kvm_host import MIB, KvmVm, run, run_command
from support.repositories import make_repository

# A volume of which every second part has data, and in how many places of how many bytes it changes.
SIZE, PART = 1024 * MIB, 16 * MIB
PLACES, LENGTH = 400, 65536

# Each program copies so many times, in turns. Its best time counts.
TIMES = 3

QEMU = QemuImg(run_command)


def main() -> None:
    """Measure, and print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = make_repository(folder / "repository")
        vm = KvmVm(folder / "host", (SIZE,))
        try:
            for offset in range(0, SIZE, 2 * PART):
                vm.write(0, offset, PART)
            print(json.dumps({**measure_copies(vm, repository), **measure_changes(vm, repository)}))
        finally:
            vm.destroy()


def copy_session(vm: KvmVm, repository: Path, infos: list[dict[str, Any]], sent: str | None = None) -> dict[str, Any]:
    """Copy a session, and return the volume of the point."""
    wish = Wish(sent_checkpoint=sent) if sent else Wish("full")
    task = BackupTask(vm.record, [Export.from_info(info) for info in infos], wish, min_free_percent=0)
    volume: dict[str, Any] = (back_up(Repository(str(repository)), task, QEMU).point or {})["volumes"][0]
    return volume


def measure_copies(vm: KvmVm, repository: Path) -> dict[str, float]:
    """Return the seconds of a full copy into qcow2 by each program."""
    target = repository.with_name("copy.qcow2")

    def copy_with_nbdcopy(infos: list[dict[str, Any]]) -> None:
        run("qemu-img", "create", "-q", "-f", "qcow2", target, str(SIZE))
        run("nbdcopy", build_uri(infos[0]), "--", "[", "qemu-nbd", "-f", "qcow2", target, "]")

    def copy_with_qemu_img(infos: list[dict[str, Any]]) -> None:
        # Like the others, it waits until everything is on the disk.
        run("qemu-img", "convert", "-t", "writeback", "-f", "raw", "-O", "qcow2", build_uri(infos[0]), target)

    copiers: Mapping[str, Callable[[list[dict[str, Any]]], Any]] = {
        "backup_point": lambda infos: copy_session(vm, repository, infos),
        "nbdcopy": copy_with_nbdcopy,
        "qemu-img": copy_with_qemu_img,
    }
    seconds: dict[str, list[float]] = {name: [] for name in copiers}
    for dummy in range(TIMES):
        for name, copy in copiers.items():
            with vm.opened() as infos:
                begin = time.monotonic()
                copy(infos)
                seconds[name].append(time.monotonic() - begin)
            target.unlink(missing_ok=True)
    return {name: min(each) for name, each in seconds.items()}


def measure_changes(vm: KvmVm, repository: Path) -> dict[str, float]:
    """Return how much an increment reads, and a restore writes, as ratios to what has changed."""
    with vm.opened() as infos:
        checkpoint = copy_session(vm, repository, infos)["checkpoint"]
    change(vm)
    with vm.opened(checkpoint) as infos:
        changed = count_bytes(decode_bitmap(infos[0]["bitmap_base64"]))
        volume = copy_session(vm, repository, infos, checkpoint)
        # What was written is read once more to be compared.
        read = volume["bytes_read"] + volume["bytes_verified"]
    change(vm)
    vm.stop()
    task = RestoreTask(vm.uuid, targets=build_targets(vm.export()))
    restored = restore(Repository(str(repository)), task, QEMU).describe()[0]
    vm.end_exports()
    return {
        "increment": read / changed,
        "restore": (restored["bytes_written"] + restored["bytes_zeroed"]) / (PLACES * LENGTH),
    }


def change(vm: KvmVm) -> None:
    """Write in many places that have data."""
    parts = SIZE // (2 * PART)
    for number in range(PLACES):
        vm.write(0, number % parts * 2 * PART + number // parts * LENGTH, LENGTH)


def build_uri(info: Mapping[str, Any]) -> str:
    """Return the URI of an export."""
    return f"nbd://127.0.0.1:{info['nbd_port']}/{info['scratch_node_name']}"


if __name__ == "__main__":
    main()
