"""The modules for network interfaces of hosts: service types, network facts and candidates."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.launch import Simulator
from support.module_runner import ModuleRun, ModuleRunner

NOWHERE = "f" * 32
TYPES = ["TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork"]


@pytest.fixture
def hosts(sim: Simulator) -> list[str]:
    """The uuids of the hosts."""
    return [str(host["uuid"]) for host in sim.records("host")]


@pytest.fixture
def plain(sim: Simulator) -> list[str]:
    """The uuids of interfaces that are not used by the management network."""
    return [str(nic["uuid"]) for nic in sim.records("hostnic") if nic["interfaceName"] != "eth0"]


@pytest.fixture
def management(sim: Simulator) -> str:
    """The uuid of an interface that is used by the management network."""
    return next(str(nic["uuid"]) for nic in sim.records("hostnic") if nic["interfaceName"] == "eth0")


def set_to(run: ModuleRunner, interfaces: list[str], types: list[str], *vlans: int) -> ModuleRun:
    """Set service types, and check the prediction and that a second run changes nothing."""
    options = {"interfaces": interfaces, "service_types": types, "vlan_ids": list(vlans) or None}
    return run.twice("host_nic_service", options)


def returned_services(ran: ModuleRun) -> dict[tuple[str, int], list[str]]:
    return {(row["interface_uuid"], row["vlan_id"]): row["service_types"] for row in ran["services"]}


def count_waiting(sim: Simulator, task: Callable[[], ModuleRun]) -> tuple[ModuleRun, int]:
    """Run a task; return its result, and how many of its requests have waited for a response at the same time."""
    most = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(task)
        while not running.done():
            most = max(most, sum(entry["status"] is None for entry in sim.log()))
            time.sleep(0.05)
    return running.result(), most


# ----------------------------------------------------------------------------------------- service types of interfaces


def test_types_are_an_exact_set(run: ModuleRunner, plain: list[str]) -> None:
    ran = set_to(run, plain[:1], ["TenantNetwork", "StorageNetwork"])
    assert returned_services(ran) == {(plain[0], 0): ["StorageNetwork", "TenantNetwork"]}
    ran = set_to(run, plain[:1], ["StorageNetwork", "BackupNetwork"])
    assert returned_services(ran) == {(plain[0], 0): ["BackupNetwork", "StorageNetwork"]}


def test_empty_list_removes_all(run: ModuleRunner, plain: list[str]) -> None:
    set_to(run, plain[:1], ["TenantNetwork"])
    ran = set_to(run, plain[:1], [])
    assert ran.sent("SetServiceTypeOnHostNetworkInterface") == {"interfaceUuids": plain[:1], "serviceTypes": []}
    assert returned_services(ran) == {(plain[0], 0): []}


def test_difference_has_the_names_of_the_interfaces(run: ModuleRunner) -> None:
    ran = run("host_nic_service", {"host": "host-1", "interfaces": ["eth1"], "service_types": ["TenantNetwork"]})
    for side in ("before", "after"):
        assert [service["interface_name"] for service in ran["diff"][side]["services"]] == ["eth1"]


def test_order_does_not_matter(run: ModuleRunner, plain: list[str]) -> None:
    set_to(run, plain[:2], TYPES, 5, 7)
    for types in (TYPES, TYPES[::-1]):
        for interfaces, vlans in (([plain[0], plain[1]], [7, 5]), ([plain[1], plain[0]], [5, 7])):
            run.idle("host_nic_service", {"interfaces": interfaces, "vlan_ids": vlans, "service_types": types})


def test_order_in_the_reply_does_not_matter(run: ModuleRunner, plain: list[str]) -> None:
    for types in (TYPES, TYPES[::-1]):
        once = {"interfaceUuids": plain[:1], "serviceTypes": types}
        run("api", {"operation": "SetServiceTypeOnHostNetworkInterface", "params": once})
        ran = run.idle("host_nic_service", {"interfaces": plain[:1], "service_types": TYPES})
        assert returned_services(ran) == {(plain[0], 0): sorted(TYPES)}


@pytest.mark.parametrize("vlans", [{}, {"vlan_ids": [0]}])
def test_no_vlan_is_vlan_0(run: ModuleRunner, sim: Simulator, plain: list[str], vlans: dict[str, Any]) -> None:
    options = {"interfaces": plain[:1], "service_types": ["TenantNetwork"], **vlans}
    assert returned_services(run.twice("host_nic_service", options)) == {(plain[0], 0): ["TenantNetwork"]}
    run.idle("host_nic_service", {**options, "vlan_ids": None})


@pytest.mark.parametrize(
    ("option", "advice"), [("interfaces", ""), ("vlan_ids", ". Omit it to set the interfaces themselves")]
)
def test_empty_list_is_nothing_to_do(run: ModuleRunner, plain: list[str], option: str, advice: str) -> None:
    options = {"interfaces": plain[:1], "service_types": ["TenantNetwork"], option: []}
    for check in (True, False):
        ran = run("host_nic_service", options, check)
        assert (ran.changed, ran["services"]) == (False, [])
        assert f"{option} is empty, so there is nothing to do{advice}." in ran.warnings[0]


def test_repeated_references_count_once(run: ModuleRunner, plain: list[str]) -> None:
    ran = set_to(run, [plain[0], plain[0]], ["TenantNetwork", "TenantNetwork"], 5, 5)
    sent = {"interfaceUuids": plain[:1], "vlanIds": [5], "serviceTypes": ["TenantNetwork"]}
    assert ran.sent("SetServiceTypeOnHostNetworkInterface") == sent


def test_one_call_if_all_differ(run: ModuleRunner, plain: list[str]) -> None:
    ran = set_to(run, plain[:3], ["TenantNetwork"], 5, 7)
    sent = {"interfaceUuids": plain[:3], "vlanIds": [5, 7], "serviceTypes": ["TenantNetwork"]}
    assert ran.calls == ["SetServiceTypeOnHostNetworkInterface"]
    assert ran.sent("SetServiceTypeOnHostNetworkInterface") == sent


def test_only_pairs_that_differ_are_set(run: ModuleRunner, plain: list[str]) -> None:
    """A call that sets the service types of a pair again would replace its records."""
    set_to(run, plain[:1], ["TenantNetwork"], 5)
    ran = set_to(run, plain[:2], ["TenantNetwork"], 5, 7)
    calls = [ran.sent("SetServiceTypeOnHostNetworkInterface", number) for number in range(len(ran.calls))]
    assert list_pairs(calls) == [(plain[0], 7), (plain[1], 5), (plain[1], 7)]


def list_pairs(calls: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the pairs that calls set, sorted; each of them was set once."""
    pairs = [pair for call in calls for pair in itertools.product(call["interfaceUuids"], call.get("vlanIds", [0]))]
    assert len(pairs) == len(set(pairs))
    return sorted(pairs)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.dictionaries(st.tuples(st.integers(0, 2), st.sampled_from([0, 5, 7])), st.sets(st.sampled_from(TYPES))),
    interfaces=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    vlans=st.lists(st.sampled_from([0, 5, 7]), max_size=4),
    types=st.lists(st.sampled_from(TYPES), max_size=4),
)
def test_service_types_replace_any_previous_types(
    sim: Simulator,
    before: dict[tuple[int, int], set[str]],
    interfaces: list[int],
    vlans: list[int],
    types: list[str],
) -> None:
    """Only pairs that differ are set, and afterwards all pairs have the requested types."""
    sim.reset()
    run = ModuleRunner(sim)
    nics = [nic["uuid"] for nic in sim.records("hostnic") if nic["interfaceName"] != "eth0"][:3]
    for (interface, vlan), kinds in before.items():
        once = {"interfaceUuids": [nics[interface]], "vlanIds": [vlan], "serviceTypes": sorted(kinds, reverse=True)}
        run("api", {"operation": "SetServiceTypeOnHostNetworkInterface", "params": once})
    request = {"interfaces": [nics[each] for each in interfaces], "vlan_ids": vlans, "service_types": types}
    ran = run("host_nic_service", request)
    desired = set(itertools.product(interfaces, vlans))
    differing = [pair for pair in desired if before.get(pair, set()) != set(types)]
    calls = [ran.sent("SetServiceTypeOnHostNetworkInterface", number) for number in range(len(ran.calls))]
    assert ran.changed == bool(differing)
    assert list_pairs(calls) == sorted((nics[interface], vlan) for interface, vlan in differing)
    assert returned_services(ran) == {(nics[interface], vlan): sorted(set(types)) for interface, vlan in desired}
    run.idle("host_nic_service", request)


