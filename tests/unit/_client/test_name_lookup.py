"""References by name: every option takes the name of the object, with one request for each name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, ModuleRunner
from support.return_docs import load_returns

NOWHERE = "ffffffffffff4fff8fffffffffffffff"
LITERAL = {"literal": True, "sync": True}


CASES: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    (
        "kvm_host",
        {"name": "n", "management_ip": "10.9.9.9", "username": "root", "password": "secret-1"},
        {"cluster": ("cluster", 1)},
    ),
    ("cbt_task", {"name": "n"}, {"vm": ("vm", 5)}),
    ("cbt_task", {"name": "n", "task_type": "full"}, {"vms": [("vm", 5)]}),
    ("cbt_task_info", {}, {"vm": ("vm", 1)}),
    ("cbt_volume_export", {}, {"vm": ("vm", 4), "volumes": [("volume", 7), ("volume", 8)]}),
    ("host_network_info", {}, {"hosts": [("host", 2), ("host", 1)]}),
    ("host_nic_candidate_info", {}, {"hosts": [("host", 1), ("host", 2)]}),
    (
        "host_nic_service",
        {"service_types": ["BackupNetwork"]},
        {"host": ("host", 2), "interfaces": [("hostnic", 6), ("hostnic", 7)]},
    ),
    ("sns_endpoint", {"type": "snmp", "name": "n"}, {"platform": ("platform", 1)}),
    ("sns_snmp_test", {}, {"platform": ("platform", 1)}),
    ("sns_snmp_test", {}, {"endpoint": ("endpoint", 1)}),
    ("sns_teamchat_person", {"user_id": "user-1", "remark": "changed"}, {"endpoint": ("endpoint", 2)}),
    ("sns_topic_subscriber_info", {}, {"topic": ("topic", 1), "endpoint": ("endpoint", 1)}),
    ("vm_snapshot_group", {"name": "n"}, {"vm": ("vm", 1)}),
    ("vm_nic_info", {}, {"vm": ("vm", 1), "l3_network": ("l3network", 1)}),
    ("vm_nic_qos", {"direction": "in"}, {"vm": ("vm", 1), "l3_network": ("l3network", 1)}),
    ("vm_snapshot_group_info", {}, {"vm": ("vm", 1)}),
    (
        "vm_from_snapshot_group",
        {"name": "n"},
        {
            "snapshot_group": ("snapshotgroup", 1),
            "l3_networks": [("l3network", 1), ("l3network", 2)],
            "default_l3_network": ("l3network", 2),
            "zone": ("zone", 1),
            "cluster": ("cluster", 1),
            "host": ("host", 1),
            "primary_storage": ("primarystorage", 1),
        },
    ),
    ("sns_endpoint", {"name": "snmp-endpoint-1", "type": "snmp"}, {"topics": [("topic", 1), ("topic", 2)]}),
    (
        "vm",
        {"name": "n"},
        {
            "image": ("image", 1),
            "ssh_key_pairs": [("sshkeypair", 1)],
            "instance_offering": ("instanceoffering", 1),
            "primary_storage": ("primarystorage", 1),
        },
    ),
    ("vm", {"name": "n"}, {"clone_from": ("vm", 1)}),
    ("volume", {"name": "n", "size": 2**30}, {"primary_storage": ("primarystorage", 1)}),
    ("volume", {"uuid": seeded_uuid("volume", 2)}, {"vm": ("vm", 1)}),
    ("volume", {"name": "n"}, {"disk_offering": ("diskoffering", 1)}),
    ("vm", {"name": "vm-2", "state": "running"}, {"host": ("host", 2), "cluster": ("cluster", 1)}),
    ("vm_nic", {}, {"vm": ("vm", 5), "l3_network": ("l3network", 2)}),
]
"""Modules with options that are the same in each run, and the objects that the other options refer to."""


def references(sim: Simulator, objects: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the options that refer to seeded objects by their ``key``: name or uuid."""

    def of(kind: str, number: int) -> str:
        (record,) = [record for record in sim.records(kind) if record["uuid"] == seeded_uuid(kind, number)]
        return str(record[key] if key == "uuid" or kind != "hostnic" else record["interfaceName"])

    return {
        option: [of(*item) for item in value] if isinstance(value, list) else of(*value)
        for option, value in objects.items()
    }


