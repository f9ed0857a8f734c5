"""A KVM host with real parts: volumes are qcow2 files, backup sessions those of QEMU, exports of qemu-nbd.

A qemu-storage-daemon stands for the QEMU of a running VM. The guest writes through an NBD export of it.
"""

from __future__ import annotations

import base64
import json
import shutil
import signal
import socket
import subprocess
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from simulator.disks.monitor import Monitor
from simulator.errors import OperationError

PARTS = ("qemu-img", "qemu-nbd", "qemu-io", "qemu-storage-daemon", "setpriv")
MIB = 1 << 20


def find_missing_parts() -> list[str]:
    """Return the commands that the tests need and this machine lacks."""
    return [command for command in PARTS if not shutil.which(command)]


def run(*command: str | Path) -> str:
    """Run a program that must succeed, and return its output."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def read_image(image: Path) -> bytes:
    """Return what is on the disk of a qcow2 image that no process has open."""
    raw = image.with_suffix(".content")
    run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", image, raw)
    content = raw.read_bytes()
    raw.unlink()
    return content


def run_command(command: Sequence[str]) -> tuple[int, str, str]:
    """Run a program as a module does."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def wait_until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Volume:
    """A volume of a VM, and what its content must be: a plain file to which the guest's writes go too."""

    def __init__(self, folder: Path, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.uuid = uuid.uuid4().hex
        self.path = folder / f"volume-{number}.qcow2"
        self.truth = folder / f"volume-{number}.raw"
        run("qemu-img", "create", "-q", "-f", "qcow2", self.path, str(size))
        with self.truth.open("wb") as file:
            file.truncate(size)

    @property
    def node(self) -> str:
        """The name of its node."""
        return f"volume-{self.number}"

    def grow(self, size: int) -> None:
        """Make the volume of a stopped VM larger."""
        run("qemu-img", "resize", "-q", self.path, str(size))
        self.size = size
        with self.truth.open("r+b") as file:
            file.truncate(size)


class KvmVm:
    """A VM with volumes of these sizes."""

    def __init__(self, folder: Path, sizes: Sequence[int], seed: int = 0) -> None:
        folder.mkdir(parents=True)
        self.folder, self.uuid, self._random = folder, uuid.uuid4().hex, Random(seed)
        self.volumes = [Volume(folder, number, size) for number, size in enumerate(sizes)]
        self.session: list[dict[str, Any]] = []
        self._frozen: list[tuple[str, str]] = []
        self._daemon: subprocess.Popen[bytes] | None = None
        self._exports: list[subprocess.Popen[bytes]] = []
        self.start()

    @property
    def record(self) -> dict[str, Any]:
        """The record of the VM."""
        return {"uuid": self.uuid, "name": "vm-1", "all_volumes": [{"uuid": volume.uuid} for volume in self.volumes]}

    # --------------------------------------------------------------------------------------------------------- power

    def start(self) -> None:
        """Start the VM."""
        # QEMU 7.2 loses or exchanges bytes of a client that connects while the daemon starts.
        connection, of_daemon = socket.socketpair()
        self.port = free_port()
        monitor = ("--chardev", f"socket,id=monitor,fd={of_daemon.fileno()}", "--monitor", "chardev=monitor")
        with of_daemon, (self.folder / "daemon.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                ("qemu-storage-daemon", *monitor),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(of_daemon.fileno(),),
            )
        self.qmp = Monitor(connection)
        address = {"type": "inet", "data": {"host": "127.0.0.1", "port": str(self.port)}}
        self.qmp("nbd-server-start", addr=address, max_connections=0)
        for volume in self.volumes:
            file = {"driver": "file", "filename": str(volume.path), "discard": "unmap"}
            self.qmp("blockdev-add", driver="qcow2", node_name=volume.node, discard="unmap", file=file)
            name = f"guest-{volume.number}"
            self.qmp("block-export-add", type="nbd", id=name, node_name=volume.node, name=name, writable=True)

    def stop(self, crash: bool = False) -> None:
        """Stop the VM. A crash loses its bitmaps."""
        if self._daemon:
            self._daemon.send_signal(signal.SIGKILL if crash else signal.SIGTERM)
            self._daemon.wait()
            self.qmp.close()
        self._daemon, self.session, self._frozen = None, [], []

    def destroy(self) -> None:
        """Stop everything."""
        self.stop(crash=True)
        self.end_exports()

    # --------------------------------------------------------------------------------------------------------- guest

    def write(self, number: int, offset: int, length: int, zeros: bool = False) -> None:
        """Write to a volume as the guest does: random bytes, or zeros that may free space."""
        volume, data = self.volumes[number], bytes(length) if zeros else self._random.randbytes(length)
        import nbd

        handle = nbd.NBD()
        handle.connect_uri(f"nbd://127.0.0.1:{self.port}/guest-{number}")
        if zeros:
            handle.zero(length, offset)
        else:
            handle.pwrite(data, offset)
        handle.flush()
        handle.shutdown()
        with volume.truth.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def scatter(self, number: int, count: int, length: int = 4096) -> None:
        """Write at random places."""
        for dummy in range(count):
            offset = self._random.randrange(0, self.volumes[number].size - length) // 512 * 512
            self.write(number, offset, length)

    # ------------------------------------------------------------------------------------------------------ sessions

    def enable(self, checkpoint: str | None = None, lying: bool = False, hidden: bool = False) -> list[dict[str, Any]]:
        """Open a backup session and return its infos, as EnableCbtTask with a bitmap name does.

        With ``lying``, the bitmaps do not know what the guest wrote; ``hidden`` exports offer no meta context for it.
        """
        assert not self.session
        name = uuid.uuid4().hex
        actions: list[dict[str, Any]] = []
        infos = [self._prepare(volume, name, checkpoint, lying, actions) for volume in self.volumes]
        self.qmp("transaction", actions=actions)
        for info in infos:
            scratch = info["scratch_node_name"]
            bitmaps = {"bitmaps": [checkpoint]} if info["mode"] == "incremental" and not hidden else {}
            self.qmp(
                "block-export-add", type="nbd", id=scratch, node_name=scratch, name=scratch, writable=False, **bitmaps
            )
            info["bitmap_base64"] = self._read_bitmap(info, checkpoint) if bitmaps else None
        self.session = infos
        return infos

    def _prepare(
        self, volume: Volume, name: str, checkpoint: str | None, lying: bool, actions: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Add the actions that begin the session of a volume, and return its info."""
        scratch = f"scratch-{volume.number}-{name[:8]}"
        path = self.folder / f"{scratch}.qcow2"
        run("qemu-img", "create", "-q", "-f", "qcow2", path, str(volume.size))
        file = {"driver": "file", "filename": str(path)}
        self.qmp("blockdev-add", driver="qcow2", node_name=scratch, backing=volume.node, file=file)
        bitmaps = self._list_bitmaps(volume)
        is_incremental = checkpoint in bitmaps
        if is_incremental and lying:
            self.qmp("block-dirty-bitmap-clear", node=volume.node, name=checkpoint)
        if is_incremental:
            assert checkpoint
            actions.append({"type": "block-dirty-bitmap-disable", "data": {"node": volume.node, "name": checkpoint}})
            self._frozen.append((volume.node, checkpoint))
        else:
            for bitmap in bitmaps:
                self.qmp("block-dirty-bitmap-remove", node=volume.node, name=bitmap)
        added = {"node": volume.node, "name": name, "persistent": True}
        backup = {"job-id": f"job-{scratch}", "device": volume.node, "target": scratch, "sync": "none"}
        actions += [
            {"type": "block-dirty-bitmap-add", "data": added},
            {"type": "blockdev-backup", "data": backup},
        ]
        return {
            "volume": {"volume_uuid": volume.uuid, "device_id": volume.number},
            "nbd_server": "127.0.0.1",
            "nbd_port": self.port,
            "scratch_node_name": scratch,
            "bitmap_name": name,
            "mode": "incremental" if is_incremental else "full",
            "target": str(path),
        }

    def _list_bitmaps(self, volume: Volume) -> list[str]:
        """Return the bitmaps of a volume that a crash has not broken; remove the others."""
        node = next(node for node in self.qmp("query-named-block-nodes") if node["node-name"] == volume.node)
        names = []
        for bitmap in node.get("dirty-bitmaps", []):
            if bitmap.get("inconsistent"):
                self.qmp("block-dirty-bitmap-remove", node=volume.node, name=bitmap["name"])
            else:
                names.append(str(bitmap["name"]))
        return names

    def _read_bitmap(self, info: dict[str, Any], checkpoint: str | None) -> str:
        """Return the changed extents as replies have them."""
        server = f"server.type=inet,server.host=127.0.0.1,server.port={self.port}"
        name = f"driver=nbd,export={info['scratch_node_name']},{server},x-dirty-bitmap=qemu:dirty-bitmap:{checkpoint}"
        found = json.loads(run("qemu-img", "map", "--output=json", "--image-opts", name))
        return encode_bitmap([(each["start"], each["length"]) for each in found if not each["data"]])

    def disable(self) -> None:
        """End the session, as DisableCbtTask does."""
        for info in self.session:
            self.qmp("block-export-del", id=info["scratch_node_name"], mode="hard")
        for info in self.session:
            self.qmp("block-job-cancel", device=f"job-{info['scratch_node_name']}", force=True)
        wait_until(lambda: not self.qmp("query-block-jobs"))
        for info in self.session:
            wait_until(partial(self._try, "blockdev-del", node_name=info["scratch_node_name"]))
            Path(info["target"]).unlink()
        for node, bitmap in self._frozen:
            self.qmp("block-dirty-bitmap-remove", node=node, name=bitmap)
        self.session, self._frozen = [], []

    def _try(self, command: str, **arguments: Any) -> bool:
        try:
            self.qmp(command, **arguments)
        except OperationError:
            return False
        return True

    @contextmanager
    def opened(self, checkpoint: str | None = None, **how: bool) -> Iterator[list[dict[str, Any]]]:
        """Open a session and end it."""
        yield self.enable(checkpoint, **how)
        self.disable()

    # ------------------------------------------------------------------------------------------------------- exports

    def export(self, *numbers: int) -> list[dict[str, Any]]:
        """Export volumes of the stopped VM and return the infos, as ExportNbdVolumes does."""
        infos = []
        for volume in [self.volumes[number] for number in numbers] or self.volumes:
            port = free_port()
            command = (
                "qemu-nbd",
                "-p",
                str(port),
                "-b",
                "127.0.0.1",
                "-f",
                "qcow2",
                str(volume.path),
                "-x",
                volume.uuid,
            )
            self._exports.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            wait_until(partial(_listens, port))
            infos.append(
                {
                    "volume": {"volume_uuid": volume.uuid, "device_id": volume.number},
                    "nbd_server": "127.0.0.1",
                    "nbd_port": port,
                    "scratch_node_name": volume.uuid,
                }
            )
        return infos

    def end_exports(self, kill: bool = False) -> list[int | None]:
        """End the exports and return how those that had ended before ended."""
        before = [process.poll() for process in self._exports]
        for process in self._exports:
            process.kill() if kill else process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                # qemu-nbd may miss the signal while a client that has gone is still in its handshake.
                process.kill()
                process.wait()
        self._exports = []
        return before


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def encode_bitmap(extents: Sequence[tuple[int, int]]) -> str:
    """Return extents as ``bitmapBase64``."""
    lengths = {str(offset): length for offset, length in extents}
    return base64.b64encode(zlib.compress(json.dumps(lengths).encode())).decode()
