"""The module ``resource``: each kind is created, changed and removed by rows, not by code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_properties import name_property
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_references import list_references
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kind_rows import Attachment
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.kinds import (
    get_row,
    list_kinds,
    list_operations,
    list_states,
)

from simulator.launch import Simulator
from simulator.registry import OPERATIONS
from support.collection import load_spec
from support.kind_calls import check_calls
from support.kind_tasks import KIND_TASKS, NIC, identify
from support.module_runner import ModuleRun, ModuleRunner, drop_other_remedy, run_module


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    sim.configure(latency=0)
    return ModuleRunner(sim)


def prepare(run: ModuleRunner, kind: str, *creating: str) -> None:
    """Run the tasks that those of a kind need, and the creating one if ``creating`` names it."""
    tasks = KIND_TASKS[kind]
    for options in (*tasks.before, *([tasks.creates] if creating else [])):
        ran = run("resource", options)
        assert not ran.failed, ran.message


def drop_unpredictable(ran: ModuleRun, other: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an object that check mode predicts, if it is that of check mode or of a run.

    It does not predict uuids, dates, and what the service adds to rules.
    """
    unpredictable = {"uuid", "rules", "network_services", "last_op_date", "create_date"}
    names = [name for name in ran["resource"] if name not in unpredictable]
    return {name: ran["resource"][name] for name in names if other.get(name) is not None and ran["resource"][name]}


def test_each_kind_has_tasks() -> None:
    assert sorted(KIND_TASKS) == list_kinds()


@pytest.mark.parametrize("kind", sorted(KIND_TASKS))
def test_object_is_created_changed_and_removed(run: ModuleRunner, kind: str) -> None:
    prepare(run, kind)
    tasks, log = KIND_TASKS[kind], []
    for options in filter(None, (tasks.creates, tasks.changes and {**identify(tasks), **tasks.changes})):
        checked = run("resource", options, check=True)
        ran = run.twice("resource", options)
        log += ran.log
        assert checked["diff"]["before"] == ran["diff"]["before"]
        assert drop_unpredictable(checked, ran["resource"]) == drop_unpredictable(ran, checked["resource"])
    if "absent" in list_states(get_row(kind)):
        removed = run.twice("resource", {**identify(tasks), "state": "absent", "force": True})
        assert removed["resource"] is None
        log += removed.log
    check_calls(kind, log)


# ------------------------------------------------------------------------------------------------- refused before sent


def refusal(run: ModuleRunner, **options: Any) -> str:
    """Return the message with which a task is refused before anything is sent."""
    ran = run("resource", options)
    assert (ran["error"]["code"], ran.log) == ("INVALID", [])
    return ran.message


OFFERING = {"kind": "disk_offering", "name": "data-100"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"disksize": 1}, "properties: kind disk_offering has no property disksize. Did you mean disk_size?"),
        (
            {"colour": 1},
            "properties: kind disk_offering has no property colour. The properties are allocation_strategy, ",
        ),
        ({"disk_size": "ten"}, "properties.disk_size must be a size, such as 16G, not 'ten'"),
        ({"disk_size": [1]}, "properties.disk_size must be a size, such as 16G, not [1]"),
        ({"name": "x"}, "properties: kind disk_offering has no property name. Give it as the option name."),
        (
            {"disksize": 1, "colour": 1, "shape": 1, "name": "x"},
            ", type. Kind disk_offering has no property name. Give it as the option name.",
        ),
        (
            {"colour": 1, "shape": 1},
            "kind disk_offering has no property colour or shape. The properties are allocation_strategy, description",
        ),
    ],
)
def test_wrong_property_is_refused(run: ModuleRunner, properties: dict[str, Any], message: str) -> None:
    assert message in refusal(run, **OFFERING, properties=properties)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "disk_offering"}, "kind disk_offering needs name or uuid"),
        ({**OFFERING, "parent": "zone-1"}, "parent cannot be used with kind disk_offering"),
        ({**OFFERING, "vm": "vm-1"}, "vm cannot be used with kind disk_offering"),
        (
            {"kind": "eip", "name": "web", "parent": "pub", "vm": "vm-1"},
            "vm cannot be used with kind eip. Give the NIC as properties.vm_nic, or attach it with kind eip_attachment",
        ),
        (
            {"kind": "port_forwarding", "name": "web", "parent": "pub", "nic": "a"},
            "nic cannot be used with kind port_forwarding. Give the NIC as properties.vm_nic, or attach it with kind",
        ),
        ({"kind": "quota", "name": "vm.num", "tags": ["a"]}, "tags cannot be used with kind quota"),
        ({"kind": "quota", "name": "vm.num", "state": "absent"}, "state must be one of present for kind quota"),
        ({"kind": "ssh_key_pair", "name": "a", "state": "enabled"}, "state must be one of present, absent for kind"),
        ({"kind": "volume_attachment", "vm": "vm-1"}, "kind volume_attachment needs volume"),
        (
            {"kind": "volume_attachment", "vm": "vm-1", "volume": "data-1", "name": "x"},
            "name cannot be used with kind volume_attachment",
        ),
        ({"kind": "vm_ha", "vm": "vm-1"}, "kind vm_ha needs properties.level, or state absent"),
        ({"kind": "vm_ha", "properties": {"level": "NeverStop"}}, "kind vm_ha needs vm"),
        (
            {"kind": "vm_boot_order", "vm": "vm-1", "properties": {"boot_order": []}},
            "kind vm_boot_order needs properties.boot_order, or state absent",
        ),
        (
            {"kind": "vm_boot_order", "vm": "vm-1", "properties": {"boot_order": ["Floppy"]}},
            "properties.boot_order of kind vm_boot_order must be one of CdRom, HardDisk, Network, not 'Floppy'",
        ),
        (
            {"kind": "affinity_group", "name": "web", "properties": {"policy": "antihard2"}},
            "properties.policy of kind affinity_group must be one of antiSoft, antiHard, not 'antihard2'",
        ),
        (
            {"kind": "security_group", "name": "web", "properties": {"rules": [{"typ": "Ingress"}]}},
            "properties.rules[0]: there is no member typ. Did you mean type?",
        ),
        (
            {"kind": "security_group", "name": "web", "properties": {"rules": [{"type": "In"}]}},
            "properties.rules[0].type must be one of Ingress, Egress, not 'In'",
        ),
        (
            {"kind": "l3_network", "name": "a", "properties": {"network_services": [{"network_service_type": "DNS"}]}},
            "properties.network_services[0] needs network_service_provider",
        ),
        (
            {"kind": "scheduler_job", "name": "a", "properties": {"target_resource": "vm-1"}},
            "properties.target_resource must be a uuid",
        ),
    ],
)
def test_option_that_does_not_fit_to_the_kind_is_refused(
    run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    assert message in refusal(run, **options)


PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("module", "options", "label"),
    [
        ("resource", {"kind": "ssh_key_pair", "properties": {"public_key": PRIVATE}}, "properties.public_key"),
        (
            "resource",
            {"kind": "load_balancer_listener", "properties": {"certificate": PRIVATE}},
            "properties.certificate",
        ),
        ("vm", {"ssh_key_pairs": [PRIVATE]}, "ssh_key_pairs"),
    ],
)
def test_private_key_is_neither_sent_nor_shown(
    run: ModuleRunner, module: str, options: dict[str, Any], label: str
) -> None:
    for check in (True, False):
        ran = run(module, {"name": "a", **options}, check)
        assert label in ran.message
        assert "must not be a private key" in ran.message
        assert "SECRET" not in str(ran.result)
        assert ran.log == []


