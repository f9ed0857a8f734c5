"""Filters with wrong arguments say which they take, and which input."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.virtinfra.manager.plugins.filter.report_table import FilterModule as ReportTable
from ansible_collections.virtinfra.manager.plugins.filter.serial_refusal import FilterModule as SerialRefusal
from ansible_collections.virtinfra.manager.plugins.filter.to_datetime import FilterModule as ToDatetime

FILTERS: dict[str, Callable[..., Any]] = {
    **ReportTable().filters(),
    **SerialRefusal().filters(),
    **ToDatetime().filters(),
}
ENTRY = {"outcome": "changed", "vm": "vm-1"}


@pytest.mark.parametrize(
    ("name", "arguments", "named", "message"),
    [
        ("to_datetime", ["Jan 6, 2017 3:51:16 AM", "%Y"], {}, "too many positional arguments. It takes none."),
        ("to_datetime", [["Jan 6, 2017 3:51:16 AM"]], {}, "takes one timestamp, not a list; write map("),
        ("serial_refusal", [1], {}, "missing a required argument: 'variable'. Its arguments are variable."),
        (
            "report_table",
            [[ENTRY]],
            {"name": "VMs"},
            "got an unexpected keyword argument 'name'. Its arguments are title, rows, report.",
        ),
        (
            "report_table",
            [{"changed": True, "report": [ENTRY]}],
            {},
            "the input must be the report of a role, a list such as the fact vm_power_report. It is a mapping, whose",
        ),
        ("report_table", ["text"], {}, "the input must be the report of a role, a list such as the fact vm_power_repo"),
        ("report_table", [[ENTRY, {"vm": "vm-2"}]], {}, "[1] of the input is no entry of a report of a role, because"),
        ("report_table", [[ENTRY]], {"rows": ["later"]}, "rows must be a mapping of labels to values, such as {'later"),
    ],
)
def test_wrong_arguments(name: str, arguments: list[Any], named: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"^{name}: {re.escape(message)}"):
        FILTERS[name](*arguments, **named)


def test_an_error_of_the_filter_itself_remains() -> None:
    """A TypeError for other reasons than its arguments is a bug, and none of the user."""
    with pytest.raises(TypeError):
        FILTERS["report_table"]([{**ENTRY, "notes": 1}])
