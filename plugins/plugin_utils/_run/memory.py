"""Secrets that the processes of a run of Ansible share in memory, because no file may contain them.

The process that loads this file first creates the memory, and the workers that it forks inherit it.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .files import locate_file, open_locked

# The size of the memory in bytes. The system provides only what is written.
SIZE = 1024 * 1024

_MEMORY = mmap.mmap(-1, SIZE)


@contextmanager
def edit_secrets() -> Iterator[dict[str, Any]]:
    """Return a context manager for the shared values, which locks them; changes are stored if there is room for them.

    Only the lock is a file, which remains empty.
    """
    with open_locked(locate_file("memory")):
        end = _MEMORY.find(b"\0", 0)
        before = _MEMORY[:end]
        values = dict(json.loads(before)) if before else {}
        try:
            yield values
        finally:
            after = json.dumps(values).encode()
            if after != before and len(after) < SIZE:
                # The first byte is written last, so that a process that is killed meanwhile leaves no values.
                _MEMORY[:1] = b"\0"
                _MEMORY[1 : len(after) + 1] = after[1:] + b"\0"
                _MEMORY[:1] = after[:1]
