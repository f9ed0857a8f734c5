"""The options that modules share, documented in the doc fragments with the same names, and the options of a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ansible.module_utils.ansible_release import __version__
from ansible.module_utils.basic import env_fallback

from .._api.errors import InvalidOptions
from .._api.limits import check_value
from .._api.operation import ABSENT
from .._api.records import (
    NullReference,
    PredictedReference,
    Record,
    holds_unknown_reference,
    normalize_address,
    to_camel_case,
    to_snake_case,
)
from .._api.references import forget_predictions, is_name, normalize_references

Options = Mapping[str, dict[str, Any]]


def _add_fallbacks(options: Options) -> Options:
    """Add a fallback to an environment variable to each option, for example VIRTINFRA_BASE_URL to ``base_url``."""
    return {
        name: {**option, "fallback": (env_fallback, [f"VIRTINFRA_{name.upper()}"])} for name, option in options.items()
    }


CONNECTION = _add_fallbacks(
    {
        "profile": {"type": "str"},
        "base_url": {"type": "str"},
        "path_prefix": {"type": "str", "default": "service"},
        "session_id": {"type": "str", "no_log": True},
        "account": {"type": "str"},
        "account_password": {"type": "str", "no_log": True},
        "access_key_id": {"type": "str", "no_log": False},
        "access_key_secret": {"type": "str", "no_log": True},
        "access_key_time_zone": {"type": "str", "no_log": False},
        "api_token": {"type": "str", "no_log": True},
        "validate_certs": {"type": "bool", "default": True},
        "ca_path": {"type": "path"},
        "client_cert": {"type": "path"},
        "client_key": {"type": "path", "no_log": False},
        "proxy_url": {"type": "str", "no_log": True},
        "use_proxy": {"type": "bool", "default": True},
        "request_timeout": {"type": "float", "default": 30},
        "request_retries": {"type": "int", "default": 8},
        # YAML reads 4.10 as 4.1, so the type is raw, and a number is refused.
        "service_version": {"type": "raw"},
    }
)

# The options with secrets that are never meant to be empty.
_NEVER_EMPTY = re.compile("(^|_)(password|url)$")

# Before core 2.19, a template whose value is null gives an empty string.
NULL_IS_EMPTY = tuple(map(int, __version__.split(".")[:2])) < (2, 19)

WAIT_LIMITS: Options = {
    "wait_timeout": {"type": "float", "default": 1800},
    "wait_interval": {"type": "float", "default": 5},
}

WEBHOOK_KEY = _add_fallbacks({"webhook_key": {"type": "str", "no_log": True}})

WAIT: Options = {
    **WAIT_LIMITS,
    "wait": {"type": "bool", "default": True},
    "job_uuid": {"type": "str"},
    **_add_fallbacks({"webhook_url": {"type": "str", "no_log": True}}),
    **WEBHOOK_KEY,
    "api_timeout": {"type": "int"},
}

TAGS: Options = {
    "system_tags": {"type": "list", "elements": "str"},
    "user_tags": {"type": "list", "elements": "str"},
}

# The tags of modules that compare the user tags of their objects.
OBJECT_TAGS: Options = {
    "system_tags": {"type": "list", "elements": "str"},
    "tags": {"type": "list", "elements": "str"},
    "tags_mode": {"type": "str", "default": "exact", "choices": ["exact", "add", "remove"]},
}


def drop_empty(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without secrets that are null. ``names`` are those of options that may contain secrets.

    Raise InvalidOptions for an empty one, such as that of an environment variable which is not set.
    """
    empty = [name for name in names if _NEVER_EMPTY.search(name) and values.get(name) == ""]
    if empty and not NULL_IS_EMPTY:
        raise InvalidOptions(f"{' and '.join(empty)} must not be empty. Check where the value comes from")
    return {name: value for name, value in values.items() if name not in empty}


