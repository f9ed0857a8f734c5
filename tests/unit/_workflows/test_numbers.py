"""Numbers of records that are none: a role treats them as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.workflows import WORKS, Stage, Work
from simulator.launch import Simulator
from support.fast_clock import with_fast_clock
from support.wrong_numbers import SHIFTS, choose_wrong_number, send_wrong_numbers


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("work", WORKS, ids=str)
def test_wrong_numbers_are_no_bug(sim: Simulator, tmp_path: Path, work: Work, shift: int) -> None:
    with with_fast_clock():
        stage = Stage(sim, work, "honours job ids", tmp_path)
        send_wrong_numbers(sim, choose_wrong_number(WORKS.index(work), shift))
        ran = stage.run()
    assert "bug in the collection" not in str(ran.result), ran.result.get("exception")
