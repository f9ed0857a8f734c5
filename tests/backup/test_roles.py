"""The roles of backups, over a simulator with real disks, with this machine as the data mover."""

from __future__ import annotations

import json
import os
import pwd
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from backup.process_mover import ProcessMover
from backup.role_site import RoleSite, open_role_site

from support.backups import BackupRunner
from support.collection import ROOT
from support.kvm_host import MIB, run, wait_until
from support.module_runner import ModuleRunner
from support.workflow_runner import WorkflowRunner


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RoleSite]:
    with open_role_site(tmp_path) as site:
        yield site


def list_files(folder: Path) -> dict[Path, int]:
    """Return when each file and folder in a folder was changed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_chain_of_many_vms(site: RoleSite) -> None:
    """Each point has the disks of its moment, and check mode predicts it without a write.

    A restart of a VM loses its bitmaps: its next point is compared, and the report says why.
    """
    volumes = {vm["name"]: vm["rootVolumeUuid"] for vm in site.sim.records("vm")}
    uuids = {vm["name"]: vm["uuid"] for vm in site.sim.records("vm")}
    for volume in volumes.values():
        site.write(volume, 0, MIB)
    full = site.back_up()
    assert {entry["outcome"] for entry in full.values()} == {"full"}
    moments = {name: bytes(site.truth[volume]) for name, volume in volumes.items()}
    site.write(volumes["vm-1"], 2 * MIB, 5000)
    before = list_files(site.repository)
    predicted = site.back_up("--check")
    assert {entry["outcome"] for entry in predicted.values()} == {"incremental"}
    assert list_files(site.repository) == before
    for state in ("Stopped", "Running"):
        site.sim.change("vm", uuids["vm-3"], state=state)
    second = site.back_up(keep={"last": 1}, concurrency=2, per_host=2)
    lost = second.pop("vm-3")
    assert (lost["outcome"], lost["why"]) == ("compared", "the service offers no increment")
    assert (lost["verified"], lost["session_ended"], lost["error"]) == (True, True, None)
    assert (lost["kept"], lost["bytes_written"]) == ([full["vm-3"]["point"], lost["point"]], 0)
    assert site.read_point(uuids["vm-3"], lost["point"], volumes["vm-3"]) == bytes(site.truth[volumes["vm-3"]])
    assert {entry["outcome"] for entry in second.values()} == {"incremental"}
    for name, entry in second.items():
        assert (entry["verified"], entry["session_ended"], entry["error"]) == (True, True, None)
        assert entry["bytes_read"] < MIB
        assert entry["kept"] == [full[name]["point"], entry["point"]]
        assert site.read_point(uuids[name], full[name]["point"], volumes[name]) == moments[name]
        assert site.read_point(uuids[name], entry["point"], volumes[name]) == bytes(site.truth[volumes[name]])
    compared = site.back_up(query=[], vms="vm-3", compare_every=1)["vm-3"]
    assert (compared["outcome"], compared["bytes_written"]) == ("compared", 0)
    assert {task["status"] for task in site.sim.records("cbttask")} == {"Stopped"}
    assert [each for each in site.sim.records("volume") if each["name"].startswith("Cbt-")] == []


def test_the_report_says_how_much_was_read_for_what(site: RoleSite) -> None:
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, 2 * MIB)
    given = {"query": [], "vms": "vm-1"}
    full = site.back_up(**given)["vm-1"]
    assert (full["bytes_read"], full["bytes_verified"]) == (2 * MIB, 2 * MIB)
    for verify, read in (("written", 65536), ("all", 2 * MIB), ("none", 0)):
        site.write(vm["rootVolumeUuid"], MIB, 65536)
        entry = site.back_up(**given, verify=verify)["vm-1"]
        assert (entry["outcome"], entry["verified"]) == ("incremental", verify != "none")
        assert (entry["bytes_read"], entry["bytes_verified"]) == (65536, read)


def test_the_bookkeeping_of_a_run_is_no_change(site: RoleSite) -> None:
    """Of VMs of which nothing is copied."""
    site.sim.change("vm", site.sim.records("vm")[0]["uuid"], state="Paused")
    for arguments in (("--check",), ()):
        code, output, report = site.run_role("vm_backup", *arguments, query=["name=vm-1"], min_free_percent=0)
        assert (code, [entry["outcome"] for entry in report]) == (0, ["skipped"]), output
        assert re.search(r"localhost +: ok=\d+ +changed=0 ", output), output


def test_a_home_that_is_not_that_of_passwd(site: RoleSite, tmp_path: Path) -> None:
    """Core writes the file of an async job into one home, and looks for it in the other. None is left in either."""
    homes = (tmp_path / "home", Path(pwd.getpwuid(os.getuid()).pw_dir))
    site.environment = {"HOME": str(homes[0]), "ANSIBLE_ASYNC_DIR": "~/.ansible_async"}
    before = [list_files(home / ".ansible_async").keys() for home in homes]
    assert {entry["outcome"] for entry in site.back_up().values()} == {"full"}
    wanted = {"vm": "vm-1", "confirm": "vm-1", "stop": True}
    code, output, report = site.run_role("vm_backup_restore", **wanted)
    assert (code, {entry["outcome"] for entry in report}) == (0, {"unchanged"}), output
    assert list((site.repository / ".runs").glob("*.jobs")) == []
    assert [list_files(home / ".ansible_async").keys() for home in homes] == before


def test_what_a_point_has_not_is_said(site: RoleSite) -> None:
    """Volumes that are left out, and those whose copies are not encrypted: in the report, the summary, the manifest."""
    vm = site.sim.records("vm")[0]
    root, data = (next(each for each in vm["allVolumes"] if each["type"] == kind) for kind in ("Root", "Data"))
    site.sim.change("volume", root["uuid"], encrypted=True)
    site.sim.change("volume", data["uuid"], isShareable=True)
    given = {"query": ["name=vm-1"], "min_free_percent": 0}
    code, output, (entry,) = site.run_role("vm_backup", **given)
    assert (code, entry["outcome"], entry["left_out"]) == (0, "full", [data["name"]]), output
    notes = [
        f"The volume {data['name']} is not in the point: it is shareable.",
        f"The service encrypts the volume {root['uuid']}, and its copy is in plain text.",
    ]
    assert entry["notes"] == notes
    assert all(f"note: vm-1: {note}" in output for note in notes), output
    manifest = json.loads((site.repository / vm["uuid"] / entry["point"] / "manifest.json").read_text())
    assert [volume["encrypted"] for volume in manifest["volumes"]] == [True]
    assert [volume["reason"] for volume in manifest["left_out"]] == ["it is shareable"]
    site.sim.change("volume", data["uuid"], isShareable=False)
    # tests/unit/_backup/test_coverage.py has the other forms.
    for exclude, expected in ((["data-of-*"], "it is excluded"), ([], None)):
        code, output, (entry,) = site.run_role("vm_backup", **given, exclude_volumes=exclude)
        assert code == 0, output
        assert [expected in note for note in entry["notes"][:-1]] == ([True] if expected else [])


class HalfMover(ProcessMover):
    """A data mover for sessions of a service that has forgotten all volumes but the first one."""

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> dict[str, Any]:
        """Start a copy."""
        return super().start(module, {**arguments, "volumes": arguments["volumes"][:1]}, timeout, folder)


@pytest.mark.parametrize("state", ["Running", "Stopped"])
def test_a_session_that_lacks_a_volume_makes_no_point(site: RoleSite, state: str) -> None:
    """The data mover decides it, also of exports, and the session ends."""
    vm = site.sim.records("vm")[0]
    site.sim.change("vm", vm["uuid"], state=state)
    missing = vm["allVolumes"][1]
    mover = HalfMover(site.repository)
    ran = BackupRunner(WorkflowRunner(site.sim), mover)(query=["name=vm-1"], min_free_percent=0)
    mover.close()
    assert f"lacks the volumes {missing['name']} ({missing['uuid']}) of the VM" in str(ran.errors[0])
    assert ([task["status"] for task in site.sim.records("cbttask")] or ["Stopped"]) == ["Stopped"]
    assert (list(site.repository.rglob("manifest.json")), any(site.sim.state()["exported"].values())) == ([], False)
    left_out = BackupRunner(WorkflowRunner(site.sim), HalfMover(site.repository))
    assert left_out(query=["name=vm-1"], min_free_percent=0, exclude_volumes=[missing["name"]]).outcomes == ["full"]


def test_the_copy_that_ends_first_has_its_session_ended_first(tmp_path: Path) -> None:
    """The next session opens in its place, while the terminal shows how far the slow copy is."""
    with open_role_site(tmp_path, "24M") as site:
        names = {vm["uuid"]: vm["name"] for vm in site.sim.records("vm")}
        slow = site.sim.records("vm")[0]
        site.sim.guest_write(slow["rootVolumeUuid"], 0, 24 * MIB, 1)
        options = {"concurrency": 2, "per_host": 3, "rate_limit": 1, "verify": "none", "min_free_percent": 0}
        code, output, report = site.run_role("vm_backup", "-v", query=["name~=vm-%"], **options)
        tasks = {task["uuid"]: names[task["name"].removeprefix("backup-")] for task in site.sim.records("cbttask")}
    assert (code, {entry["outcome"] for entry in report}) == (0, {"full"}), output
    calls = [
        (str(entry["operation"])[:-7], next(name for uuid, name in tasks.items() if uuid in entry["path"]))
        for entry in site.requests
        if entry["operation"] in ("EnableCbtTask", "DisableCbtTask")
    ]
    assert sorted(calls[:2]) == [("Enable", "vm-1"), ("Enable", "vm-2")]
    assert calls[2:] == [("Disable", "vm-2"), ("Enable", "vm-3"), ("Disable", "vm-3"), ("Disable", "vm-1")]
    line = rf"vm-1: full of volume {slow['rootVolumeUuid']}: \d+% of 24.0 MiB, \d+(.\d)? (bytes|[KM]iB)/s"
    assert re.search(line, output), output


def test_two_movers_copy_into_one_repository(site: RoleSite, tmp_path: Path) -> None:
    """Each its share, while a third one cannot be reached."""
    inventory = tmp_path / "movers.yml"
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    inventory.write_text(yaml.safe_dump({"movers": {"hosts": {"gone": gone, "m1": local, "m2": local}}}))
    for number, vm in enumerate(site.sim.records("vm")):
        site.sim.change("vm", vm["uuid"], hostUuid=site.sim.records("host")[number % 2]["uuid"])
    given = {"query": ["name~=vm-%"], "repository": str(site.repository), "min_free_percent": 0}
    play = {
        "hosts": "movers",
        "roles": ["virtinfra.manager.vm_backup"],
        "vars": {f"vm_backup_{name}": value for name, value in given.items()},
    }
    for outcome in ("full", "incremental"):
        code, output = site.play(play, "-i", str(inventory))
        assert (code, output.count("changed: [m")) == (0, 2), output
        assert re.search(rf'"{outcome} +3"', output), output
    assert list((site.repository / ".runs").glob("*.json")) == []


def test_stopped_vms_are_copied_through_exports(site: RoleSite) -> None:
    """Compared with their newest points, each over one connection; then no export, and no mark, remains."""
    vms = {vm["name"]: vm for vm in site.sim.records("vm")}
    for vm in vms.values():
        site.write(vm["rootVolumeUuid"], 0, 2 * MIB)
    site.sim.change("vm", vms["vm-1"]["uuid"], state="Stopped")
    first = site.back_up()
    assert {entry["outcome"] for entry in first.values()} == {"full"}
    # Each run makes a further point, also of a VM that has not changed.
    code, output, predicted = site.run_role("vm_backup", "--check", query=[], vms="vm-1", min_free_percent=0)
    assert (code, [entry["outcome"] for entry in predicted]) == (0, ["compared"]), output
    assert re.search(r"localhost +: ok=\d+ +changed=1 ", output), output
    second = site.back_up(query=[], vms="vm-1")["vm-1"]
    assert (second["outcome"], second["bytes_written"], second["verified"]) == ("compared", 0, True)
    for point in (first["vm-1"]["point"], second["point"]):
        volume = vms["vm-1"]["rootVolumeUuid"]
        assert site.read_point(vms["vm-1"]["uuid"], point, volume) == bytes(site.truth[volume])
    assert not any(site.sim.state()["exported"].values())
    assert [tag["tag"] for tag in site.sim.records("usertag") if tag["tag"].startswith("virtinfra.manager ")] == []
    code, output, report = site.run_role("vm_backup", query=["name=vm-1"], stopped=False, min_free_percent=0)
    assert (code, [entry["outcome"] for entry in report]) == (0, ["skipped"]), output
    code, output, report = site.run_role("vm_backup", query=[], vms="vm-1", stopped=False, min_free_percent=0)
    assert (code, [entry["outcome"] for entry in report]) == (2, ["failed"]), output


def test_a_stopped_vm_that_is_started_while_it_is_copied_gets_no_point(site: RoleSite) -> None:
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    site.sim.change("vm", vm["uuid"], state="Stopped")
    copying = site.start_role("vm_backup", query=[], vms="vm-1", min_free_percent=0, rate_limit=1)
    wait_until(lambda: list(site.repository.glob("*/.progress.json")), 120)
    site.sim.change("vm", vm["uuid"], state="Running")
    assert copying.wait() == 2
    assert "The VM was started, or changed, while it was copied" in site.output.read_text(encoding="utf-8")
    assert list(site.repository.glob("*/*/manifest.json")) == []
    assert not any(site.sim.state()["exported"].values())
    wait_until(lambda: not list(site.repository.rglob("*.partial")), 120)


def test_the_guide_copies_with_other_software(site: RoleSite, tmp_path: Path) -> None:
    """Its play opens a session, copies with qemu-img, and ends the session."""
    text = (ROOT / "docs" / "docsite" / "rst" / "guide_backup.rst").read_text(encoding="utf-8")
    (block,) = re.findall(r"yaml\+jinja\n\n( +- name: Copy a VM with qemu-img\n.*?)\n\n(?=\S)", text, re.S)
    play = yaml.safe_load(dedent(block).replace("/srv/images", str(tmp_path)))
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, MIB)
    code, output = site.play(play[0])
    assert code == 0, output
    raw = tmp_path / "content"
    run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", tmp_path / f"{vm['rootVolumeUuid']}.qcow2", raw)
    assert raw.read_bytes() == bytes(site.truth[vm["rootVolumeUuid"]])
    assert [task["status"] for task in site.sim.records("cbttask")] == ["Stopped"]


def test_the_guide_freezes_a_guest_with_a_playbook(site: RoleSite, tmp_path: Path) -> None:
    """It runs for the VM before and after its session opens. The name of the VM is neither evaluated nor expanded."""
    text = (ROOT / "docs" / "docsite" / "rst" / "guide_backup.rst").read_text(encoding="utf-8")
    hooks, playbook = (
        dedent(next(iter(re.findall(rf"code-block:: \S+\n\n({beginning}.*?)\n\n(?=\S)", text, re.S))))
        for beginning in (" +vm_backup_before:\n +command:", " +- name: Find the guest\n")
    )
    (tmp_path / "freeze.yml").write_text(playbook)
    tools, log = tmp_path / "tools", tmp_path / "log"
    tools.mkdir()
    fsfreeze = tools / "fsfreeze"
    fsfreeze.write_text(f'#!/bin/sh\nprintf "%s|" "$@" "$VIRTINFRA_VM_NAME" "$VIRTINFRA_VM_ADDRESSES" >> {log}\n')
    fsfreeze.chmod(0o755)
    (tmp_path / "group_vars").mkdir()
    local = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}
    (tmp_path / "group_vars" / "all.yml").write_text(json.dumps(local))
    vm = site.sim.records("vm")[0]
    name = "{{ 1 + 1 }} $(id) `id` 'x' \"y\""
    site.sim.change("vm", vm["uuid"], name=name)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    site.environment = {"PATH": path, "ANSIBLE_LOCALHOST_WARNING": "false"}
    given = yaml.safe_load(hooks.replace("/etc/ansible", str(tmp_path)))
    variables = {variable.removeprefix("vm_backup_"): value for variable, value in given.items()}
    options = {"query": [f"uuid={vm['uuid']}"], "min_free_percent": 0, **variables}
    code, output, predicted = site.run_role("vm_backup", "--check", **options)
    assert (code, log.exists()) == (0, False), output
    notes = [f"{hook} would run on localhost: {' '.join(given[hook]['command'])}." for hook in given]
    assert predicted[0]["notes"] == notes
    code, output, report = site.run_role("vm_backup", **options)
    assert (code, report[0]["outcome"]) == (0, "full"), output
    vm_part = f"/srv|{name}|{vm['vmNics'][0]['ip']}|"
    assert log.read_text() == f"--freeze|{vm_part}--unfreeze|{vm_part}"
    failing = {"before": {"command": ["sh", "-c", "echo $0 >&2; exit 3", "$HOME"]}}
    code, output, report = site.run_role("vm_backup", **{**options, **failing})
    wanted = "vm_backup_before has failed, so no session was opened: The command has ended with the status 3: $HOME"
    assert (code, report[0]["error"]) == (2, wanted), output
    slow = {"before": {"command": ["sleep", "30"], "timeout": 1}}
    code, output, report = site.run_role("vm_backup", **{**options, **slow})
    assert (code, "The command did not end within 1 s." in report[0]["error"]) == (2, True), output
    assert log.read_text().count("--unfreeze|") == 3
    assert [task["status"] for task in site.sim.records("cbttask")] == ["Stopped"]


def test_the_policies_of_the_guide(site: RoleSite) -> None:
    """Each run copies the VMs with its tag, also none. A VM that gets another tag keeps its chain."""
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_backup.rst").read_text(encoding="utf-8")
    section = guide.partition("A policy for each VM\n")[2].partition("\nSee what is protected")[0]
    shared, *policies = (
        yaml.safe_load(dedent(block).replace("/srv/backups", str(site.repository)))
        for block in re.findall(r"code-block:: yaml\n\n((?: {4}.*\n)+)", section)
    )

    def run_policies() -> list[dict[str, str]]:
        runs = [
            site.run_playbook("virtinfra.manager.back_up_vms", **shared, **policy, vm_backup_min_free_percent=0)
            for policy in policies
        ]
        assert [run.code for run in runs] == [0, 0, 0], runs[-1].output
        return [{entry["vm"]: entry["outcome"] for entry in run.get_fact("vm_backup_report")} for run in runs]

    def set_policy(vm: str, policy: str) -> None:
        assert ModuleRunner(site.sim)("vm", {"name": vm, "tags": [f"backup:{policy}"]})["changed"]

    set_policy("vm-1", "gold")
    set_policy("vm-2", "silver")
    assert run_policies() == [{"vm-1": "full"}, {"vm-2": "full"}, {}]
    set_policy("vm-2", "gold")
    set_policy("vm-3", "bronze")
    assert run_policies() == [{"vm-1": "incremental", "vm-2": "incremental"}, {}, {"vm-3": "full"}]


def test_the_guide_keeps_points_where_the_mover_cannot_delete_them(site: RoleSite, tmp_path: Path) -> None:
    """A copy that is there already is not replaced, and the rules of the other machine are its own."""
    text = (ROOT / "docs" / "docsite" / "rst" / "guide_backup.rst").read_text(encoding="utf-8")
    (block,) = re.findall(r"yaml\+jinja\n\n( +- name: Fetch the points, .*?)\n\n(?=\S)", text, re.S)
    kept, tools = tmp_path / "kept", tmp_path / "tools"
    kept.mkdir()
    tools.mkdir()
    (tools / "rsync").write_text(f'#!/bin/sh\necho "$@" > {tools}/log\ncp -an {site.repository}/. {kept}\n')
    (tools / "rsync").chmod(0o755)
    site.environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    play = yaml.safe_load(dedent(block).replace("/srv/kept", str(kept)))[0]
    play["hosts"] = "localhost"
    points = [site.back_up(query=[], vms="vm-1", full_every=1)["vm-1"]["point"] for dummy in range(2)]
    code, output = site.play(play)
    assert code == 0, output
    folder = site.sim.records("vm")[0]["uuid"]
    assert [path.parent.name for path in kept.glob(f"{folder}/*/manifest.json")] == points[1:]
    assert len(list(site.repository.glob(f"{folder}/*/manifest.json"))) == 2
    (command,) = re.findall(r"\$ rsync -a (.*) /srv/backups/ ", text)
    fetched = (tools / "log").read_text()
    assert fetched == f"-a --ignore-existing {command.replace(chr(39), '')} mover-1:/ {kept}/\n"


def test_points_of_a_removed_vm_expire_with_the_task_of_the_readme(site: RoleSite, tmp_path: Path) -> None:
    """The role deletes none, and the task all that are old enough, but not the newest. The page can be mailed."""
    readme = (ROOT / "roles" / "vm_backup_report" / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("/srv/backups", str(site.repository))
    dummy, expire, mail = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", readme, re.S))
    options = mail[0].pop("community.general.mail")
    mail[0]["ansible.builtin.copy"] = {"content": "{{ mail | to_json }}", "dest": str(tmp_path / "mail")}
    for wanted in ("vm-1", "vm-1", "vm-2"):
        site.back_up(query=[], vms=wanted, full_every=1)
    vm = site.sim.records("vm")[0]
    removal = {"uuid": vm["uuid"], "state": "absent", "data_volumes": "delete", "expunge": True}
    assert ModuleRunner(site.sim)("vm", removal)["changed"]
    folder = site.repository / vm["uuid"]
    play = {
        "roles": ["virtinfra.manager.vm_backup_report"],
        "vars": {
            "vm_backup_report_path": str(tmp_path / "backups.html"),
            "vm_backup_report_repository": str(site.repository),
            "mail": options,
        },
    }
    code, output = site.play({**play, "tasks": expire})
    assert (code, len(list(folder.glob("*/manifest.json")))) == (0, 2), output
    old = ["20240101T020000Z", "20240102T020000Z"]
    for path, name in zip(sorted(folder.glob("*Z")), old, strict=True):
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        (path / "manifest.json").write_text(json.dumps({**manifest, "point": name}), encoding="utf-8")
        path.rename(folder / name)
    code, output = site.play({**play, "tasks": [*expire, *mail]})
    assert code == 0, output
    assert [path.parent.name for path in folder.glob("*/manifest.json")] == old[1:]
    assert len(list(site.repository.glob("*/*/manifest.json"))) == 2
    sent = json.loads((tmp_path / "mail").read_text(encoding="utf-8"))
    assert sent["subject"] == "Backups: 1 of 2 VMs are protected"
    assert sent["body"] == (tmp_path / "backups.html").read_text(encoding="utf-8").rstrip("\n")


def test_a_restore_and_its_guards(site: RoleSite) -> None:
    """The last guard refuses before anything is written; then the volumes have the content of the point."""
    vm = site.sim.records("vm")[0]
    volume = vm["rootVolumeUuid"]
    site.write(volume, 0, MIB)
    point = site.back_up(query=[], vms="vm-1")["vm-1"]["point"]
    moment = bytes(site.truth[volume])
    site.write(volume, 0, 2 * MIB)
    wanted = {"vm": "vm-1", "point": point, "confirm": "vm-1"}
    code, output, dummy = site.run_role("vm_backup_restore", **{**wanted, "stop": True, "confirm": "vm-2"})
    assert (code, "must be the name of the VM, vm-1" in " ".join(output.split())) == (2, True), output
    assert site.state_of("vm-1") == "Running"

    code, output, predicted = site.run_role("vm_backup_restore", "--check", **{**wanted, "stop": True})
    assert (code, {entry["outcome"] for entry in predicted}) == (0, {"changed"}), output
    code, output, report = site.run_role("vm_backup_restore", "-v", **wanted, stop=True, start=False, rate_limit=1)
    assert code == 0, output
    assert re.search(rf"vm-1: (restore|verify) of volume {volume}: \d+% of \d\.\d MiB, .*/s", output), output
    restored = next(entry for entry in report if entry["volume"] == volume)
    assert (restored["outcome"], restored["verified"]) == ("changed", True)
    assert restored["snapshot_group"].startswith("before-restore-")
    raw = site.disks / "content"
    run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", site.disks / f"{volume}.qcow2", raw)
    assert raw.read_bytes() == moment
    code, output, again = site.run_role("vm_backup_restore", **wanted, snapshot_first=False, start=True)
    assert (code, {entry["outcome"] for entry in again}) == (0, {"unchanged"}), output
    assert site.state_of("vm-1") == "Running"
    following = site.back_up(query=[], vms="vm-1")["vm-1"]
    # A volume that was written is compared; the bitmaps of the others were lost when the VM stopped.
    assert following["outcome"] in ("full", "compared", "mixed")

    folder = site.repository.with_name("files")
    folder.mkdir()
    code, output, files = site.run_role("vm_backup_restore", vm="vm-1", point=point, to_directory=str(folder))
    assert code == 0, output
    assert (folder / f"{volume}.raw").read_bytes() == moment
    assert {entry["outcome"] for entry in files} == {"changed"}


def test_a_removed_vm_comes_back(site: RoleSite) -> None:
    """The VM has its content, volumes and addresses again. A second run finds the VM, and changes nothing."""
    vm = site.sim.records("vm")[0]
    root, data = (volume["uuid"] for volume in vm["allVolumes"])
    site.write(root, 0, MIB)
    site.write(data, 2 * MIB, 5000)
    site.back_up(query=[], vms="vm-1")
    removal = {"uuid": vm["uuid"], "state": "absent", "data_volumes": "delete", "expunge": True}
    assert ModuleRunner(site.sim)("vm", removal)["changed"]
    code, output, dummy = site.run_role("vm_backup_restore", vm="vm-1", confirm="vm-1")
    assert (code, "Set vm_backup_restore_state to created" in " ".join(output.split())) == (2, True), output
    wanted = {"vm": "vm-1", "state": "created", "start": True}
    code, output, predicted = site.run_role("vm_backup_restore", "--check", **wanted)
    assert (code, [entry["outcome"] for entry in predicted]) == (0, ["changed"] * 2), output
    assert [each["name"] for each in site.sim.records("vm")] == ["vm-2", "vm-3"]
    code, output, report = site.run_role("vm_backup_restore", **wanted)
    assert (code, [entry["outcome"] for entry in report]) == (0, ["changed"] * 2), output
    assert f"- a NIC in the network {vm['vmNics'][0]['l3NetworkUuid']}, {vm['vmNics'][0]['ip']}" in output
    assert site.state_of("vm-1") == "Running"
    (made,) = (each for each in site.sim.records("vm") if each["name"] == "vm-1")
    raw = site.disks / "content"
    for entry, source in zip(report, (root, data), strict=True):
        run("qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", site.disks / f"{entry['target']}.qcow2", raw)
        assert (entry["volume"], raw.read_bytes()) == (source, bytes(site.truth[source]))
    assert [nic["ip"] for nic in made["vmNics"]] == [nic["ip"] for nic in vm["vmNics"]]
    code, output, again = site.run_role("vm_backup_restore", **wanted)
    assert (code, [entry["outcome"] for entry in again]) == (0, ["unchanged"] * 2), output
    assert [entry["operation"] for entry in site.requests if entry["method"] != "GET"] == []
    assert re.search(r"localhost +: ok=\d+ +changed=0 ", output), output
    # The restored VM can be backed up like any other one.
    assert site.back_up(query=[], vms="vm-1")["vm-1"]["outcome"] == "full"


def test_a_vm_without_a_network_is_made_beside_the_first_one(site: RoleSite) -> None:
    """It has the content of the point, while the first VM runs on, with what it has written since."""
    vm = site.sim.records("vm")[0]
    root, data = (volume["uuid"] for volume in vm["allVolumes"])
    site.write(root, 0, MIB)
    site.write(data, 2 * MIB, 5000)
    site.back_up(query=[], vms="vm-1")
    moments = [bytes(site.truth[volume]) for volume in (root, data)]
    site.write(root, 0, 2 * MIB)
    wanted = {"vm": "vm-1", "state": "created", "name": "vm-1-of-yesterday", "nics": "none"}
    code, output, report = site.run_role("vm_backup_restore", **wanted)
    assert (code, [entry["outcome"] for entry in report]) == (0, ["changed"] * 2), output
    (made,) = (each for each in site.sim.records("vm") if each["name"] == "vm-1-of-yesterday")
    assert (made["state"], made["vmNics"], made["uuid"] != vm["uuid"]) == ("Stopped", [], True)
    raw = site.disks / "content"
    for entry, moment in zip(report, moments, strict=True):
        run("qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", site.disks / f"{entry['target']}.qcow2", raw)
        assert raw.read_bytes() == moment
    (first,) = (each for each in site.sim.records("vm") if each["name"] == "vm-1")
    assert first == vm
    assert "StopVmInstance" not in {each["operation"] for each in site.requests}


def test_one_volume_of_a_point_is_attached_as_a_disk(site: RoleSite) -> None:
    """To fetch a file from it, while the VM runs. It is removed by its mark."""
    vm = site.sim.records("vm")[0]
    root, data = (volume["uuid"] for volume in vm["allVolumes"])
    site.write(data, 2 * MIB, 5000)
    site.back_up(query=[], vms="vm-1")
    moment = bytes(site.truth[data])
    site.write(data, 0, MIB)
    wanted = {"vm": "vm-1", "state": "attached", "volumes": [data]}
    code, output, (entry,) = site.run_role("vm_backup_restore", **wanted)
    assert (code, entry["outcome"], entry["volume"]) == (0, "changed", data), output
    assert f"The volume {data} of the point {entry['point']} of vm-1, 4194304 bytes, becomes a new disk" in output
    assert "StopVmInstance" not in {each["operation"] for each in site.requests}
    (after,) = (each for each in site.sim.records("vm") if each["name"] == "vm-1")
    assert [each["uuid"] for each in after["allVolumes"]] == [root, data, entry["target"]]
    raw = site.disks / "content"
    run("qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", site.disks / f"{entry['target']}.qcow2", raw)
    assert raw.read_bytes() == moment
    assert len(site.sim.records("vm")) == 3
    code, output, report = site.run_role("vm_backup_restore", vm="vm-1", state="detached")
    assert (code, [each["outcome"] for each in report]) == (0, ["changed"]), output
    (after,) = (each for each in site.sim.records("vm") if each["name"] == "vm-1")
    assert ([each["uuid"] for each in after["allVolumes"]], after["state"]) == ([root, data], "Running")
    assert entry["target"] not in {each["uuid"] for each in site.sim.records("volume")}


def test_a_damaged_point_stops_no_vm(site: RoleSite) -> None:
    """Check mode finds the damage, too. A restore into files fails, with an entry for each volume."""
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, MIB)
    point = site.back_up(query=[], vms="vm-1")["vm-1"]["point"]
    image = site.repository / vm["uuid"] / point / f"{vm['rootVolumeUuid']}.qcow2"
    run("qemu-io", "-f", "qcow2", "-c", "write -P 0xaa 512k 4k", image)
    for arguments in (("--check",), ()):
        code, output, report = site.run_role("vm_backup_restore", *arguments, vm="vm-1", confirm="vm-1", stop=True)
        assert (code, {entry["outcome"] for entry in report}) == (2, {"failed"}), output
        assert f"{image} is damaged: its checksum is not that of the manifest" in report[0]["error"]
        assert [entry["operation"] for entry in site.requests if entry["method"] != "GET"] == []
    assert site.state_of("vm-1") == "Running"
    folder = site.repository.with_name("files")
    folder.mkdir()
    for arguments in (("--check",), ()):
        code, output, report = site.run_role("vm_backup_restore", *arguments, vm="vm-1", to_directory=str(folder))
        assert (code, len(report), {entry["outcome"] for entry in report}) == (2, 2, {"failed"}), output
        assert f"{image} is damaged" in report[0]["error"]
    assert list(folder.iterdir()) == []


def test_a_vm_that_a_person_starts_while_it_is_written(site: RoleSite) -> None:
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    site.back_up(query=[], vms="vm-1")
    site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    options: dict[str, Any] = {"vm": "vm-1", "confirm": "vm-1", "stop": True, "start": True, "rate_limit": 1}
    restoring = site.start_role("vm_backup_restore", **options)
    wait_until(lambda: site.sim.state()["exported"].get(vm["uuid"]), 120)
    site.sim.change("vm", vm["uuid"], state="Running")
    assert restoring.wait() == 2
    # Nobody waits at a terminal.
    assert "of volume" not in site.output.read_text(encoding="utf-8")
    assert "The VM is Running: it was started, or removed, while its" in site.output.read_text(encoding="utf-8")


def test_the_capacity_report_lists_vms_without_a_recent_point(site: RoleSite) -> None:
    """The role fails if it is asked to, after it has written the page, and if a mover cannot be read."""
    site.back_up(query=[], vms="vm-1")
    page = site.repository.with_name("page.html")
    given: dict[str, Any] = {"repository": None, "path": str(page), "backup_repository": str(site.repository)}
    code, output, dummy = site.run_role("capacity_report", **given, backup_fail=True)
    assert (code, "2 of 3 VMs have no restore point of the last 2 days: vm-2, vm-3" in output) == (2, True), output
    assert "These VMs have no restore point of the last 2 days" in page.read_text(encoding="utf-8")
    listed = page.read_text(encoding="utf-8").partition('id="backups"')[2]
    assert [name in listed for name in ("vm-1", "vm-2", "vm-3")] == [False, True, True]

    code, output, dummy = site.run_role("capacity_report", **given, backup_fail=True, backup_query=["name=vm-1"])
    assert code == 0, output
    assert "All VMs have a restore point" in page.read_text(encoding="utf-8")

    given["backup_repository"] = str(site.repository / "missing")
    code, output, dummy = site.run_role("capacity_report", **given, backup_fail=True)
    assert (code, "1 of its 4 parts could not be read" in output) == (2, True), output
    assert "Storages" in page.read_text(encoding="utf-8")
