# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of faults for the session `faults`: each can be put into the present code."""

from __future__ import annotations

import ast

from support.collection import ROOT
from support.past_faults import FAULTS


def test_faults_can_be_put_into_the_code() -> None:
    """After a change of such a line, adapt the text in the list, or replace the fault by another one."""
    problems = []
    for fault in FAULTS:
        text = (ROOT / fault.file).read_text(encoding="utf-8")
        if text.count(fault.old) != 1:
            problems.append(f"{fault.name}: its text occurs {text.count(fault.old)} times in {fault.file}")
        elif fault.file.endswith(".py"):
            ast.parse(text.replace(fault.old, fault.new))
        for test in fault.tests.split():
            path = test.partition("::")[0]
            if not (ROOT / path).exists() and not (ROOT / "tests" / "unit" / path).exists():
                problems.append(f"{fault.name}: there is no {test}")
    assert not problems
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 40
