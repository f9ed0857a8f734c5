# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Select the records that become hosts, and assign their names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleParserError

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import is_ipv6, is_localhost
from .expressions import EvaluationFailure, Expression, ExpressionBatch, evaluator
from .hostvars import HostEntry, HostVars

# The maximum length of a host name, in characters.
MAX_NAME_LENGTH = 253
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
    include, exclude = (
        [Expression(source, "condition") for source in plugin.get_option(option)] for option in ("include", "exclude")
    )
    if not include and not exclude:
        return entries
    batch = ExpressionBatch([*include, *exclude], evaluator(plugin), hostvars.is_generated_variable)
    failures, found = [], []
    for entry in entries:
        results = batch.results(entry.variables)[0]
        failures += [result for result in results if isinstance(result, EvaluationFailure)]
        held = [bool(result) and not isinstance(result, EvaluationFailure) for result in results]
        if (not include or any(held[: len(include)])) and not any(held[len(include) :]):
            found.append(entry)
    if failures:
        _reject_or_warn(
            plugin, f"include and exclude could not be evaluated {len(failures)} times: {failures[0].error}"
        )
    return found


def _reject_or_warn(plugin: Any, sentence: str) -> None:
    """Report a condition that cannot be evaluated for all records: fail with ``strict``, warn without."""
    if plugin.get_option("strict"):
        raise AnsibleParserError(sentence)
    plugin.warn(f"{sentence}. Treated as false.")


def assign_names(plugin: Any, entries: list[HostEntry], sources: list[Any], hostvars: HostVars) -> list[HostEntry]:
    """Assign names from ``sources``, in this order, to the entries, and return the entries.

    Those that the policy for duplicates skips, and repeated records of a service, are not returned.
    """
    distinct: dict[tuple[str, str], HostEntry] = {}
    for entry in entries:
        distinct.setdefault((entry.service, entry.uuid), entry)
    preferences = [_Preference(source, hostvars, plugin) for source in sources]
    allow_localhost = plugin.get_option("allow_localhost")
    ignored = []
    for entry in distinct.values():
        for preference in preferences:
            entry.name = preference.name(entry)
            if is_host_name(entry.name, allow_localhost):
                break
            if entry.name:
                ignored.append(entry.name)
        else:
            entry.name = entry.uuid
            if not is_host_name(entry.name):
                raise VirtinfraError(f"hostnames: the uuid of a record is not a valid host name: {entry.name[:80]!r}")
    if ignored:
        plugin.warn(f"ignored {len(ignored)} invalid host names (first: {ignored[0][:80]!r})")
    return _unambiguous(plugin, list(distinct.values()))


def _unambiguous(plugin: Any, entries: list[HostEntry]) -> list[HostEntry]:
    uuids, services = [entry.uuid for entry in entries], [entry.service.rpartition("/")[2] for entry in entries]
    # If a name ends with the uuid of another record, its own uuid is appended as well.
    suffixes = (uuids, uuids, services)
    names, warnings = deduplicate_names([entry.name for entry in entries], suffixes, plugin.get_option("duplicates"))
    for warning in warnings:
        plugin.warn(warning)
    kept = []
    for entry, name in zip(entries, names, strict=True):
        if name is not None:
            entry.name = name
            kept.append(entry)
    return kept


class _Preference:
    """One entry of ``hostnames``: an attribute, a variable, an expression or a template."""

    def __init__(self, source: Any, hostvars: HostVars, plugin: Any) -> None:
        self._plugin, source = plugin, str(source).strip()
        self._field = hostvars.fields.get(source) or (source if source in hostvars.fields.values() else None)
        self._batch: ExpressionBatch | None = None
        if self._field is None:
            if source.isidentifier() and not hostvars.is_generated_variable(source):
                raise InvalidOptions(f"hostnames: there is no attribute {source}")
            expression = Expression(source, "template" if "{{" in source else "value")
            self._batch = ExpressionBatch([expression], evaluator(plugin), hostvars.is_generated_variable)

    def name(self, entry: HostEntry) -> str:
        """Return the name of an entry, ``""`` if it has none."""
        value = self._batch.results(entry.variables)[0][0] if self._batch else entry.record.get(self._field or "")
        if isinstance(value, EvaluationFailure):
            if self._plugin.get_option("strict"):
                raise AnsibleParserError(f"hostnames: {value.error}") from value.error
            return ""
        return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def deduplicate_names(
    names: Sequence[str], suffixes: Sequence[Sequence[str]], policy: str
) -> tuple[list[str | None], list[str]]:
    """Return the names of the hosts, None for skipped hosts, and warnings.

    ``policy`` applies to names that several hosts have: ``rename`` appends a suffix to each, the first of ``suffixes``
    that distinguishes them, ``first`` keeps the first host, ``error`` raises VirtinfraError.
    """
    repeated = _repeated(names)
    if not repeated:
        return list(names), []
    counts = _format_counts(repeated)
    if policy == "error":
        raise VirtinfraError(
            f"duplicates: several records have the same name: {counts}. Set hostnames to a field that differs."
        )
    if policy == "first":
        firsts = {name: index for index, name in reversed(list(enumerate(names)))}
        kept = [name if firsts[name] == index else None for index, name in enumerate(names)]
        return kept, [f"skipped {kept.count(None)} records because others have the same name: {counts}"]
    renamed = list(names)
    for ends in suffixes:
        repeated = _repeated(renamed)
        renamed = [
            f"{name[: MAX_NAME_LENGTH - 1 - len(end)]}_{end}" if name in repeated else name
            for name, end in zip(renamed, ends, strict=True)
        ]
    if repeated := _repeated(renamed):
        raise VirtinfraError(f"duplicates: these records have the same name and uuid: {_format_counts(repeated)}")
    return list(renamed), [f"several records have the same name, so the uuid is appended: {counts}"]


def _repeated(names: Sequence[str]) -> dict[str, int]:
    return {name: count for name, count in Counter(names).items() if count > 1}


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return the first few names and how often each occurs."""
    names = [f"{name} ({count} times)" for name, count in list(counts.items())[:5]]
    return ", ".join([*names, *([f"and {len(counts) - 5} more"] if len(counts) > 5 else [])])
