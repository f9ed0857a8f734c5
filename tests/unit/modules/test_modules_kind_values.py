"""The values of properties: null, empty and of another type, which the module refuses before it sends anything."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import list_properties
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import KINDS, Kind

from simulator.launch import Simulator
from support.kind_tasks import EIP, IMAGE, KIND_TASKS, START, VIP
from support.module_runner import ModuleRunner

JOB: dict[str, Any] = {**START, "properties": {"type": "startVm"}}
ADDED = {"kind": "image", "name": "web"}
RULE = {"type": "Ingress", "protocol": "ALL"}
GROUP = {"kind": "security_group", "name": "web"}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.configure(latency=0)
    return ModuleRunner(sim)


# ------------------------------------------------------------------------------------------------ null


@pytest.mark.parametrize("null", [None, "", " ", "None"])
def test_null_reference_is_not_given_and_in_check_mode_a_predicted_object(run: ModuleRunner, null: str | None) -> None:
    """Core before 2.19 makes a text of null. Nothing is sent in its place."""
    job = {**JOB, "properties": {**JOB["properties"], "target_resource": null}}
    assert run("resource", job, check=True).changed
    ran = run("resource", job)
    assert (ran.calls, ran.changed) == ([], False)
    assert "give properties.target_resource to create it" in ran.message
    run("resource", VIP)
    eip = {**EIP, "properties": {"vm_nic": null}}
    created = run.twice("resource", eip)
    assert "vmNicUuid" not in created.sent("CreateEip")


@pytest.mark.parametrize("null", [None, ""])
def test_null_in_a_list_of_references(run: ModuleRunner, null: str | None) -> None:
    image = {**ADDED, "properties": {**IMAGE, "backup_storages": ["bs-1", null]}}
    assert run("resource", image, check=True).changed
    ran = run("resource", image)
    assert "properties.backup_storages must not contain a null or an empty string" in ran.message
    assert ran.log == []


@pytest.mark.parametrize("null", [None, ""])
def test_null_member_of_a_rule_is_not_given(run: ModuleRunner, null: str | None) -> None:
    rules = [{**RULE, "remote_security_group": null, "description": None}]
    ran = run.twice("resource", {**GROUP, "properties": {"rules": rules}})
    assert ran.sent("AddSecurityGroupRule")["rules"] == [RULE]


def test_null_list_is_not_given(run: ModuleRunner) -> None:
    for check in (True, False):
        ran = run("resource", {**ADDED, "properties": {**IMAGE, "backup_storages": None}}, check)
        assert "ive properties.backup_storages to add it" in ran.message


def test_null_properties_are_none(run: ModuleRunner) -> None:
    run.idle("resource", {"kind": "disk_offering", "name": "disk-offering-1", "properties": None})


# ------------------------------------------------------------------------------------------------ other types

WRONG: dict[str, tuple[Any, ...]] = {
    "bool": ("perhaps", 2, [True], {"a": 1}),
    "dict": ("a", [1]),
    "int": ("ten", 1.5, True, [1], {"a": 1}),
    "list": ("a", {"a": 1}, 1, [{"a": 1}], [["a"]]),
    "str": (["a"], {"a": 1}),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_value_of_another_type_is_refused_before_anything_is_sent(
    run: ModuleRunner, kind: Kind, subtests: pytest.Subtests
) -> None:
    """Each property of each kind, with values of other types."""
    creates = KIND_TASKS[kind.name].creates
    for name, each in list_properties(kind).items():
        for value in WRONG[each.parameter.type.replace("long", "int")]:
            with subtests.test(f"{name}: {value!r}"):
                options = {**creates, "properties": {**creates.get("properties", {}), name: value}}
                ran = run("resource", options)
                assert (ran["error"]["code"], ran.log) == ("INVALID", [])
                assert ran.message.startswith((f"properties.{name}", f"each item of {name}"))
                assert "of type" not in ran.message


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("remote_security_group", ["db"], "properties.rules[0].remote_security_group must be one string, not ['db']"),
        ("description", {"a": 1}, "properties.rules[0].description must be one string, not {'a': 1}"),
        ("ip_version", "six", "properties.rules[0].ip_version must be a whole number, not 'six'"),
        ("ip_version", True, "properties.rules[0].ip_version must be a whole number, not True"),
    ],
)
def test_member_of_another_type_is_refused(run: ModuleRunner, member: str, value: Any, message: str) -> None:
    for check in (True, False):
        ran = run("resource", {**GROUP, "properties": {"rules": [{**RULE, member: value}]}}, check)
        assert (ran.message, ran.log) == (message, [])


def test_numbers_of_rules_are_sent_as_servers_read_them(run: ModuleRunner) -> None:
    """Templates of core before 2.19 make texts of numbers, and YAML makes a number of one port."""
    rules = [{"type": "Ingress", "protocol": "TCP", "dst_port_range": 80, "ip_version": "4"}]
    ran = run.twice("resource", {**GROUP, "properties": {"rules": rules}})
    (sent,) = ran.sent("AddSecurityGroupRule")["rules"]
    assert (sent["dstPortRange"], sent["ipVersion"]) == ("80", 4)


def test_required_list_must_not_be_empty(run: ModuleRunner) -> None:
    for check in (True, False):
        ran = run("resource", {**ADDED, "properties": {**IMAGE, "backup_storages": []}}, check)
        assert (ran.message, ran.log) == ("properties.backup_storages must not be empty", [])


def test_fraction_of_a_quota_is_no_number_of_bytes(run: ModuleRunner) -> None:
    quota = {"kind": "quota", "name": "vm.num", "properties": {"value": 1.5}}
    assert run("resource", quota).message.endswith("or of bytes for a quota of a size, not 1.5")
