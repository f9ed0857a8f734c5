"""The catalogue: the operations of the servers of this API family, as far as the table of operations lacks them.

Of the modules, only ``api``, ``resource`` and ``resource_info`` import it. Nothing is known about the replies of its
operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from .catalogue_rows import ROWS
from .operation import Effect, Operation, Parameter, Request, is_bare, is_success, list_variables, optional, required
from .operations import OPERATIONS
from .records import to_snake_case
from .resource_types import REFERS_TO, RESOURCE_TYPES, ResourceType
from .unlisted import UnlistedOperation

# The servers by their letters in the rows.
SERVERS = {"z": "ZSvirt", "s": "ZStack"}

_QUERY_PARAMETERS = OPERATIONS["QueryZone"].params

# The types of parameters by their marks in the rows: the type, and that of the elements of a list.
_TYPES = {
    "": ("str", ""),
    "[]": ("list", "str"),
    "[int]": ("list", "int"),
    "[dict]": ("list", "dict"),
    **{name: (name, "") for name in ("int", "bool", "float", "dict")},
}

# Objects that parameters name with another word than their query.
_OTHER_WORDS = {
    "acl": "AccessControlList",
    "backup": "VolumeBackup",
    "chassis": "BaremetalChassis",
    "hostGroup": "HostSchedulingRuleGroup",
    "identity": "Account",
    "imageStore": "ImageStoreBackupStorage",
    "iso": "Image",
    "key": "ResourceAttributeKey",
    "listener": "LoadBalancerListener",
    "managementNetwork": "L3Network",
    "mdevSpec": "MdevDeviceSpec",
    "pciSpec": "PciDeviceSpec",
    "publicL3": "L3Network",
    "publicNetwork": "L3Network",
    "pxeServer": "BaremetalPxeServer",
    "serverGroup": "LoadBalancerServerGroup",
    "servergroup": "LoadBalancerServerGroup",
    "sharedBlockGroup": "SharedBlockGroupPrimaryStorage",
    "snapShot": "VolumeSnapshot",
    "snapshot": "VolumeSnapshot",
    "stack": "ResourceStack",
    "vRouter": "VirtualRouterVm",
    "vSwitch": "L2VirtualSwitchNetwork",
    "vm": "VmInstance",
    "vmGroup": "VmSchedulingRuleGroup",
}

# The type of the objects whose uuids a parameter has, where neither its name nor the path say it.
_OF_CALLS = {
    ("poolUuid", "L2VxlanNetworkPool"): ("CreateL2VxlanNetwork", "CreateVxlanVtep"),
    ("uuid", "Account"): ("GetAccountQuotaUsage",),
    ("uuid", "BackupStorage"): ("GetTrashOnBackupStorage",),
    ("uuid", "DatabaseBackup"): ("RecoverDatabaseFromBackup",),
    ("uuid", "Host"): (
        "GetHostIommuState",
        "GetHostIommuStatus",
        "GetHostPowerStatus",
        "GetHostWebSshUrl",
        "UpdateHostIommuState",
        "UpdateHostIscsiInitiatorName",
        "UpdateHostNqn",
        "UpdateHostname",
    ),
    ("uuid", "PrimaryStorage"): ("AddStorageProtocol", "GetTrashOnPrimaryStorage", "UpdateExternalPrimaryStorage"),
    ("uuid", "ScsiLun"): (
        "AttachScsiLunToVmInstance",
        "CheckScsiLunClusterStatus",
        "DetachScsiLunFromHost",
        "DetachScsiLunFromVmInstance",
    ),
    ("uuid", "Vip"): ("GetVipQos",),
    ("uuid", "VmCdRom"): ("SetVmInstanceDefaultCdRom",),
    ("uuid", "VmInstance"): ("GetVmDeviceAddress", "RemoveVmFromAffinityGroup"),
}
_BY_CALL = {(name, parameter): kind for (parameter, kind), names in _OF_CALLS.items() for name in names}

# Parameters for objects of the type in the name of the operation, and those for objects of any type.
_OF_OPERATION = {"parentUuid", "targetParentUuid", "uuid", "uuids"}
_OF_ANY_TYPE = {"resourceUuid", "resourceUuids", "targetResourceUuid"}

_UUID_VARIABLE = re.compile(r"{(\w+U|u)uid}")

# The operations that handle sessions, which the module ``session`` keeps secret.
_OF_SESSIONS = re.compile(r"LogIn|LogOut|RenewSession|ValidateSession")


@dataclass(frozen=True)
class CataloguedOperation(UnlistedOperation):
    """An operation of the catalogue.

    ``servers`` are the letters of those that have it, ``paths`` all of its paths: a call has the longest one whose
    variables are given.
    """

    # The URL of a storage has another form than that of a chat.
    has_limits: ClassVar[bool] = False

    servers: str = ""
    paths: tuple[str, ...] = ()

    @property
    def only_server(self) -> str:
        """The only server that has the operation, empty if several have it."""
        return SERVERS[self.servers] if len(self.servers) == 1 else ""

    def is_reply(self, reply: Mapping[str, Any]) -> bool:
        """Return whether a JSON object is a reply of success.

        If the call is known to return a record, a proxy has sent a reply without one, unless the reply is explicit. A
        removal may return nothing.
        """
        if self.result != ("inventory",):
            return UnlistedOperation.is_reply(self, reply)
        can_be_bare = self.method == "DELETE" or reply.get("success") is True
        return is_success(reply) and ("inventory" in reply or (can_be_bare and is_bare(reply)))

    def request(self, params: Mapping[str, Any], prefix: str = "service") -> Request:
        """Build the request as that of an operation of the table."""
        return Operation.request(replace(self, path=self._choose_path(params)), params, prefix)

    def _choose_path(self, params: Mapping[str, Any]) -> str:
        given = {name for name, value in params.items() if value is not None}
        possible = [path for path in self.paths if given.issuperset(list_variables(path))]
        is_query = self.result == ("inventories",)
        return max(possible, key=len) if possible and not is_query else self.path


class _Row(NamedTuple):
    """A line of the catalogue. ``rest`` has the member of the body and the parameters."""

    name: str
    servers: str
    kind: str
    method: str
    paths: tuple[str, ...]
    rest: tuple[str, ...]


@lru_cache(maxsize=1)
def _read_rows() -> Mapping[str, _Row]:
    """Return the lines of the catalogue by the names of the operations."""
    lines = re.sub(r"\n(?=[ |,])", "", ROWS).splitlines()
    return {row.name: row for row in map(_parse_row, lines)}


def _parse_row(line: str) -> _Row:
    name, servers, kind, method, paths, *rest = line.split(" ")
    return _Row(name, servers, kind, method, tuple(paths.split(",")), tuple(rest))


def list_names() -> Iterable[str]:
    """Return the names of the operations in the catalogue."""
    return _read_rows().keys()


def list_paths() -> list[str]:
    """Return the paths of the collections in the catalogue, which queries read."""
    return [row.paths[0] for row in _read_rows().values() if row.kind == "q"]


@lru_cache(maxsize=64)
def find_catalogued(name: str) -> CataloguedOperation | None:
    """Return an operation of the catalogue, None if it has none of this name."""
    return _build_operation(row) if (row := _read_rows().get(name)) else None


def _build_operation(row: _Row) -> CataloguedOperation:
    key, marks = _split_key(row)
    path = row.paths[0]
    # A query reads one object with a condition, not with its second path.
    variables = list(dict.fromkeys(list_variables(path if row.kind == "q" else " ".join(row.paths))))
    parameters = {parameter.name: parameter for parameter in map(_parse_parameter, marks)}
    in_path = [required(name) for name in variables if name not in parameters]
    others = _QUERY_PARAMETERS if row.kind == "q" else (*parameters.values(), *_list_common(row, parameters))
    return CataloguedOperation(
        row.name,
        row.method,
        path,
        is_write=row.kind in "wa",
        credential="none" if _OF_SESSIONS.match(row.name) else "session",
        params=(*in_path, *others),
        result=("inventories",) if row.kind == "q" else (),
        effect=Effect(is_idempotent=False),
        key=key,
        order="+uuid" if row.kind == "q" and f"{path}/{{uuid}}" in row.paths else None,
        servers=row.servers,
        paths=row.paths,
        has_job=row.kind == "a",
    )


def _split_key(row: _Row) -> tuple[str, tuple[str, ...]]:
    """Return the member of the body that contains the parameters, empty if it has none, and the parameters."""
    if row.rest and row.rest[0].startswith("@"):
        return row.rest[0][1:], row.rest[1:]
    return row.name[0].lower() + row.name[1:] if row.method == "PUT" else "params", row.rest


def _parse_parameter(mark: str) -> Parameter:
    head, dummy, choices = mark.partition("=")
    name, dummy, kind = head.partition(":")
    type_name, elements = _TYPES[kind]
    return Parameter(
        name.rstrip("!"),
        # A list of NICs, as a JSON text, in all operations of the catalogue.
        "json" if name == "vmNicParams" else type_name,
        required=name.endswith("!"),
        choices=tuple(choices.split("|")) if choices else (),
        elements=elements,
    )


def _list_common(row: _Row, parameters: Mapping[str, Parameter]) -> Iterator[Parameter]:
    """Yield the parameters that the rows omit, because all operations of a kind have them."""
    if "tagUuids" in parameters and "resourceUuid" not in parameters:
        yield optional("resourceUuid")
    if row.method == "DELETE":
        yield optional("deleteMode", choices=("Permissive", "Enforcing"))


def rename_variables(operation: Operation, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the table's names of those in the path. Servers may name them otherwise."""
    row = _read_rows().get(operation.name)
    variables = [list_variables(path) for path in (row.paths[0] if row else "", operation.path)]
    names = dict(zip(*variables, strict=False))
    return {names.get(name, name) if names.get(name) not in params else name: params[name] for name in params}


