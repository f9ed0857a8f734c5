"""Select the records that become hosts, and assign their names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleParserError

from ...module_utils._api.errors import InvalidOptions, VirtinfraError, join_first, suggest_name
from ...module_utils._api.records import is_ipv6, is_localhost
from .._jinja.expressions import EvaluationFailure, Expression, ExpressionBatch, create_evaluator
from .._jinja.references import find_names, list_texts
from .._jinja.subset import find_syntax_error
from .hostvars import HostEntry, HostVars
from .selection import find_meant_names

# The maximum length of a host name, in characters.
MAX_NAME_LENGTH = 253
# How many values of a variable a warning names.
MAX_VALUES = 8
_RESERVED_GROUPS = frozenset(("all", "ungrouped"))
# \w matches letters and digits of all scripts, but not combining marks.
_UNSAFE_IN_NAMES = re.compile(r"[^\w. -]")


def is_host_name(name: str, allow_localhost: bool = False) -> bool:
    """Return whether a name can be used as a host name.

    A host name is also used as a host pattern, a file name (host_vars, fact caches), an argument of ssh, and before
    core 2.19 a template. So it must consist of letters and digits of any script, ``.``, ``_``, ``-`` and inner spaces,
    or be an IPv6 address. It must not be a group of every inventory or, unless ``allow_localhost``, refer to this
    machine.
    """
    if not 0 < len(name) <= MAX_NAME_LENGTH or name in _RESERVED_GROUPS or (not allow_localhost and is_localhost(name)):
        return False
    if name[0] in "-. " or name[-1] == " ":
        return False
    return is_ipv6(name) or all(unicodedata.category(char)[0] == "M" for char in _UNSAFE_IN_NAMES.findall(name))


def filter_entries(plugin: Any, entries: list[HostEntry], hostvars: HostVars) -> list[HostEntry]:
    """Return the entries that meet one of the conditions in ``include``, if there are any, and none in ``exclude``."""
    include = [Expression(source, "condition") for source in plugin.get_option("include")]
    exclude = [Expression(source, "condition") for source in plugin.get_option("exclude")]
    if not include and not exclude:
        return entries
    batch = ExpressionBatch([*include, *exclude], create_evaluator(plugin), hostvars.is_generated_variable)
    failures: list[EvaluationFailure] = []
    selected = []
    for entry in entries:
        results = batch.evaluate(entry.variables).results
        failures += [result for result in results if isinstance(result, EvaluationFailure)]
        is_included = not include or any(map(_is_met, results[: len(include)]))
        is_excluded = any(map(_is_met, results[len(include) :]))
        if is_included and not is_excluded:
            selected.append(entry)
    if failures:
        _reject_or_warn(
            plugin,
            f"include and exclude could not be evaluated {len(failures)} times: {str(failures[0].error).rstrip('.')}",
        )
    if entries and not selected:
        texts = [*plugin.get_option("include"), *plugin.get_option("exclude")]
        plugin.warn(f"include and exclude leave none of {len(entries)} hosts{_describe_values(texts, entries)}")
    return selected


def _describe_values(texts: Sequence[str], entries: Sequence[HostEntry]) -> str:
    """Return a sentence with the values of the variables in conditions that few hosts have."""
    values = {name: [entry.variables.get(name) for entry in entries] for name in sorted(find_names(list_texts(texts)))}
    known = {
        name: sorted(set(map(str, found)))
        for name, found in values.items()
        if all(isinstance(value, str) for value in found) and len(set(found)) <= MAX_VALUES
    }
    described = [f"{name} is {' or '.join(map(repr, found))}" for name, found in known.items()]
    return f". In them, {', '.join(described)}" if described else ""


def _is_met(result: Any) -> bool:
    """Return whether a condition with this result is met."""
    return bool(result) and not isinstance(result, EvaluationFailure)


def _reject_or_warn(plugin: Any, sentence: str) -> None:
    """Report a condition that cannot be evaluated for all records: fail with ``strict``, warn without."""
    if plugin.get_option("strict"):
        raise AnsibleParserError(sentence)
    plugin.warn(f"{sentence}. Treated as false.")


def assign_names(plugin: Any, entries: list[HostEntry], sources: list[Any], hostvars: HostVars) -> list[HostEntry]:
    """Assign names from ``sources``, in this order, to the entries, and return the entries.

    Entries that the policy for duplicates skips, and repeated records of a service, are not returned.
    """
    distinct: dict[tuple[str, str], HostEntry] = {}
    for entry in entries:
        distinct.setdefault((entry.service, entry.uuid), entry)
    name_sources = [_NameSource(source, hostvars, plugin) for source in sources]
    allow_localhost = plugin.get_option("allow_localhost")
    ignored: list[str] = []
    for entry in distinct.values():
        entry.name = _choose_name(entry, name_sources, allow_localhost, ignored)
    if ignored:
        plugin.warn(f"ignored {len(ignored)} invalid host names (first: {ignored[0][:80]!r})")
    return _make_names_unique(plugin, list(distinct.values()))


def _choose_name(entry: HostEntry, sources: list[_NameSource], allow_localhost: bool, ignored: list[str]) -> str:
    """Return the first valid name, or the uuid if there is none, and add the invalid ones to ``ignored``."""
    for source in sources:
        name = source.read_name(entry)
        if is_host_name(name, allow_localhost):
            return name
        if name:
            ignored.append(name)
    if not is_host_name(entry.uuid):
        raise VirtinfraError(f"hostnames: the uuid of a record is not a valid host name: {entry.uuid[:80]!r}")
    return entry.uuid


def name_objects(names: Mapping[str, str]) -> dict[str, str]:
    """Return the host names that an inventory source gives to the objects of a service, by their uuids.

    ``names`` are the names of all objects by their uuids. The source has the default options for names.
    """
    uuids = list(names)
    valid = [name if is_host_name(name := text.strip()) else uuid for uuid, text in names.items()]
    unique, dummy = deduplicate_names(valid, (uuids, uuids), "rename")
    return {uuid: name for uuid, name in zip(uuids, unique, strict=True) if name is not None and is_host_name(name)}


def _make_names_unique(plugin: Any, entries: list[HostEntry]) -> list[HostEntry]:
    """Apply the policy for duplicates, and return the entries that it does not skip."""
    uuids, services = [entry.uuid for entry in entries], [entry.service.rpartition("/")[2] for entry in entries]
    # If a name ends with the uuid of another record, its own uuid is appended as well.
    suffixes = (uuids, uuids, services)
    names, warnings = deduplicate_names([entry.name for entry in entries], suffixes, plugin.get_option("duplicates"))
    for warning in warnings:
        plugin.warn(warning)
    named_entries = []
    for entry, name in zip(entries, names, strict=True):
        if name is not None:
            entry.name = name
            named_entries.append(entry)
    return named_entries


class _NameSource:
    """One entry of ``hostnames``: an attribute, a variable, an expression or a template."""

    def __init__(self, source: Any, hostvars: HostVars, plugin: Any) -> None:
        self._plugin, name = plugin, str(source).strip()
        self._field = hostvars.fields.get(name) or (name if name in hostvars.fields.values() else None)
        self._batch: ExpressionBatch | None = None
        if self._field is None:
            if name.isidentifier() and not hostvars.is_generated_variable(name):
                meant = " or ".join(_show_meant(each, hostvars) for each in find_meant_names(name, hostvars.fields))
                hint = f" Did you mean {meant}?" if meant else suggest_name(name, hostvars.fields)
                hint = hint or f" The fields are {', '.join(hostvars.fields)}."
                raise InvalidOptions(f"hostnames: hosts have no variable {name}.{hint}")
            if reason := find_syntax_error(name, "template" if "{{" in name else "value"):
                raise InvalidOptions(
                    f"hostnames: {name!r} is neither a field nor a valid expression: {reason.rstrip('.')}."
                    f"{_suggest_template(name, hostvars)} The fields are {', '.join(hostvars.fields)}."
                )
            # The text is not stripped: since 2.19 core only evaluates strings that it marked when it read the source
            # file.
            expression = Expression(source, "template" if "{{" in name else "value")
            self._batch = ExpressionBatch([expression], create_evaluator(plugin), hostvars.is_generated_variable)

    def read_name(self, entry: HostEntry) -> str:
        """Return the name of an entry, ``""`` if it has none."""
        value = self._read_value(entry)
        if isinstance(value, EvaluationFailure):
            if self._plugin.get_option("strict"):
                raise AnsibleParserError(f"hostnames: {value.error}") from value.error
            return ""
        if value is None:
            return ""
        return value.strip() if isinstance(value, str) else str(value)

    def _read_value(self, entry: HostEntry) -> Any:
        if self._field is not None:
            return entry.record.get(self._field)
        return self._batch.evaluate(entry.variables).results[0] if self._batch else None


def _show_meant(name: str, hostvars: HostVars) -> str:
    """Return how ``hostnames`` names hosts by a field, the first address or a member of the first element of a list."""
    field, dot, member = name.partition(".")
    if not dot and field != "addresses":
        return field
    return f"{hostvars.name_variable(hostvars.fields[field])}[0]{dot}{member}"


def _suggest_template(text: str, hostvars: HostVars) -> str:
    """Return a sentence with the template that is meant by a text with fields in single braces; empty for others."""

    def show(part: re.Match[str]) -> str:
        name = part[1]
        variable = hostvars.name_variable(hostvars.fields[name]) if name in hostvars.fields else name
        return f"{{{{ {variable} }}}}" if variable and hostvars.is_generated_variable(variable) else part[0]

    template = re.sub(r"(?<!\{)\{\s*(\w+)\s*\}(?!\})", show, text)
    return f' Write "{template}".' if template != text else ""


def deduplicate_names(
    names: Sequence[str], suffixes: Sequence[Sequence[str]], policy: str
) -> tuple[list[str | None], list[str]]:
    """Return the names of the hosts, None for skipped hosts, and warnings.

    ``policy`` applies to names that several hosts have: ``rename`` appends a suffix to each, the first of ``suffixes``
    that distinguishes them, ``first`` keeps the first host, ``error`` raises VirtinfraError.
    """
    duplicates = _count_duplicates(names)
    if not duplicates:
        return list(names), []
    counts = _format_counts(duplicates)
    if policy == "error":
        raise VirtinfraError(
            f"duplicates: several records have the same name: {counts}. Set hostnames to a field that differs."
        )
    if policy == "first":
        firsts = {name: index for index, name in reversed(list(enumerate(names)))}
        unique = [name if firsts[name] == index else None for index, name in enumerate(names)]
        return unique, [f"skipped {unique.count(None)} records because others have the same name: {counts}"]
    warning = f"several records have the same name, so the uuid is appended: {counts}"
    return [*_append_suffixes(names, suffixes)], [warning]


def _append_suffixes(names: Sequence[str], suffixes: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the names with suffixes until they are unique; raise VirtinfraError if they never are."""
    for ends in suffixes:
        duplicates = _count_duplicates(names)
        names = [
            f"{name[: MAX_NAME_LENGTH - 1 - len(end)]}_{end}" if name in duplicates else name
            for name, end in zip(names, ends, strict=True)
        ]
    if duplicates := _count_duplicates(names):
        raise VirtinfraError(
            f"duplicates: several services return the same record: {_format_counts(duplicates)}. Give each service in"
            " the option services its own name."
        )
    return names


def _count_duplicates(names: Sequence[str]) -> dict[str, int]:
    """Return how often each name occurs, without names that occur once."""
    return {name: count for name, count in Counter(names).items() if count > 1}


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return the first few names and how often each occurs."""
    return join_first([f"{name} ({count} times)" for name, count in counts.items()], 5)
