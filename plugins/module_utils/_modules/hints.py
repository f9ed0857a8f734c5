"""The option, or the value, that was probably meant by a name that there is not. A wrong hint is worse than none."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from .._api.conditions import suggest_condition
from .._api.errors import count_slips, describe_unknown_names, suggest_name
from .._api.field_values import FIELD_VALUES
from .._api.records import to_camel_case, to_snake_case
from .._api.resource_types import RESOURCE_TYPES
from .._api.value_words import list_meant_values, suggest_choice
from .._resources.kind_properties import list_properties, name_property
from .._resources.kind_rows import Attachment, Kind, Row
from .._resources.kinds import get_row, list_kinds, map_ends
from .options import CONNECTION, GROUP_OPTIONS, TAGS, WAIT
from .words import (
    EXAMPLES,
    IRREVERSIBLE,
    KEYWORDS,
    MEANINGS,
    MODULES_OF_ENTRIES,
    NOUNS,
    NOUNS_OF_MODULES,
    OPPOSITES,
    OPTIONS_OF_NOUNS,
    REMARKS,
    find_example,
    find_meaning,
    is_in_seconds,
    suggest_kind,
)

# The options that all modules, or all that make calls, have.
_SHARED = {*CONNECTION, *WAIT, *TAGS}

# The endings of names that refer to an object, as in vm_name.
_IDENTIFYING = ("id", "name", "uuid")

# The options with members of any name, and what these are.
_PLACES = {
    "api": ("params", "a parameter of the operation"),
    "batch": ("common", "an option of the module"),
    "resource": ("properties", "a property of the object"),
}

# The scopes of options that are not those of a task.
_NO_TASKS = ("connection", "inventory", "source")

# Words of which none is a misspelling of another.
_WORDS = {*KEYWORDS, *MEANINGS, *NOUNS, *REMARKS}

# The ends of words for what is a list here, such as net0 and scsi1.
_DIGITS = "0123456789"

# How a task denies what a word says.
_FALSE = ("false", "no", "off", "0")

# Words that say too little to mean an option that ends with them.
_VAGUE = ("from", "mode", "name", "type", "id", "uuid", "size", "at", "on", "all")


def describe_unknown(
    names: Sequence[str],
    options: Iterable[str],
    scope: str,
    record_type: str = "",
    given: Mapping[str, Any] = MappingProxyType({}),
    beginning: str = "there is no option",
) -> str:
    """Return sentences on options that there are not, each with what `suggest_option` returns.

    ``beginning`` is that of the sentences.
    """

    def suggest(name: str) -> str:
        return suggest_option(name, options, scope, record_type, given)

    return describe_unknown_names(beginning, names, suggest)


def suggest_option(
    name: str,
    options: Iterable[str],
    scope: str = "",
    record_type: str = "",
    given: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return a sentence, and a space before it, with the option that was probably meant, or with all options.

    ``options`` are names, or an argument spec. ``scope`` is the module, or the option whose suboptions they are.
    ``record_type`` is the type of the records that a module lists, ``given`` the values that the task gives.
    """
    specs = options if isinstance(options, Mapping) else {option: {} for option in options}
    found = _Search(specs, scope, record_type, given, given.get(name))
    word = to_snake_case(name).replace("-", "_").casefold()
    if _is_reported(found, word):
        return f" {word} is what the service reports. Leave it out."
    if scope == "workflow" and word.startswith(f"{given.get('role')}_"):
        return " Write the variables of the role under vars of the task."
    if meant := found.find(word):
        is_denied = str(given.get(name)).casefold() in _FALSE and ": " in meant and " or " not in meant
        return _deny(found, meant) if is_denied else f" Did you mean {meant}?{_show_form(meant, specs)}"
    remark = found.find_remark(word)
    return remark or found.describe_options(word)


def find_option(name: str, options: Mapping[str, Any], scope: str) -> str:
    """Return the option, or several, that was probably meant, as `suggest_option` finds it; empty if none is likely."""
    return _Search(options, scope, "").find(name)


def find_remark(name: str, scope: str) -> str:
    """Return what to do about a word that no option of a scope means, with a space before it, or an empty string."""
    remark = REMARKS.get(f"{scope}.{name}")
    return f" {remark}" if remark else ""


