"""Convert the record of an object to the variables of its host, which no version of core evaluates as templates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ansible.constants import INTERNAL_STATIC_VARS
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.record_fields import NESTED
from ...module_utils._api.records import (
    PRESERVED_KEY_MEMBERS,
    RECORD_FIELDS,
    SCALARS,
    WEBHOOKS,
    Record,
    complete_record,
    is_address,
    record_to_result,
    to_snake_case,
)
from .._jinja.compose import GroupMembership
from .._jinja.marks import HAS_DATA_TAGGING, make_unsafe

_RESERVED = frozenset(get_reserved_names()) | INTERNAL_STATIC_VARS


def is_variable_name(name: str) -> bool:
    """Return whether a name is a valid variable name that Ansible does not reserve."""
    return isidentifier(name) and name not in _RESERVED and not name.startswith("ansible_")


Element = TypeVar("Element")


class Added(NamedTuple):
    """A value that an inventory adds to a record: its meaning, for the guide, and the fields of which it is made.

    ``record`` is the type of the records of which it has some fields.
    """

    meaning: str
    sources: tuple[str, ...] = ()
    record: str = ""


# The values that are added to the records of objects, by API names.
AddedValues: TypeAlias = Mapping[str, Added]

# What all inventories add to the variables of a host: the values of `ServiceName`.
OF_SERVICE: AddedValues = {
    "service": Added("the name of the service, or its ``base_url``"),
    "serviceUrl": Added("the URL of the service"),
}

# What all inventories add with the option user_tags.
USER_TAGS: AddedValues = {"userTags": Added("the sorted list of its user tags, with ``user_tags: true``")}


class ServiceName(NamedTuple):
    """The name of a service for users, which is its base_url unless the source gives it another one, and its URL."""

    name: str
    url: str


@dataclass(slots=True)
class HostEntry:
    """A future host: the values of its record that are needed, its service, variables, name and groups.

    ``record`` contains values that were added to the record too, as in the variables. Whole records of all hosts would
    take as much memory as their variables.
    """

    record: Record
    service: str
    variables: dict[str, Any]
    name: str = ""
    memberships: list[GroupMembership] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        """The uuid of the record."""
        return str(self.record.get("uuid"))


class _VariableNames(dict[str, str]):
    """Variable names by API names, created on first access; ``""`` for fields that cannot become a variable."""

    def __init__(self, prefix: str, suffix: str) -> None:
        super().__init__()
        self.prefix, self.suffix = prefix, suffix

    def __missing__(self, field: str) -> str:
        name = f"{self.prefix}{to_snake_case(field)}{self.suffix}"
        self[field] = name if is_variable_name(name) else ""
        return self[field]


class HostVars:
    """Creates the variables of hosts: every documented field of their type, None if the service omits it.

    ``added`` are the API names of values that ``create_entry`` may add to the records. ``kept`` are the names of the
    fields that entries keep in addition to the uuid, None for all. ``visible`` are the API names of the fields that
    become variables, with ``ansible_host``, None for all. ``invalid_addresses`` are the addresses that were not set as
    ansible_host.
    """

    def __init__(
        self,
        record_type: str,
        added: Iterable[str],
        prefix: str,
        suffix: str,
        allow_localhost: bool,
        kept: Collection[str] | None,
        visible: frozenset[str] | None = None,
    ) -> None:
        if not f"{prefix}name{suffix}".isidentifier():
            raise InvalidOptions(
                f"hostvars_prefix and hostvars_suffix do not form valid variable names: {prefix}name{suffix}"
            )
        documented = RECORD_FIELDS[record_type]
        fields = (*documented, *added, *OF_SERVICE)
        self.fields = {to_snake_case(field): field for field in fields}
        self._kept: Collection[str] | None = None
        if kept is not None:
            self._kept = {"uuid"} | {field for name, field in self.fields.items() if {name, field} & set(kept)}
        self.invalid_addresses: list[str] = []
        self._allow_localhost = allow_localhost
        self._names = _VariableNames(prefix, suffix)
        self._known = {self._names[field] for field in fields}
        self._visible = visible
        self._empty = dict.fromkeys(name for field in documented if (name := self.name_variable(field)))
        self._layouts: dict[tuple[str, ...], list[str]] = {}
        self._texts = _Texts()
        self._nested = NestedRecords(self._texts)

    def name_variable(self, field: str) -> str:
        """Return the name of the variable for a field, by its API name; ``""`` if there is none."""
        return self._names[field] if self._is_visible(field) else ""

    def _is_visible(self, field: str) -> bool:
        return self._visible is None or field in self._visible

    @property
    def skipped_fields(self) -> list[str]:
        """The known fields that cannot become variables."""
        return sorted(field for field, name in self._names.items() if not name and self._is_visible(field))

    def is_generated_variable(self, name: str) -> bool:
        """Return whether a name is a variable that this object creates, at least for some hosts."""
        return name in self._known or name in self._names.values()

    def create_entry(self, record: Record, service: ServiceName, added: Mapping[str, Any], address: str) -> HostEntry:
        """Return the entry for a record of a service; its name is assigned later.

        The values in ``added``, by API names too, are not converted. ``address`` becomes ansible_host if it is valid.
        """
        added = {**added, **dict(zip(OF_SERVICE, service, strict=True))}
        visible = record
        if self._visible is not None:
            visible = {field: value for field, value in record.items() if field in self._visible}
        variables = self._convert(visible)
        for member, value in added.items():
            variables[self.name_variable(member)] = value
        variables.pop("", None)
        if not self._is_visible("ansible_host"):
            address = ""
        if address and is_address(address, self._allow_localhost):
            variables["ansible_host"] = make_unsafe(address)
        elif address:
            self.invalid_addresses.append(address)
        kept = {**record, **added} if self._kept is None else _pick(self._kept, record, added)
        return HostEntry(kept, service.name, variables)

    def _convert(self, record: Record) -> dict[str, Any]:
        """Return the variables for the fields of a record."""
        fields = tuple(record)
        names = self._layouts.get(fields)
        if names is None:
            names = self._layouts[fields] = [self._names[field] for field in fields]
        self._texts.limit_size()
        share = self._texts.share
        # This runs for every host, so it has no Python function call for scalars.
        values = [
            share(value, value)
            if isinstance(value, str)
            else value
            if type(value) in SCALARS
            else self._nested.convert_member(field, value)
            for field, value in record.items()
        ]
        variables = self._empty.copy()
        variables.update(zip(names, values, strict=True))
        return variables


def _pick(fields: Iterable[str], record: Record, added: Mapping[str, Any]) -> Record:
    """Return the values of these fields, which were added to the record or are in it."""
    return {field: added[field] if field in added else record.get(field) for field in fields}


class _Texts:
    """Strings of the service in which no core evaluates templates; equal strings become the same object.

    Most strings in the records of hosts and VMs occur in many of them, and would take half of the memory. ``share``
    returns the string for a string of the service, which is given twice.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self.share: Callable[[str, str], str] = self._known.setdefault if HAS_DATA_TAGGING else self._share_marked

    def _share_marked(self, text: str, dummy: str) -> str:
        return self._known.get(text) or self._known.setdefault(text, make_unsafe(text))

    def limit_size(self) -> None:
        """Forget the strings if there are many, because most of them occur only once."""
        if len(self._known) > MAX_TEXTS:
            self._known.clear()


