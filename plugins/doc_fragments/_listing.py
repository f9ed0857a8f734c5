# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``LIST_OPTIONS`` in ``_modules/options.py``, in NAMES ``IDENTITY_OPTIONS``, in FILTERS those of a cursor
query."""

from __future__ import annotations


class ModuleDocFragment:
    """The options that select the records to list."""

    DOCUMENTATION = r"""
options:
  query:
    description:
      - Conditions that the service checks, each C(FIELD OPERATOR VALUE), for example V(state=Enabled). The notes below
        list the fields, which have the API's own names, and their known values. Spaces around the operator are removed.
        A record must meet all conditions.
      - Operators are V(=), V(!=), V(>), V(<), V(>=), V(<=), V(?=) (one of a list with commas), V(!?=), V(~=) (like,
        with V(%)), V(!~=), V(is null) and V(not null).
      - A field can belong to a related object, for example V(cluster.name=cluster-1), or be a tag,
        V(__systemTag__=TAG) or V(__userTag__=TAG).
      - A name that is similar to a documented field is refused as a misspelling. Any other name is sent unchanged,
        because the API does not document all fields that can be queried. To query a field with such a name, use
        M(virtinfra.manager.api), which sends any name.
      - Dates are given in the local time of the service and without a time zone, for example V(createDate>=2024-01-06),
        V(createDate>=2024-01-06 08:00:00) or V(createDate>=Jan 6, 2024 8:00:00 AM) as records show them. Any other form
        is refused, because a service would take it for a date before all others. In a pattern, dates have the form
        V(2024-01-06 08:00:00). A field with numbers is only compared with numbers.
      - Services compare without regard to case, accents and spaces at the end.
      - Services misread a value that contains an apostrophe or an operator or begins with V(=), for example
        V(name=Bob's VM), V(name=a>=b) and V(name= =x). The module sends V(name~=Bob_s VM) instead, or nothing with a
        negation or a list, and compares the records exactly. It refuses such a value of a field of another resource,
        a time or a tag.
    type: list
    elements: str
  limit:
    description:
      - The maximum number of records to return. By default all.
    type: int
  wait_for:
    description:
      - Read again until all selected records have the requested value, or until they exist or do not exist.
      - A wait for a value or for O(wait_for.exists=true) does not end before at least one record is selected, so an
        object that an earlier task or another user is creating can be awaited by its name. The object of another option
        that refers to one must exist.
      - When the time is over, the module fails with the code V(TIMEOUT), and returns the records that it has read last.
      - In check mode the module does not wait, because calls of earlier tasks were not made. It returns the present
        records, with a warning if a wait would have been necessary.
    type: dict
    suboptions:
      field:
        description:
          - The field of the records, as the result names it, for example V(state). The name that O(query) takes is
            accepted, too.
        type: str
      values:
        description:
          - The awaited values. They are compared as services compare, without regard to case.
          - The wait does not end early in a failed state. To end it, add the state here, for example
            V([Running, Failed]), and use C(failed_when).
        type: list
        elements: str
      exists:
        description:
          - With V(true), wait until at least one record is selected. With V(false), wait until none is selected, for
            example after a deletion.
          - Together with O(query) this waits for any condition.
          - A VM that was deleted is listed as V(Destroyed) for some time. Use O(query=state!=Destroyed) to wait for its
            deletion.
        type: bool
      timeout:
        description: How many seconds to wait at most.
        type: float
        default: 300
      interval:
        description:
          - The longest interval between two reads, in seconds. The first intervals are much shorter.
        type: float
        default: 5
"""

    NAMES = r"""
options:
  uuid:
    description:
      - Return only the record with this uuid.
    type: str
  name:
    description:
      - Return only records with exactly this name. There can be several.
    type: str
"""

    FILTERS = r"""
options:
  filters:
    description:
      - Filters for the cursor query in the service's own syntax, sent unchanged.
      - With filters the module uses the cursor query, which needs O(api_token), even if O(session_id) is set.
        O(filters) and O(query) exclude each other.
    type: list
    elements: str
"""
