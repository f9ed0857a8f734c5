"""The types of objects that can be listed, or that options refer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .operation import Operation
from .operations import OPERATIONS


class ResourceType(NamedTuple):
    """A type of objects.

    ``name`` is the type in ``refers_to`` of the operations table, ``noun`` the term in messages. ``query`` is the
    operation that lists the objects, empty if none is known. ``name_field`` is the field that contains the name of an
    object. Names are in general not unique; ``owner`` is the API name of the option for the object within which they
    are. Services keep the records of deleted objects for some time if the type has ``deleted_states``, the values of
    ``state_field`` in these records.
    """

    name: str
    noun: str
    query: str = ""
    name_field: str = "name"
    owner: str = ""
    state_field: str = "state"
    deleted_states: tuple[str, ...] = ()

    @property
    def cursor_type(self) -> str:
        """The type in cursor queries."""
        return self.name.replace("_", "")

    @property
    def record(self) -> str:
        """The type of the records in RECORD_FIELDS."""
        return OPERATIONS[self.query].record

    def is_usable(self, record: Mapping[str, Any]) -> bool:
        """Return whether an object exists: a deleted VM or volume keeps its record and its name for some time."""
        return record.get(self.state_field) not in self.deleted_states


RESOURCE_TYPES: Mapping[str, ResourceType] = {
    row.name: row
    for row in (
        ResourceType("cbt_task", "CBT task", "QueryCbtTask"),
        ResourceType("cluster", "cluster", "QueryCluster"),
        ResourceType("disk_offering", "disk offering", "QueryDiskOffering"),
        ResourceType("endpoint", "endpoint", "QuerySNSApplicationEndpoint"),
        ResourceType("host", "host", "QueryHost"),
        ResourceType(
            "host_nic",
            "network interface",
            "QueryHostNetworkInterface",
            name_field="interfaceName",
            owner="hostUuid",
        ),
        ResourceType("image", "image", "QueryImage", state_field="status", deleted_states=("Deleted",)),
        ResourceType("instance_offering", "instance offering", "QueryInstanceOffering"),
        ResourceType("l3_network", "L3 network", "QueryL3Network"),
        ResourceType("person", "person", "QuerySNSTeamchatAtPerson"),
        ResourceType("platform", "platform", "QuerySNSApplicationPlatform"),
        ResourceType("primary_storage", "primary storage", "QueryPrimaryStorage"),
        ResourceType("snapshot_group", "snapshot group", "QueryVolumeSnapshotGroup"),
        ResourceType("ssh_key_pair", "SSH key pair", "QuerySshKeyPair"),
        ResourceType("subscriber", "subscriber", "QuerySNSTopicSubscriber"),
        ResourceType("tag_pattern", "tag pattern"),
        ResourceType("topic", "topic", "QuerySNSTopic"),
        ResourceType("user_tag", "user tag"),
        ResourceType("vm", "VM", "QueryVmInstance", deleted_states=("Destroyed", "Expunging")),
        ResourceType("vm_nic", "NIC", "QueryVmNic", name_field="internalName"),
        ResourceType("volume", "volume", "QueryVolume", state_field="status", deleted_states=("Deleted",)),
        ResourceType("zone", "zone", "QueryZone"),
    )
}

CBT_TASK = RESOURCE_TYPES["cbt_task"]
CLUSTER = RESOURCE_TYPES["cluster"]
HOST = RESOURCE_TYPES["host"]
L3_NETWORK = RESOURCE_TYPES["l3_network"]
PRIMARY_STORAGE = RESOURCE_TYPES["primary_storage"]
VM = RESOURCE_TYPES["vm"]
VOLUME = RESOURCE_TYPES["volume"]
ZONE = RESOURCE_TYPES["zone"]


def name_records(record_type: str) -> str:
    """Return the term for the objects of a type of records in messages, such as hosts."""
    nouns = (row.noun for row in RESOURCE_TYPES.values() if row.query and row.record == record_type)
    return f"{next(nouns, 'record')}s"


def find_changed_types(operation: Operation) -> set[str]:
    """Return the types of the objects that a call can create, rename or remove."""
    if not operation.is_write or operation.effect.keeps_names:
        return set()
    if operation.name not in OPERATIONS and not operation.record:
        return set(RESOURCE_TYPES)
    targets = [*operation.path_params, *filter(None, [operation.parameters.get("uuid")])]
    created = {row.name for row in RESOURCE_TYPES.values() if row.query and row.record == operation.record}
    return created | {target.refers_to for target in targets if target.refers_to}


# The types with a query, by their names in cursor queries.
LISTED_TYPES: Mapping[str, ResourceType] = {row.cursor_type: row for row in RESOURCE_TYPES.values() if row.query}

# The type of object that each parameter refers to. Each topic of an endpoint is set by a call of its own, and the VM of
# a clone is another one than that of the task.
REFERS_TO: Mapping[str, ResourceType] = {
    "topicUuids": RESOURCE_TYPES["topic"],
    "cloneFromUuid": VM,
    **{
        parameter.name: RESOURCE_TYPES[parameter.refers_to]
        for operation in OPERATIONS.values()
        for parameter in operation.parameters.values()
        if parameter.refers_to and parameter.name != "uuid"
    },
}
