"""Find names in the expressions of an inventory source that are no variable of any host.

Without ``strict``, core makes no group and no variable for them, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._api.errors import InvalidOptions, suggest_name
from ...module_utils._api.field_values import FIELD_VALUES
from ...module_utils._api.record_fields import NESTED
from .._jinja.compose import MAGIC
from .._jinja.references import find_required_names, joins_name
from .hostvars import HostEntry, HostVars, is_variable_name
from .selection import ADDRESS, find_meant_names
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

# What adds a member to the records of a type, by the type and the name of the member in variables.
OPTIONS_OF_MEMBERS = {
    (record, "l3_network_name"): "networks with the name of a network, such as networks: [l3-1]"
    for record in (NESTED["vmNics"], NESTED["usedIps"])
}

# The members of an entry of keyed_groups, of which core ignores others.
KEYED = ("key", "prefix", "separator", "parent_group", "default_value", "trailing_separator")


# Members of an entry that are texts, and how to evaluate a variable.
_KEYED_TEXTS = {
    "prefix": "Join it to the key, such as {0} ~ '_' ~ virtinfra_state",
    "parent_group": "Write parent_group: '{{{{ {0} }}}}'",
}

# The prefix of variables without the option hostvars_prefix, and words for user tags.
_PREFIX = "virtinfra_"
_TAGS = ("tag", "tags", "label", "labels")


class Place(NamedTuple):
    """An expression, the option that contains it, whether it can use composed variables, and if it is a condition."""

    label: str
    source: Any
    sees_composed: bool
    is_condition: bool = False


def check_keyed_groups(plugin: Any, hostvars: HostVars) -> None:
    """Raise InvalidOptions for an entry of keyed_groups without a key, or with a member that core would ignore.

    Warn of the name of a variable where a text is needed.
    """
    for entry in plugin.get_option("keyed_groups") or ():
        if not isinstance(entry, Mapping):
            continue
        if entry.get("key") is None:
            raise InvalidOptions(f"keyed_groups: the entry {dict(entry)} has no key. Give an expression as key.")
        if "{{" in str(entry.get("prefix", "")):
            raise InvalidOptions("keyed_groups: prefix is a text, in which braces are not evaluated. Put them in key.")
        for name in entry:
            if name not in KEYED:
                raise InvalidOptions(f"keyed_groups: an entry has no {name}.{_suggest_member(plugin, str(name))}")
        for name, remedy in _KEYED_TEXTS.items():
            if hostvars.is_generated_variable(value := str(entry.get(name))):
                plugin.warn(f"keyed_groups: {name} is a text, so {value} is not evaluated. {remedy.format(value)}")


def _suggest_member(plugin: Any, name: str) -> str:
    """Return a sentence, and a space before it, with the member of an entry that was probably meant."""
    if name in plugin.option_definitions:
        return " It is an option of the source: write it beside keyed_groups, not in an entry."
    return suggest_name(name, KEYED) or f" Its members are {', '.join(KEYED)}."


def check_names(plugin: Any, entries: Sequence[HostEntry], hostvars: HostVars) -> None:
    """Raise InvalidOptions for a name in an expression that no host has.

    An expression may use such a name with ``default`` or ``is defined``. Without hosts, no name is checked.
    """
    if not entries:
        return
    fields = {hostvars.name_variable(field): field for field in hostvars.fields.values()}
    composed = frozenset(plugin.get_option("compose") or {})
    for place in list_places(plugin):
        known = composed if place.sees_composed else frozenset()
        if str(place.source).strip() not in known:
            _check_condition(place, entries)
            _check_key(place, entries)
            _check_host_name(place, entries)
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


def _check_key(place: Place, entries: Sequence[HostEntry]) -> None:
    """Raise InvalidOptions for a key that is a variable with a list of mappings, of which core makes long names."""
    if place.label != "keyed_groups":
        return
    name = str(place.source).strip()
    for entry in entries:
        value = entry.variables.get(name)
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            member = next((each for each in ("name", "ip", "uuid") if each in value[0]), "name")
            raise InvalidOptions(
                f"keyed_groups: {name} is a list of mappings, whose members name no groups as a whole. Write"
                f" {name} | map(attribute='{member}')."
            )


def _check_host_name(place: Place, entries: Sequence[HostEntry]) -> None:
    """Raise InvalidOptions for a variable with a text, and a domain behind it, which Jinja reads as its member."""
    parts = re.fullmatch(r"(\w+)(\.([^\W\d][\w-]*)[\w.-]*)", str(place.source).strip())
    if place.label != "hostnames" or not parts or hasattr(str, parts[3]):
        return
    if any(isinstance(entry.variables.get(parts[1]), str) for entry in entries):
        raise InvalidOptions(
            f"hostnames: {parts[1]} is a text, and has no member {parts[3]}. To join it to a text, write"
            f' "{{{{ {parts[1]} }}}}{parts[2]}".'
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
    if hint := _suggest_value(plugin, place, name) or _suggest_of_prefix(plugin, name, known):
        return hint
    if place.label == "hostnames" and re.fullmatch(r"\w+(-\w+)+", str(place.source).strip()):
        address = f"{prefix}management_ip" if f"{prefix}management_ip" in known else f"{prefix}addresses[0]"
        return f" The minus signs subtract. To name hosts by their names or addresses, write {prefix}name or {address}."
    if hint := _suggest_meant(plugin, name, known):
        return hint
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


def _suggest_of_prefix(plugin: Any, name: str, known: Collection[str]) -> str:
    """Return the variable that is meant by a word for tags, or by a name with the prefix that the source changes."""
    meant = "user_tags" if name in _TAGS else name.removeprefix(_PREFIX)
    variable = f"{plugin.get_option('hostvars_prefix')}{meant}{plugin.get_option('hostvars_suffix')}"
    if meant == name:
        return ""
    if not is_variable_name(variable):
        return f" Ansible reserves {variable}, so hosts have no such variable. Set another hostvars_prefix."
    has_tags = meant != "user_tags" or plugin.get_option("user_tags")
    return f" Did you mean {variable}?{'' if has_tags else ' It needs user_tags: true.'}" if variable in known else ""


def _suggest_meant(plugin: Any, name: str, known: Collection[str]) -> str:
    """Return the variables that are meant by a word such as os or ip."""
    prefix, suffix = plugin.get_option("hostvars_prefix"), plugin.get_option("hostvars_suffix")
    fields = [each.removeprefix(prefix).removesuffix(suffix) for each in known]
    meant = []
    for each in find_meant_names(name.removeprefix(prefix).removesuffix(suffix), fields):
        field, dot, member = each.partition(".")
        meant.append(f"{prefix}{field}{suffix}{'[0]' if dot else ''}{dot}{member}")
    return f" Did you mean {' or '.join(meant)}?" if meant else ""


def _suggest_value(plugin: Any, place: Place, name: str) -> str:
    """Return how to write a value of a field that is given without quotes; empty if the name is none."""
    documented = FIELD_VALUES.get(plugin.RESOURCE_TYPE.record, {}).values()
    is_value = any(name in values for values in documented) and joins_name(place.source, name)
    return f" To give the text {name}, write it in quotes: {name!r}." if is_value else ""


def _suggest_text(place: Place, name: str, variable: str) -> str:
    """Return how to write a text that is given without quotes, such as a host name, of which ``name`` is the beginning.

    ``variable`` is that of the names of hosts.
    """
    source = str(place.source).strip()
    text = re.search(rf"(?<![\w.'\"-]){re.escape(name)}([.-][\w.-]+)?", source)
    if text and place.is_condition and source == text[0]:
        return f" To select the host {source}, write {variable} == {source!r}."
    if text and text[1] and place.label == "hostnames" and source == text[0]:
        return f" All hosts would have the same name. Give a field, such as name, or an expression, such as {variable}."
    if text and (text[1] or joins_name(source, name)):
        return f" To give the text {text[0]}, write it in quotes: {text[0]!r}."
    return f""" To give the text {name}, write "'{name}'", with both kinds of quotes.""" if source == name else ""
