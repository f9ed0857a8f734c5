"""Convert records of the service to Ansible data, compare them, and check the addresses in them.

Section "Resources and their fields".
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from ansible.module_utils.common.dict_transformations import camel_dict_to_snake_dict, snake_dict_to_camel_dict

from .._masking.patterns import mask_url
from .record_fields import NESTED, SERVICE_FIELDS

Record = dict[str, Any]


# The types of JSON values that contain no others.
SCALARS = frozenset((str, int, float, bool, type(None)))


class NullReference(str):
    """A reference that is null or empty. The string is the name of the option."""

    __slots__ = ()


class PredictedReference(NullReference):
    """A null reference to an object that an earlier task would have created outside check mode."""

    __slots__ = ()


_FIELDS: dict[str, tuple[str, ...]] = {
    **SERVICE_FIELDS,
    # Records that modules combine from several records of the service.
    "HostNicServices": ("services",),
    "NicBandwidthLimit": ("uuid", "direction", "bandwidth"),
    "NicBandwidthLimits": ("uuid", "outboundBandwidth", "inboundBandwidth"),
}

# The fields of the records of each type.
RECORD_FIELDS: Mapping[str, tuple[str, ...]] = _FIELDS

_BLANK: dict[str, dict[str, None]] = {kind: dict.fromkeys(fields) for kind, fields in RECORD_FIELDS.items()}
_NESTED_IN = {kind: tuple(name for name in fields if name in NESTED) for kind, fields in RECORD_FIELDS.items()}


def describe_record(kind: str, fields: Iterable[str]) -> None:
    """Add a type of records that the table lacks, because operations of the catalogue return them."""
    _FIELDS[kind] = tuple(dict.fromkeys(fields))
    _BLANK[kind] = dict.fromkeys(_FIELDS[kind])


# Members whose keys are data (user ids, uuids, header names), which are not converted.
PRESERVED_KEY_MEMBERS = frozenset(("webhookResp", "opaque", "atPersonList", "dataVolumeSystemTags", "tokens"))


# Members that contain a webhook URL in some types of records.
WEBHOOKS = frozenset(("url", "webhook", "webhookUrl", "callbackUrl"))

# The prefix of keys by which Ansible's JSON decoders recognize trusted templates and encrypted values.
RESERVED_KEY_PREFIX = "__ansible_"


# Members that tasks use for decisions: those that must be strings or numbers if they exist, and those that must be
# lists.
_MEMBER_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("uuid", "type", "ip", "mac", "interfaceUuid", "resourceUuid"), str),
    "vlanId": int,
}
_LISTS: Mapping[str, type] = {
    "vmNics": dict,
    "usedIps": dict,
    "resourceRefs": dict,
    "serviceTypes": str,
    "atPersonUserIds": str,
    "volumeSnapshotRefs": dict,
}
_DECISIVE = (*_MEMBER_TYPES, *_LISTS)


def find_invalid_member(record: Record) -> str | None:
    """Return the first member of a record with an unexpected type; None if there is none."""
    for name in _DECISIVE:
        # The check runs for every record of a list, so it skips members that the record lacks.
        if name in record and (wrong := _find_invalid_part(name, record[name])):
            return wrong
    return None


def _find_invalid_part(name: str, value: Any) -> str | None:
    if name in _MEMBER_TYPES:
        return None if isinstance(value, (_MEMBER_TYPES[name], type(None))) else name
    kind, elements = _LISTS[name], value or []
    if not isinstance(elements, list) or not all(isinstance(element, kind) for element in elements):
        return name
    if kind is dict and (inner := next(filter(None, map(find_invalid_member, elements)), None)):
        return f"{name}.{inner}"
    return None


def rename_reserved_keys(value: Any) -> Any:
    """Return decoded JSON without keys that are special to Ansible: ``__ansible_type`` becomes ``ansible_type``."""
    if isinstance(value, dict):
        return {_strip_reserved_prefix(key): rename_reserved_keys(member) for key, member in value.items()}
    if isinstance(value, list):
        return [rename_reserved_keys(item) for item in value]
    return value


def _strip_reserved_prefix(key: str) -> str:
    return key.lstrip("_") if key.startswith(RESERVED_KEY_PREFIX) else key


# The time for converting a name grows with the square of its length. Longer strings are data, not names.
MAX_NAME = 64


@lru_cache(maxsize=1024)
def to_snake_case(name: str) -> str:
    """Return the option name of an API name: ``managementIp`` becomes ``management_ip``.

    Long strings are not converted.
    """
    if len(name) > MAX_NAME:
        return name
    # The conversion can create a reserved name, for example from _AnsibleType.
    return _strip_reserved_prefix(str(next(iter(camel_dict_to_snake_dict({name: None})))))


@lru_cache(maxsize=1024)
def to_camel_case(name: str) -> str:
    """Return the API name of an option: ``l3_network_uuid`` becomes ``l3NetworkUuid``."""
    return str(next(iter(snake_dict_to_camel_dict({name: None}))))


def record_to_result(value: Any, record_type: str = "") -> Any:
    """Return a record (or a list) with names in snake_case; members in PRESERVED_KEY_MEMBERS keep their keys.

    Webhook addresses are masked, see mask_webhooks.
    """
    return _convert(value, record_type, to_snake_case)


def mask_webhooks(value: Any, record_type: str = "") -> Any:
    """Return a reply, or a part of it, in which webhook URLs are reduced to scheme and host.

    The path or the query of a chat's webhook contains its key. ``record_type`` is the type of the operation in the
    table or of the cursor query. In a reply of unknown type each ``url`` with http counts as a webhook. The ``url`` of
    a primary storage is its mount path.
    """
    return _convert(value, record_type, str)


def _convert(value: Any, record_type: str, rename: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        # Most members are scalars, and a list may have many records, so scalars need no function call.
        return {
            rename(name): member
            if type(member) in SCALARS and name not in WEBHOOKS
            else _convert_member(name, member, record_type, rename)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_convert(item, record_type, rename) for item in value]
    return None if isinstance(value, NullReference) else value


def holds_null_reference(value: Any) -> bool:
    """Return whether a value is a null reference, or a list that contains one."""
    return any(isinstance(item, NullReference) for item in (value if isinstance(value, list) else [value]))


def holds_unknown_reference(value: Any) -> bool:
    """Return whether a value is, or a list contains, a null reference to an object that no earlier task predicted."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, NullReference) and not isinstance(item, PredictedReference) for item in items)


