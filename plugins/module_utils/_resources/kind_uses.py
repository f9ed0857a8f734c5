"""What a deletion does to the objects that use the object, from the rows of the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .._api.catalogue import find_query_type
from .._api.errors import Unsupported
from .._api.records import Record
from .._api.resource_types import RESOURCE_TYPES
from .._client.client import Client
from .._client.lists import query, require_members
from .._engine.guards import ALSO_REMOVED, LOST, Dependent, Dependents, Guard
from .kind_rows import BEREFT, KINDS, Use

_NOUNS = {kind.name: kind.noun for kind in KINDS}

# The member of the result with the objects that remain, but lose what they use.
AFFECTED = "affected"


def build_guard(uses: Sequence[Use], operations: tuple[str, ...], second: str = "") -> Guard:
    """Return the guard of a deletion. ``second`` is the field with the second object of an attachment."""
    return Guard(
        partial(_find, uses, second),
        harmful=(LOST, BEREFT),
        members={LOST: ALSO_REMOVED, BEREFT: AFFECTED},
        review=partial(_review, uses, second),
        operations=operations,
    )


def _find(uses: Sequence[Use], second: str, client: Client, record: Record, choice: Any) -> Dependents:
    """Return the objects that use an object. What cannot be listed needs the permission of the user, too."""
    found: dict[str, Dependent] = {}
    reasons: list[str] = []
    for use in uses:
        try:
            found |= {item.uuid: item for item in _list_users(use, second, client, record)}
        except Unsupported as lack:
            reasons.append(f"what uses the object cannot be read: {lack.reason}")
    return Dependents(list(found.values()), unknown="; ".join(reasons))


def _list_users(use: Use, second: str, client: Client, record: Record) -> list[Dependent]:
    conditions = [f"{use.field}={record['uuid']}"]
    if use.also:
        conditions.append(f"{use.also}={record[second]}")
    noun = _NOUNS.get(use.type, "" if use.type in RESOURCE_TYPES else use.type)
    records = query(client, use.query, conditions)
    # A record without them would seem to be no user. A field of another object is not a member of the record.
    require_members(
        records, use.query, *(name for name in {use.field, "uuid"} & {use.field, use.uuid} if "." not in name)
    )
    users = filter(find_query_type(use.query).is_usable, records)
    # In check mode, an earlier task may have removed the VM of a NIC.
    predicted = client.hooks.list_predicted()
    return [
        Dependent(str(user[use.uuid]), str(user.get(use.name) or use.type), use.effect, use.reason, use.type, noun)
        for user in users
        if user.get(use.uuid) and predicted.get(str(user.get("vmInstanceUuid")), "") is not None
    ]


def _review(uses: Sequence[Use], second: str, client: Client, record: Record, before: Dependents) -> list[Dependent]:
    """Return the users of an object after its deletion; those that are still listed were not removed with it."""
    remaining = {item.uuid for item in _find(uses, second, client, record, None).objects}
    return [
        item._replace(effect="") if item.effect == LOST and item.uuid in remaining else item for item in before.objects
    ]
