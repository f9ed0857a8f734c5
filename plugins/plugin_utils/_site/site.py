"""The service as a workflow sees it: reads, and batches in which a failure stays with its object."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.errors import InvalidOptions, SeveralFailed, VirtinfraError
from ...module_utils._api.operations import get_operation
from ...module_utils._api.record_fields import NUMBER_FIELDS
from ...module_utils._api.records import Record, to_snake_case
from ...module_utils._api.resource_types import RESOURCE_TYPES
from ...module_utils._client.lists import extract_records, find_by_attribute, query, require_members
from ...module_utils._client.names import explain_unknown_uuid
from ...module_utils._client.stores import MemoryStore
from ...module_utils._engine.context import ModuleContext, TaskInterrupted
from ...module_utils._engine.tag_patterns import is_tag_pattern
from ...module_utils._http.hooks import do_nothing
from ...module_utils._masking.terminal import escape_controls
from ...module_utils._modules.options import CONNECTION
from ...module_utils._modules.run import Task, describe_failure, execute
from .._batch.batch import NOT_STARTED, NewJobUuid, name_object
from .._batch.modules import load_spec
from .variables import Play
from .window import Window
from .wish import Wish
from .written_file import WrittenFile

# The failure of an object that a batch has not begun with.
UNDONE = "Nothing was done for it. Run the role again."

# The states of VMs that were removed but are still listed.
GONE = ("Destroyed", "Expunging")

# More rows than services have: the default limit is 20.
MAX_SERVICE_TYPES = 100000

# The members of results that are numbers; replies have the names of the API.
_NUMBERS = frozenset({*NUMBER_FIELDS, *map(to_snake_case, NUMBER_FIELDS)})

# For how many seconds an interrupted workflow waits for calls that have begun something which it must end.
MAX_WAIT_FOR_CALLS = 600

# What people write as a name to select several objects.
_PATTERN = re.compile(r"[*?\[\]%]|^all$")

# How many changes a task with the differences shows.
MAX_DIFFS = 20


@dataclass(frozen=True)
class Selection:
    """The objects that references and conditions select, references without an object, and ambiguous objects.

    An object is ambiguous, by its uuid, if only its name selects it and others have the name, too. The references in
    ``unmet`` have no object among the selected ones because that does not meet the conditions.
    """

    objects: list[Record]
    missing: list[str]
    ambiguous: frozenset[str]
    unmet: frozenset[str] = frozenset()

    def find_problems(self, noun: str, place: str) -> list[str]:
        """Return what is wrong with the references, which stand in a place: no object has them, or several."""
        problems = [f"no {noun} has the name or uuid {', '.join(self.missing)} ({place})"] if self.missing else []
        if repeated := dict.fromkeys(each["name"] for each in self.objects if each["uuid"] in self.ambiguous):
            problems.append(f"several {noun}s have the name {', '.join(repeated)} ({place}): give uuids")
        return problems


def describe_missing(reference: str, variable: str, query: Sequence[str], unmet: Collection[str]) -> str:
    """Return why no VM is selected by a reference, and what to check.

    ``query`` are the conditions in a ``variable``, and ``unmet`` the references to VMs that do not meet them.
    """
    if reference in unmet:
        return (
            f"The VM does not meet {variable} ({', '.join(query)}). Change it, or omit it to select VMs by their names."
        )
    return f"No such VM. Check the name or uuid.{explain_missing([reference], variable)}"


def explain_missing(references: Collection[str], variable: str = "") -> str:
    """Return a sentence, and a space before it, if one of the references that select nothing looks like several.

    ``variable`` is where conditions can be written instead, if they can.
    """
    names = next((names for names in (re.split(r"[\s,;]+", each.strip()) for each in references) if names[1:]), [])
    if names:
        return f" If these are several names, write separate items: [{', '.join(names)}]."
    pattern = next((each for each in references if _PATTERN.search(each)), None)
    if pattern is None:
        return ""
    condition = re.sub(r"^all$|[*%]+", "%", pattern)
    is_simple = variable and "%" in condition and not re.search(r"[?\[\]]", condition)
    return f" Names are no patterns{f': use {variable}, such as name~={condition}' if is_simple else ''}."


# The function `run_objects`, with what it knows of the task.
RunObjects: TypeAlias = Callable[..., Record]


class MoverHost(Protocol):
    """The host of the task, on which modules run.

    A host that is unreachable, or cannot run modules, gives a failed result.
    """

    def run(self, module: str, arguments: Mapping[str, Any]) -> Record:
        """Return the result of a module."""

    def start(self, module: str, arguments: Mapping[str, Any], timeout: int, folder: str) -> Record:
        """Start a module that may run for so many seconds, and return its job, whose file is in a folder."""

    def look(self, job: str, folder: str) -> Record:
        """Return the result of a job, nothing while it works."""

    def run_command(self, command: Sequence[str], environment: Mapping[str, str]) -> Record:
        """Return the result of a command that runs without a shell, in check mode without running it."""


class Site:
    """The service, with the connection of the task and its check mode.

    ``meanwhile`` is called about once a second while a batch runs, as long as the run is not interrupted.
    """

    def __init__(
        self,
        context: ModuleContext,
        run_objects: RunObjects,
        play: Play | None = None,
        mover: MoverHost | None = None,
        shows_diff: bool = False,
    ) -> None:
        hooks = context.client.hooks = replace(context.client.hooks, is_in_role=True)
        self._context, self.check_mode, self._run_objects = context, context.check_mode, run_objects
        self.play = play or Play({}, lambda value: value, context.client.hooks.masker)
        self._diffs: list[Record] = []
        self.wishes: list[Wish] = []
        self._mover, self._shows_diff = mover, shows_diff
        self.meanwhile: Callable[[], None] = do_nothing
        self._hooks = replace(hooks, new_store=lru_cache(maxsize=None)(hooks.new_store))

    @property
    def service_url(self) -> str:
        """The URL of the service."""
        return self._context.client.connection.service_url

    def get_time(self) -> float:
        """Return the time in seconds, which no change of the clock affects."""
        return float(self._hooks.clock.monotonic())

    def get_date(self) -> datetime:
        """Return the date and time of the controller, in UTC."""
        now: datetime = self._hooks.clock.now()
        return now

    @property
    def mover(self) -> MoverHost:
        """The host of the task. Raise InvalidOptions outside a task of Ansible."""
        if self._mover is None:
            raise InvalidOptions("a workflow runs modules on the host of its task only as a task of Ansible")
        return self._mover

    def require_run(self) -> None:
        """Raise KeyboardInterrupt once the run has ended, of which this process is a worker."""
        self._hooks.before_send()

    def pause(self, seconds: float) -> None:
        """Wait before something is tried again. Raise KeyboardInterrupt once the run has ended."""
        for part in (1.0,) * int(seconds) + (seconds % 1,):
            self.require_run()
            self._hooks.clock.sleep(part)

    @contextmanager
    def outlive_run(self) -> Iterator[None]:
        """Let the workflow end what it has begun in this context when the run is interrupted, as if it went on.

        It gets a session of its own: that of the run ends with it. The calls that were interrupted are awaited: what
        they begin cannot be ended before.
        """
        try:
            yield
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._detach_from_run(stop)
            if isinstance(cause := stop.__cause__, KeyboardInterrupt):
                # The interruption names calls that are still running, but these calls have ended.
                raise cause from None
            raise

    def _detach_from_run(self, stop: BaseException) -> None:
        hooks, self.meanwhile = self._context.client.hooks, do_nothing
        hooks.outlive_parent()
        own = replace(hooks, new_store=lru_cache(maxsize=None)(MemoryStore))
        self._hooks = self._context.client.hooks = own
        if isinstance(stop, TaskInterrupted) and (jobs := stop.result.get("jobs")):
            with suppress(VirtinfraError):
                self.read("job_wait", jobs=jobs, wait_timeout=MAX_WAIT_FOR_CALLS)

    def show(self, line: str) -> None:
        """Show a line while the task runs."""
        self._hooks.show_progress(line)

    def warn(self, warning: str) -> None:
        """Show a warning with the task."""
        self._context.warnings.append(warning)

    def ask(self, wish: Wish) -> None:
        """Note what the run is asked for, before it acts, so that its report can be held against it."""
        self.wishes.append(wish)

    def read(self, module: str, **options: Any) -> Record:
        """Return the result of a module that reads. Raise VirtinfraError."""
        spec = load_spec(module)
        connection = {name: self._context.params[name] for name in CONNECTION}
        given = {name: value for name, value in connection.items() if value is not None}
        validated = ArgumentSpecValidator(spec.argument_spec).validate({**given, **options}).validated_parameters
        outcome = execute(Task(spec, {**validated, **connection}, self.check_mode), self._hooks)
        self._context.warnings.extend(outcome.warnings)
        if outcome.result.get("failed"):
            raise SeveralFailed(outcome.result["msg"], outcome.result["error"])
        _read_numbers(outcome.result)
        return outcome.result

    def batch(
        self,
        module: str,
        objects: Sequence[Record],
        concurrency: int,
        jobs: Mapping[str, NewJobUuid] | None = None,
        window: Window | None = None,
        /,
        **common: Any,
    ) -> list[Record]:
        """Run a module for all objects at the same time, and return one result for each, in their order.

        A result has ``changed``, ``failed`` and, if it is true, ``msg``. Without objects, nothing is done. ``jobs``
        provide the ids of the calls for objects by their uuids, or by those of their VMs, see `Marks.choose_jobs`. No
        object is begun with after the end of a window.
        """
        context = self._prepare(module, objects, concurrency, common)
        uuids = [str(given.get("uuid", given.get("vm"))) for given in objects]
        job_uuids = {number: jobs[uuid] for number, uuid in enumerate(uuids) if jobs and uuid in jobs}
        hooks: dict[str, Any] = {"meanwhile": self.meanwhile, **({"job_uuids": job_uuids} if jobs else {})}
        hooks |= {"may_begin": window.is_open} if window else {}
        try:
            results = _collect(partial(self._run_objects, **hooks), context, window.reason if window else UNDONE)
        finally:
            self._context.changed |= context.changed
        self._diffs += list_diffs(module, objects, results)
        return [drop_label(result, given) for result, given in zip(results, objects, strict=True)]

    def change(self, module: str, given: Record, **common: Any) -> Record:
        """Run a module for one object, and return its result, also if it has failed, in the form of ``batch``."""
        (result,) = self.batch(module, [given], 1, **common)
        return result

    def check(self, module: str, objects: Sequence[Record], concurrency: int, **common: Any) -> list[Record]:
        """Predict what a module would change, in the form of ``batch``, with the differences in ``diff``."""
        context = replace(self._prepare(module, objects, concurrency, common), check_mode=True)
        results = _collect(partial(self._run_objects, shows_diff=True), context, UNDONE)
        return [drop_label(result, given) for result, given in zip(results, objects, strict=True)]

    def _prepare(self, module: str, objects: Sequence[Record], concurrency: int, common: Record) -> ModuleContext:
        """Return the context of a batch in which a failure stays with its object.

        A null reference is that of an object that check mode has only predicted.
        """
        spec = load_spec(module)
        predicted = [{**given, **spec.predict_nulls(given)} for given in objects]
        options = {"module": module, "objects": predicted, "common": common, "concurrency": concurrency}
        rules = {"on_failure": "continue", "on_invalid": "continue", "wait": True}
        return replace(self._context, params={**self._context.params, **options, **rules}, changed=False)

    def write(self, file: WrittenFile) -> bool:
        """Write a file of the controller, and return whether that changes it. Raise VirtinfraError."""
        change = file.find_change()
        if change and self._shows_diff:
            self._diffs.append(change)
        if not self.check_mode:
            file.write()
        return change is not None

    def build_diff(self) -> list[Record]:
        """Return the differences of the first objects that have changed, and how many others have."""
        others = len(self._diffs) - MAX_DIFFS
        more = [{"prepared": f"and {others} more changes\n"}] if others > 0 else []
        return [*self._diffs[:MAX_DIFFS], *more]

    def read_service_types(self) -> list[Record]:
        """Return the service types of the interfaces of all hosts. Raise VirtinfraError."""
        row = get_operation("GetHostNicServiceTypeStatistic")
        reply = self.read("api", operation=row.name, params={"limit": MAX_SERVICE_TYPES})["reply"]
        records = extract_records(reply, row.name, *row.result)
        require_members(records, row.name, "hostUuid", "interfaceUuid")
        return records

    def read_user_tags(self, *conditions: str) -> list[Record]:
        """Return the records of the user tags that meet the conditions, with the names of the API.

        Raise VirtinfraError, also for a record that does not say which object has the tag.
        """
        tags = query(self._context.client, "QueryUserTag", conditions)
        require_members(tags, "QueryUserTag", "uuid", "resourceUuid")
        return tags

    def find_tag_pattern(self, text: str) -> str | None:
        """Return the uuid of a tag pattern that gives objects this tag, always the same one of several."""
        patterns = find_by_attribute(self._context.client, "QueryTag", "value", text)
        return min((str(row["uuid"]) for row in patterns if is_tag_pattern(row, text)), default=None)

    def explain_unknown_uuid(self, kind: str, uuid: str) -> str:
        """Return a sentence, and a space before it, with the object of another type that has a uuid; empty without."""
        return escape_controls(explain_unknown_uuid(self._context.client, RESOURCE_TYPES[kind], uuid))

    def select_vms(self, query: Sequence[str], references: Sequence[str], variable: str = "query") -> Selection:
        """Return the VMs that meet the conditions and, if there are references, have one of them as uuid or name."""
        vms = [vm for vm in read_query(self, "vm_info", query, variable)["vms"] if vm["state"] not in GONE]
        return _find_unmet(self, select(vms, references)) if query else select(vms, references)


def _find_unmet(site: Site, selection: Selection) -> Selection:
    """Return a selection that says which references select VMs without conditions."""
    if not selection.missing:
        return selection
    vms = [vm for vm in site.read("vm_info")["vms"] if vm["state"] not in GONE]
    unknown = select(vms, selection.missing).missing
    return replace(selection, unmet=frozenset(selection.missing).difference(unknown))


def find_addresses(url: str) -> set[str]:
    """Return the IP addresses of a service, by which its own VM can be found; none if they are not known."""
    with suppress(OSError):
        return {str(info[4][0]) for info in socket.getaddrinfo(urlsplit(url).hostname, None)}
    return set()


def _read_numbers(value: Any) -> None:
    """Read the numbers of records in a result, and of records inside them, that the service sends as strings.

    Any other value that is no number becomes None: it is not known.
    """
    for item in value if isinstance(value, list) else ():
        _read_numbers(item)
    for name, member in value.items() if isinstance(value, dict) else ():
        if name not in _NUMBERS:
            _read_numbers(member)
        elif type(member) not in (int, float):
            is_number = isinstance(member, str) and re.fullmatch(r"\s*[+-]?[0-9]+\s*", member)
            value[name] = int(member) if is_number else None


def _collect(run_objects: Callable[..., Record], context: ModuleContext, unstarted: str) -> list[Record]:
    """Run a batch, and return one result for each object. ``unstarted`` is why one has failed that was not begun."""
    objects = context.params["objects"]
    if not objects:
        return []
    try:
        results: list[Record] = run_objects(context)["results"]
    except SeveralFailed as failure:
        results = failure.result["results"]
    except VirtinfraError as failure:
        # For example a default of the play that the module does not have.
        results = [{"changed": False, **describe_failure(failure)}] * len(objects)
    undone = {"changed": False, **describe_failure(VirtinfraError(unstarted))}
    return [undone if result.get("outcome") == NOT_STARTED else result for result in results]


def drop_label(result: Record, given: Record) -> Record:
    """Return a result whose message does not begin with the object, often with its uuid: the report has its name."""
    for key in ("uuid", "name", "vm"):
        kind, label, reason = str(result.get("msg", "")).partition(f" {given.get(key)}: ")
        if label and re.fullmatch(r"[A-Za-z ]+", kind):
            return {**result, "msg": reason}
    return result


def list_diffs(module: str, objects: Iterable[Record], results: Iterable[Record]) -> list[Record]:
    """Return the differences of the objects that have changed, with headers that name them."""
    diffs = []
    for given, result in zip(objects, results, strict=True):
        diff = result.get("diff")
        if diff and diff["before"] != diff["after"]:
            label = f"{module} {name_object(given, diff)}"
            diffs.append({"before_header": label, "after_header": label, **diff})
    return diffs


def select(records: Iterable[Record], references: Collection[str]) -> Selection:
    """Return the records whose uuid or name is among the references, all if there are none.

    VMs whose uuids were given come first. A reference that is a uuid does not select by name.
    """
    records = list(records)
    if not references:
        return Selection(records, [], frozenset())
    wanted = set(references)
    by_uuid = [record for record in records if record["uuid"] in wanted]
    uuids = {record["uuid"] for record in by_uuid}
    by_name = [record for record in records if record["name"] in wanted - uuids and record["uuid"] not in uuids]
    counts = Counter(record["name"] for record in records)
    known = uuids | {record["name"] for record in (*by_name, *by_uuid)}
    return Selection(
        [*by_uuid, *by_name],
        [reference for reference in dict.fromkeys(references) if reference not in known],
        frozenset(record["uuid"] for record in by_name if counts[record["name"]] > 1),
    )


def read_query(site: Site, module: str, query: Sequence[str], variable: str) -> Record:
    """Return the result of a module for the conditions in a variable, which a failure names if it is about one."""
    try:
        return site.read(module, query=list(query))
    except VirtinfraError as failure:
        fields = {re.split(r"[^\w.]", text.strip(), maxsplit=1)[0] for text in query}
        if query and re.search(rf"\b({'|'.join(map(re.escape, fields))})\b", str(failure)):
            raise failure.with_label(variable) from None
        raise
