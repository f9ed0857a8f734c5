"""The variables of each role as its workflow gets them, by their names without the prefix of the role.

The session ``format`` writes this file from the ``meta/argument_specs.yml`` of the roles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...module_utils._api.records import Record


@dataclass(frozen=True, kw_only=True)
class CapacityReportSettings:
    """The variables of the role capacity_report."""

    path: str
    warn_percent: int = 75
    bad_percent: int = 90
    backup_repository: str = ""
    backup_mover: list[str] = field(default_factory=lambda: ["localhost"])
    backup_query: list[str] = field(default_factory=list)
    backup_days: int = 2
    backup_fail: bool = False
    file_mode: str = "0644"


@dataclass(frozen=True, kw_only=True)
class HostEvacuationSettings:
    """The variables of the role host_evacuation."""

    hosts: list[str] = field(default_factory=list)
    state: Literal["evacuated", "restored", "unmarked"] = "evacuated"
    label: str = "default"
    targets: list[str] = field(default_factory=list)
    unmovable: Literal["fail", "keep"] = "fail"
    concurrency: int = 5
    timeout: int = 3600


@dataclass(frozen=True, kw_only=True)
class HostMaintenanceSettings:
    """The variables of the role host_maintenance."""

    tasks: str | None = None
    needed: bool = True
    running_vms: Literal["migrate", "stop", "any"] = "migrate"
    evacuate: bool = False
    least_available: int = 1
    not_after: str | None = None
    state: Literal["present", "absent"] = "present"
    uuid: str | None = None
    on_failure: Literal["keep", "restore"] = "keep"
    already: Literal["fail", "skip", "use"] = "fail"
    timeout: int = 3600


@dataclass(frozen=True, kw_only=True)
class HostOnboardingSettings:
    """The variables of the role host_onboarding."""

    cluster: str | None = None
    username: str | None = None
    password: str | None = None
    services: list[Record] = field(default_factory=list)
    state: Literal["enabled", "disabled", "maintenance"] = "enabled"
    management_ip: str | None = None
    name: str | None = None
    ssh_port: int | None = None
    timeout: int = 10800
    concurrency: int = 500


@dataclass(frozen=True, kw_only=True)
class HostRemovalSettings:
    """The variables of the role host_removal."""

    running_vms: Literal["migrate", "stop", "any"] = "migrate"
    least_available: int = 1
    force: bool = False
    destroy_local_storage: bool = False
    uuid: str | None = None
    timeout: int = 3600


@dataclass(frozen=True, kw_only=True)
class NotificationsSettings:
    """The variables of the role notifications."""

    topics: list[Record] = field(default_factory=list)
    endpoints: list[Record] = field(default_factory=list)
    platforms: list[Record] = field(default_factory=list)
    persons: list[Record] = field(default_factory=list)
    state: Literal["present", "absent"] = "present"
    test: bool = False
    force: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, kw_only=True)
class SiteDescriptionSettings:
    """The variables of the role site_description."""

    folder: str = "site"


@dataclass(frozen=True, kw_only=True)
class SiteDriftSettings:
    """The variables of the role site_drift."""

    group: str = "site_hosts"
    fail: bool = True
    path: str = ""
    file_mode: str = "0644"


@dataclass(frozen=True, kw_only=True)
class SiteShutdownSettings:
    """The variables of the role site_shutdown."""

    state: Literal["running", "stopped", "unmarked"] = "stopped"
    label: str = "default"
    groups: list[Record] = field(default_factory=list)
    remaining: bool = True
    exclude_vms: list[str] = field(default_factory=list)
    exclude_hosts: list[str] = field(default_factory=list)
    maintenance: bool = False
    time_limit: int = 1200
    host_time: int = 300
    grace_timeout: int = 300
    hosts: bool = True
    host_query: list[str] = field(default_factory=list)
    cold: bool = True
    cold_timeout: int = 60
    start_timeout: int = 1200
    concurrency: int = 100
    allow_empty: bool = False


@dataclass(frozen=True, kw_only=True)
class VmBackupSettings:
    """The variables of the role vm_backup."""

    query: list[str] = field(default_factory=list)
    vms: list[str] = field(default_factory=list)
    repository: str | None = None
    initialize: bool = False
    keep: Record = field(default_factory=dict)
    exclude_volumes: list[str] = field(default_factory=list)
    not_after: str | None = None
    before: Record | None = None
    after: Record | None = None
    stopped: bool = True
    concurrency: int = 4
    per_host: int = 1
    state: Literal["present", "ended"] = "present"
    full_every: int = 14
    compare_every: int = 7
    compare_spread: int = 0
    verify: Literal["written", "all", "none"] = "written"
    compression: Literal["none", "zstd"] = "none"
    rate_limit: int = 0
    min_free_percent: int = 10
    timeout: int = 14400
    host_address: Record = field(default_factory=dict)
    task_prefix: str = "backup-"
    allow_empty: bool = False


@dataclass(frozen=True, kw_only=True)
class VmBackupDrillSettings:
    """The variables of the role vm_backup_drill."""

    repository: str
    vms: list[str] = field(default_factory=list)
    count: int = 1
    watch: int = 60
    mover: str = "localhost"
    cluster: str | None = None
    min_free_percent: int = 10
    host_address: Record = field(default_factory=dict)
    rate_limit: int = 0
    timeout: int = 10800


@dataclass(frozen=True, kw_only=True)
class VmBackupReportSettings:
    """The variables of the role vm_backup_report."""

    path: str
    repository: str
    mover: list[str] = field(default_factory=lambda: ["localhost"])
    days: int = 2
    fail: bool = False
    keep: Record = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    names: bool = False
    removed_days: int = 365
    file_mode: str = "0644"


@dataclass(frozen=True, kw_only=True)
class VmBackupRestoreSettings:
    """The variables of the role vm_backup_restore."""

    vm: str
    repository: str
    confirm: str | None = None
    state: Literal["restored", "created", "attached", "detached"] = "restored"
    attach_to: str | None = None
    name: str | None = None
    nics: Literal["same", "new", "none"] = "same"
    cluster: str | None = None
    point: str | None = None
    volumes: list[str] = field(default_factory=list)
    mover: str = "localhost"
    stop: bool = False
    start: bool = False
    to_directory: str | None = None
    map: Record = field(default_factory=dict)
    snapshot_first: bool = True
    only_different: bool = True
    allow_larger: bool = False
    host_address: Record = field(default_factory=dict)
    rate_limit: int = 0
    timeout: int = 10800


@dataclass(frozen=True, kw_only=True)
class VmPowerSettings:
    """The variables of the role vm_power."""

    state: Literal["running", "stopped", "restored", "unmarked"]
    groups: list[Record] = field(default_factory=list)
    label: str = "default"
    grace_timeout: int = 300
    cold: bool = True
    not_after: str | None = None
    timeout: int = 600
    concurrency: int = 20
    allow_empty: bool = False


@dataclass(frozen=True, kw_only=True)
class VmRestoreSettings:
    """The variables of the role vm_restore."""

    vms: list[Record]
    name_suffix: str = ""
    state: Literal["present", "absent"] = "present"
    expunge: bool = False
    concurrency: int = 10
    timeout: int = 10800
    allow_empty: bool = False


@dataclass(frozen=True, kw_only=True)
class VmSnapshotsSettings:
    """The variables of the role vm_snapshots."""

    query: list[str] = field(default_factory=list)
    vms: list[str] = field(default_factory=list)
    keep: int = 7
    interval: Literal["day", "hour", "minute"] = "day"
    name_prefix: str = "scheduled-"
    memory: bool = False
    state: Literal["present", "absent"] = "present"
    concurrency: int = 10
    timeout: int = 10800
    allow_empty: bool = False
