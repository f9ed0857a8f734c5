"""The process of a running VM: a qemu-storage-daemon that has its volumes open and serves its backup session."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import OperationError, operation_refused
from ..state.extents import encode_extents
from .monitor import Monitor
from .processes import ADDRESS, Process, run, wait_until

FULL = {"event": "none", "iotype": "write", "errno": errno.ENOSPC, "once": False}
"""What a file on a full storage does."""


@dataclass(frozen=True)
class SessionPlan:
    """A session to open: the uuids of the scratch volumes by those of the volumes, the new checkpoint, the old one."""

    scratch: Mapping[str, str]
    checkpoint: str
    base: str | None
    is_lying: bool = False
    """Whether the old checkpoint does not know what was written since."""
    has_hidden_bitmap: bool = False
    """Whether the exports lack the meta context of the old checkpoint."""
    is_full: bool = False
    """Whether the scratch volumes cannot grow."""


class Machine:
    """A running VM. Its checkpoints are those of its process: what an earlier one left is removed."""

    def __init__(self, path_of: Callable[[str], Path]) -> None:
        self._path_of = path_of
        self._checkpoint: str | None = None
        self._volumes: set[str] = set()
        monitor, monitor_of_daemon = socket.socketpair()
        with monitor_of_daemon, socket.create_server((ADDRESS, 0)) as listener:
            self.port = int(listener.getsockname()[1])
            descriptors = (monitor_of_daemon.fileno(), listener.fileno())
            self._process = Process(
                "qemu-storage-daemon",
                *("--chardev", f"socket,id=monitor,fd={descriptors[0]}", "--monitor", "chardev=monitor"),
                *("--nbd-server", f"addr.type=fd,addr.str={descriptors[1]}"),
                descriptors=descriptors,
            )
        self._monitor = Monitor(monitor)

    def end(self) -> None:
        """End the process, and with it the session."""
        self._monitor.close()
        self._process.end()

    def write(self, volume: str, offset: int, file: Path, length: int) -> None:
        """Write a file to a volume, as the guest does."""
        self._open_volume(volume)
        commands = ("-c", f"write -s {file.name} {offset} {length}", "-c", "flush")
        address = f"nbd://{ADDRESS}:{self.port}/{_guest_of(volume)}"
        run("qemu-io", "-f", "raw", *commands, address, folder=file.parent)

    def open_session(self, plan: SessionPlan) -> dict[str, dict[str, Any]]:
        """Begin a pull-mode backup of all volumes at one point in time; return how each is served, by its uuid."""
        if self._has_session():
            raise operation_refused("a backup of the vm is going on already")
        modes = {volume: self._prepare(volume, plan) for volume in plan.scratch}
        self._monitor("transaction", actions=_list_actions(plan, modes))
        self._checkpoint = plan.checkpoint
        return {volume: self._serve(volume, modes[volume], plan) for volume in plan.scratch}

    def _prepare(self, volume: str, plan: SessionPlan) -> str:
        """Make the scratch of a volume, and return the mode of the session: full if the base is not there."""
        self._open_volume(volume)
        scratch = plan.scratch[volume]
        file: dict[str, Any] = {"driver": "file", "filename": str(self._path_of(scratch))}
        if plan.is_full:
            file = {"driver": "blkdebug", "image": file, "inject-error": [FULL]}
        self._monitor(
            "blockdev-add",
            driver="qcow2",
            node_name=_scratch_of(scratch),
            backing=_node_of(volume),
            file=file,
        )
        if plan.base in self._list_bitmaps(volume):
            if plan.is_lying:
                self._monitor("block-dirty-bitmap-clear", node=_node_of(volume), name=plan.base)
            return "incremental"
        self._keep_bitmap(volume, None)
        return "full"

    def _serve(self, volume: str, mode: str, plan: SessionPlan) -> dict[str, Any]:
        """Export a volume as it was, and return what the reply of the service says of it."""
        node = _scratch_of(plan.scratch[volume])
        bitmaps = {"bitmaps": [plan.base]} if mode == "incremental" else {}
        self._monitor("block-export-add", type="nbd", id=node, node_name=node, name=node, **bitmaps)
        extents = self._list_extents(node, plan.base if bitmaps else None)
        if bitmaps and plan.has_hidden_bitmap:
            self._remove_export(node)
            self._monitor("block-export-add", type="nbd", id=node, node_name=node, name=node)
        return {
            "mode": mode,
            "nbdServer": ADDRESS,
            "nbdPort": self.port,
            "scratchNodeName": node,
            "bitmapBase64": encode_extents(extents),
        }

    def _list_extents(self, export: str, base: str | None) -> dict[str, int]:
        """Return the changed extents of an export, or without a base the allocated ones: lengths by offsets."""
        source = f"driver=nbd,export={export},server.type=inet,server.host={ADDRESS},server.port={self.port}"
        if base:
            source += f",x-dirty-bitmap=qemu:dirty-bitmap:{base}"
        extents = json.loads(run("qemu-img", "map", "--output=json", "--image-opts", source))
        # QEMU shows the blocks that a bitmap marks as holes.
        listed = [each for each in extents if (not each["data"] if base else each["data"] and not each["zero"])]
        return {str(each["start"]): each["length"] for each in listed}

    def close_session(self) -> None:
        """End the backup, also one that was opened by half. Of each volume only the newest checkpoint remains."""
        for export in self._list_exports():
            if export.startswith("scratch-"):
                self._remove_export(export)
        for job in self._monitor("query-block-jobs"):
            self._monitor("block-job-cancel", device=job["device"], force=True)
        wait_until(lambda: not self._monitor("query-block-jobs"), "the end of the backup")
        for node in self._list_nodes():
            if node.startswith("scratch-"):
                wait_until(partial(self._is_removed, node), "the end of the backup")
        for volume in self._volumes:
            self._keep_bitmap(volume, self._checkpoint)

    def _has_session(self) -> bool:
        return any(node.startswith("scratch-") for node in self._list_nodes())

    def has_open(self, volume: str) -> bool:
        """Return whether the process has a volume open."""
        return volume in self._volumes

    def resize(self, volume: str, size: int) -> None:
        """Let a volume grow; raise OperationError while a session is open. The guest sees it as a new disk."""
        self._remove_export(_guest_of(volume))
        try:
            self._monitor("block_resize", node_name=_node_of(volume), size=size)
        finally:
            self._export_to_guest(volume)

    def _open_volume(self, volume: str) -> None:
        if volume in self._volumes:
            return
        file = {"driver": "file", "filename": str(self._path_of(volume)), "discard": "unmap"}
        self._monitor("blockdev-add", driver="qcow2", node_name=_node_of(volume), discard="unmap", file=file)
        try:
            self._keep_bitmap(volume, None)
            self._export_to_guest(volume)
        except OperationError:
            self._monitor("blockdev-del", node_name=_node_of(volume))
            raise
        self._volumes.add(volume)

    def _export_to_guest(self, volume: str) -> None:
        """Give the guest its place above a volume, under which a session goes. It locks the file, as QEMU does."""
        guest = _guest_of(volume)
        self._monitor("block-export-add", type="nbd", id=guest, node_name=_node_of(volume), name=guest, writable=True)

    def _list_nodes(self) -> dict[str, dict[str, Any]]:
        return {node["node-name"]: node for node in self._monitor("query-named-block-nodes")}

    def _list_bitmaps(self, volume: str) -> list[str]:
        node = self._list_nodes()[_node_of(volume)]
        return [bitmap["name"] for bitmap in node.get("dirty-bitmaps", ())]

    def _keep_bitmap(self, volume: str, kept: str | None) -> None:
        for bitmap in self._list_bitmaps(volume):
            if bitmap != kept:
                self._monitor("block-dirty-bitmap-remove", node=_node_of(volume), name=bitmap)

    def _remove_export(self, export: str) -> None:
        self._monitor("block-export-del", id=export, mode="hard")
        wait_until(lambda: export not in self._list_exports(), "the end of the export")

    def _list_exports(self) -> list[str]:
        return [export["id"] for export in self._monitor("query-block-exports")]

    def _is_removed(self, node: str) -> bool:
        """Remove a node, which is in use until the last client has gone; return whether that succeeded."""
        try:
            self._monitor("blockdev-del", node_name=node)
        except OperationError:
            return False
        return True


def _list_actions(plan: SessionPlan, modes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the actions that begin a session, which QEMU does at once."""
    actions: list[tuple[str, dict[str, Any]]] = []
    for volume, scratch in plan.scratch.items():
        node = _node_of(volume)
        if modes[volume] == "incremental":
            actions.append(("block-dirty-bitmap-disable", {"node": node, "name": plan.base}))
        actions.append(("block-dirty-bitmap-add", {"node": node, "name": plan.checkpoint, "persistent": True}))
        job = {"job-id": f"job-{_scratch_of(scratch)}", "device": node, "target": _scratch_of(scratch), "sync": "none"}
        actions.append(("blockdev-backup", job))
    return [{"type": name, "data": data} for name, data in actions]


def _node_of(volume: str) -> str:
    return f"volume-{volume[-12:]}"


def _guest_of(volume: str) -> str:
    """Return the name of the export to which the guest writes."""
    return f"guest-{volume[-12:]}"


def _scratch_of(scratch: str) -> str:
    return f"scratch-{scratch[-12:]}"
