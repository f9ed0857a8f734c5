"""Run ansible-playbook for an integration target, in forks of a process that has imported Ansible.

The program detaches, prints its port, and ends with the process ``--parent``. The body of a request is the list of
arguments of ansible-playbook. The response describes the run: its exit code and output, the requests in the
simulator's log, the operations that change something, and the reports of roles by host.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from simulator.switches.command_line import detach
from support.preloaded_ansible import preload, run_ansible_playbook

PARENT_INTERVAL = 0.5
"""Seconds between two checks of the parent process."""

REPORT = re.compile(r'\[([^\] ]+)[^\]]*\] => \{"ansible_facts": \{"[a-z_]+_report": ([{\[].*[\]}])\}')
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server(HTTPServer):
    """Listens on a free port of localhost; ``simulator`` is the URL of the simulator that the playbooks use."""

    timeout = PARENT_INTERVAL

    def __init__(self, simulator: str) -> None:
        self.simulator = simulator
        super().__init__(("127.0.0.1", 0), Handler)

    def serve_until_end_of(self, parent: int) -> None:
        """Handle requests one after another until the process ends."""
        while is_running(parent):
            self.handle_request()

    def describe_run(self, arguments: list[str]) -> dict[str, Any]:
        """Run ansible-playbook, whether or not it fails, and describe the run."""
        earlier = len(self._read_log())
        with tempfile.TemporaryDirectory() as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            code = run_ansible_playbook(arguments, {}, stdout, stderr)
            output, errors = (path.read_text(encoding="utf-8") for path in (stdout, stderr))
        requests = self._read_log()[earlier:]
        return {
            "code": code,
            "output": output + errors,
            "requests": requests,
            "written": [request["operation"] for request in requests if request["method"] != "GET"],
            "reports": {host: json.loads(report) for host, report in REPORT.findall(output)},
        }

    def _read_log(self) -> list[dict[str, Any]]:
        with DIRECT.open(f"{self.simulator}/_simulator/log", timeout=30) as response:
            log: list[dict[str, Any]] = json.load(response)
        return log


class Handler(BaseHTTPRequestHandler):
    """Runs ansible-playbook for each POST."""

    server: Server

    def do_POST(self) -> None:
        """Run ansible-playbook with the arguments in the body, and return the description of the run."""
        arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.describe_run(arguments)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def is_running(process: int) -> bool:
    """Return whether a process exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Detach, and serve until the parent ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--simulator", required=True)
    options = parser.parse_args()
    server = Server(options.simulator)
    preload()
    if os.fork():
        print(server.server_port, flush=True)
        # Ansible would remove its temporary folder, which the server uses.
        os._exit(0)
    detach()
    server.serve_until_end_of(options.parent)


if __name__ == "__main__":
    main()
