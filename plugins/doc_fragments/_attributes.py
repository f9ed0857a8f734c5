# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attributes of the modules. Each constant is one fragment of ``attributes``."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of modules; the text of a module adds its own support and details."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Predicts what would change. The result then has C(check_mode=true).
  diff_mode:
    description: Returns what changes, or would change, as C(diff).
  idempotent:
    description: A second run with the same options changes nothing.
  connection:
    description: Runs in the controller if the connection is local, without C(async).
    support: full
"""

    ACTIONGROUP_API = r"""
options: {}
attributes:
  action_group:
    description: Set defaults with C(group/virtinfra.manager.api) in C(module_defaults).
    support: full
    membership:
      - virtinfra.manager.api
"""

    MOVER = r"""
options: {}
attributes:
  connection:
    description: Where the module runs when the task's connection is local.
    support: none
    details:
      - It runs as a module process on the machine of the task, the data mover, so that the blocks do not travel through
        the controller. It needs no access to the API.
"""

    FACTS = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not change anything.
  diff_mode:
    support: N/A
  idempotent:
    support: full
"""