def drop_null_references(values: Mapping[str, Any]) -> Record:
    """Return values without null references, including those in lists."""
    return {
        name: [item for item in value if not isinstance(item, NullReference)] if isinstance(value, list) else value
        for name, value in values.items()
        if not isinstance(value, NullReference)
    }


def _convert_member(name: str, value: Any, record_type: str, rename: Callable[[str], str]) -> Any:
    if name in WEBHOOKS and isinstance(value, str) and _is_webhook(value, record_type):
        return mask_url(value)
    return value if name in PRESERVED_KEY_MEMBERS and isinstance(value, dict) else _convert(value, record_type, rename)


def _is_webhook(url: str, record_type: str) -> bool:
    if record_type:
        return re.search("(?i)sns|endpoint", record_type) is not None
    return re.match(r"(?i)\s*https?:", url) is not None


def complete_record(kind: str, record: Mapping[str, Any]) -> Record:
    """Return a record with every documented field of its type (None if the service omits it) and any others.

    Nested records are completed too.
    """
    return {**_BLANK.get(kind, {}), **complete_members(record, _NESTED_IN.get(kind, ()))}


def complete_members(record: Mapping[str, Any], members: Iterable[str] = tuple(NESTED)) -> Mapping[str, Any]:
    """Return a record in which the nested records in ``members`` have every documented field."""
    nested = {name: _complete_value(NESTED[name], record[name]) for name in members if name in record}
    return {**record, **nested} if nested else record


def _complete_value(kind: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_complete_value(kind, item) for item in value]
    return complete_record(kind, value) if isinstance(value, dict) else value


def is_same_value(desired: Any, current: Any) -> bool:
    """Return whether a desired value equals the value in the record.

    Strings are compared without surrounding spaces, empty and false values equal missing ones, and lists are compared
    as sets.
    """
    if isinstance(desired, str) or isinstance(current, str):
        return _to_text(desired) == _to_text(current)
    if isinstance(desired, bool):
        return desired == bool(current)
    if isinstance(desired, list):
        return _to_set(desired) == _to_set(current or [])
    if isinstance(desired, dict):
        return desired == (current or {})
    return bool(desired == current)


