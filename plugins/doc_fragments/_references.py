# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this doc fragment is PRIVATE to the collection. It can have breaking changes at any time.

"""Document references by name, which ``_client/names.py`` resolves."""

from __future__ import annotations


class ModuleDocFragment:
    """The values of options that refer to another object."""

    DOCUMENTATION = r"""
options: {}
notes:
  - Options that refer to another object (those with an alias) take its name or its uuid. Results contain uuids,
    and beside each uuid of an object that the task names its name, for example C(cluster_name) beside C(cluster_uuid).
  - A name is looked up with one request, in check mode too, and once for all tasks of a run that run inside the
    controller, until one of them creates, renames or removes an object of its type. When these tasks need a third name
    of a type, they read the names of all its objects, unless that takes more requests than the names before.
  - If no object or several objects have the name, the module fails and changes nothing. An object that check mode only
    predicts cannot be found by its name. Refer to it by its registered uuid, which is null in check mode.
  - Looking up names needs a service that lists such objects, or O(api_token). If neither is available, give the uuid.
  - 32 hexadecimal digits, with or without dashes, are always a uuid.
"""
