"""The modules that only read: lists of records, and the replies of reading operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._api.equality import format_equality
from .._api.errors import (
    ApiError,
    InvalidOptions,
    ReadExecutedAsChange,
    SeveralFailed,
    Unsupported,
    VirtinfraError,
    WaitTimeout,
    describe_unknown_names,
    suggest_name,
)
from .._api.operation import TAG_PARAMS
from .._api.operations import get_operation
from .._api.records import (
    RECORD_FIELDS,
    NullReference,
    Record,
    complete_members,
    complete_record,
    get_tag,
    is_same_value,
    record_to_result,
    to_camel_case,
    to_snake_case,
)
from .._api.references import format_option_name
from .._api.resource_types import RESOURCE_TYPES
from .._client.client import Client
from .._client.jobs import WaitPolicy
from .._client.lists import (
    PAGE_SIZE,
    combine_finders,
    find_by_attribute,
    get_by_uuid,
    list_user_tags,
    paginate,
    paginate_cursor,
    query,
)
from .._engine.context import ModuleContext
from .options import (
    IDENTITY_OPTIONS,
    LIST_OPTIONS,
    TAGS,
    Options,
    map_parameter_names,
)
from .spec import ModuleSpec

if TYPE_CHECKING:
    from .._api.conditions import Awaited, Condition


def info_module(operation: str, options: Options) -> ModuleSpec:
    """Return the module that calls a reading operation. Its options are the parameters, its result the reply."""

    def run(context: ModuleContext) -> dict[str, Any]:
        if any(isinstance(item, NullReference) for value in context.desired.values() for item in _to_list(value)):
            return _shape_members(operation, {})
        return _shape_members(operation, context.client.get(operation, context.desired))

    return ModuleSpec(run, options, (TAGS,))


def info_module_per_item(operation: str, returns: str, over: str, parameter: str, options: Options) -> ModuleSpec:
    """Return the module that calls an operation concurrently for each value of an option, whose API name is ``over``.

    ``parameter`` of the operation gets the value. Calls that fail are reported in the list. The module fails when all
    calls fail, or when one fails and the option ``fail_on_error`` is set.
    """

    def run(context: ModuleContext) -> dict[str, Any]:
        tags = {name: context.desired[name] for name in TAG_PARAMS if name in context.desired}

        def read_one(value: str) -> Record:
            if isinstance(value, NullReference):
                return {to_snake_case(parameter): None, **_shape_members(operation, {}), "msg": None, "error": None}
            try:
                reply, failure = context.client.get(operation, {parameter: value, **tags}), None
            except ReadExecutedAsChange:
                raise
            except VirtinfraError as error:
                reply, failure = {}, error
                failures[value] = error
            outcome = {"msg": failure and str(failure), "error": failure and failure.error}
            return {to_snake_case(parameter): value, **_shape_members(operation, reply), **outcome}

        failures: dict[str, VirtinfraError] = {}
        items = context.client.map_concurrently(read_one, context.desired[over])
        failed = [item for item in items if item["error"]]
        if failed and (context.params["fail_on_error"] or len(failed) == len(items)):
            first = failures[failed[0][to_snake_case(parameter)]]
            raise SeveralFailed(
                f"{len(failed)} of {len(items)} failed, the first: {first}", first.error, **{returns: items}
            )
        context.warnings.extend(f"{item[to_snake_case(parameter)]}: {item['msg']}" for item in failed)
        return {returns: items}

    return ModuleSpec(run, options, (TAGS,))


class Listing(NamedTuple):
    """A module that lists records with a query or a cursor query.

    ``operation`` is the query, None if only a cursor query can list the records. ``cursor`` is the resource type for a
    cursor query, which is used when the option ``filters``, ``sort`` or ``order`` is given or when the query cannot be
    used; None if the module has no cursor query. ``fields`` are the fields that options select by equality. ``view``
    adds members to a record. ``predicates`` maps the API name of an option to a function that says whether a record
    matches the option's value. ``returns`` is the member of the result with the records. If the module has the option
    ``include_tags``, it adds their user tags.
    """

    operation: str | None
    cursor: str | None
    returns: str
    fields: Sequence[str]
    view: Callable[[Record], Record]
    predicates: Mapping[str, Callable[[Record, Any], bool]]

    @property
    def record_type(self) -> str:
        """The type of the records in RECORD_FIELDS, or of the cursor query."""
        return get_operation(self.operation).record if self.operation else str(self.cursor)

    def run(self, context: ModuleContext) -> dict[str, Any]:
        """Return the result of a task: the selected records, and how many there are without ``limit``."""
        result = self._list(context)
        if context.params.get("include_tags"):
            _add_tags(context.client, result[self.returns])
        return result

    def _list(self, context: ModuleContext) -> dict[str, Any]:
        _check_list_options(context.desired)
        _check_fields(context.desired.get("fields", ()), self.record_type)
        _check_sort(context.desired.get("sort", ""), self.record_type)
        conditions = _list_conditions(context.desired)
        wait_for, awaited = context.params.get("wait_for") or {}, None
        if conditions or wait_for:
            # A module process without conditions does not load the code for them.
            from .._api.conditions import find_value_warnings, parse_awaited

            context.warnings.extend(find_value_warnings(conditions, self.record_type))
            awaited = parse_awaited(wait_for, self.record_type, conditions) if wait_for else None
        if context.is_object_predicted:
            context.client.hooks.note_prediction(self.types)
            return {self.returns: [], "total": 0}
        if awaited:
            return self._run_until(context, awaited, wait_for)
        selection = self._read_selected(context.client, context.desired)
        context.warnings.extend(_find_oversights(context.desired, self.record_type, selection[0]))
        return self._format(context.desired, selection)

    def _run_until(self, context: ModuleContext, awaited: Awaited, limits: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result with the awaited records. Raise WaitTimeout, with the last result.

        Check mode does not wait, because it has not made the calls of earlier tasks.
        """
        policy = WaitPolicy(context.client.hooks, limits["timeout"], limits["interval"], prefix="wait_for.")
        client, deadline = context.client.with_wait(policy), policy.compute_deadline()
        selection, problem = self._read_selected(client, context.desired), ""
        noun, name = self._noun, str(context.desired.get("name") or context.desired.get("uuid") or "")
        target = f"{noun} {name}" if name else f"the {self.returns.replace('_', ' ')}"
        waits = not (context.check_mode or awaited.is_met(selection[0]))
        oversights = _find_oversights(context.desired, self.record_type, selection[0])
        _add_doubts(context, [*awaited.find_warnings(self.record_type), *oversights], waits)
        if waits:
            # Most module processes do not wait, so they do not load the code for it.
            from .._client.waiting import read_until

            selection, problem = read_until(
                client,
                f"{awaited.goal} of {target}",
                deadline,
                selection,
                lambda limited: self._read_selected(limited, context.desired),
                lambda selected: awaited.is_met(selected[0]),
            )
        result = self._format(context.desired, selection)
        if awaited.is_met(selection[0]):
            return result
        pending = awaited.describe_pending(selection[0], noun, name)
        if context.check_mode:
            context.warnings.append(f"{pending}. Check mode does not wait for {awaited.goal}.")
            return result
        raise WaitTimeout(
            f"{pending} after {policy.format_elapsed(deadline)} s of waiting for {awaited.goal}. Check the {noun}, or"
            f" increase wait_for.timeout.{awaited.explain_pending(selection[0], noun)}{problem}",
            **result,
        )

    @property
    def types(self) -> frozenset[str]:
        """The types of the listed objects, by their names in the operations table."""
        return frozenset(
            row.name
            for row in RESOURCE_TYPES.values()
            if (row.query and row.query == self.operation) or row.cursor_type == self.cursor
        )

    @property
    def _noun(self) -> str:
        """The term for one record in messages."""
        nouns = (row.noun for row in RESOURCE_TYPES.values() if row.query and row.query == self.operation)
        return next(nouns, self.returns.removesuffix("s").replace("_", " "))

    def _format(self, desired: Record, selection: tuple[list[Record], int]) -> dict[str, Any]:
        """Return the result of a task with these records, and how many there are without ``limit``.

        The option ``fields`` selects fields of the records.
        """
        kind = self.record_type
        results = [record_to_result(complete_record(kind, record), kind) for record in selection[0]]
        if fields := desired.get("fields"):
            names = list(map(to_snake_case, fields))
            results = [{name: result.get(name) for name in names} for result in results]
        return {self.returns: results, "total": selection[1]}

    def _read_selected(self, client: Client, desired: Record) -> tuple[list[Record], int]:
        """Return the records that all options select, and how many there are without ``limit``."""
        return self._select(desired, *self._read(client, desired))

    def _read(self, client: Client, desired: Record) -> tuple[list[Record], int]:
        """Return the records that the service selects, and their total number."""
        of_cursor = [name for name in ("filters", "sort", "order") if desired.get(name)]
        readers = [] if of_cursor else [self._read_by_query]
        if self.cursor:
            readers.append(self._read_by_cursor)
        try:
            with _explain_conditions(desired, self.record_type):
                return combine_finders(*readers)(client, desired)
        except Unsupported as failure:
            raise _explain_cursor(failure, client, of_cursor) from None

    def _read_by_query(self, client: Client, desired: Record) -> tuple[list[Record], int]:
        if self.operation is None:
            raise Unsupported(f"no query is known for the resource type {self.cursor}")
        equal, limit = self._select_equalities(desired), self._choose_limit(desired)
        conditions: list[str] = []
        local_conditions: list[Condition] = []
        if texts := desired.get("query"):
            from .._api.conditions import parse_conditions

            conditions, local_conditions = parse_conditions(texts, self.record_type)
        if fields := desired.get("fields"):
            needed = [*equal, *(condition.field for condition in local_conditions)]
            params = _select_fields(self.operation, [*fields, *needed, (desired.get("waitFor") or {}).get("field")])
            texts = [*conditions, *_format_equalities(equal)]
            pages = paginate(client, self.operation, {"q": texts, **params}, limit=None, connections=1)
            return _filter(_collect_pages(pages)[0], local_conditions, equal, limit)
        if not equal and not local_conditions:
            return _collect_pages(paginate(client, self.operation, {"q": conditions}, limit=limit, connections=1))
        if "uuid" in equal and not conditions and self.record_type:
            records = get_by_uuid(client, self.operation, equal["uuid"])
        elif equal:
            field = next(iter(equal))
            records = find_by_attribute(client, self.operation, field, equal[field], conditions)
        else:
            records = query(client, self.operation, conditions)
        return _filter(records, local_conditions, equal, limit)

    def _read_by_cursor(self, client: Client, desired: Record) -> tuple[list[Record], int]:
        """Read with a cursor query, and apply conditions and equality afterwards: its filters are not documented."""
        equal, limit = self._select_equalities(desired), self._choose_limit(desired)
        conditions: list[Condition] = []
        if texts := desired.get("query"):
            from .._api.conditions import parse_local_conditions

            conditions = parse_local_conditions(texts, self.record_type)
        selects = bool(equal or conditions)
        pages = paginate_cursor(
            client,
            str(self.cursor),
            desired.get("filters", ()),
            desired.get("sort"),
            desired.get("order"),
            desired.get("pageSize", PAGE_SIZE),
            None if selects else limit,
        )
        records, total = _collect_pages(pages)
        return _filter(records, conditions, equal, limit) if selects else (records, total)

    def _select(self, desired: Record, records: list[Record], total: int) -> tuple[list[Record], int]:
        """Return the records that match all predicates, with members added by ``view``, and their number."""
        viewed = [self.view(record) for record in records]
        names = self._list_active_predicates(desired)
        if not names:
            return viewed, total
        matches = [record for record in viewed if all(self.predicates[name](record, desired[name]) for name in names)]
        return matches[: desired.get("limit")], len(matches)

    def _select_equalities(self, desired: Record) -> Record:
        return {field: desired[field] for field in self.fields if field in desired}

    def _list_active_predicates(self, desired: Record) -> list[str]:
        return [name for name in self.predicates if name in desired]

    def _choose_limit(self, desired: Record) -> int | None:
        """Return how many records to read: all of them if predicates select among them afterwards."""
        return None if self._list_active_predicates(desired) else desired.get("limit")


