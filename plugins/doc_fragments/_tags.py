# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document ``TAGS`` in ``_modules/options.py`` and, in OBJECT, ``OBJECT_TAGS``."""

from __future__ import annotations


class ModuleDocFragment:
    """The tags of a call, and those of an object."""

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

    OBJECT = r"""
options:
  system_tags:
    description:
      - System tags to send with the call. They are not compared, because records do not show them.
    type: list
    elements: str
  tags:
    description:
      - The user tags of the object. They are compared with those that it has, and changed if they differ, which needs
        operations that some services lack. The module then fails with the code C(UNSUPPORTED), and neither removes a
        tag nor creates an object.
      - A new host or VM gets them when it is created, other objects directly afterwards. With the option, the returned
        object has the sorted list of its tags as C(tags).
      - If the object is to be removed, the module removes it only if the tags do not differ, as with all options.
      - Small and capital letters differ, but services take two tags for equal that differ in nothing else. The module
        replaces one by the other. Spaces around a tag are removed.
      - The option C(user_tags) of other modules, and a default for it in C(module_defaults), do not apply here. A tag
        that is sent with a call says nothing about the other tags of an object.
    type: list
    elements: str
  tags_mode:
    description:
      - What O(tags) says about the tags of the object. Without O(tags), it is ignored.
      - With V(exact), it has these tags and no others. An empty list removes all. Tags that were made from tag patterns
        are removed too, unless the option C(tag_patterns) of the module has the pattern.
      - With V(add), it has at least these tags. With V(remove), it has none of them.
    type: str
    choices: [exact, add, remove]
    default: exact
    version_added: 1.0.0
"""
