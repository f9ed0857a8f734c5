"""Predict, run and repeat the playbooks of docs/examples, the guides and the README."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Run
from support.repositories import make_repository

EXAMPLES = ROOT / "docs" / "examples"
SHOWN = sorted(EXAMPLES.glob("*/playbook.yml"))
INVENTORY = EXAMPLES / "play_over_inventory" / "lab.virtinfra_hosts.yml"
VMS = 40

# The playbooks of roles, each before those that need its objects.
OF_ROLES = (
    *("restore_vms", "notifications", "maintenance_walk", "evacuate_hosts", "onboard_hosts"),
    *("remove_hosts", "power_vms", "shut_down_site", "snapshot_vms", "back_up_vms"),
    *("vm_backup_report", "capacity_report", "describe", "drift"),
)

# Playbooks that need real disks; tests/backup runs their roles.
WITH_DISKS = ("restore_vm_backup", "prove_backups")

# Secrets that no output of a role may show.
SESSION, PASSWORD, URL_KEY = "5e5510a0", "pa55w0rd-of-ssh", "key-0f-the-chat"


def playbooks_of_guide(guide: str) -> list[str]:
    """Return the YAML blocks of a guide that begin with a play."""
    text = (ROOT / "docs" / "docsite" / "rst" / f"guide_{guide}.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"yaml\+jinja\n\n(.*?)\n\n(?=\S)", text, re.S)
    return [block for block in map(dedent, blocks) if "hosts: localhost" in block]


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    """One playbook with all examples, so that one process runs them."""
    (first_steps,) = playbooks_of_guide("getting_started")
    by_requests, by_module = playbooks_of_guide("migrating")
    # Check mode skips the requests, so the following tasks have no data.
    by_requests = by_requests.replace("gather_facts: false", "gather_facts: false\n  tags: [requests]")
    guides = {"first_steps": first_steps, "by_module": by_module, "by_requests": by_requests}
    for name, text in guides.items():
        (tmp_path / f"{name}.yml").write_text(text, encoding="utf-8")
    paths = [*(tmp_path / f"{name}.yml" for name in guides), *SHOWN]
    book = tmp_path / "all.yml"
    book.write_text(json.dumps([{"import_playbook": str(path)} for path in paths]), encoding="utf-8")
    return book


def test_examples(sim: Simulator, playbook_runner: PlaybookRunner, playbook: Path) -> None:
    sim.reset(vms=VMS)
    environment = {
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "NEW_HOSTS_PASSWORD": "secret",
        "VIRTINFRA_ACCOUNT": "admin",
        "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password",
        "VIRTINFRA_BASE_URL": sim.url,
        "VIRTINFRA_SESSION_ID": sim.session,
    }

    def play(*arguments: str) -> Run:
        vault = ["--vault-password-file", str(EXAMPLES / "vault" / "vault_password.txt")]
        options = ["-i", str(INVENTORY), "-e", "ssh_password=secret", *vault, *arguments]
        run = playbook_runner.playbook(str(playbook), options, environment)
        assert run.code == 0, run.output
        return run

    def changed(run: Run) -> list[str]:
        return [played.task for played in run if played.result.get("changed")]

    predicted = play("--check", "--skip-tags", "requests")
    assert [group["name"] for group in sim.records("snapshotgroup")] == ["snapshot-group-1"]
    assert len(sim.records("host")) == 3

    done = play()
    assert {played.task for played in predicted if played.result.get("changed")} <= set(changed(done))
    hosts = {host["name"]: host["state"] for host in sim.records("host")}
    assert sorted(hosts)[2:] == ["host-21", "host-3", "host-31", "host-32", "host-33"]
    assert hosts["host-1"] == "Maintenance"
    groups = Counter(group["name"] for group in sim.records("snapshotgroup"))
    assert groups == {"snapshot-group-1": 1, "first-state": 1, "before-update": VMS // 2}
    waits = [played.result["summary"]["succeeded"] for played in done if played.action.endswith("job_wait")]
    assert waits == [VMS // 2]

    # Only the hosts that were added to the inventory need a change.
    assert changed(play("--skip-tags", "requests")) == ["Set the service types of the interface"] * 4


def test_spreadsheet_as_programs_write_it(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> None:
    folder = tmp_path / "onboarding"
    shutil.copytree(EXAMPLES / "onboarding_from_csv", folder)
    rows = [
        "note;name;address;cluster",
        '"a; ""b""";host-41;10.0.0.41;"cluster-1"',
        ";;;",
        "c;host-42;10.0.0.42;cluster-2",
    ]
    (folder / "hosts.csv").write_text("\ufeff" + "\r\n".join(rows) + "\r\n", encoding="utf-8")
    environment = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session, "NEW_HOSTS_PASSWORD": "secret"}
    run = playbook_runner.playbook(str(folder / "playbook.yml"), environment=environment)
    assert run.code == 0, run.output
    added = {host["name"]: host["managementIp"] for host in sim.records("host") if host["name"].startswith("host-4")}
    assert added == {"host-41": "10.0.0.41", "host-42": "10.0.0.42"}