def reference(parameter: str, **details: Any) -> dict[str, Any]:
    """Return the spec of an option that refers to an object; ``parameter`` is the API's name for the option.

    The option is named after the object that it refers to, see `format_option_name`. The name of the parameter in
    snake case is its alias.
    """
    return {"type": "str", "parameter": parameter, "aliases": [to_snake_case(parameter)], **details}


def references(parameter: str, **details: Any) -> dict[str, Any]:
    """Return the spec of an option that refers to several objects."""
    return reference(parameter, **{"type": "list", "elements": "str", **details})


def map_parameter_names(options: Options) -> dict[str, str]:
    """Return the API's names for options."""
    return {name: spec.get("parameter") or to_camel_case(name) for name, spec in options.items()}


CREATE_OPTIONS: Options = {
    "resource_uuid": {"type": "str"},
    "tag_patterns": references("tagUuids"),
}

REMOVAL_OPTIONS: Options = {
    "force": {"type": "bool", "default": False},
    "delete_mode": {"type": "str", "choices": ["permissive", "enforcing"]},
}

IDENTITY_OPTIONS: Options = {
    "uuid": {"type": "str"},
    "name": {"type": "str"},
}

LIST_OPTIONS: Options = {
    "query": {"type": "list", "elements": "str"},
    "limit": {"type": "int"},
    "wait_for": {
        "type": "dict",
        "options": {
            "field": {"type": "str"},
            "values": {"type": "list", "elements": "str"},
            "exists": {"type": "bool"},
            "timeout": {"type": "float", "default": 300},
            "interval": {"type": "float", "default": 5},
        },
        "required_together": [("field", "values")],
        "required_one_of": [("field", "exists")],
        "mutually_exclusive": [("field", "exists")],
    },
}

TAG_OPTION: Options = {"include_tags": {"type": "bool", "default": False}}

# Uuids, handles of jobs, and results of tasks, which have members of any name.
JOB_HANDLES: Options = {"jobs": {"type": "list", "elements": "raw", "required": True}}


# Options of many modules of the action group. If a module lacks one, a default of the group for it is ignored.
GROUP_OPTIONS: Options = {**CONNECTION, **WAIT, **TAGS, **OBJECT_TAGS, **CREATE_OPTIONS, **LIST_OPTIONS}


# Options with these endings identify an object, so an empty string is an error in them.
IDENTIFIERS = ("name", "url", "_ip", "_mac", "_address", "user_id", "username")


