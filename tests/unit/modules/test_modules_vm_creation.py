"""The module vm creates VMs: of an image, from an ISO, as clones and of templates."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from simulator.kinds import ADMIN
from simulator.launch import Simulator
from simulator.operations import vm_creation
from simulator.operations.nics import new_nic
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, ModuleRunner
from support.predictions import is_possible

IMAGE, ISO, VM, STOPPED_VM = (
    seeded_uuid("image", 1),
    seeded_uuid("image", 2),
    seeded_uuid("vm", 1),
    seeded_uuid("vm", 2),
)
NETWORK, OTHER_NETWORK = seeded_uuid("l3network", 1), seeded_uuid("l3network", 2)
GIB = 2**30
USER_DATA = "#cloud-config\npassword: Tr0ub4dor-and-3"
WEB: dict[str, Any] = {
    "name": "web",
    "state": "running",
    "image": "image-1",
    "cpu": 2,
    "memory": "4G",
    "networks": [{"l3_network": "l3-1"}, {"l3_network": OTHER_NETWORK, "static_ip": "10.102.0.20"}],
    "disks": [{"size": "50G"}],
    "user_data": USER_DATA,
    "ssh_keys": ["key-1"],
    "tags": ["production"],
}
EMPTY: dict[str, Any] = {
    "name": "empty",
    "state": "stopped",
    "iso": "iso-2",
    "disk_size": "20G",
    "cpu": 1,
    "memory": "1G",
}


@pytest.fixture
def run(sim: Simulator) -> ModuleRunner:
    return ModuleRunner(sim)


def vms_named(sim: Simulator, name: str) -> list[dict[str, Any]]:
    return [vm for vm in sim.records("vm") if vm["name"] == name]


def play(run: ModuleRunner, options: dict[str, Any]) -> ModuleRun:
    """Run a task in check mode, twice, and in check mode again; return the first run."""
    checked, ran = run("vm", options, check=True), run("vm", options)
    again, last = run("vm", options), run("vm", options, check=True)
    assert [each.message for each in (checked, ran, again, last)] == [""] * 4
    assert [each.changed for each in (checked, ran, again, last)] == [True, True, False, False]
    assert (checked.calls, again.calls, last.calls) == ([], [], [])
    assert is_possible(checked["vm"], ran["vm"])
    return ran


def test_vm_of_an_image_with_networks_disks_and_user_data(sim: Simulator, run: ModuleRunner) -> None:
    ran = play(run, WEB)
    assert ran.calls == ["CreateVmInstance"]
    sent = ran.sent("CreateVmInstance")
    assert (sent["l3NetworkUuids"], sent["defaultL3NetworkUuid"]) == ([NETWORK, OTHER_NETWORK], NETWORK)
    (vm,) = vms_named(sim, "web")
    assert (vm["state"], vm["imageUuid"], vm["cpuNum"], vm["memorySize"]) == ("Running", IMAGE, 2, 4 * GIB)
    assert [nic["l3NetworkUuid"] for nic in vm["vmNics"]] == [NETWORK, OTHER_NETWORK]
    assert vm["vmNics"][1]["ip"] == "10.102.0.20"
    assert [volume["size"] for volume in vm["allVolumes"]][1:] == [50 * GIB]
    assert ran["vm"]["tags"] == ["production"]


@pytest.mark.parametrize("source", ["text", "file"])
def test_user_data_is_sent_and_never_shown(sim: Simulator, run: ModuleRunner, tmp_path: Path, source: str) -> None:
    file = tmp_path / "web.yml"
    file.write_text(USER_DATA)
    given = {"user_data": USER_DATA} if source == "text" else {"user_data_file": str(file)}
    options = {**{name: value for name, value in WEB.items() if name != "user_data"}, **given}
    ran = run("vm", options)
    (body,) = [entry["body"] for entry in ran.log if entry["operation"] == "CreateVmInstance"]
    encoded = base64.b64encode(USER_DATA.encode()).decode()
    assert body["systemTags"] == [f"userdata::{encoded}"]
    sim.fault("fail", operation="CreateVmInstance", error={"code": "SYS.1006", "details": f"{encoded} {USER_DATA}"})
    failed = run("vm", {**options, "name": "other"})
    assert failed.failed
    assert not any(text in str((ran.result, failed.result)) for text in (encoded, "Tr0ub4dor-and-3"))


def test_file_of_user_data_that_is_missing_fails_before_anything_is_sent(run: ModuleRunner) -> None:
    options = {name: value for name, value in WEB.items() if name != "user_data"}
    for check in (True, False):
        ran = run("vm", {**options, "user_data_file": "/nowhere/web.yml"}, check=check)
        assert "cannot read user_data_file" in ran.message
        assert ran.calls == []


def test_iso_needs_a_size(sim: Simulator, run: ModuleRunner) -> None:
    iso = {"name": "installed", "state": "stopped", "iso": "iso-2", "cpu": 1, "memory": "1G"}
    assert "needs root_disk_size" in run("vm", iso, check=True).message
    play(run, {**iso, "disk_size": "20G"})
    assert vms_named(sim, "installed")[0]["vmCdRoms"][0]["isoUuid"] == ISO


@pytest.mark.parametrize("state", ["present", "running", "stopped", "paused", "restarted"])
def test_new_vm_reaches_each_state(sim: Simulator, run: ModuleRunner, state: str) -> None:
    options = {**EMPTY, "state": state}
    checked, ran = run("vm", options, check=True), run("vm", options)
    assert (checked.changed, ran.message) == (True, "")
    expected = {"stopped": "Stopped", "paused": "Paused"}.get(state, "Running")
    assert vms_named(sim, "empty")[0]["state"] == ran["vm"]["state"] == checked["vm"]["state"] == expected
    assert run("vm", options).changed == (state == "restarted")


def test_clone_of_a_vm_gets_its_own_size(sim: Simulator, run: ModuleRunner) -> None:
    ran = play(run, {"name": "copy", "state": "running", "clone_from": "vm-1", "cpu": 8, "memory": "16G"})
    assert ran.result.keys() == run("vm", {"name": "copy"}).result.keys()
    assert ran.calls[-3:] == ["CloneVmInstance", "UpdateVmInstance", "StartVmInstance"]
    (vm,) = vms_named(sim, "copy")
    assert (vm["state"], vm["cpuNum"], vm["memorySize"]) == ("Running", 8, 16 * GIB)


def test_vm_of_a_template_has_its_own_networks(sim: Simulator, run: ModuleRunner) -> None:
    sim.reset(templates=1)
    networks = [{"l3_network": "l3-2"}]
    ran = play(
        run, {"name": "copy", "state": "stopped", "clone_from": "vm-6", "cpu": 8, "memory": "1G", "networks": networks}
    )
    assert ran.calls == ["CreateVmInstanceFromTemplatedVmInstance"]
    (vm,) = vms_named(sim, "copy")
    assert ([nic["l3NetworkUuid"] for nic in vm["vmNics"]], vm["cpuNum"]) == ([OTHER_NETWORK], 8)
    refused = run("vm", {"name": "other", "clone_from": "vm-1", "networks": networks})
    assert "networks cannot be used with clone_from, unless it is a template. virtinfra.manager.vm_nic adds" in (
        refused.message
    )


def test_clone_that_failed_although_its_job_succeeded_fails_the_task(sim: Simulator, run: ModuleRunner) -> None:
    for host in sim.records("host"):
        sim.change("host", host["uuid"], state="Disabled")
    ran = run("vm", {"name": "copy", "state": "running", "clone_from": "vm-2"})
    assert "the VM was not created: SYS.1090" in ran.message


def test_a_service_that_creates_a_vm_without_its_nic(
    sim: Simulator, run: ModuleRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says that the VM is new, and how it gets the NIC."""

    def put_elsewhere(*details: Any) -> dict[str, Any]:
        return {**new_nic(*details), "l3NetworkUuid": OTHER_NETWORK}

    monkeypatch.setattr(vm_creation, "new_nic", put_elsewhere)
    ran = run("vm", {**WEB, "networks": [{"l3_network": "l3-1"}]})
    assert ran.failed
    assert ran.changed
    assert ran.message == (
        "vm web: networks: the VM has no NIC on l3-1. Attach or change it with the module vm_nic. The task has just"
        " created the object, and leaves it as it is."
    )
    assert len(vms_named(sim, "web")) == 1
    again = run("vm", {**WEB, "networks": [{"l3_network": "l3-1"}]})
    assert (again.calls, again.changed) == ([], False)
    assert "just created" not in again.message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"image": "iso-2"}, "the API cannot change image"),
        ({"networks": [{"l3_network": "l3-3"}]}, "networks: the VM has no NIC on l3-3. Attach or change it"),
        ({"networks": [{"l3_network": "l3-1", "static_ip": "10.101.0.99"}]}, "no NIC on l3-1 with 10.101.0.99"),
        ({"disks": [{"size": "60G"}]}, "disks: number 1"),
        ({"disks": [{"size": "1G"}, {"size": "1G"}]}, "disks: the VM has 1 data volumes, and 2 are requested"),
        ({"cpu": 4}, "cpu_num can only be changed while the VM is stopped, because the setting numa"),
        ({"cpu": 1}, "cpu_num can only shrink while the VM is stopped. Add state: stopped"),
        ({"cpu": 1, "memory": "8G"}, "cpu_num can only shrink while the VM is stopped. Add state: stopped"),
    ],
)
def test_what_cannot_be_changed_later_is_refused_by_name(
    run: ModuleRunner, changed: dict[str, Any], message: str
) -> None:
    assert run("vm", WEB).changed
    for check in (True, False):
        ran = run("vm", {**WEB, **changed}, check=check)
        assert message in ran.message
        assert ran.calls == []


