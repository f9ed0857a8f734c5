"""The description of a service as inventory and variable files.

Texts of the service that could be templates have the tag !unsafe. The same objects always give the same contents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader

from ...module_utils._api.errors import VirtinfraError
from ...module_utils._api.records import is_localhost

Object = Mapping[str, Any]
Site = Mapping[str, Any]

HOSTS = "hosts.yml"
NOTIFICATIONS = "group_vars/all/notifications.yml"

# The kinds of objects in each file.
KINDS = {
    HOSTS: ("host", "service"),
    NOTIFICATIONS: ("platform", "topic", "endpoint", "person"),
}

# The group of the hosts in the inventory.
GROUP = "site_hosts"

HEADER = """\
---
# Written by the role virtinfra.manager.site_description, which overwrites changes.
"""

# Texts that need no quotation marks, unless YAML reads them as another type.
_PLAIN = re.compile(r"[\w.:/@+-]([\w .:/@+-]*[\w./@+-])?")
# Characters of texts that are templates, comments that change how templates are read, or Python literals that become
# templates. Ansible reads other texts with the tag !unsafe as other types: C(~) as null.
_OF_TEMPLATES = re.compile(r"[{}\[\]'\"\\#]")
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class _Literal(str):
    """A text of the service that could be a template."""


class _Quoted(str):
    """Another text of the service that is written in quotation marks."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of the service, with the tag !unsafe if they could be templates."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal objects each time."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the elements of lists."""
        super().increase_indent(flow, False)


_Dumper.add_representer(_Literal, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"'))

_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def format_files(site: Site) -> list[dict[str, str]]:
    """Return path and content of each file of which all kinds were read. Raise VirtinfraError."""
    builders = {HOSTS: _build_inventory, NOTIFICATIONS: _build_notifications}
    return [
        {"path": path, "content": _format(path, build(site))}
        for path, build in builders.items()
        if all(site.get(kind) is not None for kind in KINDS[path])
    ]


def _format(path: str, variables: Mapping[str, Any]) -> str:
    """Return the text of a file. Raise VirtinfraError if Ansible does not read it as it was written."""
    content = HEADER + yaml.dump(variables, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    if DataLoader().load(content) != variables:
        raise VirtinfraError(f"{path} would not be read as it was written")
    return content


def _quote(value: Any) -> Any:
    """Return a value whose texts are written as Ansible reads them, in types that YAML can represent."""
    if isinstance(value, Mapping):
        return {key: _quote(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_quote(item) for item in value]
    if isinstance(value, str):
        return _Literal(value) if _OF_TEMPLATES.search(value) else value if _PLAIN.fullmatch(value) else _Quoted(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _build_inventory(site: Site) -> dict[str, Any]:
    """Return an inventory with the variables of the role host_onboarding."""
    services: dict[str, list[Any]] = {}
    for service in site["service"]:
        services.setdefault(str(service["key"][0]), []).append(service["options"])
    names = Counter(str(host["name"]).casefold() for host in site["host"])
    hosts = {}
    for host in site["host"]:
        if host["problem"]:
            continue
        name = str(host["name"])
        is_name = _HOST_NAME.fullmatch(name) and names[name.casefold()] == 1 and not is_localhost(name)
        is_name = is_name and name not in ("all", "ungrouped", GROUP)
        variables = {f"host_onboarding_{option}": value for option, value in host["options"].items()}
        variables["host_onboarding_services"] = services.get(str(host["key"]), [])
        hosts[name if is_name else str(host["uuid"])] = _quote(variables)
    shared = {
        f"host_onboarding_{option}": _format_placeholder(f"host_onboarding_{option}")
        for option in ("username", "password")
    }
    return {GROUP: {"hosts": hosts, "vars": shared}}


def _build_notifications(site: Site) -> dict[str, Any]:
    """Return the variables of the role notifications. A URL contains a key, so it has a variable in its place."""
    variables = {f"notifications_{kind}s": _list_options(site[kind]) for kind in KINDS[NOTIFICATIONS]}
    labels = Counter(_to_variable(entry["name"]) for entry in variables["notifications_endpoints"])
    endpoints = [item for item in site["endpoint"] if not item["problem"]]
    for endpoint, entry in zip(endpoints, variables["notifications_endpoints"], strict=True):
        if entry["type"] == "workchat":
            label = _to_variable(entry["name"])
            label = label if label and labels[label] == 1 else str(endpoint["uuid"])
            entry["url"] = _format_placeholder(f"notifications_url_{label}")
    return variables


def _list_options(objects: Iterable[Object]) -> list[Any]:
    return [_quote(item["options"]) for item in objects if not item["problem"]]


def _to_variable(name: str) -> str:
    """Return the part of a name that can be a part of the name of a variable."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _format_placeholder(name: str) -> str:
    """Return a template for a secret, which is omitted as long as the variable is not defined."""
    return f"{{{{ vault_{name} | default(omit) }}}}"
