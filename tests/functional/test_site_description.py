"""The roles site_description and site_drift: a description has no drift, and drift names exactly what was changed."""

from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.launch import Simulator
from support.hostile_texts import evaluated, hostile_texts
from support.module_runner import ModuleRunner
from support.playbook_runner import PlaybookRunner, Run

URL_KEY = "key-0f-the-chat"
FILES = ("hosts.yml", "group_vars/all/notifications.yml")


class Site:
    """Describes a service in a folder, and compares it with the description."""

    def __init__(self, sim: Simulator, runner: PlaybookRunner, folder: Path) -> None:
        self.sim, self.runner, self.folder = sim, runner, folder / "site"

    def _play(self, playbook: str, *arguments: str) -> Run:
        environment = {"VIRTINFRA_BASE_URL": self.sim.url, "VIRTINFRA_SESSION_ID": self.sim.session}
        self.sim.clear_log()
        run = self.runner.playbook(f"virtinfra.manager.{playbook}", arguments, environment)
        assert {entry["method"] for entry in self.sim.log()} <= {"GET"}
        assert URL_KEY not in run.output + json.dumps(run.results)
        return run

    def describe(self, *arguments: str) -> Run:
        """Write the files, and return the run after checking that it succeeded."""
        run = self._play("describe", "-e", f"site_description_folder={self.folder}", *arguments)
        assert run.code == 0, run.output
        return run

    def compare(self, *arguments: str) -> tuple[Run, list[dict[str, Any]]]:
        """Return the run of the comparison, and the entries of its report that are not the same."""
        run = self._play("drift", "-i", str(self.folder / "hosts.yml"), *arguments)
        return run, [entry for entry in run.get_fact("site_drift_report") if entry["outcome"] != "same"]

    def write(self, files: Mapping[str, str]) -> None:
        """Write files with these contents."""
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def read(self) -> dict[str, str]:
        """Return the contents of the files by their paths."""
        return {name: (self.folder / name).read_text(encoding="utf-8") for name in FILES}


