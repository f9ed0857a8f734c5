"""The marks of roles: user tags that say what a role will put back, and how it was before.

A role marks an object before it acts. The service has the mark when the controller is gone, so another run, maybe of
another controller, finds what is to be put back, and a person sees why a VM is off. The text of a mark is

    virtinfra.manager ROLE LABEL NOTE

``LABEL`` is the word of the user that ties the run that acts to the one that puts back. ``NOTE`` is what the role must
know, in a few words without ``=``, which is an operator of conditions: for example ``03 Running`` for a VM of the third
group that ran. A workflow that puts back does so:

1. ``found = marks.find()``, one query for all objects. ``marks.list_own(found)`` are those with the label of the run.
2. ``marks.settle(found, timeout)``: an object that looks as it was before proves nothing while an action of an earlier
   run may still change it. Read the objects after this step.
3. Put back what is not as it was, and ``marks.take_off`` the marks of all that are.

A workflow that acts calls ``find`` and ``settle``, too, since an earlier run may have been interrupted, then
``marks.set`` for all objects before it changes the first one, and calls the service with the job ids of
``marks.choose_jobs``, by which the next run finds the action.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...module_utils._api.errors import InvalidOptions, Unsupported, VirtinfraError
from ...module_utils._api.records import MARK_OWNER, Record, get_tag
from ...module_utils._client.jobs import RUNNING, UNKNOWN
from .report import name_some
from .site import Site
from .tagging import Tagger, join_reasons

# The roles that stop VMs and start them again. A VM has the mark of one of them: what one finds running, it marks in
# place of the others. The marks of other roles are about something else, such as the host of a VM.
MAINTENANCE = "host_maintenance"
POWER = ("vm_power", "site_shutdown", MAINTENANCE)

VM, HOST = "VmInstanceVO", "HostVO"

# Services compare tags without case, so a label has none.
LABEL = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
NOTE = re.compile(r"[A-Za-z0-9.-]+( [A-Za-z0-9.-]+)*")

# The length of a tag that all services accept.
MAX_LENGTH = 128

# How many ids of a mark in a row may be unused, because the service has refused the call before it began a job.
UNUSED_IDS = 3


@dataclass(frozen=True)
class Mark:
    """The mark of an object: the uuids of the user tag and of the object, its words, and its tag pattern if any."""

    uuid: str
    object_uuid: str
    role: str
    label: str
    note: str
    text: str
    pattern: str | None = None

    @property
    def place(self) -> int:
        """The place in the order of a role, 0 without one."""
        first = self.note.partition(" ")[0]
        return int(first) if first.isdecimal() else 0

    @property
    def was(self) -> str:
        """The last word of the note: the state before."""
        return self.note.rpartition(" ")[2]

    @property
    def owner(self) -> str:
        """Who will put the object back, for messages."""
        return f"{self.role}, {self.label}"


@dataclass(frozen=True)
class Marking:
    """The marks that objects have now, and why others have none, by the uuids of the objects."""

    marks: dict[str, Mark]
    problems: dict[str, str]


@dataclass
class Trail:
    """The jobs of the actions for a mark: how many ids were looked up, the next unused one, and which jobs run."""

    looked_up: int = 0
    unused: int = 0
    running: list[str] = field(default_factory=list)

    def list_due(self) -> range:
        """Return the numbers of the ids to look up next."""
        return range(self.looked_up, self.unused + UNUSED_IDS)

    def note(self, number: int, job: Record) -> None:
        """Note what the service knows about an id."""
        self.looked_up = number + 1
        if job["state"] != UNKNOWN:
            self.unused = number + 1
        if job["state"] == RUNNING:
            self.running.append(str(job["uuid"]))


class JobIds:
    """The ids of the calls for a mark, one after the other. Each run derives the same ones."""

    def __init__(self, mark: Mark, number: int = 0) -> None:
        self._mark, self.number = mark, number

    def __call__(self) -> str:
        """Return the id for the next call."""
        self.number += 1
        return derive_job(self._mark, self.number - 1)


def derive_job(mark: Mark, number: int) -> str:
    """Return one of the job ids of a mark, in the form of a random uuid, which services require."""
    digest = hashlib.sha256(f"{MARK_OWNER} {mark.uuid} {number}".encode()).digest()
    return uuid.UUID(bytes=digest[:16], version=4).hex


def format_place(number: int, was: str) -> str:
    """Return the note of an object with a place in an order."""
    return f"{number:02} {was}"


class Marks:
    """The marks of a role on the objects of a type, such as VmInstanceVO or HostVO. ``label`` is that of the run."""

    def __init__(self, site: Site, role: str, label: str, resource_type: str, concurrency: int) -> None:
        if not LABEL.fullmatch(label):
            raise InvalidOptions(
                f"{role}_label must have at most 40 of the characters a-z, 0-9, '.' and '-', and begin with a letter or"
                f" digit, not {label!r}"
            )
        self.label = label
        self._site, self._role, self._type = site, role, resource_type
        self._roles = POWER if role in POWER and resource_type == VM else (role,)
        self._tagger = Tagger(site, resource_type, concurrency)
        self._ids: dict[str, JobIds] = {}

    def find(self) -> list[Mark]:
        """Return all marks of the role, with any label, and those of the roles with which it shares its objects.

        Raise VirtinfraError if they cannot be read.
        """
        return read_marks(self._site, self._roles, self._type)

    def find_if_possible(self) -> list[Mark]:
        """Return what `find` returns, nothing if the service has no user tags. Raise VirtinfraError."""
        with suppress(Unsupported):
            return self.find()
        return []

    def list_own(self, marks: Iterable[Mark]) -> list[Mark]:
        """Return the marks of the role with the label of this run."""
        return [mark for mark in marks if (mark.role, mark.label) == (self._role, self.label)]

    def warn_of_others(self, found: Iterable[Mark], objects: str = "VM") -> None:
        """Warn if marks were found, but none of the role with the label of this run: it may be misspelt."""
        others = list(found)
        if others and not self.list_own(others):
            labels = sorted({m.label if m.role == self._role else f"{m.label} of the role {m.role}" for m in others})
            self._site.warn(
                f"No {objects} has a mark with the label {self.label}. There are marks with these: {name_some(labels)}"
            )

    def set(self, wanted: Mapping[str, str], found: Iterable[Mark]) -> Marking:
        """Mark objects with notes, by their uuids, and return what a read afterwards shows.

        ``found`` are the marks of `find`. Marks on the wanted objects are kept if they are the wanted marks, or else
        taken off, so that each object has one mark, and each mark one owner. A mark that another run sets meanwhile
        stays: if both took off the mark of the other, nobody would put the object back. Raise VirtinfraError if no
        object can be marked, so that nothing is changed, or if it is not known which are. Check mode marks nothing.
        """
        present = [mark for mark in found if mark.object_uuid in wanted]
        if self._site.check_mode or not wanted:
            return Marking({}, {})
        marks = self._select(wanted, present)
        missing = {each: self._format(note) for each, note in wanted.items() if each not in marks}
        reasons = self._tagger.add(missing)
        if missing:
            marks = self._select(wanted, self.find())
        fallback = join_reasons(reasons.values()) or "The service shows no mark."
        if not marks:
            raise VirtinfraError(f"Nothing was changed, because no object could be marked. {fallback}")
        known = {mark.uuid for mark in present}
        self._ids.update({mark.uuid: JobIds(mark) for mark in marks.values() if mark.uuid not in known})
        others = [mark for mark in present if mark.object_uuid in marks and mark != marks[mark.object_uuid]]
        # A stale mark that remains does no harm now: its object is marked for this run.
        self.take_off(others)
        problems = {each: reasons.get(each) or fallback for each in wanted if each not in marks}
        return Marking(marks, problems)

    def _select(self, wanted: Mapping[str, str], marks: Iterable[Mark]) -> dict[str, Mark]:
        """Return those of the marks that are wanted: of this run, with the wanted note of their object."""
        own = {mark.object_uuid: mark for mark in self.list_own(marks) if mark.note == wanted.get(mark.object_uuid)}
        return {each: own[each] for each in wanted if each in own}

    def renew(self, marks: Iterable[Mark], needs_mark: Callable[[Record], bool]) -> dict[str, str]:
        """Mark VMs again whose marks another run has taken off, because they still seemed to be as before.

        That run has read them just before this one has acted. ``needs_mark`` says of a record whether its VM is not as
        before. Return why some cannot be marked, by their uuids. Raise VirtinfraError if that cannot be known.
        """
        marks = list(marks)
        if not marks or self._site.check_mode:
            return {}
        known = {mark.object_uuid for mark in self.find()}
        missing = {mark.object_uuid: mark.note for mark in marks if mark.object_uuid not in known}
        if not missing:
            return {}
        vms = self._site.read("vm_info", query=[f"uuid?={','.join(missing)}"])["vms"]
        return self.set({vm["uuid"]: missing[vm["uuid"]] for vm in vms if needs_mark(vm)}, []).problems

    def take_off(self, marks: Iterable[Mark]) -> dict[str, str]:
        """Take marks off, and return why some remain, by the uuids of their objects. Check mode takes none off."""
        if self._site.check_mode:
            return {}
        return self._tagger.remove([(mark.uuid, mark.object_uuid, mark.pattern) for mark in marks])

    def settle(self, marks: Iterable[Mark], timeout: float) -> dict[str, str]:
        """Wait until no action for these marks is in flight, and return for which objects this is not known, and why.

        Read the objects afterwards. A service knows a job for some hours, and one that it does not know any more does
        not run. Check mode does not wait.
        """
        marks = list(marks)
        if not marks or self._site.check_mode:
            return {}
        try:
            acting = self._find_acting(marks)
            trails = self._trace(list({mark.uuid: mark for mark in acting.values()}.values()))
            if running := [job for trail in trails.values() for job in trail.running]:
                # A job that fails has ended, too. The jobs that still run are looked up afterwards.
                with suppress(VirtinfraError):
                    self._site.read("job_wait", jobs=running, wait_timeout=timeout)
                trails = self._trace([mark for mark in acting.values() if trails[mark.uuid].running])
        except VirtinfraError as failure:
            reason = f"it is not known whether an action of an earlier run has ended: {failure}"
            return {mark.object_uuid: reason for mark in marks}
        return {
            mark.object_uuid: f"an action of an earlier run is still in flight (job {trail.running[0]})"
            for mark in marks
            if mark.uuid in acting and (trail := trails.get(acting[mark.uuid].uuid)) and trail.running
        }

    def _find_acting(self, marks: Sequence[Mark]) -> dict[str, Mark]:
        """Return the marks from which the ids of the calls are derived, by the uuids of the marks of the objects.

        A maintenance stops the VMs of a host with the call for the host, none if the host has no mark any more.
        """
        if not any(self._is_of_maintenance(mark) for mark in marks):
            return {mark.uuid: mark for mark in marks}
        hosts = {mark.object_uuid: mark for mark in read_marks(self._site, (MAINTENANCE,), HOST)}
        found = [
            (mark, hosts.get(mark.note.partition(" ")[0]) if self._is_of_maintenance(mark) else mark) for mark in marks
        ]
        return {mark.uuid: acting for mark, acting in found if acting}

    def _is_of_maintenance(self, mark: Mark) -> bool:
        return self._type == VM and mark.role == MAINTENANCE

    def choose_jobs(self, marks: Iterable[Mark]) -> dict[str, JobIds]:
        """Return what provides the job ids for the next calls for marked objects, by the uuids of the objects.

        It asks the service which ids are unused, unless this run has set the mark and calls for the first time.
        """
        marks = list(marks)
        asked = [mark for mark in marks if mark.uuid not in self._ids or self._ids[mark.uuid].number]
        # Without an answer, the calls themselves show whether the service can be reached.
        with suppress(VirtinfraError):
            for mark, trail in zip(asked, self._trace(asked).values(), strict=True):
                self._ids[mark.uuid] = JobIds(mark, trail.unused)
        return {mark.object_uuid: self._ids.setdefault(mark.uuid, JobIds(mark)) for mark in marks}

    def _trace(self, marks: Sequence[Mark]) -> dict[str, Trail]:
        """Look up the jobs of marks, by their uuids: until several ids in a row are unused. Raise VirtinfraError."""
        trails = {mark.uuid: Trail() for mark in marks}
        while due := [(mark, number) for mark in marks for number in trails[mark.uuid].list_due()]:
            handles = [derive_job(mark, number) for mark, number in due]
            jobs = self._site.read("job_info", jobs=handles)["jobs"]
            for (mark, number), job in zip(due, jobs, strict=True):
                trails[mark.uuid].note(number, job)
        return trails

    def _format(self, note: str) -> str:
        text = f"{MARK_OWNER} {self._role} {self.label} {note}"
        if not NOTE.fullmatch(note) or len(text) > MAX_LENGTH:
            raise InvalidOptions(f"the mark {text!r} has characters that a mark cannot have, or more than {MAX_LENGTH}")
        return text


def read_marks(site: Site, roles: Sequence[str], resource_type: str) -> list[Mark]:
    """Return the marks of roles on the objects of a type. Raise VirtinfraError if they cannot be read."""
    prefix = f"{MARK_OWNER} {roles[0]} " if len(roles) == 1 else f"{MARK_OWNER} "
    rows = site.read_user_tags(f"tag~={prefix}%", f"resourceType={resource_type}")
    # The query compares without case, and takes an underscore for any character.
    return [
        Mark(str(row["uuid"]), str(row["resourceUuid"]), *words, get_tag(row), row.get("tagPatternUuid") or None)
        for row in rows
        if (words := _split(get_tag(row))) and words[0] in roles and row.get("resourceType") == resource_type
    ]


def _split(text: str) -> tuple[str, str, str] | None:
    """Return the role, the label and the note of a mark, None for another tag."""
    owner, role, label, note = [*text.split(" ", 3), *[""] * 3][:4]
    is_mark = owner == MARK_OWNER and LABEL.fullmatch(label) and NOTE.fullmatch(note)
    return (role, label, note) if is_mark else None