def list_module(
    operation: str | None,
    returns: str,
    cursor: str | None = None,
    equality_options: Options | None = None,
    options: Options | None = None,
    view: Callable[[Record], Record] = dict,
    predicates: Mapping[str, Callable[[Record, Any], bool]] | None = None,
) -> ModuleSpec:
    """Return the module of a `Listing`.

    ``equality_options`` select records by equality, by default by uuid or name. ``options`` are those of predicates.
    """
    equality_options = IDENTITY_OPTIONS if equality_options is None else equality_options
    fields = list(map_parameter_names(equality_options).values())
    listing = Listing(operation, cursor, returns, fields, view, predicates or {})
    filter_option: Options = {"filters": {"type": "list", "elements": "str"}} if cursor else {}
    return ModuleSpec(
        listing.run,
        {**equality_options, **LIST_OPTIONS, **filter_option, **(options or {})},
        selecting_options=(*equality_options, *map(format_option_name, listing.predicates)),
        own_types=listing.types,
        record_type=listing.record_type if operation else "",
    )


def _list_conditions(desired: Record) -> tuple[str, ...]:
    """Return the conditions of the query, or those of the cursor query."""
    return (*desired.get("query", ()), *desired.get("filters", ()))


def _find_oversights(desired: Record, record_type: str, selected: Sequence[Record]) -> list[str]:
    """Return why the conditions and the name that select no record may be meant otherwise."""
    conditions, name = _list_conditions(desired), str(desired.get("name", ""))
    if selected or not (conditions or name):
        return []
    from .._api.conditions import describe_oversights

    return describe_oversights(conditions, record_type, name)


