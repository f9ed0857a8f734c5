# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The local connection under another name: tasks run here, but each in a module process."""

from __future__ import annotations

from ansible.plugins.connection import local

DOCUMENTATION = local.DOCUMENTATION.replace("name: local", "name: process")


class Connection(local.Connection):
    """A connection that the action ``api`` does not take for the controller."""

    transport = "process"
