"""Plan the creation of VMs from snapshot groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from .._api.errors import ApiError, InvalidOptions, Unsupported
from .._api.records import NullReference, Record
from .._client.client import Client
from .._client.lists import get_by_uuid
from .._engine.current import Current
from .._engine.plan import build_default_plan
from .._engine.spec import Ignored, PlannedCall, ResourceSpec
from .finders import find_by_type
from .vm_states import PLACEMENT

# The member of the record that says whether the snapshot group was taken of the VM itself.
_IS_SOURCE = "isSourceOfSnapshotGroup"

_find_vm = find_by_type("vm", "uuid", "name")


def find_restored_vm(client: Client, desired: Record) -> Record | None:
    """Read the VM, and whether the snapshot group was taken of it, as far as the service shows that."""
    vm, group = _find_vm(client, desired), desired.get("volumeSnapshotGroupUuid")
    if vm and group and not isinstance(group, NullReference):
        with suppress(ApiError, Unsupported):
            groups = get_by_uuid(client, "QueryVolumeSnapshotGroup", group)
            return {**vm, _IS_SOURCE: any(each.get("vmInstanceUuid") == vm["uuid"] for each in groups)}
    return vm


def find_ignored_source(dummy: Record, vm: Record) -> Iterator[Ignored]:
    """Yield that the VM is not set back to a snapshot group that was taken of it."""
    if vm.get(_IS_SOURCE):
        yield Ignored(
            "the snapshot group was taken of this VM, and the module creates VMs: nothing is set back. To set it back,"
            " use vm_snapshot_group with state: reverted. For another VM, give another name"
        )


def hide_source(vm: Record | None) -> Record:
    """Return the VM as it is shown in the result."""
    return {"vm": vm and {name: value for name, value in vm.items() if name != _IS_SOURCE}}


def plan_new_vm(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a VM. Do not compare its cluster and host, because it may have been migrated.

    Raise InvalidOptions for a new VM whose default network is missing, or is not one of its networks.
    """
    if current.record is None:
        _require_default_network(desired)
    compared = {name: value for name, value in desired.items() if current.record is None or name not in PLACEMENT}
    calls = build_default_plan(resource, state, compared, current)
    if desired.get("strategy") == "CreateStopped":
        # The VM is on no host until it is started.
        hidden = {"hostUuid": None}
    else:
        # The host determines the cluster.
        hidden = {"clusterUuid": None} if "hostUuid" in desired else {}
    return [call.expect(hidden) for call in calls]


def _require_default_network(desired: Record) -> None:
    networks, default = desired.get("l3NetworkUuids") or [], desired.get("defaultL3NetworkUuid")
    if default is None and len(set(networks)) > 1:
        raise InvalidOptions("a VM with several l3_networks needs default_l3_network. Give one of them")
    if default is not None and default not in networks:
        raise InvalidOptions(f"default_l3_network {default!r} is not one of l3_networks. Add it to them")
