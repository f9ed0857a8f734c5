# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions, sorting and paging of queries."""

from __future__ import annotations

import collections.abc as c
import datetime as dt
import math
import re
import typing as t

from .errors import Refusal, bad_argument
from .schema import FIELDS, RELATIONS
from .store import Record, Store

OPERATORS = ("!=", ">=", "<=", "!?=", "!~=", "~=", "?=", "=", ">", "<", "is null", "not null")
"""In the order in which they are looked for; the first one that a condition contains wins."""
TIMESTAMP = "%b %d %Y %I:%M:%S %p"
DATES = ("createDate", "lastOpDate", "lastDetachDate")
TAGS = {"__systemTag__": "systemTags", "__userTag__": "userTags"}
"""What stands for a field in a condition on the tags of a record."""
TRUTH = {"true": True, "false": False}

Test = c.Callable[[Record], bool]


class Condition(t.NamedTuple):
    """One condition: a field, which may be dotted, an operator and the text of the value."""

    field: str
    operator: str
    value: str


def parse(text: str) -> Condition:
    """Return the condition that a text means; a text without an operator is refused at once."""
    for operator in OPERATORS:
        if operator in text:
            field, dummy, value = text.partition(operator)
            return Condition(field.strip(), operator, value)
    raise Refusal(400, f"Invalid query parameter: no operator in condition[{text}]")


class Selector:
    """Selects and sorts records; keeps the latest results, for the next pages of the same query."""

    KEPT = 16

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = 0
        self._kept: dict[tuple[t.Any, ...], tuple[int, list[Record]]] = {}

    def select(
        self, kind: str, conditions: c.Sequence[str], sort: str = "", descending: bool = False, only: Test | None = None
    ) -> list[Record]:
        """Return the matching records, not to be changed; without `sort` in an order of which nothing can be said."""
        key = (kind, tuple(conditions), sort, descending, only)
        version, records = self._store.records(kind)
        crossing = any("." in parse(text).field or parse(text).field in TAGS for text in conditions)
        kept = self._kept.get(key)
        if kept and kept[0] == version and not crossing:
            selected = kept[1]
        else:
            selected = self._selected(kind, records, conditions, only)
            if sort:
                check_field(kind, sort)
                selected = sorted(selected, key=lambda record: _sort_key(sort, record.get(sort)), reverse=descending)
            self._kept[key] = (version, selected)
            if len(self._kept) > self.KEPT:
                del self._kept[next(iter(self._kept))]
        return selected

    def _selected(
        self, kind: str, records: list[Record], conditions: c.Sequence[str], only: Test | None
    ) -> list[Record]:
        if only:
            records = [record for record in records if only(record)]
        for text in conditions:
            matches = self._test(kind, parse(text))
            records = [record for record in records if matches(record)]
        return records

    def unordered(self, records: list[Record], start: int, limit: int) -> list[Record]:
        """Return a page of the records in an order that differs from call to call."""
        self._turn += 1
        count = len(records)
        if count < 2:
            return records[start : start + limit]
        step = next(step for step in range(count * 2 // 3 + self._turn * 7 + 1, 10**9) if math.gcd(step, count) == 1)
        return [records[(position * step + self._turn) % count] for position in range(start, min(start + limit, count))]

    def _test(self, kind: str, condition: Condition) -> Test:
        path = condition.field.split(".")
        matches = _matcher(path[-1], condition)
        if condition.field in TAGS:
            return lambda record: _any(matches, self._tags(record, condition.field), condition.operator)
        check_field(kind, path[0])
        if len(path) == 1:
            name, text, plainly = path[0], condition.value, condition.operator == "=" and path[0] not in DATES

            def test(record: Record) -> bool:
                value = record.get(name)
                if plainly and isinstance(value, str):
                    return value == text
                return _any(matches, _listed(value), condition.operator)

            return test
        return lambda record: _any(matches, list(self._values(record, path)), condition.operator)

    def _tags(self, record: Record, field: str) -> list[str]:
        return list(self._store.tags.get(record.get("uuid", ""), {}).get(TAGS[field], ()))

    def _values(self, value: t.Any, path: list[str]) -> c.Iterator[t.Any]:
        if isinstance(value, list):
            for element in value:
                yield from self._values(element, path)
        elif not path:
            yield value
        elif isinstance(value, dict):
            if path[0] in value:
                yield from self._values(value[path[0]], path[1:])
            elif isinstance(value, Record) and (relation := RELATIONS.get((value.kind, path[0]))):
                for uuid in _listed(value.get(relation[0])):
                    row = self._store[relation[1]].find(uuid) if uuid else None
                    yield from self._values(row, path[1:]) if row else ()


def check_field(kind: str, field: str) -> None:
    """Raise the failure of a field that records of this kind do not have."""
    if field not in FIELDS[kind] and (kind, field) not in RELATIONS:
        raise bad_argument(f"condition name[{field}] is invalid, {kind} has no such field")


def _listed(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [value]


def _any(matches: c.Callable[[t.Any], bool], values: list[t.Any], operator: str) -> bool:
    if operator == "is null":
        return all(value is None for value in values)
    return any(value is not None and matches(value) for value in values)


def _matcher(field: str, condition: Condition) -> c.Callable[[t.Any], bool]:
    operator, text = condition.operator, condition.value
    if operator in ("is null", "not null"):
        return lambda value: value is not None
    if operator in ("~=", "!~="):
        pattern = re.compile("".join({"%": ".*", "_": "."}.get(char) or re.escape(char) for char in text), re.DOTALL)
        return lambda value: bool(pattern.fullmatch(str(value))) == (operator == "~=")
    if operator in ("?=", "!?="):
        texts = text.split(",")
        return lambda value: any(_same(field, value, one) for one in texts) == (operator == "?=")
    if operator in ("=", "!="):
        return lambda value: _same(field, value, text) == (operator == "=")
    return lambda value: _ordered(_compare(field, value, text), operator)


def _same(field: str, value: t.Any, text: str) -> bool:
    if isinstance(value, str) and field not in DATES:
        return value == text
    return _compare(field, value, text) == 0


def _compare(field: str, value: t.Any, text: str) -> int | None:
    """Return -1, 0 or 1, None when the two cannot be compared."""
    other = _as(value, field, text)
    if other is None:
        return None
    mine = _sort_key(field, value)[1]
    return int(mine > other) - int(mine < other)


def _ordered(order: int | None, operator: str) -> bool:
    if order is None:
        return False
    return {">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}[operator]


def _as(value: t.Any, field: str, text: str) -> t.Any:
    """Return the text in the type of the value, None when it has no such meaning."""
    try:
        if isinstance(value, bool):
            return TRUTH[text.strip().lower()]
        if isinstance(value, int):
            return float(text)
        return moment(text) if field in DATES else text
    except (KeyError, ValueError):
        return None


def _sort_key(field: str, value: t.Any) -> tuple[bool, t.Any]:
    if value is None:
        return (False, 0)
    if field in DATES:
        return (True, moment(value))
    return (True, str(value) if isinstance(value, (dict, list)) else value)


def moment(text: str) -> dt.datetime:
    """Return the time that a timestamp of the service tells, whatever its form."""
    return dt.datetime.strptime(text.replace(",", "").replace("\u202f", " "), TIMESTAMP)
