"""The role vm_backup_drill, over a simulator with real disks, with this machine as the data mover."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from backup.role_site import RoleSite, open_role_site

from support.kvm_host import MIB, run, wait_until


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RoleSite]:
    with open_role_site(tmp_path) as site:
        for vm in site.sim.records("vm"):
            site.write(vm["rootVolumeUuid"], 0, MIB)
        yield site


def drill(site: RoleSite, *arguments: str, **variables: Any) -> tuple[int, str, dict[str, dict[str, Any]]]:
    """Run the role, and return the exit code, the output, and the entries by the names of the VMs."""
    code, output, report = site.run_role("vm_backup_drill", *arguments, watch=1, **variables)
    return code, output, {entry["vm"]: entry for entry in report}


def read_proof(site: RoleSite, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the proof beside the manifest of a point."""
    path = site.repository / entry["vm_uuid"] / entry["point"] / "proved.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def list_drilled(site: RoleSite) -> list[str]:
    """Return the VMs of drills, also those that are destroyed."""
    return [vm["name"] for vm in site.sim.records("vm") if vm["name"].startswith("drill-")]


def test_points_are_proved_the_longest_unproved_first(site: RoleSite) -> None:
    """Nothing of the drill remains, and the next backups are increments."""
    site.back_up()
    volumes = {each["uuid"] for each in site.sim.records("volume")}
    code, output, predicted = drill(site, "--check", count=2)
    assert (code, {name: each["outcome"] for name, each in predicted.items()}) == (0, {"vm-1": "ran", "vm-2": "ran"}), (
        output
    )
    assert [entry["operation"] for entry in site.requests if entry["method"] != "GET"] == []
    code, output, report = drill(site, count=2)
    assert (code, {name: each["outcome"] for name, each in report.items()}) == (0, {"vm-1": "ran", "vm-2": "ran"}), (
        output
    )
    calls = [entry for entry in site.requests if entry["operation"] in ("CreateVmInstance", "AttachL3NetworkToVm")]
    assert [entry["operation"] for entry in calls] == ["CreateVmInstance"] * 2
    assert "l3NetworkUuids" not in calls[0]["body"]["params"]
    for entry in report.values():
        proof = read_proof(site, entry)
        assert (proof["level"], proof["watched_seconds"]) == ("ran", 1)
        assert proof["restore_seconds"] == entry["restore_seconds"]
    assert list_drilled(site) == []
    assert {each["uuid"] for each in site.sim.records("volume")} == volumes
    assert not (site.repository / ".restored").exists()
    assert [*drill(site, count=2)[2]] == ["vm-3"]
    code, output, report = drill(site)
    assert (code, report) == (0, {}), output
    # A newer point is not proved yet.
    assert {entry["outcome"] for entry in site.back_up().values()} == {"incremental"}
    assert [*drill(site)[2]] == ["vm-1"]


def test_what_the_guest_reads_is_the_point(site: RoleSite) -> None:
    """While the VM runs, its volumes have the content of the point."""
    entry = site.back_up(query=[], vms="vm-1")["vm-1"]
    started = site.start_role("vm_backup_drill", watch=600)
    wait_until(
        lambda: any(vm["name"] == "drill-vm-1" and vm["state"] == "Running" for vm in site.sim.records("vm")), 120
    )
    (vm,) = (vm for vm in site.sim.records("vm") if vm["name"] == "drill-vm-1")
    raw = site.disks / "content"
    run("qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", site.disks / f"{vm['rootVolumeUuid']}.qcow2", raw)
    source = next(each for each in site.sim.records("vm") if each["name"] == "vm-1")["rootVolumeUuid"]
    assert (raw.read_bytes(), vm["vmNics"]) == (bytes(site.truth[source]), [])
    # The run is killed, and the next one removes the VM, and proves the point.
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    assert list_drilled(site) == ["drill-vm-1"]
    foreign = next(each for each in site.sim.records("vm") if each["name"] == "vm-2")
    site.sim.change("vm", foreign["uuid"], name="drill-vm-9")
    code, output, report = drill(site)
    assert (code, report["vm-1"]["outcome"], report["vm-1"]["point"]) == (0, "ran", entry["point"]), output
    # A name is no mark.
    assert list_drilled(site) == ["drill-vm-9"]


def test_a_terminal_shows_how_far_a_drill_is(site: RoleSite) -> None:
    """While it writes, and while the VM runs."""
    site.write(next(each for each in site.sim.records("vm") if each["name"] == "vm-1")["rootVolumeUuid"], 0, 4 * MIB)
    site.back_up(query=[], vms="vm-1")
    ours, site.terminal = pty.openpty()
    started = site.start_role("vm_backup_drill", watch=2, rate_limit=1)
    os.close(site.terminal)
    shown = bytearray()
    with suppress(OSError):
        # The terminal ends with the process.
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    output = shown.decode()
    assert started.wait() == 0, output
    assert re.search(r"in any case: vm-1: (restore|verify) of volume \w{32}: \d+% of ", output), output
    assert "in any case: VMs that run: 1 of 1, for 0 of 2 s" in output


def test_a_point_without_room_is_checked(site: RoleSite) -> None:
    site.back_up(query=[], vms="vm-1")
    for storage in site.sim.records("primarystorage"):
        site.sim.change("primarystorage", storage["uuid"], availableCapacity=1024)
    code, output, report = drill(site)
    assert (code, report["vm-1"]["outcome"]) == (0, "checked"), output
    assert "No primary storage has room" in report["vm-1"]["why"]
    assert "CreateVmInstance" not in {entry["operation"] for entry in site.requests}
    assert read_proof(site, report["vm-1"])["level"] == "checked"
    # A VM that has not run is proved again.
    assert drill(site)[2]["vm-1"]["outcome"] == "checked"


def test_a_damaged_point_is_not_proved(site: RoleSite) -> None:
    """The undamaged point is proved. Errors that QEMU finds count, too, even if the checksum of the file is right."""
    points = site.back_up(query=[], vms=["vm-1", "vm-2"])
    volume = next(each for each in site.sim.records("vm") if each["name"] == "vm-1")["rootVolumeUuid"]
    image = site.repository / points["vm-1"]["vm_uuid"] / points["vm-1"]["point"] / f"{volume}.qcow2"
    run("qemu-io", "-f", "qcow2", "-c", "write -P 0xaa 512k 4k", image)
    code, output, report = drill(site, count=0)
    assert (code, report["vm-1"]["outcome"], report["vm-2"]["outcome"]) == (2, "failed", "ran"), output
    assert f"{image} is damaged: its checksum is not that of the manifest" in report["vm-1"]["error"]
    assert not image.with_name("proved.json").exists()
    assert list_drilled(site) == []
