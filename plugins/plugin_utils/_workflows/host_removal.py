"""Drain a host, remove it from the service, and prove that it is gone and that its VMs run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._masking.terminal import escape_controls
from .._site.play_host import (
    find_host,
    find_lack,
    name_variables,
    read_available,
    read_host,
    require_own_host,
    require_uuid,
)
from .._site.report import Entry, Outcome, Report
from .._site.settings import HostRemovalSettings
from .._site.site import Site
from .._site.wish import Wish
from .host_evacuation import MOVABLE

ROLE = "host_removal"


@dataclass
class Removal:
    """A host, and what becomes of it and of the objects on it. Without a previous state it does not exist."""

    uuid: str
    name: str
    previous_state: str | None = None
    migrated_vms: list[Record] = field(default_factory=list)
    stopped_vms: list[Record] = field(default_factory=list)
    also_removed: list[Record] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    def note(self, result: Record) -> None:
        """Note what the module kvm_host returned. Raise VirtinfraError if it has failed."""
        self.outcome.note(result)
        for name in ("migrated_vms", "stopped_vms", "also_removed"):
            getattr(self, name).extend(result.get(name) or ())
        if result["failed"]:
            raise VirtinfraError(name_variables(ROLE, result["msg"]))

    def build_entry(self) -> Entry:
        """Return the entry of the report."""
        members = {
            "name": self.name,
            "uuid": self.uuid,
            "previous_state": self.previous_state,
            "outcome": self.outcome.name,
            "migrated_vms": self.migrated_vms,
            "stopped_vms": self.stopped_vms,
            "also_removed": self.also_removed,
            "error": self.outcome.error,
        }
        return Entry(self.outcome, self.name, members, self.uuid)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Remove the host of the task, and return what became of it."""
    settings = HostRemovalSettings(**options)
    removal = Removal(settings.uuid or "", site.play.host)
    site.ask(Wish({removal.uuid: {"name": removal.name, "uuid": removal.uuid}}))
    try:
        _remove(site, removal, settings)
    except VirtinfraError as failure:
        removal.outcome.error = str(failure)
    unreached = site.play.list_unreached(f"{ROLE}_report")
    return Report("hosts", [removal.build_entry()], next={"unreached": unreached})


def _remove(site: Site, removal: Removal, settings: HostRemovalSettings) -> None:
    """Remove the host, unless it is gone. Raise VirtinfraError."""
    failure = f"{removal.name} was not removed."
    uuid = require_uuid(ROLE, settings.uuid, failure)
    require_own_host(site.play, ROLE, uuid, failure)
    host = find_host(site, ROLE, uuid)
    if host is None:
        return
    removal.name, removal.previous_state = host["name"], host["state"]
    _check(site, host, settings)
    given, waiting = {"uuid": host["uuid"]}, {"running_vms": settings.running_vms, "wait_timeout": settings.timeout}
    # A disconnected host cannot migrate its VMs, and the service refuses its maintenance. Check mode predicts the
    # maintenance with the removal.
    if host["status"] != "Disconnected" and not site.check_mode:
        removal.note(site.change("kvm_host", given, state="maintenance", **waiting))
    permitted = {"force": settings.force, "destroy_local_storage": settings.destroy_local_storage}
    removal.note(site.change("kvm_host", given, state="absent", evacuate=True, **permitted, **waiting))
    if not site.check_mode:
        _prove(site, host, removal)


def _check(site: Site, host: Record, settings: HostRemovalSettings) -> None:
    """Raise VirtinfraError if the host must not be removed, before anything is changed."""
    if lack := find_lack(ROLE, read_available(site, ROLE, host), settings.least_available):
        raise VirtinfraError(f"host {host['name']} was not removed: {lack}")
    # All is permitted here: the loss is refused below, and the removal itself refuses to stop VMs.
    permitted = {"evacuate": True, "force": True, "destroy_local_storage": True}
    given = [{"uuid": host["uuid"]}]
    (predicted,) = site.check("kvm_host", given, 1, state="absent", running_vms=settings.running_vms, **permitted)
    if predicted["failed"]:
        raise VirtinfraError(name_variables(ROLE, predicted["msg"]))
    lost = predicted.get("also_removed") or []
    if lost and not settings.destroy_local_storage:
        raise VirtinfraError(describe_loss(host["name"], lost))


def describe_loss(name: str, lost: Sequence[Record]) -> str:
    """Return why a host was not removed with which objects would be lost."""
    names = ", ".join(sorted(escape_controls(item["name"]) for item in lost))
    return (
        f"host {name} was not removed: {len(lost)} objects on its local storage would be lost ({names}). Move them to"
        " other hosts, or set host_removal_destroy_local_storage."
    )


def _prove(site: Site, host: Record, removal: Removal) -> None:
    """Raise VirtinfraError if the host still exists, or if VMs that were migrated do not run."""
    remaining = read_host(site, host["uuid"])
    vms = site.read("vm_info")["vms"] if removal.migrated_vms else []
    idle = list_idle(vms, {vm["uuid"] for vm in removal.migrated_vms})
    if problems := describe_problems(host["name"], remaining is not None, idle):
        raise VirtinfraError(problems)


def list_idle(vms: Iterable[Record], uuids: Collection[str]) -> list[str]:
    """Return the names of the VMs with these uuids that do not run. A VM that was paused stays paused."""
    return sorted(escape_controls(vm["name"]) for vm in vms if vm["uuid"] in uuids and vm["state"] not in MOVABLE)


def describe_problems(name: str, remains: bool, idle: Sequence[str]) -> str:
    """Return what is wrong after a removal that the service has reported, empty if nothing is."""
    problems = []
    if remains:
        problems.append("It still exists, although the service reported its removal. Check it in the service.")
    if idle:
        problems.append(f"VMs that were migrated do not run. Start them: {', '.join(idle)}.")
    state = "was not removed" if remains else "was removed"
    return " ".join([f"host {name} {state}.", *problems]) if problems else ""
