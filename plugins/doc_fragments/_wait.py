# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``WAIT`` in ``_modules/options.py`` and, in TIMES, ``WAIT_LIMITS``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for waiting for a call, and its time limits."""

    DOCUMENTATION = r"""
options:
  wait:
    description:
      - Whether to wait until the service has finished.
      - With V(false), the module starts the first call that is needed and returns its RV(ignore:job). Wait for the job
        with M(virtinfra.manager.job_wait), then run the task again if it needs more than one call.
      - In check mode the RV(ignore:job) has the state V(unknown) and no uuid, and M(virtinfra.manager.job_wait) does
        not wait for it.
    type: bool
    default: true
  job_uuid:
    description:
      - The uuid of the job of the first call, for the service and its webhook.
      - Use a new uuid for each call. If it was used before, the call is not performed and the module fails with the
        code C(JOB_UUID_USED). By default the module generates one.
    type: str
  webhook_url:
    description:
      - The service posts the result of the call to this URL when it has finished, for example to the event source
        C(virtinfra.manager.job_results). The post contains neither the operation nor the object. Add what you need to
        the query of the URL, as in V(https://receiver.example.com/SECRET?about=host-1).
      - The environment variable E(VIRTINFRA_WEBHOOK_URL) is used when the option is not given.
    type: str
  webhook_key:
    description:
      - A secret that the task shares with the event source C(virtinfra.manager.job_results). With it, the module signs
        the id of the job and the values C(about) and C(operation) in the query of O(webhook_url), by adding a parameter
        to the query. The source uses the values only if they are signed, or if it confirms no results.
      - The environment variable E(VIRTINFRA_WEBHOOK_KEY) is used when the option is not given.
    type: str
  api_timeout:
    description:
      - The time limit of the operation in the service, in seconds, sent as C(X-API-Timeout).
    type: int
"""

    TIMES = r"""
options:
  wait_timeout:
    description:
      - The total time to wait, in seconds. It is one deadline for calls with their retries, jobs, and reads after a
        call. When it is exceeded, or an overloaded service asks to wait longer, the task fails, with
        RV(ignore:changed=true) if a call is still running, and returns the RV(ignore:job) for
        M(virtinfra.manager.job_wait).
    type: float
    default: 1800
  wait_interval:
    description:
      - The longest interval between two polls, in seconds. The first intervals between polls are much shorter.
    type: float
    default: 5
"""
