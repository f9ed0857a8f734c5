"""Run many tasks of all modules, one after the other, against a service where one in ten requests fails."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from chaos.report import Report
from chaos.store import duplicates, explain_wrong_changed
from simulator.launch import Simulator
from support.fast_clock import call_in_time, with_fast_clock
from support.module_runner import run_module
from support.scenarios import CLUSTER, PASSWORD, PERSON, PLATFORM, SNAPSHOT_GROUP

SEED = {"hosts": 6, "vms": 40, "l3_networks": 6, "cbt_tasks": 4, "persons": 4}

# A little more than one in ten, because some of the faults do not apply to every request.
RATE = 0.12

# The faults of a request, all equally likely.
FAULTS: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "truncate"},
    {"fault": "status", "status": 429},
    {"fault": "status", "status": 429, "retry_after": 1},
    {"fault": "status", "status": 502},
    {"fault": "status", "status": 503},
    {"fault": "status", "status": 504, "taken": True},
    {"fault": "slow", "seconds": 0.4},
    {"fault": "html", "taken": True},
    {"fault": "garbage", "garbage": "json"},
    {"fault": "garbage", "garbage": "utf8"},
    {"fault": "garbage", "garbage": "deep"},
    {"fault": "redirect", "url": "https://192.0.2.1/elsewhere"},
    # Only for calls: a poll would report a failure of an operation that succeeded.
    {"fault": "fail", "method": "POST"},
    {"fault": "fail", "method": "PUT"},
    {"fault": "expire"},
    {"fault": "hang", "operation": "poll"},
)


@dataclass(frozen=True)
class TaskRequest:
    """A task.

    ``key`` identifies the object that it manages; the last request with a key determines the desired state. Without a
    key the task is an action, or only reads.
    """

    module: str
    options: Mapping[str, Any]
    key: str = ""


def uuid(kind: int, number: int) -> str:
    """Return the uuid of a seeded object."""
    return f"a{kind:07x}000040008000{number:012x}"


def task_requests(rng: random.Random) -> Iterator[TaskRequest]:
    """Yield tasks endlessly, some for existing objects, some for new ones."""
    makers = (host, cbt_task, endpoint, vm, nic, services, platform, person, action, reading)
    serial = itertools.count(1)
    while True:
        yield rng.choice(makers)(rng, next(serial))


def choose_number(rng: random.Random, serial: int) -> int:
    """Return the number of an object: one that may exist already, or a new one."""
    return rng.choice((serial, rng.randint(1, serial)))


def host(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for a host."""
    number = choose_number(rng, serial)
    address = f"10.{1 + number // 250}.0.{1 + number % 250}"
    new = {"name": f"new-{number}", "cluster": CLUSTER, "username": "root", "password": PASSWORD}
    state = rng.choice(("present", "enabled", "disabled", "maintenance"))
    return TaskRequest("kvm_host", {**new, "management_ip": address, "state": state}, f"host {address}")


