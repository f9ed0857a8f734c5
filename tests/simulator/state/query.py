"""Conditions, sorting and paging of queries."""

from __future__ import annotations

import datetime as dt
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import OperationError, RequestRejected
from ..switches.options import Switches
from .schema import FIELDS, RELATIONS
from .store import Record, Store

OPERATORS = ("!=", ">=", "<=", "!?=", "!~=", "~=", "?=", "=", ">", "<", "is null", "not null")
"""In search order: the first one that a condition contains is its operator."""
TIMESTAMP = "%b %d %Y %I:%M:%S %p"
DATES = ("createDate", "lastOpDate", "lastDetachDate")
SYSTEM_TAG, USER_TAG = "__systemTag__", "__userTag__"
"""The names of conditions on the tags of a record."""
TAGS = (SYSTEM_TAG, USER_TAG)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?|")
BOOLEANS = {"true": True, "false": False}

Predicate = Callable[[Record], bool]


class Condition(NamedTuple):
    """A condition: a field, which may be dotted, an operator, and the value as text."""

    field: str
    operator: str
    value: str


def parse(text: str) -> Condition:
    """Parse a condition; raise RequestRejected if it has no operator."""
    for operator in OPERATORS:
        if operator in text:
            field, dummy, value = text.partition(operator)
            return Condition(field.strip(), operator, value)
    raise RequestRejected(400, f"Invalid query parameter: no operator in condition[{text}]")


def parse_as_servers(text: str) -> Condition:
    """Parse a condition as servers do: an apostrophe is a syntax error, and a value loses its leading operators."""
    condition = parse(text)
    if "'" in condition.value:
        raise OperationError("SYS.1000", f"line 1:{text.index(chr(39))} token recognition error at: '\\''")
    value = condition.value
    while value.startswith(condition.operator):
        value = value.removeprefix(condition.operator)
    return condition._replace(value=value)


def fold(text: str) -> str:
    """Return the same text for all texts that a database treats as equal: they differ only in case or accents."""
    if text.isascii():
        return text.lower()
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char)).casefold()


def fold_with_spaces(text: str) -> str:
    """Return the text as `fold` does, and without trailing spaces, which count in patterns only."""
    return fold(text).rstrip(" ")


