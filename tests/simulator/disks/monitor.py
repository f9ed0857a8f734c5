"""The monitor of a qemu-storage-daemon."""

from __future__ import annotations

import json
import socket
from typing import Any

from ..errors import operation_refused
from .processes import PATIENCE


class Monitor:
    """Sends commands of QEMU's machine protocol, QMP: a line of JSON each way."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        self._socket, self._replies = connection, connection.makefile("rb")
        self._receive()
        self("qmp_capabilities")

    def __call__(self, command: str, **arguments: Any) -> Any:
        """Execute a command and return its result; raise OperationError if it fails or the daemon has ended."""
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        try:
            self._socket.sendall(json.dumps({"execute": command, "arguments": named}).encode())
        except OSError as error:
            raise operation_refused(f"{command}: {error}") from None
        while True:
            message = self._receive()
            if "error" in message:
                raise operation_refused(f"{command}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]

    def _receive(self) -> dict[str, Any]:
        try:
            line = self._replies.readline()
        except OSError as error:
            raise operation_refused(f"qemu-storage-daemon does not answer: {error}") from None
        if not line:
            raise operation_refused("qemu-storage-daemon has ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close the connection."""
        self._replies.close()
        self._socket.close()
