"""The name of a task in lines that it shows while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.playbook.task import Task


def name_task(task: Task, variables: Mapping[str, Any]) -> str:
    """Return a label with the inventory host, the host that the task is delegated to, and the task's name."""
    host, delegate = variables.get("inventory_hostname"), task.delegate_to
    return f"[{host} -> {delegate}] {task.get_name()}" if delegate else f"[{host}] {task.get_name()}"
