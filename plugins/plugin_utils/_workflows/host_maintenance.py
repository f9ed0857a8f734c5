"""Put a host into maintenance for the tasks of a user, and return it to its previous state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ansible.errors import AnsibleError

from ...module_utils._api.errors import InvalidOptions, Unchangeable, Unsupported, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._engine.context import TaskInterrupted
from ...module_utils._masking.terminal import escape_controls
from ...module_utils._modules.run import describe_failure
from .._site.maintenance_marks import MaintenanceMarks
from .._site.marked_vms import HALF_WRITTEN, find_half_written
from .._site.play_host import (
    UUID,
    find_host,
    find_lack,
    name_variables,
    read_available,
    read_host,
    require_own_host,
    require_uuid,
)
from .._site.power import PAUSED, RUNNING
from .._site.report import Entry, Outcome, Report
from .._site.settings import HostMaintenanceSettings
from .._site.site import Site
from .._site.variables import Play
from .._site.window import Window, check_window
from .._site.wish import Wish, index
from .host_evacuation import ADD_TARGETS, OUTSIDE, REMEDY
from .host_evacuation import run as evacuate

ROLE = "host_maintenance"

# A value of the option state of the module kvm_host. The others are the states of the service in lower case.
MAINTENANCE = "maintenance"

# The members of which each play of a playbook has one, and no task has any.
PLAYS = {"hosts", "import_playbook", "ansible.builtin.import_playbook"}

# How many VMs start at the same time.
STARTS = 10


class Settings(HostMaintenanceSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions for values that the argument specification cannot exclude."""
        if self.state == "present" and not self.tasks:
            raise InvalidOptions("Give host_maintenance_tasks, the file with the tasks to run in maintenance")
        check_window(ROLE, self.not_after)


@dataclass
class Maintenance:
    """A host and what becomes of it, in the form of the report. Its name has no control characters.

    ``remains`` is what the run leaves otherwise than it may seem, although it has not failed.
    """

    name: str
    uuid: str
    previous_state: str | None = None
    outcome: str = "unneeded"
    migrated_vms: list[Record] = field(default_factory=list)
    stopped_vms: list[Record] = field(default_factory=list)
    started_vms: list[Record] = field(default_factory=list)
    remains: str | None = None
    error: str | None = None

    def skip(self, reason: str) -> None:
        """Note why the role has left the host as it is."""
        self.outcome, self.error = "skipped", reason

    def fail(self, reason: str) -> None:
        """Note why the role has failed for the host."""
        self.outcome, self.error = "failed", reason

    @property
    def state(self) -> str:
        """The previous state, as the option state of the module kvm_host has it."""
        return name_state(str(self.previous_state))


def name_state(state: str) -> str:
    """Return a state of the service as the option state of the module kvm_host has it."""
    return MAINTENANCE if "Maintenance" in state else state.lower()


@dataclass(frozen=True)
class Starts:
    """The VMs that were started again, those that still do not run, and why.

    ``is_offered`` is False if the service does not offer to start VMs.
    """

    started: list[Record]
    down: list[Record]
    reason: str = ""
    is_offered: bool = True


def check(site: Site, options: Mapping[str, Any], dummy_given: Record) -> Report:
    """Return the variables, which the tasks of the user may change, for the other steps.

    It is a step of its own so that a mistake in the variables of one host ends the play before another host is in
    maintenance.
    """
    settings = Settings(**options)
    settings.check()
    if settings.uuid:
        failed = "put into" if settings.state == "present" else "taken out of"
        require_own_host(site.play, ROLE, settings.uuid, f"{site.play.host} was not {failed} maintenance.")
    return Report("hosts", next={"variables": dict(options)})


# --------------------------------------------------------------------------------------------------------------- enter


