"""The calls that make the user tags of an object those of the options. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.errors import Unsupported
from .._api.operation import ABSENT
from .._api.records import Record, get_tag, is_mark
from .current import Current, Found, Unreadable, replace_record
from .spec import Plan, PlannedCall, ResourceSpec

# The options, by their API names, for the user tags of an object and for what to do with its other tags. The record has
# the texts of the tags under the first name.
TAGS, TAGS_MODE = "tags", "tagsMode"

# The operations that change the user tags of an object of any type.
ADD_TAG, REMOVE_TAG = "CreateUserTag", "DeleteTag"

# The types of objects whose creation takes user tags. Services ignore user tags in other creations.
TAGGED_AT_CREATION = ("HostVO", "VmInstanceVO")


def list_desired_tags(desired: Record, user_tags: Sequence[Record] = ()) -> list[str]:
    """Return the user tags, sorted, that an object with ``user_tags`` shall have by the options.

    With exact tags, those that were made from the tag patterns of the options remain, and the marks of roles: without
    its mark, a role would not put the object back.
    """
    tags, mode = set(desired[TAGS]), desired[TAGS_MODE]
    present = {get_tag(row) for row in user_tags}
    if mode == "remove":
        return sorted(present - tags)
    patterns = desired.get("tagUuids", ())
    kept = {get_tag(row) for row in user_tags if mode == "add" or row.get("tagPatternUuid") in patterns or is_mark(row)}
    # Services treat two tags as equal that differ only in case.
    spelled = {tag.casefold() for tag in tags}
    return sorted(tags | {tag for tag in kept if tag in tags or tag.casefold() not in spelled})


def plan_with_tags(plan_calls: Plan) -> Plan:
    """Return a plan function that also makes the user tags of an object those of the options.

    The create sends them if services take them there, or else they are added after it. An object that shall be removed
    must have them.
    """

    def plan_all(resource: ResourceSpec, state: str, desired: Record, current: Current) -> list[PlannedCall]:
        if isinstance(current, Unreadable):
            raise Unsupported(f"cannot compare tags: {current.reason.reason}", "Omit tags.")
        user_tags = current.user_tags if isinstance(current, Found) else ()
        tags = list_desired_tags(desired, user_tags)
        others = {name: value for name, value in desired.items() if name not in (TAGS, TAGS_MODE)}
        if state == ABSENT:
            return plan_calls(resource, state, {**others, TAGS: tags}, current)
        if current.record is None:
            return _plan_tags_of_created(resource, plan_calls(resource, state, others, current), tags)
        known = replace_record(current, {TAGS: [], **current.record})
        calls = _plan_tag_calls(resource, user_tags, tags, known)
        expected = calls[-1].expected if calls else None
        return calls + plan_calls(resource, state, others, replace_record(known, expected) if expected else known)

    return plan_all


def _plan_tags_of_created(resource: ResourceSpec, calls: Sequence[PlannedCall], tags: list[str]) -> list[PlannedCall]:
    """Return the calls of a plan that creates an object, with its tags in the records that are expected.

    Calls that add tags follow the create if services ignore user tags in it.
    """
    is_sent = resource.tagged_type in TAGGED_AT_CREATION
    tagged: list[PlannedCall] = []
    for call in calls:
        is_create = call.operation == resource.create
        params = {"userTags": tags} if tags and is_create and is_sent else {}
        shown = tags if is_sent or not is_create else []
        tagged.append(call.expect({TAGS: shown})._replace(params={**call.params, **params}))
        if is_create and call.expected and not is_sent:
            tagged += _plan_tag_calls(resource, (), tags, Found(call.expected))
    return tagged


def _plan_tag_calls(
    resource: ResourceSpec, user_tags: Sequence[Record], tags: Sequence[str], current: Current
) -> list[PlannedCall]:
    """Return the calls that change the user tags of an object to ``tags``.

    Tags are added first, so that none is lost on a service that cannot add any. A tag that differs from a present one
    in small and capital letters only is added after that one was removed.
    """
    record = current.record or {}
    removed = [row for row in user_tags if get_tag(row) not in tags]
    replaced = {get_tag(row).casefold() for row in removed}
    present = [get_tag(row) for row in user_tags]
    added = [tag for tag in tags if tag not in present]
    calls: list[PlannedCall] = []

    def expect(operation: str, params: Record) -> None:
        calls.append(PlannedCall(operation, params, {**record, TAGS: sorted({*present})}))

    def add(tag: str) -> None:
        present.append(tag)
        expect(ADD_TAG, {"resourceType": resource.tagged_type, "resourceUuid": record.get("uuid"), "tag": tag})

    for tag in added:
        if tag.casefold() not in replaced:
            add(tag)
    for row in removed:
        present.remove(get_tag(row))
        expect(REMOVE_TAG, {"uuid": row.get("uuid")})
    for tag in added:
        if tag.casefold() in replaced:
            add(tag)
    return calls
