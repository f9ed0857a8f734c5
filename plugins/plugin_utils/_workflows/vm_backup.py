"""Copy VMs on data movers, the hosts of the play: each copies its share, in one task that runs modules on it.

Once for all movers, the VMs are selected. Each mover takes them and reads its points, then copies its share, and at the
end there is one report of all. What a step returned on a host is a variable of this host, where the later ones find it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import Report, name_some
from .._site.site import Site, describe_missing
from .._site.wish import Wish
from .._vm_backups.copying import Copying, MoverRun
from .._vm_backups.hooks import check_hooks
from .._vm_backups.plan import (
    Mover,
    VmCopy,
    choose_share,
    find_other_run,
    find_reason,
    list_useless,
    warn_of_addresses,
)
from .._vm_backups.report import build_members, build_report
from .._vm_backups.scratch import list_known, warn_of_leaked
from .._vm_backups.sessions import Sessions
from .._vm_backups.settings import Settings
from .._vm_restores.vm_from_point import is_temporary

# The tasks of the role run for the data movers.
RUNS_ON_HOSTS = True

# The variables in which the role keeps what its steps return.
SELECTED, READ, COPIED = "__vm_backup_selected", "__vm_backup_read", "__vm_backup_copied"

AMBIGUOUS = "Several VMs have this name. Give the uuid of the VM."


def select(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the VMs, so that all movers make their shares of the same ones."""
    settings = _read_settings(site, options)
    settings.check()
    check_hooks(site, settings)
    if site.play.is_split():
        raise InvalidOptions("with serial, each batch of data movers would copy all VMs. Remove serial, and set forks")
    selection = site.select_vms(settings.query, settings.vms, "vm_backup_query")
    if not (selection.objects or selection.missing or settings.allow_empty):
        query = ", ".join(settings.query)
        raise InvalidOptions(f"No VM meets vm_backup_query ({query}). Check it, or set vm_backup_allow_empty.")
    vms = [vm for vm in selection.objects if settings.vms or not is_temporary(vm)]
    if left := sorted(vm["name"] for vm in selection.objects if vm not in vms):
        site.warn(f"These VMs are not copied, because other roles have made them for a time: {name_some(left)}")
    if useless := list_useless(settings.exclude_volumes, vms):
        site.warn(
            "vm_backup_exclude_volumes: no volume of the selected VMs has the name or uuid, or matches the pattern"
            f" {name_some(useless)}"
        )
    warn_of_addresses(site, settings.host_address, "vm_backup_host_address")
    return Report(
        "VMs",
        next={
            "vms": vms,
            "missing": selection.missing,
            "unmet": sorted(selection.unmet),
            "ambiguous": sorted(selection.ambiguous),
            "run": str(uuid4()),
        },
    )


def _read_settings(site: Site, options: Mapping[str, Any]) -> Settings:
    return Settings(movers=site.play.list_all(), **options)


def _get(site: Site, host: str, variable: str) -> Any:
    """Return what a step returned on a host, None if it did not come to its end there."""
    return (site.play.get_fact(host, variable) or {}).get("next")


