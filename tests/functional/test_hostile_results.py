"""Replies with a special meaning for Ansible or for a terminal are returned as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.terminal import escape_controls

from simulator.launch import Simulator
from support.inventory_sources import Source, collect_warnings
from support.playbook_runner import PlaybookRunner, Task
from support.stub_server import StubRequest, StubResponse, StubServer

HOST = "a0000003000040008000000000000001"
TRUSTED = {"__ansible_type": "_AnsibleTaggedStr", "tags": [{"__ansible_type": "TrustedAsTemplate"}]}


@pytest.mark.parametrize("as_module", [False, True])
@pytest.mark.parametrize(
    "member",
    [
        {"__ansible_type": "no such type"},
        {"__ansible_unsafe": "x"},
        {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n00\n"},
        {**TRUSTED, "value": "{{ lookup('pipe', 'touch MARK') }}"},
    ],
    ids=["unknown", "unsafe", "vault", "trusted"],
)
def test_a_reserved_key_in_a_record_changes_no_result(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, member: dict[str, Any], as_module: bool
) -> None:
    mark = tmp_path / "mark"
    member = json.loads(json.dumps(member).replace("MARK", str(mark)))
    sim.change("host", HOST, extraMember=[member])
    write: Task = {"virtinfra.manager.kvm_host": {"uuid": HOST, "state": "disabled"}, "register": "written"}
    show: Task = {"ansible.builtin.debug": {"msg": "{{ written.host.extra_member[0] }}"}}
    run = playbook_runner.play(write, show, as_module=as_module)
    assert len(run.tasks) == 2, run.output
    written, shown = run.results
    assert written["changed"], written
    assert not written.get("failed"), written
    renamed = json.loads(json.dumps(member).replace("__ansible_", "ansible_"))
    assert written["host"]["extra_member"] == [renamed]
    assert shown["msg"] == renamed
    assert not mark.exists(), "a value of the service was run"


# A second line, a forged end of the play, colours, and bidirectional controls.
FORGED = "web\r\n\nPLAY RECAP ***\nhost : ok=1 failed=0\x1b[2J\x1b]0;x\x07\u202e\u2028\x85\u200bend \u3000\u865a"
SHOWN = (
    "web\\r\\n\\nPLAY RECAP ***\\nhost : ok=1 failed=0\\x1b[2J\\x1b]0;x\\x07\\u202e\\u2028\\x85\\u200bend \u3000\u865a"
)


def test_controls_are_escaped() -> None:
    assert escape_controls(FORGED) == SHOWN
    assert escape_controls("plain \u00e4 'quoted' \\n") == "plain \u00e4 'quoted' \\n"


ERROR = {"error": {"code": "SYS.1000", "description": "x", "details": FORGED}}


@pytest.mark.parametrize("as_module", [False, True])
def test_a_message_shows_no_controls_of_the_service(sim: Simulator, tmp_path: Path, as_module: bool) -> None:
    with StubServer(lambda request: StubResponse(503, ERROR)) as service:
        playbook_runner = PlaybookRunner(
            tmp_path, sim.url, {"base_url": service.url, "session_id": "the-session", "request_retries": 0}
        )
        failed = playbook_runner.run_module("host_info", {}, as_module=as_module).result
    assert SHOWN in failed["msg"]
    assert failed["error"]["details"] == FORGED


def test_an_inventory_shows_no_controls_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: StubRequest) -> StubResponse:
        return (
            StubResponse(503, ERROR)
            if "storage" in request.path
            else StubResponse(200, {"inventories": [], "total": 0})
        )

    warnings = collect_warnings(monkeypatch)
    with StubServer(answer) as service:
        options = {"base_url": service.url, "session_id": "the-session", "request_retries": 0}
        Source(tmp_path, "hosts", **options).fill()
        with pytest.raises(AnsibleParserError) as caught:
            Source(tmp_path, "primary_storages", **options).fill()
    assert SHOWN in warnings[0]
    assert SHOWN in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
