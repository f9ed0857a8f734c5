# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``TAGS`` in ``_modules/options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """The tags of a call."""

    DOCUMENTATION = r"""
options:
  system_tags:
    description:
      - System tags to send with the call. They are not compared, because records do not show them.
    type: list
    elements: str
  user_tags:
    description:
      - User tags to send with the call. They are not compared, because records do not show them.
    type: list
    elements: str
"""
