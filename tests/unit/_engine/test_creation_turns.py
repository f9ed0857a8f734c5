"""Tasks of a run that create the same object do so one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._engine.calls import build_creation_key
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.modules.kvm_host import KVM_HOST

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.fast_clock import monotonic
from support.module_runner import run_module
from support.scenarios import L3, VM

HOST = {
    "name": "host-of-several-tasks",
    "management_ip": "10.9.9.9",
    "cluster": seeded_uuid("cluster", 1),
    "username": "root",
    "password": "only-for-the-simulator",
}
CREATION = "AddKVMHost"


class ScriptedLock:
    """A lock that can be taken at the attempt with this number; before, ``meanwhile`` is called."""

    def __init__(
        self, free_at: int = 1, is_first: bool = True, running: Iterable[Any] = (), meanwhile: Callable[[], Any] = dict
    ) -> None:
        self.is_first, self.running = is_first, list(running)
        self.attempts, self.keys = 0, list[str]()
        self.services: set[str] = set()
        self.released: list[list[dict[str, Any]]] = []
        self._free_at, self._meanwhile = free_at, meanwhile

    def new(self, connection: ConnectionOptions, key: str) -> ScriptedLock:
        """Return the lock, for every key."""
        self.keys.append(key)
        self.services.add(connection.base_url)
        return self

    def acquire(self) -> bool:
        self.attempts += 1
        if self.attempts == self._free_at:
            self._meanwhile()
        return self.attempts >= self._free_at

    def release(self, running: Iterable[dict[str, Any]]) -> None:
        self.released.append(list(running))


def add_host(sim: Simulator, lock: ScriptedLock | None = None, **options: Any) -> dict[str, Any]:
    """Run kvm_host and return its result."""
    connection = {"base_url": sim.url, "session_id": sim.session}
    hooks: dict[str, Any] = {"new_lock": lock.new} if lock else {}
    return run_module("kvm_host", {**connection, **HOST, **options}, **hooks).result


def count_creations(sim: Simulator) -> int:
    return [entry["operation"] for entry in sim.log()].count(CREATION)


def test_first_task_creates_the_object(sim: Simulator) -> None:
    lock = ScriptedLock()
    assert add_host(sim, lock)["changed"]
    assert list(map(json.loads, lock.keys)) == [[CREATION, ["managementIp", "10.9.9.9"]]]
    assert (lock.attempts, lock.released, lock.services) == (1, [[]], {sim.url})


def test_object_that_no_option_selects_has_the_key_of_its_owners(sim: Simulator) -> None:
    lock = ScriptedLock()
    options = {"base_url": sim.url, "session_id": sim.session, "vm": VM, "l3_network": L3, "static_ip": "10.102.0.99"}
    assert run_module("vm_nic", options, new_lock=lock.new).result["changed"]
    assert [sorted(json.loads(key)[1:]) for key in lock.keys] == [[["l3NetworkUuid", L3], ["vmInstanceUuid", VM]]]
    assert json.loads(lock.keys[0])[0] == "AttachL3NetworkToVm"


def test_key_has_one_spelling_of_an_address() -> None:
    key = build_creation_key(KVM_HOST, {}, {"managementIp": " 2001:DB8::0:1", "name": "host-1"})
    assert json.loads(key) == [CREATION, ["managementIp", "2001:db8::1"]]
    key = build_creation_key(KVM_HOST, {"name": "web", "username": "Root"}, {})
    required = {"name": "web", "managementIp": "none", "username": "root", "password": "none", "clusterUuid": "none"}
    assert dict(json.loads(key)[1:]) == required


def test_task_reads_again_what_another_task_has_created(sim: Simulator) -> None:
    lock = ScriptedLock(free_at=4, is_first=False, meanwhile=lambda: add_host(sim))
    result = add_host(sim, lock)
    assert not result["changed"]
    assert result["host"]["name"] == HOST["name"]
    assert count_creations(sim) == 1
    assert (lock.attempts, lock.released) == (4, [[]])


def test_task_creates_what_another_task_could_not(sim: Simulator) -> None:
    lock = ScriptedLock(free_at=2, is_first=False)
    assert add_host(sim, lock)["changed"]
    assert len(lock.keys) == count_creations(sim) == 1


def test_task_waits_for_the_job_that_another_task_has_left(sim: Simulator) -> None:
    sim.configure(latencies={CREATION: 0.2})
    first = ScriptedLock()
    job = add_host(sim, first, name="another-host", management_ip="10.9.9.8", wait=False)["job"]
    assert first.released == [[job]]
    second = ScriptedLock(is_first=False, running=[job])
    sim.clear_log()
    assert add_host(sim, second)["changed"]
    requests = sim.log()
    polls = [number for number, request in enumerate(requests) if job["uuid"] in request["path"]]
    creation = next(number for number, request in enumerate(requests) if request["operation"] == CREATION)
    assert requests[polls[-1]]["status"] == 200
    assert polls[-1] < creation
    assert second.released == [[]]


def test_wait_for_the_job_of_another_task_ends_at_the_deadline(sim: Simulator) -> None:
    """The deadline is that of the task, although it has waited for its turn before."""
    job = {"uuid": "a" * 32, "location": f"/service/v1/api-jobs/{'a' * 32}"}
    sim.fault("status", "poll", status=502, count=None)
    lock = ScriptedLock(free_at=60, is_first=False, running=[job])
    begin = monotonic()
    result = add_host(sim, lock, wait_timeout=60, request_retries=0)
    assert result["error"]["code"] == "TIMEOUT"
    assert f"AddKVMHost has no result after 60 s. Continue with job_wait, job {'a' * 32}." in result["msg"]
    assert 60 <= monotonic() - begin < 61
    assert count_creations(sim) == 0


def test_wait_for_another_task_is_shown(sim: Simulator) -> None:
    lines: list[str] = []
    lock = ScriptedLock(free_at=1_000_000)
    run_module(
        "kvm_host",
        {"base_url": sim.url, "session_id": sim.session, **HOST, "wait_timeout": 12},
        new_lock=lock.new,
        on_progress=lines.append,
    )
    (line,) = lines
    assert line.startswith("still waiting for another task to create the host host-of-several-tasks, 1")


def test_task_does_not_wait_for_another_task_after_its_deadline(sim: Simulator) -> None:
    lock = ScriptedLock(free_at=1_000_000)
    result = add_host(sim, lock, wait_timeout=2)
    assert result["error"]["code"] == "TIMEOUT"
    assert result["msg"] == (
        "host host-of-several-tasks: another task of this run is still creating the object after 2 s. Run the task"
        " again, or increase wait_timeout."
    )
    assert (result["changed"], count_creations(sim), lock.released) == (False, 0, [])
