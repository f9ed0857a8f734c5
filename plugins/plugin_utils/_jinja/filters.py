"""What the filters and tests share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def name_arguments(name: str, function: Callable[..., Any], takes: str = "") -> Callable[..., Any]:
    """Return a filter or a test that raises AnsibleFilterError for arguments that the function cannot take.

    Python would name the function, or what the function does with a value. ``takes`` says what the values must be;
    without it, an error of the function remains.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, LookupError, TypeError) as wrong:
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as mistake:
                known = ", ".join([*signature.parameters][1:])
                rule = f"Its arguments are {known}" if known else "It takes none"
                raise AnsibleFilterError(f"{name}: {mistake}. {rule}.") from None
            if not takes:
                raise
            lacks = f" The member {wrong} is missing." if isinstance(wrong, KeyError) else ""
            raise AnsibleFilterError(f"{name} takes {takes}.{lacks}") from None

    return call
