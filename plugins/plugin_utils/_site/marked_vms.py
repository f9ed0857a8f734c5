"""VMs that a role stops and puts back: mark them, find them again, and start them in the reverse order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

from ...module_utils._api.errors import Unsupported, VirtinfraError
from ...module_utils._api.records import Record
from .marks import VM, Mark, Marks, format_place, read_marks
from .power import NOT_RUNNING, PAUSED, RUNNING, SKIPPED, PoweredVm, start
from .site import GONE, Site
from .window import Window
from .wish import Wish, index

# How many VMs one request reads by their uuids, which are in its address.
CHUNK = 100

# The role whose marks have this word while it writes the volumes of a VM.
RESTORE, WRITING = "vm_backup_restore", "writing"

HALF_WRITTEN = (
    "a restore from a backup may have left it half written, so it is not started. Run the role vm_backup_restore again"
)

STOPPED = "Stopped"

# What a VM is called that the service does not show any more.
REMOVED = "a VM that was removed"


def mark_vms(
    site: Site, marks: Marks, found: Sequence[Mark], groups: Sequence[Sequence[PoweredVm]], timeout: int
) -> dict[str, str]:
    """Mark the VMs of the groups that run, before any is stopped, and return why some cannot be marked, by their uuids.

    A VM that has a mark of this run's label keeps it: an earlier run has marked it, and may have begun to stop it.
    Another mark is stale, and is replaced, unless an earlier run is still stopping the VM, which has failed then. Raise
    VirtinfraError if the service permits no marks.
    """
    vms = {vm.uuid: vm for group in groups for vm in group}
    own = {mark.object_uuid: mark for mark in marks.list_own(found) if mark.object_uuid in vms}
    own = {uuid: mark for uuid, mark in own.items() if mark.was == describe_state(vms[uuid].state)}
    await_others(site, marks, [mark for mark in found if mark.object_uuid not in own], vms.values(), timeout)
    # The mark of a VM that a person is stopping says that the VM does not run.
    wanted = {
        vm.uuid: format_place(place, describe_state(vm.state))
        for place, group in enumerate(groups, 1)
        for vm in group
        if vm.is_running and vm.state != "Stopping" and vm.uuid not in own and vm.outcome.error is None
    }
    marking = marks.set(wanted, found)
    for uuid, vm in vms.items():
        vm.mark = own.get(uuid) or marking.marks.get(uuid)
    return marking.problems


def await_others(site: Site, marks: Marks, found: Iterable[Mark], vms: Iterable[PoweredVm], timeout: int) -> None:
    """Wait until no action of an earlier run is in flight for VMs that seem to run, and read these VMs again.

    A VM of which this is not known has failed.
    """
    by_uuid = {vm.uuid: vm for vm in vms if vm.is_running}
    concerned = [mark for mark in found if mark.object_uuid in by_uuid]
    problems = marks.settle(concerned, timeout)
    records = read_vms(site, sorted({mark.object_uuid for mark in concerned})) if concerned else []
    for record in records:
        if record["uuid"] in by_uuid:
            by_uuid[record["uuid"]].state = record["state"]
    for uuid, problem in problems.items():
        by_uuid[uuid].outcome.fail(problem)


def describe_state(state: str) -> str:
    """Return the state to which a VM in this state is put back."""
    return PAUSED if state == PAUSED else RUNNING


def read_vms(site: Site, uuids: Sequence[str]) -> list[Record]:
    """Return the VMs with these uuids that the service shows."""
    chunks = [uuids[start : start + CHUNK] for start in range(0, len(uuids), CHUNK)]
    return [vm for chunk in chunks for vm in site.read("vm_info", query=[f"uuid?={','.join(chunk)}"])["vms"]]


def ask_for_state(site: Site, vms: Sequence[PoweredVm], asked: Mapping[str, Record], is_stop: bool) -> Wish:
    """Return that VMs are stopped, or run, as a read after the last action shows.

    ``asked`` are the members that name each VM in the report, by the uuids. A VM that needed nothing is not read again,
    so that a run over thousands of them stays cheap.
    """

    wanted = NOT_RUNNING if is_stop else (RUNNING, PAUSED)

    def read() -> dict[str, Record]:
        due = [vm.uuid for vm in vms if vm.outcome.is_changed or vm.state not in wanted]
        known = {vm.uuid: {"state": vm.state} for vm in vms}
        return {uuid: vm for uuid, vm in known.items() if vm["state"] in wanted} | index(read_vms(site, due))

    def find_lack(dummy_key: str, vm: Record | None) -> str | None:
        state = vm["state"] if vm else GONE[0]
        return None if state in wanted else f"It is {state} after the last action. Run the role again."

    return Wish(asked, read, find_lack)


def release(site: Site, marks: Marks, vms: Iterable[PoweredVm]) -> None:
    """Take the marks off VMs that the run has not stopped after all, so that no later run starts them.

    A VM that failed keeps its mark if it does not run, if a stop may be in flight, or if this cannot be read.
    """
    marked = [(vm, vm.mark) for vm in vms if vm.mark]
    left = [mark for vm, mark in marked if vm.outcome.skipped is not None]
    failed = {vm.uuid: mark for vm, mark in marked if vm.outcome.error is not None}
    with suppress(VirtinfraError):
        problems = marks.settle(failed.values(), 0)
        records = read_vms(site, sorted(failed.keys() - problems.keys()))
        left += [failed[vm["uuid"]] for vm in records if vm["uuid"] in failed and vm["state"] in (RUNNING, PAUSED)]
    marks.take_off(left)


def renew(site: Site, marks: Marks, vms: Iterable[PoweredVm]) -> None:
    """Mark VMs again that are off, and whose marks another run has taken off. A VM that has no mark then has failed."""
    stopped = {vm.uuid: vm for vm in vms if vm.mark and vm.outcome.is_changed and vm.outcome.error is None}
    try:
        problems = marks.renew([vm.mark for vm in stopped.values() if vm.mark], lambda vm: vm["state"] in NOT_RUNNING)
    except VirtinfraError as failure:
        site.warn(f"It is not known whether all VMs that were stopped are still marked: {failure}")
        return
    for uuid, problem in problems.items():
        stopped[uuid].outcome.fail(f"it is off, and another run has taken its mark off: {problem}")


def find_marked(site: Site, marks: Marks, found: Sequence[Mark], timeout: int) -> list[PoweredVm]:
    """Return the VMs with the marks of this run's label, in the order in which they are put back.

    A VM whose state an action of an earlier run may still change has failed, as has a destroyed VM.
    """
    own = marks.list_own(found)
    records = index(read_vms(site, [mark.object_uuid for mark in own])) if own else {}
    vms = [_build_marked(mark, records.get(mark.object_uuid)) for mark in own]
    await_others(site, marks, found, vms, timeout)
    return sorted(vms, key=lambda vm: (-vm.mark.place if vm.mark else 0, vm.name))


def _build_marked(mark: Mark, record: Record | None) -> PoweredVm:
    name, state = (REMOVED, GONE[0]) if record is None else (record["name"], record["state"])
    return PoweredVm(mark.object_uuid, name, str(mark.place), state, mark.was, mark)


def restore(
    site: Site,
    marks: Marks,
    found: Sequence[Mark],
    vms: Sequence[PoweredVm],
    concurrency: int,
    timeout: int,
    window: Window | None = None,
) -> None:
    """Put marked VMs back, those of one place after those of another one, and take the marks off those that run.

    After a place in which a VM has failed, the others are skipped. ``found`` are all marks: a VM that runs has none.
    """
    refuse_half_written(site, [vm for vm in vms if not vm.is_put_back])
    has_failed = False
    for dummy, group in groupby(vms, key=lambda vm: vm.group):
        members = list(group)
        for vm in members:
            if vm.state in GONE:
                vm.outcome.fail("it had run, and was destroyed meanwhile. Its mark was taken off")
        if has_failed:
            for vm in members:
                vm.outcome.skipped = None if vm.is_put_back else SKIPPED
        else:
            due = [vm for vm in members if vm.outcome.error is None and not vm.is_put_back]
            start(site, due, concurrency, timeout, window)
        has_failed |= any(vm.outcome.error is not None and vm.state not in GONE for vm in members)
        take_off(marks, found, [vm for vm in members if vm.state in GONE or vm.outcome.reason is None])


def refuse_half_written(site: Site, vms: Sequence[PoweredVm]) -> None:
    """Fail the VMs whose volumes a restore from a backup has left half written: a guest would damage them."""
    half_written = find_half_written(site) if vms else frozenset()
    for vm in vms:
        if vm.uuid in half_written:
            vm.outcome.fail(HALF_WRITTEN)


def find_half_written(site: Site) -> frozenset[str]:
    """Return the uuids of the VMs that a restore may have left half written. Raise VirtinfraError."""
    with suppress(Unsupported):
        return frozenset(mark.object_uuid for mark in read_marks(site, (RESTORE,), VM) if WRITING in mark.note.split())
    return frozenset()


def name_left(site: Site, found: Iterable[Mark], known: Collection[str]) -> list[str]:
    """Return the names of VMs that are off and have a mark, and in brackets who will start them.

    Without those with ``known`` uuids. None are named if the VMs cannot be read.
    """
    owners = {mark.object_uuid: mark.owner for mark in found if mark.object_uuid not in known}
    try:
        vms = read_vms(site, list(owners)) if owners else []
    except VirtinfraError as failure:
        site.warn(f"It is not known which VMs other runs have left off: {failure}")
        return []
    return [f"{vm['name']} ({owners[vm['uuid']]})" for vm in vms if vm["uuid"] in owners and vm["state"] == STOPPED]


def take_off(marks: Marks, found: Iterable[Mark], vms: Iterable[PoweredVm]) -> None:
    """Take all marks off VMs. A VM whose mark remains has failed, because a later run would start it."""
    by_uuid = {vm.uuid: vm for vm in vms}
    for uuid, problem in marks.take_off([mark for mark in found if mark.object_uuid in by_uuid]).items():
        by_uuid[uuid].outcome.fail(f"its mark remains: {problem}")
