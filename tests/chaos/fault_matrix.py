"""Each fault on each writing operation and each kind of server: a task runs with the fault, then without.

The task is that of the module, or of ``batch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation

from chaos.report import Report
from chaos.store import explain_wrong_changed
from simulator.launch import Simulator
from support.fast_clock import call_in_time, with_fast_clock
from support.scenarios import REMOVALS, SCENARIOS, Scenario
from support.stub_server import TLS_ALERT, StubRequest, StubResponse, StubServer, forward
from support.tls import untrusted_context
from support.trial import Trial

Fault = Mapping[str, Any]

GARBAGE = ("json", "utf8", "types", "missing", "login", "deep", "huge", "bomb")

# The statuses with which proxies answer instead of the service, whether or not the call was executed.
ODD_STATUSES = (301, 304, 400, 401, 403, 404, 405, 407, 409, 421, 425, 499, 500, 501)

# What the service says when it lost sight of an operation.
LATE, NOT_READY, UNAVAILABLE, NOT_SENT = (
    {"code": code, "details": "the service lost sight of it"}
    for code in ("SYS.1001", "SYS.1010", "SYS.1012", "SYS.2111")
)

# The basic faults, each with its own conclusion. ``taken``: whether the service executes the request.
MAIN_FAULTS: tuple[Fault, ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "slow", "seconds": 0.35},
    {"fault": "duplicate"},
    {"fault": "interim"},
    {"fault": "empty", "taken": True},
    {"fault": "empty", "status": 204, "taken": False},
    {"fault": "status", "status": 404, "form": "html", "taken": True},
    {"fault": "tls_alert", "taken": True},
    {"fault": "expire"},
    {"fault": "other_job"},
    {"fault": "other_response"},
    {"fault": "fail", "error": LATE, "taken": True},
    {"fault": "fail", "error": UNAVAILABLE},
    {"fault": "status", "status": 503, "form": "error", "error": NOT_READY},
    {"fault": "status", "status": 404, "form": "container"},
)

# Variants of the basic faults, and faults that do not affect the response.
MORE_FAULTS: tuple[Fault, ...] = (
    *({"fault": "status", "status": status} for status in (429, 500, 502, 503, 504)),
    *({"fault": "status", "status": status, "taken": True} for status in (502, 503, 504)),
    {"fault": "tls_alert", "taken": False},
    *({"fault": "html", "taken": taken} for taken in (True, False)),
    *({"fault": "status", "status": status, "form": "html", "taken": True} for status in ODD_STATUSES if status != 404),
    *({"fault": "status", "status": status, "form": "html", "taken": False} for status in ODD_STATUSES),
    *(
        {"fault": "status", "status": status, "form": "json", "taken": taken}
        for status in (404, 429, 503)
        for taken in (True, False)
    ),
    {"fault": "empty", "taken": False},
    {"fault": "empty", "status": 204, "taken": True},
    {"fault": "close", "taken": True},
    {"fault": "close", "taken": False},
    *({"fault": "garbage", "garbage": kind, "taken": False} for kind in ("missing", "login")),
    *({"fault": "garbage", "garbage": kind} for kind in GARBAGE),
    {"fault": "redirect", "url": "http://192.0.2.1:9/elsewhere"},
    # A duplicate code (SYS.1006) would mean that another run created the object.
    {"fault": "fail", "error": {"code": "SYS.1000", "details": "the operation failed on demand"}},
    *(
        {"fault": "status", "status": 503, "form": "error", "error": {"code": code, "details": "denied"}}
        for code in ("ID.1002", "SYS.1018", "SYS.1019")
    ),
    {"fault": "fail", "error": NOT_SENT},
    *(
        {"fault": "status", "status": 503, "form": "error", "error": error, "taken": True}
        for error in (LATE, UNAVAILABLE)
    ),
    {"fault": "session_expiry"},
    {"fault": "hang"},
)
FAULTS = (*MAIN_FAULTS, *MORE_FAULTS)

# Proxies that confuse the responses of concurrent requests.
OTHER_RESPONSES: tuple[Fault, ...] = ({"fault": "other_response"}, {"fault": "fail"})

# The faults of reads, which change nothing in the service.
READ_FAULTS = tuple(fault for fault in FAULTS if not fault.get("taken") and fault["fault"] != "tls_alert")

# The faults that need another server in front of the service.
TLS_FAULTS = tuple(fault for fault in FAULTS if fault["fault"] == "tls_alert")

# The limits of each task.
LIMITS = {"request_timeout": 5, "request_retries": 3, "wait_timeout": 20}

TASKS: tuple[Scenario, ...] = (*SCENARIOS, *REMOVALS)

SERVERS: Mapping[str, Mapping[str, Any]] = {
    "honours job ids": {},
    "ignores job ids": {"job_uuid": "ignore"},
    "answers at once": {"sync": True},
}

# On which kind of server a task runs, and whether it is that of ``batch``.
CIRCUMSTANCES = tuple(product(SERVERS, (False, True)))


@dataclass(frozen=True)
class Target:
    """The request with the fault: the call of the operation, the read with this index, or the first poll."""

    name: str
    read_index: int | None = None
    is_poll: bool = False

    def selector(self, operation: str) -> dict[str, Any]:
        """Return the members of a fault that select the request to fail."""
        if self.is_poll:
            return {"operation": "poll"}
        if self.read_index is None:
            return {"operation": operation}
        return {"operation": "*", "method": "GET", "skip": self.read_index}


@dataclass(frozen=True)
class Occurrence:
    """One of several requests: the operation, and how many requests of this operation are before it."""

    operation: str
    skip: int
    is_read: bool

    def __str__(self) -> str:
        return f"{self.operation} {self.skip + 1}"

    def selector(self) -> dict[str, Any]:
        """Return the members of a fault that select the request to fail."""
        return {"operation": self.operation, "skip": self.skip}


CALL = Target("the call")
READS = (Target("the read before", 0), Target("the first poll", 1), Target("the read after", 2))
POLL = Target("the first poll", is_poll=True)


def run_matrix(sim: Simulator, report: Report, faults: Sequence[Fault]) -> None:
    """Run every scenario with every fault on its call, on each kind of server, alone and in a batch."""
    with with_fast_clock():
        for (server, is_in_batch), scenario, fault in product(CIRCUMSTANCES, TASKS, faults):
            _check(sim, report, Cell(scenario, server, CALL, fault, is_in_batch))


def run_diagonal(sim: Simulator, report: Report, target: Target, faults: Sequence[Fault], step: int = 1) -> None:
    """Run every scenario with every fault on one of its requests, each in other circumstances than the one before.

    With a step of 2, every scenario meets half of the faults, and every fault half of the scenarios.
    """
    with with_fast_clock():
        for (row, scenario), (column, fault) in product(enumerate(TASKS), enumerate(faults)):
            number, is_left_out = divmod(row + column, step)
            if not is_left_out:
                server, is_in_batch = CIRCUMSTANCES[number % len(CIRCUMSTANCES)]
                _check(sim, report, Cell(scenario, server, target, fault, is_in_batch))


def fault_name(fault: Fault) -> str:
    """Return the name of a fault in messages."""
    taken = {True: "(taken)", False: "(not taken)", None: ""}[fault.get("taken")]
    details = " ".join(str(fault[name]) for name in ("fault", "status", "form", "garbage") if name in fault)
    code = fault.get("error", {}).get("code", "")
    return " ".join(filter(None, (details, code, taken)))


def is_delivered_twice(fault: Fault, server: str) -> bool:
    """Return whether a proxy delivers a call twice to a service that cannot know the second one."""
    return fault["fault"] == "duplicate" and bool(SERVERS[server])


def choose_patience(fault: Fault) -> dict[str, Any]:
    """Return the options of a task that does not wait long for a response that is late, or never sent."""
    return {"request_timeout": 0.25} if fault["fault"] in ("slow", "hang") else {}


def end_faults(sim: Simulator) -> None:
    """Let the service work again, with valid sessions and tokens."""
    sim.clear_faults()
    sim.configure(session_expired=False, token_expired=False)


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix: a scenario on a kind of server, and a fault of one of its requests.

    Its task is that of the module, or of ``batch`` for one object.
    """

    scenario: Scenario
    server: str
    target: Target
    fault: Fault
    is_in_batch: bool

    def __str__(self) -> str:
        task = f"{self.scenario} in a batch" if self.is_in_batch else str(self.scenario)
        return f"{task}, {self.server}: {fault_name(self.fault)} on {self.target.name}"

    @property
    def has_only_the_response(self) -> bool:
        """Whether nothing can show the outcome of the operation except for the response."""
        if not self.scenario.action:
            return False
        if self.target is not CALL:
            return False
        if self.fault["fault"] in ("other_job", "other_response") and SERVERS[self.server]:
            # The service does not know the id of the call, so nothing shows that the failure belongs to another call.
            return True
        # ``{}`` is the documented reply of success of some operations.
        is_bare = self.fault.get("garbage") == "missing" and self.fault.get("taken") is False
        return is_bare and get_operation(self.scenario.operation).may_be_empty

    @property
    def may_repeat(self) -> bool:
        """Whether the service performs the call twice, because a proxy delivers it twice and the job id is ignored."""
        operation = get_operation(self.scenario.operation)
        unique = operation.effect.is_idempotent or operation.effect.duplicate_codes
        return is_delivered_twice(self.fault, self.server) and not unique

    @property
    def never_ends(self) -> bool:
        """Whether the job of the call never ends."""
        return self.fault["fault"] == "hang" and self.target is CALL


