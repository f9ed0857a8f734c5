"""Find names in the expressions of an inventory source that are no variable of any host.

Without ``strict``, core makes no group and no variable for them, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._api.errors import InvalidOptions, suggest_name
from .._jinja.compose import MAGIC
from .._jinja.references import find_required_names
from .hostvars import HostEntry, HostVars
from .selection import ADDRESS
from .vm_names import VM_NAMES

# The options that add values to the records of hosts, by the API names of the values.
OPTIONS_OF_VALUES = {
    "userTags": "user_tags",
    "clusterName": "related_names",
    "zoneName": "related_names",
    "bondings": "network_facts",
    "nics": "network_facts",
    "networkFactsError": "network_facts",
    "primaryStorages": "primary_storages",
    **{field: names.option for field, names in VM_NAMES.items()},
}

# The members of an entry of keyed_groups, of which core ignores others.
KEYED = ("key", "prefix", "separator", "parent_group", "default_value", "trailing_separator")


class Place(NamedTuple):
    """An expression, the option that contains it, whether it can use composed variables, and if it is a condition."""

    label: str
    source: Any
    sees_composed: bool
    is_condition: bool = False


def check_keyed_groups(plugin: Any) -> None:
    """Raise InvalidOptions for an entry of keyed_groups without a key, or with a member that core would ignore."""
    for entry in plugin.get_option("keyed_groups") or ():
        if not isinstance(entry, Mapping):
            continue
        if entry.get("key") is None:
            raise InvalidOptions(f"keyed_groups: the entry {dict(entry)} has no key. Give an expression as key.")
        if "{{" in str(entry.get("prefix", "")):
            raise InvalidOptions("keyed_groups: prefix is a text, in which braces are not evaluated. Put them in key.")
        for name in entry:
            if name not in KEYED:
                raise InvalidOptions(f"keyed_groups: an entry has no {name}.{suggest_name(str(name), KEYED)}")


def check_names(plugin: Any, entries: Sequence[HostEntry], hostvars: HostVars) -> None:
    """Raise InvalidOptions for a name in an expression that no host has.

    An expression may use such a name with ``default`` or ``is defined``. Without hosts, no name is checked.
    """
    if not entries:
        return
    fields = {hostvars.name_variable(field): field for field in hostvars.fields.values()}
    composed = frozenset(plugin.get_option("compose") or {})
    for place in list_places(plugin):
        _check_condition(place, entries)
        known = composed if place.sees_composed else frozenset()
        for name in sorted(find_required_names(place.source) - known):
            if name in fields:
                _check_option(plugin, place, name, fields[name])
            elif not _is_known(plugin, name, entries):
                hint = _suggest(plugin, place, name, known.union(fields))
                raise InvalidOptions(f"{place.label}: no host has a variable {name}.{hint}")


def _check_condition(place: Place, entries: Sequence[HostEntry]) -> None:
    """Raise InvalidOptions for a condition that is only a variable with a text, which is neither true nor false."""
    name = str(place.source).strip()
    values = (entry.variables.get(name) for entry in entries)
    text = next((value for value in values if isinstance(value, str)), None)
    if place.is_condition and text is not None:
        raise InvalidOptions(
            f"{place.label}: {name} is a text, not true or false. Compare it, such as {name} == {str(text)!r}"
        )


def list_places(plugin: Any) -> Iterator[Place]:
    """Yield the expressions of a source that are evaluated for every host."""
    for option in ("include", "exclude"):
        yield from (Place(option, source, False, True) for source in plugin.get_option(option))
    for source in plugin.get_option("hostnames"):
        # A single name may also be that of a field, which is checked when the names are assigned.
        if not str(source).strip().isidentifier():
            yield Place("hostnames", source, False)
    for name, source in (plugin.get_option("compose") or {}).items():
        yield Place(f"compose: {name}", source, False)
    for name, source in (plugin.get_option("groups") or {}).items():
        yield Place(f"groups: {name}", source, True, True)
    for entry in plugin.get_option("keyed_groups") or ():
        if isinstance(entry, Mapping):
            yield Place("keyed_groups", entry["key"], True)


def _is_known(plugin: Any, name: str, entries: Sequence[HostEntry]) -> bool:
    """Return whether a host of the source, or of an earlier source, has the variable, or core adds it."""
    if name in (*MAGIC, ADDRESS) or name in (plugin._vars or ()):
        return True
    if any(name in entry.variables for entry in entries):
        return True
    return any(name in host.vars for host in plugin.inventory.hosts.values())


def _check_option(plugin: Any, place: Place, name: str, field: str) -> None:
    """Raise InvalidOptions if only an option adds the variable, and the option is off."""
    option = OPTIONS_OF_VALUES.get(field)
    if option in plugin.option_definitions and plugin.get_option(option) is False:
        raise InvalidOptions(f"{place.label}: the variable {name} needs {option}: true.")


def _suggest(plugin: Any, place: Place, name: str, known: Collection[str]) -> str:
    """Return sentences that say what the user probably meant."""
    prefix = plugin.get_option("hostvars_prefix")
    affixed = f"{prefix}{name}{plugin.get_option('hostvars_suffix')}"
    if f"{name}_name" in known:
        return f" Did you mean {name}_name?"
    # All variables of hosts have the prefix, so it says nothing about what was meant.
    beginning = prefix if name.startswith(prefix) else ""
    ends = [each.removeprefix(beginning) for each in known if each.startswith(beginning)]
    similar = suggest_name(name.removeprefix(beginning), ends).replace("mean ", f"mean {beginning}")
    hint = f" Did you mean {affixed}?" if affixed in known else similar
    if not hint and not beginning:
        affixed_name = f"{prefix}name{plugin.get_option('hostvars_suffix')}"
        hint = _suggest_text(place, name, affixed_name)
    if not hint and beginning:
        return f" The variables are {', '.join(sorted(each for each in known if each.startswith(beginning)))}."
    return hint or f" Where a variable may be missing, write {name} | default('')."


def _suggest_text(place: Place, name: str, variable: str) -> str:
    """Return how to write a text that is given without quotes, such as a host name, of which ``name`` is the beginning.

    ``variable`` is that of the names of hosts.
    """
    source = str(place.source).strip()
    text = re.search(rf"(?<![\w.'\"-]){re.escape(name)}(-[\w.-]+)?", source)
    if text and place.is_condition and source == text[0]:
        return f" To select the host {source}, write {variable} == {source!r}."
    if text and text[1]:
        return f" To give the text {text[0]}, write it in quotes: {text[0]!r}."
    return f""" To give the text {name}, write "'{name}'", with both kinds of quotes.""" if source == name else ""
