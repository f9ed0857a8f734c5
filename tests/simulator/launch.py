"""Start the simulator as a separate process and control it. Needs only the standard library.

with Simulator("--hosts", "100") as sim:
    requests.get(sim.url + "/service/v1/hosts", headers={"Authorization": f"OAuth {sim.session}"})
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).resolve().parent.parent
START_TIMEOUT = 30.0
CONTROL_TIMEOUT = 120
STOP_TIMEOUT = 5.0


class SimulatorError(RuntimeError):
    """The simulator did not start, or rejected a control request."""


class Simulator:
    """A simulator that runs within the `with` block; the arguments are those of its command line."""

    session = "simulator-session"
    token = "simulator-token"
    access_key_id = "simulator-key-id"
    access_key_secret = "simulator-key-secret"

    def __init__(
        self, *arguments: str, python: str = sys.executable, client_cert: tuple[str, str] | None = None
    ) -> None:
        """Prepare a simulator. Control requests use `client_cert` (certificate, key), needed with --tls-client-ca."""
        self._arguments = arguments
        self._python = python
        self._scheme = "https" if "--tls-cert" in arguments else "http"
        self._client_cert = client_cert
        self._kept = threading.local()
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The URL of the service, without a path."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Simulator:
        """Start the simulator and wait until it listens."""
        with tempfile.TemporaryDirectory(prefix="simulator-") as folder:
            port_file = Path(folder, "port")
            command = [self._python, "-m", "simulator", "--port", "0", "--port-file", str(port_file)]
            command += ["--parent", str(os.getpid()), *self._arguments]
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "PYTHONPATH": str(FOLDER)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
            self.port = self._port(port_file, self._process)
        return self

    def __exit__(self, *dummy: object) -> None:
        """Stop the simulator."""
        self.stop()

    @staticmethod
    def _port(port_file: Path, process: subprocess.Popen[bytes]) -> int:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if port_file.exists():
                return int(port_file.read_text())
            if process.poll() is not None:
                raise SimulatorError(f"the simulator exited with code {process.returncode} before it listened")
            time.sleep(0.01)
        process.kill()
        process.wait()
        raise SimulatorError(f"the simulator does not listen after {START_TIMEOUT} seconds")

    def stop(self) -> None:
        """Stop the process, if it runs."""
        process, self._process = self._process, None
        self._kept = threading.local()
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def control(self, method: str, name: str, body: Any = None) -> Any:
        """Send a control request and return its reply; raise SimulatorError with the message of a rejection."""
        data = None if body is None else json.dumps(body).encode()
        try:
            status, reply = _exchange(self._connection(), method, name, data)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The simulator has closed the connection of an earlier request, because it was unused for long.
            status, reply = _exchange(self._connection(is_new=True), method, name, data)
        if status >= 400:
            raise SimulatorError(reply["error"])
        return reply

    def _connection(self, is_new: bool = False) -> http.client.HTTPConnection:
        """Return the connection that this thread of this process keeps for control requests."""
        key = os.getpid(), self.port
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is None or is_new or self._kept.key != key:
            if self._scheme == "https":
                context = _unverified(self._client_cert)
                kept = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=CONTROL_TIMEOUT, context=context)
            else:
                kept = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CONTROL_TIMEOUT)
            self._kept.connection, self._kept.key = kept, key
        return kept

    def health(self) -> dict[str, Any]:
        """Return the seed options and the switches."""
        return cast("dict[str, Any]", self.control("GET", "health"))

    def operations(self) -> list[dict[str, Any]]:
        """Return the operations of the simulator with their paths and parameters."""
        return cast("list[dict[str, Any]]", self.control("GET", "operations"))

    def log(self) -> list[dict[str, Any]]:
        """Return the requests since the last reset or clear_log, oldest first."""
        return cast("list[dict[str, Any]]", self.control("GET", "log"))

    def clear_log(self) -> None:
        """Clear the request log."""
        self.control("DELETE", "log")

    def state(self) -> dict[str, Any]:
        """Return the whole state: a list of records by type, and services, qos, exported, tags, traps."""
        return cast("dict[str, Any]", self.control("GET", "state"))

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records of one type, as stored."""
        return cast("list[dict[str, Any]]", self.control("GET", f"state?kind={kind}")[kind])

    def change(self, kind: str, uuid: str, **members: Any) -> None:
        """Replace members of a record, bypassing the rules of the service."""
        self.control("POST", "change", {"kind": kind, "uuid": uuid, "members": members})

    def guest_write(self, volume: str, offset: int, length: int, seed: int) -> None:
        """Write `random.Random(seed).randbytes(length)` to a volume as its guest does; needs --disks."""
        body = {"volume": volume, "offset": offset, "length": length, "seed": seed}
        self.control("POST", "guest-write", body)

    def advance(self, seconds: float = 0) -> None:
        """Finish pending jobs and reconnections of hosts at once, however long they would take.

        Then move the clock of the service by the seconds, and expunge what was deleted long enough ago.
        """
        self.control("POST", "advance", {"seconds": seconds})

    def settle(self) -> dict[str, Any]:
        """Finish pending jobs and reconnections of hosts, and what follows them, and return the whole state."""
        return cast("dict[str, Any]", self.control("POST", "settle"))

    def reset(self, **options: Any) -> None:
        """Restore the seeded state; the options replace those of the command line."""
        self.control("POST", "reset", options)

    def configure(self, **switches: Any) -> None:
        """Change switches and keep the state."""
        self.control("POST", "config", switches)

    def sessions(self) -> dict[str, int]:
        """Return how many sessions created by logging in are valid (live), and logins, failed_logins and logouts."""
        return cast("dict[str, int]", self.control("GET", "sessions"))

    def end_sessions(self) -> None:
        """End all sessions created by logging in, as if they had expired."""
        self.control("DELETE", "sessions")

    def fault(self, fault: str, operation: str = "*", **details: Any) -> None:
        """Inject a fault."""
        self.control("POST", "faults", {"fault": fault, "operation": operation, **details})

    def deliver(self, url: str, job: str, **forged: Any) -> int | None:
        """Post the result of a job now, or a forged one with `success` and `body`; return the response's status."""
        reply = self.control("POST", "deliveries", {"url": url, "job": job, **forged})
        return cast("int | None", reply["status"])

    def faults(self) -> list[dict[str, Any]]:
        """Return the injected faults, each with the number of times that it occurred."""
        return cast("list[dict[str, Any]]", self.control("GET", "faults"))

    def clear_faults(self) -> None:
        """Remove all faults."""
        self.control("DELETE", "faults")


def _exchange(connection: http.client.HTTPConnection, method: str, name: str, data: bytes | None) -> tuple[int, Any]:
    """Send a control request; return the status and the reply."""
    headers = {} if data is None else {"Content-Type": "application/json"}
    connection.request(method, f"/_simulator/{name}", data, headers)
    with connection.getresponse() as response:
        return response.status, json.load(response)


def _unverified(client_cert: tuple[str, str] | None) -> ssl.SSLContext:
    """Return a context without verification: the server is a child of this process."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if client_cert:
        context.load_cert_chain(*client_cert)
    return context
