"""A become plugin that stays the same user, so that a task runs in a module process."""

from __future__ import annotations

from ansible.plugins.become import BecomeBase

DOCUMENTATION = r"""
name: same_user
short_description: Stay who you are
description: Runs commands as they are.
author: Contributors to the virtinfra.manager project (@virtinfra)
version_added: 1.0.0
options: {}
"""


class BecomeModule(BecomeBase):
    """A become plugin that changes nothing."""

    name = "same_user"

    def build_become_command(self, cmd: str, shell: object) -> str:
        """Return the command with the marker of a successful become."""
        super().build_become_command(cmd, shell)
        return str(self._build_success_command(cmd, shell)) if cmd else cmd
