"""What a wait awaits, and the conditions of a query, ``<field><operator><value>``.

Conventions 8 and 9 of section "Endpoints".
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from .address_ranges import describe_network
from .equality import OPERATORS, find_problem, format_condition, format_sent
from .errors import (
    InvalidOptions,
    Unsupported,
    suggest_name,
)
from .field_values import FIELD_VALUES
from .limits import find_size, find_unit, is_size_field
from .record_fields import NESTED, NUMBER_FIELDS
from .records import (
    RECORD_FIELDS,
    normalize_address,
    parse_timestamp,
    to_camel_case,
    to_datetime,
    to_snake_case,
)
from .references import WILDCARD, describe_pattern, is_reference, unify_uuid
from .resource_types import RESOURCE_TYPES, ResourceType, name_records

# Operators of other languages, and their equivalents. Services would treat a part of the operator as the value.
_FOREIGN_OPERATORS = {"==": "=", "!==": "!=", "<>": "!=", "=~": "~=", "=>": ">=", "=<": "<="}
_FOREIGN = re.compile(r"\s*([\w.]+)\s*(!==|==|<>|=~|=>|=<)\s*(.*?)\s*")

# What a pattern, and a number, may consist of. Databases compare patterns with dates like 2024-01-06 08:00:00.
_DATE_PATTERN = re.compile(r"[0-9:%_ -]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_ISO_8601 = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?", re.ASCII)

# Another condition within the value of a condition.
_FURTHER = re.compile(r"(?:\s(?:or|and)\s|&&?|\|\|?|[,;])\s*([\w.]+)\s*[!~?<>]*[=<>]", re.IGNORECASE)

# A condition whose negation precedes it, and the operators that negate each other.
_NEGATED = re.compile(r"""\s*(?:not\b|!)[\s(]*([\w.]+)\s*([!~?=<>]*[=<>])\s*(['"]?)(.*?)\3[\s)]*""", re.IGNORECASE)
_OPPOSITES = {"=": "!=", "~=": "!~=", "?=": "!?=", ">": "<=", ">=": "<"}
_NEGATIONS = {**_OPPOSITES, **{negation: operator for operator, negation in _OPPOSITES.items()}}

# Signs between values, where services need a comma.
_SEPARATORS = re.compile(r"\s+or\s+|\s*[;|]+\s*", re.IGNORECASE)

# What a value is that is none of a field, but several, or one with quotes.
_UNCOMPARED = re.compile(rf"{_SEPARATORS.pattern}|^\s*['\"]", re.IGNORECASE)

# The beginning of a condition.
_BEGINNING = re.compile(rf"\s*[\w.]+\s*(?:{'|'.join(map(re.escape, OPERATORS))})")

_UUID = re.compile("[0-9a-f-]{32,36}", re.IGNORECASE)

# A condition with blanks before, or around, its operator.
_BLANKS = re.compile(r"(?=\s|[\w.]+\s|[\w.]+[!~?<>]*[=<>]\s)\s*[\w.]+\s*[!~?<>]*[=<>]")

# A condition that compares with whole values.
_EQUALITY = re.compile(r"\s*[\w.]+\s*!?\??=")

# A condition that excludes values.
_EXCLUSION = re.compile(r"\s*[\w.]+\s*!")

# Names that users try, and the fields that have what they mean: names of other objects, and tags.
_FIELDS_ELSEWHERE = {
    **{f"{name}Name": f"{name}.name" for name in ("cluster", "zone", "host")},
    **{f"{name}_name": f"{name}.name" for name in ("cluster", "zone", "host")},
    **{name: f"{name}.name" for name in ("cluster", "zone", "host")},
    "vm": "vmInstance.name",
    **dict.fromkeys(("datacenter", "data_center"), "zone.name"),
    **dict.fromkeys(("tag", "tags", "userTag", "userTags", "user_tag", "user_tags"), "__userTag__"),
    **dict.fromkeys(("systemTag", "systemTags", "system_tag", "system_tags"), "__systemTag__"),
}

# The fields of tags, by their names without underscores and capital letters, in the singular.
_TAG_FIELDS = {"tag": "__userTag__", "usertag": "__userTag__", "systemtag": "__systemTag__"}

# Words for fields, and the fields that may have what they mean, the likeliest first.
_FIELDS_MEANT = {
    **dict.fromkeys(("cpu", "cpus", "cores", "vcpus"), ("cpuNum",)),
    **dict.fromkeys(("available", "free", "freeCapacity", "free_capacity", "free_space"), ("availableCapacity",)),
    **dict.fromkeys(("capacity", "total"), ("totalCapacity",)),
    "hostname": ("managementIp", "name"),
    "id": ("uuid",),
    "hypervisor": ("hypervisorType",),
    # Inventories of VMs have the variable addresses, and records do not.
    **dict.fromkeys(("ip", "ipAddress", "ip_address", "address"), ("managementIp", "addresses", "vmNics.ip")),
    **dict.fromkeys(("mac", "macAddress", "mac_address"), ("vmNics.mac",)),
    **dict.fromkeys(("memory", "memory_mb", "mem", "ram"), ("memorySize", "totalMemoryCapacity")),
    **dict.fromkeys(("os", "os_type", "ostype", "guest_os", "operating_system"), ("guestOsType", "platform")),
    **dict.fromkeys(("power", "powerState", "power_state", "status"), ("state",)),
    "state": ("status",),
}

# What users call objects, and the nouns of fields, in small letters and in the singular.
_COMMON_NOUNS = {"vm": "vminstance", "disk": "volume"}

# The records of other objects that conditions name by a field and a dot.
_RECORDS_ELSEWHERE = {
    "cluster": "ClusterInventory",
    "host": "HostInventory",
    "vmInstance": "VmInstanceInventory",
    "vmNics": "VmNicInventory",
    "zone": "ZoneInventory",
}

# The prefix of the variables of inventories.
_PREFIX = "virtinfra_"

# What YAML reads as true and false, and services do not.
_WORDS_OF_YAML = {"yes": "true", "on": "true", "no": "false", "off": "false"}

# How many records a message about a wait names.
MAX_PENDING = 5


@dataclass(frozen=True)
class Condition:
    """A condition as the user means it: the operator is the first one in the text.

    ``is_local`` says that the service cannot check the condition exactly, so ``rejects`` compares exactly.
    """

    field: str
    operator: str
    value: str
    is_local: bool = False

    @property
    def text(self) -> str:
        """The condition without spaces around the operator, which services would treat as part of the value."""
        return format_condition(self.field, self.operator, self.value)

    @property
    def problem(self) -> str | None:
        """Why a service would misread the text; None if it would not."""
        return find_problem(self.field, self.operator, self.value)

    @property
    def sent(self) -> str | None:
        """The text to send: the condition, or a pattern that matches more values; None if neither can be sent."""
        return format_sent(self.field, self.operator, self.value)

    def rejects(self, record: Mapping[str, Any]) -> bool:
        """Return whether the record definitely does not meet the condition.

        Services compare as their databases do: values that differ only in case or accents count as equal, unless the
        service did not check the condition. Fields of other resources and values that are not scalars are left to the
        service.
        """
        value = record.get(self.field)
        is_negated = self.operator.startswith("!")
        if self.operator in ("is null", "not null"):
            return (self.is_local or self.field in record) and (value is None) != (self.operator == "is null")
        if value is None:
            return self.is_local
        if isinstance(value, (list, dict)):
            return self.is_local
        if _is_date(self.field):
            timestamp = parse_timestamp(value)
            return timestamp is not None and self._rejects_text(timestamp.isoformat(" "))
        if self.operator in (">", ">=", "<", "<="):
            return self._is_out_of_order(value)
        return self._matches(value, exact=is_negated or self.is_local) == is_negated

    def _rejects_text(self, text: str) -> bool:
        """Return whether a date, which sorts as a string, does not meet the condition."""
        if self.operator in (">", ">=", "<", "<="):
            return not _is_ordered(text, self.operator, self.value)
        return self._matches(text, exact=False) == self.operator.startswith("!")

    def _matches(self, value: Any, exact: bool) -> bool:
        text, expected = _to_text(value), self.value.strip()
        if not exact or isinstance(value, bool):
            text, expected = _ignore_case(text), _ignore_case(expected)
        if self.operator.endswith("~="):
            wildcards = {"%": ".*", "_": "."}
            pattern = "".join(wildcards.get(char) or re.escape(char) for char in expected)
            return re.fullmatch(pattern, text, re.DOTALL) is not None
        values = [item.strip() for item in expected.split(",")] if self.operator.endswith("?=") else [expected]
        number = _to_number(value)
        return text in values or (number is not None and number in map(_to_number, values))

    def _is_out_of_order(self, value: Any) -> bool:
        actual, expected = _to_number(value), _to_number(self.value)
        if actual is None or expected is None:
            return self.is_local
        return not _is_ordered(actual, self.operator, expected)


def parse_condition(text: str, record_type: str) -> Condition:
    """Parse a condition on records of a type in RECORD_FIELDS.

    Dates are converted to the form that databases compare. Raise InvalidOptions for an operator of another language,
    for a misspelled documented field, for a date or a number that a database would read as another one, and when
    neither the service nor this collection could check the condition.
    """
    if negated := _NEGATED.fullmatch(text):
        operator = _FOREIGN_OPERATORS.get(negated[2], negated[2])
        meant = f"{_find_meant(negated[1], record_type)}{_NEGATIONS.get(operator, '!=')}{negated[4]}"
        raise InvalidOptions(f"query {text!r} is not a condition: the operator expresses the negation. Write {meant}.")
    positions = [(text.find(operator), -len(operator), operator) for operator in OPERATORS if operator in text]
    if not positions:
        raise InvalidOptions(
            f"query {text!r} is not a condition: it has none of the operators {', '.join(OPERATORS)}"
            f"{_translate(text, record_type)}"
        )
    operator = min(positions)[2]
    field, dummy, value = text.partition(operator)
    _check_operator(text, operator, value, record_type)
    further = _FURTHER.search(value)
    if further and (further[1] in RECORD_FIELDS.get(record_type, ()) or "." in further[1]):
        raise InvalidOptions(
            f"query {text!r} contains several conditions. Write each condition as an item of the list, and alternatives"
            " with ?=."
        )
    field, values = field.strip(), value.split(",") if operator.endswith("?=") else [value]
    _check_field(text, field, record_type)
    unify = unify_uuid if is_reference(field.rpartition(".")[2]) else str.strip
    values = [_check_value(text, field, operator, unify(value)) for value in values]
    condition = Condition(field, operator, ",".join(values))
    if not condition.problem:
        return condition
    if operator.endswith("=") and operator not in (">=", "<=") and _is_checkable(condition, record_type):
        return replace(condition, is_local=True)
    raise InvalidOptions(
        f"query {text!r} cannot be sent: {condition.problem}. Use ~=, and write _ for each character"
        " that services misread."
    )


def is_condition(text: str) -> bool:
    """Return whether a text has the form of a condition."""
    return _BEGINNING.match(text) is not None


def _translate(text: str, record_type: str) -> str:
    """Return the condition that a text with an operator of SQL stands for, with its introduction; empty for others."""
    if null := re.fullmatch(r"\s*(\S+)\s+(?i:(?:is\s+)?(not\s+)?null)\s*", text):
        return f". Write {_find_meant(null[1], record_type)} {'not' if null[2] else 'is'} null."
    words = re.fullmatch(r"\s*(\S+)\s+(?i:(not\s+)?(like|in))\s+['\"(\[]*(.*?)['\")\]]*\s*", text)
    if not words:
        return ""
    field, negated, word, value = words.groups()
    operator = ("!" if negated else "") + ("~=" if word.lower() == "like" else "?=")
    values = [value] if word.lower() == "like" else [each.strip(" '\"") for each in value.split(",")]
    return f". Write {_find_meant(field, record_type)}{operator}{','.join(values)}."


def _is_date(field: str) -> bool:
    return field.endswith("Date")


def _is_ordered(actual: Any, operator: str, expected: Any) -> bool:
    """Return whether two values of one type meet a comparison."""
    return {
        ">": bool(actual > expected),
        ">=": bool(actual >= expected),
        "<": bool(actual < expected),
        "<=": bool(actual <= expected),
    }[operator]


def _check_value(text: str, field: str, operator: str, value: str) -> str:
    """Return the value of a condition, a date in the form of databases.

    Databases sort a date in another form before all others, and read a string that is not a number as 0. Raise
    InvalidOptions for both. ``text`` is the condition.
    """
    name = field.rpartition(".")[2]
    if operator in ("is null", "not null"):
        return value
    if _is_date(name):
        if operator.endswith("~="):
            if _DATE_PATTERN.fullmatch(value):
                return value
            raise InvalidOptions(f"query {text!r}: {name} is compared with patterns like 2024-01-%, not {value!r}")
        try:
            return _parse_date(value).isoformat(" ")
        except ValueError:
            raise InvalidOptions(
                f"query {text!r}: {name} needs a date like '2024-01-06' or '2024-01-06 08:00:00', in the local time of"
                f" the service and without a time zone, not {value!r}"
            ) from None
    if name in NUMBER_FIELDS and not (operator.endswith("~=") or _NUMBER.fullmatch(value)):
        size = find_size(value) if is_size_field(name) else None
        hint = f". Write {field}{operator}{size[1]}." if size else _explain_share(name, value)
        raise InvalidOptions(f"query {text!r}: {name} needs a number, not {value!r}{hint}")
    return value


def _explain_share(field: str, value: str) -> str:
    """Return sentences, and a full stop before them, on a percentage in place of a number; empty for other values."""
    if not re.fullmatch(r"[\d.]+\s*%", value):
        return ""
    role = ", or use the role capacity_report" if field.endswith("Capacity") else ""
    return f". Services compare with no share of another field. List the objects, and compare in an expression{role}."


def _parse_date(text: str) -> datetime.datetime:
    """Parse a date of a condition: ISO 8601 without a time zone, or a timestamp of the service.

    Raise ValueError for any other string.
    """
    if _ISO_8601.fullmatch(text):
        return datetime.datetime.fromisoformat(text)
    return to_datetime(text)


def parse_all(texts: Iterable[str], record_type: str) -> list[Condition]:
    """Parse all conditions of an option, as `parse_condition` does.

    Raise InvalidOptions for values that Ansible has split off the condition before them.
    """
    texts = list(texts)
    if split := find_split(texts):
        value, meant = split
        raise InvalidOptions(
            f"query {value!r} is not a condition. A string is split at commas, so write a list: query: {meant}"
        )
    return [parse_condition(text, record_type) for text in texts]


def find_split(texts: Iterable[str]) -> tuple[str, list[str]] | None:
    """Return the first value that is split off the condition before it, and the conditions meant; None if none is."""
    values: list[str] = []
    meant: list[str] = []
    for text in texts:
        if re.fullmatch(r"\s*[\w.-]+\s*", text) and meant and _EQUALITY.match(meant[-1]):
            values.append(text)
            meant[-1] = f"{re.sub(r'(?<![?~<>])=', '?=', meant[-1], count=1)},{text.strip()}"
        else:
            meant.append(text)
    return (values[0], meant) if values else None


def parse_local_conditions(texts: Iterable[str], record_type: str) -> list[Condition]:
    """Parse conditions on records of a type in RECORD_FIELDS that the service does not check.

    Raise Unsupported for a condition that only the service can check: on a time, on a tag, on a field of another
    resource or on a field that RECORD_FIELDS lacks.
    """
    conditions = [replace(condition, is_local=True) for condition in parse_all(texts, record_type)]
    for condition in conditions:
        if not _is_checkable(condition, record_type):
            raise Unsupported(f"only the service can check the condition {condition.text!r}")
    return conditions


def parse_conditions(texts: Iterable[str], record_type: str) -> tuple[list[str], list[Condition]]:
    """Return the conditions to send to the service, and those to check afterwards."""
    conditions = parse_all(texts, record_type)
    return list_texts_to_send(conditions), [condition for condition in conditions if condition.is_local]


def list_texts_to_send(conditions: Iterable[Condition]) -> list[str]:
    """Return the texts of the conditions that a service can check, at least in part."""
    return [text for condition in conditions if (text := condition.sent)]


@dataclass(frozen=True)
class Awaited:
    """What a task waits for: that all records have one of ``values`` in ``field``, and that there are records.

    Without a field, that there are records, or that there are none if ``is_absence``.
    """

    field: str = ""
    values: tuple[str, ...] = ()
    is_absence: bool = False

    def select_pending(self, records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the records that prevent the end of the wait. Raise InvalidOptions for a field that is a list."""
        if not self.field:
            return list(records) if self.is_absence else []
        return [record for record in records if not self._is_met_by(record)]

    def is_met(self, records: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether the wait has ended with these records."""
        records = list(records)
        return bool(records) != self.is_absence and not self.select_pending(records)

    def _is_met_by(self, record: Mapping[str, Any]) -> bool:
        value = record.get(self.field)
        if isinstance(value, (list, dict)):
            raise InvalidOptions(
                f"wait_for: {to_snake_case(self.field)} contains several values. Give a field with a single value."
            )
        return value is not None and any(not Condition(self.field, "=", each).rejects(record) for each in self.values)

    @property
    def goal(self) -> str:
        """What is awaited, for messages."""
        if self.field:
            return f"{to_snake_case(self.field)} {' or '.join(self.values)}"
        return "absence" if self.is_absence else "existence"

    def describe_pending(self, records: Sequence[Mapping[str, Any]], noun: str, name: str) -> str:
        """Return which records prevent the end of the wait, and the present values of the first ones.

        ``name`` is that of the selected object, empty if other options select records.
        """
        if not records:
            return f"{noun} {name}: no such {noun}" if name else f"no {noun} is selected"
        pending = self.select_pending(records)
        field = to_snake_case(self.field)
        first = [
            f"{noun} {record.get('name') or record.get('uuid')}"
            + (f": {field} is {record.get(self.field)}" if field else f" exists{_describe_deletion(record, noun)}")
            for record in pending[:MAX_PENDING]
        ]
        more = len(pending) - len(first)
        return ", ".join(first) + (f" (and {more} more)" if more else "")

    def explain_pending(self, records: Iterable[Mapping[str, Any]], noun: str) -> str:
        """Return a sentence, and a space before it, on deleted objects whose absence is awaited; empty without."""
        deleted = [row for record in records if (row := _find_deleted_type(record, noun))]
        if not (self.is_absence and deleted):
            return ""
        row, states = deleted[0], ",".join(deleted[0].deleted_states)
        operator = "!?=" if "," in states else "!="
        return (
            f" Services list a deleted {noun} for some time. To leave it out, add query:"
            f" ['{row.state_field}{operator}{states}']."
        )

    def find_warnings(self, record_type: str) -> list[str]:
        """Return a warning if one of the values is none of the documented ones of its field."""
        problem = describe_unknown_value(self.field, self.values, record_type)
        return [f"wait_for: {problem}"] if problem else []


def _find_deleted_type(record: Mapping[str, Any], noun: str) -> ResourceType | None:
    """Return the type of the record of a deleted object, None if the object exists. ``noun`` is that of the type."""
    return next((row for row in RESOURCE_TYPES.values() if row.noun == noun and not row.is_usable(record)), None)


def _describe_deletion(record: Mapping[str, Any], noun: str) -> str:
    """Return the state of a deleted object that is still listed, with a word before it; empty for other objects."""
    row = _find_deleted_type(record, noun)
    return f" with {to_snake_case(row.state_field)} {record[row.state_field]}" if row else ""


def parse_awaited(option: Mapping[str, Any], record_type: str, texts: Iterable[str] = ()) -> Awaited:
    """Return what the option ``wait_for`` says about records of a type that meet the conditions ``texts``.

    Raise InvalidOptions for a field that records of a type in RECORD_FIELDS lack, without values, and for a condition
    that no record meets any more when the wait ends.
    """
    if not option.get("field"):
        if option.get("exists") is None:
            raise InvalidOptions("wait_for needs field or exists")
        return Awaited(is_absence=not option["exists"])
    field = to_camel_case(option["field"].strip())
    fields = RECORD_FIELDS.get(record_type, ())
    if fields and field not in fields:
        names = [to_snake_case(name) for name in fields]
        hint = suggest_name(to_snake_case(field), names, is_misspelling=True) or f" The fields are {', '.join(names)}."
        raise InvalidOptions(f"wait_for: the records have no field {option['field'].strip()}.{hint}")
    values = [value.strip() for value in option.get("values") or () if value.strip()]
    if not values:
        raise InvalidOptions("wait_for.values must not be empty")
    _check_awaited_values(field, values, record_type)
    unify = unify_uuid if is_reference(field) else str
    awaited = Awaited(field, tuple(map(unify, values)))
    for condition in _parse_valid(texts, record_type).values():
        if condition.field == field and all(condition.rejects({field: value}) for value in awaited.values):
            raise InvalidOptions(
                f"wait_for: no object with {awaited.goal} meets the condition {condition.text!r}, so the wait would"
                " never end. Select the objects by another field, such as name."
            )
    return awaited


def _check_awaited_values(field: str, values: Sequence[str], record_type: str) -> None:
    """Raise InvalidOptions for operators in values, for values of another field, and for a value that no number has."""
    name, documented = to_snake_case(field), FIELD_VALUES.get(record_type, {}).get(field, ())
    for value in values:
        if documented and re.match("[!<>=~]", value):
            raise InvalidOptions(
                f"wait_for.values are compared for equality, so {value!r} is never met. List the values that end the"
                f" wait. The documented values of {name} are {', '.join(documented)}."
            )
        if field in NUMBER_FIELDS and not _NUMBER.fullmatch(value):
            raise InvalidOptions(
                f"wait_for: {name} is a number, and is compared for equality, so {value!r} is never met. Give numbers."
            )
    # A later service may have further values of a field, but hardly those of another one.
    is_foreign = documented and not {*map(str.casefold, values)} & {*map(str.casefold, documented)}
    if is_foreign and (others := " or ".join(map(to_snake_case, _find_fields_with(values, record_type)))):
        raise InvalidOptions(
            f"wait_for: {' and '.join(values)} {'is a value' if len(values) == 1 else 'are values'} of {others}, not of"
            f" {name}. Give {others} as field. The documented values of {name} are {', '.join(documented)}."
        )


def find_meant_fields(word: str, fields: Container[str]) -> list[str]:
    """Return those of the fields that a word may mean, a member of one behind a dot; none if it means none of them."""
    return [each for each in _FIELDS_MEANT.get(word, ()) if each.partition(".")[0] in fields]


def suggest_condition(name: str, record_type: str) -> str | None:
    """Return a condition on a field of the records, or on the name of an object they refer to; None without."""
    fields = RECORD_FIELDS.get(record_type, ())
    own = (each for each in (to_camel_case(name),) if each in fields)
    if meant := next(own, None) or next(iter(find_meant_fields(name, fields) if name != "id" else ()), ""):
        return f"{meant}=..."
    elsewhere = _find_elsewhere(name, record_type)
    return f"{elsewhere}=..." if elsewhere and fields else None


def _parse_valid(texts: Iterable[str], record_type: str) -> dict[str, Condition]:
    """Return the conditions of an option by their texts, without texts that are none."""
    conditions = {}
    for text in texts:
        with suppress(InvalidOptions):
            conditions[text] = parse_condition(text, record_type)
    return conditions


def find_value_warnings(texts: Iterable[str], record_type: str) -> list[str]:
    """Return a warning for each condition whose value matches nothing or is none of the documented ones of its field.

    Texts that are no conditions, such as the filters of a service with another syntax, give no warning.
    """
    warnings = []
    for text, condition in _parse_valid(texts, record_type).items():
        values = condition.value.split(",") if condition.operator.endswith("?=") else [condition.value.strip()]
        problem = describe_unknown_value(condition.field, values, record_type)
        # Several values behind =, and quotes, are described if they select nothing, those behind != below.
        is_comparable = not _UNCOMPARED.search(condition.value) and (
            condition.operator.endswith("?=") or "," not in condition.value
        )
        if problem and condition.operator in ("=", "!=", "?=", "!?=") and is_comparable:
            warnings.append(f"the condition {text!r}: {problem}")
        if condition.value.strip().casefold() in _WORDS_OF_YAML and re.match("(?:is|has)[A-Z]", condition.field):
            value = _WORDS_OF_YAML[condition.value.strip().casefold()]
            warnings.append(f"the condition {text!r}: write {condition.field}{condition.operator}{value}.")
        if "*" in condition.value and condition.operator == "~=":
            warnings.append(f"the condition {text!r}: * matches only itself. Write % for any characters.")
        if reason := _describe_unit(condition):
            warnings.append(f"the condition {text!r}: {reason}")
        warnings += describe_exclusions([text], record_type)
    return warnings


def _describe_unit(condition: Condition) -> str | None:
    """Return how to compare with a size if the number of a condition was meant in a unit; None for other conditions."""
    name = condition.field.rpartition(".")[2]
    number = _to_number(condition.value)
    if number is None or name not in NUMBER_FIELDS or not is_size_field(name) or not (unit := find_unit(number)):
        return None
    meant = f"{condition.field}{condition.operator}{int(number * unit[1])}"
    return f"{condition.field} is in bytes. Write {meant} for {condition.value} {unit[0]}."


def describe_unknown_fields(texts: Iterable[str], record_type: str) -> str:
    """Return a sentence, and a space before it, on fields of a refused query that records lack, empty if all are known.

    The key of a tag is meant mostly, if there is no dot. Plugins of a service may add fields and related objects, so
    these are sent.
    """
    fields, related = RECORD_FIELDS.get(record_type, ()), _list_related(record_type)
    for condition in _parse_valid(texts, record_type).values():
        if re.fullmatch(r"(?!__)\w+", condition.field) and condition.field not in fields:
            example = f"__userTag__{condition.operator}{condition.field}::{condition.value}"
            return f" If {condition.field} is the key of a tag, write the tag itself, such as {example}."
        owner, dot, member = condition.field.partition(".")
        noun = owner.casefold().removesuffix("s")
        is_own = _COMMON_NOUNS.get(noun, noun) in _list_own_nouns(record_type)
        meant = "" if is_own else _find_related(noun, record_type)
        if dot and owner not in related and (is_own or meant):
            meant = f"{meant}.{member}" if meant else member
            return f" {owner} is no related object of {name_records(record_type)}. Did you mean {meant}?"
    return ""


def describe_exclusions(texts: Iterable[str], record_type: str = "") -> list[str]:
    """Return why conditions that exclude a value may be meant otherwise: then they exclude nothing, without a sign."""
    return [
        f"the condition {text!r}: {oversight}"
        for text in texts
        if _EXCLUSION.match(text) and (oversight := _describe_oversight(text, record_type))
    ]


def describe_oversights(texts: Iterable[str], record_type: str = "", name: str = "") -> list[str]:
    """Return why conditions and a name that select no record may be meant otherwise.

    Quotes, brackets, commas and asterisks are parts of values and names: they are no mistakes if records have them.
    """
    warnings = []
    if problem := describe_pattern(name):
        names = ",".join(map(str.strip, name.split(",")))
        pattern = re.sub(r"[*]", "%", name).replace("?", "_")
        warnings.append(
            f"{problem}. Write query: ['{f'name~={pattern}' if WILDCARD.search(name) else f'name?={names}'}']."
        )
    if _UUID.fullmatch(name):
        warnings.append(f"name {name!r} looks like a uuid. Write uuid: {name}.")
    warnings += _describe_contradictions(texts := list(texts))
    return warnings + [
        f"the condition {text!r}: {oversight}"
        for text in texts
        if not _EXCLUSION.match(text) and (oversight := _describe_oversight(text, record_type))
    ]


def _describe_oversight(text: str, record_type: str) -> str | None:
    """Return what a condition that selects no record, or excludes none, may be meant as; None for a plain one."""
    if foreign := _FOREIGN.fullmatch(text):
        remedy = _translate_operator(_find_meant(foreign[1], record_type), foreign[2], foreign[3])
        return f"services do not know the operator {foreign[2]}.{remedy}"
    if quoted := re.fullmatch(r"""\s*([\w.]+)\s*([!~?]*=)\s*(['"])(.*)\3\s*""", text):
        return f"the quotes are part of the value. Write {quoted[1]}{quoted[2]}{quoted[4]}."
    if listed := re.fullmatch(r"\s*([\w.]+)\s*(!?\?=)\s*\[(.*)\]\s*", text):
        values = ",".join(value.strip(" '\"") for value in listed[3].split(","))
        return f"the brackets are part of the values. Write {listed[1]}{listed[2]}{values}."
    return _describe_uuid(text, record_type) or _describe_value(text)


def describe_refused(texts: Iterable[str], record_type: str) -> str:
    """Return sentences, and a space before each, on what filters that a service has refused may be meant as."""
    problems = []
    for text in texts:
        try:
            parse_condition(text, record_type)
        except InvalidOptions as refusal:
            problems.append(re.sub("^query ", "the condition ", str(refusal)))
        else:
            problems += [*describe_oversights([text], record_type), *describe_blanks([text], record_type)]
    return "".join(f" In filters, {problem}" for problem in problems)


def describe_blanks(texts: Iterable[str], record_type: str) -> list[str]:
    """Return what to write for conditions with blanks around the operator that are sent as they are."""
    return [
        f"the condition {text!r}: the blanks are part of the field or the value. Write {condition.text}."
        for text, condition in _parse_valid(texts, record_type).items()
        if _BLANKS.match(text) and not describe_oversights([text], record_type)
    ]


def _describe_contradictions(texts: Iterable[str]) -> list[str]:
    """Return a warning for each field that must have different values at the same time."""
    values: dict[str, list[str]] = {}
    for text in texts:
        if parts := re.fullmatch(r"\s*([\w.]+)\s*=\s*([^=,]*?)\s*", text):
            values.setdefault(parts[1], []).append(parts[2])
    return [
        f"{field} is compared with {len(each)} values, and all conditions must hold. Write {field}?={','.join(each)}."
        for field, each in values.items()
        if len(set(each)) > 1 and not field.startswith("__") and "." not in field
    ]


def _describe_value(text: str) -> str | None:
    """Return what a value that selects no record, or excludes none, may be meant as; None for a plain value."""
    parts = re.fullmatch(r"\s*([\w.]+)\s*(!?)(=|~=|\?=)\s*(.*?)\s*", text)
    if not parts:
        return None
    field, negation, kind, value = parts.groups()
    operator = f"{negation}{kind}"
    if not value:
        return None if negation else f"it has no value, so it selects objects with an empty {field}."
    if kind == "=" and value.casefold() in ("null", "none"):
        return f"it compares with the text {value}. Write {field} {'not' if negation else 'is'} null."
    if _FURTHER.search(value):
        return (
            f"all behind {operator} is one value. Give each condition as an item of its own, and alternatives with ?=."
        )
    if problem := _describe_networks(field, negation, value):
        return problem
    if negation and "," in value and re.search("[*%]", value):
        return f"{operator} compares with no patterns. Give each as an item of its own, such as {field}!~=a%."
    if kind == "~=":
        return _describe_pattern(field, operator, value)
    return (
        _describe_wildcards(field, operator, value)
        or _describe_form(field, operator, value)
        or _describe_name(field, operator, value)
    )


def _describe_wildcards(field: str, operator: str, value: str) -> str | None:
    """Return how to compare with the patterns, or the several values, behind an operator that compares whole values."""
    negation = "!" if operator.startswith("!") else ""
    patterns = [f"{field}{negation}~={each.strip().replace('*', '%')}" for each in value.split(",")]
    if operator.endswith("?="):
        pattern = next((each for each in patterns if "%" in each), "")
        several = " Each pattern needs a query of its own." if len(patterns) > 1 else ""
        return f"{operator} compares with whole values. Write {pattern}.{several}" if pattern else None
    if re.search("[*%]", value):
        return f"{operator} compares with the whole value. Write {field}{negation}~={value.replace('*', '%')}."
    values = ",".join(map(str.strip, _SEPARATORS.sub(",", value).split(",")))
    return f"{operator} compares with one value. Write {field}{negation}?={values}." if "," in values else None


def _describe_form(field: str, operator: str, value: str) -> str | None:
    """Return how to write several values, or the address of a NIC, as services compare them."""
    kind = operator.removeprefix("!")
    if kind == "?=" and _SEPARATORS.search(value):
        return f"values are separated by commas. Write {field}{operator}{_SEPARATORS.sub(',', value)}."
    if kind != "~=" and field.endswith("mac") and ":" not in value and ":" in (address := normalize_address(value)):
        return f"services write addresses of NICs with colons. Write {field}{operator}{address}."
    return None


def _describe_networks(field: str, negation: str, value: str) -> str | None:
    """Return what to write for the first network among the values of a field with an address; None if there is none."""
    if not re.search(r"(?i)(?:ip|address)$", field):
        return None
    texts = value.split(",")
    problem = next(filter(None, (describe_network(field, negation, text) for text in texts)), None)
    if not problem or len(texts) == 1:
        return problem
    return f"{problem} {'Each value needs an item' if negation else 'Each value needs a query'} of its own."


def _describe_name(field: str, operator: str, value: str) -> str | None:
    """Return what to write for a field with a uuid that is compared with a name."""
    named = re.fullmatch(r"(?:[\w.]*\.)?(?:(\w+)U|u)uid", field)
    if not named or all(_UUID.fullmatch(each.strip()) for each in value.split(",")):
        return None
    if "." in field or named[1] not in (None, "cluster", "zone", "host", "vmInstance"):
        return f"{field} is a uuid, and {value} is none. Give the uuid of {value}."
    return f"{field} is a uuid. Write {f'{named[1]}.name' if named[1] else 'name'}{operator}{value}."


def _describe_uuid(text: str, record_type: str) -> str | None:
    """Return what to write for a field with a name that is compared with uuids only."""
    named = re.fullmatch(r"\s*(?:([\w.]+)\.)?name\s*(!?\??=)\s*(.+?)\s*", text)
    if not named or not all(_UUID.fullmatch(each.strip()) for each in named[3].split(",")):
        return None
    owner, operator, value = named.groups()
    field = f"{owner}Uuid" if f"{owner}Uuid" in RECORD_FIELDS.get(record_type, ()) else f"{owner}.uuid"
    return f"{value} looks like a uuid, not like a name. Write {field if owner else 'uuid'}{operator}{value}."


def _describe_pattern(field: str, operator: str, value: str) -> str | None:
    """Return how to write a pattern that is of another language, or has no wildcards; None for a plain pattern."""
    if meant := _convert_expression(field, operator, value):
        return f"there are no regular expressions. Write {meant}."
    if operator == "!~=" and "*" in value:
        return f"* matches only itself. Write {field}!~={value.replace('*', '%')}."
    if not re.search("[%_*]", value):
        exact = f", or {field}!={value}" if operator == "!~=" else ""
        return f"{operator} compares the whole value with a pattern. Write {field}{operator}%{value}%{exact}."
    return None


def _convert_expression(field: str, operator: str, expression: str) -> str | None:
    """Return the condition that is met as by a regular expression behind ~= or !~=, and whether it is by others too.

    Return None without signs of such an expression.
    """
    if not re.search(r"^\^|\$$|\.[*+]|\\[dw]", expression):
        return None
    start, end = "" if expression.startswith("^") else "%", "" if expression.endswith("$") else "%"
    inner = expression.removeprefix("^").removesuffix("$")
    if not (start or end) and (listed := re.fullmatch(r"([\w-]*)\[(\w{1,9})\]([\w-]*)", inner)):
        return f"{field}{operator.replace('~', '?')}{','.join(f'{listed[1]}{each}{listed[3]}' for each in listed[2])}"
    is_wider = ", which also matches other characters" if re.search(r"\[|\\[dw]", inner) else ""
    pattern = re.sub(r"(?:\.|\\[dw]|\[[^]]*\])([*+]?)", lambda part: "%" if part[1] else "_", inner)
    pattern = re.sub("%+", "%", f"{start}{pattern}{end}")
    return f"{field}{operator}{pattern}{is_wider}"


def describe_unknown_value(field: str, values: Iterable[str], record_type: str) -> str | None:
    """Return sentences about the first value that is none of the documented ones of a field; None if all are."""
    owner, name = _find_owner(field, record_type)
    documented = FIELD_VALUES.get(owner, {}).get(name, ())
    unknown = next((value for value in values if value not in documented), None)
    if not documented or unknown is None:
        return None
    others = _find_fields_with([unknown], owner)
    is_of_others = others and name not in others
    hint = f" It is one of {' or '.join(others)}." if is_of_others else suggest_name(unknown, documented)
    return f"{unknown!r} is not a documented value of {field}.{hint} The documented values are {', '.join(documented)}."


def _find_fields_with(values: Iterable[str], record_type: str) -> list[str]:
    """Return the fields of a record with all of these values among the documented ones. Case makes no difference."""
    wanted = set(map(str.casefold, values))
    return [
        name for name, known in FIELD_VALUES.get(record_type, {}).items() if wanted <= set(map(str.casefold, known))
    ]


def _is_checkable(condition: Condition, record_type: str) -> bool:
    """Return whether the field of a condition is in the records, in a form that can be compared."""
    return condition.field in RECORD_FIELDS.get(record_type, ()) and not condition.field.endswith("Date")


def _check_operator(text: str, operator: str, value: str, record_type: str) -> None:
    """Raise InvalidOptions for an operator of another language, whose first part is the operator of the condition."""
    for foreign in _FOREIGN_OPERATORS:
        if foreign.startswith(operator) and f"{operator}{value}".startswith(foreign):
            field = _find_meant(text.partition(operator)[0].strip(), record_type)
            expression = f"{operator}{value}".removeprefix(foreign).strip()
            remedy = _translate_operator(field, foreign, expression)
            raise InvalidOptions(f"query {text!r} has the operator {foreign}, which services do not know.{remedy}")


def _translate_operator(field: str, foreign: str, expression: str) -> str:
    """Return sentences, and a space before them, with what to write for an operator of another language."""
    if foreign == "=~" and (converted := _convert_expression(field, "~=", expression)):
        return f" There are no regular expressions. Write {converted}."
    quoted = re.fullmatch(r"""(['"])(.*)\1""", expression)
    operator = _FOREIGN_OPERATORS[foreign]
    return f" Write {field}{operator}{quoted[2]}." if quoted else f" Write {operator}."


def _find_meant(field: str, record_type: str) -> str:
    """Return the field that is meant by the name of a variable of inventories, the field itself if there is none."""
    plain, fields = to_camel_case(field.removeprefix(_PREFIX)), RECORD_FIELDS.get(record_type, ())
    meant = plain if plain in fields else _find_elsewhere(plain, record_type)
    return meant if meant and field.startswith(_PREFIX) else field


def _find_elsewhere(word: str, record_type: str) -> str:
    """Return the field of a related object, or of a tag, that a word means; empty if records have no such relation."""
    meant = _FIELDS_ELSEWHERE.get(word, "")
    is_known = meant.startswith("__") or meant.partition(".")[0] in _list_related(record_type)
    return meant if is_known else ""


def _find_names(word: str, record_type: str) -> str:
    """Return the field with the name that a word such as hostName, vm_name or host means, empty for other words.

    It is that of the records themselves, or of a related object.
    """
    fields, noun = RECORD_FIELDS.get(record_type, ()), word.casefold().replace("_", "").removesuffix("name")
    if not (fields and noun):
        return ""
    own, whole = _list_own_nouns(record_type), not word.casefold().endswith("name")
    rows = (row.name_field for row in RESOURCE_TYPES.values() if row.query and row.record == record_type)
    field = next(rows, "name")
    if field in fields and (_COMMON_NOUNS.get(noun, noun) in own or (noun == "display" and not whole)):
        return " or ".join((field, *(each for each in fields if each.casefold() == f"{noun}name")))
    related = "" if whole else _find_related(noun, record_type)
    return f"{related}.name" if related else ""


def _list_own_nouns(record_type: str) -> list[str]:
    """Return what the objects of a type of records are called, in small letters: vminstance and instance for VMs."""
    return _list_endings(to_snake_case(record_type.removesuffix("Inventory").removeprefix("SNS")))


def _list_endings(term: str) -> list[str]:
    """Return a term in snake_case, and its last words, all without underscores and in the singular."""
    words = term.removesuffix("s").split("_")
    return ["".join(words[start:]) for start in range(len(words))]


def _list_related(record_type: str) -> list[str]:
    """Return the names behind which conditions have a dot and a field of a related object, the nearest first.

    Services relate no objects by the other uuids, such as defaultL3NetworkUuid.
    """
    fields, queried = RECORD_FIELDS.get(record_type, ()), {row.record for row in RESOURCE_TYPES.values() if row.query}
    nested = [field for field in fields if NESTED.get(field) in queried]
    uuids = (re.fullmatch(r"(?!last|default|root)(\w+)Uuid", field) for field in fields)
    clusters = ["cluster"] if "attachedClusterUuids" in fields else []
    return [*(each[1] for each in uuids if each), *clusters, *nested]


def _find_related(noun: str, record_type: str) -> str:
    """Return the related objects that a noun in small letters means, also those of a record's parts; empty without."""
    noun = _COMMON_NOUNS.get(noun.removesuffix("s"), noun.removesuffix("s"))
    related = _list_related(record_type)
    of_parts = [f"{part}.{each}" for part in related if part in NESTED for each in _list_related(NESTED[part])]
    known = {each: _list_endings(to_snake_case(each.rpartition(".")[2])) for each in (*related, *of_parts)}
    exact = (each for each, endings in known.items() if endings[0] == noun)
    return next(exact, None) or next((each for each, endings in known.items() if noun in endings), "")


def _check_field(text: str, field: str, record_type: str) -> None:
    if field.split() != [field]:
        raise InvalidOptions(
            f"query {text!r} is not a condition: {field!r} cannot be the name of a field{_translate(text, record_type)}"
        )
    record_type, field = _find_owner(field, record_type)
    fields = RECORD_FIELDS.get(record_type, ())
    if field in fields or "." in field or field in _TAG_FIELDS.values():
        return
    tag = _TAG_FIELDS.get(field.replace("_", "").casefold().removesuffix("s"), "")
    if field.startswith("__") and not tag:
        return
    plain = to_camel_case(field.removeprefix(_PREFIX))
    meant = tag or _find_names(plain, record_type) or _find_elsewhere(field, record_type)
    meant = meant or " or ".join(find_meant_fields(field, fields)) or _find_meant(field, record_type)
    hint = f" Did you mean {meant}?" if meant != field else suggest_name(plain, fields, is_misspelling=True)
    if hint:
        raise InvalidOptions(
            f"query {text!r}: {name_records(record_type)} have no field {field}.{hint} If the service has a field"
            f" {field}, send the query with the module api."
        )


def _find_owner(field: str, record_type: str) -> tuple[str, str]:
    """Return the type of the record that has a field, and the name that the field has there."""
    owner, dummy, member = field.rpartition(".")
    return (_RECORDS_ELSEWHERE[owner], member) if owner in _RECORDS_ELSEWHERE else (record_type, field)


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _ignore_case(text: str) -> str:
    """Return the same text for all texts that differ in case or accents only."""
    if text.isascii():
        return text.lower()
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char)).casefold()


def _to_number(value: Any) -> float | None:
    """Return the number in a value or in a string; None if it is not a number."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
