"""The variables of the role vm_backup, and which CBT tasks are its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from .._site.settings import VmBackupSettings
from .._site.variables import PLACEHOLDER
from .._site.window import check_window
from .plan import STOPPED, check_folder

# How the descriptions of the role's CBT tasks begin. It enables, disables and deletes no others.
MARK = "Backup session of the role virtinfra.manager.vm_backup."

# What the description of a CBT task says about where its sessions are copied to.
_DESCRIPTION = re.compile(rf"{re.escape(MARK)} It copies to (?P<folder>.+) on (?P<movers>.+)\.", re.DOTALL)

# How many seconds a command around the moment of a point may take, by default and at most. Meanwhile no copy hears of
# the run, and copies end after two minutes of silence.
COMMAND_TIMEOUT, MAX_COMMAND_TIMEOUT = 60, 80

# What is meant as the placeholder.
_OTHER_PLACEHOLDER = re.compile(r"\{(?!vm_uuid\})\w*(uuid|vm|name)\w*\}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Settings(VmBackupSettings):
    """The variables of the role, and the data movers, which are the hosts of the play."""

    movers: list[str]

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        wrong = {
            "give vm_backup_query or vm_backup_vms": not (self.query or self.vms),
            "give vm_backup_repository, the folder on the data mover with the restore points": self.state == "present"
            and not self.repository,
            "vm_backup_after is called after vm_backup_before. Give that, too": self.after and not self.before,
            "vm_backup_task_prefix must not be empty": not self.task_prefix,
        }
        if message := next((message for message, is_wrong in wrong.items() if is_wrong), None):
            raise InvalidOptions(message)
        if self.repository:
            check_folder(self.repository, "vm_backup_repository")
        for name, hook in (("vm_backup_before", self.before), ("vm_backup_after", self.after)):
            if hook is not None and (mistake := find_hook_mistake(hook)):
                raise InvalidOptions(f"{name}{mistake}")
        check_window("vm_backup", self.not_after)
        if not 0 <= self.min_free_percent < 100:
            raise InvalidOptions(f"vm_backup_min_free_percent must be from 0 to 99, not {self.min_free_percent}")

    def is_ours(self, task: Record) -> bool:
        """Return whether the role has created a CBT task."""
        has_mark = str(task["description"]).startswith(MARK)
        return has_mark and str(task["name"]).startswith(self.task_prefix)

    @property
    def description(self) -> str:
        """The description of new CBT tasks. Runs with another repository see in it that this one has the VM."""
        return f"{MARK} It copies to {normpath(str(self.repository))} on {', '.join(sorted(self.movers))}."

    def find_other_repository(self, task: Record) -> str | None:
        """Return where the sessions of a task of the role are copied to, None if runs there and here see each other.

        They do in a folder that they have in common on a data mover. Without a repository, the user wants all ended.
        """
        found = _DESCRIPTION.fullmatch(str(task["description"]))
        if found is None or self.repository is None or not self.is_ours(task):
            return None
        is_same = found["folder"] == normpath(self.repository)
        is_here = is_same and not set(self.movers).isdisjoint(found["movers"].split(", "))
        return None if is_here else f"{found['folder']} on {found['movers']}"

    def names(self, vm: Record) -> bool:
        """Return whether ``vm_backup_vms`` names a VM."""
        return not {vm["uuid"], vm["name"]}.isdisjoint(self.vms)

    def find_unfit_state(self, vm: Record) -> str | None:
        """Return why a VM cannot be copied in its state, None if it can."""
        if vm["state"] == "Running" or (vm["state"] == STOPPED and self.stopped):
            return None
        needed = "running VM" if vm["state"] == STOPPED else "VM that runs or is stopped"
        return (
            f"The VM is {vm['state']}. A copy needs a {needed}{'' if self.stopped else ': vm_backup_stopped is false'}."
        )

    def may_end(self, task: Record) -> bool:
        """Return whether the sessions of a task are those of this run, or of runs that this one sees."""
        return self.is_ours(task) and self.find_other_repository(task) is None

    def find_task(self, tasks: Iterable[Record], vm_uuid: str) -> Record | None:
        """Return the CBT task of a VM, also one of another product; by its name if the service hides the VMs."""
        found = [task for task in tasks if vm_uuid in self._list_vms(task)]
        return max(found, key=self.is_ours, default=None)

    def _list_vms(self, task: Record) -> list[str]:
        if task["resource_uuids"] is not None:
            return list(task["resource_uuids"])
        return [str(task["name"]).removeprefix(self.task_prefix)] if self.is_ours(task) else []


def find_hook_mistake(hook: Mapping[str, Any]) -> str | None:
    """Return what is wrong with what is called around the moment of a point, None if nothing is."""
    given = {name: value for name, value in hook.items() if value is not None}
    if len(given.keys() & {"operation", "path", "command"}) != 1:
        return " must have one of operation, path and command, and no other of them"
    if "command" not in given:
        if found := _OTHER_PLACEHOLDER.search(str(given)):
            return f" contains {found[0]}. Write {PLACEHOLDER} for the uuid of each VM"
        return ".timeout is the limit of a command, and there is none" if "timeout" in given else None
    if others := sorted(given.keys() - {"command", "timeout"}):
        return f" has a command, and {', '.join(others)}, which belong to operations"
    command, timeout = given["command"], given.get("timeout", COMMAND_TIMEOUT)
    if not command or not command[0].strip():
        return ".command must begin with the program to run"
    if len(command) == 1 and len(words := command[0].split()) > 1:
        return f".command is one string with blanks. Write a list, [{', '.join(words)}], because no shell splits it"
    if any(PLACEHOLDER in part for part in command):
        return f".command contains {PLACEHOLDER}. A command has the VM in its environment: VIRTINFRA_VM_UUID"
    if not 0 < timeout <= MAX_COMMAND_TIMEOUT:
        return f".timeout must be from 1 to {MAX_COMMAND_TIMEOUT}, not {timeout}"
    return None
