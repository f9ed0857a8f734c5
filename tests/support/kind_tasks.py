"""A task that creates an object of each kind of the module ``resource``, one that changes it, and what both need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3mC8Qm9hEXAMPLEkeyOfTheOperators ops"
WEB = {"type": "Ingress", "protocol": "TCP", "dst_port_range": "80,443"}
SSH = {"type": "Ingress", "protocol": "TCP", "dst_port_range": "22", "src_ip_range": "10.0.0.0/8"}


@dataclass(frozen=True)
class KindTasks:
    """The options of tasks of a kind.

    ``creates`` are those that create an object or an attachment, ``changes`` those of a second task that changes it,
    and ``before`` those of tasks that it needs. ``refused`` is a property, and its value, that cannot be changed.
    """

    creates: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)
    before: tuple[dict[str, Any], ...] = ()
    refused: dict[str, Any] = field(default_factory=dict)


VIP = {"kind": "vip", "name": "web", "parent": "l3-2"}
BALANCER = {"kind": "load_balancer", "name": "web", "parent": "web"}
LISTENER = {"kind": "load_balancer_listener", "name": "http", "parent": "web", "properties": {"load_balancer_port": 80}}
EIP = {"kind": "eip", "name": "web", "parent": "web"}
PORT = {"vip_port_start": 2222, "private_port_start": 22, "protocol_type": "TCP"}
FORWARDING = {"kind": "port_forwarding", "name": "ssh", "parent": "web", "properties": PORT}
VOLUME = {"kind": "volume", "name": "data-1", "properties": {"disk_size": "10G", "primary_storage": "ps-1"}}
GROUP = {"kind": "security_group", "name": "web", "properties": {"rules": [WEB]}}
AFFINITY = {"kind": "affinity_group", "name": "web", "properties": {"policy": "antiHard"}}
JOB = {"kind": "scheduler_job", "name": "start"}
START = {**JOB, "properties": {"target_resource": "a0000004000040008000000000000001", "type": "startVm"}}
NIGHTLY = {"scheduler_type": "cron", "cron": "0 0 1 * * ?"}
TRIGGER = {"kind": "scheduler_trigger", "name": "nightly", "properties": NIGHTLY}
IMAGE = {"url": "https://images.example.com/web.qcow2", "backup_storages": ["bs-1"], "format": "qcow2"}
TOOLS = {**IMAGE, "url": "https://images.example.com/tools.iso", "format": "iso", "media_type": "ISO"}
VLAN = {"vlan": 7, "physical_interface": "eth1"}
L2 = {"kind": "l2_network", "name": "web", "parent": "zone-1", "properties": VLAN}
NETWORK = {"kind": "l3_network", "name": "web", "parent": "l2-1", "properties": {"category": "Private"}}
FLAT, ROUTER = (
    {"network_service_provider": name, "network_service_type": "DHCP"}
    for name in ("Flat Network Service Provider", "vrouter")
)
SERVICES = [FLAT, {"network_service_provider": "vrouter", "network_service_type": "DNS"}]
SERVED = {**NETWORK, "properties": {"category": "Private", "network_services": SERVICES}}
NIC = "a0000006000040008000000000000002"
ACCOUNT = {"kind": "account", "name": "ops", "properties": {"password": "Tr0ub4dor&3/account"}}

KIND_TASKS: dict[str, KindTasks] = {
    "account": KindTasks(ACCOUNT, {"properties": {"description": "operators"}}, refused={"type": "SystemAdmin"}),
    "affinity_group": KindTasks(AFFINITY, {"state": "disabled"}, refused={"policy": "antiSoft"}),
    "affinity_group_member": KindTasks(
        {"kind": "affinity_group_member", "affinity_group": "web", "vm": "vm-1"}, before=(AFFINITY,)
    ),
    "cluster": KindTasks(
        {"kind": "cluster", "name": "edge", "parent": "zone-1", "properties": {"hypervisor_type": "KVM"}},
        {"properties": {"description": "at the edge"}},
        refused={"hypervisor_type": "xdragon"},
    ),
    "disk_offering": KindTasks(
        {"kind": "disk_offering", "name": "data-100", "properties": {"disk_size": "100G"}},
        {"state": "disabled", "properties": {"description": "data"}},
        refused={"disk_size": "200G"},
    ),
    "eip": KindTasks(EIP, {"properties": {"description": "of the site"}}, before=(VIP,)),
    "eip_attachment": KindTasks({"kind": "eip_attachment", "eip": "web", "nic": NIC}, before=(VIP, EIP)),
    "image": KindTasks(
        {"kind": "image", "name": "web", "properties": IMAGE},
        {"properties": {"platform": "Windows"}},
        refused={"url": "https://images.example.com/other.qcow2"},
    ),
    "instance_offering": KindTasks(
        {"kind": "instance_offering", "name": "small", "properties": {"cpu_num": 2, "memory_size": "4G"}},
        {"properties": {"description": "for tests"}},
        refused={"cpu_num": 4},
    ),
    "ip_range": KindTasks(
        {"kind": "ip_range", "name": "low", "parent": "l3-1", "properties": {"network_cidr": "10.9.0.0/24"}},
        {"properties": {"description": "low addresses"}},
        refused={"network_cidr": "10.8.0.0/24"},
    ),
    "iso_attachment": KindTasks(
        {"kind": "iso_attachment", "vm": "vm-2", "iso": "tools"},
        before=({"kind": "image", "name": "tools", "properties": TOOLS},),
    ),
    "l2_network": KindTasks(L2, {"properties": {"description": "of the web"}}, refused={"vlan": 8}),
    "l2_network_attachment": KindTasks(
        {"kind": "l2_network_attachment", "l2_network": "web", "cluster": "cluster-1"}, before=(L2,)
    ),
    "l3_network": KindTasks(
        SERVED, {"properties": {"category": "Public", "network_services": [ROUTER]}}, refused={"ip_version": 6}
    ),
    "load_balancer": KindTasks(BALANCER, {"properties": {"description": "of the web"}}, before=(VIP,)),
    "load_balancer_listener": KindTasks(
        LISTENER,
        {"properties": {"description": "http"}},
        before=(VIP, BALANCER),
        refused={"load_balancer_port": 81},
    ),
    "load_balancer_member": KindTasks(
        {"kind": "load_balancer_member", "listener": "http", "nic": NIC}, before=(VIP, BALANCER, LISTENER)
    ),
    "port_forwarding": KindTasks(FORWARDING, {"state": "disabled"}, before=(VIP,), refused={"protocol_type": "UDP"}),
    "port_forwarding_attachment": KindTasks(
        {"kind": "port_forwarding_attachment", "port_forwarding": "ssh", "nic": NIC}, before=(VIP, FORWARDING)
    ),
    "quota": KindTasks(
        {"kind": "quota", "name": "vm.num", "parent": "ops", "properties": {"value": 7}}, before=(ACCOUNT,)
    ),
    "scheduler_job": KindTasks(
        START,
        {"properties": {"description": "every morning"}},
        refused={"target_resource": "a0000004000040008000000000000002"},
    ),
    "scheduler_job_trigger": KindTasks(
        {"kind": "scheduler_job_trigger", "scheduler_job": "start", "scheduler_trigger": "nightly"},
        before=(START, TRIGGER),
    ),
    "scheduler_trigger": KindTasks(TRIGGER, {"properties": {"scheduler_type": "cron", "cron": "0 0 2 * * ?"}}),
    "security_group": KindTasks(
        GROUP, {"properties": {"rules": [{**WEB, "description": "the shop"}, SSH]}}, refused={"ip_version": 6}
    ),
    "security_group_attachment": KindTasks(
        {"kind": "security_group_attachment", "security_group": "web", "nic": NIC}, before=(GROUP,)
    ),
    "security_group_network": KindTasks(
        {"kind": "security_group_network", "security_group": "web", "l3_network": "l3-1"}, before=(GROUP,)
    ),
    "ssh_key_pair": KindTasks(
        {"kind": "ssh_key_pair", "name": "ops", "properties": {"public_key": KEY}},
        {"properties": {"description": "operators"}},
        refused={"public_key": KEY.replace("ops", "others")},
    ),
    "storage_attachment": KindTasks({"kind": "storage_attachment", "primary_storage": "ps-1", "cluster": "cluster-2"}),
    "tag": KindTasks(
        {"kind": "tag", "name": "stage", "properties": {"value": "stage::{stage}", "type": "withToken"}},
        {"properties": {"color": "#3399ff"}},
        refused={"type": "simple"},
    ),
    "vip": KindTasks(VIP, {"properties": {"description": "of the web"}}, refused={"required_ip": "10.102.9.9"}),
    "vm_boot_order": KindTasks(
        {"kind": "vm_boot_order", "vm": "vm-1", "properties": {"boot_order": ["CdRom", "HardDisk"]}},
        {"properties": {"boot_order": ["HardDisk", "CdRom"]}},
    ),
    "vm_ha": KindTasks(
        {"kind": "vm_ha", "vm": "vm-1", "properties": {"level": "NeverStop"}},
        {"properties": {"level": "OnHostFailure"}},
    ),
    "volume": KindTasks(VOLUME, {"properties": {"disk_size": "20G"}}, refused={"primary_storage": "ps-2"}),
    "volume_attachment": KindTasks({"kind": "volume_attachment", "volume": "data-1", "vm": "vm-1"}, before=(VOLUME,)),
    "zone": KindTasks(
        {"kind": "zone", "name": "west", "properties": {"description": "site west"}},
        {"state": "disabled", "properties": {"description": "the western site"}},
    ),
}
"""By the names of the kinds."""


def identify(tasks: KindTasks) -> dict[str, Any]:
    """Return the options that select the object or the attachment of tasks."""
    return {name: value for name, value in tasks.creates.items() if name not in ("properties", "state", "tags")}
