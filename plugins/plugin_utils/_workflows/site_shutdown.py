"""Shut down the VMs and hosts of a site in order, within the time of a UPS, and start them again."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .power import RUNNING, SKIPPED, Group, Patience, PoweredVm, check_groups, find_groups, find_repeated, start, stop
from .report import Entry, Outcome, Report, name_some
from .site import GONE, Site

# The states of VMs that do not run.
NOT_RUNNING = ("Stopped", "Created", *GONE)

REMAINING = "all others"
LIMIT = "site_shutdown_time_limit"

# The states to which hosts return; one that was in maintenance before stays in it.
STATES = {"Enabled": "enabled", "Disabled": "disabled"}


@dataclass(frozen=True)
class Settings:
    """The variables of the role."""

    state: str
    file: str
    groups: list[Record]
    remaining: bool
    exclude_vms: list[str]
    exclude_hosts: list[str]
    hosts: bool
    host_query: list[str]
    maintenance: bool
    time_limit: int
    host_time: int
    grace_timeout: int
    cold: bool
    cold_timeout: int
    start_timeout: int
    concurrency: int
    allow_empty: bool

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if not Path(self.file).is_absolute():
            raise InvalidOptions(f"site_shutdown_file must be an absolute path, not {self.file}")
        if problem := check_groups(self.groups, "site_shutdown_groups"):
            raise InvalidOptions(problem)
        if self.concurrency < 1:
            raise InvalidOptions(f"site_shutdown_concurrency must be at least 1, not {self.concurrency}")
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
    """A host, the state to which it returns, and what becomes of it."""

    uuid: str
    name: str
    state: str
    outcome: Outcome = field(default_factory=Outcome)


@dataclass(frozen=True)
class Plan:
    """What is shut down: the groups of VMs that run and the hosts, and why it cannot be done.

    ``empty`` are the groups of the variable that have no VM.
    """

    groups: list[tuple[str, list[PoweredVm]]]
    hosts: list[SiteHost]
    kept: list[SiteHost]
    empty: list[str]
    problems: list[str]


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Shut the site down or start it, and return what became of each VM and host."""
    settings = Settings(**options)
    settings.check()
    return _shut_down(site, settings) if settings.state == "stopped" else _start(site, settings)


def _shut_down(site: Site, settings: Settings) -> Report:
    """Stop the VMs and hosts. The memory is written before the first stop, so that an interruption loses nothing."""
    end = site.get_time() + settings.time_limit
    vms = [vm for vm in site.read("vm_info")["vms"] if vm["state"] not in GONE]
    groups = find_groups(site, settings.groups, {(): vms})
    hosts = site.read("host_info", query=settings.host_query)["hosts"] if settings.hosts else []
    plan = plan_shutdown(groups, vms, hosts, settings)
    refuse(plan, settings)
    memory = _remember(site, plan, {record["uuid"] for record in (*vms, *hosts)}, settings)
    grace = settings.grace_timeout
    patience = Patience(grace, grace, LIMIT, limit=end - settings.time_of_hosts)
    for dummy, members in plan.groups:
        stop(site, members, patience, settings.concurrency, settings.cold_timeout if settings.cold else None)
    stopped = [vm for dummy, members in plan.groups for vm in members]
    if settings.hosts:
        _switch_off(site, plan.hosts, stopped, settings, end)
    report = build_report([*map(_describe_vm, stopped), *map(_describe_host, (*plan.hosts, *plan.kept))])
    if memory and not site.check_mode and not report.failed_count:
        write_memory(settings.file, {**memory, "is_finished": True})
    return report


def plan_shutdown(groups: Sequence[Group], vms: Sequence[Record], hosts: Sequence[Record], settings: Settings) -> Plan:
    """Return what is shut down."""
    problems = _find_unknown(settings.exclude_vms, vms, "VM", "site_shutdown_exclude_vms")
    problems += _find_unknown(settings.exclude_hosts, hosts, "host", "site_shutdown_exclude_hosts")
    problems += [
        f"no VM, or several, has the name {name} (the group {group.name})" for group in groups for name in group.unclear
    ]
    if twice := find_repeated(groups):
        problems.append(f"these VMs are in several groups: {', '.join(twice)}")
    excluded = set(settings.exclude_vms)
    chosen = [(group.name, [vm for vm in group.vms if not _is_named(vm, excluded)]) for group in groups]
    empty = [name for name, members in chosen if not members]
    if settings.remaining:
        placed = {vm["uuid"] for dummy, members in chosen for vm in members}
        others = [vm for vm in vms if vm["uuid"] not in placed and not _is_named(vm, excluded)]
        chosen.append((REMAINING, others))
    off, kept = choose_hosts(vms, hosts, settings)
    by_uuid = {host["uuid"]: host for host in hosts}
    if helpless := [host.name for host in off if _lacks_ipmi(by_uuid[host.uuid])]:
        problems.append(f"the service does not know the IPMI controllers of these hosts: {', '.join(helpless)}")
    running = [
        (name, [PoweredVm.from_record(vm, name) for vm in members if is_running(vm)]) for name, members in chosen
    ]
    return Plan([(name, members) for name, members in running if members], off, kept, empty, problems)


