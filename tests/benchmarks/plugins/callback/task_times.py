"""Write the start and end times of each task and each loop item of a run."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_times
type: notification
short_description: Write when tasks begin
description:
  - Appends a line of JSON for each task that begins to the file that E(TASK_TIMES) names.
"""


class CallbackModule(CallbackBase):
    """Records the times of every task."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "task_times"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Record that a task begins."""
        self._note(task.get_name())

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Record that the run ends."""
        self._note("end")

    def _note(self, name: str) -> None:
        with Path(os.environ["TASK_TIMES"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([time.monotonic(), name]) + "\n")