class _Layout(NamedTuple):
    """How the records of a type with the same members are converted.

    ``blank`` has all documented names, ``names`` are those of the members. ``types`` are the types of nested records.
    """

    blank: dict[str, None]
    names: list[str]
    types: list[str]


MAX_TEXTS = 20_000

# How many layouts are remembered. The names of data, such as those of files, would take too much memory.
MAX_LAYOUTS = 1000


class NestedRecords:
    """Converts the records in a record as record_to_result does, with every documented field of their types.

    The records in a VM have their members in the same order as those in other VMs, so names are converted once for
    each order.
    """

    def __init__(self, texts: _Texts) -> None:
        self._texts = texts
        self._layouts: dict[tuple[str, ...], _Layout | None] = {}

    def convert_member(self, field: str, value: Any) -> Any:
        """Return the value of a member of the record of an object, which is a list or a mapping."""
        return make_unsafe(value) if field in PRESERVED_KEY_MEMBERS else self._convert(value, NESTED.get(field, ""))

    def _convert(self, value: Any, record_type: str) -> Any:
        if isinstance(value, list):
            # Unlike a comprehension, a copy has no room for further elements.
            return [self._convert(item, record_type) for item in value].copy()
        if not isinstance(value, dict):
            return make_unsafe(value)
        key = (record_type, *value)
        if key not in self._layouts and len(self._layouts) < MAX_LAYOUTS:
            self._layouts[key] = _create_layout(record_type, value)
        layout = self._layouts.get(key)
        if layout is None:
            return make_unsafe(record_to_result(complete_record(record_type, value)))
        share = self._texts.share
        values: list[Any] = [share(item, item) if isinstance(item, str) else item for item in value.values()]
        # Most records contain only scalars, so the types are compared in one step.
        if not SCALARS.issuperset(map(type, values)):
            values = [
                item if isinstance(item, str) or type(item) in SCALARS else self._convert(item, item_type)
                for item, item_type in zip(values, layout.types, strict=True)
            ]
        converted: dict[str, Any] = layout.blank.copy()
        converted.update(zip(layout.names, values, strict=True))
        return converted