def choose_hosts(
    vms: Iterable[Record], hosts: Iterable[Record], settings: Settings
) -> tuple[list[SiteHost], list[SiteHost]]:
    """Return the hosts to switch off, and those that stay on. Those that are off are neither."""
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
        elif record["ipmi_power_status"] != "POWER_OFF" or record["status"] == "Connected":
            off.append(host)
    return off, kept


def is_running(vm: Record) -> bool:
    """Return whether a VM may run."""
    return vm["state"] not in NOT_RUNNING


def _is_named(record: Record, names: set[str]) -> bool:
    return record["uuid"] in names or record["name"] in names


def _lacks_ipmi(host: Record) -> bool:
    return not host["ipmi_address"] or host["ipmi_power_status"] == "UN_CONFIGURED"


def _find_unknown(names: Iterable[str], records: Sequence[Record], noun: str, place: str) -> list[str]:
    """Return the problems of names that select no record, or several ones."""
    counts = Counter(str(record["name"]) for record in records)
    uuids = {record["uuid"] for record in records}
    unknown = [name for name in names if name not in uuids and counts[name] != 1]
    return [f"no {noun}, or several, has the name {name} ({place})" for name in unknown]


def refuse(plan: Plan, settings: Settings) -> None:
    """Raise InvalidOptions if a plan cannot be executed."""
    if plan.problems:
        raise InvalidOptions(
            f"Nothing was changed. {'; '.join(plan.problems)}. Correct the variables, or add the hosts to"
            " site_shutdown_exclude_hosts."
        )
    if plan.empty and not settings.allow_empty:
        raise InvalidOptions(
            f"Nothing was changed. These groups have no VM: {', '.join(plan.empty)}. Check them, or set"
            " site_shutdown_allow_empty."
        )


# -------------------------------------------------------------------------------------------------------------- memory


def _remember(site: Site, plan: Plan, existing: set[str], settings: Settings) -> Record | None:
    """Write what runs, and return it; None if nothing runs, so that what an earlier shutdown has stopped remains."""
    old = read_memory(settings.file)
    new = build_memory(plan)
    if not (new["groups"] or new["hosts"]):
        return None
    memory = merge_memory(new, old, existing)
    if forgotten := list_forgotten(memory, old, existing):
        site.warn(
            "These VMs and hosts were stopped by an earlier shutdown after which the role has not started the site. A"
            f" start will not start them any more: {name_some(forgotten)}"
        )
    if not site.check_mode:
        write_memory(settings.file, memory)
    return memory


def build_memory(plan: Plan) -> Record:
    """Return what a shutdown stops, in the form of the file."""
    return {
        "groups": [
            {"name": name, "vms": [{"uuid": vm.uuid, "name": vm.name} for vm in members]}
            for name, members in plan.groups
        ],
        "hosts": [{"uuid": host.uuid, "name": host.name, "state": host.state} for host in plan.hosts],
    }


def merge_memory(new: Record, old: Record | None, existing: set[str]) -> Record:
    """Return what to remember: what runs now and, if the shutdown before has not finished, what ran before that one.

    A shutdown that has finished, or whose VMs were started again, is over: the newest one wins. Of the older one, only
    objects that still exist are remembered.
    """
    if old is None or old.get("is_finished") or old.get("is_started"):
        return new
    hosts = {host["uuid"]: host for host in (*new["hosts"], *old["hosts"]) if host["uuid"] in existing}
    placed: set[str] = set()
    groups = []
    for name in dict.fromkeys(group["name"] for group in (*old["groups"], *new["groups"])):
        vms = {
            vm["uuid"]: vm
            for memory in (old, new)
            for group in memory["groups"]
            if group["name"] == name
            for vm in group["vms"]
            if vm["uuid"] not in placed and vm["uuid"] in existing
        }
        placed.update(vms)
        groups.append({"name": name, "vms": list(vms.values())})
    return {"groups": groups, "hosts": list(hosts.values())}


def list_forgotten(memory: Record, old: Record | None, existing: set[str]) -> list[str]:
    """Return the names of existing objects that an earlier shutdown has stopped, and no start has started."""
    if old is None or old.get("is_started"):
        return []
    kept = {record["uuid"] for record in _list_remembered(memory)}
    return [
        record["name"] for record in _list_remembered(old) if record["uuid"] in existing and record["uuid"] not in kept
    ]


def _list_remembered(memory: Record) -> list[Record]:
    return [*(vm for group in memory["groups"] for vm in group["vms"]), *memory["hosts"]]