@pytest.mark.parametrize("kind", [kind for kind, tasks in KIND_TASKS.items() if tasks.refused])
def test_property_that_cannot_be_changed_is_named_with_both_values(run: ModuleRunner, kind: str) -> None:
    prepare(run, kind, "and create")
    tasks = KIND_TASKS[kind]
    options = {**identify(tasks), "properties": tasks.refused}
    for check in (True, False):
        ran = run("resource", options, check)
        assert (ran["error"]["code"], ran.calls) == ("UNCHANGEABLE", [])
        assert ran.message.partition("the API cannot change ")[2].startswith(f"{next(iter(tasks.refused))} (is ")


def test_missing_property_is_asked_for(run: ModuleRunner) -> None:
    ran = run("resource", {"kind": "l3_network", "name": "web"})
    assert "give parent to create it" in ran.message
    ran = run("resource", {"kind": "ip_range", "name": "low", "parent": "l3-1", "properties": {"start_ip": "10.9.0.1"}})
    assert "give properties.end_ip and properties.netmask to add it" in ran.message


def test_secret_is_masked_and_not_compared(run: ModuleRunner) -> None:
    account = {"kind": "account", "name": "ops", "properties": {"password": "Tr0ub4dor&3/account"}}
    created = run.twice("resource", account)
    assert "Tr0ub4dor" not in str(created.result)
    assert run.idle("resource", {**account, "properties": {"password": "an0ther/secret"}})


# ------------------------------------------------------------------------------------------------------------- names


def test_name_counts_within_its_parent(run: ModuleRunner) -> None:
    low = {"kind": "ip_range", "name": "low", "properties": {"network_cidr": "10.9.0.0/24"}}
    uuids = {run.twice("resource", {**low, "parent": parent})["resource"]["uuid"] for parent in ("l3-1", "l3-2")}
    assert len(uuids) == 2
    ran = run("resource", {"kind": "ip_range", "name": "low"})
    assert ran["error"]["code"] == "AMBIGUOUS"
    assert ". Give parent, or select one by uuid. Their uuids: " in ran.message
    assert set(ran["uuids"]) == uuids


def test_objects_of_different_kinds_are_different_in_a_batch() -> None:
    zone, cluster = ({"kind": kind, "name": "west"} for kind in ("zone", "cluster"))
    assert load_spec("resource").identify(zone) != load_spec("resource").identify(cluster)


def test_object_is_renamed_by_its_uuid(run: ModuleRunner, sim: Simulator) -> None:
    (offering,) = sim.records("diskoffering")
    renamed = run.twice("resource", {"kind": "disk_offering", "uuid": offering["uuid"], "name": "standard"})
    assert (renamed["resource"]["uuid"], renamed["resource"]["name"]) == (offering["uuid"], "standard")
    assert renamed.calls == ["UpdateDiskOffering"]


