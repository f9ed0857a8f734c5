"""Find operations by their names, also those that the table does not have. Section "Endpoints" of the API document."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import InvalidOptions, suggest_name
from .operation import Operation
from .service import COMPANION_ROWS, DOCUMENTED_ROWS
from .unlisted import parse_unlisted

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in (*DOCUMENTED_ROWS, *COMPANION_ROWS)}

# The names of the operations that the API document does not have, and that a service may lack.
COMPANIONS = frozenset(row.name for row in COMPANION_ROWS)


def get_operation(name: str) -> Operation:
    """Return the operation ``name``, which may be an unlisted one with method and path.

    Raise InvalidOptions, with a similar name, if it does not exist.
    """
    if name in OPERATIONS:
        return OPERATIONS[name]
    if " " in name:
        return parse_unlisted(name)
    hint = suggest_name(name, OPERATIONS) or f" Known operations: {', '.join(OPERATIONS)}."
    raise InvalidOptions(f"no operation {name}.{hint}")
