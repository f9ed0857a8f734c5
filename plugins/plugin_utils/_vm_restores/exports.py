"""The exports of volumes into which a restore point is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from .._batch.batch import NewJobUuid
from .._site.site import Site
from .._vm_backups.exports import HOW_TO_END, describe_refusal, find_open, is_refused
from .._vm_backups.plan import get_host, get_volume_uuid, read_infos, replace_address


class TargetExports:
    """The exports of volumes of a VM into which copies of a point are written.

    ``targets`` have the uuid of each volume, and that of the copy that it gets in ``source``.
    """

    def __init__(
        self, site: Site, vm: Record, targets: Sequence[Record], timeout: int, addresses: Mapping[str, str]
    ) -> None:
        self._site, self._vm, self._timeout, self._addresses = site, vm, timeout, addresses
        self._sources = {str(target["uuid"]): target["source"] for target in targets}
        # Whether the service may have exported the volumes for this run. Exports of others stay.
        self.are_own = False

    @property
    def _objects(self) -> list[Record]:
        return [{"vm": self._vm["uuid"], "volumes": [*self._sources]}]

    def open(self, jobs: Mapping[str, NewJobUuid] | None = None) -> list[Record]:
        """Export the volumes, and return how they are served, each with its ``source``. Raise VirtinfraError.

        ``jobs`` provide the job ids of the call.
        """
        # A call that is interrupted may have exported the volumes.
        self.are_own = True
        (result,) = self._site.batch("cbt_volume_export", self._objects, 1, jobs, wait_timeout=self._timeout)
        self.are_own = not is_refused(result)
        if result["failed"]:
            raise VirtinfraError(describe_refusal(result))
        infos = {get_volume_uuid(info): info for info in read_infos(result.get("volume_infos"))}
        if infos.keys() != self._sources.keys():
            raise VirtinfraError(
                "The service has not exported the volumes that it was asked for. No volume was overwritten."
            )
        host = get_host(self._vm)
        return [
            {**replace_address(infos[uuid], host, self._addresses), "source": source}
            for uuid, source in self._sources.items()
        ]

    def end(self) -> str | None:
        """End the exports that may be those of this run, and return why they may be open. Anybody can write them."""
        if not self.are_own:
            return None
        problem = find_open(self.end_all())
        self.are_own = problem is not None
        return f"{problem} To be safe, {HOW_TO_END}." if problem else None

    def end_all(self) -> Record:
        """End the exports, also those of a run that was killed, and return the result."""
        return self._site.change("cbt_volume_export", self._objects[0], state="absent", wait_timeout=self._timeout)
