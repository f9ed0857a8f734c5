# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""The conditions of a query, ``<field><operator><value>``, checked against the records that came back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput

# In the order in which services look for them: the first one that a condition contains wins.
OPERATORS = ("!=", ">=", "<=", "!?=", "!~=", "~=", "?=", "=", ">", "<", "is null", "not null")


@dataclass(frozen=True)
class Condition:
    """A condition as its author means it: the operator is the first one in the text.

    ``misread`` says that the service would split the text elsewhere, since the value holds an operator too.
    """

    text: str
    field: str
    operator: str
    value: str
    misread: bool

    def excludes(self, record: Mapping[str, Any]) -> bool:
        """Whether the record surely does not meet the condition.

        Services compare as their databases do: a difference in case alone excludes nothing, unless the service could
        not be asked. Fields of other objects and values that are no scalars are the service's business.
        """
        there = record.get(self.field)
        negated = self.operator.startswith("!")
        if self.operator in ("is null", "not null"):
            return self.field in record and (there is None) != (self.operator == "is null")
        if there is None:
            return self.misread and not negated
        if isinstance(there, (list, dict)):
            return False
        if self.operator in (">", ">=", "<", "<="):
            return self._disordered(there)
        return self._matches(there, exact=negated or self.misread) == negated

    def _matches(self, there: Any, exact: bool) -> bool:
        text, value = _text(there), self.value.strip()
        if not exact or isinstance(there, bool):
            text, value = text.casefold(), value.casefold()
        if self.operator.endswith("~="):
            wildcards = {"%": ".*", "_": "."}
            pattern = "".join(wildcards.get(each) or re.escape(each) for each in value)
            return re.fullmatch(pattern, text, re.DOTALL) is not None
        values = [each.strip() for each in value.split(",")] if self.operator.endswith("?=") else [value]
        number = _number(there)
        return text in values or (number is not None and number in map(_number, values))

    def _disordered(self, there: Any) -> bool:
        mine, other = _number(there), _number(self.value)
        if mine is None or other is None:
            return False
        meets = {">": mine > other, ">=": mine >= other, "<": mine < other, "<=": mine <= other}
        return not meets[self.operator]


def parsed(text: str, fields: Collection[str]) -> Condition:
    """Read a condition on records with these fields. Raises BadInput when nothing can check it."""
    places = [(text.find(operator), -len(operator), operator) for operator in OPERATORS if operator in text]
    if not places:
        raise BadInput(f"{text!r} is no condition: it has none of the operators {', '.join(OPERATORS)}")
    operator = min(places)[2]
    field, dummy, value = text.partition(operator)
    served = next(each for each in OPERATORS if each in text)
    misread = (field, operator) != (text.partition(served)[0], served)
    if misread and field.strip() not in fields:
        raise BadInput(f"{text!r} cannot be asked for: the service would take {served!r} for the operator")
    return Condition(text, field.strip(), operator, value, misread)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _number(value: Any) -> float | None:
    """Return a number, also one in a text as it stands in a condition, else None."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
