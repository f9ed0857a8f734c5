"""A gateway that adds a part to the paths, which the polling addresses of the service lack."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from conftest import FakeClock

from simulator.launch import Simulator
from support.module_runner import run_module
from support.scenarios import HOST

PAGE = ("text/html", b"<html><title>404 Not Found</title></html>")
TEXT = ("text/plain", b"no such route")
DISABLE = {"uuid": HOST, "state": "disabled"}


@contextmanager
def gateway(sim: Simulator, answer: tuple[str, bytes], has_jobs: bool = True) -> Iterator[dict[str, Any]]:
    """Forward requests below /manager and answer all others with 404; return the options of the connection."""

    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.startswith("/manager/") and (has_jobs or "/api-jobs/" not in self.path):
                upstream = http.client.HTTPConnection("127.0.0.1", sim.port)
                upstream.request(self.command, self.path.removeprefix("/manager"), content, dict(self.headers))
                response = upstream.getresponse()
                self.reply(response.status, response.headers.get("Content-Type", ""), response.read())
                upstream.close()
            else:
                self.reply(404, *answer)

        do_GET = do_POST = do_PUT = do_DELETE = forward  # noqa: N815

        def reply(self, status: int, content_type: str, content: bytes) -> None:
            self.send_response(status)
            if content_type:
                self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *dummy: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        yield {"base_url": url, "session_id": sim.session, "path_prefix": "manager/service"}
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("answer", [PAGE, TEXT])
@pytest.mark.parametrize("location", ["wrong", "right", "relative"])
def test_jobs_are_polled_below_the_prefix(sim: Simulator, answer: tuple[str, bytes], location: str) -> None:
    sim.configure(location=location)
    with gateway(sim, answer) as options:
        call = {"operation": "ChangeHostState", "params": {"uuid": HOST, "stateEvent": "disable"}}
        result = run_module("api", {**options, **call}).result
        assert not result.get("failed"), result
        assert run_module("kvm_host", {**options, **DISABLE}).result["changed"] is False


def test_a_handle_that_was_not_polled_works(sim: Simulator) -> None:
    with gateway(sim, PAGE) as options:
        started = run_module("kvm_host", {**options, **DISABLE, "wait": False}).result
        result = run_module("job_wait", {**options, "jobs": [started["job"]]}).result
        assert not result.get("failed"), result
        assert result["jobs"][0]["location"].startswith("/manager/service/v1/api-jobs/")


def test_a_job_that_failed_behind_a_gateway(sim: Simulator) -> None:
    """The failure at the prefix is that of the job, not that of an unknown id."""
    with gateway(sim, PAGE) as options:
        call = {"operation": "ChangeHostState", "params": {"uuid": "0" * 32, "stateEvent": "disable"}}
        result = run_module("api", {**options, **call}).result
        assert result["error"]["code"].startswith("SYS.100"), result


def test_an_unknown_job_behind_a_gateway(sim: Simulator) -> None:
    with gateway(sim, TEXT) as options:
        result = run_module("job_wait", {**options, "jobs": [{"location": f"/service/v1/api-jobs/{'0' * 32}"}]}).result
        assert result["jobs"][0]["state"] == "unknown", result


def test_the_progress_shows_the_error_of_the_last_poll(sim: Simulator) -> None:
    lines: list[str] = []
    with gateway(sim, PAGE, has_jobs=False) as options:
        task = {**options, **DISABLE, "wait_timeout": 60}
        result = run_module("kvm_host", task, clock=FakeClock(), on_progress=lines.append).result
    assert result["failed"]
    assert any("still waiting" in line and "The last poll failed: polling job" in line for line in lines), lines
