"""One volume of a restore point as a new disk of a VM, which may run.

Only volumes of a stopped VM can be written, so the disk is made and written as the data volume of a VM that is never
started, the carrier. It gets its mark when it is whole, and is then detached from the carrier and attached to its VM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import Entry, Report, name_some
from .._site.site import GONE, Site
from .._site.wish import Wish, index
from .._vm_backups.plan import get_host
from .._vm_backups.scratch import REMOVED
from .exports import TargetExports
from .plan import NOTHING, choose_point, find_vm
from .report import build_entries
from .settings import Settings
from .vm_from_point import CARRIER, choose_uuid, make
from .writing import PointWriting

# How the descriptions of disks that are whole begin. No others are removed.
DISK = "Disk of the role virtinfra.manager.vm_backup_restore"

# The size of a carrier, which never runs, and the states of a VM to which a volume can be attached.
_ROOT, _MEMORY = 1 << 30, 1 << 30
_ATTACHABLE = ("Running", "Stopped")

# What a carrier has from the VM, by the parameter of its creation.
_GUEST = {"platform": "platform", "guestOsType": "guest_os_type", "architecture": "architecture"}


def describe_carrier(vm_uuid: str) -> str:
    """Return the description of a carrier: its mark, with the VM for which the disk is."""
    return f"{CARRIER} For the VM {vm_uuid}."


def list_disks(site: Site, vm_uuid: str) -> list[Record]:
    """Return the disks of the workflow for a VM. Raise VirtinfraError if they cannot be read."""
    found = site.read("resource_info", resource_type="volume", query=[f"description~={DISK}%"])["resources"]
    return [
        volume
        for volume in found
        if str(volume.get("description")).startswith(f"{DISK}: ")
        and str(volume["description"]).endswith(f"For the VM {vm_uuid}.")
        and volume.get("status") not in REMOVED
    ]


def plan_disk(site: Site, settings: Settings, listed: Record) -> Record:
    """Return what is made for a VM of one volume of a point, and whether it has it already. Raise InvalidOptions."""
    source_vm = find_vm(site, settings.vm)
    vm = find_vm(site, settings.attach_to) if settings.attach_to else source_vm
    if vm is None:
        raise InvalidOptions(
            f"no VM has the name or uuid {settings.attach_to or settings.vm}, so it gets no disk. {NOTHING} Set"
            " vm_backup_restore_attach_to"
        )
    point = choose_point(listed["points"], source_vm, settings)
    copy = _find_copy(point, settings.volumes[0])
    if vm["state"] not in _ATTACHABLE:
        raise InvalidOptions(f"{vm['name']} is {vm['state']}, so no disk can be attached. {NOTHING}")
    source, call = copy["volume_uuid"], _describe_carrier_call(site, vm, point, copy)
    description = f"{DISK}: volume {source} of the restore point {point['point']}. For the VM {vm['uuid']}."
    made = next((each for each in list_disks(site, vm["uuid"]) if each["description"] == description), None)
    target = {"source": source, "uuid": made and made["uuid"], "size": copy["size"], "name": call["name"]}
    is_done = bool(made and made.get("vm_instance_uuid") == vm["uuid"])
    line = (
        f"The volume {source} of the point {point['point']} of {point['vm_name']}, {copy['size']} bytes, becomes a new"
        f" disk of the VM {vm['name']}."
    )
    if made and is_done:
        line = f"The VM {vm['name']} has this disk already: {made['name']} ({made['uuid']})."
    known = {"vm": vm, "point": point, "targets": [target], "is_done": is_done, "lines": [line]}
    return {**known, "is_made": made is not None, "call": call, "description": description}


def _find_copy(point: Record, source: str) -> Record:
    """Return the copy of a volume in a point. Raise InvalidOptions."""
    for copy in point["volumes"]:
        if copy["volume_uuid"] == source:
            return dict(copy)
    known = ", ".join(str(each["volume_uuid"]) for each in point["volumes"])
    raise InvalidOptions(
        f"the point {point['point']} has no volume {source}. {NOTHING} Check"
        f" vm_backup_restore_volumes: its volumes are {known}"
    )


def _describe_carrier_call(site: Site, vm: Record, point: Record, copy: Record) -> Record:
    """Return the parameters that make the carrier of a disk for a VM."""
    source = copy["volume_uuid"]
    purpose = f"vm_backup_restore disk {point['vm_uuid']} {point['point']} {source} {vm['uuid']}"
    params = {
        "name": f"restore-{point['point'].lower()}-{source[:8]}",
        "description": describe_carrier(vm["uuid"]),
        "resourceUuid": choose_uuid(purpose, index(site.read("vm_info")["vms"])),
        "strategy": "CreateStopped",
        "cpuNum": 1,
        "memorySize": _MEMORY,
        "rootDiskSize": _ROOT,
        "dataDiskSizes": [int(copy["size"])],
        "clusterUuid": vm.get("cluster_uuid"),
        # A storage of its host alone would keep the disk from the VM.
        "hostUuid": get_host(vm),
        **{name: vm.get(member) for name, member in _GUEST.items()},
    }
    return {name: value for name, value in params.items() if value is not None}


class Attaching(PointWriting):
    """Writes a copy into the data volume of a carrier, and attaches it to the VM."""

    @property
    def options(self) -> Mapping[str, Any]:
        """How the data mover writes: the disk is empty, and no backup knows it."""
        return {"only_different": False, "remember": False}

    def prepare(self) -> list[Record]:
        """Make the carrier, and return the export of its data volume. Raise VirtinfraError."""
        settings, (target,) = self._settings, self.targets
        carrier = make(self._site, self._planned["call"], settings.timeout)
        if not str(carrier.get("description")).startswith(CARRIER):
            raise VirtinfraError(f"The VM {carrier['name']} ({carrier['uuid']}) is not one that this role has made.")
        volume = find_data_volume(carrier)
        if volume["size"] != target["size"]:
            raise VirtinfraError(f"The new volume has {volume['size']} bytes, and its copy {target['size']}.")
        self.targets = [{**target, "uuid": volume["uuid"]}]
        self._exports = TargetExports(self._site, carrier, self.targets, settings.timeout, settings.host_address)
        # The exports of a run that was killed.
        self._exports.end_all()
        return self._exports.open()

    def finish(self) -> None:
        """Attach the disk if it is whole, and remove the carrier. Nobody may write a disk that is attached."""
        remains = self._exports.end() if self._exports else None
        self.problems += [remains] if remains else []
        if not self.problems and self.is_written:
            mark = {"name": self._planned["call"]["name"], "description": self._planned["description"]}
            self.problems += attach(self._site, self._planned, self.targets[0]["uuid"], mark, self._settings.timeout)
        self.problems += remove_carriers(self._site, self.vm["uuid"], self._settings.timeout)


def find_data_volume(carrier: Record) -> Record:
    """Return the data volume of a carrier. Raise VirtinfraError if it does not have exactly one."""
    volumes: list[Record] = [each for each in carrier["all_volumes"] or () if each.get("type") != "Root"]
    if len(volumes) != 1:
        raise VirtinfraError(f"The VM {carrier['name']} ({carrier['uuid']}) has {len(volumes)} data volumes, not one.")
    return volumes[0]


def complete(site: Site, settings: Settings, planned: Record) -> list[str]:
    """Attach a disk that an earlier run has written, and remove what runs have left. Return what has failed."""
    uuid = planned["targets"][0]["uuid"]
    problems = [] if planned["is_done"] else attach(site, planned, uuid, {}, settings.timeout)
    return problems + remove_carriers(site, planned["vm"]["uuid"], settings.timeout)


def attach(site: Site, planned: Record, uuid: str, mark: Record, timeout: int) -> list[str]:
    """Attach a disk to its VM, marked and detached from the carrier. Return what has failed."""
    vm, carrier = planned["vm"], planned["call"]["resourceUuid"]
    try:
        if mark:
            # Until the disk is marked, it is removed with the carrier.
            _change(site, {"uuid": uuid, **mark}, "The disk could not be marked", wait_timeout=timeout)
        if _read_owner(site, uuid) == carrier:
            _change(site, {"uuid": uuid}, "The disk could not be detached", state="detached", wait_timeout=timeout)
        failure = f"The disk could not be attached to {vm['name']}"
        _change(site, {"uuid": uuid, "vm": vm["uuid"]}, failure, wait_timeout=timeout)
    except VirtinfraError as failed:
        return [str(failed)]
    return []


def _read_owner(site: Site, volume_uuid: str) -> str | None:
    """Return the VM that has a volume, None if none has. Raise VirtinfraError."""
    found = site.read("resource_info", resource_type="volume", query=[f"uuid={volume_uuid}"])["resources"]
    return found[0].get("vm_instance_uuid") if found else None


def _change(site: Site, volume: Record, failure: str, **common: Any) -> None:
    """Change a volume with the module volume. Raise VirtinfraError."""
    result = site.change("volume", volume, **common)
    if result["failed"]:
        raise VirtinfraError(f"{failure}: {str(result['msg']).rstrip('.')}.")


def remove_carriers(site: Site, vm_uuid: str, timeout: int) -> list[str]:
    """Remove the carriers of disks for a VM, and what is attached to them. Return which remain, and why.

    Their exports are ended before. A disk that is whole is no volume of them any more.
    """
    mark = describe_carrier(vm_uuid)
    try:
        vms = [vm for vm in site.read("vm_info")["vms"] if vm.get("description") == mark and vm["state"] != "Expunging"]
        kept = {disk["uuid"] for disk in list_disks(site, vm_uuid)}
    except VirtinfraError as failure:
        return [f"It is not known whether a VM remains in which the disk was written: {failure}."]
    problems = []
    for carrier in vms:
        volumes = [volume["uuid"] for volume in carrier["all_volumes"] or ()]
        if kept.intersection(volumes):
            problems.append(f"The VM {carrier['name']} ({carrier['uuid']}) remains, because it has the disk.")
            continue
        if volumes and carrier["state"] not in GONE:
            exports = {"vm": carrier["uuid"], "volumes": volumes}
            site.change("cbt_volume_export", exports, state="absent", wait_timeout=timeout)
        common = {"state": "absent", "data_volumes": "delete", "expunge": True, "wait_timeout": timeout}
        result = site.change("vm", {"uuid": carrier["uuid"], "description": mark}, **common)
        if result["failed"]:
            reason = str(result["msg"]).rstrip(".")
            problems.append(f"The VM {carrier['name']} ({carrier['uuid']}) could not be removed: {reason}.")
    return problems


def plan_removal(site: Site, settings: Settings, dummy: Record) -> Record:
    """Return which disks of a VM are removed. They name their VM by its uuid, also when it is gone."""
    reference = settings.attach_to or settings.vm
    vm = find_vm(site, reference) or {"uuid": reference, "name": reference}
    disks = list_disks(site, vm["uuid"])
    names = name_some([f"{disk['name']} ({disk['uuid']})" for disk in disks]) or "none"
    return {"vm": vm, "disks": disks, "lines": [f"These disks of {vm['name']} are removed: {names}"]}


def remove_disks(site: Site, settings: Settings, planned: Record) -> Report:
    """Remove the disks of a VM, and what runs that were killed have left, and return an entry for each disk."""
    vm, entries = planned["vm"], list[Entry]()
    asked = {disk["uuid"]: {"vm": vm["name"], "volume": disk["uuid"]} for disk in planned["disks"]}
    site.ask(Wish(asked, lambda: index(list_disks(site, vm["uuid"])), find_left))
    for disk in planned["disks"]:
        problem = None if site.check_mode else _remove_disk(site, disk, settings.timeout)
        row = {"volume_uuid": disk["uuid"], "target": disk["uuid"], "size": disk["size"], "state": "removed"}
        named = {"vm": vm["name"], "vm_uuid": vm["uuid"], "point": None}
        entries += build_entries(named, [row], [problem] if problem else [])
    if not site.check_mode:
        for problem in remove_carriers(site, vm["uuid"], settings.timeout):
            site.warn(problem)
    return Report("volumes", entries, has_changed=site.check_mode and bool(entries))


def _remove_disk(site: Site, disk: Record, timeout: int) -> str | None:
    """Detach a disk of the workflow, and delete it for good. Return why it remains, None if it does not."""
    uuid, common = disk["uuid"], {"wait_timeout": timeout}
    try:
        if _read_owner(site, uuid):
            _change(site, {"uuid": uuid}, "The disk could not be detached", state="detached", **common)
        # A disk that somebody keeps, and describes in another way, stays.
        kept = {"uuid": uuid, "description": disk["description"]}
        _change(site, kept, "The disk could not be deleted", state="absent", expunge=True, **common)
    except VirtinfraError as failure:
        return str(failure)
    return None


def find_left(dummy_uuid: str, disk: Record | None) -> str | None:
    """Return that a disk remains that was to be removed, None if the service does not show it any more."""
    return "The service still shows the disk." if disk else None
