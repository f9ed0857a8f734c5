# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""What is to come into the inventory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record

# A group, and the group that is to be its parent if there is one.
GroupMembership = tuple[str, "str | None"]


@dataclass(slots=True)
class HostEntry:
    """A host to be: the record that it is made of and the service that has it, its variables, name and groups."""

    record: Record
    service: str
    variables: dict[str, Any]
    name: str = ""
    memberships: list[GroupMembership] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        """The uuid of the record."""
        return str(self.record.get("uuid"))