def enter(site: Site, options: Mapping[str, Any], dummy_given: Record) -> Report:
    """Put the host into maintenance, and return the file with the tasks to run, None if there are none to run.

    A failure is in the result, because the report of the host
    follows: a task that fails would end the play, perhaps while other hosts are in maintenance.
    """
    settings = Settings(**options)
    entry = Entrance(site, settings, Maintenance(site.play.host, settings.uuid or ""))
    tasks = None
    if settings.state == "present" and settings.needed:
        try:
            tasks = entry.run()
        except VirtinfraError as failure:
            entry.work.fail(str(failure))
    following = {"maintenance": asdict(entry.work), "tasks": tasks}
    return Report("hosts", next=following, has_changed=entry.has_changed)


class Entrance:
    """The way of a host into maintenance."""

    def __init__(self, site: Site, settings: Settings, work: Maintenance) -> None:
        self._site, self._settings, self.work = site, settings, work
        self.has_changed = False
        self._marks: MaintenanceMarks

    def run(self) -> str | None:
        """Return the file with the tasks to run in maintenance, None if the host is skipped. Raise VirtinfraError."""
        settings, work = self._settings, self.work
        window = Window(self._site.get_time, ROLE, settings.not_after)
        if not window.is_open():
            raise VirtinfraError(f"host {work.name} was not put into maintenance. {window.reason}")
        uuid = require_uuid(ROLE, settings.uuid, f"{work.name} was not put into maintenance.")
        tasks = find_tasks(self._site.play, str(settings.tasks))
        host = read_existing(self._site, uuid, work)
        self._marks = MaintenanceMarks(self._site, ROLE, work.uuid, settings.timeout)
        if self._marks.host:
            self._marks.settle()
            host = read_existing(self._site, uuid, work)
        if work.state == MAINTENANCE:
            return self._use(tasks)
        available = read_available(self._site, ROLE, host)
        if lack := find_lack(ROLE, available, settings.least_available):
            raise VirtinfraError(f"host {work.name} was not put into maintenance: {lack}")
        if settings.evacuate:
            self._evacuate([other["uuid"] for other in available])
        self._enter()
        return tasks

    def _use(self, tasks: str) -> str | None:
        """Return the tasks to run on a host that is in maintenance already. Raise VirtinfraError."""
        work, mark = self.work, self._marks.host
        origin = "in which an earlier run of the role has left it" if mark else "perhaps for other work"
        if self._settings.already == "skip":
            work.skip(f"It is already in {work.previous_state}, {origin}.")
            return None
        if self._settings.already == "fail":
            remedy = "Run the role with host_maintenance_state=absent" if mark else "Enable it"
            raise VirtinfraError(
                f"host {work.name} is already in {work.previous_state}, {origin}. {remedy}, or set"
                " host_maintenance_already to skip or use."
            )
        if mark is None:
            work.remains = "It was in maintenance before the run, and stays in it."
        else:
            work.previous_state = mark.was
        self._change()
        return tasks

    def _evacuate(self, targets: Sequence[str]) -> None:
        """Migrate the VMs to other hosts of the cluster. Raise VirtinfraError if one of them is not migrated."""
        work = self.work
        options = {
            **self._site.play.read("host_evacuation"),
            "hosts": [work.uuid],
            # Without other hosts, the host itself is the only one in the list, because an empty list permits all.
            "targets": targets or [work.uuid],
            "unmovable": "fail" if self._settings.running_vms == "migrate" else "keep",
            "timeout": self._settings.timeout,
            "state": "evacuated",
        }
        refusal = f"host {work.name} was not put into maintenance."
        try:
            report = evacuate(self._site, options)
        except VirtinfraError as failure:
            own_remedy = "Set host_maintenance_running_vms to stop to stop them."
            reason = str(failure).replace(REMEDY, own_remedy).replace(ADD_TARGETS, own_remedy)
            reason = reason.replace(OUTSIDE, "hosts that are not available")
            raise VirtinfraError(f"{refusal} {reason}") from failure
        self.has_changed |= report.is_changed
        work.migrated_vms = list_migrated(entry.members for entry in report.entries)
        if report.failed_count:
            raise VirtinfraError(f"{refusal} {report.describe()}.")

    def _enter(self) -> None:
        """Put the host into maintenance, marked before. Raise VirtinfraError, after the maintenance was cancelled."""
        # The evacuation took time, in which a person may have changed the host.
        read_existing(self._site, self.work.uuid, self.work)
        if self.work.state == MAINTENANCE:
            raise VirtinfraError(f"host {self.work.name} was put into maintenance by somebody else meanwhile.")
        self._mark()
        self._change()

    def _mark(self) -> None:
        """Mark the host and the VMs on it. Raise VirtinfraError if that is not possible."""
        work, query = self.work, [f"hostUuid={self.work.uuid}"]
        try:
            vms = self._site.read("vm_info", query=query)["vms"]
            if self._marks.await_others(vms):
                vms = self._site.read("vm_info", query=query)["vms"]
            self._marks.set(str(work.previous_state), vms)
        except VirtinfraError as failure:
            self._marks.find_down()
            self._marks.take_off_host()
            raise VirtinfraError(f"host {work.name} was not put into maintenance. {failure}") from failure

    def _change(self) -> None:
        """Change the state of the host, and note what becomes of its VMs. Raise VirtinfraError."""
        work, result = self.work, self._change_state()
        self.has_changed |= result["changed"]
        # Check mode has migrated none, and predicts them here once more.
        known = {vm["uuid"] for vm in work.migrated_vms}
        work.migrated_vms += [vm for vm in result.get("migrated_vms") or () if vm["uuid"] not in known]
        work.stopped_vms = result.get("stopped_vms") or []
        if result["failed"]:
            reason = name_variables(ROLE, str(result["msg"]))
            raise VirtinfraError(self._cancel(reason) if result["changed"] else self._return(reason))
        if "Maintenance" not in (result.get("host") or {}).get("state", ""):
            raise VirtinfraError(f"host {work.name} is not known to be in maintenance. Run the role again.")
        if not self._site.check_mode:
            self._marks.add_stopped(work.stopped_vms)
            work.stopped_vms = [drop_was(vm) for vm in self._marks.find_down()]

    def _change_state(self) -> Record:
        """Return the result of the module kvm_host."""
        options: dict[str, Any] = {"running_vms": self._settings.running_vms, "wait_timeout": self._settings.timeout}
        try:
            given = [{"uuid": self.work.uuid}]
            (result,) = self._site.batch("kvm_host", given, 1, self._marks.choose_jobs(), state=MAINTENANCE, **options)
            return result
        except TaskInterrupted as stop:
            if isinstance(stop.__cause__, KeyboardInterrupt):
                raise
            # The keyword timeout of Ansible, which is over now, is one of the limits.
            return {"failed": True, "changed": True, "msg": str(stop)}

    def _cancel(self, reason: str) -> str:
        """Cancel the maintenance, and return what has failed.

        The module kvm_host would do nothing: while the job is queued, the record of the host shows nothing to cancel.
        The timeout of the role, which may be short, does not apply.
        """
        work = self.work
        if work.state == MAINTENANCE:
            return self._return(reason)
        params = {"uuid": work.uuid, "stateEvent": work.state.removesuffix("d")}
        cancelled = self._site.change("api", {"params": params}, operation="ChangeHostState")
        if cancelled["failed"]:
            return (
                f"host {work.name} did not enter maintenance in time, and may do so later. Disable or enable it."
                f" {reason} {cancelled['msg']}"
            )
        returned = self._site.change("kvm_host", {"uuid": work.uuid}, state=work.state)
        if returned["failed"]:
            return (
                f"host {work.name} did not enter maintenance, and is not {work.state} as before. {reason}"
                f" {returned['msg']}"
            )
        return self._return(reason)

    def _return(self, reason: str) -> str:
        """Start the VMs again on a host that has its previous state, and return what has failed."""
        work = self.work
        starts = start_vms(self._site, work, self._settings, self._marks)
        failure = f"host {work.name} did not enter maintenance, and is {work.state} as before. {reason}"
        return join(failure, describe_down(work.name, starts))


