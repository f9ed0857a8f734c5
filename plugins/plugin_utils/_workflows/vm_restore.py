"""Create VMs from snapshot groups, set their NICs, and destroy those that this workflow has created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from ...module_utils._api.references import build_uuid
from .._site.report import Entry, Outcome, Report, name_some
from .._site.settings import VmRestoreSettings
from .._site.site import GONE, Site
from .._site.wish import Wish

# The description of the VMs that the workflow creates. It destroys no others.
MARK = "Restored by the role virtinfra.manager.vm_restore."

# The members of an entry that are options of the module that creates the VM.
CREATION = ("l3_networks", "default_l3_network", "cluster", "strategy")


class Settings(VmRestoreSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if self.state == "absent" and not self.suffix:
            raise InvalidOptions("vm_restore_state=absent needs the vm_restore_name_suffix of the drill")
        if not self.vms and not self.allow_empty:
            raise InvalidOptions("vm_restore_vms is empty. Add the VMs, or set vm_restore_allow_empty")

    @property
    def suffix(self) -> str:
        """The text at the end of the names of a drill; the service ignores blanks there. Empty without a drill."""
        return self.name_suffix.rstrip() if self.name_suffix.strip() else ""


@dataclass
class Restoration:
    """An entry of vm_restore_vms, the VM with its name, and what becomes of it."""

    wanted: Record
    name: str
    key: str = ""
    vm: Record | None = None
    new_uuid: str | None = None
    is_created: bool = False
    nics: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def remaining(self) -> str:
        """The sentence that a VM remains for which a step after its creation has failed."""
        return " The VM was created, and remains." if self.is_created else ""

    @property
    def is_usable(self) -> bool:
        """Whether the VM exists, also outside check mode, and has not failed."""
        return self.outcome.error is None and bool(self.vm and self.vm["uuid"])

    @property
    def may_be_source(self) -> bool:
        """Whether the snapshot group may be one of the VM itself: it exists otherwise, and nothing is to be set."""
        is_foreign = self.vm is not None and self.vm["description"] != MARK
        return is_foreign and not any(self.wanted.get(name) for name in ("nics", "clear_qos", "default_l3_network"))

    def use(self, vm: Record) -> None:
        """Note the record of the VM, and its NICs."""
        self.vm, self.nics = vm, [nic["uuid"] for nic in vm["vm_nics"] or ()]

    def build_entry(self) -> Entry:
        """Return the entry of the report."""
        uuid = self.vm["uuid"] if self.vm else None
        members = {"vm": self.name, "vm_uuid": uuid, "outcome": self.outcome.name, "error": self.outcome.error}
        return Entry(self.outcome, f"{self.name} ({uuid})" if uuid else self.name, members, self.key)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Create or destroy the VMs, and return what became of each entry."""
    settings = Settings(**options)
    settings.check()
    restorations = plan(settings)
    site.ask(build_wish(site, restorations, settings))
    records: list[Record] = site.read("vm_info")["vms"] if restorations else []
    existing = [vm for vm in records if vm["state"] not in GONE]
    if settings.state == "absent":
        restorations += assign_all(restorations, existing)
        if settings.expunge:
            restorations += add_destroyed(restorations, records)
        _warn_of_others(site, restorations, existing, settings)
        _destroy(site, restorations, settings)
    else:
        assign(restorations, existing)
        if settings.suffix:
            refuse_foreign(restorations, "used. Choose another vm_restore_name_suffix, or rename the VM")
        if any(each.outcome.error is None and (each.vm is None or each.may_be_source) for each in restorations):
            groups = site.read("vm_snapshot_group_info")["snapshot_groups"]
            choose_groups(restorations, records, groups)
            _warn_of_sources(site, restorations, groups)
        choose_uuids(restorations, {vm["uuid"] for vm in records})
        _check_nics(site, restorations, settings)
        _create(site, restorations, settings)
        _set_nics(site, restorations, settings)
        _clear_limits(site, restorations, settings)
        _remind(site, restorations, settings)
    return Report("VMs", [each.build_entry() for each in restorations])


def plan(settings: Settings) -> list[Restoration]:
    """Return the entries with the names of their VMs. Entries with the same name fail."""
    restorations = [
        Restoration(wanted, f"{wanted['name'].strip()}{settings.suffix}", f"vm_restore_vms[{number}]")
        for number, wanted in enumerate(settings.vms)
    ]
    counts = Counter(each.name for each in restorations)
    for each in restorations:
        if counts[each.name] > 1:
            each.outcome.fail("Several entries of vm_restore_vms have this name.")
    return restorations


