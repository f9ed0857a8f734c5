# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is PRIVATE to the collection. It can have breaking changes at any time.

"""What must not be shown, and the forms in which it may come back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

from ansible_collections.virtinfra.manager.plugins.module_utils._options import Options

# The parameters of operations that are secret: a password, and an address that has a key in it.
SECRETS = ("password", "url")

# Shorter parts of a url are words like "v2": hiding them would hide the same letters everywhere.
SHORTEST_PART = 6


def forms(secret: str) -> set[str]:
    """Return a secret as it may stand in a text: as it is, and quoted for urls, HTML, JSON and Python."""
    return {form(secret) for form in _FORMS} - {""}


def secrets_of(spec: Options, params: Mapping[str, Any]) -> set[str]:
    """Return what must never be shown of validated options, in every form in which it may come back in a text.

    Of an option that is a mapping of parameters, those count that are secrets of the service.
    """
    plain = set()
    for name, option in spec.items():
        if option.get("no_log"):
            value = params.get(name)
            given = [value.get(each) for each in SECRETS] if isinstance(value, dict) else [value]
            plain |= {str(each) for each in given if each}
    plain |= {each.strip() for each in plain} | {part for each in plain for part in _secret_parts(each)}
    return {form for each in plain for form in forms(each)}


def _secret_parts(text: str) -> set[str]:
    """Return what of a url is secret when it is cut out of it: the password, the path with its query, and the keys."""
    if "://" not in text:
        return set()
    with suppress(ValueError):
        url = urlsplit(text)
        path = urlunsplit(("", "", url.path.lstrip("/"), url.query, ""))
        keys = (pair.partition("=")[2] for pair in url.query.split("&"))
        return {part for part in (url.password or "", path, *keys) if len(part) >= SHORTEST_PART}
    return set()


def _html_safe_json(text: str) -> str:
    return re.sub("[<>&=']", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)[1:-1])


# As html.escape does it; that module brings a table of 2,000 names, which each module process would load.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: text.translate(_HTML),
    partial(quote, errors="replace"),
    partial(quote, safe="", errors="replace"),
    partial(quote_plus, errors="replace"),
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: repr(text)[1:-1],
    lambda text: repr(f"{text}'\"")[1:-4],
    _html_safe_json,
)
