"""Fixtures that tests share: a simulator, clients, module runners and a fake clock."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from support.playbook_runner import PlaybookRunner
from support.rulebook_runner import install_collection
from support.stub_server import StubServer

# Importing ``playbook_runner`` has made the collection known to Python; only now can its parts be imported.
for unwanted in [name for name in os.environ if name.startswith("VIRTINFRA_") or name.lower().endswith("_proxy")]:
    del os.environ[unwanted]

from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import get_operation
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import wait_for_job
from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport as _transport
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from hypothesis import settings

from simulator.launch import Simulator
from support.clients import make_client
from support.fast_clock import with_fast_clock
from support.in_process import InProcessAdapter, InProcessSimulator
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRunner

UNIT = Path(__file__).parent / "unit"

# The folders and files of unit tests whose simulator must listen on a socket.
ABOUT_HTTP = {
    *("_http", "simulator", "test_client", "test_resilience", "test_safe_reads", "test_sessions"),
    *("test_undeclared_records", "test_unsupported"),
}

# The files of unit tests whose jobs take real time.
ABOUT_TIME = {"test_batch", "test_controllers"}

settings.register_profile("here", deadline=None, database=None)
settings.load_profile("here")

ClientFactory = Callable[..., Client]


def pytest_collection_finish() -> None:
    """Exclude the thousands of collected tests from garbage collection, which would take a tenth of the time."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Say that nothing was tested: the exit code alone looks like a failure of pytest."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        given = " ".join(terminalreporter.config.invocation_params.args)
        terminalreporter.write_line(f"No test is selected by: {given}. Check the paths, -k and -m.", red=True)


class FakeClock:
    """A clock that advances only in `sleep`, with a constant random number."""

    def __init__(self, chance: float = 0.5) -> None:
        self.now, self.chance = 1000.0, chance
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Return the time in seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds
        self.slept.append(seconds)

    def random(self) -> float:
        """Return the constant random number."""
        return self.chance


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def running_simulator() -> Iterator[Simulator]:
    with Simulator("--latency", "0", "--reconnect", "0", "--migration", "0") as simulator:
        yield simulator


@pytest.fixture(scope="session")
def in_process_simulator() -> Iterator[Simulator]:
    with InProcessSimulator(latency=0.0, reconnect=0.0, boot=0.0, migration=0.0) as simulator:
        yield simulator


@pytest.fixture
def sim(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    """A simulator in its initial state, whose jobs end at once.

    For unit tests not ABOUT_HTTP, it is in this process, and modules wait with a fast clock unless they are ABOUT_TIME.
    """
    names = {request.path.parent.name, request.path.stem}
    uses_sockets = UNIT not in request.path.parents or ABOUT_HTTP & names
    simulator: Simulator = request.getfixturevalue("running_simulator" if uses_sockets else "in_process_simulator")
    simulator.reset()
    if not uses_sockets:
        monkeypatch.setattr(_transport, "Adapter", InProcessAdapter)
    with nullcontext() if uses_sockets or ABOUT_TIME & names else with_fast_clock():
        yield simulator


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    return ModuleRunner(sim)


@pytest.fixture
def work(sim: Simulator) -> WorkflowRunner:
    return WorkflowRunner(sim)


@pytest.fixture
def connection(sim: Simulator) -> ConnectionOptions:
    return ConnectionOptions(base_url=sim.url, session_id=sim.session, api_token=sim.token)


@pytest.fixture
def new_client(sim: Simulator) -> Iterator[ClientFactory]:
    """Create clients; keywords are those of ConnectionOptions and of Client."""
    clients: list[Client] = []

    def make(**options: Any) -> Client:
        ours = {name: options.pop(name) for name in list(options) if name in ConnectionOptions.__dataclass_fields__}
        defaults = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        clients.append(make_client(ConnectionOptions(**{**defaults, **ours}), **options))
        return clients[-1]

    yield make
    for client in clients:
        client.__exit__()


@pytest.fixture
def client(new_client: ClientFactory) -> Client:
    return new_client()


@pytest.fixture
def no_wait_client(new_client: ClientFactory, clock: FakeClock) -> Client:
    """A client that waits with a fake clock."""
    return new_client(clock=clock)


@pytest.fixture
def playbook_runner(sim: Simulator, tmp_path: Path) -> PlaybookRunner:
    return PlaybookRunner(tmp_path, sim.url, {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token})


@pytest.fixture(scope="session")
def installed_collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collections path with the collection, installed as users install it."""
    return install_collection(tmp_path_factory.mktemp("collections"))


def reply_to(client: Client, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Call an operation, wait for its job and return its reply."""
    return (
        wait_for_job(client, client.start_job(name, params))
        if get_operation(name).is_write
        else client.get(name, params)
    )


def client_of(service: StubServer, clock: FakeClock | None = None, **options: Any) -> Client:
    """Return a client of a stub server that waits with a fake clock."""
    clock = clock or FakeClock()
    connection = ConnectionOptions(base_url=service.url, session_id="the-session", api_token="the-token", **options)
    return make_client(connection, clock=clock)
