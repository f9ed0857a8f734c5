# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The uuid and the tags of a record that an operation creates."""

from __future__ import annotations

from ..errors import invalid_argument
from ..registry import Call


def generate_uuid(call: Call, kind: str) -> str:
    """Return the uuid of a new record: resourceUuid, if given; raise OperationError if a record has it."""
    uuid = call.get("resourceUuid")
    if uuid and call.store[kind].find(uuid):
        raise invalid_argument(f"resourceUuid[{uuid}] is already used")
    return uuid or call.store.generate_uuid()


def tag(call: Call, uuid: str) -> None:
    """Store the tags of a new record."""
    call.store.tags[uuid] = {**call.tags, "tagUuids": call.get("tagUuids", [])}
