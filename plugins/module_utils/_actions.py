# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Tasks that call an operation each time they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._calls import Call, called, execute_once, unfinished
from ansible_collections.virtinfra.manager.plugins.module_utils._engine import Step
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, Failure
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import OPERATIONS, Operation, by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS as TAG_NAMES
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, WAIT, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    Record,
    Unknown,
    mask_webhooks,
    to_ansible,
    without_unknown,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._references import (
    mark_nulls,
    normalize_references,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def action(
    operation: str,
    options: Options,
    changes: bool = True,
    judge: Callable[[Record], str | None] | None = None,
    **rules: Any,
) -> Task:
    """Return the task that calls one operation each time it runs; the members of its reply are the result.

    ``changes`` is False where the call leaves everything as it is. ``judge`` looks at the wanted options and the
    reply together and says what is wrong.
    """
    row = by_name(operation)

    def run(context: Context) -> dict[str, Any]:
        params = {name: value for name, value in context.wanted.items() if name in (*row.parameters, *TAG_NAMES)}
        params = _without_needless_nulls(row, params)
        with _about(without_unknown(params)) as about:
            if context.check_mode:
                context.client.prepare(operation, params)
                context.changed = changes
                return {**to_ansible(dict.fromkeys(row.result))}
            job = _execute(context, operation, params, about, changes)
            result = {**to_ansible({name: job.result.get(name) for name in row.result}, row.record), **unfinished(job)}
            if job.state != RUNNING and judge and (wrong := judge({**context.wanted, **job.result})):
                raise Failure(wrong, **result)
            return result

    return Task(run, options, (operation,), (WAIT, TAGS), rules)


def any_operation(options: Options, **rules: Any) -> Task:
    """Return the task that calls the operation of its option ``operation`` with its option ``params``."""

    def run(context: Context) -> dict[str, Any]:
        tags = {name: context.wanted[name] for name in TAG_NAMES if name in context.wanted}
        name = context.wanted["operation"]
        row = by_name(name)
        params = _without_needless_nulls(row, {**normalize_references(mark_nulls(context.wanted["params"])), **tags})
        with _about(without_unknown(params)) as about:
            if null := [value for value in params.values() if isinstance(value, Unknown)]:
                if not context.check_mode:
                    raise BadInput(f"{null[0]} of {name} must not be null or empty")
                context.client.prepare(name, params)
                context.changed = row.asynchronous
                return {"reply": {}}
            if not row.asynchronous:
                return {"reply": mask_webhooks(context.client.get(name, params), row.record)}
            if context.check_mode:
                context.client.prepare(name, params)
                context.changed = True
                return {"reply": {}}
            job = _execute(context, name, params, about)
            return {"reply": mask_webhooks(job.result, row.record), **unfinished(job)}

    return Task(run, options, tuple(OPERATIONS), (WAIT, TAGS), rules)


def _without_needless_nulls(row: Operation, params: Record) -> Record:
    """Return the parameters without null references, but with those that the call cannot do without."""
    known = {name: value for name, value in params.items() if not isinstance(value, Unknown)}
    return {**known, **{name: params[name] for name in row.missing(known) if name in params}}


def _execute(context: Context, operation: str, params: Record, about: str, changes: bool = True) -> Job:
    """Call an operation exactly once and return its job."""
    try:
        job, warnings = execute_once(Call(context.client, Step(operation, params, None), about, context.params["wait"]))
    except Failure as failure:
        if not changes:
            failure.facts.pop("changed", None)
        raise
    context.changed = changes
    context.done.append(operation)
    context.warnings.extend(warnings)
    return job


@contextmanager
def _about(params: Record) -> Iterator[str]:
    """Let failures name what a call is about."""
    about = called(params)
    try:
        yield about
    except Failure as failure:
        raise failure.about(about) from None
