"""No text of the service is evaluated in results, roles and playbooks. Before core 2.19 all strings were templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.hostile_texts import evaluated, hostile_texts
from support.playbook_runner import PlaybookRunner, Run, Task
from support.repositories import make_repository
from support.stub_server import StubResponse, StubServer

HOST = "a0000003000040008000000000000001"


INVENTORY = {
    "all": {
        "hosts": {"localhost": {"ansible_connection": "local"}, "other": {"ansible_connection": "local"}},
        "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"},
    }
}


def repair(
    sim: Simulator, runner: PlaybookRunner, uuid: str = HOST, groups: Mapping[str, Any] | None = None, **members: Any
) -> Run:
    """Run the playbook repair_host for a host with these members; the task of the user shows where it runs."""
    folder = runner.folder
    tasks, inventory = folder / "repair.yml", folder / "inventory.json"
    show = {"msg": "{{ inventory_hostname }} {{ ansible_host }} {{ virtinfra_uuid }}"}
    task = {"name": "Repair", "ansible.builtin.debug": show, "delegate_to": "localhost"}
    tasks.write_text(json.dumps([task]), encoding="utf-8")
    inventory.write_text(json.dumps({"all": {**INVENTORY["all"], "children": groups or {}}}), encoding="utf-8")
    sim.change("host", HOST, diskStatus="Error", **members)
    event = {"change": {"uuid": uuid, "field": "disk_status"}}
    given = {"ansible_eda": {"event": event}, "host_maintenance_tasks": str(tasks)}
    arguments = ["-i", str(inventory), "-e", json.dumps(given)]
    known = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    return runner.playbook("virtinfra.manager.repair_host", arguments, known)


def repairs(run: Run) -> list[str]:
    """Return where the task of the user ran: the name, the address and the uuid of the host."""
    return [str(played.result["msg"]) for played in run if played.task == "Repair"]


@pytest.mark.parametrize("name", ["localhost", "other", "all", "{{ TEMPLATE }}"])
def test_repair_host_uses_a_new_inventory_host(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, name: str
) -> None:
    """Whatever the name of the host is, the tasks run on an inventory host of their own."""
    texts = hostile_texts(tmp_path)
    members: dict[str, Any] = dict(
        zip(("description", "architecture", "cpuModel", "{{ key }}", "extraMember"), texts, strict=False)
    )
    name = name.replace("{{ TEMPLATE }}", texts[0])
    run = repair(sim, playbook_runner, name=name, managementIp="192.0.2.1", **members)
    assert run.code == 0, run.output
    assert repairs(run) == [f"{HOST} 192.0.2.1 {HOST}"]
    assert evaluated(tmp_path) == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "localhost", "2130706433"),
        *("-oProxyCommand=touch evaluated", "root@192.0.2.1", "192.0.2.1 -v", "", None, "{{ TEMPLATE }}"),
    ],
)
def test_repair_host_refuses_addresses(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, address: str | None
) -> None:
    """An address of this machine, an option of ssh, or a template."""
    address = address and address.replace("{{ TEMPLATE }}", hostile_texts(tmp_path)[0])
    run = repair(sim, playbook_runner, managementIp=address)
    assert run.code != 0, run.output
    assert "is not the address of another machine" in run.output
    assert not any(played.written for played in run)
    assert repairs(run) == []
    assert evaluated(tmp_path) == []


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"web": {"hosts": {HOST: {"ansible_connection": "local"}}}}, "already has a host or group with this name"),
        ({HOST: {"hosts": {"other": {}}}}, "already has a host or group with this name"),
        ({"virtinfra_repair": {"hosts": {"other": {}}}}, "virtinfra_repair of the inventory already has hosts"),
    ],
    ids=["host", "group", "members"],
)
def test_repair_host_reuses_no_inventory_host(
    sim: Simulator, playbook_runner: PlaybookRunner, groups: dict[str, Any], reason: str
) -> None:
    run = repair(sim, playbook_runner, groups=groups, managementIp="192.0.2.1")
    assert run.code != 0, run.output
    assert reason in run.output
    assert not any(played.written for played in run)
    assert repairs(run) == []


@pytest.mark.parametrize("uuid", ["localhost", "all", "{{ TEMPLATE }}", f"{HOST}\n"])
def test_repair_host_refuses_other_uuids(playbook_runner: PlaybookRunner, tmp_path: Path, uuid: str) -> None:
    """A service names a host by something that is not a uuid."""
    uuid = uuid.replace("{{ TEMPLATE }}", hostile_texts(tmp_path)[0])
    record = {"uuid": uuid, "name": "host-1", "managementIp": "192.0.2.1", "diskStatus": "Error"}
    with StubServer(lambda dummy: StubResponse(200, {"inventories": [record], "total": 1})) as service:
        tasks = tmp_path / "repair.yml"
        tasks.write_text("[]", encoding="utf-8")
        event = {"change": {"uuid": uuid.replace("{{", "{ {"), "field": "disk_status"}}
        given = {"ansible_eda": {"event": event}, "host_maintenance_tasks": str(tasks)}
        known = {"VIRTINFRA_BASE_URL": service.url, "VIRTINFRA_SESSION_ID": "x"}
        arguments = ["-i", "localhost,", "-e", "ansible_connection=local", "-e", json.dumps(given)]
        run = playbook_runner.playbook("virtinfra.manager.repair_host", arguments, known)
        assert all(request.method == "GET" for request in service.requests)
    assert "Walk through the hosts" not in run.output
    assert evaluated(tmp_path) == []


ROLES: dict[str, dict[str, Any]] = {
    "capacity_report": {
        "capacity_report_path": "FOLDER/report.html",
        "capacity_report_backup_repository": "FOLDER",
        "capacity_report_backup_fail": True,
    },
    "host_evacuation": {"host_evacuation_hosts": [HOST], "host_evacuation_unmovable": "keep"},
    "host_maintenance": {
        "host_maintenance_tasks": "FOLDER/tasks.yml",
        "host_maintenance_uuid": HOST,
        "host_maintenance_least_available": 0,
        "host_maintenance_on_failure": "restore",
    },
    "host_onboarding": {
        "host_onboarding_name": "host-9",
        "host_onboarding_management_ip": "192.0.2.9",
        "host_onboarding_cluster": "a0000002000040008000000000000001",
        "host_onboarding_username": "root",
        "host_onboarding_password": "secret",
        "host_onboarding_services": [{"interface": "eth1", "service_types": ["StorageNetwork"]}],
    },
    "host_removal": {"host_removal_uuid": HOST, "host_removal_least_available": 0},
    "notifications": {
        "notifications_platforms": [{"uuid": "a000000c000040008000000000000001", "description": "new"}],
        "notifications_endpoints": [{"type": "workchat", "name": "chat", "url": "https://chat.example.com"}],
        "notifications_test": True,
    },
    "site_shutdown": {
        "site_shutdown_host_query": [f"uuid={HOST}"],
        "site_shutdown_grace_timeout": 1,
    },
    "site_description": {"site_description_folder": "FOLDER/site"},
    "site_drift": {"notifications_topics": [{"name": "topic-1"}]},
    "vm_power": {
        "vm_power_state": "stopped",
        "vm_power_groups": [{"name": "all", "query": ["platform=Linux"]}],
        "vm_power_grace_timeout": 1,
    },
    "vm_backup": {
        "vm_backup_query": ["platform=Linux"],
        "vm_backup_repository": "FOLDER",
    },
    "vm_backup_report": {"vm_backup_report_path": "FOLDER/backups.html", "vm_backup_report_repository": "FOLDER"},
    "vm_snapshots": {"vm_snapshots_query": ["platform=Linux"], "vm_snapshots_keep": 1},
    "vm_restore": {
        "vm_restore_name_suffix": "-drill",
        "vm_restore_vms": [
            {
                "name": "vm-1",
                "snapshot_group": "a000000b000040008000000000000001",
                "l3_networks": ["a0000005000040008000000000000001"],
                "clear_qos": True,
            }
        ],
    },
}
# What the roles call that have no report if they cannot mark what they stop or migrate.
MOVES = {"host_evacuation": "MigrateVm", "site_shutdown": "StopVmInstance", "vm_power": "StopVmInstance"}
KINDS = ("cluster", "host", "l3network", "primarystorage", "snapshotgroup", "vm", "cbttask", "platform", "endpoint")


def make_hostile(sim: Simulator, texts: list[str]) -> None:
    """Set the free texts of all records, and further members, to all forms of hostile texts in turn."""
    form = cycle(texts)
    for kind in KINDS:
        for record in sim.records(kind):
            members = ("name", "description", "extraMember", "{{ extra }}", "memoryStatus")
            sim.change(kind, record["uuid"], **{member: next(form) for member in members})


@pytest.mark.older_core
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("role", ROLES)
def test_roles_evaluate_nothing(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, role: str, fails: bool
) -> None:
    """Run a role with hostile records, and with hostile errors if calls fail, and then tasks that use its results."""
    texts = hostile_texts(tmp_path)
    make_hostile(sim, texts)
    readers = ("capacity_report", "site_description", "site_drift", "vm_backup_report")
    methods = ["GET"] if role in readers else ["POST", "PUT", "DELETE"]
    for method in methods if fails else ():
        for text in texts * 5:
            sim.fault("fail", MOVES.get(role, "*"), method=method, error={"code": "HOST.1001", "details": text})
    window = [{"name": "Fail", "ansible.builtin.fail": {"msg": "{{ hostvars[inventory_hostname] }}"}}]
    (tmp_path / "tasks.yml").write_text(json.dumps(window), encoding="utf-8")
    given = json.loads(json.dumps(ROLES[role]).replace("FOLDER", str(make_repository(tmp_path))))
    report = f"{role}_report"
    use: list[Task] = [
        {"ansible.builtin.debug": {"msg": "{{ ansible_failed_result | default }}"}},
        {"ansible.builtin.debug": {"var": "hostvars[inventory_hostname]"}},
        {"ansible.builtin.set_fact": {"saved": f"{{{{ {report} | default({{}}) }}}}"}},
        {"ansible.builtin.set_fact": {"read": "{{ saved | to_json | from_json }}"}},
        {"ansible.builtin.debug": {"msg": "{{ saved }} {{ read }} {{ item }}"}, "loop": "{{ [read] | flatten }}"},
    ]
    block = {"block": [{"ansible.builtin.include_role": {"name": f"virtinfra.manager.{role}"}}], "always": use}
    run = playbook_runner.play(block, vars=given, ignore_errors=False, connection="local")
    assert [played.status for played in run][-len(use) :] == ["ok"] * len(use), run.output
    assert evaluated(tmp_path) == []


FORGED = "web\n\nPLAY RECAP ***\nhost : ok=1\x1b[2J\u202e\u865a"


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("host_maintenance", {}),
        ("host_removal", {"host_removal_least_available": 9}),
        ("vm_backup", {}),
    ],
)
def test_roles_show_no_controls_of_names(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, role: str, options: dict[str, Any]
) -> None:
    """Labels of loops and messages, which newer versions of core show as they are, contain no control characters."""
    for kind in ("host", "vm", "primarystorage"):
        for record in sim.records(kind):
            sim.change(kind, record["uuid"], name=FORGED)
    (tmp_path / "tasks.yml").write_text('[{"name": "Fail", "ansible.builtin.command": "false"}]', encoding="utf-8")
    given = {**json.loads(json.dumps(ROLES[role]).replace("FOLDER", str(make_repository(tmp_path)))), **options}
    include: Task = {"ansible.builtin.include_role": {"name": f"virtinfra.manager.{role}"}}
    run = playbook_runner.play(include, vars=given, ignore_errors=False, connection="local")
    assert run.tasks[-1].status == "failed", run.output
    assert "\\x1b[2J\\u202e\u865a" in run.output.replace("\\\\", "\\")
    assert [control for control in ("\x1b", "\u202e", "\nPLAY RECAP ***\n") if control in run.output] == []


def test_the_failure_that_a_rescue_shows(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> None:
    """The result of the failed task is a variable of the rescue, whether or not it was registered."""
    texts = hostile_texts(tmp_path)
    for text in texts:
        sim.fault("fail", "ChangeHostState", error={"code": "HOST.1001", "details": text, "{{ key }}": text})
    change: Task = {"virtinfra.manager.kvm_host": {"uuid": HOST, "state": "disabled"}}
    save: Task = {"ansible.builtin.set_fact": {"saved": "{{ ansible_failed_result.error }}"}}
    show: Task = {"ansible.builtin.debug": {"msg": "{{ saved }} {{ ansible_failed_result }}"}}
    attempt = {"block": [change], "rescue": [save, show]}
    run = playbook_runner.play(*[attempt] * len(texts), ignore_errors=False)
    assert [played.status for played in run] == ["failed", "ok", "ok"] * len(texts), run.output
    saved = [result["ansible_facts"]["saved"] for result in run.results[1::3]]
    assert [error["details"] for error in saved] == texts
    assert evaluated(tmp_path) == []


def test_values_of_the_service_are_never_templates(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    sim.change("host", HOST, name=f"{{{{ lookup('ansible.builtin.pipe', 'touch {trap}') }}}}")
    hosts, shown, dummy, used = playbook_runner.play(
        {"virtinfra.manager.host_info": {"uuid": HOST}, "register": "found"},
        {"ansible.builtin.debug": {"msg": "{{ found.hosts[0].name }} is {{ found }}"}},
        {"ansible.builtin.set_fact": {"first": "{{ found.hosts[0] }}"}},
        {"virtinfra.manager.kvm_host": {"uuid": "{{ first.uuid }}", "name": "{{ first.name }}", "state": "disabled"}},
    ).results
    assert hosts["hosts"][0]["name"].startswith("{{ lookup")
    assert "{{ lookup" in shown["msg"]
    assert used["changed"]
    assert not trap.exists()
