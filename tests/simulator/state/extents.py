"""Extents in the form that replies of the service have them."""

from __future__ import annotations

import base64
import json
import zlib


def encode_extents(extents: dict[str, int]) -> str:
    """Return changed or allocated extents, lengths by offsets in bytes, as replies have them."""
    return base64.b64encode(zlib.compress(json.dumps(extents).encode())).decode()