# Types of objects


def find_listed_type(name: str) -> ResourceType | None:
    """Return the type of objects of a query in the catalogue: ``image``, ``l2_network`` or ``l2network``."""
    query = _queries_by_type().get(name.replace("_", "").casefold())
    return _find_type(query) if query else None


def list_types() -> list[str]:
    """Return the names of the types that the catalogue has a query for."""
    return [_name_type(query) for query in _queries_by_type().values()]


@lru_cache(maxsize=1)
def _queries_by_type() -> Mapping[str, str]:
    """Return the names of the queries by the names of their types, in small letters without underscores."""
    return {name.removeprefix("Query").casefold(): name for name, row in _read_rows().items() if row.kind == "q"}


def _name_type(query: str) -> str:
    return to_snake_case(query.removeprefix("Query"))


def _find_type(query: str) -> ResourceType:
    """Return the type whose objects a query lists. Services keep the records of some deleted objects."""
    for known in RESOURCE_TYPES.values():
        if known.query == query:
            return known
    name = _name_type(query)
    return ResourceType(name, name.replace("_", " "), query, state_field="status", deleted_states=("Deleted",))


def find_query_type(query: str) -> ResourceType:
    """Return the type of the objects that a query lists, also one that the catalogue lacks."""
    return _find_type(query)


