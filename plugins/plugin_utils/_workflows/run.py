"""Run the workflow of a role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from ...module_utils._engine.context import ModuleContext
from ...module_utils._masking.masker import Masker
from .._site.command_line import describe_lost_words, describe_unread_options
from .._site.report import Report
from .._site.site import MoverHost, RunObjects, Site
from .._site.variables import Play, list_roles, load_role_options, read_variables
from .._site.wish import hold

# The function of a workflow: it acts on a site as the variables of the role say.
Workflow = Callable[[Site, Mapping[str, Any]], Report]

# A step of a workflow, which also gets what the role has from the steps before.
Step = Callable[[Site, Mapping[str, Any], Record], Report]


def load_workflow(role: str, step: str | None, given: Record) -> Workflow:
    """Return the workflow of a role, which is in the file with its name, or one step of it.

    A step also gets what the steps before it returned, and what other tasks of the role did. Raise InvalidOptions for a
    step that the role does not have.
    """
    module = _import(role)
    steps: Mapping[str, Step] = getattr(module, "STEPS", {})
    if step is not None and step in steps:
        return partial(_run_step, steps[step], given)
    if steps:
        hint = (
            "" if step else f". To do all steps, use ansible.builtin.include_role: {{name: virtinfra.manager.{role}}}"
        )
        raise InvalidOptions(f"step must be one of {', '.join(steps)}, not {step!r}{hint}")
    if step is not None:
        raise InvalidOptions(f"the role {role} has no step {step!r}. Omit step")
    workflow: Workflow = module.run
    return workflow


def _import(role: str) -> ModuleType:
    return import_module(f"{__package__}.{role}")


def _run_step(
    step: Callable[[Site, Mapping[str, Any], Record], Report], given: Record, site: Site, values: Any
) -> Report:
    return step(site, values, given)


def runs_on_hosts(role: object) -> bool:
    """Return whether the workflow of a role runs modules on the host of its task, which may have any connection."""
    return isinstance(role, str) and role in list_roles() and getattr(_import(role), "RUNS_ON_HOSTS", False)


def _read(role: str, variables: Mapping[str, Any], template: Callable[[Any], Any], masker: Masker) -> dict[str, Any]:
    """Return the variables of a role, none if the workflow itself reads those of each host of the play."""
    return {} if getattr(_import(role), "READS_HOSTS", False) else read_variables(role, variables, template, masker)


def _refuse_variables(role: str, given: Record) -> None:
    """Raise InvalidOptions for variables of the role among what a step gets of others, where they mean nothing."""
    has_steps = hasattr(_import(role), "STEPS")
    if wrong := [name for name in given if name.startswith(f"{role}_") or not has_steps]:
        raise InvalidOptions(f"given has no {', '.join(wrong)}: write the variables of the role under vars of the task")


def run_workflow(
    variables: Mapping[str, Any],
    template: Callable[[Any], Any],
    load: Callable[[str], Any],
    batch: RunObjects,
    context: ModuleContext,
    mover: MoverHost | None = None,
    shows_diff: bool = False,
) -> Record:
    """Run the workflow of the option ``role``, and return the result of the task. Objects that fail do not fail it.

    ``variables`` are those of the task, which ``template`` evaluates, ``load`` reads a YAML file, ``batch`` runs a
    module for many objects, ``mover`` runs modules on the host of the task, and ``shows_diff`` asks for the differences
    of files. Raise InvalidOptions for invalid variables, and VirtinfraError if the workflow cannot know what to do, for
    example because a list cannot be read.
    """
    if not context.params["wait"]:
        raise InvalidOptions("wait: false is not supported: a workflow needs the results of its calls. Remove wait")
    if context.params["job_uuid"]:
        raise InvalidOptions("job_uuid is not supported: each call of a workflow needs its own. Remove job_uuid")
    role, given = context.params["role"], context.params["given"] or {}
    if lost := describe_lost_words(load_role_options(role)):
        raise InvalidOptions(lost)
    if unread := describe_unread_options(context.params, template, " or set it in module_defaults of the play"):
        raise InvalidOptions(unread)
    _refuse_variables(role, given)
    masker = context.client.hooks.masker
    # A step gets the variables of an earlier one if tasks of the user, which may change them, have run in between.
    values = given.get("variables") or _read(role, variables, template, masker)
    site = Site(context, batch, Play(variables, template, masker, load), mover, shows_diff)
    workflow = load_workflow(role, context.params["step"], given)
    result = hold(workflow(site, values), site.wishes, site.check_mode).build_result()
    # An object that failed, or that no entry is about yet, may have been changed.
    result["changed"] = result["changed"] or context.changed
    return {**result, "diff": diff} if (diff := site.build_diff()) else result
