"""A row of the operations table, and the conversion of a call to an HTTP request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_float,
    check_type_int,
    check_type_jsonarg,
    check_type_list,
    check_type_str,
)

from .errors import InvalidOptions, describe_unknown_names, suggest_name
from .limits import check_value, find_size, is_size_field
from .records import RECORD_FIELDS, NullReference


def check_whole_number(value: Any) -> int:
    """Return a whole number. Raise TypeError for true and false, which Python counts as numbers and JSON does not."""
    if isinstance(value, bool):
        raise TypeError(value)
    return int(check_type_int(value))


_TYPES = {
    "str": check_type_str,
    "int": check_whole_number,
    "long": check_whole_number,
    "float": check_type_float,
    "bool": check_type_bool,
    "list": check_type_list,
    "dict": check_type_dict,
    "json": check_type_jsonarg,
    "json_object": check_type_jsonarg,
}


# Words for parameters, and the parameters that they may mean. A uuid may be the name of the object.
_MEANT = {
    **dict.fromkeys(("condition", "conditions", "filter", "query"), ("q",)),
    "id": ("uuid",),
    # A query reads the objects of a name with a condition.
    "name": ("q", "uuid"),
}


class Parameter(NamedTuple):
    """One parameter of an operation.

    ``type`` is one of Ansible's types (str, int, float, bool, list, dict) or long, or a JSON text, json of a list of
    objects and json_object of one, ``elements`` that of the elements of a list, if they are not all texts. ``required``
    follows the document; a required parameter with ``omit_if_unset`` is omitted when it is not given, because servers
    refuse an empty value. ``since`` is the version that added the parameter. ``alias`` is a second spelling in the
    document, which is sent too. ``refers_to`` is the type of object whose uuids the value contains. ``field`` is the
    record's name for the value, if it differs. ``is_compared`` is False if records never show the value: it is only
    sent with calls that are necessary for another reason, as tags are. One of ``choices`` may be spelt in small or
    capital letters; it is sent as ``choices`` has it. ``longest`` is the limit of characters of the operation, if it is
    not the usual one of the name. ``default`` is sent with a call that has no value. ``replaces`` are the required
    parameters that need no value if this one has one. ``is_target`` says that the value is the uuid of the object of
    the call, although it is not in the path.
    """

    name: str
    type: str = "str"
    required: bool = False
    omit_if_unset: bool = False
    since: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""
    refers_to: str = ""
    field: str = ""
    is_compared: bool = True
    longest: int = 0
    elements: str = ""
    default: str | None = None
    replaces: tuple[str, ...] = ()
    is_target: bool = False

    def coerce(self, operation: str, value: Any) -> Any:
        """Return a value in the parameter's type; raise InvalidOptions, which names ``operation``, when it is wrong."""
        label = f"{self.name} of {operation}"
        try:
            value = _convert(self.type, value)
            if self.elements:
                value = [_convert(self.elements, item) for item in value]
        except (TypeError, ValueError, OverflowError) as error:
            kind = f"list of {self.elements}" if self.elements else self.type
            raise InvalidOptions(f"{label} must be of type {kind}, not {value!r}{self._explain(value)}") from error
        if self.type.startswith("json"):
            value = _shape_json(label, value, is_list=self.type == "json")
        if not self.choices:
            return value
        return [self._choose(label, item) for item in value] if isinstance(value, list) else self._choose(label, value)

    def _explain(self, value: Any) -> str:
        """Return what to give for a size with a unit, or for a mapping of conditions, with its introduction; or ''."""
        if self.name == "q" and isinstance(value, Mapping):
            return f". Give q: {[f'{field}={text}' for field, text in value.items()]}"
        size = find_size(str(value)) if self.type in ("int", "long") and is_size_field(self.name) else None
        return f". It is in bytes: give {size[1]}" if size else ""

    def _choose(self, label: str, value: Any) -> Any:
        """Return the choice that a value spells; raise InvalidOptions if it is none of them."""
        for choice in self.choices:
            if choice.lower() == str(value).lower():
                return choice if isinstance(value, str) else value
        # Only failures need the words.
        from .value_words import suggest_choice

        hint = suggest_choice(str(value), self.choices)
        raise InvalidOptions(f"{label} must be one of {', '.join(self.choices)}, not {value!r}.{hint}".rstrip("."))

    def check_bounds(self, operation: str, value: Any) -> None:
        """Raise InvalidOptions for a value that servers refuse, as `check_value` does."""
        # The object of a call has a uuid of any form.
        if not (self.required and self.name == "resourceUuid"):
            check_value(self.name, f"{self.name} of {operation}", value, self.longest)