def find_tasks(play: Play, tasks: str) -> str:
    """Return the path of the file with the tasks, which may be relative. Raise InvalidOptions if it cannot be used."""
    path = play.folder / tasks
    refusal = f"{play.host} was not put into maintenance. host_maintenance_tasks is {path}, which"
    if not path.is_file():
        raise InvalidOptions(
            f"{refusal} is not a file. Give an absolute path, or one relative to the folder of the playbook."
        )
    try:
        content = play.load(str(path))
    except AnsibleError as error:
        raise InvalidOptions(f"{refusal} cannot be used. {' '.join(str(error).split())}") from None
    if not isinstance(content, list):
        raise InvalidOptions(f"{refusal} cannot be used. It does not contain a list of tasks.")
    if any(isinstance(each, Mapping) and each.keys() & PLAYS for each in content):
        raise InvalidOptions(
            f"{refusal} is a playbook. Give a file with a list of tasks only, such as that under tasks in a play."
        )
    return str(path)


def read_existing(site: Site, uuid: str, work: Maintenance) -> Record:
    """Return the record of the host, and note it. Raise VirtinfraError if it does not exist."""
    host = find_host(site, ROLE, uuid)
    if host is None:
        raise VirtinfraError(f"no host has the uuid {uuid}, which is host_maintenance_uuid of {work.name}")
    work.name, work.uuid, work.previous_state = host["name"], host["uuid"], host["state"]
    return host


