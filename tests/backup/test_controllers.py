"""Controllers that are killed at random moments, and two that run at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.meter import FILE, read_progress
from backup.role_site import RoleSite, open_role_site

from support.examples import FACTOR
from support.kvm_host import MIB, wait_until

# How many controllers each test kills. With EXAMPLES_FACTOR=10, all tests together kill 20.
KILLS = 2

EVERYTHING: dict[str, Any] = {"query": ["name~=vm-%"], "min_free_percent": 0, "per_host": 3}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RoleSite]:
    with open_role_site(tmp_path) as site:
        yield site


def list_points(site: RoleSite) -> set[tuple[str, str]]:
    """Return the uuid of the VM and the name of each point."""
    return {(path.parent.parent.name, path.parent.name) for path in site.repository.glob("*/*/manifest.json")}


def list_scratch_volumes(site: RoleSite) -> list[str]:
    """Return the names of the scratch volumes."""
    return [volume["name"] for volume in site.sim.records("volume") if volume["name"].startswith("Cbt-volume-of-")]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(53, 53 + FACTOR))
def test_a_controller_is_killed_at_random_moments(site: RoleSite, tmp_path: Path, seed: int) -> None:
    """After the next run, each point is whole or absent, and no session and no scratch volume is open."""
    chance = Random(seed)
    volumes = {vm["uuid"]: vm["rootVolumeUuid"] for vm in site.sim.records("vm")}
    options = {**EVERYTHING, "concurrency": 2, "rate_limit": 8, "full_every": 1}
    for volume in volumes.values():
        site.write(volume, 0, 2 * MIB)
    began = time.monotonic()
    assert site.start_role("vm_backup", **options).wait() == 0, site.output.read_text(encoding="utf-8")
    longest = time.monotonic() - began
    for number in range(KILLS):
        for volume in volumes.values():
            site.write(volume, chance.randrange(0, 4) * MIB, MIB)
        before = list_points(site)
        controller = site.start_role("vm_backup", **options)
        time.sleep(chance.uniform(0, longest))
        # The workers are in another process group than the controller, and see that the controller has ended.
        os.killpg(controller.pid, signal.SIGKILL)
        controller.wait()
        # The next run is that of another account, or of another machine after this one has ended.
        site.environment = {"HOME": str(tmp_path / f"home-{number}")}
        code, output, report = site.run_role("vm_backup", **options)
        assert (number, code, {entry["outcome"] for entry in report}) == (number, 0, {"full"}), output
        assert_nothing_is_open(site)
        for vm, point in list_points(site) - before:
            assert site.read_point(vm, point, volumes[vm]) == bytes(site.truth[volumes[vm]])


def assert_nothing_is_open(site: RoleSite) -> None:
    """Check that no session is open, and that no run, no scratch volume, and no unfinished point remains."""
    assert {task["status"] for task in site.sim.records("cbttask")} <= {"Stopped"}
    assert list_scratch_volumes(site) == []
    assert [path.name for path in site.repository.rglob("*.partial")] == []
    assert [path.name for path in (site.repository / ".runs").glob("*.json")] == []


def has_ended(site: RoleSite) -> bool:
    """Return whether no session is open, and the run has given its VMs back."""
    is_open = any(task["status"] in ("Starting", "Running") for task in site.sim.records("cbttask"))
    return not (is_open or list((site.repository / ".runs").glob("*.json")))


# Each signal, and each moment; the others in the session nights.
@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGINT, "copy"),
        (signal.SIGTERM, "EnableCbtTask"),
        pytest.param(signal.SIGINT, "EnableCbtTask", marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, "copy", marks=pytest.mark.nightly),
    ],
)
def test_a_controller_that_is_interrupted_ends_its_sessions(site: RoleSite, number: int, moment: str) -> None:
    """Sessions that open at this moment are ended, too. Ctrl-C reaches a process group, ``kill`` one process."""
    for vm in site.sim.records("vm"):
        site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    site.sim.configure(latency=3 if moment == "EnableCbtTask" else 0)
    controller = site.start_role("vm_backup", **EVERYTHING, rate_limit=1)
    if moment == "copy":
        wait_until(lambda: list(site.repository.glob("*/.progress.json")), 120)
    else:
        wait_until(lambda: any(entry["operation"] == moment for entry in site.sim.log()), 120)
    os.kill(-controller.pid if number == signal.SIGINT else controller.pid, number)
    assert controller.wait() != 0
    wait_until(lambda: has_ended(site), 120)
    site.sim.configure(latency=0)
    assert {entry["outcome"] for entry in site.back_up(per_host=3).values()} == {"full"}
    assert_nothing_is_open(site)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGTERM])
def test_a_restore_and_a_drill_that_are_interrupted_leave_nothing(site: RoleSite, number: int) -> None:
    """No export, no run, and no VM of a drill. The next restore completes the VM."""
    vm = site.sim.records("vm")[0]
    site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    site.back_up(query=[], vms="vm-1")
    site.write(vm["rootVolumeUuid"], 0, 3 * MIB)
    wanted: dict[str, Any] = {"vm": "vm-1", "confirm": "vm-1", "stop": True, "start": True}

    def interrupt(controller: subprocess.Popen[bytes]) -> None:
        os.kill(-controller.pid if number == signal.SIGINT else controller.pid, number)
        assert controller.wait() != 0
        wait_until(lambda: not list((site.repository / ".runs").glob("*.json")), 120)
        assert not any(site.sim.state()["exported"].values())

    restoring = site.start_role("vm_backup_restore", **wanted, rate_limit=1)
    wait_until(lambda: site.sim.state()["exported"].get(vm["uuid"]), 120)
    interrupt(restoring)
    code, output, report = site.run_role("vm_backup_restore", **wanted)
    assert (code, {entry["outcome"] for entry in report} - {"unchanged"}) == (0, {"changed"}), output
    assert site.state_of("vm-1") == "Running"
    assert [tag["tag"] for tag in site.sim.records("usertag") if tag["tag"].startswith("virtinfra.manager ")] == []
    drilling = site.start_role("vm_backup_drill", watch=600)
    wait_until(
        lambda: any(each["name"] == "drill-vm-1" and each["state"] == "Running" for each in site.sim.records("vm")), 120
    )
    interrupt(drilling)
    assert [each["name"] for each in site.sim.records("vm")] == ["vm-1", "vm-2", "vm-3"]
    assert list(site.repository.rglob("proved.json")) == []


def test_the_second_of_two_controllers_says_so(site: RoleSite) -> None:
    """The second controller neither opens nor ends a backup session, even before the first one copies."""
    site.sim.configure(latency=3)
    first = site.start_role("vm_backup", **EVERYTHING, concurrency=3)
    wait_until(lambda: any(entry["operation"] == "EnableCbtTask" for entry in site.sim.log()), 60)
    code, output, report = site.run_role("vm_backup", **EVERYTHING)
    assert code == 2, output
    host = os.uname().nodename
    for entry in report:
        assert entry["error"].startswith(f"Another run copies or restores the VM: process {first.pid} on {host}"), (
            output
        )
    site.sim.configure(latency=0)
    assert first.wait() == 0, site.output.read_text(encoding="utf-8")
    assert len(list_points(site)) == 3
    assert {entry["outcome"] for entry in site.back_up().values()} == {"incremental"}


def list_steps(site: RoleSite) -> list[str]:
    """Return what the tasks on the data mover do, by the files that show their progress."""
    found = map(read_progress, site.repository.glob(f"*/{FILE}"))
    return [progress["step"] for progress in found if progress]


def test_a_restore_that_was_killed_a_backup_and_a_restore(site: RoleSite) -> None:
    """No point is made of the VM, which is half written. Its mark says whose the exports of the first one are."""
    vm = site.sim.records("vm")[0]
    volumes = [volume["uuid"] for volume in vm["allVolumes"]]
    for volume in volumes:
        site.write(volume, 0, 3 * MIB)
    wanted: dict[str, Any] = {"vm": "vm-1", "confirm": "vm-1", "stop": True, "start": True}
    site.back_up(query=[], vms="vm-1")
    for volume in volumes:
        site.write(volume, 0, 3 * MIB)
    restoring = site.start_role("vm_backup_restore", **wanted, rate_limit=1)
    # Without a byte written, the process of the task, which survives the controller, would start the VM again.
    wait_until(lambda: "restore" in list_steps(site), 120)
    os.killpg(restoring.pid, signal.SIGKILL)
    restoring.wait()
    assert site.state_of("vm-1") == "Stopped"
    # The data mover writes until it notices that nobody waits for it, or that its run is over.
    code, output, report = site.run_role("vm_backup", query=[], vms="vm-1", min_free_percent=0)
    assert [entry["outcome"] for entry in report] == ["failed"], output
    assert "A restore writes into the VM, or was interrupted" in report[0]["error"]
    wait_until(lambda: not list(site.repository.glob(f"*/{FILE}")), 150)
    code, output, report = site.run_role("vm_backup_restore", **wanted)
    assert (code, {entry["outcome"] for entry in report} - {"unchanged"}) == (0, {"changed"}), output
    assert site.state_of("vm-1") == "Running"
    assert [tag["tag"] for tag in site.sim.records("usertag") if tag["tag"].startswith("virtinfra.manager ")] == []
