"""The modules that run others, which only the controller can do."""

from __future__ import annotations

from typing import Any

from .._api.errors import InvalidOptions
from .._engine.context import ModuleContext
from .options import TAGS, WAIT, Options
from .spec import ModuleSpec


def batch_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that runs another module for many objects, which only the controller can do."""

    def run(context: ModuleContext) -> dict[str, Any]:
        run_objects = context.client.hooks.run_objects
        if run_objects is None:
            raise InvalidOptions("batch runs only inside the controller, as a task of Ansible")
        return run_objects(context)

    return ModuleSpec(run, options, (WAIT, TAGS), rules, only_in_controller=True, hidden_results=("results",))


def workflow_module(options: Options) -> ModuleSpec:
    """Return the module that runs the workflow of a role, which only the controller can do."""

    def run(context: ModuleContext) -> dict[str, Any]:
        run_workflow = context.client.hooks.run_workflow
        if run_workflow is None:
            raise InvalidOptions("workflow runs only inside the controller, as a task of Ansible")
        return run_workflow(context)

    return ModuleSpec(run, options, (WAIT, TAGS), only_in_controller=True)
