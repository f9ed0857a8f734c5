"""Tasks run inside the controller or in a module process, depending on keywords, which apply to both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client import jobs as _jobs
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run
from support.socket_servers import Relay
from support.stub_server import StubResponse, StubServer
from support.tls import untrusted_context

READ = {"virtinfra.manager.host_info": {"name": "host-1"}}
ELSEWHERE = {"ansible_connection": "elsewhere"}
BECOME = {"become": True, "become_method": "same_user", "become_user": "somebody"}


KEYWORDS: dict[str, tuple[dict[str, Any], int]] = {
    "nothing": ({}, 0),
    "an explicit local connection": ({"connection": "local"}, 0),
    "a local connection by its full name": ({"connection": "ansible.builtin.local"}, 0),
    "delegate_to": ({"delegate_to": "localhost"}, 0),
    "local_action": ({"delegate_to": "127.0.0.1"}, 0),
    "environment": ({"environment": {"A": "b"}}, 0),
    "timeout": ({"timeout": 30}, 0),
    "no_log": ({"no_log": True}, 0),
    "check_mode": ({"check_mode": True}, 0),
    "async": ({"async": 30, "poll": 1}, 1),
    "become": (BECOME, 1),
    "another connection": ({"vars": ELSEWHERE}, 1),
    "another connection, in check mode": ({"vars": ELSEWHERE, "check_mode": True}, 1),
    "delegate_to over another connection": ({"delegate_to": "far.example.com", "vars": ELSEWHERE}, 1),
}


def test_controller_or_module_process(playbook_runner: PlaybookRunner) -> None:
    runs = {name: ({**READ, "name": name, **keywords}, count) for name, (keywords, count) in KEYWORDS.items()}
    interpreter = {"ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    run = playbook_runner.play(*[task for task, dummy in runs.values()], arguments=["-vvv"], vars=interpreter)
    assert [played.task for played in run if played.status == "ok"] == list(KEYWORDS), run.output
    parts = run.output.split("TASK [")[1:]
    assert {part.partition("]")[0]: len(re.findall("Using module file .*/host_info.py", part)) for part in parts} == {
        name: count for name, (dummy, count) in KEYWORDS.items()
    }
    # The result of the task with no_log is hidden.
    assert {played.result["hosts"][0]["name"] for played in run if played.task != "no_log"} == {"host-1"}


# There is no such program, so that whatever becomes another user fails.
NO_SUDO = {"ansible_become_exe": "/no/sudo", "ansible_become_user": "nobody"}
INVENTORY = {"ansible_become": True, **NO_SUDO}
BATCH = {"virtinfra.manager.batch": {"module": "kvm_host", "objects": [{"name": "host-1"}]}}
DEFAULTS: dict[str, dict[str, Any]] = {
    "the variable": {"vars": INVENTORY},
    "the command line": {"vars": NO_SUDO, "arguments": ["--become"]},
    "the environment": {"vars": NO_SUDO, "environment": {"ANSIBLE_BECOME": "true"}},
}


@pytest.mark.parametrize("default", DEFAULTS)
def test_a_default_become_for_all_hosts_is_not_for_the_controller(
    playbook_runner: PlaybookRunner, default: str
) -> None:
    run = playbook_runner.play(READ, {**READ, "become": False}, BATCH, {**BATCH, "become": False}, **DEFAULTS[default])
    assert [played.status for played in run] == ["ok"] * 4, run.output


def test_the_keyword_become_is_refused_by_what_runs_only_in_the_controller(playbook_runner: PlaybookRunner) -> None:
    same_user = {"ansible_become_method": "same_user"}
    asked = ({**BATCH, **BECOME}, {"block": [BATCH], "become": True, "vars": same_user})
    play = playbook_runner.build_play(BATCH, {**BATCH, "become": False}, become=True, vars=same_user)
    run = playbook_runner.playbook([playbook_runner.build_play(*asked), play])
    refused = (
        "batch runs only inside the controller, but the keyword become is true for the task, its block or its play. Set"
        " become: false for the task"
    )
    messages = [played.result["msg"].rstrip(".") for played in run]
    assert messages == [*[refused] * 3, "1 unchanged"], run.output


def test_a_module_process_names_the_variable_that_asks_for_become(playbook_runner: PlaybookRunner) -> None:
    run = playbook_runner.play(
        {**READ, "async": 30, "poll": 1, "vars": INVENTORY}, {**READ, "vars": {**INVENTORY, **ELSEWHERE}}
    )
    assert [played.status for played in run] == ["failed"] * 2, run.output
    for played in run:
        assert "because of the variable ansible_become" in played.result["msg"]


def test_items_of_a_loop_and_attempts_share_a_connection(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    with Relay(sim.port) as relay:
        playbook_runner.defaults = {**playbook_runner.defaults, "base_url": relay.url}
        read = {**READ, "register": "read"}
        run = playbook_runner.play(
            {**read, "loop": [1, 2, 3]}, {**read, "until": "read.attempts == 3", "retries": 3, "delay": 0}
        )
    assert [played.status for played in run] == ["ok", "ok"], run.output
    assert [len(played.requests) for played in run] == [3, 3]
    # One connection for each of the two workers.
    assert relay.accepted == 2


@pytest.mark.parametrize("as_module", [False, True], ids=["controller", "module process"])
class TestEnvironment:
    def test_every_option_of_the_connection(
        self, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool, tmp_path: Path
    ) -> None:
        files = {name: tmp_path / f"{name}.pem" for name in ("ca_path", "client_cert", "client_key")}
        for file in files.values():
            file.touch()
        given = {
            "profile": "",
            "base_url": sim.url,
            "path_prefix": "service",
            "session_id": sim.session,
            "account": "somebody",
            "account_password": "a-password-by-environment",
            "access_key_id": "",
            "access_key_secret": "",
            "access_key_time_zone": "UTC",
            "api_token": "a-token-by-environment",
            "validate_certs": "no",
            **{name: str(file) for name, file in files.items()},
            "proxy_url": "",
            "use_proxy": "false",
            "request_timeout": "7.5",
            "request_retries": "2",
            "service_version": "5.3.20",
        }
        assert given.keys() == CONNECTION.keys()
        environment = {f"VIRTINFRA_{name.upper()}": value for name, value in given.items()}
        playbook_runner.defaults = {}
        run = playbook_runner.play({**READ, "environment": environment}, READ, as_module=as_module, arguments=["-vvv"])
        first, second = run.tasks
        assert first.status == "ok", run.output
        used = {name: first.result["invocation"]["module_args"][name] for name in given}
        hidden = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
        assert used == {
            **given,
            "session_id": hidden,
            "account_password": hidden,
            "api_token": hidden,
            "validate_certs": False,
            "use_proxy": False,
            "request_timeout": 7.5,
            "request_retries": 2,
        }
        assert "base_url is required" in second.result["msg"]

    def test_variables_of_the_play_and_of_the_program(
        self, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool
    ) -> None:
        playbook_runner.defaults = {}
        play = {**playbook_runner.build_play(READ, as_module=as_module), "environment": {"VIRTINFRA_BASE_URL": sim.url}}
        outside = {"VIRTINFRA_BASE_URL": "http://192.0.2.1", "VIRTINFRA_SESSION_ID": sim.session}
        run = playbook_runner.playbook([play], environment=outside)
        assert run.tasks[0].status == "ok", run.output

    def test_a_retry_has_the_credentials_too(
        self, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool
    ) -> None:
        playbook_runner.defaults = {}
        environment = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
        retries = {"register": "read", "until": "read.attempts == 2", "retries": 2, "delay": 0}
        run = playbook_runner.play({**READ, "environment": environment, **retries}, as_module=as_module)
        assert run.tasks[-1].status == "ok", run.output

    def test_unverified_connection_ignores_the_authorities_of_the_environment(
        self, playbook_runner: PlaybookRunner, as_module: bool
    ) -> None:
        bundles = dict.fromkeys(("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"), "/nonexistent/bundle.pem")
        with StubServer(lambda request: StubResponse(200, {"inventories": []}), untrusted_context()) as service:
            task = {"virtinfra.manager.host_info": {"base_url": service.url}}
            verified, unverified = playbook_runner.play(
                {**task, "environment": bundles},
                {**task, "environment": {**bundles, "VIRTINFRA_VALIDATE_CERTS": "false"}},
                as_module=as_module,
            ).results
        assert "TLS with" in verified["msg"]
        assert unverified["total"] == 0

    def test_options_take_precedence(self, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool) -> None:
        environment = {"VIRTINFRA_BASE_URL": "http://192.0.2.1", "VIRTINFRA_SESSION_ID": "wrong"}
        run = playbook_runner.play({**READ, "environment": environment}, as_module=as_module)
        assert run.tasks[0].status == "ok", run.output


def test_defaults_of_a_module_are_for_no_other(playbook_runner: PlaybookRunner) -> None:
    """Use both names of a module and the action group."""
    defaults = {
        "group/virtinfra.manager.api": playbook_runner.defaults,
        "virtinfra.manager.host_info": {"limit": 1},
        "virtinfra.manager.vm_info": {"limit": 2},
    }
    names = ("host_info", "virtinfra.manager.host_info", "virtinfra.manager.vm_info", "primary_storage_info")
    run = playbook_runner.play(
        *({name: {}} for name in names), module_defaults=defaults, collections=["virtinfra.manager"]
    )
    assert [played.status for played in run] == ["ok"] * 4, run.output
    lists = ("hosts", "hosts", "vms", "primary_storages")
    assert [len(result[member]) for result, member in zip(run.results, lists, strict=True)] == [1, 1, 2, 2]


REST = {"virtinfra.manager.kvm_host": {"name": "host-1", "state": "disabled"}}
HOOK = "http://127.0.0.1:9/a-secret-path"


def hooks_of(run: Run) -> list[str | None]:
    """Return the webhooks of the calls that the simulator received."""
    requests = [request for played in run for request in played.requests]
    return [request["headers"].get("x-web-hook") for request in requests if request["method"] != "GET"]


def test_group_defaults_are_for_the_modules_that_have_the_option(
    sim: Simulator, playbook_runner: PlaybookRunner
) -> None:
    """Set defaults of the action group, for tasks in the controller and in a module process.

    Unsupported options of a task itself, and options that no module has, are refused.
    """
    sim.configure(webhook_tries=1)
    defaults = {**playbook_runner.defaults, "webhook_url": "{{ hook }}", "wait_timeout": 60, "user_tags": ["a"]}
    group = "group/virtinfra.manager.api"
    mistaken = {group: {**playbook_runner.defaults, "webhok_url": HOOK}}
    run = playbook_runner.play(
        *(READ, REST, {"virtinfra.manager.host_info": {"name": "host-1", "webhook_url": "http://127.0.0.1:9/other"}}),
        *({**READ, "module_defaults": mistaken}, {**READ, "vars": {**ELSEWHERE, "hook": HOOK}}),
        module_defaults={group: defaults},
        vars={"hook": HOOK},
    )
    assert [played.status for played in run] == ["ok", "ok", "failed", "failed", "ok"], run.output
    assert "there is no option webhook_url. The options are uuid" in run.results[2]["msg"]
    assert "there is no option webhok_url." in run.results[3]["msg"]
    assert hooks_of(run) == [HOOK]
    assert "a-secret-path" not in run.output


def test_inherited_user_tags_remove_no_tags(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Modules that do not compare tags send inherited tags. Nobody asked for the removal of other tags."""
    sim.reset(user_tags=3)
    before = sim.records("usertag")
    names = [{"name": record["name"]} for record in sim.records("vm")[:2]]
    defaults = {**playbook_runner.defaults, "user_tags": ["a"]}
    run = playbook_runner.play(
        {"virtinfra.manager.vm": names[0]},
        {"virtinfra.manager.batch": {"module": "vm", "objects": names}},
        module_defaults={"group/virtinfra.manager.api": defaults},
    )
    assert [played.status for played in run] == ["ok", "ok"], run.output
    assert sim.records("usertag") == before != []


