"""A backup and a restore by the modules alone, from the API to the disks of a simulator."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.kvm_host import MIB, read_image
from support.playbook_runner import PlaybookRunner, Run
from support.repositories import make_repository

VM = {"uuid": seeded_uuid("vm", 1), "name": "vm-1"}
VOLUME = seeded_uuid("volume", 1)


def play(runner: PlaybookRunner, *tasks: dict[str, Any]) -> Run:
    """Run tasks that succeed, with the Python that has libnbd."""
    named = [{f"virtinfra.manager.{name}": options for name, options in task.items()} for task in tasks]
    with_names = [{**task, "register": f"result_{number}"} for number, task in enumerate(named)]
    outcome = runner.play(*with_names, vars={"ansible_python_interpreter": sys.executable})
    assert [played.status for played in outcome] == ["ok"] * len(tasks), outcome.output
    return outcome


def back_up(runner: PlaybookRunner, repository: Path, checkpoint: str | None = None) -> dict[str, Any]:
    """Enable, copy and disable, and return the point."""
    session: dict[str, Any] = {"name": "backup", "vm": "vm-1", "state": "enabled"}
    point = {"repository": str(repository), "vm": VM, "volumes": "{{ result_0.volume_cbt_backup_infos }}"}
    if checkpoint:
        session["bitmap_name"] = point["base_checkpoint"] = checkpoint
    ended = {"name": "backup", "state": "disabled"}
    outcome = play(
        runner, {"cbt_task": session}, {"backup_point": {**point, "min_free_percent": 0}}, {"cbt_task": ended}
    )
    return dict(outcome.results[1]["point"])


def test_two_backups_and_a_restore(tmp_path: Path) -> None:
    disks, repository = tmp_path / "disks", make_repository(tmp_path / "repository")
    with Simulator("--disks", str(disks), "--disk-size", "4M", "--latency", "0") as sim:
        defaults = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        runner = PlaybookRunner(tmp_path, sim.url, defaults)
        sim.guest_write(VOLUME, 0, MIB, 1)
        first = back_up(runner, repository)
        sim.guest_write(VOLUME, MIB // 2, 5000, 2)
        second = back_up(runner, repository, first["volumes"][0]["checkpoint"])
        assert (first["mode"], second["mode"]) == ("full", "incremental")
        sim.guest_write(VOLUME, 0, MIB, 3)
        play(
            runner,
            {"vm": {"uuid": VM["uuid"], "state": "stopped"}},
            {"cbt_volume_export": {"vm": "vm-1", "volumes": [VOLUME, seeded_uuid("volume", 2)]}},
            {
                "backup_restore": {
                    "repository": str(repository),
                    "vm_uuid": VM["uuid"],
                    "point": second["point"],
                    "volumes": "{{ result_1.volume_infos }}",
                }
            },
        )
        expected = bytearray(4 * MIB)
        expected[:MIB] = Random(1).randbytes(MIB)
        expected[MIB // 2 : MIB // 2 + 5000] = Random(2).randbytes(5000)
        assert read_image(disks / f"{VOLUME}.qcow2") == bytes(expected)
