"""A VM that is made again of a restore point. Its description says that it is not whole until it is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.site import GONE, Site
from .._site.wish import index
from .._vm_backups.plan import STOPPED
from .overwriting import Overwriting
from .plan import NOTHING, choose_point, choose_targets, refuse_busy
from .settings import Settings
from .vm_from_point import (
    NEW,
    NONE,
    attach_nics,
    choose_cluster,
    choose_uuid,
    describe_call,
    find_conflicts,
    list_copies,
    list_nics,
    make,
    match_volumes,
    name_volume,
)

# How the description of a VM that the workflow has made begins, until it is as it was.
UNFINISHED = "Being made by the role virtinfra.manager.vm_backup_restore. Do not start it: run the role again."


def plan_creation(site: Site, settings: Settings, listed: Record) -> Record:
    """Return the plan for a VM that is made, or that an earlier run has made. Raise InvalidOptions."""
    point = choose_point(listed["points"], None, settings)
    name = settings.name or str(point["vm_name"])
    vms: list[Record] = site.read("vm_info")["vms"]
    uuid = choose_uuid(f"vm_backup_restore {point['vm_uuid']} {point['point']} {name}", index(vms))
    made = next((vm for vm in vms if vm["uuid"] == uuid), None)
    _refuse_twins(name, uuid, vms, point)
    targets = [
        {"source": copy["volume_uuid"], "uuid": None, "name": name_volume(point, copy), "size": copy["size"]}
        for copy in list_copies(point)
    ]
    planned = {"vm": made, "point": point, "targets": targets}
    if made and not is_unfinished(made):
        line = f"The VM {name} ({uuid}) was made of the point {point['point']} by an earlier run, and stays as it is."
        return {**planned, "is_done": True, "lines": [line]}
    nics = _choose_nics(site, point, uuid, vms, settings)
    vm = made or {"uuid": uuid, "name": name, "state": STOPPED, "all_volumes": []}
    refuse_busy(vm, [], listed, settings)
    # The description is there from the first moment, so that the VM is never taken for a whole one.
    description = f"{UNFINISHED} Restore point {point['point']} of {point['vm_name']}."
    cluster = choose_cluster(site, point, settings.cluster, "vm_backup_restore_cluster")
    call = describe_call(point, name=name, description=description, resourceUuid=uuid, clusterUuid=cluster)
    lines = describe_creation(name, point, targets, nics)
    return {**planned, "vm": vm, "is_done": False, "call": call, "nics": nics, "lines": lines}


def is_unfinished(vm: Record) -> bool:
    """Return whether the workflow has made a VM, and not finished it."""
    return str(vm.get("description")).startswith(UNFINISHED)


def _refuse_twins(name: str, uuid: str, vms: Sequence[Record], point: Record) -> None:
    """Raise InvalidOptions if another VM has the name of the new one."""
    if twin := next((vm for vm in vms if vm["name"] == name and vm["uuid"] != uuid and vm["state"] not in GONE), None):
        # The point is written into a VM of this name only if it is the one of the point, or its successor.
        way = (
            "To write the point into it, omit vm_backup_restore_state. To make another VM beside it, set"
            " vm_backup_restore_name to another name"
            if name == point["vm_name"]
            else "Choose another vm_backup_restore_name"
        )
        raise InvalidOptions(f"a VM has the name {name} already ({twin['uuid']}). {NOTHING} {way}")


def _choose_nics(site: Site, point: Record, uuid: str, vms: Sequence[Record], settings: Settings) -> list[Record]:
    """Return the NICs of the new VM. Raise InvalidOptions if a network is gone, or an address is taken."""
    nics = list_nics(point, settings.nics)
    if conflicts := find_conflicts(nics, uuid, vms):
        raise InvalidOptions(
            f"{'; '.join(conflicts)}. {NOTHING} Set vm_backup_restore_nics to {NEW} or {NONE}, or detach these NICs"
        )
    networks = site.read("resource_info", resource_type="l3_network")["resources"] if nics else ()
    if missing := sorted({nic["l3_network"] for nic in nics}.difference(each["uuid"] for each in networks)):
        raise InvalidOptions(
            f"the service has no L3 networks {', '.join(missing)}, which the VM had. {NOTHING} Set"
            f" vm_backup_restore_nics to {NONE}, and attach NICs with the module vm_nic"
        )
    return nics


def describe_creation(name: str, point: Record, targets: Sequence[Record], nics: Sequence[Record]) -> list[str]:
    """Return lines that say what VM is made."""
    lines = [f"The VM {name} is made of the point {point['point']} of {point['vm_name']}, with these volumes:"]
    lines += [f"- {target['name']} ({target['source']}), {target['size']} bytes" for target in targets]
    lines += [f"- not {each['name']} ({each['volume_uuid']}): {each['reason']}" for each in point.get("left_out") or ()]
    networks = [f"- a NIC in the network {nic['l3_network']}, {nic.get('static_ip') or 'new address'}" for nic in nics]
    return lines + (networks or ["- no NIC"])


class Creating(Overwriting):
    """Makes a VM unless an earlier run has, writes a point into it, and gives it what it had."""

    takes_snapshots: ClassVar[bool] = False

    def prepare(self) -> list[Record]:
        """Make the VM, and return the exports of its volumes. Raise VirtinfraError."""
        vm = make(self._site, self._planned["call"], self._settings.timeout)
        if not is_unfinished(vm):
            raise VirtinfraError(
                f"The VM {vm['name']} ({vm['uuid']}) is not one that this role makes. It stays as it is."
            )
        self.vm = vm
        mapped = replace(self._settings, map=match_volumes(self.point, vm))
        self.targets = choose_targets(self.point, vm, mapped)
        return super().prepare()

    def complete(self) -> list[str]:
        """Give the VM its NICs and its description, and return why it is not as it was."""
        uuid, point, timeout = self.vm["uuid"], self.point, self._settings.timeout
        if problems := attach_nics(self._site, uuid, self._planned["nics"], timeout):
            hint = "Run the role again when the address is free, or attach the NIC with the module vm_nic first"
            return [*problems, hint]
        made_of = f"Made of the restore point {point['point']} of {point['vm_name']}."
        change = {"uuid": uuid, "description": point["vm"].get("description") or made_of}
        result = self._site.change("vm", change, wait_timeout=timeout)
        return [f"The VM is restored, but could not get its description: {result['msg']}"] if result["failed"] else []
