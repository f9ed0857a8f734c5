# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be chosen about the simulator: its seed and its switches, by command line and at run time."""

from __future__ import annotations

import argparse
import dataclasses
import re
import typing as t

from .registry import OPERATIONS


@dataclasses.dataclass(frozen=True)
class About:
    """What is known about an option besides its type and its default."""

    help: str
    choices: tuple[str, ...] = ()
    pattern: str = ".*"
    least: float = 0
    literal: t.Any = None
    """Its value in `literal` mode, None when the document does not differ."""


@dataclasses.dataclass(frozen=True)
class Seed:
    """How many objects of each kind exist after start and reset."""

    clusters: t.Annotated[int, About("clusters", least=1)] = 2
    hosts: t.Annotated[int, About("hosts")] = 3
    vms: t.Annotated[int, About("virtual machines, each with a NIC, a root and a data volume")] = 6
    destroyed_vms: t.Annotated[int, About("destroyed virtual machines, number n named as virtual machine n")] = 0
    l3_networks: t.Annotated[int, About("L3 networks, each with an IP range", least=1)] = 3
    primary_storages: t.Annotated[int, About("primary storages", least=1)] = 2
    snapshot_groups: t.Annotated[int, About("volume snapshot groups, number n of virtual machine n")] = 1
    cbt_tasks: t.Annotated[int, About("CBT tasks, number n of virtual machine n")] = 0
    persons: t.Annotated[int, About("persons to mention on the teamchat endpoint")] = 2
    ragged_nics: t.Annotated[bool, About("hosts of even number have one NIC more, eth4")] = False
    random_seed: t.Annotated[int, About("start of the pseudo-random uuids of new objects")] = 1


