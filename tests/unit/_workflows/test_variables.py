# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The variables of roles: which are found, how they are converted, and which are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.variables import (
    load_role_options,
    read_variables,
)

from support.workflow_runner import keep_value


def read(**variables: Any) -> Mapping[str, Any]:
    """Return the variables of the role vm_snapshots, as a workflow gets them."""
    given = {f"vm_snapshots_{name}": value for name, value in variables.items()}
    return read_variables("vm_snapshots", {"other": 1, **given}, keep_value, Masker())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("db-10", ["db-10"]),
        ("db-1, db-2,", ["db-1", "db-2"]),
        ("db-1\ndb-2\r\n\n", ["db-1", "db-2"]),
        ('["db-1", "a, b"]', ["db-1", "a, b"]),
        ("a, b\nc", ["a, b", "c"]),
        (["db-1", 7], ["db-1", "7"]),
        (None, []),
        ("", []),
    ],
)
def test_texts_become_lists(given: object, expected: list[str]) -> None:
    """A text in place of a list would select by substring: db, db-1 and db-10 for db-10."""
    assert read(vms=given)["vms"] == expected


def test_values_have_the_types_of_the_specification() -> None:
    values = read(keep="3", memory="yes")
    assert (values["keep"], values["memory"]) == (3, True)
    options = load_role_options("vm_snapshots")
    assert values.keys() == {name.removeprefix("vm_snapshots_") for name in options}
    assert values["name_prefix"] == options["vm_snapshots_name_prefix"]["default"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vmz": 1}, "the role vm_snapshots has no variable vm_snapshots_vmz. Did you mean vm_snapshots_vms?"),
        ({"what_is_this_for": 1}, "has no variable vm_snapshots_what_is_this_for. Its variables are"),
        ({"keep": "many"}, "vm_snapshots_keep must be a whole number, not 'many'"),
        ({"state": "gone"}, "vm_snapshots_state must be one of: present, absent, got: gone"),
        ({"vms": "[db-1]"}, "vm_snapshots_vms must be a list, and its text is not JSON"),
        ({"vms": {"db-1": None}}, "vm_snapshots_vms must be a list"),
        ({"vms": [["db-1"]]}, "each item of vm_snapshots_vms must be a string"),
    ],
)
def test_wrong_variables(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions) as failure:
        read(**given)
    assert message in str(failure.value)


def test_templates_are_evaluated() -> None:
    values = read_variables("vm_snapshots", {"vm_snapshots_keep": "{{ x }}"}, lambda value: 5, Masker())
    assert values["keep"] == 5

    def fail(value: object) -> object:
        raise AnsibleUndefinedVariable("'x' is undefined")

    with pytest.raises(InvalidOptions, match="vm_snapshots_keep cannot be evaluated: 'x' is undefined"):
        read_variables("vm_snapshots", {"vm_snapshots_keep": "{{ x }}"}, fail, Masker())


def test_the_report_of_an_earlier_run_is_no_variable() -> None:
    assert read(report=[])
