# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs backup_run on the data mover; `main` lets ansible-lint check the options of its tasks."""

from __future__ import annotations

from ..modules.backup_run import main
from ..plugin_utils._action.mover import MoverAction as ActionModule

__all__ = ["ActionModule", "main"]
