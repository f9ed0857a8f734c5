"""Run a module for many objects at the same time, in threads of one worker."""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.errors import InvalidOptions, SeveralFailed, join_first
from ...module_utils._api.operations import get_operation
from ...module_utils._api.references import list_names
from ...module_utils._api.resource_types import REFERS_TO
from ...module_utils._client.client import Hooks, ignore_target
from ...module_utils._client.jobs import RUNNING, UNKNOWN, Job
from ...module_utils._client.joined_names import JoinedStore
from ...module_utils._client.joined_reads import JoinedReads, Turnout
from ...module_utils._client.joined_waits import JobPoller, JoinedWaits
from ...module_utils._engine.context import ModuleContext, TaskInterrupted, describe_call
from ...module_utils._http.adapter import AdapterPool
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._http.hooks import do_nothing
from ...module_utils._http.stopping import Stop, StoppableClock
from ...module_utils._masking.masker import collect_secrets
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.options import (
    CONNECTION,
    GROUP_OPTIONS,
    TAGS,
    WAIT,
)
from ...module_utils._modules.run import ModuleResult, Task, describe_failure, describe_option_errors, execute
from ...module_utils._modules.sizes import unify_values
from ...module_utils._modules.spec import ModuleSpec
from .._run.given_options import keep_other_tags, prefer_given_options
from .._run.predictions import list_created
from .._run.profiles import Profiles
from .modules import choose_module
from .targets import SharedTarget, Targets
from .whole_records import refuse_query, refuse_records

# How many objects a message names.
MAX_NAMED = 5

# After how many seconds a line of progress is shown, each time.
PROGRESS_INTERVAL = 10.0

# After how many seconds the names of objects that have failed are shown, each time.
FAILURE_INTERVAL = 1.0

# The options whose value names an object in a line of progress.
NAMING_OPTIONS = ("name", "management_ip", "vm", "host", "uuid")

# The outcome of an object that no thread has begun with.
NOT_STARTED = "not_started"

# How many seconds an interrupted task waits for its threads, which may be waiting for a response.
MAX_WAIT_FOR_THREADS = 2.0

# For how many seconds a thread computes before another one interrupts it. With the default of Python, 5 ms, hundreds of
# threads that wait for their turn take a tenth of the processor time; a thread that sends or receives does not wait.
SWITCH_INTERVAL = 0.1

# The open files that a worker needs in addition to one for each object: connections, and files of the run.
OTHER_FILES = 100


# The hook `new_job_uuid` of one object.
NewJobUuid = Callable[[], str]


@dataclass
class BatchItem:
    """One object: its number, the options as given, its task, its jobs, and its result once it has ended.

    An object with invalid options has no task, but a result. ``new_job_uuid`` and ``claim_target`` are those of `Hooks`
    for its calls.
    """

    number: int
    given: Mapping[str, Any]
    task: Task | None
    new_job_uuid: NewJobUuid | None = None
    claim_target: Callable[[str], None] = ignore_target
    jobs: list[Job] = field(default_factory=list)
    result: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)

    def complete_hooks(self, hooks: Hooks) -> Hooks:
        """Return the hooks of the batch with those of this object."""
        return replace(hooks, on_job=self.jobs.append, new_job_uuid=self.new_job_uuid, claim_target=self.claim_target)

    def refuse(self, mistake: InvalidOptions) -> None:
        """Let the object fail, because its options are invalid."""
        self.task, self.result = None, {"changed": False, **describe_failure(mistake)}

    @property
    def has_failed(self) -> bool:
        """Whether the object has failed."""
        return bool(self.result and self.result.get("failed"))

    @property
    def outcome(self) -> str:
        """The member of ``counts`` that counts the object."""
        if self.result is None:
            return NOT_STARTED
        if self.has_failed:
            return "failed"
        return "changed" if self.result["changed"] else "unchanged"

    def describe_failure(self) -> str:
        """Return the name of an object that has failed, with the code of its error."""
        named = (self.given.get(option) for option in NAMING_OPTIONS)
        name = next(filter(None, named), f"objects[{self.number}]")
        return f"{name} ({(self.result or {}).get('error', {}).get('code')})"

    def format_result(self) -> dict[str, Any]:
        """Return the result in the form of the result of a loop."""
        skipped = {"changed": False, "skipped": True, "msg": "not started"}
        result = skipped if self.result is None else self.result
        return {"failed": False, **result, "item": self.given, "outcome": self.outcome}