def test_what_refers_to_an_object_that_is_missing_fails_by_its_name(run: ModuleRunner) -> None:
    ran = run("resource", {"kind": "l3_network", "name": "web", "parent": "no-such"})
    assert ran.message.startswith("parent: no L2 network has the name 'no-such'")
    ran = run("resource", {"kind": "volume_attachment", "volume": "data-of-vm-1", "vm": "gone", "state": "absent"})
    assert not ran.changed
    assert ran.warnings == ["vm: no VM has the name 'gone', so nothing of it is removed."]


MISSING = "a000000700004000800000000000abcd"


def test_nic_is_named_by_its_internal_name(run: ModuleRunner) -> None:
    prepare(run, "eip_attachment")
    attach = {**KIND_TASKS["eip_attachment"].creates, "nic": "vnic000002.0"}
    assert run.twice("resource", attach)["resource"]["vm_nic_uuid"] == NIC
    prepare(run, "eip")
    ran = run("resource", {**KIND_TASKS["eip"].creates, "name": "other", "properties": {"vm_nic": "vm-1"}})
    assert "properties.vm_nic: no NIC has the name 'vm-1'. " in ran.message
    assert "vm-1 is the name of a VM. virtinfra.manager.vm_nic_info lists its NICs, with their uuids and" in ran.message


def list_references_to_missing_objects(kind: str) -> Iterator[dict[str, Any]]:
    """Yield the options of tasks that create an object, each with a uuid that no object has."""
    row, creates = get_row(kind), KIND_TASKS[kind].creates
    excluded = {fit.name: name_property(fit.other) for fit in getattr(row, "fits", ()) if not fit.values}
    for parameter, (option, resource_type) in list_references(row).items():
        if resource_type is None or resource_type.query not in OPERATIONS:
            continue
        name = option.removeprefix("properties.")
        value = [MISSING] if parameter.endswith("s") else MISSING
        if name == option:
            yield {**creates, option: value}
        else:
            others = {
                each: given for each, given in creates.get("properties", {}).items() if each != excluded.get(parameter)
            }
            yield {**creates, "properties": {**others, name: value}}
    if kind == "security_group":
        yield {**creates, "properties": {"rules": [{"type": "Ingress", "remote_security_group": MISSING}]}}


@pytest.mark.parametrize("kind", sorted(KIND_TASKS))
def test_uuid_that_no_object_has_is_refused_in_check_mode_too(run: ModuleRunner, sim: Simulator, kind: str) -> None:
    """If its type is known, and the service lists the objects of the type."""
    prepare(run, kind)
    for options in list_references_to_missing_objects(kind):
        checked, ran = run("resource", options, check=True), run("resource", options)
        assert checked.failed, options
        assert checked.calls == []
        assert f"with uuid {MISSING!r}" in ran.message or kind == "quota", ran.message
        assert drop_other_remedy(checked) == drop_other_remedy(ran)
        assert not ran["changed"]
        if isinstance(get_row(kind), Attachment):
            assert run.idle("resource", {**options, "state": "absent"})


def test_tags_are_those_of_the_task(run: ModuleRunner) -> None:
    tagged = run.twice("resource", {**OFFERING, "properties": {"disk_size": 1 << 30}, "tags": ["env::prod", "b"]})
    assert tagged["resource"]["tags"] == ["b", "env::prod"]
    assert run.twice("resource", {**OFFERING, "tags": ["b"]})["resource"]["tags"] == ["b"]


def test_check_mode_predicts_what_belongs_to_a_predicted_object(run: ModuleRunner) -> None:
    """The uuid of an object that an earlier task would have created is null in check mode."""
    network = {"kind": "l3_network", "name": "web", "parent": None}
    assert run("resource", network, check=True, predicted=["zone"]).changed
    image = {"kind": "iso_attachment", "vm": "vm-1", "iso": None}
    assert run("resource", image, check=True, predicted=["zone"]).changed


# ------------------------------------------------------------------------------------------------- parts


def test_services_of_a_network_are_grouped_by_their_providers(run: ModuleRunner) -> None:
    prepare(run, "l3_network", "and create")
    network = identify(KIND_TASKS["l3_network"])
    flat, router = ({"network_service_provider": name} for name in ("Flat Network Service Provider", "vrouter"))
    services = [
        {**router, "network_service_type": "DHCP"},
        {**flat, "network_service_type": "Userdata"},
        {**flat, "network_service_type": "Eip"},
    ]
    ran = run.twice("resource", {**network, "properties": {"network_services": services}})
    # A network has each service from one provider, so it loses the other one first.
    assert ran.calls == ["DetachNetworkServiceFromL3Network", "AttachNetworkServiceToL3Network"]
    assert sorted(ran.sent("AttachNetworkServiceToL3Network")["networkServices"].values()) == [
        ["DHCP"],
        ["Userdata", "Eip"],
    ]
    shown = ran["resource"]["network_services"]
    assert sorted(each["network_service_type"] for each in shown) == ["DHCP", "Eip", "Userdata"]
    assert run.twice("resource", {**network, "properties": {"network_services": []}})["resource"]
    wrong = {"network_services": [{"network_service_provider": "none", "network_service_type": "DHCP"}]}
    message = run.refused("resource", {**network, "properties": wrong})
    assert message.startswith("properties.network_services.network_service_provider: no network service provider has")


# ------------------------------------------------------------------------------------------------- settings


