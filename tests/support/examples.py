# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many generated inputs the tests with Hypothesis try."""

from __future__ import annotations

import os

# CI sets a higher one, because each run tries other inputs.
FACTOR = int(os.environ.get("EXAMPLES_FACTOR", "1"))


def count_examples(number: int) -> int:
    """Return how many inputs a test tries that usually tries a number of them."""
    return number * FACTOR
