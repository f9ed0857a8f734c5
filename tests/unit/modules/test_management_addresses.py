"""The management node is never added as a host."""

from __future__ import annotations

import pytest

from simulator.launch import Simulator
from support.module_runner import ModuleRunner

NEW = {"name": "host-9", "cluster": "cluster-1", "username": "root", "password": "password"}


LOOPBACK = [
    *("localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "localhost6", "db.localhost", " localhost "),
    *("127.0.0.1", "127.255.0.3", "127.1", "2130706433", "0.0.0.0", "0", "::1", "::", "::ffff:127.0.0.1"),
]


@pytest.mark.parametrize("address", LOOPBACK)
def test_management_node_is_not_added(run: ModuleRunner, sim: Simulator, address: str) -> None:
    message = run.refused("kvm_host", {**NEW, "management_ip": address})
    assert message.startswith(f"host {NEW['name']}: management_ip must not be {address.strip()!r}, ")
    assert "which is the management node: it would become" in message
    assert run("kvm_host", {**NEW, "management_ip": address})["error"]["code"] == "INVALID"
    params = {
        "name": NEW["name"],
        "managementIp": address,
        "clusterUuid": sim.records("cluster")[0]["uuid"],
        "username": "root",
        "password": "password",
    }
    assert "managementIp of AddKVMHost must not be" in run.refused("api", {"operation": "AddKVMHost", "params": params})
    assert len(sim.records("host")) == 3


@pytest.mark.parametrize("address", ["10.0.0.127", "128.0.0.1", "localhost-2.example.com", "0.example.com"])
def test_other_addresses_are_added(run: ModuleRunner, sim: Simulator, address: str) -> None:
    assert run("kvm_host", {**NEW, "management_ip": address}).changed


def test_host_that_has_a_loopback_address_is_managed(run: ModuleRunner, sim: Simulator) -> None:
    sim.change("host", sim.records("host")[0]["uuid"], managementIp="127.0.0.1")
    assert run.twice("kvm_host", {"management_ip": "127.0.0.1", "state": "disabled"}).calls == ["ChangeHostState"]
