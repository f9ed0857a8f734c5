"""A VM and a repository, and what must be in it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import (
    BackupOutcome,
    BackupTask,
    back_up,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.images import QemuImg
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Export, Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository, VmFolder
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.restore import (
    RestoreOutcome,
    RestoreTask,
    build_targets,
    restore,
)

from support.kvm_host import KvmVm, run, run_command
from support.repositories import make_repository

QEMU = QemuImg(run_command)


class Site:
    """A VM, a repository, and a copy of each volume at the moment of each point."""

    def __init__(self, vm: KvmVm, root: Path) -> None:
        self.vm, self.root = vm, root
        make_repository(root)
        self.moments = root.with_name("moments")
        self.moments.mkdir()

    @property
    def repository(self) -> Repository:
        """The repository."""
        return Repository(str(self.root))

    @property
    def folder(self) -> VmFolder:
        """The folder of the VM."""
        return self.repository.vm(self.vm.uuid)

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint of the first volume in the newest point."""
        points = self.folder.read_points()
        return points[-1].volumes[0].checkpoint if points else None

    @property
    def stamps(self) -> list[str]:
        """The points."""
        return self.folder.list_stamps()

    def back_up(
        self,
        checkpoint: str | None = None,
        *,
        during: Callable[[], None] = lambda: None,
        edit: Callable[[list[dict[str, Any]]], None] = lambda infos: None,
        how: dict[str, bool] | None = None,
        wish: Wish | None = None,
        **options: Any,
    ) -> BackupOutcome:
        """Open a session from a checkpoint, write as the guest does, copy, and end the session.

        Without a checkpoint, an increment from the newest point is asked for.
        """
        sent = checkpoint or self.checkpoint
        infos = deepcopy(self.vm.enable(sent, **(how or {})))
        try:
            moment = self.freeze(self.moments / "new")
            during()
            edit(infos)
            task = self.make_task(infos, wish=wish or Wish(sent_checkpoint=sent), **options)
            outcome = back_up(self.repository, task, QEMU)
            if outcome.point:
                shutil.rmtree(self.moments / outcome.point["point"], ignore_errors=True)
                moment.rename(self.moments / outcome.point["point"])
            return outcome
        finally:
            self.vm.disable()

    def make_task(self, infos: list[dict[str, Any]], **options: Any) -> BackupTask:
        """Return the task that copies a session."""
        options = {"min_free_percent": 0, **options}
        return BackupTask(self.vm.record, [Export.from_info(info) for info in infos], **options)

    def freeze(self, moment: Path) -> Path:
        """Keep what the volumes are now."""
        shutil.rmtree(moment, ignore_errors=True)
        moment.mkdir()
        for volume in self.vm.volumes:
            run("cp", "--sparse=always", volume.truth, moment / str(volume.number))
        return moment

    def image(self, stamp: str, number: int = 0) -> Path:
        """Return the image of a volume."""
        return self.root / self.vm.uuid / stamp / f"{self.vm.volumes[number].uuid}.qcow2"

    def is_right(self, stamp: str) -> bool:
        """Return whether qemu-img alone restores every volume of a point as it was."""
        for path in (self.moments / stamp).iterdir():
            raw = self.moments.with_name("restored.raw")
            run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", self.image(stamp, int(path.name)), raw)
            if subprocess.run(["cmp", "-s", str(raw), str(path)], check=False).returncode:
                return False
        return True

    def holds(self, stamp: str, number: int = 0) -> bool:
        """Return whether a volume of the stopped VM is that of a point."""
        command = ["qemu-img", "compare", "-q", "-f", "raw", "-F", "qcow2"]
        paths = [str(self.moments / stamp / str(number)), str(self.vm.volumes[number].path)]
        return subprocess.run([*command, *paths], check=False).returncode == 0

    def restore(self, infos: list[dict[str, Any]], **options: Any) -> RestoreOutcome:
        """Restore a point into exports."""
        return restore(self.repository, RestoreTask(self.vm.uuid, targets=build_targets(infos), **options), QEMU)


def modes(outcome: BackupOutcome) -> list[str]:
    """Return the modes of the volumes."""
    return [volume["mode"] for volume in (outcome.point or {})["volumes"]]


def stamp_of(outcome: BackupOutcome) -> str:
    """Return the stamp of the point."""
    return str((outcome.point or {})["point"])