def read(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Take the VMs on the mover, and return its points, or why it cannot be used."""
    settings, selected = _read_settings(site, options), _get(site, site.play.host, SELECTED)
    if not settings.repository:
        return Report("VMs", next=asdict(Mover(site.play.host)))
    run = MoverRun(site, settings, selected["run"])
    uuids = [vm["uuid"] for vm in selected["vms"]]
    taken = run.take_over(uuids, settings.initialize, list_points=True)
    return Report("VMs", next=asdict(Mover.from_result(run.name, taken, settings.min_free_percent)))


def copy(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Copy the VMs of the share of this mover, and return their entries."""
    settings, selected = _read_settings(site, options), _get(site, site.play.host, SELECTED)
    readings = [_get(site, host, READ) for host in site.play.list_all()]
    movers = [Mover(**reading) for reading in readings if reading]
    run = MoverRun(site, settings, selected["run"])
    share = _Share(site, settings, run, movers, choose_share(selected["vms"], movers, run.name))
    try:
        share.copy(selected["ambiguous"])
    except VirtinfraError as failure:
        reason = str(failure)
        share.fail(lambda dummy: reason)
    finally:
        run.give_back()
    will_copy = any(entry["outcome"] not in ("failed", "skipped", "unchanged") for entry in share.entries)
    return Report("VMs", next={"entries": share.entries}, has_changed=site.check_mode and will_copy)


class _Share:
    """The VMs that one mover copies."""

    def __init__(
        self, site: Site, settings: Settings, run: MoverRun, movers: Sequence[Mover], vms: list[Record]
    ) -> None:
        self._site, self._settings, self._run, self._movers, self._vms = site, settings, run, movers, vms
        self._sessions = Sessions(site, settings)
        self.entries: list[Record] = []

    def copy(self, ambiguous: Sequence[str]) -> None:
        """End what earlier runs left, and copy the VMs. Raise VirtinfraError if nothing was done."""
        problem, others = self._take()
        tasks = self._sessions.read_tasks()
        self.fail(lambda vm: AMBIGUOUS if vm["uuid"] in ambiguous else self._sessions.find_obstacle(vm, tasks))
        self.fail(lambda vm: find_other_run(others, vm["uuid"]))
        ended = self._sessions.end_left(self._vms, tasks)
        self.fail(lambda vm: ended.get(vm["uuid"]))
        if self._settings.state == "ended":
            warn_of_leaked(self._site, self._vms, list_known(self._sessions.read_tasks()))
            for vm in list(self._vms):
                self._close(vm, outcome="ended" if vm["uuid"] in ended else "unchanged")
            return
        for vm in list(self._vms):
            if reason := self._settings.find_unfit_state(vm):
                # A person who names a VM wants a point of it.
                self._close(vm, **{"error" if self._settings.names(vm) else "skipped": reason})
        self.fail(lambda dummy: problem)
        self._copy_all()

    def _take(self) -> tuple[str | None, list[Record]]:
        """Take the VMs of the share only, and return why the mover cannot be used, and the other runs that have VMs."""
        others = [other for mover in self._movers for other in mover.others]
        if all(mover.problem for mover in self._movers):
            return " ".join(str(mover.problem) for mover in self._movers), others
        if not (self._vms and self._settings.repository):
            return None, others
        # Check mode has not made the repository, which the module only predicts with this option.
        predicted = self._settings.initialize and self._site.check_mode
        taken = self._run.take([vm["uuid"] for vm in self._vms], initialize=predicted)
        others += taken.get("others") or ()
        if reason := find_reason(taken):
            return f"The data mover {self._run.name} cannot be used: {reason}.", others
        self._site.meanwhile = self._run.beat_if_due
        return None, others

    def _copy_all(self) -> None:
        mover = next((mover for mover in self._movers if mover.name == self._run.name), Mover(self._run.name))
        settings = self._settings
        copies = [VmCopy.plan(vm, mover, settings.full_every, settings.compare_every) for vm in self._vms]
        if self._site.check_mode:
            self._predict(copies)
        else:
            self.entries += Copying(self._site, settings, self._sessions, self._run, copies).run()

    def _predict(self, copies: Sequence[VmCopy]) -> None:
        space, hooks = self._sessions.read_space(), self._sessions.hooks
        errors: dict[str, str | None] = {}
        errors |= self._sessions.exports.predict(planned.vm for planned in copies if planned.is_off)
        for planned in copies:
            if not planned.is_off:
                # A VM waits until others have given their space back, so each must have room alone.
                error = replace(space, taken=Counter()).take(planned.vm) or hooks.predict(planned.vm)
                errors[planned.uuid] = error
            if error := errors.get(planned.uuid):
                self._close(planned.vm, error=error)
            else:
                notes = [] if planned.is_off else hooks.describe()
                self._close(planned.vm, outcome=planned.outcome, why=planned.choice.why, notes=notes)

    def fail(self, find_reason: Callable[[Record], str | None]) -> None:
        """Note of the VMs that have no entry yet why some are not copied."""
        for vm in list(self._vms):
            if error := find_reason(vm):
                self._close(vm, error=error)

    def _close(self, vm: Record, **known: Any) -> None:
        self.entries.append(build_members(vm, **known))
        self._vms.remove(vm)


def report(site: Site, options: Mapping[str, Any], dummy: Record) -> Report:
    """Return the report of all movers, with the VMs that none has reached."""
    selected = _get(site, site.play.host, SELECTED)
    site.ask(Wish({vm["uuid"]: {"vm": vm["name"], "vm_uuid": vm["uuid"]} for vm in selected["vms"]}))
    copied = [_get(site, host, COPIED) for host in site.play.list_all()]
    entries = [entry for each in copied if each for entry in each["entries"]]
    query, unmet = options["query"], selected["unmet"]
    reasons = {name: describe_missing(name, "vm_backup_query", query, unmet) for name in selected["missing"]}
    missing = [build_members({"name": name}, error=reason) for name, reason in reasons.items()]
    return build_report([*missing, *entries], selected["vms"])


STEPS = {"select": select, "read": read, "copy": copy, "report": report}