def assign(restorations: Iterable[Restoration], vms: Iterable[Record]) -> None:
    """Find the VM of each entry by its name. Fail the entries whose name several VMs have."""
    by_name: dict[str, list[Record]] = {}
    for vm in vms:
        by_name.setdefault(vm["name"], []).append(vm)
    for each in restorations:
        found = by_name.get(each.name, [])
        if len(found) > 1:
            each.outcome.fail(describe_several(found))
        elif found and each.outcome.error is None:
            each.use(found[0])


def assign_all(restorations: Iterable[Restoration], vms: Iterable[Record]) -> list[Restoration]:
    """Find the VMs to destroy of each entry by its name, and return an entry for each further one with a name.

    Several VMs have one name if the service ignores the uuid of a new VM, and a run was killed and repeated.
    """
    by_name = {each.name: each for each in restorations}
    further = []
    for vm in vms:
        each = by_name.get(vm["name"])
        if each is None or each.outcome.error is not None:
            continue
        if each.vm is not None:
            each = Restoration(each.wanted, each.name, vm["uuid"])
            further.append(each)
        each.use(vm)
    return further


def build_wish(site: Site, restorations: Iterable[Restoration], settings: Settings) -> Wish:
    """Return that each entry has its VM, and only one; or, at the end of a drill, none that the workflow created."""
    by_key = {each.key: each for each in restorations}

    def read() -> dict[str, Record]:
        by_name: dict[str, list[Record]] = {}
        for vm in site.read("vm_info")["vms"]:
            if vm["state"] not in GONE:
                by_name.setdefault(vm["name"], []).append(vm)
        return {key: {"vms": by_name[each.name]} for key, each in by_key.items() if each.name in by_name}

    def find_lack(dummy_key: str, found: Record | None) -> str | None:
        vms = found["vms"] if found else []
        if settings.state == "absent":
            left = ", ".join(vm["uuid"] for vm in vms if vm["description"] == MARK)
            return f"VMs with this name that the role has created are still there: {left}." if left else None
        return describe_several(vms) if len(vms) > 1 else None if vms else "The service does not list it."

    return Wish({each.key: {"vm": each.name, "vm_uuid": None} for each in by_key.values()}, read, find_lack)


def describe_several(vms: Iterable[Record]) -> str:
    """Return why an entry cannot be processed whose name several VMs have."""
    return f"Several VMs have this name: {', '.join(vm['uuid'] for vm in vms)}. Rename all but one."


def add_destroyed(restorations: Iterable[Restoration], vms: Iterable[Record]) -> list[Restoration]:
    """Find the VMs of the workflow that are destroyed and not yet expunged, for the entries that have no VM.

    Return an entry for each further one with such a name.
    """
    return assign_all(restorations, [vm for vm in vms if vm["state"] == "Destroyed" and vm["description"] == MARK])


def refuse_foreign(restorations: Iterable[Restoration], consequence: str) -> None:
    """Fail the entries whose VM the workflow has not created."""
    for each in restorations:
        if each.vm and each.vm["description"] != MARK:
            each.outcome.fail(
                f"The role has not created this VM: its description is not {MARK!r}. So it is not {consequence}."
            )


def choose_groups(restorations: Iterable[Restoration], vms: Iterable[Record], groups: Iterable[Record]) -> None:
    """Replace the names of snapshot groups by uuids. Fail the entries that name their VMs, too, and have none.

    A VM that was destroyed, of which the service still has the snapshot groups, is used if no other has its name. The
    module that creates the VM says what is wrong with a name that several groups have, or none.
    """
    by_vm: dict[str, list[Record]] = {}
    by_name: dict[str, list[Record]] = {}
    for group in groups:
        by_name.setdefault(group["name"], []).append(group)
        by_vm.setdefault(group["vm_instance_uuid"], []).append(group)
    known: dict[str, list[Record]] = {}
    for vm in sorted(vms, key=lambda vm: vm["state"] in GONE):
        known.setdefault(vm["uuid"], []).append(vm)
        known.setdefault(vm["name"], []).append(vm)
    for each in restorations:
        if each.outcome.error is not None or each.vm is not None:
            continue
        if name := each.wanted.get("vm"):
            each.wanted = {**each.wanted, "snapshot_group": _choose_group(each, known.get(name, []), by_vm)}
        elif len(found := by_name.get(each.wanted["snapshot_group"], [])) == 1:
            each.wanted = {**each.wanted, "snapshot_group": found[0]["uuid"]}


