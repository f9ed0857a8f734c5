# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``LIST_OPTIONS`` in ``_modules/options.py``, in NAMES ``IDENTITY_OPTIONS``, in FILTERS those of a cursor
query."""

from __future__ import annotations


class ModuleDocFragment:
    """The options that select the records to list."""

    DOCUMENTATION = r"""
options:
  query:
    description:
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE), for example V(state=Enabled). A record must
        meet all of them. Spaces around the operator are removed.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
      - A field can belong to a related object, as in V(cluster.name=cluster-1), or be a tag, V(__userTag__=TAG).
    type: list
    elements: str
  limit:
    description: The maximum number of records. By default all.
    type: int
  wait_for:
    description:
      - Read again until all selected records have the requested value, or until they exist or do not exist. In check
        mode the module does not wait.
    type: dict
    suboptions:
      field:
        description: The field, as the result or O(query) names it.
        type: str
      values:
        description: The awaited values, in any case.
        type: list
        elements: str
      exists:
        description: Wait for at least one record, or for none.
        type: bool
      timeout:
        description: How many seconds to wait at most.
        type: float
        default: 300
      interval:
        description: The longest interval between two reads.
        type: float
        default: 5
"""

    NAMES = r"""
options:
  uuid:
    description: Return only the record with this uuid.
    type: str
  name:
    description: Return only records with exactly this name.
    type: str
"""

    FILTERS = r"""
options:
  filters:
    description:
      - Filters for a cursor query, sent unchanged, instead of O(query). They need O(api_token).
    type: list
    elements: str
"""
