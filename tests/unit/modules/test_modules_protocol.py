"""Each state of each module that changes objects: check, run, check again, run again; and with companions missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.operations import COMPANIONS
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions

from chaos.store import drop_dates
from simulator.launch import Simulator
from support.module_runner import ModuleRun, ModuleRunner
from support.scenarios import (
    CHAT,
    CHAT_ENDPOINT,
    CREATED_TASK,
    ENDPOINT,
    HOST,
    NEW_HOST,
    NIC,
    OTHER_TOPIC,
    PASSWORD,
    PERSON,
    PLATFORM,
    RUNNING_TASK,
    SNAPSHOT_GROUP,
    STOPPED_VM,
    THIRD_HOST,
    VM,
    VOLUME,
)

ROOM = {"type": "workchat", "name": "chat", "url": CHAT}
EXPORT = {"vm": STOPPED_VM, "volumes": [VOLUME]}

# A service that ignores the verb would take this read for the creation of a person, which has the same path.
SHARING_A_PATH = {"QuerySNSTeamchatAtPerson"}

# Changes of the seeded records, as (kind, uuid, members).
Preparation = tuple[str, str, Mapping[str, Any]]

DISCONNECTED: Preparation = ("host", THIRD_HOST, {"status": "Disconnected"})
DISABLED: Mapping[str, Any] = {"state": "Disabled"}


@dataclass(frozen=True)
class Case:
    """A task. Unless it ``converges``, it changes something each time. ``prepare`` are changes of the seed."""

    module: str
    options: Mapping[str, Any]
    prepare: tuple[Preparation, ...] = ()
    converges: bool = True

    def __str__(self) -> str:
        return f"{self.module} {dict(self.options)}"


CASES = (
    Case("kvm_host", NEW_HOST),
    Case("kvm_host", {**NEW_HOST, "state": "disabled"}),
    Case("kvm_host", {"uuid": HOST, "name": "renamed", "description": "spare"}),
    Case("kvm_host", {"name": "host-1", "management_ip": "10.0.0.92"}),
    Case("kvm_host", {"uuid": HOST, "update_password": "always", "password": PASSWORD}, converges=False),
    Case("kvm_host", {"uuid": HOST, "state": "enabled"}, (("host", HOST, {"state": "Maintenance"}),)),
    Case("kvm_host", {"uuid": HOST, "state": "disabled"}),
    Case("kvm_host", {"uuid": HOST, "state": "maintenance"}),
    Case("kvm_host", {"uuid": HOST, "state": "reconnected"}, converges=False),
    Case(
        "kvm_host",
        {"uuid": THIRD_HOST, "state": "absent", "force": True, "destroy_local_storage": True},
        (DISCONNECTED,),
    ),
    Case(
        "kvm_host",
        {
            "name": "host-1",
            "state": "absent",
            "evacuate": True,
            "running_vms": "stop",
            "destroy_local_storage": True,
            "delete_mode": "enforcing",
        },
    ),
    Case("vm", {"uuid": VM, "name": "renamed", "description": "new"}),
    Case("vm", {"name": "vm-2", "cpu_num": 8, "memory_size": 2**33}),
    Case("vm", {"name": "vm-1", "state": "stopped", "cpu_num": 8}),
    Case("vm", {"name": "vm-2", "state": "running"}),
    Case("vm", {"uuid": VM, "state": "restarted"}, converges=False),
    Case("vm", {"uuid": VM, "state": "paused"}),
    Case("vm", {"uuid": VM, "state": "running"}, (("vm", VM, {"state": "Paused"}),)),
    Case("vm", {"uuid": STOPPED_VM, "recover": True}, (("vm", STOPPED_VM, {"state": "Destroyed"}),)),
    Case("vm", {"uuid": VM, "state": "absent"}),
    Case("vm", {"name": "vm-1", "state": "absent", "data_volumes": "delete"}),
    Case("vm", {"name": "vm-1", "state": "absent", "expunge": True}),
    Case("vm", {"name": "vm-1", "state": "absent", "data_volumes": "delete", "expunge": True}),
    Case("vm", {"name": "vm-2", "state": "absent", "expunge": True}, (("vm", STOPPED_VM, {"state": "Destroyed"}),)),
    Case("vm_nic", {"vm": "vm-1", "l3_network": "l3-2"}),
    Case("vm_nic", {"vm": "vm-1", "l3_network": "l3-2", "state": "disabled"}),
    Case("vm_nic", {"uuid": NIC, "l3_network": "l3-2"}),
    Case("vm_nic", {"uuid": NIC, "state": "disabled"}),
    Case("vm_nic", {"uuid": NIC, "state": "absent"}),
    Case("vm_nic", {"vm": "vm-1", "l3_network": "l3-1", "state": "absent"}),
    Case("vm_nic_qos", {"uuid": NIC, "state": "present", "outbound_bandwidth": 2**20}),
    Case("vm_nic_qos", {"uuid": NIC, "state": "absent", "direction": "in"}),
    Case("vm_snapshot_group", {"vm": "vm-1", "name": "new", "with_memory": True}),
    Case("vm_snapshot_group", {"uuid": SNAPSHOT_GROUP, "name": "renamed", "description": "new"}),
    Case("vm_snapshot_group", {"vm": "vm-1", "name": "snapshot-group-1", "state": "absent"}),
    Case("vm_snapshot_group", {"uuid": SNAPSHOT_GROUP, "state": "absent", "scope": "chain", "force": True}),
    Case(
        "vm_snapshot_group",
        {"uuid": SNAPSHOT_GROUP, "state": "reverted", "force": True},
        (("vm", VM, {"state": "Stopped", "hostUuid": None}),),
        converges=False,
    ),
    Case("sns_endpoint", ROOM),
    Case("sns_endpoint", {**ROOM, "topics": ["topic-1", "topic-2"], "state": "disabled"}),
    Case("sns_endpoint", {"type": "snmp", "name": "traps", "platform": "snmp-1", "topics": ["topic-1"]}),
    Case("sns_endpoint", {"type": "any", "uuid": ENDPOINT, "name": "renamed", "topics": ["topic-2"]}),
    Case(
        "sns_endpoint",
        {**ROOM, "uuid": CHAT_ENDPOINT, "at_all": True},
        (("endpoint", CHAT_ENDPOINT, {"type": "WorkChat"}),),
    ),
    Case("sns_endpoint", {"type": "snmp", "uuid": ENDPOINT, "state": "disabled"}),
    Case("sns_endpoint", {"type": "any", "uuid": ENDPOINT, "state": "enabled"}, (("endpoint", ENDPOINT, DISABLED),)),
    Case("sns_endpoint", {"type": "any", "uuid": CHAT_ENDPOINT, "url": ROOM["url"], "topics": ["topic-2"]}),
    Case(
        "sns_endpoint",
        {"type": "any", "uuid": CHAT_ENDPOINT, "url": ROOM["url"]},
        (("endpoint", CHAT_ENDPOINT, {"type": "HTTP"}),),
    ),
    Case("sns_endpoint", {"type": "any", "name": "teamchat-endpoint-1", "state": "absent"}),
    Case("sns_endpoint", {"type": "snmp", "uuid": ENDPOINT, "topics": ["topic-1"], "state": "absent"}),
    Case("sns_topic", {"name": "alarms", "locale": "en_US", "state": "disabled"}),
    Case("sns_topic", {"uuid": OTHER_TOPIC, "name": "renamed", "description": "new"}),
    Case("sns_topic", {"name": "topic-2", "state": "disabled"}),
    Case("sns_topic", {"name": "topic-2", "state": "enabled"}, (("topic", OTHER_TOPIC, DISABLED),)),
    Case("sns_topic", {"name": "topic-1", "state": "absent", "force": True}),
    Case("sns_snmp_platform", {"name": "traps", "snmp_address": "192.0.2.51", "snmp_port": 162}),
    Case("sns_snmp_platform", {"uuid": PLATFORM, "snmp_address": "192.0.2.51", "snmp_port": 1162}),
    Case("sns_snmp_platform", {"name": "snmp-1", "state": "disabled"}),
    Case("sns_snmp_platform", {"name": "snmp-1", "state": "enabled"}, (("platform", PLATFORM, DISABLED),)),
    Case("sns_snmp_platform", {"name": "snmp-1", "state": "absent", "force": True}),
    Case("sns_teamchat_person", {"endpoint": CHAT_ENDPOINT, "user_id": "user-9", "remark": "deputy"}),
    Case("sns_teamchat_person", {"uuid": PERSON, "remark": "on call"}),
    Case("sns_teamchat_person", {"endpoint": "teamchat-endpoint-1", "user_id": "user-1", "state": "absent"}),
    Case("cbt_task", {"name": "new", "vm": "vm-5", "state": "enabled"}),
    Case("cbt_task", {"uuid": CREATED_TASK, "state": "enabled"}),
    Case("cbt_task", {"uuid": RUNNING_TASK, "state": "disabled"}),
    Case("cbt_task", {"uuid": CREATED_TASK, "state": "absent"}),
    Case(
        "cbt_volume_export",
        {**EXPORT, "state": "absent"},
        (("exported", STOPPED_VM, {"volumeUuids": [VOLUME]}),),
        converges=False,
    ),
)


class Protocol:
    """Runs a case on new services, and yields what is wrong."""

    def __init__(self, sim: Simulator, case: Case) -> None:
        self.sim, self.case = sim, case

    def start(self, **switches: Any) -> None:
        """Start a new service and a new run."""
        self.sim.reset(cbt_tasks=4, **switches)
        for kind, uuid, members in self.case.prepare:
            self.sim.change(kind, uuid, **members)
        store = MemoryStore(ConnectionOptions.from_params({"base_url": self.sim.url}))
        self.runner = ModuleRunner(self.sim, lambda dummy: store)

    def read_state(self) -> dict[str, Any]:
        """Return the state of the service without dates."""
        return dict(drop_dates(self.sim.state()))

    def run(self, check: bool = False, **connection: Any) -> ModuleRun:
        """Run the task. ``connection`` are options that replace those of the connection."""
        return self.runner(self.case.module, self.case.options, check, **connection)

    def converge(self) -> Iterator[str]:
        """Check, run, check again and run again; yield differences between prediction and outcome."""
        self.start()
        self.before = self.read_state()
        checked, ran = self.run(check=True), self.run()
        self.companions = {entry["operation"] for entry in (*checked.log, *ran.log)} & COMPANIONS
        self.after = self.read_state()
        if ran.failed:
            yield ran.message
            return
        if checked.calls or not (checked.changed and ran.changed):
            yield f"check mode called {checked.calls}; changed is {checked.changed}, then {ran.changed}"
        if self.case.converges and self.after == self.before:
            yield "the run changed nothing"
        yield from find_differences(checked.result, ran.result)
        for check in (True, False):
            again = self.run(check)
            if again.failed or again.changed is self.case.converges or (check and again.calls):
                yield f"again, check mode {check}: {again.result}"
        if self.case.converges and self.read_state() != self.after:
            yield "the second run changed something"

    def miss(self, names: Iterable[str], token: str | None, **switches: Any) -> Iterator[str]:
        """Run without companions: the task works without them, or changes nothing and names one of them."""
        self.start(**switches)
        checked, ran = self.run(check=True, api_token=token), self.run(api_token=token)
        after = self.read_state()
        if checked.calls:
            yield f"check mode called {checked.calls}"
        if not ran.failed:
            if after != self.after:
                yield "it succeeded with another result"
            if checked.failed:
                yield f"check mode predicted a failure: {checked.message}"
            return
        if ran["error"]["code"] != "UNSUPPORTED" or not any(name in ran.message for name in names):
            yield f"it failed with {ran['error']['code']}: {ran.message}"
        if ran.changed or after != self.before:
            yield f"it failed and changed something ({ran.changed}): {ran.message}"
        if checked.failed and checked.message != ran.message:
            yield f"check mode failed with another message: {checked.message}"
        if (again := self.run(check=True, api_token=token)).message != ran.message:
            yield f"check mode did not know what the run found out: {again.message or 'it predicts success'}"


def find_differences(predicted: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield the predicted values that differ from the actual ones; null members are not predicted."""
    if isinstance(predicted, dict) and isinstance(actual, dict):
        for name in predicted.keys() - {"check_mode", "diff", "last_op_date", "create_date"}:
            yield from find_differences(predicted[name], actual.get(name), f"{path}.{name}")
    elif predicted is not None and predicted != actual:
        yield f"{path} was predicted as {predicted!r}, and is {actual!r}"


@pytest.mark.parametrize("module", sorted({case.module for case in CASES}))
def test_protocol(sim: Simulator, module: str) -> None:
    problems = []
    for case in [case for case in CASES if case.module == module]:
        protocol = Protocol(sim, case)
        problems += [f"{case}: {problem}" for problem in protocol.converge()]
        for token in (sim.token, None):
            found = protocol.miss(COMPANIONS, token, companions="404")
            problems += [f"{case}, no companions, token {token}: {problem}" for problem in found]
        for name in sorted(protocol.companions):
            switches = {"missing_operations": [name], "verbs_matter": name in SHARING_A_PATH}
            problems += [
                f"{case}, without {name}: {problem}" for problem in protocol.miss([name], sim.token, **switches)
            ]
    assert not problems, "\n".join(problems)
