"""The tasks of a run look up a name once, and never use it for another object."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ansible.constants
import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import AmbiguousMatch, NotFound
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._api.resource_types import RESOURCE_TYPES
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import CallOptions, Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.known_names import FRESH_SECONDS
from ansible_collections.virtinfra.manager.plugins.module_utils._client.names import resolve_name
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import open_client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.waiting import wait_for_job
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import names as _names
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.files import edit_values
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.names import FileNames, suspend_names
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner, run_module

VM_1, VM_2 = seeded_uuid("vm", 1), seeded_uuid("vm", 2)
CountRequests = Callable[..., tuple[str, int]]
TASK_OF_VM = {"name": "backup-1", "vm": "vm-1"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of a run."""
    monkeypatch.setattr(ansible.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(sim: Simulator, folder: Path) -> Iterator[ModuleRunner]:
    """Run modules as tasks of one run."""
    sim.reset(sync=True, cbt_tasks=0)
    yield ModuleRunner(sim, FileStore)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


def test_a_name_is_looked_up_once_and_before_each_write(run: ModuleRunner) -> None:
    options = {"cluster": "cluster-1", "username": "root", "password": "secret-1"}
    counts: list[int] = []
    for number in (1, 2, 3, 1, 2, 3):
        ran = run("kvm_host", {**options, "name": f"new-{number}", "management_ip": f"10.9.9.{number}"})
        assert ran.changed is (len(counts) < 3), ran.result
        counts.append(len(ran.queries("QueryCluster")))
    assert counts == [1, 1, 1, 0, 0, 0]


def test_interfaces_of_a_host_are_listed_once(run: ModuleRunner) -> None:
    options = {"host": "host-2", "service_types": ["BackupNetwork"]}
    logs = [
        run("host_nic_service", {**options, "interfaces": [nic]}, check=True).log for nic in ("eth1", "eth2", "eth3")
    ]
    counts = [[entry["operation"] for entry in log].count("QueryHost") for log in logs]
    assert counts == [1, 0, 0]
    assert len(logs[0]) - len(logs[1]) == 2
    assert len(logs[1]) == len(logs[2])


def test_a_call_forgets_the_names_of_its_type(sim: Simulator) -> None:
    """The names are forgotten before and after the call, and until the end of the run if the call still runs."""
    connection = ConnectionOptions(sim.url, session_id=sim.session)
    store = FileStore(connection).names

    def is_remembered() -> list[bool]:
        return [store.find(name, ("a",), lambda: {"a": "1"})[1] for name in ("host", "vm")]

    assert is_remembered() == [False, False]
    assert is_remembered() == [True, True]
    with open_client(connection, CallOptions(), Hooks(Masker(), new_store=FileStore)) as client:
        job = client.start_job("UpdateHost", {"uuid": seeded_uuid("host", 1), "name": "host-new"})
        assert is_remembered() == [False, True]
        wait_for_job(client, job)
    assert is_remembered() == [False, True]
    assert is_remembered() == [True, True]
    sim.reset(latency=60)
    with open_client(connection, CallOptions(), Hooks(Masker(), new_store=FileStore)) as client:
        client.start_job("UpdateHost", {"uuid": seeded_uuid("host", 1), "name": "host-new"})
    assert is_remembered() == [False, True]
    assert is_remembered() == [False, True]


def test_a_change_of_the_state_forgets_no_names(sim: Simulator) -> None:
    """Names are also kept while the change runs. No operation that keeps names has a parameter for a name."""
    connection = ConnectionOptions(sim.url, session_id=sim.session)
    store = FileStore(connection).names
    store.find("host", ("a",), lambda: {"a": "1"})
    sim.reset(latency=60)
    with open_client(connection, CallOptions(), Hooks(Masker(), new_store=FileStore)) as client:
        client.start_job("ChangeHostState", {"uuid": seeded_uuid("host", 1), "stateEvent": "disable"})
        assert store.find("host", ("a",), dict) == ({"a": "1"}, True)
    assert store.find("host", ("a",), dict) == ({"a": "1"}, True)
    keeping = [row for row in OPERATIONS.values() if row.effect.keeps_names]
    assert {row.method for row in keeping} == {"PUT"}
    assert not any("name" in row.parameters or row.removes_object for row in keeping)


def test_a_name_is_looked_up_again_before_something_is_removed(sim: Simulator, run: ModuleRunner) -> None:
    """Another user gives the name vm-1 to another VM, of which the task has to be removed."""
    one = run("cbt_task", TASK_OF_VM)["cbt_task"]["uuid"]
    sim.change("vm", VM_1, name="vm-old")
    sim.change("vm", VM_2, name="vm-1")
    other = run("cbt_task", {"name": "backup-2", "vm": VM_2})["cbt_task"]["uuid"]
    assert run("cbt_task", {"vm": "vm-1", "state": "absent"}).changed
    remaining = [record["uuid"] for record in sim.records("cbttask")]
    assert (one in remaining, other in remaining) == (True, False)


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("vm_nic", {"vm": "vm-1", "l3_network": "l3-2"}),
        ("vm_snapshot_group", {"vm": "vm-1", "name": "before the update"}),
        ("cbt_task", {"vm": "vm-1", "name": "backup-3"}),
    ],
)
def test_a_name_is_looked_up_again_before_each_write(
    sim: Simulator, run: ModuleRunner, module: str, options: dict[str, Any]
) -> None:
    """Another user gives the name vm-1 to another VM, on which the task has to act."""
    run("vm_nic", {"vm": "vm-1", "l3_network": "l3-1"})
    sim.change("vm", VM_1, name="vm-old")
    sim.change("vm", VM_2, name="vm-1")
    volumes = {vm["uuid"]: vm["rootVolumeUuid"] for vm in sim.records("vm")}
    ran = run(module, options)
    assert (ran.failed, ran.changed) == (False, True), ran.message
    sent = [str((entry["path"], entry["body"])) for entry in ran.log if entry["method"] in ("POST", "PUT")]
    assert any(uuid in text for text in sent for uuid in (VM_2, volumes[VM_2]))
    assert not any(uuid in text for text in sent for uuid in (VM_1, volumes[VM_1]))


