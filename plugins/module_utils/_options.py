# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""The options that modules share, documented in the doc fragments with the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import env_fallback

Options = Mapping[str, dict[str, Any]]


def _with_fallbacks(options: Options) -> Options:
    """Add a fallback to an environment variable to each option, for example VIRTINFRA_BASE_URL to ``base_url``."""
    return {
        name: {**option, "fallback": (env_fallback, [f"VIRTINFRA_{name.upper()}"])} for name, option in options.items()
    }


CONNECTION = _with_fallbacks(
    {
        "base_url": {"type": "str"},
        "path_prefix": {"type": "str", "default": "service"},
        "session_id": {"type": "str", "no_log": True},
        "account": {"type": "str"},
        "account_password": {"type": "str", "no_log": True},
        "api_token": {"type": "str", "no_log": True},
        "validate_certs": {"type": "bool", "default": True},
        "ca_path": {"type": "path"},
        "client_cert": {"type": "path"},
        "client_key": {"type": "path", "no_log": False},
        "use_proxy": {"type": "bool", "default": True},
        "request_timeout": {"type": "float", "default": 30},
        "request_retries": {"type": "int", "default": 8},
        # Only here can a number be distinguished from a string: YAML reads 4.10 as 4.1.
        "service_version": {"type": "raw"},
    }
)

WAIT_LIMITS: Options = {
    "wait_timeout": {"type": "float", "default": 1800},
    "wait_interval": {"type": "float", "default": 5},
}

WEBHOOK_KEY = _with_fallbacks({"webhook_key": {"type": "str", "no_log": True}})

WAIT: Options = {
    **WAIT_LIMITS,
    "wait": {"type": "bool", "default": True},
    "job_uuid": {"type": "str"},
    **_with_fallbacks({"webhook_url": {"type": "str", "no_log": True}}),
    **WEBHOOK_KEY,
    "api_timeout": {"type": "int"},
}

TAGS: Options = {
    "system_tags": {"type": "list", "elements": "str"},
    "user_tags": {"type": "list", "elements": "str"},
}


def reference(parameter: str, **details: Any) -> dict[str, Any]:
    """Return the spec of an option that refers to an object; ``parameter``, the API's name for it, is its alias.

    The option itself is named after the object that it refers to, see `option_name`.
    """
    return {"type": "str", "aliases": [parameter], **details}


def references(parameter: str, **details: Any) -> dict[str, Any]:
    """Return the spec of an option that refers to several objects."""
    return reference(parameter, **{"type": "list", "elements": "str", **details})


CREATE_OPTIONS: Options = {
    "resource_uuid": {"type": "str"},
    "tags": references("tag_uuids"),
}

IDENTITY_OPTIONS: Options = {
    "uuid": {"type": "str"},
    "name": {"type": "str"},
}

LIST_OPTIONS: Options = {
    "query": {"type": "list", "elements": "str"},
    "limit": {"type": "int"},
}

JOB_HANDLES: Options = {
    "jobs": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": {name: {"type": "str"} for name in ("uuid", "location", "operation", "state")},
    }
}

# Options of many modules of the action group. If a module lacks one, a default of the group for it is ignored.
GROUP_OPTIONS: Options = {**CONNECTION, **WAIT, **TAGS, **CREATE_OPTIONS, **LIST_OPTIONS}
