# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Extents in the form that replies of the service have them."""

from __future__ import annotations

import base64
import json
import zlib


def encode_extents(extents: dict[str, int]) -> str:
    """Return changed or allocated extents, lengths by offsets in bytes, as replies have them."""
    return base64.b64encode(zlib.compress(json.dumps(extents).encode())).decode()
