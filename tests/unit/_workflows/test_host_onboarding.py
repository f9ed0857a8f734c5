"""In which steps the workflow host_onboarding has which hosts, what it does with the service, and what it reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.module_utils._modules import options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.site import Site
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.variables import Play
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows.host_onboarding import (
    Onboarding,
    Settings,
    Step,
    count_unserved,
    describe_errors,
    find_settled,
    plan_additions,
    plan_disabling,
    plan_final_states,
    plan_services,
    read_hosts,
)

from simulator.launch import Simulator
from support.workflow_runner import WorkflowRun, WorkflowRunner, create_play, keep_value

PASSWORD = "secret-word"
SERVICES = [{"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]}]
ADDED = {"changed": True, "failed": False, "host": {"uuid": "1" * 32}}
FOUND = {"changed": False, "failed": False, "host": {"uuid": "2" * 32}}
PREDICTED = {"changed": True, "failed": False, "host": {"uuid": None}}


def make_host(name: str = "a", result: Mapping[str, Any] | None = None, **variables: Any) -> Onboarding:
    """Return a host, after the step that adds it if its result is given."""
    host = Onboarding(name, Settings(**{"name": name, "management_ip": "10.1.0.1", "timeout": 60, **variables}))
    if result is not None:
        host.note_addition(dict(result))
    return host


def options_of(steps: list[Step]) -> list[dict[str, Any]]:
    """Return the options of steps."""
    return [options for dummy, options in steps]


def test_host_without_services_is_added_with_its_final_state() -> None:
    host = make_host(state="maintenance", cluster="cluster-1")
    assert options_of(plan_additions([host])) == [
        {
            "name": "a",
            "management_ip": "10.1.0.1",
            "cluster": "cluster-1",
            "state": "maintenance",
            "wait_timeout": 60,
        }
    ]
    host.note_addition(ADDED)
    assert plan_disabling([host]) == plan_services([host]) == plan_final_states([host]) == []
    assert host.build_entry().members == {
        "name": "a",
        "management_ip": "10.1.0.1",
        "uuid": "1" * 32,
        "outcome": "changed",
        "services": None,
        "error": None,
    }


def test_only_new_hosts_are_disabled_until_their_services_are_set() -> None:
    hosts = [make_host(services=SERVICES), make_host("b", services=[{**SERVICES[0], "vlans": None}])]
    assert [options["state"] for options in options_of(plan_additions(hosts))] == ["present", "present"]
    hosts[0].note_addition(ADDED)
    hosts[1].note_addition(FOUND)
    assert options_of(plan_disabling(hosts)) == [{"uuid": "1" * 32, "state": "disabled", "wait_timeout": 60}]
    common = {"interfaces": ["eth1"], "service_types": ["StorageNetwork"], "wait_timeout": 60}
    assert options_of(plan_services(hosts)) == [
        {"host": "1" * 32, "vlan_ids": [100], **common},
        {"host": "2" * 32, **common},
    ]
    assert [options["state"] for options in options_of(plan_final_states(hosts))] == ["enabled", "enabled"]
    assert count_unserved(hosts) == 0


def test_interfaces_of_a_predicted_host_are_unknown() -> None:
    hosts = [make_host(result=PREDICTED, services=SERVICES), make_host("b", PREDICTED)]
    assert (plan_services(hosts), count_unserved(hosts)) == ([], 1)
    assert [host.host for host, dummy in plan_disabling(hosts)] == ["a"]
    assert hosts[0].build_entry().members["services"] is None


def test_failed_host_is_in_no_later_step() -> None:
    failed = {"changed": False, "failed": True, "msg": "host a: give cluster to add it"}
    hosts = [make_host(result=failed, services=SERVICES), make_host("b", FOUND, services=SERVICES)]
    for steps in (plan_disabling(hosts), plan_services(hosts), plan_final_states(hosts)):
        assert "a" not in [host.host for host, dummy in steps]
    hosts[1].served = [{"vlan_id": 100}]
    first, second = (host.build_entry() for host in hosts)
    assert (first.members["outcome"], second.members["outcome"]) == ("failed", "unchanged")
    assert first.members["error"] == "host a: give host_onboarding_cluster to add it"
    assert (first.label, first.outcome.error) == ("host a", "give host_onboarding_cluster to add it")
    assert second.members["services"] == [{"vlan_id": 100}]


def test_messages_have_the_names_of_variables() -> None:
    messages = ["host a: give username, password and cluster to add it", "the cluster differs"]
    assert describe_errors("a", messages) == [
        "give host_onboarding_username, host_onboarding_password and host_onboarding_cluster to add it",
        "the cluster differs",
    ]


@pytest.mark.parametrize(
    ("types", "current", "is_settled"),
    [
        (["StorageNetwork", "TenantNetwork"], ["TenantNetwork", "StorageNetwork"], True),
        (["StorageNetwork"], ["ManagementNetwork", "StorageNetwork"], True),
        (["StorageNetwork"], ["StorageNetwork", "TenantNetwork"], False),
        (["ManagementNetwork"], ["StorageNetwork"], False),
        ([], ["ManagementNetwork"], True),
        ([], ["TenantNetwork"], False),
    ],
)
def test_service_types_that_are_as_wanted(types: list[str], current: list[str], is_settled: bool) -> None:
    rows = {("h", "eth1", vlan): {"interfaceUuid": "i", "serviceTypes": current} for vlan in (0, 100)}
    options = {"host": "h", "interfaces": ["eth1"], "service_types": types}
    entry = {"interface_name": "eth1", "interface_uuid": "i", "service_types": sorted(current)}
    assert find_settled(options, rows) == ([{**entry, "vlan_id": 0}] if is_settled else None)
    several = [{**entry, "vlan_id": vlan} for vlan in (0, 100)] if is_settled else None
    assert find_settled({**options, "vlan_ids": [100, 0]}, rows) == several
    assert find_settled({**options, "vlan_ids": [0, 200]}, rows) is None
    assert find_settled({**options, "host": "other"}, rows) is None


# ------------------------------------------------------------------------------------------------------------ workflow


def new_host(number: int, **variables: Any) -> dict[str, Any]:
    """Return the variables of a host that the service does not have."""
    credentials = {"cluster": "cluster-1", "username": "root", "password": PASSWORD}
    defaults = {"name": f"new-{number}", "management_ip": f"10.1.0.{number}", **credentials}
    return {"state": "enabled", "services": [], "timeout": 60, "concurrency": 500, **defaults, **variables}


def create_variables(hosts: Mapping[str, dict[str, Any] | None], names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the variables of the play, for hosts with these variables without prefix; None without the role.

    ``names`` are the names of further variables of all hosts.
    """
    hostvars = {}
    for host, variables in hosts.items():
        given = {f"host_onboarding_{name}": value for name, value in (variables or {}).items()}
        wanted = {**given, "names": [*given, "host_onboarding_report", *names]}
        hostvars[host] = {"__host_onboarding_wanted": {} if variables is None else wanted}
    return create_play(hostvars)


