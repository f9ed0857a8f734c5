"""User tags of objects of most types, and tag patterns."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError, invalid_argument, not_found, operation_refused
from ..registry import Call, Reply, operation
from ..state.query import fold_with_spaces
from ..state.schema import TAGGED_TYPES
from ..state.store import Record


def find_tagged_type(kind: str) -> str:
    """Return the type of the resource in user tags of a type of records; empty if they have no user tags."""
    return next((name for name, tagged_kind in TAGGED_TYPES.items() if tagged_kind == kind), "")


def add_user_tag(call: Call, resource_type: str, uuid: str, text: str, pattern: str | None = None) -> Record:
    """Attach a user tag to an object; `pattern` is the uuid of the tag pattern from which it is made.

    Raise OperationError if the object has a tag that a database treats as equal, with other case or accents.
    """
    text, store = text.strip(), call.store
    for other in store["usertag"].all():
        is_same_object = (other["resourceType"], other["resourceUuid"]) == (resource_type, uuid)
        if is_same_object and fold_with_spaces(other["tag"]) == fold_with_spaces(text):
            names = f"tag:{text}, type:User, resourceType:{resource_type}, resourceUuid:{uuid}"
            raise operation_refused(f"Duplicated Tag[{names}]")
    members = {
        "uuid": store.generate_uuid(),
        "resourceUuid": uuid,
        "resourceType": resource_type,
        "tag": text,
        "type": "User",
        "tagPatternUuid": pattern,
        **store.dates(),
    }
    return store["usertag"].put(Record("usertag", members))


@operation("CreateUserTag")
def create_user_tag(call: Call) -> Reply:
    """Attach a user tag to an object."""
    resource_type, uuid = call["resourceType"], call["resourceUuid"]
    if resource_type not in TAGGED_TYPES:
        raise invalid_argument(f"no resource type[{resource_type}] found in tag system")
    if call.store.find(TAGGED_TYPES[resource_type], uuid) is None:
        raise not_found(resource_type, uuid)
    return {"inventory": add_user_tag(call, resource_type, uuid, call["tag"])}


@operation("DeleteTag", has_envelope=False)
def delete_tag(call: Call) -> Reply:
    """Delete a user tag, or a pattern with the user tags that were made from it; succeed if it does not exist."""
    call.store["usertag"].remove_where(lambda tag: call["uuid"] in (tag["uuid"], tag["tagPatternUuid"]))
    call.store["tagpattern"].remove_where(lambda pattern: bool(pattern["uuid"] == call["uuid"]))
    return {}


@operation("CreateTag")
def create_pattern(call: Call) -> Reply:
    """Create a tag pattern; there may be others with its name and value."""
    members = {
        "uuid": call.store.generate_uuid(),
        **call.select("name", "value"),
        "description": call.get("description"),
        "color": call.get("color"),
        "type": call.get("type", "simple"),
        **call.store.dates(),
    }
    return {"inventory": call.store["tagpattern"].put(Record("tagpattern", members))}


@operation("AttachTagToResources")
def attach_pattern(call: Call) -> Reply:
    """Attach a tag pattern to objects; the job succeeds although single objects fail."""
    pattern = _find_pattern(call)
    text = pattern["value"]
    for token, value in (call.get("tokens") or {}).items():
        text = text.replace(f"{{{token}}}", str(value))
    results: list[dict[str, Any]] = []
    for uuid in call["resourceUuids"]:
        try:
            tag = _attach(call, pattern["uuid"], uuid, text)
        except OperationError as error:
            code = error.to_error_code(call.switches.error_nesting, call.switches.extra_members)
            results.append({"success": False, "error": code, "inventory": None})
        else:
            results.append({"success": True, "error": None, "inventory": tag})
    return {"results": results}


@operation("DetachTagFromResources", has_envelope=False)
def detach_pattern(call: Call) -> Reply:
    """Remove the user tags that were made from a tag pattern from objects."""
    uuids = call["resourceUuids"]
    call.store["usertag"].remove_where(
        lambda tag: tag["tagPatternUuid"] == call["tagUuid"] and tag["resourceUuid"] in uuids
    )
    return {}


def _find_pattern(call: Call) -> Record:
    pattern = call.store["tagpattern"].find(call["tagUuid"])
    if pattern is None:
        raise not_found("TagPatternVO", call["tagUuid"])
    return pattern


def _attach(call: Call, pattern: str, uuid: str, text: str) -> Record:
    """Return the user tag that an object has from a pattern, a new one if it has none."""
    store = call.store
    resource_type = next((name for name, kind in TAGGED_TYPES.items() if store.find(kind, uuid)), None)
    if resource_type is None:
        raise not_found("ResourceVO", uuid)
    tags = [tag for tag in store["usertag"].all() if tag["resourceUuid"] == uuid]
    if attached := [tag for tag in tags if (tag["tagPatternUuid"], tag["tag"]) == (pattern, text)]:
        return attached[0]
    limit = call.switches.tags_per_object
    if len(tags) >= limit:
        raise operation_refused(f"resource[uuid: {uuid}] has {limit} tags, which is the limit")
    return add_user_tag(call, resource_type, uuid, text, pattern)
