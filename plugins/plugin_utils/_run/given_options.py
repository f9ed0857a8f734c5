"""Which options of a task precede those of its environment, and those of its play."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._http.connection import CREDENTIAL_OPTIONS
from ...module_utils._modules.options import CONNECTION


def prefer_given_options(options: Mapping[str, Any], known: Container[str] = CONNECTION) -> dict[str, Any]:
    """Return options with values for those of the environment that do not fit to the given ones.

    If a credential is given, the others get an empty text. A null would be replaced by the value of the environment.
    ``use_proxy: false`` excludes a ``proxy_url`` of the environment, and a ``proxy_url`` includes proxies. ``known``
    are the options of the plugin.
    """
    replaced: dict[str, Any] = {}
    is_given = [any(options.get(name) for name in names) for names in CREDENTIAL_OPTIONS]
    if any(is_given):
        for names, given in zip(CREDENTIAL_OPTIONS, is_given, strict=True):
            replaced.update({name: "" for name in names if not given and name in known})
    if options.get("proxy_url"):
        replaced["use_proxy"] = True
    elif options.get("use_proxy") is not None and not boolean(str(options["use_proxy"]), strict=False):
        replaced["proxy_url"] = ""
    return {**options, **{name: value for name, value in replaced.items() if options.get(name) is None}}


def keep_other_tags(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task, with which ``tags`` that are a default of its play are added.

    A default is meant for many objects, so it must not remove the other tags of any of them. The task that gives
    another ``tags_mode``, or other ``tags``, means it.
    """
    is_inherited = defaults.get("tags") is not None and options.get("tags") == defaults["tags"]
    if is_inherited and options.get("tags_mode") == defaults.get("tags_mode"):
        return {**options, "tags_mode": "add"}
    return dict(options)