def test_each_nic_is_that_of_one_network(sim: Simulator, run: ModuleRunner) -> None:
    """The NICs may have any order, and one that is added later counts too."""
    pair = {"l3_network": "l3-1"}, {"l3_network": "l3-1", "static_ip": "10.101.0.99"}
    assert run("vm", {**WEB, "networks": [pair[0]]}).changed
    for check in (True, False):
        ran = run("vm", {**WEB, "networks": [*pair[:1], *pair[:1]]}, check)
        assert "networks: the VM has no other NIC on l3-1. Attach or change it with the module vm_nic" in ran.message
    assert run("vm_nic", {"vm": "web", "l3_network": "l3-1", "static_ip": "10.101.0.99", "state": "present"}).changed
    for networks in (pair, pair[::-1], pair[:1], pair[1:]):
        run.idle("vm", {**WEB, "networks": list(networks)})


def test_new_vm_may_have_two_nics_on_a_network(sim: Simulator, run: ModuleRunner) -> None:
    play(run, {**WEB, "networks": [{"l3_network": "l3-1"}] * 2})
    assert [nic["l3NetworkUuid"] for nic in vms_named(sim, "web")[0]["vmNics"]] == [NETWORK] * 2


@pytest.mark.parametrize("grown", [{"cpu": 4}, {"memory": "8G"}, {"cpu": 4, "memory": "8G"}])
def test_running_vm_grows_with_hot_plug(sim: Simulator, run: ModuleRunner, grown: dict[str, Any]) -> None:
    sim.configure(hot_plug=True)
    assert run("vm", WEB).changed
    ran = run.twice("vm", {**WEB, **grown})
    assert (ran.calls, ran.warnings) == (["UpdateVmInstance"], [])
    assert "hot_plug" not in ran["vm"]
    assert vms_named(sim, "web")[0]["state"] == "Running"


