"""The names and the form of options.

Ansible names all options after a misspelling, and Python types in messages, and converts a list to a string without a
word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_bytes,
    check_type_dict,
    check_type_float,
    check_type_int,
)

from .._api.errors import InvalidOptions, suggest_name
from .._masking.masker import has_any_members
from .options import CONNECTION, TAGS, WAIT

_CONVERTED: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (check_type_bool, "true or false"),
    "bytes": (check_type_bytes, "a size, such as 16G"),
    "dict": (check_type_dict, "a mapping"),
    "float": (check_type_float, "a number"),
    "int": (check_type_int, "a whole number"),
}

# How to write the options that are often written in another form.
_EXAMPLES = {
    "disks": "such as [{size: 20G}]",
    "jobs": "such as ['{{ started.job }}']",
    "networks": "such as [{l3_network: l3-1}]",
    "objects": "such as [{name: vm-2}, {name: vm-4}]. The filter columns_to_rows makes them from lists",
    "query": "such as ['name=web-1', 'state=Running']",
    "tags": "such as ['env::prod']",
    "user_tags": "such as ['env::prod']",
    "wait_for": "such as {field: state, values: [Running]}",
}

# Words that users bring from other modules and collections, and the options that they may mean, the likeliest first. An
# option of the module itself comes before one that all modules share.
_OTHER_WORDS = {
    "address": ("management_ip", "snmp_address", "static_ip", "ip", "url", "query", "base_url"),
    "api_key": ("api_token", "access_key_id"),
    "auth_url": ("base_url",),
    "bandwidth": ("outbound_bandwidth",),
    "cloud": ("profile",),
    "count": ("limit",),
    "datastore": ("primary_storage",),
    "enabled": ("state", "query"),
    "endpoint": ("uuid", "base_url"),
    "filter": ("query", "filters"),
    "guest": ("vm", "vms", "name"),
    "host": ("host", "hosts", "snmp_address", "name", "base_url"),
    "hostname": ("management_ip", "snmp_address", "base_url"),
    "id": ("uuid",),
    "interface": ("interfaces",),
    "ip": ("management_ip", "snmp_address", "static_ip", "query"),
    "label": ("tags", "user_tags"),
    "labels": ("tags", "user_tags"),
    "login": ("username", "account"),
    "items": ("objects",),
    "kind": ("resource_type",),
    "network": ("l3_network", "l3_networks", "networks"),
    "networks": ("l3_networks", "l3_network"),
    "node": ("host", "hosts"),
    "pass": ("password", "account_password"),
    "password": ("password", "account_password"),
    "power_state": ("state",),
    "proxy": ("proxy_url",),
    "resource_type": ("kind",),
    "secret": ("access_key_secret",),
    "snapshot": ("snapshot_group",),
    "server": ("base_url",),
    "state": ("query",),
    "status": ("query",),
    "storage": ("primary_storage",),
    "tag": ("tags", "user_tags"),
    "timeout": ("wait_timeout", "request_timeout"),
    "token": ("api_token",),
    "type": ("resource_type",),
    "uri": ("url", "path", "base_url"),
    "url": ("url", "path", "base_url"),
    "user_tags": ("tags",),
    "user": ("username", "user_id", "account"),
    "username": ("account",),
    "vlan": ("vlan_ids",),
    "vm": ("vms", "name"),
    "vmid": ("uuid",),
    "wait_timeout": ("wait_for",),
    "webhook": ("url", "webhook_url"),
    **dict.fromkeys(("cpu", "cpus", "cores", "num_cpus", "vcpu", "vcpus"), ("cpu_num",)),
    **dict.fromkeys(("mem", "memory", "memory_mb", "ram"), ("memory_size",)),
    **dict.fromkeys(("flavor", "flavour", "offering", "service_offering"), ("instance_offering",)),
    **dict.fromkeys(("job", "job_id", "job_uuid", "uuid"), ("jobs",)),
    **dict.fromkeys(("nic", "nics"), ("networks",)),
    **dict.fromkeys(("mac", "mac_address"), ("custom_mac", "mac")),
    **dict.fromkeys(("ip_address", "ipaddress"), ("management_ip", "snmp_address", "static_ip", "ip", "query")),
    **dict.fromkeys(
        ("insecure", "ssl_verify", "tls_verify", "validate_ssl", "verify", "verify_ssl"), ("validate_certs",)
    ),
    **dict.fromkeys(("ca_cert", "ca_certs", "cacert", "ca_file"), ("ca_path",)),
    **dict.fromkeys(("power", "running"), ("state",)),
}

# What to do about words that no option means.
_REMARKS = {
    **{
        word: f"{word} is a keyword of the task, beside the module."
        for word in ("become", "delegate_to", "ignore_errors", "loop", "register", "when", "with_items")
    },
    "fields": "Results contain all fields. Choose some in a template, such as map(attribute='name').",
    **dict.fromkeys(("network", "networks", "nic", "nics"), "virtinfra.manager.vm_nic manages NICs."),
    "snapshot": "virtinfra.manager.vm_snapshot_group takes snapshots.",
    "snapshots": "virtinfra.manager.vm_snapshot_group takes snapshots.",
}

# Values that users bring from other collections, and the values that they may mean, the likeliest first.
_OTHER_VALUES = {
    "attached": ("present",),
    "detached": ("absent",),
    "reconnect": ("reconnected",),
    "revert": ("reverted",),
    **dict.fromkeys(("created", "exists"), ("present",)),
    **dict.fromkeys(("deleted", "destroyed", "expunged", "removed"), ("absent",)),
    **dict.fromkeys(("active", "poweredon", "powered-on", "powered_on", "start", "started"), ("running", "enabled")),
    **dict.fromkeys(("halted", "inactive", "poweredoff", "powered-off", "powered_off"), ("stopped", "disabled")),
    **dict.fromkeys(("shutdown", "shutdownguest", "shutoff", "stop"), ("stopped", "off", "disabled")),
    **dict.fromkeys(("reboot", "rebooted", "rebootguest", "reset", "restart"), ("restarted", "reset")),
    **dict.fromkeys(("suspend", "suspended"), ("paused",)),
    **dict.fromkeys(("force", "hard"), ("cold",)),
    **dict.fromkeys(("acpi", "soft"), ("grace",)),
}

# The modules for objects that are no kinds.
_OTHER_KINDS = {"host": "kvm_host", "nic": "vm_nic", "snapshot_group": "vm_snapshot_group", "vm": "vm"}

# The options that all modules, or all that make calls, have.
_SHARED = {*CONNECTION, *WAIT, *TAGS}

# Properties of objects that have the same names as words for options of the connection.
_OF_OBJECTS = ("password", "url", "username")

# The similarity from which a name counts as a misspelling.
_MISSPELT = 0.8

# The similarity below which a name has nothing to do with another.
_SIMILAR = 0.65

# The endings of names that refer to another object, as in vm_name.
_IDENTIFYING = ("id", "name", "uuid")
_SECONDS = ("timeout", "interval")
_SHOWN = 60


def check_forms(specs: Mapping[str, Any], values: Mapping[str, Any], place: str = "", record_type: str = "") -> None:
    """Raise InvalidOptions for an unknown option, and for a value, or one of the environment, of another form.

    ``specs`` is an argument spec, ``values`` are options by their names or aliases. ``place`` precedes the names of
    suboptions in messages. ``record_type`` is the type of the records that a module lists.
    """
    check_names(specs, values, place, record_type)
    for name, spec in specs.items():
        for given in (name, *spec.get("aliases", ())):
            if values.get(given) is not None:
                _check_form(f"{place}{given}", spec, values[given])
        variables = [] if values.get(name) is not None else _list_variables(spec)
        for variable in variables:
            _check_form(variable, spec, os.environ[variable], name)


def check_names(specs: Mapping[str, Any], names: Iterable[str], place: str = "", record_type: str = "") -> None:
    """Raise InvalidOptions, with the option that was probably meant, for a name that no option or alias has."""
    known = {each: None for name, spec in specs.items() for each in (name, *spec.get("aliases", ()))}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        place = f"{place.rstrip('.')}: " if place else ""
        hint = _suggest_choice(str(unknown), specs) or suggest_option(str(unknown), known, record_type)
        raise InvalidOptions(f"{place}there is no option {unknown}.{hint}")


def _suggest_choice(name: str, specs: Mapping[str, Any]) -> str:
    """Return a sentence, and a space before it, with the option that has the name as a value; empty if none has."""
    meant = next((option for option, spec in specs.items() if name in spec.get("choices", ())), None)
    return f" Did you mean {meant}: {name}?" if meant else ""


def suggest_option(name: str, known: Iterable[str], record_type: str = "") -> str:
    """Return a sentence, and a space before it, with the option that was probably meant, or with the options.

    A wrong suggestion is worse than none. So similarity comes last, and a shared option only if it is misspelt, or if
    other collections have the name for it.
    """
    # Only failures need conditions.
    from .._api.conditions import suggest_condition

    own: list[str] = []
    shared: list[str] = []
    for option in known:
        # Profiles also have commands for the secrets of the connection.
        (shared if option.removesuffix("_command") in _SHARED else own).append(option)
    if "query" in own and (condition := suggest_condition(name, record_type)):
        return f" Did you mean query: ['{condition}']?"
    if meant := _find_by_word(name, own) or _find_by_reference(name, own):
        return f" Did you mean {meant}?"
    if "properties" in own and name in _OF_OBJECTS:
        return f" Did you mean properties: {{{name}: ...}}?"
    if hint := suggest_name(name, own, _MISSPELT):
        return hint
    if name in _SHARED:
        # Other modules have it.
        return _list_options(own, shared)
    if meant := _find_by_part(name, own) or _find_by_word(name, shared):
        return f" Did you mean {meant}?"
    if hint := suggest_name(name, shared, _MISSPELT):
        return hint
    if name not in _IDENTIFYING and (meant := _find_by_part(name, shared)):
        return f" Did you mean {meant}?"
    return f" {_REMARKS[name]}" if name in _REMARKS else _describe_options(name, own, shared)


def _describe_options(name: str, own: Sequence[str], shared: Sequence[str]) -> str:
    """Return a sentence with a similar option, or with all of them and how to give properties of objects."""
    properties = f" Give a property of the object as properties: {{{name}: ...}}." if "properties" in own else ""
    return suggest_name(name, own, _SIMILAR) or f"{_list_options(own, shared)}{properties}"


def _find_by_word(name: str, options: Container[str]) -> str | None:
    """Return the option for a word of other collections."""
    return next((option for option in _OTHER_WORDS.get(name.casefold(), ()) if option in options), None)


def _find_by_reference(name: str, options: Container[str]) -> str | None:
    """Return the option that takes the name of another object, as cluster for cluster_name."""
    referred = name.removesuffix("_name")
    if referred == name:
        return None
    return referred if referred in options else _find_by_word(referred, options)


def _find_by_part(name: str, options: Sequence[str]) -> str | None:
    """Return the option for a part of a name, as vm or name for vm_name, or the only one with the name as a part."""
    beginning, separator, ending = name.rpartition("_")
    if separator:
        identified = beginning if ending in _IDENTIFYING else ""
        endings = [name[position + 1 :] for position, character in enumerate(name) if character == "_"]
        meant = next((option for option in (identified, *endings) if option in options), None)
        return meant or _find_by_word(ending, options)
    longer = [option for option in options if name in option.split("_")]
    return longer[0] if len(longer) == 1 else None


def _list_options(own: Sequence[str], shared: Sequence[str]) -> str:
    """Return a sentence with all options but those of the connection."""
    listed = [*own, *(option for option in shared if option not in CONNECTION)] or shared
    others = ", and those of the connection" if len(listed) < len(own) + len(shared) else ""
    return f" The options are {', '.join(listed)}{others}."


def _list_variables(spec: Mapping[str, Any]) -> list[str]:
    """Return the environment variables with a value for an option."""
    return [variable for variable in spec.get("fallback", ((), ()))[1] if os.environ.get(variable)]


def _check_form(label: str, spec: Mapping[str, Any], value: Any, name: str = "") -> None:
    """Raise InvalidOptions if the value of an option does not fit the type of the option."""
    name, kind = name or label.rpartition(".")[2], spec.get("type", "str")
    shown = _show_value(spec, value)
    if kind == "list":
        if isinstance(value, Mapping):
            raise InvalidOptions(f"{label} must be a list{_show_example(name)}{shown}")
        # Ansible makes a list of a string at its commas.
        items = value.split(",") if isinstance(value, str) and spec.get("elements") == "dict" else value
        for number, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
            _check_item(f"{label}[{number}]", name, spec, item)
        return
    if kind == "str" and isinstance(value, (Mapping, list, tuple)):
        hint = ". virtinfra.manager.batch runs the module for many objects" if "parameter" in spec else ""
        raise InvalidOptions(f"{label} must be one string{shown}{hint}")
    if kind in _CONVERTED:
        convert, meaning = _CONVERTED[kind]
        try:
            converted = convert(value)
        except (TypeError, ValueError):
            unit = " of seconds" if name.endswith(_SECONDS) and kind != "dict" else ""
            raise InvalidOptions(f"{label} must be {meaning}{unit}{_show_example(name)}{shown}") from None
        if kind == "dict":
            _check_suboptions(f"{label}.", spec, converted)
    if isinstance(value, str) and value not in spec.get("choices", (value,)):
        _refuse_known_word(label, name, spec["choices"], value)


def _refuse_known_word(label: str, name: str, choices: Sequence[str], value: str) -> None:
    """Raise InvalidOptions for a value that means one of the choices. Ansible refuses all others."""
    word = value.casefold()
    meant = next((each for each in _OTHER_VALUES.get(word, ()) if each in choices), None)
    hint = f" Did you mean {meant}?" if meant else suggest_name(value, choices, _MISSPELT)
    if name == "kind" and word in _OTHER_KINDS:
        hint = f" virtinfra.manager.{_OTHER_KINDS[word]} manages these."
    if hint:
        raise InvalidOptions(f"value of {label} must be one of: {', '.join(choices)}, got: {value}.{hint}")


def _check_item(label: str, name: str, spec: Mapping[str, Any], item: Any) -> None:
    """Raise InvalidOptions if an item of a list cannot be meant in the type of the list's elements."""
    kind = spec.get("elements")
    shown = _show_value(spec, item)
    if kind == "str" and isinstance(item, (Mapping, list, tuple)):
        raise InvalidOptions(f"each item of {name} must be a string{_show_example(name)}{shown}")
    if kind == "dict":
        try:
            converted = check_type_dict(item)
        except (TypeError, ValueError):
            raise InvalidOptions(f"each item of {name} must be a mapping{_show_example(name)}{shown}") from None
        _check_suboptions(f"{label}.", spec, converted)


def _check_suboptions(place: str, spec: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check the suboptions of an option, unless it has members of any name."""
    if "options" in spec:
        check_forms(spec["options"], values, place)


def _show_example(name: str) -> str:
    """Return the example for an option with its introduction, or an empty string."""
    return f", {_EXAMPLES[name]}" if name in _EXAMPLES else ""


def _show_value(spec: Mapping[str, Any], value: Any) -> str:
    """Return a value with its introduction, abbreviated, or an empty string if it may contain a secret."""
    if spec.get("no_log") or has_any_members(spec):
        return ""
    text = repr(value)
    return f", not {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'}"