def _show_form(meant: str, specs: Mapping[str, Any]) -> str:
    """Return a sentence with the values or an example of an option, and a space before it, empty without any."""
    spec = specs.get(meant) or {}
    if meant == "state" and spec.get("choices"):
        return f" Its values are {', '.join(spec['choices'])}."
    example = find_example(meant, spec)
    unit = " It is a number of seconds." if is_in_seconds(meant, spec) else ""
    return f" For example: {meant}: {example}" if example else unit


@dataclass(frozen=True)
class _Search:
    """The options of a module, among which one is searched that a word means."""

    specs: Mapping[str, Any]
    scope: str
    record_type: str
    given: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None

    @cached_property
    def own(self) -> list[str]:
        """The options of the module itself. Profiles also have commands for the secrets of the connection."""
        foreign = map_ends().keys() - (getattr(self.any_row, "ends", None) or ()) if self.any_row else ()
        return [each for each in self.specs if each.removesuffix("_command") not in _SHARED and each not in foreign]

    @cached_property
    def shared(self) -> list[str]:
        """The options that other modules have, too."""
        return [option for option in self.specs if option.removesuffix("_command") in _SHARED]

    @cached_property
    def properties(self) -> list[str]:
        """The properties of the kind that the task gives."""
        return list(list_properties(self.row)) if self.row else []

    @cached_property
    def row(self) -> Kind | None:
        """The kind that the task gives, None without one, and for an attachment."""
        row = self.any_row
        return row if isinstance(row, Kind) else None

    @property
    def kind(self) -> str | None:
        """The value of the option kind, None without one."""
        return self.given.get("kind")

    @cached_property
    def any_row(self) -> Row | None:
        """The kind, the attachment or the setting that the task gives, None without one."""
        return get_row(self.kind) if "kind" in self.specs and self.kind in list_kinds() else None

    @property
    def module(self) -> str:
        """The scope of words: for the entries of a variable of a role, the module with their options."""
        return MODULES_OF_ENTRIES.get(self.scope, self.scope)

    @property
    def noun(self) -> str:
        """The noun of the objects of the module."""
        return NOUNS_OF_MODULES.get(module := self.module.removesuffix("_info"), module)

    def find(self, word: str) -> str:
        """Return the option that a word means, possibly with a value, or several, empty if none is likely."""
        return next((meant for meant in self._list_meant(word) if meant and not _is_unasked(word, meant)), "")

    def _list_meant(self, word: str) -> Iterator[str]:
        """Yield what a word may mean, the likeliest first, and empty texts."""
        yield word if word in self.specs else ""
        yield _find_command(self, word)
        yield self._find_meaning(f"{self.module}.{self.given.get('state')}.{word}", self.specs)
        yield self._find_meaning(f"{self.module}.{word}", self.specs)
        if f"{self.module}.{word}" in REMARKS:
            return
        for each in (word, word.removesuffix("s")) if "query" in self.own else ():
            if each not in self.specs and (condition := suggest_condition(each, self.record_type)):
                yield f"query: ['{condition}']"
        if _is_mapping(self.value):
            taking = replace(self, specs=_choose_with_members(self.specs))
            yield taking._find_meaning(word, taking.own)
            yield taking._find_object(word)
        yield "parent" if self._means_parent(word) else ""
        yield self._find_value(word)
        yield f"properties: {{{word}: ...}}" if word in self.properties else ""
        yield self._find_meaning(word, self.own)
        yield self._find_object(word)
        yield self._find_property(word)
        # No word with a remark refers to an object, or ends with the word that it means.
        is_keyword = word in KEYWORDS and self.scope not in _NO_TASKS
        is_final = word in REMARKS or is_keyword
        yield "" if is_final else self._find_reference(word)
        # Another module has the options that are shared. With until, retries and delay are keywords.
        is_foreign = word in _SHARED or (is_keyword and "until" in self.given)
        yield "" if is_foreign else self._find_meaning(word, self.shared)
        if is_final:
            return
        yield self._find_meaning(word.rstrip(_DIGITS), self.own) if word[-1:] in _DIGITS else ""
        yield self._find_misspelt(word, slips=1)
        yield self._find_by_end(word)
        yield self._find_misspelt(word, slips=len(word))

    def _means_parent(self, word: str) -> bool:
        """Return whether a word, as network_name, refers to the object within which one of the kind is."""
        parent = name_property(self.row.parent) if self.row and self.row.parent else ""
        referred, dummy, ending = word.rpartition("_")
        word = referred if ending in _IDENTIFYING and referred else word
        return bool(parent) and (NOUNS.get(word, word) == parent or bool(find_meaning(word, [parent], self.kind or "")))

    def _find_value(self, word: str) -> str:
        """Return the option that has the word as a value."""
        having = [
            option
            for option, spec in self.specs.items()
            if word in (spec.get("choices") or ()) and option != "kind" and f"{option}: {word}" not in IRREVERSIBLE
        ]
        if len(having) == 1 and having != ["tags_mode"]:
            return f"{having[0]}: {word}"
        states = (self.specs.get("state") or {}).get("choices") or ()
        meant = next(list_meant_values(word, states), "")
        return f"state: {meant}" if meant and word not in MEANINGS else ""

    def _find_meaning(self, word: str, options: Container[str]) -> str:
        """Return what a word means, if one of the options has it."""
        for meaning in MEANINGS.get(word, ()):
            meanings = [each for each in ([meaning] if isinstance(meaning, str) else meaning) if self.has(each)]
            if any(re.split("[:.]", each)[0] in options for each in meanings):
                return " or ".join(meanings)
        return ""

    def has(self, meaning: str) -> bool:
        """Return whether there is an option, and whether it can have the value after its name."""
        option, dummy, value = meaning.partition(": ")
        choices = (self.specs.get(option) or {}).get("choices")
        return option.partition(".")[0] in self.specs and (not value or not choices or value in choices)

    def _find_property(self, word: str) -> str:
        """Return the property of a kind that a word means."""
        meant = find_meaning(word, self.properties, self.kind or "")
        meant = ": ..., ".join(meant.split(" or "))
        return f"properties: {{{meant}: ...}}" if meant else ""

    def _find_object(self, word: str, ending: str = "name") -> str:
        """Return the option for an object that the word is a noun for: that of another one, or the module's own."""
        noun = NOUNS.get(word) or NOUNS.get(word.removesuffix("s"), word)
        if noun == self.noun:
            return next(
                (option for option in ("uuid" if ending != "name" else "name", "uuid") if option in self.own), ""
            )
        names = (noun, f"{noun}s", *OPTIONS_OF_NOUNS.get(noun, ()))
        return next((option for option in names if option in self.own), "")

    def _find_reference(self, word: str) -> str:
        """Return the option that takes the name or uuid of an object, as cluster for cluster_name."""
        referred, separator, ending = word.rpartition("_")
        if not separator or ending not in _IDENTIFYING:
            return ""
        if "query" in self.own and (condition := suggest_condition(referred, self.record_type)):
            return f"query: ['{condition}']"
        return self._find_object(referred, ending) or self._find_meaning(referred, self.own)

    def _find_misspelt(self, word: str, slips: int) -> str:
        """Return the option, or the alias, of which the word is a misspelling with at most so many slips."""
        if word in _WORDS:
            return ""
        names = [alias for spec in self.specs.values() for alias in spec.get("aliases") or ()]
        groups = (self.own, names, self.shared)
        near = ([each for each in group if _is_near(word, each, slips)] for group in groups)
        hints = (suggest_name(word, each, is_misspelling=True) for each in near)
        return next(filter(None, hints), "").removeprefix(" Did you mean ").removesuffix("?")

    def _find_by_end(self, word: str) -> str:
        """Return the option that a longer word ends with, as username for ssh_username, or that ends with the word."""
        parts = word.split("_")
        for number in range(1, len(parts)):
            end = "_".join(parts[number:])
            if end in _VAGUE:
                break
            if meant := (end if end in self.own else self._find_meaning(end, self.own) or self._find_object(end)):
                return meant
        longer = [each for each in self.own if each.endswith(f"_{word}") and not each.startswith("exclude_")]
        return longer[0] if len(longer) == 1 and word not in _VAGUE else ""

    def find_remark(self, word: str) -> str:
        """Return what to do about a word that no option means, with a space before it, or an empty string."""
        if word in KEYWORDS and self.scope not in _NO_TASKS:
            return f" {word} is a keyword of the task, beside the module."
        if self.scope == "connection" and word in GROUP_OPTIONS and word not in CONNECTION:
            return " Options of tasks belong in the task, or in module_defaults."
        secret = word.removesuffix("_command")
        if secret != word and CONNECTION.get(secret, {}).get("no_log") and self.scope not in _NO_TASKS:
            return f" It is a key of a profile, which the option profile names. The secret itself is {secret}."
        beginning, dummy, ending = word.rpartition("_")
        referred = beginning if ending in _IDENTIFYING else word
        names = (f"{self.scope}.{word}", f"{self.module}.{word}", word, f"{self.module}.*", NOUNS.get(referred, ""))
        remark = next((REMARKS[name] for name in names if name in REMARKS), "")
        # Another module is no help for an inventory, a profile or a source of events.
        is_of_task = "virtinfra.manager." in remark and self.scope in _NO_TASKS
        return f" {remark}" if remark and not is_of_task else ""

    def describe_options(self, word: str) -> str:
        """Return a sentence with all options but those of the connection, and where else the word may belong."""
        if self.any_row:
            return _describe_row(self.any_row)
        if self.scope == "connection":
            return f" The options are {', '.join(self.specs)}."
        listed = [*self.own, *(option for option in self.shared if option not in CONNECTION)] or self.shared
        others = ", and those of the connection" if len(listed) < len(self.specs) else ""
        place, what = _PLACES.get(self.scope, ("", ""))
        belongs = f" Give {what} as {place}: {{{word}: ...}}." if place else ""
        example = f" For example: {self.scope}: {EXAMPLES[self.scope]}" if self.scope in EXAMPLES and not others else ""
        return f" The options are {', '.join(listed)}{others}.{belongs}{example}"


