"""Find secret values, and mask them in texts and results before they are shown."""

from __future__ import annotations

import base64
import json
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import SplitResult, quote, quote_plus, unquote, urlsplit, urlunsplit

from .patterns import (
    MASK,
    is_secret_name,
    is_secret_parameter,
    mask_credentials,
    may_hold_credentials,
)

# The text that Ansible itself shows instead of a secret option.
MASKED_OPTION = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"

# Shorter parts of a URL are words like "v2". Masking them would mask the same letters everywhere.
MIN_PART_LENGTH = 6

# A shorter secret is part of ordinary words. It is only masked as a separate word, and never in numbers.
MIN_SECRET_LENGTH = 4


# Which values of a task are secret

# Parameters and options that contain secrets, without a name that says so.
SECRET_MEMBERS = frozenset(("proxy_url", "sessionUuid", "session_id", "url", "user_data", "webhook_key", "webhook_url"))


def collect_secrets(spec: Mapping[str, Any], params: Mapping[str, Any]) -> set[str]:
    """Return the secrets in options: the options with no_log, and their secret parts.

    In a mapping of parameters, or of options of another module, the names determine which values are secret. In
    conditions, values of ``url`` are secret.
    """
    secrets: set[str] = set()
    for name, option in spec.items():
        value = params.get(name)
        # Most options of a task have no value, and a batch asks for each object.
        if value and (option.get("no_log") or has_any_members(option)):
            secrets.update(_find_secrets(value))
        elif value and name in ("query", "filters"):
            secrets.update(_find_urls(value))
    secrets = {secret.strip() for secret in secrets} - {""}
    return {part for secret in secrets for part in _split_secret(secret)}


def has_any_members(option: Mapping[str, Any]) -> bool:
    """Return whether an option is a mapping, or a list of mappings, with members of any name.

    It has no no_log, with which Ansible 2.22 masks each value in such a mapping, even C(1), in all of its output.
    """
    return "dict" in (option.get("type"), option.get("elements")) and "options" not in option


def _find_secrets(value: Any) -> Iterator[str]:
    """Yield a secret value, or the secret values in a mapping of parameters."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _find_secrets_of_parameter(str(name), member)
    elif isinstance(value, list):
        yield from _find_nested_secrets(value)
    elif value:
        yield str(value)


def _find_secrets_of_parameter(name: str, value: Any) -> Iterator[str]:
    """Yield the secret values of a parameter: all if its name says so, else only those that it contains."""
    if name == "q":
        yield from _find_urls(value)
    elif name in SECRET_MEMBERS or is_secret_name(name):
        values = value if isinstance(value, list) else [value]
        yield from (str(secret) for secret in values if secret)
    else:
        yield from _find_nested_secrets([value])


def _find_nested_secrets(values: Iterable[Any]) -> Iterator[str]:
    """Yield the secret values in the mappings of a list."""
    for value in values:
        if isinstance(value, (list, Mapping)):
            yield from _find_secrets(value)


def _find_urls(conditions: Any) -> Iterator[str]:
    """Yield the URLs in query conditions like ``url=https://chat.example.com/hook/KEY``."""
    for condition in conditions if isinstance(conditions, list) else [conditions]:
        if match := re.fullmatch(r"\s*url\W*?(https?://.+)", str(condition), re.DOTALL):
            yield match[1]


def _split_secret(secret: str) -> Iterator[str]:
    """Yield a secret and its parts that a service may repeat alone: its lines, and the keys in a URL."""
    url = _parse_url(secret)
    # Scheme and host alone are not secret.
    if url is None or url.username or url.query or url.fragment or url.path.strip("/"):
        yield secret
    lines = secret.splitlines()
    parts = [line.strip() for line in lines if not line.startswith("-----")] if len(lines) > 1 else []
    if url is not None:
        parts += _split_url(url)
    yield from (part for part in parts if len(part) >= MIN_PART_LENGTH)


def _parse_url(text: str) -> SplitResult | None:
    """Return the parts of a string that is a URL with a host, None for any other string."""
    with suppress(ValueError):
        url = urlsplit(text)
        if "://" in text and url.netloc:
            return url
    return None