def list_migrated(evacuation: Iterable[Record]) -> list[Record]:
    """Return the VMs that an evacuation has migrated, from its report."""
    return [{"uuid": vm["vm_uuid"], "name": vm["vm"]} for vm in evacuation if vm["outcome"] == "changed"]


# --------------------------------------------------------------------------------------------------------------- leave


def leave(site: Site, options: Mapping[str, Any], given: Record) -> Report:
    """Return the host to its previous state, and return the report.

    ``entered`` is what the step enter has returned, and ``failure`` the task of the user that has failed, with its
    message, if one has.
    """
    settings, entered = Settings(**options), given["entered"]
    exit_ = Exit(site, settings, Maintenance(**entered["maintenance"]))
    site.ask(Wish({exit_.work.uuid: {"name": exit_.work.name, "uuid": exit_.work.uuid}}, exit_.read, exit_.find_lack))
    try:
        if settings.state == "absent":
            exit_.take_out()
        elif entered["tasks"] and given.get("failure"):
            exit_.end(describe_cause(entered["tasks"], given["failure"]))
        elif entered["tasks"]:
            exit_.leave(exit_.work.state)
    except VirtinfraError as failure:
        exit_.work.fail(str(failure))
    reason = "skipped" if exit_.work.outcome == "skipped" else "error"
    outcome = Outcome(is_changed=exit_.has_changed, **{reason: exit_.work.error})
    entry = Entry(outcome, exit_.work.name, asdict(exit_.work), str(entered["maintenance"]["uuid"]))
    following = {"unreached": site.play.list_unreached(f"{ROLE}_report"), "left": [], "off": []}
    if entered["tasks"] or settings.state == "absent":
        following |= exit_.name_left()
    return Report("hosts", [entry], next=following)


