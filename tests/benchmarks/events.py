"""Measure the time from the post of a job's result until its event is in the queue of the rulebook."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from statistics import quantiles

import aiohttp

from benchmarks.figures import Figure
from support.event_sources import Rules, deliver, receiving

RATE = 100
EVENTS = 1000


def measure() -> Iterator[Figure]:
    """Yield the figures of a steady stream of results."""
    delays = asyncio.run(measure_delays())
    label = f"an event, from the end of its job to the rulebook, at {RATE} a second, 99th percentile"
    yield Figure("event_p99_ms", f"{label}, ms", quantiles(delays, n=100)[98] * 1000, 100.0, "G7", label, " ms")
    yield Figure("event_p50_ms", "the same, median, ms", quantiles(delays, n=100)[49] * 1000)


async def measure_delays() -> list[float]:
    """Post results at a constant rate, and return for each the seconds until its event was taken from the queue."""
    rules = TimedRules()
    async with receiving(rules) as url, aiohttp.ClientSession() as session:
        posts = []
        begin = time.monotonic()
        for number in range(EVENTS):
            await asyncio.sleep(max(0.0, begin + number / RATE - time.monotonic()))
            uuid = f"{number:032x}"
            rules.posted[uuid] = time.monotonic()
            posts.append(asyncio.create_task(deliver(session, url, uuid)))
        await asyncio.gather(*posts)
        await rules.wait_for(EVENTS)
    return rules.delays


class TimedRules(Rules):
    """The queue of the rulebook, and the seconds from the post of each event until it was taken."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: dict[str, float] = {}
        self.delays: list[float] = []

    async def run(self) -> None:
        """Take events forever."""
        while True:
            event = await self.queue.get()
            self.events.append(event)
            self.delays.append(time.monotonic() - self.posted[event["job"]["uuid"]])
