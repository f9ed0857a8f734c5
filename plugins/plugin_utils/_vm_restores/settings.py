"""The variables of the role vm_backup_restore."""

from __future__ import annotations

from dataclasses import fields

from ...module_utils._api.errors import InvalidOptions
from .._site.settings import VmBackupRestoreSettings
from .._vm_backups.plan import STOPPED, check_folder

# What is done with the point: it is written into files, into the VM that exists, or into one that is made; one of its
# volumes becomes a new disk of a VM, or all such disks of a VM are removed.
FILES, RESTORED, CREATED, ATTACHED, DETACHED = "files", "restored", "created", "attached", "detached"

RUNNING = "Running"

# The variables that each kind of restore excludes, and why.
_EXCLUDED = {
    FILES: (
        "vm_backup_restore_to_directory writes all volumes of the point into files, and does not touch the VM",
        ("volumes", "map", "stop", "start"),
    ),
    CREATED: (
        "vm_backup_restore_state created makes a VM with all volumes of the point",
        ("to_directory", "volumes", "map", "stop"),
    ),
    ATTACHED: (
        "vm_backup_restore_state attached is about disks of a VM that goes on running",
        ("to_directory", "map", "stop", "start"),
    ),
    DETACHED: (
        "vm_backup_restore_state detached removes all disks that the role has given to a VM, which goes on running",
        ("to_directory", "point", "volumes", "map", "stop", "start"),
    ),
}

# The variables that only some states have, and what to do.
_NEEDED_STATES = {
    "attach_to": (
        (ATTACHED, DETACHED),
        "vm_backup_restore_attach_to needs vm_backup_restore_state attached or detached",
    ),
    "name": ((CREATED,), "vm_backup_restore_name is that of a VM that is made. Set vm_backup_restore_state to created"),
    "cluster": (
        (CREATED,),
        "vm_backup_restore_cluster is that of a VM that is made. Set vm_backup_restore_state to created",
    ),
    "nics": (
        (CREATED,),
        "vm_backup_restore_nics is about the NICs of a VM that is made. Set vm_backup_restore_state to created",
    ),
}


class Settings(VmBackupRestoreSettings):
    """The variables of the role, and what follows from them."""

    @property
    def kind(self) -> str:
        """What is done with the point."""
        return FILES if self.to_directory and self.state == RESTORED else self.state

    @property
    def accepted(self) -> tuple[str, ...]:
        """The states of the VM in which a restore may begin."""
        return (STOPPED, RUNNING) if self.stop else (STOPPED,)

    def check(self) -> None:
        """Raise InvalidOptions for variables that do not fit."""
        check_folder(self.repository, "vm_backup_restore_repository")
        if self.to_directory:
            check_folder(self.to_directory, "vm_backup_restore_to_directory")
        reason, excluded = _EXCLUDED.get(self.kind, ("", ()))
        given = self._list_given()
        if wrong := [f"vm_backup_restore_{name}" for name in excluded if name in given]:
            raise InvalidOptions(f"{reason}. Omit {' and '.join(wrong)}")
        if self.kind == ATTACHED and len(self.volumes) != 1:
            raise InvalidOptions("vm_backup_restore_state attached needs one volume in vm_backup_restore_volumes")
        for name, (states, message) in _NEEDED_STATES.items():
            if name in given and self.state not in states:
                raise InvalidOptions(message)

    def _list_given(self) -> list[str]:
        """Return the names of the variables that have a value, and another one than by default."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return [name for name, (value, default) in values.items() if value and value != default]