def _split_url(url: SplitResult) -> list[str]:
    """Return the parts of a URL that can be secret: the password, the path with the query, and the keys in both.

    A value in the query is a key if its name says so. Others, such as the name of a host, are the user's own data.
    """
    path = urlunsplit(("", "", url.path.lstrip("/"), url.query, ""))
    pairs = [pair.partition("=") for pair in url.query.split("&")]
    values = [value for name, dummy, value in pairs if is_secret_parameter(name)]
    # Short segments in lower case are words like "webhook" and "open-apis".
    keys = [segment for segment in url.path.split("/") if not re.fullmatch(r"[a-z_.-]{0,15}", segment)]
    return [url.password or "", unquote(url.password or ""), path, *values, *keys]


def list_url_secrets(text: str) -> list[str]:
    """Return the secrets in the URL of a proxy, of any length: all of it with a login, the password, and the header."""
    url = _parse_url(text)
    if url is None or not (url.username or url.password):
        return []
    name, password = unquote(url.username or ""), unquote(url.password or "")
    logins = {f"{name}:{password}".encode(encoding, "replace") for encoding in ("latin-1", "utf-8")}
    header_values = [base64.b64encode(login).decode() for login in logins]
    return [secret for secret in (text, url.password or "", password, *header_values) if secret]


# Masking

# The number of elements above which a list is checked element by element.
LONG_LIST = 100
# json.dumps would create an encoder for each record.
_encode_json = json.JSONEncoder(ensure_ascii=False).encode
_SCALARS = frozenset((str, int, float, bool, type(None)))


