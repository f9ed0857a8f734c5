# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The registry of operations: what each one is called, where it is found, what it takes and what it does."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import inspect
import typing as t

from .params import Param

if t.TYPE_CHECKING:
    from .options import Switches
    from .service import Service
    from .store import Store

Reply = dict[str, t.Any]
Steps = c.Generator[None, None, Reply]
"""What an operation does in two parts: up to `yield` when its job starts, after it when the job ends.
A job that fails or times out raises its failure at the `yield`."""


@dataclasses.dataclass
class Call:
    """One call of an operation: its checked parameters, and what it works on."""

    params: dict[str, t.Any]
    path: dict[str, str]
    tags: dict[str, t.Any]
    query: dict[str, list[str]]
    service: Service

    @property
    def store(self) -> Store:
        """The state of the infrastructure."""
        return self.service.store

    @property
    def switches(self) -> Switches:
        """How the service behaves."""
        return self.service.switches

    def __getitem__(self, name: str) -> t.Any:
        return self.params[name]

    def get(self, name: str, default: t.Any = None) -> t.Any:
        """Return a parameter, or the default when it was not given."""
        return self.params.get(name, default)

    def given(self, *names: str) -> dict[str, t.Any]:
        """Return those of the parameters that were given."""
        return {name: self.params[name] for name in names if name in self.params}


Handler = c.Callable[[Call], t.Any]


@dataclasses.dataclass(frozen=True)
class Operation:
    """A row of the service. Paths are relative to `<prefix>/v1/`, or absolute; several paths serve one name."""

    name: str
    method: str
    paths: tuple[str, ...]
    handler: Handler
    params: tuple[Param, ...]
    since: str = ""
    undocumented: bool = False
    """A read that servers have and the document does not list."""
    further: bool = False
    """Another operation that servers have and the document does not list."""
    minutes: int = 30
    """How long the job may take unless the caller says otherwise."""
    in_place: bool = False
    """A call is answered at once whatever its verb."""
    open: bool = False
    """No Authorization is needed."""
    enveloped: bool = True
    """Whether the literal reply holds `success` and `error`."""

    @property
    def is_write(self) -> bool:
        """Whether a call is answered with 202: everything but a GET, and but logging in and out."""
        return self.method != "GET" and not self.in_place

    @property
    def uses_token(self) -> bool:
        """Whether the path is not below the service's prefix: true of the cursor operations, which take a token."""
        return self.paths[0].startswith("/")

    @property
    def stepwise(self) -> bool:
        """Whether the handler is a generator of Steps; else all of it happens when the job ends."""
        return inspect.isgeneratorfunction(self.handler)

    @property
    def key(self) -> str:
        """The member of the body that holds the parameters."""
        return self.name[0].lower() + self.name[1:] if self.method == "PUT" else "params"


OPERATIONS: dict[str, Operation] = {}


def operation(
    name: str, method: str, *paths: str, params: t.Iterable[Param] = (), **rules: t.Any
) -> c.Callable[[Handler], Handler]:
    """Register the decorated function as the handler of an operation."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = Operation(name, method, paths, handler, tuple(params), **rules)
        return handler

    return register
