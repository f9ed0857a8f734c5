"""Stop and start VMs: ask their guests, give them their time, and only then cut the power."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.conditions import describe_exclusions
from ...module_utils._api.error_code import is_about_account
from ...module_utils._api.records import Record
from .marks import Mark, Marks
from .report import Outcome
from .site import GONE, Selection, Site, read_query, select
from .window import Window

RUNNING, PAUSED = "Running", "Paused"

# The states of VMs that do not run. A VM that was created but never started needs no stop.
NOT_RUNNING = ("Stopped", "Created", *GONE)

# How many seconds pass before a guest is asked again whose service has refused.
PAUSE = 5.0

# How many seconds a guest that was refused is asked again at least, if the others of its group have used up the time.
LEAST_TIME = 60.0

# The codes of failures that asking again does not repair.
FINAL = ("AMBIGUOUS", "BUG", "INVALID", "NOT_FOUND", "UNCHANGEABLE", "UNSUPPORTED")
TIMEOUT = "TIMEOUT"

SKIPPED = "a VM of an earlier group failed"


@dataclass
class PoweredVm:
    """A VM of a group, its state before, and what becomes of it.

    ``was`` is the state to which it returns, and ``mark`` what says so in the service.
    """

    uuid: str
    name: str
    group: str
    state: str
    was: str = RUNNING
    mark: Mark | None = None
    outcome: Outcome = field(default_factory=Outcome)
    powered_off: bool = False
    problem: str | None = None

    @classmethod
    def from_record(cls, vm: Record, group: str) -> PoweredVm:
        """Return the VM of a record, as a member of a group."""
        return cls(vm["uuid"], vm["name"], group, vm["state"])

    @property
    def is_running(self) -> bool:
        """Whether the VM may run."""
        return self.state not in NOT_RUNNING

    @property
    def is_put_back(self) -> bool:
        """Whether the VM is as it was, or a person has put it into another state in which it runs."""
        return self.state in (RUNNING, PAUSED)

    def note(self, result: Mapping[str, Any]) -> None:
        """Note a result, which replaces the problem of an earlier one.

        If nothing is to do after a failure, the call that failed has changed the VM.
        """
        self.outcome.is_changed |= bool(result["changed"]) or (not result["failed"] and self.problem is not None)
        self.problem = str(result["msg"]) if result["failed"] else None


@dataclass(frozen=True)
class Patience:
    """How many seconds a guest may take, all guests of a group, and until when, if there is a limit.

    ``variable`` is the one that says so.
    """

    guest: float
    group: float
    variable: str
    limit: float = float("inf")


def ask_guests(
    site: Site,
    vms: Sequence[PoweredVm],
    patience: Patience,
    concurrency: int,
    marks: Marks | None = None,
    window: Window | None = None,
) -> list[PoweredVm]:
    """Ask guests to shut down, and return those whose time is over.

    The time of a guest is over if its shutdown did not end in time, or if the service has refused it all the time. A
    guest that cannot be asked has a problem, but its time is not over.
    """
    late: list[PoweredVm] = []
    pending, is_first = list(vms), True
    end = min(site.get_time() + patience.group, patience.limit)
    while pending:
        # All rounds of a group that is larger than the concurrency share the time.
        rounds = -(-len(pending) // concurrency)
        seconds = min(patience.guest, (end - site.get_time()) / rounds)
        if seconds < 1:
            return late + pending
        options: dict[str, Any] = {"state": "stopped", "stop_type": "grace", "wait_timeout": seconds}
        results = _change(site, pending, concurrency, marks, window, **options)
        failed = [(vm, str(result["error"]["code"])) for vm, result in results if result["failed"]]
        late += [vm for vm, code in failed if code == TIMEOUT]
        pending = [vm for vm, code in failed if code != TIMEOUT and not is_final(code) and not site.check_mode]
        if window and not window.is_open():
            pending = []
        if is_first:
            least = site.get_time() + min(LEAST_TIME, patience.guest)
            end, is_first = min(max(end, least), patience.limit), False
        if pending:
            site.pause(min(PAUSE, max(0.0, end - site.get_time())))
    return late


def is_final(code: str) -> bool:
    """Return whether a failure with this code occurs again whenever the call is repeated."""
    return code in FINAL or is_about_account(code)


def stop(
    site: Site,
    vms: Iterable[PoweredVm],
    patience: Patience,
    concurrency: int,
    cold_timeout: int | None,
    marks: Marks | None = None,
    window: Window | None = None,
) -> None:
    """Stop the VMs of a group. Cut the power of those whose time is over, unless ``cold_timeout`` is None.

    The calls for marked VMs have the job ids of ``marks``. No guest is asked after the end of ``window``.
    """
    due = [vm for vm in vms if vm.is_running]
    late = ask_guests(site, due, patience, concurrency, marks, window)
    if cold_timeout is None:
        for vm in late:
            vm.problem = vm.problem or f"{patience.variable} was over before it could be stopped"
    else:
        options: dict[str, Any] = {"state": "stopped", "stop_type": "cold", "wait_timeout": cold_timeout}
        for vm, result in _change(site, late, concurrency, marks, **options):
            vm.powered_off = bool(result["changed"]) and not result["failed"]
    _conclude(due)


def start(site: Site, vms: Iterable[PoweredVm], concurrency: int, timeout: int, window: Window | None = None) -> None:
    """Start the VMs of a group, and pause those that were paused, none after the end of ``window``."""
    due = [vm for vm in vms if vm.state != vm.was]
    for was, state in ((RUNNING, "running"), (PAUSED, "paused")):
        members = [vm for vm in due if vm.was == was]
        _change(site, members, concurrency, None, window, state=state, wait_timeout=timeout)
    _conclude(due)


def _conclude(vms: Iterable[PoweredVm]) -> None:
    """Fail the VMs with the problems that remain."""
    for vm in vms:
        if vm.problem is not None:
            vm.outcome.fail(vm.problem)


def _change(
    site: Site,
    vms: Sequence[PoweredVm],
    concurrency: int,
    marks: Marks | None = None,
    window: Window | None = None,
    **options: Any,
) -> list[tuple[PoweredVm, Record]]:
    """Change VMs, note the results, and return them with the VMs."""
    jobs = marks.choose_jobs([vm.mark for vm in vms if vm.mark]) if marks else None
    results = site.batch("vm", [{"uuid": vm.uuid} for vm in vms], concurrency, jobs, window, **options)
    for vm, result in zip(vms, results, strict=True):
        vm.note(result)
    return list(zip(vms, results, strict=True))


@dataclass(frozen=True)
class Group:
    """A group of VMs that exist, and what its names and uuids select.

    ``scope`` says, for messages, that only VMs that meet the query of the group count.
    """

    name: str
    vms: list[Record]
    selection: Selection
    scope: str = ""

    def find_problems(self, variable: str) -> list[str]:
        """Return what is wrong with its names and uuids, which stand in a variable."""
        return self.selection.find_problems("VM", f"the group {self.name} of {variable}{self.scope}")


def find_groups(
    site: Site, wanted: Sequence[Record], known: Mapping[tuple[str, ...], list[Record]] | None = None
) -> list[Group]:
    """Return the groups of a variable. Groups with equal conditions are read once.

    ``known`` are the VMs that were read before, by the conditions.
    """
    found = dict(known or {})
    groups = []
    for group in wanted:
        query = tuple(group.get("query") or ())
        if query not in found:
            read = read_query(site, "vm_info", query, f"the query of the group {group['name']}")
            found[query] = [vm for vm in read["vms"] if vm["state"] not in GONE]
        groups.append(choose_group(group, found[query]))
    return groups


def choose_group(group: Record, found: Sequence[Record]) -> Group:
    """Return a group of the VMs that meet its conditions: all of them, or those that it names, in this order."""
    if group.get("vms") is None:
        return Group(group["name"], list(found), select([], []))
    names = [name for name in dict.fromkeys(group["vms"]) if name]
    selection = select(found, names) if names else select([], [])
    order = {name: number for number, name in enumerate(names)}
    vms = sorted(selection.objects, key=lambda vm: order.get(vm["uuid"], order.get(vm["name"], 0)))
    return Group(group["name"], vms, selection, ", whose VMs must also meet its query" if group.get("query") else "")


# What to do about a condition on the state of VMs, which a run changes.
BY_NAMES = "Select VMs by their names or tags: after a change, a condition on the state selects others"


def advise_on_empty(groups: Iterable[Record], empty: Sequence[str], role: str) -> str:
    """Return what to do about groups, by their names, that have no VM."""
    conditions = [text for group in groups if group["name"] in empty for text in group.get("query") or ()]
    if any(re.match(r"\s*state\s*[^\w.\s]", text) for text in conditions):
        return BY_NAMES
    return f"Check {role}_groups, or set {role}_allow_empty"


def find_idle(groups: Iterable[Record], state: str) -> list[str]:
    """Return the names of groups whose conditions select only VMs that are in the state of the service to reach."""
    return [
        group["name"]
        for group in groups
        if f"state={state}" in (text.replace(" ", "") for text in group.get("query") or ())
    ]


def find_repeated(groups: Iterable[Group]) -> list[str]:
    """Return the names of VMs that are in several groups."""
    names = {vm["uuid"]: vm["name"] for group in groups for vm in group.vms}
    counts = Counter(vm["uuid"] for group in groups for vm in group.vms)
    return sorted(names[uuid] for uuid, count in counts.items() if count > 1)


def check_groups(groups: Sequence[Record], variable: str) -> str | None:
    """Return what is wrong with the groups of a variable, None if they can be read."""
    for group in groups:
        if group.get("vms") is None and group.get("query") is None:
            return f"the group {group['name']} of {variable} needs vms or query"
        # A condition that excludes nothing would stop the VMs that it is to spare.
        if problems := describe_exclusions(group.get("query") or ()):
            return f"the group {group['name']} of {variable}: {' '.join(problems)}"
    counts = Counter(group["name"] for group in groups)
    twice = [name for name, count in counts.items() if count > 1]
    return f"several groups of {variable} have the name {twice[0]}" if twice else None
