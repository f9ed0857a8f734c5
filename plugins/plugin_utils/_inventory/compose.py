# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Compose variables and groups of many hosts, with the results of core's Constructable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.host import Host
from ansible.utils.path import basedir
from ansible.utils.vars import combine_vars

from .expressions import (
    EvaluationFailure,
    Expression,
    ExpressionBatch,
    evaluator,
)
from .hostvars import GroupMembership

MAGIC = ("inventory_hostname", "inventory_hostname_short", "group_names", "inventory_file", "inventory_dir")


@dataclass
class RecordingInventory:
    """Records what core adds to the inventory for one host, in place of the inventory."""

    memberships: list[GroupMembership] = field(default_factory=list)

    def add_group(self, group: str) -> str:
        """Record nothing yet; as in the inventory, a group must have a name."""
        if not group:
            raise AnsibleError(f"Invalid empty/false group name provided: {group}")
        return group

    def add_host(self, host: str, group: str) -> None:
        """Record that the host is in a group."""
        self.memberships.append((group, None))

    def add_child(self, group: str, child: str) -> None:
        """Record that a group of the host has a parent."""
        self.memberships.append((child, group))


class KeyedGroup:
    """One entry of ``keyed_groups``; ``simple`` if groups can be named after plain keys without core."""

    def __init__(self, entry: Any, hidden: frozenset[str], plugin: Any) -> None:
        self.entry, self._sanitize = entry, plugin._sanitize_group_name
        options = entry if isinstance(entry, dict) else {}
        parent = options.get("parent_group")
        self.key, self.parent = Expression(options.get("key"), hidden=hidden), Expression(parent, "template")
        self._parent = self._sanitize(parent) if isinstance(parent, str) and parent else None
        prefix, separator = options.get("prefix", ""), options.get("separator", "_")
        if prefix == "" and plugin.get_option("leading_separator") is False:
            separator = ""
        self._start = f"{prefix}{separator}"
        self._default = options.get("default_value")
        contradictory = self._default is not None and options.get("trailing_separator") is not None
        self.simple = bool(options) and not contradictory and not {"{", "#"} & set(str(parent))
        self._memberships: dict[str, list[GroupMembership]] = {}

    def memberships(self, key: Any, strict: bool) -> list[GroupMembership] | None:
        """Return the memberships for a key; None when core must decide."""
        if not self.simple:
            return None
        if isinstance(key, str) and key:
            return self._memberships.get(key) or self._named(key)
        if isinstance(key, list) and all(isinstance(each, str) and each for each in key):
            return [membership for each in key for membership in self._named(each)]
        if (key is None or key == "") and self._default is None and not strict:
            return []
        return None

    def _named(self, key: str) -> list[GroupMembership]:
        group = self._sanitize(f"{self._start}{key}")
        self._memberships[key] = [(group, None), (group, self._parent)] if self._parent else [(group, None)]
        return self._memberships[key]


