"""The modules of the data mover, in playbooks: their examples, their documentation, and the machine that they need."""

from __future__ import annotations

import ast
import itertools
import json
import multiprocessing
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup import connection
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.listing import list_running
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.meter import Meter
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.parts import OS_RELEASE, name_packages
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.process import execute
from ansible_collections.virtinfra.manager.plugins.modules.backup_point import MODULE
from backup.site import Site

from support.collection import COMMON_MEMBERS, ROOT, module, shape_differences
from support.kvm_host import MIB, run_command, wait_until
from support.older_pythons import find_older_pythons, require_older_python
from support.playbook_runner import PlaybookRunner, Run
from support.repositories import make_repository
from support.return_docs import load_returns

# What runs with the Python of a data mover: its modules, and the rooms that they import.
MOVER_CODE = [
    *(ROOT / "plugins" / "module_utils" / "_backup").glob("*.py"),
    *(ROOT / "plugins" / "modules").glob("backup_*.py"),
    ROOT / "plugins" / "module_utils" / "_python.py",
]


class Mover:
    """Runs tasks on a data mover, which is this machine."""

    def __init__(self, runner: PlaybookRunner, python: str = sys.executable) -> None:
        self.runner, self.python = runner, python

    def play(
        self,
        *tasks: dict[str, Any],
        variables: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> Run:
        """Run tasks on a host that is not the controller, as far as Ansible knows."""
        here = {"ansible_connection": "local", "ansible_python_interpreter": self.python, **(variables or {})}
        arguments = ("--inventory", "localhost,mover,", "--diff", *arguments)
        return self.runner.play(*tasks, arguments=arguments, environment=environment, vars=here)

    def run(self, name: str, options: Mapping[str, Any], check: bool = False) -> dict[str, Any]:
        """Run one module and return its result, which must be documented."""
        (result,) = self.run_all((name, options, check))
        return result

    def run_all(self, *tasks: tuple[str, Mapping[str, Any], bool]) -> list[dict[str, Any]]:
        """Run modules with options, with or without check mode, in one play, and return their documented results."""
        run = self.play(
            *({f"virtinfra.manager.{name}": dict(options), "check_mode": check} for name, options, check in tasks)
        )
        assert len(run.tasks) == len(tasks), run.output
        results = []
        for (name, dummy, check), played in zip(tasks, run, strict=True):
            has_failed = played.status == "failed"
            if not has_failed:
                check_result(name, played.result)
                assert played.result.get("check_mode", False) == check
            results.append({**played.result, "failed": has_failed})
        return results


def check_result(name: str, result: Mapping[str, Any]) -> None:
    """Fail if a result is not as documented."""
    returns = load_returns(name)
    own = {member: value for member, value in result.items() if member not in COMMON_MEMBERS | {"ansible_facts"}}
    assert own.keys() == returns.keys()
    for member, value in own.items():
        assert list(shape_differences(value, returns[member], member)) == []


@pytest.fixture
def mover(playbook_runner: PlaybookRunner) -> Mover:
    return Mover(playbook_runner)


def options_for(site: Site, infos: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    """Return the options with which a session is copied."""
    return {"repository": str(site.root), "vm": site.vm.record, "volumes": infos, **others}


def test_a_backup_and_a_restore(site: Site, mover: Mover) -> None:
    site.vm.write(0, 0, 2 * MIB)
    with site.vm.opened() as infos:
        site.freeze(site.moments / "new")
        options = options_for(site, infos)
        predicted, made, again, listed = mover.run_all(
            *(("backup_point", options, check) for check in (True, False, False)),
            ("backup_point_info", {"repository": str(site.root), "check": True}, False),
        )
    assert (predicted["changed"], made["changed"], again["changed"]) == (True, True, False)
    stamp = made["point"]["point"]
    assert again["point"] == made["point"]
    assert made["diff"] == {"before": {"points": []}, "after": {"points": [stamp]}}
    same = ("mode", "reason", "base", "size", "bytes_read")
    of_prediction, of_run = (result["point"]["volumes"][0] for result in (predicted, made))
    assert {name: of_prediction[name] for name in same} == {name: of_run[name] for name in same}
    (site.moments / "new").rename(site.moments / stamp)
    assert site.is_right(stamp)

    assert not listed["changed"]
    assert [(point["point"], point["whole"]) for point in listed["points"]] == [(stamp, True)]
    assert [each["checkpoint"] for each in listed["checkpoints"]] == [infos[0]["bitmap_name"]]
    assert 0 < listed["space"]["free_bytes"] < listed["space"]["total_bytes"]

    site.vm.write(0, MIB, 50_000)
    site.vm.stop()
    restore = {"repository": str(site.root), "vm_uuid": site.vm.uuid}
    exported = {**restore, "volumes": site.vm.export()}
    # A connection of the prediction would have ended the export.
    results = mover.run_all(*(("backup_restore", exported, check) for check in (True, False)))
    assert [result["changed"] for result in results] == [True, True]
    assert site.vm.end_exports() == [0]
    assert site.holds(stamp)
    assert not mover.run("backup_restore", {**restore, "volumes": site.vm.export()})["changed"]


def test_progress_is_shown(site: Site, mover: Mover) -> None:
    """A task that works alone also shows its progress. No other task can have its VM until it gives the VM back."""
    site.vm.write(0, 0, 3 * MIB)
    with site.vm.opened() as infos:
        task = {"virtinfra.manager.backup_point": options_for(site, infos, rate_limit=1)}
        copied = mover.play(task, arguments=["-v"])
    stamp = copied.results[0]["point"]["point"]
    volume = site.vm.volumes[0].uuid
    line = rf"\[localhost\] virtinfra.manager.backup_point: .*: full of volume {volume}: \d+% of 3.0 MiB, .*/s"
    assert re.search(line, copied.output), copied.output
    site.vm.stop()
    options = {"repository": str(site.root), "vm_uuid": site.vm.uuid, "volumes": site.vm.export(), "rate_limit": 1}
    restored = mover.play({"virtinfra.manager.backup_restore": options}, arguments=["-v"])
    assert re.search(rf"{site.vm.uuid}: restore of volume {volume}: \d+% of 3.0 MiB, .*/s", restored.output)
    assert restored.results[0]["volumes"][0]["state"] == "unchanged"
    assert list((site.root / ".runs").glob("*.json")) == []
    taking = {"repository": str(site.root), "run": "1" * 32, "owner": {"host": "a"}, "vm_uuids": [site.vm.uuid]}
    site.vm.end_exports()
    taken, refused, ended = mover.run_all(
        ("backup_run", taking, False),
        ("backup_restore", {**options, "volumes": site.vm.export(), "point": stamp}, False),
        ("backup_restore", {**options, "run": "2" * 32}, False),
    )
    assert taken["taken"] == [site.vm.uuid]
    assert refused["msg"].startswith("Another run copies or restores the VM")
    assert "the run 22222222222222222222222222222222 has no VMs" in ended["msg"]


def test_a_task_that_is_stopped_does_not_write_any_more(site: Site, mover: Mover) -> None:
    site.vm.write(0, 0, 12 * MIB)
    site.back_up()
    site.vm.stop()
    options = {"repository": str(site.root), "vm_uuid": site.vm.uuid, "volumes": site.vm.export(), "rate_limit": 1}

    def end_runs() -> None:
        wait_until(lambda: "restore" in [each["step"] for each in list_running(site.repository, [site.vm.uuid])], 60)
        # As the end of its task does.
        for path in (site.root / ".runs").glob("*.json"):
            path.unlink()

    # A playbook is a fork of this process, which a thread that works meanwhile may leave in any state.
    ending = multiprocessing.get_context("fork").Process(target=end_runs)
    ending.start()
    run = mover.play({"virtinfra.manager.backup_restore": options})
    ending.join()
    assert len(run.tasks) == 1, run.output
    result = run.results[0]
    assert (result["msg"].startswith("the run "), "has ended, and this task with it" in result["msg"]) == (True, True)
    assert [volume["state"] for volume in result["volumes"]] == ["incomplete"]
    assert site.vm.end_exports() == [0]


def test_a_home_that_is_not_that_of_passwd(site: Site, mover: Mover, tmp_path: Path) -> None:
    """Core writes the file of an async job into one home, and looks for it in the other. None is left in either."""
    site.vm.write(0, 0, MIB)
    environment = {"HOME": str(tmp_path / "home"), "ANSIBLE_ASYNC_DIR": "~/.ansible_async"}
    with site.vm.opened() as infos:
        (played,) = mover.play({"virtinfra.manager.backup_point": options_for(site, infos)}, environment=environment)
    assert (played.status, played.result.get("msg")) == ("ok", None)
    assert site.stamps == [played.result["point"]["point"]]
    assert list((site.root / ".runs").glob("*.jobs")) == []
    assert not (tmp_path / "home" / ".ansible_async").exists()


def test_a_failed_restore_says_what_became_of_each_volume(site: Site, mover: Mover) -> None:
    site.vm.write(0, 0, MIB)
    site.back_up()
    site.vm.stop()
    site.vm.volumes[0].grow(17 * MIB)
    options = {"repository": str(site.root), "vm_uuid": site.vm.uuid, "volumes": site.vm.export()}
    result = mover.run("backup_restore", options)
    assert result["failed"]
    assert not result["changed"]
    assert "Nothing was written" in result["msg"]
    assert [volume["state"] for volume in result["volumes"]] == ["untouched"]


def test_a_warning_about_a_bitmap_that_lied(site: Site, mover: Mover) -> None:
    site.vm.write(0, 0, MIB)
    site.back_up()
    checkpoint = site.checkpoint
    site.vm.write(0, 0, 100_000)
    with site.vm.opened(checkpoint, lying=True) as infos:
        result = mover.run("backup_point", options_for(site, infos, base_checkpoint=checkpoint, verify="all"))
    assert result["point"]["mode"] == "compared"
    assert any("the bitmap or the base is wrong" in warning for warning in result["warnings"])


def test_a_deletion(site: Site, mover: Mover) -> None:
    for dummy in range(2):
        site.back_up()
    site.back_up(wish=Wish("full"))
    options = {"repository": str(site.root), "vm_uuid": site.vm.uuid, "state": "absent", "keep": {"last": 1}}
    stamps = site.stamps
    *results, refused = mover.run_all(
        *(("backup_point", options, check) for check in (True, False, False)),
        (
            "backup_point",
            {"repository": options["repository"], "vm_uuid": site.vm.uuid, "state": "absent", "points": stamps[2:]},
            False,
        ),
    )
    assert [result["changed"] for result in results] == [True, True, False]
    assert results[0]["diff"] == results[1]["diff"] == {"before": {"points": stamps}, "after": {"points": stamps[2:]}}
    assert results[1]["deleted"] == stamps[:2]
    assert site.stamps == results[2]["kept"] == stamps[2:]
    assert "never deleted" in refused["msg"]


def test_a_run(site: Site, mover: Mover) -> None:
    """A run takes a VM that no other run has, reports the progress of the copy, and releases the VM."""
    taking = {"repository": str(site.root), "run": "1" * 32, "owner": {"host": "a"}, "vm_uuids": [site.vm.uuid]}
    *results, other = mover.run_all(
        *(("backup_run", taking, check) for check in (True, False, False)),
        ("backup_run", {**taking, "run": "2" * 32}, False),
    )
    assert [(result["changed"], result["taken"]) for result in results] == [
        (True, [site.vm.uuid]),
        (True, [site.vm.uuid]),
        (False, [site.vm.uuid]),
    ]
    assert (other["taken"], [each["run"] for each in other["others"]]) == ([], ["1" * 32])
    site.folder.path.mkdir()
    Meter(site.folder.progress).begin(MIB, vm_uuid=site.vm.uuid, point="p", volume_uuid="v", step="full")
    giving = {"repository": str(site.root), "run": "1" * 32, "state": "absent"}
    later = {**taking, "run": "2" * 32, "ended": ["3" * 32]}
    running, listed, *given, taken = mover.run_all(
        *(("backup_run", options, False) for options in (taking, {**taking, "list_points": True})),
        *(("backup_run", options, False) for options in (giving, giving, later)),
    )
    assert (running["listed"], listed["listed"]["points"], listed["listed"]["running"]) == (
        None,
        [],
        running["running"],
    )
    assert running["running"][0]["bytes_total"] == MIB
    assert [result["changed"] for result in given] == [True, False]
    assert taken["taken"] == [site.vm.uuid]


def test_options_that_are_refused(tmp_path: Path, mover: Mover) -> None:
    vm = {"uuid": "1" * 32}
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "one of the following is required: vm, vm_uuid"),
        ({"vm": vm}, "state is present but all of the following are missing: volumes"),
        ({"vm": vm, "volumes": []}, "volumes is empty"),
        ({"vm": {"uuid": "../.."}, "volumes": [{}]}, "must have a uuid"),
        ({"vm_uuid": "1" * 32, "state": "absent"}, "any of the following are missing: keep, points"),
        ({"vm_uuid": "1" * 32, "state": "proved", "points": ["1"]}, "all of the following are missing: proof"),
        (
            {"vm_uuid": "1" * 32, "state": "proved", "points": ["1"], "proof": {"time": "now", "level": "ran"}},
            "has no point 1",
        ),
        ({"vm_uuid": "..", "state": "absent", "keep": {"last": 1}}, "must have a uuid"),
        ({"vm": vm, "volumes": [{}], "min_free_percent": 100}, "min_free_percent must be from 0 to 99"),
    )
    results = mover.run_all(
        *(
            ("backup_point", {"repository": str(make_repository(tmp_path)), **options}, False)
            for options, dummy in cases
        )
    )
    for result, (dummy, message) in zip(results, cases, strict=True):
        assert message in result["msg"]


