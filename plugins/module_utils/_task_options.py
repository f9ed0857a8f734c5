# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The options of a module, and the validation of the options of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._options import CONNECTION, TAGS, Options
from ansible_collections.virtinfra.manager.plugins.module_utils._records import Record, Unknown
from ansible_collections.virtinfra.manager.plugins.module_utils._references import normalize_references, parameter_name

# Options with these endings identify an object, as uuids do: an empty string is an error there, not a value.
IDENTIFIERS = ("name", "url", "_ip", "_mac", "_address", "user_id", "username")


class TaskOptions:
    """The options of a module: its own and shared ones, their constraints, and those that select the object."""

    options: Options
    shared_options: tuple[Options, ...]
    constraints: Mapping[str, Any]
    selecting_options: tuple[str, ...]

    @property
    def argument_spec(self) -> dict[str, Any]:
        """The argument spec of all options."""
        spec: dict[str, Any] = dict(CONNECTION)
        for options in (*self.shared_options, self.options):
            spec.update(options)
        return spec

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The API's names for the options."""
        return {name: parameter_name(name, spec) for name, spec in self.argument_spec.items()}

    def alias_warnings(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the warnings of a module process for options that are given both by name and by alias."""
        return [
            f"Both option {name} and its alias {alias} are set."
            for name, spec in self.argument_spec.items()
            for alias in spec.get("aliases", ())
            if {name, alias} <= arguments.keys()
        ]

    def with_references(self, params: Mapping[str, Any], check_mode: bool) -> Record:
        """Return the options with normalized references; names are kept, see `resolve_names`.

        Raise InvalidOptions for invalid references and, except in check mode, for a null reference that cannot be
        omitted.
        """
        own = {name: params.get(name) for name in self.argument_spec}
        options = {**params, **normalize_references(own, self.parameters)}
        for name, value in options.items():
            if isinstance(value, Unknown) and name not in self.options:
                options[name] = None
            elif isinstance(value, Unknown) and not check_mode and not str(params[name]).strip():
                raise InvalidOptions(f"{name} must not be empty")
            elif isinstance(value, list) and not check_mode and any(isinstance(item, Unknown) for item in value):
                raise InvalidOptions(f"{name} must not contain a null or an empty string")
        if not check_mode and (null := next(self.null_selecting_options(options), None)):
            raise InvalidOptions(f"{null} must not be null: it selects the object")
        return options

    def null_selecting_options(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Yield the options that are null although they are needed to select the object."""
        groups = [[name] for name, option in self.options.items() if option.get("required")]
        if options.get("uuid") is None or isinstance(options["uuid"], Unknown):
            required_by = self.constraints.get("required_by", {})
            groups += [[name] for key, names in required_by.items() for name in names if options.get(key) is not None]
            groups += [*self.constraints.get("required_one_of", ()), *([name] for name in self.selecting_options)]
        for group in groups:
            null = [name for name in group if isinstance(options.get(name), Unknown)]
            if all(name in null or options.get(name) is None for name in group):
                yield from null

    def desired(self, params: Mapping[str, Any]) -> Record:
        """Return the module's own options that are given, by the API's names for them."""
        desired, parameters = {}, self.parameters
        for name in (*self.options, *(TAGS if TAGS in self.shared_options else ())):
            value = params.get(name)
            if isinstance(value, str) and not isinstance(value, Unknown):
                value = value.strip()
                if not value and name.endswith(IDENTIFIERS):
                    raise InvalidOptions(f"{name} must not be empty")
            if value is not None:
                # Ansible converts an empty string to this list.
                desired[parameters[name]] = [] if value == [""] else value
        return desired
