"""The exports of stopped VMs, through which they are copied: marked, and ended in any case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...module_utils._api.error_code import list_error_codes
from ...module_utils._api.errors import Unchangeable, VirtinfraError
from ...module_utils._api.operations import get_operation
from ...module_utils._api.records import Record
from .._site.marked_vms import RESTORE
from .._site.marks import VM, Mark, Marks, read_marks
from .._site.site import Site
from .plan import STOPPED, VmCopy, is_excluded, list_copied
from .settings import Settings

HOW_TO_END = "end them with the module cbt_volume_export and state: absent"

# The words of the marks. The API does not show what is exported, so a mark says which exports are those of the role.
LABEL, NOTE = "copy", "exported"

STARTED = "The VM was started, or changed, while it was copied, so there is no point of it. Run the role again."


class Exports:
    """The exports of one mover."""

    def __init__(self, site: Site, settings: Settings) -> None:
        self._site, self._settings = site, settings
        self._marks = Marks(site, "vm_backup", LABEL, VM, settings.concurrency)

    def end_left(self, vms: Sequence[Record]) -> dict[str, str | None]:
        """End the exports that earlier runs left, and return of each VM that had some why not, or None."""
        try:
            found = self._find({vm["uuid"] for vm in vms})
        except VirtinfraError as failure:
            self._site.warn(f"It could not be read whether an earlier run has left exports: {failure}")
            return {}
        marked = {mark.object_uuid for mark in found}
        if not marked:
            return {}
        return self._end([vm for vm in vms if vm["uuid"] in marked], found)

    def _find(self, uuids: Collection[str]) -> list[Mark]:
        """Return the marks of VMs. Raise VirtinfraError."""
        return [mark for mark in self._marks.list_own(self._marks.find_if_possible()) if mark.object_uuid in uuids]

    def open(self, copies: Sequence[VmCopy]) -> None:
        """Export the volumes of VMs. Each copy has its volumes then, or a problem."""
        started = self._site.get_time()
        for copy in copies:
            copy.started = copy.opened = started
        try:
            problems = self._mark({copy.uuid: NOTE for copy in copies})
        except VirtinfraError as failure:
            problems = {copy.uuid: str(failure) for copy in copies}
        for copy in copies:
            copy.problem = problems.get(copy.uuid)
            copy.is_marked = not copy.problem
        marked = [copy for copy in copies if copy.is_marked]
        self._export(marked)
        self._read_again(marked)

    def _export(self, copies: Sequence[VmCopy]) -> None:
        """Export the volumes of VMs that are marked."""
        settings, objects = self._settings, [self._describe(copy.vm) for copy in copies]
        results = self._site.batch("cbt_volume_export", objects, settings.concurrency, wait_timeout=settings.timeout)
        for copy, result in zip(copies, results, strict=True):
            copy.is_exported = not is_refused(result)
            failure = describe_refusal(result) if result["failed"] else None
            copy.receive(result.get("volume_infos"), settings.host_address, failure)

    def _read_again(self, copies: Sequence[VmCopy]) -> None:
        """Read VMs after their export: a change that the export has made does not mean that the VM was started."""
        try:
            current = read_current(self._site, copies)
        except VirtinfraError as failure:
            for copy in copies:
                copy.problem = copy.problem or str(failure)
            return
        for copy in copies:
            copy.vm = current.get(copy.uuid, copy.vm)
            copy.problem = copy.problem or (None if copy.vm["state"] == STOPPED else STARTED)

    def predict(self, vms: Iterable[Record]) -> dict[str, str]:
        """Return why VMs would not be exported. Raise VirtinfraError."""
        uuids = {vm["uuid"] for vm in vms}
        return _find_restores(read_marks(self._site, (RESTORE,), VM), uuids) if uuids else {}

    def _mark(self, wanted: dict[str, str]) -> dict[str, str]:
        """Mark VMs, and return why some are not. Raise VirtinfraError if none can be."""
        found = read_marks(self._site, ("vm_backup", RESTORE), VM)
        problems = _find_restores(found, wanted)
        due = {uuid: note for uuid, note in wanted.items() if uuid not in problems}
        own = [mark for mark in found if mark.role != RESTORE]
        return {**problems, **(self._marks.set(due, own).problems if due else {})}

    def list_unchanged(self, copies: Sequence[VmCopy]) -> set[str]:
        """Return the VMs that were not started, or changed, since their exports began. Raise VirtinfraError."""
        current = read_current(self._site, copies)
        return {
            copy.uuid
            for copy in copies
            if (vm := current.get(copy.uuid))
            and vm["state"] == STOPPED
            and vm.get("last_op_date") == copy.vm.get("last_op_date")
        }

    def end(self, copies: Sequence[VmCopy]) -> dict[str, str | None]:
        """End the exports of VMs, and return why some may remain. Exports of others stay, without a mark."""
        if not copies:
            return {}
        try:
            found = self._find({copy.uuid for copy in copies})
            exported = [copy.vm for copy in copies if copy.is_exported]
            return {**{copy.uuid: None for copy in copies}, **self._end(exported, found)}
        except VirtinfraError as failure:
            unknown = f"It is not known whether the exports of the VM were ended: {failure} Run the role again."
            return {copy.uuid: unknown for copy in copies}

    def _end(self, vms: Sequence[Record], marks: Iterable[Mark]) -> dict[str, str | None]:
        """End the exports of VMs, and take off the marks of those that have none any more."""
        objects = [self._describe(vm) for vm in vms]
        results = self._site.batch("cbt_volume_export", objects, self._settings.concurrency, state="absent")
        problems = {
            str(vm["uuid"]): f"{problem} Run the role again."
            for vm, result in zip(vms, results, strict=True)
            if (problem := find_open(result))
        }
        remaining = self._marks.take_off(mark for mark in marks if mark.object_uuid not in problems)
        problems |= {uuid: f"The mark of the VM could not be taken off: {why}" for uuid, why in remaining.items()}
        return {vm["uuid"]: problems.get(vm["uuid"]) for vm in vms}

    def _describe(self, vm: Record) -> Record:
        """Return the options of the module cbt_volume_export for the volumes of a VM that are copied."""
        volumes = [
            volume["uuid"] for volume in list_copied(vm) if not is_excluded(volume, self._settings.exclude_volumes)
        ]
        return {"vm": vm["uuid"], "volumes": volumes}


def read_current(site: Site, copies: Sequence[VmCopy]) -> dict[str, Record]:
    """Return the VMs as they are, by their uuids, without those that are gone. Raise VirtinfraError."""
    query = [f"uuid?={','.join(copy.uuid for copy in copies)}"]
    return {vm["uuid"]: vm for vm in site.select_vms(query, []).objects} if copies else {}


def _find_restores(marks: Iterable[Mark], uuids: Collection[str]) -> dict[str, str]:
    """Return of each VM that a restore has marked why it is not copied."""
    return {
        mark.object_uuid: f"A restore writes into the VM, or was interrupted (tag {mark.text}). Restore it before it is"
        " copied."
        for mark in marks
        if mark.role == RESTORE and mark.object_uuid in uuids
    }


def is_refused(exported: Record) -> bool:
    """Return whether the service refused to export the volumes: exports that exist are not those of this run.

    Where the service ignores job ids, they may be its own, if a proxy delivered the call twice. These stay, too.
    """
    if not exported["failed"]:
        return False
    refusals = (Unchangeable.code, *get_operation("ExportNbdVolumes").effect.duplicate_codes)
    return any(code in refusals for code in list_error_codes(exported["error"]))


def describe_refusal(exported: Record) -> str:
    """Return why volumes were not exported, and how exports end that exist."""
    hint = f" If they are exported already, and nobody uses the exports, {HOW_TO_END}." if is_refused(exported) else ""
    return f"The volumes could not be exported: {str(exported['msg']).rstrip('.')}.{hint}"


def find_open(ended: Record) -> str | None:
    """Return why exports may be open after the call that ends them, None if they are not.

    The API does not show what is exported: only a call that was made and has succeeded ends it.
    """
    if not ended["failed"] and ended["changed"]:
        return None
    reason = str(ended["msg"]).rstrip(".") if ended["failed"] else "nothing is known about the call"
    return f"The exports could not be ended: {reason}."
