"""The connections of the event source job_results: idle ones do not block posts, and malformed ones fill no log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda import listener as _listener

from support.event_sources import Rules, job_headers, post, receiving
from support.socket_servers import free_port, is_listening
from support.waiting import wait_until

JOB = "5d1f3f9a0e7b4f0d9b9a0c6f3a7f1b2c"
OPEN_FILES, IDLE = 256, 373
SOURCE = f"""
import asyncio, json, resource, sys
from support.event_sources import plugin
resource.setrlimit(resource.RLIMIT_NOFILE, ({OPEN_FILES}, {OPEN_FILES}))
asyncio.run(plugin("event_source", "job_results")(asyncio.Queue(), json.loads(sys.argv[1])))
"""


@pytest.fixture
def certfile(tmp_path: Path) -> str:
    path = tmp_path / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    return str(path)


@contextlib.contextmanager
def limited_source(log: Path, **args: Any) -> Iterator[int]:
    """Run the source in a process that may open few files; yield its port."""
    port = free_port()
    given = {"host": "127.0.0.1", "port": port, "path": "/secret", "confirm": False, **args}
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", SOURCE, json.dumps(given)], stderr=output, env={**os.environ})
    try:
        wait_until(lambda: process.poll() is not None or is_listening(port))
        assert process.poll() is None, log.read_text(encoding="utf-8")
        yield port
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def idle_connections(
    port: int, count: int, start: bytes = b"", source: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """Open connections, each of which sends the start of a request and no more."""
    with contextlib.ExitStack() as stack:
        opened = []
        for dummy in range(count):
            client = socket.create_connection(("127.0.0.1", port), source_address=(source, 0))
            opened.append(stack.enter_context(client))
            with contextlib.suppress(OSError):
                client.sendall(start)
        yield opened


@pytest.mark.parametrize("start", [b"", b"POST /secret HTTP/1.1\r\nX-Job-UUID: "])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_post_is_answered_while_many_connections_are_idle(
    tmp_path: Path, certfile: str, scheme: str, start: bytes
) -> None:
    """The connections come from the address of the post, and are more than the files that the process may open."""
    log = tmp_path / "log"

    async def send(port: int) -> int:
        connector, timeout = aiohttp.TCPConnector(ssl=False), aiohttp.ClientTimeout(60)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            return await post(session, f"{scheme}://127.0.0.1:{port}/secret", JOB)

    args = {"certfile": certfile} if scheme == "https" else {}
    with limited_source(log, **args) as port, idle_connections(port, IDLE, start):
        assert asyncio.run(send(port)) == 204
    text = log.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert len(text.splitlines()) < 20, text


async def reading(
    port: int, sent: bytes, source: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection and send bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    writer.write(sent)
    await writer.drain()
    return reader, writer


def port_of(url: str) -> int:
    """Return the port in a URL."""
    return int(url.rpartition(":")[2].partition("/")[0])


async def read_until_closed(reader: asyncio.StreamReader) -> bytes:
    """Return what is received until the connection is closed."""
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), 60)
    return b""


@pytest.mark.parametrize("sent", [b"", b"POST /secret HTTP/1.1\r\n"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_head_has_a_deadline(monkeypatch: pytest.MonkeyPatch, certfile: str, scheme: str, sent: bytes) -> None:
    """Further bytes do not extend it, and it includes the TLS handshake."""
    monkeypatch.setattr(_listener, "HEAD_TIMEOUT", 0.3)

    async def play() -> bytes:
        args = {"certfile": certfile} if scheme == "https" else {}
        async with receiving(Rules(), scheme, **args) as url:
            reader, writer = await reading(port_of(url), b"" if scheme == "https" else sent)

            async def drip() -> None:
                while sent and scheme == "http":
                    writer.write(b"X-Header: 1\r\n")
                    await asyncio.sleep(0.02)

            dripping = asyncio.create_task(drip())
            received = await read_until_closed(reader)
            dripping.cancel()
            writer.close()
            return received

    assert asyncio.run(play()) == b""


def test_a_tls_connection_without_a_request_has_a_deadline(monkeypatch: pytest.MonkeyPatch, certfile: str) -> None:
    monkeypatch.setattr(_listener, "HEAD_TIMEOUT", 0.3)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def play() -> bytes:
        async with receiving(Rules(), "https", certfile=certfile) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(url), ssl=context)
            received = await read_until_closed(reader)
            writer.close()
            return received

    assert asyncio.run(play()) == b""


def head(path: str = "/secret", length: int = 2, uuid: str = JOB) -> bytes:
    """Return the head of a post."""
    headers = {"Host": "receiver", "Content-Length": str(length), **job_headers(uuid)}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def test_a_post_in_progress_keeps_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Its peer cannot open another one; a peer with a refused post, or with another address, can."""
    caplog.set_level(logging.WARNING)

    async def play() -> list[bytes]:
        async with receiving(Rules(), max_connections_per_peer=1) as url:
            port = port_of(url)
            first, first_writer = await reading(port, head("/wrong", 9))
            answers = [await first.readline()]
            # The receiver has not read the body of the refused post; the connection is open.
            second, second_writer = await reading(port, head() + b"{")
            await asyncio.sleep(0.2)
            third, third_writer = await reading(port, head(uuid="3" * 32))
            answers.append(await read_until_closed(third))
            fourth, fourth_writer = await reading(port, head(uuid="4" * 32) + b"{}", "127.0.0.2")
            answers.append(await fourth.readline())
            second_writer.write(b"}")
            answers.append(await second.readline())
            for writer in (first_writer, second_writer, third_writer, fourth_writer):
                writer.close()
            return answers

    refused, none, other, own = asyncio.run(play())
    assert refused.startswith(b"HTTP/1.1 404")
    assert none == b""
    assert other.startswith(b"HTTP/1.1 204")
    assert own.startswith(b"HTTP/1.1 204")
    assert "127.0.0.1: too many connections" in caplog.text