def required(name: str, type: str = "str", **details: Any) -> Parameter:
    """Return a parameter that the document requires."""
    return Parameter(name, type, required=True, **details)


def optional(name: str, type: str = "str", **details: Any) -> Parameter:
    """Return an optional parameter."""
    return Parameter(name, type, **details)


def _convert(kind: str, value: Any) -> Any:
    """Return a value as a type. Raise TypeError or ValueError if it cannot be of the type."""
    if kind == "str" and isinstance(value, (list, dict)):
        raise TypeError
    return _TYPES[kind](value)


def _shape_json(label: str, text: str, is_list: bool) -> str:
    """Return a JSON text of a list of mappings, or of one mapping: services refuse the other form.

    Raise InvalidOptions when the text is no JSON, or has neither form.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptions(f"{label} must be JSON: {error}") from None
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items) or (not is_list and len(items) > 1):
        raise InvalidOptions(f"{label} must be {'a list of mappings' if is_list else 'one mapping'}, not {text}")
    if isinstance(value, list) == is_list:
        return text
    return json.dumps(items if is_list else next(iter(items), {}))


# The value of the option ``state`` for an object that shall not exist.
ABSENT = "absent"

# The parameters that every operation accepts in addition to those in its row.
TAG_PARAMS = {name: optional(name, "list") for name in ("systemTags", "userTags")}


_UUID = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)

# The operations that stop VMs, hosts, or what runs on them.
_STOPPING = {
    *("StopVmInstance", "RebootVmInstance", "PauseVmInstance"),
    *("ShutdownHost", "PowerResetHost", "ChangeHostState", "DisableCbtTask"),
    *("ChangeVmNicState", "ChangeVmNicNetwork", "MigrateVm"),
}

# Members that a reply may have in addition to its result.
_ENVELOPE = {
    "success",
    "error",
    "schema",
    "causes",
    "i18nDetails",
    "connectionStatus",
    "resourceRefs",
    "hostIpmiInventory",
}


class Request(NamedTuple):
    """An HTTP request without origin: ``query`` is a list of pairs, ``body`` a JSON object or None."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: dict[str, Any] | None = None


class Effect(NamedTuple):
    """What a call does to objects.

    ``is_idempotent`` is False if a second call creates a second object, or has its effect a second time.
    ``duplicate_codes`` are the codes of the errors with which the service refuses a second call whose effect exists
    already. ``replaces_values`` is True if the call removes values that it does not name, ``keeps_names`` if a write
    changes the state of an object only: it creates, renames and removes none. ``of_failure`` says what a call that
    fails may have changed nevertheless.
    """

    is_idempotent: bool = True
    duplicate_codes: tuple[str, ...] = ()
    replaces_values: bool = False
    keeps_names: bool = False
    of_failure: str = ""


