# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""User tags of objects of most types."""

from __future__ import annotations

from ..errors import invalid_argument, not_found, operation_refused
from ..registry import Call, Reply, operation
from ..state.query import fold_with_spaces
from ..state.schema import TAGGED_TYPES
from ..state.store import Record


def find_tagged_type(kind: str) -> str:
    """Return the type of the resource in user tags of a type of records; empty if they have no user tags."""
    return next((name for name, tagged_kind in TAGGED_TYPES.items() if tagged_kind == kind), "")


def add_user_tag(call: Call, resource_type: str, uuid: str, text: str) -> Record:
    """Attach a user tag to an object.

    Raise OperationError if the object has a tag that a database takes for equal, in other letters or accents.
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
        "tagPatternUuid": None,
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
    """Delete a tag; succeed if it does not exist."""
    call.store["usertag"].remove_where(lambda tag: bool(tag["uuid"] == call["uuid"]))
    return {}
