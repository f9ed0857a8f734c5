"""Connections to NBD exports. Only this file knows libnbd."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import nbd
except ImportError:
    # The process then finds another Python, or fails with the names of the packages, before it connects.
    nbd = None

from .extents import Extent
from .failures import BackupFailure, ImageFailure
from .plan import Export

ALLOCATION = "base:allocation"

# The seconds that an export may take for the handshake: a second client of a qemu-nbd waits for ever. And the seconds
# without any answer to commands after which an export is given up.
CONNECT_TIMEOUT = 30.0
ANSWER_TIMEOUT = 300.0
_CLOSE_TIMEOUT = 5.0

# Servers that know 32-bit requests only describe less than 4 GiB at once.
_STATUS_LENGTH = 2 << 30

_READS_AS_ZERO = 2
_IS_DIRTY = 1

# A firewall may forget a connection that is idle while other volumes are copied.
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
)

# In the handshake, QEMU sends an answer in parts, each when the one before has arrived. The system would let it wait 40
# ms for that. The system soon resets the option.
_ACKNOWLEDGE_AT_ONCE = ((socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1),)

Done = Callable[[int], None]


# From this version on, libnbd reads into the buffers of Python itself.
_OLDEST_LIBNBD = (1, 12)


def has_libnbd() -> bool:
    """Return whether this Python has libnbd in a version that is new enough. PyPI has another package of its name."""
    if not hasattr(nbd, "NBD"):
        return False
    version = str(nbd.NBD().get_version()).split(".")
    return tuple(map(int, version[:2])) >= _OLDEST_LIBNBD


class Connection:
    """A connection to one export. ``name`` is what messages call it, and ``failure`` what is raised if it breaks."""

    def __init__(self, name: str, contexts: Iterable[str] = (), failure: type[BackupFailure] = BackupFailure) -> None:
        self.name, self.failure = name, failure
        self._handle = nbd.NBD()
        # Buffers of Python are zero already.
        self._handle.set_pread_initialize(False)
        for context in (ALLOCATION, *contexts):
            self._handle.add_meta_context(context)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int(self._handle.get_size())

    def filter_contexts(self, contexts: Iterable[str]) -> set[str]:
        """Return those of the requested meta contexts that the export has."""
        return {context for context in contexts if self._handle.can_meta_context(context)}

    def read(self, buffer: bytearray, offset: int, done: Done) -> None:
        """Start to read into a buffer. ``done`` gets an errno or 0."""
        with self._failures():
            self._handle.aio_pread(buffer, offset, _complete(done))

    def write(self, data: memoryview, offset: int, done: Done) -> None:
        """Start to write. The data must not change until ``done`` gets an errno or 0."""
        with self._failures():
            self._handle.aio_pwrite(data, offset, _complete(done))

    def zero(self, length: int, offset: int, done: Done) -> None:
        """Start to write zeros."""
        with self._failures():
            self._handle.aio_zero(length, offset, _complete(done))

    def flush(self, done: Done) -> None:
        """Start to bring all that was written to the disk."""
        with self._failures():
            self._handle.aio_flush(_complete(done))

    def query(self, extent: Extent, context: str, take: Callable[[Sequence[int]], None], done: Done) -> None:
        """Start to ask for the lengths and flags of a meta context, which ``take`` gets in turn."""

        def receive(name: str, dummy_offset: int, entries: Sequence[int], dummy_error: Any) -> None:
            if name == context:
                take(entries)

        with self._failures():
            self._handle.aio_block_status(extent.length, extent.offset, receive, _complete(done))

    def register(self, poller: select.poll) -> int | None:
        """Register with a poller what the connection waits for. Return the file descriptor, None if it is nothing."""
        direction = self._handle.aio_get_direction()
        events = (select.POLLIN if direction & nbd.AIO_DIRECTION_READ else 0) | (
            select.POLLOUT if direction & nbd.AIO_DIRECTION_WRITE else 0
        )
        if not events:
            return None
        descriptor = int(self._handle.aio_get_fd())
        poller.register(descriptor, events)
        return descriptor

    def advance(self, events: int) -> None:
        """Continue after events of the poller. Raise BackupFailure if the connection broke."""
        direction = self._handle.aio_get_direction()
        with self._failures():
            if events & ~select.POLLOUT and direction & nbd.AIO_DIRECTION_READ:
                self._handle.aio_notify_read()
            elif events & ~select.POLLIN and direction & nbd.AIO_DIRECTION_WRITE:
                self._handle.aio_notify_write()
        if self._handle.aio_is_dead() or self._handle.aio_is_closed():
            raise self.failure(f"{self.name} ended the connection")

    def connect(self, export: Export) -> None:
        """Connect to a volume on a host. Raise BackupFailure."""
        with self._failures():
            self._handle.set_export_name(export.name)
            self._handle.aio_connect_tcp(export.address, str(export.port))
        deadline = time.monotonic() + CONNECT_TIMEOUT
        while self._handle.aio_is_connecting():
            if time.monotonic() > deadline:
                raise BackupFailure(
                    f"{self.name} does not answer within {CONNECT_TIMEOUT:.0f} seconds. Another client may use it"
                )
            self._set_options(_ACKNOWLEDGE_AT_ONCE)
            with self._failures():
                self._handle.poll(1000)
        if not self._handle.aio_is_ready():
            raise BackupFailure(f"{self.name} ended the handshake")
        self._set_options(_KEEP_ALIVE)

    def _set_options(self, options: Iterable[tuple[int, int, int]]) -> None:
        """Set options of the socket. Without the options, the connection is slower, but works."""
        with suppress(OSError, nbd.Error), socket.socket(fileno=os.dup(self._handle.aio_get_fd())) as connected:
            for option in options:
                connected.setsockopt(*option)

    def start(self, command: Sequence[str]) -> None:
        """Start a server for this connection only, and connect. Raise BackupFailure."""
        with self._failures():
            self._handle.connect_systemd_socket_activation(list(command))

    def close(self) -> None:
        """End the connection, and wait for a server that was started for it."""
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        with suppress(nbd.Error):
            self._handle.aio_disconnect()
            # A blocking shutdown would wait for ever for a server that hangs.
            while not (self._handle.aio_is_closed() or self._handle.aio_is_dead()) and time.monotonic() < deadline:
                self._handle.poll(1000)
        # libnbd waits for a server that it started when the last reference is gone.
        self._handle = None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except nbd.Error as error:
            raise self.failure(f"{self.name}: {error.string}") from error


@contextmanager
def connect_export(export: Export, contexts: Collection[str] = ()) -> Iterator[Connection]:
    """Connect to a volume on a host, and ask for further meta contexts."""
    connection = Connection(str(export), contexts)
    try:
        connection.connect(export)
        yield connection
    finally:
        connection.close()


@contextmanager
def serve_image(path: Path, command: Sequence[str]) -> Iterator[Connection]:
    """Connect to an image that ``command`` serves until the connection ends."""
    connection = Connection(str(path), failure=ImageFailure)
    try:
        connection.start(command)
        yield connection
    finally:
        connection.close()


def wait_for_events(connections: Iterable[Connection], seconds: float) -> bool:
    """Wait until a connection can continue, and let it. Return whether one did within the time."""
    poller = select.poll()
    by_descriptor = {}
    for connection in connections:
        if (descriptor := connection.register(poller)) is not None:
            by_descriptor[descriptor] = connection
    found = poller.poll(seconds * 1000)
    for descriptor, events in found:
        by_descriptor[descriptor].advance(events)
    return bool(found)


def list_data(connection: Connection) -> list[Extent]:
    """Return the extents of an export that need not be zero. What was discarded need not be zero either."""
    if not connection.filter_contexts([ALLOCATION]):
        return [Extent(0, connection.size)]
    return _list_extents(connection, ALLOCATION, lambda flags: not flags & _READS_AS_ZERO)


def list_dirty(connection: Connection, context: str) -> list[Extent]:
    """Return the extents that a dirty bitmap marks."""
    return _list_extents(connection, context, lambda flags: bool(flags & _IS_DIRTY))


def _list_extents(connection: Connection, context: str, is_wanted: Callable[[int], bool]) -> list[Extent]:
    """Return the extents of an export whose flags are wanted."""
    found: list[Extent] = []
    offset, size = 0, connection.size
    while offset < size:
        entries = _query(connection, Extent(offset, min(_STATUS_LENGTH, size - offset)), context)
        for length, flags in zip(entries[::2], entries[1::2]):
            length = min(length, size - offset)
            if is_wanted(flags):
                found.append(Extent(offset, length))
            offset += length
    return found


def _query(connection: Connection, extent: Extent, context: str) -> Sequence[int]:
    """Return lengths and flags from the beginning of an extent. Raise BackupFailure."""
    entries: list[int] = []
    errors: list[int] = []
    connection.query(extent, context, entries.extend, errors.append)
    while not errors:
        if not wait_for_events([connection], ANSWER_TIMEOUT):
            raise connection.failure(f"{connection.name} has not answered for {ANSWER_TIMEOUT:.0f} seconds")
    if errors[0] or not any(entries[::2]):
        reason = os.strerror(errors[0]) if errors[0] else "the answer is empty"
        raise connection.failure(f"{connection.name} does not describe {context}: {reason}")
    return entries


def _complete(done: Done) -> Callable[[Any], int]:
    """Return the callback for libnbd, which passes a ctypes integer and forgets the command if this returns 1."""

    def complete(error: Any) -> int:
        done(int(getattr(error, "value", error)))
        return 1

    return complete
