"""The module batch within Ansible: its examples, connections, the keyword timeout, and other connections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simulator.launch import Simulator
from support.collection import module
from support.playbook_runner import PlaybookRunner
from support.socket_servers import Relay

PASSWORD = "Tr0ub4dor&3/batch"
BATCH = "virtinfra.manager.batch"


def disable(hosts: Sequence[int], **options: Any) -> dict[str, Any]:
    """Return a task that disables hosts."""
    names = [{"name": f"host-{number}"} for number in hosts]
    return {BATCH: {"module": "kvm_host", "common": {"state": "disabled"}, "objects": names, **options}}


def test_examples(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    examples = module("batch").examples
    check = [{**task, "check_mode": True, "diff": True} for task in examples if BATCH in task]
    run = playbook_runner.play(*check, *examples, *check[:2], vars={"ssh_password": PASSWORD}, arguments=["-vvvv"])
    assert [played.status for played in run] == ["ok"] * 9, run.output
    predicted, done, again = run.results[:3], run.results[3:6], run.results[7:]
    assert [played.written for played in run][:3] == [[], [], []]
    assert [result["counts"] for result in predicted] == [result["counts"] for result in done]
    assert [result["changed"] for result in (*done, *again)] == [True, True, True, False, False]
    assert "objects[1]" in run.output
    assert PASSWORD not in run.output + json.dumps(run.results)


def test_defaults_apply_to_each_object(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Defaults can be templates."""
    defaults = {"group/virtinfra.manager.api": "{{ connection }}", "virtinfra.manager.kvm_host": "{{ of_hosts }}"}
    of_hosts = {"state": "disabled", "wait": False}
    task = {BATCH: {"module": "kvm_host", "objects": [{"name": "host-1"}, {"name": "host-2", "state": "enabled"}]}}
    variables = {"connection": playbook_runner.defaults, "of_hosts": of_hosts}
    run = playbook_runner.play(task, module_defaults=defaults, vars=variables)
    first, second = run.results[0]["results"]
    assert (first["job"]["operation"], second["changed"]) == ("ChangeHostState", False), run.output


def test_at_most_16_connections(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    with Relay(sim.port) as relay:
        playbook_runner.defaults = {**playbook_runner.defaults, "base_url": relay.url}
        objects = [{"name": f"new-{number}", "management_ip": f"10.9.0.{number}"} for number in range(60)]
        common = {"cluster": "cluster-1", "username": "root", "password": PASSWORD}
        options = {"module": "kvm_host", "common": common, "objects": objects, "concurrency": 60}
        run = playbook_runner.play({BATCH: options})
    assert run.results[0]["counts"]["changed"] == 60, run.output
    assert relay.accepted <= 16


def test_timeout_returns_the_jobs(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    sim.reset(latency=60)
    tasks = (
        {**disable([1, 2, 3]), "timeout": 3, "register": "late"},
        {"virtinfra.manager.job_info": {"jobs": "{{ late.jobs }}"}},
    )
    late, read = playbook_runner.play(*tasks).results
    assert late["msg"].startswith("Task timeout exceeded. 3 calls may still be running in the service.")
    assert late["timedout"] == {"period": 3}
    assert late["changed"]
    assert late["counts"]["not_started"] == 3
    assert read["summary"]["running"] == 3


def test_it_does_not_run_in_a_module_process(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    interpreter = {"ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    run = playbook_runner.play(disable([1]), as_module=True, vars=interpreter)
    assert run.results[0]["msg"].startswith("batch runs only inside the controller"), run.output
    assert run.tasks[0].written == []
