"""The uuid and the tags of a record that an operation creates."""

from __future__ import annotations

from ..errors import invalid_argument
from ..registry import Call
from ..state.store import Record
from .tags import add_user_tag, find_tagged_type

TAGGED_AT_CREATION = ("host", "vm", "vmnic", "volume")


def generate_uuid(call: Call, kind: str) -> str:
    """Return the uuid of a new record: resourceUuid, if given; raise OperationError if a record has it."""
    uuid = call.get("resourceUuid")
    if uuid and call.store[kind].find(uuid):
        raise invalid_argument(f"resourceUuid[{uuid}] is already used")
    return uuid or call.store.generate_uuid()


def tag(call: Call, record: Record) -> None:
    """Store the tags of a new record, user tags only for hosts, VMs, NICs and volumes.

    Raise OperationError if a user tag is given twice.
    """
    call.store.tags[record["uuid"]] = {"systemTags": call.tags["systemTags"], "tagUuids": call.get("tagUuids", [])}
    resource_type = find_tagged_type(record.kind)
    if record.kind in TAGGED_AT_CREATION and call.switches.user_tags_at_creation:
        for text in call.tags["userTags"]:
            add_user_tag(call, resource_type, record["uuid"], text)
