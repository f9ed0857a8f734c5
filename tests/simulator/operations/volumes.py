# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volumes: detaching and deleting."""

from __future__ import annotations

from ..registry import Call
from ..state.store import Record, Store


def detach_volume(store: Store, volume: Record) -> Record:
    """Detach a data volume from its VM and return its new record."""
    vm = store["vm"].get(volume["vmInstanceUuid"])
    attached = [other for other in vm["allVolumes"] if other["uuid"] != volume["uuid"]]
    store["vm"].change(vm["uuid"], allVolumes=attached)
    now = store.now()
    members = {
        "vmInstanceUuid": None,
        "lastVmInstanceUuid": vm["uuid"],
        "deviceId": None,
        "lastDetachDate": now,
        "lastOpDate": now,
        "_hostUuid": vm["hostUuid"] or vm["lastHostUuid"],
    }
    return store["volume"].put(Record("volume", {**volume, **members}))


def delete_volume(call: Call, volume: Record) -> None:
    """Delete a volume that is attached to no VM; its record remains for some time, unless the policy is Direct."""
    if call.switches.deletion_policy == "Direct":
        call.store["volume"].remove(volume["uuid"])
    else:
        call.store.change("volume", volume["uuid"], status="Deleted")
