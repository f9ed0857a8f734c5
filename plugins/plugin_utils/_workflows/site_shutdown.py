"""Shut down the VMs and hosts of a site in order, within the time of a UPS, and start them again.

What was running is marked in the service, before the first stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ...module_utils._api.conditions import describe_exclusions
from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.marked_vms import ask_for_state, find_marked, mark_vms, name_left, renew, restore
from .._site.marks import HOST, VM, Mark, Marks
from .._site.power import (
    NOT_RUNNING,
    Group,
    Patience,
    PoweredVm,
    advise_on_empty,
    check_groups,
    find_groups,
    find_repeated,
    stop,
)
from .._site.report import Entry, Outcome, Report, name_some
from .._site.settings import SiteShutdownSettings
from .._site.site import GONE, Site, explain_missing, find_addresses, read_query, select
from .._site.wish import Wish, index

REMAINING = "all others"
LIMIT = "site_shutdown_time_limit"

# The states to which hosts return; one that was in maintenance before stays in it.
STATES = {"Enabled": "enabled", "Disabled": "disabled"}


class Settings(SiteShutdownSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if problem := check_groups(self.groups, "site_shutdown_groups"):
            raise InvalidOptions(problem)
        if problems := describe_exclusions(self.host_query):
            raise InvalidOptions(f"site_shutdown_host_query: {' '.join(problems)}")
        if self.time_limit <= self.time_of_hosts:
            raise InvalidOptions(
                f"site_shutdown_time_limit must be above site_shutdown_host_time, which is {self.time_of_hosts} s, not"
                f" {self.time_limit} s"
            )

    @property
    def time_of_hosts(self) -> int:
        """How many seconds of the limit the hosts have."""
        return self.host_time if self.hosts else 0


@dataclass
class SiteHost:
    """A host, the state to which it returns, what says so in the service, and what becomes of it."""

    uuid: str
    name: str
    state: str
    outcome: Outcome = field(default_factory=Outcome)
    mark: Mark | None = None


@dataclass(frozen=True)
class Plan:
    """What is shut down: the groups of VMs that run and the hosts, and why it cannot be done.

    ``empty`` are the groups of the variable that have no VM, and ``hint`` is a sentence on names without an object.
    """

    groups: list[tuple[str, list[PoweredVm]]]
    hosts: list[SiteHost]
    kept: list[SiteHost]
    empty: list[str]
    problems: list[str]
    hint: str


class Found(NamedTuple):
    """The marks that VMs and hosts had at the start."""

    vms: list[Mark]
    hosts: list[Mark]


class SiteMarks(NamedTuple):
    """The marks of the role on VMs and on hosts."""

    vms: Marks
    hosts: Marks

    def find(self) -> Found:
        """Return the marks that VMs and hosts have. Raise VirtinfraError."""
        return Found(self.vms.find(), self.hosts.find())

    def find_own(self) -> Found:
        """Return what `find` returns, and warn if none of the marks has the label of this run."""
        found = self.find()
        self.vms.warn_of_others([*found.vms, *found.hosts], "VM or host")
        return found


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Shut the site down or start it, and return what became of each VM and host."""
    settings = Settings(**options)
    settings.check()
    marks = SiteMarks(
        *(Marks(site, "site_shutdown", settings.label, kind, settings.concurrency) for kind in (VM, HOST))
    )
    if settings.state == "stopped":
        return _shut_down(site, marks, settings)
    return _start(site, marks, settings) if settings.state == "running" else _unmark(site, marks)


