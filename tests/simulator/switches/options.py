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
        int, OptionInfo("destroyed virtual machines; number n has the name of virtual machine n")
    ] = 0
    templates: Annotated[int, OptionInfo("virtual machines that are templates, the last ones")] = 0
    deleted_volumes: Annotated[
        int, OptionInfo("deleted volumes; number n has the name of the data volume of virtual machine n")
    ] = 0
    l3_networks: Annotated[int, OptionInfo("L3 networks, each with an IP range", least=1)] = 3
    primary_storages: Annotated[int, OptionInfo("primary storages", least=1)] = 2
    snapshot_groups: Annotated[int, OptionInfo("volume snapshot groups; number n is of virtual machine n")] = 1
    cbt_tasks: Annotated[int, OptionInfo("CBT tasks; number n is of virtual machine n")] = 0
    user_tags: Annotated[int, OptionInfo("user tags; number n is of virtual machine n")] = 1
    local_storages: Annotated[int, OptionInfo("primary storages of type LocalStorage, the last ones")] = 1
    persons: Annotated[int, OptionInfo("persons that the teamchat endpoint mentions")] = 2
    ragged_nics: Annotated[bool, OptionInfo("hosts of even number have a fifth NIC, eth4")] = False
    random_seed: Annotated[int, OptionInfo("seed of the pseudo-random uuids of new objects")] = 1


