# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault on each operation: a task runs into it, then runs again, and the service must hold what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._operations import get_operation

from chaos.report import Report
from chaos.store import settled, wrong_changed
from simulator.launch import Simulator
from support.hurried_tasks import hurried, in_time, run
from support.scenarios import SCENARIOS, Scenario

GARBAGE = ("json", "utf8", "types", "missing", "login", "deep", "huge", "bomb")

# What proxies answer in place of the service, whether the call was taken or not.
ODD = (301, 304, 400, 401, 403, 404, 405, 407, 409, 421, 425, 499, 500, 501)
FAULTS: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "slow", "seconds": 0.35},
    *({"fault": "status", "status": status} for status in (429, 500, 502, 503, 504)),
    *({"fault": "status", "status": status, "taken": True} for status in (502, 503, 504)),
    {"fault": "html", "taken": True},
    *(
        {"fault": "status", "status": status, "form": "html", "taken": taken}
        for status in ODD
        for taken in (True, False)
    ),
    *({"fault": "status", "status": status, "form": "json", "taken": True} for status in (404, 429, 503)),
    *({"fault": "empty", "status": status, "taken": taken} for status in (200, 204) for taken in (True, False)),
    *({"fault": "close", "taken": taken} for taken in (True, False)),
    *({"fault": "garbage", "garbage": kind, "taken": False} for kind in ("missing", "login")),
    {"fault": "duplicate"},
    {"fault": "interim"},
    *({"fault": "garbage", "garbage": kind} for kind in GARBAGE),
    {"fault": "redirect", "url": "http://192.0.2.1:9/elsewhere"},
    {"fault": "expire"},
    # With another code than those by which services refuse a second object: that one looks as if it had been there.
    {"fault": "fail", "error": {"code": "SYS.1000", "details": "the operation failed on demand"}},
    {"fault": "session_expiry"},
    {"fault": "hang"},
)
SERVERS: Mapping[str, Mapping[str, Any]] = {
    "honours the job id": {},
    "ignores the job id": {"job_uuid": "ignore"},
    "answers at once": {"sync": True},
}


@dataclass(frozen=True)
class Hit:
    """Which request a fault hits: a call of the operation itself, or the reading request of this number."""

    name: str
    reading: int | None = None

    def on(self, operation: str) -> dict[str, Any]:
        """Return the members of a fault that say so."""
        if self.reading is None:
            return {"operation": operation}
        return {"operation": "*", "method": "GET", "skip": self.reading}


HITS = (Hit("the call"), Hit("the read before", 0), Hit("the first poll", 1), Hit("the read after", 2))


def each_fault(
    sim: Simulator,
    report: Report,
    servers: tuple[str, ...],
    hits: tuple[Hit, ...],
    faults: tuple[Mapping[str, Any], ...] = FAULTS,
) -> None:
    """Play every scenario with every fault."""
    with hurried():
        for server in servers:
            for scenario in SCENARIOS:
                for hit in hits:
                    for fault in faults:
                        _judge(sim, report, scenario, server, hit, fault)


def each_fault_in_turn(sim: Simulator, report: Report, faults: tuple[Mapping[str, Any], ...]) -> None:
    """Play every scenario with every fault on its call, the kinds of servers taking turns."""
    servers = tuple(SERVERS)
    with hurried():
        for row, scenario in enumerate(SCENARIOS):
            for column, fault in enumerate(faults):
                _judge(sim, report, scenario, servers[(row + column) % len(servers)], HITS[0], fault)


def _judge(sim: Simulator, report: Report, scenario: Scenario, server: str, hit: Hit, fault: Mapping[str, Any]) -> None:
    for trouble in in_time(partial(play, sim, report, scenario, server, hit, fault)):
        report.wrong(f"{scenario}, {server}: {fault_name(fault)} on {hit.name}: {trouble}")


def fault_name(fault: Mapping[str, Any]) -> str:
    """Return the words for a fault."""
    return " ".join(str(value) for name, value in fault.items() if name not in ("url", "seconds"))


def _repetition(scenario: Scenario, server: str, fault: Mapping[str, Any], warnings: list[str]) -> Iterator[str]:
    """Yield what is wrong with an operation that was done more than once."""
    if not makes_two(scenario, server, fault):
        yield "it was done more than once"
    elif not scenario.action and not any(" exist now, because " in warning for warning in warnings):
        yield "no warning names the second object"


def makes_two(scenario: Scenario, server: str, fault: Mapping[str, Any]) -> bool:
    """Whether the service makes two objects when a proxy delivers the call twice: nothing but its job id shows that."""
    operation = get_operation(scenario.operation)
    unique = operation.is_idempotent or operation.duplicate_code
    return fault["fault"] == "duplicate" and bool(SERVERS[server]) and not unique


def play(
    sim: Simulator, report: Report, scenario: Scenario, server: str, hit: Hit, fault: Mapping[str, Any]
) -> list[str]:
    """Play a scenario with a fault on a fresh service and return what is wrong."""
    if scenario.action and hit.reading is not None and fault["fault"] == "fail":
        return []  # The service says that the operation failed, although it did not, and there is nothing to look at.
    return list(_troubles(sim, report, scenario, server, hit, fault))


def _troubles(
    sim: Simulator, report: Report, scenario: Scenario, server: str, hit: Hit, fault: Mapping[str, Any]
) -> Iterator[str]:
    sim.reset(latency=0.0, reconnect=0.0, cbt_tasks=4, **SERVERS[server])
    for kind, uuid, members in scenario.prepare:
        sim.change(kind, uuid, **members)
    before = sim.state()
    sim.fault(**{**fault, **hit.on(scenario.operation)})
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token, "request_timeout": 30}
    patience = {"request_timeout": 0.25} if fault["fault"] in ("slow", "hang") else {}
    options = {**connection, "request_retries": 3, "wait_timeout": 20, **scenario.options}
    ran = run(scenario.module, {**options, **patience})
    result = ran.result
    happened = sum(each["happened"] for each in sim.faults())
    report.task(result, {fault["fault"]: happened}, len(sim.log()))
    after = settled(sim)
    if trouble := wrong_changed(result, before, after, scenario.action or not scenario.changes):
        yield trouble
    if scenario.times(before, after) > 1:
        yield from _repetition(scenario, server, fault, ran.warnings)
        return
    if not result.get("failed") and scenario.times(before, after) != 1:
        yield "it succeeded, yet it was not done"
    never_ends = fault["fault"] == "hang" and hit.reading is None and happened
    if scenario.action or never_ends:
        return
    sim.clear_faults()
    sim.configure(session_expired=False, token_expired=False)
    for expected in ("it does not converge", "it is not idempotent"):
        result = run(scenario.module, options).result
        after = settled(sim)
        if result.get("failed") or scenario.times(before, after) != 1:
            yield f"{expected}: {result.get('msg', 'it is not done')}"
    if result["changed"]:
        yield "it changes something each time"
