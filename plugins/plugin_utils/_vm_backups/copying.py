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
from .progress import SOONEST, choose_pause, describe_progress
from .report import NOTHING_DELETED, build_members, judge_copy
from .repository_run import BEAT, RepositoryRun
from .sessions import Sessions
from .settings import Settings

# For how many seconds a copy may go on that its data mover should have ended.
GRACE = 60

# The step of a copy that asks whether it becomes a point.
DECISION = "decision"

# After how many signs of life without a word about a copy its job is asked for.
UNSEEN = 2


class MoverRun(RepositoryRun):
    """The part of a run that works on one mover. Movers can have one repository, and each gives its own VMs back."""

    def __init__(self, site: Site, settings: Settings, run: str) -> None:
        name = site.play.host
        super().__init__(site, settings.repository, name, run, str(uuid5(UUID(run), name)))
        self._settings = settings

    def take(self, uuids: Sequence[str], **given: object) -> Record:
        """Take VMs, or show that the run still works for them, and return what the module backup_run returns."""
        # Check mode has not made the repository, which the module only predicts with this option.
        predicted = {"initialize": True} if self._settings.initialize and self._site.check_mode else {}
        return super().take(uuids, **predicted, **given)

    def take_over(self, uuids: Sequence[str], **first: object) -> Record:
        """Take VMs, also those of runs that have ended without giving them back."""
        # Only the first task makes the repository.
        made = {"initialize": True} if self._settings.initialize and not self._site.check_mode else {}
        return super().take_over(uuids, **made, **first)

    def list_points(self, uuids: Sequence[str]) -> Record:
        """Return the points of VMs."""
        return self._run_module("backup_point_info", initialize=self._settings.initialize, vm_uuids=uuids)

    def start(self, copy: VmCopy, rate_limit: int, folder: str) -> None:
        """Start a copy."""
        settings = self._settings
        passed_on = (
            *("repository", "verify", "compare_spread", "exclude_volumes"),
            *("keep", "compression", "min_free_percent"),
        )
        arguments = {
            "vm": copy.vm,
            "volumes": copy.volumes,
            "mode": copy.mode,
            "run": self.uuid,
            "ask": copy.is_off,
            "rate_limit": rate_limit,
            **{name: getattr(settings, name) for name in passed_on},
            **({"base_checkpoint": copy.checkpoint} if copy.checkpoint and not copy.is_off else {}),
        }
        started = self._site.mover.start("backup_point", arguments, settings.timeout, folder)
        copy.job = started.get("ansible_job_id")
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
        self._folder = ""

    def run(self) -> list[Record]:
        """Return the entries of the VMs."""
        self._site.meanwhile = self._beat_if_due
        try:
            with self._site.outlive_run():
                while self._waiting or self._open:
                    self._take_turn()
        finally:
            self._end([*self._open, *self._waiting])
        return self._entries

    def _take_turn(self) -> None:
        """End the sessions whose copies have ended, open others in their places, or wait if there is nothing to do."""
        self._beat()
        has_decided = self._decide()
        over = [copy for copy in self._open if self._is_over(copy)]
        self._end(over)
        has_opened = self._open_due()
        for copy in self._open:
            self._site.show(describe_progress(copy.vm, self._progress.get(copy.uuid)))
        if not (over or has_opened or has_decided):
            pauses = [choose_pause(self._progress.get(copy.uuid)) for copy in self._open]
            self._site.pause(min(pauses, default=SOONEST))

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

    def _beat_if_due(self) -> None:
        if self._site.get_time() - self._beaten > BEAT:
            self._beat()

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
        self._heard, self._folder = self._beaten, shown["jobs"]
        self._progress = {each["vm_uuid"]: each for each in shown["running"]}
        results = {result["vm_uuid"]: result for result in shown["results"]}
        for copy in self._open:
            copy.result = copy.result or results.get(copy.uuid)
            copy.unseen = 0 if copy.uuid in self._progress else copy.unseen + 1
        self._lose({copy.uuid for copy in (*self._open, *self._waiting)} - {*shown["taken"]}, shown["others"])

    def _lose(self, uuids: set[str], others: Sequence[Record]) -> None:
        """Leave VMs to other runs that have taken them: their sessions are those of these runs now."""
        for copy in [copy for copy in (*self._open, *self._waiting) if copy.uuid in uuids]:
            error = find_other_run(others, copy.uuid) or "Another run has taken the VM."
            self._close([copy], [build_members(copy.vm, error=error, session_ended=copy in self._waiting)])

    @property
    def _silence(self) -> float:
        """For how many seconds the mover has not been heard of."""
        return self._beaten - self._heard

    def _is_over(self, copy: VmCopy) -> bool:
        """Return whether the copy of a VM has ended, or nothing is known about it any more."""
        if copy.result is None and copy.job and copy.unseen >= UNSEEN:
            # A copy that was killed leaves no result.
            copy.result = self._site.mover.look(copy.job, self._folder) or None
            copy.unseen = 0
        if copy.result is None and self._silence > PATIENCE:
            copy.problem = f"The data mover {self._run.name} could not be reached for {self._silence:.0f} s."
        if copy.result is None and self._site.get_time() - (copy.opened or 0) > self._settings.timeout + GRACE:
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
                self._run.start(copy, rate, self._folder)
        # What a failed call has begun must not wait for the copies of other VMs.
        self._end([copy for copy in ready if copy.problem])
        return bool(ready or errors)

    def _give_up(self, copies: Sequence[VmCopy], reason: str) -> None:
        """Note why no session of VMs was opened."""
        self._close(copies, [build_members(copy.vm, error=reason) for copy in copies])

    def _end(self, copies: Sequence[VmCopy]) -> None:
        """End the sessions of VMs, and note what became of them."""
        if not copies:
            return
        remains = self._sessions.end(copies)
        now = self._site.get_time()
        self._find_points([copy for copy in copies if copy.problem and copy.job and not copy.is_marked])
        self._close(copies, [judge_copy(copy, remains.get(copy.uuid), now) for copy in copies])

    def _find_points(self, copies: Sequence[VmCopy]) -> None:
        """Find the points of copies that have ended while the mover could not be reached."""
        if not copies:
            return
        listed = self._run.list_points([copy.uuid for copy in copies])
        for copy in copies:
            session = {(get_volume_uuid(info), info.get("bitmap_name")) for info in copy.volumes}
            for point in [] if find_reason(listed) else listed["points"]:
                made = {(volume["volume_uuid"], volume["checkpoint"]) for volume in point["volumes"]}
                if point["vm_uuid"] == copy.uuid and point["whole"] and made and made <= session:
                    copy.problem, copy.result = None, {**NOTHING_DELETED, "point": point}

    def _close(self, copies: Sequence[VmCopy], entries: Sequence[Record]) -> None:
        self._entries += entries
        closed = {copy.uuid for copy in copies}
        self._open = [copy for copy in self._open if copy.uuid not in closed]
        self._waiting = [copy for copy in self._waiting if copy.uuid not in closed]
