"""Run jobs with ansible-runner, as Ansible Automation Platform does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
RUNNER = str(PROGRAMS / "ansible-runner")
COLLECTIONS = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache")}
IDENT = "1"


def build_bare_environment(home: Path) -> dict[str, str]:
    """Return the environment of a user with this home folder, and with the programs of this Python environment."""
    return {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": os.pathsep.join([str(PROGRAMS), os.defpath]),
        "TMPDIR": tempfile.gettempdir(),
    }


class Job:
    """A private data directory of ansible-runner, with a playbook and the environment variables of its run."""

    def __init__(self, folder: Path, plays: Sequence[Mapping[str, Any]], variables: Mapping[str, str]) -> None:
        self.folder = folder
        for name in ("env", "inventory", "project"):
            (folder / name).mkdir(parents=True)
        self.write("env/envvars", dict(variables))
        self.write("project/book.yml", list(plays))

    def write(self, name: str, content: Any) -> Path:
        """Write a file of the directory; YAML is a superset of JSON."""
        path = self.folder / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    @property
    def artifacts(self) -> Path:
        """The folder in which ansible-runner writes the artifacts of the run."""
        return self.folder / "artifacts" / IDENT

    def start(self) -> subprocess.Popen[str]:
        """Start the run; its output comes from the process."""
        command = [RUNNER, "run", str(self.folder), "--playbook", "book.yml", "--ident", IDENT]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=build_bare_environment(self.folder),
        )

    def run(self) -> str:
        """Run to the end and return the output."""
        process = self.start()
        output = process.communicate()[0]
        assert process.returncode == 0, output
        return output

    def results(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Yield the name, the data and the result of each job event that has a result, in order."""
        files = (self.artifacts / "job_events").glob("*.json")
        for file in sorted(files, key=lambda path: int(path.name.partition("-")[0])):
            event = json.loads(file.read_text(encoding="utf-8"))
            data = event.get("event_data", {})
            if "res" in data:
                yield event["event"], data, data["res"]
