"""The variables that hosts get with the option ``variables``, and what must be read for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.conditions import find_meant_fields
from ...module_utils._api.errors import InvalidOptions, describe_unknown_names, suggest_name
from ...module_utils._api.records import RECORD_FIELDS, to_camel_case, to_snake_case
from .._jinja.compose import MAGIC
from .._jinja.references import INDIRECT, find_names, find_words, list_texts
from .hostvars import OF_SERVICE

# The variable with the address, which has no prefix and is not a field of a record.
ADDRESS = "ansible_host"

EXPRESSIONS = ("compose", "groups", "keyed_groups", "hostnames", "include", "exclude")


@dataclass(frozen=True)
class Selection:
    """The variables of a source, by the API names of their fields.

    ``variables`` are the names of the variables that hosts get, None for all. ``visible`` are the fields that are
    variables while expressions are evaluated, and ``needed`` also those that only host names need; both are None for
    all, because an expression may refer to any. ``named`` are the fields that the user names, in the option or in an
    expression.
    """

    variables: frozenset[str] | None = None
    visible: frozenset[str] | None = None
    needed: frozenset[str] | None = None
    named: frozenset[str] = frozenset()

    def needs(self, *fields: str) -> bool:
        """Return whether one of the fields is needed."""
        return self.needed is None or not self.needed.isdisjoint(fields)

    def requests(self, field: str, option: bool | None) -> bool:
        """Return whether to read further objects for a field: if it is needed and the option is true, or named."""
        return self.needs(field) if option else option is None and field in self.named

    def list_cache_key(self) -> list[str] | None:
        """Return what determines which fields are read."""
        return None if self.needed is None else sorted(self.needed)

    def list_record_fields(self, record_type: str, added: Mapping[str, Iterable[str]]) -> frozenset[str] | None:
        """Return the fields of the records that are needed, None for all.

        ``added`` are the fields of the record from which each added value, or the address, is computed.
        """
        if self.needed is None:
            return None
        sources = {source for field in self.needed for source in added.get(field, ())}
        return frozenset(sources | (self.needed & set(RECORD_FIELDS[record_type])))

    def restrict(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the variables of a host without those that only expressions needed."""
        if self.variables is None or self.variables.issuperset(variables):
            return variables
        return {name: value for name, value in variables.items() if name in self.variables}


def create_selection(plugin: Any, record_type: str, added: Iterable[str]) -> Selection:
    """Return the selection of an inventory plugin, from its options; raise InvalidOptions for an unknown variable."""
    prefix, suffix = plugin.get_option("hostvars_prefix"), plugin.get_option("hostvars_suffix")
    fields = {to_snake_case(field): field for field in (*RECORD_FIELDS[record_type], *added, *OF_SERVICE)}
    variables = {f"{prefix}{name}{suffix}": field for name, field in fields.items()}
    fields[ADDRESS] = variables[ADDRESS] = ADDRESS
    texts = list_texts(plugin.get_option(option) for option in EXPRESSIONS)
    words = find_words(texts)
    sources = {str(source).strip() for source in plugin.get_option("hostnames")}
    of_names = {field for name, field in fields.items() if sources & {name, field}}
    in_expressions = {variables[word] for word in words if word in variables}
    requested = plugin.get_option("variables")
    if requested is None:
        return Selection(named=frozenset(in_expressions | of_names))
    _refuse_unknown(requested, fields, variables)
    composed = plugin.get_option("compose") or {}
    listed = {fields[name] for name in requested} | {variables[name] for name in composed if name in variables}
    names = frozenset(composed).union(name for name, field in variables.items() if field in listed)
    visible = frozenset(listed | in_expressions)
    needed = visible | of_names
    if _may_refer_to_others(plugin, texts, words, {*variables, *composed, *MAGIC}, (prefix, suffix)):
        return Selection(names, named=needed)
    return Selection(names, visible, needed, needed)


def _refuse_unknown(names: Iterable[str], fields: Mapping[str, str], variables: Mapping[str, str]) -> None:
    """Raise InvalidOptions for names that no variable has."""
    if unknown := [str(name) for name in names if name not in fields]:
        hints = describe_unknown_names("there is no variable", unknown, lambda name: _suggest(name, fields, variables))
        raise InvalidOptions(f"variables: {hints}")


def _suggest(name: str, fields: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """Return a sentence with the name that was probably meant."""
    if name in variables:
        return f" Did you mean {to_snake_case(variables[name])}? Names have no prefix."
    if meant := find_meant_names(name, fields):
        return f" Did you mean {' or '.join(each.partition('.')[0] for each in meant)}?"
    return suggest_name(to_snake_case(name), fields) or f" The variables are {', '.join(sorted(fields))}."


def find_meant_names(word: str, fields: Iterable[str]) -> list[str]:
    """Return the names of fields that a word may mean, such as management_ip for ip, a member behind a dot."""
    known = {to_camel_case(name): name for name in fields}
    return [to_snake_case(field) for field in find_meant_fields(word, known)]


def _may_refer_to_others(
    plugin: Any, texts: list[str], words: set[str], known: set[str], affixes: tuple[str, str]
) -> bool:
    """Return whether the expressions may refer to fields whose names are not in their texts.

    They may if they look up variables, or contain the name of a field that is not documented; and if they use an extra
    variable or a variable of an earlier source that may be a template.
    """
    prefix, suffix = affixes
    names = find_names(texts)
    if prefix or suffix:
        unknown = {word for word in words - known if word.startswith(prefix) and word.endswith(suffix)}
    else:
        unknown = names - known
    if unknown or words & INDIRECT or (plugin.get_option("use_extra_vars") and names & set(plugin._vars or ())):
        return True
    return any(
        "{" in str(host.vars[name]) for host in plugin.inventory.hosts.values() for name in names & set(host.vars)
    )
