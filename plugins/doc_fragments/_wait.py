# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Documentation of the options in ``_options.WAIT`` and, as TIMES, of those that only wait."""

from __future__ import annotations


class ModuleDocFragment:
    """How long the end of a call is waited for."""

    DOCUMENTATION = r"""
options:
  wait:
    description:
      - Whether to wait until the service has finished.
      - If V(false), the module starts the first call that is needed, returns its RV(ignore:job), and a later task takes
        that up with M(virtinfra.manager.job_wait). Run the task again for what is left to do.
    type: bool
    default: true
  job_uuid:
    description:
      - A uuid of your choice for the first call, which the service and its webhook know it by.
      - Use a new one for each call. If it was used before, the call is not performed and the module fails with the
        code C(JOB_UUID_USED). By default the module generates one.
    type: str
  webhook_url:
    description:
      - The service posts the result of the call to this URL when it has finished.
    type: str
  api_timeout:
    description:
      - How long the service itself lets the operation take, in seconds, sent as C(X-API-Timeout).
    type: int
"""

    TIMES = r"""
options:
  wait_timeout:
    description:
      - How many seconds the task waits in all. After that it fails, with RV(ignore:changed=true) if a call is still
        running, and returns the RV(ignore:job), with which M(virtinfra.manager.job_wait) can go on.
    type: float
    default: 1800
  wait_interval:
    description:
      - The longest pause between two looks at the service, in seconds. The first ones come much faster.
    type: float
    default: 5
"""
