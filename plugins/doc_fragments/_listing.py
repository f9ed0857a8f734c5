# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Documentation of the options in ``_options.LISTING``, as NAMES ``_options.NAMES``, as FILTERS a cursor's."""

from __future__ import annotations


class ModuleDocFragment:
    """Which records are listed."""

    DOCUMENTATION = r"""
options:
  query:
    description:
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE) without blanks, with the service's own field
        names, for example V(state=Enabled). All of them must hold.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
    type: list
    elements: str
  limit:
    description:
      - At most this many records. All of them are listed without it.
    type: int
"""

    NAMES = r"""
options:
  uuid:
    description:
      - Only the record with this uuid.
    type: str
  name:
    description:
      - Only records with exactly this name; there may be several.
    type: str
"""

    FILTERS = r"""
options:
  filters:
    description:
      - Filters for the cursor query, in the service's own syntax, handed on as they are. They are used when the records
        are read by O(api_token) because there is no O(session_id) or the service does not list this collection.
    type: list
    elements: str
"""