def _select_fields(operation: str, names: Iterable[str | None]) -> dict[str, str]:
    """Return the parameter with which a query returns only these fields, and the one that identifies a record."""
    order = get_operation(operation).order
    fields = [*([order.removeprefix("+")] if order else []), *(to_camel_case(name) for name in names if name)]
    return {"fields": ",".join(dict.fromkeys(fields))}


def _format_equalities(equal: Record) -> list[str]:
    """Return the conditions that find at least all records with these values."""
    return [text for field, value in equal.items() if (text := format_equality(field, value))]


@contextmanager
def _explain_conditions(desired: Record, record_type: str) -> Iterator[None]:
    """Add to the refusal of a query what its fields may be meant as, if records lack them, and what filters may be."""
    try:
        yield
    except ApiError as failure:
        # Only failures need the code for conditions.
        from .._api.conditions import describe_refused, describe_unknown_fields

        failure.add_sentence(describe_refused(desired.get("filters", ()), record_type))
        failure.add_sentence(describe_unknown_fields(desired.get("query", ()), record_type))
        raise


def _explain_cursor(failure: Unsupported, client: Client, options: Sequence[str]) -> Unsupported:
    """Return the failure of a read, with the options that need a cursor query, if its token is missing."""
    if options and not client.connection.api_token:
        failure.add_sentence(
            f" It is for {' and '.join(options)}. The option query, and the filter sort for a result, need none."
        )
    return failure


