# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Composed variables and groups, as core's Constructable makes them, of many hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.host import Host
from ansible.utils.path import basedir
from ansible.utils.vars import combine_vars
from ansible_collections.virtinfra.manager.plugins.plugin_utils._expressions import (
    Batch,
    Expression,
    Failed,
    evaluator,
)

MAGIC = ("inventory_hostname", "inventory_hostname_short", "group_names", "inventory_file", "inventory_dir")

# A group, and the group that is to be its parent if there is one.
Place = tuple[str, "str | None"]


@dataclass
class Draft:
    """What core would put into the inventory for one host; it takes the inventory's place while core does so."""

    places: list[Place] = field(default_factory=list)

    def add_group(self, group: str) -> str:
        """Note nothing yet; as in the inventory a group must have a name."""
        if not group:
            raise AnsibleError(f"Invalid empty/false group name provided: {group}")
        return group

    def add_host(self, host: str, group: str) -> None:
        """Note that the host is in a group."""
        self.places.append((group, None))

    def add_child(self, group: str, child: str) -> None:
        """Note that a group of the host has a parent."""
        self.places.append((child, group))


class KeyedGroup:
    """One entry of ``keyed_groups``; ``simple`` where names can be made of plain keys without core."""

    def __init__(self, entry: Any, leading_separator: bool, sanitize: Callable[[str], str]) -> None:
        self.entry, self._sanitize = entry, sanitize
        options = entry if isinstance(entry, dict) else {}
        self.key = Expression(options.get("key"))
        prefix, separator = options.get("prefix", ""), options.get("separator", "_")
        if prefix == "" and leading_separator is False:
            separator = ""
        self.start = f"{prefix}{separator}"
        parent = options.get("parent_group")
        self.parent = sanitize(parent) if isinstance(parent, str) and parent else None
        self.has_default = options.get("default_value") is not None
        self.simple = bool(options) and "{" not in str(parent) and "#" not in str(parent)
        if self.has_default and options.get("trailing_separator") is not None:
            self.simple = False
        self._groups: dict[str, str] = {}

    def places(self, key: Any, strict: bool) -> list[Place] | None:
        """Return the places that a key leads to; None when core must say it."""
        if not self.simple:
            return None
        if isinstance(key, str) and key:
            return self._places(key)
        if type(key) is list and all(isinstance(each, str) and each for each in key):
            return [place for each in key for place in self._places(each)]
        if key in (None, "") and not self.has_default and not strict:
            return []
        return None

    def _places(self, key: str) -> list[Place]:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._sanitize(f"{self.start}{key}")
        return [(group, None), (group, self.parent)] if self.parent else [(group, None)]


