"""Choose an operation by method and path."""

from __future__ import annotations

import re

from .errors import InvalidOptions
from .operation import Operation
from .operations import OPERATIONS
from .unlisted import UnlistedOperation, parse_unlisted

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def choose_by_path(method: str, path: str, body_key: str | None = None) -> UnlistedOperation:
    """Return the operation with this method and path, and with this member of the body for its parameters.

    Raise InvalidOptions for a path that is not valid, for an operation that handles sessions, for an action without
    the name of its member, and for a GET that may remove an object.
    """
    relative = path.strip("/").removeprefix("v1/")
    if any(character.isspace() for character in path):
        raise InvalidOptions(f"path {path!r} must be a path such as v1/volumes/data")
    operation = parse_unlisted(" ".join(filter(None, (method, relative, body_key))))
    if any(row.is_public and row.path == relative for row in OPERATIONS.values()):
        raise InvalidOptions(f"path must not be {path}, which handles a session. Use virtinfra.manager.session")
    if method == "PUT" and not body_key:
        raise InvalidOptions("PUT needs body_key: the name of the operation, with a small first letter")
    if method == "GET" and _UUID.fullmatch(relative.rpartition("/")[2]) and not _is_read(relative):
        raise InvalidOptions(
            f"GET {path} is not sent. Services that have no read at this path may take it for DELETE. Read the"
            f" collection {path.rpartition('/')[0]} with the parameter q: uuid=..."
        )
    return operation


def _is_read(path: str) -> bool:
    """Return whether an operation of the table reads one object at a path."""
    collection = path.rpartition("/")[0]
    return any(
        (row.get_by_uuid and row.path == collection) or _has_path(row, path)
        for row in OPERATIONS.values()
        if not row.is_write and not row.uses_token
    )


def _has_path(row: Operation, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(row.path)), path) is not None
