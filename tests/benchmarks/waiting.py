# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure the delay between the end of a job and the end of the wait for it, and the number of polls."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import RUNNING, wait_for_job, wait_for_jobs
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions

from simulator.launch import Simulator
from support.clients import make_client

DURATIONS = (0.05, 0.2, 0.5, 1.0, 2.0, 6.0)
BATCH = 200
HOST = "a0000003000040008000000000000001"


def measure() -> Iterator[tuple[str, float, float | None]]:
    """Yield the label of each measurement, its value, and its limit."""
    with Simulator("--hosts", str(BATCH)) as simulator:
        connection = ConnectionOptions(base_url=simulator.url, session_id=simulator.session)
        for duration in DURATIONS:
            simulator.configure(latency=duration)
            lag, polls = one_job(simulator, connection, duration)
            yield f"lag of a job of {duration:g} s, ms (G3)", lag * 1000, (max(0.05, 0.05 * duration) + 0.03) * 1000
            yield f"polls of a job of {duration:g} s (G3)", polls, most_polls(duration)
        simulator.configure(latency=1.0)
        polls, seconds = many_jobs(simulator, connection)
        yield f"polls a job, {BATCH} jobs of 1 s (G3)", polls, 4.0
        yield f"{BATCH} jobs of 1 s, submitted and waited for, s (G2)", seconds, 3.0


def most_polls(duration: float) -> float:
    """Return the maximum number of polls: dense below 1 s, then geometric."""
    return 2 + duration / 0.05 if duration < 1 else 22 + math.log(duration) / math.log(1.05)


def one_job(simulator: Simulator, connection: ConnectionOptions, duration: float) -> tuple[float, float]:
    """Return the seconds until the end of a job is noticed, and the number of polls."""
    with make_client(connection) as client:
        job = client.start_job("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"})
        begin = time.monotonic()
        simulator.clear_log()
        wait_for_job(client, job)
        return time.monotonic() - begin - duration, count_polls(simulator)


def many_jobs(simulator: Simulator, connection: ConnectionOptions) -> tuple[float, float]:
    """Return the polls per job, and the seconds from the first call to the last result."""
    simulator.clear_log()
    begin = time.monotonic()
    with make_client(connection) as client:
        uuids = [f"a0000003000040008{number:015x}" for number in range(1, BATCH + 1)]
        jobs = [client.start_job("ChangeHostState", {"uuid": uuid, "stateEvent": "enable"}) for uuid in uuids]
        wait_for_jobs(client, jobs)
    assert all(job.state != RUNNING for job in jobs)
    return count_polls(simulator) / BATCH, time.monotonic() - begin


def count_polls(simulator: Simulator) -> float:
    """Return the number of polls since the log was cleared."""
    return sum("/api-jobs/" in request["path"] for request in simulator.log())
