# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``WAIT`` in ``_modules/options.py`` and, in TIMES, ``WAIT_LIMITS``."""

from __future__ import annotations


class ModuleDocFragment:
    """The options for waiting for a call, and its time limits."""

    DOCUMENTATION = r"""
options:
  wait:
    description: Whether to wait. With V(false), RV(ignore:job) is returned.
    type: bool
    default: true
  job_uuid:
    description: The uuid of the job of the first call, new each time.
    type: str
  webhook_url:
    description: A URL to which the service posts the result.
    type: str
  webhook_key:
    description: A secret with which O(webhook_url) is signed.
    type: str
  api_timeout:
    description: The service's own time limit, in seconds.
    type: int
"""

    TIMES = r"""
options:
  wait_timeout:
    description: The total time to wait, in seconds.
    type: float
    default: 1800
  wait_interval:
    description: The longest interval between two polls.
    type: float
    default: 5
"""
