"""Figures that the benchmarks measure, their goals, and the limits that the repository records.

A goal is what we want; a figure that misses it is shown with MISSED. A limit is what the repository has reached; a
figure that exceeds it fails the command. So a change cannot make a figure worse unnoticed, and a goal can be ambitious.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

LIMITS = Path(__file__).with_name("limits.json")

# By how much a recorded limit exceeds the figure, for the noise of a machine.
MARGIN = 1.25

HEADER = f"{'measured':>11} {'goal':>9} {'limit':>9}"


@dataclass(frozen=True)
class Figure:
    """A measured figure, of which less is better.

    ``name`` identifies it among the limits. ``goal_id`` is the number of the goal (G1 to G10). ``guide`` describes it
    in the table of the guide about evidence; ``unit`` follows figure and goal there.
    """

    name: str
    label: str
    value: float
    goal: float | None = None
    goal_id: str = ""
    guide: str = ""
    unit: str = ""

    @property
    def misses_goal(self) -> bool:
        """Whether the figure is worse than its goal."""
        return self.goal is not None and self.value > self.goal

    def format_line(self, limit: float | None) -> str:
        """Return a line of the table that the command prints."""
        remarks = [self.goal_id, "MISSED" if self.misses_goal else "", "WORSE" if is_worse(self, limit) else ""]
        numbers = f"{self.value:11.3f} {_format_bound(self.goal)} {_format_bound(limit)}"
        return "  ".join(filter(None, (numbers, self.label, *remarks)))

    def format_guide_row(self) -> str:
        """Return a row of the table in the guide, in reStructuredText."""
        goal = f"{format_number(self.goal)}{self.unit}" if self.goal is not None else ""
        cells = (self.guide.replace("`", "``"), goal, f"{format_number(self.value)}{self.unit}")
        return "   * - " + "\n     - ".join(cells)


def is_worse(figure: Figure, limit: float | None) -> bool:
    """Return whether a figure exceeds the recorded limit."""
    return limit is not None and figure.value > limit


def read_limits() -> dict[str, float]:
    """Return the recorded limits by the names of figures."""
    limits: dict[str, float] = json.loads(LIMITS.read_text(encoding="utf-8"))
    return limits


def record_limits(figures: Iterable[Figure]) -> None:
    """Record limits for the figures that have a goal; the limits of others stay. No limit is stricter than its goal."""
    new = {each.name: max(each.goal, round_up(each.value * MARGIN)) for each in figures if each.goal is not None}
    LIMITS.write_text(json.dumps({**read_limits(), **new}, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def round_up(value: float) -> float:
    """Return a number of two significant digits that is not less than the value."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.2g}")


def format_number(value: float) -> str:
    """Return a number with three significant digits at most, with separators of thousands."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 or rounded == int(rounded) else f"{rounded:g}"


def describe_machine() -> str:
    """Return the processor, the versions, and the date."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    versions = f"Python {platform.python_version()}, ansible-core {version('ansible-core')}"
    return f"{os.cpu_count()} cores, {model}, {versions}, {time.strftime('%Y-%m-%d')}"


def _format_bound(bound: float | None) -> str:
    return f"{'-' if bound is None else f'{bound:.3f}':>9}"
