"""Operations that are not in the table, which the user describes by method and path.

Section "Conventions" of api.md has the rules that all operations follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidOptions
from .operation import Effect, Operation, Request, encode_read, encode_write, is_success
from .records import NullReference

METHODS = ("GET", "POST", "PUT", "DELETE")

# A segment of a path: no characters that a server or a proxy could read as something else.
_PATH = re.compile(r"(?!\.)[\w.~-]+(/(?!\.)[\w.~-]+)*", re.ASCII)
_KEY = re.compile(r"[a-zA-Z]\w*", re.ASCII)


@dataclass(frozen=True)
class UnlistedOperation(Operation):
    """An operation that is not in the table. Its name is its method and path, and the key of its body if it has one.

    It has all parameters that are given. Any reply of success is its result, and nothing is known about what it
    changes. ``is_write`` is False if the call only reads, whatever its method is, and ``has_job`` is False if servers
    answer in place. ``order`` is the order in which the records of a list do not move to other pages, if it is known.
    """

    is_write: bool = True
    has_job: bool = True
    key: str = "params"
    order: str | None = None

    @property
    def body_key(self) -> str:
        """The member of the body that contains the parameters."""
        return self.key

    def has_result(self, reply: Mapping[str, Any]) -> bool:
        """Return whether a reply is one of success."""
        return is_success(reply)

    def is_reply(self, reply: Mapping[str, Any]) -> bool:
        """Return whether a JSON object is a reply of success."""
        return is_success(reply)

    def request(self, params: Mapping[str, Any], prefix: str = "service") -> Request:
        """Build the request for ``params``. Raise InvalidOptions for a value that a query string cannot contain."""
        values = {name: value for name, value in params.items() if value is not None}
        path = self.build_path(prefix)
        if self.method != "GET":
            return encode_write(self.method, path, self.key, values)
        for name, value in values.items():
            items = value if isinstance(value, list) else [value]
            if any(isinstance(item, (dict, list, NullReference)) for item in items):
                raise InvalidOptions(f"{name} of {self.name} must be a scalar or a list of scalars")
        return encode_read(path, values)


def parse_unlisted(name: str) -> UnlistedOperation:
    """Return the operation of a name such as ``PUT volumes/3c2e/actions resizeDataVolume``.

    Raise InvalidOptions for a name that describes no operation.
    """
    method, path, *key = name.split(" ")
    if method not in METHODS or len(key) > 1 or not _PATH.fullmatch(path):
        raise InvalidOptions(
            f"no operation {name}. Give a method of {', '.join(METHODS)}, and a path such as v1/volumes/data, without"
            " query string"
        )
    if key and not _KEY.fullmatch(key[0]):
        raise InvalidOptions(f"body_key must be a name such as resizeDataVolume, not {key[0]!r}")
    is_read = method == "GET"
    result = ("inventories",) if is_read else ()
    effect = Effect(is_idempotent=False)
    return UnlistedOperation(
        name,
        method,
        path,
        result=result,
        effect=effect,
        is_write=not is_read,
        has_job=not is_read,
        key=key[0] if key else "params",
    )
