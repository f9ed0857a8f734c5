"""The inventory plugins in the commands that users run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from simulator.launch import Simulator
from support.inventory_sources import Source
from support.playbook_runner import PlaybookRunner, Task

OPTIONS = {"keyed_groups": [{"key": "virtinfra_cluster_uuid", "prefix": "cluster", "parent_group": "clusters"}]}


@pytest.fixture
def source(sim: Simulator, tmp_path: Path) -> Source:
    return Source(tmp_path, "hosts", base_url=sim.url, session_id=sim.session, **OPTIONS)


def command(name: str, *arguments: str, text: str = "") -> str:
    """Run an Ansible command and return its output."""
    started = [sys.executable, "-m", "ansible", name, *arguments]
    done = subprocess.run(started, input=text, capture_output=True, text=True, check=True, timeout=120)
    assert "virtinfra" not in done.stderr, done.stderr
    return done.stdout


def list_inventory(path: Path) -> Any:
    """Return the output of ``ansible-inventory --list`` without the markers of unsafe strings."""
    return json.loads(command("inventory", "-i", str(path), "--list"), object_hook=remove_marker)


def remove_marker(value: dict[str, Any]) -> Any:
    """Return the string that is marked as unsafe, and any other mapping unchanged."""
    return value.get("__ansible_unsafe", value)


def test_ansible_inventory(sim: Simulator, source: Source) -> None:
    graph = command("inventory", "-i", str(source.path), "--graph").splitlines()
    clusters = sorted({record["clusterUuid"] for record in sim.records("host")})
    assert graph[0] == "@all:"
    assert "  |--@clusters:" in graph
    assert [line for line in graph if "@cluster_" in line] == [f"  |  |--@cluster_{uuid}:" for uuid in clusters]

    inventory = list_inventory(source.path)
    assert sorted(inventory["_meta"]["hostvars"]) == ["host-1", "host-2", "host-3"]
    assert inventory["clusters"]["children"] == [f"cluster_{uuid}" for uuid in clusters]

    shown = json.loads(command("inventory", "-i", str(source.path), "--host", "host-2"), object_hook=remove_marker)
    assert shown == inventory["_meta"]["hostvars"]["host-2"]
    assert shown["ansible_host"] == shown["virtinfra_management_ip"] == "10.0.0.12"


def test_ansible_console(source: Source) -> None:
    typed = "cd clusters\nlist\nexit\n"
    shown = command("console", "-i", str(source.path), text=typed)
    assert [line.split()[-1] for line in shown.splitlines() if line.endswith(("host-1", "host-2", "host-3"))] == [
        "host-1",
        "host-3",
        "host-2",
    ]


def test_a_play_sees_the_hosts_of_a_refresh(sim: Simulator, playbook_runner: PlaybookRunner, source: Source) -> None:
    uuid = sim.records("host")[0]["uuid"]
    change = {"kind": "host", "uuid": uuid, "members": {"name": "renamed"}}
    request = {"url": f"{sim.url}/_simulator/change", "method": "POST", "body_format": "json", "body": change}
    tasks: list[Task] = [
        {"ansible.builtin.assert": {"that": ["'host-1' in groups.clusters", "'renamed' not in groups.all"]}},
        {"ansible.builtin.uri": request},
        {"ansible.builtin.meta": "refresh_inventory"},
        {"ansible.builtin.assert": {"that": ["'renamed' in groups.clusters", "'host-1' not in groups.all"]}},
        {"ansible.builtin.assert": {"that": ["hostvars.renamed.virtinfra_management_ip == '10.0.0.11'"]}},
    ]
    run = playbook_runner.play(*tasks, arguments=["-i", str(source.path)], ignore_errors=False)
    assert run.code == 0, run.output


def test_all_inventories_of_a_folder(sim: Simulator, source: Source) -> None:
    folder = source.path.parent
    connection = {"base_url": sim.url, "session_id": sim.session}
    for plugin in ("vms", "primary_storages"):
        Source(folder, plugin, **connection)
    inventory = list_inventory(folder)
    assert sorted(inventory["_meta"]["hostvars"]) == [
        *[f"host-{number}" for number in range(1, 4)],
        *[f"ps-{number}" for number in range(1, 3)],
        *[f"vm-{number}" for number in range(1, 7)],
    ]
    assert inventory["_meta"]["hostvars"]["host-1"]["virtinfra_primary_storages"]
    assert set(inventory["hosts_of_ps_1"]["hosts"]) <= {"host-1", "host-2", "host-3"}


def test_every_example_in_the_documentation_is_a_source(
    sim: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "session").write_text(sim.session, encoding="utf-8")
    monkeypatch.setenv("VIRTINFRA_BASE_URL", sim.url)
    monkeypatch.setenv("VIRTINFRA_SESSION_ID", sim.session)
    monkeypatch.setenv("MANAGER_SESSION", sim.session)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".north-session").write_text(sim.session, encoding="utf-8")
    folder = Path(__file__).resolve().parents[2] / "plugins" / "inventory"
    seen = 0
    for plugin in folder.glob("*.py"):
        text = plugin.read_text(encoding="utf-8").split('EXAMPLES = r"""')[1].split('"""')[0]
        # Further examples are comments, because ansible-test of core 2.16 accepts only one document.
        comments = re.findall(r"^#\n((?:# .*\n)+)", text, re.MULTILINE)
        for example in map(yaml.safe_load, [text, *(re.sub(r"(?m)^# ", "", comment) for comment in comments)]):
            for options in (example, *example.get("services", ())):
                if "base_url" in options:
                    options["base_url"] = sim.url
                if "api_token" in options:
                    options["api_token"] = sim.token
            assert example.pop("plugin") == f"virtinfra.manager.{plugin.stem}"
            assert Source(tmp_path, plugin.stem, **example).fill().hosts
            seen += 1
    assert seen == 10


@pytest.mark.parametrize("form", ["value", "value of a service", "file"])
def test_credentials_may_be_encrypted(sim: Simulator, source: Source, form: str) -> None:
    password = source.path.parent / "password"
    password.write_text("password", encoding="utf-8")
    vault = VaultLib([("default", VaultSecret(b"password"))])
    if form == "file":
        source.path.write_bytes(vault.encrypt(source.path.read_bytes()))
    else:
        encrypted = vault.encrypt(sim.session).decode().splitlines()
        indent = " " * (6 if form == "value of a service" else 2)
        lines = ["plugin: virtinfra.manager.hosts", f"base_url: {sim.url}"]
        lines += ["services:", "  - session_id: !vault |"] if form == "value of a service" else ["session_id: !vault |"]
        source.path.write_text("\n".join([*lines, *[indent + line for line in encrypted], ""]), encoding="utf-8")
    assert sim.session not in source.path.read_text(encoding="utf-8")
    graph = command("inventory", "--vault-password-file", str(password), "-i", str(source.path), "--graph")
    assert all(name in graph for name in ("host-1", "host-2", "host-3"))