def _check_fields(fields: Iterable[str], record_type: str) -> None:
    """Raise InvalidOptions for a field that the records of a type in RECORD_FIELDS lack."""
    known = [to_snake_case(name) for name in RECORD_FIELDS.get(record_type, ())]

    def suggest(name: str) -> str:
        return suggest_name(name, known, is_misspelling=True) or f" The fields are {', '.join(known)}."

    if unknown := [name for name in map(to_snake_case, fields) if known and name not in known]:
        raise InvalidOptions(f"fields: {describe_unknown_names('the records have no field', unknown, suggest)}")


def _add_doubts(context: ModuleContext, doubts: Sequence[str], waits: bool) -> None:
    """Add warnings to those of the task, which are shown when it ends, and show them before a wait."""
    context.warnings.extend(doubts)
    for doubt in doubts if waits else ():
        context.client.hooks.show_progress(doubt)


def _check_sort(field: str, record_type: str) -> None:
    """Raise InvalidOptions for a field with a sign for the order, and for one that is not written as in the API."""
    plain = field.lstrip("+-").strip()
    if plain != field:
        order = "desc" if field.startswith("-") else "asc"
        raise InvalidOptions(f"sort is the name of a field, without a sign. Write sort: {plain} and order: {order}")
    known = RECORD_FIELDS.get(record_type, ())
    if field and known and field not in known and (hint := suggest_name(to_camel_case(field), known, True)):
        raise InvalidOptions(f"sort: the records have no field {field}.{hint}")


