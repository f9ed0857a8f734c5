"""A flood of posts to a real ansible-rulebook: none is lost or counts twice, except for one after a kill."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import aiohttp

from support.event_sources import deliver, post
from support.rulebook_runner import Rulebook, run_rulebook
from support.socket_servers import free_port
from support.waiting import wait_until

RULEBOOK = str(Path(__file__).parent / "rulebooks" / "flood.yml")
POSTS, REPEATS, MALFORMED, BUFFER = 1000, 100, 50, 50
MOST_GROWTH = 50 * 1024 * 1024
JOBS = [f"{number:032x}" for number in range(POSTS)]
CONNECTIONS = 50


async def flood(url: str) -> None:
    """Post all jobs; half of the repeats come together with the original, the others later."""
    rng = random.Random(1)
    together, later = JOBS[: REPEATS // 2], JOBS[-REPEATS // 2 :]
    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:
        calls = [deliver(session, url, uuid) for uuid in (*together, *JOBS)]
        malformed = [post(session, url, uuid, b"{") for uuid in rng.sample(JOBS, MALFORMED)]
        await asyncio.gather(*calls, *malformed)
        await asyncio.gather(*(deliver(session, url, uuid) for uuid in later))


def wait_until_settled(rulebook: Rulebook) -> Counter[str]:
    """Wait until all jobs have fired and no more events follow; return how often each has fired."""
    wait_until(lambda: len(set(rulebook.fired())) == POSTS)
    count = 0
    while count < (count := len(rulebook.fired())):
        time.sleep(0.5)
    return Counter(rulebook.fired())


def test_flood(installed_collection: Path, tmp_path: Path) -> None:
    port = free_port()
    variables = {"port": port, "buffer_size": BUFFER}
    with run_rulebook(RULEBOOK, tmp_path, installed_collection, variables, port) as rulebook:
        before = rulebook.memory()
        asyncio.run(flood(f"http://127.0.0.1:{port}/secret"))
        assert wait_until_settled(rulebook) == Counter(JOBS)
        assert rulebook.memory() - before < MOST_GROWTH


async def flood_until_killed(url: str, rulebook: Rulebook) -> list[str]:
    """Post jobs until some have fired, kill ansible-rulebook, and return the jobs that were acknowledged."""
    acknowledged: list[str] = []
    connector = aiohttp.TCPConnector(limit=CONNECTIONS)

    async def send(session: aiohttp.ClientSession, uuid: str) -> None:
        try:
            await deliver(session, url, uuid)
        except aiohttp.ClientError:
            return
        acknowledged.append(uuid)
        if len(acknowledged) == POSTS // 2:
            rulebook.kill()

    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(send(session, uuid) for uuid in JOBS))
    return acknowledged


def test_kill(installed_collection: Path, tmp_path: Path) -> None:
    port = free_port()
    variables = {"port": port, "spool": str(tmp_path / "spool.sqlite")}
    url = f"http://127.0.0.1:{port}/secret"
    with run_rulebook(RULEBOOK, tmp_path, installed_collection, variables, port) as rulebook:
        acknowledged = asyncio.run(flood_until_killed(url, rulebook))
    assert POSTS // 2 <= len(acknowledged) < POSTS
    fired_before = set(rulebook.fired())
    assert len(fired_before) < len(acknowledged)
    with run_rulebook(RULEBOOK, tmp_path, installed_collection, variables, port) as rulebook:
        wait_until(lambda: set(acknowledged) <= set(rulebook.fired()))
        asyncio.run(flood(url))
        counts = wait_until_settled(rulebook)
    assert sum(counts.values()) - len(counts) <= 1, [uuid for uuid, count in counts.items() if count > 1]