class Selector:
    """Selects and sorts records, and caches the latest results for the next pages of a query."""

    CACHE_SIZE = 16

    def __init__(self, store: Store, switches: Switches) -> None:
        self.switches = switches
        self._store = store
        self._calls = 0
        self._cache: dict[tuple[Any, ...], tuple[int, list[Record]]] = {}

    def select(
        self,
        kind: str,
        conditions: Sequence[str],
        sort: str = "",
        descending: bool = False,
        predicate: Predicate | None = None,
    ) -> list[Record]:
        """Return the matching records, which must not be modified; without `sort` in undefined order."""
        as_servers = self.switches.query_values == "servers"
        parsed = tuple(map(parse_as_servers if as_servers else parse, conditions))
        key = (kind, parsed, as_servers, sort, descending, predicate)
        version, records = self._store.records(kind)
        is_uncacheable = any("." in condition.field or condition.field in TAGS for condition in parsed)
        cached = self._cache.get(key)
        if cached and cached[0] == version and not is_uncacheable:
            selected = cached[1]
        else:
            selected = self._filter(kind, records, parsed, predicate)
            if sort:
                check_field(kind, sort)
                selected = sorted(selected, key=lambda record: _sort_key(sort, record.get(sort)), reverse=descending)
            self._cache[key] = (version, selected)
            if len(self._cache) > self.CACHE_SIZE:
                del self._cache[next(iter(self._cache))]
        return selected

    def _filter(
        self, kind: str, records: list[Record], conditions: Sequence[Condition], predicate: Predicate | None
    ) -> list[Record]:
        if predicate:
            records = [record for record in records if predicate(record)]
        for condition in conditions:
            matches = self._predicate(kind, condition)
            records = [record for record in records if matches(record)]
        return records

    def unordered(self, records: list[Record], start: int, limit: int) -> list[Record]:
        """Return a page of the records in an order that differs between calls."""
        self._calls += 1
        count = len(records)
        if count < 2:
            return records[start : start + limit]
        step = next(step for step in range(count * 2 // 3 + self._calls * 7 + 1, 10**9) if math.gcd(step, count) == 1)
        return [
            records[(position * step + self._calls) % count] for position in range(start, min(start + limit, count))
        ]

    def _predicate(self, kind: str, condition: Condition) -> Predicate:
        path = condition.field.split(".")
        as_servers = self.switches.query_values == "servers"
        matches = _matcher(path[-1], condition, *((fold_with_spaces, fold) if as_servers else (str, str)))
        if condition.field in TAGS:
            return lambda record: _any_matches(matches, self._tags(record, condition.field), condition.operator)
        check_field(kind, path[0])
        if len(path) == 1:
            return lambda record: _any_matches(matches, _as_list(record.get(path[0])), condition.operator)
        return lambda record: _any_matches(matches, list(self._values(record, path)), condition.operator)

    def _tags(self, record: Record, field: str) -> list[str]:
        uuid = record.get("uuid", "")
        if field == SYSTEM_TAG:
            return list(self._store.tags.get(uuid, {}).get("systemTags", ()))
        return [tag["tag"] for tag in self._store.records("usertag")[1] if tag["resourceUuid"] == uuid]

    def _values(self, value: Any, path: list[str]) -> Iterator[Any]:
        if isinstance(value, list):
            for element in value:
                yield from self._values(element, path)
        elif not path:
            yield value
        elif isinstance(value, dict):
            if path[0] in value:
                yield from self._values(value[path[0]], path[1:])
            elif isinstance(value, Record) and (relation := RELATIONS.get((value.kind, path[0]))):
                for uuid in _as_list(value.get(relation[0])):
                    related = self._store[relation[1]].find(uuid) if uuid else None
                    yield from self._values(related, path[1:]) if related else ()


def check_field(kind: str, field: str) -> None:
    """Raise OperationError for a field that records of this type do not have."""
    if field not in FIELDS[kind] and (kind, field) not in RELATIONS:
        raise OperationError("SYS.1000", f"condition name[{field}] is invalid, {kind} has no such field")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _any_matches(matches: Callable[[Any], bool], values: list[Any], operator: str) -> bool:
    if operator == "is null":
        return all(value is None for value in values)
    return any(value is not None and matches(value) for value in values)


def _matcher(
    field: str, condition: Condition, compared: Callable[[str], str], matched: Callable[[str], str]
) -> Callable[[Any], bool]:
    """Return the predicate on a value. Texts are passed through `compared`, or `matched` with a pattern."""
    operator, text = condition.operator, condition.value
    if operator in ("is null", "not null"):
        return lambda value: value is not None
    if operator in ("~=", "!~="):
        wildcards = {"%": ".*", "_": "."}
        pattern = re.compile("".join(wildcards.get(char) or re.escape(char) for char in matched(text)), re.DOTALL)
        shown = (lambda value: str(parse_timestamp(value))) if field in DATES else str
        return lambda value: bool(pattern.fullmatch(matched(shown(value)))) == (operator == "~=")
    if operator in ("=", "!=", "?=", "!?="):
        # The list of values can be long, so it is searched as a set.
        texts = text.split(",") if operator.endswith("?=") else [text]
        plain_texts = frozenset(map(compared, texts))
        return lambda value: (
            (
                compared(value) in plain_texts
                if _is_plain(field, value)
                else any(_compare(field, value, item) == 0 for item in texts)
            )
            != operator.startswith("!")
        )
    if field in DATES:
        return lambda value: _is_ordered(_compare(field, value, text), operator)
    return lambda value: _is_ordered(
        _compare(field, compared(value) if isinstance(value, str) else value, compared(text)), operator
    )


def _is_plain(field: str, value: Any) -> bool:
    """Whether a value is compared as a text."""
    return isinstance(value, str) and field not in DATES


def _compare(field: str, value: Any, text: str) -> int | None:
    """Return -1, 0 or 1, or None if the two cannot be compared."""
    converted = _convert(value, field, text)
    if converted is None:
        return None
    own = _sort_key(field, value)[1]
    return int(own > converted) - int(own < converted)


def _is_ordered(order: int | None, operator: str) -> bool:
    if order is None:
        return False
    return {">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}[operator]


def _convert(value: Any, field: str, text: str) -> Any:
    """Return the text converted to the type of the value as databases do, or None if that is not possible.

    A date in another form than 2024-01-06 or 2024-01-06 08:00:00 is before all dates, and a text without a number is 0.
    """
    if field in DATES:
        return _convert_date(text)
    try:
        if isinstance(value, bool):
            return BOOLEANS[text.strip().lower()]
        if isinstance(value, int):
            return float(NUMBER.match(text)[0] or 0)  # type: ignore[index]
        return text
    except KeyError:
        return None


def _convert_date(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text.strip()) if ISO_DATE.fullmatch(text.strip()) else dt.datetime.min
    except ValueError:
        return dt.datetime.min


def _sort_key(field: str, value: Any) -> tuple[bool, Any]:
    if value is None:
        return (False, 0)
    if field in DATES:
        return (True, parse_timestamp(value))
    return (True, str(value) if isinstance(value, (dict, list)) else value)


def parse_timestamp(text: str) -> dt.datetime:
    """Parse a timestamp of the service in any of its forms."""
    return dt.datetime.strptime(text.replace(",", "").replace("\u202f", " "), TIMESTAMP)
