"""The simulator with real disks: sessions, exports and guests that write, copied and restored by the data mover."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import to_snake_case
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import BackupOutcome, BackupTask, back_up
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Export, Wish
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.repository import Repository
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.restore import (
    RestoreOutcome,
    RestoreTask,
    build_targets,
    restore,
)
from backup.site import QEMU, modes, stamp_of

from simulator.http_client import HttpClient
from simulator.launch import Simulator, SimulatorError
from simulator.state.store import seeded_uuid
from support.kvm_host import MIB, read_image, wait_until
from support.repositories import make_repository

VM = seeded_uuid("vm", 1)
SIZE = 4 * MIB


class SimulatedVm:
    """VM 1 of a simulator with disks, a repository, and what must be on its two volumes."""

    def __init__(self, sim: Simulator, folder: Path, root: Path) -> None:
        self.sim, self.api, self.folder = sim, HttpClient(sim), folder
        self.repository, self.root = Repository(str(make_repository(root))), root
        self.volumes = [seeded_uuid("volume", number) for number in (1, 2)]
        self.truth = {uuid: bytearray(SIZE) for uuid in self.volumes}
        self.task = self.api.inventory("POST", "cbt-task/create", {"params": {"name": "x", "vmInstanceUuid": VM}})
        self._seed = 0

    def act(self, operation: str, **params: Any) -> Any:
        """Call an action of the task or of the VM that succeeds, and return its reply."""
        return self.api.call(*self._request(operation, params))

    def fail(self, operation: str, **params: Any) -> str:
        """Call an action that fails, and return why."""
        return str(self.api.error(*self._request(operation, params))["details"])

    def _request(self, operation: str, params: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        verb, is_cbt, dummy = operation.partition("Cbt")
        if is_cbt:
            return "POST", f"cbt-task/{verb}/{self.task['uuid']}", {"params": params}
        return "PUT", f"vm-instances/{VM}/actions", {operation: params}

    def enable(self, checkpoint: str | None = None) -> list[dict[str, Any]]:
        """Open a session and return its infos as modules do."""
        params = {"bitmapName": checkpoint} if checkpoint else {}
        return to_infos(self.act("enableCbtTask", **params)["volumeCbtBackupInfos"])

    def write(self, volume: int, offset: int, length: int) -> None:
        """Write as the guest does."""
        self._seed += 1
        uuid = self.volumes[volume]
        self.sim.guest_write(uuid, offset, length, self._seed)
        self.truth[uuid][offset : offset + length] = Random(self._seed).randbytes(length)

    def copy(self, infos: list[dict[str, Any]], checkpoint: str | None = None, **options: Any) -> BackupOutcome:
        """Copy an open session into a point."""
        exports = [Export.from_info(info) for info in infos]
        options = {"wish": Wish(sent_checkpoint=checkpoint), "min_free_percent": 0, **options}
        return back_up(self.repository, BackupTask({"uuid": VM, "name": "vm-1"}, exports, **options), QEMU)

    def back_up(self, checkpoint: str | None = None) -> tuple[BackupOutcome, dict[str, bytes]]:
        """Back up while the guest writes, and return the outcome and what the volumes were."""
        infos = self.enable(checkpoint)
        moment = self.freeze()
        self.write(0, 0, 100_000)
        self.write(1, 2 * MIB, 4096)
        outcome = self.copy(infos, checkpoint)
        self.act("disableCbtTask")
        return outcome, moment

    def freeze(self) -> dict[str, bytes]:
        """Return what is on the volumes."""
        return {uuid: bytes(content) for uuid, content in self.truth.items()}

    def read_point(self, stamp: str) -> dict[str, bytes]:
        """Return what qemu-img alone restores."""
        return {uuid: read_image(self.root / VM / stamp / f"{uuid}.qcow2") for uuid in self.volumes}

    def read_disks(self) -> dict[str, bytes]:
        """Return what is on the disks of the stopped VM."""
        return {uuid: read_image(self.folder / f"{uuid}.qcow2") for uuid in self.volumes}

    def export(self, force: bool = False) -> list[dict[str, Any]]:
        """Export the volumes."""
        params = {"vmInstanceUuid": VM, "volumeUuids": self.volumes, "force": force}
        return to_infos(self.api.call("POST", "cbt-task/exportvolume", {"params": params})["volumeInfos"])

    def unexport(self) -> None:
        """End the exports."""
        params = {"vmInstanceUuid": VM, "volumeUuids": self.volumes}
        self.api.call("POST", "cbt-task/unexportvolume", {"params": params})

    def restore(self, stamp: str) -> RestoreOutcome:
        """Restore a point into new exports."""
        targets = build_targets(self.export(force=True))
        return restore(self.repository, RestoreTask(VM, stamp, targets=targets), QEMU)


def to_infos(reply: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a reply says of volumes as modules return it."""
    return [to_snake(each) for each in reply]