def test_management_network_stays_with_a_warning(run: ModuleRunner, management: str) -> None:
    ran = set_to(run, [management], ["TenantNetwork"])
    assert returned_services(ran) == {(management, 0): ["ManagementNetwork", "TenantNetwork"]}
    assert ran.warnings == [f"services of interfaces {management}: ManagementNetwork stays on {management}."]
    cleared = set_to(run, [management], [])
    assert returned_services(cleared) == {(management, 0): ["ManagementNetwork"]}
    assert len(cleared.warnings) == 1


def test_requested_management_network_causes_no_warning(run: ModuleRunner, management: str) -> None:
    ran = set_to(run, [management], ["ManagementNetwork", "TenantNetwork"])
    assert ran.warnings == []
    run.idle("host_nic_service", {"interfaces": [management], "service_types": ["TenantNetwork"]})


def test_management_network_cannot_be_added(
    run: ModuleRunner, sim: Simulator, management: str, plain: list[str]
) -> None:
    types = ["ManagementNetwork", "TenantNetwork"]
    message = run.refused("host_nic_service", {"interfaces": [management, plain[0]], "service_types": types})
    start = f"services of interfaces {management} and 1 more: the API cannot add ManagementNetwork to the interface"
    assert message == f"{start} {plain[0]} on VLAN 0"


