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
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE) with the service's own field names, for example
        V(state=Enabled). Blanks around the operator are removed. All conditions must hold.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
      - A field can be one of another resource, for example V(vmNics.uuid=UUID), or a tag, V(__systemTag__=TAG) and
        V(__userTag__=TAG).
      - A name that is nearly that of a documented field is refused as a misspelling. Any other name is sent as it is,
        because the API does not document all fields that can be queried. M(virtinfra.manager.api) sends every name.
      - A condition whose value holds an operator, for example V(name=a>=b), is not sent, because services misread it.
        The module checks it itself.
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
      - Filters for the cursor query, in the service's own syntax, sent as they are.
      - With filters the records are read by the cursor query, which needs O(api_token), even when O(session_id) is set.
        They cannot be used together with O(query).
    type: list
    elements: str
"""
