# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The registry of operations: names, paths, parameters and handlers."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import inspect
import typing as t

from .params import Param

if t.TYPE_CHECKING:
    from .service import Service
    from .state.store import Store
    from .switches.options import Switches

Reply = dict[str, t.Any]
Steps = c.Generator[float, None, Reply]
"""An operation in two parts: up to `yield` at the start of its job, the rest at the end of the job.
It yields the seconds that its job takes in addition to its latency. If the job fails or times out, the error is
raised at the `yield`."""


@dataclasses.dataclass
class Call:
    """A call of an operation: its validated parameters and the service."""

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
        """The switches of the service."""
        return self.service.switches

    def __getitem__(self, name: str) -> t.Any:
        return self.params[name]

    def get(self, name: str, default: t.Any = None) -> t.Any:
        """Return a parameter, or the default if it was not given."""
        return self.params.get(name, default)

    def given(self, *names: str) -> dict[str, t.Any]:
        """Return the named parameters that were given."""
        return {name: self.params[name] for name in names if name in self.params}


Handler = c.Callable[[Call], t.Any]


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation. Its paths are relative to `<prefix>/v1/`, or absolute."""

    name: str
    method: str
    paths: tuple[str, ...]
    handler: Handler
    params: tuple[Param, ...]
    since: str = ""
    companion: bool = False
    """An undocumented read that servers offer."""
    further: bool = False
    """Another undocumented operation that servers offer."""
    chats: str = ""
    """The value of the switch `chats` with which the operation exists; empty: with every value."""
    timeout_minutes: int = 30
    """Default timeout of the job in minutes."""
    in_place: bool = False
    """Whether the result is in the response, although the method is not GET."""
    unauthenticated: bool = False
    """Whether no Authorization header is needed."""
    has_envelope: bool = True
    """Whether the documented reply has `success` and `error`."""

    @property
    def is_write(self) -> bool:
        """Whether a call is answered with 202: all methods but GET, except login and logout."""
        return self.method != "GET" and not self.in_place

    @property
    def uses_token(self) -> bool:
        """Whether the operation takes a token: the cursor operations, whose paths are absolute."""
        return self.paths[0].startswith("/")

    @property
    def is_stepwise(self) -> bool:
        """Whether the handler is a generator of Steps; otherwise all of it is executed at the end of the job."""
        return inspect.isgeneratorfunction(self.handler)

    @property
    def body_key(self) -> str:
        """The member of the body that contains the parameters."""
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
