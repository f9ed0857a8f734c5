"""Numbers of records that are none: a role treats them as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.workflows import WORKS, Stage, Work
from simulator.launch import Simulator
from support.fast_clock import with_fast_clock
from support.wrong_numbers import WRONG_NUMBERS, send_wrong_numbers


@pytest.mark.parametrize("number", WRONG_NUMBERS)
@pytest.mark.parametrize("work", WORKS, ids=str)
def test_wrong_numbers_are_no_bug(sim: Simulator, tmp_path: Path, work: Work, number: object) -> None:
    with with_fast_clock():
        stage = Stage(sim, work, "honours job ids", tmp_path)
        send_wrong_numbers(sim, number)
        ran = stage.run()
    assert "bug in the collection" not in str(ran.result), ran.result.get("exception")
