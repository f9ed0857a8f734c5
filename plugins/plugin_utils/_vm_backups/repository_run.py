"""A run, as other runs see it in the repository of a data mover: the host of its task, on which its modules run."""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils._api.records import Record
from .._run.owner import describe_worker, is_ending
from .._site.site import Site
from .plan import list_ended

# How often a run shows that it works while it waits for the service, in seconds, and how long it may be silent until
# runs of other machines count it as ended.
BEAT, SILENCE = 20.0, 300

# For how many seconds to wait for a run whose controller has ended, while it ends what it has begun.
MAX_WAIT_FOR_END = 60.0


class RepositoryRun:
    """A run that takes VMs in a repository, works for them, and gives them back."""

    def __init__(self, site: Site, repository: str | None, name: str, run: str, uuid: str | None = None) -> None:
        """``name`` is that of the data mover, and ``uuid`` that of the part of the run that works there."""
        self._site, self._repository, self.name, self.uuid = site, repository, name, uuid or run
        # Later, the parent of this worker can be another process, because that of the run has ended.
        self._owner = describe_worker(SILENCE, run)
        # The VMs of runs that have ended without giving them back.
        self.left_vms: set[str] = set()
        # The folder for the files of async jobs.
        self.folder = ""
        # When the run has taken VMs, and has shown that it works, for the last time.
        self.taken = self._beaten = site.get_time()
        site.require_run()

    def take(self, uuids: Sequence[str], **given: object) -> Record:
        """Take VMs, or show that the run still works for them, and return what the module backup_run returns."""
        taken = self.touch(owner=self._owner, vm_uuids=uuids, **given)
        self.taken = self._beaten
        return taken

    def touch(self, **given: object) -> Record:
        """Show that the run still works for its VMs, and return what the module backup_run returns."""
        self._beaten = self._site.get_time()
        shown = self._run_module("backup_run", run=self.uuid, **given)
        self.folder = shown.get("jobs") or self.folder
        return shown

    def beat_if_due(self) -> None:
        """Show other runs that this one works, if they have not heard of it for a while."""
        if self._site.get_time() - self._beaten > BEAT:
            self.touch()

    def take_over(self, uuids: Sequence[str], initialize: bool = False, **given: object) -> Record:
        """Take VMs, also those of runs that have ended without giving them back.

        With ``initialize``, the first task makes the repository.
        """
        deadline = self._site.get_time() + MAX_WAIT_FOR_END
        taken = self.take(uuids, initialize=initialize, **given)
        while others := taken.get("others"):
            ended = list_ended(taken)
            self.left_vms |= {uuid for other in others if other["run"] in ended for uuid in other["vm_uuids"]}
            if not ended:
                if not any(is_ending(other["owner"]) for other in others) or self._site.get_time() > deadline:
                    break
                self._site.pause(1)
            taken = self.take(uuids, ended=ended, **given)
        return taken

    def give_back(self) -> None:
        """Give all VMs back. Where this fails, the next run finds out that this one has ended."""
        if self._repository and not self._site.check_mode:
            self._run_module("backup_run", run=self.uuid, state="absent")

    def _run_module(self, module: str, **arguments: object) -> Record:
        result = self._site.mover.run(module, {"repository": self._repository, **arguments})
        for warning in result.get("warnings") or ():
            self._site.warn(warning)
        return result