class Constructor:
    """Composes variables and groups from the options ``compose``, ``groups`` and ``keyed_groups`` of a plugin.

    ``is_service_variable`` says whether a name is a variable with a plain value of the service. ``is_noop`` is True if
    there is nothing to do.
    """

    def __init__(self, plugin: Any, is_service_variable: Callable[[str], bool]) -> None:
        self.plugin, self.strict = plugin, bool(plugin.get_option("strict"))
        # Extra variables, if they are used, hide others except in conditions.
        hidden = self._hidden = frozenset(plugin._vars or () if plugin.get_option("use_extra_vars") else ())
        compose, groups = plugin.get_option("compose") or {}, plugin.get_option("groups") or {}
        self._composed = list(compose)
        self._groups: list[GroupMembership] = [(plugin._sanitize_group_name(name), None) for name in groups]
        self._keyed = [KeyedGroup(entry, hidden, plugin) for entry in plugin.get_option("keyed_groups") or []]
        self._prepare(
            is_service_variable,
            [Expression(source, hidden=hidden) for source in compose.values()],
            [Expression(source, "condition") for source in groups.values()],
        )
        self._parents: dict[str, set[str]] = {}
        source = plugin.inventory.current_source
        self._source = {"inventory_file": source, "inventory_dir": basedir(source) if source else None}
        self.is_noop = not (compose or groups or self._keyed)

    def _prepare(
        self, is_service_variable: Callable[[str], bool], values: list[Expression], conditions: list[Expression]
    ) -> None:
        """Divide the expressions into batches: one for all, unless some refer to the results of others."""
        keys = [keyed.key for keyed in self._keyed]
        later = [*conditions, *keys, *(keyed.parent for keyed in self._keyed)]
        evaluate, composed = evaluator(self.plugin), frozenset(self._composed)

        def seen_first(name: str) -> bool:
            return is_service_variable(name) or name in MAGIC

        def seen_later(name: str) -> bool:
            return seen_first(name) or name in composed

        # An extra variable may be a template, which may refer to any variable.
        blind = bool(self._hidden)
        self._magic = blind or any(each.may_reference(name) for each in [*values, *later] for name in MAGIC)
        self._needs_composed = blind or any(each.may_reference(name) for each in later for name in composed)
        self._needs_groups = blind or any(each.may_reference("group_names") for each in later)
        self._in_order = self._needs_composed or self._needs_groups
        self._all = ExpressionBatch([*values, *conditions, *keys], evaluate, seen_first)
        self._values = ExpressionBatch(values, evaluate, seen_first)
        self._conditions = ExpressionBatch(conditions, evaluate, seen_later)
        self._keys = ExpressionBatch(keys, evaluate, seen_later)

    def construct(self, name: str, variables: dict[str, Any], existing_host: Host | None) -> list[GroupMembership]:
        """Add the composed variables of a host to its others and return its group memberships.

        ``existing_host`` is the host if an earlier source has added it; its variables may be templates, which only core
        evaluates. Raise AnsibleError where core does.
        """
        use_core = existing_host is not None
        scope = self._scope(name, variables, existing_host)
        if not self._in_order:
            results, dummy = self._all.results(scope, use_core)
            first, last = len(self._composed), len(self._composed) + len(self._groups)
            self._compose(name, variables, results[:first])
            return self._by_conditions(name, results[first:last]) + self._by_keys(name, results[last:], scope)
        values, fast = self._values.results(scope, use_core)
        self._compose(name, variables, values)
        # A value that core composed may be a template.
        use_core = use_core or (self._needs_composed and not fast)
        scope = self._scope(name, variables, existing_host)
        memberships = self._by_conditions(name, self._conditions.results(scope, use_core)[0])
        if not self._needs_groups:
            return memberships + self._by_keys(name, self._keys.results(scope, use_core)[0], scope)
        for keyed in self._keyed:
            memberships += self._by_core(name, keyed.entry, self._scope(name, variables, existing_host, memberships))
        return memberships

    def _scope(
        self,
        name: str,
        variables: dict[str, Any],
        existing_host: Host | None,
        memberships: list[GroupMembership] | None = None,
    ) -> dict[str, Any]:
        """Return the variables for expressions, and those that core adds to a host if an expression refers to them."""
        if existing_host is not None:
            scope = dict(combine_vars(combine_vars(existing_host.vars, variables), existing_host.get_magic_vars()))
        elif self._magic:
            scope = {**variables, **self._source, **Host(name).get_magic_vars()}
        else:
            return variables
        if memberships:
            scope["group_names"] = sorted({*scope["group_names"], *self._with_ancestors(memberships)} - {"all"})
        return scope

    def _with_ancestors(self, memberships: list[GroupMembership]) -> set[str]:
        for group, parent in memberships:
            if parent:
                self._parents.setdefault(group, set()).add(parent)
        waiting, found, known = [group for group, dummy in memberships], set(), self.plugin.inventory.groups
        while waiting:
            group = waiting.pop()
            if group not in found:
                found.add(group)
                waiting += self._parents.get(group, ())
                waiting += [parent.name for parent in known[group].parent_groups] if group in known else []
        return found

    def _compose(self, name: str, variables: dict[str, Any], results: list[Any]) -> None:
        for variable, result in zip(self._composed, results, strict=True):
            if isinstance(result, EvaluationFailure):
                if self.strict:
                    raise AnsibleError(f"Could not set {variable} for host {name}: {result.error}") from result.error
            elif isinstance(before := variables.get(variable), MutableMapping) and isinstance(result, Mapping):
                variables.update(combine_vars({variable: before}, {variable: result}))
            else:
                variables[variable] = result

    def _by_conditions(self, name: str, results: list[Any]) -> list[GroupMembership]:
        memberships = []
        for membership, result in zip(self._groups, results, strict=True):
            if isinstance(result, EvaluationFailure):
                if self.strict:
                    message = f"Could not add host {name} to group {membership[0]}: {result.error}"
                    raise AnsibleParserError(message) from result.error
            elif result:
                memberships.append(membership)
        return memberships

    def _by_keys(self, name: str, results: list[Any], scope: dict[str, Any]) -> list[GroupMembership]:
        memberships = []
        for keyed, key in zip(self._keyed, results, strict=True):
            if isinstance(key, EvaluationFailure) and keyed.simple and not self.strict:
                continue
            found = keyed.memberships(key, self.strict)
            memberships += self._by_core(name, keyed.entry, scope) if found is None else found
        return memberships

    def _by_core(self, name: str, entry: Any, scope: dict[str, Any]) -> list[GroupMembership]:
        with self._recording() as recording:
            self.plugin._add_host_to_keyed_groups([entry], scope, name, strict=self.strict, fetch_hostvars=False)
        return recording.memberships

    @contextmanager
    def _recording(self) -> Iterator[RecordingInventory]:
        """Make core write to a RecordingInventory instead of the inventory."""
        inventory, recording = self.plugin.inventory, RecordingInventory()
        self.plugin.inventory = recording
        try:
            yield recording
        finally:
            self.plugin.inventory = inventory