@pytest.fixture
def site(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> Site:
    """A service with everything that can be described."""
    sim.reset(hosts=3, vms=4, cbt_tasks=1)
    chat = {"type": "workchat", "name": "operators", "url": f"https://chat.example.com/send?key={URL_KEY}"}
    services = {"host": "host-2", "interfaces": ["eth1"], "vlan_ids": [100, 200], "service_types": ["StorageNetwork"]}
    change = ModuleRunner(sim)
    assert change("sns_endpoint", {**chat, "at_person_list": {"user-9": "deputy"}, "topics": ["topic-2"]}).changed
    assert change("host_nic_service", services).changed
    assert change("kvm_host", {"name": "host-3", "state": "disabled"}).changed
    return Site(sim, playbook_runner, tmp_path)


def test_description_has_no_drift(site: Site) -> None:
    predicted = site.describe("--check")
    assert not site.folder.exists()
    assert "Describe the objects of the service in files" in {
        played.task.rpartition(": ")[2] for played in predicted if played.result["changed"]
    }
    site.describe()
    files = site.read()
    assert {stat.S_IMODE((site.folder / name).stat().st_mode) for name in FILES} == {0o600}
    assert not any(played.result.get("changed") for played in site.describe())
    assert site.read() == files
    check_variables(site)
    # A description that is empty is no option of a role, so it is not compared.
    change("endpoint", {"name": "snmp-endpoint-1"}, description="x")(site)
    run, drift = site.compare()
    assert (drift, run.code) == ([], 0), run.output
    assert not any(played.result.get("changed") for played in run)


def check_variables(site: Site) -> None:
    """Check that the files have the variables of the roles."""
    hosts, notifications = (yaml.safe_load(text) for text in site.read().values())
    group = hosts["site_hosts"]
    assert group["hosts"]["host-2"]["host_onboarding_services"] == [
        {"interface": "eth0", "vlans": [0], "service_types": ["ManagementNetwork"]},
        {"interface": "eth1", "vlans": [100], "service_types": ["StorageNetwork"]},
        {"interface": "eth1", "vlans": [200], "service_types": ["StorageNetwork"]},
    ]
    assert group["hosts"]["host-3"]["host_onboarding_state"] == "disabled"
    assert group["vars"]["host_onboarding_password"] == "{{ vault_host_onboarding_password | default(omit) }}"
    (chat,) = [entry for entry in notifications["notifications_endpoints"] if entry["type"] == "workchat"]
    assert chat["url"] == "{{ vault_notifications_url_operators | default(omit) }}"
    assert (chat["at_person_list"], chat["topics"]) == ({"user-9": "deputy"}, ["topic-2"])


@pytest.fixture(scope="module")
def description() -> dict[str, str]:
    """The contents of the files that describe the service, once a test has needed them."""
    return {}


@pytest.fixture
def described(site: Site, description: dict[str, str]) -> Site:
    """The service, and the files that describe it."""
    if description:
        site.write(description)
    else:
        site.describe()
        description |= site.read()
    return site


def find(site: Site, kind: str, **members: Any) -> dict[str, Any]:
    """Return the first record with these members."""
    return next(record for record in site.sim.records(kind) if members.items() <= record.items())


def change(kind: str, members: dict[str, Any], **changes: Any) -> Callable[[Site], None]:
    """Return a function that changes a record in the service."""
    return lambda site: site.sim.change(kind, find(site, kind, **members)["uuid"], **changes)


def set_services(*types: str, vlan: int = 100, interface: str = "eth1") -> Callable[[Site], None]:
    """Return a function that sets service types of an interface of the second host."""

    def act(site: Site) -> None:
        options = {"host": "host-2", "interfaces": [interface], "vlan_ids": [vlan], "service_types": list(types)}
        assert not ModuleRunner(site.sim)("host_nic_service", options).failed

    return act


def add_topic(site: Site) -> None:
    assert ModuleRunner(site.sim)("sns_topic", {"name": "new-topic"}).changed


def remove_topic(site: Site) -> None:
    options = {"name": "topic-2", "state": "absent", "force": True}
    assert ModuleRunner(site.sim)("sns_topic", options).changed


def check(site: Site, *expected: tuple[str, str, str, str], is_lenient: bool = False) -> None:
    """Check that a comparison reports these kinds, names and outcomes, with these texts in the errors.

    It fails unless ``is_lenient``. Such a comparison also knows a secret of the description, and shows the most.
    """
    given = [f"vault_notifications_url_operators=https://chat.example.com/send?key={URL_KEY}", "site_drift_fail=false"]
    arguments = ["-vvv", "-e", given[0], "-e", given[1]] if is_lenient else []
    run, drift = site.compare(*arguments)
    found = sorted((entry["kind"], entry["name"], entry["outcome"]) for entry in drift)
    assert found == sorted(row[:3] for row in expected), drift
    assert {row for row in expected for entry in drift if is_row(row, entry)} == {*expected}
    assert run.code == (0 if is_lenient else 2)
    assert is_lenient or f"{len(expected)} of " in run.tasks[-1].result["msg"]


def is_row(row: tuple[str, ...], entry: dict[str, Any]) -> bool:
    return row[:3] == (entry["kind"], entry["name"], entry["outcome"]) and row[3] in entry["error"]


def test_drift_names_each_object_that_was_changed(described: Site) -> None:
    change("host", {"name": "host-1"}, state="Disabled")(described)
    change("host", {"name": "host-3"}, name="renamed")(described)
    set_services("BackupNetwork")(described)
    set_services(vlan=200)(described)
    set_services("TenantNetwork", interface="eth2", vlan=0)(described)
    # The open session of a backup is no drift.
    described.sim.change("cbttask", described.sim.records("cbttask")[0]["uuid"], status="Running")
    change("platform", {"name": "snmp-1"}, snmpAddress="192.0.2.200")(described)
    change("topic", {"name": "topic-1"}, state="Disabled")(described)
    change("endpoint", {"name": "operators"}, state="Disabled")(described)
    described.sim.change("person", described.sim.records("person")[0]["uuid"], remark="on holiday")
    add_topic(described)
    check(
        described,
        ("host", "host-1", "differs", "state is 'Disabled', described as 'Enabled'"),
        ("host", "host-3", "differs", "name"),
        ("service", "host-2 eth1 VLAN 100", "differs", "BackupNetwork"),
        ("service", "host-2 eth1 VLAN 200", "differs", "StorageNetwork"),
        ("service", "host-2 eth2 VLAN 0", "not described", ""),
        ("platform", "snmp-1", "differs", "192.0.2.200"),
        ("topic", "topic-1", "differs", "state"),
        ("topic", "new-topic", "not described", ""),
        ("endpoint", "operators", "differs", "state is 'Disabled', described as 'Enabled'"),
        ("person", "user-1 of teamchat-endpoint-1", "differs", "on holiday"),
    )


def test_drift_names_what_is_gone_or_has_another_key(described: Site) -> None:
    change("host", {"name": "host-1"}, managementIp="192.0.2.77")(described)
    change("host", {"name": "host-2"}, state="Maintenance")(described)
    remove_topic(described)
    change("endpoint", {"name": "snmp-endpoint-1"}, name="others")(described)
    check(
        described,
        ("host", "host-1", "missing", "the service does not have it"),
        ("host", "host-1", "not described", "the service has it"),
        ("host", "host-2", "differs", "state is 'Maintenance', described as 'Enabled'"),
        ("topic", "topic-2", "missing", ""),
        ("endpoint", "operators", "differs", "it is described with topic topic-2, which the service does not have"),
        ("endpoint", "snmp-endpoint-1", "missing", ""),
        ("endpoint", "others", "not described", ""),
        is_lenient=True,
    )


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder for texts that name one of its files: a remark has at most 128 characters."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_texts_of_the_service_stay_texts(site: Site, short_path: Path) -> None:
    texts = [*hostile_texts(short_path), "=", "<<", "".join(map(chr, (*range(1, 32), 0x7F, 0x85, 0x2028)))]
    for kind in ("host", "cluster", "platform", "topic", "endpoint"):
        for number, record in enumerate(site.sim.records(kind)):
            members = {"name": f"{texts[number % len(texts)]} {number}", "description": texts[-1]}
            site.sim.change(kind, record["uuid"], **members)
    for person in site.sim.records("person"):
        site.sim.change("person", person["uuid"], remark=texts[0])
    site.describe()
    run, drift = site.compare()
    assert (drift, run.code) == ([], 0), run.output
    assert evaluated(short_path) == []


def test_unreadable_kind_keeps_its_file(described: Site) -> None:
    files = described.read()
    described.sim.change("host", find(described, "host", name="host-1")["uuid"], state="Disabled")
    described.sim.fault("fail", "QuerySNSTopic", count=None)
    run = described._play("describe", "-e", f"site_description_folder={described.folder}")
    assert run.code == 2
    assert "Files whose records could not be read were not changed" in run.output
    assert [name for name, text in described.read().items() if text != files[name]] == ["hosts.yml"]
    run, drift = described.compare("-e", "site_drift_fail=false")
    assert (run.code, [(entry["name"], entry["outcome"]) for entry in drift]) == (2, [("topics", "failed")])


def test_nothing_described_is_a_mistake(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> None:
    run = Site(sim, playbook_runner, tmp_path)._play("drift")
    assert run.code == 2
    assert "Give the files of the description, for example with -i site/hosts.yml" in run.output
