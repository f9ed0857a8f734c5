"""The playbooks fail if they select no host, where Ansible skips a play, and if variables are misspelt or not set."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.playbooks import PLAYBOOKS

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner


@pytest.mark.parametrize(
    ("playbook", "arguments", "message"),
    [
        ("onboard_hosts", [], "No host was added."),
        ("onboard_hosts", ["-i", "hosts.ini", "-e", "onboard_hosts_pattern=hots-1"], "No host was added."),
        ("maintenance_walk", [], "No host was put into maintenance."),
        (
            "maintenance_walk",
            ["-i", "hosts.ini", "-e", "maintenance_walk_pattern=hots-1"],
            "The inventory has 1 hosts, of which maintenance_walk_pattern (hots-1) selects none.",
        ),
        (
            "maintenance_walk",
            ["-i", "hosts.ini", "-e", "maintenance_walk_serial=lots"],
            "maintenance_walk_serial must be a number of hosts from 1, a percentage of them such as 30%, or a list of",
        ),
        (
            "remove_hosts",
            ["-i", "hosts.ini", "-e", "remove_hosts_pattern=host-1", "-e", "remove_hosts_serial=lots"],
            "remove_hosts_serial must be a number of hosts from 1,",
        ),
        (
            "maintenance_walk",
            ["-i", "hosts.ini", "-e", "maintenance_walk_serial=1,2"],
            "such as -e '{\"maintenance_walk_serial\": [1, \"30%\"]}', not '1,2'",
        ),
        *(
            (
                playbook,
                ["-e", f"{playbook}_variable=a"],
                f"the playbook {playbook} has no variable {playbook}_variable. Those of its role begin with {role}_.",
            )
            for playbook, (role, own) in PLAYBOOKS.items()
            if not own and playbook != role
        ),
        *(
            (playbook, ["-e", "vars.yml"], "-e vars.yml sets no variable: write -e @vars.yml to read a file")
            for playbook in PLAYBOOKS
        ),
        *(
            (
                playbook,
                ["-e", f'{{"vars": {{"{name}": 1, "other": 1}}}}'],
                f"-e has {name} below vars, where nothing reads them. Write them at the top level of the file",
            )
            for playbook, name in (
                ("maintenance_walk", "maintenance_walk_pattern"),
                ("onboard_hosts", "host_onboarding_cluster"),
                ("power_vms", "vm_power_state"),
                ("send_to_chat", "chat_message"),
            )
        ),
        ("maintenance_walk", ["-e", '{"vars": {"other": 1}}'], "No host was put into maintenance."),
        (
            "demo",
            ["-e", "demo_clustr=cluster-2"],
            "the playbook demo has no variable demo_clustr. Its own variables are demo_cluster, demo_hosts, demo_ssh_p",
        ),
        (
            "send_to_chat",
            ["-e", "send_to_chat_url_variable=NO_CHAT"],
            "no variable send_to_chat_url_variable. Its own variables are chat_batch_size, chat_entries, chat_message,",
        ),
        (
            "send_to_chat",
            ["-e", "chat_mesage=a", "-e", "chat_url_variable=NO_CHAT"],
            "the playbook send_to_chat has no variable chat_mesage. Did you mean chat_message?",
        ),
        (
            "send_to_chat",
            ["-e", "chat_channel=a", "-e", "chat_url_variable=NO_CHAT"],
            "The environment variable NO_CHAT, which chat_url_variable names, is not set.",
        ),
        (
            "send_to_chat",
            ["-e", "chat_url_variable=NO_CHAT"],
            "The environment variable NO_CHAT, which chat_url_variable names, is not set.",
        ),
        (
            "send_to_chat",
            ["-e", "chat_url_variable=PATH"],
            "The environment variable PATH, which chat_url_variable names, does not have the address of a chat",
        ),
        ("send_to_chat", ["-e", "chat_url_variable=https://chat.example.com/KEY"], "Set chat_url_variable to the name"),
        ("send_to_chat", [], "Set chat_url_variable to the name"),
        ("remove_hosts", ["-e", "remove_hosts_pattern=host-9"], "No host was removed."),
        (
            "remove_hosts",
            ["-i", "hosts.ini", "-e", "remove_hosts_pattern=hots-1"],
            "no host that remove_hosts_pattern selects (hots-1)",
        ),
        *(
            (playbook, ["-i", "hosts.ini", "-e", f'{{"{playbook}_pattern": {pattern}}}'], message)
            for playbook, message in (
                ("back_up_vms", "No VM was backed up."),
                ("maintenance_walk", "No host was put into maintenance."),
                ("onboard_hosts", "No host was added."),
                ("remove_hosts", "No host was removed."),
            )
            for pattern in ("[]", "null")
        ),
        ("remove_hosts", ["-i", "hosts.ini"], "Set remove_hosts_pattern"),
        (
            "maintenance_walk",
            ["-i", "hosts.ini", "-e", "maintenance_pattern=host-1"],
            "the playbook maintenance_walk has no variable maintenance_pattern. Did you mean maintenance_walk_pattern?",
        ),
        *(
            (
                playbook,
                ["-i", "hosts.ini", *limit, "-e", f"{playbook}_patern=host-1"],
                f"the playbook {playbook} has no variable {playbook}_patern. Did you mean {playbook}_pattern?",
            )
            for playbook in ("maintenance_walk", "onboard_hosts", "back_up_vms", "remove_hosts")
            for limit in ([], ["--limit", "host-1"])
        ),
        (
            "onboard_hosts",
            ["-i", "hosts.ini", "-e", "onboarding_pattern=host-1"],
            "the playbook onboard_hosts has no variable onboarding_pattern. Did you mean onboard_hosts_pattern?",
        ),
        *(
            (playbook, ["-e", "profile=KEY"], "do not read profile of -e, and would work on the service of the environ")
            for playbook in ("describe", "snapshot_vms")
        ),
        ("remove_hosts", ["-i", "hosts.ini", "--limit", "host-1"], "Set remove_hosts_pattern"),
        ("back_up_vms", ["-i", "hosts.ini", "--limit", "host-1"], "back_up_vms_pattern (localhost) selects none."),
        *(
            (
                playbook,
                ["-i", "hosts.ini", "--limit", "host-1", *pattern, "-e", f"{playbook}_serial={serial}"],
                f"{playbook}_serial must be a number of hosts from 1,",
            )
            for playbook, *pattern in (("maintenance_walk",), ("remove_hosts", "-e", "remove_hosts_pattern=host-1"))
            for serial in ("0", "lots")
        ),
        (
            "snapshot_vms",
            ["-e", "vm_snapshots_query=state=Running cluster.name=cluster-2"],
            "-e \"vm_snapshots_query='state=Running,cluster.name=cluster-2'\"",
        ),
        (
            "maintenance_walk",
            ["-i", "hosts.ini", "-e", '{"maintenance_walk_pattern": ["host-1"]}'],
            "Give host_maintenance_tasks, the file with the tasks",
        ),
    ],
)
def test_nothing_is_done_without_a_word(
    sim: Simulator, playbook_runner: PlaybookRunner, tmp_path: Path, playbook: str, arguments: list[str], message: str
) -> None:
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("host-1\n", encoding="utf-8")
    given = [str(inventory) if argument == inventory.name else argument for argument in arguments]
    environment = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
    run = playbook_runner.playbook(f"virtinfra.manager.{playbook}", given, environment)
    assert run.code == 2, run.output
    # Versions of core differ in whether they show a message alone or in a result.
    assert message in " ".join(run.output.replace('\\"', '"').split())
    assert not any(played.written for played in run)
    assert "KEY" not in " ".join(played.result["msg"] for played in run if "msg" in played.result)


@pytest.mark.parametrize("playbook", sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml")))
def test_each_playbook_fails_if_a_limit_leaves_no_host(playbook_runner: PlaybookRunner, playbook: str) -> None:
    run = playbook_runner.playbook(f"virtinfra.manager.{playbook}", ["--limit", "host-1"])
    assert "This playbook did nothing: --limit host-1 leaves" in " ".join(run.output.split())
    assert run.code in (1, 4)
    assert not run.tasks


@pytest.mark.parametrize("playbook", sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml")))
def test_each_playbook_fails_if_tags_leave_no_task(playbook_runner: PlaybookRunner, playbook: str) -> None:
    run = playbook_runner.playbook(f"virtinfra.manager.{playbook}", ["--tags", "snapshot,web"])
    assert (
        "This playbook did nothing: --tags snapshot,web leaves out its tasks, which have no tags. Omit --tags."
        in " ".join(run.output.split())
    )
    assert run.code in (1, 4)
    assert not run.tasks


BEGUN = "TASK [virtinfra.manager.host_evacuation : "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tags", "always"], "--tags always leaves out its tasks, which have no tags. Omit --tags."),
        (["--tags", "tagged"], "--tags tagged leaves out"),
        (
            ["--skip-tags", "untagged"],
            "--skip-tags untagged leaves out its tasks, which have no tags. Omit --skip-tags.",
        ),
        (["--tags", "all,web"], BEGUN),
        (["--tags", "untagged"], BEGUN),
        (["--skip-tags", "web,always"], BEGUN),
    ],
)
def test_tags_may_select_the_tasks(playbook_runner: PlaybookRunner, arguments: list[str], message: str) -> None:
    run = playbook_runner.playbook("virtinfra.manager.evacuate_hosts", arguments)
    assert message in " ".join(run.output.split())
    assert run.code


@pytest.mark.parametrize(("tags", "code"), [("evacuate", 2), ("web", 0)])
def test_a_playbook_that_imports_another_one_selects_plays_by_tags(
    playbook_runner: PlaybookRunner, tmp_path: Path, tags: str, code: int
) -> None:
    book = tmp_path / "site.yml"
    book.write_text(
        "- import_playbook: virtinfra.manager.evacuate_hosts\n  tags: evacuate\n"
        "- hosts: localhost\n  gather_facts: false\n  tags: web\n  tasks:\n    - debug:\n",
        encoding="utf-8",
    )
    run = playbook_runner.playbook(str(book), ["--tags", tags])
    assert run.code == code, run.output
    assert (BEGUN in " ".join(run.output.split())) is (tags == "evacuate")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (
            "host-1",
            "--limit host-1 leaves out localhost, where it runs. Omit --limit: its variables select the objects.",
        ),
        ("all", "--limit all leaves out localhost, where it runs."),
        ("localhost,host-1", "TASK [Refuse unknown variables]"),
        ("@hosts", "TASK [Refuse unknown variables]"),
    ],
)
def test_a_limit_may_select_localhost(
    playbook_runner: PlaybookRunner, tmp_path: Path, limit: str, message: str
) -> None:
    for file in ("hosts.ini", "hosts"):
        (tmp_path / file).write_text("host-1\n" + "localhost\n" * (file == "hosts"), encoding="utf-8")
    given = limit.replace("@", f"@{tmp_path}/")
    run = playbook_runner.playbook(
        "virtinfra.manager.evacuate_hosts", ["-i", str(tmp_path / "hosts.ini"), "--limit", given]
    )
    # Versions of core differ in whether they show a message alone or in a result.
    assert message in " ".join(run.output.replace('\\"', '"').split())
    assert run.code
