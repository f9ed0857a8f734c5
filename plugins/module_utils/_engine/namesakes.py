"""Names that other objects have, or that are patterns: what a task most probably does not mean."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._api.conditions import describe_pattern
from .._api.errors import AmbiguousMatch, InvalidOptions, VirtinfraError
from .._api.operation import ABSENT
from .._api.records import Record, drop_null_references
from .._api.references import format_option_name
from .current import Current, Missing
from .drift import list_owner_params
from .reader import ObjectReader
from .spec import PlannedCall


def require_free_name(reader: ObjectReader, calls: Sequence[PlannedCall], record: Record | None) -> None:
    """Raise InvalidOptions if one of the calls gives the object a name that another object of its owner has.

    Later tasks could select neither of the two by the name. Only a rename costs the read.
    """
    resource, desired = reader.resource, drop_null_references(reader.desired)
    name, record = desired.get("name"), drop_null_references(record or {})
    # An object that an earlier task would have created has no uuid yet.
    is_renamed = bool(name and record.get("uuid")) and name != record.get("name")
    is_update = any(call.operation == resource.update and call.params.get("name") == name for call in calls)
    if not is_renamed or not is_update or "name" not in resource.keys:
        return
    owners = {owner: record[owner] for owner in list_owner_params(resource) if record.get(owner)}
    others: list[str] = []
    try:
        other = resource.find(reader.client, {"name": name, **owners})
        others = [str(other.get("uuid"))] if other else []
    except AmbiguousMatch as several:
        others = sorted(several.result["uuids"])
    except VirtinfraError:
        # A deleted object of the name, for example.
        return
    predicted = reader.client.hooks.list_predicted()
    if others := [uuid for uuid in others if uuid != record.get("uuid") and uuid not in predicted]:
        key = format_option_name(str(resource.choose_key(desired)))
        raise InvalidOptions(
            f"{key} selects the {resource.noun} {record.get('name')} ({record.get('uuid')}), but name selects {name}"
            f" ({', '.join(others)}). Correct one of them."
        )


def warn_of_pattern(reader: ObjectReader, current: Current) -> None:
    """Warn that nothing was removed, because a name that no object has is a pattern or a list."""
    if reader.state != ABSENT or not isinstance(current, Missing) or "uuid" in reader.desired:
        return
    with suppress(KeyError):
        if problem := describe_pattern(str(reader.desired["name"])):
            reader.context.warnings.append(
                f"{reader.label}: {problem}, and no {reader.resource.noun} has it, so nothing is removed."
                " virtinfra.manager.batch runs the module for many objects."
            )
