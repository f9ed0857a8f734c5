"""Run a command whose exit code can hide a failure."""

from __future__ import annotations

import os
import re
import subprocess
import threading

import nox


def run_and_read(session: nox.Session, *command: str, refuse: str, env: dict[str, str]) -> None:
    """Run a command, and fail when a line of its output matches ``refuse``."""
    lines: list[str] = []

    def show_lines(output: int) -> None:
        with os.fdopen(output, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                print(line, end="", flush=True)
                lines.append(line)

    read_end, write_end = os.pipe()
    reader = threading.Thread(target=show_lines, args=(read_end,))
    reader.start()
    try:
        session.run(*command, env=env, stdout=write_end, stderr=subprocess.STDOUT)
    finally:
        os.close(write_end)
        reader.join()
    if refused := [line.strip() for line in lines if re.search(refuse, line)]:
        session.error(f"{len(refused)} lines of the output report a problem, the first: {refused[0]}")