def test_missing_interface(run: ModuleRunner, plain: list[str]) -> None:
    """The service looks for all interfaces before it sets one."""
    for interfaces in ([NOWHERE], [plain[0], NOWHERE]):
        ran = run("host_nic_service", {"interfaces": interfaces, "service_types": TYPES})
        assert "no network interface with uuid" in ran.message
        assert not ran.changed


def test_call_that_fails_after_it_has_changed_interfaces(run: ModuleRunner, sim: Simulator, plain: list[str]) -> None:
    """The service sets one interface after the other."""
    error = {"code": "HOST.1001", "details": "no answer"}
    sim.fault("fail", "SetServiceTypeOnHostNetworkInterface", taken=True, error=error)
    ran = run("host_nic_service", {"interfaces": plain[:1], "service_types": TYPES})
    assert (ran.failed, ran.changed) == (True, True)
    sim.clear_faults()
    run.idle("host_nic_service", {"interfaces": plain[:1], "service_types": TYPES})


def test_invalid_vlan(run: ModuleRunner, plain: list[str]) -> None:
    ran = run("host_nic_service", {"interfaces": plain[:1], "vlan_ids": [4095], "service_types": TYPES})
    assert ran.message == "vlan_ids must be from 0 to 4094, not 4095"
    assert ran.calls == []


def test_records_of_service_types_are_returned(run: ModuleRunner, sim: Simulator, plain: list[str]) -> None:
    """If interfaces or VLANs need several calls, the result contains the records of all calls."""
    options = {"interfaces": plain[:2], "vlan_ids": [5], "service_types": TYPES}
    ran = run("host_nic_service", options)
    assert {(each["interface_uuid"], each["vlan_id"], each["service_type"]) for each in ran["records"]} == set(
        itertools.product(plain[:2], [5], TYPES)
    )
    assert all(isinstance(each["id"], int) and each["create_date"] and each["last_op_date"] for each in ran["records"])
    assert "records" not in run("host_nic_service", options).result