def find_named_type(parameter: str) -> ResourceType | None:
    """Return the type of the objects to which a parameter refers, as far as it follows from its name."""
    known = REFERS_TO.get(parameter)
    if known and known.query and not known.owner:
        return known
    query = _find_query_of_name(parameter)
    return _find_type(query) if query else None


def find_reference(operation: Operation, parameter: str) -> ResourceType | None:
    """Return the type of the objects to which a parameter of an operation refers; None if it is not known.

    It is that of the table, or else it follows from the name of the parameter, of the operation, or of the collection
    in the path. Objects whose names are those of an owner have no type here: their owner may not be given.
    """
    known = operation.parameters.get(parameter)
    if known is None:
        return None
    resource_type = RESOURCE_TYPES.get(known.refers_to)
    if resource_type is None and parameter not in _OF_OPERATION | _OF_ANY_TYPE:
        resource_type = REFERS_TO.get(parameter)
    if resource_type and resource_type.query:
        return None if resource_type.owner else resource_type
    query = _find_query(operation, parameter) if parameter not in _OF_ANY_TYPE else None
    return _find_type(query) if query else None


def _find_query(operation: Operation, parameter: str) -> str | None:
    """Return the query for the objects of a parameter."""
    if kind := _BY_CALL.get((operation.name, parameter)):
        return f"Query{kind}"
    if parameter in _OF_OPERATION:
        return _find_query_of_operation(operation.name) or _find_query_of_path(operation.path, parameter)
    query = _find_query_of_name(parameter)
    if query is None and (found := _find_query_of_path(operation.path, parameter)):
        # The object of a path such as routerArea/{vRouterUuid} is none of the collection.
        query = found if _split_words(_name_object(parameter))[-1:] == _split_words(found)[-1:] else None
    return query


