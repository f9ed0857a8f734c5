# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document references by name, which ``_client/names.py`` resolves."""

from __future__ import annotations


class ModuleDocFragment:
    """The values of options that refer to another object."""

    DOCUMENTATION = r"""
options: {}
notes:
  - Options with an alias take a name or a uuid. Results have the uuid and, if the task has a name, both.
"""
