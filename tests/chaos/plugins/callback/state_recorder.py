"""Record the results of each task of a playbook, and the state of the simulator before and after it."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: state_recorder
type: notification
short_description: Record the results of tasks and the state of the simulator
description:
  - Appends a line of JSON for each task to the file that E(WITNESS_FILE) names.
  - It holds the state of the simulator at E(WITNESS_SIMULATOR) before and after the task.
"""


class CallbackModule(CallbackBase):
    """Records one task after the other; the state after one is the state before the next."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "state_recorder"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Start without a task."""
        super().__init__()
        self._task: dict[str, Any] | None = None

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Record the previous task, and begin to record the new one."""
        state = self._note()
        self._task = {
            "name": task.get_name(),
            "action": task.action,
            "check": bool(task.check_mode),
            # With changed_when, until or async, `changed` is not the module's own, not that of all attempts, or not
            # final.
            "apart": bool(task.changed_when or task.until or task.async_val),
            "before": state,
            "results": [],
        }

    def v2_runner_on_ok(self, result: Any) -> None:
        """Keep the result of a host."""
        self._keep(result, failed=False)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Keep the result of a host."""
        self._keep(result, failed=True)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Record the last task."""
        self._note()

    def _keep(self, result: Any, failed: bool) -> None:
        if self._task is not None:
            # Recent versions of core set exception to a string even without a traceback.
            result_members = {name: value for name, value in result.result.items() if name != "exception"}
            self._task["results"].append({**result_members, "failed": failed})

    def _note(self) -> Any:
        with urllib.request.urlopen(os.environ["WITNESS_SIMULATOR"] + "/_simulator/state", timeout=30) as answer:
            state = json.load(answer)
        if self._task is not None:
            with Path(os.environ["WITNESS_FILE"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps({**self._task, "after": state}, default=str) + "\n")
        return state
