"""The forms in which a service, or Ansible, may repeat a secret."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus


def forms(secret: str) -> set[str]:
    """Return the forms in which a service may repeat a secret."""
    gson = "".join(
        f"\\u{ord(char):04x}" if char in "<>&='" else char for char in json.dumps(secret, ensure_ascii=False)
    )
    return {
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        html.escape(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        gson[1:-1],
    }


def login_forms(user: str, password: str) -> set[str]:
    """Return the forms in which a proxy may repeat a login: in the header, and encoded as in a URL."""
    login = f"{user}:{password}"
    return {base64.b64encode(login.encode()).decode(), f"{quote(user, safe='')}:{quote(password, safe='')}", login}


def list_all_forms(*secrets: str) -> list[str]:
    """Return the forms in which a service may repeat several secrets."""
    return sorted(set().union(*map(forms, secrets)))