def test_a_name_that_the_task_has_looked_up_is_checked_after_what_takes_time(sim: Simulator, run: ModuleRunner) -> None:
    """Another user gives the name vm-1 to another VM while the task reads what it needs."""

    def rename_after(line: str) -> None:
        if line.startswith("GET") and "cbt-task" in line:
            sim.change("vm", VM_1, name="vm-old")
            sim.change("vm", VM_2, name="vm-1")
            time.sleep(FRESH_SECONDS)

    options = {"base_url": sim.url, "session_id": sim.session, "name": "backup-1", "vm": "vm-1"}
    ran = run_module("cbt_task", options, on_request=rename_after)
    assert ran.result["changed"], ran.result
    assert [ref["resourceUuid"] for ref in sim.records("cbttask")[0]["resourceRefs"]] == [VM_2]


@pytest.mark.parametrize("check", [False, True])
def test_a_name_is_looked_up_again_when_nothing_is_left_to_remove(
    sim: Simulator, run: ModuleRunner, check: bool
) -> None:
    """Another user gives the name of a VM without a task to another VM, whose task has to be removed."""
    for number, vm in enumerate(("vm-1", VM_2), 1):
        assert run("cbt_task", {"name": f"backup-{number}", "vm": vm}).changed
    assert run("cbt_task", {"vm": "vm-1", "state": "absent"}).changed
    assert not run("cbt_task", {"vm": "vm-1", "state": "absent"}).changed
    sim.change("vm", VM_1, name="vm-old")
    sim.change("vm", VM_2, name="vm-1")
    assert run("cbt_task", {"vm": "vm-1", "state": "absent"}, check).changed
    assert len(sim.records("cbttask")) == int(check)


def test_an_object_that_was_removed_and_created_again(sim: Simulator, run: ModuleRunner) -> None:
    """Another user gives the name to a new VM; the service does not find the old one any more."""
    assert run("cbt_task", {**TASK_OF_VM, "name": "a"}).changed
    sim.change("vm", VM_1, name="vm-gone", state="Destroyed")
    sim.change("vm", VM_2, name="vm-1")
    ran = run("cbt_task", {**TASK_OF_VM, "name": "b"})
    assert ran.changed, ran.result
    assert ran["cbt_task"]["resource_uuids"] == [VM_2]


