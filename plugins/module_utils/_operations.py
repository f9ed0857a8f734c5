# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The table of the service's operations, and how a call of one becomes an HTTP request.

This is the only place that knows paths, bodies and parameter names. Section "Endpoints" of the API document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_int,
    check_type_jsonarg,
    check_type_list,
    check_type_str,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions

TAGS = ("systemTags", "userTags")


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    ``type`` is one of str, int, long, bool, list, dict, json (a JSON text). ``required`` is what the document says; a
    ``omit_if_unset`` one is left out when not given: servers refuse it empty. ``undocumented`` marks what only some
    servers know. ``alias`` is a second spelling of the document, sent along.
    """

    name: str
    type: str = "str"
    required: bool = False
    omit_if_unset: bool = False
    undocumented: bool = False
    since: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""


TAG = Parameter("tag", "list")
_UUID = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)

# Members that a reply may have beside its result.
_ENVELOPE = {"success", "error", "schema", "causes", "i18nDetails", "connectionStatus", "resourceRefs"}
_TYPES = {
    "str": check_type_str,
    "int": check_type_int,
    "long": check_type_int,
    "bool": check_type_bool,
    "list": check_type_list,
    "dict": check_type_dict,
    "json": check_type_jsonarg,
}

# What servers refuse with SYS.1007: texts (elements of a list, keys of a map) that are longer, and other numbers.
_USER_ID, _REMARK = 256, 128
MAX_LENGTHS = {
    "name": 255,
    "description": 2048,
    "url": 2048,
    **dict.fromkeys(("userId", "atPersonUserIds", "atPersonList"), _USER_ID),
    "remark": _REMARK,
}
PORTS = range(1, 65536)
RANGES = {"sshPort": PORTS, "snmpPort": PORTS}


@dataclass(frozen=True)
class Request:
    """An HTTP request without its origin: ``query`` is a list of pairs, ``body`` a JSON object or None."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: dict[str, Any] | None = None


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    ``result`` names the members of the reply that carry the result, ``record`` the kind of what is in them.
    ``alternatives`` maps a parameter to the required ones that it replaces. ``is_idempotent`` is False where doing it a
    second time makes a second object or has another effect once more. ``may_be_empty`` is True where ``{}`` is a
    reply of success, by the document or by what servers do.

    ``get_by_uuid`` marks the queries that may be sent as ``GET <collection>/{uuid}``: those for which the document
    lists that path, and those whose servers are known to read there. Where the path has only one operation, servers
    ignore the verb, so on any other collection this GET may delete the object; the uuid is a condition there.
    """

    name: str
    method: str
    path: str
    since: str
    result: tuple[str, ...]
    record: str
    parameters: Mapping[str, Parameter]
    undocumented: bool = False
    alternatives: Mapping[str, tuple[str, ...]] | None = None
    is_idempotent: bool = True
    get_by_uuid: bool = False
    may_be_empty: bool = False

    @property
    def is_write(self) -> bool:
        """Whether the service answers with a job: everything but GET does."""
        return self.method != "GET"

    @property
    def uses_token(self) -> bool:
        """Whether the path starts at the origin and wants the token: the cursor operations."""
        return self.path.startswith("/")

    @property
    def path_params(self) -> tuple[str, ...]:
        """Names of the parameters that are part of the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def body_key(self) -> str:
        """The member of the body that holds the parameters: ``params``, or for PUT the operation's own name."""
        return self.name[0].lower() + self.name[1:] if self.method == "PUT" else "params"

    def has_result(self, reply: Mapping[str, Any]) -> bool:
        """Whether a reply of success holds a documented member of the result."""
        members = [reply.get(name) for name in self.result if name != "inventory"]
        members += [reply["inventory"]] if isinstance(reply.get("inventory"), (dict, list)) else []
        return is_success(reply) and any(value is not None for value in members)

    def is_reply(self, reply: Mapping[str, Any]) -> bool:
        """Whether this is a reply of success in the operation's own form, and not some other JSON object."""
        return self.has_result(reply) or (self.may_be_empty and is_bare(reply))

    def missing(self, params: Mapping[str, Any]) -> list[str]:
        """Return the names of the required parameters that ``params`` does not give."""
        spared = {name for key, names in (self.alternatives or {}).items() if params.get(key) for name in names}
        return [
            name
            for name, parameter in self.parameters.items()
            if parameter.required and not parameter.omit_if_unset and params.get(name) is None and name not in spared
        ]

    def unsupported_reason(self, params: Mapping[str, Any], version: str) -> str | None:
        """Return what of this call a service of ``version`` does not know yet, with the version that has it."""
        available = parse_version(version)
        if self.since and parse_version(self.since) > available:
            return f"{self.name} needs version {self.since}"
        for name, parameter in self.parameters.items():
            if params.get(name) is not None and parameter.since and parse_version(parameter.since) > available:
                return f"the parameter {name} of {self.name} needs version {parameter.since}"
        return None

    def request(self, params: Mapping[str, Any], prefix: str = "service") -> Request:
        """Build the request for ``params`` (API names to values; None is left out; tags stand beside the rest).

        Raises InvalidOptions when a required parameter is missing, when one is unknown or when a value is not allowed.
        """
        given = {name: self._coerce(name, value) for name, value in params.items() if value is not None}
        if missing := self.missing(given):
            raise InvalidOptions(f"{self.name} needs {', '.join(missing)}")
        path = self.path if self.uses_token else f"/{prefix.strip('/')}".rstrip("/") + f"/v1/{self.path}"
        for name in self.path_params:
            path = path.replace(f"{{{name}}}", quote(str(given[name]), safe=""))
        inner = {name: value for name, value in given.items() if name not in self.path_params}
        inner.update({self._alias(name): value for name, value in given.items() if self._alias(name)})
        if self.method == "GET":
            return self._read(path, inner)
        tags = {name: inner.pop(name) for name in TAGS if name in inner}
        if self.method == "DELETE":
            return Request(self.method, path, _pairs({**inner, **tags}), {**inner, **tags})
        return Request(self.method, path, (), {self.body_key: inner, **tags})

    def _read(self, path: str, params: dict[str, Any]) -> Request:
        """Return the GET request for a path; the ``uuid`` of a query becomes part of it, or else a condition."""
        uuid = params.pop("uuid", None)
        if uuid is not None and self.get_by_uuid and not params and _UUID.fullmatch(uuid):
            return Request("GET", f"{path}/{uuid}")
        if uuid is not None:
            params["q"] = [*params.get("q", ()), f"uuid={uuid}"]
        return Request("GET", path, _pairs(params))

    def _alias(self, name: str) -> str:
        return self.parameters[name].alias if name in self.parameters else ""

    def _coerce(self, name: str, value: Any) -> Any:
        """Return a value in the parameter's type."""
        parameter = TAG if name in TAGS else self.parameters.get(name)
        if parameter is None:
            raise InvalidOptions(f"{self.name} has no parameter {name}; it has {', '.join(self.parameters) or 'none'}")
        try:
            if parameter.type == "str" and isinstance(value, (list, dict)):
                raise TypeError
            value = _TYPES[parameter.type](value)
        except (TypeError, ValueError) as error:
            raise InvalidOptions(f"{name} of {self.name} must be of type {parameter.type}, not {value!r}") from error
        if parameter.type == "json":
            _check_json(f"{name} of {self.name}", value)
        if (name in self.path_params or name == "uuid") and value.strip() in ("", ".", ".."):
            raise InvalidOptions(f"{name} of {self.name} must not be {value!r}")
        for each in value if isinstance(value, list) else [value]:
            if parameter.choices and each not in parameter.choices:
                raise InvalidOptions(
                    f"{name} of {self.name} must be one of {', '.join(parameter.choices)}, not {each!r}"
                )
        if self.is_write:
            self._check_size(name, value)
        return value

    def _check_size(self, name: str, value: Any) -> None:
        """Raise InvalidOptions when servers refuse a value for its length or for its size."""
        if name in MAX_LENGTHS:
            texts = [(each, MAX_LENGTHS[name]) for each in (value if isinstance(value, (list, dict)) else [value])]
            remarks = [(each, _REMARK) for each in value.values()] if isinstance(value, dict) else []
            for text, longest in (*texts, *remarks):
                if (length := len(str(text).strip())) > longest:
                    raise InvalidOptions(f"{name} of {self.name} must have at most {longest} characters, not {length}")
        numbers = RANGES.get(name)
        if numbers and value not in numbers:
            raise InvalidOptions(f"{name} of {self.name} must be from {numbers[0]} to {numbers[-1]}, not {value}")