@pytest.mark.parametrize("hot_plug", [True, False])
def test_service_decides_whether_a_running_vm_grows_if_its_setting_cannot_be_read(
    sim: Simulator, run: ModuleRunner, hot_plug: bool
) -> None:
    assert run("vm", WEB).changed
    sim.configure(hot_plug=hot_plug, missing_operations=["GetResourceConfig"])
    checked, ran = run("vm", {**WEB, "cpu": 4}, check=True), run("vm", {**WEB, "cpu": 4})
    for each in (checked, ran):
        assert "cannot check whether cpu_num can grow while the VM runs: " in str(each.warnings)
    assert (checked.message, checked.changed, ran.calls) == ("", True, ["UpdateVmInstance"])
    assert ran.failed is not hot_plug
    assert vms_named(sim, "web")[0]["cpuNum"] == (4 if hot_plug else 2)
    assert hot_plug or "SYS.1007" in ran.message


def test_setting_that_is_neither_true_nor_false_is_shown(sim: Simulator, run: ModuleRunner) -> None:
    sim.fault("other_response", operation="GetResourceConfig", reply={"value": "maybe"})
    checked = run("vm", {"uuid": VM, "cpu": 64}, check=True)
    assert (checked.changed, checked.message) == (True, "")
    assert "the setting numa of the VM is 'maybe'" in str(checked.warnings)


