"""Run benchmarks: the short ones, ``all``, or those named. Print the figures, their goals, and the recorded limits.

Fails only if a figure exceeds its recorded limit. ``--record`` records new limits instead. The rows for the table of
the guide about evidence follow at the end.
"""

from __future__ import annotations

import argparse
import traceback
from importlib import import_module

from ansible.plugins.loader import init_plugin_loader

from benchmarks.figures import HEADER, Figure, describe_machine, is_worse, read_limits, record_limits

# Each is a file with a function `measure` that yields figures.
SHORT = (
    *("tasks", "waiting", "batches", "names", "inventory", "events", "onboarding_short", "objects", "workflows"),
    *("objects_beside", "reports", "backups"),
)
LONG = ("batches_large", "objects_large", "inventory_large", "onboarding", "workflows_large", "rulebooks")


def main() -> int:
    """Measure and print; return 0 if no figure is worse than recorded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true", help="record the figures as limits, with a margin")
    parser.add_argument(
        "--without-limits", action="store_true", help="ignore the recorded limits, which are those of the newest core"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join((*SHORT, *LONG))}")
    options = parser.parse_args()
    names = (*SHORT, *LONG) if "all" in options.names else options.names or SHORT
    if unknown := set(names) - {*SHORT, *LONG}:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    # This must run before anything imports the collection, or Ansible would not find its plugins.
    init_plugin_loader()
    limits = {} if options.without_limits else read_limits()
    figures: list[Figure] = []
    broken: list[str] = []
    print(HEADER)
    for name in names:
        try:
            for figure in import_module(f"benchmarks.{name}").measure():
                figures.append(figure)
                print(figure.format_line(limits.get(figure.name)), flush=True)
        except Exception:
            # The others still run.
            traceback.print_exc()
            broken.append(name)
    print(f"\nMeasured on {describe_machine()}:\n\n| what | goal | figure |\n|---|---|---|")
    for figure in figures:
        if figure.guide:
            print(figure.format_guide_row())
    missed = [figure.name for figure in figures if figure.misses_goal]
    print(f"\n{len(missed)} of {sum(figure.goal is not None for figure in figures)} goals missed: {', '.join(missed)}")
    if options.record:
        record_limits(figures)
        return int(bool(broken))
    worse = [figure.name for figure in figures if is_worse(figure, limits.get(figure.name))]
    for problem, affected in (("worse than the recorded limit", worse), ("not measured", broken)):
        if affected:
            print(f"{problem}: {', '.join(affected)}")
    return int(bool(worse or broken))


if __name__ == "__main__":
    raise SystemExit(main())