def _to_text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _to_set(values: Iterable[Any]) -> frozenset[str]:
    return frozenset(map(_to_text, values))


def get_tag(user_tag: Record) -> str:
    """Return the text of a user tag as services compare it."""
    return _to_text(user_tag.get("tag"))


# The first word of a user tag with which a role marks an object.
MARK_OWNER = "virtinfra.manager"


def is_mark(user_tag: Record) -> bool:
    """Return whether a user tag is the mark of a role."""
    return get_tag(user_tag).startswith(f"{MARK_OWNER} ")


# A MAC address as systems write it: with colons or dashes between bytes, dots between words, or no separators.
_MAC = re.compile(r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12}")


def normalize_address(text: str) -> str:
    """Return an IP or MAC address in its canonical form, and any other string in small letters."""
    text = text.strip().lower()
    if _MAC.fullmatch(text):
        return ":".join(re.findall("..", re.sub("[:.-]", "", text)))
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


_ADDRESS = re.compile(r"[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}")
_LOCALHOST = re.compile(
    r"(?:.*\.)?localhost(\.localdomain)?|localhost[46](\.localdomain[46]?)?|ip6-(localhost|loopback)|loopback"
)


def is_address(text: str, allow_localhost: bool = False) -> bool:
    """Return whether a string can be used as ansible_host: an IP address or a name, and not an option of ssh.

    Unless ``allow_localhost``, it must not refer to this machine.
    """
    is_valid = _ADDRESS.fullmatch(text) is not None and (":" not in text or is_ipv6(text))
    return is_valid and (allow_localhost or not is_localhost(text))


def is_localhost(text: str) -> bool:
    """Return whether a name or an address refers to this machine, in any spelling that a resolver accepts."""
    if not text.isascii():
        # Resolvers map full-width letters and digits to ASCII, and ignore some marks.
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char)[0] != "M")
    text = text.strip().rstrip(".").casefold()
    if ("localhost" in text or "loopback" in text) and _LOCALHOST.fullmatch(text):
        return True
    try:
        if ":" in text:
            address = ipaddress.IPv6Address(text)
            # Resolvers treat ::ffff:127.0.0.1 and ::127.0.0.1 as IPv4 addresses.
            stands_for_ipv4 = int(address) >> 32 in (0, 0xFFFF)
            return address.is_loopback or (stands_for_ipv4 and _is_local_ipv4(address.packed[-4:]))
        # Resolvers also accept 127.1, 0x7f.1, 017700000001 and 2130706433.
        return text[:1].isdigit() and _is_local_ipv4(socket.inet_aton(text))
    except (OSError, ValueError):
        return False


def _is_local_ipv4(packed: bytes) -> bool:
    """Return whether an address is in 127.0.0.0/8 or is 0.0.0.0. The library ipaddress takes ten times as long."""
    return packed[0] == 127 or not any(packed)


def is_ipv6(text: str) -> bool:
    """Return whether a string is an IPv6 address without a zone."""
    try:
        return ":" in text and ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False


def to_datetime(text: str) -> datetime.datetime:
    """Parse a timestamp like ``Jan 6, 2017 3:51:16 AM``, with or without a second comma and without a time zone.

    Raise ValueError for any other string.
    """
    match = re.fullmatch(r"(\w{3}) (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d):(\d\d) ([AP])M", " ".join(text.split()))
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    if match is None or match[1] not in months or not 1 <= int(match[4]) <= 12:
        raise ValueError(f"not a timestamp of the service, such as 'Jan 6, 2017 3:51:16 AM': {text!r}")
    hour = int(match[4]) % 12 + (12 if match[7] == "P" else 0)
    return datetime.datetime(
        int(match[3]), months.index(match[1]) + 1, int(match[2]), hour, int(match[5]), int(match[6])
    )


def parse_timestamp(value: object) -> datetime.datetime | None:
    """Return a timestamp of a record; None if it is not one."""
    try:
        return to_datetime(str(value))
    except ValueError:
        return None