_USUAL_EFFECT = Effect()


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    ``path`` is relative to the service's prefix, unless the operation needs the token: then it starts at the origin.
    ``credential`` is what the call needs. ``params`` are sent in the path, which has placeholders for them, or else in
    the query or the body. ``result`` names the members of the reply that contain the result, ``record`` the type of the
    records in them. ``may_be_empty`` is True if ``{}`` is a reply of success.

    ``get_by_uuid`` marks the queries that may be sent as ``GET <collection>/{uuid}``. If a path has only one operation,
    servers ignore the verb, so elsewhere this GET may delete the object; there the uuid is sent as a condition.

    ``substitute`` is the companion with the same parameters and result that some servers have in its place.
    """

    # Whether the limits of the parameters are known.
    has_limits: ClassVar[bool] = True

    name: str
    method: str
    path: str
    since: str = ""
    credential: Literal["session", "token", "none"] = "session"
    params: tuple[Parameter, ...] = ()
    result: tuple[str, ...] = ()
    record: str = ""
    get_by_uuid: bool = False
    may_be_empty: bool = False
    substitute: str = ""
    effect: Effect = _USUAL_EFFECT

    @property
    def is_write(self) -> bool:
        """Whether the call changes something. The service answers it with a job."""
        return self.method != "GET"

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """All parameters by their names."""
        return {parameter.name: parameter for parameter in self.params}

    @cached_property
    def path_params(self) -> tuple[Parameter, ...]:
        """The parameters that are sent in the path, in its order."""
        return tuple(self.parameters[name] for name in list_variables(self.path))

    @property
    def target_params(self) -> tuple[str, ...]:
        """The names of the parameters with the object of the call; none if the call creates it."""
        targets = self.path_params or [parameter for parameter in self.params if parameter.is_target]
        return tuple(parameter.name for parameter in targets)

    @property
    def order(self) -> str | None:
        """The order in which records do not move to other pages, None if no field identifies a record."""
        fields = RECORD_FIELDS.get(self.record, ())
        return next((f"+{name}" for name in ("uuid", "topicUuid") if name in fields), None)

    @property
    def body_key(self) -> str:
        """The member of the body that contains the parameters: ``params``, or for PUT the name of the operation."""
        return self.name[0].lower() + self.name[1:] if self.method == "PUT" else "params"

    @property
    def extra_results(self) -> list[str]:
        """The members of the result that contain other values than records."""
        return [name for name in self.result if name not in ("inventory", "inventories")]

    def has_result(self, reply: Mapping[str, Any]) -> bool:
        """Return whether a reply of success contains a documented member of the result."""
        members = [reply.get(name) for name in self.extra_results]
        records = self.get_records(reply)
        members += [records] if isinstance(records, (dict, list)) else []
        return is_success(reply) and any(value is not None for value in members)

    def get_records(self, reply: Mapping[str, Any]) -> Any:
        """Return the record or the records in a reply, None if it has none, or if the operation returns none.

        Some servers return several records as ``inventories``, others as ``inventory``. A write that returns one record
        never has it in ``inventories``, see `is_reply_of_query`.
        """
        if {"inventory", "inventories"}.isdisjoint(self.result) or self.is_reply_of_query(reply):
            return None
        return reply.get("inventory", reply.get("inventories"))

    def is_reply_of_query(self, reply: Mapping[str, Any]) -> bool:
        """Return whether the reply to this write is that of a query, so that the service performed nothing.

        If a service lacks a write, and the path has no other operation than its query, the service answers the write
        with the query, whose records are ``inventories`` with a ``schema``. Where the write returns a record, the list
        alone shows it.
        """
        is_list = "inventories" in reply and "inventory" not in reply
        can_return_list = not self.is_write or "inventories" in self.result
        return is_list and not can_return_list and ("inventory" in self.result or "schema" in reply)

    def is_reply(self, reply: Mapping[str, Any]) -> bool:
        """Return whether a JSON object is a reply of success in the form of this operation."""
        return self.has_result(reply) or (self.may_be_empty and is_bare(reply))

    def find_missing(self, params: Mapping[str, Any], shortest: bool = False) -> list[str]:
        """Return the names of the required parameters that ``params`` lacks.

        With ``shortest``, a parameter that replaces several of them stands for these.
        """
        alternatives = {name: parameter.replaces for name, parameter in self.parameters.items() if parameter.replaces}
        replaced = {name for key, names in alternatives.items() if params.get(key) for name in names}
        missing = [
            name
            for name, parameter in self.parameters.items()
            if parameter.required and not parameter.omit_if_unset and params.get(name) is None and name not in replaced
        ]
        for key, names in alternatives.items() if shortest else ():
            if {*names} <= {*missing}:
                missing = [name for name in missing if name not in names] + [key]
        return missing

    def explain_unsupported(self, params: Mapping[str, Any], version: str) -> str | None:
        """Return why a service of ``version`` does not support this call; None if it does."""
        available = parse_version(version)
        if self.since and parse_version(self.since) > available:
            return f"{self.name} needs version {self.since}"
        for name, parameter in self.parameters.items():
            if params.get(name) is not None and parameter.since and parse_version(parameter.since) > available:
                return f"the parameter {name} of {self.name} needs version {parameter.since}"
        return None

    @property
    def removes_object(self) -> bool:
        """Whether the call removes an object, or replaces what it contains."""
        return self.method == "DELETE" or self.name.startswith(("Delete", "Destroy", "Detach", "Expunge", "Revert"))

    @property
    def is_harmful(self) -> bool:
        """Whether the call removes an object or values of it, or stops something that runs."""
        return self.removes_object or self.is_destructive or self.name in _STOPPING

    @property
    def is_destructive(self) -> bool:
        """Whether the call removes an object, or values that an object has."""
        return self.method == "DELETE" or self.effect.replaces_values

    def build_path(self, prefix: str) -> str:
        """Return the path at the origin, with the placeholders of its parameters."""
        return self.path if self.credential == "token" else f"{_root(prefix)}/v1/{self.path}"

    def request(self, params: Mapping[str, Any], prefix: str = "service") -> Request:
        """Build the request for ``params`` (API names to values; None is omitted).

        Tags are separate members of the body. Raise InvalidOptions when a required parameter is missing, when one is
        unknown or when a value is not allowed.
        """
        defaults = {parameter.name: parameter.default for parameter in self.params if parameter.default is not None}
        given = {**defaults, **{name: value for name, value in params.items() if value is not None}}
        refuse_unknown(self, given)
        values = {name: self._coerce(name, value) for name, value in given.items()}
        if missing := self.find_missing(values):
            raise InvalidOptions(f"{self.name} needs {', '.join(missing)}")
        path = self.build_path(prefix)
        for parameter in self.path_params:
            path = path.replace(f"{{{parameter.name}}}", quote(str(values.pop(parameter.name)), safe=""))
        for parameter in self.params:
            if parameter.alias and parameter.name in values:
                values[parameter.alias] = values[parameter.name]
        if self.method == "GET":
            return self._build_read(path, values)
        return encode_write(self.method, path, self.body_key, values)

    def _build_read(self, path: str, params: dict[str, Any]) -> Request:
        """Build the GET request for a path; the ``uuid`` of a query becomes part of the path, or a condition."""
        uuid = params.get("uuid")
        if uuid is None or "q" not in self.parameters:
            return encode_read(path, params)
        others = {name: value for name, value in params.items() if name != "uuid"}
        if self.get_by_uuid and not others and _UUID.fullmatch(uuid):
            return Request("GET", f"{path}/{uuid}")
        return encode_read(path, {**others, "q": [*others.get("q", ()), f"uuid={uuid}"]})

    def _coerce(self, name: str, value: Any) -> Any:
        """Return a value in the parameter's type.

        Raise InvalidOptions when it is not allowed. A null reference is returned unchanged, because check mode predicts
        the call without its value.
        """
        parameter = TAG_PARAMS.get(name) or self.parameters[name]
        if isinstance(value, NullReference):
            return value
        value = parameter.coerce(self.name, value)
        if (parameter in self.path_params or name == "uuid") and value.strip() in ("", ".", ".."):
            raise InvalidOptions(f"{name} of {self.name} must not be {value!r}")
        if self.is_write and self.has_limits:
            parameter.check_bounds(self.name, value)
        return value


def refuse_unknown(operation: Operation, names: Iterable[str]) -> None:
    """Raise InvalidOptions for names that no parameter has, with those that were probably meant, or with all."""
    known = operation.parameters

    def suggest(name: str) -> str:
        meant = next((each for each in _MEANT.get(name, ()) if each in known), "")
        form = ": ['name=...']" if (name, meant) == ("name", "q") else ""
        hint = f" Did you mean {meant}{form}?" if meant else suggest_name(name, known, is_misspelling=True)
        return hint or f" Its parameters are {', '.join(known) or 'none'}."

    if unknown := [name for name in names if name not in TAG_PARAMS and name not in known]:
        raise InvalidOptions(describe_unknown_names(f"{operation.name} has no parameter", unknown, suggest))


def list_variables(path: str) -> list[str]:
    """Return the names of the placeholders of a path."""
    return re.findall(r"{(\w+)}", path)


def encode_read(path: str, params: Mapping[str, Any]) -> Request:
    """Return the request that reads, with its parameters in the query string."""
    return Request("GET", path, _flatten(params))


def encode_write(method: str, path: str, body_key: str, params: Mapping[str, Any]) -> Request:
    """Return the request of a write: ``body_key`` contains its parameters, beside the tags; if empty, the body does.

    DELETE has all of them in the query string, and repeats them in the body.
    """
    if method == "DELETE":
        return Request(method, path, _flatten(params), dict(params))
    tags = {name: params[name] for name in TAG_PARAMS if name in params}
    own = {name: value for name, value in params.items() if name not in tags}
    return Request(method, path, (), {**({body_key: own} if body_key else own), **tags})


def is_bare(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply says only that the operation succeeded, such as ``{}``.

    With ``success: true``, it may have members that no document knows. A record shows more than success.
    """
    others = reply.keys() - _ENVELOPE
    is_explicit = reply.get("success") is True and others.isdisjoint(("inventory", "inventories"))
    return is_success(reply) and (is_explicit or not others)


