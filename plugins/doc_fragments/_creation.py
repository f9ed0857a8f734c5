# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``CREATE_OPTIONS`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for creating an object of any type."""

    DOCUMENTATION = r"""
options:
  resource_uuid:
    description: The uuid of version 4 that a new object gets.
    type: str
  tag_patterns:
    description: Patterns, by name or uuid, that make tags of it.
    type: list
    elements: str
    aliases: [tag_uuids]
"""
