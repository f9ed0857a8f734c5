"""The results of a chaos run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any


class Report:
    """The figures of one part of the run, and its wrong results."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.tasks = self.failed = self.unknown = self.requests = 0
        self.faults: Counter[str] = Counter()
        self.problems: list[str] = []
        self._begin = 0.0

    def begin(self) -> Report:
        """Start measuring the time."""
        self._begin = time.monotonic()
        return self

    def task(self, result: Mapping[str, Any], faults: Mapping[str, int], requests: int) -> None:
        """Count a task, its faults and its requests."""
        self.tasks += 1
        self.requests += requests
        self.faults.update(faults)
        self.failed += bool(result.get("failed"))
        self.unknown += "is unknown" in str(result.get("msg", ""))

    def wrong(self, problem: str) -> None:
        """Print and keep a wrong result."""
        self.problems.append(problem)
        print(f"WRONG  {problem}", flush=True)

    def show(self) -> None:
        """Print the figures."""
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()) if count)
        print(
            f"{self.title}: {self.tasks} tasks, {self.requests} requests, {sum(self.faults.values())} faults"
            f" ({kinds}); {self.failed} tasks failed, {self.unknown} of them with an unknown outcome;"
            f" {len(self.problems)} wrong; {time.monotonic() - self._begin:.0f} s",
            flush=True,
        )
