"""The parts of objects of kinds, such as the rules of a security group: each one desired, and no other one."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from support.kind_calls import check_calls
from support.kind_tasks import NETWORK
from support.module_runner import ModuleRun, ModuleRunner

HTTP = {"type": "Ingress", "protocol": "TCP", "dst_port_range": "80"}
GROUP: dict[str, Any] = {"kind": "security_group", "name": "web"}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.configure(latency=0)
    return ModuleRunner(sim)


def with_rules(*rules: dict[str, Any]) -> dict[str, Any]:
    return {**GROUP, "properties": {"rules": list(rules)}}


def list_rules(ran: ModuleRun, *members: str) -> list[tuple[Any, ...]]:
    """Return members of the rules of a security group, without those of the service."""
    return sorted(tuple(rule[name] for name in members) for rule in ran["resource"]["rules"])


# ------------------------------------------------------------------------------------------------ which rule is which

INSIDE, WITHIN = {"src_ip_range": "10.0.0.0/8"}, "10.0.0.0/8"


def test_rule_for_all_addresses_is_not_one_for_some(run: ModuleRunner) -> None:
    """What a rule does not give is the default, and not that of another rule."""
    run.twice("resource", with_rules({**HTTP, **INSIDE}))
    both = run.twice("resource", with_rules({**HTTP, **INSIDE}, HTTP))
    assert [rule.get("src_ip_range") for rule in both["resource"]["rules"]] == [WITHIN, None]
    assert both.calls == ["AddSecurityGroupRule"]
    opened = run.twice("resource", with_rules(HTTP))
    assert [rule.get("src_ip_range") for rule in opened["resource"]["rules"]] == [None]
    assert opened.calls == ["DeleteSecurityGroupRule"]
    closed = run.twice("resource", with_rules({**HTTP, **INSIDE}))
    assert closed.calls == ["AddSecurityGroupRule", "DeleteSecurityGroupRule"]
    assert [rule.get("src_ip_range") for rule in closed["resource"]["rules"]] == [WITHIN]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "Egress"},
        {"protocol": "UDP"},
        {"dst_port_range": "81"},
        {"action": "DROP"},
        {"ip_version": 6},
        {"src_ip_range": "10.0.0.0/8"},
        {"remote_security_group": "db"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_rule_with_another_value_replaces_the_rule(run: ModuleRunner, other: dict[str, Any]) -> None:
    run.twice("resource", {**GROUP, "name": "db"})
    run.twice("resource", with_rules(HTTP))
    changed = run.twice("resource", with_rules({**HTTP, **other}))
    assert changed.calls == ["AddSecurityGroupRule", "DeleteSecurityGroupRule"]
    back = run.twice("resource", with_rules(HTTP))
    assert back.calls == ["AddSecurityGroupRule", "DeleteSecurityGroupRule"]
    assert len(back["resource"]["rules"]) == 1


def test_defaults_may_be_given(run: ModuleRunner) -> None:
    given = {"action": "ACCEPT", "ip_version": 4, "state": "Enabled", "description": ""}
    run.twice("resource", with_rules(HTTP))
    run.idle("resource", with_rules({**HTTP, **given}))
    run.twice("resource", with_rules({**HTTP, **given, "dst_port_range": "81"}))
    run.idle("resource", with_rules({**HTTP, "dst_port_range": "81"}))


def test_rule_of_a_server_that_lacks_a_member_is_the_default_one(run: ModuleRunner, sim: Simulator) -> None:
    group = run.twice("resource", with_rules(HTTP))["resource"]
    (rule,) = next(each for each in sim.records("securitygroup") if each["uuid"] == group["uuid"])["rules"]
    older = {name: value for name, value in rule.items() if name not in ("action", "state", "ipVersion")}
    sim.change("securitygroup", group["uuid"], rules=[older])
    run.idle("resource", with_rules(HTTP))


# ------------------------------------------------------------------------------------------------ changes of a rule


@pytest.mark.parametrize("changes", [{"description": "the shop"}, {"state": "Disabled"}])
def test_rule_is_changed_in_its_place(run: ModuleRunner, changes: dict[str, Any]) -> None:
    """Servers refuse a second rule that differs only in these members."""
    run.twice("resource", with_rules(HTTP, {**HTTP, **INSIDE}))
    changed = run.twice("resource", with_rules({**HTTP, **changes}, {**HTTP, **INSIDE}))
    assert changed.calls == ["ChangeSecurityGroupRule"]
    assert changed.sent("ChangeSecurityGroupRule") == changes
    ((name, value),) = changes.items()
    assert [rule[name] for rule in changed["resource"]["rules"] if not rule.get("src_ip_range")] == [value]
    # What a rule does not give is not changed.
    run.idle("resource", with_rules(HTTP, {**HTTP, **INSIDE}))


def test_rules_are_added_changed_and_removed_in_one_task(run: ModuleRunner) -> None:
    run.twice("resource", with_rules(HTTP, {**HTTP, "protocol": "UDP"}))
    changed = run.twice("resource", with_rules({**HTTP, "description": "kept"}, {**HTTP, "dst_port_range": "443"}))
    assert changed.calls == ["AddSecurityGroupRule", "ChangeSecurityGroupRule", "DeleteSecurityGroupRule"]
    check_calls("security_group", changed.log)
    assert list_rules(changed, "protocol", "dst_port_range") == [("TCP", "443"), ("TCP", "80")]


def test_rule_of_the_service_can_be_described_but_not_removed(run: ModuleRunner, sim: Simulator) -> None:
    own = {"type": "Egress", "protocol": "ALL"}
    group = run.twice("resource", with_rules(HTTP, own))["resource"]
    rules = next(each for each in sim.records("securitygroup") if each["uuid"] == group["uuid"])["rules"]
    kept = [{**rule, "priority": 0} if rule["type"] == "Egress" else rule for rule in rules]
    sim.change("securitygroup", group["uuid"], rules=kept)
    described = run.twice("resource", with_rules(HTTP, {**own, "description": "of the service"}))
    assert described.calls == ["ChangeSecurityGroupRule"]
    run.idle("resource", with_rules(HTTP))


# ------------------------------------------------------------------------------------------------ what cannot be meant


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([HTTP, dict(HTTP)], "properties.rules[1] is the same as properties.rules[0]. Remove one of them"),
        ([HTTP, {**HTTP, "description": "x"}], "properties.rules[1] is the same as properties.rules[0]"),
        ([{**HTTP, **INSIDE}, HTTP, {**HTTP, "action": "ACCEPT"}], "properties.rules[2] is the same as properties.ru"),
        (
            [{**HTTP, **INSIDE, "remote_security_group": "db"}],
            "properties.rules[0].src_ip_range cannot be used with remote_security_group. Remove one of them",
        ),
    ],
)
def test_rules_that_contradict_each_other_are_refused(
    run: ModuleRunner, rules: list[dict[str, Any]], message: str
) -> None:
    for check in (True, False):
        ran = run("resource", with_rules(*rules), check)
        assert message in ran.message
        assert ran.log == []


FLAT, ROUTER = "Flat Network Service Provider", "vrouter"


@pytest.mark.parametrize(
    ("services", "message"),
    [
        (
            [(ROUTER, "DHCP"), (ROUTER, "DHCP")],
            "properties.network_services[1] has the same network_service_type as properties.network_services[0]",
        ),
        (
            [(ROUTER, "DNS"), (ROUTER, "DHCP"), (FLAT, "DHCP")],
            "properties.network_services[2] has the same network_service_type as properties.network_services[1]",
        ),
        (
            [(ROUTER, "dhcp")],
            "'vrouter' (a0000020000040008000000000000002) does not offer 'dhcp'. It offers DHCP, DNS, ",
        ),
    ],
)
def test_services_that_no_network_can_have_are_refused(
    run: ModuleRunner, services: list[tuple[str, str]], message: str
) -> None:
    named = [{"network_service_provider": name, "network_service_type": each} for name, each in services]
    for check in (True, False):
        ran = run("resource", {**NETWORK, "properties": {"network_services": named}}, check)
        assert message in ran.message
        assert ran.calls == []
