# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fixture that runs workflows."""

from __future__ import annotations

import pytest

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRunner


@pytest.fixture
def work(sim: Simulator) -> WorkflowRunner:
    return WorkflowRunner(sim)