def cbt_task(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for a CBT task of a running VM without a seeded one."""
    number = rng.randrange(5, SEED["vms"], 2)
    state = rng.choice(("present", "enabled", "disabled", "absent"))
    options = {"name": f"cbt-{number}", "vm": uuid(4, number), "state": state}
    return TaskRequest("cbt_task", options, f"CBT task {number}")


def endpoint(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for an endpoint of either type with one of three descriptions."""
    number = choose_number(rng, serial)
    details = (
        {"type": "snmp"} if number % 2 else {"type": "workchat", "url": f"https://chat.example.com/?key=k{number}"}
    )
    description = f"description {rng.randint(1, 3)}"
    name = f"endpoint-{number}"
    return TaskRequest("sns_endpoint", {**details, "name": name, "description": description}, f"endpoint {number}")


def vm(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for a VM from a snapshot group."""
    number = choose_number(rng, serial)
    options = {"name": f"restored-{number}", "snapshot_group": SNAPSHOT_GROUP, "strategy": "CreateStopped"}
    return TaskRequest("vm_from_snapshot_group", options, f"vm {number}")


def nic(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for a NIC of a VM in a network in which it has no other NIC."""
    number, network = rng.randint(1, SEED["vms"]), rng.randint(2, SEED["l3_networks"])
    options = {"vm": uuid(4, number), "l3_network": uuid(5, network)}
    state = rng.choice(("present", "enabled", "disabled"))
    return TaskRequest("vm_nic", {**options, "state": state}, f"NIC {number} on {network}")


def services(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for the service types of an interface."""
    number = 4 * rng.randint(1, SEED["hosts"]) - rng.randint(0, 2)
    types = rng.sample(("TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork"), rng.randint(0, 3))
    return TaskRequest("host_nic_service", {"interfaces": [uuid(9, number)], "service_types": types}, f"NIC {number}")


def platform(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for the address of the SNMP platform."""
    options = {"uuid": PLATFORM, "snmp_address": f"10.9.0.{rng.randint(1, 9)}", "snmp_port": rng.randint(161, 170)}
    return TaskRequest("sns_snmp_platform", options, "platform")


def person(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task for the remark and the user id of a person."""
    options = {"uuid": PERSON, "user_id": f"user-{serial}", "remark": f"remark {rng.randint(1, 3)}"}
    return TaskRequest("sns_teamchat_person", options, "person")


def action(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task that calls an operation each time."""
    stopped = 2 * rng.randint(1, SEED["vms"] // 2)
    return rng.choice(
        (
            TaskRequest("vm_nic_qos", {"uuid": uuid(6, 1), "direction": rng.choice(("in", "out"))}),
            TaskRequest("sns_snmp_test", {"platform": PLATFORM}),
            TaskRequest(
                "cbt_volume_export",
                {"vm": uuid(4, stopped), "volumes": [uuid(7, 2 * stopped)], "force": True},
            ),
            TaskRequest("api", {"operation": "DisableCbtTask", "params": {"uuid": uuid(16, rng.randint(1, 4))}}),
        )
    )


def reading(rng: random.Random, serial: int) -> TaskRequest:
    """Return a task that reads."""
    hosts = [uuid(3, number) for number in range(1, 4)]
    return rng.choice(
        (
            TaskRequest("host_info", {"query": ["state=Enabled"]}),
            TaskRequest("vm_info", {"uuid": uuid(4, 1)}),
            TaskRequest("cbt_task_info", {}),
            TaskRequest("sns_endpoint_info", {}),
            TaskRequest("sns_topic_subscriber_info", {}),
            TaskRequest("primary_storage_info", {"name": "ps-1"}),
            TaskRequest("resource_info", {"resource_type": "vm", "sort": "uuid", "page_size": 10}),
            TaskRequest("host_network_info", {"hosts": hosts}),
            TaskRequest("host_nic_candidate_info", {"hosts": hosts}),
            TaskRequest("job_info", {"jobs": [{"uuid": uuid(99, 1)}]}),
            TaskRequest("job_wait", {"jobs": [{"uuid": uuid(99, 1)}]}),
        )
    )


def build_random_faults(seed: int, apart: int = 1) -> list[dict[str, Any]]:
    """Return the faults that together affect one in ten requests, each with its own seed."""
    rest = {"probability": RATE / len(FAULTS), "count": None}
    return [{**fault, **rest, "seed": seed + apart * offset} for offset, fault in enumerate(FAULTS)]


def random_walk(sim: Simulator, report: Report, tasks: int, seed: int, **server: Any) -> None:
    """Run many tasks while one in ten requests fails, then the last task of each object without faults."""
    rng = random.Random(seed)
    last: dict[str, TaskRequest] = {}
    sim.reset(latency=0.0, reconnect=0.0, boot=0.0, **SEED, **server)
    with with_fast_clock():
        for number, request in enumerate(itertools.islice(task_requests(rng), tasks)):
            sim.clear_faults()
            sim.clear_log()
            for fault in build_random_faults(1000 * number):
                sim.fault(**fault)
            problem = call_in_time(partial(play, sim, report, request))
            if problem:
                report.wrong(f"task {number} of walk {seed}, {request.module} {request.options}: {problem}")
            if request.key:
                last[request.key] = request
        sim.clear_faults()
        for problem in itertools.chain(find_unconverged(sim, last.values()), duplicates(sim.settle())):
            report.wrong(f"walk {seed}, at the end: {problem}")


def play(sim: Simulator, report: Report, request: TaskRequest) -> str | None:
    """Run a task and return an error, if any."""
    before = sim.settle()
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token, "request_timeout": 0.3}
    result = run_module(request.module, {**connection, **request.options}).result
    happened: dict[str, int] = {}
    for fault in sim.faults():
        happened[fault["fault"]] = happened.get(fault["fault"], 0) + fault["happened"]
    report.task(result, happened, len(sim.log()))
    return explain_wrong_changed(result, before, sim.settle(), not request.key)


def find_unconverged(sim: Simulator, last: Iterable[TaskRequest]) -> Iterator[str]:
    """Run tasks twice without faults; yield those that fail, or change something the second time."""
    connection = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
    for second, request in itertools.product((False, True), list(last)):
        result = run_module(request.module, {**connection, **request.options}).result
        if result.get("failed"):
            yield f"{request.key} did not converge: {result['msg']}"
        elif second and result["changed"]:
            yield f"{request.key} is changed each time"
