"""Measure the delay between the end of a job and the end of the wait for it, and the number of polls."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import RUNNING
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import wait_for_job, wait_for_jobs
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions

from benchmarks.figures import Figure
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.clients import make_client

DURATIONS = (0.05, 0.2, 0.5, 1.0, 2.0, 6.0)
BATCHES = (10, 200, 1000)
# The durations in the table of the guide.
SHOWN_DURATIONS = (0.5, 6.0)
HOST = "a0000003000040008000000000000001"


def measure() -> Iterator[Figure]:
    """Yield the figures of single jobs and of batches."""
    with Simulator("--hosts", str(max(BATCHES)), "--latency-spread", "0") as simulator:
        connection = ConnectionOptions(base_url=simulator.url, session_id=simulator.session)
        for duration in DURATIONS:
            simulator.configure(latency=duration)
            lag, polls = wait_for_one(simulator, connection, duration)
            goal = (max(0.05, 0.05 * duration) + 0.03) * 1000
            text = f"the delay until a task notices the end of a job of {duration:g} s"
            shown = text if duration in SHOWN_DURATIONS else ""
            yield Figure(f"lag_{duration:g}_ms", f"{text}, ms", lag * 1000, goal, "G3", shown, " ms")
            yield Figure(f"polls_{duration:g}", f"polls of a job of {duration:g} s", polls, most_polls(duration), "G3")
        simulator.configure(latency=1.0, latency_spread=0.2)
        for count in BATCHES:
            polls = wait_for_many(simulator, connection, count)
            yield Figure(f"polls_of_{count}", f"polls a job, {count:,} jobs of 1 s +- 20 %", polls, 4.0, "G3")


def most_polls(duration: float) -> float:
    """Return the maximum number of polls: dense below 1 s, then geometric."""
    return 2 + duration / 0.05 if duration < 1 else 22 + math.log(duration) / math.log(1.05)


def wait_for_one(simulator: Simulator, connection: ConnectionOptions, duration: float) -> tuple[float, float]:
    """Return the seconds until the end of a job is noticed, and the number of polls."""
    with make_client(connection) as client:
        job = client.start_job("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"})
        begin = time.monotonic()
        simulator.clear_log()
        wait_for_job(client, job)
        return time.monotonic() - begin - duration, count_polls(simulator)


def wait_for_many(simulator: Simulator, connection: ConnectionOptions, count: int) -> float:
    """Return the polls for each job of a batch."""
    simulator.clear_log()
    with make_client(connection) as client:
        uuids = [seeded_uuid("host", number) for number in range(1, count + 1)]
        jobs = [client.start_job("ChangeHostState", {"uuid": uuid, "stateEvent": "enable"}) for uuid in uuids]
        wait_for_jobs(client, jobs)
    if running := [job for job in jobs if job.state == RUNNING]:
        raise SystemExit(f"{len(running)} jobs have not ended")
    return count_polls(simulator) / count


def count_polls(simulator: Simulator) -> float:
    """Return the number of polls since the log was cleared."""
    return sum("/api-jobs/" in request["path"] for request in simulator.log())
