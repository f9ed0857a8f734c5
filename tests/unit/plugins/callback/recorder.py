# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes what became of each task to the file that RECORDER_FILE names, a JSON object a line."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: recorder
type: aggregate
short_description: Record the results of tasks
description: Writes what became of each task to the file that the environment variable RECORDER_FILE names.
"""


class CallbackModule(CallbackBase):
    """Members of a line: task, action, status, result, start and end (seconds of the epoch)."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "recorder"

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Remember when the task began."""
        self.start = time.time()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Record a success."""
        self._record("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Record a failure."""
        self._record("failed", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Record a task that was left out."""
        self._record("skipped", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Record a host that was not reached."""
        self._record("unreachable", result)

    def _record(self, status: str, result: Any) -> None:
        line = {
            "task": result.task.name,
            "action": result.task.action,
            "status": status,
            "result": result.result,
            "start": self.start,
            "end": time.time(),
        }
        with Path(os.environ["RECORDER_FILE"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