def run(work: WorkflowRunner, *hosts: dict[str, Any], check: bool = False) -> WorkflowRun:
    """Run the workflow for hosts with these variables. The result does not have the password."""
    ran = work("host_onboarding", create_variables({str(host["name"]): host for host in hosts}), check)
    assert PASSWORD not in json.dumps(ran.result)
    return ran


@pytest.fixture
def service(sim: Simulator) -> Simulator:
    """A simulator with one cluster and one host."""
    sim.reset(clusters=1, hosts=1, vms=0)
    return sim


def states(service: Simulator) -> dict[str, str]:
    """Return the states of the new hosts by their names."""
    records = service.records("host")
    return {host["name"]: host["state"] for host in records if host["name"].startswith("new-")}


def test_hosts_are_onboarded_and_a_second_run_changes_nothing(service: Simulator, work: WorkflowRunner) -> None:
    hosts = [new_host(1, services=SERVICES), new_host(2, state="disabled"), new_host(3, services=json.dumps(SERVICES))]
    predicted = run(work, *hosts, check=True)
    assert (predicted.calls, predicted.outcomes) == ([], ["changed"] * 3)
    assert predicted.result["next"]["rows"] == {"interfaces unknown until added": 2}
    ran = run(work, *hosts)
    assert (ran.outcomes, ran.result["changed"]) == (["changed"] * 3, True)
    assert ran.result["next"]["rows"] == {}
    assert ran.result["next"]["reports"] == {entry["name"]: entry for entry in ran.report}
    assert states(service) == {"new-1": "Enabled", "new-2": "Disabled", "new-3": "Enabled"}
    assert [entry["services"] and len(entry["services"]) for entry in ran.report] == [1, None, 1]
    again = run(work, *hosts)
    assert (again.outcomes, again.calls, again.result["changed"]) == (["unchanged"] * 3, [], False)