@dataclasses.dataclass
class Switches:
    """How the service behaves. The defaults are what servers were seen to do, not the letter of the document."""

    latency: t.Annotated[float, About("seconds that a job takes")] = 0.05
    latencies: t.Annotated[
        dict[str, float], About("seconds by operation name; for an operation answered in place, its delay")
    ] = dataclasses.field(default_factory=dict)
    reconnect: t.Annotated[float, About("seconds until a host that left maintenance is Connected again")] = 0.2
    prefix: t.Annotated[str, About("path prefix of the service operations", pattern=r"([^/].*[^/]|[^/]?)")] = "service"
    version: t.Annotated[
        str,
        About(
            "version of the service: newer operations and parameters are unknown; empty: all known",
            pattern=r"(\d+(\.\d+)*)?",
        ),
    ] = ""
    session: t.Annotated[str, About("the session that is accepted by the service operations")] = "simulator-session"
    token: t.Annotated[str, About("the token that is accepted by the cursor operations")] = "simulator-token"
    session_expired: t.Annotated[bool, About("the session is invalid from now on")] = False
    token_expired: t.Annotated[bool, About("the token is invalid from now on")] = False
    account: t.Annotated[str, About("the account that can log in")] = "admin"
    account_password: t.Annotated[str, About("its password")] = "password"
    session_limit: t.Annotated[int, About("sessions that the account can have", least=1)] = 500
    session_lifetime: t.Annotated[float, About("seconds that a session lives after each authorised call")] = 7200.0
    rate_limit: t.Annotated[float, About("requests a second and client address before 429; 0: no limit")] = 0.0

    sync: t.Annotated[bool, About("asynchronous operations answer 200 with the result")] = False
    location: t.Annotated[
        str,
        About(
            "host of the polling address in the 202",
            choices=("wrong", "right", "relative", "foreign", "malformed", "missing"),
        ),
    ] = "wrong"
    location_header: t.Annotated[bool, About("the 202 carries a Location header too")] = False
    api_timeout: t.Annotated[bool, About("the 202 carries apiTimeout")] = True
    job_uuid: t.Annotated[str, About("what becomes of X-Job-UUID", choices=("honour", "ignore"))] = "honour"
    job_lifetime: t.Annotated[float, About("seconds after its start that a job can be polled")] = 10800.0
    webhook_interval: t.Annotated[float, About("seconds between two tries of a webhook")] = 2.0
    webhook_tries: t.Annotated[int, About("tries of a webhook")] = 15

    success_members: t.Annotated[bool, About("replies always hold success and error", literal=True)] = False
    null_members: t.Annotated[bool, About("null members are sent, not left out", literal=True)] = False
    extra_members: t.Annotated[bool, About("members that the document does not name are sent", literal=False)] = True
    content_type: t.Annotated[bool, About("JSON is sent with a Content-Type")] = True
    timestamps: t.Annotated[
        str,
        About(
            "form of all timestamps: comma after the year, or a narrow no-break space before AM too; mixed: all forms",
            choices=("plain", "comma", "narrow", "mixed"),
            literal="plain",
        ),
    ] = "comma"
    error_nesting: t.Annotated[
        str,
        About("member of an error that holds those below it", choices=("causes", "cause", "both"), literal="cause"),
    ] = "causes"
    single_inventory: t.Annotated[bool, About("GET on <collection>/{uuid} answers with one inventory")] = False
    query_paging: t.Annotated[
        bool,
        About("queries know limit, start, sort, count, replyWithCount and fields; else they return all", literal=False),
    ] = True
    companions: t.Annotated[
        str, About("reads that the document does not list", choices=("present", "404", "405"), literal="404")
    ] = "present"
    further_operations: t.Annotated[
        bool, About("operations that neither the document lists nor the collection calls", literal=False)
    ] = True
    service_type_statistic: t.Annotated[bool, About("the service types of host interfaces can be read")] = True
    verbs_matter: t.Annotated[
        bool, About("a path with one operation answers its own verb only; else any verb calls it", literal=True)
    ] = False
    delete_params: t.Annotated[
        str, About("where a DELETE is read for parameters", choices=("query", "body", "both"), literal="body")
    ] = "query"

    cbt_create: t.Annotated[
        str,
        About(
            "CreateCbtTask needs: any form; literal: taskType and resourceUuids; vm_only: vmInstanceUuid",
            choices=("any", "literal", "vm_only"),
            literal="literal",
        ),
    ] = "any"
    enable_reply: t.Annotated[
        str,
        About(
            "what EnableCbtTask returns", choices=("volumeCbtBackupInfos", "inventory", "both", "empty"), literal="both"
        ),
    ] = "volumeCbtBackupInfos"
    disable_reply: t.Annotated[
        str, About("what DisableCbtTask returns", choices=("inventory", "empty"), literal="inventory")
    ] = "empty"
    at_all_spelling: t.Annotated[
        str, About("spelling of the parameter atAll", choices=("atAll", "atALL", "both"), literal="both")
    ] = "atAll"
    persons_required: t.Annotated[
        bool, About("CreateSNSWorkchatEndpoint needs atPersonUserIds and atPersonList", literal=True)
    ] = False
    at_person_list: t.Annotated[
        str,
        About(
            "atPersonList in the records of workchat endpoints: a list of records, a map, or absent",
            choices=("list", "map", "absent"),
            literal="absent",
        ),
    ] = "list"
    remark_required: t.Annotated[bool, About("UpdateAtPersonOfAtTeamchatEndpoint needs remark", literal=True)] = False
    workchat_query_empty: t.Annotated[bool, About("QuerySNSWorkchatEndpoint answers with {}", literal=True)] = False
    snmp_platform_required: t.Annotated[bool, About("CreateSNSSnmpEndpoint fails without platformUuid")] = False
    snmp_connected: t.Annotated[bool, About("the SNMP test connection is reachable")] = True
    attach_duplicates: t.Annotated[str, About("attaching a network again", choices=("permit", "refuse"))] = "permit"
    enable_enabled_nic: t.Annotated[str, About("enabling an enabled NIC", choices=("refuse", "permit"))] = "refuse"
    nic_services: t.Annotated[list[str], About("uuids of the NICs that have network services attached")] = (
        dataclasses.field(default_factory=list)
    )
    interface_types: t.Annotated[
        str, About("spelling of interfaceType: bondingSlave or bondSlave", choices=("examples", "described"))
    ] = "examples"
    candidate_types: t.Annotated[
        str,
        About(
            "interfaceType of GetCandidateNetworkInterfaces is one of interface, bonding, all; document: of the types"
            " that NIC records show, and all",
            choices=("servers", "document"),
            literal="document",
        ),
    ] = "servers"
    candidate_paging: t.Annotated[bool, About("GetCandidateNetworkInterfaces honours limit and start")] = True
    service_types_member: t.Annotated[
        str,
        About(
            "member that holds the list returned by SetServiceTypeOnHostNetworkInterface",
            choices=("inventory", "inventories"),
        ),
    ] = "inventory"

    cursor_lifetime: t.Annotated[float, About("seconds that a cursor can be used")] = 600.0
    cursor_expired: t.Annotated[
        str, About("answer to an unknown or expired cursor: 400 plain text, or an ErrorCode", choices=("text", "error"))
    ] = "text"
    cursor_repeat: t.Annotated[bool, About("nextCursor never moves on from the second page")] = False
    cursor_shrink: t.Annotated[bool, About("total shrinks by one a page")] = False

    @property
    def root(self) -> str:
        """The path prefix with its slash, empty when there is none."""
        return f"/{self.prefix}" if self.prefix else ""


