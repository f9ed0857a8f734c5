"""The nodes that Ansible Automation Platform counts by extensions/audit/event_query.yml, from the events of a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jq
import pytest
import yaml

from simulator.launch import Simulator
from support.collection import MODULES, ROOT, module
from support.job_runner import COLLECTIONS, Job
from support.return_docs import load_returns
from support.scenarios import NEW_HOST, SNAPSHOT_GROUP, VOLUME

QUERIES: dict[str, dict[str, str]] = yaml.safe_load(
    (ROOT / "extensions" / "audit" / "event_query.yml").read_text(encoding="utf-8")
)
(QUERY,) = {entry["query"] for entry in QUERIES.values()}
PROGRAM = jq.compile(QUERY)

# The results in which a record of a host or a VM can be.
HOLDERS = {"host", "hosts", "jobs", "reply", "resources", "vm", "vms"}
LONGEST_NAME = 255

SNAPSHOT = {"snapshot_group": SNAPSHOT_GROUP, "l3_networks": ["l3-1"]}
TASKS: list[dict[str, Any]] = [
    {"kvm_host": {"name": "{{ item }}", "state": "disabled"}, "loop": ["host-1", "host-2", "no-such-host"]},
    {"kvm_host": {"name": "host-2", "state": "enabled"}},
    {
        "kvm_host": {"name": "host-3", "state": "maintenance", "running_vms": "stop", "wait": False},
        "register": "started",
    },
    {"job_wait": {"jobs": ["{{ started.job }}"]}},
    {"kvm_host": NEW_HOST},
    {"host_info": {"query": ["name=host-1"]}},
    {"vm_nic": {"vm": "vm-1", "l3_network": "l3-2"}},
    # Two of the VMs have this name, and another one has a name of 255 characters.
    {"vm_info": {"name": "twin"}},
    {"vm_info": {"name": "v" * LONGEST_NAME}},
    {"vm_from_snapshot_group": {"name": "restored", **SNAPSHOT}},
    {"api": {"operation": "QueryVmInstance", "params": {"q": ["name=vm-5"]}}},
    {"resource_info": {"resource_type": "vm", "query": ["name=vm-6"]}},
    {"batch": {"module": "kvm_host", "objects": [{"name": "host-5", "state": "disabled"}]}},
    {"vm": {"name": "vm-5", "state": "present"}},
    # Tasks whose results contain no records of hosts or VMs, or are hidden.
    {"host_network_info": {"hosts": ["host-92"]}},
    {"host_info": {"name": "host-92"}, "no_log": True},
    {"cbt_task": {"name": "backup", "task_type": "full", "vms": ["vm-1"]}},
    {"cbt_volume_export": {"vm": "vm-6", "volumes": [VOLUME]}},
    {"primary_storage_info": None},
    {"resource_info": {"resource_type": "cluster"}},
]
UNCOUNTED = {"host-92"}


@pytest.fixture(scope="module")
def job(running_simulator: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job that plays the tasks in check mode and then outside it."""
    sim = running_simulator
    sim.reset(hosts=5)
    vms = [record["uuid"] for record in sim.records("vm")]
    for uuid, name in zip(vms[1:4], ("twin", "twin", "v" * LONGEST_NAME), strict=True):
        sim.change("vm", uuid, name=name)
    sim.change("host", sim.records("host")[3]["uuid"], name="host-92")
    tasks = [
        {f"virtinfra.manager.{name}" if name in MODULES else name: each for name, each in task.items()}
        for task in TASKS
    ]
    common = {"hosts": "localhost", "gather_facts": False, "ignore_errors": True, "tasks": tasks}
    plays = [{**common, "name": "check", "check_mode": True}, {**common, "name": "run"}]
    variables = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session, "VIRTINFRA_API_TOKEN": sim.token}
    job = Job(tmp_path_factory.mktemp("job"), plays, {**COLLECTIONS, **variables})
    job.run()
    return job


def query_nodes(job: Job, play: str) -> Iterator[dict[str, Any]]:
    """Yield the nodes that the queries return for the events of a play, selected and evaluated as the platform does."""
    for dummy, data, result in job.results():
        if data["play"] == play and data["resolved_action"] in QUERIES:
            yield from jq.compile(QUERIES[data["resolved_action"]]["query"]).input(result).all()


def test_every_host_and_vm_of_a_job_is_one_node(job: Job, running_simulator: Simulator) -> None:
    nodes: dict[str, dict[str, Any]] = {}
    for node in query_nodes(job, "run"):
        assert node.keys() == {"name", "canonical_facts", "facts"}
        nodes.setdefault(json.dumps(node["canonical_facts"]), node)
    records = {
        record["uuid"]: (device_type, record["name"])
        for kind, device_type in (("host", "hypervisor"), ("vm", "virtual_machine"))
        for record in running_simulator.records(kind)
        if record["name"] not in UNCOUNTED
    }
    assert {
        node["canonical_facts"]["uuid"]: (node["facts"]["device_type"], node["name"]) for node in nodes.values()
    } == {uuid: (device_type, f"{name[:200]} {uuid}") for uuid, (device_type, name) in records.items()}
    assert all(node["canonical_facts"].keys() == {"uuid"} for node in nodes.values())
    assert len({node["name"] for node in nodes.values()}) == len(nodes) == 12
    assert max(len(node["name"]) for node in nodes.values()) <= LONGEST_NAME


def test_nothing_is_counted_in_check_mode(job: Job) -> None:
    assert list(query_nodes(job, "check")) == []
    # Results in check mode contain records although none is counted.
    shown = [result for dummy, data, result in job.results() if data["play"] == "check" and HOLDERS & result.keys()]
    assert len(shown) > len(QUERIES)


def test_events_name_the_module_of_the_task(job: Job) -> None:
    actions = [(data["task_action"], data["resolved_action"]) for dummy, data, dummy_result in job.results()]
    assert {resolved for action, resolved in actions} >= QUERIES.keys() - {"virtinfra.manager.job_info"}
    assert all(action == resolved for action, resolved in actions)


def test_every_module_that_shows_hosts_or_vms_has_the_query() -> None:
    showing = {
        module(name).fqcn
        for name in MODULES
        for member, returned in load_returns(name).items()
        if member in HOLDERS and "uuid" in returned.get("contains", {"uuid": None})
    }
    # The jobs of a workflow are only handles, of a run that was interrupted.
    assert QUERIES.keys() == showing - {"virtinfra.manager.workflow"}


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"censored": "the output has been hidden"},
        {"host": None, "vm": None, "hosts": None, "vms": {}, "jobs": [None, "text", {"result": "text"}], "reply": []},
        {"host": {"uuid": None, "management_ip": "10.0.0.1", "hypervisor_type": "KVM"}, "reply": "text"},
        {"host": "text", "hosts": ["text", [], {"management_ip": "10.0.0.1", "hypervisor_type": "KVM"}], "jobs": 1},
        {"vm": {"uuid": "", "vm_nics": []}, "resources": [{"uuid": "1" * 32, "management_ip": "10.0.0.1"}]},
        {"reply": {"inventory": [], "inventories": "text"}, "hosts": {"uuid": "1" * 32}},
    ],
)
def test_odd_results_hold_no_node(result: dict[str, Any]) -> None:
    assert PROGRAM.input(result).all() == []


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_machine_without_a_name_has_its_uuid_as_name(name: Any) -> None:
    (node,) = PROGRAM.input({"vm": {"uuid": "1" * 32, "name": name, "vm_nics": []}}).all()
    assert node["name"] == "1" * 32
