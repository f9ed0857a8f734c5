# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deleting a primary storage, which the document does not mention: the only operation that servers have on its path."""

from __future__ import annotations

from ..errors import refused
from ..registry import Call, Reply, operation


@operation("DeletePrimaryStorage", "DELETE", "primary-storage/{uuid}", further=True, enveloped=False)
def delete_primary_storage(call: Call) -> Reply:
    """Delete a primary storage that is attached to no cluster; what is absent is a success."""
    storage = call.store["primarystorage"].find(call["uuid"])
    if storage and storage["attachedClusterUuids"]:
        raise refused(f"primary storage[uuid: {call['uuid']}] is attached to clusters")
    if storage:
        call.store["primarystorage"].remove(call["uuid"])
    return {}
