"""Find operations by their names, also those that the table does not have. Section "Endpoints" of the API document."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import InvalidOptions, suggest_name
from .operation import Operation
from .service import COMPANION_ROWS, DOCUMENTED_ROWS

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in (*DOCUMENTED_ROWS, *COMPANION_ROWS)}

# The names of the operations that the API document does not have, and that a service may lack.
COMPANIONS = frozenset(row.name for row in COMPANION_ROWS)

# The operations that tasks of this process have chosen from the catalogue, which other modules do not load.
_CHOSEN: dict[str, Operation] = {}


def choose_operation(row: Operation) -> Operation:
    """Return an operation that the table lacks, and let `get_operation` find it by its name from now on."""
    _CHOSEN[row.name] = row
    return row


def get_operation(name: str) -> Operation:
    """Return the operation ``name``, which may be a chosen one, or an unlisted one with method and path.

    Raise InvalidOptions, with a similar name, if it does not exist.
    """
    if known := OPERATIONS.get(name) or _CHOSEN.get(name):
        return known
    if " " in name:
        # Few module processes need the code for operations that the user describes.
        from .unlisted import parse_unlisted

        return parse_unlisted(name)
    hint = suggest_name(name, OPERATIONS) or f" Known operations: {', '.join(OPERATIONS)}."
    raise InvalidOptions(f"no operation {name}.{hint}")
