# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""References by name: the only place where names in options are replaced by uuids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._api.errors import (
    NotFound,
    Unsupported,
    VirtinfraError,
)
from .._api.records import (
    NullReference,
    Record,
    holds_null_reference,
    values_equal,
)
from .._api.references import REFERS_TO, is_name
from .client import Client
from .lists import (
    RESOURCE_QUERIES,
    find_by_attribute,
    first_readable,
    is_usable,
    paginate_cursor,
    query,
    records_of,
    require_unique,
)

# The field of a record that contains its name, if it is not ``name``.
_NAME_FIELDS = {"host_nic": "interfaceName"}

# The terms in messages, if they differ from the names of the types.
_NOUNS = {"host_nic": "network interface"}

# The owner within which names of a type are unique, by the API name of its option. In general they are not unique.
_OWNERS = {"host_nic": "hostUuid"}


def resolve_names(client: Client, options: Mapping[str, Any], parameters: Mapping[str, str]) -> Record:
    """Return the options with the uuids of the objects that they refer to by name.

    ``parameters`` maps options to the API's names for them. Each name is looked up once, several concurrently. Raise
    NotFound, AmbiguousMatch, or Unsupported if the service cannot look up names.
    """
    kinds = {option: REFERS_TO[name] for option, name in parameters.items() if name in REFERS_TO}
    owned = {option: kind for option, kind in kinds.items() if kind in _OWNERS}
    others = {option: kind for option, kind in kinds.items() if kind not in _OWNERS}
    resolved = _resolve(client, options, others, {})
    owner = {name: resolved[option] for option, name in parameters.items() if name in _OWNERS.values()}
    return (
        _resolve(client, resolved, owned, {name: uuid for name, uuid in owner.items() if uuid}) if owned else resolved
    )


def _resolve(client: Client, options: Mapping[str, Any], kinds: Mapping[str, str], owner: Record) -> Record:
    """Return the options with uuids for the names of these ``kinds``; null references for those of such an owner."""
    names = {(kind, name): option for option, kind in kinds.items() for name in _names_in(options.get(option))}

    def find(item: tuple[tuple[str, str], str]) -> str:
        (kind, name), option = item
        try:
            if holds_null_reference([*owner.values()]):
                return NullReference(option)
            return find_uuid(client, kind, name, owner)
        except VirtinfraError as failure:
            raise failure.with_label(option) from None

    uuids = dict(zip(names, client.map_concurrently(find, names.items()), strict=True))

    def resolved(kind: str, value: Any) -> Any:
        return [resolved(kind, item) for item in value] if isinstance(value, list) else uuids.get((kind, value), value)

    return {**options, **{option: resolved(kind, options.get(option)) for option, kind in kinds.items()}}


def _names_in(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if is_name(item)]


def find_uuid(client: Client, kind: str, name: str, owner: Record) -> str:
    """Return the uuid of the only object of a type with this name and owner.

    It is read by a query, by GetHostNetworkFacts for interfaces of a known host, or by a cursor query.
    """
    key, resource_type = _NAME_FIELDS.get(kind, "name"), kind.replace("_", "")

    def by_query(client: Client, owner: Record) -> list[Record]:
        if resource_type not in RESOURCE_QUERIES:
            raise Unsupported(f"no query is known for the resource type {resource_type}")
        operation = RESOURCE_QUERIES[resource_type]
        if owner:
            return query(client, operation, [f"{field}={uuid}" for field, uuid in owner.items()])
        return find_by_attribute(client, operation, key, name)

    def by_network_facts(client: Client, owner: Record) -> list[Record]:
        facts = client.get("GetHostNetworkFacts", owner)
        return [{**nic, **owner} for nic in records_of(facts, "GetHostNetworkFacts", "nics")]

    def by_cursor(client: Client, owner: Record) -> list[Record]:
        return [record for page, dummy in paginate_cursor(client, resource_type) for record in page]

    readers = (by_query, by_network_facts, by_cursor) if kind == "host_nic" and owner else (by_query, by_cursor)
    try:
        records = first_readable(*readers)(client, owner)
    except Unsupported as reason:
        raise Unsupported(f"cannot look up the name {name!r}: {reason.reason}", "Give the uuid.") from None
    records = [
        record
        for record in records
        if record.get("uuid") and all(values_equal(uuid, record.get(field)) for field, uuid in owner.items())
    ]
    named = [record for record in records if values_equal(name, record.get(key))]
    found = require_unique(list(filter(is_usable, named)), f"the name {name!r}")
    if found is None:
        noun, others = _NOUNS.get(kind, kind.replace("_", " ")), sorted(str(record.get(key)) for record in records)
        existing = f" The names are {', '.join(others)}." if owner and others else ""
        deleted = f" Only a deleted {noun} has it ({named[0].get('uuid')})." if named else ""
        raise NotFound(
            f"no {noun} has the name {name!r}.{existing}{deleted} Check the name, or give the uuid (32 hexadecimal"
            " digits)."
        )
    return str(found["uuid"])