def test_boot_order_is_compared_in_its_order(run: ModuleRunner) -> None:
    order = {"kind": "vm_boot_order", "vm": "vm-1", "properties": {"boot_order": ["CdRom", "HardDisk"]}}
    other = {**order, "properties": {"boot_order": ["HardDisk", "CdRom"]}}
    assert run.twice("resource", order)["diff"]["before"] == {}
    assert run.twice("resource", other)["diff"]["before"]["boot_order"] == ["CdRom", "HardDisk"]
    message = run.refused("resource", {**order, "state": "absent"})
    assert "boot_order (is ['HardDisk', 'CdRom'], should be ['CdRom', 'HardDisk'])" in message
    removed = run.twice("resource", {**other, "state": "absent"})
    assert (removed.calls, removed.sent("SetVmBootOrder")) == (["SetVmBootOrder"], {})


def test_default_of_a_setting_is_present_and_absent(run: ModuleRunner) -> None:
    default = {"kind": "vm_boot_order", "vm": "vm-1", "properties": {"boot_order": ["HardDisk"]}}
    assert run.idle("resource", default)["resource"]["boot_order"] == ["HardDisk"]
    assert run.idle("resource", {**default, "state": "absent"})["resource"] is None


def test_ha_level_starts_a_vm_again(run: ModuleRunner, sim: Simulator) -> None:
    level = {"kind": "vm_ha", "vm": "vm-1", "properties": {"level": "NeverStop"}}
    vm = run.twice("resource", level)["resource"]["vm_instance_uuid"]
    assert run("api", {"operation": "StopVmInstance", "params": {"uuid": vm, "stopHA": False}}).changed
    assert next(each for each in sim.settle()["vm"] if each["uuid"] == vm)["state"] == "Running"
    refused = run.refused("resource", {**level, "properties": {"level": "OnHostFailure"}, "state": "absent"})
    assert "the options differ from the existing HA level: level (is 'NeverStop', should be 'OnHostFailure')" in refused


def test_setting_of_a_server_that_lacks_it_is_named(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["GetVmInstanceHaLevel", *list_operations(get_row("vm_ha"))])
    for options in (KIND_TASKS["vm_ha"].creates, {"kind": "vm_ha", "vm": "vm-1", "state": "absent"}):
        assert "does not offer GetVmInstanceHaLevel" in run.refused("resource", options)


def test_check_mode_sets_what_belongs_to_a_predicted_vm(run: ModuleRunner) -> None:
    assert run("resource", {**KIND_TASKS["vm_ha"].creates, "vm": None}, check=True, predicted=["vm"]).changed


# ------------------------------------------------------------------------------------------------- deleted objects

LIVES = ["image", "volume"]


def find_all(sim: Simulator, kind: str, name: str) -> list[dict[str, Any]]:
    return [record for record in sim.records(kind) if record["name"] == name]


@pytest.mark.parametrize("kind", LIVES)
def test_deleted_object_is_recovered_on_request(run: ModuleRunner, sim: Simulator, kind: str) -> None:
    prepare(run, kind, "and create")
    selected = identify(KIND_TASKS[kind])
    run.twice("resource", {**selected, "state": "absent"})
    (deleted,) = find_all(sim, kind, selected["name"])
    assert deleted["status"] == "Deleted"
    by_uuid = {"kind": kind, "uuid": deleted["uuid"]}
    assert run.refused("resource", by_uuid).startswith(f"{kind} {deleted['uuid']}: the {kind} {deleted['uuid']} is del")
    assert run.idle("resource", {**by_uuid, "state": "absent"})["resource"] is None
    recovered = run.twice("resource", {**selected, "recover": True, "properties": {"description": "again"}})
    assert (recovered["resource"]["status"], recovered["resource"]["description"]) == ("Ready", "again")
    assert recovered["resource"]["uuid"] == deleted["uuid"]


@pytest.mark.parametrize("kind", LIVES)
def test_object_is_removed_for_good_on_request(run: ModuleRunner, sim: Simulator, kind: str) -> None:
    for steps in ([], [{"state": "absent"}]):
        prepare(run, kind, "and create")
        selected = identify(KIND_TASKS[kind])
        for step in steps:
            run.twice("resource", {**selected, **step})
        removed = run.twice("resource", {**selected, "state": "absent", "expunge": True})
        # The service may be asked first, with a uuid that no object has, whether it has the second call.
        assert removed.calls[-1].startswith("Expunge")
        assert any("Delete" in name for name in removed.calls) == (not steps)
        assert find_all(sim, kind, selected["name"]) == []


@pytest.mark.parametrize("kind", LIVES)
def test_deleted_object_does_not_prevent_a_new_one_of_its_name(run: ModuleRunner, sim: Simulator, kind: str) -> None:
    prepare(run, kind, "and create")
    creates, selected = KIND_TASKS[kind].creates, identify(KIND_TASKS[kind])
    run.twice("resource", {**selected, "state": "absent"})
    run.twice("resource", creates)
    assert len(find_all(sim, kind, selected["name"])) == 2
    # The second run would expunge the other VM.
    ran = run("resource", {**selected, "state": "absent", "expunge": True})
    assert (ran["error"]["code"], ran.calls) == ("AMBIGUOUS", [])
    assert run.idle("resource", {**selected, "recover": True})["resource"]["status"] == "Ready"