def _shut_down(site: Site, marks: SiteMarks, settings: Settings) -> Report:
    """Mark what runs, and stop the VMs and hosts."""
    end = site.get_time() + settings.time_limit
    vms = [vm for vm in site.read("vm_info")["vms"] if vm["state"] not in GONE]
    groups = find_groups(site, settings.groups, {(): vms})
    query = settings.host_query
    hosts = read_query(site, "host_info", query, "site_shutdown_host_query")["hosts"] if settings.hosts else []
    settings = _exclude_service(site, vms, settings)
    plan = plan_shutdown(groups, vms, hosts, settings)
    refuse(plan, settings)
    stopped = [vm for dummy, members in plan.groups for vm in members]
    items: list[PoweredVm | SiteHost] = [*stopped, *plan.hosts]
    asked = {vm.uuid: {"name": vm.name, "uuid": vm.uuid} for vm in stopped}
    site.ask(ask_for_state(site, stopped, asked, is_stop=True))
    site.ask(ask_for_hosts(site, (*plan.hosts, *plan.kept), are_off=True))
    found = marks.find()
    unmarked = _mark(site, marks, found, plan, settings)
    grace = settings.grace_timeout
    patience = Patience(grace, grace, LIMIT, limit=end - settings.time_of_hosts)
    for dummy, members in plan.groups:
        cold_timeout = settings.cold_timeout if settings.cold else None
        stop(site, members, patience, settings.concurrency, cold_timeout, marks.vms)
    renew(site, marks.vms, stopped)
    if settings.hosts:
        _switch_off(site, marks.hosts, plan.hosts, stopped, settings, end)
    for item in items:
        if item.uuid in unmarked:
            item.outcome.fail(f"A start will not start it, because it cannot be marked: {unmarked[item.uuid]}")
    left = _name_left(site, found, (vm.uuid for vm in stopped), (host.uuid for host in plan.hosts))
    return build_report([*map(_describe_vm, stopped), *map(_describe_host, (*plan.hosts, *plan.kept))], left)


def _name_left(site: Site, found: Found, vms: Iterable[str], hosts: Iterable[str]) -> list[str]:
    """Return the names of VMs and hosts that are off and that a start with this label leaves, and whose they are."""
    owners = {mark.object_uuid: mark.owner for mark in found.hosts if mark.object_uuid not in set(hosts)}
    try:
        records = site.read("host_info", query=[f"uuid?={','.join(owners)}"])["hosts"] if owners else []
    except VirtinfraError as failure:
        site.warn(f"It is not known which hosts other runs have left off: {failure}")
        records = []
    names = [f"{host['name']} ({owners[host['uuid']]})" for host in records if host["uuid"] in owners and is_off(host)]
    return [*names, *name_left(site, found.vms, set(vms))]


def ask_for_hosts(site: Site, hosts: Iterable[SiteHost], are_off: bool) -> Wish:
    """Return that hosts are switched off, or on, as a read after the last action shows."""
    asked: dict[str, Record] = {host.uuid: {"name": host.name, "uuid": host.uuid} for host in hosts}

    def find_lack(dummy_key: str, host: Record | None) -> str | None:
        is_done = host is not None and is_off(host) == are_off
        return None if is_done else f"It is not {'off' if are_off else 'on'} after the last action. Check it."

    return Wish(asked, lambda: index(site.read("host_info")["hosts"]), find_lack)


def is_off(host: Record) -> bool:
    """Return whether a host is switched off."""
    return bool(host["ipmi_power_status"] == "POWER_OFF" and host["status"] != "Connected")


def _exclude_service(site: Site, vms: Iterable[Record], settings: Settings) -> Settings:
    """Return settings that exclude the VM of the service itself, which could not start itself, nor any other VM."""
    addresses = find_addresses(site.service_url)
    own = [vm for vm in vms if any(nic["ip"] in addresses for nic in vm["vm_nics"] if nic["ip"])]
    for vm in own:
        if not _is_named(vm, set(settings.exclude_vms)):
            site.warn(f"The VM {vm['name']} has the address of the service, so it keeps running, and its host stays on")
    return replace(settings, exclude_vms=[*settings.exclude_vms, *(vm["uuid"] for vm in own)])


def _mark(site: Site, marks: SiteMarks, found: Found, plan: Plan, settings: Settings) -> dict[str, str]:
    """Mark the VMs and hosts of a plan, and return why some cannot be marked, by their uuids.

    They are stopped nevertheless: without power they would be, too. A host keeps the mark of an interrupted shutdown,
    which may have put it into maintenance.
    """
    groups = [members for dummy, members in plan.groups]
    problems = mark_vms(site, marks.vms, found.vms, groups, settings.cold_timeout)
    own = {mark.object_uuid: mark for mark in marks.hosts.list_own(found.hosts)}
    wanted = {host.uuid: host.state for host in plan.hosts if host.uuid not in own}
    marking = marks.hosts.set(wanted, found.hosts)
    for host in plan.hosts:
        host.mark = own.get(host.uuid) or marking.marks.get(host.uuid)
    return problems | marking.problems