class Constructor:
    """Composes variables and groups from the options ``compose``, ``groups`` and ``keyed_groups`` of a plugin.

    ``known`` tells of a name whether it is a variable with a plain value of the service.
    """

    def __init__(self, plugin: Any, known: Callable[[str], bool]) -> None:
        self.plugin, self.strict = plugin, bool(plugin.get_option("strict"))
        self._compose = plugin.get_option("compose") or {}
        conditions = plugin.get_option("groups") or {}
        self._groups = [
            (plugin._sanitize_group_name(name), Expression(conditions[name], "condition")) for name in conditions
        ]
        separator = plugin.get_option("leading_separator")
        entries = plugin.get_option("keyed_groups") or []
        self._keyed = [KeyedGroup(entry, separator, plugin._sanitize_group_name) for entry in entries]
        extra = plugin._vars if plugin.get_option("use_extra_vars") else {}
        self._batches(known, frozenset(extra))
        self._parents: dict[str, set[str]] = {}
        source = plugin.inventory.current_source
        self._source = {"inventory_file": source, "inventory_dir": basedir(source) if source else None}

    def _batches(self, known: Callable[[str], bool], extra: frozenset[str]) -> None:
        """Prepare the expressions. Extra variables, where they are wanted, hide others in all but conditions."""
        evaluate = evaluator(self.plugin)
        composed = frozenset(self._compose)

        def seen(name: str) -> bool:
            return known(name) or name in MAGIC or name in composed

        def seen_beside_extra(name: str) -> bool:
            return seen(name) and name not in extra

        def seen_before(name: str) -> bool:
            return name not in extra and (known(name) or name in MAGIC)

        self._values = Batch([Expression(source) for source in self._compose.values()], evaluate, seen_before)
        self._conditions = Batch([condition for dummy, condition in self._groups], evaluate, seen)
        self._keys = Batch([keyed.key for keyed in self._keyed], evaluate, seen_beside_extra)
        batches = (self._values, self._conditions, self._keys)
        self._magic = any(batch.mention(name) for batch in batches for name in MAGIC)
        self._composed_again = [any(batch.mention(name) for name in composed) for batch in batches[1:]]

    def construct(self, name: str, variables: dict[str, Any], there: Host | None) -> list[Place]:
        """Add the composed variables of a host to its others and return its places.

        ``there`` is the host where an earlier source has made it known; its variables may be templates. Raises
        AnsibleError, where core does.
        """
        by_core = there is not None
        scope = self._scope(name, variables, there)
        results, fast = self._results(self._values, scope, by_core)
        composed = self._composed(name, variables, results)
        variables.update(composed)
        scope = self._scope(name, variables, there)
        found, dummy = self._results(self._conditions, scope, by_core or (self._composed_again[0] and not fast))
        places = self._conditional(name, found)
        if self._keyed:
            scope = self._scope(name, variables, there, places)
            keys, dummy = self._results(self._keys, scope, by_core or (self._composed_again[1] and not fast))
            for keyed, key in zip(self._keyed, keys, strict=True):
                places += self._by_key(name, keyed, key, scope)
        return places

    @staticmethod
    def _results(batch: Batch, scope: dict[str, Any], by_core: bool) -> tuple[list[Any], bool]:
        return (batch.results_by_core(scope), False) if by_core else batch.results(scope)

    def _scope(
        self, name: str, variables: dict[str, Any], there: Host | None, places: list[Place] | None = None
    ) -> dict[str, Any]:
        """Return what expressions see: the variables, and what core adds to those of a host, if anybody asks for it."""
        if there is not None:
            scope = dict(combine_vars(there.get_vars(), variables))
        elif self._magic:
            scope = {**variables, **self._source, **Host(name).get_magic_vars()}
        else:
            return variables
        if places:
            scope["group_names"] = sorted({*scope["group_names"], *self._with_ancestors(places)} - {"all"})
        return scope

    def _with_ancestors(self, places: list[Place]) -> set[str]:
        for group, parent in places:
            if parent:
                self._parents.setdefault(group, set()).add(parent)
        waiting, found = [group for group, dummy in places], set()
        while waiting:
            group = waiting.pop()
            if group in found:
                continue
            found.add(group)
            waiting += self._parents.get(group, ())
            if group in self.plugin.inventory.groups:
                waiting += [each.name for each in self.plugin.inventory.groups[group].parent_groups]
        return found

    def _composed(self, name: str, variables: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
        composed = {}
        for variable, result in zip(self._compose, results, strict=True):
            if isinstance(result, Failed):
                if self.strict:
                    raise AnsibleError(f"Could not set {variable} for host {name}: {result.error}") from result.error
                continue
            before = variables.get(variable)
            if isinstance(before, MutableMapping) and isinstance(result, Mapping):
                result = combine_vars({variable: before}, {variable: result})[variable]
            composed[variable] = result
        return composed

    def _conditional(self, name: str, results: list[Any]) -> list[Place]:
        places: list[Place] = []
        for (group, dummy), result in zip(self._groups, results, strict=True):
            if isinstance(result, Failed):
                if self.strict:
                    message = f"Could not add host {name} to group {group}: {result.error}"
                    raise AnsibleParserError(message) from result.error
            elif result:
                places.append((group, None))
        return places

    def _by_key(self, name: str, keyed: KeyedGroup, key: Any, scope: dict[str, Any]) -> list[Place]:
        if isinstance(key, Failed) and not self.strict and keyed.simple:
            return []
        places = keyed.places(key, self.strict)
        if places is not None:
            return places
        with self._drafting() as draft:
            self.plugin._add_host_to_keyed_groups([keyed.entry], scope, name, strict=self.strict, fetch_hostvars=False)
        return draft.places

    @contextmanager
    def _drafting(self) -> Iterator[Draft]:
        """Let core write to a draft instead of the inventory."""
        inventory, draft = self.plugin.inventory, Draft()
        self.plugin.inventory = draft
        try:
            yield draft
        finally:
            self.plugin.inventory = inventory
