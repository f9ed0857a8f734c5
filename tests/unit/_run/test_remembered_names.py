# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tasks of a run look up a name once, and never use it for another object."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ansible.constants
import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import NotFound
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import CallOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._client.jobs import wait_for_job
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import open_client
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.names import FileNames, suspend_names
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.sessions import FileStore

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRunner

VM_1, VM_2 = seeded_uuid("vm", 1), seeded_uuid("vm", 2)
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


def test_a_name_is_looked_up_once(run: ModuleRunner) -> None:
    options = {"cluster": "cluster-1", "username": "root", "password": "secret-1"}
    counts = []
    for number in range(3):
        ran = run("kvm_host", {**options, "name": f"new-{number}", "management_ip": f"10.9.9.{number}"})
        assert ran.changed, ran.result
        counts.append(len(ran.queries("QueryCluster")))
    assert counts == [1, 0, 0]


def test_interfaces_of_a_host_are_listed_once(run: ModuleRunner) -> None:
    logs = [
        run("host_nic_service", {"host": "host-2", "interfaces": [nic], "service_types": ["BackupNetwork"]}).log
        for nic in ("eth1", "eth2", "eth3")
    ]
    counts = [[entry["operation"] for entry in log].count("QueryHost") for log in logs]
    assert counts == [1, 0, 0]
    assert len(logs[0]) - len(logs[1]) == 2
    assert len(logs[1]) == len(logs[2])


def test_a_call_forgets_the_names_of_its_type(sim: Simulator) -> None:
    """It does so before and after the call, and until the end of the run if the call still runs."""
    connection = ConnectionOptions(sim.url, session_id=sim.session)
    store = FileStore(connection).names

    def is_remembered() -> list[bool]:
        return [store.find(name, ("a",), lambda: {"a": "1"})[1] for name in ("host", "vm")]

    assert is_remembered() == [False, False]
    assert is_remembered() == [True, True]
    with open_client(connection, CallOptions(), Hooks(Masker(), new_store=FileStore)) as client:
        job = client.start_job("ChangeHostState", {"uuid": seeded_uuid("host", 1), "stateEvent": "disable"})
        assert is_remembered() == [False, True]
        wait_for_job(client, job)
    assert is_remembered() == [False, True]
    assert is_remembered() == [True, True]
    sim.reset(latency=60)
    with open_client(connection, CallOptions(), Hooks(Masker(), new_store=FileStore)) as client:
        client.start_job("ChangeHostState", {"uuid": seeded_uuid("host", 1), "stateEvent": "disable"})
    assert is_remembered() == [False, True]
    assert is_remembered() == [False, True]


def test_a_name_is_looked_up_again_before_something_is_removed(sim: Simulator, run: ModuleRunner) -> None:
    """Another user gives the name vm-1 to another VM, of which the task has to be removed."""
    one = run("cbt_task", TASK_OF_VM)["cbt_task"]["uuid"]
    sim.change("vm", VM_1, name="vm-old")
    sim.change("vm", VM_2, name="vm-1")
    other = run("cbt_task", {"name": "backup-2", "vm": VM_2})["cbt_task"]["uuid"]
    assert run("cbt_task", {"vm": "vm-1", "state": "absent"}).changed
    remaining = [record["uuid"] for record in sim.records("cbttask")]
    assert (one in remaining, other in remaining) == (True, False)


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


def test_a_name_that_changes_during_its_lookup_is_not_remembered() -> None:
    def look_up() -> dict[str, str]:
        names().forget(["vm"])
        return {"a": "1"}

    assert names().find("vm", ("a",), look_up) == ({"a": "1"}, False)
    assert names().find("vm", ("a",), lambda: {"a": "2"}) == ({"a": "2"}, False)


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
            raise NotFound("no")

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
