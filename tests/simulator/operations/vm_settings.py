"""Settings of VMs that their records do not show: the HA level and the boot order."""

from __future__ import annotations

from ..errors import invalid_argument
from ..registry import Call, Reply, catalogued
from ..state.store import Record
from ..switches.options import Switches

BOOT_DEVICES = ("CdRom", "HardDisk", "Network")


def find_ha_level(switches: Switches, vm: Record) -> str | None:
    """Return the HA level of a VM, None if it has none."""
    return "NeverStop" if vm["uuid"] in switches.never_stopped_vms else vm.get("_haLevel")


@catalogued("GetVmInstanceHaLevel")
def get_ha_level(call: Call) -> Reply:
    """Return the HA level of a VM."""
    return {"level": find_ha_level(call.switches, call.store["vm"].get(call["uuid"]))}


@catalogued("SetVmInstanceHaLevel")
def set_ha_level(call: Call) -> Reply:
    """Set the HA level of a VM."""
    return {"inventory": call.store.change("vm", call["uuid"], _haLevel=call["level"])}


@catalogued("DeleteVmInstanceHaLevel", has_envelope=False)
def delete_ha_level(call: Call) -> Reply:
    """Remove the HA level of a VM; succeed if it has none."""
    call.store.change("vm", call["uuid"], _haLevel=None)
    return {}


@catalogued("GetVmBootOrder")
def get_boot_order(call: Call) -> Reply:
    """Return the devices from which a VM boots, in their order."""
    return {"orders": call.store["vm"].get(call["uuid"]).get("_bootOrder") or ["HardDisk"]}


@catalogued("SetVmBootOrder")
def set_boot_order(call: Call) -> Reply:
    """Set the boot order of a VM, or the default without any."""
    devices = call.get("bootOrder")
    if wrong := [device for device in devices or () if device not in BOOT_DEVICES]:
        raise invalid_argument(f"invalid boot device[{wrong[0]}] in boot order{devices}")
    return {"inventory": call.store.change("vm", call["uuid"], _bootOrder=devices)}