def test_hosts_with_the_same_name_or_address_are_not_added(service: Simulator, work: WorkflowRunner) -> None:
    """A value for all hosts of a group is meant for one of them at most."""
    hosts = {
        "a": new_host(1),
        "b": new_host(2, name="new-1"),
        "c": new_host(3),
        "d": new_host(4, management_ip="10.1.0.3"),
    }
    ran = work("host_onboarding", create_variables({**hosts, "e": new_host(5)}))
    assert ran.outcomes == ["failed"] * 4 + ["changed"]
    assert [entry["error"] for entry in ran.report[1:3]] == [
        "host new-1: host_onboarding_name is new-1, which is also that of a. Set it for each host.",
        "host new-3: host_onboarding_management_ip is 10.1.0.3, which is also that of d. Set it for each host.",
    ]
    assert set(states(service)) == {"new-5"}


def test_state_and_services_of_an_existing_host(service: Simulator, work: WorkflowRunner) -> None:
    """The host is not disabled before its service types are set, and needs no credentials."""
    run(work, new_host(1))
    known = {"name": "new-1", "management_ip": "10.1.0.1"}
    assert run(work, {**known, "services": SERVICES}).calls == ["SetServiceTypeOnHostNetworkInterface"]
    ran = run(work, {**known, "state": "disabled"})
    assert (ran.calls, ran.outcomes) == (["ChangeHostState"], ["changed"])


def test_requests_do_not_grow_with_the_hosts(service: Simulator, work: WorkflowRunner) -> None:
    """Hosts that need nothing are read together, and so are their service types. The report is the same.

    A new one has four calls, each with a job. Hosts read together before and after them: while a response is awaited,
    the others wait for a request for all of them.
    """
    hosts = [new_host(number, services=SERVICES, timeout=100000) for number in range(1, 41)]
    service.configure(latencies=dict.fromkeys(("QueryHost", "GetHostNicServiceTypeStatistic"), 0.02))
    ran = run(work, *hosts)
    service.configure(latencies={})
    assert len(ran.log) <= 12 * len(hosts)
    assert ran.reads.count("GetHostNicServiceTypeStatistic") < len(hosts)
    again = run(work, *hosts)
    assert again.reads.count("GetHostNicServiceTypeStatistic") == 1
    assert len(again.log) < len(hosts)
    assert [entry["services"] for entry in again.report] == [entry["services"] for entry in ran.report]
    changed = new_host(1, services=[{**SERVICES[0], "service_types": ["BackupNetwork"]}])
    assert run(work, changed, *hosts[1:]).calls == ["SetServiceTypeOnHostNetworkInterface"]
    service.fault("fail", operation="GetHostNicServiceTypeStatistic")
    other = run(work, *hosts)
    assert (other.outcomes, other.calls) == (
        ["changed"] + ["unchanged"] * 39,
        ["SetServiceTypeOnHostNetworkInterface"],
    )
    assert [entry["services"] for entry in other.report] == [entry["services"] for entry in ran.report]


