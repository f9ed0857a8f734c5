"""The module workflow within Ansible: its examples, the variables of tasks, and where it does not run."""

from __future__ import annotations

from simulator.launch import Simulator
from support.collection import module
from support.playbook_runner import PlaybookRunner

WORKFLOW = {"virtinfra.manager.workflow": {"role": "vm_snapshots"}}


def test_examples(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    work, fail = module("workflow").examples
    run = playbook_runner.play({**work, "check_mode": True}, work, fail, work)
    assert [played.status for played in run] == ["ok", "ok", "skipped", "ok"], run.output
    predicted, done, dummy, again = run.results
    assert [result["msg"] for result in (predicted, done, again)] == ["2 VMs, 2 changed"] * 2 + ["2 VMs, 2 unchanged"]
    assert [result["changed"] for result in (predicted, done, again)] == [True, True, False]


def test_variables_of_a_task_are_evaluated(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Templates and texts of the command line, and what is wrong with them."""
    arguments = ["-e", "vm_snapshots_vms=vm-1,vm-2", "-e", "count=3"]
    fits, fails = ({"vm_snapshots_keep": "{{ count }}"}, {"vm_snapshots_keep": "{{ number }}"})
    misspelt = {"vm_snapshots_kep": 3}
    tasks = [{**WORKFLOW, "vars": given} for given in (fits, fails, misspelt)]
    ran, undefined, unknown = playbook_runner.play(*tasks, arguments=arguments).tasks
    assert ran.result["msg"] == "2 VMs, 2 changed"
    assert "'number' is undefined" in undefined.result["msg"]
    assert unknown.result["error"]["code"] == "INVALID"
    assert "Did you mean vm_snapshots_keep?" in unknown.result["msg"]
    assert undefined.written == unknown.written == []


def test_variables_in_another_place_are_named(playbook_runner: PlaybookRunner) -> None:
    """Those below vars in a file for -e, and the address of the service as a variable."""
    arguments = ["-e", '{"vars": {"vm_snapshots_vms": ["vm-1"]}}']
    (nested,) = playbook_runner.play(WORKFLOW, arguments=arguments).tasks
    assert nested.result["msg"].startswith("-e has vm_snapshots_vms below vars, where nothing reads them. Write them")
    playbook_runner.defaults = {}
    for name in ("base_url", "virtinfra_base_url"):
        variables = {"vm_snapshots_vms": ["vm-1"], name: "http://127.0.0.1:9"}
        (unread,) = playbook_runner.play(WORKFLOW, vars=variables).tasks
        assert f"The variable {name} of Ansible is not read. Set base_url in module_defaults" in unread.result["msg"]
    (missing,) = playbook_runner.play(WORKFLOW, vars={"vm_snapshots_vms": ["vm-1"]}).tasks
    assert missing.result["msg"].endswith("in the environment)")


def test_a_connection_on_the_command_line_needs_a_play_that_reads_it(
    sim: Simulator, playbook_runner: PlaybookRunner
) -> None:
    task = {**WORKFLOW, "vars": {"vm_snapshots_vms": ["vm-1"]}}
    arguments = ["-e", "virtinfra_base_url='{{ address }}'", "-e", f"address={sim.url}", "-e", "account=lab"]
    (unread,) = playbook_runner.play(task, arguments=arguments).tasks
    assert "do not read account of -e, and would work on the service of the environment" in unread.result["msg"]
    assert not unread.written
    (undefined,) = playbook_runner.play(task, arguments=["-e", '{"profile": "{{ nowhere }}"}']).tasks
    assert "do not read profile of -e, and would work on the service of the environment" in undefined.result["msg"]
    (read,) = playbook_runner.play(task, arguments=arguments[:-2]).tasks
    assert read.result["msg"] == "1 VMs, 1 changed"


def test_it_runs_in_the_controller_only(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """The variable of become is for hosts; the keyword and another connection are refused."""
    variables = {"vm_snapshots_vms": ["vm-1"], "ansible_become": True}
    run = playbook_runner.play(WORKFLOW, {**WORKFLOW, "become": True}, vars=variables)
    assert [played.status for played in run] == ["ok", "failed"], run.output
    assert "the role vm_snapshots runs only inside the controller, but the keyword become" in run.results[1]["msg"]
    run = playbook_runner.play(WORKFLOW, as_module=True, vars=variables)
    assert "the role vm_snapshots runs only inside the controller, but the connection" in run.results[0]["msg"]
    assert run.results[0]["msg"].endswith("Set connection: local or delegate_to: localhost")
    run = playbook_runner.play(WORKFLOW, as_module=True, vars=variables, hosts="all", arguments=["-i", "vm-1,"])
    assert run.results[0]["msg"].endswith("Set hosts: localhost in the play")


def test_defaults_of_the_play_reach_it(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """A workflow waits also if the tasks of the play do not."""
    playbook_runner.defaults = {**playbook_runner.defaults, "wait": False}
    run = playbook_runner.play(WORKFLOW, vars={"vm_snapshots_vms": "vm-1"})
    assert run.results[0]["report"][0]["snapshot_group_uuid"], run.output


def test_what_it_does_not_support(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """The options are there for the defaults of the action group."""
    tasks = [
        {"virtinfra.manager.workflow": {"role": "vm_snapshots", **given}}
        for given in ({"wait": False}, {"job_uuid": "a" * 32})
    ]
    run = playbook_runner.play(*tasks, vars={"vm_snapshots_vms": "vm-1"})
    assert "wait: false is not supported" in run.results[0]["msg"]
    assert "job_uuid is not supported" in run.results[1]["msg"]
    assert not any(played.written for played in run)
