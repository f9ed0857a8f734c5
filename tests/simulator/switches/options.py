"""The options of the simulator: seed options and switches."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from ..errors import LOGIN_REFUSALS


@dataclasses.dataclass(frozen=True)
class OptionInfo:
    """Help and constraints of an option."""

    help: str
    choices: tuple[str, ...] = ()
    pattern: str = ".*"
    least: float = 0
    literal: Any = None
    """The value in `literal` mode; None if the document does not differ."""


@dataclasses.dataclass(frozen=True)
class Seed:
    """The number of objects of each type after start and reset."""

    clusters: Annotated[int, OptionInfo("clusters", least=1)] = 2
    hosts: Annotated[int, OptionInfo("hosts")] = 3
    vms: Annotated[int, OptionInfo("virtual machines, each with a NIC, a root and a data volume")] = 6
    destroyed_vms: Annotated[
        int,
        OptionInfo(
            "virtual machines in state Destroyed, after the others; the n-th has the name `vm-n`. None by "
            "default: all seeded objects are usable; other states come from operations, faults and `change`"
        ),
    ] = 0
    templates: Annotated[int, OptionInfo("virtual machines that are templates, the last ones")] = 0
    deleted_volumes: Annotated[
        int,
        OptionInfo(
            "volumes in status Deleted, which services keep for three days; the n-th has the name of the data "
            "volume of `vm-n`"
        ),
    ] = 0
    l3_networks: Annotated[int, OptionInfo("L3 networks, each with an IP range", least=1)] = 3
    primary_storages: Annotated[int, OptionInfo("primary storages", least=1)] = 2
    snapshot_groups: Annotated[int, OptionInfo("volume snapshot groups; number n is of virtual machine n")] = 1
    cbt_tasks: Annotated[
        int, OptionInfo("CBT tasks; number n is of virtual machine n; Created, Stopped, Running, Failed in turn")
    ] = 0
    user_tags: Annotated[int, OptionInfo("user tags; number n is `tag-n` of virtual machine n")] = 1
    local_storages: Annotated[
        int,
        OptionInfo(
            "primary storages of type LocalStorage, the last ones; the others are NFS. By default only stopped "
            "virtual machines lie on one, with `local_storages` 2 all of them"
        ),
    ] = 1
    persons: Annotated[int, OptionInfo("persons that the teamchat endpoint mentions")] = 2
    ragged_nics: Annotated[bool, OptionInfo("hosts of even number have a fifth NIC, eth4")] = False
    random_seed: Annotated[
        int,
        OptionInfo(
            "seed of the pseudo-random uuids of new objects: the same calls after a reset return the same uuids"
        ),
    ] = 1


@dataclasses.dataclass
class AccessSwitches:
    """Time, address and access."""

    latency: Annotated[float, OptionInfo("seconds that a job takes")] = 0.05
    latencies: Annotated[
        dict[str, float],
        OptionInfo(
            "seconds that a job takes, by operation name; for a GET, a login and a logout, the delay of the response"
        ),
    ] = dataclasses.field(default_factory=dict)
    latency_spread: Annotated[
        float,
        OptionInfo(
            "the part of its latency by which a job takes at most longer or shorter, at random; 0.3 is 30 percent"
        ),
    ] = 0.0
    reconnect: Annotated[float, OptionInfo("seconds until a host that left maintenance is Connected again")] = 0.2
    boot: Annotated[float, OptionInfo("seconds until a host that was switched on or reset can be connected")] = 0.2
    migration: Annotated[
        float,
        OptionInfo(
            "seconds that the migration of one virtual machine takes. A host that goes into maintenance migrates "
            "its virtual machines one after the other"
        ),
    ] = 0.05
    prefix: Annotated[str, OptionInfo("path prefix of the service operations", pattern=r"([^/].*[^/]|[^/]?)")] = (
        "service"
    )
    version: Annotated[
        str,
        OptionInfo(
            "version of the service: newer operations answer 404, newer parameters are ignored, newer fields are "
            "missing; empty: the newest",
            pattern=r"(\d+(\.\d+)*)?",
        ),
    ] = ""
    session: Annotated[str, OptionInfo("the session that is accepted by the service operations")] = "simulator-session"
    token: Annotated[str, OptionInfo("the token that is accepted by the cursor operations")] = "simulator-token"
    access_key_id: Annotated[
        str, OptionInfo("the access key that is accepted. The signature of each request is checked")
    ] = "simulator-key-id"
    access_key_secret: Annotated[str, OptionInfo("the secret of `access_key_id`")] = "simulator-key-secret"
    access_key_disabled: Annotated[bool, OptionInfo("the access key is disabled")] = False
    time_zone: Annotated[
        str,
        OptionInfo(
            "the time zone of the service, as an offset such as `+08:00`; empty: that of the machine. A signature "
            "must contain its local time"
        ),
    ] = ""
    check_time_zone: Annotated[
        bool, OptionInfo("the dates of signatures are compared as instants, and not as local times")
    ] = False
    accepts_iso_dates: Annotated[
        bool, OptionInfo("the dates of signatures may also have the form of ISO 8601, or an offset such as `+0800`")
    ] = True
    clock_ahead: Annotated[
        float,
        OptionInfo(
            "seconds by which the clock of the service is ahead, as the header `Date` of its responses shows; "
            "negative: behind. With more than 900 it refuses every access key",
            least=-1e9,
        ),
    ] = 0.0
    session_expired: Annotated[bool, OptionInfo("the session is invalid")] = False
    token_expired: Annotated[bool, OptionInfo("the token is invalid")] = False
    account: Annotated[str, OptionInfo("the account that can log in")] = "admin"
    account_password: Annotated[str, OptionInfo("the password of `account`")] = "simulator-password"
    login_refusal: Annotated[
        str,
        OptionInfo(
            "the code with which every login is refused: `ID.1006` (too many sessions), `ID.1007` (disabled), "
            "`ID.2001` (second factor), `LOGIN_CONTROL.1000` (the password must be changed), `.1002` (locked), "
            "`.1003`, `.1005` (captcha wrong, missing) or `.1004` (address refused); empty: the service accepts "
            "the account",
            choices=("", *LOGIN_REFUSALS),
        ),
    ] = ""
    session_limit: Annotated[
        int, OptionInfo("maximum number of sessions of the account; a further login is refused with `ID.1006`", least=1)
    ] = 500
    session_lifetime: Annotated[
        float, OptionInfo("seconds after its last authorized call until a session expires; polls do not count")
    ] = 7200.0
    denied_operations: Annotated[list[str], OptionInfo("the names of the operations that the account may not use")] = (
        dataclasses.field(default_factory=list)
    )
    denial: Annotated[
        str,
        OptionInfo(
            "the code with which denied operations are refused, which depends on the server: `ID.1002` or "
            "`SYS.1019`. `SYS.1018` is for an object of the call that the account may not access",
            choices=("ID.1002", "SYS.1019", "SYS.1018"),
        ),
    ] = "SYS.1019"
    rate_limit: Annotated[
        float, OptionInfo("requests per second and client address before 429; 0: no limit. Polls count")
    ] = 0.0


@dataclasses.dataclass
class JobSwitches:
    """Jobs."""

    sync: Annotated[bool, OptionInfo("asynchronous operations answer 200 with the result")] = False
    location: Annotated[
        str,
        OptionInfo(
            "host of the polling address: `wrong` (`http://192.0.2.1:8080`), `right`, `relative`, `foreign` "
            "(`https://203.0.113.9:8443`), `malformed`, `missing`",
            choices=("wrong", "right", "relative", "foreign", "malformed", "missing"),
        ),
    ] = "wrong"
    location_header: Annotated[bool, OptionInfo("the 202 also has a `Location` header")] = False
    api_timeout: Annotated[bool, OptionInfo("the 202 has `apiTimeout`")] = True
    job_uuid: Annotated[
        str, OptionInfo("whether X-Job-UUID is honoured; `ignore`: it has no effect", choices=("honour", "ignore"))
    ] = "honour"
    job_lifetime: Annotated[float, OptionInfo("seconds after its start during which a job can be polled")] = 10800.0
    webhook_interval: Annotated[float, OptionInfo("seconds between two delivery attempts of a webhook")] = 2.0
    webhook_tries: Annotated[
        int,
        OptionInfo(
            "delivery attempts of a webhook. Results of operations on several objects (ExportNbdVolumes, "
            "UnexportNbdVolumes, SetServiceTypeOnHostNetworkInterface) have the header `X-Job-Batch`, `SUCCESS` "
            "or `FAILED`"
        ),
    ] = 15


@dataclasses.dataclass
class ReplySwitches:
    """Replies."""

    success_members: Annotated[bool, OptionInfo("replies always have `success` and `error`", literal=True)] = False
    unknown_members: Annotated[
        bool, OptionInfo("the replies of jobs have `success`, `error`, and a member that no document knows")
    ] = False
    null_members: Annotated[bool, OptionInfo("null members are sent", literal=True)] = False
    extra_members: Annotated[
        bool,
        OptionInfo(
            "undocumented members are sent: `schema`, `i18nDetails`, `connectionStatus`, `resourceRefs`, "
            "`atPersonList`, `volumeInfos`, address and port of a platform",
            literal=False,
        ),
    ] = True
    error_nesting: Annotated[
        str,
        OptionInfo(
            "member of an error that contains its causes: the list `causes`, the first of them as `cause`, or `both`",
            choices=("causes", "cause", "both"),
            literal="cause",
        ),
    ] = "causes"
    content_type: Annotated[bool, OptionInfo("JSON is sent with a Content-Type")] = True
    timestamps: Annotated[
        str,
        OptionInfo(
            "form of all timestamps: `plain` (`Jan 6, 2024 4:52:16 AM`), `comma` (`Jan 6, 2024, 4:52:16 AM`), "
            "`narrow` (the same with a narrow no-break space before AM), or `mixed`",
            choices=("plain", "comma", "narrow", "mixed"),
            literal="plain",
        ),
    ] = "comma"
    single_inventory: Annotated[bool, OptionInfo("GET on `<collection>/{uuid}` answers with one `inventory`")] = False
    query_paging: Annotated[
        bool,
        OptionInfo(
            "queries support limit, start, sort, count, replyWithCount and fields. With false, they return all "
            "records with all fields",
            literal=False,
        ),
    ] = True
    query_values: Annotated[
        str,
        OptionInfo(
            "the values of conditions. `servers`: an apostrophe fails with `SYS.1000`, an operator at the "
            "beginning of the value is dropped (`name==x` asks for `x`), and case, accents and trailing spaces "
            "are ignored. `document`: they are compared exactly",
            choices=("servers", "document"),
            literal="document",
        ),
    ] = "servers"
    companions: Annotated[
        str,
        OptionInfo(
            "the companions, operations that the document lacks: `present`, or answered with `404`, `405`, or "
            "`500` and *No query API found for the path*",
            choices=("present", "404", "405", "500"),
            literal="404",
        ),
    ] = "present"
    missing_operations: Annotated[
        list[str],
        OptionInfo(
            "names of companions that are missing; their paths answer with the query if it is their only "
            "operation, or else 500, or the status of `companions`. On a path that several actions share, 400 and "
            "*the body doesn't contain action mapping*"
        ),
    ] = dataclasses.field(default_factory=list)
    user_tags_at_creation: Annotated[
        bool,
        OptionInfo(
            "user tags that are sent with the creation of a host, virtual machine, NIC or volume are attached to "
            "it, or else ignored"
        ),
    ] = True
    tags_per_object: Annotated[
        int,
        OptionInfo("how many tags an object can have when a tag pattern is attached; more are an error in the results"),
    ] = 20
    service_type_statistic: Annotated[bool, OptionInfo("the service types of host interfaces can be read")] = True
    all_companions: Annotated[
        bool,
        OptionInfo(
            "all companions are present, not only those that the conventions of the document suggest. Needs "
            "`companions`",
            literal=False,
        ),
    ] = True
    verbs_matter: Annotated[
        bool,
        OptionInfo(
            "a path with one operation accepts only its own verb. By default any verb calls it, so `GET "
            "primary-storage/<uuid>` is answered with 202 and deletes a detached storage",
            literal=True,
        ),
    ] = False
    delete_params: Annotated[
        str,
        OptionInfo(
            "where a DELETE has its parameters: `query`, `body`, `both` (the query takes precedence)",
            choices=("query", "body", "both"),
            literal="body",
        ),
    ] = "query"


@dataclasses.dataclass
class OperationSwitches:
    """Operations."""

    cbt_create: Annotated[
        str,
        OptionInfo(
            "parameters that CreateCbtTask reads: `any`; `literal`: taskType and resourceUuids; `vm_only`: "
            "vmInstanceUuid",
            choices=("any", "literal", "vm_only"),
            literal="literal",
        ),
    ] = "any"
    enable_reply: Annotated[
        str,
        OptionInfo(
            "what EnableCbtTask returns: `volumeCbtBackupInfos`, `inventory`, `both`, `empty`",
            choices=("volumeCbtBackupInfos", "inventory", "both", "empty"),
            literal="both",
        ),
    ] = "volumeCbtBackupInfos"
    disable_reply: Annotated[
        str,
        OptionInfo(
            "what DisableCbtTask returns: `inventory`, `empty`", choices=("inventory", "empty"), literal="inventory"
        ),
    ] = "empty"
    cbt_bitmap: Annotated[
        str,
        OptionInfo(
            "what becomes of the checkpoints: `kept`; `lost`: every session is full; `lying`, which needs disks: "
            "a session is incremental, but its bitmap lacks what was written",
            choices=("kept", "lost", "lying"),
        ),
    ] = "kept"
    cbt_context: Annotated[
        str,
        OptionInfo(
            "with `hidden`, the exports of incremental sessions lack `qemu:dirty-bitmap:<name>`, and only "
            "`bitmapBase64` shows what changed. Needs disks",
            choices=("offered", "hidden"),
        ),
    ] = "offered"
    cbt_scratch: Annotated[
        str,
        OptionInfo(
            "with `full`, scratch volumes cannot grow. The first write of a guest to a block then fails while the "
            "session is open; reading it goes on. Needs disks",
            choices=("free", "full"),
        ),
    ] = "free"
    cbt_disable: Annotated[
        str,
        OptionInfo(
            "with `refused`, DisableCbtTask fails, and so does DeleteCbtTask of a running task; the session stays open",
            choices=("permitted", "refused"),
        ),
    ] = "permitted"
    cbt_export: Annotated[
        str,
        OptionInfo(
            "with `cut`, an export is cut when its client has sent 256 KiB. Needs disks", choices=("whole", "cut")
        ),
    ] = "whole"
    at_all_spelling: Annotated[
        str,
        OptionInfo(
            "spelling of the parameter: `atAll`, `atALL`, `both`", choices=("atAll", "atALL", "both"), literal="both"
        ),
    ] = "atAll"
    chats: Annotated[
        str,
        OptionInfo(
            "`open`: endpoints and persons of chats have the paths `we-com` and `feishu` instead of `workchat` "
            "and `teamchat`, as on servers of the open sources; `none`: they have neither. Without these paths, "
            "GET on `.../workchat` is the read of an endpoint with this uuid (an empty list), POST is 500 in "
            "plain text, and `.../teamchat/at-persons` is 404",
            choices=("documented", "open", "none"),
        ),
    ] = "documented"
    persons_required: Annotated[
        bool, OptionInfo("CreateSNSWorkchatEndpoint requires atPersonUserIds and atPersonList", literal=True)
    ] = False
    at_person_list: Annotated[
        str,
        OptionInfo(
            "the mentioned persons in the records of workchat endpoints: a `list` of records, a `map` from user "
            "ID to remark, or `absent`",
            choices=("list", "map", "absent"),
            literal="absent",
        ),
    ] = "list"
    remark_required: Annotated[bool, OptionInfo("UpdateAtPersonOfAtTeamchatEndpoint requires remark", literal=True)] = (
        False
    )
    workchat_query_empty: Annotated[bool, OptionInfo("QuerySNSWorkchatEndpoint answers `{}`", literal=True)] = False
    snmp_platform_required: Annotated[
        bool, OptionInfo("CreateSNSSnmpEndpoint without platformUuid fails with SYS.1000")
    ] = False
    builtin_platforms: Annotated[list[str], OptionInfo("uuids of the platforms that cannot be deleted: SYS.1006")] = (
        dataclasses.field(default_factory=list)
    )
    failing_endpoints: Annotated[
        list[str], OptionInfo("uuids of endpoints that are not deleted with their platforms, although the job succeeds")
    ] = dataclasses.field(default_factory=list)
    snmp_connected: Annotated[bool, OptionInfo("the result of SNSSnmpTestConnection")] = True
    attach_duplicates: Annotated[
        str, OptionInfo("attaching a network a second time; `refuse`: SYS.1006", choices=("permit", "refuse"))
    ] = "permit"
    enable_enabled_nic: Annotated[
        str, OptionInfo("enabling an enabled NIC; `refuse`: SYS.1007", choices=("refuse", "permit"))
    ] = "refuse"
    nic_services: Annotated[
        list[str], OptionInfo("uuids of NICs with network services; their network cannot be changed")
    ] = dataclasses.field(default_factory=list)
    maintenance_policy: Annotated[
        str,
        OptionInfo(
            "the setting `host.maintenance.policy`: what happens to a virtual machine that cannot migrate when "
            "its host goes into maintenance. It is stopped, or with `JustMigrate` the operation fails",
            choices=("StopVmOnMigrationFailure", "JustMigrate"),
        ),
    ] = "StopVmOnMigrationFailure"
    failing_migrations: Annotated[
        list[str], OptionInfo("uuids of virtual machines whose migration fails although a host could take them")
    ] = dataclasses.field(default_factory=list)
    straying_migrations: Annotated[
        list[str], OptionInfo("uuids of virtual machines that another host takes than the requested one, if possible")
    ] = dataclasses.field(default_factory=list)
    deletion_policy: Annotated[
        str,
        OptionInfo(
            "what becomes of destroyed virtual machines and deleted volumes and images: with `Delay` they are expunged "
            "after their periods, with `Direct` removed at once, with `Never` only by an operation",
            choices=("Direct", "Delay", "Never"),
        ),
    ] = "Delay"
    vm_expunge_period: Annotated[
        float,
        OptionInfo(
            "seconds until a destroyed virtual machine is expunged (the setting vm/expungePeriod), see `POST advance`"
        ),
    ] = 604800.0
    volume_expunge_period: Annotated[
        float, OptionInfo("seconds until a deleted volume or image is expunged, see `POST advance`")
    ] = 259200.0
    delete_data_volumes: Annotated[
        bool,
        OptionInfo(
            "the setting `dataVolume.deleteOnVmDestroy`: the data volumes of a destroyed virtual machine are "
            "deleted, instead of only detached"
        ),
    ] = False
    unique_vm_names: Annotated[
        bool,
        OptionInfo(
            "the setting `vm/uniqueVmName`: creating or renaming a virtual machine with a name that another one "
            "has, perhaps a destroyed one, causes SYS.1006"
        ),
    ] = False
    hot_plug: Annotated[
        bool, OptionInfo("CPUs and memory of a running virtual machine can grow; or else changing them causes SYS.1007")
    ] = False
    guest_tools: Annotated[
        bool, OptionInfo("the guest tools of running virtual machines answer, and the service shows them as `Running`")
    ] = False
    failing_destructions: Annotated[
        list[str], OptionInfo("uuids of virtual machines that are not destroyed although the job succeeds")
    ] = dataclasses.field(default_factory=list)
    early_states: Annotated[
        bool,
        OptionInfo(
            "a virtual machine is Starting, Stopping, Rebooting, Pausing or Resuming from the start of the call "
            "to its end, as servers show it; or else it has its previous state until the end"
        ),
    ] = True
    failing_stops: Annotated[
        list[str], OptionInfo("uuids of virtual machines that cannot be stopped, also when their host is deleted")
    ] = dataclasses.field(default_factory=list)
    never_stopped_vms: Annotated[
        list[str],
        OptionInfo(
            "uuids of virtual machines of the HA level NeverStop: they start again after `boot` seconds, unless "
            'they are stopped with `stopHA: "true"`'
        ),
    ] = dataclasses.field(default_factory=list)
    failing_snapshots: Annotated[
        list[str],
        OptionInfo(
            "uuids of snapshots that are neither deleted nor reverted to. The jobs of DeleteVolumeSnapshotGroup "
            "and RevertVmFromSnapshotGroup succeed; only the results show the errors"
        ),
    ] = dataclasses.field(default_factory=list)
    offering_limits: Annotated[
        list[str],
        OptionInfo(
            "uuids of NICs whose bandwidth limits come from an offering: DeleteNicQos succeeds and removes nothing"
        ),
    ] = dataclasses.field(default_factory=list)
    interface_types: Annotated[
        str,
        OptionInfo(
            "the spelling of `interfaceType` in the records of slaves: `bondingSlave`, or with `described` `bondSlave`",
            choices=("examples", "described"),
        ),
    ] = "examples"
    candidate_types: Annotated[
        str,
        OptionInfo(
            "`interfaceType` of GetCandidateNetworkInterfaces: `interface`, `bonding` or `all`; with `document`, "
            "`all` or a type that appears in NIC records",
            choices=("servers", "document"),
            literal="document",
        ),
    ] = "servers"
    candidate_paging: Annotated[bool, OptionInfo("GetCandidateNetworkInterfaces honours limit and start")] = True
    service_types_member: Annotated[
        str,
        OptionInfo(
            "member that contains the list which SetServiceTypeOnHostNetworkInterface returns: `inventory` or "
            "`inventories`",
            choices=("inventory", "inventories"),
        ),
    ] = "inventory"


@dataclasses.dataclass
class CursorSwitches:
    """Cursors."""

    cursor_lifetime: Annotated[float, OptionInfo("seconds after which a cursor expires")] = 600.0
    cursor_expired: Annotated[
        str,
        OptionInfo(
            "reply to an unknown or expired cursor: 400 in plain `text`, or `error`: 503 with SYS.1007",
            choices=("text", "error"),
        ),
    ] = "text"
    cursor_repeat: Annotated[bool, OptionInfo("from the second page on, nextCursor is the given cursor")] = False
    cursor_shrink: Annotated[bool, OptionInfo("`total` decreases by one per page")] = False


@dataclasses.dataclass
class Switches(CursorSwitches, OperationSwitches, ReplySwitches, JobSwitches, AccessSwitches):
    """The behaviour of the service. The defaults follow real servers, not the letter of the document."""

    @property
    def root(self) -> str:
        """The path prefix with its slash, or an empty text without one."""
        return f"/{self.prefix}" if self.prefix else ""
