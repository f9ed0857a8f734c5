"""Run event sources in a test, like ansible-rulebook but without rules, and post to them."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp

from support.collection import ROOT
from support.socket_servers import free_port, is_listening

PLUGINS = ROOT / ".cache/ansible_collections/virtinfra/manager/extensions/eda/plugins"
PATIENCE = 60.0


def plugin(kind: str, name: str) -> Any:
    """Return ``main`` of an event source or filter, loaded as a separate file."""
    spec = importlib.util.spec_from_file_location(name, PLUGINS / kind / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


class Rules:
    """The queue of a source, and the ``events`` that were taken from it, in order."""

    def __init__(self, pause: Callable[[], Any] | None = None) -> None:
        # The size of the queue in ansible-rulebook.
        self.queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(1)
        self.events: list[dict[str, Any]] = []
        self._pause = pause

    async def run(self) -> None:
        """Take events forever."""
        while True:
            self.events.append(await self.queue.get())
            if self._pause:
                await self._pause()

    async def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Return the events as soon as this number has been taken."""
        await wait_until(lambda: len(self.events) >= count)
        return self.events


async def wait_until(condition: Callable[[], bool], in_thread: bool = False) -> None:
    """Return as soon as a condition holds; one that blocks is checked in a thread."""
    deadline = time.monotonic() + PATIENCE
    while not (await asyncio.to_thread(condition) if in_thread else condition()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def running(name: str, args: Mapping[str, Any], rules: Rules) -> AsyncIterator[asyncio.Task[None]]:
    """Run a source. Raise its error if the arguments are invalid."""
    source: asyncio.Task[None] = asyncio.create_task(plugin("event_source", name)(rules.queue, dict(args)))
    taker = asyncio.create_task(rules.run())
    try:
        yield source
        if source.done():
            source.result()
    finally:
        for task in (taker, source):
            task.cancel()
        await asyncio.wait([taker, source])


@contextlib.asynccontextmanager
async def receiving(rules: Rules, scheme: str = "http", **args: Any) -> AsyncIterator[str]:
    """Run the source job_results and yield its URL as soon as it listens."""
    port = free_port()
    options = {"host": "127.0.0.1", "port": port, "path": "/secret", "confirm": False, **args}
    async with running("job_results", options, rules) as source:
        await wait_until(lambda: source.done() or is_listening(port))
        if source.done():
            source.result()
        yield f"{scheme}://127.0.0.1:{port}/secret"


def job_headers(uuid: str, success: str = "true") -> dict[str, str]:
    """Return the headers of the post for a job."""
    return {"X-Job-UUID": uuid, "X-Job-Success": success}


async def post(session: aiohttp.ClientSession, url: str, uuid: str, body: bytes = b"{}", **headers: str) -> int:
    """Post the result of a job and return the status of the response."""
    async with session.post(url, data=body, headers={**job_headers(uuid), **headers}) as response:
        return int(response.status)


async def deliver(session: aiohttp.ClientSession, url: str, uuid: str, body: bytes = b"{}") -> None:
    """Post the result of a job until it is acknowledged, as the service does, but at short intervals."""
    while await post(session, url, uuid, body) != 204:
        await asyncio.sleep(0.1)
