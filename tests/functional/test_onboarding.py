"""The role host_onboarding: the variables of each host, hosts that fail, and the plays that call it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run

ROLE = "virtinfra.manager.host_onboarding"
PASSWORD = "only-4-the-simulator"
VARIABLES = {
    "host_onboarding_cluster": "cluster-1",
    "host_onboarding_username": "root",
    "host_onboarding_password": PASSWORD,
}
HOSTS = {name: {"ansible_host": f"10.1.0.{number}"} for number, name in enumerate("abc", 1)}


class Onboarder:
    """Runs plays with the role for the hosts of an inventory."""

    def __init__(self, sim: Simulator, runner: PlaybookRunner, folder: Path) -> None:
        self.sim, self.runner, self.inventory = sim, runner, folder / "hosts.json"
        self.hosts: dict[str, dict[str, Any]] = {name: dict(variables) for name, variables in HOSTS.items()}
        self.variables: dict[str, Any] = dict(VARIABLES)

    def run(self, play: Mapping[str, Any] | str, arguments: Sequence[str] = (), verbosity: str = "-v") -> Run:
        """Run a play for all hosts, or a playbook. No output shows the password."""
        content = {"all": {"hosts": self.hosts, "vars": self.variables}}
        self.inventory.write_text(json.dumps(content), encoding="utf-8")
        environment = {"VIRTINFRA_BASE_URL": self.sim.url, "VIRTINFRA_SESSION_ID": self.sim.session}
        options = ["-i", str(self.inventory), "--diff", *([verbosity] if verbosity else []), *arguments]
        plays = play if isinstance(play, str) else [{"hosts": "all", "gather_facts": False, **play}]
        run = self.runner.playbook(plays, options, environment)
        assert PASSWORD not in run.output + json.dumps(run.results)
        return run


def requests_of(run: Run) -> list[dict[str, Any]]:
    """Return the requests of all tasks that changed something."""
    return [entry for played in run for entry in played.requests if entry["method"] != "GET"]


def written_of(run: Run) -> list[str]:
    """Return the operations that changed something."""
    return [str(entry["operation"]) for entry in requests_of(run)]


def added_of(run: Run) -> dict[str, dict[str, Any]]:
    """Return the parameters of each added host by its address."""
    params = [entry["body"]["params"] for entry in requests_of(run) if entry["operation"] == "AddKVMHost"]
    return {each["managementIp"]: each for each in params}


@pytest.fixture
def onboarder(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> Onboarder:
    """Three hosts that the service does not have."""
    return Onboarder(sim, playbook_runner, tmp_path)


def recap_of(run: Run) -> dict[str, dict[str, int]]:
    """Return the counts of the recap by host."""
    rows = re.findall(r"^(\w+) +: (ok=.*)$", run.output, re.MULTILINE)
    hosts = ((host, row) for host, row in rows if host != "localhost")
    return {host: {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", row)} for host, row in hosts}


def failed_of(run: Run) -> list[str]:
    """Return the hosts that the recap shows as failed."""
    return [host for host, counts in recap_of(run).items() if counts["failed"]]


def test_each_host_has_its_variables(onboarder: Onboarder) -> None:
    """Host variables precede group variables, then come those of the play, of the role and the command."""
    onboarder.variables |= {"host_onboarding_ssh_port": 2201, "host_onboarding_username": "group"}
    onboarder.hosts["b"] |= {"host_onboarding_ssh_port": 2202, "host_onboarding_name": {"__ansible_unsafe": "{{ 1 }}"}}
    onboarder.hosts["c"] |= {"host_onboarding_password": "{{ undefined_vault | default(omit) }}"}
    params = {
        "host_onboarding_username": "role-{{ inventory_hostname }}",
        "host_onboarding_services": "{{ services if inventory_hostname == 'a' else [] }}",
    }
    services = [{"interface": "eth1", "service_types": ["StorageNetwork"]}]
    run = onboarder.run(
        {
            "vars": {"host_onboarding_state": "disabled", "host_onboarding_username": "play", "services": services},
            "roles": [{"role": ROLE, "vars": params}],
        },
        ["-e", "host_onboarding_cluster=cluster-2"],
    )
    added = added_of(run)
    assert [(each["name"], each["username"], each["sshPort"]) for each in (added["10.1.0.1"], added["10.1.0.2"])] == [
        ("a", "role-a", 2201),
        ("{{ 1 }}", "role-b", 2202),
    ]
    assert "10.1.0.3" not in added
    assert "give host_onboarding_password to add it" in run.output
    assert written_of(run).count("SetServiceTypeOnHostNetworkInterface") == 1
    (cluster,) = (each["uuid"] for each in onboarder.sim.records("cluster") if each["name"] == "cluster-2")
    assert {each["clusterUuid"] for each in added.values()} == {cluster}
    # a is disabled before its service types are set, and stays so; b is changed after it was added.
    assert written_of(run).count("ChangeHostState") == 2
    counts = recap_of(run)
    assert (counts["b"]["changed"], counts["c"]["changed"], failed_of(run)) == (1, 0, ["c"])


def test_included_roles_have_the_variables_of_the_include(onboarder: Onboarder) -> None:
    """An include may concern some hosts, and each call of it other ones with other variables."""
    include = {
        "ansible.builtin.include_role": {"name": ROLE},
        "when": "inventory_hostname in item.hosts",
        "vars": {"host_onboarding_state": "{{ item.state }}", "host_onboarding_username": "{{ item.user }}"},
        "loop": [
            {"hosts": ["b", "c"], "state": "disabled", "user": "first"},
            {"hosts": ["c"], "state": "enabled", "user": "second"},
        ],
    }
    run = onboarder.run({"tasks": [include]})
    assert run.code == 0, run.output
    assert {ip: params["username"] for ip, params in added_of(run).items()} == {
        "10.1.0.2": "first",
        "10.1.0.3": "first",
    }
    # b and c are disabled, and c is enabled by the second call.
    assert written_of(run).count("ChangeHostState") == 3
    assert [host for host, counts in recap_of(run).items() if counts["changed"] == 0] == ["a"]


def test_a_condition_of_the_first_host_skips_no_host_silently(onboarder: Onboarder) -> None:
    run = onboarder.run({"roles": [{"role": ROLE, "when": "inventory_hostname != 'a'"}]})
    assert written_of(run) == []
    assert failed_of(run) == ["b", "c"]
    assert "Use the role with include_role" in run.output


def test_a_host_that_fails_is_completed_by_the_next_run(onboarder: Onboarder) -> None:
    """Its error is shown as it is: a text of the service is no template. No output has a password."""
    onboarder.variables["host_onboarding_services"] = [{"interface": "eth1", "service_types": ["StorageNetwork"]}]
    other = onboarder.hosts["b"]["host_onboarding_password"] = "other-password"
    details = f"{{{{ 40 + 2 }}}} ports, {PASSWORD} {other}"
    onboarder.sim.fault(
        "fail", operation="SetServiceTypeOnHostNetworkInterface", error={"code": "SYS.1006", "details": details}
    )
    run = onboarder.run("virtinfra.manager.onboard_hosts", verbosity="")
    assert len(failed_of(run)) == 1
    assert 1 < run.output.count("{{ 40 + 2 }} ports") <= 3
    assert other not in run.output + json.dumps(run.results)
    # The task that works for all is no change of the first host, but shows all differences.
    assert [counts["changed"] for counts in recap_of(run).values()] == [1, 1, 1]
    assert "kvm_host a" in run.output
    run = onboarder.run("virtinfra.manager.onboard_hosts", verbosity="-vvv")
    assert (run.code, written_of(run)) == (0, ["SetServiceTypeOnHostNetworkInterface", "ChangeHostState"]), run.output
    assert sorted(counts["changed"] for counts in recap_of(run).values()) == [0, 0, 1]
    # Without a failure, the task that fails is skipped once, not for each host.
    assert [counts["skipped"] for counts in recap_of(run).values()] == [1, 0, 0]
    assert other not in run.output + json.dumps(run.results)


def test_hosts_without_ansible_host(onboarder: Onboarder) -> None:
    """Their addresses are their names: the task is delegated to localhost, whose address is another one."""
    onboarder.hosts = {"10.0.0.31": {}, "host-32.example.com": {}, "localhost": {"ansible_connection": "local"}}
    run = onboarder.run("virtinfra.manager.onboard_hosts")
    assert sorted(added_of(run)) == ["10.0.0.31", "host-32.example.com"]
    assert "set host_onboarding_management_ip, or run the role for the hosts of an inventory" in run.output


def test_the_workflow_fails_before_it_starts(onboarder: Onboarder) -> None:
    """Each host with the role fails with the reason; a host without it does not."""
    include = {"ansible.builtin.include_role": {"name": ROLE}, "when": "inventory_hostname != 'a'"}
    run = onboarder.run(
        {
            "module_defaults": {"group/virtinfra.manager.api": {"wait_timeout": "soon"}},
            "tasks": [include],
        }
    )
    assert failed_of(run) == ["b", "c"]
    assert "wait_timeout must be a number" in run.output
    reports = [
        played.result["ansible_facts"]["host_onboarding_report"] for played in run if played.task.endswith("_report")
    ]
    assert sorted((report["name"], report["outcome"], report["uuid"]) for report in reports) == [
        ("b", "failed", None),
        ("c", "failed", None),
    ]


def test_the_playbook_shows_its_table_when_all_hosts_fail(onboarder: Onboarder) -> None:
    onboarder.variables["host_onboarding_cluster"] = "cluster-9"
    run = onboarder.run("virtinfra.manager.onboard_hosts")
    assert run.code == 2
    assert failed_of(run) == ["a", "b", "c"]
    assert added_of(run) == {}
    (table,) = [played.result["msg"] for played in run if played.task.endswith("Show a summary")]
    assert [line.split() for line in table[:2]] == [["hosts", "3"], ["failed", "3"]]
    assert [line[:15] for line in table if line.startswith("failed: ")] == [f"failed: host {name}:" for name in "abc"]


def test_a_host_with_invalid_variables_fails_alone(onboarder: Onboarder) -> None:
    """Without the validation of Ansible, the role itself refuses what the modules would accept."""
    onboarder.hosts["a"]["host_onboarding_state"] = "absent"
    onboarder.hosts["b"]["host_onboarding_ssh_port"] = "many"
    include = {"ansible.builtin.include_role": {"name": ROLE, "rolespec_validate": False}}
    run = onboarder.run({"tasks": [include]})
    assert failed_of(run) == ["a", "b"]
    assert list(added_of(run)) == ["10.1.0.3"]
    assert (
        "host a: value of host_onboarding_state must be one of: enabled, disabled, maintenance, got: absent"
        in run.output
    )
    assert "host b: host_onboarding_ssh_port must be a whole number, not 'many'" in run.output


@pytest.mark.parametrize(("percentage", "added"), [(0, ["10.1.0.2"]), (100, ["10.1.0.2", "10.1.0.3"])])
def test_failures_count_for_the_play(onboarder: Onboarder, percentage: int, added: list[str]) -> None:
    """The first batch has a host that fails and one that does not, which is completed."""
    onboarder.hosts["a"]["host_onboarding_cluster"] = "cluster-9"
    run = onboarder.run({"roles": [ROLE], "serial": 2, "max_fail_percentage": percentage})
    assert run.code == 2
    assert failed_of(run) == ["a"]
    assert sorted(added_of(run)) == added


@pytest.mark.parametrize("place", ["module_defaults", "a template of them", "environment"])
def test_hosts_of_two_services_are_refused(onboarder: Onboarder, place: str) -> None:
    """A task that runs once has the connection of the first host, so it would add all hosts to its service."""
    for name, host in onboarder.hosts.items():
        host["site_url"] = onboarder.sim.url.replace("127.0.0.1", "localhost") if name == "c" else onboarder.sim.url
    options = {"base_url": "{{ site_url }}"}
    keywords: dict[str, Any] = {
        "module_defaults": {"module_defaults": {"group/virtinfra.manager.api": options}},
        "a template of them": {
            "module_defaults": {"group/virtinfra.manager.api": "{{ connection }}"},
            "vars": {"connection": options},
        },
        "environment": {"environment": {"VIRTINFRA_BASE_URL": "{{ site_url }}"}},
    }
    play = {"roles": [ROLE], **keywords[place]}
    run = onboarder.run(play)
    assert (written_of(run), failed_of(run)) == ([], ["a", "b", "c"])
    assert f"base_url: {onboarder.sim.url} (a and 1 more), base_url: http://localhost:" in run.output
    for host in onboarder.hosts.values():
        host["site_url"] = onboarder.sim.url
    assert sorted(added_of(onboarder.run(play))) == ["10.1.0.1", "10.1.0.2", "10.1.0.3"]


@pytest.mark.parametrize("strategy", ["free", "host_pinned", "ansible.builtin.host_pinned"])
def test_strategies_that_ignore_run_once_are_refused(onboarder: Onboarder, strategy: str) -> None:
    run = onboarder.run({"roles": [ROLE], "strategy": strategy})
    assert written_of(run) == []
    assert failed_of(run) == ["a", "b", "c"]
    assert f"strategy {strategy} ignores run_once, so each host of the play would process all objects" in run.output


def test_calls_of_the_role_are_independent_and_failures_end_the_play(onboarder: Onboarder) -> None:
    """A host that is unreachable before the role is not added, and a second call does not repeat the first one.

    Tasks with other tags do not run. With any_errors_fatal, the host that fails ends the play for all of them.
    """
    onboarder.hosts["a"] |= {"ansible_connection": "local"}
    onboarder.hosts["b"] |= {"ansible_connection": "local"}
    onboarder.hosts["c"] |= {"ansible_connection": "ssh", "ansible_port": 1, "ansible_host": "127.0.0.1"}
    call = {"ansible.builtin.import_role": {"name": ROLE, "rolespec_validate": False}, "tags": ["onboard"]}
    second = {
        "host_onboarding_state": "disabled",
        "host_onboarding_ssh_port": "{{ 22 if inventory_hostname == 'a' else 'x' }}",
    }
    tasks = [
        {"ansible.builtin.raw": "true", "tags": ["onboard"]},
        {**call, "name": "First call"},
        {"ansible.builtin.debug": {"msg": "other tag"}, "tags": ["other"]},
        {**call, "name": "Second call", "vars": second, "any_errors_fatal": True},
        {"ansible.builtin.debug": {"msg": "after the failure"}, "tags": ["onboard"]},
    ]
    run = onboarder.run({"tasks": tasks}, ["--tags", "onboard"])
    assert sorted(added_of(run)) == ["10.1.0.1", "10.1.0.2"]
    # The first call adds a and b enabled; the second disables a, and refuses the variables of b.
    assert written_of(run) == ["AddKVMHost", "AddKVMHost", "ChangeHostState"]
    counts = recap_of(run)
    assert (failed_of(run), counts["c"]["unreachable"]) == (["b"], 1)
    assert "other tag" not in run.output
    assert "after the failure" not in run.output
    (first, last) = (played.result["msg"] for played in run if played.task.endswith("Show a summary"))
    assert [line.split() for line in first[:2]] == [["hosts", "2"], ["changed", "2"]]
    assert "failed or unreachable before the role       1" in last
