"""Read all records of one or several services, each with a query or a cursor query."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.conditions import (
    Condition,
    describe_refused,
    list_texts_to_send,
    parse_condition,
)
from ...module_utils._api.errors import (
    ApiError,
    InvalidOptions,
    Unsupported,
    VirtinfraError,
)
from ...module_utils._api.record_fields import COMPUTED_FIELDS
from ...module_utils._api.records import (
    RECORD_FIELDS,
    Record,
    get_tag,
)
from ...module_utils._api.resource_types import CLUSTER, ZONE, ResourceType
from ...module_utils._client.client import SESSION_OPTIONS, TOKEN_OPTION, Client
from ...module_utils._client.lists import list_user_tags, paginate, paginate_cursor, prefetch
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.options import CONNECTION, Options
from .._run.encrypted import decrypt_values
from .._run.profiles import Profiles
from .items import CONDITIONS, split_text

Result = TypeVar("Result")

SESSION_INVALID = "ID.1001"

# The fields with uuids of related objects, the fields that are added for the names of these, and their types.
RELATED_NAMES = (("clusterUuid", "clusterName", CLUSTER), ("zoneUuid", "zoneName", ZONE))

# How many pages of a query are read concurrently at most: browsers open as many connections.
CONNECTIONS = 6

# The values of the option on_failure.
FAIL, SKIP, LAST_KNOWN = "fail", "skip", "last_known"

# Core reads the environment variables that the documentation of the plugins contains.
OPTIONS: Options = {
    **{name: {key: option[key] for key in option if key != "fallback"} for name, option in CONNECTION.items()},
    "source": {"type": "str", "choices": ["query", "cursor"]},
    "query": {"type": "list", "elements": "str"},
    "filters": {"type": "list", "elements": "str"},
    "on_failure": {"type": "str", "choices": [FAIL, SKIP, LAST_KNOWN]},
}


@dataclass(frozen=True)
class Service:
    """A service and the records to read. ``source`` is ``query``, ``cursor``, or None if the credentials decide.

    ``label`` is its entry in the option services, empty without one.
    ``fields`` are the fields to read of each record, None for all, and ``parts`` the members of the records in one of
    them, at all depths, that are kept while others are read ahead.
    ``on_failure`` says what to do if the service cannot be read: ``fail``, ``skip`` or ``last_known``.
    ``rejected_uuids`` are those of records that the service returned although they do not meet a condition.
    ``names`` are the names of related objects by uuid, for each field with such uuids; None if they cannot be read.
    """

    name: str
    connection: ConnectionOptions
    source: str | None
    query: tuple[str, ...]
    filters: tuple[str, ...]
    page_size: int
    on_failure: str
    label: str = ""
    fields: frozenset[str] | None = None
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rejected_uuids: list[str] = field(default_factory=list, compare=False)
    names: dict[str, dict[str, Any] | None] = field(default_factory=dict, compare=False)

    @property
    def uses_query(self) -> bool:
        """Whether to read the records with a query, and not with a cursor query."""
        if self.source:
            return self.source == "query"
        if self.query or self.filters:
            return bool(self.query)
        return self.connection.can_query

    def create_cache_key(self) -> list[Any]:
        """Return the values that determine which records are read, without secrets.

        Accounts see different records, so the account is among them. Of a session and a token, whose accounts are not
        known, it is a digest.
        """
        connection = self.connection
        opaque = f"{connection.session_id or ''} {connection.api_token or ''}"
        return [
            *(self.name, connection.origin, connection.path_prefix, self.source),
            *(connection.account, connection.access_key_id, hashlib.sha256(opaque.encode()).hexdigest()),
            *(list(self.query), list(self.filters)),
        ]

    def read_related(self, client: Client, resource_type: ResourceType) -> list[Record]:
        """Return all records of another type; raise Unsupported if the credentials do not allow this."""
        unfiltered = replace(self, source=None, query=(), filters=(), fields=None)
        return [record for page in unfiltered.read_pages(client, resource_type) for record in page]

    def read_if_enabled(
        self,
        client: Client,
        resource_type: ResourceType,
        option: str,
        requested: bool | None,
        warn: Callable[[str], None],
    ) -> list[Record] | None:
        """Return all records of another type unless ``requested``, the value of ``option``, is false.

        If they cannot be read, the source fails if it is true; if it is None, the user is warned.
        """
        if requested is False:
            return None
        return self.read_or_warn(lambda: self.read_related(client, resource_type), option, bool(requested), warn)

    def read_user_tags(self, client: Client, warn: Callable[[str], None]) -> dict[str, list[str]] | None:
        """Return the sorted user tags of all objects by the uuids of these; None, with a warning, if they are unknown.

        One list has the tags of objects of all types, because the types in it are not documented.
        """

        def read() -> list[Record]:
            return list_user_tags(client, page_size=self.page_size, connections=CONNECTIONS)

        rows = self.read_or_warn(read, "user_tags", False, warn)
        if rows is None:
            return None
        tags: dict[str, set[str]] = {}
        for row in rows:
            tags.setdefault(str(row.get("resourceUuid")), set()).add(get_tag(row))
        return {uuid: sorted(texts) for uuid, texts in tags.items()}

    def read_or_warn(
        self, read: Callable[[], Result], option: str, is_required: bool, warn: Callable[[str], None]
    ) -> Result | None:
        """Return what is read; if it cannot be read, fail if it is required, else warn and return None."""
        try:
            return read()
        except (ApiError, Unsupported) as failure:
            if is_required or getattr(failure, "code", "") == SESSION_INVALID:
                raise failure.with_label(option) from None
            warn(f"{self.name}: skipped {option}: {failure}")
            return None

    def add_names(
        self,
        client: Client,
        resource_type: ResourceType,
        records: list[Record],
        requested: bool | None,
        warn: Callable[[str], None],
        is_needed: Callable[[str], bool],
    ) -> None:
        """Add the names of the clusters and zones of the records; each type is listed once, when a record has one.

        ``is_needed`` says whether to add a field with names.
        """
        for uuid_field, name_field, related_type in RELATED_NAMES:
            if uuid_field not in RECORD_FIELDS[resource_type.record] or not is_needed(name_field):
                continue
            if uuid_field not in self.names and any(record.get(uuid_field) for record in records):
                related = self.read_if_enabled(client, related_type, "related_names", requested, warn)
                names = None if related is None else {str(item.get("uuid")): item.get("name") for item in related}
                self.names[uuid_field] = names
            if (known := self.names.get(uuid_field, {})) is not None:
                for record in records:
                    record[name_field] = known.get(str(record.get(uuid_field)))

    def read_pages(self, client: Client, resource_type: ResourceType) -> Iterator[list[Record]]:
        """Yield the selected records page by page, and read pages ahead.

        Records of deleted objects are skipped unless a condition is on the state. Raise VirtinfraError unless the list
        is complete. The uuids of records that do not meet a condition that was sent as it is, which a service may
        ignore, are added to ``rejected_uuids``.
        """
        if self.uses_query:
            conditions = [parse_condition(source, resource_type.record) for source in self.query]
            pages = self._query(client, resource_type, conditions)
        else:
            conditions = self._parse_filters(resource_type)
            pages = self._query_by_cursor(client, resource_type)
        skips_deleted = resource_type.deleted_states and not _is_by_state((*self.query, *self.filters))
        for page in pages:
            usable = list(filter(resource_type.is_usable, page)) if skips_deleted else page
            accepted = select_accepted(usable, conditions, self.rejected_uuids) if conditions else usable
            yield accepted if self.fields is None else [select_fields(record, self.fields) for record in accepted]

    def _query(
        self, client: Client, resource_type: ResourceType, conditions: list[Condition]
    ) -> Iterator[list[Record]]:
        params = {"q": list_texts_to_send(conditions)}
        try:
            pages = self._query_fields(client, resource_type, params, conditions) if self.fields is not None else None
            view = None if conditions else choose_view(self.fields, self.parts, resource_type)
            yield from pages or read_query(client, resource_type.query, self.page_size, params, view)
        except Unsupported:
            if self.source or self.query or not self.connection.api_token:
                raise
            yield from self._query_by_cursor(client, resource_type)

    def _query_fields(
        self, client: Client, resource_type: ResourceType, params: Mapping[str, Any], conditions: list[Condition]
    ) -> Iterator[list[Record]] | None:
        """Return the pages with the requested fields only; None if services compute or refuse some of them.

        The fields of conditions, and the state of objects that may be deleted, are requested too.
        """
        documented = RECORD_FIELDS[resource_type.record]
        fields = {"uuid", *(self.fields or ()), *(condition.field for condition in conditions)} & set(documented)
        if resource_type.deleted_states:
            fields.add(resource_type.state_field)
        if not fields.isdisjoint(COMPUTED_FIELDS.get(resource_type.record, ())):
            return None
        names = ",".join(name for name in documented if name in fields)
        pages = read_query(client, resource_type.query, self.page_size, {**params, "fields": names})
        try:
            first = next(pages, [])
        except ApiError as failure:
            if failure.is_outage:
                raise
            return None
        return chain([first], pages)

    def _query_by_cursor(self, client: Client, resource_type: ResourceType) -> Iterator[list[Record]]:
        pages = paginate_cursor(client, resource_type.cursor_type, self.filters, "uuid", "asc", self.page_size)
        try:
            for page, dummy in prefetch(pages):
                yield page
        except Unsupported as failure:
            if self.filters and not client.connection.api_token:
                failure.add_sentence(" It is for filters. The option query needs none.")
            raise
        except ApiError as failure:
            failure.add_sentence(describe_refused(self.filters, resource_type.record))
            raise

    def _parse_filters(self, resource_type: ResourceType) -> list[Condition]:
        """Return the filters that have the form of conditions; the syntax of filters is defined by the service."""
        conditions = []
        for source in self.filters:
            with suppress(InvalidOptions):
                conditions.append(parse_condition(source, resource_type.record))
        return [
            condition
            for condition in conditions
            if condition.field in RECORD_FIELDS[resource_type.record] and not condition.is_local
        ]


def _is_by_state(conditions: Iterable[str]) -> bool:
    return any(re.search(r"\bstate\b", source) for source in conditions)


def count_records(client: Client, resource_type: ResourceType) -> int:
    """Return how many records a service has, without those of deleted objects; 0 if this is not known."""
    params = {"q": [f"{resource_type.state_field}!={state}" for state in resource_type.deleted_states]}
    with suppress(VirtinfraError):
        pages = paginate(client, resource_type.query, params, page_size=1, limit=1, connections=1)
        return next((total for dummy, total in pages), 0) or 0
    return 0


def select_accepted(page: Iterable[Record], conditions: Iterable[Condition], rejected_uuids: list[str]) -> list[Record]:
    """Return the records that meet the conditions, and add the uuids of those that the service should not return."""
    accepted = []
    for record in page:
        rejecting = [condition for condition in conditions if condition.rejects(record)]
        if not rejecting:
            accepted.append(record)
        elif not all(condition.is_local for condition in rejecting):
            rejected_uuids.append(str(record.get("uuid")))
    return accepted


def choose_view(
    fields: frozenset[str] | None, parts: Mapping[str, Collection[str]], resource_type: ResourceType
) -> Callable[[Record], Record] | None:
    """Return what reduces records before others are read, None if all of them is needed.

    Of records that are read ahead, what nobody needs took most of the memory.
    """
    if fields is None:
        return None
    return partial(reduce_record, fields=fields | {resource_type.state_field}, parts=parts)


def read_query(
    client: Client,
    operation: str,
    page_size: int,
    params: Mapping[str, Any],
    view: Callable[[Record], Record] | None = None,
) -> Iterator[list[Record]]:
    """Yield the pages of a query without their totals, with the ``view`` of each record."""
    pages = paginate(client, operation, params, page_size=page_size, limit=None, connections=CONNECTIONS, view=view)
    for page, dummy in pages:
        yield page


def reduce_record(record: Record, fields: Collection[str], parts: Mapping[str, Collection[str]]) -> Record:
    """Return the uuid and these fields of a record, and of some of them only these parts."""
    selected = select_fields(record, fields)
    reduced = {name: _select_members(selected[name], names) for name, names in parts.items() if name in selected}
    return {**selected, **reduced}


def select_fields(record: Record, fields: Collection[str]) -> Record:
    """Return the uuid and these fields of a record: a service may ignore which are requested."""
    return {name: value for name, value in record.items() if name in fields or name == "uuid"}


def _select_members(value: Any, names: Collection[str]) -> Any:
    """Return a value whose records, at all depths, have only these members."""
    if isinstance(value, list):
        return [_select_members(item, names) for item in value]
    if isinstance(value, dict):
        return {name: _select_members(item, names) for name, item in value.items() if name in names}
    return value


def add_user_tags(records: list[Record], tags: Mapping[str, list[str]] | None) -> None:
    """Add their user tags to records; None if the tags are unknown."""
    for record in records if tags is not None else ():
        record["userTags"] = (tags or {}).get(str(record.get("uuid")), [])


def create_services(
    source: Mapping[str, Any], entries: list[Any] | None, page_size: int, profiles: Profiles
) -> list[Service]:
    """Return the services of an inventory source.

    ``source`` are the options of the source, ``entries`` the value of its option services. The options of an entry, and
    of the profile that it names, take precedence over those of the source. An entry with credentials uses none of the
    source. Raise InvalidOptions with the name of the option.
    """
    if page_size < 1:
        raise InvalidOptions("page_size must be at least 1")
    if not entries:
        return [_create_service(source, OPTIONS, page_size)]
    services = []
    for index, entry in enumerate(entries):
        label = f"services[{index}]"
        if not isinstance(entry, Mapping):
            raise InvalidOptions(f"{label} must be a mapping of options, not {type(entry).__name__}")
        try:
            options = _combine_options(source, entry, profiles)
            service = _create_service(options, {**OPTIONS, "name": {"type": "str"}}, page_size)
            services.append(replace(service, label=f"{label} ({service.name})"))
        except VirtinfraError as failure:
            raise InvalidOptions(f"{label}: {failure}") from None
    _check_service_names(services)
    return services


def _check_service_names(services: Iterable[Service]) -> None:
    """Raise InvalidOptions if services with different URLs have the same name: their objects would be mixed up."""
    urls: dict[str, str] = {}
    for service in services:
        url = service.connection.service_url
        if urls.setdefault(service.name, url) != url:
            raise InvalidOptions(
                f"services: {urls[service.name]} and {url} have the same name {service.name}. Give each its own name."
            )


def _combine_options(source: Mapping[str, Any], entry: Mapping[str, Any], profiles: Profiles) -> dict[str, Any]:
    """Return the options of an entry, with those of the source as defaults."""
    options = {name: _convert_option(name, value) for name, value in entry.items()}
    return profiles.combine(source, options)


def _convert_option(name: str, value: Any) -> Any:
    """Return the value of an option in an entry, converted as core converts other options."""
    if name in CONDITIONS and isinstance(value, str):
        return split_text(name, value)
    return decrypt_values(value)


def _create_service(options: Mapping[str, Any], spec: Options, page_size: int) -> Service:
    """Return the service that these options describe; raise VirtinfraError if they are invalid."""
    given = {name: value for name, value in options.items() if value is not None}
    check_forms(spec, given)
    validation = ArgumentSpecValidator(spec).validate(given)
    if validation.error_messages:
        raise InvalidOptions("; ".join(validation.error_messages))
    values = validation.validated_parameters
    connection = ConnectionOptions.from_params(values)
    if not (connection.can_query or connection.api_token):
        raise InvalidOptions(f"there are no credentials. Give {SESSION_OPTIONS}, or else {TOKEN_OPTION}")
    service = Service(
        values.get("name") or connection.origin,
        connection,
        values["source"],
        tuple(values["query"] or ()),
        tuple(values["filters"] or ()),
        page_size,
        values["on_failure"],
    )
    _check_conditions(service)
    return service


def _check_conditions(service: Service) -> None:
    """Raise InvalidOptions for conditions of the other kind of query."""
    if service.query and (service.filters or not service.uses_query):
        raise InvalidOptions("query needs source: query, filters need source: cursor. Remove one of them")
    if service.filters and service.uses_query:
        raise InvalidOptions("filters need source: cursor")
