"""The environment variables of a task, from its keyword environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...module_utils._modules.options import GROUP_OPTIONS


def pop_credentials(variables: dict[str, Any]) -> dict[str, Any]:
    """Remove the credentials of the service from environment variables, and return them as options."""
    names = {f"VIRTINFRA_{option.upper()}": option for option, rules in GROUP_OPTIONS.items() if rules.get("no_log")}
    return {option: variables.pop(variable) for variable, option in names.items() if variable in variables}


@contextmanager
def patch_environ(variables: Mapping[str, Any]) -> Iterator[None]:
    """Set environment variables in this worker process, and restore the previous values."""
    previous = dict(os.environ)
    os.environ.update({name: str(value) for name, value in variables.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(previous)