def run_objects(
    find_defaults: Callable[[str], Mapping[str, Any]],
    context: ModuleContext,
    shows_diff: bool = False,
    profiles: Profiles | None = None,
    given: Container[str] = (),
    job_uuids: Mapping[int, NewJobUuid] | None = None,
    may_begin: Callable[[], bool] = lambda: True,
    meanwhile: Callable[[], None] = do_nothing,
) -> dict[str, Any]:
    """Run the module of the option ``module`` for each of ``objects``, and return the result of the task.

    ``find_defaults`` returns the defaults of the play for a module, ``profiles`` the options of a profile that an
    object names, and ``given`` are the names of the options of the task, with those of its profile. ``job_uuids``
    provide the ids for the calls of objects, by their numbers; those of other objects are random. While ``may_begin``
    returns False, no object is begun with. ``meanwhile`` is called about once a second while objects run. Raise
    InvalidOptions, before anything is sent, if an object is invalid, SeveralFailed if an object has failed, and
    TaskInterrupted if calls may still be running.
    """
    profiles = profiles or Profiles()
    name, spec = choose_module(context.params["module"], context.params["objects"])
    defaults = find_defaults(name)
    common = _combine_common(context.params, spec, defaults, profiles, given)

    def complete(given: Mapping[str, Any]) -> dict[str, Any]:
        return keep_other_tags(profiles.combine(common, given), defaults)

    items = _build_items(context, name, spec, complete)
    for number, new_job_uuid in (job_uuids or {}).items():
        items[number].new_job_uuid = new_job_uuid
    names = frozenset(_list_common_names(spec, items, common))
    _compare_targets(context, items, names, meanwhile)
    batch = Batch(context, items, names, shows_diff, may_begin, meanwhile)
    try:
        batch.run()
    except BaseException as stop:
        if running := list(batch.list_running_jobs()):
            raise _build_interruption(context, running, items) from stop
        raise
    context.changed = any(item.result and item.result["changed"] for item in items)
    context.warnings.extend(dict.fromkeys(warning for item in items for warning in item.warnings))
    result = _format_items(items)
    if shows_diff:
        result["diff"] = list(_list_diffs(items))
    _raise_failures(items, result)
    outcomes = [f"{count} {outcome}" for outcome, count in result["counts"].items() if count]
    return {**result, "msg": ", ".join(outcomes) or "no objects"}


def _build_interruption(context: ModuleContext, running: Sequence[Job], items: Sequence[BatchItem]) -> TaskInterrupted:
    """Return the failure of an interrupted task, with the handles of the jobs that may still be running."""
    calls = _format_first([f"{describe_call(job)} (job {job.uuid})" for job in running])
    message = f"{len(running)} calls may still be running in the service. Continue with job_wait: {calls}."
    handles = [job.build_handle() for job in running]
    return TaskInterrupted(message, context.client.hooks.masker, jobs=handles, **_format_items(items))


def _raise_failures(items: Sequence[BatchItem], result: Mapping[str, Any]) -> None:
    """Raise SeveralFailed, with the error of the first failure, if an object has failed."""
    failures = {item.number: item.result for item in items if item.result and item.has_failed}
    if failures:
        messages = [f"objects[{number}]: {each['msg'].rstrip('.')}" for number, each in failures.items()]
        message = f"{len(failures)} of {len(items)} objects failed: {_end_sentence(_format_first(messages))}"
        error = next(iter(failures.values()))["error"]
        if error["code"] == InvalidOptions.code:
            # Something may have been sent for other objects.
            error = {**error, "description": "The options of an object are invalid. Nothing was changed for it."}
        raise SeveralFailed(message, error, **result)


def _combine_common(
    params: Mapping[str, Any],
    spec: ModuleSpec,
    defaults: Mapping[str, Any],
    profiles: Profiles,
    given: Container[str],
) -> dict[str, Any]:
    """Return the options that all objects have: the defaults of the module, those of the task, and ``common``."""
    inherited = {
        option: params[option]
        for option, rules in {**CONNECTION, **WAIT, **TAGS}.items()
        if params[option] is not None and (option in given or params[option] != rules.get("default"))
    }
    if defaults.get("profile") == params["profile"]:
        # The options of the task are those of this profile already.
        defaults = {option: value for option, value in defaults.items() if option != "profile"}
    shared = profiles.combine(profiles.combine({}, defaults), inherited | {"profile": ""})
    options = spec.argument_spec
    if "user_tags" in shared.keys() - options.keys() and shared["user_tags"] != defaults.get("user_tags"):
        raise InvalidOptions("user_tags are not compared with those of objects. Set tags and tags_mode in common")
    common = {option: value for option, value in shared.items() if option in options or option not in GROUP_OPTIONS}
    return profiles.combine(common, params["common"] or {})