@pytest.mark.parametrize("state", ["present", "running", "stopped"])
def test_root_volume_grows_and_never_shrinks(sim: Simulator, run: ModuleRunner, state: str) -> None:
    root = {volume["uuid"]: volume["size"] for volume in sim.records("volume")}[seeded_uuid("volume", 1)]
    options = {"uuid": VM, "state": state, "disk_size": root + GIB}
    predicted = run("vm", options, check=True)["vm"]["all_volumes"]
    ran = run.twice("vm", options)
    assert [volume["size"] for volume in predicted] == [volume["size"] for volume in ran["vm"]["all_volumes"]]
    # Before a VM is stopped, the operation is called for a volume that does not exist.
    before = ["ResizeRootVolume", "StopVmInstance"] if state == "stopped" else []
    assert ran.calls == [*before, "ResizeRootVolume"]
    assert ran.sent("ResizeRootVolume") == {"size": root + GIB}
    (vm,) = [each for each in sim.records("vm") if each["uuid"] == VM]
    assert [volume["size"] for volume in vm["allVolumes"] if volume["type"] == "Root"] == [root + GIB]
    run.idle("vm", {"uuid": VM, "state": state, "disk_size": root + GIB})
    for check in (True, False):
        smaller = run("vm", {"uuid": VM, "state": state, "disk_size": root}, check=check)
        assert (smaller.changed, smaller.calls) == (False, [])
        assert f"root_disk_size is {root}, and the root volume has {root + GIB} bytes." in str(smaller.warnings)
    assert run("vm", {"uuid": VM, "state": "absent", "disk_size": root}).calls == ["DestroyVmInstance"]


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ({"cluster": "cluster-2"}, "cluster acts only when the VM is created or started, and the VM is in the cluster"),
        ({"primary_storage": "ps-2"}, "primary_storage acts only when the VM is created, and its root volume is on"),
        ({"resource_uuid": "f" * 32}, f"resource_uuid acts only when the vm is created, and it has the uuid {VM}."),
    ],
)
def test_an_option_for_new_vms_that_the_record_contradicts_is_warned_of(
    run: ModuleRunner, options: dict[str, Any], warning: str
) -> None:
    """The same options with the values of the VM, and those that no record shows, are without a warning."""
    present = {"cluster": "cluster-1", "primary_storage": "ps-1", "resource_uuid": VM, "user_data": "#cloud-config"}
    assert run("vm", {"uuid": VM, **present}).warnings == []
    for check in (True, False):
        ran = run("vm", {"uuid": VM, **present, **options}, check=check)
        assert (ran.changed, ran.calls, len(ran.warnings)) == (False, [], 1)
        assert warning in ran.warnings[0]


def test_host_of_a_vm_that_does_not_run_is_warned_of(run: ModuleRunner) -> None:
    run("vm", {"uuid": VM, "state": "stopped"})
    assert run("vm", {"uuid": VM, "host": "host-1"}).warnings == []
    for check in (True, False):
        ran = run("vm", {"uuid": VM, "host": "host-2"}, check=check)
        assert (ran.changed, ran.calls, len(ran.warnings)) == (False, [], 1)
        assert "while it runs, and the VM was last on 'host-1' (" in ran.warnings[0]


def test_root_volume_whose_size_is_not_shown_is_not_taken_for_small(sim: Simulator, run: ModuleRunner) -> None:
    sim.change("vm", VM, allVolumes=[])
    assert "does not show the size of its root volume. Omit root_disk_size" in run.refused(
        "vm", {"uuid": VM, "disk_size": "900G"}
    )


def test_name_that_no_vm_has_creates_nothing_without_a_source(sim: Simulator, run: ModuleRunner) -> None:
    for options in ({"name": "wbe", "state": "running"}, {"name": "wbe", "state": "stopped", "cpu": 4, "memory": "1G"}):
        ran = run("vm", options)
        assert "no vm with name 'wbe'. Check the name, or give image or clone_from" in ran.message
        assert ran.calls == []


def test_destroyed_vm_of_the_name_does_not_prevent_a_new_one(sim: Simulator, run: ModuleRunner) -> None:
    assert run("vm", EMPTY).changed
    assert run("vm", {**EMPTY, "state": "absent"}).changed
    assert run("vm", {**EMPTY, "state": "absent"}).changed is False
    play(run, EMPTY)
    assert sorted(vm["state"] for vm in vms_named(sim, "empty")) == ["Destroyed", "Stopped"]


