# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Documentation of the options in ``_options.CREATION``."""

from __future__ import annotations


class ModuleDocFragment:
    """What can be chosen for everything that is created."""

    DOCUMENTATION = r"""
options:
  resource_uuid:
    description:
      - The uuid that the new object shall have, on servers that take one.
      - Unless O(uuid) is given, an object with this uuid is looked for before anything else finds one.
    type: str
  tag_uuids:
    description:
      - The uuids of tags for the new object, on servers that take them.
    type: list
    elements: str
"""
