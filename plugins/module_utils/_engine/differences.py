"""The failures that a plan raises, with what differs and what to do. Pure: no I/O, no Ansible."""

from __future__ import annotations

from collections.abc import Sequence

from .._api.errors import NotFound, Unchangeable
from .._api.records import Record, is_same_value, record_to_result, to_snake_case
from .._api.references import explain_pattern, format_option_name, is_name, unify_uuid
from .spec import ResourceSpec, get_parameters

# What to do instead of a change that the API does not offer, by the noun of the object and the parameter.
_INSTEAD = {
    ("vm", "imageUuid"): "virtinfra.manager.resource attaches ISOs to VMs, with kind iso_attachment.",
    **dict.fromkeys(
        (("instance offering", "cpuNum"), ("instance offering", "memorySize"), ("disk offering", "diskSize")),
        "Make another offering.",
    ),
}


def build_unchangeable(resource: ResourceSpec, changes: Record, desired: Record, current: Record) -> Unchangeable:
    """Return the failure that the API cannot make these changes to the current record."""
    differences = describe_differences(resource, changes, current)
    message = f"the API cannot change {differences}{describe_key(resource, desired, current)}"
    failure = Unchangeable(message, list_references(changes, current))
    for instead in dict.fromkeys(_INSTEAD.get((resource.noun, name), "") for name in changes):
        failure.add_sentence(instead and f" {instead}")
    return failure


def describe_differences(resource: ResourceSpec, changes: Record, current: Record) -> str:
    """Return how the values of options differ from those of the record, with the names of the options."""
    options = {field: name for name, field in resource.fields.items() if name in get_parameters(resource.create)}
    present = {to_snake_case(name): "not set" for name in changes}
    present |= {
        name: repr(value)
        for name, value in record_to_result(current, resource.record_type).items()
        if value is not None
    }
    requested = record_to_result(changes, resource.record_type)
    return ", ".join(
        f"{format_option_name(options.get(name, name))} ({_describe_difference(present[key], repr(requested[key]))})"
        for name, key in ((name, to_snake_case(name)) for name in changes)
    )


def list_references(changes: Record, current: Record) -> dict[str, str]:
    """Return the parameters of the uuids in values that differ, by uuid."""
    return {
        uuid: name
        for name in changes
        for value in (current.get(name), changes[name])
        for uuid in (value if isinstance(value, list) else [value])
        if isinstance(uuid, str) and not is_name(uuid)
    }


def describe_key(resource: ResourceSpec, desired: Record, current: Record) -> str:
    """Return the end of a message: the option that selected the object; an empty string if none did."""
    key = resource.choose_key(
        {name: value for name, value in desired.items() if is_same_value(value, current.get(name, value))}
    )
    return f". The {resource.noun} was found by {format_option_name(key)} {desired[key]!r}." if key else ""


def _describe_difference(present: str, requested: str) -> str:
    """Return how two values differ; if they look equal, only a masked part differs."""
    return f"is {present}, should be {requested}" if present != requested else f"is {present}, a masked part differs"


def build_not_found(resource: ResourceSpec, desired: Record, missing: Sequence[str] = ()) -> NotFound:
    """Return the failure that the object does not exist; ``missing`` are the options needed to create it."""
    key = resource.choose_key(desired)
    reason = (
        f"no {resource.noun} with {format_option_name(key)} {desired[key]!r}" if key else f"no such {resource.noun}"
    )
    if key:
        reason += explain_pattern(str(desired[key]), format_option_name(key))
    if key == "name" and not is_name(unify_uuid(str(desired[key]))):
        remedy = "Give uuid in place of name."
        return NotFound(f"{reason}, which looks like a uuid", remedy, check_mode_remedy=remedy)
    option = format_option_name(key) if key else "options"
    if resource.create is None:
        if resource.creation:
            return NotFound(reason, f"Check the {option}, or {resource.creation}.")
        remedy = f"The API cannot create one, so check the {option}."
        return NotFound(reason, remedy, remedy)
    # The names of operations begin with a verb, such as AddKVMHost.
    verb = to_snake_case(resource.create).partition("_")[0]
    if missing:
        give = f"give {_join_names(missing)} to {verb} it"
        return NotFound(
            reason,
            f"Check the {option}, or {give}.",
            check_mode_remedy=f"{give.capitalize()}, or add when: not ansible_check_mode if an earlier task does so.",
        )
    return NotFound(reason, f"Check the {option}, or omit it to {verb} one.")


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
