# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Tasks that call an operation each time they run."""

from __future__ import annotations

from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._calls import carry_out, unfinished
from ansible_collections.virtinfra.manager.plugins.module_utils._engine import Step
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS as TAG_NAMES
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, WAIT, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import to_ansible
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def action(operation: str, options: Options, **rules: Any) -> Task:
    """Return the task that calls one operation each time it runs; its reply's members are the result."""
    row = by_name(operation)

    def run(context: Context) -> dict[str, Any]:
        if context.check_mode:
            context.client.prepare(operation, context.wanted)
            context.changed = True
            return {**to_ansible(dict.fromkeys(row.result))}
        job = carry_out(context, Step(operation, context.wanted, None), "")
        return {**to_ansible({name: job.result.get(name) for name in row.result}), **unfinished(job)}

    return Task(run, options, shared=(WAIT, TAGS), rules=rules)


def any_operation(options: Options, **rules: Any) -> Task:
    """Return the task that calls the operation of its option ``operation`` with its option ``params``."""

    def run(context: Context) -> dict[str, Any]:
        tags = {name: context.wanted[name] for name in TAG_NAMES if name in context.wanted}
        name, params = context.wanted["operation"], {**context.wanted["params"], **tags}
        row = by_name(name)
        if not row.asynchronous:
            return {"reply": context.client.get(name, params)}
        if context.check_mode:
            context.client.prepare(name, params)
            context.changed = True
            return {"reply": {}}
        job = carry_out(context, Step(name, params, None), "")
        return {"reply": job.result, **unfinished(job)}

    return Task(run, options, shared=(WAIT, TAGS), rules=rules)
