"""Recognize credentials in a string by their form: a service may repeat them to users who did not provide them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MASK = "********"

_NAME = (
    r"""(?:password|passwd|passphrase|secret|(?:secret|private|api)[_-]?key|(?:access|api|auth|session)[_-]?token)"""
)
_NAME_HINTS = ("pass", "secret", "key", "token")

# A quotation mark: plain, escaped in JSON, in JSON of Gson, or in HTML.
_QUOTE = r"""(?:\\{0,8}["']|\\{1,8}u002[27]|&(?:quot|apos|\#\w{2,3});)"""

# A value without quotation marks, up to the next parameter, the end of a quotation, markup or the end of a sentence.
_VALUE = r"""[^\s<>]+?
    (?= [,&;]\s{0,8}[\w.-]{1,64}= | [\\"']{1,8}(?:[\s,:;})\]]|\Z) | [<>] | &(?:quot|lt|gt|\#)
        | [,;.)\]}]{0,8}(?:\s|\Z) )"""

_PASSWORD = r"""(?:[^\s"']{1,128}|\S{1,128})"""
_HOST = r"(?:[a-z0-9][\w.-]{0,255}|\[[\da-f:.]+\])"
_DOMAIN = r"[\w-]{1,64}\.[\w.-]{1,255}"
_IP_ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w-])|\[[\da-f:.]+\])"


class _Form(NamedTuple):
    """A form of credentials: a pattern, and words in lower case of which each match contains at least one.

    In each alternative of the pattern, the outermost group is the text before the secret, and the rest is the secret.
    Lengths are bounded, because a service may send any text.
    """

    hints: tuple[str, ...]
    pattern: str


# A named value in quotation marks: "password": "..." in JSON, Python and HTML.
_QUOTED_VALUE = _Form(
    _NAME_HINTS,
    rf"""({_NAME} {_QUOTE}? \s{{0,8}} (?:=>|[:=]) \s{{0,8}} (?P<quote>{_QUOTE})) (?:(?!(?<!\\)(?P=quote)).)+""",
)

# A named value that is not in quotes: password=..., consolePassword::... of a system tag, ?key=... of a URL, a header.
_NAMED_VALUE = _Form(
    (*_NAME_HINTS, "sig", "authorization"),
    rf"""({_NAME} (?:=|::|%3d) (?!{_QUOTE})
            | [?&] (?:key|sig|sign|signature|[\w.-]{{0,32}}(?:token|secret)) =
            | \bauthorization ["']? \s{{0,8}} [:=] \s{{0,8}} ["']? (?:(?:basic|bearer|oauth|zstack)\s{{1,8}})?)
        {_VALUE}""",
)

# The path of a webhook address after the word hook: https://hooks.example.com/..., https://chat.example.com/v2/hook/...
_WEBHOOK = _Form(
    ("hook",),
    rf"""(\bhttps?:// (?:hooks?\.[\w.:-]+/ | [\w.:\[\]-]+/(?:[^\s/?\#"'<>]{{1,128}}/){{0,12}}?(?:web)?hooks?/))
        {_VALUE}""",
)

# The commands that services run with a password: sshpass -p ..., ipmitool -P ..., curl -u user:...
_COMMAND = _Form(
    ("sshpass", "ipmitool", "curl "),
    r"""(\bsshpass\s+-p\s{0,8} | \bipmitool\b[^\n]{0,128}?\s-(?-i:P)\s{0,8}
            | \bcurl\b[^\n]{0,128}?\s(?:-u|--user)\s{1,8}[^\s:]{1,64}:(?!//))
        (?:"[^"]*" | '[^']*' | [^\s"']+)""",
)

# user:password@host: in a URL, behind ssh, of an administrator, and of any user if an IP address or a path shows that
# it is not an email address.
_LOGIN = _Form(
    ("@",),
    rf"""(://[^\s/?\#@:]{{0,64}}:) [^\s/?\#]{{1,256}} (?=@)
        | (\b(?:ssh|scp|sftp|rsync)\s+(?:-\S{{1,64}}\s{{1,8}}(?:\d{{1,8}}\s{{1,8}})?){{0,8}}[\w.\\-]{{1,64}}:)
            (?:\S{{1,128}} | [^\s@]{{1,64}}(?:[^\S\n]{{1,8}}[^\s@]{{1,64}}){{1,8}}?) (?=@{_HOST})
        | ((?<![\w.@-])(?:root|admin|administrator):) {_PASSWORD} (?=@{_HOST})
        | ((?<![\w.@/:\\-])[a-z_][\w-]{{2,31}}:)(?!//) {_PASSWORD} (?=@(?:{_IP_ADDRESS}|{_DOMAIN}/))""",
)

