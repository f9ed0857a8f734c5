# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.
"""Run the workflow of a role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ...module_utils._api.records import Record
from ...module_utils._engine.context import ModuleContext
from .report import Report
from .site import Site
from .variables import read_variables

# The function of a workflow: it acts on a site as the variables of the role say.
Workflow = Callable[[Site, Mapping[str, Any]], Report]


def load_workflow(role: str) -> Workflow:
    """Return the workflow of a role, which is in the file with its name."""
    workflow: Workflow = import_module(f"{__package__}.{role}").run
    return workflow


def run_workflow(variables: Mapping[str, Any], template: Callable[[Any], Any], context: ModuleContext) -> Record:
    """Run the workflow of the option ``role``, and return the result of the task. Objects that fail do not fail it.

    ``variables`` are those of the task, which ``template`` evaluates. Raise InvalidOptions for invalid variables, and
    VirtinfraError if the workflow cannot know what to do, for example because a list cannot be read.
    """
    role = context.params["role"]
    values = read_variables(role, variables, template, context.client.hooks.masker)
    site = Site(context)
    result = load_workflow(role)(site, values).build_result()
    return {**result, "diff": diff} if (diff := site.build_diff()) else result
