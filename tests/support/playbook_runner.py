"""Run playbooks without the second that ansible-playbook takes to start.

This process has imported Ansible and the collection. For each play, a fork of it becomes ansible-playbook.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).resolve().parent / "plugins"

SETTINGS = {
    "ANSIBLE_BECOME_PLUGINS": str(PLUGINS / "become"),
    "ANSIBLE_CALLBACK_PLUGINS": str(PLUGINS / "callback"),
    "ANSIBLE_CONNECTION_PLUGINS": str(PLUGINS / "connection"),
    "ANSIBLE_CALLBACKS_ENABLED": "recorder",
    "ANSIBLE_INJECT_INVOCATION": "true",
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    "ANSIBLE_LOCALHOST_WARNING": "false",
    "ANSIBLE_NOCOLOR": "true",
}

# Ansible reads these when it is imported. They must not reach other programs that tests start.
before = dict(os.environ)
os.environ.update(SETTINGS)

from support.preloaded_ansible import run_ansible_playbook

os.environ.clear()
os.environ.update(before)

Task = dict[str, Any]
Play = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """The result of a task: ``status`` is ok, failed, skipped or unreachable.

    ``requests`` are the entries of the simulator's log.
    """

    play: str
    task: str
    action: str
    status: str
    result: dict[str, Any]
    requests: list[dict[str, Any]]

    @property
    def written(self) -> list[str]:
        """The operations that the task called, without reads."""
        return [str(entry["operation"]) for entry in self.requests if entry["method"] != "GET"]


@dataclass(frozen=True)
class Run:
    """The result of a playbook: its tasks, its output and its exit code."""

    tasks: list[Played]
    output: str
    code: int

    def __iter__(self) -> Iterator[Played]:
        return iter(self.tasks)

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results of the tasks."""
        return [played.result for played in self.tasks]

    def get_fact(self, name: str) -> Any:
        """Return the value of a fact that one task has set, after a role may have emptied it."""
        facts = [result["ansible_facts"] for result in self.results if "ansible_facts" in result]
        values = [each[name] for each in facts if name in each]
        assert len([value for value in values if value not in ([], {})]) <= 1, self.output
        assert values, self.output
        return values[-1]


class PlaybookRunner:
    """Run playbooks on localhost with a simulator; ``defaults`` are options for all modules of the collection."""

    def __init__(self, folder: Path, simulator: str, defaults: Mapping[str, Any]) -> None:
        self.folder, self.simulator, self.defaults = folder, simulator, defaults

    def run_module(self, name: str, options: Mapping[str, Any], check: bool = False, as_module: bool = False) -> Played:
        """Run one module of the collection and return its result."""
        task = {f"virtinfra.manager.{name}": dict(options), "check_mode": check, "diff": True}
        run = self.play(task, as_module=as_module)
        assert len(run.tasks) == 1, run.output
        return run.tasks[0]

    def play(
        self,
        *tasks: Task,
        as_module: bool = False,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> Run:
        """Run tasks, all of them even if one fails; ``keywords`` are those of the play.

        With ``as_module`` each task runs in a module process. ``arguments`` are options of ansible-playbook.
        """
        return self.playbook([self.build_play(*tasks, as_module=as_module, **keywords)], arguments, environment)

    def build_play(self, *tasks: Task, as_module: bool = False, **keywords: Any) -> Play:
        """Return a play that runs the tasks."""
        connection = {"ansible_connection": "elsewhere"} if as_module else {}
        return {
            "hosts": "localhost",
            "gather_facts": False,
            "ignore_errors": True,
            "module_defaults": {"group/virtinfra.manager.api": dict(self.defaults)},
            "tasks": list(tasks),
            **keywords,
            "vars": {**keywords.get("vars", {}), **connection},
        }

    def playbook(
        self, plays: Sequence[Play] | str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> Run:
        """Run a playbook, given by its plays or its name."""
        book, records, output = (self.folder / name for name in ("playbook.yml", "records", "output"))
        if not isinstance(plays, str):
            book.write_text(json.dumps(plays), encoding="utf-8")
        records.write_text("", encoding="utf-8")
        settings = {**SETTINGS, "RECORDER_FILE": str(records), "RECORDER_SIMULATOR": self.simulator}
        play = [*arguments, plays if isinstance(plays, str) else str(book)]
        code = run_ansible_playbook(play, {**settings, **(environment or {})}, output)
        tasks = [Played(**json.loads(line)) for line in records.read_text(encoding="utf-8").splitlines()]
        return Run(tasks, output.read_text(encoding="utf-8"), code)
