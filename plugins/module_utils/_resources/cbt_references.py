"""The objects to which the record of a CBT task refers. Section "CBT tasks"."""

from __future__ import annotations

from .._api.records import Record


def list_vms_of_task(task: Record) -> list[str]:
    """Return the uuids of the VMs of a CBT task.

    While a backup session is open, a task also refers to the scratch volumes of the session, in any order.
    """
    return _list_uuids(select_references(task, (None, "VmInstanceVO")))


def list_scratch_volumes(task: Record) -> list[str] | None:
    """Return the uuids of the scratch volumes of a CBT task, None if the service does not show them.

    Each blank volume takes what the guest overwrites while the backup session is open, and exists as long.
    """
    return None if task.get("resourceRefs") is None else _list_uuids(select_references(task, ("VolumeVO",)))


def select_references(task: Record, types: tuple[str | None, ...]) -> list[Record]:
    """Return the references of a CBT task to objects of these types."""
    return [ref for ref in task.get("resourceRefs") or [] if ref.get("resourceType") in types]


def _list_uuids(references: list[Record]) -> list[str]:
    return [ref["resourceUuid"] for ref in references if ref.get("resourceUuid")]