def test_the_examples(site: Site, mover: Mover, tmp_path: Path) -> None:
    """The examples run with real disks, and a second run changes nothing."""
    restored = tmp_path / "restored"
    restored.mkdir()
    site.vm.write(0, 0, MIB)
    with site.vm.opened() as infos:
        variables = {"vms": [site.vm.record], "session": {"volume_cbt_backup_infos": infos}}
        *examples, proving = load_examples("backup_point", site, restored)
        run = mover.play(*examples, *examples, variables=variables)
    assert [result["changed"] for result in run.results] == [True, *[False] * 5], run.output
    assert len(site.stamps) == 1
    proving = json.loads(json.dumps(proving).replace("20261127T021500Z", site.stamps[0]))
    run = mover.play(proving, proving, variables=variables)
    assert [result["changed"] for result in run.results] == [True, False], run.output
    others = (load_examples(name, site, restored) for name in ("backup_run", "backup_point_info"))
    run = mover.play(*itertools.chain(*others), variables=variables)
    outcomes = [(played.status, played.result["changed"]) for played in run]
    assert outcomes == [*[("ok", True)] * 2, *[("ok", False)] * 2], run.output
    site.vm.write(0, 0, MIB)
    site.vm.stop()
    for changes in ((True, False, True), (False, False, False)):
        variables["export"] = {"volume_infos": site.vm.export()}
        run = mover.play(*load_examples("backup_restore", site, restored), variables=variables)
        assert tuple(result["changed"] for result in run.results) == changes, run.output
        site.vm.end_exports()


