"""The options of the module vm that new VMs have, too."""

from __future__ import annotations

from .options import CREATE_OPTIONS, Options, reference, references

_NIC: Options = {name: {"type": "str"} for name in ("l3_network", "static_ip", "custom_mac", "driver_type")}

VM_CREATION: Options = {
    "image": {**reference("imageUuid"), "aliases": ["image_uuid", "iso"]},
    "clone_from": reference("cloneFromUuid"),
    "root_disk_size": {"type": "bytes", "aliases": ["disk_size"]},
    "disks": {"type": "list", "elements": "dict", "options": {"size": {"type": "bytes", "required": True}}},
    "networks": {"type": "list", "elements": "dict", "options": _NIC},
    "user_data": {"type": "str", "no_log": True},
    "user_data_file": {"type": "path"},
    "ssh_key_pairs": {**references("sshKeyPairUuids", no_log=False), "aliases": ["ssh_key_pair_uuids", "ssh_keys"]},
    "instance_offering": reference("instanceOfferingUuid"),
    "primary_storage": {
        **reference("primaryStorageUuidForRootVolume"),
        "aliases": ["primary_storage_uuid_for_root_volume", "storage"],
    },
    "cpu_num": {"type": "int", "aliases": ["cpu"]},
    "memory_size": {"type": "bytes", "aliases": ["memory"]},
    "host": reference("hostUuid"),
    "cluster": reference("clusterUuid"),
    **CREATE_OPTIONS,
}

# Pairs of options of which a task has one: where the VM, its user data and its size come from.
VM_SOURCES = [
    ("instance_offering", "cpu_num"),
    ("instance_offering", "memory_size"),
    ("user_data", "user_data_file"),
    *((name, "clone_from") for name in VM_CREATION if name in ("image", "root_disk_size", "disks", "ssh_key_pairs")),
    *((name, "clone_from") for name in ("user_data", "user_data_file")),
]