def test_the_peer_with_most_connections_loses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit, the peer with most connections loses one, even if another peer has an older connection."""
    monkeypatch.setattr(_listener, "limit_connections", lambda: 4)

    async def play() -> tuple[bytes, bytes]:
        async with receiving(Rules()) as url:
            port = port_of(url)
            old, old_writer = await reading(port, b"POST")
            with idle_connections(port, 3, b"", "127.0.0.2") as idle:
                new, new_writer = await reading(port, head() + b"{}", "127.0.0.3")
                answer = await new.readline()
                old_writer.write(head()[4:] + b"{}")
                other = await old.readline()
                assert await asyncio.to_thread(idle[0].recv, 1) == b""
            for writer in (old_writer, new_writer):
                writer.close()
            return answer, other

    answer, other = asyncio.run(play())
    assert answer.startswith(b"HTTP/1.1 204")
    assert other.startswith(b"HTTP/1.1 204")


@pytest.mark.parametrize(
    "sent",
    [
        b"NO HTTP\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"POST /secret HTTP/9.9\r\n\r\n",
        b"POST /secret HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /secret HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"POST //[ HTTP/1.1\r\n\r\n",
    ],
)
def test_malformed_http_is_counted(caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    """The log has few short lines without any text of the sender."""
    caplog.set_level(logging.DEBUG)

    async def play() -> None:
        async with receiving(Rules()) as url:
            for dummy in range(50):
                reader, writer = await reading(port_of(url), sent)
                assert not (await read_until_closed(reader)).startswith(b"HTTP/1.1 2")
                writer.close()

    asyncio.run(play())
    records = [record for record in caplog.records if record.name.startswith(("virtinfra", "aiohttp"))]
    assert 1 <= len(records) <= 6, caplog.text
    assert "Traceback" not in caplog.text
    assert all(len(record.getMessage()) < 150 for record in records)


def test_a_failed_tls_handshake_is_counted(caplog: pytest.LogCaptureFixture, certfile: str) -> None:
    caplog.set_level(logging.WARNING)

    async def play() -> None:
        async with receiving(Rules(), "https", certfile=certfile) as url:
            for dummy in range(20):
                reader, writer = await reading(port_of(url), b"GET / HTTP/1.1\r\n\r\n")
                await read_until_closed(reader)
                writer.close()

    asyncio.run(play())
    assert 1 <= len(caplog.records) <= 5, caplog.text
    assert "the TLS handshake failed" in caplog.text
    assert "Traceback" not in caplog.text
