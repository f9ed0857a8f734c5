# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document the option ``delete_mode`` in ``_modules.options.REMOVAL_OPTIONS``."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of every object that is removed by an operation with a delete mode."""

    DOCUMENTATION = r"""
options:
  delete_mode:
    description: V(enforcing) continues after failures.
    type: str
    choices: [permissive, enforcing]
    version_added: 1.0.0
"""
