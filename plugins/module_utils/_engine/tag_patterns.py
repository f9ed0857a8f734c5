"""Attach user tags through tag patterns, on services that cannot add a user tag. See guide_comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from .._api.errors import ApiError, Unsupported, VirtinfraError
from .._api.operation import list_failed_items
from .._api.records import Record
from .._client.jobs import SUCCEEDED, Job
from .._client.lists import find_by_attribute
from .calls import (
    OFFERED,
    Call,
    Done,
    Refused,
    Turn,
    confirm_result,
    perform,
    remember_lack,
    require_operation,
)
from .context import ModuleContext
from .spec import PlannedCall
from .tags import ADD_TAG

_QUERY, _CREATE, _ATTACH = "QueryTag", "CreateTag", "AttachTagToResources"

# The fact whether a service without ADD_TAG offers tag patterns.
_PATTERNS = "tag patterns"

# The HTTP status of a job whose result contains an error.
_STATUS = 200


class TagPatterns:
    """Makes the calls of a task, those that add a user tag through a tag pattern if the service needs one.

    An object to which a pattern of the type simple is attached has the value of the pattern as a user tag.
    """

    def __init__(self, context: ModuleContext) -> None:
        self._context, self._client = context, context.client
        self._uuids: dict[str, str] = {}

    def perform(
        self, call: Call, planned: Iterable[PlannedCall], is_still_needed: Callable[[], bool | None]
    ) -> tuple[Call, Done | Refused]:
        """Make a call as `calls.perform` does; return the call that was made in its place, and its outcome.

        ``planned`` are the calls whose tags must have patterns before the first of them is attached. Raise Unsupported
        if the service lacks the operation.
        """
        is_tag = call.planned.operation == ADD_TAG
        known = self._client.facts.get(ADD_TAG) if is_tag else None
        lack = Unsupported(known, operation=ADD_TAG) if known else None
        try:
            if lack is None:
                return call, perform(call, is_still_needed)
        except Unsupported as found:
            remember_lack(self._client, call.planned.operation, found)
            if not is_tag:
                raise
            lack = found
        with self._explain(lack):
            for tag in list_added_tags(planned):
                self._provide(tag, call.deadline)
            attach = self._build_attachment(call)
            outcome = perform(attach, is_still_needed)
        return attach, self._check_results(attach, outcome)

    def require(self, lack: Unsupported, tags: Iterable[str]) -> None:
        """Raise ``lack``, that of ADD_TAG, if the tags cannot be attached through patterns either.

        Patterns that do not exist are created, because nothing else shows that the service can create them. Check mode
        only knows what an earlier task of the run has found out.
        """
        with self._explain(lack):
            if self._client.options.read_only:
                if (fact := self._client.facts.get(_PATTERNS)) not in (None, OFFERED):
                    raise Unsupported(str(fact))
                return
            self._require_attachment()
            for tag in tags:
                self._provide(tag, self._client.wait.compute_deadline())

    def _build_attachment(self, call: Call) -> Call:
        """Return the call that attaches the pattern of a tag to the object of a call, with the pattern created."""
        tag, uuid = (call.planned.params[name] for name in ("tag", "resourceUuid"))
        params = {"tagUuid": self._provide(tag, call.deadline), "resourceUuids": [uuid]}
        return call._replace(planned=call.planned._replace(operation=_ATTACH, params=params))

    def _provide(self, tag: str, deadline: float) -> str:
        """Return the uuid of the pattern of a tag, which the task reads once, or creates.

        Of several tasks of a run that need a new pattern, one creates it.
        """
        if tag not in self._uuids:
            self._uuids[tag] = self._find(tag) or self._create_in_turn(tag, deadline)
        return self._uuids[tag]

    def _create_in_turn(self, tag: str, deadline: float) -> str:
        """Create the pattern of a tag, unless another task has meanwhile, and return its uuid."""
        label = f"tag pattern {tag}"
        turn = Turn(self._client, _CREATE)
        try:
            turn.take(json.dumps([_CREATE, tag]), label, deadline)
            return self._find(tag) or self._create(tag, label, deadline)
        finally:
            turn.end()

    def _find(self, tag: str) -> str | None:
        """Return the uuid of the pattern of a tag, always the same one of several; None if there is none."""
        records = find_by_attribute(self._client, _QUERY, "value", tag)
        return min((str(record["uuid"]) for record in records if is_tag_pattern(record, tag)), default=None)

    def _create(self, tag: str, label: str, deadline: float) -> str:
        """Create the pattern of a tag, and return its uuid. Raise VirtinfraError if there is none afterwards.

        Raise Unsupported before a pattern is created that cannot be attached.
        """
        self._require_attachment()
        planned = PlannedCall(_CREATE, {"name": tag, "value": tag, "type": "simple"}, {})
        call = Call(self._client, planned, label, True, deadline)
        outcome = perform(call, lambda: self._find(tag) is None)
        if isinstance(outcome, Done):
            self._context.record_call(_CREATE, warnings=outcome.warnings)
        if pattern := self._find(tag):
            return pattern
        if isinstance(outcome, Refused):
            raise outcome.error
        raise VirtinfraError(f"{_CREATE} succeeded, but there is no {label}")

    def _require_attachment(self) -> None:
        """Raise Unsupported if patterns cannot be attached, without attaching one. The run asks the service once."""
        if self._client.facts.get(_PATTERNS) != OFFERED:
            require_operation(self._client, PlannedCall(_ATTACH, {"resourceUuids": [], "tagUuid": ""}, {}))
            self._client.facts[_PATTERNS] = OFFERED

    @contextmanager
    def _explain(self, lack: Unsupported) -> Iterator[None]:
        """Raise the lack of ADD_TAG in place of that of an operation on patterns, and remember it for check mode."""
        try:
            yield
        except Unsupported as other:
            self._client.facts[_PATTERNS] = other.reason
            lack.add_sentence(f" Tags cannot be attached through tag patterns either: {other.reason}.")
            raise lack from None

    def _check_results(self, call: Call, outcome: Done | Refused) -> Done | Refused:
        """Return the outcome of an attachment: the job succeeds although the tag was not attached."""
        if isinstance(outcome, Refused) or outcome.job.state != SUCCEEDED or not _find_failure(outcome.job):
            return outcome
        confirm_result(call, outcome.job)
        failure = _find_failure(outcome.job)
        return Refused(outcome.job, failure) if failure else outcome


def list_added_tags(calls: Iterable[PlannedCall]) -> list[str]:
    """Return the tags that calls add."""
    return [str(call.params["tag"]) for call in calls if call.operation == ADD_TAG]


def is_tag_pattern(record: Record, tag: str) -> bool:
    """Return whether a pattern gives objects this tag; a comparison of the service ignores capital letters."""
    return record.get("type") == "simple" and record.get("value") == tag


def _find_failure(job: Job) -> ApiError | None:
    """Return the failure in the results of an attachment, None if there is none."""
    failed, dummy = list_failed_items(job.result)
    if not failed:
        return None
    error = failed[0].get("error")
    failure = ApiError(_ATTACH, _STATUS, error if isinstance(error, dict) else {"details": str(error or failed[0])})
    failure.is_of_own_job = job.has_own_uuid
    return failure