def test_reply_with_another_member(run: ModuleRunner, sim: Simulator, plain: list[str]) -> None:
    sim.configure(service_types_member="inventories")
    set_to(run, plain[:2], TYPES, 5)


@pytest.mark.parametrize("lacking", [{"companions": "404"}, {"companions": "405"}, {"service_type_statistic": False}])
def test_services_that_cannot_be_read(
    run: ModuleRunner, sim: Simulator, plain: list[str], management: str, lacking: dict[str, Any]
) -> None:
    sim.configure(**lacking)
    options = {"interfaces": plain[:2], "vlan_ids": [5, 7], "service_types": TYPES}
    for dummy in range(2):
        ran = run("host_nic_service", options)
        assert ran.calls == ["SetServiceTypeOnHostNetworkInterface"]
        assert ran.changed
        (warning,) = ran.warnings
        assert "does not offer GetHostNicServiceTypeStatistic" in warning
        assert returned_services(ran) == {pair: sorted(TYPES) for pair in itertools.product(plain[:2], [5, 7])}
    refused = run("host_nic_service", {"interfaces": [management], "service_types": TYPES})
    assert "ManagementNetwork cannot be taken from" in refused.message
    assert not refused.changed


# --------------------------------------------------------------------------------------------------- network facts of
# hosts


def test_hosts_are_returned_in_the_order_given(run: ModuleRunner, hosts: list[str]) -> None:
    ran = run("host_network_info", {"hosts": hosts[::-1]})
    assert [host["host_uuid"] for host in ran["hosts"]] == hosts[::-1]
    for host in ran["hosts"]:
        assert host["error"] is None
        assert sorted(nic["interface_name"] for nic in host["nics"]) == ["eth0", "eth1", "eth2", "eth3"]
        assert [bonding["bonding_name"] for bonding in host["bondings"]] == ["bond0"]
        assert {slave["bonding_uuid"] for slave in host["bondings"][0]["slaves"]} == {host["bondings"][0]["uuid"]}


def test_hosts_are_queried_concurrently(run: ModuleRunner, sim: Simulator) -> None:
    """The other requests are sent before the first response arrives."""
    sim.reset(hosts=12)
    sim.configure(latencies={"GetHostNetworkFacts": 0.5})
    hosts = [host["uuid"] for host in sim.records("host")]
    ran, waiting = count_waiting(sim, lambda: run("host_network_info", {"hosts": hosts}))
    assert waiting == len(hosts)
    assert [host["host_uuid"] for host in ran["hosts"]] == hosts


def test_host_that_cannot_be_queried_is_reported(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[1], status="Disconnected")
    ran = run("host_network_info", {"hosts": [*hosts[:2], NOWHERE]})
    assert not ran.failed
    good, silent, unknown = ran["hosts"]
    assert good["error"] is None
    assert silent["error"]["code"] == "HOST.1001"
    assert "does not answer, its status is Disconnected" in silent["msg"]
    assert (silent["nics"], silent["bondings"]) == ([], [])
    assert unknown["error"]["code"] == "SYS.1003"
    assert [warning.partition(":")[0] for warning in ran.warnings] == [hosts[1], NOWHERE]


def test_one_host_that_cannot_be_queried_can_fail_the_task(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[1], status="Disconnected")
    ran = run("host_network_info", {"hosts": hosts[:2], "fail_on_error": True})
    assert ran.message.startswith("1 of 2 failed, the first: GetHostNetworkFacts failed (HOST.1001")
    assert [bool(host["error"]) for host in ran["hosts"]] == [False, True]
    assert ran["error"] == ran["hosts"][1]["error"]


