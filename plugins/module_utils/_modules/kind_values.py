"""The values of properties of kinds that servers accept, as far as no option of another module has them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from .._api.address_ranges import check_ends, check_network
from .._api.errors import InvalidOptions
from .._api.limits import PORTS, check_ip, check_range, check_value, is_ip, refuse_private_key

_ANY_URL = re.compile(r"[a-z][a-z0-9+.-]*:/", re.IGNORECASE)

# The binary form of a key begins with three zero bytes, which are AAAA in base64. Options of a login may precede it.
_PUBLIC_KEY = re.compile(r"(?:\A|\s)(?:ssh|ecdsa|sk)-\S+\s+AAAA")

# The lowest and the highest number.
_RANGES = {
    "vlan": (1, 4094),
    **dict.fromkeys(("instancePort", "loadBalancerPort"), PORTS),
    **dict.fromkeys(("privatePortEnd", "privatePortStart", "vipPortEnd", "vipPortStart"), PORTS),
}

# The year 2200, in seconds since 1970. Later times are in a smaller unit.
_LAST_TIME = 7258118400

# The fields of a schedule, with their lowest and highest numbers.
_FIELDS_OF_SCHEDULES = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day of the month": (1, 31),
    "month": (1, 12),
    "day of the week": (1, 7),
    "year": (1970, 2099),
}


def check_property(name: str, label: str, value: Any) -> None:
    """Raise InvalidOptions for a value that servers refuse, as `check_value` does, of a parameter of a kind."""
    if check := _CHECKS.get(name):
        check(label, value)
    if name in _RANGES:
        check_range(label, value, *_RANGES[name])
    check_value(name, label, value)


def _check_cron(label: str, value: str) -> None:
    """Refuse the five fields of Unix: the schedules of the service begin with the second, and one day is a ?."""
    fields = value.split()
    if len(fields) not in (6, 7):
        raise InvalidOptions(
            f"{label} must have six fields, and a seventh for the year if needed: second, minute, hour, day of the"
            f" month, month and day of the week, such as '0 0 2 * * ?', not {value!r}"
        )
    for (name, (lowest, highest)), text in zip(_FIELDS_OF_SCHEDULES.items(), fields, strict=False):
        # The number after / is that of a step, and the one after # that of a week.
        for number in re.findall(r"(?<![/#\d])\d+", text):
            if not lowest <= int(number) <= highest:
                first = " (Sunday)" if name == "day of the week" else ""
                raise InvalidOptions(
                    f"{label} must have a {name} from {lowest}{first} to {highest}, not {number}, in {value!r}"
                )
    if [fields[3], fields[5]].count("?") != 1:
        raise InvalidOptions(
            f"{label} must have ? as one of its two days, the fourth and the sixth field, such as '0 0 2 * * ?' or"
            f" '0 0 2 ? * MON', not {value!r}"
        )


def _check_time(label: str, value: int) -> None:
    """Refuse a time after the year 2200, such as one in milliseconds."""
    if value > _LAST_TIME * 1000:
        raise InvalidOptions(f"{label} must be in seconds since 1970, as date +%s prints them, not {value}")
    if value > _LAST_TIME:
        raise InvalidOptions(
            f"{label} must be in seconds since 1970. {value} is in milliseconds: write {value // 1000}"
        )


def _check_public_key(label: str, value: str) -> None:
    """Refuse paths, and what is no public key. The message does not show another text, which may be secret."""
    refuse_private_key(label, value)
    if re.fullmatch(r"[/~.]\S*|\S+\.pub", value.strip()):
        raise InvalidOptions(
            f"{label} must be the text of the key, such as the result of lookup('ansible.builtin.file', {value!r}), not"
            " its path"
        )
    if not _PUBLIC_KEY.search(value):
        raise InvalidOptions(
            f"{label} must be the line of a public key, such as 'ssh-ed25519 AAAAC3Nz... me@example.com'"
        )


def _check_netmask(label: str, value: str) -> None:
    with suppress(ValueError):
        if "." in value and ipaddress.IPv4Network(f"0.0.0.0/{value.strip()}"):
            return
    raise InvalidOptions(f"{label} must be a netmask such as 255.255.255.0, not {value!r}")


def _check_cidr(label: str, value: str) -> None:
    if not _is_cidr(value):
        raise InvalidOptions(f"{label} must be a network such as 10.0.0.0/24, not {value!r}")


def _check_ip_ranges(label: str, value: str) -> None:
    for item in value.split(","):
        ends = [end.strip() for end in item.split("-", 1)]
        if _is_cidr(item):
            check_network(label, item.strip())
        elif not all(map(is_ip, ends)):
            raise InvalidOptions(
                f"{label} must consist of addresses, networks and ranges with commas between them, such as"
                f" 10.0.0.0/24,10.1.0.5-10.1.0.9, not {value!r}"
            )
        else:
            check_ends(label, *ends)


def _check_port_ranges(label: str, value: str) -> None:
    for item in str(value).split(","):
        ends = [end.strip() for end in item.split("-", 1)]
        if not all(end.isdecimal() and PORTS[0] <= int(end) <= PORTS[1] for end in ends):
            raise InvalidOptions(
                f"{label} must consist of ports and ranges from 1 to 65535 with commas between them, such as"
                f" 22,8000-8080, not {value!r}"
            )
        if int(ends[-1]) < int(ends[0]):
            raise InvalidOptions(
                f"{label} has a range that ends before it starts, {item.strip()}. Write {ends[-1]}-{ends[0]}"
            )


def _check_image_url(label: str, value: str) -> None:
    """Refuse what has no scheme. Servers know several, such as file:///, ftp:// and upload://."""
    if not _ANY_URL.match(value.strip()):
        raise InvalidOptions(f"{label} must begin with a scheme, such as https:// or file:///")


def _is_cidr(text: str) -> bool:
    with suppress(ValueError):
        return "/" in text and bool(ipaddress.ip_network(text.strip(), strict=False))
    return False


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "cron": _check_cron,
    "publicKey": _check_public_key,
    **dict.fromkeys(("startTime", "stopTime"), _check_time),
    "image.url": _check_image_url,
    "dstPortRange": _check_port_ranges,
    "netmask": _check_netmask,
    **dict.fromkeys(("dstIpRange", "srcIpRange"), _check_ip_ranges),
    **dict.fromkeys(("allowedCidr", "networkCidr"), _check_cidr),
    **dict.fromkeys(("endIp", "gateway", "requiredIp", "startIp"), check_ip),
}