def plan_shutdown(groups: Sequence[Group], vms: Sequence[Record], hosts: Sequence[Record], settings: Settings) -> Plan:
    """Return what is shut down."""
    chosen = [(group.name, _leave_out(group.vms, settings)) for group in groups]
    excluded = {group.name for group in groups if group.vms}
    note = " (all of its VMs are excluded, see site_shutdown_exclude_vms)"
    empty = [f"{name}{note if name in excluded else ''}" for name, members in chosen if not members]
    if settings.remaining:
        placed = {vm["uuid"] for dummy, members in chosen for vm in members}
        chosen.append((REMAINING, _leave_out([vm for vm in vms if vm["uuid"] not in placed], settings)))
    off, kept = choose_hosts(vms, hosts, settings)
    problems, hint = _find_problems(groups, vms, hosts, settings)
    by_uuid = {host["uuid"]: host for host in hosts}
    if helpless := [host.name for host in off if _lacks_ipmi(by_uuid[host.uuid])]:
        problems.append(
            f"the service does not know the IPMI controllers of these hosts: {', '.join(helpless)}. Set them,"
            " or add the hosts to site_shutdown_exclude_hosts"
        )
    running = [
        (name, [PoweredVm.from_record(vm, name) for vm in members if is_running(vm)]) for name, members in chosen
    ]
    return Plan(running, off, kept, empty, problems, hint)


def _leave_out(vms: Iterable[Record], settings: Settings) -> list[Record]:
    """Return the VMs that are not excluded."""
    return [vm for vm in vms if not _is_named(vm, set(settings.exclude_vms))]


def _find_problems(
    groups: Sequence[Group], vms: Sequence[Record], hosts: Sequence[Record], settings: Settings
) -> tuple[list[str], str]:
    """Return why the variables do not say which VMs and hosts are shut down, and in which order, and a hint."""
    excluded_vms, excluded_hosts = select(vms, settings.exclude_vms), select(hosts, settings.exclude_hosts)
    hint = explain_missing([name for group in groups for name in group.selection.missing], "query of the group")
    hint = hint or explain_missing([*excluded_vms.missing, *excluded_hosts.missing])
    problems = excluded_vms.find_problems("VM", "site_shutdown_exclude_vms")
    problems += excluded_hosts.find_problems("host", "site_shutdown_exclude_hosts")
    problems += [problem for group in groups for problem in group.find_problems("site_shutdown_groups")]
    if settings.hosts and settings.host_query and not hosts and not settings.allow_empty:
        problems.append(f"no host meets site_shutdown_host_query ({', '.join(settings.host_query)})")
    if twice := find_repeated(groups):
        problems.append(f"these VMs are in several groups of site_shutdown_groups: {', '.join(twice)}")
    return problems, hint


def choose_hosts(
    vms: Iterable[Record], hosts: Iterable[Record], settings: Settings
) -> tuple[list[SiteHost], list[SiteHost]]:
    """Return the hosts to switch off, and those that stay on. Hosts that are off are in neither list."""
    excluded = set(settings.exclude_vms)
    protecting = {vm["host_uuid"]: vm["name"] for vm in vms if is_running(vm) and _is_named(vm, excluded)}
    off, kept = [], []
    for record in hosts:
        host = SiteHost(record["uuid"], record["name"], record["state"])
        if _is_named(record, set(settings.exclude_hosts)):
            host.outcome.skipped = "it is excluded"
        elif host.uuid in protecting:
            host.outcome.skipped = f"the excluded VM {protecting[host.uuid]} runs on it"
        if host.outcome.skipped is not None:
            kept.append(host)
        elif not is_off(record):
            off.append(host)
    return off, kept


