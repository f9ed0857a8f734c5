"""The query of a webhook URL: what it says about a call, and the signature that shows who wrote it.

The service posts to the URL without reading it, and nothing that can be polled contains its query. The signature covers
the id of the job, so that the query of another URL cannot be used for it.
"""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from .._api.errors import InvalidOptions

SIGNATURE = "virtinfra_signature"


@dataclass(frozen=True)
class Webhook:
    """The options ``webhook_url`` and ``webhook_key``. Raise InvalidOptions for an invalid URL."""

    url: str | None
    key: str | None

    def __post_init__(self) -> None:
        if self.url and not re.fullmatch(r"https?://[\x21-\x7e]+", self.url):
            raise InvalidOptions("webhook_url must have the form https://HOST/path, without spaces")

    def build_headers(self, job_uuid: str) -> dict[str, str]:
        """Return the headers of a writing call with this job id."""
        if not self.url:
            return {}
        return {"X-Web-Hook": sign_url(self.url, job_uuid, self.key) if self.key else self.url}


NO_WEBHOOK = Webhook(None, None)


def read_parameter(target: str, name: str) -> str:
    """Return the first value of a parameter in the query of a URL or path, ``""`` when it is missing."""
    try:
        return parse_qs(urlsplit(target).query).get(name, [""])[0]
    except ValueError:
        return ""


def sign_url(url: str, job_uuid: str, key: str) -> str:
    """Return a webhook URL with the signature for the call with this job id."""
    address, mark, fragment = url.partition("#")
    joint = "&" if "?" in address else "?"
    return f"{address}{joint}{SIGNATURE}={_sign(url, job_uuid, key)}{mark}{fragment}"


def is_signed(target: str, job_uuid: str, key: str) -> bool:
    """Return whether the URL or path of a post has the signature for its job id, ``about`` and ``operation``."""
    signature = read_parameter(target, SIGNATURE).encode("utf-8", "replace")
    return hmac.compare_digest(signature, _sign(target, job_uuid, key).encode())


def _sign(target: str, job_uuid: str, key: str) -> str:
    signed = [job_uuid, read_parameter(target, "about"), read_parameter(target, "operation")]
    return hmac.new(key.encode(), json.dumps(signed).encode(), "sha256").hexdigest()