def _check_list_options(desired: Record) -> None:
    """Raise InvalidOptions for a limit below 1, and for conditions of a query together with those of a cursor query."""
    if desired.get("limit", 1) < 1:
        raise InvalidOptions("limit must be at least 1")
    if desired.get("query") and desired.get("filters"):
        raise InvalidOptions(
            "query and filters are mutually exclusive: query needs a session, filters need api_token. Remove one of"
            " them."
        )


def _add_tags(client: Client, results: Sequence[Record]) -> None:
    """Add their user tags, sorted, to results, with one list: that of the object if there is one, or else of all."""
    rows = list_user_tags(client, results[0]["uuid"] if len(results) == 1 else None) if results else []
    tags: dict[str, list[str]] = {}
    for row in rows:
        tags.setdefault(row["resourceUuid"], []).append(get_tag(row))
    for result in results:
        result["tags"] = sorted(tags.get(result["uuid"], []))


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shape_members(operation: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented members of a reply, as empty lists if the service omits them."""
    members = {name: reply.get(name) or [] for name in get_operation(operation).result}
    return {**record_to_result(complete_members(members), get_operation(operation).record)}


def _collect_pages(pages: Iterable[tuple[list[Record], int | None]]) -> tuple[list[Record], int]:
    """Return the records of all pages, and the total of the service or the number of records, whichever is greater."""
    records: list[Record] = []
    total = 0
    for page, stated in pages:
        records += page
        total = stated or 0
    return records, max(total, len(records))


def _filter(
    records: list[Record], conditions: list[Condition], equal: Record, limit: int | None
) -> tuple[list[Record], int]:
    """Return the first records that meet the conditions and have the values in ``equal``, and how many there are."""
    matches = [
        record
        for record in records
        if not any(condition.rejects(record) for condition in conditions)
        and all(is_same_value(value, record.get(name)) for name, value in equal.items())
    ]
    return matches[:limit], len(matches)


def query_by(client: Client, operation: str, field: str, uuids: list[str]) -> dict[str, list[Record]] | None:
    """Return the records of a query as results, grouped by the uuid in their field (in snake_case).

    None if the service cannot list them.
    """
    conditions = [f"{to_camel_case(field)}={uuid}" for uuid in uuids]
    records_by: dict[str, list[Record]] = {}
    try:
        records = query(client, operation, conditions if len(conditions) == 1 else []) if conditions else []
    except Unsupported:
        return None
    for record in records:
        result = record_to_result(complete_record(get_operation(operation).record, record))
        records_by.setdefault(str(result[field]), []).append(result)
    return records_by
