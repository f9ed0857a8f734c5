"""The mark of a VM that is restored: what the run will put back, and whether the VM may be half written."""

from __future__ import annotations

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.marked_vms import RESTORE, WRITING
from .._site.marks import VM, Mark, Marks
from .._site.site import Site
from .._vm_backups.plan import STOPPED
from .exports import TargetExports
from .settings import RUNNING


class RestoreMark:
    """The mark of a VM, whose label is the name of the point."""

    def __init__(self, site: Site, vm_uuid: str, point: str) -> None:
        self._site, self._uuid = site, vm_uuid
        self._marks = Marks(site, RESTORE, point.lower(), VM, 1)
        self._found: list[Mark] = []
        # Whether an earlier run may have left the VM half written, and whether the VM ran before it was stopped.
        self.was_half = False
        self.ran = False
        # Whether this run has marked the VM.
        self.is_set = False

    def read(self) -> None:
        """Read the mark, which another run may have changed. Raise VirtinfraError."""
        self._found = [mark for mark in self._marks.find() if mark.object_uuid == self._uuid]

    @property
    def is_found(self) -> bool:
        """Whether the VM has a mark."""
        return bool(self._found)

    @property
    def texts(self) -> str:
        """The tags that the VM has."""
        return ", ".join(f"'{mark.text}'" for mark in self._found)

    def settle(self, timeout: int) -> None:
        """Wait until no call of an earlier run is in flight, nor one of this run. Raise VirtinfraError if one is."""
        for problem in self._marks.settle(self._found, timeout).values():
            raise VirtinfraError(f"{problem}. Wait until it has ended, and run the role again.")

    def begin(self, state: str) -> None:
        """Mark the VM, which has a state, in place of the mark of an earlier run. Raise VirtinfraError.

        Of a VM that is stopped now, that mark says whether it ran before the first run that has not ended well.
        """
        found = self._found[0] if self._found else None
        was = found.was if found and state == STOPPED else state
        self.was_half = any(WRITING in mark.note.split() for mark in self._found)
        self._set(was, self.was_half)
        self.is_set, self.ran = True, was == RUNNING

    def note_writing(self) -> None:
        """Note that the VM may be half written from now on. Raise VirtinfraError."""
        self._set(RUNNING if self.ran else STOPPED, is_writing=True)

    def note_whole(self) -> None:
        """Note that the VM is whole, and has only to be started: the run may be killed. Raise VirtinfraError."""
        self._set(RUNNING, is_writing=False)

    def _set(self, was: str, is_writing: bool) -> None:
        note = f"{WRITING} {was}" if is_writing else was
        self._found = [*self._marks.set({self._uuid: note}, self._found).marks.values()]

    def power(self, state: str, timeout: int) -> str | None:
        """Start or stop the VM, and return why that has failed. Another run can find a call that is in flight."""
        jobs = self._marks.choose_jobs(self._found)
        (result,) = self._site.batch("vm", [{"uuid": self._uuid}], 1, jobs, state=state, wait_timeout=timeout)
        if not result["failed"] and (result.get("vm") or {}).get("state", "").lower() != state:
            return f"the service does not show that it is {state}"
        return str(result["msg"]) if result["failed"] else None

    def export(self, exports: TargetExports) -> list[Record]:
        """Open exports of the VM. Another run can find a call that is in flight. Raise VirtinfraError."""
        return exports.open(self._marks.choose_jobs(self._found))

    def take_off(self) -> list[str]:
        """Take off the mark, and one that a later mark could not replace. Return why a mark remains."""
        self.read()
        reasons = self._marks.take_off(self._found).values()
        return [f"The tag {self.texts} of the VM could not be removed: {reason}. Remove it" for reason in reasons]
