# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Read all records of one or several services, each with a query or a cursor query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.conditions import (
    Condition,
    parse_condition,
    texts_to_send,
)
from ...module_utils._api.errors import (
    InvalidOptions,
    Unsupported,
    VirtinfraError,
)
from ...module_utils._api.records import RECORD_FIELDS, Record
from ...module_utils._api.resource_types import ResourceType
from ...module_utils._client.client import Client
from ...module_utils._client.lists import paginate, paginate_cursor
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._modules.options import CONNECTION, Options

CREDENTIALS = ("session_id", "account", "account_password", "api_token")

# How many pages of a query are read concurrently: as many as a browser would.
CONNECTIONS = 6

# Core reads the environment variables that the documentation of the plugins contains.
OPTIONS: Options = {
    **{name: {key: option[key] for key in option if key != "fallback"} for name, option in CONNECTION.items()},
    "source": {"type": "str", "choices": ["query", "cursor"]},
    "query": {"type": "list", "elements": "str"},
    "filters": {"type": "list", "elements": "str"},
}

Item = TypeVar("Item")


@dataclass(frozen=True)
class Service:
    """A service and the records to read. ``source`` is ``query``, ``cursor``, or None if the credentials decide."""

    name: str
    connection: ConnectionOptions
    source: str | None = None
    query: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    page_size: int = 1000
    rejected_uuids: list[str] = field(default_factory=list, compare=False)

    @property
    def by_query(self) -> bool:
        """Whether to read the records with a query, and not with a cursor query."""
        if self.source:
            return self.source == "query"
        if self.query or self.filters:
            return bool(self.query)
        return self.connection.has_session

    def cache_key(self) -> list[Any]:
        """Return the values that determine which records are read, without secrets."""
        return [
            *(self.name, self.connection.origin, self.connection.path_prefix, self.source),
            *(list(self.query), list(self.filters)),
        ]

    def pages(self, client: Client, kind: ResourceType) -> Iterator[list[Record]]:
        """Yield the selected records page by page, and read one page ahead.

        Records of deleted objects are skipped unless a condition is on the state. Raise VirtinfraError unless the list
        is complete. The uuids of records that do not meet a condition that was sent as it is, which a service may
        ignore, are added to ``rejected_uuids``.
        """
        if self.by_query:
            conditions = [parse_condition(text, kind.record) for text in self.query]
            pages = self._queried(client, kind, conditions)
        else:
            conditions = self._checkable(kind)
            pages = self._walked(client, kind)
        skips_deleted = kind.deleted_states and not self._selects_by_state()
        for page in prefetch(pages):
            existing = list(filter(kind.is_usable, page)) if skips_deleted else page
            yield self._meeting(existing, conditions) if conditions else existing

    def _selects_by_state(self) -> bool:
        return any(re.search(r"\bstate\b", text) for text in (*self.query, *self.filters))

    def related(self, client: Client, kind: ResourceType) -> list[Record]:
        """Return all records of another type; raise Unsupported if the credentials do not allow this."""
        other = replace(self, source=None, query=(), filters=())
        return [record for page in other.pages(client, kind) for record in page]

    def _queried(self, client: Client, kind: ResourceType, conditions: Iterable[Condition]) -> Iterator[list[Record]]:
        texts = texts_to_send(conditions)
        try:
            for page, dummy in paginate(client, kind.query, texts, self.page_size, connections=CONNECTIONS):
                yield page
        except Unsupported:
            if self.source or self.query or not self.connection.api_token:
                raise
            yield from self._walked(client, kind)

    def _walked(self, client: Client, kind: ResourceType) -> Iterator[list[Record]]:
        for page, dummy in paginate_cursor(client, kind.cursor_type, self.filters, "uuid", "asc", self.page_size):
            yield page

    def _checkable(self, kind: ResourceType) -> list[Condition]:
        """Return the filters that have the form of conditions; the syntax of filters is defined by the service."""
        found = []
        for text in self.filters:
            try:
                found.append(parse_condition(text, kind.record))
            except InvalidOptions:
                continue
        return [
            condition for condition in found if condition.field in RECORD_FIELDS[kind.record] and not condition.is_local
        ]

    def _meeting(self, page: list[Record], conditions: Iterable[Condition]) -> list[Record]:
        meeting = []
        for record in page:
            rejecting = [condition for condition in conditions if condition.rejects(record)]
            if not rejecting:
                meeting.append(record)
            elif not all(condition.is_local for condition in rejecting):
                self.rejected_uuids.append(str(record.get("uuid")))
        return meeting


def services(shared: Mapping[str, Any], entries: list[Any] | None, page_size: int) -> list[Service]:
    """Return the services of an inventory source.

    ``shared`` are the options of the source; the options of each of ``entries`` take precedence. An entry with
    credentials uses none of the shared ones. Raise InvalidOptions with the name of the option.
    """
    if page_size < 1:
        raise InvalidOptions("page_size must be at least 1")
    if not entries:
        return [_service("", shared, page_size)]
    return [_entry(f"services[{index}]", shared, entry, page_size) for index, entry in enumerate(entries)]


def _entry(where: str, shared: Mapping[str, Any], entry: Any, page_size: int) -> Service:
    if not isinstance(entry, Mapping):
        raise InvalidOptions(f"{where} must be a mapping of options, not {type(entry).__name__}")
    own = {key: _read(key, value) for key, value in entry.items()}
    has_credentials = any(own.get(name) for name in CREDENTIALS)
    defaults = {name: value for name, value in shared.items() if not (has_credentials and name in CREDENTIALS)}
    return _service(where, {**defaults, **own}, page_size)


def _read(option: str, value: Any) -> Any:
    """Return the value of an option in an entry, converted as core converts other options."""
    if option in ("query", "filters") and isinstance(value, str):
        return [value]
    # Before 2.19 an encrypted value is not a string, and is decrypted by str().
    return str(value) if hasattr(value, "__ENCRYPTED__") else value


def _service(where: str, options: Mapping[str, Any], page_size: int) -> Service:
    prefix = f"{where}: " if where else ""
    spec = {**OPTIONS, **({"name": {"type": "str"}} if where else {})}
    validation = ArgumentSpecValidator(spec).validate({key: each for key, each in options.items() if each is not None})
    if validation.error_messages:
        raise InvalidOptions(prefix + "; ".join(validation.error_messages))
    values = validation.validated_parameters
    try:
        connection = ConnectionOptions.from_params(values)
    except VirtinfraError as failure:
        raise InvalidOptions(f"{prefix}{failure}") from None
    if not (connection.has_session or connection.api_token):
        raise InvalidOptions(f"{prefix}session_id, account or api_token is required")
    service = Service(
        values.get("name") or connection.origin,
        connection,
        values["source"],
        tuple(values["query"] or ()),
        tuple(values["filters"] or ()),
        page_size,
    )
    if service.query and (service.filters or not service.by_query):
        raise InvalidOptions(f"{prefix}query goes with source query, filters with source cursor")
    if service.filters and service.by_query:
        raise InvalidOptions(f"{prefix}filters go with source cursor")
    return service


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items of an iterator; a thread computes the next item while one is used."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