def list_texts(options: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the elements of options."""
    values = [options[name] for name in names]
    return [text for value in values for text in (value if isinstance(value, list) else [value])]


def list_writes(ran: ModuleRun) -> list[tuple[Any, ...]]:
    """Return the calls of a run that change something."""
    return [(entry["path"], entry["body"]) for entry in ran.log if entry["method"] != "GET"]


@pytest.mark.parametrize(
    ("name", "options", "objects"), CASES, ids=[f"{case[0]}-{'-'.join(case[2])}" for case in CASES]
)
def test_name_does_what_the_uuid_does(
    sim: Simulator, run: ModuleRunner, name: str, options: Mapping[str, Any], objects: Mapping[str, Any]
) -> None:
    """A name has the effect of its uuid, in check mode too, and costs one more request; so do all interfaces.

    So does the name of an object to which a reference referred before, in the diff. The host of interfaces that are
    given by their uuids is read, too.
    """
    seed = {"sync": True, "cbt_tasks": 1}
    sim.reset(**seed)
    named = {**options, **references(sim, objects, "name")}
    by_uuid = {**options, **references(sim, objects, "uuid")}
    names = dict(zip(list_texts(by_uuid, objects), list_texts(named, objects), strict=True))
    items = {item for value in objects.values() for item in (value if isinstance(value, list) else [value])}
    count = len({item for item in items if item[0] != "hostnic"})
    for check in (True, False):
        sim.reset(**seed)
        plain = run(name, by_uuid, check=check)
        sim.reset(**seed)
        ran = run(name, named, check=check)
        assert not ran.failed, ran.message
        assert list_writes(ran) == list_writes(plain)
        assert drop_dates(drop_names(ran.result)) == drop_dates(plain.result)
        assert list(find_wrong_names(name, ran.result, objects, names)) == []
        before = ran.result.get("diff", {}).get("before", {})
        shown = [before[field] for field in before if find_uuid_field(field) in before]
        former = {name for value in shown for name in (value if isinstance(value, list) else [value])}
        former -= {*names.values()}
        assert len(ran.log) == len(plain.log) + count + len(former)


def drop_names(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result whose records lack the names beside uuids."""

    def drop(record: Any) -> Any:
        if isinstance(record, list):
            return [*map(drop, record)]
        if not isinstance(record, dict):
            return record
        return {field: drop(value) for field, value in record.items() if find_uuid_field(field) not in record}

    return {member: drop(value) for member, value in result.items()}


def find_uuid_field(field: str) -> str:
    """Return the field of uuids for a field of names, for example ``cluster_uuid`` for ``cluster_name``."""
    return re.sub(r"_name(?=s?$)", "_uuid", field) if re.search("_names?$", field) else ""


def find_wrong_names(
    name: str, result: Mapping[str, Any], options: Iterable[str], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield where a result lacks the documented names, or has others. ``names`` are those that the options give."""
    for member, value in result.items():
        contains = load_returns(name).get(member, {}).get("contains", {})
        mentioned = {
            field
            for field in contains
            if find_uuid_field(field) in contains
            and any(f"O({option})" in contains[field].get("returned", "") for option in options)
        }
        for record in value if isinstance(value, list) else [value]:
            if not contains or record is None:
                continue
            shown = {field: record[field] for field in record if find_uuid_field(field) in record}
            expected = {
                field: [*map(names.get, uuids)] if isinstance(uuids, list) else names.get(uuids)
                for field in mentioned
                if (uuids := record.get(find_uuid_field(field), ...)) is not ...
            }
            if shown != expected:
                yield f"{member} has the names {shown}, not {expected}"


def drop_dates(value: Any) -> Any:
    """Return a result without dates."""
    if isinstance(value, dict):
        return {name: drop_dates(item) for name, item in value.items() if not name.endswith("_date")}
    return [drop_dates(item) for item in value] if isinstance(value, list) else value


def test_repeated_name_is_looked_up_once(sim: Simulator, run: ModuleRunner) -> None:
    options = {"name": "n", "snapshot_group": seeded_uuid("snapshotgroup", 1)}
    name = sim.records("l3network")[0]["name"]
    ran = run("vm_from_snapshot_group", {**options, "l3_networks": [name, f" {name} "], "default_l3_network": name})
    assert not ran.failed, ran.message
    assert [entry["operation"] for entry in ran.log].count("QueryL3Network") == 1
    assert ran.sent("CreateVmInstanceFromVolumeSnapshotGroup")["l3NetworkUuids"] == [seeded_uuid("l3network", 1)] * 2


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (
            "cbt_task",
            {"name": "n", "vm": "nobody"},
            "vm: no VM has the name 'nobody'. Check the name.",
        ),
        (
            "vm",
            {"name": "n", "clone_from": "image-1"},
            (
                "clone_from: no VM has the name 'image-1'. Check the name. image-1 is the name of an image, which the"
                " option image takes."
            ),
        ),
        (
            "vm",
            {"name": "n", "image": "vm-1"},
            (
                "image: no image has the name 'vm-1'. Check the name. vm-1 is the name of a VM, which the option"
                " clone_from takes."
            ),
        ),
        (
            "kvm_host",
            {"name": "host-1", "cluster": "host-1"},
            "cluster: no cluster has the name 'host-1'. Check the name. host-1 is the name of a host.",
        ),
        ("vm_nic", {"vm": "10.0.0.12", "l3_network": "l3-1"}, "vm: no VM has the name '10.0.0.12'. Check the name."),
        (
            "vm",
            {"name": "vm-1", "host": "10.0.0.12"},
            (
                "host: no host has the name '10.0.0.12'. Check the name. 10.0.0.12 is the management_ip of the host"
                " host-2."
            ),
        ),
        (
            "api",
            {"operation": "StartVmInstance", "params": {"uuid": "host-1"}},
            "uuid: no VM has the name 'host-1'. Check the name. host-1 is the name of a host.",
        ),
        (
            "vm_nic",
            {"vm": "vm-1", "l3_network": "ab-12"},
            "l3_network: no L3 network has the name 'ab-12'. Check the name. The names are l3-1, l3-2, l3-3.",
        ),
        (
            "vm_nic",
            {"vm": "vm-1", "l3_network": "l2-1"},
            "l3_network: no L3 network has the name 'l2-1'. Check the name. l2-1 is the name of an L2 network.",
        ),
        (
            "host_nic_service",
            {"host": "host-1,host-2", "interfaces": ["eth0"], "service_types": []},
            (
                "host: no host has the name 'host-1,host-2'. Check the name. The option takes one host:"
                " virtinfra.manager.batch runs the module for many objects."
            ),
        ),
        (
            "vm_nic",
            {"vm": "vm-*", "l3_network": "l3-1"},
            (
                "vm: no VM has the name 'vm-*'. Check the name. Names are no patterns: virtinfra.manager.batch runs the"
                " module for many objects."
            ),
        ),
        *(
            (
                "host_network_info",
                {"hosts": [name]},
                (
                    f"hosts: no host has the name '{name}'. Check the name. Names are no patterns. Give the names or"
                    " the uuids themselves, such as those of virtinfra.manager.host_info."
                ),
            )
            for name in ("all", "*")
        ),
        (
            "host_network_info",
            {"hosts": ["host-1,host-2"]},
            "hosts: no host has the name 'host-1,host-2'. Check the name. Each item of the list is one name.",
        ),
        (
            "sns_endpoint",
            {"type": "snmp", "name": "snmp-endpoint-1", "topics": ["*"]},
            (
                "topics: no topic has the name '*'. Check the name. Names are no patterns. Give the names or the uuids"
                " themselves, such as those of virtinfra.manager.resource_info with resource_type topic."
            ),
        ),
        (
            "cbt_volume_export",
            {"vm": "vm-2", "volumes": ["vda"]},
            (
                "volumes: no volume has the name 'vda'. Check the name. The names of the volumes of the VM are"
                " data-of-vm-2, root-of-vm-2."
            ),
        ),
        (
            "host_nic_service",
            {"host": "host-1", "interfaces": ["bond0"], "service_types": []},
            (
                "interfaces: no network interface has the name 'bond0'. The names are eth0, eth1, eth2, eth3. Check the"
                " name. bond0 is a bond, and its interfaces are eth2, eth3. virtinfra.manager.api sets the service"
                " types of a bond, with the operation SetServiceTypeOnHostNetworkBonding."
            ),
        ),
        (
            "host_network_info",
            {"hosts": ["host-1", "host-9"]},
            "hosts: no host has the name 'host-9'. Check the name. The names are host-1, host-2, host-3.",
        ),
    ],
)
def test_unknown_name_fails(
    run: ModuleRunner, module: str, options: Mapping[str, Any], message: str, check: bool
) -> None:
    ran = run(module, options, check=check)
    if check:
        message = message.replace("Check the name.", "If an earlier task creates it, add when: not ansible_check_mode.")
    assert ran.message == message
    assert (ran["error"]["code"], ran.changed, ran.calls) == ("NOT_FOUND", False, [])


OF_HOST = {"vm": seeded_uuid("host", 1)}
IS_HOST = f"{seeded_uuid('host', 1)} is the uuid of a host, host-1."


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("vm", {"uuid": seeded_uuid("host", 1)}, IS_HOST),
        ("vm", {"uuid": "f" * 32}, ""),
        ("vm", {"name": "vm-1", "host": seeded_uuid("vm", 2)}, f"{seeded_uuid('vm', 2)} is the uuid of a VM, vm-2."),
        ("vm_nic", {**OF_HOST, "l3_network": "l3-1"}, IS_HOST),
        ("vm_snapshot_group", {**OF_HOST, "name": "a"}, IS_HOST),
        ("cbt_volume_export", {**OF_HOST, "volumes": [seeded_uuid("volume", 1)]}, IS_HOST),
        (
            "cbt_volume_export",
            {"vm": seeded_uuid("vm", 4), "volumes": [seeded_uuid("vm", 4)]},
            f"{seeded_uuid('vm', 4)} is the uuid of a VM, vm-4.",
        ),
        ("vm", {"name": seeded_uuid("vm", 1)}, "looks like a uuid. Give uuid in place of name."),
        ("kvm_host", {"name": "10.0.0.12"}, "10.0.0.12 is the management_ip of the host host-2."),
        ("kvm_host", {"name": "10.0.0.99"}, ""),
        ("kvm_host", {"name": "host-99"}, ""),
        ("kvm_host", {"name": "host-9"}, ""),
        ("kvm_host", {"name": "hots-2"}, "Did you mean host-2?"),
        ("vm", {"name": "vm2"}, "Did you mean vm-2?"),
        ("volume", {"name": "data-of-vm4", "vm": "vm-4"}, "Did you mean data-of-vm-4?"),
        ("sns_snmp_platform", {"name": "smnp-1"}, "Did you mean snmp-1?"),
        ("resource", {"kind": "image", "name": "imgae-1"}, "Did you mean image-1?"),
    ],
)
def test_key_of_another_object_is_explained(
    run: ModuleRunner, module: str, options: Mapping[str, Any], message: str, check: bool
) -> None:
    ran = run(module, options, check=check)
    assert (ran["error"]["code"], ran.changed, ran.calls) == ("NOT_FOUND", False, [])
    assert ran.message.endswith(message)
    assert message or "is the" not in ran.message


def test_unknown_name_that_is_similar_to_one(sim: Simulator, run: ModuleRunner) -> None:
    """The similar name is named among many. The names of the service are data, and a text that is a key is no name."""
    nic = {"l3_network": "l3-2"}
    sim.change("vm", seeded_uuid("vm", 1), name="database-\x1b[31m")
    assert run("vm_nic", {"vm": "databas-\x1b[31m", **nic}).message.endswith("Did you mean database-\\x1b[31m?")
    sim.change("vm", seeded_uuid("vm", 2), name="gone-now", state="Destroyed")
    assert run("vm_nic", {"vm": "gone-nov", **nic}).message.endswith("vm-3, vm-4, vm-5, vm-6.")
    new = {"name": "n", "image": "image-1", "cpu_num": 1, "memory_size": "1G"}
    message = run("vm", {**new, "ssh_key_pairs": ["ssh-ed25519 AAAA me"]}).message
    assert "Give the name of a key pair: virtinfra.manager.resource adds the key, with kind ssh_key_pair." in message


@pytest.mark.parametrize("check", [False, True])
def test_ambiguous_name_fails_with_the_uuids(sim: Simulator, run: ModuleRunner, check: bool) -> None:
    clusters = sorted(record["uuid"] for record in sim.records("cluster"))
    sim.change("cluster", clusters[1], name="cluster-1")
    new = {"name": "n", "management_ip": "10.9.9.9", "username": "root", "password": "secret-1"}
    ran = run("kvm_host", {**new, "cluster": "cluster-1"}, check=check)
    assert ran.message == (
        f"cluster: 2 objects have the name 'cluster-1'. Select one by uuid. Their uuids: {', '.join(clusters)}"
    )
    assert (ran["error"]["code"], ran["uuids"], ran.changed, ran.calls) == ("AMBIGUOUS", clusters, False, [])
    assert run("kvm_host", {**new, "cluster": clusters[1]}).changed


def test_vm_that_is_deleted_has_no_name(sim: Simulator, run: ModuleRunner) -> None:
    """Services keep the record of a destroyed VM for some time, and another VM may have its name."""
    sim.change("vm", seeded_uuid("vm", 5), name="vm-1", state="Destroyed")
    assert run("vm_nic", {"vm": "vm-1", "l3_network": "l3-2"}, check=True).changed
    assert "no VM has the name 'vm-5'" in run("vm_nic", {"vm": "vm-5", "l3_network": "l3-2"}).message
    assert f"Only a deleted VM has the name ({seeded_uuid('vm', 3)})." in _deleted_vm(sim, run, 3)


def _deleted_vm(sim: Simulator, run: ModuleRunner, number: int) -> str:
    sim.change("vm", seeded_uuid("vm", number), state="Expunging")
    return run("vm_nic", {"vm": f"vm-{number}", "l3_network": "l3-2"}).message


@pytest.mark.parametrize("companions", ["present", "404"])
def test_volume_that_is_deleted_has_no_name(sim: Simulator, run: ModuleRunner, companions: str) -> None:
    """Services keep the record of a deleted volume for three days, and another volume may have its name."""
    sim.reset(deleted_volumes=4, companions=companions)
    export = {"vm": seeded_uuid("vm", 4), "volumes": ["data-of-vm-4"]}
    ran = run("cbt_volume_export", export)
    assert ran.sent("ExportNbdVolumes")["volumeUuids"] == [seeded_uuid("volume", 8)]
    deleted = seeded_uuid("volume", 6 * 2 + 1)
    sim.change("volume", deleted, name="dropped")
    message = run("cbt_volume_export", {**export, "volumes": ["dropped"]}).message
    assert f"no volume has the name 'dropped'. Only a deleted volume has the name ({deleted})." in message


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Bob's VM", ["bob's vm", "Bob-s VM"]),
        ("=x", ["x", "-x"]),
        ("it's 100%_", ["it-s 100%_", "it's 100 _"]),
        ("copy", ["Copy", "c\u00f3py"]),
    ],
)
def test_name_that_services_misread_is_found(sim: Simulator, run: ModuleRunner, name: str, others: list[str]) -> None:
    for number, each in enumerate([name, *others], 1):
        sim.change("vm", seeded_uuid("vm", number), name=each)
    ran = run("cbt_task", {"name": f"backup of {name}", "vm": name})
    assert not ran.failed, ran.message
    assert ran["cbt_task"]["resource_uuids"] == [seeded_uuid("vm", 1)]
    assert [vm["uuid"] for vm in run("vm_info", {"name": name})["vms"]] == [seeded_uuid("vm", 1)]
    if name != "copy":
        assert [vm["uuid"] for vm in run("vm_info", {"query": [f"name= {name}"]})["vms"]] == [seeded_uuid("vm", 1)]


@pytest.mark.parametrize("name", ["Bob's endpoint", "=x", "=it's", "web", "a>=b", "  spaces "])
def test_object_whose_name_services_misread_is_created_once(sim: Simulator, run: ModuleRunner, name: str) -> None:
    run("sns_endpoint", {"type": "snmp", "name": name.upper() + "=", "platform": "snmp-1"})
    run("sns_endpoint", {"type": "snmp", "name": name.lstrip("="), "platform": "snmp-1"})
    run.twice("sns_endpoint", {"type": "snmp", "name": f"new {name}", "platform": "snmp-1"})
    run("sns_endpoint", {"type": "snmp", "name": name, "platform": "snmp-1"})
    run.idle("sns_endpoint", {"type": "snmp", "name": name, "platform": "snmp-1"})
    assert [record["name"] for record in sim.records("endpoint")].count(name.strip()) == 1


def test_name_with_an_operator_of_conditions_is_found(sim: Simulator, run: ModuleRunner) -> None:
    for name in ("a!=b", "50%", "a=b, c", "null"):
        sim.change("cluster", seeded_uuid("cluster", 2), name=name)
        new = {"name": "n", "management_ip": "10.9.9.9", "username": "root", "password": "secret-1", "cluster": name}
        ran = run("kvm_host", new, check=True)
        assert ran["host"]["cluster_uuid"] == seeded_uuid("cluster", 2)


def test_name_that_looks_like_a_uuid_is_a_uuid(sim: Simulator, run: ModuleRunner) -> None:
    sim.change("vm", seeded_uuid("vm", 5), name=NOWHERE)
    ran = run("vm_nic", {"vm": NOWHERE, "l3_network": seeded_uuid("l3network", 1)})
    assert (
        ran.message
        == f"nic of vm {NOWHERE}, l3_network {seeded_uuid('l3network', 1)}: no VM with uuid '{NOWHERE}'. Check vm."
    )


@pytest.mark.parametrize("status", ["404", "405"])
def test_interface_of_a_host_is_found_without_companions(run: ModuleRunner, sim: Simulator, status: str) -> None:
    sim.configure(companions=status)
    options = {"interfaces": ["eth1"], "service_types": ["BackupNetwork"]}
    ran = run("host_nic_service", {**options, "host": seeded_uuid("host", 3)}, api_token=None)
    assert ran.sent("SetServiceTypeOnHostNetworkInterface")["interfaceUuids"] == [seeded_uuid("hostnic", 10)]
    message = run("host_nic_service", options, api_token=None).message
    assert "interfaces: cannot look up the name 'eth1'" in message


def test_interface_that_several_hosts_have_needs_the_host(run: ModuleRunner) -> None:
    options = {"interfaces": ["eth1"], "service_types": ["BackupNetwork"]}
    assert "interfaces: 3 objects have the name 'eth1'" in run("host_nic_service", options).message
    chosen = run("host_nic_service", {**options, "host": "host-3"})
    assert [row["interface_uuid"] for row in chosen["services"]] == [seeded_uuid("hostnic", 10)]
    unknown = run("host_nic_service", {**options, "interfaces": ["eth9"], "host": "host-3"})
    existing = "The names are eth0, eth1, eth2, eth3."
    assert f"interfaces: no network interface has the name 'eth9'. {existing} Check the name" in unknown.message
    of_no_host = {**options, "host": None}
    predicted = run("host_nic_service", of_no_host, check=True, predicted=("host",))
    assert (predicted.changed, predicted.log) == (True, [])
    assert run.refused("host_nic_service", of_no_host) == "host must not be null or empty: it selects the object"


# ------------------------------------------------------------------------------------- services that cannot be asked


def test_names_are_looked_up_by_cursor_with_a_token_only(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(**LITERAL)
    ran = run("vm_nic", {"vm": "vm-5", "l3_network": "l3-2"})
    assert (ran.changed, ran.calls) == (True, ["AttachL3NetworkToVm"])
    assert "no platform has the name 'none'" in run("sns_snmp_test", {"platform": "none"}, session_id=None).message


@pytest.mark.parametrize("check", [False, True])
def test_failure_of_a_name_lookup_suggests_the_uuid(sim: Simulator, run: ModuleRunner, check: bool) -> None:
    sim.reset(**LITERAL)
    options = {"name": "n", "task_type": "full", "vms": ["vm-5"]}
    ran = run("cbt_task", options, check=check, api_token=None)
    assert ran.message == (
        "vms: cannot look up the name 'vm-5': the service does not offer QueryVmInstance"
        " (HTTP status 404 for GET /service/v1/vm-instances); CursorQuery needs api_token (or VIRTINFRA_API_TOKEN"
        " in the environment). Give the uuid."
    )
    assert (ran["error"]["code"], ran.calls) == ("UNSUPPORTED", [])
    assert run("cbt_task", {**options, "vms": [seeded_uuid("vm", 5)]}, check=check, api_token=None).changed


def test_kind_without_a_query_is_looked_up_by_cursor_only(run: ModuleRunner) -> None:
    options = {"name": "n", "snapshot_group": seeded_uuid("snapshotgroup", 1), "tag_patterns": ["small"]}
    ran = run("vm_from_snapshot_group", options, api_token=None)
    assert ran.message == (
        "tag_patterns: cannot look up the name 'small': no query is known for the resource type tagpattern;"
        " CursorQuery needs api_token (or VIRTINFRA_API_TOKEN in the environment). Give the uuid, which"
        " virtinfra.manager.resource_info returns for resource_type tag."
    )


def test_name_of_objects_with_different_owners_asks_for_the_owner(run: ModuleRunner) -> None:
    ran = run("host_nic_service", {"interfaces": ["eth1"], "service_types": []})
    expected = r"interfaces: 3 objects have the name 'eth1'\. Give host\. Their uuids: \w+, \w+, \w+"
    assert re.fullmatch(expected, ran.message)
    assert ran["error"]["code"] == "AMBIGUOUS"


def test_object_that_differs_is_shown_by_name(sim: Simulator, run: ModuleRunner) -> None:
    ran = run("kvm_host", {"name": "host-1", "cluster": "cluster-2"})
    clusters = [seeded_uuid("cluster", number) for number in (1, 2)]
    difference = "cluster (is 'cluster-1' ({}), should be 'cluster-2' ({}))".format(*clusters)
    assert difference in ran.message
    sim.fault("status", "QueryCluster", status=500, count=None)
    ran = run("kvm_host", {"name": "host-1", "cluster": clusters[1]}, request_retries=0)
    assert "cluster (is '{}', should be '{}')".format(*clusters) in ran.message
