"""The marks of a host in maintenance, and of the VMs that the maintenance stops: how all of them were before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._batch.batch import NewJobUuid
from .marked_vms import describe_state, name_left, read_vms
from .marks import Mark, Marks
from .power import NOT_RUNNING, PAUSED, RUNNING
from .report import name_some
from .site import GONE, Site
from .wish import index

# Each host has its own marks, so no label is needed to tell runs apart.
LABEL = "default"

# How many VMs are marked at the same time.
CONCURRENCY = 20


class MaintenanceMarks:
    """The marks of a role on a host and on VMs that ran on it. The note of a VM has the uuid of the host.

    ``host`` is the mark of the host, None without one, ``others`` those of other hosts, and ``problems`` why marks
    could not be taken off.
    """

    def __init__(self, site: Site, role: str, uuid: str, timeout: int) -> None:
        self._site, self._uuid, self._timeout = site, uuid, timeout
        self.problems: dict[str, str] = {}
        self._hosts = Marks(site, role, LABEL, "HostVO", CONCURRENCY)
        self._vms = Marks(site, role, LABEL, "VmInstanceVO", CONCURRENCY)
        hosts, self._all_vm_marks = self._hosts.find_if_possible(), self._vms.find_if_possible()
        self.host = next((mark for mark in hosts if mark.object_uuid == uuid), None)
        self.others = [mark for mark in hosts if mark.object_uuid != uuid]

    @property
    def vms(self) -> list[Mark]:
        """The marks of the role on VMs that ran on the host."""
        own = self._vms.list_own(self._all_vm_marks)
        return [mark for mark in own if mark.note.startswith(f"{self._uuid} ")]

    def settle(self) -> None:
        """Wait until no change of the host by an earlier run is in flight. Raise VirtinfraError if it may be."""
        problems = self._hosts.settle([self.host] if self.host else [], self._timeout)
        if problem := problems.get(self._uuid):
            raise VirtinfraError(f"{problem}. Run the role again.")

    def await_others(self, vms: Iterable[Record]) -> bool:
        """Wait until no action of other runs for VMs is in flight, and return whether the VMs are to be read again.

        Raise VirtinfraError if one may be.
        """
        names = {vm["uuid"]: str(vm["name"]) for vm in vms}
        own = {mark.uuid for mark in self.vms}
        others = [mark for mark in self._all_vm_marks if mark.object_uuid in names and mark.uuid not in own]
        if problems := self._vms.settle(others, self._timeout):
            changing = name_some([names[uuid] for uuid in problems])
            raise VirtinfraError(f"VMs on it are changing ({changing}): {next(iter(problems.values()))}")
        return bool(others)

    def set(self, state: str, vms: Iterable[Record]) -> None:
        """Mark the host, and the VMs on it that run, before the first of them is stopped.

        Raise VirtinfraError if one cannot be marked, so that nothing is stopped.
        """
        marking = self._hosts.set({self._uuid: state}, [self.host] if self.host else [])
        self.host = marking.marks.get(self._uuid)
        running = {vm["uuid"]: vm for vm in vms if vm["state"] not in NOT_RUNNING}
        notes = {uuid: f"{self._uuid} {describe_state(vm['state'])}" for uuid, vm in running.items()}
        marking = self._vms.set(notes, self._all_vm_marks)
        kept = [mark for mark in self._all_vm_marks if mark.object_uuid not in notes]
        self._all_vm_marks = [*kept, *marking.marks.values()]
        if marking.problems:
            names = name_some([str(running[uuid]["name"]) for uuid in marking.problems])
            raise VirtinfraError(f"VMs on it cannot be marked ({names}): {next(iter(marking.problems.values()))}")

    def add_stopped(self, vms: Sequence[Record]) -> None:
        """Mark VMs that the maintenance has stopped and that have no mark. Raise VirtinfraError.

        They came to the host after it was marked, or another run has taken their marks off while they still ran.
        """
        if not vms:
            return
        self._all_vm_marks = self._vms.find()
        known = {mark.object_uuid for mark in self._all_vm_marks}
        notes = {vm["uuid"]: f"{self._uuid} {RUNNING}" for vm in vms if vm["uuid"] not in known}
        marking = self._vms.set(notes, [])
        self._all_vm_marks += marking.marks.values()
        if marking.problems:
            names = name_some([str(vm["name"]) for vm in vms if vm["uuid"] in marking.problems])
            raise VirtinfraError(f"VMs were stopped that cannot be marked. Start them afterwards: {names}")

    def choose_jobs(self) -> Mapping[str, NewJobUuid]:
        """Return what provides the job ids for changes of the host, by which the next run finds one in flight."""
        return self._hosts.choose_jobs([self.host] if self.host else [])

    def find_down(self) -> list[Record]:
        """Return the VMs that are to be put back, each with ``uuid``, ``name`` and ``was``.

        The marks of the others are taken off: those that run, wherever, and those that were destroyed, which are named.
        """
        marks = {mark.object_uuid: mark for mark in self.vms}
        records = index(read_vms(self._site, list(marks))) if marks else {}
        states = {uuid: records.get(uuid, {}).get("state", GONE[0]) for uuid in marks}
        if gone := [records.get(uuid, {}).get("name", uuid) for uuid, state in states.items() if state in GONE]:
            self._site.warn(f"VMs that the maintenance stopped were destroyed meanwhile: {name_some(gone)}")
        self.take_off_vms([uuid for uuid, state in states.items() if state in (RUNNING, PAUSED, *GONE)])
        return [
            {"uuid": mark.object_uuid, "name": records[mark.object_uuid]["name"], "was": mark.was} for mark in self.vms
        ]

    def take_off_vms(self, uuids: Collection[str]) -> None:
        """Take the marks off VMs."""
        off = [mark for mark in self.vms if mark.object_uuid in uuids]
        problems = self._vms.take_off(off)
        self.problems |= problems
        self._all_vm_marks = [mark for mark in self._all_vm_marks if mark not in off or mark.object_uuid in problems]

    def take_off_host(self) -> None:
        """Take the mark off the host, last of all."""
        self.problems |= self._hosts.take_off([self.host] if self.host else [])

    def name_left_vms(self) -> list[str]:
        """Return the names of the VMs that are off, without those that ran on the host, and who will start them."""
        return name_left(self._site, self._all_vm_marks, {mark.object_uuid for mark in self.vms})

    def name_others(self, known: Collection[str]) -> list[str]:
        """Return the names of other hosts that the role has left in maintenance, without those with known uuids."""
        left = [mark.object_uuid for mark in self.others if mark.object_uuid not in known]
        if not left:
            return []
        try:
            hosts = self._site.read("host_info", query=[f"uuid?={','.join(left)}"])["hosts"]
        except VirtinfraError:
            return left
        return [host["name"] for host in hosts if "Maintenance" in host["state"]]