def test_no_host_that_can_be_queried_is_a_failure(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    for host in hosts:
        sim.change("host", host, status="Disconnected")
    ran = run("host_network_info", {"hosts": hosts})
    assert ran.message.startswith(f"{len(hosts)} of {len(hosts)} failed")


def test_expired_session_is_reported_once(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.configure(session_expired=True)
    ran = run("host_network_info", {"hosts": hosts})
    assert "log in again" in ran.message


def test_no_hosts_to_query(run: ModuleRunner) -> None:
    ran = run("host_network_info", {"hosts": []})
    assert ran.result == {"changed": False, "hosts": []}
    assert ran.log == []


def test_candidates_of_all_hosts(run: ModuleRunner, hosts: list[str]) -> None:
    ran = run("host_nic_candidate_info", {"hosts": hosts, "interface_type": "all"})
    assert {nic["host_uuid"] for nic in ran["candidate_nics"]} == set(hosts)
    assert sorted({nic["interface_name"] for nic in ran["candidate_nics"]}) == ran["slave_names"]
    assert {"gateway", "call_back_ip", "offload_status", "description"} & ran["candidate_nics"][0].keys()


def test_no_candidates(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    options = {"hosts": hosts[:1], "interface_type": "bonding"}
    for name in ("eth0", "eth1", "eth2", "eth3"):
        for nic in sim.records("hostnic"):
            if nic["interfaceName"] == name:
                sim.change("hostnic", nic["uuid"], interfaceType="noMaster")
    ran = run("host_nic_candidate_info", options)
    assert ran.result == {"changed": False, "slave_names": [], "candidate_nics": []}


def test_candidates_of_an_unknown_host(run: ModuleRunner) -> None:
    ran = run("host_nic_candidate_info", {"hosts": [NOWHERE]})
    assert "GetCandidateNetworkInterfaces failed (SYS.1003)" in ran.message


# -------------------------------------------------------------------------------------------------- states of a host


def change_state(run: ModuleRunner, host: str, state: str, **options: Any) -> ModuleRun:
    """Request a state with a short timeout."""
    return run("kvm_host", {"uuid": host, "state": state}, wait_timeout=0.3, wait_interval=0.1, **options)


@pytest.mark.parametrize("status", ["Disconnected", "Connecting"])
@pytest.mark.parametrize("before", ["Enabled", "PreMaintenance", "Maintenance"])
def test_host_that_is_not_connected_is_disabled(
    run: ModuleRunner, sim: Simulator, hosts: list[str], before: str, status: str
) -> None:
    sim.change("host", hosts[0], state=before, status=status)
    ran = change_state(run, hosts[0], "disabled")
    assert not ran.failed, ran.message
    assert ran.changed
    assert ran["host"]["state"] == "Disabled"
    again = change_state(run, hosts[0], "disabled")
    assert (again.failed, again.changed) == (False, False)


def test_disconnected_host_is_enabled(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[0], state="Disabled", status="Disconnected")
    ran = change_state(run, hosts[0], "enabled")
    assert not ran.failed, ran.message
    assert (ran["host"]["state"], ran["host"]["status"]) == ("Enabled", "Disconnected")


@pytest.mark.parametrize(("state", "reached"), [("enabled", "Enabled"), ("disabled", "Disabled")])
def test_maintenance_that_has_not_been_reached_is_cancelled(
    run: ModuleRunner, sim: Simulator, hosts: list[str], state: str, reached: str
) -> None:
    sim.change("host", hosts[0], state="PreMaintenance")
    ran = change_state(run, hosts[0], state)
    assert not ran.failed, ran.message
    assert (ran.calls, ran["host"]["state"]) == (["ChangeHostState"], reached)


def test_maintenance_waits_for_a_host_that_is_connecting(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[0], status="Connecting")
    ran = change_state(run, hosts[0], "maintenance")
    assert "status is still Connecting after 0.3 s" in ran.message
    assert (ran.calls, ran.changed) == ([], False)


def test_present_host_is_not_waited_for(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[0], status="Connecting")
    ran = change_state(run, hosts[0], "present")
    assert (ran.failed, ran.changed, ran.calls) == (False, False, [])


def test_host_is_not_enabled_before_it_is_connected(run: ModuleRunner, sim: Simulator, hosts: list[str]) -> None:
    sim.change("host", hosts[0], state="Disabled", status="Connecting")
    ran = change_state(run, hosts[0], "enabled")
    assert "status is still Connecting after 0.3 s" in ran.message
    assert (ran.calls, ran.changed) == (["ChangeHostState"], True)


# ------------------------------------------------------------------------------------- VMs of a host in maintenance

LOCAL, NO_TARGET = "its root volume is on local storage", "no other host can take it"


def uuid_of(kind: int, number: int) -> str:
    return f"a{kind:07x}000040008000{number:012x}"


def vm_of(number: int) -> dict[str, str]:
    return {"uuid": uuid_of(4, number), "name": f"vm-{number}"}


def maintenance(**options: Any) -> dict[str, Any]:
    return {"name": "host-1", "state": "maintenance", **options}


def count_examined_vms(ran: ModuleRun) -> int:
    """Return the number of VMs whose migration targets were read."""
    return sum(entry["operation"] == "GetVmMigrationCandidateHosts" for entry in ran.log)


@pytest.fixture
def pair(sim: Simulator) -> Simulator:
    """Two hosts in one cluster. On the first run vm-1 and vm-5, which can migrate, and vm-3 on local storage."""
    sim.reset(clusters=1, hosts=2, vms=6, primary_storages=3)
    return sim


@pytest.mark.parametrize(("seed", "reason"), [({"hosts": 2, "local_storages": 2}, LOCAL), ({"hosts": 1}, NO_TARGET)])
def test_maintenance_that_would_stop_a_vm_is_refused(
    run: ModuleRunner, sim: Simulator, seed: dict[str, int], reason: str
) -> None:
    sim.reset(clusters=1, vms=1, **seed)
    assert reason in run.refused("kvm_host", maintenance())
    assert sim.records("vm")[0]["state"] == "Running"


def test_refusal_names_the_vms(run: ModuleRunner, pair: Simulator) -> None:
    message = run.refused("kvm_host", maintenance())
    start = "host host-1: ChangeHostState was not called, because 1 VM would be stopped"
    assert message == f"{start}: vm-3 ({uuid_of(4, 3)}): {LOCAL}. If this is acceptable, set running_vms: stop."
    ran = run("kvm_host", maintenance())
    assert (ran["error"]["code"], ran["in_use_by"]) == ("IN_USE", [{**vm_of(3), "type": "vm", "reason": LOCAL}])
    assert "stopped_vms" not in ran.result


def test_refusal_names_at_most_20_vms(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=1, vms=45, local_storages=0)
    message = run.refused("kvm_host", maintenance())
    assert "because 23 VMs would be stopped" in message
    assert message.count(NO_TARGET) == 20
    assert "; and 3 more. If" in message
    ran = run("kvm_host", maintenance())
    assert len(ran["in_use_by"]) == count_examined_vms(ran) == 23


def test_vms_are_examined_concurrently(run: ModuleRunner, sim: Simulator) -> None:
    """The requests for the other VMs are sent before the first response to them arrives, at most 16 at once."""
    sim.reset(clusters=1, hosts=1, vms=59)
    sim.configure(latencies={"GetVmMigrationCandidateHosts": 0.5})
    ran, waiting = count_waiting(sim, lambda: run("kvm_host", maintenance()))
    assert ran["error"]["code"] == "IN_USE"
    assert waiting == 16


def test_vms_that_can_migrate_do_not_prevent_maintenance(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=2, vms=4)
    checked = run("kvm_host", maintenance(), check=True)
    ran = run.twice("kvm_host", maintenance())
    for each in (checked, ran):
        assert (each["migrated_vms"], each["stopped_vms"]) == ([vm_of(1), vm_of(3)], [])
        names = [f"vm-1 ({uuid_of(4, 1)})", f"vm-3 ({uuid_of(4, 3)})"]
        assert each["diff"]["before"]["running_vms"] == each["diff"]["after"]["migrated_vms"] == names
        assert "stopped_vms" not in each["diff"]["after"]
        assert each.warnings == []
    again = run("kvm_host", maintenance())
    assert (again["migrated_vms"], again["stopped_vms"]) == ([], [])
    assert "running_vms" not in again["diff"]["before"]


def test_permitted_stops_are_predicted_and_reported(run: ModuleRunner, pair: Simulator) -> None:
    checked = run("kvm_host", maintenance(running_vms="stop"), check=True)
    ran = run.twice("kvm_host", maintenance(running_vms="stop"))
    for each, verb in ((checked, "would be"), (ran, "was")):
        assert (each["migrated_vms"], each["stopped_vms"]) == ([vm_of(1), vm_of(5)], [vm_of(3)])
        assert each["diff"]["after"]["stopped_vms"] == [f"vm-3 ({uuid_of(4, 3)})"]
        assert each.warnings == [f"host host-1: 1 VM {verb} stopped: vm-3 ({uuid_of(4, 3)})."]
    assert ran.sent("ChangeHostState") == {"stateEvent": "maintain"}


def test_vms_that_are_not_examined_are_compared_nevertheless(run: ModuleRunner, pair: Simulator) -> None:
    ran = run.twice("kvm_host", maintenance(running_vms="any"))
    assert count_examined_vms(ran) == 0
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([vm_of(1), vm_of(5)], [vm_of(3)])
    assert len(ran.warnings) == 1


def test_vm_that_is_stopped_against_the_prediction_is_reported(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=2, vms=4)
    sim.configure(failing_migrations=[uuid_of(4, 1)])
    ran = run.twice("kvm_host", maintenance())
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([vm_of(3)], [vm_of(1)])
    assert ran.warnings == [f"host host-1: 1 VM was stopped: vm-1 ({uuid_of(4, 1)})."]


def test_failed_maintenance_names_the_vms_that_it_stopped(run: ModuleRunner, pair: Simulator) -> None:
    pair.configure(maintenance_policy="JustMigrate", failing_migrations=[uuid_of(4, 5)])
    ran = run("kvm_host", maintenance(running_vms="stop"))
    assert "ChangeHostState failed (HOST.1001" in ran.message
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([vm_of(1)], [vm_of(3)])


def test_maintenance_that_is_not_waited_for_returns_predictions(run: ModuleRunner, pair: Simulator) -> None:
    pair.configure(latency=600.0)
    ran = run("kvm_host", maintenance(running_vms="stop"), wait=False)
    assert ran["job"]["state"] == "running"
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([vm_of(1), vm_of(5)], [vm_of(3)])
    assert ran.warnings == [f"host host-1: 1 VM would be stopped: vm-3 ({uuid_of(4, 3)})."]


def test_other_states_do_not_examine_vms(run: ModuleRunner, pair: Simulator) -> None:
    ran = run.twice("kvm_host", {"name": "host-1", "state": "disabled", "running_vms": "migrate"})
    assert count_examined_vms(ran) == 0
    assert ran["stopped_vms"] == []
    assert not any(entry["operation"] == "QueryVmInstance" for entry in ran.log)


NO_RIGHT = {"code": "ID.1002", "details": "no right"}


@pytest.mark.parametrize(
    ("lacking", "warning"),
    [
        (
            {"all_companions": False},
            "cannot check whether other hosts can take the VMs: the service does not offer",
        ),
        ("GetVmMigrationCandidateHosts", "cannot check whether other hosts can take the VMs: GetVmMigrationCandidate"),
        ("QueryPrimaryStorage", "cannot check which VMs have local storage and would be stopped: QueryPrimaryStorage"),
        ("QueryVmInstance", "cannot check which VMs the maintenance would stop: QueryVmInstance failed"),
    ],
)
@pytest.mark.parametrize("denial", ["ID.1002", "SYS.1018", "SYS.1019"])
def test_what_cannot_be_known_is_a_warning(
    run: ModuleRunner, sim: Simulator, lacking: str | dict[str, Any], warning: str, denial: str
) -> None:
    sim.reset(clusters=1, hosts=2, vms=40, denial=denial)
    sim.configure(**(lacking if isinstance(lacking, dict) else {"denied_operations": [lacking]}))
    checked, ran = (run("kvm_host", maintenance(), check=check) for check in (True, False))
    for each in (checked, ran):
        assert not each.failed, each.message
        assert each.changed
        assert each.warnings[0].startswith(f"host host-1: {warning}")
        assert len([each for each in each.log if each["operation"] == lacking]) <= 2
    assert ran["host"]["state"] == "Maintenance"


def test_known_local_storage_refuses_although_targets_are_unknown(run: ModuleRunner, pair: Simulator) -> None:
    pair.configure(all_companions=False)
    assert LOCAL in run.refused("kvm_host", maintenance())


def test_vms_are_read_with_the_token_if_the_service_lists_none(run: ModuleRunner, pair: Simulator) -> None:
    pair.configure(companions="404")
    assert LOCAL in run.refused("kvm_host", maintenance())
    ran = run("kvm_host", maintenance(running_vms="stop"))
    assert ran["stopped_vms"] == [vm_of(3)]


def test_vms_that_cannot_be_listed_are_a_warning(run: ModuleRunner, pair: Simulator) -> None:
    pair.configure(companions="404")
    ran = run("kvm_host", {"uuid": uuid_of(3, 1), "state": "maintenance"}, api_token=None)
    assert not ran.failed, ran.message
    assert any("cannot check which VMs the maintenance would stop" in warning for warning in ran.warnings)
    assert (ran["migrated_vms"], ran["stopped_vms"]) == ([], [])


def test_vm_whose_targets_cannot_be_read_counts_as_one_that_cannot_migrate(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=2, vms=4)
    sim.change("vm", uuid_of(4, 3), state="NoState")
    message = run.refused("kvm_host", maintenance())
    assert f"1 VM would be stopped: vm-3 ({uuid_of(4, 3)}): the service does not say which hosts can take it" in message
    assert "vm[uuid: a0000004000040008000000000000003] is NoState" in message


def test_vm_that_has_been_deleted_since_the_list_is_ignored(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=2, vms=2)
    sim.fault("fail", "GetVmMigrationCandidateHosts", error={"code": "SYS.1003", "details": "no such vm"})
    ran = run("kvm_host", maintenance(), check=True)
    assert not ran.failed, ran.message
    assert ran["migrated_vms"] == []


@pytest.mark.parametrize("operation", ["QueryVmInstance", "QueryPrimaryStorage", "GetVmMigrationCandidateHosts"])
def test_reads_of_vms_that_fail_end_the_task(run: ModuleRunner, pair: Simulator, operation: str) -> None:
    """The VMs may be readable a moment later, so the task fails and starts no maintenance."""
    pair.fault("status", operation, status=504, count=None)
    assert "HTTP status 504" in run.refused("kvm_host", maintenance(), request_retries=0)


def test_review_that_fails_is_a_warning(run: ModuleRunner, sim: Simulator) -> None:
    sim.reset(clusters=1, hosts=2, vms=2)
    sim.fault("fail", "QueryVmInstance", error=NO_RIGHT, skip=3)
    ran = run("kvm_host", maintenance())
    assert not ran.failed, ran.message
    assert "cannot check what became of 1 VM: QueryVmInstance failed (ID.1002)" in ran.warnings[0]
