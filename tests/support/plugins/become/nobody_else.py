# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Becoming nobody else: a task with it runs as a module process of the same user."""

from __future__ import annotations

from ansible.plugins.become import BecomeBase

DOCUMENTATION = r"""
name: nobody_else
short_description: Stay who you are
description: Runs commands as they are.
author: Contributors to the virtinfra.manager project (@virtinfra)
version_added: 1.0.0
options: {}
"""


class BecomeModule(BecomeBase):
    """A way to become that changes nothing."""

    name = "nobody_else"

    def build_become_command(self, cmd: str, shell: object) -> str:
        """Return the command with the mark by which Ansible sees that becoming has worked."""
        super().build_become_command(cmd, shell)
        return str(self._build_success_command(cmd, shell)) if cmd else cmd
