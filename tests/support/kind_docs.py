"""Documents the kinds of the module ``resource`` from their rows: tables of a guide, and a doc fragment with options.

The session ``format`` writes both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import (
    Property,
    list_properties,
    name_property,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import (
    ATTACHMENTS,
    KINDS,
    SETTINGS,
    Kind,
    Parts,
    Setting,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import (
    list_kinds,
    list_states,
    map_ends,
)
from tools.catalogue import read_facts

from support.collection import ROOT

FRAGMENT = ROOT / "plugins" / "doc_fragments" / "_kinds.py"

TEMPLATE = '''\
# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document kinds of objects, their properties, and objects of attachments. The session ``format`` writes this file."""

from __future__ import annotations


class ModuleDocFragment:
    """The options with the kind, with its properties, and with the two objects of an attachment."""

    DOCUMENTATION = r"""
options:
{options}
"""
'''

WORDS = {
    "eip": "EIP",
    "iso": "ISO image",
    "l2_network": "L2 network",
    "l3_network": "L3 network",
    "listener": "listener of a load balancer",
    "nic": "NIC of a VM",
    "port_forwarding": "port forwarding rule",
    "vm": "VM",
}
"""The terms for objects of attachments that differ from their options."""


def format_fragment() -> str:
    """Return the text of the doc fragment."""
    return TEMPLATE.format(options="\n".join([*_format_kinds(), *_format_properties(), *_format_ends()]))


def _format_kinds() -> Iterator[str]:
    yield "  kind:"
    yield "    description:"
    yield "      - The kind of object, of an attachment of two objects, or of a setting of a VM."
    yield "      - V(tag) is a tag pattern. The user tags of an object of any kind are those of O(tags)."
    yield "    type: str"
    yield "    required: true"
    yield "    choices:"
    yield from (f"      - {name}" for name in list_kinds())


_PROPERTIES_OF_KINDS = (
    "These are those of each kind, strings unless something else is said. Those with an exclamation mark are required"
    " to create an object, and those after the semicolon cannot be changed."
)


def _format_properties() -> Iterator[str]:
    yield "  properties:"
    yield "    description:"
    texts = [
        "The properties of the object, in snake case. Those that are not given are neither compared nor changed.",
        "A property that refers to another object takes its uuid, or its name if objects of its type have names.",
        "A size in bytes can have a unit, as in V(100G).",
        "The values of C(url) and of properties named like a password, secret or token are masked in all output.",
        _PROPERTIES_OF_KINDS,
        *(f"V({row.name}) - {_list_briefly(row)}" for row in (*KINDS, *SETTINGS)),
    ]
    for text in texts:
        # YAML reads a colon, and a mark after a blank, as its own.
        yield from textwrap.wrap(f'"{text}"', 120, initial_indent="      - ", subsequent_indent="        ")
    yield "    type: dict"
    yield "    default: {}"


def _list_briefly(row: Kind | Setting) -> str:
    """Return the names of the properties of a kind with their types, first those that can be changed."""
    properties = list_properties(row).values()
    groups = [
        [_name_briefly(each) for each in properties if each.can_change == can_change] for can_change in (True, False)
    ]
    return "; ".join(", ".join(group) or "none" for group in groups if group or group is groups[0])


def _name_briefly(each: Property) -> str:
    parameter = each.parameter
    kind = {"str": "", "long": "int"}.get(parameter.type, parameter.type)
    if each.refers_to:
        kind = f"list of {each.refers_to.noun}s" if parameter.type == "list" else each.refers_to.noun
    elif each.is_reference:
        kind = "uuid"
    elif parameter.choices:
        kind = ", ".join(parameter.choices)
    elif each.is_size:
        kind = "size"
    is_told = kind.replace(" ", "_") == each.name
    return f"{each.name}{'!' if each.is_required else ''}{f' ({kind})' if kind and not is_told else ''}"


def _format_ends() -> Iterator[str]:
    for end, parameter in map_ends().items():
        kinds = [row.name for row in (*ATTACHMENTS, *SETTINGS) if end in row.ends]
        used = " and ".join(filter(None, [", ".join(f"V({name})" for name in kinds[:-1]), f"V({kinds[-1]})"]))
        how = "by uuid" if end == "nic" else "by name or uuid"
        yield f"  {end}:"
        yield "    description:"
        text = f"The {_name_end(end)}, {how}, for O(kind) {used}."
        yield from textwrap.wrap(text, 120, initial_indent="      - ", subsequent_indent="        ")
        yield "    type: str"
        yield f"    aliases: [{name_property(parameter)}_uuid]"


def _name_end(end: str) -> str:
    return WORDS.get(end, end.replace("_", " "))


def list_kind_cells() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table of the kinds: the kind, its parent, its states, and what a removal affects."""
    for kind in KINDS:
        uses = ", ".join(dict.fromkeys(use.type.replace("_", " ") + "s" for use in kind.uses)) or "--"
        parent = name_property(kind.parent).replace("_", " ") if kind.parent else "--"
        states = ", ".join(f"``{state}``" for state in list_states(kind))
        yield f"{kind.name}{_name_server(kind)}", "account" if parent == "identity" else parent, states, uses


def _name_server(row: Kind | Setting) -> str:
    """Return the only server that has all operations of a kind, in parentheses, empty if both have them."""
    servers = {fact.name: fact.servers for fact in read_facts()}
    names = [
        name for name in (row.create.values() if isinstance(row, Kind) else [row.change]) if name not in OPERATIONS
    ]
    return " (ZSvirt)" if any(servers[name] == "z" for name in names) else ""


def list_property_cells() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table of properties: kind, property, type and choices, remarks."""
    for kind in KINDS:
        for each in list_properties(kind).values():
            yield kind.name, each.name, _describe_type(each), _describe_use(kind, each)


def _describe_type(each: Property) -> str:
    if each.parts:
        return _describe_parts(each.parts)
    parameter = each.parameter
    if each.is_reference:
        noun = f"{each.refers_to.noun}, by name or uuid" if each.refers_to else "uuid of an object"
        return f"list of each {noun}" if parameter.type == "list" else noun
    choices = ", ".join(f"``{choice}``" for choice in parameter.choices)
    kind = "int" if parameter.type == "long" else parameter.type
    return "size" if each.is_size else f"{kind}{f': {choices}' if choices else ''}"


def _describe_parts(parts: Parts) -> str:
    members = [name_property(name) + _describe_choices(choices) for name, choices in parts.members.items()]
    return f"list, complete; members: {', '.join(members)}"


def _describe_choices(choices: tuple[str, ...]) -> str:
    return f" ({', '.join(choices)})" if choices else ""


def _describe_use(kind: Kind, each: Property) -> str:
    remarks = ["required"] if each.is_required else []
    selecting = {name_property(name): operation for name, operation in kind.create.items() if name}
    if each.name in selecting:
        remarks.append(f"selects {selecting[each.name]}")
    if not each.can_change:
        remarks.append("cannot be changed")
    if not each.is_shown:
        remarks.append("not compared")
    if unit := kind.units.get(each.parameter.name):
        remarks.append(f"a number of {unit}")
    if each.parameter.name in kind.change:
        remarks.append("can only grow")
    for name, other, values, _ in kind.fits:
        condition = (
            f"only with {name_property(other)} {' or '.join(values)}" if values else f"not with {name_property(other)}"
        )
        remarks += [condition] if name == each.parameter.name else []
    for names, other, dummy in kind.needs:
        others = [name_property(name) for name in names if name != each.parameter.name]
        remarks += [f"this or {' or '.join(others)} is required"] if each.parameter.name in names and not other else []
    return ", ".join(remarks) or "--"


def list_attachment_cells() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table of attachments: the kind, its two options, and its operations."""
    for row in ATTACHMENTS:
        ends = " and ".join(f"``{end}``" for end in row.ends)
        single = "The first can have one at a time." if row.is_exclusive else "--"
        yield row.name, ends, f"{row.attach}, {row.detach}", single


def list_setting_cells() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table of settings: the kind, its option, its property, and what remains without it."""
    for row in SETTINGS:
        ends = " and ".join(f"``{end}``" for end in row.ends)
        (value,) = list_properties(row).values()
        default = ", ".join(f"``{item}``" for item in row.default or ()) or "none"
        yield f"{row.name}{_name_server(row)}", ends, f"``{value.name}``: {_describe_type(value)}", default


def main() -> None:
    """Write the doc fragment."""
    FRAGMENT.write_text(format_fragment(), encoding="utf-8")


if __name__ == "__main__":
    main()