def test_image_that_is_not_ready_is_named_before_anything_is_sent(sim: Simulator, run: ModuleRunner) -> None:
    sim.change("image", IMAGE, status="Downloading")
    checked, ran = run("vm", WEB, check=True), run("vm", WEB)
    assert "the image image-1 is Enabled and Downloading" in checked.message
    assert "the image image-1 is Enabled and Downloading" in ran.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"networks": [{"l3_network": "l3-1", "static_ip": "10.101.0.11"}]},
            "static_ip 10.101.0.11 is that of the NIC",
        ),
        ({"networks": [{"l3_network": "l3-1", "static_ip": "10.9.0.1"}]}, "static_ip 10.9.0.1 is in no IP range"),
        ({"networks": [{"l3_network": "l3-1", "custom_mac": "fa:00:00:00:00:01"}]}, "of the VM 'vm-1'"),
        (
            {"networks": [{"l3_network": "l3-1", "custom_mac": "FA-00-00-00-00-01"}]},
            "custom_mac fa:00:00:00:00:01 is that of the NIC",
        ),
        (
            {"networks": [{"l3_network": "l3-1"}, {"l3_network": "l3-2", "custom_mac": "fa:00"}]},
            (
                "networks[1].custom_mac must be an address such as 52:54:00:12:34:56, not 'fa:00'. It has six bytes of"
                " two hexadecimal digits"
            ),
        ),
        (
            {"networks": [{"l3_network": "l3-1", "static_ip": "10.101.3.1"}, {"l3_network": NETWORK}]},
            "networks: l3-1 has two NICs, and a new VM cannot have addresses or drivers for them. ",
        ),
        ({"host": "host-1", "cluster": "cluster-2"}, "the host host-1 is in the cluster 'cluster-1'"),
        ({"memory": "4M"}, "4194304 bytes are too few. Write the unit, such as 16G"),
    ],
)
def test_what_the_service_would_ignore_or_notice_too_late_is_refused_before_anything_is_sent(
    sim: Simulator, run: ModuleRunner, options: dict[str, Any], message: str
) -> None:
    for check in (True, False):
        ran = run("vm", {**WEB, **options}, check)
        assert message in ran.message
        assert ran.calls == []
    assert vms_named(sim, "web") == []


@pytest.mark.parametrize(
    "path", ["cloud-init.yml", "files/a.cfg", "~/user-data", "/srv/user-data", "./user-data", "a.sh\n"]
)
def test_a_path_in_place_of_user_data_is_refused(sim: Simulator, run: ModuleRunner, path: str) -> None:
    for check in (True, False):
        ran = run("vm", {**WEB, "user_data": path}, check)
        assert (ran.message, ran.calls) == (
            "vm web: user_data is the path of a file, not its text. Did you mean user_data_file?",
            [],
        )
    encoded = run.refused("vm", {**WEB, "user_data": "I2Nsb3VkLWNvbmZpZwpob3N0bmFtZTogYQo="})
    assert "user_data is encoded in base64. Give the text itself, which the module encodes" in encoded
    assert vms_named(sim, "web") == []
    for text in ("#include https://example.com/a.yml", "https://example.com/a.yml", "write /etc/a.yml", "a: b\nc.yml"):
        assert not run("vm", {**WEB, "user_data": text}, check=True).failed


def test_user_data_that_cloud_init_does_not_know_is_sent_with_a_warning(run: ModuleRunner) -> None:
    for check in (True, False):
        (warning,) = run("vm", {**WEB, "user_data": "hostname: web"}, check).warnings
        assert "cloud-init ignores user data that does not begin with" in warning
    assert run("vm", {**WEB, "name": "web-2", "networks": [], "user_data": "#!/bin/sh\n"}).warnings == []


def test_exhausted_quota_fails_the_task_and_creates_nothing(sim: Simulator, run: ModuleRunner) -> None:
    quota = {"identityUuid": ADMIN, "name": "vm.totalNum", "value": len(sim.records("vm"))}
    assert run("api", {"operation": "UpdateQuota", "params": quota}).changed
    ran = run("vm", WEB)
    assert "quota" in ran.message
    assert vms_named(sim, "web") == []


def test_task_in_check_mode_knows_a_network_that_an_earlier_task_would_have_created(run: ModuleRunner) -> None:
    ran = run("vm", {**WEB, "networks": [{"l3_network": None}]}, check=True)
    assert (ran.message, ran.changed) == ("", True)
    assert "l3_network of networks must not be null" in run("vm", {**WEB, "networks": [{"l3_network": None}]}).message