class BadOption(ValueError):
    """An option is unknown, or its value is not one that it can have."""


class Option(t.NamedTuple):
    """One option."""

    name: str
    default: t.Any
    about: About


def listed(options: type[Seed] | type[Switches]) -> list[Option]:
    """Return the options that a class holds."""
    defaults, hints = dataclasses.asdict(options()), t.get_type_hints(options, include_extras=True)
    return [Option(name, defaults[name], hints[name].__metadata__[0]) for name in defaults]


def _checked(option: Option, value: t.Any) -> t.Any:
    name, default, about = option
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if value.__class__ is not default.__class__:
        raise BadOption(f"{name} must be a {default.__class__.__name__}, not {value!r}")
    if about.choices and value not in about.choices:
        raise BadOption(f"{name} must be one of {', '.join(about.choices)}, not {value!r}")
    if not re.fullmatch(about.pattern, str(value), re.DOTALL):
        raise BadOption(f"{name} is malformed: {value!r}")
    if isinstance(value, (int, float)) and value < about.least:
        raise BadOption(f"{name} is too small: {value!r}")
    return value


def with_literal(given: dict[str, t.Any]) -> dict[str, t.Any]:
    """Replace `literal` (true or false) by the switches that it stands for; switches given beside it win."""
    given = dict(given)
    literal = given.pop("literal", None)
    if literal is None:
        return given
    if not isinstance(literal, bool):
        raise BadOption(f"literal must be a bool, not {literal!r}")
    meant = {
        option.name: option.about.literal if literal else option.default
        for option in listed(Switches)
        if option.about.literal is not None
    }
    return {**meant, **given}


def changed(seed: Seed, switches: Switches, given: dict[str, t.Any]) -> tuple[Seed, Switches]:
    """Return both with the given options replaced; raise BadOption and change nothing when one is wrong."""
    seed_options = {option.name: option for option in listed(Seed)}
    switch_options = {option.name: option for option in listed(Switches)}
    new_seed: dict[str, t.Any] = {}
    new_switches: dict[str, t.Any] = {}
    for name, value in with_literal(given).items():
        if name in seed_options:
            new_seed[name] = _checked(seed_options[name], value)
        elif name in switch_options:
            new_switches[name] = _checked(switch_options[name], value)
        else:
            raise BadOption(f"unknown option {name}")
    if "latencies" in new_switches:
        new_switches["latencies"] = {**switches.latencies, **_latencies(new_switches["latencies"])}
    return dataclasses.replace(seed, **new_seed), dataclasses.replace(switches, **new_switches)


def _latencies(given: dict[str, t.Any]) -> dict[str, float]:
    for name, seconds in given.items():
        if name not in OPERATIONS:
            raise BadOption(f"unknown operation {name}")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
            raise BadOption(f"the latency of {name} must be a number of seconds, not {seconds!r}")
    return given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser an argument for every seed option and every switch."""
    parser.add_argument("--literal", action="store_true", default=None, help="every literal reading of the document")
    for group_name, options in (("seed", Seed), ("switches", Switches)):
        group = parser.add_argument_group(group_name)
        for option in listed(options):
            _add_argument(group, option)


def _add_argument(group: argparse._ArgumentGroup, option: Option) -> None:
    name, default, about = option
    flag = "--" + name.replace("_", "-")
    if name == "latency":
        group.add_argument(flag, action="append", metavar="[OPERATION=]SECONDS", help=about.help)
    elif isinstance(default, bool):
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=about.help)
    elif isinstance(default, list):
        group.add_argument(flag, action="append", metavar="VALUE", help=about.help)
    elif not isinstance(default, dict):
        group.add_argument(flag, type=default.__class__, choices=about.choices or None, help=about.help)


def from_arguments(arguments: argparse.Namespace) -> dict[str, t.Any]:
    """Return the options that were given on the command line, by name."""
    names = ["literal", *(option.name for options in (Seed, Switches) for option in listed(options))]
    given = {name: getattr(arguments, name, None) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    latencies = {}
    for text in given.pop("latency", None) or ():
        operation, separator, seconds = text.rpartition("=")
        try:
            latencies[operation if separator else ""] = float(seconds)
        except ValueError:
            raise BadOption(f"latency must be SECONDS or OPERATION=SECONDS, not {text!r}") from None
    if "" in latencies:
        given["latency"] = latencies.pop("")
    if latencies:
        given["latencies"] = latencies
    return given
