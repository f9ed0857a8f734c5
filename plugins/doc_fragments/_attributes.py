# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Attributes of the modules. Each constant is one fragment of ``attributes``."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of modules; the text of a module adds its own support and details."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: >-
      Can run in C(check_mode) and return changed status prediction without modifying target. The result has the member
      C(check_mode), which is V(true), then.
  diff_mode:
    description: Returns the changes, or in C(check_mode) the predicted changes, as C(diff).
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run changes nothing.
  connection:
    description: Where the module runs when the task's connection is local.
    support: full
    details:
      - It runs inside the controller's process, which is much faster than a module process. With another connection,
        or the keyword C(async) or C(become), it runs as a module process on the target. With a local connection,
        C(ansible_become) and other defaults for all hosts do not matter.
"""

    ACTIONGROUP_API = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/virtinfra.manager.api) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - virtinfra.manager.api
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
    details:
      - This module does not change anything.
  idempotent:
    support: full
    details:
      - This module does not change anything.
"""
