# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""The inventory plugins' common base: options, cache, names and the filling of the inventory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.group import Group
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible_collections.virtinfra.manager.plugins.module_utils._client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._errors import BadInput, Failure
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record
from ansible_collections.virtinfra.manager.plugins.plugin_utils._constructing import Constructor, Place
from ansible_collections.virtinfra.manager.plugins.plugin_utils._expressions import Batch, Expression, Failed, evaluator
from ansible_collections.virtinfra.manager.plugins.plugin_utils._hostvars import HostVars
from ansible_collections.virtinfra.manager.plugins.plugin_utils._names import is_address, is_host_name, unambiguous
from ansible_collections.virtinfra.manager.plugins.plugin_utils._services import OPTIONS, Kind, Service, services

EXPRESSIONS = ("compose", "groups", "keyed_groups", "hostnames", "include", "exclude")
LISTS = ("hostnames", "include", "exclude", "query", "filters")


@dataclass(slots=True)
class Entry:
    """A host to be: the record that it is made of, its name, variables and groups."""

    record: Record
    variables: dict[str, Any]
    name: str = ""
    places: list[Place] = field(default_factory=list)


class Inventory(BaseInventoryPlugin, Constructable, Cacheable):
    """An inventory of the records of one kind. What is particular to a kind stands in its plugin.

    ``DERIVED`` are the API names of what ``details`` and ``joined`` add to the records.
    """

    NAME: ClassVar[str]
    KIND: ClassVar[Kind]
    DERIVED: ClassVar[tuple[str, ...]] = ()

    def details(self, client: Client, service: Service, records: list[Record]) -> dict[str, Any]:
        """Read what else is wanted beside the records, or into them; the result is kept in the cache with them."""
        return {}

    def joined(self, details: Mapping[str, Any]) -> Any:
        """Return a function from a record to what is to be added to it, by API names, or None when nothing is."""
        return None

    def address(self, record: Record) -> str | None:
        """Return the value for ansible_host, None if there is none."""
        return None

    # What core calls

    def verify_file(self, path: str) -> bool:
        """Whether the file's name says that it is for this plugin."""
        ending = "virtinfra_" + self.NAME.rpartition(".")[2]
        return bool(super().verify_file(path)) and path.endswith((f"{ending}.yml", f"{ending}.yaml"))

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        """Take the options of a source file, after rendering the templates among them."""
        super().set_options(task_keys=task_keys, var_options=var_options, direct=self._rendered(direct or {}))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory from a source file, with everything or, after a failure, with nothing."""
        super().parse(inventory, loader, path, cache)
        try:
            self._read_config_data(path)
            self._add(self._entries(self._payload(path, cache)))
        except (Failure, AnsibleError) as error:
            raise AnsibleParserError(f"{path}: {error}") from error

    # Options

    def _rendered(self, options: Mapping[str, Any]) -> dict[str, Any]:
        known = self.option_definitions
        rendered = {}
        for name, value in options.items():
            if name not in known:
                nearest = get_close_matches(str(name), known, 1)
                raise BadInput(f"unknown option {name}" + (f", perhaps {nearest[0]} is meant" if nearest else ""))
            if name not in EXPRESSIONS:
                value = self._template(name, value)
            rendered[name] = [value] if name in LISTS and isinstance(value, str) else value
        return rendered

    def _template(self, name: str, value: Any) -> Any:
        self.templar.available_variables = self._vars or {}
        try:
            return self.templar.template(value)
        except AnsibleError as error:
            raise BadInput(f"{name}: {error}") from error

    # Reading

    def _payload(self, path: str, cache: bool) -> list[dict[str, Any]]:
        """Return what each service told, from the cache where that holds the answer to the same question."""
        wanted = services(
            {name: self.get_option(name) for name in OPTIONS}, self.get_option("services"), self.get_option("page_size")
        )
        question = [self.KIND.resource_type, *self.question(), [service.describe() for service in wanted]]
        caching, key = self.get_option("cache"), self.get_cache_key(path)
        if caching and cache:
            try:
                kept = self._cache[key]
            except KeyError:
                kept = None
            if isinstance(kept, Mapping) and kept.get("question") == question:
                return list(kept["answer"])
        answer = [self._read(service) for service in wanted]
        if caching:
            self._cache[key] = {"question": question, "answer": answer}
        return answer

    def question(self) -> list[Any]:
        """Return the values of the options that decide what is read."""
        return []

    def _read(self, service: Service) -> dict[str, Any]:
        with Client(service.connection, read_only=True) as client:
            records = [record for page in service.pages(client, self.KIND) for record in page]
            details = self.details(client, service, records)
        if service.dropped:
            self.display.warning(
                f"{service.name} answered with {len(service.dropped)} records that do not meet the conditions; they are"
                f" left out, the first is {service.dropped[0]}"
            )
        return {"service": service.name, "records": records, "details": details}

    # Making hosts

    def _entries(self, payload: Iterable[Mapping[str, Any]]) -> list[Entry]:
        hostvars = HostVars(
            self.KIND.record,
            (*self.DERIVED, "service"),
            self.get_option("hostvars_prefix"),
            self.get_option("hostvars_suffix"),
        )
        known = hostvars.vouches_for
        entries = [entry for answer in payload for entry in self._of_service(hostvars, answer)]
        entries = self._named(hostvars, self._chosen(entries, known), known)
        constructor, hosts = Constructor(self, known), self.inventory.hosts
        for entry in entries if not constructor.idle else ():
            entry.places = constructor.construct(entry.name, entry.variables, hosts.get(entry.name))
        if left_out := hostvars.left_out:
            self.display.warning(
                f"no variables are made of {', '.join(left_out)}: Ansible reserves or refuses the names"
            )
        return entries

    def _of_service(self, hostvars: HostVars, answer: Mapping[str, Any]) -> Iterator[Entry]:
        joined = self.joined(answer["details"])
        service = hostvars.name("service")
        for record in answer["records"]:
            variables = hostvars.of(record)
            if joined:
                for name, value in joined(record).items():
                    variables[hostvars.name(name)] = value
            variables[service] = answer["service"]
            address = self.address(record)
            if address and is_address(address):
                variables["ansible_host"] = address
            yield Entry(record, variables)

    def _chosen(self, entries: list[Entry], known: Any) -> list[Entry]:
        """Return the entries that meet a condition of ``include``, if there are any, and none of ``exclude``."""
        include, exclude = (self._conditions(name) for name in ("include", "exclude"))
        if not include and not exclude:
            return entries
        batch = Batch([*include, *exclude], evaluator(self), known)
        chosen = []
        for entry in entries:
            results, dummy = batch.results(entry.variables)
            results = [self._held(each) for each in results]
            if (not include or any(results[: len(include)])) and not any(results[len(include) :]):
                chosen.append(entry)
        return chosen

    def _conditions(self, option: str) -> list[Expression]:
        return [Expression(source, "condition") for source in self.get_option(option) or []]

    def _held(self, result: Any) -> bool:
        if isinstance(result, Failed):
            if self.get_option("strict"):
                raise AnsibleParserError(f"include or exclude: {result.error}") from result.error
            return False
        return bool(result)

    def _named(self, hostvars: HostVars, entries: list[Entry], known: Any) -> list[Entry]:
        """Return the entries with their names, without those that the policy for duplicates leaves out."""
        preferences = [Preference(source, hostvars, self, known) for source in self.get_option("hostnames")]
        passed_over = []
        for entry in entries:
            for preference in preferences:
                name = preference.name(entry)
                if is_host_name(name):
                    break
                if name:
                    passed_over.append(name)
            else:
                name = str(entry.record.get("uuid"))
                if not is_host_name(name):
                    raise Failure(f"hostnames: a record has neither a name that can be used nor a uuid: {name[:80]!r}")
            entry.name = name
        if passed_over:
            self.display.warning(
                f"{len(passed_over)} names cannot be those of hosts in Ansible and are passed over, the first is"
                f" {passed_over[0][:80]!r}"
            )
        return self._unambiguous(entries)

    def _unambiguous(self, entries: list[Entry]) -> list[Entry]:
        names, warnings = unambiguous(
            [entry.name for entry in entries],
            [str(entry.record.get("uuid")) for entry in entries],
            self.get_option("duplicates"),
        )
        for warning in warnings:
            self.display.warning(warning)
        kept = []
        for entry, name in zip(entries, names, strict=True):
            if name is not None:
                entry.name = name
                kept.append(entry)
        return kept

    # Filling

    def _add(self, entries: Iterable[Entry]) -> None:
        inventory = self.inventory
        groups: dict[Place, Group] = {}
        for entry in entries:
            there = entry.name in inventory.hosts
            host = inventory.hosts[inventory.add_host(entry.name)]
            if there:
                for name, value in entry.variables.items():
                    host.set_variable(name, value)
            else:
                # In one step: set_variable would look into every value, at ten times the cost of all the rest.
                host.vars.update(entry.variables)
            for place in entry.places:
                group = groups.get(place)
                if group is None:
                    group = groups[place] = self._group(place)
                group.add_host(host)

    def _group(self, place: Place) -> Group:
        """Return the group of a place, after making it and its parent known."""
        name, parent = place
        name = self.inventory.add_group(name)
        if parent:
            self.inventory.add_child(self.inventory.add_group(parent), name)
        return self.inventory.groups[name]


class Preference:
    """One entry of ``hostnames``: an attribute, a variable, an expression or a template."""

    def __init__(self, source: Any, hostvars: HostVars, plugin: Inventory, known: Any) -> None:
        source = str(source).strip()
        self._strict = plugin.get_option("strict")
        self._field = hostvars.fields.get(source) or (source if source in hostvars.fields.values() else None)
        self._batch: Batch | None = None
        if self._field is None:
            if source.isidentifier() and not known(source):
                raise BadInput(f"hostnames: there is no attribute {source}")
            expression = Expression(source, "template" if "{{" in source else "value")
            self._batch = Batch([expression], evaluator(plugin), known)

    def name(self, entry: Entry) -> str:
        """Return the name of an entry, ``""`` where it has none."""
        value = self._batch.results(entry.variables)[0][0] if self._batch else entry.record.get(self._field or "")
        if isinstance(value, Failed):
            if self._strict:
                raise AnsibleParserError(f"hostnames: {value.error}") from value.error
            return ""
        return value.strip() if isinstance(value, str) else "" if value is None else str(value)
