"""Messages on options of another form."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import options
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.forms import (
    check_form,
    check_forms,
    check_names,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import drop_empty
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.variables import list_roles, load_role_options

from support.collection import ROOT

# The module of the roles themselves, which no user calls.
INTERNAL = "workflow"

NAMES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py") if path.stem != INTERNAL)


def load_options(name: str) -> dict[str, Any]:
    """Return the options of a module, those of data movers included, or the variables of a role."""
    if name in list_roles():
        return dict(load_role_options(name))
    module = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").MODULE
    options: dict[str, Any] = getattr(module, "argument_spec", None) or module.options
    return options


def list_mappings(options: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the options that are mappings or lists of them, also those in them."""
    for name, spec in options.items():
        if spec.get("type") == "dict" or spec.get("elements") == "dict":
            yield f"{place}{name}", spec
        yield from list_mappings(spec.get("options") or {}, f"{place}{name}.")


@pytest.mark.parametrize("name", [*NAMES, *sorted(list_roles())])
def test_a_string_in_place_of_a_mapping_is_refused_with_an_example(name: str) -> None:
    for label, spec in list_mappings(load_options(name)):
        with pytest.raises(InvalidOptions, match=r"must be a mapping, such as \[?\{\w[\w.-]*: .*\}"):
            check_form(label, spec, ["text"] if spec["type"] == "list" else "text")


def test_an_option_and_its_alias_with_different_values_are_refused() -> None:
    """Ansible takes the value of the alias, with a warning that names neither value."""
    specs: dict[str, Any] = {"cpu_num": {"type": "int", "aliases": ["cpu"]}}
    specs["disks"] = {"type": "list", "elements": "dict", "options": specs.copy()}
    message = "cpu_num and cpu are the same option, and have different values. Give only "
    with pytest.raises(InvalidOptions, match=f"^{message}cpu_num$"):
        check_forms(specs, {"cpu": 4, "cpu_num": 8})
    with pytest.raises(InvalidOptions, match=r"Give only disks\[0\]\.cpu_num$"):
        check_forms(specs, {"disks": [{"cpu": 4, "cpu_num": 8}]})
    check_forms(specs, {"cpu": 4, "cpu_num": "4"})
    check_forms(specs, {"cpu": 4, "cpu_num": None})


@pytest.mark.parametrize("value", [{"description": True}, {"tags": ["a", False]}, {"of": {"name": True}}])
def test_a_word_of_yaml_in_place_of_a_text_is_refused(value: dict[str, Any]) -> None:
    """Ansible makes the text True of yes. Other options may be meant that way, such as an awaited value."""
    texts: dict[str, Any] = {name: {"type": "str"} for name in ("name", "description", "value")}
    lists = {name: {"type": "list", "elements": "str"} for name in ("tags", "values")}
    specs = {**texts, **lists, "of": {"type": "dict", "options": texts}}
    with pytest.raises(InvalidOptions, match=r"must be a string, not (true|false)\. YAML reads yes, no, on and off"):
        check_forms(specs, value)
    check_forms(specs, {"description": "yes", "tags": ["yes", 8], "value": True, "values": [True]})


def test_a_date_is_shown_as_it_was_written() -> None:
    with pytest.raises(InvalidOptions, match=r"not 2026-12-24$"):
        check_form("start_time", {"type": "int"}, datetime.date(2026, 12, 24))


def test_empty_passwords_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before core 2.19, a null password is empty."""
    names = ["password", "ipmi_password", "account"]
    given = {"password": "", "ipmi_password": "x", "account": ""}
    monkeypatch.setattr(options, "NULL_IS_EMPTY", False)
    with pytest.raises(InvalidOptions, match=r"^password must not be empty\."):
        drop_empty(names, given)
    assert drop_empty(names, {**given, "password": None}) == {**given, "password": None}
    monkeypatch.setattr(options, "NULL_IS_EMPTY", True)
    assert drop_empty(names, given) == {"ipmi_password": "x", "account": ""}


@pytest.mark.parametrize("name", ["vm_snapshots_vms", "vm_snapshots_state", "vm_snapshots_wait_timeout"])
def test_variables_of_a_role_are_no_options_of_its_task(name: str) -> None:
    """Whatever options their names end with."""
    message = f"there is no option {name}. Write the variables of the role under vars of the task."
    with pytest.raises(InvalidOptions, match=message):
        check_names(load_options(INTERNAL), {"role": "vm_snapshots", name: "x"}, module=INTERNAL)
