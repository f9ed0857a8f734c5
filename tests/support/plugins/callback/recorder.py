"""Write the result of each task to the file that RECORDER_FILE names, one JSON object per line."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: recorder
type: aggregate
short_description: Record the results of tasks
description:
  - Writes the result of each task to the file that the environment variable RECORDER_FILE names, with the request log
    of the simulator at RECORDER_SIMULATOR.
  - If RECORDER_RESET is set, it resets the simulator with these options when a play begins.
"""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class CallbackModule(CallbackBase):
    """Members of a line: play, task, action, status, result, requests."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "recorder"

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Reset the simulator for each play, if that is configured."""
        self.play = play.get_name()
        if "RECORDER_RESET" in os.environ:
            _ask("POST", "reset", os.environ["RECORDER_RESET"])

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Clear the request log."""
        _ask("DELETE", "log")

    def v2_runner_on_ok(self, result: Any) -> None:
        """Record a success."""
        self._record("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Record a failure."""
        self._record("failed", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Record a skipped task."""
        self._record("skipped", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Record an unreachable host."""
        self._record("unreachable", result)

    def _record(self, status: str, result: Any) -> None:
        # Before 2.19 core has only private names for the task and the result.
        names = ("task", "result") if hasattr(result, "task") else ("_task", "_result")
        task, members = (getattr(result, name) for name in names)
        line = {
            "play": self.play,
            "task": task.name,
            "action": task.action,
            "status": status,
            "result": {key: value for key, value in members.items() if not key.startswith("_ansible_")},
            "requests": _ask("GET", "log"),
        }
        with Path(os.environ["RECORDER_FILE"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _ask(method: str, name: str, body: str | None = None) -> Any:
    url = f"{os.environ['RECORDER_SIMULATOR']}/_simulator/{name}"
    data = None if body is None else body.encode()
    with DIRECT.open(urllib.request.Request(url, data, method=method), timeout=30) as answer:
        return json.load(answer)