def to_snake(value: Any) -> Any:
    """Return a value with its names in snake case."""
    if isinstance(value, dict):
        return {to_snake_case(name): to_snake(each) for name, each in value.items()}
    return [to_snake(each) for each in value] if isinstance(value, list) else value


def has_context(info: dict[str, Any], name: str) -> bool:
    """Connect to an export, and return whether it offers a meta context."""
    import nbd

    client = nbd.NBD()
    client.add_meta_context(name)
    client.connect_uri(f"nbd://{info['nbd_server']}:{info['nbd_port']}/{info['scratch_node_name']}")
    offered = bool(client.can_meta_context(name))
    client.shutdown()
    return offered


def list_processes(folder: Path) -> list[str]:
    """Return the programs of QEMU that have a file of a folder open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            paths = [str(each.readlink()) for each in (process / "fd").iterdir()]
            name = (process / "comm").read_text()
        except OSError:
            continue
        if name.startswith("qemu-") and any(path.startswith(f"{folder}/") for path in paths):
            found.append(name.strip())
    return found


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Simulator, Path]]:
    """A simulator with disks, and their folder."""
    folder = tmp_path_factory.mktemp("simulator") / "disks"
    with Simulator("--disks", str(folder), "--disk-size", "4M", "--latency", "0") as sim:
        yield sim, folder


@pytest.fixture
def vm(simulator: tuple[Simulator, Path], tmp_path: Path) -> SimulatedVm:
    sim, folder = simulator
    sim.reset()
    return SimulatedVm(sim, folder, tmp_path / "repository")


def test_a_chain_and_a_restore(vm: SimulatedVm) -> None:
    """Every point has the disks of its moment, although the guest writes while it is copied."""
    vm.write(0, 0, MIB)
    vm.write(1, MIB, 70_000)
    first, first_moment = vm.back_up()
    vm.write(0, 3 * MIB, 5000)
    assert first.point is not None
    second, second_moment = vm.back_up(first.point["volumes"][0]["checkpoint"])
    assert (modes(first), modes(second)) == (["full"] * 2, ["incremental"] * 2)
    assert second.point is not None
    assert [volume["bytes_read"] < MIB for volume in second.point["volumes"]] == [True, True]
    assert vm.read_point(stamp_of(first)) == first_moment
    assert vm.read_point(stamp_of(second)) == second_moment

    vm.act("stopVmInstance")
    for stamp, moment in ((stamp_of(first), first_moment), (stamp_of(second), second_moment)):
        assert vm.restore(stamp).is_changed
        vm.unexport()
        assert vm.read_disks() == moment
    assert list_processes(vm.folder) == []


def test_a_session_as_replies_describe_it(vm: SimulatedVm) -> None:
    vm.write(0, 0, MIB)
    infos = vm.enable()
    root = infos[0]
    assert (root["nbd_server"], root["mode"]) == ("127.0.0.1", "full")
    scratch = vm.sim.records("cbttask")[0]["resourceRefs"][0]["resourceUuid"]
    assert (vm.folder / f"{scratch}.qcow2").exists()
    assert has_context(root, "base:allocation")
    assert "already" in vm.fail("enableCbtTask")
    vm.act("disableCbtTask")
    assert not (vm.folder / f"{scratch}.qcow2").exists()
    with pytest.raises(BackupFailure):
        vm.copy(infos)
    # A read-only look ends no session, unlike an export.
    again = vm.enable(root["bitmap_name"])
    assert [info["mode"] for info in again] == ["incremental"] * 2
    assert has_context(again[0], f"qemu:dirty-bitmap:{root['bitmap_name']}")


@pytest.mark.parametrize("how", ["stop", "reboot", "crash"])
def test_the_end_of_a_vm_ends_its_session_and_its_checkpoints(vm: SimulatedVm, how: str) -> None:
    vm.write(0, 0, MIB)
    first, dummy = vm.back_up()
    assert first.point is not None
    checkpoint = first.point["volumes"][0]["checkpoint"]
    infos = vm.enable(checkpoint)
    if how == "crash":
        vm.sim.change("vm", VM, state="Crashed")
    else:
        vm.act(f"{how}VmInstance")
    assert list_processes(vm.folder) == []
    with pytest.raises(BackupFailure):
        vm.copy(infos)
    if how != "reboot":
        with pytest.raises(SimulatorError, match="no running vm has volume"):
            vm.sim.guest_write(vm.volumes[0], 0, 512, 1)
        assert "not found" in vm.fail("disableCbtTask")
        vm.act("startVmInstance")
    vm.act("disableCbtTask")
    assert [info["mode"] for info in vm.enable(checkpoint)] == ["full"] * 2


def test_exports(vm: SimulatedVm) -> None:
    vm.write(0, 0, MIB)
    vm.act("stopVmInstance")
    root, data = vm.export()
    assert root["nbd_port"] != data["nbd_port"]
    # A look ends an export, because it is its only client.
    assert has_context(root, "base:allocation")
    wait_until(lambda: list_processes(vm.folder) == ["qemu-nbd"])
    vm.unexport()
    assert list_processes(vm.folder) == []


def test_a_volume_that_a_vm_has_open_is_not_exported(vm: SimulatedVm) -> None:
    vm.write(0, 0, MIB)
    params = {"vmInstanceUuid": seeded_uuid("vm", 2), "volumeUuids": vm.volumes[:1]}
    error = vm.api.error("POST", "cbt-task/exportvolume", {"params": params})
    assert "lock" in error["details"]


@pytest.mark.parametrize("is_running", [True, False])
def test_a_volume_that_grows(vm: SimulatedVm, is_running: bool) -> None:
    checkpoint = back_up_once(vm)
    root = vm.volumes[0]
    if not is_running:
        vm.act("stopVmInstance")
    vm.sim.change("volume", root, size=SIZE + MIB)
    if not is_running:
        vm.act("startVmInstance")
    vm.truth[root] += bytes(MIB)
    vm.write(0, SIZE + 4096, 5000)
    outcome = vm.copy(vm.enable(checkpoint), checkpoint)
    assert vm.read_point(stamp_of(outcome)) == vm.freeze()
    assert outcome.point is not None
    assert [volume["size"] for volume in outcome.point["volumes"]] == [SIZE + MIB, SIZE]


def test_an_export_that_was_forgotten_prevents_a_session(vm: SimulatedVm) -> None:
    vm.act("stopVmInstance")
    vm.export()
    vm.act("startVmInstance")
    assert "lock" in vm.fail("enableCbtTask")
    assert vm.sim.records("cbttask")[0]["status"] == "Failed"
    vm.unexport()
    vm.write(0, 0, MIB)
    outcome = vm.copy(vm.enable())
    assert vm.read_point(stamp_of(outcome)) == vm.freeze()


def test_sessions_of_two_vms(vm: SimulatedVm) -> None:
    other = seeded_uuid("vm", 3)
    task = vm.api.inventory("POST", "cbt-task/create", {"params": {"name": "y", "vmInstanceUuid": other}})["uuid"]
    ports = {info["nbd_port"] for info in vm.enable()}
    reply = vm.api.call("POST", f"cbt-task/enable/{task}", {"params": {}})
    assert ports.isdisjoint(info["nbdPort"] for info in reply["volumeCbtBackupInfos"])
    vm.act("disableCbtTask")
    assert has_context(to_infos(reply["volumeCbtBackupInfos"])[0], "base:allocation")
    vm.api.call("POST", f"cbt-task/disable/{task}", {"params": {}})


def back_up_once(vm: SimulatedVm) -> str:
    """Make a full point, let the guest write, and return the checkpoint."""
    vm.write(0, 0, MIB)
    first, dummy = vm.back_up()
    assert first.point is not None
    vm.write(0, 2 * MIB, 5000)
    return str(first.point["volumes"][0]["checkpoint"])


def test_bitmaps_that_are_lost(vm: SimulatedVm) -> None:
    checkpoint = back_up_once(vm)
    vm.sim.configure(cbt_bitmap="lost")
    assert [info["mode"] for info in vm.enable(checkpoint)] == ["full"] * 2


def test_bitmaps_that_lie_make_a_wrong_copy_which_a_comparison_heals(vm: SimulatedVm) -> None:
    checkpoint = back_up_once(vm)
    vm.sim.configure(cbt_bitmap="lying")
    infos = vm.enable(checkpoint)
    assert [info["mode"] for info in infos] == ["incremental"] * 2
    wrong = vm.copy(infos, checkpoint, verify="none")
    assert vm.read_point(stamp_of(wrong)) != vm.freeze()
    vm.act("disableCbtTask")
    vm.write(0, MIB, 5000)
    assert wrong.point is not None
    checkpoint = wrong.point["volumes"][0]["checkpoint"]
    healed = vm.copy(vm.enable(checkpoint), checkpoint, verify="all")
    assert vm.read_point(stamp_of(healed)) == vm.freeze()
    assert healed.warnings != []


def test_a_hidden_context(vm: SimulatedVm) -> None:
    checkpoint = back_up_once(vm)
    vm.sim.configure(cbt_context="hidden")
    infos = vm.enable(checkpoint)
    assert not has_context(infos[0], f"qemu:dirty-bitmap:{checkpoint}")
    outcome = vm.copy(infos, checkpoint)
    assert modes(outcome) == ["incremental"] * 2
    assert vm.read_point(stamp_of(outcome)) == vm.freeze()


def test_a_scratch_that_cannot_grow_stops_the_guest_and_not_the_reader(vm: SimulatedVm) -> None:
    vm.write(0, 0, MIB)
    vm.sim.configure(cbt_scratch="full")
    infos = vm.enable()
    with pytest.raises(SimulatorError, match="No space left on device"):
        vm.sim.guest_write(vm.volumes[0], 0, 65536, 99)
    outcome = vm.copy(infos)
    assert vm.read_point(stamp_of(outcome)) == vm.freeze()
    vm.act("disableCbtTask")
    vm.write(0, 0, 65536)


def test_a_session_that_cannot_be_ended(vm: SimulatedVm) -> None:
    vm.sim.configure(cbt_disable="refused")
    infos = vm.enable()
    assert "the agent of the host failed" in vm.fail("disableCbtTask")
    assert vm.sim.records("cbttask")[0]["status"] == "Running"
    vm.copy(infos)
    vm.sim.configure(cbt_disable="permitted")
    vm.act("disableCbtTask")


def test_an_export_that_is_cut_and_a_second_restore(vm: SimulatedVm) -> None:
    back_up_once(vm)
    outcome, moment = vm.back_up()
    vm.write(0, 0, MIB)
    vm.act("stopVmInstance")
    vm.sim.configure(cbt_export="cut")
    with pytest.raises(BackupFailure, match="These volumes are incomplete") as caught:
        vm.restore(stamp_of(outcome))
    assert caught.value.result["volumes"][0]["state"] == "incomplete"
    vm.sim.configure(cbt_export="whole")
    vm.restore(stamp_of(outcome))
    vm.unexport()
    assert vm.read_disks() == moment


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"length": 0}, "has 4194304 bytes"),
        ({"offset": SIZE}, "has 4194304 bytes"),
        ({"offset": -1}, "has 4194304 bytes"),
        ({"volume": "0" * 32}, "not found"),
        ({"length": "1"}, "which are integers"),
    ],
)
def test_a_write_that_is_refused(vm: SimulatedVm, members: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulatorError, match=message):
        vm.sim.guest_write(**{"volume": vm.volumes[0], "offset": 0, "length": 512, "seed": 1, **members})


def test_a_reset_clears_the_disks(vm: SimulatedVm) -> None:
    vm.write(0, 0, MIB)
    vm.enable()
    vm.sim.reset()
    assert list(vm.folder.iterdir()) == []
    assert list_processes(vm.folder) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_simulator(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "disks"
    with Simulator("--disks", str(folder), "--latency", "0") as sim:
        vm = SimulatedVm(sim, folder, tmp_path / "repository")
        vm.enable()
        assert list_processes(folder) == ["qemu-storage-daemon"[:15]]
        process = sim._process
        assert process
        process.send_signal(how)
        process.wait()
    wait_until(lambda: list_processes(folder) == [])
    assert (list(folder.iterdir()) == []) == (how == signal.SIGTERM)


def start(*arguments: str, path: str = "") -> str:
    """Start a simulator that refuses to start, and return its message."""
    environment = {**os.environ, "PATH": path or os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "simulator", "--port", "0", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    return done.stderr


def test_what_disks_need(tmp_path: Path) -> None:
    folder = tmp_path / "disks"
    assert "install the packages qemu-utils and qemu-system-common" in start("--disks", str(folder), path="/nowhere")
    folder.mkdir()
    (folder / "file").touch()
    assert "needs an empty folder" in start("--disks", str(folder))
    assert "--disks cannot use" in start("--disks", str(folder / "file"))
    assert "a size is a multiple of 64K" in start("--disks", str(tmp_path / "other"), "--disk-size", "1000")


def test_guests_cannot_write_without_disks() -> None:
    with Simulator() as sim, pytest.raises(SimulatorError, match="only with --disks"):
        sim.guest_write(seeded_uuid("volume", 1), 0, 512, 1)
