"""Tests for the table of options that act only when an object is created, and that no record shows."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import RECORD_FIELDS
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.spec import ResourceSpec

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "docsite" / "rst" / "guide_comparison.rst").read_text()

# Options of these modules that are compared with other records than that of the object, or whose object is warned of.
COMPARED = {
    "cbt_task": {"vm", "vms"},
    "kvm_host": {"username", "ssh_port"},
    "sns_endpoint": {"at_person_list"},
    "vm": {"root_disk_size", "primary_storage"},
}
COMMON = {"resource_uuid", "system_tags", "tag_patterns", "user_tags"}


def list_silent_options(module: str) -> set[str]:
    """Return the options of a module that only its creation uses, and that no record shows."""
    found = importlib.import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{module}")
    options = {parameter: option for option, parameter in found.MODULE.parameters.items()}
    silent: set[str] = set()
    for spec in (each for each in vars(found).values() if isinstance(each, ResourceSpec) and each.create):
        others = {name for each in spec.operations if each != spec.create for name in get_operation(each).parameters}
        shown = {*RECORD_FIELDS[spec.record_type], *others}
        created = get_operation(str(spec.create)).parameters
        silent.update(options[name] for name in created if name in options and spec.fields.get(name, name) not in shown)
    return silent - COMMON - COMPARED.get(module, set())


@pytest.mark.parametrize(
    "module",
    sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py") if "ResourceSpec(\n" in path.read_text()),
)
def test_options_that_nothing_compares_are_in_the_table(module: str) -> None:
    row = re.search(rf"\* - ``{module}``\n     - (.*?)(?=\n   \* -|\n\n)", GUIDE, re.DOTALL)
    listed = set(re.findall(r"``(\w+)``", row[1])) if row else set()
    # No parameter of the creation has these options: they become others.
    assert listed - {"clone_from", "user_data", "user_data_file"} == list_silent_options(module)