def _check(sim: Simulator, report: Report, cell: Cell) -> None:
    if cell.has_only_the_response:
        return
    for problem in call_in_time(lambda: list(play(sim, report, cell))):
        report.wrong(f"{cell}: {problem}")


def play(sim: Simulator, report: Report, cell: Cell) -> Iterator[str]:
    """Run the task of a cell on a new service, then again without the fault; yield errors."""
    scenario = cell.scenario
    trial = Trial(sim, scenario, SERVERS[cell.server], cell.is_in_batch)
    with _faulty(sim, cell) as (connection, happened):
        ran = trial.run(**{**LIMITS, **connection, **choose_patience(cell.fault)})
        hits = happened()
    report.task(ran.result, {cell.fault["fault"]: hits}, len(sim.log()))
    after = sim.settle()
    if problem := explain_wrong_changed(ran.result, trial.before, after, scenario.action or not scenario.changes):
        yield problem
    if cell.fault["fault"] == "other_response" and ran.result.get("connected") is False:
        yield "it returned the result of another call"
    if (times := scenario.times(trial.before, after)) > 1:
        yield from _repetition(cell, ran.warnings)
        return
    if times != 1 and not ran.result.get("failed"):
        yield "it succeeded, but it was not done"
    if not scenario.action and not (cell.never_ends and hits):
        end_faults(sim)
        yield from _convergence(sim, trial)


