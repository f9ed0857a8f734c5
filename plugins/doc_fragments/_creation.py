# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``CREATE_OPTIONS`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for creating an object of any type."""

    DOCUMENTATION = r"""
options:
  resource_uuid:
    description:
      - The uuid of the new object, on servers that support tags.
      - Unless O(uuid) is given, the module looks for an object with this uuid before it uses other options to find one.
    type: str
  tag_patterns:
    description:
      - Tag patterns, by name or uuid, from which the service makes user tags of the new object, on servers that support
        tags. Those of an existing object are not compared.
    type: list
    elements: str
    aliases: [tag_uuids]
"""
