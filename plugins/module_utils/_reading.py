# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""Tasks that call an operation which only reads."""

from __future__ import annotations

from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import Failure, ReadTakenForChange
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import TAGS as TAG_NAMES
from ansible_collections.virtinfra.manager.plugins.module_utils._operations import by_name
from ansible_collections.virtinfra.manager.plugins.module_utils._options import TAGS, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, camel, to_ansible
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Context, Task


def reading(operation: str, options: Options) -> Task:
    """Return the task whose result are the members of an operation's reply."""
    row = by_name(operation)

    def run(context: Context) -> dict[str, Any]:
        reply = context.client.get(operation, context.wanted)
        return {**to_ansible({name: reply.get(name) or [] for name in row.result})}

    return Task(run, options, (operation,), (TAGS,))


def reading_each(operation: str, returns: str, over: str, options: Options) -> Task:
    """Return the task that calls an operation for each value of the option ``over``, many at the same time.

    The operation's parameter has the option's name without its last letter. What fails is reported beside the others;
    the task fails when all of them did, or one did and its option ``fail_on_error`` says so.
    """
    row, parameter = by_name(operation), camel(over)[:-1]

    def run(context: Context) -> dict[str, Any]:
        tags = {name: context.wanted[name] for name in TAG_NAMES if name in context.wanted}

        def ask(value: str) -> Record:
            try:
                reply, error = context.client.get(operation, {parameter: value, **tags}), None
            except ReadTakenForChange:
                raise
            except Failure as failure:
                reply, error = {}, str(failure)
            members = {name: reply.get(name) or [] for name in row.result}
            return {**to_ansible({parameter: value, **members}), "error": error}

        told = context.client.each(ask, context.wanted[camel(over)])
        failed = [each for each in told if each["error"]]
        if failed and (context.params["fail_on_error"] or len(failed) == len(told)):
            raise Failure(f"{len(failed)} of {len(told)} failed, the first: {failed[0]['error']}", **{returns: told})
        context.warnings.extend(f"{each[over[:-1]]}: {each['error']}" for each in failed)
        return {returns: told}

    return Task(run, options, (operation,), (TAGS,))
