"""Write the result of each task to the file that RECORDER_FILE names, one JSON object per line."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: recorder
type: aggregate
short_description: Record the results of tasks
description:
  - Writes the result of each task to the file that the environment variable RECORDER_FILE names, with the request log
    of the simulator at RECORDER_SIMULATOR.
    Without RECORDER_FILE, it does nothing.
  - If RECORDER_RESET is set, it resets the simulator with these options when a play begins.
"""

CONNECTIONS: list[http.client.HTTPConnection] = []


class CallbackModule(CallbackBase):
    """Members of a line: play, task, action, status, result, requests."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "recorder"

    def __init__(self) -> None:
        super().__init__()
        self.disabled = "RECORDER_FILE" not in os.environ

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
    """Send a control request, over one connection for all of them, and return the reply."""
    if not CONNECTIONS:
        address = urlsplit(os.environ["RECORDER_SIMULATOR"]).netloc
        CONNECTIONS.append(http.client.HTTPConnection(address, timeout=30))
    (connection,) = CONNECTIONS
    try:
        return _exchange(connection, method, name, body)
    except (http.client.HTTPException, ConnectionError):
        # The simulator has closed the connection, because it was unused for long.
        connection.close()
        return _exchange(connection, method, name, body)


def _exchange(connection: http.client.HTTPConnection, method: str, name: str, body: str | None) -> Any:
    connection.request(method, f"/_simulator/{name}", body)
    with connection.getresponse() as response:
        text = response.read()
    if response.status >= 400:
        raise RuntimeError(f"{method} {name} failed: {text!r}")
    return json.loads(text)