def read_memory(path: str) -> Record | None:
    """Return what an earlier shutdown has remembered, None without one. Raise InvalidOptions for another file."""
    try:
        memory: Record = json.loads(Path(path).read_text(encoding="utf-8"))
        _list_remembered(memory)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidOptions(
            f"Nothing was changed. {path} is not a file of this role: {error}. Check site_shutdown_file."
        ) from None
    return memory


def write_memory(path: str, memory: Record) -> None:
    """Replace the file at once, so that a loss of power leaves the old or the new one. Only its owner can read it."""
    try:
        handle, name = tempfile.mkstemp(dir=Path(path).parent, prefix=f".{Path(path).name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(memory, file, indent=4)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise InvalidOptions(f"{path} cannot be written: {error}. Check site_shutdown_file.") from None


# --------------------------------------------------------------------------------------------------------------- hosts


def _switch_off(
    site: Site, hosts: Sequence[SiteHost], stopped: Iterable[PoweredVm], settings: Settings, end: float
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
    left = end - site.get_time()
    options = {
        "state": "maintenance" if settings.maintenance else "present",
        "power": "off",
        # Check mode would find VMs on the hosts.
        "force": site.check_mode,
        "running_vms": "any" if site.check_mode else "migrate",
        "wait_timeout": min(max(left, settings.cold_timeout), settings.host_time),
        **({"stop_type": "cold"} if settings.cold and left <= 0 else {}),
    }
    free = [host for host in hosts if host.outcome.error is None]
    results = site.batch("kvm_host", [{"uuid": host.uuid} for host in free], settings.concurrency, **options)
    for host, result in zip(free, results, strict=True):
        host.outcome.note(result)


# --------------------------------------------------------------------------------------------------------------- start


def _start(site: Site, settings: Settings) -> Report:
    """Start what the last shutdown has stopped: the hosts, then the groups of VMs in reverse order."""
    memory = read_memory(settings.file)
    if memory is None:
        raise InvalidOptions(
            f"Nothing was changed. {settings.file} does not exist, so it is not known what was running. Check"
            " site_shutdown_file."
        )
    hosts = _switch_on(site, memory, settings)
    vms = {vm["uuid"]: vm for vm in site.read("vm_info")["vms"] if vm["state"] not in GONE}
    groups = [
        (
            group["name"],
            [PoweredVm.from_record(vms[vm["uuid"]], group["name"]) for vm in group["vms"] if vm["uuid"] in vms],
        )
        for group in reversed(memory["groups"])
    ]
    _warn_of_gone(
        site, (vm["name"] for group in memory["groups"] for vm in group["vms"] if vm["uuid"] not in vms), "VMs"
    )
    started: list[PoweredVm] = []
    for dummy, members in groups:
        if any(vm.outcome.error is not None for vm in started):
            for vm in members:
                vm.outcome.skipped = SKIPPED
        elif site.check_mode and any(host.outcome.is_changed for host in hosts):
            # Check mode switches no host on, so the module would find none for the VMs.
            for vm in members:
                vm.outcome.is_changed = vm.state != RUNNING
        else:
            start(site, members, settings.concurrency, settings.start_timeout)
        started += members
    report = build_report([*map(_describe_host, hosts), *map(_describe_vm, started)])
    if not site.check_mode and not report.failed_count:
        write_memory(settings.file, {**memory, "is_started": True})
    return report


def _switch_on(site: Site, memory: Record, settings: Settings) -> list[SiteHost]:
    """Switch on the hosts that were on, and wait until they are connected. VMs may run on others if some fail."""
    if not memory["hosts"]:
        return []
    existing = {host["uuid"] for host in site.read("host_info")["hosts"]}
    hosts = [
        SiteHost(host["uuid"], host["name"], host["state"]) for host in memory["hosts"] if host["uuid"] in existing
    ]
    _warn_of_gone(site, (host["name"] for host in memory["hosts"] if host["uuid"] not in existing), "hosts")
    objects = [{"uuid": host.uuid, "state": STATES.get(host.state, "present")} for host in hosts]
    options = {"power": "on", "wait_timeout": settings.start_timeout}
    for host, result in zip(hosts, site.batch("kvm_host", objects, settings.concurrency, **options), strict=True):
        host.outcome.note(result)
    return hosts


def _warn_of_gone(site: Site, names: Iterable[str], objects: str) -> None:
    """Warn of objects that no longer exist. They do not stop the others."""
    if gone := list(names):
        site.warn(f"These {objects} were running before the shutdown, and no longer exist: {name_some(gone)}")


# -------------------------------------------------------------------------------------------------------------- report


def build_report(entries: list[Entry]) -> Report:
    """Return the report of a shutdown or a start."""
    return Report("VMs and hosts", entries)


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
    return Entry(item.outcome, f"{kind} {item.name} ({item.uuid})", members)
