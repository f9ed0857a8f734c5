"""Plan the creation of VMs from snapshot groups."""

from __future__ import annotations

from .._api.errors import InvalidOptions
from .._api.records import Record
from .._engine.current import Current
from .._engine.plan import build_default_plan
from .._engine.spec import PlannedCall, ResourceSpec

# The parameters that place a new VM.
_PLACEMENT = ("clusterUuid", "hostUuid")


def plan_new_vm(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
    """Plan the creation of a VM. Do not compare its cluster and host, because it may have been migrated.

    Raise InvalidOptions for a new VM whose default network is missing, or is not one of its networks.
    """
    if current.record is None:
        _require_default_network(desired)
    compared = {
        name: value
        for name, value in desired.items()
        if current.record is None or name not in ("clusterUuid", "hostUuid")
    }
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