def is_bare(reply: Mapping[str, Any]) -> bool:
    """Whether a reply says no more than that the operation succeeded, as ``{}`` does."""
    return is_success(reply) and not reply.keys() - _ENVELOPE


def is_success(reply: Mapping[str, Any]) -> bool:
    """Whether a reply says nothing of a failure."""
    return not reply.get("error") and reply.get("success") is not False


def _pairs(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Flatten values for a query string: lists are repeated, booleans are true and false."""
    pairs = []
    for name, value in values.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((name, str(each).lower() if isinstance(each, bool) else str(each)))
    return tuple(pairs)


def _check_json(what: str, text: str) -> None:
    """Raise InvalidOptions when a text is not JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptions(f"{what} must be JSON: {error}") from None


def parse_version(version: Any) -> tuple[int, ...]:
    """Return the parts of a version without zeros at the end, so that 4.10 equals 4.10.0.

    Raises InvalidOptions when it is none, and for a number: YAML reads 4.10 as 4.1.
    """
    if not isinstance(version, str):
        raise InvalidOptions(
            f"service_version must be quoted, like '4.10.10': without quotes YAML reads a number, {version}"
        )
    if not re.fullmatch(r"\d+(\.\d+)*", version.strip(), re.ASCII):
        raise InvalidOptions(f"service_version must be a version like 4.10.10, not {version!r}")
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _parameter(token: str) -> Parameter:
    """Read ``name[/alias][:type][!|!?|~][>since][=choice|...]``; ``!`` required, ``!?`` lenient, ``~`` companion."""
    match = re.fullmatch(r"(\w+)(?:/(\w+))?(?::(\w+))?(!\??|~)?(?:>([\d.]+))?(?:=(\S+))?", token)
    if match is None:
        raise ValueError(f"not a parameter: {token}")
    name, alias, kind, mark, since, choices = match.groups(default="")
    return Parameter(
        name=name,
        type=kind or "str",
        required=mark.startswith("!"),
        omit_if_unset=mark == "!?",
        undocumented=mark == "~",
        since=since,
        choices=tuple(choices.split("|")) if choices else (),
        alias=alias,
    )


def _row(call: str, since: str, result: str, parameters: str = "", **more: Any) -> Operation:
    """Read one row: ``Name METHOD path``, version, ``member,member: Record``, parameters in the above notation."""
    name, method, path = call.split()
    members, dummy, record = result.partition(":")
    in_path = [Parameter(each, required=True) for each in re.findall(r"{(\w+)}", path)]
    listed = [*in_path, *map(_parameter, parameters.split())]
    return Operation(
        name=name,
        method=method,
        path=path,
        since=since,
        result=tuple(members.replace(" ", "").split(",")) if members else (),
        record=record.strip(),
        parameters={parameter.name: parameter for parameter in listed},
        **more,
    )


_QUERY = "uuid q:list limit:int~ start:int~ sort~ replyWithCount:bool~ count:bool~ fields~"
_SERVICES = "ManagementNetwork|TenantNetwork|StorageNetwork|BackupNetwork|MigrationNetwork"
_CURSOR = "items,total,nextCursor,hasMore"

_ROWS: Sequence[Operation] = (
    # CBT tasks
    _row(
        "CreateCbtTask POST cbt-task/create",
        "4.10.10",
        "inventory: CbtTaskInventory",
        "name! description taskType! resourceUuids:list! resourceUuid tagUuids:list vmInstanceUuid~",
        alternatives={"vmInstanceUuid": ("taskType", "resourceUuids")},
    ),
    _row(
        "DeleteCbtTask DELETE cbt-task/{uuid}",
        "4.10.10",
        "",
        "force:bool deleteMode=Permissive|Enforcing",
        may_be_empty=True,
    ),
    _row(
        "DisableCbtTask POST cbt-task/disable/{uuid}",
        "4.10.10",
        "inventory: CbtTaskInventory",
        "force:bool",
        may_be_empty=True,
    ),
    _row(
        "EnableCbtTask POST cbt-task/enable/{uuid}",
        "4.10.10",
        "inventory,volumeCbtBackupInfos: CbtTaskInventory",
        "bitmapName",
    ),
    _row("QueryCbtTask GET cbt-task", "4.10.10", "inventories: CbtTaskInventory", _QUERY, get_by_uuid=True),
    _row(
        "ExportNbdVolumes POST cbt-task/exportvolume",
        "4.10.10",
        "volumeInfos",
        "volumeUuids:list! vmInstanceUuid! force:bool",
        is_idempotent=False,
        may_be_empty=True,
    ),
    # Notification
    _row(
        "CreateSNSWorkchatEndpoint POST sns/application-endpoints/workchat",
        "4.2.0",
        "inventory: SNSWorkchatEndpointInventory",
        "url! atAll/atALL:bool atPersonUserIds:list!? atPersonList:dict!? name! description"
        " resourceUuid~ tagUuids:list~",
        is_idempotent=False,
    ),
    _row(
        "QuerySNSWorkchatEndpoint GET sns/application-endpoints/workchat",
        "",
        "inventories: SNSWorkchatEndpointInventory",
        _QUERY,
        get_by_uuid=True,
    ),
    _row(
        "CreateSNSSnmpEndpoint POST sns/application-endpoints/snmp",
        "4.10.0",
        "inventory: SNSApplicationEndpointInventory",
        "name! description platformUuid resourceUuid~ tagUuids:list~",
        is_idempotent=False,
    ),
    _row(
        "UpdateSNSApplicationEndpoint PUT sns/application-endpoints/{uuid}/actions",
        "2.3",
        "inventory: SNSApplicationEndpointInventory",
        "name description platformUuid~>4.10.0",
    ),
    _row(
        "UpdateAtPersonOfAtTeamchatEndpoint PUT sns/application-endpoints/teamchat/at-persons/{uuid}/actions",
        "4.2.0",
        "inventory: SNSTeamchatAtPersonInventory",
        "endpointUuid! userId remark!?",
    ),
    _row(
        "UpdateSNSSnmpPlatform PUT sns/application-platforms/snmp/{uuid}",
        "4.10.0",
        "inventory: SNSApplicationPlatformInventory",
        "snmpAddress! snmpPort:int! name description",
    ),
    _row(
        "SNSSnmpTestConnection POST sns/application-endpoints/snmp/test-connection",
        "4.10.0",
        "connected,webhookResp",
        "platformUuid endpointUuid",
        is_idempotent=False,
    ),
    _row(
        "QuerySNSTopicSubscriber GET sns/topics/subscribers",
        "2.3.1",
        "inventories: SNSTopicSubscriberInventory",
        _QUERY,
        get_by_uuid=True,
    ),
    # Virtual machines and NICs
    _row(
        "CreateVmInstanceFromVolumeSnapshotGroup POST"
        " vm-instances/from/volume-snapshots/group/{volumeSnapshotGroupUuid}",
        "3.11.0",
        "inventory: VmInstanceInventory",
        "name! description instanceOfferingUuid cpuNum:int memorySize:long l3NetworkUuids:list type=UserVm|ApplianceVm"
        " zoneUuid clusterUuid hostUuid primaryStorageUuidForRootVolume defaultL3NetworkUuid"
        " strategy=InstantStart|CreateStopped rootVolumeSystemTags:list dataVolumeSystemTags:dict"
        " reservedMemorySize:long>3.17.21 vmNicParams:json>4.10.10 resetTpm:bool>5.0.0"
        " volumeSnapshotEncryptions:list>5.1.0 vmEncryption:bool>5.1.0 resourceUuid~ tagUuids:list~",
        is_idempotent=False,
    ),
    _row(
        "AttachL3NetworkToVm POST vm-instances/{vmInstanceUuid}/l3-networks/{l3NetworkUuid}",
        "0.6",
        "inventory: VmInstanceInventory",
        "staticIp driverType>3.10.0 customMac>3.10.0 vmNicParams:json>3.17.0",
        is_idempotent=False,
    ),
    _row(
        "ChangeVmNicState PUT vm-instances/nics/{vmNicUuid}/actions",
        "0.6",
        "inventory: VmInstanceInventory",
        "state!>3.15=enable|disable",
    ),
    _row(
        "ChangeVmNicNetwork POST vm-instances/nics/{vmNicUuid}/l3-networks/{destL3NetworkUuid}",
        "4.1.0",
        "inventory: VmNicInventory",
        "staticIp vmNicParams:json>4.2.0",
    ),
    _row("DeleteNicQos DELETE vm-instances/{uuid}/nic-qos", "0.6", "", "direction!=in|out", may_be_empty=True),
    # Hosts
    _row(
        "AddKVMHost POST hosts/kvm",
        "0.6",
        "inventory: HostInventory",
        "username! password! sshPort:int name! description managementIp! clusterUuid! resourceUuid~ tagUuids:list~",
    ),
    _row(
        "ChangeHostState PUT hosts/{uuid}/actions",
        "0.6",
        "inventory: HostInventory",
        "stateEvent!=enable|disable|maintain",
    ),
    _row("GetHostNetworkFacts GET hosts/network-facts/{hostUuid}", "3.5.0", "bondings,nics: HostNetworkInterface"),
    _row(
        "GetCandidateNetworkInterfaces GET cluster/hosts-network-interfaces",
        "4.7.0",
        "slaveNames,candidateNics: CandidateNetworkInterface",
        "hostUuids:list! interfaceType>4.1.0 intersecting:bool>4.1.0 limit:int start:int",
    ),
    _row(
        "SetServiceTypeOnHostNetworkInterface POST hosts/nics/service-types",
        "4.7.11",
        "inventory: HostNicServiceType",
        f"interfaceUuids:list! vlanIds:list serviceTypes:list={_SERVICES}",
    ),
    # Storage
    _row("QueryPrimaryStorage GET primary-storage", "0.6", "inventories: PrimaryStorageInventory", _QUERY),
    # Cursor queries
    _row(
        "CursorQuery GET /api/v1/resources/cursor-query",
        "1.0",
        _CURSOR,
        "resourceType sort order=asc|desc pageSize:int filter:list",
    ),
    _row("CursorNext GET /api/v1/resources/cursor-next", "1.0", _CURSOR, "cursor pageSize:int"),
    # Companion reads: convention 8 of the document on collections for which it lists no query. A server may lack them.
    *(
        _row(f"{name} GET {path}", "", f"inventories: {record}", _QUERY, undocumented=True, get_by_uuid=get_by_uuid)
        for name, path, record, get_by_uuid in (
            ("QueryHost", "hosts", "HostInventory", True),
            ("QueryVmInstance", "vm-instances", "VmInstanceInventory", True),
            ("QueryVmNic", "vm-instances/nics", "VmNicInventory", True),
            ("QuerySNSApplicationEndpoint", "sns/application-endpoints", "SNSApplicationEndpointInventory", True),
            ("QuerySNSApplicationPlatform", "sns/application-platforms", "SNSApplicationPlatformInventory", True),
            ("QuerySNSSnmpPlatform", "sns/application-platforms/snmp", "SNSApplicationPlatformInventory", False),
            (
                "QuerySNSTeamchatAtPerson",
                "sns/application-endpoints/teamchat/at-persons",
                "SNSTeamchatAtPersonInventory",
                False,
            ),
            ("QueryHostNetworkInterface", "hosts/nics", "HostNetworkInterface", False),
        )
    ),
    _row(
        "GetHostNicServiceTypeStatistic GET hosts/hosts-network-interfaces/service-type-statistic",
        "",
        "serviceTypeStatistics: HostNicServiceTypeStatistic",
        "interfaceUuid vlanId:int hostUuid limit:int start:int replyWithCount:bool",
        undocumented=True,
    ),
    _row("GetApiJob GET api-jobs/{uuid}", "", "", undocumented=True),
)

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in _ROWS}


def get_operation(name: str) -> Operation:
    """Return the operation called ``name``; InvalidOptions lists the nearest names when there is none."""
    if name in OPERATIONS:
        return OPERATIONS[name]
    similar = [known for known in OPERATIONS if name.lower() in known.lower() or known.lower() in name.lower()]
    known = f"Did you mean {' or '.join(similar)}?" if similar else f"Known operations: {', '.join(OPERATIONS)}."
    raise InvalidOptions(f"no operation {name}. {known}")
