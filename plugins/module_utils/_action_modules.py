# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Modules that call an operation each time they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._calls import (
    Call,
    confirm_result,
    make_call,
    resolve,
    second_delivery_warning,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions, VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._jobs import RUNNING, SUCCEEDED, Job
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import ModuleContext, ModuleSpec
from ansible_collections.virtinfra.manager.plugins.module_utils._operation import Operation
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import OPERATIONS, get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, WAIT, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._parameters import TAG_PARAMS
from ansible_collections.virtinfra.manager.plugins.module_utils._planner import PlannedCall
from ansible_collections.virtinfra.manager.plugins.module_utils._records import (
    Record,
    Unknown,
    mask_webhooks,
    record_to_result,
    without_unknown,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._references import (
    mark_nulls,
    normalize_references,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._results import (
    describe_target,
    pending_job_result,
    predicted_job_result,
)


def action_module(
    operation: str,
    options: Options,
    changes: bool = True,
    judge: Callable[[Record], str | None] | None = None,
    **rules: Any,
) -> ModuleSpec:
    """Return the module that calls one operation each time it runs; its result has the members of the reply.

    ``changes`` is False if the call changes nothing. ``judge`` returns the error in the combination of options and
    reply, or None.
    """
    row = get_operation(operation)

    def run(context: ModuleContext) -> dict[str, Any]:
        params = {name: value for name, value in context.desired.items() if name in (*row.parameters, *TAG_PARAMS)}
        params = _without_optional_nulls(row, params)
        with _with_label(without_unknown(params)) as about:
            if context.check_mode:
                context.client.build_request(operation, params)
                job_result = predicted_job_result(operation, context.params["wait"])
                return {**record_to_result(dict.fromkeys(row.result)), **job_result, "changed": changes}
            job = _execute(context, operation, params, about, changes, judge)
            result = {
                **record_to_result({name: job.result.get(name) for name in row.result}, row.record),
                **pending_job_result(job),
            }
            if job.state != RUNNING and judge and (wrong := judge({**context.desired, **job.result})):
                raise VirtinfraError(wrong, **result)
            return result

    return ModuleSpec(run, options, (operation,), (WAIT, TAGS), rules)


def generic_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that calls the operation in its option ``operation`` with its option ``params``."""

    def run(context: ModuleContext) -> dict[str, Any]:
        tags = {name: context.desired[name] for name in TAG_PARAMS if name in context.desired}
        name = context.desired["operation"]
        row = get_operation(name)
        if row.is_public:
            raise InvalidOptions(
                f"operation must not be {name}, which handles a session. Use virtinfra.manager.session"
            )
        params = _without_optional_nulls(row, {**normalize_references(mark_nulls(context.desired["params"])), **tags})
        with _with_label(without_unknown(params)) as about:
            null = [value for value in params.values() if isinstance(value, Unknown)]
            if null and not context.check_mode:
                raise InvalidOptions(f"{null[0]} of {name} must not be null or empty")
            if not (null or row.is_write):
                return {"reply": mask_webhooks(context.client.get(name, params), row.record)}
            if context.check_mode:
                context.client.build_request(name, params)
                job_result = predicted_job_result(name, context.params["wait"]) if row.is_write else {}
                return {"reply": {}, **job_result, "changed": row.is_write}
            job = _execute(context, name, params, about)
            return {"reply": mask_webhooks(job.result, row.record), **pending_job_result(job)}

    return ModuleSpec(run, options, tuple(OPERATIONS), (WAIT, TAGS), rules)


def _without_optional_nulls(row: Operation, params: Record) -> Record:
    """Return the parameters without null references, except for required parameters."""
    known = {name: value for name, value in params.items() if not isinstance(value, Unknown)}
    return {**known, **{name: params[name] for name in row.missing(known) if name in params}}


def _execute(
    context: ModuleContext,
    operation: str,
    params: Record,
    label: str,
    changes: bool = True,
    judge: Callable[[Record], str | None] | None = None,
) -> Job:
    """Make a call exactly once and return its job. There is no object that shows whether the call is still needed."""
    planned = PlannedCall(operation, params, None)
    call = Call(context.client, planned, label, context.params["wait"], context.params["job_uuid"], changes)
    attempt = make_call(call)
    while attempt.doubt:
        attempt = resolve(call, attempt, needed=None)
    if attempt.failure:
        if changes and (warning := second_delivery_warning(planned, label, attempt.failure)):
            attempt.failure.result["changed"] = True
            context.warnings.append(warning)
        raise attempt.failure
    if attempt.job.state == SUCCEEDED and judge and judge({**context.desired, **attempt.job.result}):
        confirm_result(call, attempt)
    context.record_call(operation, changes, attempt.warnings)
    return attempt.job


@contextmanager
def _with_label(params: Record) -> Iterator[str]:
    """Add the label of the object to failures."""
    about = describe_target(params)
    try:
        yield about
    except VirtinfraError as failure:
        raise failure.with_label(about) from None
