"""Replace names of objects in options by their uuids, and add the names to results."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

from .._api.errors import (
    AmbiguousMatch,
    NotFound,
    Unsupported,
    VirtinfraError,
    has_word,
    join_first,
    suggest_name,
)
from .._api.records import (
    PredictedReference,
    Record,
    holds_null_reference,
    holds_unknown_reference,
    is_same_value,
)
from .._api.references import WILDCARD, find_referenced_type, format_name_field, format_option_name, is_name, list_names
from .._api.resource_types import HOST, REFERS_TO, RESOURCE_TYPES, VM, VOLUME, ResourceType
from .client import Client
from .lists import (
    PAGE_SIZE,
    Page,
    combine_finders,
    extract_records,
    find_by_attribute,
    get_by_uuid,
    paginate,
    paginate_cursor,
    query,
    require_unique,
)

# How often names of a type are looked up singly before the tasks of a run read the list of all its objects.
LOOKUPS_BEFORE_LIST = 2

# The types of objects whose names users give in place of those of another type.
_MISTAKEN: Mapping[str, tuple[str, ...]] = {
    "cluster": ("zone", "host"),
    "disk_offering": ("instance_offering",),
    "endpoint": ("platform", "topic"),
    "host": ("cluster", "vm", "primary_storage"),
    "image": ("vm",),
    "ip_range": ("l3_network",),
    "instance_offering": ("disk_offering", "image"),
    "l3_network": ("cluster", "l2_network"),
    "platform": ("endpoint",),
    "primary_storage": ("cluster", "host"),
    "snapshot_group": ("vm",),
    "topic": ("endpoint",),
    "vm": ("image", "host"),
    "vm_nic": ("vm",),
    "volume": ("vm",),
    "zone": ("cluster",),
}

# The types in `_MISTAKEN`, with one whose query the table of operations lacks.
_TYPES: Mapping[str, ResourceType] = {
    **RESOURCE_TYPES,
    "l2_network": ResourceType("l2_network", "L2 network", "GET l2-networks"),
}

# Where to find objects that are mistaken for the objects to which they belong.
_LISTED_BY = {"vm_nic": " virtinfra.manager.vm_nic_info lists its NICs, with their uuids and internal names."}

# The same for names that no object has. Users know the interface, an address or the MAC in the guest.
_LISTING = {"vm_nic": " virtinfra.manager.vm_nic_info lists the NICs of a VM, with their uuids and internal names."}

# The modules that list the objects of a type, if they are not those of resource_info.
_LISTED_WITH = {"host": "host_info", "host_nic": "host_network_info", "vm": "vm_info"}

# The types without a known query, by the name of which a query of the catalogue lists the objects.
_LISTED_AS = {"tag_pattern": "tag"}

# What may be the address of a host.
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")

# How many names of existing objects the failure of a lookup lists.
_LISTED_NAMES = 5

# The same for objects that nobody can create.
FIXED_NAMES = 40

# The key of the number of pages in place of a list that has too many. No object has an empty name.
_PAGES = ""


def resolve_names(
    client: Client, options: Mapping[str, Any], parameters: Mapping[str, str], may_be_missing: bool = False
) -> Record:
    """Return the options with the uuids of the objects that they refer to by name.

    ``parameters`` maps options to the API's names for them. A name that the client does not remember is looked up once,
    several concurrently. With ``may_be_missing``, a name that no object has is returned unchanged; no record refers to
    it.

    Raise NotFound, AmbiguousMatch, or Unsupported if the service cannot look up names.
    """
    types = {option: REFERS_TO[name] for option, name in parameters.items() if name in REFERS_TO}
    owned = {option: resource_type for option, resource_type in types.items() if resource_type.owner}
    others = {option: resource_type for option, resource_type in types.items() if not resource_type.owner}
    resolved = _resolve(client, options, others, {}, may_be_missing)
    if not owned:
        return resolved
    owner_names = {resource_type.owner for resource_type in owned.values()}
    owner = {
        name: uuid
        for option, name in parameters.items()
        if name in owner_names and (uuid := resolved[option]) and not holds_unknown_reference(uuid)
    }
    return _resolve(client, resolved, owned, owner, may_be_missing)


def _resolve(
    client: Client,
    options: Mapping[str, Any],
    types: Mapping[str, ResourceType],
    owner: Record,
    may_be_missing: bool,
) -> Record:
    """Return the options with uuids for the names in those of ``types``.

    If an earlier task would have created the owner, it would have created its objects, too.
    """
    names = {
        (resource_type, name): option
        for option, resource_type in types.items()
        for name in list_names(options.get(option))
    }

    def find(item: tuple[tuple[ResourceType, str], str]) -> str:
        (resource_type, name), option = item
        try:
            if holds_null_reference([*owner.values()]):
                return PredictedReference(option)
            return resolve_name(client, resource_type, name, owner)
        except VirtinfraError as failure:
            if isinstance(failure, NotFound):
                if is_predicted(client, resource_type.name, name):
                    return PredictedReference(option)
                if may_be_missing:
                    return name
                # A VM can be the source of another one in place of an image only.
                is_source = resource_type.name == "image"
                others = {
                    other.name: given for given, other in types.items() if is_source or given.startswith(other.name)
                }
                vms = [options[given] for given, other in types.items() if other is VM and options.get(given)]
                near = {"vmInstanceUuid": vms[0]} if vms and resource_type is VOLUME else owner
                is_item = isinstance(options[option], list)
                failure.add_sentence(explain_unknown_name(client, resource_type, name, others, near, is_item))
            raise failure.with_label(option) from None

    uuids = dict(zip(names, client.map_concurrently(find, names.items()), strict=True))

    def replace_names(resource_type: ResourceType, value: Any) -> Any:
        if isinstance(value, list):
            return [replace_names(resource_type, item) for item in value]
        return uuids.get((resource_type, value), value)

    resolved = {option: replace_names(resource_type, options.get(option)) for option, resource_type in types.items()}
    return {**options, **resolved}


def explain_unknown_name(
    client: Client,
    resource_type: ResourceType,
    name: str,
    options: Mapping[str, str] = MappingProxyType({}),
    owner: Mapping[str, Any] = MappingProxyType({}),
    is_item: bool = False,
) -> str:
    """Return a sentence, and a space before it, with what a name may mean that no object of a type has.

    It is an object of another type, which is the only one that has the name, or one of a similar name. ``options`` are
    those of the task, by the types of the objects that they take, ``owner`` is the host of an interface, or the VM of
    a volume, and ``is_item`` says that the option is a list of names. Only failures make the reads.
    """
    if several := _explain_several(resource_type, name, is_item):
        return several
    if resource_type.name == "host_nic" and owner and (bond := _explain_bond(client, name, owner)):
        return bond
    if resource_type.name == "host_nic" and (vlan := re.fullmatch(r"(.+)\.(\d{1,4})", name)):
        return f" For a VLAN of an interface, give interfaces: [{vlan[1]}] and vlan_ids: [{vlan[2]}]."
    if resource_type.name == "ssh_key_pair" and " " in name.strip():
        return " Give the name of a key pair: virtinfra.manager.resource adds the key, with kind ssh_key_pair."
    for other in (_TYPES[each] for each in _MISTAKEN.get(resource_type.name, ())):
        with suppress(VirtinfraError):
            if any(map(other.is_usable, find_by_attribute(client, other.query, other.name_field, name))):
                give = f", which the option {options[other.name]} takes" if other.name in options else ""
                listed = _LISTED_BY.get(resource_type.name, "")
                return f" {name} is the name of {_add_article(other.noun)}{give}.{listed}"
    if resource_type is VOLUME and owner and (volumes := _describe_volumes(client, owner["vmInstanceUuid"])):
        return volumes
    explained = explain_address(client, resource_type, name) or describe_existing_names(client, resource_type, name)
    return explained + _LISTING.get(resource_type.name, "")


def _explain_several(resource_type: ResourceType, name: str, is_item: bool) -> str:
    """Return a sentence, and a space before it, for a name with wildcards or commas, or the word all; else empty."""
    is_pattern = bool(WILDCARD.search(name)) or name.casefold() == "all"
    if not is_pattern and "," not in name:
        return ""
    if not is_item:
        problem = "Names are no patterns" if is_pattern else f"The option takes one {resource_type.noun}"
        return f" {problem}: virtinfra.manager.batch runs the module for many objects."
    if not is_pattern:
        return " Each item of the list is one name."
    return (
        f" Names are no patterns. Give the names or the uuids themselves, such as those of {_list_with(resource_type)}."
    )


def _list_with(resource_type: ResourceType) -> str:
    module = _LISTED_WITH.get(resource_type.name)
    listed = f"resource_info with resource_type {_LISTED_AS.get(resource_type.name, resource_type.name)}"
    return f"virtinfra.manager.{module or listed}"


def _explain_bond(client: Client, name: str, owner: Mapping[str, Any]) -> str:
    """Return a sentence, and a space before it, with the interfaces of a bond that has the name; empty without one."""
    with suppress(VirtinfraError):
        facts = client.get("GetHostNetworkFacts", owner)
        bonds, nics = (extract_records(facts, "GetHostNetworkFacts", member) for member in ("bondings", "nics"))
        for uuid in [bond.get("uuid") for bond in bonds if bond.get("bondingName") == name]:
            slaves = sorted(str(nic.get("interfaceName")) for nic in nics if nic.get("bondingUuid") == uuid)
            members = f", and its interfaces are {join_first(slaves, _LISTED_NAMES)}" if slaves else ""
            return (
                f" {name} is a bond{members}. virtinfra.manager.api sets the service types of a bond, with the"
                " operation SetServiceTypeOnHostNetworkBonding."
            )
    return ""


def _describe_volumes(client: Client, vm: str) -> str:
    """Return a sentence, and a space before it, with the volumes of a VM, by its name or uuid; empty without any."""
    with suppress(VirtinfraError):
        uuid = resolve_name(client, VM, vm, {}) if is_name(vm) else vm
        volumes = find_by_attribute(client, VOLUME.query, "vmInstanceUuid", uuid)
        if names := sorted(str(each.get(VOLUME.name_field)) for each in filter(VOLUME.is_usable, volumes)):
            return f" The names of the volumes of the VM are {join_first(names, _LISTED_NAMES)}."
    return ""


def _add_article(noun: str) -> str:
    # Capitals begin abbreviations: an L2 network, a VM.
    return f"{'an' if noun[0] in 'aeiouL' else 'a'} {noun}"


def explain_unknown_uuid(client: Client, resource_type: ResourceType, uuid: str) -> str:
    """Return a sentence, and a space before it, with the object of another type that has a uuid; empty without any.

    Only failures make the reads.
    """
    for other in (_TYPES[each] for each in _MISTAKEN.get(resource_type.name, ())):
        with suppress(VirtinfraError):
            for record in get_by_uuid(client, other.query, uuid):
                return f" {uuid} is the uuid of {_add_article(other.noun)}, {record.get(other.name_field)}."
    return ""


def explain_address(client: Client, resource_type: ResourceType, name: str) -> str:
    """Return a sentence, and a space before it, with the host that has an address as given for its name."""
    if resource_type.name != HOST.name or not _ADDRESS.fullmatch(name):
        return ""
    with suppress(VirtinfraError):
        for host in find_by_attribute(client, HOST.query, "managementIp", name):
            return f" {name} is the management_ip of the host {host.get(HOST.name_field)}."
    return ""


def describe_existing_names(client: Client, resource_type: ResourceType, name: str, listed: int = _LISTED_NAMES) -> str:
    """Return a sentence, and a space before it, with the objects that a name may mean that none has.

    All names are listed if they are few, or else the one that is similar. The read costs one request in a run, so only
    failures make it. The sentence is empty if the objects cannot be read, or the name is similar to none.
    """
    # The failure for an object of an owner lists its names already.
    if resource_type.owner:
        return ""
    try:
        uuids, dummy = client.names.find(
            resource_type, (_PAGES, "names"), lambda: _list_some_names(client, resource_type)
        )
    except VirtinfraError:
        return ""
    names = sorted(uuids.keys() - {_PAGES})
    if names and len(names) <= listed and _PAGES not in uuids:
        return f" The names are {', '.join(names)}."
    # Of web-1 to web-9, none is meant by web-10.
    return suggest_name(
        name, [each for each in names if _list_numbers(each) == _list_numbers(name)], is_misspelling=True
    )


def _list_numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", name)]


def _list_some_names(client: Client, resource_type: ResourceType) -> dict[str, str]:
    """Return the names on the first page of a list, each with a uuid, and the key _PAGES if there are more."""
    records, total = next(_paginate_type(client, resource_type, is_short=True), ([], None))
    field = resource_type.name_field
    names = {
        str(each[field]): str(each.get("uuid")) for each in filter(resource_type.is_usable, records) if each.get(field)
    }
    return names if total in (None, len(records)) else {**names, _PAGES: str(total)}


def is_predicted(client: Client, type_name: str, name: str) -> bool:
    """Return whether an earlier task would have created an object of this type and name outside check mode."""
    return client.options.read_only and f"{type_name} {name}" in client.hooks.list_predicted()


def resolve_name(client: Client, resource_type: ResourceType, name: str, owner: Record) -> str:
    """Return the uuid as `find_uuid` does, but from the names that the client remembers if possible."""

    def look_up() -> dict[str, str]:
        uuids, is_remembered = _recall_list(client, resource_type, name, owner)
        if owner:
            return uuids if name in uuids else _index_names(client, resource_type, owner)
        if name not in uuids:
            uuids, is_remembered = {name: find_uuid(client, resource_type, name, owner)}, False
        # Before others find the uuid in the store, which would check it again.
        if not is_remembered:
            client.names.note_seen((resource_type.name, name, uuids[name]))
        return {name: uuids[name]}

    key = tuple(map(str, owner.values())) or (name,)
    uuids = client.names.find(resource_type, key, look_up)[0]
    uuid = uuids[name] if name in uuids else find_uuid(client, resource_type, name, owner)
    # The service renames no objects that have their names within an owner, and the name of the owner is checked.
    if owner:
        client.names.owned.add(uuid)
    elif name in uuids and not resource_type.owner:
        is_current = partial(_is_current, client, resource_type, name, owner, uuid)
        client.names.rely_on((resource_type.name, name, uuid), is_current)
    return uuid


def _recall_list(client: Client, resource_type: ResourceType, name: str, owner: Record) -> tuple[dict[str, str], bool]:
    """Return uuids by names from a list of all objects, and whether it is remembered: of an owner's objects, or of one.

    The list is read when names are looked up for the third time, and only if it takes no more requests than single
    lookups have taken; the result is empty without it.
    """
    lookups = client.names.count_lookup(resource_type)
    if lookups < LOOKUPS_BEFORE_LIST:
        return {}, False
    uuids, is_remembered = client.names.find(resource_type, (), lambda: _list_uuids(client, resource_type, max_pages=1))
    if 1 < int(uuids.get(_PAGES, 0)) <= lookups:
        uuids, is_remembered = client.names.find(
            resource_type, (_PAGES, ""), lambda: _list_uuids(client, resource_type, max_pages=lookups)
        )
    if owner:
        return json.loads(uuids.get(" ".join(map(str, owner.values())), "{}")), is_remembered
    return ({name: uuids[name]} if name in uuids else {}), is_remembered


def _list_uuids(client: Client, resource_type: ResourceType, max_pages: int) -> dict[str, str]:
    """Return the uuids of all objects of a type by their names, without names of several objects.

    For types with owners, they are texts by owners, which are JSON, so that a lookup need not visit the whole list.
    If the list has more pages, return their number under the key _PAGES. If it cannot be read, return nothing.
    """
    records: list[Record] = []
    try:
        for number, (page, total) in enumerate(_paginate_type(client, resource_type), 1):
            records += filter(resource_type.is_usable, page)
            pages = max(number, math.ceil((total or 0) / PAGE_SIZE))
            if pages > max_pages:
                return {_PAGES: str(pages)}
    except VirtinfraError:
        return {}
    owner, name = resource_type.owner, resource_type.name_field
    named = [record for record in records if record.get("uuid") and record.get(name)]
    keys = [(str(record.get(owner)) if owner else "", str(record[name])) for record in named]
    counts = Counter(keys)
    groups: dict[str, dict[str, str]] = {}
    for key, record in zip(keys, named, strict=True):
        if counts[key] == 1:
            groups.setdefault(key[0], {})[key[1]] = str(record["uuid"])
    if not owner:
        client.names.note_seen(*((resource_type.name, *pair) for pair in groups.get("", {}).items()))
    return {uuid: json.dumps(names) for uuid, names in groups.items()} if owner else groups.get("", {})


def _paginate_type(client: Client, resource_type: ResourceType, is_short: bool = False) -> Iterator[Page]:
    """Yield all records of a type in pages: of a query, or else of a cursor query.

    With ``is_short``, those of a query have only the uuid, the name, and what shows that the object is deleted.
    """
    if resource_type.query:
        fields = [
            "uuid",
            resource_type.name_field,
            *([resource_type.state_field] if resource_type.deleted_states else []),
        ]
        # Which fields the records of other types have is not known.
        params = {"fields": ",".join(fields)} if is_short and resource_type.name in RESOURCE_TYPES else {}
        with suppress(Unsupported):
            yield from paginate(client, resource_type.query, params, limit=None, connections=1)
            return
    yield from paginate_cursor(client, resource_type.cursor_type)


def _index_names(client: Client, resource_type: ResourceType, owner: Record) -> dict[str, str]:
    """Return the uuids of the objects of an owner by their names; names that select no single object are missing."""
    try:
        records = _select_owned(_read_candidates(client, resource_type, "", owner), owner)
    except Unsupported:
        return {}
    names = Counter(str(record.get(resource_type.name_field)) for record in filter(resource_type.is_usable, records))
    return {
        name: str(record["uuid"])
        for record in filter(resource_type.is_usable, records)
        if names[name := str(record.get(resource_type.name_field))] == 1
    }


def _is_current(client: Client, resource_type: ResourceType, name: str, owner: Record, uuid: str) -> bool:
    """Return whether the object with this uuid still has the name, and no other object has it."""
    uuids = client.names.renew_list(resource_type, lambda: _list_uuids(client, resource_type, max_pages=1))
    if uuids and name in uuids:
        return uuids[name] == uuid
    try:
        return find_uuid(client, resource_type, name, owner) == uuid
    except (NotFound, AmbiguousMatch):
        return False


def _select_owned(records: list[Record], owner: Record) -> list[Record]:
    """Return the records of an owner that have a uuid."""
    return [
        record
        for record in records
        if record.get("uuid") and all(is_same_value(uuid, record.get(field)) for field, uuid in owner.items())
    ]


def find_uuid(client: Client, resource_type: ResourceType, name: str, owner: Record) -> str:
    """Return the uuid of the only object of a type with this name and owner.

    Raise NotFound, AmbiguousMatch, or Unsupported if the service cannot look up names.
    """
    try:
        records = _read_candidates(client, resource_type, name, owner)
    except Unsupported as reason:
        listed = _LISTED_AS.get(resource_type.name)
        source = f", which virtinfra.manager.resource_info returns for resource_type {listed}" if listed else ""
        raise Unsupported(f"cannot look up the name {name!r}: {reason.reason}", f"Give the uuid{source}.") from None
    candidates = _select_owned(records, owner)
    named = [record for record in candidates if is_same_value(name, record.get(resource_type.name_field))]
    usable = list(filter(resource_type.is_usable, named))
    if len(usable) > 1 and resource_type.owner and not owner:
        remedy = f"Give {format_option_name(resource_type.owner)}."
        raise AmbiguousMatch(f"the name {name!r}", [str(record.get("uuid")) for record in usable], remedy)
    record = require_unique(usable, f"the name {name!r}")
    if record is None:
        raise _build_not_found(resource_type, name, named, candidates if owner else [])
    return str(record["uuid"])


def add_given_names(
    client: Client, result: Record, given: Mapping[str, Any], resolved: Mapping[str, Any], parameters: Mapping[str, str]
) -> Record:
    """Return a result with the names of the objects that the options name, beside the uuids of these objects.

    If an option names a cluster, each record with ``cluster_uuid`` has ``cluster_name``: the name in the option, or
    null if the record refers to another cluster. A list of uuids has a list of names in the same order. The diff has
    names only of references that change: before and after the change. ``given`` and ``resolved`` are the options with
    their names, and with uuids instead. ``parameters`` maps options to the API's names for them.
    """
    names: dict[ResourceType, Record] = {}
    for option, parameter in parameters.items():
        if parameter not in REFERS_TO or given.get(option) is None:
            continue
        values, uuids = _to_list(given[option]), _to_list(resolved.get(option))
        if any(map(is_name, values)):
            pairs = zip(uuids, values, strict=True)
            names.setdefault(REFERS_TO[parameter], {}).update({uuid: name for uuid, name in pairs if is_name(name)})
    if not names:
        return result
    named = {name: _add_names(value, names) for name, value in _add_names_to_lists(result, names).items()}
    return {**named, "diff": _add_names_to_diff(client, result["diff"], names)} if result.get("diff") else named


def _add_names_to_diff(client: Client, diff: Record, names: Mapping[ResourceType, Record]) -> Record:
    """Return a diff with the names of the objects to which references referred before a change, and after it.

    The objects of a reference that did not change have no names in it, but those to which the records of a list belong.
    """
    before, after = (_add_names_to_lists(diff[side], names) for side in ("before", "after"))
    for field in dict.fromkeys((*before, *after)):
        values = (before.get(field), after.get(field))
        resource_type = find_referenced_type(field)
        if values[0] == values[1] or not resource_type or resource_type not in names:
            continue
        uuids = [uuid for value in values for uuid in _to_list(value) if isinstance(uuid, str)]
        known = {**dict.fromkeys(uuids), **names[resource_type]}
        known |= {uuid: _read_name(client, resource_type, uuid) for uuid in set(uuids) if known[uuid] is None}
        before, after = (
            {**side, format_name_field(field): _replace_uuids(side[field], known)} if side.get(field) else side
            for side in (before, after)
        )
    return {**diff, "before": before, "after": after}


def _read_name(client: Client, resource_type: ResourceType, uuid: str) -> str | None:
    """Return the name of an object, None if it cannot be read."""
    with suppress(VirtinfraError):
        for record in get_by_uuid(client, resource_type.query, uuid) if resource_type.query else ():
            return record.get(resource_type.name_field)
    return None


def _add_names_to_lists(members: Record, names: Mapping[ResourceType, Record]) -> Record:
    """Return members with names in the records of lists among them."""
    return {
        name: [_add_names(item, names) for item in value] if isinstance(value, list) else value
        for name, value in members.items()
    }


def _add_names(record: Any, names: Mapping[ResourceType, Record]) -> Any:
    """Return a record with the names of the objects that it refers to; ``names`` are those of each type by uuids."""
    if not isinstance(record, dict):
        return record
    types = {field: resource_type for field in record if (resource_type := find_referenced_type(field))}
    added = {
        format_name_field(field): _replace_uuids(record[field], names[resource_type])
        for field, resource_type in types.items()
        if resource_type in names
    }
    return {**record, **added}


def _replace_uuids(value: Any, names: Record) -> Any:
    """Return the names for a uuid, or for a list of uuids."""
    if isinstance(value, list):
        return [_replace_uuids(item, names) for item in value]
    return names.get(value) if isinstance(value, str) else None


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def name_objects(message: str, given: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
    """Return a message with the names that the user gave before the first occurrence of their uuids."""
    for option, value in given.items():
        for name, uuid in zip(_to_list(value), _to_list(resolved.get(option)), strict=False):
            if not (isinstance(name, str) and isinstance(uuid, str)) or uuid in ("", name):
                continue
            if not has_word(message, name):
                message = message.replace(uuid, f"{name} ({uuid})", 1)
    return message


def add_names(client: Client, message: str, references: Mapping[str, str]) -> str:
    """Return a message with the names of objects beside their uuids.

    ``references`` are the parameters of the uuids. An object that cannot be read stays a uuid.
    """
    for uuid, parameter in references.items():
        resource_type = REFERS_TO.get(parameter)
        if f"{uuid!r}" not in message or not (resource_type and resource_type.query):
            continue
        with suppress(VirtinfraError):
            for record in get_by_uuid(client, resource_type.query, uuid):
                message = message.replace(f"{uuid!r}", f"{record.get(resource_type.name_field)!r} ({uuid})")
    return message


def _read_candidates(client: Client, resource_type: ResourceType, name: str, owner: Record) -> list[Record]:
    """Read records of a type, among them all with this name and owner.

    They are read by a query, by GetHostNetworkFacts for the interfaces of a known host, or by a cursor query.
    """
    readers: list[Callable[[Client, Record], list[Record]]] = [partial(_read_by_query, resource_type, name)]
    if resource_type.name == "host_nic" and owner:
        readers.append(_read_network_facts)
    readers.append(partial(_read_by_cursor, resource_type))
    return combine_finders(*readers)(client, owner)


def _read_by_query(resource_type: ResourceType, name: str, client: Client, owner: Record) -> list[Record]:
    if not resource_type.query:
        raise Unsupported(f"no query is known for the resource type {resource_type.cursor_type}")
    if owner:
        return query(client, resource_type.query, [f"{field}={uuid}" for field, uuid in owner.items()])
    return find_by_attribute(client, resource_type.query, resource_type.name_field, name)


def _read_network_facts(client: Client, owner: Record) -> list[Record]:
    facts = client.get("GetHostNetworkFacts", owner)
    return [{**nic, **owner} for nic in extract_records(facts, "GetHostNetworkFacts", "nics")]


def _read_by_cursor(resource_type: ResourceType, client: Client, owner: Record) -> list[Record]:
    """Read all records of a type, those of other owners included, because the syntax of filters is not documented."""
    return [record for page, total in paginate_cursor(client, resource_type.cursor_type) for record in page]


def _build_not_found(resource_type: ResourceType, name: str, deleted: list[Record], of_owner: list[Record]) -> NotFound:
    """Return the failure for a name that no object has, with the deleted objects that have it and existing names."""
    reason = f"no {resource_type.noun} has the name {name!r}"
    if of_owner:
        existing = sorted(str(record.get(resource_type.name_field)) for record in of_owner)
        reason += f". The names are {', '.join(existing)}"
    if deleted:
        reason += f". Only a deleted {resource_type.noun} has the name ({deleted[0].get('uuid')})"
    return NotFound(reason, "Check the name.")
