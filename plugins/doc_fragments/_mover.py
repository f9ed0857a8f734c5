# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the modules that run on a data mover."""

from __future__ import annotations


class ModuleDocFragment:
    """The repository, and the speed of copying."""

    DOCUMENTATION = r"""
options:
  repository:
    description:
      - The folder with the restore points, an absolute path on the machine where the task runs. It must exist, and
        have the file C(repository.txt), so that nothing is written below a mount point that is not mounted.
    type: path
    required: true
  rate_limit:
    description: How many MiB the task reads in a second at most. V(0) sets no limit.
    type: int
    default: 0
  run:
    description:
      - The run of M(virtinfra.manager.backup_run) that has the VM. The task ends with it, and when it is silent for two
        minutes. Without it, a task without C(async) takes the VM itself.
    type: str
"""

    REPOSITORY = r"""
options:
  repository:
    description: The folder with the restore points, an absolute path on the machine where the task runs.
    type: path
    required: true
"""

    INITIALIZE = r"""
options:
  initialize:
    description:
      - Whether O(repository) may be a folder that is not a repository yet, because it has no file C(repository.txt).
        M(virtinfra.manager.backup_point) and M(virtinfra.manager.backup_run) write this file then.
      - Set it for the first use of a folder only. Without it, a task fails where the file system of the repository is
        not mounted.
    type: bool
    default: false
"""
