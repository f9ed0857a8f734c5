"""The names and the form of options.

Ansible names all options after a misspelling, and Python types in messages, and converts a list to a string without a
word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_bytes,
    check_type_dict,
    check_type_float,
    check_type_int,
)

from .._api.errors import InvalidOptions, suggest_name
from .._masking.masker import has_any_members
from .options import CONNECTION

_CONVERTED: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (check_type_bool, "true or false"),
    "bytes": (check_type_bytes, "a size, such as 16G"),
    "dict": (check_type_dict, "a mapping"),
    "float": (check_type_float, "a number"),
    "int": (check_type_int, "a whole number"),
}

# How to write the options that are often written in another form.
_EXAMPLES = {
    "jobs": "such as ['{{ started.job }}']",
    "objects": "such as [{name: vm-2}, {name: vm-4}]. The filter columns_to_rows makes them from lists",
    "query": "such as ['name=web-1', 'state=Running']",
    "tags": "such as ['env::prod']",
    "user_tags": "such as ['env::prod']",
    "wait_for": "such as {field: state, values: [Running]}",
}

# Words that users expect as names of options, and the options that they may mean.
_OTHER_WORDS = {
    "cpu": ("cpu_num",),
    "host": ("hosts", "name"),
    "hostname": ("name", "management_ip"),
    "ip": ("management_ip", "static_ip", "query"),
    "ip_address": ("management_ip", "static_ip", "query"),
    "mac": ("custom_mac",),
    "memory": ("memory_size",),
    "network": ("l3_network",),
    "state": ("query",),
    "status": ("query",),
    "timeout": ("wait_timeout", "request_timeout"),
    "token": ("api_token",),
    "url": ("base_url",),
    "user": ("username", "account"),
    "vm": ("vms", "name"),
    "wait_timeout": ("wait_for",),
}
_SECONDS = ("timeout", "interval")
_SHOWN = 60


def check_forms(specs: Mapping[str, Any], values: Mapping[str, Any], place: str = "") -> None:
    """Raise InvalidOptions for an unknown option, and for a value, or one of the environment, of another form.

    ``specs`` is an argument spec, ``values`` are options by their names or aliases. ``place`` precedes the names of
    suboptions in messages.
    """
    check_names(specs, values, place)
    for name, spec in specs.items():
        for given in (name, *spec.get("aliases", ())):
            if values.get(given) is not None:
                _check_form(f"{place}{given}", spec, values[given])
        variables = [] if values.get(name) is not None else _list_variables(spec)
        for variable in variables:
            _check_form(variable, spec, os.environ[variable], name)


def check_names(specs: Mapping[str, Any], names: Iterable[str], place: str = "") -> None:
    """Raise InvalidOptions, with the option that was probably meant, for a name that no option or alias has."""
    known = {each: None for name, spec in specs.items() for each in (name, *spec.get("aliases", ()))}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        place = f"{place.rstrip('.')}: " if place else ""
        raise InvalidOptions(f"{place}there is no option {unknown}.{_suggest_option(str(unknown), known)}")


def _suggest_option(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the option that was probably meant, or with all but those of the connection."""
    known = list(known)
    endings = (name[position + 1 :] for position, character in enumerate(name) if character == "_")
    meant = next((option for option in (*_OTHER_WORDS.get(name, ()), *endings) if option in known), "")
    if hint := f" Did you mean {meant}?" if meant else suggest_name(name, known):
        return hint
    own = [option for option in known if option not in CONNECTION]
    others = ", and those of the connection" if len(own) < len(known) else ""
    return f" The options are {', '.join(own)}{others}."


def _list_variables(spec: Mapping[str, Any]) -> list[str]:
    """Return the environment variables with a value for an option."""
    return [variable for variable in spec.get("fallback", ((), ()))[1] if os.environ.get(variable)]


def _check_form(label: str, spec: Mapping[str, Any], value: Any, name: str = "") -> None:
    """Raise InvalidOptions if the value of an option does not fit the type of the option."""
    name, kind = name or label.rpartition(".")[2], spec.get("type", "str")
    shown = _show_value(spec, value)
    if kind == "list":
        if isinstance(value, Mapping):
            raise InvalidOptions(f"{label} must be a list{_show_example(name)}{shown}")
        for number, item in enumerate(value if isinstance(value, (list, tuple)) else ()):
            _check_item(f"{label}[{number}]", name, spec, item)
        return
    if kind == "str" and isinstance(value, (Mapping, list, tuple)):
        hint = ". virtinfra.manager.batch runs the module for many objects" if "parameter" in spec else ""
        raise InvalidOptions(f"{label} must be one string{shown}{hint}")
    if kind in _CONVERTED:
        convert, meaning = _CONVERTED[kind]
        try:
            converted = convert(value)
        except (TypeError, ValueError):
            unit = " of seconds" if name.endswith(_SECONDS) and kind != "dict" else ""
            raise InvalidOptions(f"{label} must be {meaning}{unit}{_show_example(name)}{shown}") from None
        if kind == "dict":
            _check_suboptions(f"{label}.", spec, converted)


def _check_item(label: str, name: str, spec: Mapping[str, Any], item: Any) -> None:
    """Raise InvalidOptions if an item of a list cannot be meant in the type of the list's elements."""
    kind = spec.get("elements")
    shown = _show_value(spec, item)
    if kind == "str" and isinstance(item, (Mapping, list, tuple)):
        raise InvalidOptions(f"each item of {name} must be a string{_show_example(name)}{shown}")
    if kind == "dict":
        try:
            converted = check_type_dict(item)
        except (TypeError, ValueError):
            raise InvalidOptions(f"each item of {name} must be a mapping{_show_example(name)}{shown}") from None
        _check_suboptions(f"{label}.", spec, converted)


def _check_suboptions(place: str, spec: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check the suboptions of an option, unless it has members of any name."""
    if "options" in spec:
        check_forms(spec["options"], values, place)


def _show_example(name: str) -> str:
    """Return the example for an option with its introduction, or an empty string."""
    return f", {_EXAMPLES[name]}" if name in _EXAMPLES else ""


def _show_value(spec: Mapping[str, Any], value: Any) -> str:
    """Return a value with its introduction, abbreviated, or an empty string if it may contain a secret."""
    if spec.get("no_log") or has_any_members(spec):
        return ""
    text = repr(value)
    return f", not {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'}"
