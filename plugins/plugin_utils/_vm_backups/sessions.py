"""The backup sessions of VMs: CBT tasks of the role, which are enabled for a copy, and disabled in any case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import name_some
from .._site.site import Site
from .exports import Exports, read_current
from .hooks import Hooks
from .plan import Space, VmCopy, has_session
from .scratch import list_known, remove_left
from .settings import Settings

# How many seconds ending a session may take.
END_TIMEOUT = 1800

# By the uuids of VMs, what is wrong with them, None for what is right.
Problems = dict[str, "str | None"]


class Sessions:
    """The sessions of one mover."""

    def __init__(self, site: Site, settings: Settings) -> None:
        self._site, self._settings, self.exports = site, settings, Exports(site, settings)
        self.hooks = Hooks(site, settings)

    def read_tasks(self) -> list[Record]:
        """Return all CBT tasks. Raise VirtinfraError."""
        tasks: list[Record] = self._site.read("cbt_task_info")["cbt_tasks"]
        return tasks

    def read_space(self) -> Space:
        """Return the space of the primary storages. Raise VirtinfraError."""
        storages = self._site.read("primary_storage_info")["primary_storages"]
        return Space({storage["uuid"]: storage for storage in storages}, self._settings.min_free_percent)

    def find_obstacle(self, vm: Record, tasks: Iterable[Record]) -> str | None:
        """Return why no session of a VM may be opened or ended, None if it may."""
        task = self._settings.find_task(tasks, vm["uuid"])
        if task and not self._settings.is_ours(task):
            return (
                f"The VM has the CBT task {task['name']} ({task['uuid']}), which the role has not created, and a VM has"
                " one task. Delete it, or leave the VM to the product that it belongs to."
            )
        other = self._settings.find_other_repository(task) if task else None
        if task and other and has_session(task, vm["state"] == "Running"):
            return (
                f"A run that copies to {other} has a backup session of the VM, and a VM has one session. Wait until it"
                " has ended. If it was killed, run it again, or end the session: set vm_backup_state to ended, without"
                " vm_backup_repository."
            )
        return None

    def prepare(self, due: Sequence[VmCopy], may_wait: bool) -> tuple[list[VmCopy], dict[str, str]]:
        """Return the VMs whose sessions can be opened, and why others cannot be; the rest waits for space.

        Hours may have gone by since the plan: disks came or went, and a run with another repository may have a session.
        Raise VirtinfraError.
        """
        self._read_again(due)
        tasks = self.read_tasks()
        errors = {copy.uuid: error for copy in due if (error := self.find_obstacle(copy.vm, tasks))}
        space, ready = self.read_space(), list[VmCopy]()
        for copy in due:
            if copy.uuid in errors:
                continue
            # Exports have no scratch volumes.
            if copy.is_off or (error := space.take(copy.vm)) is None:
                ready.append(copy)
            elif not (may_wait or ready):
                errors[copy.uuid] = error
        errors |= self._replace_tasks(ready, tasks)
        return [copy for copy in ready if copy.uuid not in errors], errors

    def _read_again(self, copies: Sequence[VmCopy]) -> list[Record]:
        """Read the VMs with their current states, and return those that are not gone. Raise VirtinfraError."""
        current = read_current(self._site, copies)
        for copy in copies:
            copy.vm = current.get(copy.uuid, copy.vm)
        return list(current.values())

    def _replace_tasks(self, copies: Sequence[VmCopy], tasks: Iterable[Record]) -> dict[str, str]:
        """Delete the CBT tasks without a session that name another repository: a description cannot be changed.

        Find the task of each VM, and return why some could not be deleted.
        """
        old = []
        for copy in copies:
            task = self._settings.find_task(tasks, copy.uuid)
            copy.task_uuid = task["uuid"] if task else None
            if task and self._settings.find_other_repository(task) is not None:
                old.append(copy)
        objects = [{"uuid": copy.task_uuid} for copy in old]
        concurrency = self._settings.concurrency
        results = self._site.batch("cbt_task", objects, concurrency, state="absent", wait_timeout=END_TIMEOUT)
        for copy in old:
            copy.task_uuid = None
        return {copy.uuid: str(result["msg"]) for copy, result in zip(old, results, strict=True) if result["failed"]}

    def open(self, copies: Sequence[VmCopy]) -> None:
        """Open sessions, or export the volumes of VMs that are off. Each copy has its volumes then, or a problem."""
        off = [copy for copy in copies if copy.is_off]
        if off:
            self.exports.open(off)
        self.hooks.surround([copy for copy in copies if copy not in off], self._open)

    def _open(self, copies: Sequence[VmCopy]) -> None:
        objects = [self._describe_session(copy) for copy in copies]
        settings, started = self._settings, self._site.get_time()
        for copy in copies:
            copy.started = copy.opened = started
        results = self._site.batch(
            "cbt_task", objects, settings.concurrency, state="enabled", wait_timeout=settings.timeout
        )
        for copy, result in zip(copies, results, strict=True):
            copy.opened = self._site.get_time()
            copy.scratch_volumes = list(result.get("scratch_volumes") or ())
            failure = str(result["msg"]) if result["failed"] else None
            copy.receive(result.get("volume_cbt_backup_infos"), settings.host_address, failure)

    def _describe_session(self, copy: VmCopy) -> Record:
        """Return the options of the module cbt_task that open the session of a VM."""
        bitmap = {"bitmap_name": copy.checkpoint} if copy.checkpoint else {}
        if copy.task_uuid:
            return {"uuid": copy.task_uuid, **bitmap}
        settings = self._settings
        name = f"{settings.task_prefix}{copy.uuid}"
        return {"name": name, "description": settings.description, "vm": copy.uuid, **bitmap}

    def end(self, copies: Sequence[VmCopy]) -> Problems:
        """End the sessions and exports of VMs, and return what remains of each that did not end."""
        self.hooks.call_after(copies)
        marked = [copy for copy in copies if copy.is_marked]
        remains = self.exports.end(marked)
        return {**remains, **self._end([copy for copy in copies if not copy.is_marked])}

    def _end(self, copies: Sequence[VmCopy]) -> Problems:
        if not copies:
            return {}
        try:
            vms = self._read_again(copies)
            remains: Problems = self.end_open(vms, self.read_tasks())
            # A successful call does not prove that the session has ended, so the tasks are read again.
            tasks = self.read_tasks()
            remains |= self._find_unended(tasks, [copy.uuid for copy in copies if not remains.get(copy.uuid)])
            # A task goes with its VM, and its scratch volumes stay.
            return {**remains, **remove_left(self._site, copies, list_known(tasks))}
        except VirtinfraError as failure:
            unknown = f"It is not known whether the backup session was ended: {failure} Run the role again."
            return {copy.uuid: unknown for copy in copies}

    def end_left(self, vms: Sequence[Record], tasks: Sequence[Record]) -> Problems:
        """End what earlier runs left of VMs, and return of each that had something why it did not end, or None."""
        left = self.hooks.end_left(vms)
        ended = {**left, **self.exports.end_left(vms), **self.end_open(vms, tasks)}
        return {uuid: left.get(uuid) or ended[uuid] for uuid in ended}

    def end_open(self, vms: Sequence[Record], tasks: Sequence[Record]) -> Problems:
        """End the sessions of VMs, and return of each that had one why it could not be ended, or None."""
        settings, due = self._settings, []
        for vm in vms:
            task = settings.find_task(tasks, vm["uuid"])
            if task and settings.may_end(task) and has_session(task, vm["state"] == "Running"):
                due.append((vm, task))
        objects = [{"uuid": task["uuid"]} for vm, task in due]
        results = self._site.batch(
            "cbt_task", objects, settings.concurrency, state="disabled", wait_timeout=END_TIMEOUT
        )
        return {
            vm["uuid"]: describe_remains(task, str(result["msg"])) if result["failed"] else None
            for (vm, task), result in zip(due, results, strict=True)
        }

    def _find_unended(self, tasks: Sequence[Record], uuids: Iterable[str]) -> dict[str, str]:
        """Return for each VM whose session is open nevertheless what remains of it."""
        settings = self._settings
        found = {uuid: settings.find_task(tasks, uuid) for uuid in uuids}
        return {
            uuid: describe_remains(task, f"the service shows the status {task['status']}")
            for uuid, task in found.items()
            if task and settings.may_end(task) and has_session(task, is_running=False)
        }


def describe_remains(task: Mapping[str, object], reason: str) -> str:
    """Return what remains of a session that could not be ended, and how to remove it."""
    volumes = task.get("scratch_volumes")
    named = name_some(volumes) if isinstance(volumes, list) else ""
    remains = f"the scratch volumes {named} remain" if named else "its scratch volumes may remain"
    return (
        f"The backup session of the CBT task {task['name']} ({task['uuid']}) could not be ended, and {remains}:"
        f" {reason.rstrip('.')}. When the VM runs, run the role again, or disable the task."
    )
