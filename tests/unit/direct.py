# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running the tasks of modules in this process, without Ansible around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._task import Task

from simulator.launch import Simulator

MODULES = Path(__file__).resolve().parents[2] / "plugins" / "modules"
NAMES = sorted(path.stem for path in MODULES.glob("*.py"))

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Ran:
    """How a task ended: its result, its warnings, and what the simulator was asked meanwhile."""

    result: dict[str, Any]
    warnings: list[str]
    log: list[Entry]

    def __getitem__(self, name: str) -> Any:
        return self.result[name]

    @property
    def changed(self) -> bool:
        """Whether the task says that it changed something."""
        return bool(self.result["changed"])

    @property
    def failed(self) -> bool:
        """Whether the task failed."""
        return bool(self.result.get("failed"))

    @property
    def message(self) -> str:
        """What the task says of its failure."""
        return str(self.result.get("msg", ""))

    @property
    def calls(self) -> list[str]:
        """The operations by which something was to be changed, in order."""
        return [entry["operation"] for entry in self.log if entry["method"] != "GET"]

    def sent(self, operation: str) -> dict[str, Any]:
        """Return the parameters in the body of the only call of an operation."""
        (body,) = (entry["body"] for entry in self.log if entry["operation"] == operation)
        return dict(next(iter(body.values()))) if operation in self.calls else {}

    def asked(self, operation: str) -> dict[str, list[str]]:
        """Return the query string of the only request for a reading operation."""
        (query,) = (entry["query"] for entry in self.log if entry["operation"] == operation)
        return dict(query)


class Runner:
    """Runs modules against a simulator; keywords of a run are options that are no options of the module's own."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.defaults = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}

    def __call__(self, name: str, options: Mapping[str, Any], check: bool = False, **more: Any) -> Ran:
        """Run a module with its options, validated as Ansible does."""
        task = task_of(name)
        given = {**self.defaults, **more, **options}
        validation = ArgumentSpecValidator(task.argument_spec, **task.rules).validate(given)
        assert not validation.error_messages, validation.error_messages
        self.sim.clear_log()
        outcome = task.execute(validation.validated_parameters, check)
        return Ran(outcome.result, outcome.warnings, self.sim.log())

    def fails(self, name: str, options: Mapping[str, Any], **more: Any) -> Ran:
        """Run a module that is to fail, in check mode too, with the same words and without sending anything."""
        checked, ran = self(name, options, check=True, **more), self(name, options, **more)
        assert checked.failed, checked.result
        assert ran.failed, ran.result
        assert checked.message == ran.message
        assert not ran.changed
        assert checked.calls == ran.calls == []
        return ran


@cache
def task_of(name: str) -> Task:
    """Return the TASK of a module."""
    task: Task = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").TASK
    return task
