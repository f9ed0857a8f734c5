"""Start a program of the tests, which detaches and ends with this run of ansible-playbook; return what it prints.

A task of the module command would do the same through a module process, which takes longer than the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import IO, Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """Terms are the Python module and its arguments, options are variables of its environment."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **environment: str) -> list[str]:
        """Start the program in a worker, whose parent is ansible-playbook."""
        command = [sys.executable, "-m", *terms, f"--parent={os.getppid()}"]
        # The detached process may keep a pipe open, whose end would never be read.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            # The input of a worker is non-blocking, which other programs of Ansible refuse.
            ended = subprocess.run(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                check=False,
            )
            texts = [_read_from_start(file) for file in (output, errors)]
        if ended.returncode:
            raise AnsibleError(f"{terms[0]} did not start: {texts[1]}")
        return texts[:1]


def _read_from_start(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().strip()
