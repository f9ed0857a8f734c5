# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: resource_uuid
short_description: Make the uuid of a new object from a string
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Returns the same uuid for the same text each time, in the form that services demand of C(resourceUuid), which is 32
    hexadecimal digits of a uuid of version 4.
  - A service refuses a second object with this uuid, so a task that runs twice creates one object. Use a string that is
    unique in the service, such as the type and the name of the object.
positional: _input
options:
  _input:
    description: The text, for example V(volume data-1).
    type: str
    required: true
seealso:
  - module: virtinfra.manager.api
"""

EXAMPLES = r"""
- name: Create a data volume once
  virtinfra.manager.api:
    method: POST
    path: v1/volumes/data
    params:
      name: data-1
      diskSize: 10737418240
      resourceUuid: "{{ 'volume data-1' | virtinfra.manager.resource_uuid }}"
"""

RETURN = r"""
_value:
  description: The uuid.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils._api.references import build_uuid
from ..plugin_utils._jinja.filters import name_arguments


def make_resource_uuid(text: Any) -> str:
    """Return the uuid for a string; raise AnsibleFilterError for an empty string and for other values."""
    if not isinstance(text, str) or not text.strip():
        raise AnsibleFilterError(f"resource_uuid needs a string, not {text!r}")
    return build_uuid(str(text))


class FilterModule:
    """The filter resource_uuid."""

    def filters(self) -> dict[str, Callable[[Any], str]]:
        """Return the filter by its name."""
        return {"resource_uuid": name_arguments("resource_uuid", make_resource_uuid)}
