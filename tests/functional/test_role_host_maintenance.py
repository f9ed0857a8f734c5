"""The tasks of a user in the role host_maintenance: what Ansible does around them, and what they must not break."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.hostile_texts import evaluated, hostile_texts
from support.playbook_runner import PlaybookRunner, Run, Task

ROLE = "virtinfra.manager.host_maintenance"

Reports = dict[str, dict[str, Any]]

BREAK = {
    "name": "Update the firmware",
    "ansible.builtin.assert": {"that": "inventory_hostname != broken_host | default('')"},
}

# A host becomes unreachable if its folder for temporary files cannot be created.
LOSE = {
    "name": "Log in",
    "ansible.builtin.ping": {},
    "vars": {"ansible_remote_tmp": "{{ '/proc/none' if inventory_hostname == lost_host | default('') else '/tmp' }}"},
}


class Walk:
    """Runs of the playbook maintenance_walk for three hosts in one cluster, with tasks of a user."""

    def __init__(self, sim: Simulator, runner: PlaybookRunner, tasks: Path) -> None:
        self.sim, self._runner, self.tasks = sim, runner, tasks

    def write(self, *tasks: Task) -> None:
        """Write the tasks of the user."""
        self.tasks.write_text(json.dumps(tasks), encoding="utf-8")

    def write_inventory(self) -> str:
        """Write the hosts as an inventory, and return its path."""
        uuids = {host["name"]: {"virtinfra_uuid": host["uuid"]} for host in self.sim.records("host")}
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "host_maintenance_tasks": str(self.tasks),
        }
        path = self.tasks.with_name("hosts.json")
        path.write_text(json.dumps({"all": {"hosts": uuids, "vars": variables}}), encoding="utf-8")
        return str(path)

    def __call__(self, *arguments: str, **variables: Any) -> tuple[Run, Reports]:
        """Run the playbook, and return the reports by the names of the hosts."""
        given = ["-i", self.write_inventory(), "-e", json.dumps(variables), *arguments]
        known = {"VIRTINFRA_BASE_URL": self.sim.url, "VIRTINFRA_SESSION_ID": self.sim.session}
        run = self._runner.playbook("virtinfra.manager.maintenance_walk", given, known)
        return run, read_reports(run)

    @property
    def states(self) -> list[str]:
        """The states of the hosts."""
        return [host["state"] for host in self.sim.records("host")]


def read_reports(run: Run) -> Reports:
    """Return the reports of a run by the names of the hosts."""
    facts = [result.get("ansible_facts", {}).get("host_maintenance_report") for result in run.results]
    return {report["name"]: report for report in facts if report}


@pytest.fixture
def walk(sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path) -> Walk:
    """Runs of the playbook, with a task that fails for the host in the variable broken_host."""
    sim.reset(clusters=1, hosts=3, vms=7, local_storages=0, latency=0.0)
    walk = Walk(sim, playbook_runner, tmp_path / "tasks.json")
    walk.write(BREAK)
    return walk


@pytest.mark.parametrize("serial", [1, 2])
def test_the_walk_stops_at_the_first_failure(walk: Walk, serial: int) -> None:
    """The other host of the batch is finished. The summary and the message of the last task, printed twice, say why."""
    run, reports = walk(broken_host="host-2", maintenance_walk_serial=serial)
    assert run.code == 2, run.output
    assert {name: report["outcome"] for name, report in reports.items()} == {"host-1": "done", "host-2": "failed"}
    assert walk.states == ["Enabled", "Maintenance", "Enabled"]
    error = reports["host-2"]["error"]
    assert error.startswith(f"host host-2 stays in maintenance. {walk.tasks} failed: Update the firmware: ")
    assert run.output.count("host host-2 stays in maintenance") <= 3
    # The hosts of a batch end their last task in any order.
    assert any(error.rstrip(".") in result.get("msg", "") for result in run.results[-serial:])


def test_a_uuid_for_all_hosts_is_refused_for_all(walk: Walk) -> None:
    """The tasks of the user would run on hosts that are not in maintenance."""
    (uuid, *dummy) = (host["uuid"] for host in walk.sim.records("host"))
    run, dummy_reports = walk("-e", f"host_maintenance_uuid={uuid}")
    assert run.code == 2, run.output
    assert f"host_maintenance_uuid is {uuid} for host-1 and for host-2. Set it for each host" in run.output
    assert not any(played.written for played in run)


def test_a_task_without_a_name_is_named_by_its_action(walk: Walk) -> None:
    walk.write({"ansible.builtin.fail": {"msg": "boom"}})
    dummy, reports = walk()
    assert "tasks.json failed: a task without a name (ansible.builtin.fail): boom" in reports["host-1"]["error"]


@pytest.mark.parametrize("serial", [1, 2])
def test_the_walk_stops_at_a_host_that_becomes_unreachable(walk: Walk, serial: int) -> None:
    """Ansible runs no rescue for it. The other host of its batch is finished."""
    walk.write(LOSE)
    run, reports = walk(lost_host="host-1", maintenance_walk_serial=serial)
    assert run.code == (4 if serial == 1 else 2), run.output
    assert {name: report["outcome"] for name, report in reports.items()} == ({"host-2": "done"} if serial == 2 else {})
    assert walk.states == ["Maintenance", "Enabled", "Enabled"]
    assert "UNREACHABLE" in run.output
    assert "becomes unreachable now stays in maintenance" in run.output
    assert ("because host-1 became unreachable" in run.output) == (serial == 2)


def test_a_mistake_in_the_variables_of_one_host(walk: Walk) -> None:
    """The mistake is found before any host of the batch is in maintenance."""
    misspelt = {"host_maintenance_on_failur": "restore"}
    run, reports = walk(maintenance_walk_serial=3, **misspelt)
    assert (run.code, reports, walk.states) == (2, {}, ["Enabled"] * 3), run.output
    assert "Did you mean host_maintenance_on_failure?" in run.output
    inventory = json.loads(Path(walk.write_inventory()).read_text(encoding="utf-8"))
    inventory["all"]["hosts"]["host-3"].update(misspelt)
    walk.tasks.with_name("more.json").write_text(json.dumps(inventory), encoding="utf-8")
    run, reports = walk("-i", str(walk.tasks.with_name("more.json")), maintenance_walk_serial=3)
    assert (run.code, reports, walk.states) == (2, {}, ["Enabled"] * 3), run.output


def test_tasks_that_change_variables(walk: Walk) -> None:
    """What the variables of the role are made of is different after the tasks, and the host returns nevertheless."""
    walk.write({"ansible.builtin.set_fact": {"firmware": {}}})
    needed = {"host_maintenance_needed": "{{ firmware.version != '2.1' }}", "firmware": {"version": "2.0"}}
    inventory = Path(walk.write_inventory())
    hosts = json.loads(inventory.read_text(encoding="utf-8"))
    hosts["all"]["vars"] |= needed
    more = inventory.with_name("more.json")
    more.write_text(json.dumps(hosts), encoding="utf-8")
    run, reports = walk("-i", str(more), "--limit", "host-1")
    assert (run.code, reports["host-1"]["outcome"]) == (0, "done"), run.output
    assert walk.states == ["Enabled"] * 3


def test_handlers_run_in_maintenance(walk: Walk, playbook_runner: PlaybookRunner) -> None:
    """A handler that fails is a failure of the tasks. Older versions of core do not say which it was."""
    walk.write({"ansible.builtin.command": "true", "notify": "Restart"})
    fail = {"name": "Restart", "ansible.builtin.fail": {"msg": "no agent"}}
    play = playbook_runner.build_play(hosts="host-1", ignore_errors=False, roles=[ROLE], handlers=[fail])
    run = playbook_runner.playbook([play], ["-i", walk.write_inventory()])
    assert run.code == 2, run.output
    assert "failed: " in read_reports(run)["host-1"]["error"]
    played = [each.task.rpartition(" : ")[2] for each in run]
    assert played.index("Restart") < played.index("Take the host out of maintenance")
    assert walk.states[0] == "Maintenance"


def test_the_keyword_timeout_cancels_the_maintenance(
    walk: Walk, sim: Simulator, playbook_runner: PlaybookRunner
) -> None:
    """The host does not enter it later."""
    sim.configure(latencies={"ChangeHostState": 60})

    def hurry() -> None:
        # An entry begins before its request is read; that with a status has its latency.
        while not any(entry["method"] == "PUT" and entry["status"] for entry in sim.log()):
            time.sleep(0.02)
        sim.configure(latencies={"ChangeHostState": 0})

    helper = threading.Thread(target=hurry, daemon=True)
    helper.start()
    play = playbook_runner.build_play(hosts="host-1", ignore_errors=False, roles=[ROLE], timeout=4)
    run = playbook_runner.playbook([play], ["-i", walk.write_inventory()])
    helper.join()
    sim.advance()
    assert run.code == 2, run.output
    assert "host host-1 did not enter maintenance, and is enabled as before." in read_reports(run)["host-1"]["error"]
    assert walk.states[0] == "Enabled"


def test_tasks_in_an_encrypted_file(walk: Walk) -> None:
    """The file is checked with the passwords of Ansible."""
    from ansible.parsing.vault import VaultLib, VaultSecret

    secret = VaultSecret(b"password")
    text = walk.tasks.read_text(encoding="utf-8")
    walk.tasks.write_bytes(VaultLib([("default", secret)]).encrypt(text, secret))
    password = walk.tasks.with_name("password")
    password.write_bytes(secret.bytes)
    run, reports = walk("--limit", "host-1", "--vault-password-file", str(password))
    assert (run.code, reports["host-1"]["outcome"]) == (0, "done"), run.output
    run, reports = walk("--limit", "host-1")
    assert (run.code, walk.states[0]) == (2, "Enabled"), run.output
    assert "which cannot be used." in reports["host-1"]["error"]


@pytest.mark.older_core
def test_names_of_vms_are_not_evaluated(
    walk: Walk, sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path
) -> None:
    """VMs that the maintenance stopped are in the report and the message, and start again with the next run."""
    sim.reset(clusters=1, hosts=3, local_storages=2, latency=0.0)
    text = hostile_texts(tmp_path)[0]
    sim.change("vm", sim.records("vm")[0]["uuid"], name=text)
    include: Task = {"ansible.builtin.include_role": {"name": ROLE}}
    given = {"broken_host": "host-1", "host_maintenance_running_vms": "stop"}
    undo: Task = {**include, "vars": {"host_maintenance_state": "absent"}}
    play = playbook_runner.build_play(
        {"block": [{**include, "vars": given}], "rescue": [undo]}, hosts="host-1", ignore_errors=False
    )
    run = playbook_runner.playbook([play], ["-i", walk.write_inventory()])
    facts = [result.get("ansible_facts", {}).get("host_maintenance_report") for result in run.results]
    failed, done = (report for report in facts if report)
    (vm,) = failed["stopped_vms"]
    assert (run.code, vm["name"], evaluated(tmp_path)) == (0, text, []), run.output
    assert f"Start them: {text} {vm['uuid']}." in failed["error"]
    assert (done["outcome"], done["started_vms"], walk.states[0]) == ("done", [vm], "Enabled")


def test_the_evacuation_is_put_back(walk: Walk, playbook_runner: PlaybookRunner) -> None:
    """The role host_evacuation finds the VMs by their marks."""
    undo: Task = {
        "ansible.builtin.include_role": {"name": "virtinfra.manager.host_evacuation"},
        "vars": {"host_evacuation_state": "restored"},
    }
    variables = {"host_maintenance_evacuate": True}
    play = playbook_runner.build_play(undo, hosts="host-1", ignore_errors=False, roles=[ROLE], vars=variables)
    run = playbook_runner.playbook([play], ["-i", walk.write_inventory()])
    assert run.code == 0, run.output
    assert [vm["name"] for vm in read_reports(run)["host-1"]["migrated_vms"]] == ["vm-1", "vm-7"]
    facts = [result.get("ansible_facts", {}).get("host_evacuation_report") for result in run.results]
    (back,) = (report for report in facts if report)
    assert [(entry["outcome"], entry["to"]) for entry in back] == [("changed", "host-1")] * 2