def is_running(vm: Record) -> bool:
    """Return whether a VM may run."""
    return vm["state"] not in NOT_RUNNING


def _is_named(record: Record, names: set[str]) -> bool:
    return record["uuid"] in names or record["name"] in names


def _lacks_ipmi(host: Record) -> bool:
    return not host["ipmi_address"] or host["ipmi_power_status"] == "UN_CONFIGURED"


def refuse(plan: Plan, settings: Settings) -> None:
    """Raise InvalidOptions if a plan cannot be executed."""
    if plan.problems:
        raise InvalidOptions(f"Nothing was changed: {'; '.join(plan.problems)}.{plan.hint} Correct the variables.")
    if plan.empty and not settings.allow_empty:
        raise InvalidOptions(
            f"Nothing was changed. These groups have no VM: {', '.join(plan.empty)}."
            f" {advise_on_empty(settings.groups, plan.empty, 'site_shutdown')}."
        )


# --------------------------------------------------------------------------------------------------------------- hosts


def _switch_off(
    site: Site, marks: Marks, hosts: Sequence[SiteHost], stopped: Iterable[PoweredVm], settings: Settings, end: float
) -> None:
    """Switch off the hosts on which no VM runs any more."""
    try:
        vms = site.read("vm_info")["vms"]
    except VirtinfraError as failure:
        for host in hosts:
            host.outcome.fail(f"It is not known which VMs still run on it: {failure}")
        return
    # Check mode stops no VM.
    predicted = {vm.uuid for vm in stopped if site.check_mode and vm.outcome.name == "changed"}
    busy = {vm["host_uuid"] for vm in vms if is_running(vm) and vm["uuid"] not in predicted}
    for host in hosts:
        if host.uuid in busy:
            host.outcome.fail("VMs still run on it")
    free = [host for host in hosts if host.outcome.error is None]
    options = _choose_power_off(settings, end - site.get_time(), site.check_mode)
    jobs = marks.choose_jobs([host.mark for host in free if host.mark])
    results = site.batch("kvm_host", [{"uuid": host.uuid} for host in free], settings.concurrency, jobs, **options)
    for host, result in zip(free, results, strict=True):
        host.outcome.note(result)


def _choose_power_off(settings: Settings, left: float, check_mode: bool) -> Record:
    """Return the options of kvm_host that switch hosts off, if ``left`` seconds of the shutdown are left."""
    options: Record = {
        "state": "maintenance" if settings.maintenance else "present",
        "power": "off",
        # In check mode the VMs still run on the hosts, so the prediction needs force.
        "force": check_mode,
        "running_vms": "any" if check_mode and settings.maintenance else "migrate",
        "wait_timeout": min(max(left, settings.cold_timeout), settings.host_time),
    }
    if settings.cold and left <= 0:
        options["stop_type"] = "cold"
    return options


# --------------------------------------------------------------------------------------------------------------- start


def _start(site: Site, marks: SiteMarks, settings: Settings) -> Report:
    """Start what is marked: the hosts, then the VMs, those of the group first that was stopped last."""
    found = marks.find_own()
    hosts = _switch_on(site, marks.hosts, found.hosts, settings)
    vms = find_marked(site, marks.vms, found.vms, settings.start_timeout)
    left = _name_left(site, found, (vm.uuid for vm in vms), (host.uuid for host in hosts))
    asked = {vm.uuid: {"name": vm.name, "uuid": vm.uuid} for vm in vms}
    site.ask(ask_for_state(site, vms, asked, is_stop=False))
    if site.check_mode and any(host.outcome.is_changed for host in hosts):
        # Check mode switches no host on, so the module would find none for the VMs.
        for vm in vms:
            vm.outcome.is_changed = not vm.is_put_back
    else:
        restore(site, marks.vms, found.vms, vms, settings.concurrency, settings.start_timeout)
    return build_report([*map(_describe_host, hosts), *map(_describe_vm, vms)], left, settings.label)


