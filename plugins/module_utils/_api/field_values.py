"""The documented values of fields with a fixed set of values. The session ``format`` writes this file."""

from __future__ import annotations

from collections.abc import Mapping

# By the type of the record, and the field.
FIELD_VALUES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CbtTaskInventory": {"status": ("Created", "Starting", "Running", "Stopped", "Failed")},
    "SNSWorkchatEndpointInventory": {"state": ("Enabled", "Disabled")},
    "ZoneInventory": {"state": ("Enabled", "Disabled")},
    "ClusterInventory": {"state": ("Enabled", "Disabled")},
    "SNSTopicInventory": {"state": ("Enabled", "Disabled"), "locale": ("zh_CN", "en_US")},
    "SNSApplicationPlatformInventory": {"state": ("Enabled", "Disabled")},
    "SNSApplicationEndpointInventory": {"state": ("Enabled", "Disabled")},
    "VmInstanceInventory": {
        "platform": ("Linux", "Windows", "Other"),
        "type": ("UserVm", "ApplianceVm"),
        "state": (
            "Created",
            "Starting",
            "Running",
            "Stopping",
            "Stopped",
            "Rebooting",
            "Destroying",
            "Destroyed",
            "Migrating",
            "VolumeMigrating",
            "VolumeRecovering",
            "Expunging",
            "Pausing",
            "Paused",
            "Resuming",
            "Error",
            "NoState",
            "Unknown",
            "Crashed",
            "Registering",
        ),
    },
    "VmNicInventory": {"state": ("enable", "disable")},
    "HostInventory": {
        "state": ("Enabled", "Disabled", "PreMaintenance", "Maintenance"),
        "status": ("Connecting", "Connected", "Disconnected"),
        "cpuStatus": ("Normal", "Error", "Unknown"),
        "memoryStatus": ("Normal", "Error", "Unknown"),
        "diskStatus": ("Normal", "Error", "Unknown"),
        "nicStatus": ("Normal", "Error", "Unknown"),
        "gpuStatus": ("Normal", "Error", "Unknown"),
        "powerSupplyStatus": ("Normal", "Error", "Unknown"),
        "fanStatus": ("Normal", "Error", "Unknown"),
        "raidStatus": ("Normal", "Error", "Unknown"),
        "temperatureStatus": ("Normal", "Error", "Unknown"),
    },
    "HostNicServiceType": {
        "serviceType": ("ManagementNetwork", "TenantNetwork", "StorageNetwork", "BackupNetwork", "MigrationNetwork")
    },
    "PrimaryStorageInventory": {
        "state": ("Enabled", "Disabled", "Maintenance", "Deleting"),
        "status": ("Connecting", "Connected", "Disconnected"),
    },
}