@pytest.mark.parametrize("kind", LIVES)
def test_policy_of_the_service_may_remove_at_once(run: ModuleRunner, sim: Simulator, kind: str) -> None:
    sim.configure(deletion_policy="Direct")
    prepare(run, kind, "and create")
    selected = identify(KIND_TASKS[kind])
    run.twice("resource", {**selected, "state": "absent", "expunge": True})
    assert find_all(sim, kind, selected["name"]) == []


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_mode_of_a_deletion_is_sent(run: ModuleRunner, mode: str) -> None:
    prepare(run, "image", "and create")
    removed = run.twice("resource", {**identify(KIND_TASKS["image"]), "state": "absent", "delete_mode": mode})
    assert removed.log[-1]["operation"] == "QueryImage"
    (query,) = removed.queries("DeleteImage")
    assert query["deleteMode"] == [mode.capitalize()]


def test_image_with_other_properties_is_not_removed_for_good(run: ModuleRunner) -> None:
    prepare(run, "image", "and create")
    selected = identify(KIND_TASKS["image"])
    run.twice("resource", {**selected, "state": "absent"})
    other = {**selected, "state": "absent", "expunge": True, "properties": {"format": "raw"}}
    assert "the options differ from the existing image: format (is 'qcow2'" in run.refused("resource", other)


def test_image_in_use_is_not_removed_for_good(run: ModuleRunner) -> None:
    run.twice("resource", {"kind": "image", "name": "image-1", "state": "absent", "force": True})
    expected = in_use(run, kind="image", name="image-1", expunge=True)
    assert len(expected["affected"]) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**OFFERING, "recover": True}, "recover cannot be used with kind disk_offering"),
        ({**OFFERING, "state": "absent", "expunge": True}, "expunge cannot be used with kind disk_offering"),
        ({"kind": "vm_ha", "vm": "vm-1", "state": "absent", "expunge": True}, "expunge cannot be used with kind vm_ha"),
        ({"kind": "image", "name": "a", "expunge": True}, "can only be used with state absent. Remove expunge"),
        ({"kind": "image", "name": "a", "state": "absent", "recover": True}, "recover cannot be used with state abs"),
    ],
)
def test_life_that_does_not_fit_is_refused(run: ModuleRunner, options: dict[str, Any], message: str) -> None:
    assert message in refusal(run, **options)


def test_deleted_image_is_expunged_after_its_period(run: ModuleRunner, sim: Simulator) -> None:
    run.twice("resource", {"kind": "image", "name": "iso-2", "state": "absent"})
    sim.advance(seconds=4 * 24 * 3600)
    assert find_all(sim, "image", "iso-2") == []
    assert "no image" in run.refused("resource", {"kind": "image", "name": "iso-2", "recover": True})


# ------------------------------------------------------------------------------------------------- what destroys


def in_use(run: ModuleRunner, **options: Any) -> ModuleRun:
    """Check that a removal is refused in check mode and outside it; return it with force, in check mode."""
    for check in (True, False):
        ran = run("resource", {**options, "state": "absent"}, check)
        assert (ran["error"]["code"], ran.calls) == ("IN_USE", [])
        assert ran["in_use_by"]
    return run("resource", {**options, "state": "absent", "force": True}, check=True)


def test_image_in_use_is_not_removed(run: ModuleRunner) -> None:
    assert len(in_use(run, kind="image", name="image-1")["affected"]) == 6


def test_attached_volume_is_not_removed(run: ModuleRunner) -> None:
    assert in_use(run, kind="volume", name="data-of-vm-1")["affected"][0]["name"] == "vm-1"
    assert run.twice("resource", {"kind": "volume", "name": "data-of-vm-1", "state": "absent", "force": True})


def test_account_with_objects_is_not_removed(run: ModuleRunner, sim: Simulator) -> None:
    account = run("resource", KIND_TASKS["account"].creates)["resource"]["uuid"]
    vm = sim.records("vm")[0]["uuid"]
    run("api", {"operation": "ChangeResourceOwner", "params": {"accountUuid": account, "resourceUuid": vm}})
    assert in_use(run, kind="account", name="ops")["affected"][0]["uuid"] == vm


def test_network_is_removed_with_what_belongs_to_it(run: ModuleRunner) -> None:
    expected = in_use(run, kind="l3_network", name="l3-1")["also_removed"]
    removed = run("resource", {"kind": "l3_network", "name": "l3-1", "state": "absent", "force": True})
    assert removed["also_removed"] == expected
    assert {each["type"] for each in expected} == {"ip_range", "vm_nic"}


def test_nics_of_vms_that_an_earlier_task_would_remove_use_nothing(sim: Simulator) -> None:
    """In check mode; the NICs are removed with their VMs."""
    vms = [vm["uuid"] for vm in sim.records("vm")]
    options = {"base_url": sim.url, "session_id": sim.session, "kind": "ip_range", "name": "range-1", "state": "absent"}
    for removed in (vms, vms[1:]):
        ran = run_module("resource", options, True, list_predicted=lambda each=removed: dict.fromkeys(each))
        assert ran.result["changed"] == (removed == vms), ran.result.get("msg")
    assert [each["name"] for each in ran.result["in_use_by"]] == ["10.101.0.11"]