def _build_items(
    context: ModuleContext, name: str, spec: ModuleSpec, complete: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> list[BatchItem]:
    """Return the objects with validated options; those that are invalid have failed.

    ``complete`` adds the options that they share to those of an object.
    """
    params = context.params
    if params["job_uuid"]:
        raise InvalidOptions(
            "job_uuid cannot be shared, because each call needs its own: set it in each item of objects"
        )
    if params["concurrency"] < 1:
        raise InvalidOptions("concurrency must be at least 1")
    refuse_records(params["objects"], spec)
    refuse_query(name.rpartition(".")[2], spec, [*params["objects"], params["common"] or {}])
    if not params["objects"]:
        _check_common(context, name, spec)
    validator = ArgumentSpecValidator(spec.argument_spec, **spec.constraints)
    hooks = context.client.hooks
    hooks = replace(hooks, on_request=None, new_store=lru_cache(maxsize=None)(hooks.new_store))
    # Objects with equal connections share one, and so what is found out about it, such as the proxy.
    connections: dict[ConnectionOptions, ConnectionOptions] = {}
    items: list[BatchItem] = []
    predicted = list_created() if context.check_mode else []
    for number, given in enumerate(params["objects"]):
        try:
            arguments = prefer_given_options(spec.mark_nulls(complete(given), predicted))
            task = Task(spec, _validate(name, spec, validator, arguments, hooks), context.check_mode)
            task.connection = connections.setdefault(task.connection, task.connection)
            task.check(hooks)
            items.append(BatchItem(number, given, task, warnings=spec.find_alias_warnings(arguments)))
        except InvalidOptions as mistake:
            items.append(BatchItem(number, given, None))
            items[number].refuse(mistake)
    return items


def _check_common(context: ModuleContext, name: str, spec: ModuleSpec) -> None:
    """Raise InvalidOptions for options in ``common`` that no object could have. An empty list has none to check."""
    options = {option: {**rules, "required": False} for option, rules in spec.argument_spec.items()}
    exclusive = {"mutually_exclusive": spec.constraints.get("mutually_exclusive")}
    try:
        given = spec.mark_nulls(context.params["common"] or {})
        _validate(name, spec, ArgumentSpecValidator(options, **exclusive), given, context.client.hooks)
    except InvalidOptions as mistake:
        raise InvalidOptions(f"common: {mistake}") from None


def _compare_targets(
    context: ModuleContext,
    items: Sequence[BatchItem],
    names: Container[tuple[str, ...]],
    meanwhile: Callable[[], None],
) -> None:
    """Refuse objects with one target, and prepare the others to refuse it later. Raise InvalidOptions for any.

    The targets are read if the options do not show whether they are the same.
    """
    targets = Targets()
    for item in items:
        if item.task:
            targets.add(item.task, item.number)
            item.claim_target = targets.build_claim(item.task, item.number)
    _refuse_shared(context, items, targets)
    reads = []
    for number in targets.list_unread():
        item = items[number]
        if item.task:
            note = targets.build_note(item.task, number)
            reads.append(BatchItem(number, item.given, item.task.predict(), claim_target=note))
    if reads:
        TargetReads(context, reads, names, meanwhile=meanwhile).run()
        _refuse_shared(context, items, targets, were_read=True)


def _refuse_shared(
    context: ModuleContext, items: Sequence[BatchItem], targets: Targets, were_read: bool = False
) -> None:
    """Refuse all objects that have one target. Raise InvalidOptions if any is invalid, unless ``on_invalid`` says so.

    ``were_read`` says that the targets were read.
    """
    failure = SharedTarget if were_read else InvalidOptions
    for number, reason in targets.list_shared():
        if items[number].task:
            items[number].refuse(failure(reason))
    mistakes = [f"objects[{item.number}]: {item.result['msg'].rstrip('.')}" for item in items if item.result]
    if mistakes and context.params["on_invalid"] == "fail":
        count = (
            f"{len(mistakes)} of {len(items)} objects are invalid, and nothing was {'changed' if were_read else 'sent'}"
        )
        raise failure(f"{count}. {_end_sentence(_format_first(mistakes))}")


def _list_common_names(
    spec: ModuleSpec, items: Sequence[BatchItem], common: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Yield the types and names of the references that objects do not give themselves."""
    types = {option: REFERS_TO[name] for option, name in spec.references.items() if name in REFERS_TO}
    for item in items:
        for option in types.keys() & common.keys() - item.given.keys():
            for name in list_names(item.task.params.get(option)) if item.task else ():
                yield types[option].name, name


def _validate(
    name: str, spec: ModuleSpec, validator: ArgumentSpecValidator, arguments: Mapping[str, Any], hooks: Hooks
) -> dict[str, Any]:
    """Return the validated options of an object, and mask their secrets from now on. Raise InvalidOptions."""
    hooks.masker.add(*collect_secrets(spec.argument_spec, arguments))
    arguments = unify_values(spec.all_options, arguments)
    check_forms(spec.all_options, arguments, module=name.rpartition(".")[2])
    validation = validator.validate(dict(arguments))
    params: dict[str, Any] = validation.validated_parameters
    hooks.masker.add(*collect_secrets(spec.argument_spec, params))
    if validation.error_messages:
        raise InvalidOptions(describe_option_errors(name, validation.errors.errors))
    return params


def _format_items(items: Sequence[BatchItem]) -> dict[str, Any]:
    """Return the results of all objects in their order, and how many there are of each outcome."""
    outcomes = [item.outcome for item in items]
    counts = {name: outcomes.count(name) for name in ("changed", "unchanged", "failed", NOT_STARTED)}
    return {"results": [item.format_result() for item in items], "counts": counts}


def _list_diffs(items: list[BatchItem]) -> Iterator[dict[str, Any]]:
    """Yield the differences of the objects that have changed, with headers that name them."""
    for item in items:
        diff = (item.result or {}).get("diff")
        if diff and diff["before"] != diff["after"]:
            label = f"objects[{item.number}] {name_object(item.given, diff)}"
            yield {"before_header": label, "after_header": label, **diff}


def name_object(given: Mapping[str, Any], diff: Mapping[str, Any]) -> str:
    """Return the name of an object with its uuid, from its options and its difference, for the header of the latter."""
    sides = [side for side in (diff["after"], diff["before"]) if isinstance(side, Mapping)]
    name, uuid = (next(filter(None, (side.get(key) for side in (*sides, given))), None) for key in ("name", "uuid"))
    if name and uuid:
        return f"{name} ({uuid})"
    return str(name or uuid or next(filter(None, (given.get(option) for option in NAMING_OPTIONS)), ""))


def _format_first(texts: list[str]) -> str:
    """Return the first texts, and the number of others."""
    return join_first(texts, MAX_NAMED, "; ")


def _end_sentence(text: str) -> str:
    """Add a full stop, unless the text ends with a question, such as which option was meant."""
    return text if text.endswith("?") else f"{text}."


class Batch:
    """Runs the objects: as many at the same time as the option ``concurrency`` says.

    ``common_names`` are the types and names of objects that all objects refer to; the batch looks up each once.
    Unless the task shows differences, the results have none: they would be two thirds of what Ansible copies and visits
    several times.
    """

    def __init__(
        self,
        context: ModuleContext,
        items: list[BatchItem],
        common_names: Container[tuple[str, ...]],
        shows_diff: bool = False,
        may_begin: Callable[[], bool] = lambda: True,
        meanwhile: Callable[[], None] = do_nothing,
    ) -> None:
        self._context, self._items, self._shows_diff, self._may_begin = context, items, shows_diff, may_begin
        self._meanwhile = meanwhile
        self._waiting = iter([(item, item.task) for item in items if item.task])
        self._condition = threading.Condition()
        self._active = 0
        stops = context.params["on_failure"] == "stop"
        self._starts_no_more = stops and any(item.has_failed for item in items)
        self._cause: BaseException | None = None
        hooks = context.client.hooks
        self._stop = Stop(hooks.before_send)
        self._poller, self._turnout = JobPoller(hooks.clock), Turnout()
        self._hooks = replace(
            hooks,
            clock=StoppableClock(hooks.clock, self._stop),
            on_progress=None,
            before_send=self._stop.check,
            connections=hooks.connections or AdapterPool(),
            new_store=lru_cache(maxsize=None)(partial(JoinedStore, hooks.new_store, common_names)),
            waits=JoinedWaits(self._poller, self._turnout),
            reads=JoinedReads(self._turnout),
        )

    def run(self) -> None:
        """Run all objects. Raise the interruption of the task. No thread sends anything after it."""
        count = _limit_threads(min(self._context.params["concurrency"], len(self._items)))
        try:
            with _switch_seldom():
                for dummy in range(count):
                    with self._condition:
                        self._active += 1
                    self._turnout.resume()
                    threading.Thread(target=self._work, daemon=True).start()
                self._wait_for_threads()
        except BaseException as stop:
            self._cause = self._cause or stop
        self._stop.set()
        self._poller.stop(self._cause or KeyboardInterrupt())
        if self._cause:
            with self._condition:
                self._condition.wait_for(lambda: not self._active, MAX_WAIT_FOR_THREADS)
            raise self._cause

    def list_running_jobs(self) -> Iterator[Job]:
        """Yield the jobs of calls that may still be running, except those of logins."""
        for item in self._items:
            for job in list(item.jobs):
                if job.state in (RUNNING, UNKNOWN) and get_operation(job.operation).credential != "none":
                    yield job

    def _wait_for_threads(self) -> None:
        """Wait for all threads, and show the progress. Raise what a thread raised."""
        hooks, start = self._context.client.hooks, time.monotonic()
        next_progress = start + PROGRESS_INTERVAL
        shown: set[int] = set()
        while self._wait_for_some(max(0.0, min(FAILURE_INTERVAL, next_progress - time.monotonic()))):
            failed = [item for item in self._items if item.has_failed and item.number not in shown]
            if failed and self._active:
                hooks.show_progress(f"failed: {_format_first([item.describe_failure() for item in failed])}")
                shown.update(item.number for item in failed)
            if time.monotonic() >= next_progress:
                hooks.show_progress(self._describe_progress(time.monotonic() - start))
                next_progress += PROGRESS_INTERVAL
            self._meanwhile()
        if self._cause:
            raise self._cause

    def _wait_for_some(self, seconds: float) -> bool:
        """Wait until all threads have ended, for so many seconds at most, and return whether any still runs."""
        with self._condition:
            if self._active and not self._cause:
                self._condition.wait(seconds)
            return bool(self._active and not self._cause)

    def _describe_progress(self, elapsed: float) -> str:
        """Return how many objects are done, have failed, and run, after a time in seconds."""
        outcomes = Counter(item.outcome for item in self._items)
        done = outcomes["changed"] + outcomes["unchanged"]
        return (
            f"after {elapsed:.0f} s: {done} of {len(self._items)} done, {outcomes['failed']} failed,"
            f" {self._active} running"
        )

    def _work(self) -> None:
        """Run one object after the other, in a thread."""
        try:
            while chosen := self._choose_next():
                item, task = chosen
                self._keep(item, execute(task, item.complete_hooks(self._hooks)))
                self._starts_no_more |= item.has_failed and self._context.params["on_failure"] == "stop"
        except BaseException as stop:
            self._cause = self._cause or (stop.__cause__ if isinstance(stop, TaskInterrupted) else stop)
        finally:
            self._turnout.pause()
            with self._condition:
                self._active -= 1
                # The main thread waits for all objects. Waking it for each object would cost two switches of threads.
                if self._cause or not self._active:
                    self._condition.notify_all()

    def _keep(self, item: BatchItem, outcome: ModuleResult) -> None:
        """Keep the outcome of an object."""
        item.warnings += outcome.warnings
        if not self._shows_diff:
            outcome.result.pop("diff", None)
        item.result = outcome.result

    def _choose_next(self) -> tuple[BatchItem, Task] | None:
        """Return the next object to start with its task, None if there is none."""
        with self._condition:
            if self._stop.is_set() or self._starts_no_more or not self._may_begin():
                return None
            return next(self._waiting, None)


class TargetReads(Batch):
    """Reads the targets of objects in check mode, for the hooks ``claim_target``. What fails will fail again."""

    def _keep(self, item: BatchItem, outcome: ModuleResult) -> None:
        """Keep nothing."""


@contextmanager
def _switch_seldom() -> Iterator[None]:
    """Let each thread of this process compute for SWITCH_INTERVAL before another one interrupts it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def _limit_threads(count: int) -> int:
    """Return how many objects this process can run at the same time: each may hold a lock, which is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count if soft == resource.RLIM_INFINITY else max(1, min(count, soft - OTHER_FILES))
