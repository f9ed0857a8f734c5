"""A run that checks restore points, and writes them, on the data mover of its task."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.site import Site
from .._vm_backups.mover_work import run_long
from .._vm_backups.plan import find_other_run, find_reason
from .._vm_backups.repository_run import RepositoryRun


class RestoreRun(RepositoryRun):
    """A run that checks restore points, and writes them. It is a context, at whose end the VMs are given back."""

    def __init__(self, site: Site, repository: str, name: str, rate_limit: int) -> None:
        super().__init__(site, repository, name, str(uuid4()))
        self._rate_limit = rate_limit

    def __enter__(self) -> RestoreRun:
        self._site.meanwhile = self.beat_if_due
        return self

    def __exit__(self, *dummy: object) -> None:
        self.give_back()

    def require(self, uuids: Sequence[str]) -> None:
        """Take VMs, also those of runs that have ended. Raise VirtinfraError if another run has one of them."""
        taken = self.take_over(uuids)
        if reason := find_reason(taken):
            raise VirtinfraError(f"The VM could not be taken for this run on the data mover {self.name}: {reason}.")
        others = (find_other_run(taken["others"], uuid) for uuid in uuids)
        if other := next(filter(None, others), None):
            raise VirtinfraError(other)

    def check(self, point: Record, sources: Sequence[str]) -> None:
        """Check the files of copies of a point. Raise VirtinfraError if they are damaged, or not known to be sound."""
        result = self._work(point, check_volumes=[*sources])
        if reason := self.find_failure(result):
            raise VirtinfraError(f"The point {point['point']} could not be checked, or is damaged: {reason}.")
        if {row["volume_uuid"] for row in result["volumes"]} != {*sources}:
            raise VirtinfraError(f"The data mover has not checked all volumes of the point {point['point']}.")

    def write(self, point: Record, volumes: Sequence[Record], **options: object) -> Record:
        """Write a point, whose files were checked, into exported volumes. Return what backup_restore returns."""
        return self._work(point, volumes=[*volumes], check=False, **options)

    def _work(self, point: Record, **options: object) -> Record:
        arguments = self._describe(point, **options)
        if self._site.check_mode:
            return self._site.mover.run("backup_restore", arguments)
        arguments["run"], label = self.uuid, str(point["vm_name"])
        return run_long(self._site.mover, self._site, "backup_restore", arguments, label, self.folder, self.touch)

    def write_files(self, point: Record, directory: str) -> Record:
        """Check a point, and write it into files. No VM is taken. Return what backup_restore returns."""
        return self._site.mover.run("backup_restore", self._describe(point, directory=directory))

    def _describe(self, point: Record, **options: object) -> dict[str, object]:
        named = {name: point[name] for name in ("vm_uuid", "point")}
        return {"repository": self._repository, **named, "rate_limit": self._rate_limit, **options}

    def note_proof(self, point: Record, proof: Record) -> str | None:
        """Note beside the manifest of a point what is proved of it, and return why this has failed."""
        noted = {"vm_uuid": point["vm_uuid"], "points": [point["point"]], "proof": proof, "state": "proved"}
        return self.find_failure(self._run_module("backup_point", **noted))

    def find_failure(self, result: Record) -> str | None:
        """Return why a module has failed, without a full stop, None if it has not."""
        return find_reason(result, f"the data mover {self.name} is unreachable")


def list_points(site: Site, role: str, repository: str, name: str, **options: object) -> Record:
    """Return the points of a repository on the data mover of the task, and its runs. Raise VirtinfraError."""
    site.play.require_hosts(f"{role}_mover", [name])
    listed = site.mover.run("backup_point_info", {"repository": repository, **options})
    if reason := find_reason(listed):
        raise VirtinfraError(
            f"The points in {repository} on the data mover {name} could not be read: {reason}."
            f" Check {role}_repository and {role}_mover.{site.play.describe_unknown_host(name)}"
        )
    for warning in listed.get("warnings") or ():
        site.warn(warning)
    return listed
