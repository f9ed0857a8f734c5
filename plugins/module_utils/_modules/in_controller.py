"""The modules that run others. Only the action plugin can do so, and puts what they do in the place of the refusal."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from .._api.errors import InvalidOptions
from .._engine.context import ModuleContext
from .options import TAGS, WAIT, Options
from .spec import ModuleSpec


def _refuse(name: str, dummy: ModuleContext) -> NoReturn:
    raise InvalidOptions(f"{name} runs only inside the controller, as a task of Ansible")


def batch_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that runs another module for many objects."""
    refuse = partial(_refuse, "batch")
    return ModuleSpec(refuse, options, (WAIT, TAGS), rules, only_in_controller=True, hidden_results=("results",))


def workflow_module(options: Options) -> ModuleSpec:
    """Return the module that runs the workflow of a role."""
    refuse, unsupported = partial(_refuse, "workflow"), ("wait", "job_uuid")
    return ModuleSpec(refuse, options, (WAIT, TAGS), only_in_controller=True, unsupported=unsupported)
