"""Properties of kinds that contradict each other, and calls that were probably not meant. Pure: no I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._api.errors import InvalidOptions
from .._api.records import Record
from .._engine.differences import build_not_found
from .._engine.spec import PlannedCall, ResourceSpec
from .kind_properties import find_operation, name_property
from .kind_rows import Fit, Kind


def refuse_unfit(fits: Sequence[Fit], place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a value that services accept only with others; ``place`` precedes the names."""
    for fit in fits:
        name, other, accepted, remedy = fit
        if name in values and fit.refuses(values):
            label, condition = f"{place}{name_property(name)}", name_property(other)
            if not accepted:
                raise InvalidOptions(f"{label} cannot be used with {condition}. Remove one of them")
            remedy = remedy or f"Remove it, or change {condition} to {' or '.join(accepted)}"
            raise InvalidOptions(f"{label} cannot be used with {condition} {values[other]}. {remedy}")


def check_times(place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a trigger that stops before it starts; ``place`` precedes the names."""
    start, stop = values.get("startTime"), values.get("stopTime")
    if start and stop and stop < start:
        raise InvalidOptions(f"{place}stop_time {stop} must not be before start_time {start}")


def check_reserved_memory(place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for more reserved memory than there is; ``place`` precedes the names."""
    memory, reserved = values.get("memorySize"), values.get("reservedMemorySize")
    if memory is not None and reserved is not None and reserved > memory:
        raise InvalidOptions(f"{place}reserved_memory_size {reserved} must not be above memory_size {memory}")


def check_versions(place: str, values: Mapping[str, Any], version: int) -> None:
    """Raise InvalidOptions for addresses of a rule of another IP version, which is ``version`` if it gives none.

    ``place`` precedes the names of its members.
    """
    version = values.get("ipVersion", version)
    for name in ("srcIpRange", "dstIpRange"):
        other = 6 if ":" in (text := values.get(name, "")) else 4
        if text and other != version:
            raise InvalidOptions(
                f"{place}{name_property(name)} {text} is of IPv{other}, and the rule is for IPv{version}. Give"
                f" ip_version: {other}"
            )


def check_ports(place: str, values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for ports of a VIP that do not lead to as many ports of a NIC; ``place`` precedes the names.

    One port is a range of its own, and without any of the NIC, they are those of the VIP.
    """
    first, last = values.get("vipPortStart"), values.get("vipPortEnd", values.get("vipPortStart"))
    private = values.get("privatePortStart"), values.get("privatePortEnd")
    start, end = (each if each is not None else other for each, other in zip(private, private[::-1], strict=True))
    for name, low, high in (("vip_port", first, last), ("private_port", start, end)):
        if low is not None and high < low:
            raise InvalidOptions(f"{place}{name}_end {high} must not be before {name}_start {low}")
    if first is not None and start is not None and last - first != end - start:
        raise InvalidOptions(
            f"{place.rstrip('.')}: the VIP has {last - first + 1} ports, from vip_port_start to vip_port_end, and the"
            f" NIC {end - start + 1}, from private_port_start to private_port_end. Give as many of both"
        )


def examine_calls(
    kind: Kind, resource: ResourceSpec, calls: Sequence[PlannedCall], desired: Record
) -> list[PlannedCall]:
    """Return the planned calls with warnings of what was probably not meant.

    Raise InvalidOptions or NotFound if the creation lacks a property, or cannot set one that is desired.
    """
    for call in calls:
        if call.operation in kind.create.values():
            _require_needed(kind, resource, call, desired)
            _refuse_lost(kind, call, desired)
    return [call._replace(warning="; ".join(filter(None, (call.warning, _find_doubts(call))))) for call in calls]


def _require_needed(kind: Kind, resource: ResourceSpec, call: PlannedCall, desired: Record) -> None:
    for names, other, value in kind.needs:
        # The call has no reference to an object that an earlier task would have created.
        given = {*call.params, *(name for name in names if (kind.fields.get(name) or name) in desired)}
        if call.params.get(other, "") == value and not given & set(names):
            needed = " or ".join(f"properties.{name_property(name)}" for name in names)
            if not other:
                raise build_not_found(resource, desired, [needed])
            raise InvalidOptions(f"{name_property(other)} {value} needs {needed}")


def _refuse_lost(kind: Kind, call: PlannedCall, desired: Record) -> None:
    """Raise InvalidOptions for properties that only another operation sets: the new object would differ in them."""
    chosen = find_operation(call.operation).parameters
    settable = {*chosen, *kind.change, *(find_operation(kind.update).parameters if kind.update else ())}
    others = {name for create in kind.create.values() for name in find_operation(create).parameters}
    if lost := [name_property(name) for name in desired if name in others - settable]:
        key = name_property(next(key for key, operation in kind.create.items() if operation == call.operation))
        raise InvalidOptions(f"properties: {', '.join(lost)} cannot be used with {key}. Remove {key}, or the others")


# What was probably not meant


def _find_doubts(call: PlannedCall) -> str:
    find = _DOUBTS.get(call.operation)
    return "; ".join(find(call.params)) if find else ""


def _doubt_image(params: Mapping[str, Any]) -> Iterable[str]:
    """Yield how the media type or the format of an image contradicts the ending of its URL."""
    ending = re.split("[?#]", str(params.get("url")))[0].rpartition(".")[2].casefold()
    media, given = params.get("mediaType"), str(params.get("format", "")).casefold()
    if "iso" in (ending, given) and media != "ISO":
        reason = "the url ends with .iso" if ending == "iso" else "format is iso"
        yield (
            f"{reason}, but media_type is {media or 'RootVolumeTemplate by default'}, so no VM boots from the image."
            " Give media_type: ISO"
        )
    elif media == "ISO" and ending in ("qcow2", "raw", "vmdk"):
        yield f"media_type is ISO, but the url ends with .{ending}. Check media_type"
    elif given and given != ending and ending in ("iso", "qcow2", "raw"):
        yield f"format is {given}, but the url ends with .{ending}. Check format"


def _doubt_rules(params: Mapping[str, Any]) -> Iterable[str]:
    """Yield for which ports a rule is that names none. Some servers refuse it."""
    for rule in params.get("rules", ()):
        protocol, ports = rule.get("protocol"), rule.get("dstPortRange")
        if protocol is None:
            of = f" with dst_port_range {ports}" if ports else ""
            give = "protocol: TCP or UDP" if ports else "protocol, and dst_port_range for TCP and UDP"
            yield f"the rule {rule.get('type')}{of} has no protocol, so it is for all protocols. Give {give}"
        elif protocol in ("TCP", "UDP") and not ports:
            kind = f"{rule.get('type')} {protocol}"
            yield f"the rule {kind} has no dst_port_range, so it is for every port. Give dst_port_range"


def _doubt_listener(params: Mapping[str, Any]) -> Iterable[str]:
    """Yield that a listener cannot decrypt what it gets."""
    if params.get("protocol") == "https" and not params.get("certificateUuid"):
        yield "protocol is https, which needs a certificate, and the listener has none. Give certificate"


_DOUBTS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[str]]] = {
    "AddImage": _doubt_image,
    "AddSecurityGroupRule": _doubt_rules,
    "CreateLoadBalancerListener": _doubt_listener,
}