def _is_reported(found: _Search, word: str) -> bool:
    """Return whether a task gives a field of a record that no option sets, with a value of the service."""
    if word in found.specs or "query" in found.specs or not isinstance(found.value, str):
        return False
    row = RESOURCE_TYPES.get(found.noun)
    if row and row.query and found.value in FIELD_VALUES.get(row.record, {}).get(to_camel_case(word), ()):
        return True
    states = (found.specs.get("state") or {}).get("choices") or ()
    value = found.value.casefold()
    return word == "status" and bool(states) and not (value in states or any(list_meant_values(value, states)))


def _find_command(found: _Search, word: str) -> str:
    """Return the key of a profile with the command for a secret, as account_password_command for password_cmd."""
    secret, dummy, ending = word.rpartition("_")
    if ending not in ("cmd", "command") or found.scope != "connection":
        return ""
    meant = f"{found.find(secret)}_command"
    return meant if meant in found.specs else ""


def _is_near(word: str, option: str, slips: int) -> bool:
    """Return whether few letters differ. Another letter in three makes another word, such as gpu for cpu."""
    return count_slips(word, option) <= slips and (len(word) > 3 or len(word) != len(option))


def _is_mapping(value: Any) -> bool:
    """Return whether a value is a mapping, or a list that begins with one."""
    return isinstance(value[0] if value and isinstance(value, (list, tuple)) else value, Mapping)


