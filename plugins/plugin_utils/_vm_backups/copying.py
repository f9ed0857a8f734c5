"""Copy VMs on the data mover of the task, and end their sessions in any case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid5

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.site import Site
from .._site.window import Window
from .exports import STARTED
from .mover_work import PATIENCE
from .plan import VmCopy, choose_due, find_other_run, find_reason, get_volume_uuid
from .progress import choose_pause, describe_progress
from .report import NOTHING_DELETED, build_members, judge_copy
from .repository_run import BEAT, RepositoryRun
from .sessions import Sessions
from .settings import Settings

# For how many seconds a copy may go on that its data mover should have ended.
GRACE = 60

# The step of a copy that asks whether it becomes a point.
DECISION = "decision"

# After how many seconds without a word about a copy, of a mover that answers, its job is asked for.
UNKNOWN = 5.0


# The variables of the role that are options of backup_point, too.
PASSED_ON = (
    *("repository", "verify", "compare_spread", "exclude_volumes"),
    *("keep", "compression", "min_free_percent"),
)


class MoverRun(RepositoryRun):
    """The part of a run that works on one mover. Movers can have one repository, and each gives its own VMs back."""

    def __init__(self, site: Site, settings: Settings, run: str) -> None:
        name = site.play.host
        super().__init__(site, settings.repository, name, run, str(uuid5(UUID(run), name)))
        self._settings = settings

    def start(self, copy: VmCopy, rate_limit: int) -> None:
        """Start a copy."""
        arguments = {
            "vm": copy.vm,
            "volumes": copy.volumes,
            "mode": copy.mode,
            "base_checkpoint": None if copy.is_off else copy.checkpoint,
            "run": self.uuid,
            "ask": copy.is_off,
            "rate_limit": rate_limit,
            **{name: getattr(self._settings, name) for name in PASSED_ON},
        }
        started = self._site.mover.start("backup_point", arguments, self._settings.timeout, self.folder)
        copy.job, copy.known = started.get("ansible_job_id"), self._site.get_time()
        if reason := find_reason(started):
            copy.result = {"failed": True, "msg": f"The copy could not be started on {self.name}: {reason}."}


class Copying:
    """Copies VMs. At most so many sessions are open as the settings say, each for the time of its copy."""

    def __init__(
        self, site: Site, settings: Settings, sessions: Sessions, run: MoverRun, copies: Sequence[VmCopy]
    ) -> None:
        self._site, self._settings, self._sessions, self._run = site, settings, sessions, run
        self._waiting, self._open = list(copies), list[VmCopy]()
        self._entries: list[Record] = []
        self._window = Window(site.get_time, "vm_backup", settings.not_after)
        self._most_open = min(settings.concurrency, len(copies))
        self._beaten = self._heard = site.get_time()
        self._progress: dict[str, Record] = {}

    def run(self) -> list[Record]:
        """Return the entries of the VMs, which the run has taken."""
        try:
            with self._site.outlive_run():
                # It can take long to end what earlier runs left, and the VMs may be those of another run since.
                if self._site.get_time() - self._run.taken > BEAT:
                    self._beat()
                while self._take_turn():
                    self._beat()
        finally:
            self._end([*self._open, *self._waiting])
        return self._entries

    def _take_turn(self) -> bool:
        """End the sessions whose copies have ended, open others in their places, or wait if there is nothing to do.

        Return whether a VM is left.
        """
        has_decided = self._decide()
        over = [copy for copy in self._open if self._is_over(copy)]
        self._end(over)
        has_opened = self._open_due()
        for copy in self._open:
            self._site.show(describe_progress(copy.vm, self._progress.get(copy.uuid)))
        if not (over or has_opened or has_decided):
            now = self._site.get_time()
            pauses = [choose_pause(self._progress.get(copy.uuid), now - copy.known) for copy in self._open]
            self._site.pause(min(pauses, default=choose_pause(None, self._silence)))
        return bool(self._waiting or self._open)

    def _decide(self) -> bool:
        """Let copies of VMs that are off become points, if the VMs are still off. Return whether any asked."""
        asking = [copy for copy in self._open if self._progress.get(copy.uuid, {}).get("step") == DECISION]
        if not asking:
            return False
        try:
            unchanged, reason = self._sessions.exports.list_unchanged(asking), STARTED
        except VirtinfraError as failure:
            unchanged, reason = set(), f"It could not be read whether the VM was started meanwhile: {failure}"
        for copy in asking:
            copy.problem = None if copy.uuid in unchanged else reason
        self._beat({copy.uuid: copy.uuid in unchanged for copy in asking})
        return True

    def _beat(self, decisions: Mapping[str, bool] | None = None) -> None:
        """Show other runs, and the copies, that this run works, and read how far the copies are, and their results.

        ``decisions`` say of copies that ask whether they become points.
        """
        self._beaten = self._site.get_time()
        given = {"decisions": decisions} if decisions else {}
        shown = self._run.take([copy.uuid for copy in (*self._open, *self._waiting)], **given)
        if find_reason(shown):
            self._progress = {}
            return
        self._heard = self._beaten
        self._progress = {each["vm_uuid"]: each for each in shown["running"]}
        results = {result["vm_uuid"]: result for result in shown["results"]}
        for copy in self._open:
            copy.result = copy.result or results.get(copy.uuid)
            if copy.uuid in self._progress:
                copy.known = self._heard
        self._lose({copy.uuid for copy in (*self._open, *self._waiting)} - {*shown["taken"]}, shown["others"])

    def _lose(self, uuids: set[str], others: Sequence[Record]) -> None:
        """Leave VMs to other runs that have taken them: their sessions are those of these runs now."""
        for copy in [copy for copy in (*self._open, *self._waiting) if copy.uuid in uuids]:
            error = find_other_run(others, copy.uuid) or "Another run has taken the VM."
            self._close([build_members(copy.vm, error=error, session_ended=copy in self._waiting)])

    @property
    def _silence(self) -> float:
        """For how many seconds the mover has not been heard of."""
        return self._beaten - self._heard

    def _is_over(self, copy: VmCopy) -> bool:
        """Return whether the copy of a VM has ended, or nothing is known about it any more."""
        if copy.result is None and copy.job and self._heard - copy.known > UNKNOWN:
            # A copy that was killed leaves no result.
            copy.result = self._site.mover.look(copy.job, self._run.folder) or None
        if copy.result is None and self._silence > PATIENCE:
            copy.problem = f"The data mover {self._run.name} could not be reached for {self._silence:.0f} s."
        if copy.result is None and self._site.get_time() - copy.opened > self._settings.timeout + GRACE:
            copy.problem = (
                "The copy did not end within vm_backup_timeout. The session was ended, so that it does no harm."
            )
        return bool(copy.result or copy.problem)

    def _open_due(self) -> bool:
        """Open the sessions that may be open beside others, and start their copies. Return whether any was due."""
        if self._waiting and not self._window.is_open():
            self._give_up(self._waiting, self._window.reason)
        if self._silence > PATIENCE:
            name = self._run.name
            self._give_up(self._waiting, f"The data mover {name} cannot be reached any more. No session was opened.")
        settings = self._settings
        # A session that nobody can copy must not be open.
        waiting = self._waiting if not self._silence else []
        due = choose_due(waiting, self._open, settings.concurrency, settings.per_host)
        if not due:
            return False
        try:
            ready, errors = self._sessions.prepare(due, may_wait=bool(self._open))
        except VirtinfraError as failure:
            ready, errors = [], {copy.uuid: str(failure) for copy in due}
        for copy in due:
            if copy.uuid in errors:
                self._give_up([copy], errors[copy.uuid])
        self._waiting = [copy for copy in self._waiting if copy not in ready]
        # From here on, an end of the run also ends the sessions of these copies.
        self._open += ready
        self._sessions.open(ready)
        for copy in ready:
            if not copy.problem:
                rate = max(1, settings.rate_limit // self._most_open) if settings.rate_limit else 0
                self._run.start(copy, rate)
        # What a failed call has begun must not wait for the copies of other VMs.
        self._end([copy for copy in ready if copy.problem])
        return bool(ready or errors)

    def _give_up(self, copies: Sequence[VmCopy], reason: str) -> None:
        """Note why no session of VMs was opened."""
        self._close([build_members(copy.vm, error=reason) for copy in copies])

    def _end(self, copies: Sequence[VmCopy]) -> None:
        """End the sessions of VMs, and note what became of them."""
        if not copies:
            return
        remains = self._sessions.end(copies)
        now = self._site.get_time()
        self._find_points([copy for copy in copies if copy.problem and copy.job and not copy.is_marked])
        self._close([judge_copy(copy, remains.get(copy.uuid), now) for copy in copies])

    def _find_points(self, copies: Sequence[VmCopy]) -> None:
        """Find the points of copies that have ended while the mover could not be reached."""
        if not copies:
            return
        shown = self._run.touch(list_points=True)
        for copy in copies:
            session = {(get_volume_uuid(info), info.get("bitmap_name")) for info in copy.volumes}
            for point in [] if find_reason(shown) else shown["listed"]["points"]:
                made = {(volume["volume_uuid"], volume["checkpoint"]) for volume in point["volumes"]}
                if point["vm_uuid"] == copy.uuid and point["whole"] and made and made <= session:
                    copy.problem, copy.result = None, {**NOTHING_DELETED, "point": point}

    def _close(self, entries: Sequence[Record]) -> None:
        self._entries += entries
        closed = {entry["vm_uuid"] for entry in entries}
        self._open = [copy for copy in self._open if copy.uuid not in closed]
        self._waiting = [copy for copy in self._waiting if copy.uuid not in closed]