@pytest.mark.parametrize("garbage", ["types", "missing"])
def test_service_types_that_are_no_records(service: Simulator, work: WorkflowRunner, garbage: str) -> None:
    """Without the list of all service types, the module reads those of each host."""
    hosts = [new_host(number, services=SERVICES) for number in range(1, 12)]
    run(work, *hosts)
    service.fault("garbage", operation="GetHostNicServiceTypeStatistic", garbage=garbage)
    again = run(work, *hosts)
    assert (again.outcomes, again.calls) == (["unchanged"] * 11, [])


def test_failed_services_leave_a_new_host_disabled(service: Simulator, work: WorkflowRunner) -> None:
    """The error has all interfaces that failed. The next run continues with the rest."""
    missing = {"interface": "eth9", "service_types": []}
    hosts = [new_host(1, services=[*SERVICES, missing, {**missing, "interface": "eth8"}]), new_host(2)]
    ran = run(work, *hosts)
    assert ran.outcomes == ["failed", "changed"]
    assert ran.message.startswith("1 of 2 hosts failed: new-1: interfaces: ")
    assert states(service) == {"new-1": "Disabled", "new-2": "Enabled"}
    entry = ran.report[0]
    assert entry["error"].startswith("host new-1: interfaces: no network interface has the name 'eth9'")
    assert "no network interface has the name 'eth8'. The names are eth0, eth1, eth2, eth3" in entry["error"]
    assert entry["error"].count("host new-1") == 1
    assert (entry["services"], ran.result["changed"]) == (None, True)
    assert ran.result["failures"] == [entry["error"]]
    completed = run(work, new_host(1, services=SERVICES), hosts[1])
    # The service types of eth1 are already set.
    assert (completed.outcomes, completed.calls) == (["changed", "unchanged"], ["ChangeHostState"])


def test_the_password_is_masked_in_what_the_service_says(service: Simulator, work: WorkflowRunner) -> None:
    """The password of another host is masked, too, in the report and in the failures."""
    error = {"code": "HOST.1003", "details": f"ssh root:{PASSWORD}@10.1.0.1: denied, other-word {{{{ 1 }}}}"}
    service.fault("fail", operation="AddKVMHost", error=error)
    ran = run(work, new_host(1), new_host(2, password="other-word"))
    assert sorted(ran.outcomes) == ["changed", "failed"]
    (message,) = ran.result["failures"]
    assert "denied" in message
    assert "{{ 1 }}" in message
    assert "other-word" not in json.dumps(ran.result)


@pytest.mark.parametrize(
    ("is_null", "message"),
    [
        (True, "ive host_onboarding_password to add it"),
        (False, "host_onboarding_password must not be empty"),
    ],
)
@pytest.mark.parametrize("check", [False, True])
def test_an_empty_password_is_none(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch, is_null: bool, message: str, check: bool
) -> None:
    """Before core 2.19, a null password is empty."""
    monkeypatch.setattr(options, "NULL_IS_EMPTY", is_null)
    ran = run(work, new_host(1, password=""), check=check)
    assert (ran.outcomes, ran.calls) == (["failed"], [])
    assert message in ran.report[0]["error"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"state": "absent"},
            "value of host_onboarding_state must be one of: enabled, disabled, maintenance, got: abse",
        ),
        ({"ssh_port": "many"}, "host_onboarding_ssh_port must be a whole number, not 'many'"),
        ({"services": "eth1"}, "each item of host_onboarding_services must be a mapping"),
        ({"services": [{"interface": "eth1"}]}, "missing required arguments: service_types found in host_onb"),
        ({"services": [{"interface": "eth1", "service_types": ["Net"]}]}, "value of service_types must be one or more"),
        (
            {"services": [{"interface": "eth1", "service_types": [], "vlan": 1}]},
            "host_onboarding_services[0]: there is no option vlan. Did you mean vlans?",
        ),
        ({"concurrency": 0}, "host_onboarding_concurrency must be at least 1, not 0"),
        ({"stat": "disabled"}, "has no variable host_onboarding_stat. Did you mean host_onboarding_state?"),
        ({"management_ip": "127.0.0.1"}, "management_ip must not be"),
        ({"management_ip": None}, "give host_onboarding_management_ip to add it"),
        ({"cluster": "cluster-9"}, "cluster: no cluster has the name 'cluster-9'"),
        ({"cluster": None, "password": None}, "give host_onboarding_password and host_onboarding_cluster to add it"),
    ],
)
def test_host_with_invalid_variables_fails_alone(
    service: Simulator, work: WorkflowRunner, variables: dict[str, Any], message: str
) -> None:
    ran = run(work, new_host(1, **variables), new_host(2))
    assert ran.outcomes == ["failed", "changed"]
    assert message in ran.report[0]["error"]
    assert ran.report[0]["error"].startswith("host new-1: ")
    assert states(service) == {"new-2": "Enabled"}