@contextmanager
def _faulty(sim: Simulator, cell: Cell) -> Iterator[tuple[dict[str, Any], Any]]:
    """Inject the fault; yield the options of the connection, and a function that returns how often it occurred."""
    if cell.fault not in TLS_FAULTS:
        is_test = cell.fault["fault"] == "other_response" and cell.scenario.operation == "SNSSnmpTestConnection"
        reply = {"reply": {"connected": False}} if is_test else {}
        sim.fault(**{**cell.fault, **cell.target.selector(cell.scenario.operation), **reply})
        yield {"base_url": sim.url}, lambda: sum(fault["happened"] for fault in sim.faults())
        return
    calls: list[StubRequest] = []

    def respond(request: StubRequest) -> StubResponse:
        if request.method == "GET" or calls:
            return forward(sim.port, request)
        calls.append(request)
        if cell.fault["taken"]:
            forward(sim.port, request)
        return TLS_ALERT

    with StubServer(respond, untrusted_context()) as front:
        yield {"base_url": front.url, "validate_certs": False}, partial(len, calls)


def _repetition(cell: Cell, warnings: list[str]) -> Iterator[str]:
    """Yield an error if the operation was performed more than once."""
    if not cell.may_repeat:
        yield "it was done more than once"
    elif not cell.scenario.action and not any(" exist, because another one " in warning for warning in warnings):
        yield "no warning names the second object"


def _convergence(sim: Simulator, trial: Trial) -> Iterator[str]:
    """Run the task twice without a fault; yield errors."""
    for problem in ("it does not converge", "it is not idempotent"):
        result = trial.run(**LIMITS).result
        if result.get("failed") or trial.scenario.times(trial.before, sim.settle()) != 1:
            yield f"{problem}: {result.get('msg', 'it is not done')}"
    if result["changed"]:
        yield "it changes something each time"
