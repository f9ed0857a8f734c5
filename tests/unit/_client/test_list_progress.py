"""A list that takes long says how far it is."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock

from simulator.launch import Simulator
from support.module_runner import run_module


@pytest.mark.parametrize(("seconds", "lines"), [(0.01, []), (6, ["QueryCluster: 3 of 3 records"])])
def test_progress_is_shown_every_few_seconds(sim: Simulator, seconds: float, lines: list[str]) -> None:
    """Each look at the clock takes so many seconds."""
    sim.reset(clusters=3)
    ticks = itertools.count(step=seconds)

    class SlowClock(Clock):
        """A clock of a service that is slow."""

        monotonic = staticmethod(lambda: float(next(ticks)))

    shown: list[str] = []
    connection = {"base_url": sim.url, "session_id": sim.session}
    options = {"resource_type": "cluster", "request_timeout": 3600, "request_retries": 0}
    outcome = run_module("resource_info", {**connection, **options}, clock=SlowClock, on_progress=shown.append)
    assert len(outcome.result.get("resources", ())) == 3, outcome.result
    assert shown[:1] == lines
