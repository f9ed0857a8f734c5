# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``JOB_HANDLES`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for the handles of jobs."""

    DOCUMENTATION = r"""
options:
  jobs:
    description:
      - The jobs, as other modules return them in RV(ignore:job). Each needs at least a uuid or a location.
      - In check mode a handle without both gives the state V(unknown) instead of a failure, because no job was started.
    type: list
    elements: dict
    required: true
    suboptions:
      uuid:
        description: The job's uuid.
        type: str
      location:
        description: The polling address. Only its path is used, at O(base_url).
        type: str
      operation:
        description: The operation that the job performs, used in messages.
        type: str
      state:
        description: The state of the job when the handle was created. The module ignores it.
        type: str
"""
