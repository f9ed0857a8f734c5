"""Run tasks with an account against a service whose logins fail or take long, and whose sessions expire at any time."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import MAX_LOGIN_RETRIES

from chaos.playbooks import find_wrong_results, play
from chaos.random_walk import SEED, TaskRequest, find_unconverged, task_requests
from chaos.report import Report
from chaos.store import duplicates, explain_wrong_changed
from simulator.launch import Simulator
from support.fast_clock import call_in_time, with_fast_clock
from support.module_runner import run_module

LOGIN, HANDLES_SESSIONS = "LogInByAccount", {"LogInByAccount", "LogOut", "ValidateSession"}
LOST_LOGINS = ("drop_after", "truncate", "hang", "slow")

# The faults of the requests of a task; without an operation, of any request.
FAULTS: tuple[Mapping[str, Any], ...] = (
    *({"operation": LOGIN, "fault": fault} for fault in ("drop_before", "drop_after", "truncate", "hang", "fail")),
    {"operation": LOGIN, "fault": "slow", "seconds": 0.4},
    {"operation": LOGIN, "fault": "status", "status": 429},
    {"operation": LOGIN, "fault": "status", "status": 503, "count": None},
    {"operation": LOGIN, "fault": "fail", "error": {"code": "ID.1000", "details": "wrong"}, "skip": 1, "count": None},
    {"operation": "ValidateSession", "fault": "status", "status": 404, "count": None},
    {"operation": "LogOut", "fault": "drop_before", "count": None},
    *({"operation": "*", "fault": "session_expiry", "skip": skip} for skip in range(4)),
    {"operation": "*", "fault": "session_expiry", "probability": 0.3, "count": None},
    {"operation": "*", "fault": "session_expiry", "count": None},
)


def walk(sim: Simulator, report: Report, tasks: int, seed: int) -> None:
    """Run many tasks, each with a fault of its login or session, then the last task of each object without faults."""
    rng, last = random.Random(seed), dict[str, TaskRequest]()
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0, **SEED)
    with with_fast_clock():
        for number, request in enumerate(itertools.islice(task_requests(rng), tasks)):
            fault = FAULTS[number % len(FAULTS)]
            for problem in call_in_time(partial(_play_task, sim, report, request, {**fault, "seed": number})):
                report.wrong(f"task {number} of walk {seed}, {request.module} with {fault}: {problem}")
            if request.key:
                last[request.key] = request
        sim.clear_faults()
        sim.configure(session_expired=False)
        for problem in itertools.chain(find_unconverged(sim, last.values()), duplicates(sim.settle())):
            report.wrong(f"walk {seed}, at the end: {problem}")


def _play_task(sim: Simulator, report: Report, request: TaskRequest, fault: Mapping[str, Any]) -> list[str]:
    """Run a task and return an error in its result or in its sessions, if any."""
    sim.clear_faults()
    sim.end_sessions()
    before = sim.settle()
    sim.clear_log()
    sim.fault(**fault)
    account = {"base_url": sim.url, "account": "admin", "account_password": "simulator-password", "session_id": None}
    result = run_module(request.module, {**account, "request_timeout": 0.3, **request.options}).result
    happened = sum(each["happened"] for each in sim.faults())
    operations = Counter(entry["operation"] for entry in sim.log())
    report.task(result, {str(fault["fault"]): happened}, operations.total())
    problem = explain_wrong_changed(result, before, sim.settle(), not request.key)
    problems = [problem] if problem else []
    calls = sum(count for name, count in operations.items() if name not in HANDLES_SESSIONS)
    if operations[LOGIN] > (1 + MAX_LOGIN_RETRIES) * (1 + calls):
        problems.append(f"{operations[LOGIN]} logins for {calls} requests")
    if sim.sessions()["live"] and fault["operation"] != "LogOut" and fault["fault"] not in LOST_LOGINS:
        problems.append(f"it leaves sessions: {sim.sessions()}")
    return problems


def many_tasks(sim: Simulator, report: Report, hosts: int, items: int, seconds: float | None) -> None:
    """Run a task with a loop for many hosts with 20 forks while all sessions end every so many seconds, if given."""
    title = f"{hosts * items} tasks, sessions end every {seconds} s"
    sim.reset()
    before = sim.sessions()["logins"]
    tasks = [{"virtinfra.manager.host_info": {"name": "host-1"}, "loop": list(range(items))}]
    plays = [{"hosts": "all", "gather_facts": False, "connection": "local", "ignore_errors": True, "tasks": tasks}]
    account = {
        "VIRTINFRA_ACCOUNT": "admin",
        "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password",
        "VIRTINFRA_BASE_URL": sim.url,
    }
    with tempfile.TemporaryDirectory() as folder, _expiry(sim, seconds) as ended:
        playbook = Path(folder, "sessions.yml")
        playbook.write_text(json.dumps(plays), encoding="utf-8")
        inventory = ",".join(f"host-{number}" for number in range(hosts)) + ","
        run_of_all = play("-i", inventory, str(playbook), sim=sim, forks=20, environment=account)
    sessions = sim.sessions()
    logins = sessions["logins"] - before
    report.tasks += hosts * items
    report.failed += run_of_all.recap_total("ignored")
    report.requests += len(sim.log())
    report.faults["sessions that expired"] += len(ended)
    if run_of_all.code or (not ended and run_of_all.recap_total("ignored")):
        report.wrong(f"{title}: {run_of_all.output}")
    for problem in find_wrong_results(run_of_all):
        report.wrong(f"{title}: {problem}")
    # The first task that is refused replaces the session, once.
    if sessions["live"] or not 1 <= logins <= 1 + len(ended):
        report.wrong(f"{title}: {logins} logins after {len(ended)} ends, {sessions}")


@contextmanager
def _expiry(sim: Simulator, seconds: float | None) -> Iterator[list[float]]:
    """End all sessions periodically; yield a list that gets an item each time."""
    over, ended = threading.Event(), list[float]()

    def end() -> None:
        while seconds and not over.wait(seconds):
            ended.append(seconds)
            sim.end_sessions()

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield ended
    finally:
        over.set()
        thread.join()