class Masker:
    """Masks secrets in any of their forms, and text in the form of credentials, in texts and in results.

    ``known_names`` are the documented keys of results, which are not masked, even if a secret is a word like ``host``.
    """

    def __init__(self, secrets: Iterable[str] = (), known_names: Callable[[], Container[str]] = frozenset) -> None:
        # For each secret the part of it that all of its forms contain, for which a string is searched first.
        self._secrets: ChainMap[str, str] = ChainMap()
        self._known_names = known_names
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Mask further secrets from now on, also in the maskers that `with_secrets` returned."""
        self._secrets.update({secret: _find_unencoded_part(secret) for secret in secrets if secret})

    def with_secrets(self, *secrets: str) -> Masker:
        """Return a masker that masks further secrets too."""
        masker = Masker((), self._known_names)
        masker._secrets = self._secrets.new_child()
        masker.add(*secrets)
        return masker

    def mask_text(self, text: str) -> str:
        """Return a string with its secrets masked; the same object when it contains none."""
        spans = sorted(
            span
            for secret, part in self._secrets.items()
            if part in text
            for form in encode_secret(secret)
            for span in _find_spans(text, form)
            if len(secret) >= MIN_SECRET_LENGTH or _is_whole_word(text, *span)
        )
        return mask_credentials(_mask_spans(text, spans) if spans else text)

    def mask_value(self, value: Any) -> Any:
        """Return a result, or a part of one, with the secrets in its texts, numbers and keys masked."""
        if isinstance(value, str):
            return MASKED_OPTION if value in self._secrets else self.mask_text(value)
        if isinstance(value, Mapping):
            return value if self._is_clean(value) else self._mask_members(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.mask_value(item) for item in value]
        return MASKED_OPTION if self._is_secret_scalar(value) else value

    def mask_reply(self, reply: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Return a reply masked as by mask_value. ``body`` is its JSON text; the reply itself may be changed."""
        texts = self._find_suspicious_texts(body)
        if texts is None:
            masked: dict[str, Any] = self.mask_value(reply)
            return masked
        affected = {text for text in texts if self.mask_value(text) != text or is_secret_name(text)}
        if affected:
            self._mask_within(reply, affected)
        return reply

    def _find_suspicious_texts(self, body: bytes) -> set[str] | None:
        """Return the only texts of a reply that may have to be masked; None if that cannot be said."""
        # Only inventories and event sources mask replies, so module processes do not load the code for it.
        from .replies import find_suspicious_texts

        secrets = dict(self._secrets)
        if "" in secrets.values() or any(map(_may_be_in_number, secrets)):
            return None
        words = {secret for secret, part in secrets.items() if secret == part and len(secret) < MIN_SECRET_LENGTH}
        return find_suspicious_texts(body, {secrets[secret] for secret in secrets.keys() - words}, words)

    def _mask_within(self, value: dict[str, Any] | list[Any], affected: set[str]) -> None:
        """Mask the affected texts in a mapping or a list, and the members with an affected key."""
        if isinstance(value, dict) and not affected.isdisjoint(value):
            masked = self._mask_members(value)
            value.clear()
            value.update(masked)
            return
        items: Iterable[tuple[Any, Any]] = enumerate(value) if isinstance(value, list) else value.items()
        for place, item in items:
            if isinstance(item, (dict, list)):
                self._mask_within(item, affected)
            elif isinstance(item, str) and item in affected:
                value[place] = self.mask_value(item)

    def _mask_members(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        return {self._mask_key(key): self._mask_member(key, member) for key, member in value.items()}

    def _is_secret_scalar(self, value: Any) -> bool:
        """Return whether a value is encrypted, or a number whose digits contain a secret that is not very short."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            digits = str(value)
            return any(len(secret) >= MIN_SECRET_LENGTH and secret in digits for secret in self._secrets)
        # Before core 2.19 an encrypted value is not a string.
        return hasattr(value, "__ENCRYPTED__")

    def _is_clean(self, value: Mapping[Any, Any]) -> bool:
        """Return whether there is certainly nothing to mask, which is the case for most records of a list."""
        # Most records contain only scalars.
        is_flat = _SCALARS.issuperset(map(type, value.values()))
        # The records of a long list are checked one by one, so checking the whole list would take as long again.
        if not is_flat and any(isinstance(member, list) and len(member) > LONG_LIST for member in value.values()):
            return False
        try:
            text = "\n".join(map(str, chain(value, value.values()))) if is_flat else _encode_json(value)
        except (TypeError, ValueError):
            return False
        return not may_hold_credentials(text) and not any(
            # The views of a ChainMap are slow.
            part in text
            for secrets in self._secrets.maps
            for part in secrets.values()
        )

    def _mask_key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        masked = self.mask_text(key)
        return key if masked != key and key in self._known_names() else masked

    def _mask_member(self, key: Any, value: Any) -> Any:
        is_scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if is_scalar and value != "" and isinstance(key, str) and is_secret_name(key):
            return MASKED_OPTION if str(value) in self._secrets else MASK
        return self.mask_value(value)


def _may_be_in_number(secret: str) -> bool:
    """Return whether the digits of a number may contain a secret, which JSON may write in another form."""
    return len(secret) >= MIN_SECRET_LENGTH and set(secret) <= set("0123456789.e+-")


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text with its secret parts masked. ``spans`` are sorted by their start and may overlap."""
    masked, end = [], 0
    for start, stop in spans:
        if start >= end:
            masked += [text[end:start], MASK]
        end = max(end, stop)
    return "".join([*masked, text[end:]])


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether this part of a string stands alone, and not within a longer word."""
    neighbours = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not any(char.isalnum() or char == "_" for char in neighbours)


def _find_unencoded_part(secret: str) -> str:
    """Return the longest part of a secret that is the same in all of its forms."""
    return max(re.findall(r"[0-9A-Za-z]+", secret), key=len, default="")


@lru_cache(maxsize=256)
def encode_secret(secret: str) -> frozenset[str]:
    """Return the forms in which a service, a proxy, Python or Ansible repeats a secret.

    A secret has a fixed number of forms, and a string is searched for each of them. So the time for masking is
    proportional to the length of the string, regardless of the secrets.
    """
    # Few tasks show a secret, so most module processes do not load the table of the library html.
    import html

    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    in_ascii_json = json.dumps(secret)[1:-1]
    in_html = html.escape(secret)
    forms = {
        secret,
        # A secret of several lines in a message of one line, and in a message of Python.
        " ".join(secret.split()),
        repr(secret)[1:-1],
        # A secret in JSON of most services, of Python, of Gson, and in a JSON text inside JSON.
        in_json,
        in_ascii_json,
        json.dumps(in_ascii_json)[1:-1],
        re.sub("[<>&=']", lambda match: f"\\u{ord(match[0]):04x}", in_json),
        # A secret in the path of a URL, in a query, and in a form. Half of a surrogate pair cannot be encoded.
        quote(secret, errors="replace"),
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        # A secret in HTML of Python, and of Java servers and most templates.
        in_html,
        in_html.replace("&#x27;", "&#39;"),
    }
    return frozenset(forms - {""})


def _find_spans(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of a part in a string."""
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))