def _choose_with_members(specs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that take mappings, or lists of them."""
    return {name: spec for name, spec in specs.items() if "dict" in (spec.get("type"), spec.get("elements"))}


def _is_unasked(word: str, meant: str) -> bool:
    """Return whether a word would mean an option that is irreversible, and is no misspelling of it."""
    options = {name for each in meant.split(" or ") for name in (each, each.partition(":")[0]) if name in IRREVERSIBLE}
    return any(name not in word and not suggest_name(word, [name], is_misspelling=True) for name in options)


def _deny(found: _Search, meant: str) -> str:
    """Return a sentence, and a space before it, for a word with the value false that means a value when true."""
    opposite = OPPOSITES.get(meant, "")
    if opposite and found.has(opposite):
        return f" Did you mean {opposite}?"
    return f" Remove it, or give {meant} in place of true."


def _describe_row(row: Row) -> str:
    """Return a sentence, and a space before it, with the options and the properties of a kind."""
    parent = ["parent"] if isinstance(row, Kind) and row.parent else []
    options = ["name", "uuid", *parent] if isinstance(row, Kind) else list(row.ends)
    properties = [] if isinstance(row, Attachment) else list(list_properties(row))
    given = f", and as properties {', '.join(properties)}" if properties else ""
    return f" Kind {row.name} has the options {', '.join(options)}{given}."


def suggest_value(name: str, choices: Sequence[str], value: str, module: str = "") -> str:
    """Return a sentence, and a space before it, with the value that was probably meant, empty if none is likely.

    The value may mean another option of the ``module``, or of the option whose suboptions they are.
    """
    word = value.casefold()
    if name == "kind" and (hint := suggest_kind(word, choices)):
        return hint
    scope = MODULES_OF_ENTRIES.get(module, module)
    if meant := next(list_meant_values(word, choices, [scope]), ""):
        return f" Did you mean {meant}?"
    return find_remark(word, scope) or suggest_choice(value, choices)
