"""Profiles in runs of Ansible: all users of a profile, commands that run once, and hosts that never read the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible_collections.virtinfra.manager.plugins.module_utils._client.sessions import hash_password

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner
from support.secret_forms import list_all_forms
from support.socket_servers import Proxy

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.executable).parent
PASSWORD = "pr0file/s3cret + more"
SECRETS = list_all_forms(PASSWORD, hash_password(PASSWORD))
HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
HOSTS = 3
VM = "a0000004000040008000000000000005"


class Home:
    """An empty home folder with profiles, in which programs of Ansible run."""

    def __init__(self, folder: Path, sim: Simulator) -> None:
        self.folder, self.sim = folder, sim
        self.runs = folder / "runs"
        self.path = folder / ".config" / "virtinfra" / "profiles.yml"
        self.path.parent.mkdir(parents=True)
        self._password = folder / "password"
        self._password.write_text(f"{PASSWORD}\nuser: admin\n", encoding="utf-8")
        sim.reset(account_password=PASSWORD, latency=0.0)

    @property
    def account(self) -> dict[str, Any]:
        """The values of a profile with an account, whose password a command prints."""
        script = self.folder / "print-password"
        script.write_text(f"#!/bin/sh\necho run >> {self.runs}\ncat {self._password}\n", encoding="utf-8")
        script.chmod(0o700)
        return {"base_url": self.sim.url, "account": "admin", "account_password_command": f"{script} virtinfra/prod"}

    def write(self, **profiles: Any) -> None:
        """Replace the profiles."""
        self.write_text(yaml.safe_dump({"profiles": profiles}))

    def write_text(self, text: str) -> None:
        """Replace the content of the file with the profiles."""
        self.path.write_text(text, encoding="utf-8")
        self.path.chmod(0o600)

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """Run a program of Ansible and return its output."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTINFRA_", "XDG_"))}
        environment = {
            **inherited,
            "HOME": str(self.folder),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache"),
            "ANSIBLE_ASYNC_DIR": str(self.folder / "async"),
            "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "tests" / "support" / "plugins" / "connection"),
            "ANSIBLE_INJECT_INVOCATION": "true",
            "ANSIBLE_LOG_PATH": str(self.folder / "ansible.log"),
            "ANSIBLE_NOCOLOR": "1",
            **variables,
        }
        return subprocess.run(
            [str(PROGRAMS / program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            timeout=240,
            cwd=self.folder,
            check=False,
        ).stdout

    def play(self, tasks: list[dict[str, Any]], *arguments: str, **keywords: Any) -> str:
        """Run tasks on several local hosts, and return the output of ansible-playbook at a high verbosity."""
        variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts: dict[str, Any] = {f"local-{number}": {} for number in range(HOSTS)}
        (self.folder / "static.yml").write_text(json.dumps({"local": {"hosts": hosts, "vars": variables}}))
        play = {"hosts": "local", "gather_facts": False, "tasks": tasks, **keywords}
        (self.folder / "book.yml").write_text(json.dumps([play]), encoding="utf-8")
        return self.run("ansible-playbook", "-vvvv", "--diff", "-istatic.yml", *arguments, "book.yml")

    def find_secrets(self, output: str) -> list[str]:
        """Return where the password is: in the output, or in a file other than that of the password manager."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path not in (self._password, self.path)]
        texts = {"output": output, **{str(path): path.read_text("utf-8", "replace") for path in files}}
        return [name for name, text in texts.items() for secret in SECRETS if secret in text]


@pytest.fixture
def home(tmp_path: Path, sim: Simulator) -> Home:
    return Home(tmp_path, sim)


def task(module: str, options: Mapping[str, Any] | None = None, **keywords: Any) -> dict[str, Any]:
    """Return a task of a playbook."""
    return {f"virtinfra.manager.{module}": dict(options or {}), **keywords}


READ = task("host_info", {"name": "host-1"})
FAR = {"delegate_to": "far", "vars": {"ansible_connection": "elsewhere"}, "run_once": True}


def test_all_users_of_a_profile_share_the_output_of_its_command(home: Home, sim: Simulator) -> None:
    """Inventories, tasks of several workers, loops, batches, module processes and lookups run it once in a run."""
    home.write(prod=home.account)
    for name, plugin in (("a.virtinfra_hosts.yml", "hosts"), ("b.virtinfra_vms.yml", "vms")):
        (home.folder / name).write_text(f"plugin: virtinfra.manager.{plugin}\nprofile: prod\n", encoding="utf-8")
    services = {"plugin": "virtinfra.manager.primary_storages", "services": [{"name": "one", "profile": "prod"}]}
    (home.folder / "c.virtinfra_primary_storages.yml").write_text(json.dumps(services), encoding="utf-8")
    topics = {"module": "sns_topic", "objects": [{"name": f"topic-{number}"} for number in range(10)]}
    lookup = "{{ lookup('virtinfra.manager.session', profile='prod') }}"
    tasks = [
        READ,
        {**READ, "loop": list(range(10)), "run_once": True},
        task("batch", topics, run_once=True),
        {**READ, "async": 60, "poll": 1, "run_once": True},
        {**READ, **FAR},
        {"ansible.builtin.set_fact": {"looked_up": lookup}, "no_log": True, "run_once": True},
        task("host_info", {"profile": "", "base_url": sim.url, "session_id": "{{ looked_up }}"}, run_once=True),
        task("service_info", run_once=True),
    ]
    sources = ("-ia.virtinfra_hosts.yml", "-ib.virtinfra_vms.yml", "-ic.virtinfra_primary_storages.yml")
    defaults = {"group/virtinfra.manager.api": {"profile": "prod"}}
    output = home.play(tasks, *sources, module_defaults=defaults)
    assert "failed=0" in output, output
    assert "failed=1" not in output, output[output.index("fatal:") :]
    assert "host-1" in output
    assert "[WARNING]" not in output
    assert home.runs.read_text(encoding="utf-8") == "run\n"
    assert sim.sessions() == {"live": 0, "logins": 1, "failed_logins": 0, "logouts": 1}
    assert "'account_password': 'VALUE" in output or f'"account_password": "{HIDDEN}"' in output
    assert home.find_secrets(output) == []


def test_profile_of_the_environment_for_all_programs(home: Home, sim: Simulator) -> None:
    home.write(prod={"base_url": sim.url, "session_id": sim.session})
    (home.folder / "a.virtinfra_hosts.yml").write_text("plugin: virtinfra.manager.hosts\n", encoding="utf-8")
    listed = home.run("ansible-inventory", "-ia.virtinfra_hosts.yml", "--graph", VIRTINFRA_PROFILE="prod")
    assert "host-1" in listed
    arguments = ("localhost", "-m", "virtinfra.manager.service_info")
    assert '"reached": true' in home.run("ansible", *arguments, VIRTINFRA_PROFILE="prod")
    assert '"reached": true' in home.run("ansible", *arguments, "-a", "profile=prod")


def test_failed_command_fails_every_task_with_its_reason(home: Home, sim: Simulator) -> None:
    command = [sys.executable, "-c", f"import sys; open({str(home.runs)!r}, 'a').write('run'); sys.exit('locked')"]
    home.write(prod={"base_url": sim.url, "account": "admin", "account_password_command": command})
    output = home.play([task("host_info", {"profile": "prod"}, ignore_errors=True), {**READ, **FAR}])
    message = f"{home.path}: profile prod: account_password_command ended with exit code 1: locked"
    assert output.count(f'"msg": "{message}"') >= HOSTS, output
    assert home.runs.read_text(encoding="utf-8") == "run"
    assert sim.log() == []


def test_encrypted_profiles_in_a_run(home: Home, sim: Simulator) -> None:
    vault = VaultLib([("default", VaultSecret(b"vault-password"))])
    (home.folder / "vault-password").write_text("vault-password", encoding="utf-8")
    values = {"base_url": sim.url, "account": "admin", "account_password": PASSWORD}
    home.write_text(vault.encrypt(yaml.safe_dump({"profiles": {"prod": values}})).decode())
    (home.folder / "a.virtinfra_hosts.yml").write_text(
        "plugin: virtinfra.manager.hosts\nprofile: prod\n", encoding="utf-8"
    )
    read = task("host_info", {"profile": "prod"})
    output = home.play([read, {**read, **FAR}], "--vault-password-file=vault-password", "-ia.virtinfra_hosts.yml")
    assert "failed=0" in output, output
    assert "failed=1" not in output
    assert home.find_secrets(output) == []


@pytest.mark.parametrize("as_module", [False, True], ids=["controller", "module process"])
class TestTasks:
    @pytest.fixture
    def file(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home.path.parents[1]))
        return home

    def test_options_of_the_profile(
        self, file: Home, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool
    ) -> None:
        """A module process gets the options, and no host but the controller needs the file."""
        key = {"access_key_id": sim.access_key_id, "access_key_secret": sim.access_key_secret}
        with Proxy(sim.port) as proxy:
            proxied = {"base_url": "http://manager.example.com", "proxy_url": proxy.url, "api_token": sim.token}
            file.write(key={"base_url": sim.url, **key, "request_timeout": 7}, proxied={**proxied, "use_proxy": True})
            playbook_runner.defaults = {}
            used, proxied_run, explicit = playbook_runner.play(
                task("host_info", {"profile": "key"}),
                task("host_info", environment={"VIRTINFRA_PROFILE": "proxied", "VIRTINFRA_SESSION_ID": "another"}),
                task("host_info", {"profile": "key", "api_token": sim.token, "request_timeout": 3}),
                as_module=as_module,
            )
        assert [played.status for played in (used, proxied_run, explicit)] == ["ok"] * 3, used.result
        invocation = used.result["invocation"]["module_args"]
        assert (invocation["access_key_secret"], invocation["request_timeout"]) == (HIDDEN, 7.0)
        assert invocation["profile"] == ("" if as_module else "key")
        assert proxy.heads
        assert b"ession" not in b"".join(proxy.heads)
        replaced = explicit.result["invocation"]["module_args"]
        assert (replaced["access_key_id"], replaced["request_timeout"]) in (("", 3.0), (None, 3.0))

    def test_profile_that_does_not_exist(
        self, file: Home, sim: Simulator, playbook_runner: PlaybookRunner, as_module: bool
    ) -> None:
        file.write(production={"base_url": sim.url})
        played = playbook_runner.run_module("host_info", {"profile": "prodution"}, as_module=as_module)
        assert played.result["msg"] == (
            f"{file.path} has no profile prodution. Did you mean production? It has production."
        )
        assert played.result["error"]["code"] == "INVALID"
        assert played.requests == []


def test_objects_of_a_batch_have_profiles_of_their_own(
    home: Home, sim: Simulator, playbook_runner: PlaybookRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the task says explicitly precedes the profile, also if it is the default of the option."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.path.parents[1]))
    home.write(
        prod={**home.account, "request_retries": 2, "validate_certs": False},
        token={"base_url": sim.url, "api_token": sim.token},
        session={"base_url": sim.url, "session_id_command": ["echo", sim.session]},
        dead={"base_url": "http://127.0.0.1:1", "request_retries": 0},
    )
    playbook_runner.defaults = {}
    objects = [
        {"name": "a"},
        {"name": "b", "profile": "session"},
        {"name": "c", "profile": "token"},
        {"name": "d", "profile": "dead"},
        {"name": "e", "profile": "session", "session_id": "given-session"},
    ]
    options = {"profile": "prod", "module": "sns_topic", "objects": objects, "validate_certs": True}
    played = playbook_runner.run_module("batch", options)
    outcomes = [item["outcome"] for item in played.result["results"]]
    assert outcomes == ["changed", "changed", "failed", "failed", "failed"], played.result
    messages = [item.get("msg", "") for item in played.result["results"]]
    assert "session_id, or account and account_password" in messages[2]
    assert "cannot connect to http://127.0.0.1:1" in messages[3]
    assert "ID.1001" in messages[4]
    refused = playbook_runner.run_module(
        "batch", {**options, "objects": [{"name": "f"}, {"name": "g", "profile": "sesion"}]}
    )
    assert "objects[1]: " in refused.result["msg"]
    assert "Did you mean session?" in refused.result["msg"]
    assert refused.written == []


def test_module_without_its_action_plugin_does_not_read_profiles(home: Home, sim: Simulator) -> None:
    """An action plugin of others may start a module process."""
    home.write(prod={"base_url": sim.url, "session_id": sim.session})
    plugins = home.folder / "action"
    plugins.mkdir()
    (plugins / "bare.py").write_text(
        "from ansible.plugins.action import ActionBase\n\n\n"
        "class ActionModule(ActionBase):\n"
        "    def run(self, tmp=None, task_vars=None):\n"
        "        super().run(tmp, task_vars)\n"
        "        name = 'virtinfra.manager.host_info'\n"
        "        return self._execute_module(name, self._task.args, task_vars=task_vars)\n",
        encoding="utf-8",
    )
    (home.folder / "library").mkdir()
    (home.folder / "library" / "bare.py").write_text("", encoding="utf-8")
    output = home.run(
        "ansible",
        *("localhost", "-mbare", "-aprofile=prod", "-Mlibrary"),
        ANSIBLE_ACTION_PLUGINS=str(plugins),
    )
    assert "profile prod cannot be read here: the action plugin" in output
    assert sim.log() == []
