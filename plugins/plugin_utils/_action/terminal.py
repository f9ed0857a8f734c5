"""Lines about long work, which only a person who waits at a terminal needs."""

from __future__ import annotations

import os

from ansible.utils.display import Display

# The parent process finds out, before it forks workers without a terminal.
IS_TERMINAL = os.isatty(1)


def show_progress(label: str, line: str) -> None:
    """Show a line of a task. A log, such as that of CI, has it only with ``-v``."""
    display = Display()
    if IS_TERMINAL or display.verbosity > 0:
        display.display(f"{label}: {line}")