class Exit:
    """The way of a host out of maintenance."""

    def __init__(self, site: Site, settings: Settings, work: Maintenance) -> None:
        self._site, self._settings, self.work = site, settings, work
        self.has_changed = False
        self._was_in_maintenance = False
        self._state: str | None = None
        self._marks: MaintenanceMarks | None = None

    @property
    def marks(self) -> MaintenanceMarks:
        """The marks of the host and its VMs, as they are now."""
        if self._marks is None:
            self._marks = MaintenanceMarks(self._site, ROLE, self.work.uuid, self._settings.timeout)
        return self._marks

    def name_left(self) -> dict[str, list[str]]:
        """Return what other runs have left: hosts in maintenance, and VMs that are off."""
        known = self._site.play.read_batch(f"{ROLE}_uuid", UUID)
        try:
            return {"left": self.marks.name_others(known), "off": self.marks.name_left_vms()}
        except VirtinfraError as failure:
            self._site.warn(f"It is not known what other runs have left in maintenance or off: {failure}")
            return {}

    def read(self) -> dict[str, Record]:
        """Return the host, with the VMs that were started again. Raise VirtinfraError."""
        work = self.work
        if work.outcome != "done":
            return {}
        vms = ",".join(vm["uuid"] for vm in work.started_vms)
        started = self._site.read("vm_info", query=[f"uuid?={vms}"])["vms"] if vms else []
        hosts = index(self._site.read("host_info", uuid=work.uuid)["hosts"])
        return {uuid: {**host, "vms": index(started)} for uuid, host in hosts.items()}

    def find_lack(self, dummy_uuid: str, host: Record | None) -> str | None:
        """Return why the maintenance is not done that the run says is done, None if it is."""
        work = self.work
        if work.outcome != "done":
            return None
        state = Maintenance(work.name, work.uuid, host["state"]).state if host else "unknown"
        if host is None or state != self._state:
            return f"host {work.name} is {state} in the end, and not {self._state}."
        states = {uuid: vm["state"] for uuid, vm in host["vms"].items()}
        down = [vm for vm in work.started_vms if states.get(vm["uuid"]) not in (RUNNING, PAUSED)]
        return describe_down(work.name, Starts([], down)) or None

    def take_out(self) -> None:
        """Take the host out of a maintenance in which an earlier run has left it. Raise VirtinfraError.

        A host in maintenance without a mark is that of a person, and stays as it is.
        """
        work, settings = self.work, self._settings
        uuid = require_uuid(ROLE, settings.uuid, f"{work.name} was not taken out of maintenance.")
        read_existing(self._site, uuid, work)
        if self.marks.host is None and work.state == MAINTENANCE:
            work.skip("It is in maintenance, and has no mark of the role: somebody else has put it there.")
        elif self.marks.host or self.marks.vms:
            self.marks.settle()
            read_existing(self._site, uuid, work)
            work.stopped_vms = [drop_was(vm) for vm in self.marks.find_down()]
            self.leave(name_state(self.marks.host.was) if self.marks.host else work.state)
            if not (work.started_vms or self._was_in_maintenance):
                work.outcome = "unneeded"

    def leave(self, state: str) -> None:
        """Change the state of the host, and start its VMs. Raise VirtinfraError."""
        work, state = self.work, self._choose_state(state)
        result = self._change_state(state)
        if result["failed"]:
            raise VirtinfraError(join(str(result["msg"]), describe_down(work.name, Starts([], work.stopped_vms))))
        work.outcome, self._state = "done", state
        starts = start_vms(self._site, work, self._settings, self.marks)
        self.has_changed |= bool(work.started_vms)
        if problem := describe_down(work.name, starts):
            if starts.is_offered:
                raise VirtinfraError(problem)
            self._site.warn(problem)
        if self.marks.problems:
            reason = next(iter(self.marks.problems.values()))
            raise VirtinfraError(f"host {work.name} is {state}, but marks remain: {reason}. Run the role again.")

    def end(self, cause: str) -> None:
        """Do with the host what the role does after a task of the user has failed. Raise VirtinfraError."""
        work = self.work
        if self._settings.on_failure == "keep":
            stopped = describe_down(work.name, Starts([], work.stopped_vms))
            raise VirtinfraError(join(f"host {work.name} stays in maintenance. {cause}", stopped))
        result = self._change_state(self._choose_state(work.state))
        if result["failed"]:
            failure = f"host {work.name} was not returned to its previous state. {cause}"
            raise VirtinfraError(join(failure, result["msg"], describe_down(work.name, Starts([], work.stopped_vms))))
        problem = describe_down(work.name, start_vms(self._site, work, self._settings, self.marks))
        self.has_changed |= bool(work.started_vms)
        raise VirtinfraError(join(f"host {work.name} was returned to its previous state. {cause}", problem))

    def _choose_state(self, state: str) -> str:
        """Return the state to put back: that which a person has chosen meanwhile, if one has. Raise VirtinfraError."""
        work, host = self.work, read_host(self._site, self.work.uuid)
        if host is None:
            raise VirtinfraError(f"host {work.name} was removed meanwhile.")
        now = name_state(host["state"])
        self._was_in_maintenance = now == MAINTENANCE
        if self._was_in_maintenance or self._site.check_mode or now == state:
            return state
        work.remains = f"Somebody has changed its state to {host['state']} meanwhile, so it is not {state}."
        return now

    def _change_state(self, state: str) -> Record:
        options: dict[str, Any] = {"state": state, "wait_timeout": self._settings.timeout}
        jobs = self.marks.choose_jobs()
        (result,) = self._site.batch("kvm_host", [{"uuid": self.work.uuid}], 1, jobs, **options)
        self.has_changed |= result["changed"]
        return result


