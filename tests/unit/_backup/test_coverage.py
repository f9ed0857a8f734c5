"""Which volumes a point must have."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.backup import BackupTask
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.coverage import split_volumes
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.failures import BackupFailure
from ansible_collections.virtinfra.manager.plugins.module_utils._backup.plan import Export

ROOT, DATA = "a" * 32, "b" * 32
EXPORT = Export(ROOT, 0, "192.0.2.1", 10501, "scratch")


def build_vm(**members: Any) -> dict[str, Any]:
    """Return the record of a VM with a root volume, and a data volume with these members."""
    data = {"uuid": DATA, "name": "data-1", "type": "Data", "status": "Ready", "is_shareable": False, **members}
    return {"uuid": "1" * 32, "all_volumes": [{"uuid": ROOT, "type": "Root", "status": "Ready"}, data]}


@pytest.mark.parametrize(
    ("members", "exclude", "reason"),
    [
        ({"is_shareable": True}, (), "it is shareable"),
        ({"status": "Creating"}, (), "its status is Creating"),
        ({"type": "Memory"}, (), "its type is Memory"),
        ({}, ("data-*",), "it is excluded"),
        ({}, (DATA,), "it is excluded"),
        ({}, ("data",), None),
        ({}, (), None),
        # A service that does not show it may still have it in its sessions.
        ({"type": None, "status": None, "is_shareable": None}, (), None),
    ],
)
def test_a_volume_that_the_session_lacks(members: dict[str, Any], exclude: tuple[str, ...], reason: str | None) -> None:
    task = BackupTask(build_vm(**members), [EXPORT], exclude=exclude)
    if reason:
        exports, (left_out,) = task.split()
        assert exports == [EXPORT]
        assert (left_out.volume_uuid, left_out.name, left_out.reason) == (DATA, "data-1", reason)
    else:
        with pytest.raises(BackupFailure, match=rf"the backup session lacks the volumes data-1 \({DATA}\)"):
            task.split()


def test_a_volume_that_is_excluded_is_not_copied_although_the_session_has_it() -> None:
    left_out, missing = split_volumes(build_vm(), {ROOT, DATA}, ["data-1"])
    assert ([volume.volume_uuid for volume in left_out], missing) == ([DATA], [])
    with pytest.raises(BackupFailure, match="all volumes of the VM are left out"):
        BackupTask(build_vm(is_shareable=True), [EXPORT], exclude=["*"]).split()


def test_a_volume_that_was_attached_meanwhile_is_copied() -> None:
    assert split_volumes({"uuid": "1" * 32, "all_volumes": None}, {ROOT}) == ([], [])
