"""An export that is cut: a relay that passes so many bytes of its clients on to a port."""

from __future__ import annotations

import contextlib
import socket
import threading

from .processes import ADDRESS

PASSED = 256 << 10
CHUNK = 64 << 10


class Relay:
    """Listens on a port of its own, and cuts the connection of a client that has sent `PASSED` bytes."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server((ADDRESS, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Accept no further client."""
        with contextlib.suppress(OSError):
            # Closing alone would not wake the thread that accepts.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, dummy = self._listener.accept()
                with client, socket.create_connection((ADDRESS, self._target)) as server:
                    self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        # Each direction has its own thread: one that waits for its receiver must not stop the other.
        back = threading.Thread(target=_copy, args=(server, client, None), daemon=True)
        back.start()
        _copy(client, server, PASSED)
        back.join()


def _copy(source: socket.socket, target: socket.socket, limit: int | None) -> None:
    """Copy until the source ends or the limit is reached, and then cut both."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK if limit is None else min(CHUNK, limit)):
            target.sendall(data)
            limit = None if limit is None else limit - len(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