def is_success(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply reports no failure."""
    return not reply.get("error") and reply.get("success") is not False


def list_failed_items(reply: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """Return the results of the items that failed, and how many items there are.

    The job of a call for several objects succeeds although it failed for some of them, or for all.
    """
    results = reply.get("results")
    items = [item for item in results if isinstance(item, Mapping)] if isinstance(results, list) else []
    return [item for item in items if item.get("error") or item.get("success") is False], len(items)


def remove_prefix(path: str, prefix: str) -> str:
    """Return the path of a request without the path prefix and the query.

    A polling address may have another prefix than the one of the options, if a proxy changes the paths.
    """
    relative = path.partition("?")[0].removeprefix(_root(prefix))
    return relative[max(relative.find("/v1/"), 0) :]


def move_to_prefix(location: str, prefix: str) -> str | None:
    """Return the polling address of a job below the path prefix; None if ``location`` is already below it.

    Return None, too, for a location without ``/v1/``, which has no path prefix.
    """
    path, mark, query = location.partition("?")
    moved = _root(prefix) + remove_prefix(path, prefix) + mark + query
    return moved if "/v1/" in path and moved != location else None


def _root(prefix: str) -> str:
    """Return a path prefix with a slash before it, or an empty text without one."""
    return f"/{prefix.strip('/')}".rstrip("/")


def _flatten(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Flatten values for a query string: lists are repeated, booleans are true and false.

    A member ``key`` of the mapping ``name`` is the parameter ``name.key``.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            pairs += _flatten({f"{name}.{key}": item for key, item in value.items()})
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((name, str(item).lower() if isinstance(item, bool) else str(item)))
    return tuple(pairs)


def parse_version(version: Any) -> tuple[int, ...]:
    """Return the parts of a version without trailing zeros, so that 4.10 equals 4.10.0.

    Raise InvalidOptions for anything else, including numbers, because YAML reads 4.10 as 4.1.
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