def _name_object(parameter: str) -> str:
    """Return what a parameter such as ``dstPrimaryStorageUuid`` calls its object; empty if it is no such parameter."""
    match = re.fullmatch(r"(\w+?)Uuids?", parameter)
    return match[1] if match else ""


def _split_words(name: str) -> list[str]:
    """Return the words of a name, in small letters."""
    return [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z](?![a-z])\d*|\d+", name)]


def _find_query_of_name(parameter: str) -> str | None:
    """Return the query for the objects of a parameter such as ``dstPrimaryStorageUuid``."""
    name = _name_object(parameter)
    words = _split_words(_OTHER_WORDS.get(name, name))
    endings = ("".join(words[start:]) for start in range(len(words)))
    return next((query for ending in endings if (query := _queries_by_type().get(ending))), None)


def _find_query_of_operation(name: str) -> str | None:
    """Return the query for the objects in the name of an operation such as ``ChangeEventSubscriptionState``."""
    # A query finds names with a condition, and the uuid of PreviewResourceStack is that of a template.
    match = re.fullmatch(r"(?:Batch)?(?!Preview|Query)[A-Z][a-z]+(\w+?)(?:State)?", name)
    return _queries_by_type().get(match[1].casefold()) if match else None


def _find_query_of_path(path: str, parameter: str) -> str | None:
    """Return the query of the collection that contains the object of a parameter in a path."""
    before, variable, dummy = path.partition(f"/{{{parameter}}}")
    # That of clusters/{clusterUuid}/storage-devices/nvme/servers/{uuid} is the one after another object, too.
    collections = {before, before.rpartition("}/")[2]} if variable else set()
    rows = (row for row in _read_rows().values() if row.kind == "q" and row.paths[0].strip("/") in collections)
    row = next(rows, None)
    return row.name if row else None


# Paths


@lru_cache(maxsize=2)
def _list_routes(server: str) -> Mapping[tuple[int, str], Mapping[tuple[str, ...], list[_Row]]]:
    """Return the operations of a server by the number of segments of their paths and the first, and by all segments.

    The first one is never a variable.
    """
    routes: dict[tuple[int, str], dict[tuple[str, ...], list[_Row]]] = {}
    for row in _read_rows().values():
        for path in row.paths if server in row.servers else ():
            segments = _split_path(path)
            routes.setdefault((len(segments), segments[0]), {}).setdefault(segments, []).append(row)
    return routes


