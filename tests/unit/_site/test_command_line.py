"""Values of -e with blanks, at which Ansible ends them without a word."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible import context
from ansible.parsing.splitter import parse_kv
from ansible.parsing.utils.yaml import from_yaml
from ansible.utils.context_objects import CLIArgs
from ansible.utils.vars import load_extra_vars
from ansible_collections.virtinfra.manager.plugins.filter.unknown_variables import describe_unknown
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import Masker
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.playbooks import PLAYBOOKS
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.variables import read_variables

from support.workflow_runner import WorkflowRunner

Give = Callable[..., None]


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Return a function that gives the command line some ``-e``, of which Ansible keeps the variables."""

    def give(*texts: str) -> None:
        monkeypatch.setattr(context, "CLIARGS", CLIArgs({"extra_vars": texts}))
        monkeypatch.setattr(load_extra_vars, "extra_vars", None, raising=False)

    return give


@pytest.mark.parametrize(
    "rest",
    [
        "cluster.name=cluster-2",
        "and cluster.name=cluster-2",
        ", cluster.name=cluster-2",
        "cluster.name=cluster-2 vm_snapshots_keep=1",
    ],
)
def test_a_further_condition_is_not_dropped(give: Give, rest: str) -> None:
    """Both forms that the message recommends work. Ansible made a variable cluster.name of it."""
    give(f"vm_snapshots_query=state=Running {rest}")
    message = describe_unknown("snapshot_vms", ["vm_snapshots_query"])
    assert message.startswith("A blank ends a value of -e, so vm_snapshots_query lacks what follows it.")
    quoted, shown = (shlex.split(part)[0] for part in message.split("-e ")[1:])
    for given in (parse_kv(quoted.rstrip(",")), from_yaml(shown)):
        variables = read_variables("vm_snapshots", given, lambda value: value, Masker())
        assert variables["query"] == ["state=Running", "cluster.name=cluster-2"]


