# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the benchmarks (all, or those named), print the figures and their limits, and fail if one is exceeded."""

from __future__ import annotations

import sys
from importlib import import_module

from ansible.plugins.loader import init_plugin_loader

BENCHMARKS = ("tasks", "waiting", "inventory", "onboarding")


def main() -> None:
    """Measure and print."""
    # This must run before anything imports the collection, or Ansible would not find its plugins.
    init_plugin_loader()
    missed = 0
    print(f"{'measured':>12} {'goal':>10}")
    for name in sys.argv[1:] or BENCHMARKS:
        for label, value, goal in import_module(name).measure():
            late = goal is not None and value > goal
            missed += late
            bound = "" if goal is None else f"{goal:10.3f}"
            print(f"{value:12.3f} {bound:>10}  {label}{'  MISSED' if late else ''}", flush=True)
    if missed:
        raise SystemExit(f"{missed} goals missed")


if __name__ == "__main__":
    main()