# A private key of any program, also in JSON and cut off: -----BEGIN OPENSSH PRIVATE KEY-----.
_PRIVATE_KEY = _Form(
    ("private key-----",),
    r"(-----BEGIN\ [A-Z\d\ ]{0,32}PRIVATE\ KEY-----) .+? (?=-----END\ |\Z)",
)

_FORMS = (_QUOTED_VALUE, _NAMED_VALUE, _WEBHOOK, _COMMAND, _LOGIN, _PRIVATE_KEY)
# Names of parameters and members that are secret without one of the words of _NAME, in small letters without
# underscores, and the hints that they contain.
_SECRET_WORDS = re.compile(
    r".*(?:authkey|bindpw|bindpwd|community|credentials?|encryptionkey|keypem|privkey)\Z",
    re.IGNORECASE | re.DOTALL,
)
_SECRET_HINTS = ("bindpw", "communit", "credential")

_ALL_HINTS = tuple(dict.fromkeys([*(hint for form in _FORMS for hint in form.hints), *_SECRET_HINTS]))
HINTS = tuple(hint for hint in _ALL_HINTS if not any(other in hint for other in _ALL_HINTS if other != hint))
# Characters of which a string with credentials of a form contains at least one; a backslash may be one that is escaped.
# A text is searched for them ten times as fast as for words, and lists of records rarely contain them.
_REQUIRED_CHARACTERS = {"sig": "=\\", "hook": "/\\"}
# The option update_password says when a password is sent.
_SECRET_NAME = rf"(?<!update_){_NAME}\Z"
# Names of parameters in the query of a URL, of which chats and gateways use short ones for their keys.
_SECRET_PARAMETER = rf"(?: {_NAME} | (?:\A|[_.-])(?:auth|code|credential|sig|sign|signature) | key | token ) \Z"


# Compiling all patterns takes as long as a task, and a task needs only a few.
@lru_cache(maxsize=32)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.DOTALL)


def compile_patterns() -> None:
    """Compile all patterns now, so that the processes forked from this one have them."""
    for pattern in (_SECRET_NAME, _SECRET_PARAMETER, *(form.pattern for form in _FORMS)):
        _compile(pattern)


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name contains a secret: ``password``, ``sshPassword``, ``access_key_secret``."""
    return _compile(_SECRET_NAME).search(name) is not None or _SECRET_WORDS.match(name.replace("_", "")) is not None


def is_secret_parameter(name: str) -> bool:
    """Return whether a parameter of this name in the query of a URL is secret: ``key``, ``access_token``, ``sig``."""
    return _compile(_SECRET_PARAMETER).search(name) is not None


def may_hold_credentials(text: str) -> bool:
    """Return whether a string contains a word that mask_credentials requires for a match."""
    lowered = text.lower()
    return any(hint in lowered for hint in HINTS if _has_required_character(hint, text))


def _has_required_character(hint: str, text: str) -> bool:
    return hint not in _REQUIRED_CHARACTERS or any(char in text for char in _REQUIRED_CHARACTERS[hint])


def mask_credentials(text: str) -> str:
    """Return a string with its credentials masked, which have a form like ``user:password@host``, ``password=...``."""
    lowered = text.lower()
    for form in _FORMS:
        if any(hint in lowered for hint in form.hints):
            text = _compile(form.pattern).sub(_mask_match, text)
    return text


def _mask_match(match: re.Match[str]) -> str:
    """Return the text before the secret, followed by the mask. It is the group that was closed last."""
    return match[match.lastindex or 0] + MASK


def mask_url(url: Any) -> Any:
    """Return a URL with everything masked except for scheme and host."""
    if not isinstance(url, str) or not url.strip():
        return url
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return MASK
    host = re.sub(r":\d*\Z", "", parts.netloc.rpartition("@")[2])
    if not parts.scheme or not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", host):
        return MASK
    return f"{parts.scheme}://{host}/{MASK}"