def test_the_first_host_with_valid_variables_says_how_many_are_added_at_the_same_time(
    service: Simulator, work: WorkflowRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, batch = [], Site.batch

    def note(self: Site, module: str, objects: Sequence[Any], concurrency: int) -> list[dict[str, Any]]:
        given.append(concurrency)
        return batch(self, module, objects, concurrency)

    monkeypatch.setattr(Site, "batch", note)
    run(work, new_host(1, state="x", concurrency=2), new_host(2, concurrency=3), new_host(3))
    assert given == [3, 3, 3, 3]


def test_a_host_with_invalid_variables_is_reported_to_its_task(work: WorkflowRunner) -> None:
    """Its name in the inventory is not its name in the service."""
    hosts = {"node-1": new_host(1, state="x"), "node-2": new_host(2, state="x", name=None)}
    ran = work("host_onboarding", create_variables(hosts))
    reports = ran.result["next"]["reports"]
    assert {host: (report["name"], report["management_ip"]) for host, report in reports.items()} == {
        "node-1": ("new-1", "10.1.0.1"),
        "node-2": ("node-2", "10.1.0.2"),
    }
    assert ran.result["next"]["changed"] == []


def test_variables_that_are_not_set() -> None:
    """An omitted variable is a text in core before 2.19; a null is that of a variable without a value."""
    omit = "__omit_place_holder__1"
    host = new_host(1, name=None, ssh_port=omit, services=None, timeout=None, state=None)
    host |= {"cluster": omit, "username": omit}
    variables = {**create_variables({"node-1": host, "node-2": None}), "omit": omit}
    (read,) = read_hosts(Play(variables, keep_value, Masker(), keep_value))
    expected = Settings(name="node-1", management_ip="10.1.0.1", password=PASSWORD, timeout=10800)
    assert (read.wanted, read.errors) == (expected, [])


def test_the_controller_is_not_onboarded_by_default(work: WorkflowRunner) -> None:
    ran = work("host_onboarding", create_variables({"localhost": new_host(1, management_ip="localhost")}))
    assert ran.report[0]["error"] == (
        "host new-1: set host_onboarding_management_ip, or run the role for the hosts of an inventory"
    )


def test_unknown_variables_are_found_wherever_they_are_set(work: WorkflowRunner) -> None:
    """The names of variables of a role or an include, which no fact has."""
    ran = work("host_onboarding", create_variables({"a": new_host(1)}, ("host_onboarding_user_name",)))
    assert "has no variable host_onboarding_user_name. Did you mean host_onboarding_username?" in ran.report[0]["error"]


def test_variables_are_not_copied_with_their_templates(work: WorkflowRunner) -> None:
    """The containers of Ansible refer to all variables, which a deep copy of them would copy."""

    class Container(dict[str, Any]):
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

    assert run(work, new_host(1, services=[Container(SERVICES[0])]), check=True).outcomes == ["changed"]


def test_hosts_without_the_role_are_left_alone(service: Simulator, work: WorkflowRunner) -> None:
    """Hosts that an include skips are left alone, and those of an earlier call. Lost hosts are counted."""
    variables = create_variables({"a": new_host(1), "b": None})
    ran = work("host_onboarding", {**variables, "ansible_play_hosts_all": ["a", "b", "c"]})
    assert list(ran.result["next"]["reports"]) == ["a"]
    assert ran.result["next"]["rows"] == {"failed or unreachable before the role": 1}
    assert list(states(service)) == ["new-1"]
