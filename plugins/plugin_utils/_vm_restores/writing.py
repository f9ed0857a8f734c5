"""A restore point that is written into exported volumes. What was begun is ended in any case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._site.report import Report
from .._site.site import Site
from .exports import TargetExports
from .report import build_entries, find_unwritten, list_volumes, name_restore
from .run import RestoreRun
from .settings import Settings


class PointWriting(ABC):
    """Writes the copies of a point into the targets of a plan, in a run that has taken the VM and checked the files."""

    def __init__(self, site: Site, settings: Settings, planned: Record, run: RestoreRun) -> None:
        self._site, self._settings, self._planned, self._run = site, settings, planned, run
        self.vm, self.point, self.targets = planned["vm"], planned["point"], planned["targets"]
        self._exports: TargetExports | None = None
        # What the data mover returned, None before it was asked, and without ``volumes`` if it has not answered.
        self._result: Record | None = None
        self.snapshot_group: str | None = None
        self.problems: list[str] = []

    @property
    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """How the data mover writes."""

    @abstractmethod
    def prepare(self) -> list[Record]:
        """Return the exports of the targets. Raise VirtinfraError."""

    @abstractmethod
    def finish(self) -> None:
        """End the exports and whatever else was begun, and note what has failed."""

    def write(self) -> Report:
        """Write the point, and return an entry for each volume."""
        try:
            with self._site.outlive_run():
                volumes = self.prepare()
                self._result = {}
                self._result = self._run.write(self.point, volumes, **self.options)
                self._judge(self._result)
        except VirtinfraError as failure:
            self.problems.append(str(failure))
        except BaseException:
            self.problems.append("The run was interrupted")
            raise
        finally:
            self.finish()
        entries = build_entries(name_restore(self.vm, self.point), self.list_rows(), self.problems, self.snapshot_group)
        return Report("volumes", entries, has_changed=bool((self._result or {}).get("changed")))

    def _judge(self, result: Record) -> None:
        if problem := self._run.find_failure(result) or find_unwritten(self.list_rows()):
            self.problems.append(problem)

    @property
    def is_written(self) -> bool:
        """Whether the data mover has written all volumes."""
        return self._result is not None and find_unwritten(self.list_rows()) is None

    def list_rows(self) -> list[Record]:
        """Return what became of each volume."""
        return list_volumes(self.targets, self._result, predicts=False)
