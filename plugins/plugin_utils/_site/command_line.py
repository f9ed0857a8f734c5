"""What ``-e`` loses: Ansible ends a value at a blank, and drops the rest, or sets variables that nothing reads.

It hides those below ``vars`` in a file. No task reads options of the connection among the variables of ``-e``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ansible import context
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import split_args
from ansible.utils.vars import load_extra_vars

from ...module_utils._api.errors import has_word
from ...module_utils._modules.options import CONNECTION
from ...module_utils._modules.wrong_forms import is_conditions
from .._run.encrypted import decrypt_values

# A word that sets a variable which can be read.
_SETTING = re.compile(r"([^\W\d]\w*)=")

# The objects that variables of roles select by conditions.
_SELECTED = ("VmInstanceInventory", "HostInventory")

_CONDITION = re.compile(r"""[\w.]+[~!?<>=]*[=<>][^\s,'"$`\\]+""")


def describe_lost_words(options: Mapping[str, Any]) -> str:
    """Return a sentence on the first words that are no part of a value of these variables of a role; else ``""``.

    Variables below ``vars`` in a file count, too.
    """
    lost = (_describe(name, words, options) for name, words in _list_lost_words() if name in options)
    return next(lost, "") or _describe_nested(options)


def describe_all_lost_words(options: Mapping[str, Any], own: Collection[str]) -> str:
    """Return a sentence on the first words that set no variable which can be read, ``""`` if there are none.

    ``options`` are the variables of the role of a playbook, and ``own`` those that only the playbook has. Variables
    below ``vars`` in a file count, too.
    """
    patterns = {name: {"type": "list", "elements": "str"} for name in own if name.endswith("_pattern")}
    lost = (_describe(name, words, {**patterns, **options}) for name, words in _list_lost_words())
    return next(lost, "") or _describe_nested({*options, *own})


def list_extra_variables() -> Mapping[str, Any]:
    """Return the variables of ``-e``, in files, too. Ansible keeps them."""
    variables: Mapping[str, Any] = load_extra_vars(DataLoader())
    return variables


def is_on_command_line(name: str) -> bool:
    """Return whether a variable of ``-e`` stands on the command line, and not only in a file."""
    texts = [text for text in context.CLIARGS.get("extra_vars") or () if not text.startswith("@")]
    return any(has_word(text, name) for text in texts)


def read_environment() -> dict[str, Any]:
    """Return the options of the connection that a playbook of the collection has: those of the environment."""
    return {name: os.environ.get(_get_variable(name), rules.get("default")) for name, rules in CONNECTION.items()}


def describe_unread_options(
    connection: Mapping[str, Any], template: Callable[[Any], Any] = lambda value: value, place: str = ""
) -> str:
    """Return a sentence on variables of ``-e`` that are meant as options of the connection, ``""`` if there are none.

    The run would work on another service without a word. ``connection`` has the options in effect: a play may set one
    by such a variable, which ``template`` evaluates. ``place`` says where else than in the environment to set them.
    """
    given = list_extra_variables()
    unread = {
        name: option
        for option in CONNECTION
        for name in (option, f"virtinfra_{option}", _get_variable(option))
        if name in given and not _is_in_effect(option, given[name], connection.get(option), template)
    }
    if not unread:
        return ""
    variables = " ".join(f"{_get_variable(option)}=..." for option in dict.fromkeys(unread.values()))
    return (
        f"Roles and playbooks do not read {', '.join(unread)} of -e, and would work on the service of the environment."
        f" Write {variables} before the command{place}. A variable for something else needs another name"
    )


def _get_variable(option: str) -> str:
    """Return the environment variable of an option of the connection."""
    return str(CONNECTION[option]["fallback"][1][0])


def _is_in_effect(option: str, given: Any, effective: Any, template: Callable[[Any], Any]) -> bool:
    """Return whether an option has the value of a variable, or is made of it, such as an address of a host's name."""
    try:
        value = template(given)
    except AnsibleError:
        # What cannot be evaluated has set no option.
        return False
    # -e name=value gives numbers and booleans as texts.
    rules = {option: {"type": CONNECTION[option]["type"]}}
    value, effective = (
        ArgumentSpecValidator(rules).validate({option: each}).validated_parameters[option]
        for each in (decrypt_values(value), effective)
    )
    if value in (None, "") or effective in (None, ""):
        return value in (None, "") and effective in (None, "")
    # The address of another host may begin with it: 10.0.0.1 is no part of 10.0.0.11.
    return bool(value == effective) or (isinstance(value, str) and has_word(str(effective), value))


def _describe_nested(names: Collection[str]) -> str:
    """Return a sentence on variables with these names that a file of ``-e`` has below ``vars``, ``""`` if it has none.

    Ansible hides the variable ``vars`` behind its own one, so only the values of ``-e``, which Ansible keeps, have it.
    """
    nested = list_extra_variables().get("vars")
    below = [name for name in nested if name in names] if isinstance(nested, Mapping) else []
    if not below:
        return ""
    return f"-e has {', '.join(below)} below vars, where nothing reads them. Write them at the top level of the file"


def _list_lost_words() -> Iterator[tuple[str, list[str]]]:
    """Yield the words of each ``-e`` that set nothing, after the word before them, and the name of its variable.

    The name is empty if there is none before them.
    """
    # Ansible does not split the name of a file, nor YAML and JSON, which begin with these characters.
    for text in filter(None, context.CLIARGS.get("extra_vars") or ()):
        name, words = "", [""]
        for word in split_args(text) if text[0] not in "@[{" else ():
            setting = _SETTING.match(word)
            if setting and not (is_conditions(name) and _is_field(setting[1])):
                if words[1:]:
                    yield name, words
                name, words = setting[1], [word.strip()]
            elif word.strip():
                words.append(word.strip())
        if words[1:]:
            yield name, words


def _is_field(word: str) -> bool:
    # Most runs have no such word.
    from ...module_utils._api.conditions import suggest_condition

    return any(suggest_condition(word, kind) for kind in _SELECTED)


def _describe(name: str, words: list[str], options: Mapping[str, Any]) -> str:
    """Return what is wrong with words after the value of a variable, and what to write. Values may be secrets."""
    (first, *dummy), rules = words[1:], options.get(name, {})
    if name:
        return f"A blank ends a value of -e, so {name} lacks what follows it. {_show_value(name, rules, words)}"
    if "=" in first:
        word = first.partition("=")[0]
        return (
            f"-e {word}=... sets nothing, because {word} is no name of a variable. Write a condition into the value of"
            " the variable that it is for."
        )
    if first.endswith(":"):
        value = "[a, b]" if options.get(first[:-1], {}).get("type") == "list" else "..."
        return f"-e {first} sets no variable: YAML needs braces in -e, such as -e '{{{first} {value}}}'"
    return f"-e {first} sets no variable: write -e @{first} to read a file, or -e name=value to set a variable"


def _show_value(name: str, rules: Mapping[str, Any], words: list[str]) -> str:
    """Return how to write a value with blanks, or several values."""
    # Only failures need the words.
    from ...module_utils._modules.words import VARIABLES, show_argument

    kind, elements = rules.get("type"), rules.get("elements")
    if name in VARIABLES:
        return f"Write all of it as JSON: {show_argument(name)}"
    if kind == "list" and elements == "str":
        items = [item.strip(",") for item in (words[0].partition("=")[2], *words[1:]) if item not in (",", "and")]
        is_query = is_conditions(name) and all(map(_CONDITION.fullmatch, items))
        items = items if is_query else ["a", "b"]
        shown = json.dumps({name: items})
        return (
            f"""Quote all of it, with commas between several: -e "{name}='{",".join(items)}'", or JSON: -e '{shown}'"""
        )
    if kind in ("list", "dict"):
        return f"""Write all of it as JSON: -e '{{"{name}": ...}}'"""
    return f"""Quote all of it: -e "{name}='...'", or JSON: -e '{{"{name}": "..."}}'"""
