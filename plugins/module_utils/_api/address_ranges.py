"""The addresses of an IP range, which must fit together, and the patterns that select the addresses of a network."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .errors import InvalidOptions

# How many addresses a condition lists.
_MAX_LISTED = 16

# What adds the ranges that the kind does not have.
_OF_IPV6 = "virtinfra.manager.api adds IPv6 ranges, with the operation"


def check_range(place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for parameters of an IP range that contradict each other; ``place`` precedes their names.

    The service itself chooses the gateway of an address pool.
    """
    cidr, netmask = values.get("networkCidr"), values.get("netmask")
    first, last, gateway = (_read(values.get(name)) for name in ("startIp", "endIp", "gateway"))
    for name, address in (("start_ip", first), ("end_ip", last), ("gateway", gateway)):
        if address and address.version == 6 and "networkCidr" not in values:
            raise InvalidOptions(f"{place}{name} must be an IPv4 address, not {address}. {_OF_IPV6} AddIpv6Range")
    if cidr:
        network = check_network(f"{place}network_cidr", str(cidr))
        if network.version == 6:
            operation = "AddIpv6RangeByNetworkCidr"
            raise InvalidOptions(f"{place}network_cidr must be an IPv4 network, not {network}. {_OF_IPV6} {operation}")
    elif netmask and first and first.version == 4:
        network = ipaddress.ip_network(f"{first}/{str(netmask).strip()}", strict=False)
        if last and last not in network:
            raise InvalidOptions(f"{place}end_ip {last} is not in {network}, the network of start_ip with netmask")
    else:
        return
    if values.get("ipRangeType") != "AddressPool":
        _check_gateway(place, network, first, last, gateway)
    if first and last and first.version == last.version and int(first) > int(last):
        raise InvalidOptions(f"{place}end_ip {last} must not be before start_ip {first}")


def check_network(label: str, text: str) -> Any:
    """Return a network. Raise InvalidOptions, which names it, for an address in it with the length of its prefix."""
    network = ipaddress.ip_network(text.strip(), strict=False)
    if _read(text.partition("/")[0]) != network.network_address:
        raise InvalidOptions(f"{label} must be a network, not {text!r}. The network is {network}")
    return network


def check_ends(label: str, first: str, last: str = "") -> None:
    """Raise InvalidOptions for a range whose last address is of another version than the first one, or before it."""
    start, end = _read(first), _read(last or first)
    if start and end and (start.version, int(start)) > (end.version, int(end)):
        raise InvalidOptions(f"{label} has a range that ends before it starts, {first}-{last}. Write {last}-{first}")


def _check_gateway(place: str, network: Any, first: Any, last: Any, gateway: Any) -> None:
    """Raise InvalidOptions for a gateway that is not in the network, or among the addresses that NICs get."""
    if gateway and gateway not in network:
        raise InvalidOptions(f"{place}gateway {gateway} is not in the network {network}")
    if gateway and first and last and first.version == last.version and int(first) <= int(gateway) <= int(last):
        raise InvalidOptions(f"{place}gateway {gateway} is one of the addresses from {first} to {last}, which NICs get")


def _read(text: Any) -> Any:
    """Return an address, None for none and for one with a zone."""
    with suppress(ValueError):
        return ipaddress.ip_address(str(text).strip())
    return None


def describe_network(field: str, negation: str, text: str) -> str | None:
    """Return what to write for a network, or for two ends, in place of an address; None for any other text.

    Services compare addresses as texts, so a pattern expresses only whole octets. ``negation`` is ``!`` or empty.
    """
    text = text.strip()
    if ends := re.fullmatch(r"([\d.]+)\s*-\s*([\d.]+)", text):
        return _describe_ends(field, negation, *ends.groups())
    if not re.fullmatch(r"[\da-fA-F.:]+/[\d.]+", text):
        return None
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return f"it compares with one address, and {text} is none."
    if network.num_addresses == 1:
        return f"it compares with one address, without a prefix length. Write {field}{negation}={network[0]}."
    if pattern := _find_pattern(network):
        return f"it compares with one address, not with a range. Write {field}{negation}~={pattern}."
    return f"it compares with one address, and no pattern expresses {network}{_explain_parts(field, negation, network)}"


def _find_pattern(network: Any) -> str | None:
    """Return the pattern that matches the addresses of a network and no others, None if there is none."""
    size, separator = (8, ".") if network.version == 4 else (16, ":")
    parts = network.network_address.exploded.split(separator)[: network.prefixlen // size]
    # An address of version 6 with zeros has several forms.
    groups = [f"{int(part, 16):x}" for part in parts] if network.version == 6 else parts
    if network.prefixlen % size or not groups or (network.version == 6 and "0" in groups):
        return None
    return separator.join((*groups, "%"))


def _explain_parts(field: str, negation: str, network: Any) -> str:
    """Return the reason why no pattern expresses a network, with what to write in its place, and a full stop."""
    if network.version == 6:
        return ", because services compare texts."
    first, last, index = network[0].packed, network[-1].packed, network.prefixlen // 8
    reason = f", whose {('first', 'second', 'third', 'last')[index]} octet is from {first[index]} to {last[index]}."
    if index == 3:
        return f"{reason} {_list_addresses(field, negation, network[0], network[-1])}"
    start = ".".join(map(str, first[: index + 1]))
    each = "Exclude each octet with an item of its own" if negation else "Each octet needs a query of its own"
    return f"{reason} {each}, such as {field}{negation}~={start}.%."


def _describe_ends(field: str, negation: str, first: str, last: str) -> str | None:
    """Return what to write for the addresses from one to another, whose last octet suffices; None for other texts."""
    start = _read(first)
    end = _read(last if "." in last else f"{first.rpartition('.')[0]}.{last}")
    if not (start and end):
        return None
    return f"it compares with one address, not with a range. {_list_addresses(field, negation, start, end)}"


def _list_addresses(field: str, negation: str, first: Any, last: Any) -> str:
    """Return a sentence with the condition that lists the addresses from one to another, if they are few."""
    count = int(last) - int(first) + 1
    if not 0 < count <= _MAX_LISTED:
        return f"List the addresses behind {negation}?=, separated by commas."
    return f"Write {field}{negation}?={','.join(str(first + number) for number in range(count))}."
