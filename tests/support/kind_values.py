"""Two values for each property of each kind of the module ``resource``: that of a new object, and another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import Property
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import Kind

from support.kind_tasks import FLAT, KEY, KIND_TASKS, ROUTER, SSH, WEB

NIC, OTHER_NIC = "a0000006000040008000000000000001", "a0000006000040008000000000000003"
VM, OTHER_VM = "a0000004000040008000000000000001", "a0000004000040008000000000000002"
SIMPLE = {"scheduler_type": "simple", "scheduler_interval": 60, "repeat_count": 3, "start_time": 1900000000}
RANGE = {"start_ip": "10.9.0.10", "end_ip": "10.9.0.99", "netmask": "255.255.255.0", "gateway": "10.9.0.1"}
UNKNOWN_TO_THE_SIMULATOR = {"acls", "certificate"}


class Values(NamedTuple):
    """The value of a property in the task that creates the object, and the one in the task that changes it.

    ``instead`` are the other properties of the creating task, if they are not the usual ones. ``needs`` are other
    properties of the task that changes it.
    """

    created: Any
    changed: Any
    instead: Mapping[str, Any] | None = None
    needs: Mapping[str, Any] = {}


OF_KINDS: Mapping[str, Values] = {
    "instance_offering.reserved_memory_size": Values("1G", "2G"),
    "account.old_password": Values("0ld-secret/1", "0ther-secret/1"),
    "account.password": Values("Tr0ub4dor&3/account", "an0ther/secret"),
    "affinity_group.sub_type": Values("host", "cluster"),
    "affinity_group.zone": Values("zone-1", "b0000001000040008000000000000001"),
    "eip.used_ip": Values("a0000021000040008000000000000001", "a0000021000040008000000000000002"),
    "image.backup_storages": Values(["bs-1"], ["a000001e000040008000000000000001"]),
    "image.format": Values("raw", "qcow2", {"url": "https://images.example.com/web", "backup_storages": ["bs-1"]}),
    "image.url": Values("https://images.example.com/web.qcow2", "https://images.example.com/other.qcow2"),
    "ip_range.network_cidr": Values("10.9.0.0/24", "10.8.0.0/24"),
    "l3_network.network_services": Values([FLAT], [ROUTER]),
    "port_forwarding.allowed_cidr": Values("10.0.0.0/8", "10.1.0.0/16"),
    "port_forwarding.vip_port_end": Values(2223, 2224, {"vip_port_start": 2222, "protocol_type": "TCP"}),
    "port_forwarding.private_port_end": Values(
        23, 24, {**KIND_TASKS["port_forwarding"].creates["properties"], "vip_port_end": 2223}
    ),
    "scheduler_job.target_resource": Values(VM, OTHER_VM),
    "scheduler_job.parameters": Values({"a": "b"}, {"a": "c"}),
    "scheduler_trigger.cron": Values("0 0 1 * * ?", "0 0 2 * * ?"),
    "scheduler_trigger.scheduler_type": Values("simple", "cron", SIMPLE, {"cron": "0 0 2 * * ?"}),
    **{
        f"scheduler_trigger.{name}": Values(value, value + 60, SIMPLE)
        for name, value in SIMPLE.items()
        if isinstance(value, int)
    },
    "scheduler_trigger.stop_time": Values(2000000000, 2000000060, SIMPLE),
    "security_group.rules": Values([WEB], [WEB, SSH]),
    "ssh_key_pair.public_key": Values(KEY, KEY.replace("ops", "others")),
    "tag.color": Values("#3399ff", "#ff9933"),
    "vip.ip_range": Values("range-2", "range-1"),
    "vip.required_ip": Values("10.102.9.9", "10.102.9.10"),
    "volume.disk_offering": Values("disk-offering-1", "b0000017000040008000000000000001", {}),
    "volume.primary_storage": Values("ps-1", "ps-2"),
    **{
        f"ip_range.{name}": Values(RANGE[name], value, RANGE)
        for name, value in {
            "start_ip": "10.9.0.11",
            "end_ip": "10.9.0.98",
            "netmask": "255.255.0.0",
            "gateway": "10.9.0.2",
        }.items()
    },
    **{f"{kind}.vm_nic": Values(NIC, OTHER_NIC) for kind in ("eip", "port_forwarding")},
}
"""By the names of the kind and of the property."""


def find_values(kind: Kind, each: Property) -> Values:
    """Return the values of a property: those of the table, or two that fit to its type."""
    if found := OF_KINDS.get(f"{kind.name}.{each.name}"):
        return found
    kind_of_value, choices = each.parameter.type, each.parameter.choices
    if choices:
        usual = KIND_TASKS[kind.name].creates.get("properties", {}).get(each.name, choices[0])
        first = int(usual) if kind_of_value == "int" else usual
        return Values(
            first,
            next(
                (int(other) if kind_of_value == "int" else other for other in choices if str(other) != str(first)),
                first,
            ),
        )
    if each.is_size:
        return Values("10G", "20G")
    return {"bool": Values(True, False), "int": Values(80, 81), "str": Values("first", "second")}[kind_of_value]
