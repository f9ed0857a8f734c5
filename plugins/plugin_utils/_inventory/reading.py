"""Read the records of the services of a source, or take them from the cache."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.conditions import describe_oversights, find_value_warnings
from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._client.client import READ_AND_MASK, Client, Hooks
from ...module_utils._client.sessions import open_client
from .._run.sessions import FileStore
from .cache import CachedRecords, ServiceCache
from .hostvars import HostEntry, HostVars, ServiceName
from .services import FAIL, SKIP, Service, add_user_tags, count_records


@dataclass(frozen=True)
class ServiceData:
    """The data of a service in addition to its records: its name, and the related records if read."""

    service: ServiceName
    related: list[Record] | None


class ServiceReader:
    """Creates the entries for the records of the services of an inventory ``plugin``.

    Cached records that are older than ``timeout`` seconds, or all if it is None, are only used in place of a service
    that cannot be read.
    """

    def __init__(self, plugin: Any, hostvars: HostVars, timeout: float | None) -> None:
        self._plugin, self._hostvars, self._timeout = plugin, hostvars, timeout
        self._noun = f"{plugin.RESOURCE_TYPE.noun}s"

    def read_all(
        self, services: list[Service], caches: list[ServiceCache | None]
    ) -> tuple[list[ServiceData], list[HostEntry]]:
        """Return the data of the services and the entries for their records.

        A service that cannot be read is treated according to ``on_failure``. Raise VirtinfraError if none can be read.
        """
        completed: list[ServiceData] = []
        entries: list[HostEntry] = []
        skipped: list[str] = []
        for service, cache in zip(services, caches, strict=True):
            address_count = len(self._hostvars.invalid_addresses)
            try:
                data, added = self._read(service, cache)
            except VirtinfraError as failure:
                if service.on_failure == FAIL or not failure.is_outage:
                    failure.label = ": ".join(filter(None, (service.label, failure.label)))
                    raise
                # The pages that were read are discarded.
                del self._hostvars.invalid_addresses[address_count:]
                reason = f"{service.name}: {str(failure).rstrip('.')}"
                if service.on_failure == SKIP:
                    skipped.append(reason)
                    continue
                data, added = self._restore(service, cache, reason)
            completed.append(data)
            entries += added
        if not completed:
            raise VirtinfraError(f"no service can be read (on_failure: skip). {'. '.join(skipped)}")
        self._warn_of_same_service(services, entries)
        for reason in skipped:
            self._plugin.warn(f"{reason}. The {self._noun} of this service are missing (on_failure: skip).")
        return completed, entries

    def _warn_of_same_service(self, services: list[Service], entries: list[HostEntry]) -> None:
        """Warn if two services with different names have the same URL, and the same object is in both."""
        urls: dict[str, str] = {}
        for service in services:
            url = service.connection.service_url
            if (other := urls.setdefault(url, service.name)) != service.name:
                uuids = {
                    name: {entry.uuid for entry in entries if entry.service == name} for name in (other, service.name)
                }
                if uuids[other] & uuids[service.name]:
                    self._plugin.warn(
                        f"services: {other} and {service.name} are the same service, {url}, so its {self._noun} are in"
                        " the inventory twice. Remove one of them, or give both the same name"
                    )

    def _show_progress(self, line: str) -> None:
        self._plugin.display.display(line, stderr=True)

    def _read(self, service: Service, cache: ServiceCache | None) -> tuple[ServiceData, list[HostEntry]]:
        """Return the data of a service and its entries, from the cache if these records have not expired."""
        known = cache.records if cache and self._timeout is not None else None
        if known and known.is_younger_than(self._timeout or 0):
            return self._convert(service, known)
        records: list[Record] = []
        entries: list[HostEntry] = []
        hooks = Hooks(
            service.connection.create_masker(),
            # Programs read standard output, and nobody reads a line of progress without a terminal.
            on_progress=self._show_progress if sys.stderr.isatty() else None,
            on_request=self._plugin.display.vvv,
            new_store=FileStore,
        )
        with open_client(service.connection, READ_AND_MASK, hooks) as client:
            data = ServiceData(_name(service), self._plugin.fetch_related(client, service))
            create_entry = self._plugin.create_entry_factory(self._hostvars, data)
            for page in self._read_pages(client, service):
                entries += map(create_entry, page)
                if cache:
                    records += page
            oversights = [] if entries else self._explain_emptiness(client, service)
            for warning in (*client.prefix.warnings, *oversights):
                self._plugin.warn(f"{service.name}: {warning}")
        if cache:
            cache.write(records, data.related)
        return data, entries

    def _explain_emptiness(self, client: Client, service: Service) -> list[str]:
        """Return why a service may have no record that is meant, nothing if there are no conditions."""
        oversights = describe_oversights((*service.query, *service.filters), self._plugin.RESOURCE_TYPE.record)
        if oversights or service.rejected_uuids or not service.query:
            return oversights
        total = count_records(client, self._plugin.RESOURCE_TYPE)
        return [f"query selects none of {total} {self._noun}"] if total else []

    def _read_pages(self, client: Client, service: Service) -> Iterator[list[Record]]:
        """Yield the pages of a service, with names and further data in their records."""
        plugin, resource_type = self._plugin, self._plugin.RESOURCE_TYPE
        for warning in find_value_warnings((*service.query, *service.filters), resource_type.record):
            plugin.warn(f"{service.name}: {warning}")
        reads_tags = plugin.get_option("user_tags") and plugin.selection.needs("userTags")
        tags = service.read_user_tags(client, plugin.warn) if reads_tags else None
        for page in service.read_pages(client, resource_type):
            add_user_tags(page, tags)
            plugin.add_names(client, service, resource_type, page)
            plugin.enrich_records(client, page)
            yield page
        if service.rejected_uuids:
            plugin.warn(
                f"{service.name}: skipped {len(service.rejected_uuids)} records that do not meet the conditions"
                f" (first: {service.rejected_uuids[0]})"
            )

    def _restore(
        self, service: Service, cache: ServiceCache | None, reason: str
    ) -> tuple[ServiceData, list[HostEntry]]:
        """Return the cached data of a service that cannot be read; raise VirtinfraError if there is none."""
        known = cache and cache.records
        if not known:
            raise VirtinfraError(f"{reason}. The cache has no records of this service (on_failure: last_known).")
        self._plugin.warn(
            f"{reason}. The {self._noun} of this service come from the cache and are {known.age}"
            " (on_failure: last_known)."
        )
        return self._convert(service, known)

    def _convert(self, service: Service, known: CachedRecords) -> tuple[ServiceData, list[HostEntry]]:
        """Return the data of a service and its entries from cached records."""
        records, related = known.load()
        data = ServiceData(_name(service), related)
        return data, [*map(self._plugin.create_entry_factory(self._hostvars, data), records)]


def _name(service: Service) -> ServiceName:
    """Return the name and the URL of a service."""
    return ServiceName(service.name, service.connection.service_url)