class TaskOptions:
    """The options of a module, their constraints, and those that select the object."""

    options: Options
    shared_options: tuple[Options, ...]
    constraints: Mapping[str, Any]
    selecting_options: tuple[str, ...]
    only_absent: tuple[str, ...]
    never_absent: tuple[str, ...]
    named_options: tuple[str, ...]
    refuse_foreign: Callable[[Record], None] | None

    @cached_property
    def all_options(self) -> Options:
        """The options of the module, those that it shares with others, and those of the connection."""
        options = dict(CONNECTION)
        for shared in self.shared_options:
            options.update(shared)
        return {**options, **self.options}

    @cached_property
    def argument_spec(self) -> dict[str, Any]:
        """The argument spec of all options, as Ansible knows it."""
        return {
            name: {key: value for key, value in spec.items() if key != "parameter"}
            for name, spec in self.all_options.items()
        }

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The API's names for the options."""
        return map_parameter_names(self.all_options)

    @property
    def references(self) -> dict[str, str]:
        """The API's names for the options in which names are replaced before the module runs."""
        return {option: name for option, name in self.parameters.items() if option not in self.named_options}

    def find_alias_warnings(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the warnings of a module process for options that are given both by name and by alias."""
        return [
            f"Both option {name} and its alias {alias} are set."
            for name, spec in self.all_options.items()
            for alias in spec.get("aliases", ())
            if {name, alias} <= arguments.keys()
        ]

    def with_references(self, params: Mapping[str, Any], check_mode: bool) -> Record:
        """Return the options with normalized references. `resolve_names` replaces the names of objects.

        Raise InvalidOptions for an option that contradicts ``state``, for invalid references, and for a null reference
        that selects the object, unless an earlier task of check mode has predicted it.
        """
        self.refuse_contradictions(params)
        self._refuse_without_key(params)
        known_params = {name: params.get(name) for name in self.argument_spec}
        if not check_mode:
            known_params = forget_predictions(known_params)
        may_be_names = (*self.named_options, "uuid")
        options = {**params, **normalize_references(known_params, self.parameters, may_be_names)}
        if is_name(options.get("uuid")):
            self._refuse_name(options)
        for name, value in options.items():
            if isinstance(value, NullReference) and name not in self.options:
                options[name] = None
        self._refuse_null_references(options)
        if holds_unknown_reference(options.get("uuid")):
            options["uuid"] = None
        return options

    def refuse_contradictions(self, params: Mapping[str, Any]) -> None:
        """Raise InvalidOptions for an option that contradicts ``state``, unless it has its default or is empty."""
        default = self.options.get("state", {}).get("default")
        is_absent = params.get("state", default) == ABSENT
        for name in self.never_absent if is_absent else self.only_absent:
            if params.get(name) and params[name] != self.options[name].get("default"):
                # No hint leads to the removal of an object.
                rule, other = ("cannot", ", or set state: present") if is_absent else ("can only", "")
                is_default = ", which is the default" if is_absent and default == ABSENT else ""
                raise InvalidOptions(f"{name} {rule} be used with state {ABSENT}{is_default}. Remove {name}{other}")

    def _refuse_without_key(self, params: Mapping[str, Any]) -> None:
        """Raise InvalidOptions if all options of a group are null, one of which is required: null is not given.

        Ansible itself counts a null option as given.
        """
        for names in self.constraints.get("required_one_of", ()):
            if all(params.get(name) is None for name in names):
                raise InvalidOptions(f"one of the following is required: {', '.join(names)}")

    def _refuse_name(self, given: Mapping[str, Any]) -> None:
        """Raise InvalidOptions for a name in the option ``uuid``, with the options that select the object by others.

        With an option that is given already, the object gets another value, such as a new name.
        """
        keys = next((names for names in self.constraints.get("required_one_of", ()) if "uuid" in names), ())
        others = ["name"] if "name" in self.options else [key for key in keys if key != "uuid"]
        if any(given.get(other) is not None for other in others):
            remedy = " Give the uuid itself, which virtinfra.manager.resource_info returns."
        else:
            remedy = f" Give {' or '.join(others)} in place of uuid." if others else ""
        raise InvalidOptions(f"uuid must be a uuid (32 hexadecimal digits), not {given['uuid']!r}.{remedy}")

    def _refuse_null_references(self, options: Mapping[str, Any]) -> None:
        """Raise InvalidOptions for a null reference that cannot be omitted, unless an earlier task has predicted it."""
        for name, value in options.items():
            if isinstance(value, list) and holds_unknown_reference(value):
                raise InvalidOptions(f"{name} must not contain a null or an empty string")
        for name in self._find_null_selecting_options(options):
            if not isinstance(options[name], PredictedReference):
                raise InvalidOptions(f"{name} must not be null or empty: it selects the object")

    def selects_predicted_object(self, options: Mapping[str, Any]) -> bool:
        """Return whether normalized options select an object that an earlier task would have created."""
        selecting = ("uuid", *self._find_null_selecting_options(options))
        return any(isinstance(options.get(name), PredictedReference) for name in selecting)

    def _find_null_selecting_options(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Yield the options that are null although they are needed to select the object."""
        for group in self._selecting_groups(options):
            null = [name for name in group if isinstance(options.get(name), NullReference)]
            if all(name in null or options.get(name) is None for name in group):
                yield from null

    def _selecting_groups(self, options: Mapping[str, Any]) -> list[Sequence[str]]:
        """Return groups of options. The object is selected by one option of each group."""
        groups: list[Sequence[str]] = [[name] for name, option in self.options.items() if option.get("required")]
        if options.get("uuid") is not None and not isinstance(options["uuid"], NullReference):
            return groups
        for name, needed_names in self.constraints.get("required_by", {}).items():
            if options.get(name) is not None:
                groups += [[needed] for needed in needed_names]
        groups += self.constraints.get("required_one_of", ())
        groups += [[name] for name in self.selecting_options]
        return groups

    def read_desired(self, params: Mapping[str, Any]) -> Record:
        """Return the options of the module that are not null, by the API's names for them."""
        desired, parameters = {}, self.parameters
        tags = [name for group in self.shared_options if group in (TAGS, OBJECT_TAGS) for name in group]
        for name in (*self.options, *tags):
            value = params.get(name)
            if isinstance(value, str) and not isinstance(value, NullReference):
                value = value.strip()
                if not value and name.endswith(IDENTIFIERS):
                    raise InvalidOptions(f"{name} must not be empty")
            if value is not None:
                value = _unify_addresses(parameters[name], self.all_options[name], value)
                # Ansible converts an empty string to a list with an empty string. An empty list removes all tags.
                desired[parameters[name]] = [] if value == [""] and name != "tags" else value
        if self.refuse_foreign:
            self.refuse_foreign(desired)
        for name, parameter in parameters.items():
            if parameter in desired:
                _check_value(name, parameter, self.all_options[name], desired[parameter])
        if OBJECT_TAGS in self.shared_options:
            _normalize_tags(desired)
        return desired


# The parameters whose values only the call that creates an object restricts.
_OF_NEW_OBJECTS = ("resourceUuid", "managementIp")

# The parameters that users write in several forms, of which services know one.
_ADDRESSES = ("ip", "mac", "staticIp", "customMac")


def _unify_addresses(parameter: str, spec: Mapping[str, Any], value: Any) -> Any:
    """Return the value of an option with addresses, also those in suboptions, in the form of services."""
    if parameter in _ADDRESSES and isinstance(value, str) and not isinstance(value, NullReference):
        return normalize_address(value)
    if "options" not in spec or not isinstance(value, list):
        return value
    return [
        {name: _unify_addresses(to_camel_case(name), spec["options"][name], member) for name, member in item.items()}
        for item in value
    ]


def _check_value(label: str, parameter: str, spec: Mapping[str, Any], value: Any) -> None:
    """Raise InvalidOptions for a value, or one of a suboption, that servers refuse."""
    if "options" in spec:
        for number, item in enumerate(value if isinstance(value, list) else ()):
            for name, member in item.items():
                if member is not None:
                    _check_value(f"{label}[{number}].{name}", to_camel_case(name), spec["options"][name], member)
    # An empty list may remove what an object has, the uuid of a new object is that of none that exists, and a host may
    # be found by an address that no new one can have.
    elif not isinstance(value, NullReference) and value not in ([], {}) and parameter not in _OF_NEW_OBJECTS:
        check_value("diskSize" if parameter == "size" else parameter, label, value)


def _normalize_tags(desired: Record) -> None:
    """Sort the desired user tags, without spaces around them.

    Raise InvalidOptions for an empty one, and for two that differ in small and capital letters only, because services
    treat them as equal.
    """
    if "tags" not in desired:
        del desired["tagsMode"]
        return
    tags = sorted({tag.strip() for tag in desired["tags"]})
    if "" in tags:
        raise InvalidOptions("tags must not contain an empty string")
    spellings = {tag.casefold(): tag for tag in tags}
    if others := [tag for tag in tags if spellings[tag.casefold()] != tag]:
        raise InvalidOptions(
            f"tags must not contain both {others[0]!r} and {spellings[others[0].casefold()]!r}, which services treat"
            " as equal"
        )
    desired["tags"] = tags
