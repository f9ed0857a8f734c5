"""Reads change nothing: servers ignore the verb of a path with one operation, which may be a DELETE."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import ReadExecutedAsChange, Unsupported
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import OPERATIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import get_by_uuid
from conftest import client_of

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from support.collection import MODULES, module
from support.fast_clock import with_fast_clock
from support.module_runner import ModuleRunner
from support.stub_server import StubResponse, StubServer

UUID = "a0000008000040008000000000000001"
JOB = "0123456789abcdef0123456789abcdef"
READS = {
    "QueryCbtTask": "cbt-task",
    "QuerySNSWorkchatEndpoint": "sns/application-endpoints/workchat",
    "QuerySNSTopicSubscriber": "sns/topics/subscribers",
    "QueryHost": "hosts",
    "QueryVmInstance": "vm-instances",
    "QueryVmNic": "vm-instances/nics",
    "QuerySNSApplicationEndpoint": "sns/application-endpoints",
    "QuerySNSApplicationPlatform": "sns/application-platforms",
}
"""The collections of which one record may be read by its uuid in the path: documented, or known to be a read."""
LAST_SEGMENT_IS_UUID = re.compile(r"/service/v1/(?P<collection>.+)/[0-9a-fA-F-]{32,36}")
OTHER_READS = {"hosts/network-facts", "api-jobs"}


def assert_reads_are_safe(log: list[dict[str, Any]]) -> None:
    """Check that no GET has a uuid in the path of another collection, and that no GET started a job."""
    reads = [entry for entry in log if entry["method"] == "GET"]
    direct = [LAST_SEGMENT_IS_UUID.fullmatch(entry["path"]) for entry in reads]
    assert {match["collection"] for match in direct if match} <= {*READS.values(), *OTHER_READS}
    assert [entry["path"] for entry in reads if entry["job"] and entry["operation"] != "poll"] == []


@pytest.fixture
def detached(sim: Simulator) -> str:
    sim.change("primarystorage", UUID, attachedClusterUuids=[])
    return UUID


def test_a_get_deletes_where_only_a_delete_has_the_path(sim: Simulator, detached: str) -> None:
    """The simulator, like real servers, executes GET on the path of a delete operation as the delete."""
    talk = HttpClient(sim)
    assert talk.send("GET", f"primary-storage/{detached}").status_code == 202
    sim.advance()
    assert detached not in [record["uuid"] for record in sim.records("primarystorage")]


def test_primary_storage_is_read_by_a_condition(sim: Simulator, run: ModuleRunner, detached: str) -> None:
    for check in (True, False):
        ran = run("primary_storage_info", {"uuid": detached}, check)
        assert [record["name"] for record in ran["primary_storages"]] == ["ps-1"]
        assert ran.queries("QueryPrimaryStorage")[0]["q"] == [f"uuid={detached}"]
    assert detached in [record["uuid"] for record in sim.records("primarystorage")]


QUERIES = [name for name in OPERATIONS if name.startswith("Query")]
SUBSTITUTES = {row.substitute for row in OPERATIONS.values()}


@pytest.mark.parametrize("name", QUERIES)
def test_the_client_reads_by_uuid_safely(sim: Simulator, client: Client, name: str) -> None:
    sim.configure(chats="open" if name in SUBSTITUTES else "documented")
    for uuid in (UUID, UUID.upper(), "f" * 32, "kvm"):
        if name != "QuerySNSTopicSubscriber":
            get_by_uuid(client, name, uuid)
    assert_reads_are_safe(sim.log())


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("more", [{}, {"limit": 5}])
def test_the_module_api_reads_by_uuid_safely(
    run: ModuleRunner, sim: Simulator, name: str, more: dict[str, Any]
) -> None:
    sim.configure(chats="open" if name in SUBSTITUTES else "documented")
    ran = run("api", {"operation": name, "params": {"uuid": UUID, **more}})
    assert_reads_are_safe(ran.log)
    # A second request finds out whether the server has the substitute.
    paths = {entry["path"] for entry in ran.log if entry["operation"] == name}
    assert paths == {f"/service/v1/{READS[name]}/{UUID}" if name in READS and not more else ran.log[0]["path"]}
    assert len(ran.log) <= 2


# The modules that wait for jobs that other tasks started.
JOBS = {"job_info", "job_wait"}


@pytest.mark.parametrize("name", [name for name in MODULES if name not in JOBS])
def test_modules_read_safely(sim: Simulator, run: ModuleRunner, name: str) -> None:
    """Run each example, also with the uuid of an object if the module has this option."""
    tested = module(name)
    for example in tested.examples:
        options = example.get(tested.fqcn)
        for chosen in ({}, {"uuid": UUID}) if "uuid" in tested.options else ({},):
            if options is not None:
                sim.reset()
                for check in (True, False):
                    with with_fast_clock():
                        ran = run(name, {**options, **chosen}, check)
                    assert_reads_are_safe(ran.log)


# --------------------------------------------------------------------------------------- a read that started a change


LOCATION = f"http://192.0.2.1:8080/service/v1/api-jobs/{JOB}"


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.method == "GET"])
def test_a_read_that_starts_a_job_fails(name: str) -> None:
    if name == "GetApiJob":
        return
    required = [parameter for parameter in OPERATIONS[name].parameters.values() if parameter.required]
    given = {parameter.name: [UUID] if parameter.type == "list" else UUID for parameter in required}
    with StubServer(lambda request: StubResponse(202, {"location": LOCATION})) as service:
        with pytest.raises(ReadExecutedAsChange, match="the service executed the read as a change") as caught:
            client_of(service).get(name, given)
        assert len(service.requests) == 1
    path = OPERATIONS[name].request(given).path
    assert f"it answered GET {path} with HTTP status 202 and started job {JOB}" in str(caught.value)
    assert caught.value.result["job"] == {
        "uuid": JOB,
        "job_uuid": None,
        "location": f"/service/v1/api-jobs/{JOB}",
        "operation": name,
        "object": None,
        "state": "running",
    }


def test_a_read_that_starts_a_job_without_an_id_fails() -> None:
    with (
        StubServer(lambda request: StubResponse(202, {})) as service,
        pytest.raises(ReadExecutedAsChange, match="started a job without a known id") as caught,
    ):
        get_by_uuid(client_of(service), "QueryHost", UUID)
    assert "job" not in caught.value.result


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("primary_storage_info", {"uuid": UUID}),
        ("host_info", {}),
        ("resource_info", {"resource_type": "host", "sort": "uuid"}),
        ("host_network_info", {"hosts": [UUID, UUID[:-1] + "2"]}),
        ("api", {"operation": "QueryCbtTask"}),
        ("vm_nic", {"uuid": UUID, "state": "disabled"}),
    ],
)
@pytest.mark.parametrize("check", [False, True])
def test_a_task_fails_when_a_read_starts_a_job(
    name: str, options: dict[str, Any], check: bool, run: ModuleRunner
) -> None:
    with StubServer(lambda request: StubResponse(202, {"location": LOCATION})) as service:
        ran = run(name, options, check, base_url=service.url)
    assert ran.failed
    assert ran.changed
    assert "the service executed the read as a change" in ran.message
    assert ran["job"]["uuid"] == JOB


def test_polling_with_the_module_api_succeeds(sim: Simulator, run: ModuleRunner) -> None:
    sim.configure(latency=60)
    started = run("api", {"operation": "DeleteCbtTask", "params": {"uuid": UUID}}, wait=False)
    ran = run("api", {"operation": "GetApiJob", "params": {"uuid": started["job"]["uuid"]}})
    assert not ran.failed
    assert ran["reply"] == {}


def test_a_service_without_the_query_is_named() -> None:
    with StubServer(lambda request: StubResponse(404)) as service, pytest.raises(Unsupported):
        get_by_uuid(client_of(service), "QueryHost", UUID)