def _choose_group(each: Restoration, vms: Sequence[Record], by_vm: Mapping[str, Sequence[Record]]) -> str | None:
    """Return the uuid of the snapshot group of an entry, None if it is not one. Fail the entry then."""
    existing = [vm for vm in vms if vm["state"] not in GONE]
    sources = {vm["uuid"] for vm in existing or vms}
    wanted, source = each.wanted["snapshot_group"], each.wanted["vm"]
    found = [
        group["uuid"] for uuid in sources for group in by_vm.get(uuid, ()) if wanted in (group["uuid"], group["name"])
    ]
    if len(sources) == len(found) == 1:
        return str(found[0])
    if len(sources) != 1:
        problem = (
            f"{'Several VMs have' if sources else 'No VM has'} the name or uuid {source}. Check vm, or give a uuid."
        )
    elif found:
        problem = f"Several snapshot groups of {source} have the name {wanted}: {', '.join(found)}. Give the uuid."
    else:
        problem = f"The VM {source} has no snapshot group {wanted}. Check snapshot_group."
    each.outcome.fail(problem)
    return None


def _warn_of_sources(site: Site, restorations: Iterable[Restoration], groups: Iterable[Record]) -> None:
    """Warn of entries whose VM is the one of which the snapshot group was taken: the user may want to set it back."""
    found = list(groups)
    usable = [each for each in restorations if each.outcome.error is None]
    if others := [each.name for each in usable if is_source_elsewhere(each, found)]:
        site.warn(
            f"These VMs exist, and their snapshot groups were taken of other VMs: {name_some(others)}. Nothing is"
            " restored for them. Choose other names, or set vm_restore_name_suffix"
        )
    names = [each.name for each in usable if is_source(each, found)]
    if names:
        site.warn(
            f"These VMs exist, and their snapshot groups were taken of them: {name_some(names)}. The role creates VMs,"
            " and does not set one back to a snapshot group. The module vm_snapshot_group with state: reverted does"
        )


def is_source(each: Restoration, groups: Iterable[Record]) -> bool:
    """Return whether the snapshot group of an entry was taken of the VM that has the name of the entry."""
    wanted, vm = each.wanted, each.vm
    if vm is None or not each.may_be_source or wanted.get("vm") not in (None, vm["uuid"], vm["name"]):
        return False
    found = [group for group in groups if wanted["snapshot_group"] in (group["uuid"], group["name"])]
    sources = {group["vm_instance_uuid"] for group in found}
    return vm["uuid"] in sources if wanted.get("vm") else sources == {vm["uuid"]}


def is_source_elsewhere(each: Restoration, groups: Iterable[Record]) -> bool:
    """Return whether a VM that the workflow has not created has the name, and the snapshot group is of another one."""
    wanted, vm = each.wanted, each.vm
    if vm is None or not each.may_be_source:
        return False
    if wanted.get("vm"):
        return wanted["vm"] not in (vm["uuid"], vm["name"])
    found = [group for group in groups if wanted["snapshot_group"] in (group["uuid"], group["name"])]
    return bool(found) and vm["uuid"] not in {group["vm_instance_uuid"] for group in found}


def choose_uuids(restorations: Iterable[Restoration], used: Collection[str]) -> None:
    """Choose the uuid of each VM to create from its snapshot group and its name, which has the suffix of the drill.

    It is the same in all runs, so that two make one VM. If a VM with this uuid exists, somebody has renamed or
    destroyed it, so another uuid is chosen.
    """
    for each in restorations:
        uuids = (build_uuid(f"{each.wanted['snapshot_group']} {each.name} {number}") for number in count())
        each.new_uuid = next(uuid for uuid in uuids if uuid not in used)


def _warn_of_others(site: Site, restorations: Sequence[Restoration], vms: Iterable[Record], settings: Settings) -> None:
    """Warn if no VM has a name of the drill, and there are VMs of one with another suffix."""
    if any(each.vm or each.outcome.error for each in restorations):
        return
    names = tuple(each.wanted["name"].strip() for each in restorations)
    others = [vm["name"] for vm in vms if vm["description"] == MARK and vm["name"].startswith(names)]
    others = [name for name in others if name not in names]
    if others:
        site.warn(
            f"No VM has a name of vm_restore_vms with the suffix {settings.suffix}. The role has created these:"
            f" {name_some(sorted(others))}"
        )


