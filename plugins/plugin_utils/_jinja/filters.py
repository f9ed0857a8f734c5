"""What the filters share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def name_arguments(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that raises AnsibleFilterError, with its arguments, for others; Python names the function."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as mistake:
                known = ", ".join([*signature.parameters][1:])
                takes = f"Its arguments are {known}" if known else "It takes none"
                raise AnsibleFilterError(f"{name}: {mistake}. {takes}.") from None
            raise

    return call
