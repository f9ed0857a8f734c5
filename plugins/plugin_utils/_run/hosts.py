"""The hosts of a run that a pattern selects, by Ansible's own rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader


def select_hosts(pattern: Any, groups: Mapping[str, Collection[str]], limit: str | None = None) -> list[str]:
    """Return the names of the hosts that a pattern selects within a ``--limit``. An invalid pattern selects none."""
    inventory = InventoryManager(DataLoader(), parse=False)
    for group, members in groups.items():
        inventory.add_group(group)
        for member in members:
            inventory.add_host(member, group=group)
    with suppress(AnsibleError):
        inventory.subset(limit)
        patterns = [str(each) for each in pattern] if isinstance(pattern, list) else str(pattern)
        return [host.name for host in inventory.get_hosts(patterns)]
    return []
