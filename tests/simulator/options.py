# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be chosen about the simulator: its seed and its switches, by command line and at run time."""

from __future__ import annotations

import argparse
import dataclasses
import re
import typing as t


def _option(default: t.Any, help_text: str, **metadata: t.Any) -> t.Any:
    """A field whose metadata holds its help, its `choices` and its value in `literal` mode, where it has them."""
    metadata["help"] = help_text
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Seed:
    """How many objects of each kind exist after start and reset."""

    clusters: int = _option(2, "clusters", least=1)
    hosts: int = _option(3, "hosts")
    vms: int = _option(6, "virtual machines, each with a NIC, a root and a data volume")
    l3_networks: int = _option(3, "L3 networks, each with an IP range", least=1)
    primary_storages: int = _option(2, "primary storages", least=1)
    snapshot_groups: int = _option(1, "volume snapshot groups, number n of virtual machine n")
    cbt_tasks: int = _option(0, "CBT tasks, number n of virtual machine n")
    persons: int = _option(2, "persons to mention on the teamchat endpoint")
    ragged_nics: bool = _option(False, "hosts of even number have one NIC more, eth4")
    random_seed: int = _option(1, "start of the pseudo-random uuids of new objects")


@dataclasses.dataclass
class Switches:
    """How the service behaves. The defaults are what servers were seen to do, not the letter of the document."""

    latency: float = _option(0.05, "seconds that a job takes")
    latencies: dict[str, float] = dataclasses.field(
        default_factory=dict,
        metadata={"help": "seconds by operation name; for an operation answered in place, its delay"},
    )
    reconnect: float = _option(0.2, "seconds until a host that left maintenance is Connected again")
    prefix: str = _option("service", "path prefix of the service operations", pattern=r"([^/].*[^/]|[^/]?)")
    version: str = _option(
        "",
        "version of the service: newer operations and parameters are unknown; empty: all known",
        pattern=r"(\d+(\.\d+)*)?",
    )
    session: str = _option("simulator-session", "the session that is accepted by the service operations")
    token: str = _option("simulator-token", "the token that is accepted by the cursor operations")
    session_expired: bool = _option(False, "the session is invalid from now on")
    token_expired: bool = _option(False, "the token is invalid from now on")
    session_lifetime: float = _option(7200.0, "seconds that a session lives after each authorised call")
    rate_limit: float = _option(0.0, "requests a second and client address before 429; 0: no limit")

    sync: bool = _option(False, "asynchronous operations answer 200 with the result")
    location: str = _option(
        "wrong",
        "host of the polling address in the 202",
        choices=("wrong", "right", "relative", "foreign", "malformed", "missing"),
    )
    location_header: bool = _option(False, "the 202 carries a Location header too")
    api_timeout: bool = _option(True, "the 202 carries apiTimeout")
    job_uuid: str = _option("honour", "what becomes of X-Job-UUID", choices=("honour", "ignore"))
    job_lifetime: float = _option(10800.0, "seconds after its start that a job can be polled")
    webhook_interval: float = _option(2.0, "seconds between two tries of a webhook")
    webhook_tries: int = _option(15, "tries of a webhook")

    success_members: bool = _option(False, "replies always hold success and error", literal=True)
    null_members: bool = _option(False, "null members are sent, not left out", literal=True)
    extra_members: bool = _option(True, "members that the document does not name are sent", literal=False)
    content_type: bool = _option(True, "JSON is sent with a Content-Type")
    timestamps: str = _option(
        "mixed", "mixed: with and without the extra comma", choices=("mixed", "plain"), literal="plain"
    )
    single_inventory: bool = _option(False, "GET on <collection>/{uuid} answers with one inventory")
    query_paging: bool = _option(
        True, "queries know limit, start, sort, count, replyWithCount and fields; else they return all", literal=False
    )
    companions: str = _option(
        "present", "reads that the document does not list", choices=("present", "404", "405"), literal="404"
    )
    service_type_statistic: bool = _option(True, "the service types of host interfaces can be read")
    delete_params: str = _option(
        "query", "where a DELETE is read for parameters", choices=("query", "body", "both"), literal="body"
    )

    cbt_create: str = _option(
        "any",
        "CreateCbtTask needs: any form; literal: taskType and resourceUuids; vm_only: vmInstanceUuid",
        choices=("any", "literal", "vm_only"),
        literal="literal",
    )
    enable_reply: str = _option(
        "volumeCbtBackupInfos",
        "what EnableCbtTask returns",
        choices=("volumeCbtBackupInfos", "inventory", "both", "empty"),
        literal="both",
    )
    disable_reply: str = _option("inventory", "what DisableCbtTask returns", choices=("inventory", "empty"))
    at_all_spelling: str = _option(
        "atAll", "spelling of the parameter atAll", choices=("atAll", "atALL", "both"), literal="both"
    )
    persons_required: bool = _option(
        False, "CreateSNSWorkchatEndpoint needs atPersonUserIds and atPersonList", literal=True
    )
    workchat_query_empty: bool = _option(False, "QuerySNSWorkchatEndpoint answers with {}", literal=True)
    snmp_platform_required: bool = _option(False, "CreateSNSSnmpEndpoint fails without platformUuid")
    snmp_connected: bool = _option(True, "the SNMP test connection is reachable")
    attach_duplicates: str = _option("permit", "attaching a network again", choices=("permit", "refuse"))
    enable_enabled_nic: str = _option("refuse", "enabling an enabled NIC", choices=("refuse", "permit"))
    nic_services: list[str] = dataclasses.field(
        default_factory=list, metadata={"help": "uuids of the NICs that have network services attached"}
    )
    interface_types: str = _option(
        "examples", "spelling of interfaceType: bondingSlave or bondSlave", choices=("examples", "described")
    )
    candidate_paging: bool = _option(True, "GetCandidateNetworkInterfaces honours limit and start")
    service_types_member: str = _option(
        "inventory",
        "member that holds the list returned by SetServiceTypeOnHostNetworkInterface",
        choices=("inventory", "inventories"),
    )

    cursor_lifetime: float = _option(600.0, "seconds that a cursor can be used")
    cursor_expired: str = _option(
        "text", "answer to an unknown or expired cursor: 400 plain text, or an ErrorCode", choices=("text", "error")
    )
    cursor_repeat: bool = _option(False, "nextCursor never moves on from the second page")
    cursor_shrink: bool = _option(False, "total shrinks by one a page")

    @property
    def root(self) -> str:
        """The path prefix with its slash, empty when there is none."""
        return f"/{self.prefix}" if self.prefix else ""


