"""Names that other objects have, or that are patterns: what a task most probably does not mean."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._api.errors import InvalidOptions, VirtinfraError
from .._api.operation import ABSENT
from .._api.records import Record, drop_null_references, is_same_value
from .._api.references import describe_pattern, format_option_name
from .current import Current, Missing
from .drift import list_owner_params
from .reader import ObjectReader
from .spec import PlannedCall


def require_free_name(reader: ObjectReader, calls: Sequence[PlannedCall], record: Record | None) -> None:
    """Raise InvalidOptions if one of the calls gives the object a name that another object of its owner has.

    Later tasks could select neither of the two by the name. Only a rename costs the read, and the creation of an object
    that another option than its name would have selected.
    """
    resource, desired = reader.resource, drop_null_references(reader.desired)
    name, key, record = desired.get("name"), resource.choose_key(desired), drop_null_references(record or {})
    if not name or "name" not in resource.keys:
        return
    is_created = key != "name" and any(call.operation == resource.create for call in calls)
    # An object that an earlier task would have created has no uuid yet.
    is_renamed = bool(record.get("uuid")) and name != record.get("name")
    is_renamed &= any(call.operation == resource.update and call.params.get("name") == name for call in calls)
    if not (is_created or is_renamed) or not (others := _list_others(reader, desired, record)):
        return
    noun, option, listed = resource.noun, format_option_name(str(key)), ", ".join(others)
    if is_created:
        raise InvalidOptions(
            f"no {noun} has this {option}, but another {noun} has the name ({listed}). To change its {option}, give its"
            f" uuid, or only name and {option}. To create another {noun}, give another name."
        )
    raise InvalidOptions(
        f"{option} selects the {noun} {record.get('name')} ({record.get('uuid')}), but name selects {name} ({listed})."
        " Correct one of them."
    )


def _list_others(reader: ObjectReader, desired: Record, record: Record) -> list[str]:
    """Return the uuids of other objects of the name, without those that check mode has changed or removed."""
    owners = {owner: record[owner] for owner in list_owner_params(reader.resource) if record.get(owner)}
    try:
        other, uuids = reader.find_matches({"name": desired["name"], **owners})
    except VirtinfraError:
        # A deleted object of the name, for example.
        return []
    key = str(reader.resource.choose_key(desired))
    if other and is_same_value(desired[key], other.get(key)):
        # Another run has created the object since it was read.
        return []
    predicted = reader.client.hooks.list_predicted()
    return [uuid for uuid in uuids if uuid != record.get("uuid") and uuid not in predicted]


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
