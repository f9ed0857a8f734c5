"""The simulator in this process behaves like the one that listens on a socket, with broken connections too."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport as _transport
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from conftest import reply_to

from chaos.fault_matrix import MAIN_FAULTS, TLS_FAULTS
from simulator.launch import Simulator, SimulatorError
from support.clients import make_client
from support.in_process import InProcessAdapter
from support.waiting import wait_until

HOST = "a0000003000040008000000000000001"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("QueryHost", {}),
    ("ChangeHostState", {"uuid": HOST, "stateEvent": "disable"}),
]
# The faults of the fault matrix, whose short form uses no sockets, and those of connections from its long form.
FAULTS: list[dict[str, Any]] = [
    # On a busy machine, a response that comes just after the timeout of the client may still be in time.
    *(
        dict(fault) | ({"seconds": 1.0} if "seconds" in fault else {})
        for fault in MAIN_FAULTS
        if fault not in TLS_FAULTS
    ),
    *({"fault": name} for name in ("close", "html")),
    {"fault": "slow", "seconds": 1.0, "taken": False},
    {"fault": "status", "status": 429},
    {"fault": "status", "status": 502},
    {"fault": "redirect", "url": "http://192.0.2.1/"},
]


def outcomes(sim: Simulator) -> list[tuple[Any, ...]]:
    """Return what a client sees of each fault, and what the simulator logs and does."""
    seen = []
    connection = ConnectionOptions(sim.url, session_id=sim.session, request_retries=0, request_timeout=0.3)
    for name, params in CALLS:
        for fault in ({}, *FAULTS):
            sim.reset()
            if fault:
                sim.fault(**fault, operation=name)
            with make_client(connection) as client:
                try:
                    outcome = str(sorted(reply_to(client, name, params)))
                except VirtinfraError as error:
                    message = re.sub("job [0-9a-f]{32}", "job ID", str(error))
                    outcome = f"{type(error).__name__} {message}".replace(sim.url, "URL")
            if fault.get("fault") == "slow":
                # Nobody waits for the response, but the call must not change the state that the next fault begins with.
                wait_until(lambda: sim.log()[0]["status"] is not None)
            # On a busy machine, the job of a call whose response was lost may still run.
            sim.advance()
            (host,) = (record for record in sim.records("host") if record["uuid"] == HOST)
            logged = str([(entry["method"], entry["path"], entry["query"], entry["status"]) for entry in sim.log()[:1]])
            seen.append((name, str(fault), outcome, logged, host["state"]))
    return seen


def test_in_process_simulator_equals_the_one_with_a_socket(
    running_simulator: Simulator, in_process_simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = outcomes(running_simulator)
    monkeypatch.setattr(_transport, "Adapter", InProcessAdapter)
    assert outcomes(in_process_simulator) == expected
    assert len({seen[2] for seen in expected}) > len(FAULTS)


def test_in_process_simulator_rejects_control_requests(in_process_simulator: Simulator) -> None:
    with pytest.raises(SimulatorError, match="unknown kind nothing"):
        in_process_simulator.records("nothing")
