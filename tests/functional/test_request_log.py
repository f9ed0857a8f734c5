"""-vvv shows each request of a task, and no secret."""

from __future__ import annotations

import re

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner
from support.scenarios import HOST

DISABLE = {"virtinfra.manager.kvm_host": {"uuid": HOST, "state": "disabled"}, "name": "Disable"}
LINE = re.compile(r"Disable: (GET|POST|PUT|DELETE) (\S.*): (\d+|no response), \d+ ms(, job \w{32})?")


@pytest.mark.parametrize("as_module", [False, True])
def test_each_request_is_shown(sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool) -> None:
    run = playbook_runner.play(DISABLE, as_module=as_module, arguments=["-vvv"])
    (played,) = run.tasks
    shown = LINE.findall(run.output)
    assert [(entry["method"], str(entry["status"])) for entry in played.requests] == [
        (m, s) for m, dummy, s, job in shown
    ]
    assert len(shown) >= 3
    assert shown[0][1].startswith("/service/v1/hosts?q=uuid=") or HOST in shown[0][1]
    assert [bool(job) for method, dummy, status, job in shown] == [method != "GET" for method, *dummy in shown]
    assert "virtinfra_requests" not in played.result
    assert sim.session not in run.output


@pytest.mark.parametrize("as_module", [False, True])
@pytest.mark.parametrize(("arguments", "keywords"), [(["-vv"], {}), (["-vvv"], {"no_log": True})])
def test_requests_are_not_shown(
    playbook_runner: PlaybookRunner, as_module: bool, arguments: list[str], keywords: dict[str, bool]
) -> None:
    run = playbook_runner.play({**DISABLE, **keywords}, as_module=as_module, arguments=arguments)
    assert run.tasks[0].status == "ok"
    assert not LINE.search(run.output)
    assert "virtinfra_requests" not in run.tasks[0].result