def _switch_on(site: Site, marks: Marks, found: Sequence[Mark], settings: Settings) -> list[SiteHost]:
    """Switch on the marked hosts, and wait until they are connected. VMs may run on others if some fail."""
    own = {mark.object_uuid: mark for mark in marks.list_own(found)}
    if not own:
        return []
    problems = marks.settle(own.values(), settings.start_timeout)
    records = {host["uuid"]: host for host in site.read("host_info")["hosts"] if host["uuid"] in own}
    if gone := sorted(own.keys() - records.keys()):
        site.warn(f"These hosts were running before the shutdown, and no longer exist: {name_some(gone)}")
        marks.take_off([own[uuid] for uuid in gone])
    hosts = [SiteHost(uuid, host["name"], own[uuid].was, mark=own[uuid]) for uuid, host in records.items()]
    _keep_disabled(site, hosts, records)
    site.ask(ask_for_hosts(site, hosts, are_off=False))
    for host in hosts:
        if host.uuid in problems:
            host.outcome.fail(problems[host.uuid])
    due = [host for host in hosts if host.outcome.error is None]
    objects = [{"uuid": host.uuid, "state": STATES.get(host.state, "present")} for host in due]
    options = {"power": "on", "wait_timeout": settings.start_timeout}
    for host, result in zip(due, site.batch("kvm_host", objects, settings.concurrency, **options), strict=True):
        host.outcome.note(result)
    done = {host.uuid: host for host in due if host.outcome.error is None}
    for uuid, problem in marks.take_off([mark for mark in found if mark.object_uuid in done]).items():
        done[uuid].outcome.fail(f"its mark remains: {problem}")
    return hosts


def _keep_disabled(site: Site, hosts: Iterable[SiteHost], records: Mapping[str, Record]) -> None:
    """Let hosts stay disabled that a person has disabled since the shutdown, and name them."""
    disabled = [host for host in hosts if host.state == "Enabled" and records[host.uuid]["state"] == "Disabled"]
    for host in disabled:
        host.state = "Disabled"
    if disabled:
        names = name_some([host.name for host in disabled])
        site.warn(f"These hosts stay disabled, because somebody has disabled them since the shutdown: {names}")


def _unmark(site: Site, marks: SiteMarks) -> Report:
    """Take the marks of the label off, whatever the VMs and hosts are."""
    found = marks.find_own()
    vms = find_marked(site, marks.vms, found.vms, 0)
    own = {mark.object_uuid: mark for mark in marks.hosts.list_own(found.hosts)}
    names = {host["uuid"]: host["name"] for host in site.read("host_info")["hosts"]} if own else {}
    hosts = [SiteHost(uuid, names.get(uuid, uuid), mark.was, mark=mark) for uuid, mark in own.items()]
    problems = marks.vms.take_off([vm.mark for vm in vms if vm.mark]) | marks.hosts.take_off(own.values())
    items: list[PoweredVm | SiteHost] = [*vms, *hosts]
    for item in items:
        item.outcome = Outcome(is_changed=item.uuid not in problems, error=problems.get(item.uuid))
    left = _name_left(site, found, (vm.uuid for vm in vms), own)
    return build_report([*map(_describe_host, hosts), *map(_describe_vm, vms)], left, marks.vms.label)


# -------------------------------------------------------------------------------------------------------------- report


def build_report(entries: list[Entry], left: list[str], label: str = "") -> Report:
    """Return the report of a shutdown, or of a start of what has marks with a label. Others are ``left`` off."""
    summary = f"Nothing has a mark with the label {label}" if label and not entries else ""
    return Report("VMs and hosts", entries, summary=summary, next={"left": left})


def _describe_vm(vm: PoweredVm) -> Entry:
    return _build_entry("VM", vm.group, vm, vm.powered_off)


def _describe_host(host: SiteHost) -> Entry:
    return _build_entry("host", None, host, False)


def _build_entry(kind: str, group: str | None, item: PoweredVm | SiteHost, powered_off: bool) -> Entry:
    members = {
        "kind": kind,
        "group": group,
        "name": item.name,
        "uuid": item.uuid,
        "outcome": item.outcome.name,
        "powered_off": powered_off,
        "error": item.outcome.reason,
    }
    return Entry(item.outcome, f"{kind} {item.name} ({item.uuid})", members, item.uuid)
