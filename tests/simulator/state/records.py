"""Build complete records of hosts, VMs and their parts, for the seed and for new objects."""

from __future__ import annotations

import ipaddress
from typing import Any

from .store import Record

GIB = 1024**3
MONITORED = ("cpu", "memory", "disk", "nic", "gpu", "powerSupply", "fan", "raid", "temperature")
NICS_PER_HOST = 4
BONDED = (2, 3)
"""Slots of the NICs that are slaves of bond0."""


def mac_address(family: int, number: int) -> str:
    """Return a unicast, locally administered MAC address, unique for `family` and the low 32 bits of `number`."""
    digits = f"fa{family % 256:02x}{number & 0xFFFFFFFF:08x}"
    return ":".join(digits[position : position + 2] for position in range(0, 12, 2))


def build_host(identity: dict[str, Any], dates: dict[str, str]) -> Record:
    """Return an enabled, connected host; `identity` has uuid, name, addresses, references and overrides."""
    return Record(
        "host",
        {
            "description": None,
            "hypervisorType": "KVM",
            "state": "Enabled",
            "status": "Connected",
            "architecture": "x86_64",
            "hostname": identity["name"],
            "nqn": None,
            "totalCpuCapacity": 320,
            "availableCpuCapacity": 300,
            "totalMemoryCapacity": 256 * GIB,
            "availableMemoryCapacity": 192 * GIB,
            "cpuSockets": 2,
            "cpuNum": 32,
            "ipmiAddress": None,
            "ipmiUsername": None,
            "ipmiPowerStatus": None,
            "ipmiPort": None,
            "username": "root",
            "sshPort": 22,
            **{f"{part}Status": "Normal" for part in MONITORED},
            **identity,
            **dates,
        },
    )


def build_host_nic(host_uuid: str, uuid: str, slot: int, bonding_uuid: str, dates: dict[str, str]) -> Record:
    """Return the NIC eth<slot> of a host; slots 2 and 3 are slaves of the bonding."""
    bonded = slot in BONDED
    return Record(
        "hostnic",
        {
            "uuid": uuid,
            "hostUuid": host_uuid,
            "bondingUuid": bonding_uuid if bonded else None,
            "interfaceName": f"eth{slot}",
            "interfaceType": "bondingSlave" if bonded else "bridgeSlave" if slot == 0 else "noMaster",
            "mac": mac_address(0x10 + slot, int(uuid[20:], 16)),
            "pciDeviceAddress": f"0000:0{slot + 1}:00.0",
            "speed": 10000 if bonded else 1000,
            "slaveActive": True if bonded else None,
            "carrierActive": slot != 1,
            "ipAddresses": [],
            **dates,
        },
    )


def build_bonding(host_uuid: str, uuid: str, slaves: list[Record], dates: dict[str, str]) -> Record:
    """Return bond0 of a host."""
    return Record(
        "bonding",
        {
            "uuid": uuid,
            "hostUuid": host_uuid,
            "bondingName": "bond0",
            "mode": "802.3ad",
            "xmitHashPolicy": "layer2+3",
            "miiStatus": "up",
            "mac": slaves[0]["mac"],
            "ipAddresses": [],
            "miimon": 100,
            "allSlavesActive": True,
            "slaves": slaves,
            **dates,
        },
    )


def build_nic(identity: dict[str, Any], network: Record, ip: str, used_ip_uuid: str, dates: dict[str, str]) -> Record:
    """Return an enabled NIC; `identity` has uuid, vmInstanceUuid, deviceId, mac and overrides."""
    return Record(
        "vmnic",
        {
            "hypervisorType": "KVM",
            "metaData": None,
            "driverType": "virtio",
            "type": "VNIC",
            "state": "enable",
            "internalName": f"vnic{identity['uuid'][-6:]}.{identity['deviceId']}",
            **identity,
            **address_members(identity["uuid"], network, ip, used_ip_uuid, dates),
            **dates,
        },
    )


def address_members(
    nic_uuid: str, network: Record, ip: str, used_ip_uuid: str, dates: dict[str, str]
) -> dict[str, Any]:
    """Return the members of a NIC that depend on its address on an L3 network."""
    ip_range = network["ipRanges"][0]
    shared = {
        "l3NetworkUuid": network["uuid"],
        "ip": ip,
        "netmask": ip_range["netmask"],
        "gateway": ip_range["gateway"],
        "ipVersion": 4,
    }
    used_ip = {
        "uuid": used_ip_uuid,
        "ipRangeUuid": ip_range["uuid"],
        "usedFor": None,
        "vmNicUuid": nic_uuid,
        "ipInLong": int(ipaddress.IPv4Address(ip)),
        **shared,
        **dates,
    }
    return {**shared, "usedIps": [Record("usedip", used_ip)]}


def build_volume(identity: dict[str, Any], dates: dict[str, str]) -> Record:
    """Return a ready volume; `identity` has uuid, name, type, deviceId, VM and primary storage."""
    root = identity["type"] == "Root"
    return Record(
        "volume",
        {
            "description": None,
            "diskOfferingUuid": None,
            "rootImageUuid": None,
            "installPath": f"/storage/volumes/{identity['uuid']}.qcow2",
            "format": "qcow2",
            "state": "Enabled",
            "status": "Ready",
            "volumeQos": None,
            "lastVmInstanceUuid": None if root else identity["vmInstanceUuid"],
            "size": (40 if root else 100) * GIB,
            "actualSize": 2 * GIB,
            "isShareable": False,
            "encrypted": False,
            "lastDetachDate": None,
            **identity,
            **dates,
        },
    )


def build_vm(identity: dict[str, Any], dates: dict[str, str]) -> Record:
    """Return a VM; `identity` has uuid, name, references, state, vmNics, allVolumes and overrides."""
    return Record(
        "vm",
        {
            "description": None,
            "imageUuid": None,
            "hostUuid": None,
            "lastHostUuid": None,
            "instanceOfferingUuid": None,
            "defaultL3NetworkUuid": None,
            "platform": "Linux",
            "architecture": "x86_64",
            "type": "UserVm",
            "hypervisorType": "KVM",
            "memorySize": 4 * GIB,
            "cpuNum": 2,
            "cpuSpeed": 0,
            "allocatorStrategy": "LeastVmPreferredHostAllocatorStrategy",
            "guestOsType": "Linux",
            "vmCdRoms": [],
            **identity,
            **dates,
        },
    )