def test_users_that_cannot_be_listed_need_force(run: ModuleRunner, sim: Simulator) -> None:
    sim.configure(missing_operations=["QueryVip"])
    ran = run("resource", {"kind": "l3_network", "name": "l3-3", "state": "absent"})
    assert (ran["error"]["code"], ran.calls) == ("UNSUPPORTED", [])
    assert "what uses the object cannot be read" in ran.message


def test_storage_of_running_vms_is_not_detached_from_their_cluster(run: ModuleRunner) -> None:
    storage = {"kind": "storage_attachment", "primary_storage": "ps-1", "cluster": "cluster-1"}
    assert in_use(run, **storage)["affected"]


def test_volume_of_another_vm_must_be_detached_first(run: ModuleRunner) -> None:
    for check in (True, False):
        ran = run("resource", {"kind": "volume_attachment", "volume": "data-of-vm-1", "vm": "vm-2"}, check)
        assert ran["error"]["code"] == "IN_USE"
        assert "the volume is attached to the vm 'vm-1' (a0000004000040008000000000000001). Detach it" in ran.message


def test_volume_of_another_vm_is_not_detached_silently(run: ModuleRunner) -> None:
    detach = {"kind": "volume_attachment", "volume": "data-of-vm-1", "vm": "vm-2", "state": "absent"}
    for check in (True, False):
        ran = run("resource", detach, check)
        assert not ran.changed, ran.message
        (warning,) = ran.warnings
        assert "the volume remains attached to another vm, 'vm-1' (a0000004000040008000000000000001)." in warning
    ran = run("resource", {**detach, "vm": "vm-1"})
    assert (ran.changed, ran.warnings) == (True, [])
    ran = run("resource", {**detach, "vm": "vm-1"})
    assert (ran.changed, ran.warnings) == (False, [])


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "volume", "name": "root-of-vm-1", "properties": {"disk_size": "500G"}},
        {"kind": "volume", "name": "root-of-vm-1", "state": "absent", "force": True},
        {"kind": "volume_attachment", "volume": "root-of-vm-1", "vm": "vm-2"},
        {"kind": "volume_attachment", "volume": "root-of-vm-1", "vm": "vm-1", "state": "absent"},
    ],
)
def test_root_volume_is_neither_grown_nor_detached_nor_deleted_as_data_volume(
    sim: Simulator, run: ModuleRunner, options: dict[str, Any]
) -> None:
    before = sim.records("volume")
    for check in (True, False):
        assert "is the root volume of the VM 'vm-1'" in run("resource", options, check).message
    assert sim.records("volume") == before


def refuse_attachment(run: ModuleRunner, **options: Any) -> str:
    """Check that check mode predicts the refusal of an attachment with which the run fails; return the message."""
    checked, ran = run("resource", options, check=True), run("resource", options)
    assert (checked.changed, ran.changed) == (False, False), options
    assert checked.message == ran.message
    return ran.message.rpartition("): ")[2]


@pytest.mark.parametrize("state", ["Crashed", "Unknown", "Paused"])
def test_state_of_a_vm_decides_whether_it_takes_a_volume_or_an_iso(
    run: ModuleRunner, sim: Simulator, state: str
) -> None:
    prepare(run, "volume", "and create")
    vm = next(vm["uuid"] for vm in sim.records("vm") if vm["name"] == "vm-2")
    sim.change("vm", vm, state=state)
    for kind, options in (("volume", {"volume": "data-1"}), ("iso", {"iso": "iso-2"})):
        task = {"kind": f"{kind}_attachment", "vm": "vm-2", **options}
        if state == "Paused":
            assert run.twice("resource", task)
        else:
            assert f"the VM vm-2 is {state}, and Attach" in refuse_attachment(run, **task)
    if state == "Paused":
        assert run.twice("volume", {"name": "data-1", "state": "detached"})


def test_image_that_is_no_iso_or_not_usable_is_not_attached(run: ModuleRunner, sim: Simulator) -> None:
    attach = {"kind": "iso_attachment", "vm": "vm-2"}
    message = "the image image-1 is RootVolumeTemplate, and AttachIsoToVmInstance needs one that is ISO."
    assert refuse_attachment(run, **attach, iso="image-1") == message
    run.twice("resource", {"kind": "image", "name": "iso-2", "state": "disabled"})
    message = "the image iso-2 is Disabled, and AttachIsoToVmInstance needs one that is Enabled."
    assert refuse_attachment(run, **attach, iso="iso-2") == message


def test_disabled_volume_is_not_attached(run: ModuleRunner) -> None:
    prepare(run, "volume", "and create")
    run.twice("resource", {"kind": "volume", "name": "data-1", "state": "disabled"})
    message = "the volume data-1 is Disabled, and AttachDataVolumeToVm needs one that is Enabled."
    assert refuse_attachment(run, kind="volume_attachment", volume="data-1", vm="vm-1") == message
    for check in (True, False):
        assert run("volume", {"name": "data-1", "vm": "vm-1"}, check).message == f"volume data-1: {message}"


def test_iso_in_a_drive_is_not_removed(run: ModuleRunner) -> None:
    run.twice("resource", {"kind": "iso_attachment", "vm": "vm-2", "iso": "iso-2"})
    assert [vm["name"] for vm in in_use(run, kind="image", name="iso-2")["affected"]] == ["vm-2"]


