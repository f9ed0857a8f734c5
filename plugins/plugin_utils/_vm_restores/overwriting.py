"""A restore point that is written into the volumes of a VM, which is stopped meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.site import Site
from .._vm_backups.plan import STOPPED
from .exports import TargetExports
from .mark import RestoreMark
from .plan import (
    choose_point,
    choose_targets,
    describe_overwriting,
    find_vm,
    refuse_busy,
    refuse_lack_of_room,
    refuse_missing,
)
from .report import UNTOUCHED
from .run import RestoreRun
from .settings import Settings
from .writing import PointWriting

# The description of the snapshot groups that the workflow takes.
MARK = "Taken by the role virtinfra.manager.vm_backup_restore, before a restore."

# The states of a VM that a call of this role is changing.
CHANGING = ("Starting", "Stopping")


def plan_overwriting(site: Site, settings: Settings, listed: Record) -> Record:
    """Return which volumes are overwritten. Raise InvalidOptions if anything speaks against it."""
    vm = find_vm(site, settings.vm)
    if vm is None:
        refuse_missing(site, listed["points"], settings)
        return {}
    point = choose_point(listed["points"], vm, settings)
    vm = _await_earlier(site, vm, point, settings.timeout)
    refuse_busy(vm, site.read("cbt_task_info")["cbt_tasks"], listed, settings)
    targets = choose_targets(point, vm, settings)
    if settings.snapshot_first:
        refuse_lack_of_room(site, targets, [each for each in listed["points"] if each["vm_uuid"] == point["vm_uuid"]])
    lines = describe_overwriting(vm, point, targets)
    return {"vm": vm, "point": point, "targets": targets, "is_done": False, "lines": lines}


def _await_earlier(site: Site, vm: Record, point: Record, timeout: int) -> Record:
    """Return the VM, after the end of the call with which an earlier run is starting or stopping it.

    Raise VirtinfraError if it does not end in time.
    """
    if vm["state"] not in CHANGING:
        return vm
    mark = RestoreMark(site, vm["uuid"], point["point"])
    mark.read()
    mark.settle(timeout)
    return find_vm(site, vm["uuid"]) or {**vm, "state": "gone"}


class Overwriting(PointWriting):
    """Writes a point into a VM: what was done before, so that the end can put back what must be."""

    takes_snapshots: ClassVar[bool] = True

    def __init__(self, site: Site, settings: Settings, planned: Record, run: RestoreRun) -> None:
        super().__init__(site, settings, planned, run)
        self._mark = RestoreMark(site, self.vm["uuid"], self.point["point"])
        # Whether the VM is known to be stopped.
        self._is_off = False

    @property
    def options(self) -> Mapping[str, Any]:
        """How the data mover writes."""
        return {name: getattr(self._settings, name) for name in ("only_different", "allow_larger")}

    def prepare(self) -> list[Record]:
        """Stop the VM if asked, take a snapshot group, and return the exports. Raise VirtinfraError."""
        settings, mark = self._settings, self._mark
        self._exports = TargetExports(self._site, self.vm, self.targets, settings.timeout, settings.host_address)
        mark.read()
        mark.settle(settings.timeout)
        state = self._require_unchanged(settings.accepted)
        mark.begin(state)
        self._is_off = state == STOPPED
        if not self._is_off:
            if reason := mark.power("stopped", settings.timeout):
                raise VirtinfraError(f"The VM could not be stopped: {reason}")
            self._is_off = True
            self._require_unchanged((STOPPED,))
        if settings.snapshot_first and self.takes_snapshots:
            self.snapshot_group = self._take_snapshots()
        mark.note_writing()
        if self.vm["uuid"] in self._run.left_vms or mark.was_half:
            # Exports of a run that was killed would prevent those of this run.
            self._exports.end_all()
        return mark.export(self._exports)

    def _require_unchanged(self, accepted: Sequence[str]) -> str:
        """Return the state of the VM. Raise VirtinfraError unless it is accepted, and the VM has the volumes."""
        current = find_vm(self._site, self.vm["uuid"])
        attached = {volume["uuid"] for volume in (current or {}).get("all_volumes") or ()}
        state = str(current["state"]) if current else "gone"
        if state not in accepted or not attached.issuperset(target["uuid"] for target in self.targets):
            raise VirtinfraError(f"{self.vm['name']} has changed meanwhile: it is {state}. No volume was overwritten.")
        return state

    def _take_snapshots(self) -> str:
        """Take a snapshot group of the VM, and return its name. Raise VirtinfraError."""
        name = f"before-restore-{self._site.get_date():%Y%m%dT%H%M%SZ}"
        group = {"vm": self.vm["uuid"], "name": name, "description": MARK}
        taken = self._site.change("vm_snapshot_group", group, wait_timeout=self._settings.timeout)
        if taken["failed"] or not taken.get("snapshot_group"):
            reason = taken["msg"] if taken["failed"] else "the service does not list it"
            raise VirtinfraError(f"The snapshot group {name} could not be taken: {reason}")
        return name

    def finish(self) -> None:
        """End the exports, leave the VM as it has to be, and note what has failed."""
        is_untouched = all(row["state"] in (UNTOUCHED, "unchanged") for row in self.list_rows())
        was_started = None if is_untouched else find_start(self._site, self.vm)
        remains = self._exports.end() if self._exports else None
        self.problems += filter(None, (was_started, remains))
        if not self._mark.is_set:
            return
        may_be_half = self._mark.was_half or not is_untouched
        try:
            self._mark.read()
            if not self.problems:
                self.problems += self.complete()
            if not self.problems:
                self._leave(self._settings.start, "The VM is restored, but could not be started")
            elif self._mark.ran and not (may_be_half or remains):
                self._leave(True, "The VM was stopped, and could not be started again")
            else:
                self._keep_off(was_started is not None, may_be_half, may_be_half or remains is not None)
        except VirtinfraError as failure:
            self.problems.append(f"Its mark could not be changed, so the VM was not started: {failure}")

    def complete(self) -> list[str]:
        """Do what a VM needs beside its volumes, and return what has failed."""
        return []

    def _leave(self, is_started: bool, failure: str) -> None:
        """Start a VM that is whole if it has to run, and take its mark off. Raise VirtinfraError."""
        if not self._is_off:
            # The call that stops it may still be in flight, while the VM seems to run.
            self._mark.settle(self._settings.timeout)
        if is_started:
            self._mark.note_whole()
            if reason := self._mark.power("running", self._settings.timeout):
                self.problems.append(f"{failure}: {reason}")
                return
            if self.problems:
                self.problems.append("The VM runs, as before")
        self.problems += self._mark.take_off()

    def _keep_off(self, was_started: bool, may_be_half: bool, keeps_mark: bool) -> None:
        """Note that the VM stays off, with its mark if it is not known to be whole. Raise VirtinfraError."""
        settings = self._settings
        if self._is_off and not was_started and (settings.start or settings.stop or may_be_half):
            self.problems.append("The VM was not started")
        if keeps_mark:
            self.problems.append(f"It has the tag {self._mark.texts} until a restore has succeeded")
        else:
            self.problems += self._mark.take_off()


def find_start(site: Site, vm: Record) -> str | None:
    """Return that the VM, whose volumes were written, does not stand still any more, None if it does."""
    try:
        current = find_vm(site, vm["uuid"])
    except VirtinfraError as failure:
        return f"It is not known whether the VM was started while its volumes were written: {failure}"
    state = current["state"] if current else "gone"
    if state == STOPPED:
        return None
    return (
        f"The VM is {state}: it was started, or removed, while its volumes were written, by somebody or by the high"
        " availability of the service. Its volumes are not those of the point. Stop it, and run the role again"
    )
