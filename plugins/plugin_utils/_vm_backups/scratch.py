"""Scratch volumes that the end of a backup session has left, for example because its VM was destroyed meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import name_some
from .._site.site import Site
from .plan import VmCopy

# How the service names scratch volumes, and describes which volume one is for.
SCRATCH_NAMES = "Cbt-volume-of-%"
SCRATCH_FOR = "cbt-volume-for-"

# The statuses of volumes that are removed, or will be.
REMOVED = ("Deleted", "Deleting")


def list_known(tasks: Iterable[Record]) -> set[str]:
    """Return the uuids of the scratch volumes to which CBT tasks refer."""
    return {uuid for task in tasks for uuid in task.get("scratch_volumes") or ()}


def remove_left(site: Site, copies: Sequence[VmCopy], known: Collection[str]) -> dict[str, str]:
    """Remove the scratch volumes of sessions that no CBT task refers to any more, and return which VMs keep some.

    ``known`` are those to which tasks refer. A volume is that of a session if the task referred to it when the session
    was opened, and its description names a volume of the VM; other volumes stay.
    """
    remains = {}
    for copy in copies:
        uuids = [uuid for uuid in copy.scratch_volumes if uuid not in known]
        if uuids and (reason := _remove(site, copy.vm, uuids)):
            remains[copy.uuid] = reason
    return remains


def _remove(site: Site, vm: Record, uuids: Sequence[str]) -> str | None:
    """Remove scratch volumes of a VM, and return which remain and why, None if none does."""
    described = _describe([vm])
    try:
        found = _list_present(site, uuids)
        own = [volume for volume in found if volume.get("description") in described]
        objects = [{"operation": "DeleteDataVolume", "params": {"uuid": volume["uuid"]}} for volume in own]
        results = site.batch("api", objects, 1)
        left = _list_present(site, uuids) if found else []
    except VirtinfraError as failure:
        return f"It is not known whether the scratch volumes {name_some(uuids)} remain: {failure}"
    if not left:
        return None
    names = name_some([_label(volume) for volume in left])
    reasons = "; ".join(dict.fromkeys(str(result["msg"]).rstrip(".") for result in results if result["failed"]))
    return (
        f"The backup session has ended without its scratch volumes, and {names} remain"
        f"{f': {reasons}' if reasons else ''}. Delete them in the service."
    )


def _list_present(site: Site, uuids: Sequence[str]) -> list[Record]:
    """Return the volumes with these uuids that are not removed. Raise VirtinfraError."""
    query = [f"uuid?={','.join(uuids)}"]
    volumes = site.read("resource_info", resource_type="volume", query=query)["resources"]
    return [volume for volume in volumes if volume.get("status") not in REMOVED]


def warn_of_leaked(site: Site, vms: Iterable[Record], known: Collection[str]) -> None:
    """Warn of scratch volumes of VMs that belong to no CBT task. Nothing but a person removes them.

    ``known`` are those to which tasks refer.
    """
    try:
        found = site.read("resource_info", resource_type="volume", query=[f"name~={SCRATCH_NAMES}"])["resources"]
    except VirtinfraError as failure:
        site.warn(f"Scratch volumes that remained could not be looked for: {failure}")
        return
    ours = _describe(vms)
    leaked = [volume for volume in found if volume.get("description") in ours and volume["uuid"] not in known]
    if leaked:
        site.warn(
            f"These scratch volumes belong to no CBT task, and nothing removes them: {', '.join(map(_label, leaked))}."
            " Delete them in the service, if no other backup product uses them."
        )


def _describe(vms: Iterable[Record]) -> set[str]:
    """Return the descriptions that scratch volumes of VMs have."""
    return {f"{SCRATCH_FOR}{volume['uuid']}" for vm in vms for volume in vm.get("all_volumes") or ()}


def _label(volume: Record) -> str:
    return f"{volume.get('name')} ({volume['uuid']})"