def names(**credentials: Any) -> FileNames:
    """Return the names of a service."""
    return FileNames(ConnectionOptions("http://manager.invalid", **credentials))


def test_names_belong_to_an_account() -> None:
    assert names(session_id="one").find("vm", ("a",), lambda: {"a": "1"}) == ({"a": "1"}, False)
    assert names(session_id="two").find("vm", ("a",), lambda: {"a": "2"}) == ({"a": "2"}, False)
    assert names(session_id="one").find("vm", ("a",), dict) == ({"a": "1"}, True)
    names(session_id="two").forget(["vm"])
    assert names(session_id="one").find("vm", ("a",), lambda: {"a": "3"}) == ({"a": "3"}, False)


def test_names_are_looked_up_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user may have given the name to another object."""
    assert names().find("vm", ("a",), lambda: {"a": "1"}) == ({"a": "1"}, False)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 20)
    assert names().find("vm", ("a",), dict) == ({"a": "1"}, True)
    monkeypatch.setattr(time, "monotonic", lambda: now + 31)
    assert names().find("vm", ("a",), lambda: {"a": "2"}) == ({"a": "2"}, False)


def test_a_name_that_changes_during_its_lookup_is_not_remembered() -> None:
    def look_up() -> dict[str, str]:
        names().forget(["vm"])
        return {"a": "1"}

    assert names().find("vm", ("a",), look_up) == ({"a": "1"}, False)
    assert names().find("vm", ("a",), lambda: {"a": "2"}) == ({"a": "2"}, False)


def test_threads_that_forget_at_the_same_time_share_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """No change of the file is older than the call for which it is made."""
    forgetting, has_begun, may_end, has_joined = names(), threading.Event(), threading.Event(), threading.Semaphore(0)
    changes: list[Path] = []

    @contextmanager
    def edit(path: Path) -> Iterator[dict[str, Any]]:
        changes.append(path)
        with real(path) as values:
            has_begun.set()
            assert may_end.wait(30)
            yield values

    class TypesLock:
        """A lock that says that a thread has released it."""

        def __init__(self) -> None:
            self._lock = threading.Lock()

        def __enter__(self) -> None:
            self._lock.acquire()

        def __exit__(self, *dummy: object) -> None:
            self._lock.release()
            has_joined.release()

    real = edit_values
    monkeypatch.setattr(_names, "edit_values", edit)
    monkeypatch.setattr(forgetting, "_types_lock", TypesLock())
    with ThreadPoolExecutor(20) as pool:
        calls = [pool.submit(forgetting.forget, ["host"])]
        try:
            assert has_begun.wait(30)
            calls += [pool.submit(forgetting.forget, [name]) for name in ["host", "vm"] * 5]
            # The first thread has released the lock twice.
            assert all(has_joined.acquire(timeout=5) for dummy in range(2 + 10))
            assert not any(call.done() for call in calls)
        finally:
            may_end.set()
        for call in calls:
            call.result(30)
    assert len(changes) == 2
    with real(changes[0]) as values:
        assert values == {"host": 2, "vm": 1}


def test_nothing_is_remembered_while_a_change_may_run() -> None:
    names().suspend(["vm"])
    for dummy in range(2):
        assert names().find("vm", ("a",), lambda: {"a": "1"}) == ({"a": "1"}, False)
        assert names().find("host", ("a",), lambda: {"a": "1"})[1] is bool(dummy)
        names().forget(["vm"])
    suspend_names()
    assert names().find("host", ("a",), lambda: {"a": "1"}) == ({"a": "1"}, False)


def test_many_tasks_look_a_name_up_once_and_fail_at_the_same_time() -> None:
    """All wait for the first lookup. When it fails, they repeat it at the same time, not one after the other."""
    count, calls = 8, list[str]()
    together = threading.Barrier(count - 1, timeout=30)

    def fail(number: int) -> None:
        def look_up() -> dict[str, str]:
            calls.append("x")
            if len(calls) == 1:
                ready.wait(30)
            else:
                together.wait()
            raise NotFound("no", "")

        with pytest.raises(NotFound):
            names().find("vm", ("a",), look_up)

    ready = threading.Event()
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(fail, number) for number in range(count)]
        threading.Timer(0.3, ready.set).start()
        assert [future.result() for future in futures] == [None] * count
    assert len(calls) == count
    with ThreadPoolExecutor(count) as pool:
        found = [pool.submit(names().find, "vm", ("b",), lambda: {"b": "1"}) for dummy in range(count)]
        assert sorted(future.result()[1] for future in found) == [False] + [True] * (count - 1)


@pytest.fixture
def count_requests(sim: Simulator, folder: Path) -> CountRequests:
    """Return a function that looks up a name, as a task of its own, and counts the requests for it."""

    def count(type_name: str, name: str, **owner: str) -> tuple[str, int]:
        sim.clear_log()
        hooks = Hooks(Masker(), new_store=FileStore)
        with open_client(ConnectionOptions(sim.url, session_id=sim.session), CallOptions(), hooks) as client:
            return resolve_name(client, RESOURCE_TYPES[type_name], name, owner), len(sim.log())

    return count


def test_the_third_name_of_a_type_is_looked_up_in_a_list(sim: Simulator, count_requests: CountRequests) -> None:
    sim.reset(hosts=8, latency=0)
    hosts = [count_requests("host", f"host-{number}") for number in range(1, 9)]
    assert hosts == [(seeded_uuid("host", number), int(number < 4)) for number in range(1, 9)]
    nics = [count_requests("host_nic", "eth1", hostUuid=uuid) for uuid, dummy in hosts]
    assert nics == [(seeded_uuid("hostnic", 4 * number + 2), int(number < 3)) for number in range(8)]


def test_a_list_decides_nothing_about_names_that_it_does_not_identify(
    sim: Simulator, count_requests: CountRequests
) -> None:
    """Names of several objects, and names of new objects."""
    sim.reset(hosts=5, latency=0)
    sim.change("host", seeded_uuid("host", 4), name="host-5")
    for number in (1, 2, 3):
        count_requests("host", f"host-{number}")
    with pytest.raises(AmbiguousMatch):
        count_requests("host", "host-5")
    sim.change("host", seeded_uuid("host", 4), name="host-new")
    assert count_requests("host", "host-new") == (seeded_uuid("host", 4), 1)


def test_a_long_list_is_read_when_single_lookups_have_taken_as_many_requests(
    sim: Simulator, count_requests: CountRequests
) -> None:
    sim.reset(hosts=4001, latency=0)
    counts = [count_requests("host", f"host-{number}")[1] for number in range(1, 9)]
    assert counts == [1, 1, 2, 1, 1, 5, 0, 0]


def test_a_list_that_cannot_be_read_is_tried_once(sim: Simulator, count_requests: CountRequests) -> None:
    sim.reset(hosts=5, latency=0)
    for number in (1, 2):
        count_requests("host", f"host-{number}")
    sim.fault("status", "QueryHost", status=500)
    assert [count_requests("host", f"host-{number}")[1] for number in (3, 4, 5)] == [2, 1, 1]


def test_a_change_of_the_type_forgets_its_list(sim: Simulator, count_requests: CountRequests) -> None:
    sim.reset(hosts=5, latency=0)
    for number in (1, 2, 3):
        count_requests("host", f"host-{number}")
    FileStore(ConnectionOptions(sim.url, session_id=sim.session)).names.forget(["host"])
    sim.change("host", seeded_uuid("host", 1), name="host-old")
    sim.change("host", seeded_uuid("host", 2), name="host-1")
    assert [count_requests("host", name)[0] for name in ("host-4", "host-5", "host-1")] == [
        seeded_uuid("host", number) for number in (4, 5, 2)
    ]


def test_a_name_of_a_list_is_looked_up_again_before_something_is_removed(sim: Simulator, run: ModuleRunner) -> None:
    """Another user gives the name of a VM of the list to another VM, of which the task has to be removed."""
    vms = [f"vm-{number}" for number in range(1, 4)]
    for number, vm in enumerate([*vms, seeded_uuid("vm", 4)], 1):
        assert run("cbt_task", {"name": f"backup-{number}", "vm": vm}).changed
    sim.change("vm", seeded_uuid("vm", 4), name="vm-old")
    sim.change("vm", VM_1, name="vm-4")
    assert run("cbt_task", {"vm": "vm-4", "state": "absent"}).changed
    assert sorted(record["name"] for record in sim.records("cbttask")) == ["backup-2", "backup-3", "backup-4"]
