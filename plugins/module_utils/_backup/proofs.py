"""Proofs of restore points: a file beside the manifest that says when a drill has restored the point, and how far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .failures import BackupFailure
from .files import replace_private_file, sync_folder
from .manifest import is_stamp
from .repository import VmFolder

FILE = "proved.json"


def read_proof(folder: VmFolder, stamp: str) -> dict[str, Any] | None:
    """Return the proof of a point, None if there is none that can be read: a drill is repeated rather than believed."""
    with suppress(OSError, ValueError):
        proof = json.loads((folder.path / stamp / FILE).read_text(encoding="utf-8"))
        if isinstance(proof, dict):
            return proof
    return None


def write_proof(folder: VmFolder, stamp: str, proof: Mapping[str, Any], predict: bool) -> bool:
    """Note what was proved of a point, and return whether this is new. Raise BackupFailure without the point."""
    if not is_stamp(stamp) or stamp not in folder.list_stamps():
        raise BackupFailure(f"{folder.path} has no point {stamp}")
    if read_proof(folder, stamp) == proof:
        return False
    if not predict:
        path = folder.path / stamp / FILE
        replace_private_file(path, json.dumps(proof, indent=1, sort_keys=True) + "\n")
        sync_folder(path.parent)
    return True
