"""Many NBD commands in flight at the same time."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from .connection import ANSWER_TIMEOUT, Connection, wait_for_events
from .extents import Extent
from .failures import BackupFailure
from .meter import Meter

# Chunks that are read at the same time. With chunks of 512 KiB, more of them or larger ones were not faster.
DEPTH = 16

Use = Callable[[bytearray], None]


class Pipeline:
    """Starts commands on connections and handles what they return, in one thread."""

    def __init__(self, meter: Meter, *connections: Connection) -> None:
        self._meter, self._connections = meter, connections
        self._in_flight = 0
        self._ready: deque[tuple[Use, bytearray]] = deque()
        self._failure: BackupFailure | None = None
        self._answered = time.monotonic()

    def run(self, chunks: Iterable[Extent], start: Callable[[Extent], None]) -> None:
        """Call ``start`` for each chunk, as fast as the meter permits, until all commands are done.

        Raise the first failure. Commands that are in flight then are lost with their connection.
        """
        pending = iter(chunks)
        has_more = True
        while has_more or self._in_flight or self._ready:
            has_more = has_more and self._start_chunks(pending, start)
            self._use_ready()
            if self._in_flight:
                self._wait()
            elif has_more:
                # Nothing to wait for but the rate limit.
                wait_for_events((), self._meter.pause)
            if self._failure:
                raise self._failure

    def flush(self, connection: Connection) -> None:
        """Wait until all that was written is on the disk of the server."""
        self._in_flight += 1
        connection.flush(self._complete(connection, "flush", 0, BackupFailure))
        self.run((), lambda dummy: None)

    def read(self, connection: Connection, chunk: Extent, use: Use) -> None:
        """Start to read a chunk, which ``use`` gets."""
        buffer = bytearray(chunk.length)
        finish = self._complete(connection, "read", chunk.offset, connection.failure)

        def done(error: int) -> None:
            finish(error)
            if not error:
                # libnbd permits no further command in its callback.
                self._ready.append((use, buffer))

        self._in_flight += 1
        connection.read(buffer, chunk.offset, done)

    def write(self, connection: Connection, data: memoryview, offset: int) -> None:
        """Start to write."""
        self._in_flight += 1
        connection.write(data, offset, self._complete(connection, "write", offset, BackupFailure))

    def zero(self, connection: Connection, length: int, offset: int) -> None:
        """Start to write zeros."""
        self._in_flight += 1
        connection.zero(length, offset, self._complete(connection, "write zeros", offset, BackupFailure))

    def _start_chunks(self, pending: Iterator[Extent], start: Callable[[Extent], None]) -> bool:
        """Start chunks until enough is in flight. Return whether there may be more."""
        while self._in_flight < DEPTH and not self._meter.pause:
            chunk = next(pending, None)
            if chunk is None:
                return False
            start(chunk)
            self._meter.count(chunk.length)
        return True

    def _use_ready(self) -> None:
        while self._ready and not self._failure:
            use, buffer = self._ready.popleft()
            use(buffer)

    def _wait(self) -> None:
        """Wait for an answer. With a rate limit, also until the next chunk may start."""
        if wait_for_events(self._connections, self._meter.pause or ANSWER_TIMEOUT):
            self._answered = time.monotonic()
        elif time.monotonic() - self._answered >= ANSWER_TIMEOUT:
            names = " and ".join(connection.name for connection in self._connections)
            raise BackupFailure(f"{names}: no answer for {ANSWER_TIMEOUT:.0f} seconds")

    def _complete(
        self, connection: Connection, verb: str, offset: int, failure: type[BackupFailure]
    ) -> Callable[[int], None]:
        def done(error: int) -> None:
            self._in_flight -= 1
            if error and not self._failure:
                self._failure = failure(f"{connection.name}: cannot {verb} at {offset}: {os.strerror(error)}")

        return done