# ------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("nic", ["eth0", "192.0.2.9", "52:54:00:12:34:56"])
def test_where_the_names_of_nics_are_is_said(run: ModuleRunner, nic: str) -> None:
    prepare(run, "load_balancer_member")
    for check in (True, False):
        ran = run("resource", {"kind": "load_balancer_member", "listener": "http", "nic": nic}, check)
        assert f"no NIC has the name '{nic}'" in ran.message
        assert "vm_nic_info lists the NICs of a VM, with their uuids and internal names" in ran.message


def test_image_that_cannot_be_downloaded_is_not_there(run: ModuleRunner, sim: Simulator) -> None:
    sim.fault("fail", "AddImage", error={"code": "SYS.1006", "details": "404 for the url"})
    ran = run("resource", KIND_TASKS["image"].creates)
    assert "404 for the url" in ran.message
    assert not ran["changed"]


def test_names_of_quotas_are_said(run: ModuleRunner) -> None:
    """Nobody can create a quota, so no earlier task would have done so."""
    prepare(run, "quota")
    for check in (True, False):
        ran = run("resource", {**KIND_TASKS["quota"].creates, "name": "cores"}, check)
        assert "no quota with name 'cores'. The API cannot create one, so check the name. The names are " in ran.message
        assert "vm.num" in ran.message


@pytest.mark.parametrize(
    "kind", [name for name, tasks in KIND_TASKS.items() if "name" in tasks.creates and name != "quota"]
)
def test_similar_name_is_said(run: ModuleRunner, kind: str) -> None:
    """A kind that needs nothing but a name is created."""
    prepare(run, kind, "creating")
    name = KIND_TASKS[kind].creates["name"]
    ran = run("resource", {"kind": kind, "name": f"{name}x"}, check=True)
    assert ran.message.endswith(f"Did you mean {name}?") if ran.failed else ran.changed
    assert ran.failed or kind in ("affinity_group", "security_group", "zone")


def test_quota_that_is_reached_is_said(run: ModuleRunner, sim: Simulator) -> None:
    admin = sim.records("account")[0]["uuid"]
    run("api", {"operation": "UpdateQuota", "params": {"identityUuid": admin, "name": "image.num", "value": 1}})
    ran = run("resource", KIND_TASKS["image"].creates)
    assert "quota exceeding" in ran.message
    assert not ran["changed"]


@pytest.mark.parametrize("operation", ["QueryL2Network", "QueryVmInstance"])
def test_object_that_cannot_be_read_is_not_taken_for_a_missing_one(
    run: ModuleRunner, sim: Simulator, operation: str
) -> None:
    """Neither a named object, nor what uses it."""
    prepare(run, "l2_network_attachment", "and create")
    sim.fault("garbage", operation, garbage="huge")
    ran = run("resource", {**KIND_TASKS["l2_network_attachment"].creates, "state": "absent", "force": True})
    assert ran.changed or (ran.failed and "has a record without uuid" in ran.message)


def test_setting_that_cannot_be_read_is_not_taken_for_the_default(run: ModuleRunner, sim: Simulator) -> None:
    for kind, read in (("vm_ha", "GetVmInstanceHaLevel"), ("vm_boot_order", "GetVmBootOrder")):
        prepare(run, kind, "and create")
        sim.fault("garbage", read, garbage="huge")
        assert (
            f"the response to {read} has no" in run("resource", {"kind": kind, "vm": "vm-1", "state": "absent"}).message
        )


@pytest.mark.parametrize("garbage", ["login", "missing"])
@pytest.mark.parametrize("kind", ["image", "disk_offering", "vm_boot_order"])
def test_reply_of_a_proxy_is_no_success(run: ModuleRunner, sim: Simulator, kind: str, garbage: str) -> None:
    """It has not passed the request on."""
    prepare(run, kind, "and create")
    tasks = KIND_TASKS[kind]
    changes = {**identify(tasks), **tasks.changes}
    sim.fault(
        "garbage", list_operations(get_row(kind))[1 if kind != "vm_boot_order" else 0], garbage=garbage, taken=False
    )
    ran = run("resource", changes)
    if ran.failed:
        assert ran["error"]["code"] == "OUTCOME_UNKNOWN", ran.message
        ran = run("resource", changes)
    assert ran.changed, ran.result
    run.idle("resource", changes)


FAULTS = ("drop_before", "drop_after", "truncate", "expire", "duplicate", "html")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["disk_offering", "ip_range", "security_group", "volume_attachment"])
def test_lost_answers_make_nothing_twice(run: ModuleRunner, sim: Simulator, kind: str, fault: str) -> None:
    """Each call of a creation, a change and a removal is answered wrongly once."""
    prepare(run, kind)
    tasks = KIND_TASKS[kind]
    changes = [{**identify(tasks), **tasks.changes}] if tasks.changes else []
    for options in (tasks.creates, *changes, {**identify(tasks), "state": "absent", "force": True}):
        for operation in list_operations(get_row(kind)):
            sim.fault(fault, operation)
        ran = run("resource", options)
        sim.clear_faults()
        if ran.failed:
            # Nothing shows whether a call is still on its way that would create an object, so it is not sent again.
            assert (ran["error"]["code"], fault in ("drop_before", "html")) == ("OUTCOME_UNKNOWN", True)
            ran = run("resource", options)
        assert ran.changed
        run.idle("resource", options)
        named = [each for each in sim.records(TABLES.get(kind, "volume")) if each.get("name") == options.get("name")]
        assert len(named) == (options.get("state") != "absent") or kind not in TABLES