class BadOption(ValueError):
    """An option is unknown, or its value is not one that it can have."""


def _checked(field: dataclasses.Field[t.Any], value: t.Any) -> t.Any:
    default = field.default_factory() if callable(field.default_factory) else field.default
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise BadOption(f"{field.name} must be a {type(default).__name__}, not {value!r}")
    choices = field.metadata.get("choices")
    if choices and value not in choices:
        raise BadOption(f"{field.name} must be one of {', '.join(choices)}, not {value!r}")
    if not re.fullmatch(field.metadata.get("pattern", ".*"), str(value), re.DOTALL):
        raise BadOption(f"{field.name} is malformed: {value!r}")
    if not isinstance(value, bool) and isinstance(value, (int, float)) and value < field.metadata.get("least", 0):
        raise BadOption(f"{field.name} is too small: {value!r}")
    return value


def with_literal(given: dict[str, t.Any]) -> dict[str, t.Any]:
    """Replace `literal` (true or false) by the switches that it stands for; switches given beside it win."""
    given = dict(given)
    literal = given.pop("literal", None)
    if literal is None:
        return given
    if not isinstance(literal, bool):
        raise BadOption(f"literal must be a bool, not {literal!r}")
    meant: dict[str, t.Any] = {}
    for field in dataclasses.fields(Switches):
        if "literal" in field.metadata:
            meant[field.name] = field.metadata["literal"] if literal else field.default
    return {**meant, **given}


def changed(seed: Seed, switches: Switches, given: dict[str, t.Any]) -> tuple[Seed, Switches]:
    """Return both with the given options replaced; raise BadOption and change nothing when one is wrong."""
    seed_fields = {field.name: field for field in dataclasses.fields(Seed)}
    switch_fields = {field.name: field for field in dataclasses.fields(Switches)}
    new_seed: dict[str, t.Any] = {}
    new_switches: dict[str, t.Any] = {}
    for name, value in with_literal(given).items():
        if name in seed_fields:
            new_seed[name] = _checked(seed_fields[name], value)
        elif name in switch_fields:
            new_switches[name] = _checked(switch_fields[name], value)
        else:
            raise BadOption(f"unknown option {name}")
    if "latencies" in new_switches:
        new_switches["latencies"] = {**switches.latencies, **new_switches["latencies"]}
    return dataclasses.replace(seed, **new_seed), dataclasses.replace(switches, **new_switches)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser an argument for every seed option and every switch."""
    parser.add_argument("--literal", action="store_true", default=None, help="every literal reading of the document")
    for group_name, options in (("seed", Seed), ("switches", Switches)):
        group = parser.add_argument_group(group_name)
        for field in dataclasses.fields(options):
            _add_argument(group, field)


def _add_argument(group: argparse._ArgumentGroup, field: dataclasses.Field[t.Any]) -> None:
    flag = "--" + field.name.replace("_", "-")
    help_text = field.metadata["help"].replace("%", "%%")
    if field.name == "latencies":
        return
    if field.name == "latency":
        group.add_argument(flag, action="append", metavar="[OPERATION=]SECONDS", help=help_text)
    elif isinstance(field.default, bool):
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=help_text)
    elif callable(field.default_factory):
        group.add_argument(flag, action="append", metavar="VALUE", help=help_text)
    else:
        group.add_argument(flag, type=type(field.default), choices=field.metadata.get("choices"), help=help_text)


def from_arguments(arguments: argparse.Namespace) -> dict[str, t.Any]:
    """Return the options that were given on the command line, by name."""
    names = ["literal", *(field.name for options in (Seed, Switches) for field in dataclasses.fields(options))]
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
