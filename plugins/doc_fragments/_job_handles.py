# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``JOB_HANDLES`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for the handles of jobs."""

    DOCUMENTATION = r"""
options:
  jobs:
    description:
      - The jobs. Each item is the RV(ignore:job) that a module returned, the whole result of a task, such as an item of
        the C(results) of a loop, or the uuid of a job.
      - The result of a task that started no job is skipped.
      - The job that a module returned has the members C(uuid), in the form that the service gave it, C(job_uuid), the
        id that was sent with the call, C(location), of which only path and query are used, at O(base_url),
        C(operation) and C(object), which messages mention, and C(state), which is ignored. At least C(uuid) or
        C(location) is needed. In check mode a job without both gets the state V(unknown) instead of a failure, because
        it was not started.
    type: list
    elements: raw
    required: true
"""
