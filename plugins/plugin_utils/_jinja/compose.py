"""Compose variables and groups of many hosts, with the results of core's Constructable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.host import Host
from ansible.utils.path import basedir
from ansible.utils.vars import combine_vars

from ...module_utils._api.errors import InvalidOptions
from .._jinja.expressions import EvaluationFailure, Expression, ExpressionBatch, create_evaluator

# The name of a group that a host joins, and the name of the parent group if it has one.
GroupMembership = tuple[str, "str | None"]

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
    """One entry of ``keyed_groups``; ``is_simple`` if groups can be named after plain keys without core."""

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
        is_contradictory = self._default is not None and options.get("trailing_separator") is not None
        self.is_simple = bool(options) and not is_contradictory and not {"{", "#"} & set(str(parent))
        self._memberships: dict[str, list[GroupMembership]] = {}

    def check_key(self, key: Any) -> None:
        """Raise InvalidOptions for a key that is a number, which core refuses without a remedy."""
        if self.is_simple and isinstance(key, (int, float)) and key:
            raise InvalidOptions(f"keyed_groups: the key {self.key.source} is {key}. Write {self.key.source} | string.")

    def find_memberships(self, key: Any, strict: bool) -> list[GroupMembership] | None:
        """Return the memberships for a key; None when core must decide."""
        if not self.is_simple:
            return None
        if _is_text(key):
            return self._memberships.get(key) or self._create_memberships(key)
        if isinstance(key, list) and all(map(_is_text, key)):
            return [membership for item in key for membership in self._create_memberships(item)]
        is_empty = key is None or key == ""
        return [] if is_empty and self._default is None and not strict else None

    def _create_memberships(self, key: str) -> list[GroupMembership]:
        group = self._sanitize(f"{self._start}{key}")
        self._memberships[key] = [(group, None), (group, self._parent)] if self._parent else [(group, None)]
        return self._memberships[key]


def _is_text(key: Any) -> bool:
    return isinstance(key, str) and key != ""


class Constructor:
    """Composes variables and groups from the options ``compose``, ``groups`` and ``keyed_groups`` of a plugin.

    ``is_service_variable`` says whether a name is a variable with a plain value of the service. ``is_noop`` is True if
    there is nothing to do.

    All expressions are evaluated in one batch, unless some refer to the results of others: conditions and keys to
    composed variables, and keys to the groups of the host.
    """

    def __init__(self, plugin: Any, is_service_variable: Callable[[str], bool]) -> None:
        self.plugin, self.strict = plugin, bool(plugin.get_option("strict"))
        compose, groups = plugin.get_option("compose") or {}, plugin.get_option("groups") or {}
        keyed_groups = plugin.get_option("keyed_groups") or []
        self.is_noop = not (compose or groups or keyed_groups)
        # With use_extra_vars, extra variables hide host variables of the same name, except in conditions.
        hidden = frozenset(plugin._vars or ()) if plugin.get_option("use_extra_vars") else frozenset()
        self._composed = list(compose)
        self._groups: list[GroupMembership] = [(plugin._sanitize_group_name(name), None) for name in groups]
        self._keyed_groups = [KeyedGroup(entry, hidden, plugin) for entry in keyed_groups]
        values = [Expression(source, hidden=hidden) for source in compose.values()]
        conditions = [Expression(source, "condition") for source in groups.values()]
        self._set_references(values, conditions, has_extra_vars=bool(hidden))
        self._create_batches(values, conditions, is_service_variable)
        self._parents: dict[str, set[str]] = {}
        self._labels = [*(f"compose: {name}" for name in compose), *(f"groups: {name}" for name in groups)]
        self._labels += [f"keyed_groups: {keyed.key.source}" for keyed in self._keyed_groups]
        # By the number of the expression, how often it could not be evaluated, and why at first.
        self._failures: dict[int, tuple[int, Exception]] = {}
        self._count = 0
        self._source = _describe_source(plugin.inventory.current_source)

    def _set_references(self, values: list[Expression], conditions: list[Expression], has_extra_vars: bool) -> None:
        """Find out which variables of core, and which results of other expressions, are needed.

        An extra variable may be a template, which may refer to any variable.
        """
        keys_and_parents = [expression for keyed in self._keyed_groups for expression in (keyed.key, keyed.parent)]
        later = [*conditions, *keys_and_parents]
        self._needs_magic = has_extra_vars or may_reference([*values, *later], MAGIC)
        self._needs_composed = has_extra_vars or may_reference(later, self._composed)
        self._needs_groups = has_extra_vars or may_reference(later, ["group_names"])

    def _create_batches(
        self, values: list[Expression], conditions: list[Expression], is_service_variable: Callable[[str], bool]
    ) -> None:
        """Create one batch of all expressions, and one of each kind."""
        keys = [keyed.key for keyed in self._keyed_groups]
        evaluate, composed = create_evaluator(self.plugin), frozenset(self._composed)

        def is_plain(name: str) -> bool:
            return is_service_variable(name) or name in MAGIC

        def is_plain_or_composed(name: str) -> bool:
            return is_plain(name) or name in composed

        self._all = ExpressionBatch([*values, *conditions, *keys], evaluate, is_plain)
        self._values = ExpressionBatch(values, evaluate, is_plain)
        self._conditions = ExpressionBatch(conditions, evaluate, is_plain_or_composed)
        self._keys = ExpressionBatch(keys, evaluate, is_plain_or_composed)

    def construct(self, name: str, variables: dict[str, Any], existing_host: Host | None) -> list[GroupMembership]:
        """Add the composed variables of a host to its others and return its group memberships.

        ``existing_host`` is the host if an earlier source has added it; its variables may be templates, which only core
        evaluates. Raise AnsibleError where core does.
        """
        self._count += 1
        if self._needs_composed or self._needs_groups:
            return self._construct_in_order(name, variables, existing_host)
        scope = self._build_scope(name, variables, existing_host)
        results = self._all.evaluate(scope, with_core=existing_host is not None).results
        end_of_values, end_of_conditions = len(self._composed), len(self._composed) + len(self._groups)
        self._set_composed(name, variables, results[:end_of_values])
        memberships = self._join_groups(name, results[end_of_values:end_of_conditions])
        return memberships + self._join_keyed_groups(name, results[end_of_conditions:], scope)

    def list_useless(self) -> list[str]:
        """Return a sentence for each expression that could be evaluated for no host, about which core says nothing."""
        return [
            f"{self._labels[number]} could be evaluated for none of {self._count} hosts, so it has no effect:"
            f" {str(error).rstrip('.')}. With strict: true it fails"
            for number, (count, error) in self._failures.items()
            if count == self._count
        ]

    def _note_failure(self, number: int, failure: EvaluationFailure) -> None:
        """Remember that an expression, by its number among all, could not be evaluated for a host."""
        count, error = self._failures.get(number, (0, failure.error))
        self._failures[number] = count + 1, error

    def _construct_in_order(
        self, name: str, variables: dict[str, Any], existing_host: Host | None
    ) -> list[GroupMembership]:
        """Construct with one batch for each kind of expression, because a kind can refer to the results of earlier
        ones."""
        with_core = existing_host is not None
        values = self._values.evaluate(self._build_scope(name, variables, existing_host), with_core)
        self._set_composed(name, variables, values.results)
        # A value that core composed may be a template, so core also evaluates the conditions that use it.
        with_core = with_core or (self._needs_composed and values.used_core)
        scope = self._build_scope(name, variables, existing_host)
        memberships = self._join_groups(name, self._conditions.evaluate(scope, with_core).results)
        if not self._needs_groups:
            return memberships + self._join_keyed_groups(name, self._keys.evaluate(scope, with_core).results, scope)
        for keyed in self._keyed_groups:
            scope = self._build_scope(name, variables, existing_host, memberships)
            memberships += self._join_with_core(name, keyed, scope)
        return memberships

    def _build_scope(
        self,
        name: str,
        variables: dict[str, Any],
        existing_host: Host | None,
        memberships: list[GroupMembership] | None = None,
    ) -> dict[str, Any]:
        """Return the variables for expressions, and those that core adds to a host if an expression refers to them."""
        if existing_host is not None:
            scope = dict(combine_vars(combine_vars(existing_host.vars, variables), existing_host.get_magic_vars()))
        elif self._needs_magic:
            scope = {**variables, **self._source, **Host(name).get_magic_vars()}
        else:
            return variables
        if memberships:
            scope["group_names"] = sorted({*scope["group_names"], *self._find_groups(memberships)} - {"all"})
        return scope

    def _find_groups(self, memberships: list[GroupMembership]) -> set[str]:
        """Return the groups of these memberships, and all groups that contain them."""
        for group, parent in memberships:
            if parent:
                self._parents.setdefault(group, set()).add(parent)
        existing_groups = self.plugin.inventory.groups
        pending, groups = [group for group, dummy in memberships], set()
        while pending:
            group = pending.pop()
            if group in groups:
                continue
            groups.add(group)
            pending += self._parents.get(group, ())
            if group in existing_groups:
                pending += [parent.name for parent in existing_groups[group].parent_groups]
        return groups

    def _set_composed(self, name: str, variables: dict[str, Any], results: list[Any]) -> None:
        """Set the variables of the option compose. A mapping is combined with the previous value."""
        for number, (variable, result) in enumerate(zip(self._composed, results, strict=True)):
            if isinstance(result, EvaluationFailure):
                if self.strict:
                    raise AnsibleError(f"Could not set {variable} for host {name}: {result.error}") from result.error
                self._note_failure(number, result)
            elif isinstance(previous := variables.get(variable), MutableMapping) and isinstance(result, Mapping):
                variables.update(combine_vars({variable: previous}, {variable: result}))
            else:
                variables[variable] = result

    def _join_groups(self, name: str, results: list[Any]) -> list[GroupMembership]:
        """Return the memberships for the results of conditions in the option groups."""
        memberships = []
        for number, (membership, result) in enumerate(zip(self._groups, results, strict=True), len(self._composed)):
            if isinstance(result, EvaluationFailure):
                if self.strict:
                    message = f"Could not add host {name} to group {membership[0]}: {result.error}"
                    raise AnsibleParserError(message) from result.error
                self._note_failure(number, result)
            elif result:
                memberships.append(membership)
        return memberships

    def _join_keyed_groups(self, name: str, results: list[Any], scope: dict[str, Any]) -> list[GroupMembership]:
        """Return the memberships for the results of keys in the option keyed_groups."""
        memberships = []
        first = len(self._composed) + len(self._groups)
        for number, (keyed, key) in enumerate(zip(self._keyed_groups, results, strict=True), first):
            if isinstance(key, EvaluationFailure) and keyed.is_simple and not self.strict:
                self._note_failure(number, key)
                continue
            keyed.check_key(key)
            keyed_memberships = keyed.find_memberships(key, self.strict)
            if keyed_memberships is None:
                keyed_memberships = self._join_with_core(name, keyed, scope)
            memberships += keyed_memberships
        return memberships

    def _join_with_core(self, name: str, keyed: KeyedGroup, scope: dict[str, Any]) -> list[GroupMembership]:
        """Return the memberships for an entry of keyed_groups, as core determines them."""
        with self._record_memberships() as recording:
            self.plugin._add_host_to_keyed_groups([keyed.entry], scope, name, strict=self.strict, fetch_hostvars=False)
        return recording.memberships

    @contextmanager
    def _record_memberships(self) -> Iterator[RecordingInventory]:
        """Make core write to a RecordingInventory instead of the inventory."""
        inventory, recording = self.plugin.inventory, RecordingInventory()
        self.plugin.inventory = recording
        try:
            yield recording
        finally:
            self.plugin.inventory = inventory


def _describe_source(path: str | None) -> dict[str, str | None]:
    """Return the variables that core adds to a host of this inventory source."""
    return {"inventory_file": path, "inventory_dir": basedir(path) if path else None}


def may_reference(expressions: Iterable[Expression], names: Iterable[str]) -> bool:
    """Return whether one of these names may be used in one of the expressions; True if in doubt."""
    return any(expression.may_reference(name) for expression in expressions for name in names)