def describe_cause(tasks: str, failure: Record) -> str:
    """Return which task of a file has failed, and why.

    Neither is known if the file itself cannot be included and, before core 2.19, if it was a handler.
    """
    action = failure.get("action")
    task = failure["task"] or (
        f"a task without a name ({action})" if action else "it cannot be included, or a handler failed"
    )
    return ": ".join(filter(None, (f"{tasks} failed", task, failure["msg"])))


def start_vms(site: Site, work: Maintenance, settings: Settings, marks: MaintenanceMarks) -> Starts:
    """Put back the VMs that the maintenance stopped, note which have started, and take the marks off, last the host's.

    Their marks say which these are; check mode predicts further ones.
    """
    known = {vm["uuid"]: vm for vm in (work.stopped_vms if site.check_mode else ())}
    known |= {vm["uuid"]: vm for vm in marks.find_down()}
    vms = [drop_was(vm) for vm in known.values()]
    work.stopped_vms = list({vm["uuid"]: vm for vm in (*work.stopped_vms, *vms)}.values())
    starts = judge_starts(vms, _start_each(site, known, settings.timeout), site.check_mode)
    work.started_vms = starts.started
    marks.take_off_vms([vm["uuid"] for vm in starts.started])
    marks.take_off_host()
    return starts


def _start_each(site: Site, vms: Mapping[str, Record], timeout: int) -> list[Record]:
    """Start VMs, but none that a restore may have left half written, and return a result for each."""
    states = {uuid: "paused" if vm.get("was") == PAUSED else "running" for uuid, vm in vms.items()}
    try:
        refused = dict.fromkeys(find_half_written(site) & states.keys() if states else (), HALF_WRITTEN)
    except VirtinfraError as failure:
        refused = dict.fromkeys(states, str(failure))
    objects = [{"uuid": uuid, "state": state} for uuid, state in states.items() if uuid not in refused]
    results = dict(
        zip((each["uuid"] for each in objects), site.batch("vm", objects, STARTS, wait_timeout=timeout), strict=True)
    )
    return [
        {"changed": False, **describe_failure(VirtinfraError(refused[uuid]))} if uuid in refused else results[uuid]
        for uuid in states
    ]


def drop_was(vm: Record) -> Record:
    """Return a VM as it is in the report."""
    return {"uuid": vm["uuid"], "name": vm["name"]}


def judge_starts(vms: Sequence[Record], results: Sequence[Record], is_prediction: bool = False) -> Starts:
    """Return which VMs have started, from the results of the module vm.

    A prediction is made before the host is back, so a VM whose disks are on it could not start yet.
    """
    expected = (Unchangeable.code,) if is_prediction else ()
    down = [
        (vm, result)
        for vm, result in zip(vms, results, strict=True)
        if result["failed"] and result["error"]["code"] not in expected
    ]
    failed = [vm for vm, dummy in down]
    return Starts(
        [vm for vm in vms if vm not in failed],
        failed,
        str(down[0][1]["msg"]) if down else "",
        not down or any(result["error"]["code"] != Unsupported.code for dummy, result in down),
    )


def describe_down(name: str, starts: Starts) -> str:
    """Return which VMs do not run that the maintenance of a host stopped, and why; empty if there are none."""
    if not starts.down:
        return ""
    names = ", ".join(escape_controls(f"{vm.get('name', '')} {vm['uuid']}".strip()) for vm in starts.down)
    return join(
        f"The maintenance of host {name} stopped VMs that still do not run. Start them: {names}.", starts.reason
    )


def join(*sentences: str) -> str:
    """Return the sentences that are not empty as one text."""
    return " ".join(filter(None, sentences))


STEPS = {"check": check, "enter": enter, "leave": leave}