def _destroy(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Destroy the VMs that the workflow has created. VMs that are gone need nothing."""
    refuse_foreign(restorations, "destroyed. The module vm destroys it")
    due = [each for each in restorations if each.is_usable]
    volumes = "delete" if settings.expunge else "keep"
    common = {"state": "absent", "data_volumes": volumes, "expunge": settings.expunge, "wait_timeout": settings.timeout}
    objects = [{"uuid": each.vm["uuid"], "name": each.name, "description": MARK} for each in due if each.vm]
    for each, result in zip(due, site.batch("vm", objects, settings.concurrency, **common), strict=True):
        each.outcome.note(result)
        each.vm = each.vm if result["failed"] else None


def _create(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Create the VMs that do not exist, and verify the default network of the others."""
    due = [
        each
        for each in restorations
        if each.outcome.error is None and (each.vm is None or each.wanted.get("default_l3_network"))
    ]
    objects = [build_creation(each) for each in due]
    results = site.batch("vm_from_snapshot_group", objects, settings.concurrency, wait_timeout=settings.timeout)
    for each, result in zip(due, results, strict=True):
        each.outcome.note(result)
        if not result["failed"]:
            each.is_created = each.vm is None
            each.use(result["vm"])


def build_creation(each: Restoration) -> Record:
    """Return the options that create the VM of an entry, or compare it."""
    given = {name: each.wanted[name] for name in CREATION if each.wanted.get(name) is not None}
    if each.vm:
        return {"uuid": each.vm["uuid"], "default_l3_network": given["default_l3_network"]}
    return {
        **given,
        "name": each.name,
        "snapshot_group": each.wanted["snapshot_group"],
        "description": MARK,
        "resource_uuid": each.new_uuid,
    }


def note_step(each: Restoration, result: Record) -> None:
    """Note the result of a step after the creation of a VM, which remains if the step has failed."""
    if result["failed"]:
        result = {**result, "msg": f"{str(result['msg']).rstrip('.')}.{each.remaining}"}
    each.outcome.note(result)


def _check_nics(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Fail the entries with NICs that cannot be attached, before their VMs are created and started."""
    new = [each for each in restorations if each.outcome.error is None and each.vm is None]
    due = [(each, nic) for each in new for nic in each.wanted.get("nics") or ()]
    objects = [{"vm": None, **{name: value for name, value in nic.items() if value is not None}} for each, nic in due]
    results = site.check("vm_nic", objects, settings.concurrency) if due else []
    for (each, nic), result in zip(due, results, strict=True):
        if result["failed"]:
            each.outcome.fail(f"The VM was not created. Its NIC in the network {nic['l3_network']}: {result['msg']}")


def _set_nics(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Attach, enable and disable the NICs of the VMs. The NICs of a VM that check mode predicts are not known."""
    due = [(each, nic) for each in restorations if each.is_usable for nic in each.wanted.get("nics") or ()]
    given = ({name: value for name, value in nic.items() if value is not None} for each, nic in due)
    objects = [{"vm": each.vm["uuid"], **nic} for (each, dummy), nic in zip(due, given, strict=True) if each.vm]
    results = site.batch("vm_nic", objects, settings.concurrency, wait_timeout=settings.timeout)
    for (each, dummy), result in zip(due, results, strict=True):
        note_step(each, result)
        if not result["failed"] and result["nic"]["uuid"]:
            each.nics.append(result["nic"]["uuid"])


def _clear_limits(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Remove the bandwidth limits of all NICs of the VMs."""
    chosen = [each for each in restorations if each.is_usable and each.wanted.get("clear_qos")]
    due = [(each, nic, way) for each in chosen for nic in dict.fromkeys(each.nics) for way in ("in", "out")]
    objects = [{"uuid": nic, "direction": way} for each, nic, way in due]
    results = site.batch("vm_nic_qos", objects, settings.concurrency, wait_timeout=settings.timeout)
    for (each, *dummy), result in zip(due, results, strict=True):
        note_step(each, result)


def _remind(site: Site, restorations: Iterable[Restoration], settings: Settings) -> None:
    """Name the VMs of a drill, which remain."""
    remaining = [each.name for each in restorations if each.vm and each.vm["uuid"]]
    if settings.suffix and remaining:
        site.warn(f"These VMs remain until the role runs with vm_restore_state=absent: {name_some(remaining)}")
