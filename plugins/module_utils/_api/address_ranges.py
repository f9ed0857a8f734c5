"""The addresses of an IP range, which must fit together: servers refuse others."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .errors import InvalidOptions


def check_range(place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for parameters of an IP range that contradict each other; ``place`` precedes their names.

    The service itself chooses the gateway of an address pool.
    """
    cidr, netmask = values.get("networkCidr"), values.get("netmask")
    first, last, gateway = (_read(values.get(name)) for name in ("startIp", "endIp", "gateway"))
    if cidr:
        network = ipaddress.ip_network(str(cidr).strip(), strict=False)
        if _read(str(cidr).partition("/")[0]) != network.network_address:
            raise InvalidOptions(f"{place}network_cidr must be a network, not {cidr!r}. The network is {network}")
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