@dataclasses.dataclass
class Switches:
    """The behaviour of the service. The defaults follow real servers, not the letter of the document."""

    latency: Annotated[float, OptionInfo("seconds that a job takes")] = 0.05
    latencies: Annotated[
        dict[str, float], OptionInfo("latency by operation name; for an operation that is answered in place, its delay")
    ] = dataclasses.field(default_factory=dict)
    latency_spread: Annotated[
        float, OptionInfo("the part of its latency by which a job takes at most longer or shorter, at random")
    ] = 0.0
    reconnect: Annotated[float, OptionInfo("seconds until a host that left maintenance is Connected again")] = 0.2
    boot: Annotated[float, OptionInfo("seconds until a host that was switched on or reset can be connected")] = 0.2
    migration: Annotated[float, OptionInfo("seconds that the migration of a virtual machine takes")] = 0.05
    maintenance_policy: Annotated[
        str,
        OptionInfo(
            "what happens to a virtual machine that cannot migrate when its host goes into maintenance: it is stopped,"
            " or the operation fails (the setting host.maintenance.policy)",
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
            "destroyed virtual machines and deleted volumes are removed at once, after their periods, or never",
            choices=("Direct", "Delay", "Never"),
        ),
    ] = "Delay"
    vm_expunge_period: Annotated[
        float, OptionInfo("seconds after which a destroyed virtual machine is expunged (the setting vm/expungePeriod)")
    ] = 604800.0
    volume_expunge_period: Annotated[float, OptionInfo("seconds after which a deleted volume is expunged")] = 259200.0
    delete_data_volumes: Annotated[
        bool,
        OptionInfo(
            "the data volumes of a destroyed virtual machine are deleted (the setting dataVolume.deleteOnVmDestroy)"
        ),
    ] = False
    unique_vm_names: Annotated[
        bool, OptionInfo("no two virtual machines can have the same name (the setting vm/uniqueVmName)")
    ] = False
    hot_plug: Annotated[bool, OptionInfo("CPUs and memory of a running virtual machine can grow")] = False
    guest_tools: Annotated[
        bool, OptionInfo("the guest tools of running virtual machines answer, and the service shows them as Running")
    ] = False
    failing_destructions: Annotated[
        list[str], OptionInfo("uuids of virtual machines that are not destroyed although the job succeeds")
    ] = dataclasses.field(default_factory=list)
    failing_stops: Annotated[list[str], OptionInfo("uuids of virtual machines that cannot be stopped")] = (
        dataclasses.field(default_factory=list)
    )
    never_stopped_vms: Annotated[
        list[str],
        OptionInfo(
            "uuids of virtual machines of the HA level NeverStop: they start again after `boot` seconds unless they are"
            " stopped with stopHA"
        ),
    ] = dataclasses.field(default_factory=list)
    early_states: Annotated[
        bool,
        OptionInfo(
            "a virtual machine is Starting, Stopping, Rebooting, Pausing or Resuming from the start of the call to its"
            " end"
        ),
    ] = True
    failing_snapshots: Annotated[
        list[str],
        OptionInfo("uuids of snapshots that are neither deleted nor reverted to, which only the results show"),
    ] = dataclasses.field(default_factory=list)
    prefix: Annotated[str, OptionInfo("path prefix of the service operations", pattern=r"([^/].*[^/]|[^/]?)")] = (
        "service"
    )
    version: Annotated[
        str,
        OptionInfo(
            "version of the service, which lacks newer operations and parameters; empty: the newest",
            pattern=r"(\d+(\.\d+)*)?",
        ),
    ] = ""
    session: Annotated[str, OptionInfo("the session that is accepted by the service operations")] = "simulator-session"
    token: Annotated[str, OptionInfo("the token that is accepted by the cursor operations")] = "simulator-token"
    access_key_id: Annotated[str, OptionInfo("the access key that is accepted by the service operations")] = (
        "simulator-key-id"
    )
    access_key_secret: Annotated[str, OptionInfo("its secret")] = "simulator-key-secret"
    access_key_disabled: Annotated[bool, OptionInfo("the access key is disabled")] = False
    time_zone: Annotated[
        str, OptionInfo("time zone of the service, as an offset such as +08:00; empty: that of this machine")
    ] = ""
    check_time_zone: Annotated[
        bool, OptionInfo("the dates of signatures are compared as instants, and not as local times")
    ] = False
    accepts_iso_dates: Annotated[
        bool, OptionInfo("the dates of signatures may have the form of ISO 8601, or an offset such as +0800")
    ] = True
    clock_ahead: Annotated[
        float, OptionInfo("seconds by which the clock of the service is ahead; negative: behind", least=-1e9)
    ] = 0.0
    session_expired: Annotated[bool, OptionInfo("the session is invalid")] = False
    token_expired: Annotated[bool, OptionInfo("the token is invalid")] = False
    account: Annotated[str, OptionInfo("the account that can log in")] = "admin"
    account_password: Annotated[str, OptionInfo("its password")] = "simulator-password"
    login_refusal: Annotated[
        str,
        OptionInfo(
            "error with which the service refuses every login; empty: it accepts the account",
            choices=("", *LOGIN_REFUSALS),
        ),
    ] = ""
    session_limit: Annotated[int, OptionInfo("maximum number of sessions of the account", least=1)] = 500
    session_lifetime: Annotated[float, OptionInfo("seconds after its last authorized call until a session expires")] = (
        7200.0
    )
    denied_operations: Annotated[list[str], OptionInfo("names of operations that the accounts may not use")] = (
        dataclasses.field(default_factory=list)
    )
    denial: Annotated[
        str,
        OptionInfo(
            "code with which they are refused, by server: ID.1002, or SYS.1019; SYS.1018 is for an object of the call",
            choices=("ID.1002", "SYS.1019", "SYS.1018"),
        ),
    ] = "SYS.1019"
    rate_limit: Annotated[float, OptionInfo("requests a second and client address before 429; 0: no limit")] = 0.0

    sync: Annotated[bool, OptionInfo("asynchronous operations answer 200 with the result")] = False
    location: Annotated[
        str,
        OptionInfo(
            "host of the polling address in the 202",
            choices=("wrong", "right", "relative", "foreign", "malformed", "missing"),
        ),
    ] = "wrong"
    location_header: Annotated[bool, OptionInfo("the 202 has a Location header, too")] = False
    api_timeout: Annotated[bool, OptionInfo("the 202 has apiTimeout")] = True
    job_uuid: Annotated[str, OptionInfo("whether X-Job-UUID is honoured", choices=("honour", "ignore"))] = "honour"
    job_lifetime: Annotated[float, OptionInfo("seconds after its start during which a job can be polled")] = 10800.0
    webhook_interval: Annotated[float, OptionInfo("seconds between two delivery attempts of a webhook")] = 2.0
    webhook_tries: Annotated[int, OptionInfo("delivery attempts of a webhook")] = 15

    success_members: Annotated[bool, OptionInfo("replies always have success and error", literal=True)] = False
    unknown_members: Annotated[
        bool, OptionInfo("the replies of jobs have success, error, and a member that no document knows")
    ] = False
    null_members: Annotated[bool, OptionInfo("null members are sent", literal=True)] = False
    extra_members: Annotated[bool, OptionInfo("members that the document lacks are sent", literal=False)] = True
    content_type: Annotated[bool, OptionInfo("JSON is sent with a Content-Type")] = True
    timestamps: Annotated[
        str,
        OptionInfo(
            "form of all timestamps; comma: one after the year, too; narrow: and a narrow no-break space before AM",
            choices=("plain", "comma", "narrow", "mixed"),
            literal="plain",
        ),
    ] = "comma"
    error_nesting: Annotated[
        str,
        OptionInfo("member of an error that contains its causes", choices=("causes", "cause", "both"), literal="cause"),
    ] = "causes"
    single_inventory: Annotated[bool, OptionInfo("GET on <collection>/{uuid} answers with one inventory")] = False
    query_paging: Annotated[
        bool,
        OptionInfo(
            "queries support limit, start, sort, count, replyWithCount and fields, or else return everything",
            literal=False,
        ),
    ] = True
    query_values: Annotated[
        str,
        OptionInfo(
            "values of conditions: servers fail on an apostrophe, drop leading operators, and ignore case, accents and"
            " trailing spaces; document: they are compared exactly",
            choices=("servers", "document"),
            literal="document",
        ),
    ] = "servers"
    companions: Annotated[
        str,
        OptionInfo(
            "operations that the document lacks: present, or answered with this status",
            choices=("present", "404", "405", "500"),
            literal="404",
        ),
    ] = "present"
    all_companions: Annotated[
        bool,
        OptionInfo(
            "all companions are present, not only those that the conventions of the document suggest", literal=False
        ),
    ] = True
    missing_operations: Annotated[
        list[str],
        OptionInfo(
            "names of companions that are missing; their paths answer with the query if it is their only operation, or"
            " else 500, or the status of companions"
        ),
    ] = dataclasses.field(default_factory=list)
    user_tags_at_creation: Annotated[
        bool,
        OptionInfo(
            "user tags that are sent with the creation of a host, virtual machine, NIC or volume are attached to it, or"
            " else ignored"
        ),
    ] = True
    tags_per_object: Annotated[int, OptionInfo("how many tags an object can have when a tag pattern is attached")] = 20
    service_type_statistic: Annotated[bool, OptionInfo("the service types of host interfaces can be read")] = True
    verbs_matter: Annotated[
        bool, OptionInfo("a path with one operation accepts only its own verb, or else any", literal=True)
    ] = False
    delete_params: Annotated[
        str, OptionInfo("where a DELETE has its parameters", choices=("query", "body", "both"), literal="body")
    ] = "query"

    cbt_create: Annotated[
        str,
        OptionInfo(
            "parameters that CreateCbtTask reads: any; literal: taskType, resourceUuids; vm_only: vmInstanceUuid",
            choices=("any", "literal", "vm_only"),
            literal="literal",
        ),
    ] = "any"
    enable_reply: Annotated[
        str,
        OptionInfo(
            "what EnableCbtTask returns", choices=("volumeCbtBackupInfos", "inventory", "both", "empty"), literal="both"
        ),
    ] = "volumeCbtBackupInfos"
    disable_reply: Annotated[
        str, OptionInfo("what DisableCbtTask returns", choices=("inventory", "empty"), literal="inventory")
    ] = "empty"
    cbt_bitmap: Annotated[
        str,
        OptionInfo(
            "the checkpoint of which a backup session begins: kept; lost, so that the session is full; or lying: it"
            " does not know what was written",
            choices=("kept", "lost", "lying"),
        ),
    ] = "kept"
    cbt_context: Annotated[
        str,
        OptionInfo(
            "whether the exports of an incremental session have the changed blocks as a meta context; needs disks",
            choices=("offered", "hidden"),
        ),
    ] = "offered"
    cbt_scratch: Annotated[
        str,
        OptionInfo(
            "whether scratch volumes can grow; full: a guest's first write to a block fails; needs disks",
            choices=("free", "full"),
        ),
    ] = "free"
    cbt_disable: Annotated[
        str, OptionInfo("whether DisableCbtTask fails and leaves the session open", choices=("permitted", "refused"))
    ] = "permitted"
    cbt_export: Annotated[
        str,
        OptionInfo("whether an export is cut when its client has sent 256 KiB; needs disks", choices=("whole", "cut")),
    ] = "whole"
    at_all_spelling: Annotated[
        str, OptionInfo("spelling of the parameter atAll", choices=("atAll", "atALL", "both"), literal="both")
    ] = "atAll"
    chats: Annotated[
        str,
        OptionInfo(
            "chats in the paths of endpoints and persons: workchat and teamchat, as the document, or those of the open"
            " sources, we-com and feishu; none: the operations are missing",
            choices=("documented", "open", "none"),
        ),
    ] = "documented"
    persons_required: Annotated[
        bool, OptionInfo("CreateSNSWorkchatEndpoint requires atPersonUserIds and atPersonList", literal=True)
    ] = False
    at_person_list: Annotated[
        str,
        OptionInfo(
            "atPersonList in the records of workchat endpoints: a list of records, a map, or absent",
            choices=("list", "map", "absent"),
            literal="absent",
        ),
    ] = "list"
    remark_required: Annotated[bool, OptionInfo("UpdateAtPersonOfAtTeamchatEndpoint requires remark", literal=True)] = (
        False
    )
    workchat_query_empty: Annotated[bool, OptionInfo("QuerySNSWorkchatEndpoint answers with {}", literal=True)] = False
    snmp_platform_required: Annotated[bool, OptionInfo("CreateSNSSnmpEndpoint fails without platformUuid")] = False
    builtin_platforms: Annotated[list[str], OptionInfo("uuids of the platforms that cannot be deleted")] = (
        dataclasses.field(default_factory=list)
    )
    failing_endpoints: Annotated[
        list[str], OptionInfo("uuids of endpoints that are not deleted with their platforms although the job succeeds")
    ] = dataclasses.field(default_factory=list)
    snmp_connected: Annotated[bool, OptionInfo("the SNMP test connection succeeds")] = True
    attach_duplicates: Annotated[str, OptionInfo("attaching a network a second time", choices=("permit", "refuse"))] = (
        "permit"
    )
    enable_enabled_nic: Annotated[str, OptionInfo("enabling an enabled NIC", choices=("refuse", "permit"))] = "refuse"
    nic_services: Annotated[list[str], OptionInfo("uuids of the NICs that have network services attached")] = (
        dataclasses.field(default_factory=list)
    )
    offering_limits: Annotated[
        list[str],
        OptionInfo("uuids of the NICs whose limits come from an offering: DeleteNicQos succeeds and removes nothing"),
    ] = dataclasses.field(default_factory=list)
    interface_types: Annotated[
        str, OptionInfo("spelling of interfaceType: bondingSlave or bondSlave", choices=("examples", "described"))
    ] = "examples"
    candidate_types: Annotated[
        str,
        OptionInfo(
            "interfaceType of GetCandidateNetworkInterfaces is one of interface, bonding, all; document: of the types"
            " that NIC records show, and all",
            choices=("servers", "document"),
            literal="document",
        ),
    ] = "servers"
    candidate_paging: Annotated[bool, OptionInfo("GetCandidateNetworkInterfaces honours limit and start")] = True
    service_types_member: Annotated[
        str,
        OptionInfo(
            "member for the list that SetServiceTypeOnHostNetworkInterface returns",
            choices=("inventory", "inventories"),
        ),
    ] = "inventory"

    cursor_lifetime: Annotated[float, OptionInfo("seconds after which a cursor expires")] = 600.0
    cursor_expired: Annotated[
        str,
        OptionInfo(
            "reply to an unknown or expired cursor: 400 in plain text, or an ErrorCode", choices=("text", "error")
        ),
    ] = "text"
    cursor_repeat: Annotated[bool, OptionInfo("from the second page on, nextCursor is the given cursor")] = False
    cursor_shrink: Annotated[bool, OptionInfo("total decreases by one per page")] = False

    @property
    def root(self) -> str:
        """The path prefix with its slash, or an empty text without one."""
        return f"/{self.prefix}" if self.prefix else ""
