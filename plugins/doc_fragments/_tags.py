# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Document ``TAGS`` in ``_modules/options.py``, in OBJECT ``OBJECT_TAGS``, and in LISTED the option of info modules."""

from __future__ import annotations


class ModuleDocFragment:
    """The tags of a call, and those of an object."""

    DOCUMENTATION = r"""
options:
  system_tags:
    description: System tags to send, which are not compared.
    type: list
    elements: str
  user_tags:
    description: User tags to send, which are not compared.
    type: list
    elements: str
"""

    OBJECT = r"""
options:
  system_tags:
    description: System tags to send, which are not compared.
    type: list
    elements: str
  tags:
    description: All user tags but the marks of roles. Those of C(module_defaults) are only added.
    type: list
    elements: str
  tags_mode:
    description: V(add) and V(remove) leave other tags as they are.
    type: str
    choices: [exact, add, remove]
    default: exact
    version_added: 1.0.0
"""

    LISTED = r"""
options:
  include_tags:
    description:
      - Whether to add the user tags of each object as C(tags), among them the marks of roles. It sends one more query.
    type: bool
    default: false
    version_added: 1.0.0
"""
