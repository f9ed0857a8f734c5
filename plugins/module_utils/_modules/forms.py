"""The names and the form of options.

Ansible names all options after a misspelling, and Python types in messages, and converts a list to a string without a
word.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_float,
)

from .._api.errors import InvalidOptions
from .._api.operation import check_whole_number
from .._masking.masker import collect_secrets, has_any_members
from .._masking.patterns import MASK
from .sizes import convert_size, explain_size
from .words import VARIABLES, find_example, is_in_seconds, show_text

_CONVERTED: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (check_type_bool, "true or false"),
    "bytes": (convert_size, "a size, such as 16G"),
    "dict": (check_type_dict, "a mapping"),
    "float": (check_type_float, "a number"),
    "int": (check_whole_number, "a whole number"),
}

# What Ansible shows in place of a secret.
_HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"

_MASKED = re.compile(rf"(?<!\*){re.escape(MASK)}(?!\*)|{_HIDDEN}")

# The options whose values nobody means as true or false.
_TEXTS = ("description", "name", "remark", "tags", "user_tags")

_SHOWN = 60


def check_forms(
    specs: Mapping[str, Any], values: Mapping[str, Any], place: str = "", record_type: str = "", module: str = ""
) -> None:
    """Raise InvalidOptions for an unknown option, and for a value, or one of the environment, of another form.

    ``specs`` is an argument spec, ``values`` are options by their names or aliases. ``place`` precedes the names of
    suboptions in messages. ``record_type`` is the type of the records that the ``module`` lists.
    """
    # They decide which other options there are.
    for name in ("kind", "type"):
        if isinstance(values.get(name), str) and specs.get(name, {}).get("choices"):
            check_form(f"{place}{name}", specs[name], values[name], module=module)
    check_names(specs, values, place, record_type, module)
    for name, spec in specs.items():
        _refuse_two_values(place, name, spec, values)
        for given in (name, *spec.get("aliases", ())):
            if isinstance(values.get(given), (list, tuple)) and spec.get("type") == "str" and f"{name}s" in specs:
                shown = _show_value(spec, values[given])
                raise InvalidOptions(f"{place}{given} must be one string{shown}. Did you mean {name}s?")
            if isinstance(values.get(given), (list, tuple)) and spec.get("type") == "str" and "query" in specs:
                _refuse_several(f"{place}{given}", name, spec, values[given], record_type)
            if given in values and values[given] is None:
                _refuse_null(f"{place}{given}", spec)
            elif values.get(given) is not None:
                _refuse_masked(f"{place}{given}", spec, values[given])
                check_form(f"{place}{given}", spec, values[given], module=module)
        variables = [] if values.get(name) is not None else _list_variables(spec)
        for variable in variables:
            check_form(variable, spec, os.environ[variable], name)


def _refuse_two_values(place: str, name: str, spec: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for an option and its alias with different values, of which Ansible would take one."""
    given = [each for each in (name, *spec.get("aliases", ())) if values.get(each) is not None]
    if len({str(values[each]) for each in given}) > 1:
        raise InvalidOptions(
            f"{place}{' and '.join(given)} are the same option, and have different values. Give only {place}{name}"
        )


def _refuse_several(label: str, name: str, spec: Mapping[str, Any], values: Sequence[Any], record_type: str) -> None:
    """Raise InvalidOptions for several values of an option by which a module lists records."""
    # Only failures need the code for hints.
    from .wrong_forms import explain_several

    if hint := explain_several(name, spec, values, record_type):
        raise InvalidOptions(f"{label} must be one string{_show_value(spec, values)}. {hint}")


