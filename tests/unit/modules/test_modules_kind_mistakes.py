"""Tasks of the module ``resource`` whose properties contradict each other, or mean something else than is likely."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from simulator.launch import Simulator
from support.kind_tasks import BALANCER, IMAGE, KIND_TASKS, TOOLS, VIP
from support.module_runner import ModuleRunner


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.configure(latency=0)
    return ModuleRunner(sim)


def describe(kind: str, properties: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"kind": kind, "name": "a", "properties": properties, **options}


def trigger(**properties: Any) -> dict[str, Any]:
    return describe("scheduler_trigger", properties)


def ip_range(**properties: Any) -> dict[str, Any]:
    return describe("ip_range", properties, parent="l3-1")


def rule(**members: Any) -> dict[str, Any]:
    return describe("security_group", {"rules": [members]})


def ports(*numbers: int | None) -> dict[str, Any]:
    names = ("vip_port_start", "vip_port_end", "private_port_start", "private_port_end")
    given = {name: number for name, number in zip(names, numbers, strict=False) if number}
    return describe("port_forwarding", {**given, "protocol_type": "TCP"}, parent="web")


POOL = {"start_ip": "10.9.0.10", "end_ip": "10.9.0.99", "netmask": "255.255.255.0"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            rule(type="Ingress", protocol="ICMP", dst_port_range="22"),
            "[0].dst_port_range cannot be used with protocol ICMP. Only TCP and UDP have ports: give one of them as",
        ),
        (rule(cidr_ip="10.0.0.0/8"), "there is no member cidr_ip. Did you mean src_ip_range?"),
        (rule(type="Egress", cidr="10.0.0.0/8"), "there is no member cidr. Did you mean dst_ip_range?"),
        (rule(type="Egress", source="10.0.0.0/8"), "there is no member source. The members are type, protocol,"),
        (rule(type="Ingress", protocol="ALL", dst_port_range="22"), "with protocol ALL. Only TCP and UDP"),
        (rule(type="Egress", src_ip_range="10.0.0.0/8"), "with type Egress. Did you mean dst_ip_range?"),
        (rule(type="Ingress", dst_ip_range="10.0.0.0/8"), "with type Ingress. Did you mean src_ip_range?"),
        (
            trigger(scheduler_type="simple", cron="0 0 2 * * ?"),
            "properties.cron cannot be used with scheduler_type simple. Remove it, or change scheduler_type to cron",
        ),
        (trigger(scheduler_type="cron", scheduler_interval=5), "scheduler_interval cannot be used with scheduler_type"),
        (
            trigger(start_time="2026-12-01 03:00"),
            "start_time must be a whole number of seconds since 1970, as date +%s prints them, not '2026-12-01 03:00'",
        ),
        (trigger(start_time=date(2026, 12, 24)), "as date +%s prints them, not 2026-12-24"),
        (
            trigger(start_time=1796083200000),
            "start_time must be in seconds since 1970. 1796083200000 is in milliseconds: write 1796083200",
        ),
        (trigger(stop_time="1796083200000"), "properties.stop_time must be in seconds since 1970. 1796083200000 is in"),
        (trigger(start_time=1796083200 * 10**6), "as date +%s prints them, not 1796083200000000"),
        (
            trigger(start_time=1796083200, stop_time=1796000000),
            "properties.stop_time 1796000000 must not be before start_time 1796083200",
        ),
        (trigger(scheduler_interval="1h"), "properties.scheduler_interval must be a whole number of seconds, not '1h'"),
        (trigger(scheduler_interval=True), "must be a whole number of seconds, not True"),
        (
            describe("quota", {"value": "10T"}),
            "a whole number of objects, or of bytes for a quota of a size, not '10T'",
        ),
        (ip_range(network_cidr="10.9.0.7/24"), "must be a network, not '10.9.0.7/24'. The network is 10.9.0.0/24"),
        (
            ip_range(network_cidr="10.9.0.0/24", gateway="10.1.0.1"),
            "gateway 10.1.0.1 is not in the network 10.9.0.0/24",
        ),
        (ip_range(**POOL, gateway="10.1.0.1"), "gateway 10.1.0.1 is not in the network 10.9.0.0/24"),
        (ip_range(**POOL, gateway="10.9.0.10"), "is one of the addresses from 10.9.0.10 to 10.9.0.99, which NICs get"),
        (ip_range(**{**POOL, "end_ip": "10.9.0.2"}), "end_ip 10.9.0.2 must not be before start_ip 10.9.0.10"),
        (ip_range(**{**POOL, "end_ip": "10.9.1.2"}), "end_ip 10.9.1.2 is not in 10.9.0.0/24, the network of start_ip"),
        (ports(5000, 4000), "properties.vip_port_end 4000 must not be before vip_port_start 5000"),
        (ports(80, 80, 8080, 8000), "properties.private_port_end 8000 must not be before private_port_start 8080"),
        (
            ports(80, 89, 8080),
            "the VIP has 10 ports, from vip_port_start to vip_port_end, and the NIC 1, from private_port_start to",
        ),
        (
            rule(type="Ingress", protocol="TCP", dst_port_range="22,90-80"),
            "rules[0].dst_port_range has a range that ends before it starts, 90-80. Write 80-90",
        ),
        (
            rule(type="Ingress", src_ip_range="10.1.0.0/16,10.0.0.1/8"),
            "rules[0].src_ip_range must be a network, not '10.0.0.1/8'. The network is 10.0.0.0/8",
        ),
        (
            rule(type="Egress", dst_ip_range="10.0.0.9-10.0.0.5"),
            "dst_ip_range has a range that ends before it starts, 10.0.0.9-10.0.0.5. Write 10.0.0.5-10.0.0.9",
        ),
        (
            rule(type="Ingress", src_ip_range="fd00::/64"),
            "rules[0].src_ip_range fd00::/64 is of IPv6, and the rule is for IPv4. Give ip_version: 6",
        ),
        (
            rule(type="Egress", dst_ip_range="10.0.0.0/8", ip_version=6),
            "rules[0].dst_ip_range 10.0.0.0/8 is of IPv4, and the rule is for IPv6. Give ip_version: 4",
        ),
        (
            describe("instance_offering", {"cpu_num": 1, "memory_size": "1G", "reserved_memory_size": "2G"}),
            "properties.reserved_memory_size 2147483648 must not be above memory_size 1073741824",
        ),
        (
            ip_range(network_cidr="fd00::/64"),
            "not fd00::/64. virtinfra.manager.api adds IPv6 ranges, with the operation AddIpv6RangeByNetworkCidr",
        ),
        (
            ip_range(start_ip="fd00::5", end_ip="fd00::9", netmask="255.255.255.0", gateway="fd00::1"),
            "start_ip must be an IPv4 address, not fd00::5. virtinfra.manager.api adds IPv6 ranges, with the operation",
        ),
        (
            describe("load_balancer_listener", {"load_balancer_port": 80, "protocol": "icmp"}, parent="web"),
            "protocol of kind load_balancer_listener must be one of tcp, udp, http, https, not 'icmp'",
        ),
        (describe("l3_network", {"dns": ["10.0.0.1"]}), "with the operation AddDnsToL3Network."),
        (describe("scheduler_job", {"type": "snapshotVm"}), "not 'snapshotVm'. Did you mean volumeSnapshotGroup?"),
    ],
)
def test_contradiction_is_refused_before_anything_is_sent(
    run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    for check in (True, False):
        ran = run("resource", options, check)
        assert message in ran.message
        assert (ran["error"]["code"], ran.log) == ("INVALID", [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (trigger(scheduler_type="cron"), "scheduler_type cron needs properties.cron"),
        (trigger(scheduler_type="simple", scheduler_interval=60), "scheduler_type simple needs properties.start_time"),
        (
            trigger(scheduler_type="simple", start_time=0),
            "scheduler_type simple needs properties.scheduler_interval or properties.repeat_count",
        ),
        (
            ip_range(network_cidr="10.9.0.0/24", start_ip="10.9.0.10", end_ip="10.9.0.99"),
            "properties: start_ip, end_ip cannot be used with network_cidr. Remove network_cidr, or the others",
        ),
    ],
)
def test_object_that_would_lack_a_property_is_not_created(
    run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    for check in (True, False):
        ran = run("resource", options, check)
        assert message in ran.message
        assert not ran.calls


@pytest.mark.parametrize(
    "options",
    [
        trigger(scheduler_type="simple", start_time=0, scheduler_interval=60),
        trigger(scheduler_type="simple", start_time="0", repeat_count=1),
        trigger(scheduler_type="simple", start_time=1796083200, stop_time=1796083200, repeat_count=1),
        ip_range(**POOL),
        ip_range(**POOL, gateway="10.9.0.1"),
        ip_range(**POOL, gateway="10.1.0.1", ip_range_type="AddressPool"),
        ip_range(network_cidr="10.9.0.0/24", gateway="10.9.0.1"),
        ports(80),
        ports(80, 89),
        ports(80, 89, 8080, 8089),
        ports(80, None, 8080),
        rule(type="Ingress", protocol="ALL"),
        rule(type="Ingress", protocol="ALL", src_ip_range="fd00::/64", ip_version=6),
        describe("instance_offering", {"cpu_num": 1, "memory_size": "1G", "reserved_memory_size": "1G"}),
        rule(type="Egress", protocol="UDP", dst_port_range=53, dst_ip_range="10.0.0.0/8"),
        describe("image", TOOLS),
        describe("image", {**IMAGE, "url": "https://images.example.com/download?file=1"}),
        describe("image", {**IMAGE, "url": "https://images.example.com/a.img", "format": "raw"}),
    ],
)
def test_what_fits_together_is_created_without_a_warning(run: ModuleRunner, options: dict[str, Any]) -> None:
    if options["kind"] == "port_forwarding":
        run("resource", VIP)
    ran = run("resource", options)
    assert ran.changed, ran.message
    assert ran.warnings == []


IN_URL = "https://images.example.com/tools.iso"


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (rule(type="Ingress", protocol="TCP"), "the rule Ingress TCP has no dst_port_range, so it is for every port."),
        (rule(type="Ingress"), "the rule Ingress has no protocol, so it is for all protocols. Give protocol, and"),
        (
            rule(type="Ingress", dst_port_range="22"),
            "the rule Ingress with dst_port_range 22 has no protocol, so it is for all protocols. Give protocol: TCP",
        ),
        (
            describe("image", {**TOOLS, "media_type": "RootVolumeTemplate"}),
            "the url ends with .iso, but media_type is RootVolumeTemplate, so no VM boots from the image. Give",
        ),
        (
            describe("image", {**IMAGE, "url": f"{IN_URL}?version=1", "format": None}),
            "the url ends with .iso, but media_type is RootVolumeTemplate by default",
        ),
        (
            describe("image", {**IMAGE, "url": "upload://a.iso", "format": None}),
            "the url ends with .iso, but media_type",
        ),
        (
            describe("image", {**IMAGE, "url": "https://images.example.com/1", "format": "iso"}),
            "format is iso, but media_type is RootVolumeTemplate by default",
        ),
        (describe("image", {**IMAGE, "format": "raw"}), "format is raw, but the url ends with .qcow2. Check format."),
        (describe("image", {**IMAGE, "media_type": "ISO"}), "media_type is ISO, but the url ends with .qcow2. Check"),
    ],
)
def test_what_was_probably_not_meant_is_said_once(run: ModuleRunner, options: dict[str, Any], warning: str) -> None:
    for check in (True, False):
        (said,) = run("resource", options, check).warnings
        assert warning in said
    again = run("resource", options)
    assert (again.changed, again.warnings) == (False, [])


def test_protocol_of_a_listener_is_one_in_any_case(run: ModuleRunner) -> None:
    for options in (VIP, BALANCER):
        run("resource", options)
    given = {"load_balancer_port": 443, "protocol": "HTTPS"}
    options = describe("load_balancer_listener", given, parent="web")
    ran = run("resource", options)
    assert ran.sent("CreateLoadBalancerListener")["protocol"] == "https"
    assert "protocol is https, which needs a certificate, and the listener has none." in "".join(ran.warnings)
    run.idle("resource", {**options, "properties": {**given, "protocol": "https"}})


def test_old_password_alone_changes_nothing(run: ModuleRunner) -> None:
    account = KIND_TASKS["account"].creates
    run("resource", account)
    changed = {"old_password": account["properties"]["password"], "password": "another"}
    (warning,) = run.idle("resource", {**account, "properties": changed}).warnings
    assert "properties.old_password: the account is not changed by it." in warning
    assert "with the operation UpdateAccount." in warning
    ran = run("resource", {**account, "properties": {**changed, "description": "operators"}})
    assert (ran.calls, ran.warnings) == (["UpdateAccount"], [])


def test_trigger_of_a_known_type_is_changed_without_it(run: ModuleRunner) -> None:
    created = KIND_TASKS["scheduler_trigger"].creates
    run("resource", created)
    ran = run("resource", {**created, "properties": {"scheduler_type": "cron", "description": "at night"}})
    assert ran.calls == ["UpdateSchedulerTrigger"]
