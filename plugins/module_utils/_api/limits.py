"""The values of parameters that servers accept. They refuse others, in a job, after earlier calls of a task."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from ansible.module_utils.common.text.formatters import human_to_bytes

from .errors import InvalidOptions
from .records import is_ipv6, is_localhost, normalize_address

# The highest numbers of characters, for elements of a list and for keys of a map, too.
_USER_ID, _REMARK = 256, 128
MAX_LENGTHS = {
    "name": 255,
    "description": 2048,
    "url": 2048,
    **dict.fromkeys(("userId", "atPersonUserIds", "atPersonList"), _USER_ID),
    "remark": _REMARK,
}

# The lowest and the highest number, also of the elements of a list. A `range` would be slow: `in` compares a number of
# Ansible's own type with each member.
PORTS = (1, 65535)
_BANDWIDTHS = (8192, 32212254720)
_RANGES = {
    "sshPort": PORTS,
    "snmpPort": PORTS,
    "ipmiPort": PORTS,
    "outboundBandwidth": _BANDWIDTHS,
    "inboundBandwidth": _BANDWIDTHS,
    "cpuNum": (1, 1024),
    "vlanIds": (0, 4094),
}

# Sizes in bytes, and the values below the least one that are allowed: nothing may be reserved. Any other number below
# it is meant in another unit.
_DISK_SIZES = ("diskSize", "rootDiskSize", "dataDiskSizes")
_SIZES: dict[str, tuple[int, ...]] = {
    "memorySize": (),
    "reservedMemorySize": (0,),
    **dict.fromkeys(_DISK_SIZES, ()),
}
_LEAST_SIZE, _LARGEST_SIZE = 1024**2, 1024**5 - 1

# No guest starts with less memory.
_LEAST_MEMORY = 16 * 1024**2

# Lists and maps that must not be empty.
_FILLED = {"volumeUuids", "interfaceUuids", "atPersonUserIds", "atPersonList"}

# The uuid that the service gives to a new object.
_NEW_UUID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", re.IGNORECASE)

# Fields with a number of bytes, and a size with a unit.
_SIZE_FIELD = re.compile(r"(\w*S|s)ize|\w*Capacity")
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*([KMGTPE])(?:i?B)?(?!\w)", re.IGNORECASE)

# Nobody has a VM or a storage with less, so a smaller number is meant in MiB or GiB.
_LEAST_SIZE = 1 << 20

# From which number on a size without a unit is probably meant in MiB, not in GiB.
_LEAST_MEBIBYTES = 1024

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_WEB_ADDRESS = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_HOST_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.IGNORECASE)


def check_value(name: str, label: str, value: Any, longest: int = 0) -> None:
    """Raise InvalidOptions for a value of the parameter ``name`` that servers refuse, whatever they manage.

    ``label`` names the parameter in the message. ``longest`` is the limit of characters, if it is not the usual one.
    """
    if check := _CHECKS.get(name):
        check(label, value)
    if limit := longest or MAX_LENGTHS.get(name):
        _check_lengths(label, value, limit)
    if name in _RANGES:
        check_range(label, value, *_RANGES[name])
    for size in (value if isinstance(value, list) else [value]) if name in _SIZES else ():
        if size not in _SIZES[name]:
            _check_size(label, int(size), _LEAST_MEMORY if name == "memorySize" else _LEAST_SIZE)
    if name in _FILLED and not value:
        raise InvalidOptions(f"{label} must not be empty")


def _check_lengths(label: str, value: Any, longest: int) -> None:
    """Check the string, the strings in a list, or the user IDs and the remarks in a map."""
    for text in value if isinstance(value, (list, dict)) else [value]:
        _check_length(label, text, longest)
    for remark in value.values() if isinstance(value, dict) else ():
        _check_length(label, remark, _REMARK)


def _check_length(label: str, text: Any, longest: int) -> None:
    """Raise InvalidOptions when a string without surrounding spaces is too long."""
    if (length := len(str(text).strip())) > longest:
        raise InvalidOptions(f"{label} must have at most {longest} characters, not {length}")


def check_range(label: str, value: Any, lowest: int, highest: int) -> None:
    """Raise InvalidOptions for a number out of range, or for an element of a list that is not a number in it."""
    for item in value if isinstance(value, list) else [value]:
        number = int(item) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", str(item)) else None
        if number is None or not lowest <= number <= highest:
            raise InvalidOptions(f"{label} must be from {lowest} to {highest}, not {item}")


def _check_size(label: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidOptions(
            f"{label} is in bytes, and {value} bytes are too few. Write the unit, such as 16G, or in the module api"
            f" {16 << 30}"
        )
    if value > _LARGEST_SIZE:
        raise InvalidOptions(f"{label} is in bytes, and {value} bytes are too many. The most are {_LARGEST_SIZE}")


def is_size_field(field: str) -> bool:
    """Return whether a field, of those that are numbers, is a number of bytes."""
    return _SIZE_FIELD.fullmatch(field) is not None


def find_unit(number: float) -> tuple[str, int] | None:
    """Return the unit in which a number was probably given for one of bytes, and its size; None if it was in bytes."""
    if not 0 < number < _LEAST_SIZE:
        return None
    return ("MiB", 1 << 20) if number >= _LEAST_MEBIBYTES else ("GiB", 1 << 30)


def find_size(text: str) -> tuple[str, int] | None:
    """Return the first size with a unit in a text, as it is there and in bytes; None if there is none."""
    found = _SIZE.search(text)
    return (found[0], int(human_to_bytes("".join(found.groups())))) if found else None


def _check_mac(label: str, value: str) -> None:
    if not _MAC.fullmatch(value.strip()):
        raise InvalidOptions(
            f"{label} must be an address such as 52:54:00:12:34:56, not {value!r}. {_explain_mac(value)}"
        )
    if int(value.strip()[:2], 16) & 1 or not value.strip("0: "):
        raise InvalidOptions(
            f"{label} must be the address of one NIC, such as 52:54:00:12:34:56, not {value!r}: it is zero, or the"
            " address of a group, whose first byte is odd"
        )


def _explain_mac(value: str) -> str:
    """Return what to write in place of a value that is no MAC address in the form of services."""
    meant = normalize_address(value)
    if _MAC.fullmatch(meant):
        return f"Write {meant}"
    if meant in _CHOSEN:
        return "Omit it to get one"
    if meant.isdecimal():
        return "Put it in quotes, because YAML reads some addresses as numbers"
    return "It has six bytes of two hexadecimal digits"


def refuse_private_key(name: str, text: str) -> None:
    """Raise InvalidOptions, which does not show it, for a private key in place of something that may be shown."""
    if "PRIVATE KEY-----" in text:
        raise InvalidOptions(
            f"{name} must not be a private key. Keep it secret, and give its public key to the service"
        )


# What users write for an address that the service chooses.
_CHOSEN = ("auto", "dhcp")


def check_ip(label: str, value: str) -> None:
    if not is_ip(value.strip()):
        raise InvalidOptions(
            f"{label} must be an IP address such as 10.0.0.5, without a port or prefix length, not {value!r}"
            f"{'. Omit it to get an address of the IP range' if value.strip().casefold() in _CHOSEN else ''}"
        )


def _check_management_address(label: str, value: str) -> None:
    """Refuse the address of the service itself, and what is not an address: the service installs a hypervisor there."""
    if is_localhost(value):
        raise InvalidOptions(
            f"{label} must not be {value.strip()!r}, which is the management node: it would become a hypervisor. Give"
            " the address of the host."
        )
    _check_address(label, value)


def _check_address(label: str, value: str) -> None:
    """Refuse what is neither an address nor a name, such as an address with a port. An empty value is not given."""
    text = value.strip()
    # A value of digits and dots is not a host name.
    is_name = _HOST_NAME.fullmatch(text) and re.search("[^0-9.]", text)
    if text and not is_name and not is_ip(text):
        raise InvalidOptions(f"{label} must be an IP address or a host name, without a port, not {value!r}")


def _check_url(label: str, value: str) -> None:
    """Refuse what the service cannot post to. The message does not show the value, which contains a key."""
    if value.strip() and not _WEB_ADDRESS.fullmatch(value.strip()):
        raise InvalidOptions(f"{label} must be an address that begins with https:// or http://")


def is_ip(text: str) -> bool:
    try:
        return is_ipv6(text) or bool(ipaddress.IPv4Address(text))
    except ValueError:
        return False


def _check_new_uuid(label: str, value: str) -> None:
    if not _NEW_UUID.fullmatch(value.strip()):
        raise InvalidOptions(
            f"{label} must be a uuid of version 4, not {value!r}. Make one with uuidgen -r, or of a name with the"
            " filter virtinfra.manager.resource_uuid"
        )


_CHECKS = {
    "customMac": _check_mac,
    "staticIp": check_ip,
    "managementIp": _check_management_address,
    "ipmiAddress": _check_address,
    "snmpAddress": _check_address,
    "url": _check_url,
    "resourceUuid": _check_new_uuid,
    "ip": check_ip,
    "mac": _check_mac,
}
