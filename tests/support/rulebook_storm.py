"""Many failures at the same time, in a real ansible-rulebook with the rulebook failed_jobs."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from support.collection import ROOT
from support.event_sources import deliver
from support.rulebook_runner import Rulebook, run_rulebook
from support.socket_servers import free_port
from support.stub_server import StubRequest, StubResponse, StubServer
from support.waiting import wait_until

FAILURE = {"error": {"code": "SYS.1006", "description": "operation failed", "details": "the disk is full"}}
# Each message is a task, which takes longer than all posts to the source.
PLAYBOOK = ROOT / "tests" / "eda" / "playbooks" / "report_in_few_messages.yml"


async def post_failures(url: str, first: int, last: int) -> None:
    """Post the failures of jobs until they are acknowledged."""
    body = json.dumps(FAILURE).encode()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=50)) as session:
        numbers = range(first, last + 1)
        await asyncio.gather(*(deliver(session, f"{url}&about=host-{n}", f"{n:032x}", body) for n in numbers))


class Storm:
    """Failures of jobs on hosts with numbers, and how often each was ``reported`` in a chat."""

    def __init__(self, rules: Rulebook, url: str, reported: Counter[str]) -> None:
        self.rules, self._url, self.reported = rules, url, reported

    def fail(self, first: int, last: int) -> None:
        """Let jobs fail on the hosts with these numbers, and wait until all up to the last one are reported."""
        asyncio.run(post_failures(self._url, first, last))
        wait_until(partial(self._is_over, last))

    def _is_over(self, last: int) -> bool:
        return len(self.reported) == last or "failed=1" in self.rules.output


@contextmanager
def run_storm(folder: Path, installed_collection: Path) -> Iterator[Storm]:
    """Return a context manager in which the rulebook of the collection runs, with its files in a folder."""
    port, reported = free_port(), Counter[str]()

    def answer(request: StubRequest) -> StubResponse:
        reported.update(re.findall(r"^host-\d+", json.loads(request.body)["text"], re.MULTILINE))
        return StubResponse(200)

    variables: dict[str, Any] = {"job_results_host": "127.0.0.1", "job_results_path": "/secret"}
    variables.update(job_results_confirm=False, job_results_port=port, failed_job_playbook=str(PLAYBOOK))
    with StubServer(answer) as chat:
        hook = {"FAILED_JOB_CHAT_URL": f"{chat.url}/a-key"}
        name = "virtinfra.manager.failed_jobs"
        with run_rulebook(name, folder, installed_collection, variables, port, **hook) as rules:
            yield Storm(rules, f"http://127.0.0.1:{port}/secret?operation=ChangeHostState", reported)
