"""Values with the tag !vault arrive decrypted, wherever a playbook contains them, on every version of ansible-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner, Run
from support.scenarios import NEW_HOST

VAULT = VaultLib([("default", VaultSecret(b"vault-password"))])
PASSWORD, KEY = "swordfish-1", "hook-key-0815"
CHAT = f"https://chat.example.com/hook/{KEY}"


class Encrypted(str):
    """A text that the playbook contains with the tag !vault."""


class Dumper(yaml.SafeDumper):
    """Writes encrypted texts as ansible-vault does."""


Dumper.add_representer(
    Encrypted, lambda dumper, text: dumper.represent_scalar("!vault", VAULT.encrypt(str(text)).decode(), style="|")
)


class VaultRunner:
    """Runs plays with encrypted values, whose password is in a file."""

    def __init__(self, runner: PlaybookRunner, folder: Path) -> None:
        self.runner, self.folder = runner, folder
        (folder / "vault-password").write_text("vault-password", encoding="utf-8")

    def play(self, *tasks: dict[str, Any], as_module: bool = False, **keywords: Any) -> Run:
        """Run tasks, and check that all succeed and show no secret."""
        book = self.folder / "encrypted.yml"
        play = self.runner.build_play(*tasks, as_module=as_module, **keywords)
        book.write_text(yaml.dump([play], Dumper=Dumper), encoding="utf-8")
        run = self.runner.playbook(str(book), [f"--vault-password-file={self.folder / 'vault-password'}", "-vvv"])
        assert run.tasks, run.output
        assert [played.status for played in run if played.status == "failed"] == [], run.output
        assert PASSWORD not in run.output
        assert KEY not in run.output
        return run


@pytest.fixture
def vault(playbook_runner: PlaybookRunner, tmp_path: Path) -> VaultRunner:
    return VaultRunner(playbook_runner, tmp_path)


def find_sent(run: Run, operation: str) -> list[dict[str, Any]]:
    """Return the parameters that tasks sent with an operation."""
    return [entry["body"]["params"] for played in run for entry in played.requests if entry["operation"] == operation]


def new_host(number: int, **options: Any) -> dict[str, Any]:
    """Return the options of a new host without its password, and others."""
    host = {name: value for name, value in NEW_HOST.items() if name != "password"}
    return {**host, "name": f"new-{number}", "management_ip": f"192.0.2.{number}", **options}


@pytest.mark.parametrize("as_module", [False, True])
def test_options_and_parameters(sim: Simulator, vault: VaultRunner, as_module: bool) -> None:
    session = {"session_id": Encrypted(sim.session), "base_url": Encrypted(sim.url)}
    params = {"name": Encrypted("chat"), "url": Encrypted(CHAT)}
    run = vault.play(
        {
            "virtinfra.manager.kvm_host": new_host(
                1, **session, password=Encrypted(PASSWORD), system_tags=[Encrypted("a::b")]
            )
        },
        {"virtinfra.manager.api": {"operation": "CreateSNSWorkchatEndpoint", "params": params}},
        as_module=as_module,
    )
    (body,) = [entry["body"] for entry in run.tasks[0].requests if entry["operation"] == "AddKVMHost"]
    assert body["params"]["password"] == "***"
    assert body["systemTags"] == ["a::b"]
    assert [endpoint["name"] for endpoint in find_sent(run, "CreateSNSWorkchatEndpoint")] == ["chat"]


def test_objects_of_a_batch(vault: VaultRunner) -> None:
    common = {"username": Encrypted("admin-1"), "password": Encrypted(PASSWORD)}
    objects = [new_host(1), new_host(2, description=Encrypted("the second"))]
    for host in objects:
        del host["username"]
    run = vault.play({"virtinfra.manager.batch": {"module": "kvm_host", "common": common, "objects": objects}})
    hosts = find_sent(run, "AddKVMHost")
    assert [host["username"] for host in hosts] == ["admin-1"] * 2
    assert {host.get("description") for host in hosts} == {None, "the second"}


def test_defaults_of_modules(sim: Simulator, vault: VaultRunner) -> None:
    group = {"base_url": sim.url, "session_id": Encrypted(sim.session), "api_token": Encrypted(sim.token)}
    run = vault.play(
        {"virtinfra.manager.kvm_host": new_host(1)},
        {"virtinfra.manager.batch": {"module": "kvm_host", "objects": [new_host(2)]}},
        {"virtinfra.manager.host_info": {}},
        module_defaults={
            "group/virtinfra.manager.api": group,
            "virtinfra.manager.kvm_host": {"password": Encrypted(PASSWORD)},
        },
    )
    assert len(find_sent(run, "AddKVMHost")) == 2


def test_variables_of_roles(vault: VaultRunner) -> None:
    endpoint = {"type": "workchat", "name": "chat", "url": Encrypted(CHAT), "at_person_user_ids": ["ann"]}
    onboarding = {
        "host_onboarding_management_ip": "192.0.2.1",
        "host_onboarding_cluster": "cluster-1",
        "host_onboarding_username": Encrypted("admin-1"),
        "host_onboarding_password": Encrypted(PASSWORD),
    }
    run = vault.play(
        {"ansible.builtin.include_role": {"name": "virtinfra.manager.host_onboarding"}},
        {"ansible.builtin.include_role": {"name": "virtinfra.manager.notifications"}},
        vars={**onboarding, "notifications_endpoints": [endpoint]},
    )
    assert [host["username"] for host in find_sent(run, "AddKVMHost")] == ["admin-1"]
    assert [endpoint["name"] for endpoint in find_sent(run, "CreateSNSWorkchatEndpoint")] == ["chat"]


def test_the_lookup_of_a_session(vault: VaultRunner, sim: Simulator) -> None:
    lookup = "{{ lookup('virtinfra.manager.session', base_url=url, account=account, account_password=password) }}"
    sim.reset(account_password=PASSWORD)
    run = vault.play(
        {"virtinfra.manager.host_info": {"session_id": lookup}},
        vars={"url": sim.url, "account": Encrypted("admin"), "password": Encrypted(PASSWORD)},
    )
    assert run.results[-1]["hosts"]
