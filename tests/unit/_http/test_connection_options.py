"""The options of the connection: the whole messages about wrong ones, and what others mean."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions

URL = "https://manager.example.com"
KEY: dict[str, Any] = {"access_key_id": "key-id", "access_key_secret": "the-key-secret"}
ACCOUNT = {"account": "admin", "account_password": "the-password"}

REQUIRED = (
    "base_url is required: the address of the service, for example https://manager.example.com (or VIRTINFRA_BASE_URL"
    " in the environment)"
)
FORM = "base_url must look like https://manager.example.com:8080"
ONLY = "base_url must contain only scheme, host and port."
PREFIX = "The part of the path before v1 belongs to path_prefix."
NO_ACCOUNT = "base_url must not contain an account. Give it with account and account_password, and set base_url to"
TIMEOUT = "request_timeout must be more than 0 and at most 3600 seconds"
RETRIES = "request_retries must be from 0 to 100"
PATH_PREFIX = "path_prefix must consist of letters, digits and . / _ ~ % -"
TOGETHER = (
    "access_key_id and access_key_secret (or VIRTINFRA_ACCESS_KEY_ID and VIRTINFRA_ACCESS_KEY_SECRET in the"
    " environment) are needed together"
)
PASSWORD = "account needs account_password (or VIRTINFRA_ACCOUNT_PASSWORD in the environment)"
EXCLUSIVE = "proxy_url and use_proxy: false are mutually exclusive. Remove one of them"
SPACES = "must be printable ASCII without spaces"
ACCOUNT = {"account": "admin", "account_password": "'x'"}
LINE_BREAK = "ends with a line break. Remove it, for example with the filter trim"

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"base_url": ""}, REQUIRED),
    *(({"base_url": url}, FORM) for url in ("manager.example.com", "ftp://manager.example.com", "https://")),
    *(
        ({"base_url": url}, "base_url begins or ends with a blank. Remove it")
        for url in ("https://manager.example.com:8080 ", " https://manager.example.com")
    ),
    *(({"base_url": url}, FORM) for url in ("https://manager.example.com /", "https://*.example.com", "https://:8080")),
    *(
        ({**ACCOUNT, name: value}, f"{name} begins and ends with a quote, which is a part of the value. Remove both")
        for name, value in (("base_url", f'"{URL}"'), ("account", "'admin'"))
    ),
    ({"base_url": f"{URL}/service/v1/hosts"}, f"{ONLY} {PREFIX} Set base_url to {URL}"),
    ({"base_url": f"{URL}/X"}, f"{ONLY} {PREFIX} Set base_url to {URL}"),
    ({"base_url": f"{URL}/service/"}, f"{ONLY} {PREFIX} Set base_url to {URL}"),
    ({"base_url": f"{URL}/service/v1/x/v1/y"}, f"{ONLY} {PREFIX} Set base_url to {URL}"),
    ({"base_url": f"{URL}:8443/#/login"}, f"{ONLY} Set base_url to {URL}:8443"),
    ({"base_url": f"{URL}/ui#login"}, f"{ONLY} Set base_url to {URL}"),
    ({"base_url": f"{URL}?a=b"}, f"{ONLY} Set base_url to {URL}"),
    ({"base_url": "https://user:secret@[::1]:8443/service"}, f"{NO_ACCOUNT} https://[::1]:8443"),
    ({"base_url": "https://us@er:secret@manager.example.com"}, f"{NO_ACCOUNT} {URL}"),
    *(({"request_timeout": seconds}, TIMEOUT) for seconds in (0, -1, float("nan"), 3600.5)),
    *(({"request_retries": number}, RETRIES) for number in (-1, 101)),
    *(({"path_prefix": prefix}, PATH_PREFIX) for prefix in ("a b", "a?b", "a\r\nb", "\u00e9")),
    *(
        ({"path_prefix": prefix}, f"path_prefix is the part of the path before v1. Set path_prefix to {rest!r}")
        for prefix, rest in (("service/v1", "service"), ("/a/b/v1/", "a/b"), ("v1", ""))
    ),
    ({"base_url": f"{URL}\n"}, f"base_url {LINE_BREAK}"),
    ({"account": "admin", "account_password": "x\n"}, f"account_password {LINE_BREAK}"),
    ({"api_token": "x\r\n"}, f"api_token {LINE_BREAK}"),
    ({"session_id": "x\r"}, f"session_id {LINE_BREAK}"),
    *(({"session_id": text}, f"session_id {SPACES}") for text in ("a b", "a\r\nX-Header: b", "\u00e9")),
    ({"api_token": "\u00e9"}, f"api_token {SPACES}"),
    ({**KEY, "access_key_id": "a b"}, f"access_key_id {SPACES}"),
    ({**KEY, "access_key_secret": "a secret"}, f"access_key_secret {SPACES}"),
    ({"access_key_id": "key-id"}, TOGETHER),
    ({"access_key_secret": "the-key-secret"}, TOGETHER),
    ({"account": "admin"}, PASSWORD),
    ({"proxy_url": "http://127.0.0.1:1", "use_proxy": False}, EXCLUSIVE),
]


def test_wrong_options() -> None:
    failures: list[Any] = []
    for options, message in WRONG:
        try:
            failures.append((options, ConnectionOptions(**{"base_url": URL, **options})))
        except InvalidOptions as error:
            if str(error) != message:
                failures.append((options, str(error)))
    assert failures == []


@pytest.mark.parametrize(
    "url",
    [
        *("https://manager.example.com:port", "https://manager.example.com:99999", "https://[::1"),
        *("https://manager.example.com\r\nX: y", f"https://{'a' * 64}.example.com", "https://manager..example.com"),
    ],
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    """The words after the colon are those of Python."""
    with pytest.raises(InvalidOptions, match=r"^base_url cannot be used: \S"):
        ConnectionOptions(url)


VALID: list[dict[str, Any]] = [
    {"base_url": "http://[::1]:8080/"},
    {"base_url": "HTTPS://10.0.0.1:8443"},
    *({"request_timeout": seconds} for seconds in (0.5, 3600)),
    *({"request_retries": number} for number in (0, 100)),
    *({"path_prefix": prefix} for prefix in ("", "/a/b-c_d.e~f%20/", "/v1/x", "av1")),
    {"session_id": "!~"},
    ACCOUNT,
    {"account": "admin", "session_id": "s"},
    {"account": "admin", **KEY},
]


def test_options_at_their_limits() -> None:
    for options in VALID:
        connection = ConnectionOptions(**{"base_url": URL, **options})
        assert connection.origin == options.get("base_url", URL).rstrip("/")


def test_a_task_without_an_address() -> None:
    """Its option has no value; a plugin lacks some of the other options."""
    with pytest.raises(InvalidOptions) as caught:
        ConnectionOptions.from_params({"base_url": None, "session_id": "s"})
    assert str(caught.value) == REQUIRED
    connection = ConnectionOptions.from_params({"base_url": URL, "request_retries": 3, "name": "host-1"})
    assert connection == ConnectionOptions(URL, request_retries=3)


def test_secrets_are_not_shown() -> None:
    connection = ConnectionOptions(URL, session_id="the-session", api_token="the-token", **KEY)
    shown = f"{connection} {connection.access_key}"
    assert not [secret for secret in ("the-session", "the-token", "the-key-secret") if secret in shown]


def test_each_secret_is_masked() -> None:
    secrets = {
        "session_id": "the-session-1",
        "api_token": "the-token-1",
        "access_key_secret": "the-key-secret",
        "account_password": "the-password",
    }
    options: dict[str, Any] = {
        **secrets,
        "access_key_id": "key-id",
        "account": "admin",
        "proxy_url": "http://user:the-login@proxy",
    }
    masker = ConnectionOptions(URL, **options).create_masker()
    for secret in (*secrets.values(), "the-login"):
        assert masker.mask_text(f"<{secret}>") == "<********>"
    assert masker.mask_text("key-id admin proxy") == "key-id admin proxy"


def test_the_secret_of_an_access_key_is_masked_in_the_option_of_the_id() -> None:
    exchanged: dict[str, Any] = {"access_key_id": "the-key-secret", "access_key_secret": "key-id"}
    masker = ConnectionOptions(URL, **exchanged).create_masker()
    assert (
        masker.mask_text("access key id: the-key-secret does not existed") == "access key id: ******** does not existed"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ""),
        (ACCOUNT, "account admin"),
        ({"session_id": "s"}, "session_id"),
        (KEY, "access key key-id"),
        ({"api_token": "t"}, "api_token for cursor queries"),
        ({**ACCOUNT, "session_id": "s", "api_token": "t"}, "session_id, api_token for cursor queries"),
        ({**ACCOUNT, **KEY, "session_id": "s"}, "access key key-id"),
    ],
)
def test_the_credentials_in_words(options: dict[str, Any], words: str) -> None:
    assert ConnectionOptions(URL, **options).describe_credentials() == words


@pytest.mark.parametrize(
    ("scheme", "variables", "named"),
    [
        ("http", ("http_proxy", "HTTPS_PROXY", "all_proxy"), "http_proxy"),
        ("http", ("HTTP_PROXY", "https_proxy", "ALL_PROXY"), "HTTP_PROXY"),
        ("https", ("http_proxy", "https_proxy", "all_proxy"), "https_proxy"),
        ("https", ("http_proxy", "HTTPS_PROXY"), "HTTPS_PROXY"),
        ("https", ("all_proxy", "http_proxy"), "all_proxy"),
        ("http", ("ALL_PROXY", "https_proxy"), "ALL_PROXY"),
    ],
)
def test_the_variable_that_names_the_proxy(
    monkeypatch: pytest.MonkeyPatch, scheme: str, variables: tuple[str, ...], named: str
) -> None:
    for variable in variables:
        monkeypatch.setenv(variable, f"proxy-{'a' if variable == named else 'b'}:3128")
    proxy = ConnectionOptions(f"{scheme}://manager.example.com").proxy
    assert proxy
    assert (proxy.source, proxy.url) == (named, "http://proxy-a:3128")


def test_the_proxy_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names this proxy. A variable such as no_proxy shows that proxies are in use at all."""
    monkeypatch.setenv("no_proxy", "other.example.com")
    proxies = {"https": "http://10.0.0.9:3128"}
    monkeypatch.setattr("requests.utils.getproxies", lambda: proxies)
    proxy = ConnectionOptions(URL).proxy
    assert proxy
    assert (proxy.source, proxy.url) == ("", "http://10.0.0.9:3128")
    assert ConnectionOptions("http://manager.example.com").proxy is None
    proxies["https"] = "ftp://10.0.0.9"
    with pytest.raises(InvalidOptions, match=r"^the proxy must have the form .*\. Change it, or set use_proxy to fal"):
        assert ConnectionOptions(URL).proxy