def test_inherited_tags_are_added(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """A default for many objects must not remove the other tags of any of them. A task's own tags are exact."""
    sim.reset(user_tags=3)
    tagged = next(
        record["resourceUuid"] for record in sim.records("usertag") if record["resourceType"] == "VmInstanceVO"
    )
    before = {record["tag"] for record in sim.records("usertag") if record["resourceUuid"] == tagged}
    name = {"name": next(vm["name"] for vm in sim.records("vm") if vm["uuid"] == tagged)}
    batch = {"module": "vm", "objects": [name]}
    defaults = {**playbook_runner.defaults, "tags": ["a"]}

    def tags_after(*tasks: dict[str, Any], **more: Any) -> set[str]:
        run = playbook_runner.play(*tasks, module_defaults={"group/virtinfra.manager.api": {**defaults, **more}})
        assert {played.status for played in run} <= {"ok", "changed"}, run.output
        return {record["tag"] for record in sim.records("usertag") if record["resourceUuid"] == tagged}

    assert tags_after({"virtinfra.manager.vm": name}, {"virtinfra.manager.batch": batch}) == {*before, "a"}
    assert tags_after({"virtinfra.manager.vm": name}, tags_mode="exact") == {*before, "a"}
    own = {"virtinfra.manager.batch": {"module": "vm", "objects": [{**name, "tags": ["b"]}]}}
    assert tags_after(own) == {"b"}
    assert tags_after({"virtinfra.manager.vm": {**name, "tags_mode": "exact"}}) == {"a"}


def test_webhook_of_the_environment(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """A webhook URL in the environment does not break modules without the option, nor appear on a command line."""
    sim.configure(webhook_tries=1)
    environment = {"VIRTINFRA_WEBHOOK_URL": HOOK}
    again = {"virtinfra.manager.kvm_host": {"name": "host-1", "state": "enabled"}, "vars": ELSEWHERE}
    play = playbook_runner.build_play(READ, REST, {**READ, "vars": ELSEWHERE}, again)
    run = playbook_runner.playbook([{**play, "environment": environment}], arguments=["-vvv"])
    assert [played.status for played in run] == ["ok"] * 4, run.output
    assert hooks_of(run) == [HOOK] * 2
    assert "a-secret-path" not in run.output


@pytest.mark.parametrize(
    ("keywords", "host"), [({}, "localhost"), ({"delegate_to": "127.0.0.1"}, "localhost -> 127.0.0.1")]
)
def test_waiting_is_shown(
    sim: Simulator,
    playbook_runner: PlaybookRunner,
    monkeypatch: pytest.MonkeyPatch,
    keywords: dict[str, str],
    host: str,
) -> None:
    """The worker shows what the task waits for, and for which inventory host."""
    monkeypatch.setattr(_jobs, "FIRST_PROGRESS_AFTER", 0.0)
    task = {"name": "Rest", "virtinfra.manager.kvm_host": {"name": "host-1", "state": "disabled"}, **keywords}
    run = playbook_runner.play(task, arguments=["-v"])
    assert run.tasks[0].status == "ok", run.output
    job = next(entry["job"] for entry in sim.log() if entry["operation"] == "ChangeHostState")
    line = re.escape(f"[{host}] Rest: still waiting for ChangeHostState host host-1 (job {job}), ")
    assert re.search(rf"^{line}\d+ s, at most \d+ s more$", run.output, re.M), run.output


def test_no_log_hides_the_result_and_the_progress(
    playbook_runner: PlaybookRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_jobs, "FIRST_PROGRESS_AFTER", 0.0)
    task = {"virtinfra.manager.kvm_host": {"name": "host-1", "state": "disabled"}, "no_log": True, "diff": True}
    run = playbook_runner.play(task, arguments=["-vvv"])
    assert run.tasks[0].status == "ok"
    assert "host-1" not in run.output.partition("PLAY [")[2]
    assert "still waiting" not in run.output


def test_items_of_a_loop_are_distinguished(playbook_runner: PlaybookRunner) -> None:
    task = {
        "virtinfra.manager.kvm_host": {"name": "{{ item }}", "state": "disabled"},
        "loop": ["host-1", "nowhere", "host-1", "host-2"],
    }
    (played,) = playbook_runner.play(task).tasks
    assert played.status == "failed"
    results = [("msg" in item, item["changed"]) for item in played.result["results"]]
    assert results == [(False, True), (True, False), (False, False), (False, True)]


def test_until_sees_the_result(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    sim.fault("fail", "QueryHost", count=2)
    task = {**READ, "register": "found", "until": "found is success", "retries": 5, "delay": 0}
    (played,) = playbook_runner.play(task).tasks
    assert (played.status, played.result["attempts"]) == ("ok", 3)


def test_warnings_come_both_ways(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    playbook_runner.defaults = {"base_url": sim.url, "session_id": sim.session}
    options = {"uuid": "a0000003000040008000000000000001", "state": "disabled"}
    results = []
    for as_module in (False, True):
        sim.reset(companions="404")
        played = playbook_runner.run_module("kvm_host", options, as_module=as_module)
        results.append({member: played.result[member] for member in ("changed", "warnings", "host")})
        results[-1]["host"].pop("last_op_date")
    assert results[0] == results[1]
    (warning,) = results[0]["warnings"]
    assert "is not known" in warning
