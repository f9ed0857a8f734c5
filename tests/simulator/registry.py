"""The registry of operations: which handler performs which operation of the description."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import catalogue, description
from .description import Parameter

if TYPE_CHECKING:
    from .service import Service
    from .state.store import Store
    from .switches.options import Switches

TAG_NAMES = ("systemTags", "userTags")
Reply = dict[str, Any]
Steps = Generator[float, None, Reply]
"""An operation in two parts: up to `yield` at the start of its job, the rest at the end of the job.
It yields the seconds that its job takes in addition to its latency. If the job fails or times out, the error is
raised at the `yield`."""


@dataclass
class Call:
    """A call of an operation: its validated parameters and the service."""

    params: dict[str, Any]
    path: dict[str, str]
    tags: dict[str, Any]
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

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter, or the default if it was not given."""
        return self.params.get(name, default)

    def select(self, *names: str) -> dict[str, Any]:
        """Return the named parameters that were given."""
        return {name: self.params[name] for name in names if name in self.params}


Handler = Callable[[Call], Any]


@dataclass(frozen=True)
class Operation:
    """An operation: its description, its handler, and what only the simulator knows of it."""

    description: description.Operation
    handler: Handler
    is_read_by_uuid: bool = False
    """Whether GET on `<path>/{uuid}` is a read although the description does not say so."""
    chats: str = ""
    """The values of the switch `chats` with which the operation exists; empty: with every value."""
    timeout_minutes: int = 30
    """Default timeout of the job in minutes."""
    has_envelope: bool = True
    """Whether the reply of a success has `success` and `error`."""

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.description.name

    @property
    def method(self) -> str:
        """The HTTP method, in capitals."""
        return self.description.method

    @property
    def since(self) -> str:
        """The version that added it; empty if no version is known."""
        return self.description.since or ""

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths, relative to `<prefix>/v1/`, or absolute."""
        path, uuid_path = self.description.path, self.description.uuid_path
        if self.is_read_by_uuid:
            uuid_path = f"{path}/{{uuid}}"
        return (path, uuid_path) if uuid_path else (path,)

    @functools.cached_property
    def params(self) -> tuple[Parameter, ...]:
        """The parameters in the query string or the body, without the tags, which every operation takes."""
        parameters = self.description.parameters.values()
        return tuple(
            parameter for parameter in parameters if parameter.where != "path" and parameter.name not in TAG_NAMES
        )

    @property
    def is_write(self) -> bool:
        """Whether a call is answered with 202."""
        return self.description.is_async

    @property
    def is_public(self) -> bool:
        """Whether no Authorization header is needed."""
        return self.description.security is None

    @property
    def uses_token(self) -> bool:
        """Whether the operation takes a token: the cursor operations, whose paths are absolute."""
        return self.description.security == "token"

    @property
    def is_stepwise(self) -> bool:
        """Whether the handler is a generator of Steps; if not, all of it is executed at the end of the job."""
        return inspect.isgeneratorfunction(self.handler)

    @property
    def body_key(self) -> str:
        """The member of the body that contains the parameters."""
        return self.name[0].lower() + self.name[1:] if self.method == "PUT" else "params"


OPERATIONS: dict[str, Operation] = {}


def operation(name: str, **details: Any) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of an operation; `details` are further members of Operation."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = Operation(description.operations()[name], handler, **details)
        return handler

    return register


def catalogued(name: str, **details: Any) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of an operation of the catalogue, as `operation` does."""

    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = Operation(catalogue.find(name), handler, **details)
        return handler

    return register
