"""The operations of the service by area. Importing this package registers them."""

from __future__ import annotations

from ..registry import OPERATIONS
from . import (
    accounts,
    cbt,
    cursor,
    host_network,
    host_power,
    host_removal,
    hosts,
    kinds,
    nics,
    queries,
    snapshot_groups,
    sns_endpoints,
    sns_persons,
    sns_platforms,
    sns_topics,
    storage,
    tags,
    vm_power,
    vm_removal,
    vms,
    volumes,
)

__all__ = [
    "OPERATIONS",
    "accounts",
    "cbt",
    "cursor",
    "host_network",
    "host_power",
    "host_removal",
    "hosts",
    "kinds",
    "nics",
    "queries",
    "snapshot_groups",
    "sns_endpoints",
    "sns_persons",
    "sns_platforms",
    "sns_topics",
    "storage",
    "tags",
    "vm_power",
    "vm_removal",
    "vms",
    "volumes",
]
