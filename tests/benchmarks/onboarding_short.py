# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure the role host_onboarding with jobs of 20 seconds: what the role adds shows more than with long jobs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.onboarding import measure_role

JOB = 20.0


def measure() -> Iterator[Figure]:
    """Yield the figures with jobs of 20 seconds."""
    yield from measure_role(JOB)
