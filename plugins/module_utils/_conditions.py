# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The conditions of a query, ``<field><operator><value>`` (conventions 8 and 9 of section "Endpoints")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import (
    InvalidOptions,
    Unsupported,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._records import RECORD_FIELDS, to_camel_case
from ansible_collections.virtinfra.manager.plugins.module_utils._references import is_reference, unify_uuid

# In the order in which services search for them: the first operator that a condition contains is used.
OPERATORS = ("!=", ">=", "<=", "!?=", "!~=", "~=", "?=", "=", ">", "<", "is null", "not null")

# Operators of other languages, and their equivalents. Services would treat a part of the operator as the value.
_FOREIGN_OPERATORS = {"==": "=", "!==": "!=", "<>": "!=", "=~": "~=", "=>": ">=", "=<": "<="}

# The similarity, as measured by difflib, from which a name counts as a misspelling of another.
_SIMILARITY = 0.8


@dataclass(frozen=True)
class Condition:
    """A condition as the user means it: the operator is the first one in the text.

    ``is_ambiguous`` says that the service would split the text elsewhere, because the value contains an operator too.
    ``is_local`` says that the service does not check it, so that only ``rejects`` decides, which then compares exactly.
    """

    field: str
    operator: str
    value: str
    is_ambiguous: bool = False
    is_local: bool = False

    @property
    def text(self) -> str:
        """The condition as it is sent; services would treat spaces around the operator as part of the value."""
        blank = " " if self.operator in ("is null", "not null") else ""
        return f"{self.field}{blank}{self.operator}{self.value}"

    def rejects(self, record: Mapping[str, Any]) -> bool:
        """Return whether the record definitely does not meet the condition.

        Services compare as their databases do: values that differ only in case count as equal, unless the service did
        not check the condition. Fields of other resources and values that are not scalars are left to the service.
        """
        value = record.get(self.field)
        is_negated = self.operator.startswith("!")
        if self.operator in ("is null", "not null"):
            return (self.is_local or self.field in record) and (value is None) != (self.operator == "is null")
        if value is None:
            return self.is_local
        if isinstance(value, (list, dict)):
            return self.is_local
        if self.operator in (">", ">=", "<", "<="):
            return self._is_out_of_order(value)
        return self._matches(value, exact=is_negated or self.is_local) == is_negated

    def _matches(self, value: Any, exact: bool) -> bool:
        text, expected = _text(value), self.value.strip()
        if not exact or isinstance(value, bool):
            text, expected = text.casefold(), expected.casefold()
        if self.operator.endswith("~="):
            wildcards = {"%": ".*", "_": "."}
            pattern = "".join(wildcards.get(char) or re.escape(char) for char in expected)
            return re.fullmatch(pattern, text, re.DOTALL) is not None
        values = [item.strip() for item in expected.split(",")] if self.operator.endswith("?=") else [expected]
        number = _number(value)
        return text in values or (number is not None and number in map(_number, values))

    def _is_out_of_order(self, value: Any) -> bool:
        mine, other = _number(value), _number(self.value)
        if mine is None or other is None:
            return self.is_local
        meets = {">": mine > other, ">=": mine >= other, "<": mine < other, "<=": mine <= other}
        return not meets[self.operator]


def parse_condition(text: str, record_type: str) -> Condition:
    """Parse a condition on records of a type in RECORD_FIELDS.

    Raise InvalidOptions for an operator of another language, for a misspelled documented field, and when neither the
    service nor this collection could check it.
    """
    found = [(text.find(operator), -len(operator), operator) for operator in OPERATORS if operator in text]
    if not found:
        raise InvalidOptions(f"query {text!r} is not a condition: it has none of the operators {', '.join(OPERATORS)}")
    operator = min(found)[2]
    field, dummy, value = text.partition(operator)
    _check_operator(text, operator, value)
    field, values = field.strip(), value.split(",") if operator.endswith("?=") else [value]
    _check_field(text, field, record_type)
    unify = unify_uuid if is_reference(field.rpartition(".")[2]) else str.strip
    condition = Condition(field, operator, ",".join(map(unify, values)))
    if not _is_split_as_meant(condition):
        if field not in RECORD_FIELDS.get(record_type, ()):
            raise InvalidOptions(
                f"query {text!r} cannot be sent: the service would use {_served_operator(condition.text)!r} as"
                " the operator"
            )
        condition = replace(condition, is_ambiguous=True, is_local=True)
    return condition


def parse_local_conditions(texts: Iterable[str], record_type: str) -> list[Condition]:
    """Parse conditions on records of a type in RECORD_FIELDS that the service does not check.

    Raise Unsupported for a condition that only the service can check: on a time, on a tag, on a field of another
    resource or on an undocumented field.
    """
    conditions = [replace(parse_condition(text, record_type), is_local=True) for text in texts]
    for condition in conditions:
        if condition.field not in RECORD_FIELDS.get(record_type, ()) or condition.field.endswith("Date"):
            raise Unsupported(f"only the service can check the condition {condition.text!r}")
    return conditions


def equality(field: str, value: str) -> str | None:
    """Return the condition that a field has a value; None when the service would split it elsewhere."""
    condition = Condition(field, "=", value)
    return condition.text if _is_split_as_meant(condition) else None


def parse_conditions(texts: Iterable[str], record_type: str) -> tuple[list[str], list[Condition]]:
    """Return the conditions to send to the service, and the ambiguous conditions, which are checked afterwards."""
    conditions = [parse_condition(text, record_type) for text in texts]
    sent = [condition.text for condition in conditions if not condition.is_ambiguous]
    return sent, [condition for condition in conditions if condition.is_ambiguous]


def _served_operator(text: str) -> str:
    return next(operator for operator in OPERATORS if operator in text)


def _is_split_as_meant(condition: Condition) -> bool:
    served = _served_operator(condition.text)
    return (served, condition.text.partition(served)[0].strip()) == (condition.operator, condition.field)


def _check_operator(text: str, operator: str, value: str) -> None:
    for foreign, meant in _FOREIGN_OPERATORS.items():
        if foreign.startswith(operator) and f"{operator}{value}".startswith(foreign):
            raise InvalidOptions(
                f"query {text!r} has the operator {foreign}, which services do not know. Write {meant}."
            )


def _check_field(text: str, field: str, record_type: str) -> None:
    if field.split() != [field]:
        raise InvalidOptions(f"query {text!r} is not a condition: {field!r} cannot be the name of a field")
    fields = {name.casefold(): name for name in RECORD_FIELDS.get(record_type, ())}
    if field in fields.values() or "." in field or re.fullmatch("__.+__", field):
        return
    # Only this message needs it, and it takes a module process 1.5 ms.
    from difflib import get_close_matches

    if similar := get_close_matches(to_camel_case(field).casefold(), fields, 1, _SIMILARITY):
        raise InvalidOptions(
            f"query {text!r}: {record_type} has no field {field}. Did you mean {fields[similar[0]]}? If the service has"
            f" a field {field}, send the query with the module api."
        )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _number(value: Any) -> float | None:
    """Return a number, also from a text as in a condition; None for other values."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