def _create_layout(record_type: str, fields: Iterable[str]) -> _Layout | None:
    """Return the layout of records with these fields, None if their values decide how they are converted."""
    fields = tuple(fields)
    documented = RECORD_FIELDS.get(record_type, ())
    if not WEBHOOKS.isdisjoint(fields) or not PRESERVED_KEY_MEMBERS.isdisjoint(fields):
        return None
    names = [make_unsafe(to_snake_case(field)) for field in fields]
    types = [NESTED.get(field, "") if field in documented else "" for field in fields]
    return _Layout(_create_blank(record_type), names, types)


@lru_cache(maxsize=64)
def _create_blank(record_type: str) -> dict[str, None]:
    """Return a dictionary with all documented names of a type, to copy.

    It is that of an instance of a class, so that its copies share one table of keys (PEP 412), unless it has more than
    29, or some with marks. This takes a third of the memory.
    """

    class Blank:
        pass

    blank: dict[str, None] = vars(Blank())
    for name in RECORD_FIELDS.get(record_type, ()):
        blank[make_unsafe(to_snake_case(name))] = None
    return blank


# What is added to the records that have these fields.
CLUSTER_NAME = Added("the name of its cluster, with ``related_names``", ("clusterUuid",))
ZONE_NAME = Added("the name of its zone, with ``related_names``", ("zoneUuid",))

# The values that are added to the record of a host. The plugin hosts reads those of network facts.
HOST_ADDED: AddedValues = {
    "clusterName": CLUSTER_NAME,
    "zoneName": ZONE_NAME,
    "bondings": Added("its bondings, with ``network_facts: true``"),
    "nics": Added("its physical interfaces, with ``network_facts: true``"),
    "networkFactsError": Added("why its network facts could not be read, with ``network_facts: true``"),
    "primaryStorages": Added("the storages of its cluster", ("clusterUuid",), "PrimaryStorageInventory"),
}

# The fields of a primary storage that are added to the variables of a host.
STORAGE_FIELDS = ("uuid", "name", "type", "state", "status", "totalCapacity", "availableCapacity")


def create_host_entry(
    hostvars: HostVars, host: Record, service: ServiceName, storages: Mapping[str, list[dict[str, Any]]] | None
) -> HostEntry:
    """Return the entry for a host of the service; ``storages`` are those of each cluster, None if they are unknown."""
    added = {} if storages is None else {"primaryStorages": storages.get(get_text(host, "clusterUuid"), [])}
    return hostvars.create_entry(host, service, added, get_text(host, "managementIp"))


def group_by_cluster(storages: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """Return the primary storages that are attached to each cluster, as in the variables of its hosts."""
    clusters: dict[str, list[dict[str, Any]]] = {}
    for storage in storages:
        variable = convert_fields(storage, STORAGE_FIELDS)
        for cluster in get_elements(storage, "attachedClusterUuids", str):
            clusters.setdefault(cluster, []).append(variable)
    return clusters


def get_text(record: Mapping[str, Any], field: str) -> str:
    """Return a field if it is a string, else ``""``."""
    value = record.get(field)
    return value if isinstance(value, str) else ""


def get_elements(record: Mapping[str, Any], field: str, kind: type[Element]) -> list[Element]:
    """Return the elements of a field that have a type."""
    value = record.get(field)
    return [element for element in value if isinstance(element, kind)] if isinstance(value, list) else []


def convert_fields(record: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return a part of a record as in variables."""
    converted: dict[str, Any] = make_unsafe(record_to_result({field: record.get(field) for field in fields}))
    return converted