@pytest.mark.parametrize(
    ("playbook", "text", "remedy"),
    [
        ("snapshot_vms", "vm_snapshots_query=state=Running name~=web%", "'state=Running,name~=web%'"),
        ("snapshot_vms", "vm_snapshots_query=state=Running name=web", "'state=Running,name=web'"),
        ("snapshot_vms", "vm_snapshots_query=state=Running cluster=c", "'state=Running,cluster=c'"),
        ("snapshot_vms", "vm_snapshots_query=state=Running cpuNum>4", "'state=Running,cpuNum>4'"),
        ("snapshot_vms", "vm_snapshots_vms=vm-1, vm-3", """-e "vm_snapshots_vms='a,b'", or JSON: -e '{"vm_snap"""),
        ("snapshot_vms", "vm_snapshots_description=be fore", """-e "vm_snapshots_description='...'", or JSON"""),
        ("power_vms", 'vm_power_groups=[{"name": "web", "vms": ["vm-1"]}]', "Write all of it as JSON: -e '{"),
        ("remove_hosts", "remove_hosts_pattern=host-8 host-9", """-e "remove_hosts_pattern='a,b'", or JSON"""),
        ("notifications", "vars.yml", "-e vars.yml sets no variable: write -e @vars.yml to read a file"),
        ("notifications", "password: secret", "YAML needs braces in -e, such as -e '{password: ...}'"),
        ("snapshot_vms", "vm_snapshots_vms: [secret]", "-e '{vm_snapshots_vms: [a, b]}'"),
        ("snapshot_vms", "cluster.name=secret", "-e cluster.name=... sets nothing"),
        ("snapshot_vms", "name~=secret", "-e name~=... sets nothing"),
    ],
)
def test_words_that_set_nothing_are_refused(give: Give, playbook: str, text: str, remedy: str) -> None:
    """What follows a colon, an equals sign or a blank may be a secret."""
    give("a=1", text)
    message = describe_unknown(playbook, [])
    assert remedy in message
    assert "secret" not in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@vars file.yml",
        '{"vm_snapshots_vms": ["vm-1", "vm-3"]}',
        "vm_snapshots_query='state=Running, cluster.name=c'",
        "vm_snapshots_query=state=Running my_variable=3 name=web",
        "vm_snapshots_state=present\nvm_snapshots_keep=1",
    ],
)
def test_other_values_are_left_alone(give: Give, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vars file.yml").write_text("vars: {other: 1}\nvm_snapshots_vms: [vm-1]\n", encoding="utf-8")
    give(text)
    assert describe_unknown("snapshot_vms", []) == ""


def test_variables_below_vars_are_named(give: Give, work: WorkflowRunner, tmp_path: Path) -> None:
    """Those of the playbook, of its role, or of the role alone; other variables may have any place."""
    file = tmp_path / "vars.yml"
    file.write_text("vars: {host_maintenance_tasks: a.yml, maintenance_walk_pattern: web, other: 1}", encoding="utf-8")
    give(f"@{file}")
    says = "below vars, where nothing reads them. Write them at the top level of the file"
    message = describe_unknown("maintenance_walk", ["vars"])
    assert message == f"-e has host_maintenance_tasks, maintenance_walk_pattern {says}"
    assert describe_unknown("snapshot_vms", ["vars"]) == ""
    file.write_text("vars: {vm_snapshots_vms: [vm-1]}", encoding="utf-8")
    give(f"@{file}")
    assert work("vm_snapshots", {}).result["msg"] == f"-e has vm_snapshots_vms {says}"


UNREAD = "of -e, and would work on the service of the environment."


@pytest.mark.parametrize(
    ("playbook", "text", "names", "variables"),
    [
        ("snapshot_vms", "profile=secret", "profile", "VIRTINFRA_PROFILE=..."),
        ("power_vms", "base_url=http://secret", "base_url", "VIRTINFRA_BASE_URL=..."),
        ("capacity_report", "VIRTINFRA_BASE_URL=http://secret", "VIRTINFRA_BASE_URL", "VIRTINFRA_BASE_URL=..."),
        ("demo", "virtinfra_session_id=secret", "virtinfra_session_id", "VIRTINFRA_SESSION_ID=..."),
        ("remove_hosts", '{"path_prefix": "secret"}', "path_prefix", "VIRTINFRA_PATH_PREFIX=..."),
        ("drift", "validate_certs=false", "validate_certs", "VIRTINFRA_VALIDATE_CERTS=..."),
        (
            "shut_down_site",
            "virtinfra_account=secret account_password=secret",
            "virtinfra_account, account_password",
            "VIRTINFRA_ACCOUNT=... VIRTINFRA_ACCOUNT_PASSWORD=...",
        ),
    ],
)
def test_options_of_the_connection_are_refused(
    give: Give, monkeypatch: pytest.MonkeyPatch, playbook: str, text: str, names: str, variables: str
) -> None:
    monkeypatch.setenv("VIRTINFRA_BASE_URL", "http://production")
    give(text)
    message = describe_unknown(playbook, [])
    assert message.startswith(f"Roles and playbooks do not read {names} {UNREAD} Write {variables} before the command.")
    assert "secret" not in message


def test_each_playbook_that_contacts_the_service_refuses_them(give: Give) -> None:
    give("profile=lab")
    assert [playbook for playbook in PLAYBOOKS if UNREAD not in describe_unknown(playbook, [])] == ["send_to_chat"]


def test_options_of_the_connection_that_change_nothing_are_left_alone(
    give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of inventories and plays are, too."""
    monkeypatch.setenv("VIRTINFRA_BASE_URL", "http://production")
    monkeypatch.setenv("VIRTINFRA_REQUEST_TIMEOUT", "45")
    give("base_url=http://production request_timeout=45.0 virtinfra_profile=")
    assert describe_unknown("snapshot_vms", ["account", "virtinfra_profile"]) == ""
    # This playbook contacts no service.
    give("account=lab")
    assert describe_unknown("send_to_chat", ["account"]) == ""


def test_the_beginning_of_another_address_is_not_in_effect(give: Give, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTINFRA_BASE_URL", "http://10.0.0.11")
    give("base_url=http://10.0.0.1")
    assert "do not read base_url of -e" in describe_unknown("snapshot_vms", [])


def test_a_play_may_set_its_connection_by_a_variable(give: Give, work: WorkflowRunner) -> None:
    """As in module_defaults, with the text of the variable in that of the option."""
    variables = {"vm_snapshots_vms": ["vm-1"]}
    give(f"base_url={work.sim.url.removeprefix('http://')} virtinfra_session_id={work.sim.session} request_timeout=45")
    assert not work("vm_snapshots", variables, check=True, request_timeout=45).result.get("failed")
    ran = work("vm_snapshots", variables)
    assert ran.message == (
        f"Roles and playbooks do not read request_timeout {UNREAD} Write VIRTINFRA_REQUEST_TIMEOUT=... before the"
        " command or set it in module_defaults of the play. A variable for something else needs another name"
    )
    assert not ran.log


@pytest.mark.parametrize(
    ("playbook", "name"),
    [
        ("onboard_hosts", "onboarding_pattern"),
        ("maintenance_walk", "pattern"),
        ("remove_hosts", "onboard_hosts_pattern"),
        ("back_up_vms", "vms_pattern"),
    ],
)
def test_another_pattern_is_refused(give: Give, playbook: str, name: str) -> None:
    """All hosts would be processed."""
    give(f"{name}=host-31")
    message = f"the playbook {playbook} has no variable {name}. Did you mean {playbook}_pattern?"
    assert describe_unknown(playbook, [name]) == message
    assert describe_unknown(playbook, [name, f"{playbook}_pattern"]) == ""
    assert describe_unknown("snapshot_vms", [name]) == ""


def test_a_file_may_have_the_patterns_of_other_playbooks(give: Give, tmp_path: Path) -> None:
    """Without one of this playbook, which then has its default. Other patterns are refused there, too."""
    file = tmp_path / "vars.yml"
    file.write_text("{onboard_hosts_pattern: new, remove_hosts_pattern: retired}", encoding="utf-8")
    names = ["onboard_hosts_pattern", "remove_hosts_pattern"]
    give(f"@{file}")
    assert describe_unknown("back_up_vms", names) == ""
    give(f"@{file}", "remove_hosts_pattern=host-9")
    assert describe_unknown("back_up_vms", names).startswith(
        "the playbook back_up_vms has no variable remove_hosts_pattern. Did you mean back_up_vms_pattern?"
    )
    file.write_text("vms_pattern: web", encoding="utf-8")
    give(f"@{file}")
    assert "has no variable vms_pattern" in describe_unknown("back_up_vms", ["vms_pattern"])


def test_a_role_in_another_playbook_only_knows_its_own_variables(give: Give, work: WorkflowRunner) -> None:
    variables = {"vm_snapshots_vms": ["vm-1"]}
    give("words of others", "cluster.name=c", "other=vm-1, vm-3")
    assert not work("vm_snapshots", variables, check=True).result.get("failed")
    give("vm_snapshots_vms=vm-1, vm-3")
    assert "vm_snapshots_vms lacks what follows it" in work("vm_snapshots", variables).result["msg"]
