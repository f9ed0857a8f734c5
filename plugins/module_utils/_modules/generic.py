"""The modules that call any operation, or list any collection: by name, by type, or by path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .._api.by_path import check_request, choose_by_path, suggest_request
from .._api.catalogue import (
    CataloguedOperation,
    find_catalogued,
    find_listed_type,
    find_other_read,
    find_reference,
    list_names,
    list_types,
    rename_variables,
)
from .._api.errors import (
    ApiError,
    InvalidOptions,
    NotFound,
    Unsupported,
    VirtinfraError,
    count_slips,
    suggest_name,
)
from .._api.operation import TAG_PARAMS, Operation, refuse_unknown
from .._api.operations import OPERATIONS, choose_operation
from .._api.records import (
    NullReference,
    Record,
    drop_null_references,
    holds_unknown_reference,
    mask_webhooks,
)
from .._api.references import is_name, mark_nulls, normalize_references
from .._api.resource_types import LISTED_TYPES, ResourceType, find_changed_types
from .._api.unlisted import UnlistedOperation
from .._client.client import Client
from .._client.lists import read_total
from .._client.names import explain_unknown_name
from .._engine.context import ModuleContext
from .._engine.results import format_pending_job, format_predicted_job
from .._resources.catalogued_names import look_up
from .act import drop_optional_nulls, execute_call, label_errors
from .jobs import find_item_failure
from .options import TAGS, WAIT, Options
from .read import list_module
from .spec import ModuleSpec
from .words import suggest_kind


def generic_module(options: Options, **rules: Any) -> ModuleSpec:
    """Return the module that calls any operation, by its name or its path, with its option ``params``."""

    def run(context: ModuleContext) -> dict[str, Any]:
        row, params = _prepare(context.desired, context.check_mode)
        with label_errors(drop_null_references(params)) as label:
            null = [value for value in params.values() if isinstance(value, NullReference)]
            if unknown := list(filter(holds_unknown_reference, null)):
                raise InvalidOptions(f"{unknown[0]} of {row.name} must not be null or empty")
            params = _resolve_names(context.client, row, params, context.desired["trustPath"])
            try:
                return _call(context, row, params, label, is_predicted=bool(null))
            except Unsupported as lack:
                lack.add_sentence(_explain_lack(row, context.desired))
                raise

    def check(desired: Record, check_mode: bool) -> None:
        _prepare(desired, check_mode)

    return ModuleSpec(run, options, (WAIT, TAGS), rules, check=check, hidden_results=("reply",))


def _call(context: ModuleContext, row: Operation, params: Record, label: str, is_predicted: bool) -> dict[str, Any]:
    """Read, call or predict, and return the result of the task."""
    if not (is_predicted or row.is_write):
        try:
            reply = context.client.get(row.name, params)
        except ApiError as refusal:
            refusal.add_sentence("".join(f" In q, {each}" for each in _find_oversights(row, params)))
            raise
        if not reply.get("inventories"):
            _require_own_list(context.client, row)
            context.warnings.extend(f"In q, {each}" for each in _find_oversights(row, params))
        return {"reply": mask_webhooks(reply, row.record)}
    if context.check_mode:
        context.client.build_request(row.name, params)
        context.client.hooks.note_prediction(find_changed_types(row))
        has_job = row.has_job if isinstance(row, UnlistedOperation) else row.is_write
        job_result = format_predicted_job(row.name, context.params["wait"]) if has_job else {}
        return {"reply": {}, **job_result, "changed": row.is_write}
    job = execute_call(context, row.name, params, label)
    result = {"reply": mask_webhooks(job.result, row.record), **format_pending_job(job)}
    if failure := find_item_failure(job):
        failure.result.update(result)
        raise failure
    return result


def _find_oversights(row: Operation, params: Record) -> list[str]:
    """Return why the conditions of a query, which are sent as they are, may be meant otherwise."""
    conditions = params.get("q") or ()
    if not conditions:
        return []
    # Only failures and empty lists need the code for conditions.
    from .._api.conditions import describe_blanks, describe_oversights

    texts = list(map(str, conditions)) if isinstance(conditions, (list, tuple)) else [str(conditions)]
    return [*describe_oversights(texts, row.record), *describe_blanks(texts, row.record)]


def _prepare(desired: Record, check_mode: bool) -> tuple[Operation, Record]:
    """Return the operation that the options name or describe, and its parameters, in which names remain.

    Raise InvalidOptions for what the service would refuse, as far as the tables know it.
    """
    row = _choose_operation(desired, check_mode)
    if row.credential == "none":
        raise InvalidOptions(
            f"operation must not be {row.name}, which handles a session. Use virtinfra.manager.session"
        )
    key, members = desired.get("bodyKey", "params"), desired["params"]
    if list(members) == [key] and isinstance(members[key], Mapping) and "operation" not in desired:
        raise InvalidOptions(f"params must contain the members of {key} themselves: {', '.join(members[key])}")
    named = rename_variables(row, desired["params"])
    if row.name in OPERATIONS or isinstance(row, CataloguedOperation):
        # An unknown parameter is not the uuid that its name suggests.
        refuse_unknown(row, [name for name, value in named.items() if value is not None])
    given = mark_nulls(named)
    may_be_names = [name for name in given if find_reference(row, name)]
    tags = {name: desired[name] for name in TAG_PARAMS if name in desired}
    params = drop_optional_nulls(row, {**normalize_references(given, may_be_names=may_be_names), **tags})
    row.request(params)
    return row, params


def _choose_operation(desired: Record, check_mode: bool) -> Operation:
    """Return the operation that the options name, or describe by method and path."""
    is_trusted = desired["trustPath"]
    if "operation" not in desired:
        return choose_by_path(desired["method"], desired["path"], desired.get("bodyKey"), is_trusted, check_mode)
    row = _find_operation(desired["operation"])
    _check_read(row, is_trusted)
    return row


def _check_read(row: Operation, is_trusted: bool) -> None:
    """Raise InvalidOptions for a read of the catalogue whose path a server may take for a change."""
    if isinstance(row, CataloguedOperation) and row.method == "GET" and not row.is_write:
        check_request("GET", row.path, row.name, is_trusted)


def _find_operation(name: str) -> Operation:
    """Return one of the table or the catalogue. Raise InvalidOptions, with a similar name, if it is in none."""
    if name in OPERATIONS:
        return OPERATIONS[name]
    if row := find_catalogued(name):
        return choose_operation(row)
    known = [*OPERATIONS, *list_names()]
    hint = suggest_operation(name, known) or " The guide 'Names of operations' has all of them."
    raise InvalidOptions(f"no operation {name}.{hint} If the service has it, call it by its path.")


# What users call operations, and the verbs and nouns that those have.
_VERBS = {
    **dict.fromkeys(("get", "list", "describe", "find", "read", "show"), ("query", "get")),
    **dict.fromkeys(("delete", "remove"), ("delete", "destroy", "remove")),
    **dict.fromkeys(("add", "create", "new"), ("add", "create")),
    **dict.fromkeys(("boot", "poweron"), ("start",)),
    **dict.fromkeys(("halt", "poweroff", "shutdown"), ("stop",)),
    **dict.fromkeys(("reset", "restart"), ("reboot",)),
    **dict.fromkeys(("edit", "modify", "set"), ("update", "set", "change")),
    **dict.fromkeys(("disable", "enable"), ("change",)),
    "suspend": ("pause",),
}
_NOUNS = {
    **dict.fromkeys(("instance", "server", "vm"), ("vminstance", "vm")),
    **dict.fromkeys(("disk", "volume"), ("datavolume", "volume")),
    "host": ("kvmhost", "host"),
    "network": ("l3network",),
    "snapshot": ("volumesnapshot",),
    "storage": ("primarystorage",),
}


def suggest_operation(name: str, known: Iterable[str]) -> str:
    """Return a sentence, and a space before it, with the operation that a name means: QueryVmInstance for ListVms."""
    # The logs of the service have APIQueryHostMsg.
    name = re.sub("^API(.+)Msg$", r"\1", name)
    names = {each.casefold(): each for each in known}
    if name.casefold() not in names and (split := re.match("(?i:power_?o(?:n|ff))|[A-Za-z][a-z]*", name)):
        verb, noun = split[0].casefold(), name[split.end() :].casefold().replace("_", "").removesuffix("s")
        state = "state" if verb in ("disable", "enable") else ""
        pairs = [(each, of) for each in _VERBS.get(verb, (verb,)) for of in _NOUNS.get(noun, (noun,)) if noun]
        exact = [names[f"{each}{of}{state}"] for each, of in pairs if f"{each}{of}{state}" in names]
        longer = [known for each, of in pairs for word, known in names.items() if word.startswith(f"{each}{of}")]
        if exact or longer:
            slip = None if exact else _find_slip(name.casefold(), names)
            return f" Did you mean {exact[0] if exact else slip or min(longer, key=len)}?"
    return suggest_name(name, names.values(), is_misspelling=True)


def _find_slip(word: str, names: Mapping[str, str]) -> str | None:
    """Return the name that differs from a word by one slip: QueryVip for QueryVp, although QueryVpcRouter begins so."""
    similar = (each for each in names if each[:1] == word[:1] and abs(len(each) - len(word)) < 2)
    return next((names[each] for each in similar if count_slips(word, each) == 1), None)


def _explain_lack(row: Operation, desired: Record) -> str:
    """Return a sentence with the only server that has an operation, or with the request that was probably meant."""
    if "operation" not in desired and not isinstance(row, CataloguedOperation):
        return suggest_request(desired["method"], desired["path"], desired.get("bodyKey"))
    return _name_only_server(row.name)


def _name_only_server(name: str) -> str:
    """Return a sentence with the only server that has an operation, and a space before it; empty if several have it."""
    row = find_catalogued(name)
    return f" Of the known servers, only {row.only_server} has it." if row and row.only_server else ""


def _require_own_list(client: Client, row: Operation) -> None:
    """Raise Unsupported if the service took the path of a query that has listed nothing for one of another query.

    A server without hosts/bondings reads the host with the uuid "bondings" there. Then it sends no total.
    """
    other = find_other_read(row.name)
    if not other:
        return
    try:
        reply = client.get(row.name, {"limit": 1, "replyWithCount": True})
    except Unsupported:
        # A cursor query has listed nothing.
        return
    if read_total(reply) is None:
        raise Unsupported(f"the service does not offer {row.name}: it reads another object at this path, as {other}")


def _resolve_names(client: Client, row: Operation, params: Record, is_trusted: bool) -> Record:
    """Return the parameters with the uuids of the objects that they name. Raise NotFound or AmbiguousMatch."""

    def resolve(parameter: str, value: Any, resource_type: ResourceType) -> Any:
        if isinstance(value, list):
            return [resolve(parameter, item, resource_type) for item in value]
        if not is_name(value):
            return value
        try:
            return look_up(client, resource_type, value, is_trusted)
        except VirtinfraError as failure:
            if isinstance(failure, NotFound):
                is_item = isinstance(params[parameter], list)
                failure.add_sentence(explain_unknown_name(client, resource_type, value, is_item=is_item))
            raise failure.with_label(parameter) from None

    types = {name: resource_type for name in params if (resource_type := find_reference(row, name))}
    return {name: resolve(name, value, types[name]) if name in types else value for name, value in params.items()}


def list_resources(context: ModuleContext) -> dict[str, Any]:
    """List the resources of a type, with its query if one is known, or those of the collection at a path."""
    desired = dict(context.desired)
    requested, is_trusted = desired.pop("resourceType", ""), desired.pop("trustPath")
    if desired["pageSize"] < 1:
        raise InvalidOptions("page_size must be at least 1")
    if not requested:
        chosen = choose_by_path("GET", desired.pop("path"), None, is_trusted, context.check_mode, True)
        return list_module(chosen.name, returns="resources").run(replace(context, desired=desired))
    resource_type = LISTED_TYPES.get(requested.replace("_", "")) or find_listed_type(requested)
    row = _find_operation(resource_type.query) if resource_type else None
    if row:
        _check_read(row, is_trusted)
        if row.path_params:
            raise InvalidOptions(f"{requested} is listed for one object. Give the path v1/{row.path}, with its uuid")
    cursor = resource_type.cursor_type if resource_type else requested
    try:
        listing = list_module(row.name if row else None, returns="resources", cursor=cursor)
        result = listing.run(replace(context, desired=desired))
        if row and not result["resources"] and not context.is_object_predicted:
            _require_own_list(context.client, row)
        return result
    except (ApiError, Unsupported) as failure:
        if row is None:
            known = {each.name for each in LISTED_TYPES.values()}.union(list_types())
            failure.add_sentence(suggest_kind(requested.removeprefix("Query").removesuffix("Inventory"), known))
        elif isinstance(failure, Unsupported):
            failure.add_sentence(_name_only_server(row.name))
        raise