def _refuse_null(label: str, spec: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a null that is in the place of a default, or of a value that the option needs."""
    default = spec.get("default")
    if default is not None and not isinstance(default, (list, dict)):
        shown = str(default).lower() if isinstance(default, bool) else default
        raise InvalidOptions(f"{label} must not be null. Omit it, for example with default(omit), to get {shown}")
    if spec.get("required"):
        raise InvalidOptions(f"{label} must not be null{_show_example(label.rpartition('.')[2], spec)}")


def _refuse_masked(label: str, spec: Mapping[str, Any], value: Any) -> None:
    """Raise InvalidOptions for a secret, or a URL, that is copied from a result, in which it is masked."""
    if MASK not in str(value) and _HIDDEN not in str(value):
        return
    name = label.rpartition(".")[2]
    secrets = collect_secrets({name: spec}, {name: value})
    # A text, such as user data, may have a line of asterisks.
    if any(_MASKED.search(secret) for secret in secrets if secret.split() == [secret]):
        raise InvalidOptions(f"{label} contains the mask that hides a secret in results. Give the value itself")


def check_names(
    specs: Mapping[str, Any], names: Iterable[str], place: str = "", record_type: str = "", module: str = ""
) -> None:
    """Raise InvalidOptions, with the option that was probably meant, for a name that no option or alias has."""
    known = {each for name, spec in specs.items() for each in (name, *spec.get("aliases", ()))}
    unknown = [str(name) for name in names if name not in known]
    if unknown:
        # Only failures need hints.
        from .hints import describe_unknown

        scope = _find_scope(place) or module
        given = names if isinstance(names, Mapping) else {}
        label = f"{place.rstrip('.')}: " if place else ""
        raise InvalidOptions(f"{label}{describe_unknown(unknown, specs, scope, record_type, given)}")


def _list_variables(spec: Mapping[str, Any]) -> list[str]:
    """Return the environment variables with a value for an option."""
    return [variable for variable in spec.get("fallback", ((), ()))[1] if os.environ.get(variable)]


def check_form(label: str, spec: Mapping[str, Any], value: Any, name: str = "", module: str = "") -> None:
    """Raise InvalidOptions if the value of an option of a module does not fit the type of the option."""
    name, kind = name or label.rpartition(".")[2], spec.get("type", "str")
    shown = _show_value(spec, value)
    if kind == "list":
        _check_list(label, name, spec, value, module)
        return
    if kind == "str" and name in _TEXTS:
        _refuse_bool(label, value)
    if kind in ("str", "path") and isinstance(value, (Mapping, list, tuple)):
        # Only failures need the code for hints, here and below.
        from .wrong_forms import explain_object

        hint = explain_object(name, spec, value, module)
        noun = "string" if kind == "str" else "path"
        raise InvalidOptions(f"{label} must be one {noun}{_show_example(name, spec)}{shown}{hint}")
    if kind in _CONVERTED:
        convert, meaning = _CONVERTED[kind]
        try:
            converted = convert(value)
        except (TypeError, ValueError):
            unit = " of seconds" if is_in_seconds(name, spec) else ""
            reason = explain_size(value) if kind == "bytes" else ""
            raise InvalidOptions(
                f"{label} must be {meaning}{unit}{_show_example(name, spec, value)}{shown}{reason}"
            ) from None
        if kind == "dict":
            _check_suboptions(f"{label}.", spec, converted)
    if isinstance(value, (str, bool)) and spec.get("choices") and str(value) not in map(str, spec["choices"]):
        _refuse_known_word(label, name, spec["choices"], str(value), module)


def _refuse_bool(label: str, value: Any) -> None:
    """Raise InvalidOptions for true or false in place of a text."""
    if isinstance(value, bool):
        raise InvalidOptions(
            f"{label} must be a string, not {str(value).lower()}. YAML reads yes, no, on and off, unless in quotes, as"
            " true and false. Write quotes around it"
        )


def _refuse_known_word(label: str, name: str, choices: Sequence[str], value: str, module: str) -> None:
    """Raise InvalidOptions for a value that means one of the choices. Ansible refuses all others."""
    from .hints import suggest_value

    if hint := suggest_value(name, choices, value, module):
        quoted = " YAML reads on and off, unless in quotes, as true and false." if value in ("True", "False") else ""
        raise InvalidOptions(f"value of {label} must be one of: {', '.join(choices)}, got: {value}.{hint}{quoted}")


def _check_list(label: str, name: str, spec: Mapping[str, Any], value: Any, module: str) -> None:
    """Raise InvalidOptions for a mapping in place of a list, and for items that do not fit the type of its elements."""
    if isinstance(value, Mapping):
        from .wrong_forms import explain_list

        raise InvalidOptions(
            f"{label} must be a list{_show_example(name, spec)}{_show_value(spec, value)}{explain_list(name, value)}"
        )
    if spec.get("choices") and value in ("", [""]):
        raise InvalidOptions(f"{label} must not be an empty string. Its values are {', '.join(spec['choices'])}.")
    # Ansible makes a list of a string at its commas.
    items = value.split(",") if isinstance(value, str) and spec.get("elements") in ("dict", "int") else value
    for number, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
        _check_item(f"{label}[{number}]", name, spec, item, module)
        if isinstance(item, str) and spec.get("choices") and item not in spec["choices"]:
            _refuse_known_word(label, name, spec["choices"], item, module)


def _check_item(label: str, name: str, spec: Mapping[str, Any], item: Any, module: str) -> None:
    """Raise InvalidOptions if an item of a list cannot be meant in the type of the list's elements."""
    kind, listed = spec.get("elements"), label.rpartition("[")[0]
    shown = _show_value(spec, item)
    if kind == "str" and isinstance(item, (Mapping, list, tuple)):
        from .wrong_forms import explain_object

        hint = explain_object(name, spec, item, module).replace(". It is", f". {label} is")
        raise InvalidOptions(f"each item of {listed} must be a string{_show_example(name, spec)}{shown}{hint}")
    if kind == "str" and name in _TEXTS:
        _refuse_bool(label, item)
    if kind == "int":
        try:
            check_whole_number(item)
        except (TypeError, ValueError):
            raise InvalidOptions(f"each item of {listed} must be a whole number{shown}{_explain_range(item)}") from None
    if kind == "dict":
        try:
            converted = check_type_dict(item)
        except (TypeError, ValueError):
            raise InvalidOptions(
                f"each item of {listed} must be a mapping{_show_example(name, spec, item)}{shown}"
            ) from None
        _check_suboptions(f"{label}.", spec, converted)


def _explain_range(item: Any) -> str:
    """Return how to write the numbers of a range, after a period; empty for other values."""
    if ends := re.fullmatch(r"\s*(\d+)\s*(?:-|\.\.)\s*(\d+)\s*", str(item)):
        return f". For a range, write {{{{ range({ends[1]}, {int(ends[2]) + 1}) | list }}}}"
    return ""


def _check_suboptions(place: str, spec: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check the suboptions of an option, unless it has members of any name."""
    if "options" in spec:
        check_forms(spec["options"], values, place, module=_find_scope(place))


def _find_scope(place: str) -> str:
    """Return the option whose suboptions have a place, an empty string for the options themselves."""
    return re.sub(r"\[\d+\]", "", place.rstrip(".")).rpartition(".")[2]


def _show_example(name: str, spec: Mapping[str, Any], value: Any = None) -> str:
    """Return the example for an option with its introduction, or an empty string.

    The text of a variable that is no text is probably that of the command line.
    """
    if isinstance(value, str) and name in VARIABLES:
        return f", such as {VARIABLES[name]}, or {show_text(name)}"
    if example := find_example(name, spec):
        return f", such as {example}"
    parts = spec.get("options") or {}
    needed = [part for part, rules in parts.items() if rules.get("required")] or list(parts)[:2]
    mapping = ", ".join(f"{part}: ..." for part in needed)
    example = f"[{{{mapping}}}]" if spec.get("type") == "list" else f"{{{mapping}}}"
    return f", such as {example}" if mapping else ""


def quote_value(value: Any) -> str:
    """Return a value as messages show it: a date, which YAML makes of a text without quotes, as the user wrote it."""
    if isinstance(value, list):
        return f"[{', '.join(map(quote_value, value))}]"
    return str(value) if isinstance(value, datetime.date) else repr(value)


def _show_value(spec: Mapping[str, Any], value: Any) -> str:
    """Return a value with its introduction, abbreviated, or an empty string if it may contain a secret."""
    if spec.get("no_log") or has_any_members(spec):
        return ""
    text = quote_value(value)
    return f", not {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'}"
