"""The base class of the inventory plugins: options, cache, and filling the inventory."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ansible.constants import LOCALHOST
from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.inventory.group import Group
from ansible.inventory.host import Host
from ansible.plugins.inventory import Constructable
from ansible.utils.vars import combine_vars

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.resource_types import ResourceType
from ...module_utils._client.client import Client
from ...module_utils._masking.terminal import escape_controls
from .._jinja.compose import Constructor, GroupMembership
from .._jinja.expressions import check_syntax
from .._run.profiles import Profiles
from .._run.variables import warn_of_unknown_variables
from .cached import CachedInventory, check_cache, make_files_private, suggest_cache_connection
from .compared_values import check_composed, check_values
from .hostvars import USER_TAGS, AddedValues, HostEntry, HostVars
from .names import assign_names, filter_entries
from .reading import ServiceData, ServiceReader
from .selection import ADDRESS, Selection, create_selection
from .services import LAST_KNOWN, OPTIONS, Service, create_services
from .unknown_names import check_keyed_groups, check_names


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause the garbage collection, which would take a quarter of the time and find hardly any garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def names_plugin(path: Path, name: str) -> bool:
    """Return whether a source file is one of the plugin of this name."""
    pattern = rf"""^plugin:\s*["']?{re.escape(name)}["']?\s*(#|$)"""
    with suppress(OSError, ValueError):
        return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None
    return False


class Inventory(CachedInventory, Constructable):
    """An inventory of the records of one type.

    Each type has a plugin, which overrides the differences. ``RELATED`` is the option that says whether other records
    are read too, their type, and the added values that need them, none if the hosts themselves do. ``ADDED`` are the
    values that are added to the records, by API names; ``ADDRESS_FIELDS`` are the fields from which ansible_host is
    computed. ``PARTS`` are the members of the records in a field from which added values are computed.
    ``KEEPS_RECORDS`` says whether create_related_entries needs the records.
    """

    NAME: ClassVar[str]
    RESOURCE_TYPE: ClassVar[ResourceType]
    RELATED: ClassVar[tuple[str, ResourceType, tuple[str, ...]]]
    ADDED: ClassVar[AddedValues] = {}
    ADDRESS_FIELDS: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[Mapping[str, frozenset[str]]] = {}
    KEEPS_RECORDS: ClassVar[bool] = False

    # Set by parse, from the option variables.
    selection = Selection()

    def list_cache_key_options(self) -> list[Any]:
        """Return the values of the options that determine which data is read."""
        return [self.get_option(name) for name in (self.RELATED[0], "related_names", "user_tags")]

    def fetch_related(self, client: Client, service: Service) -> list[Record] | None:
        """Return the related records; they are cached with the others."""
        option, related_type, added = self.RELATED
        if added and not self.selection.needs(*added):
            return None
        return service.read_if_enabled(client, related_type, option, self.get_option(option), self.warn)

    def add_names(self, client: Client, service: Service, resource_type: ResourceType, records: list[Record]) -> None:
        """Add the names of the clusters and zones of the records."""
        selection = self.selection if resource_type is self.RESOURCE_TYPE else Selection()
        service.add_names(client, resource_type, records, self.get_option("related_names"), self.warn, selection.needs)

    def list_required_fields(self) -> Iterable[str]:
        """Return the fields of the records that are needed whatever variables the user selects."""
        return ()

    def enrich_records(self, client: Client, records: list[Record]) -> None:
        """Add further data of the service to each record."""

    def create_entry_factory(self, hostvars: HostVars, data: ServiceData) -> Callable[[Record], HostEntry]:
        """Return a function from a record of a service to its entry, which may contain values of related records."""
        return lambda record: hostvars.create_entry(record, data.service, {}, "")

    def create_related_entries(
        self, entries: list[HostEntry], hostvars: HostVars, services: list[ServiceData]
    ) -> list[HostEntry]:
        """Return further hosts with their groups, from related records; may also add variables to existing entries."""
        return []

    # Called by core

    def verify_file(self, path: str) -> bool:
        """Return whether a YAML file is a source of this plugin, by its name or by its line `plugin:`.

        The name alone is enough, because the content may be encrypted.
        """
        if not super().verify_file(path) or not path.endswith((".yml", ".yaml")):
            return False
        kind = self.NAME.rpartition(".")[2]
        return path.endswith((f"virtinfra_{kind}.yml", f"virtinfra_{kind}.yaml")) or names_plugin(Path(path), self.NAME)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory from a source file; after a failure, add nothing."""
        super().parse(inventory, loader, path, cache)
        warn_of_unknown_variables(os.environ)
        self._path = path
        try:
            # A cache plugin creates the folder for its files when it is loaded.
            with make_files_private():
                self._read_config_data(path)
            check_syntax(self)
        except (VirtinfraError, AnsibleError) as error:
            raise AnsibleParserError(f"{path}: {error}{suggest_cache_connection(self)}") from error
        try:
            with pause_gc():
                self._add_hosts(self._create_entries(cache))
        except (VirtinfraError, AnsibleError) as error:
            # From here on messages quote the service. Core would also print the messages of chained exceptions,
            # unescaped.
            raise AnsibleParserError(escape_controls(f"{path}: {error}")) from None

    # Creating hosts

    def _create_services(self) -> list[Service]:
        """Return the services of the source; raise InvalidOptions for invalid options."""
        options = {name: self.get_option(name) for name in OPTIONS}
        profiles = Profiles.from_loader(self.loader)
        services = create_services(options, self.get_option("services"), self.get_option("page_size"), profiles)
        sources = {**{name: added.sources for name, added in self.ADDED.items()}, ADDRESS: self.ADDRESS_FIELDS}
        fields = self.selection.list_record_fields(self.RESOURCE_TYPE.record, sources)
        if fields is not None:
            fields = fields.union(self.list_required_fields())
            parts = {name: members for name, members in self.PARTS.items() if not self.selection.needs(name)}
            services = [replace(service, fields=fields, parts=parts) for service in services]
        if any(service.on_failure == LAST_KNOWN for service in services):
            check_cache(self)
        return services

    def _create_entries(self, cache: bool) -> list[HostEntry]:
        """Return the entries of all hosts; ``cache`` says whether to use cached records that have not expired."""
        added = {**self.ADDED, **USER_TAGS}
        self.selection = create_selection(self, self.RESOURCE_TYPE.record, added)
        hostvars = self.create_hostvars(self.RESOURCE_TYPE, added, self.selection.visible)
        services = self._create_services()
        reader = ServiceReader(self, hostvars, self._timeout if cache else None)
        data, entries = reader.read_all(services, self.open_caches(services))
        check_keyed_groups(self, hostvars)
        check_names(self, entries, hostvars)
        check_values(self, entries, hostvars)
        completed = self._complete_entries(entries, hostvars, data)
        check_composed(self, completed)
        return completed

    def _complete_entries(
        self, entries: list[HostEntry], hostvars: HostVars, services: list[ServiceData]
    ) -> list[HostEntry]:
        """Return the entries that become hosts, with names, variables and groups, and those of related hosts."""
        entries = filter_entries(self, entries, hostvars)
        entries = assign_names(self, entries, self.get_option("hostnames"), hostvars)
        related_entries = self.create_related_entries(entries, hostvars, services)
        self._construct(entries, hostvars)
        for entry in entries:
            entry.variables = self.selection.restrict(entry.variables)
        if skipped := hostvars.skipped_fields:
            self.warn(f"skipped fields whose variable names are reserved: {', '.join(skipped)}")
        self.warn_of_invalid_addresses(hostvars)
        return entries + related_entries

    def _construct(self, entries: list[HostEntry], hostvars: HostVars) -> None:
        """Add variables and groups from the options compose, groups and keyed_groups."""
        constructor = Constructor(self, hostvars.is_generated_variable)
        if constructor.is_noop:
            return
        for entry in entries:
            existing_host = self.inventory.hosts.get(entry.name)
            entry.memberships = constructor.construct(entry.name, entry.variables, existing_host)
        for warning in constructor.list_useless():
            self.warn(warning)

    def create_hostvars(
        self, resource_type: ResourceType, added: Iterable[str], visible: frozenset[str] | None = None
    ) -> HostVars:
        """Return the object that creates the variables for records of a type, ``visible`` of them."""
        prefix, suffix = self.get_option("hostvars_prefix"), self.get_option("hostvars_suffix")
        kept = None if self.KEEPS_RECORDS else [str(source).strip() for source in self.get_option("hostnames")]
        return HostVars(resource_type.record, added, prefix, suffix, self.get_option("allow_localhost"), kept, visible)

    def warn_of_invalid_addresses(self, hostvars: HostVars) -> None:
        """Warn of addresses of the service that were not set as ansible_host."""
        if invalid := hostvars.invalid_addresses:
            self.warn(f"ignored {len(invalid)} invalid ansible_host values (first: {invalid[0][:80]!r})")

    # Filling the inventory

    def _add_hosts(self, entries: list[HostEntry]) -> None:
        """Add the hosts and their groups to the inventory, and remove them from the list."""
        inventory, hosts = self.inventory, HostFactory(self.inventory)
        memberships = dict.fromkeys(membership for entry in entries for membership in entry.memberships)
        groups = {membership: add_group(inventory, membership) for membership in memberships}
        # The entries take a quarter of the memory, which is freed as the hosts take it.
        entries.reverse()
        while entries:
            entry = entries.pop()
            is_known = entry.name in inventory.hosts
            host = inventory.hosts[entry.name] if is_known else hosts.add(entry.name)
            # set_variable would inspect every value, which takes ten times as long as everything else, so all are set
            # at once. A new host gets the variables of its entry, because a copy would take time and memory.
            host.vars = combine_vars(host.vars, entry.variables) if is_known else add_defaults(entry.variables, host)
            for membership in entry.memberships:
                groups[membership].add_host(host)


def add_defaults(variables: dict[str, Any], host: Host) -> dict[str, Any]:
    """Add the variables of a host that are missing, and return all."""
    for name, value in host.vars.items():
        variables.setdefault(name, value)
    return variables


class HostFactory:
    """Adds new hosts to an inventory.

    ``add_host`` of core looks up the folder of the source in the file system for each host, and inspects it as a
    variable, which takes longer than everything else for a host. So ``add_host`` adds the first host, and the others
    are created with the variables that it has set. If it has changed anything else on the first host, it adds all.
    """

    def __init__(self, inventory: InventoryData) -> None:
        self._inventory = inventory
        self._initial: dict[str, Any] = {}

    def add(self, name: str) -> Host:
        """Return a new host of this name after adding it to the inventory."""
        # Core also remembers a host that stands for this machine.
        if not self._initial or name in LOCALHOST:
            return self._add_with_core(name)
        host = Host(name)
        host.vars = self._initial.copy()
        self._inventory.hosts[host.name] = host
        return host

    def _add_with_core(self, name: str) -> Host:
        host: Host = self._inventory.hosts[self._inventory.add_host(name)]
        reference = {**vars(Host(name)), "vars": host.vars, "_uuid": getattr(host, "_uuid", None)}
        if vars(host) == reference and host.vars.keys() == {"inventory_file", "inventory_dir"}:
            self._initial = host.vars.copy()
        return host


def add_group(inventory: InventoryData, membership: GroupMembership) -> Group:
    """Return the group of a membership, after adding it and its parent to the inventory."""
    name, parent = membership
    name = inventory.add_group(name)
    if parent:
        try:
            inventory.add_child(inventory.add_group(parent), name)
        except Exception as error:
            raise VirtinfraError(f"keyed_groups: {parent} cannot be the parent of {name}: {error}") from error
    return inventory.groups[name]
