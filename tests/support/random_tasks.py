"""Random tasks of all modules that change objects, and random states of the objects before them.

A seed always gives the same ones. Some options are wrong on purpose: unknown uuids, values out of range, objects in a
state that prevents the change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

SEED: dict[str, Any] = {"hosts": 4, "vms": 6, "cbt_tasks": 2, "snapshot_groups": 3, "destroyed_vms": 1}

# The services that the tasks run against: one as servers are, and one that differs from it where both are allowed.
SERVICES: dict[str, dict[str, Any]] = {
    "servers": {},
    "others": {
        "null_members": True,
        "chats": "open",
        "error_nesting": "cause",
        "deletion_policy": "Direct",
        "enable_enabled_nic": "permit",
        "enable_reply": "both",
        "disable_reply": "inventory",
        "at_person_list": "map",
        "user_tags_at_creation": False,
        "timestamps": "plain",
        "sync": True,
    },
}

UNKNOWN = "f" * 12 + "4fff8" + "f" * 15

Options = dict[str, Any]


@dataclass(frozen=True)
class RandomTask:
    """A task, and the changes of objects before it: the type and the uuid of each object, and its new members."""

    module: str
    options: Options
    changes: tuple[tuple[str, str, Mapping[str, Any]], ...]

    def prepare(self, sim: Simulator, service: Mapping[str, Any]) -> None:
        """Put the service into the state before the task."""
        sim.reset(**SEED, latency=0.0, reconnect=0.0, boot=0.0, migration=0.0, **service)
        for kind, uuid, members in self.changes:
            sim.change(kind, uuid, **members)

    def __str__(self) -> str:
        before = "".join(f" [{kind} {uuid[-2:]}: {dict(members)}]" for kind, uuid, members in self.changes)
        return f"{self.module} {self.options}{before}"


def build_random_task(seed: int) -> RandomTask:
    """Return the task of a seed."""
    return _Generator(random.Random(seed)).build()


class _Generator:
    """Builds one task."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def build(self) -> RandomTask:
        """Return the task and the state before it."""
        module, options = self.rng.choice(_MODULES)
        changes = tuple(self._choose_change(module) for dummy in range(self.rng.choice((0, 0, 1, 2, 3))))
        return RandomTask(module, options(self), changes)

    def pick(self, *values: Any) -> Any:
        """Return one of the values."""
        return self.rng.choice(values)

    def number(self, last: int) -> int:
        """Return a number from 1."""
        return self.rng.randint(1, last)

    def some(self, **options: Any) -> Options:
        """Return a third of the options, on average."""
        return {name: value for name, value in options.items() if self.rng.random() < 1 / 3}

    def uuid(self, kind: str, last: int) -> str:
        """Return the uuid of an object, rarely an unknown one."""
        return UNKNOWN if self.rng.random() < 1 / 12 else seeded_uuid(kind, self.number(last))

    def text(self) -> str:
        """Return a description, rarely one that is too long."""
        return str(self.pick("one", "two", "guest 1", "backup 1", "x" * 2049 if self.rng.random() < 1 / 6 else "three"))

    def key(self, kind: str, prefix: str, last: int) -> Options:
        """Return the option that selects an object: its uuid, its name, or a new name."""
        number = self.number(last)
        return dict(self.pick({"uuid": self.uuid(kind, last)}, {"name": f"{prefix}-{number}"}, {"name": "new"}))

    def _choose_change(self, module: str) -> tuple[str, str, Mapping[str, Any]]:
        """Return a change of an object that matters for a module."""
        host = (
            ("host", 4, {"status": "Disconnected"}),
            ("host", 4, {"state": self.pick("Disabled", "Maintenance")}),
            ("host", 4, {"ipmiPowerStatus": "POWER_OFF", "status": "Disconnected"}),
        )
        vm = (
            ("vm", 6, {"state": self.pick("Paused", "Crashed", "Unknown", "Created", "NoState", "Error")}),
            ("vm", 6, {"state": self.pick("Running", "Stopped")}),
        )
        notification = tuple((kind, 2, {"state": "Disabled"}) for kind in ("endpoint", "platform", "topic"))
        task = ("cbttask", 2, {"status": self.pick("Created", "Running", "Stopped", "Failed")})
        if module.startswith("sns"):
            kind, last, members = self.pick(*notification)
        elif module.startswith("cbt"):
            kind, last, members = self.pick(task, *vm)
        else:
            kind, last, members = self.pick(*host, *(vm if module.startswith("vm") else ()))
        number = self.number(last)
        return kind, seeded_uuid(kind, number), _complete_change(kind, number, members)

    # ---------------------------------------------------------------------------------------------------- the modules

    def kvm_host(self) -> Options:
        """Return options for a host."""
        address = self.pick("10.0.0.11", "10.0.0.12", "10.0.0.99", "10.0.0.300")
        new = {"cluster": self.uuid("cluster", 2), "username": "root", "password": "a-password", "name": "new"}
        key = self.pick(self.key("host", "host", 4), {"management_ip": address}, {"management_ip": "10.0.0.99", **new})
        state = self.pick("present", "enabled", "disabled", "maintenance", "reconnected", "absent")
        options = {**key, "state": state, **self.some(description=self.text(), running_vms="stop", force=True)}
        if state == "absent":
            return options
        power = self.some(power=self.pick("on", "off", "reset"), stop_type="cold")
        ipmi = self.some(ipmi_address="10.9.0.1", ipmi_username="operator", ipmi_port=self.pick(623, 6623, 0))
        login = self.some(ssh_port=self.pick(22, 2222, 65536))
        if login and self.pick(True, False):
            login["update_password"] = "always"
        if "uuid" in key:
            options |= self.some(name=self.pick("renamed", "host-2"), management_ip=address)
        # Whether the service finds an IPMI controller in a new host shows only when the host was added.
        return {**options, **power, **(ipmi if "cluster" not in key else {}), **login}

    def vm(self) -> Options:
        """Return options for a VM."""
        state = self.pick("present", "running", "stopped", "restarted", "paused", "absent")
        options = {**self.key("vm", "vm", 7), "state": state, **self.some(description=self.text())}
        if state == "absent":
            return {**options, **self.some(expunge=True, data_volumes="delete")}
        size = self.some(cpu_num=self.pick(0, 2, 8, 1025), memory_size=self.pick("16", "4G", "8G"))
        place = self.some(host=self.uuid("host", 4), cluster=self.uuid("cluster", 2), recover=True, stop_type="cold")
        return {**options, **size, **place}

    def vm_nic(self) -> Options:
        """Return options for a NIC."""
        address = self.pick("10.101.0.11", "10.101.0.12", "10.101.0.99", "10.102.0.50", "10.9.9.9", "10.101.0.300")
        mac = self.pick("52:54:00:12:34:56", "fa:00:00:00:00:02", "52-54-00-12-34-56")
        network = self.uuid("l3network", 3)
        if self.pick(True, False):
            options = {"uuid": self.uuid("vmnic", 6), **self.some(l3_network=network, static_ip=address)}
        else:
            options = {"vm": self.uuid("vm", 7), "l3_network": network, **self.some(static_ip=address, custom_mac=mac)}
        return {**options, "state": self.pick("present", "enabled", "disabled", "absent")}

    def vm_nic_qos(self) -> Options:
        """Return options for a bandwidth limit."""
        nic = {"uuid": self.uuid("vmnic", 6)}
        bandwidth = self.pick(8191, 8192, 10 * 1024**2)
        if self.pick(True, False):
            return {**nic, "state": "absent", "direction": self.pick("in", "out")}
        return {**nic, "state": "present", self.pick("outbound_bandwidth", "inbound_bandwidth"): bandwidth}

    def vm_from_snapshot_group(self) -> Options:
        """Return options for a VM from a snapshot group."""
        networks = [self.uuid("l3network", 3) for dummy in range(self.pick(1, 2))]
        details = self.some(
            cpu_num=self.pick(0, 2),
            description=self.text(),
            l3_networks=networks,
            default_l3_network=self.pick(networks[0], self.uuid("l3network", 3)),
            cluster=self.uuid("cluster", 2),
            host=self.uuid("host", 4),
            primary_storage=self.uuid("primarystorage", 2),
            strategy=self.pick("CreateStopped", "InstantStart"),
            resource_uuid=self.pick(UNKNOWN, seeded_uuid("vm", 1), "a" * 32),
        )
        if "host" not in details:
            # In which cluster the service starts a VM by default, no read shows.
            details.setdefault("cluster", self.uuid("cluster", 2))
        return {"name": self.pick("new", "vm-1"), "snapshot_group": self.uuid("snapshotgroup", 3), **details}

    def vm_snapshot_group(self) -> Options:
        """Return options for a snapshot group."""
        key = self.pick(
            {"uuid": self.uuid("snapshotgroup", 3)},
            {"vm": self.uuid("vm", 7), "name": self.pick("new", "snapshot-group-1", "snapshot-group-2")},
        )
        state = self.pick("present", "absent", "reverted")
        scope = {"scope": self.pick("single", "chain")} if state == "absent" else {}
        # Whether a snapshot group has the memory shows only a revert.
        present = {"description": self.text(), "with_memory": True} if state == "present" else {}
        return {**key, "state": state, **scope, **self.some(force=True, **present)}

    def cbt_task(self) -> Options:
        """Return options for a CBT task."""
        state = self.pick("present", "enabled", "disabled", "absent")
        vm = self.uuid("vm", 6)
        key = self.pick(
            self.key("cbttask", "cbt-task", 2),
            {"vm": vm},
            {"name": "new", "vm": vm},
            {"name": "new", "task_type": "full", "vms": [vm]},
        )
        return {**key, "state": state, **(self.some(description=self.text()) if state != "absent" else {})}

    def cbt_volume_export(self) -> Options:
        """Return options for an export."""
        volumes = [self.uuid("volume", 12) for dummy in range(self.pick(0, 1, 2))]
        return {"vm": self.uuid("vm", 6), "volumes": volumes, "state": self.pick("present", "absent")}

    def host_nic_service(self) -> Options:
        """Return options for the service types of interfaces."""
        types = ["TenantNetwork", "StorageNetwork", "BackupNetwork", "ManagementNetwork"]
        return {
            "interfaces": [self.uuid("hostnic", 16) for dummy in range(self.pick(1, 2))],
            "service_types": self.rng.sample(types, self.pick(0, 1, 2)),
            **self.some(vlan_ids=[self.pick(0, 100, 4095)]),
        }

    def sns_endpoint(self) -> Options:
        """Return options for an endpoint."""
        kind = self.pick("workchat", "snmp", "any")
        state = self.pick("present", "present", "enabled", "disabled", "absent")
        name = self.pick("new", "snmp-endpoint-1", "chat-endpoint-1", "workchat-endpoint-1")
        key = self.pick({"uuid": self.uuid("endpoint", 2)}, {"name": name})
        options = {"type": kind, **key, "state": state}
        if state == "absent":
            return options
        topics = [self.uuid("topic", 2) for dummy in range(self.pick(0, 1, 2))]
        details = self.some(description=self.text(), topics=topics, platform=self.uuid("platform", 2))
        room = self.some(
            url=self.pick("https://chat.example.com/hook/1", "https://chat.example.com/hook/2"),
            at_all=self.pick(True, False),
            at_person_user_ids=self.pick([], ["user-1"], ["user-1", "x" * 257]),
        )
        if kind == "workchat":
            details.pop("platform", None)
        return {**options, **details, **(room if kind == "workchat" else {})}

    def sns_snmp_platform(self) -> Options:
        """Return options for a platform."""
        state = self.pick("present", "enabled", "disabled", "absent")
        key = self.pick({"uuid": self.uuid("platform", 2)}, {"name": self.pick("new", "snmp-1")})
        address = {"snmp_address": self.pick("192.0.2.161", "10.1.1.1"), "snmp_port": self.pick(162, 163, 0)}
        details = {} if state == "absent" else self.pick(address, self.some(**address))
        force = self.some(force=True) if state == "absent" else {}
        return {**key, "state": state, **details, **force, **self.some(description=self.text())}

    def sns_topic(self) -> Options:
        """Return options for a topic."""
        state = self.pick("present", "enabled", "disabled", "absent")
        key = self.key("topic", "topic", 2)
        force = self.some(force=True) if state == "absent" else {}
        return {
            **key,
            "state": state,
            **force,
            **self.some(description=self.text(), locale=self.pick("zh_CN", "en_US")),
        }

    def sns_teamchat_person(self) -> Options:
        """Return options for a person."""
        user = {"user_id": self.pick("user-1", "user-2", "new", "x" * 65)}
        key = self.pick({"uuid": self.uuid("person", 2)}, user, {"uuid": self.uuid("person", 2), **user})
        details = self.some(endpoint=self.uuid("endpoint", 2), remark=self.pick("operator 1", "one", "x" * 129))
        return {**key, "state": self.pick("present", "absent"), **details}


def _complete_change(kind: str, number: int, members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the changes of an object with those that follow from them."""
    if kind == "vm" and members["state"] in ("Running", "Paused", "Unknown", "NoState"):
        return {**members, "hostUuid": seeded_uuid("host", 1 + (number - 1) % SEED["hosts"])}
    if kind == "vm":
        return {**members, "hostUuid": None}
    return members


_MODULES = [
    (name, getattr(_Generator, name))
    for name in (
        "kvm_host vm vm_nic vm_nic_qos vm_from_snapshot_group vm_snapshot_group cbt_task cbt_volume_export"
        " host_nic_service sns_endpoint sns_snmp_platform sns_topic sns_teamchat_person"
    ).split()
]