TABLES = {"disk_offering": "diskoffering", "ip_range": "iprange", "security_group": "securitygroup"}


def test_check_mode_knows_the_names_of_what_earlier_tasks_would_create(sim: Simulator) -> None:
    noted: list[str] = []
    connection = {"base_url": sim.url, "session_id": sim.session}

    def run(module: str, /, **options: Any) -> dict[str, Any]:
        given = {**connection, **options}
        return run_module(
            module, given, True, note_prediction=noted.extend, list_predicted=lambda: dict.fromkeys(noted, True)
        ).result

    image = {"url": "https://images.example.com/web.qcow2", "backup_storages": ["bs-1"]}
    tasks: list[dict[str, Any]] = [
        {"kind": "zone", "name": "west"},
        {"kind": "l2_network", "name": "web", "parent": "west", "properties": {"physical_interface": "eth1"}},
        {"kind": "l3_network", "name": "front", "parent": "web"},
        {"kind": "ip_range", "name": "low", "parent": "front", "properties": {"network_cidr": "10.9.0.0/24"}},
        {"kind": "image", "name": "debian", "properties": image},
        {"kind": "iso_attachment", "vm": "vm-1", "iso": "debian"},
        {"kind": "volume", "name": "new", "properties": {"disk_size": "1G"}},
        {"kind": "volume_attachment", "volume": "new", "vm": "vm-1"},
        {"kind": "affinity_group", "name": "spread"},
        {"kind": "affinity_group_member", "affinity_group": "spread", "vm": "vm-1"},
    ]
    for options in tasks:
        result = run("resource", **options)
        assert result.get("changed"), result.get("msg")
    assert run("vm_nic", vm="vm-1", l3_network="front")["changed"]
    assert "no L3 network has the name 'back'" in run("vm_nic", vm="vm-1", l3_network="back")["msg"]
    assert [entry for entry in sim.log() if entry["method"] != "GET"] == []


def test_removal_of_an_attachment_may_show_the_object_that_its_path_ends_with(
    run: ModuleRunner, sim: Simulator
) -> None:
    """A service that answers in place: the reply is no sign that it has read the object instead."""
    tasks = KIND_TASKS["storage_attachment"]
    assert run("resource", tasks.creates).changed
    sim.configure(sync=True)
    removed = run.twice("resource", {**tasks.creates, "state": "absent", "force": True})
    assert removed.calls == ["DetachPrimaryStorageFromCluster"]


@pytest.mark.parametrize(("kind", "status"), [("image", "Downloading"), ("volume", "Creating")])
def test_task_waits_for_an_object_that_settles(run: ModuleRunner, sim: Simulator, kind: str, status: str) -> None:
    sim.configure(latency=0.1)
    creates, selected = KIND_TASKS[kind].creates, identify(KIND_TASKS[kind])
    assert run("resource", {**creates, "wait": False}).changed
    sim.configure(latency=0)
    assert [record["status"] for record in find_all(sim, kind, selected["name"])] == [status]
    change = {"disk_size": "20G"} if kind == "volume" else {"description": "x"}
    ran = run("resource", {**selected, "properties": change, "state": "disabled"})
    assert not ran.failed, ran.message
    assert (ran["resource"]["status"], ran["resource"]["state"]) == ("Ready", "Disabled")


# ------------------------------------------------------------------------------------------------ sizes of volumes

DATA: dict[str, Any] = {"kind": "volume", "name": "data-1"}


def test_volume_never_shrinks(run: ModuleRunner) -> None:
    prepare(run, "volume", "and create")
    smaller = {**DATA, "properties": {"disk_size": "5G"}}
    assert run.refused("resource", smaller) == (
        "volume data-1: disk_size is 10737418240, should be 5368709120, and a volume cannot shrink. Omit disk_size, or"
        " give 10737418240."
    )
    assert run.idle("resource", {**smaller, "properties": {"disk_size": "10G"}})


def test_volume_has_its_size_or_that_of_an_offering(run: ModuleRunner) -> None:
    ran = run.refused("resource", DATA)
    assert "no volume with name 'data-1'. Check the name, or give properties.disk_size or properties.disk_off" in ran
    both = {"disk_size": "200G", "disk_offering": "disk-offering-1"}
    message = "properties.disk_offering cannot be used with disk_size. Remove one of them"
    assert refusal(run, **DATA, properties=both) == message
    made = run.twice("resource", {**DATA, "properties": {"disk_offering": "disk-offering-1"}})
    assert made["resource"]["size"] == 100 << 30
    grown = run.twice("resource", {**DATA, "properties": {"disk_size": "200G"}})
    assert grown.calls == ["ResizeDataVolume"]
    # A volume of an offering that has grown since is still one of the offering.
    run.idle("resource", {**DATA, "properties": {"disk_offering": "disk-offering-1"}})


def test_volume_of_an_offering_that_an_earlier_task_would_create(run: ModuleRunner) -> None:
    ran = run("resource", {**DATA, "properties": {"disk_offering": None}}, check=True, predicted=["disk_offering"])
    assert ran.changed