def _split_path(path: str) -> tuple[str, ...]:
    """Return the segments of a path, with ``{}`` in place of each variable."""
    return tuple(re.sub(r"{\w+}", "{}", path).strip("/").split("/"))


def find_routes(server: str, path: str) -> list[tuple[tuple[str, ...], list[_Row]]]:
    """Return the operations that a server may have at a path: those of the routes with the most literal segments."""
    segments = path.strip("/").split("/")
    matches = {
        route: rows
        for route, rows in _list_routes(server).get((len(segments), segments[0]), {}).items()
        if all(part in ("{}", segment) for part, segment in zip(route, segments, strict=True))
    }
    return [(route, rows) for route, rows in matches.items() if not any(_is_closer(each, route) for each in matches)]


def _is_closer(route: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether a route has literal segments in place of variables of another one that matches the same path."""
    return route != other and all(part == same or same == "{}" for part, same in zip(route, other, strict=True))


def find_uuid_segments(path: str) -> Mapping[str, str]:
    """Return the segments of a path that all servers that know it take for uuids, and the variables that they are."""
    routes = [found for server in SERVERS for found in find_routes(server, path)]
    forms = [form for route, rows in routes for row in rows for form in row.paths if _split_path(form) == route]
    columns = zip(*(form.strip("/").split("/") for form in forms), strict=True)
    segments = zip(path.strip("/").split("/"), columns, strict=False)
    return {segment: parts[0][1:-1] for segment, parts in segments if all(map(_UUID_VARIABLE.fullmatch, parts))}


def find_action(method: str, path: str, body_key: str) -> CataloguedOperation | None:
    """Return the only operation that servers have for a request, None if there is none, or if servers differ."""
    names = {
        row.name
        for server in SERVERS
        for dummy, rows in find_routes(server, path)
        for row in rows
        if row.method == method and (method == "GET" or _split_key(row)[0] == body_key)
    }
    return find_catalogued(names.pop()) if len(names) == 1 else None


def list_body_keys(method: str, path: str) -> list[str]:
    """Return the members of the body with parameters that the operations of servers with a method at a path have."""
    rows = [row for server in SERVERS for dummy, found in find_routes(server, path) for row in found]
    return sorted({_split_key(row)[0] for row in rows if row.method == method})


class PathUse(NamedTuple):
    """What servers do with a method at a path: which have it, and which run another operation, with its name."""

    has: tuple[str, ...]
    others: Mapping[str, str]


def describe_use(method: str, path: str) -> PathUse:
    """Return what servers do with a request. A server runs the only operation of a path, whatever the method is.

    A GET counts as that of a server only if it reads.
    """
    found = {server: [rows for dummy, rows in find_routes(server, path)] for server in SERVERS}
    fits = {server: all(_fits(method, rows) for rows in routes) for server, routes in found.items() if routes}
    others = {
        SERVERS[server]: next(rows for rows in found[server] if not _fits(method, rows))[0].name
        for server, is_fit in fits.items()
        if not is_fit
    }
    return PathUse(tuple(SERVERS[server] for server, is_fit in fits.items() if is_fit), others)


def find_other_read(name: str) -> str:
    """Return which server reads another object at the path of a query, ``ZStack does with QueryHost``; empty if none.

    Such a server takes the last segment of the path for a uuid.
    """
    row = _read_rows().get(name)
    if row is None or row.kind != "q":
        return ""
    found = ((server, rows) for server in SERVERS for dummy, rows in find_routes(server, row.paths[0]))
    reads = ((server, other.name) for server, rows in found for other in rows if other.kind == "q")
    return next((f"{SERVERS[server]} does with {other}" for server, other in reads if other != name), "")


def _fits(method: str, rows: list[_Row]) -> bool:
    """Return whether one of the operations of a path has the method; a GET only if it reads."""
    return any(row.method == method and (method != "GET" or row.kind in "qr") for row in rows)