def load_examples(name: str, site: Site, restored: Path) -> list[dict[str, Any]]:
    """Return the examples of a module, with folders and a point of this machine."""
    text = json.dumps(module(name).examples).replace("/srv/backups", str(site.root))
    text = text.replace("/srv/restored", str(restored))
    if name == "backup_restore":
        text = text.replace("20261127T021500Z", site.stamps[-1])
    examples: list[dict[str, Any]] = json.loads(text)
    return examples


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python without libnbd."""
    folder = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


def test_the_python_of_the_platform_is_found(site: Site, mover: Mover, bare_python: str) -> None:
    mover.python = bare_python
    site.vm.write(0, 0, MIB)
    with site.vm.opened() as infos:
        result = mover.run("backup_point", options_for(site, infos))
    assert result["changed"]
    assert site.stamps == [result["point"]["point"]]


def test_a_mover_that_lacks_everything(tmp_path: Path, mover: Mover, bare_python: str) -> None:
    """The message names the packages of this distribution."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sh", "rm", "mkdir", "chmod", "echo"):
        path = next(
            Path(folder, name) for folder in os.environ["PATH"].split(os.pathsep) if Path(folder, name).exists()
        )
        (commands / name).symlink_to(path)
    mover.python = bare_python
    task = {
        "virtinfra.manager.backup_point": options_for_nothing(make_repository(tmp_path)),
        "environment": {"PATH": str(commands)},
    }
    message = mover.play(task).results[0]["msg"]
    assert "lacks qemu-img, qemu-nbd, setpriv. Install" in message
    assert message.endswith(f"Install {name_packages(OS_RELEASE)}")