def vars_file_of_the_guide(folder: Path) -> str:
    """Return the shortest vars files of all playbooks of roles as one, with their files in a folder."""
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_roles.rst").read_text(encoding="utf-8")
    section = guide.partition("\nThe shortest variables\n")[2]
    text = textwrap.dedent(
        section.partition(".. code-block:: yaml+jinja\n")[2].partition("\nIn your own playbooks\n")[0]
    )
    assert sorted(re.findall("^# (\\w+)$", text, re.MULTILINE)) == sorted((*OF_ROLES, *WITH_DISKS))
    text = text.replace("/srv/backups", str(make_repository(folder / "repository")))
    return re.sub(r"/etc/virtinfra\b|/var/www/html\b", str(folder), text)


@pytest.fixture
def vars_file(tmp_path: Path) -> Path:
    """The variables of the guide, and what they refer to."""
    (tmp_path / "update_firmware.yml").write_text("[{ansible.builtin.ping: }]", encoding="utf-8")
    endpoint = {"type": "workchat", "name": "chat", "url": f"https://chat.example.com/send?key={URL_KEY}"}
    others = {
        "vault_ssh_password": PASSWORD,
        "onboard_hosts_pattern": "new",
        "maintenance_walk_pattern": "old",
        "host_removal_destroy_local_storage": True,
        # Check mode creates no VM with the names of the guide.
        "vm_power_allow_empty": True,
        "site_shutdown_allow_empty": True,
        # The other playbooks need the VMs and hosts.
        "site_shutdown_remaining": False,
        "site_shutdown_hosts": False,
        "vm_snapshots_allow_empty": True,
        # The simulator has no disks. In a run, vm_power has stopped the VM, so that it is skipped.
        "vm_backup_stopped": False,
        "vm_backup_allow_empty": True,
        "notifications_endpoints": [endpoint],
    }
    text = f"{vars_file_of_the_guide(tmp_path)}\n{yaml.safe_dump(others)}"
    (tmp_path / "vars.yml").write_text(text, encoding="utf-8")
    return tmp_path / "vars.yml"


@pytest.mark.nightly
def test_vars_files_of_the_guide(sim: Simulator, playbook_runner: PlaybookRunner, vars_file: Path) -> None:
    """One playbook with all playbooks of roles, with a host that fails in the first run; no output shows a secret."""
    sim.reset(clusters=1, session=SESSION)
    sim.change("snapshotgroup", sim.records("snapshotgroup")[0]["uuid"], name="web-1-nightly")
    book, hosts = vars_file.with_name("all.yml"), vars_file.with_name("hosts.yml")
    book.write_text(yaml.safe_dump([{"import_playbook": f"virtinfra.manager.{name}"} for name in OF_ROLES]))
    old = {"host-1": {"virtinfra_uuid": sim.records("host")[0]["uuid"], "ansible_connection": "local"}}
    new = {f"host-{number}": {"ansible_host": f"10.0.0.{number}"} for number in (21, 22)}
    retired = {"host-2": {"virtinfra_uuid": sim.records("host")[1]["uuid"]}}
    hosts.write_text(yaml.safe_dump({"old": {"hosts": old}, "new": {"hosts": new}, "retired": {"hosts": retired}}))
    environment = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": SESSION}
    arguments = ["-i", str(hosts), "-e", f"@{vars_file}", "-vvvvv", "--diff"]

    def play(*more: str) -> Run:
        run = playbook_runner.playbook(str(book), [*arguments, *more], environment)
        results = json.dumps([played.result for played in run])
        assert [secret for secret in (SESSION, PASSWORD, URL_KEY) if secret in run.output + results] == []
        return run

    def changed(run: Run) -> set[str]:
        return {played.play for played in run if played.result.get("changed")}

    before = sim.state()
    predicted = play("--check")
    assert predicted.code == 0, predicted.output
    assert sim.state() == before

    sim.fault("fail", "AddKVMHost", error={"code": "HOST.1003", "details": f"ssh root:{PASSWORD}@10.0.0.21: denied"})
    assert play().code == 2
    assert len(sim.records("host")) == 3

    completed = play()
    assert completed.code == 0, completed.output
    assert len(sim.records("host")) == 4
    written = {"Write the capacity report", "Describe the service"}
    # The free space of the repository changes at any time.
    assert changed(completed) - {"Write the page about backups"} == {
        "Onboard hosts",
        "Walk through the hosts",
        *written,
    }
    onboarding = [played for played in completed if played.play == "Onboard hosts" and played.result.get("changed")]
    # One task adds all hosts; the report of the host that is new is what has changed.
    assert [played.task.rpartition(" : ")[2] for played in onboarding] == ["Set the fact host_onboarding_report"]
    assert changed(predicted) >= changed(completed)
    summaries = [played.result["msg"] for played in completed if played.task.endswith("Show a summary")]
    assert len(summaries) == len(OF_ROLES)
    assert [lines for lines in summaries if not lines[-1].startswith("Details are in ")] == []