@pytest.mark.parametrize("path", [*MOVER_CODE], ids=lambda path: path.stem)
def test_python_3_9_knows_the_syntax(path: Path) -> None:
    """The syntax is checked even if no Python 3.9 is installed."""
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_python_3_9_runs_the_modules(site: Site, mover: Mover) -> None:
    """Python 3.9 is that of RHEL 9. Without libnbd, the module that copies finds the Python of the platform."""
    mover.python = require_older_python(find_older_pythons("3.9"))
    site.vm.write(0, 0, MIB)
    restored = site.root.with_name("files")
    restored.mkdir()
    root, uuid = str(site.root), site.vm.uuid
    with site.vm.opened() as infos:
        made, listed, written, taken, deleted = mover.run_all(
            ("backup_point", options_for(site, infos), False),
            ("backup_point_info", {"repository": root, "check": True}, False),
            ("backup_restore", {"repository": root, "vm_uuid": uuid, "directory": str(restored)}, False),
            ("backup_run", {"repository": root, "run": "1" * 32, "vm_uuids": [uuid]}, False),
            ("backup_point", {"repository": root, "vm_uuid": uuid, "state": "absent", "keep": {"last": 1}}, False),
        )
    assert [result["changed"] for result in (made, listed, written, deleted)] == [True, False, True, False]
    assert [point["whole"] for point in listed["points"]] == [True]
    assert taken["taken"] == [uuid]


def options_for_nothing(root: Path) -> dict[str, Any]:
    """Return options that a module accepts."""
    return {"repository": str(root), "vm": {"uuid": "1" * 32}, "volumes": [{}]}


@pytest.mark.parametrize("version", [None, "1.10.5", "0.9"])
def test_without_libnbd_the_message_names_it(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """PyPI's package nbd is another one."""
    library = (
        SimpleNamespace(NBD=lambda: SimpleNamespace(get_version=lambda: version)) if version else SimpleNamespace()
    )
    monkeypatch.setattr(connection, "nbd", library)
    result = execute(MODULE, {"state": "present", "run": None}, False, run_command)
    assert result["failed"]
    assert result["msg"].startswith(
        f"this data mover lacks libnbd 1.12 or newer for {sys.executable}. Install python3-"
    )
