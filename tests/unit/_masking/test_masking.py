"""Masking: secrets in every encoding, credentials of other tasks, and URLs with keys."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import mask_webhooks, record_to_result
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import decode_object
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.masker import (
    Masker,
    collect_secrets,
    encode_secret,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.patterns import (
    _FORMS,
    MASK,
    _compile,
    compile_patterns,
    is_secret_name,
    is_secret_parameter,
    mask_credentials,
    mask_url,
    may_hold_credentials,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._masking.terminal import (
    escape_controls,
    make_printable,
)
from hypothesis import assume, given
from hypothesis import strategies as st

PASSWORD = "pA$$ <w0rd> & 'more' \"100%\"/\u00e9\\n;"


ENCODERS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "html": html.escape,
    "html of Java": lambda text: html.escape(text).replace("&#x27;", "&#39;"),
    "path": quote,
    "query": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "json": lambda text: json.dumps(text)[1:-1],
    "json unicode": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json in json": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "gson": lambda text: "".join(
        f"\\u{ord(char):04x}" if char in "<>&='" else char for char in json.dumps(text, ensure_ascii=False)[1:-1]
    ),
    "python": lambda text: repr(text)[1:-1],
}


@pytest.mark.parametrize("encoding", ENCODERS)
def test_masker_finds_secrets_in_every_encoding(encoding: str) -> None:
    text = f"<{ENCODERS[encoding](PASSWORD)}>"
    masked = Masker([PASSWORD]).mask_text(text)
    assert masked == f"<{MASK}>"


@given(
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20), st.sampled_from(sorted(ENCODERS))
)
def test_masker_finds_any_secret_in_any_encoding(secret: str, encoding: str) -> None:
    assume(not {"(", ")"} & set(secret))
    encoded = ENCODERS[encoding](secret)
    assert Masker([secret]).mask_text(f"({encoded})") in (f"({MASK})", f"({MASK}", f"{MASK})", MASK)


@pytest.mark.parametrize("secret", ["\n\\" * 500, "a\\" * 500, "&'" * 500, "%" * 1000, '\u00e9"' * 500])
def test_time_for_masking_is_proportional_to_the_text(secret: str) -> None:
    """Masking searches for a fixed number of strings, none of which is much longer than the secret."""
    forms = encode_secret(secret)
    assert len(forms) <= 12
    assert max(map(len, forms)) <= 10 * len(secret)
    text = f"{secret[:-1]}." * 10
    assert Masker([secret]).mask_text(f"{text}{secret}{text}") == f"{text}{MASK}{text}"


@given(st.text(max_size=40), st.text(min_size=4, max_size=8))
def test_masker_returns_a_text_without_secrets_unchanged(text: str, secret: str) -> None:
    if not may_hold_credentials(text) and not Masker([secret]).mask_text(text + secret).startswith(MASK):
        masked = Masker([secret]).mask_text(text)
        assert masked is text or MASK in masked


def test_masker_ignores_a_secret_of_spaces() -> None:
    assert Masker(["\n\n\n\n"]).mask_text("a \n b") == "a \n b"


def test_masker_masks_overlapping_secrets_completely() -> None:
    url = "https://chat.example.com/bot/v2/hook/path-key-4711"
    secrets = [url, "path-key-4711", "4711", "hook/path-key-4711", "key-4711 and more"]
    for order in (secrets, secrets[::-1], sorted(secrets, key=len)):
        assert Masker(order).mask_text(f"sent to {url} and more.") == f"sent to {MASK}."


def test_masker_masks_keys_and_numbers() -> None:
    masker = Masker(["hunter2", "12345678"])
    value = {"a": {"hunter2": 1, "x hunter2 y": {"hunter2": [12345678, 1.5, None, True]}}}
    assert masker.mask_value(value) == {
        "a": {MASK: 1, f"x {MASK} y": {MASK: ["VALUE_SPECIFIED_IN_NO_LOG_PARAMETER", 1.5, None, True]}}
    }


@pytest.mark.parametrize(
    ("secret", "text", "masked"),
    [
        ("a", "a password", f"{MASK} password"),
        ("a", "an (a) a1 _a", f"an ({MASK}) a1 _a"),
        ("pw1", "pw1: not pw12", f"{MASK}: not pw12"),
        ("\u00e9\u00e9", "\u00e9\u00e9\u00e9 %C3%A9%C3%A9 \u00e9\u00e9", f"\u00e9\u00e9\u00e9 {MASK} {MASK}"),
        ("abcd", "xabcdx", f"x{MASK}x"),
    ],
)
def test_masker_masks_a_very_short_secret_as_a_separate_word(secret: str, text: str, masked: str) -> None:
    assert Masker([secret]).mask_text(text) == masked


def test_masker_masks_no_number_for_a_very_short_secret() -> None:
    value = {"cpuNum": 1, "share": 1.5, "text": "1", "other": "11"}
    assert Masker(["1"]).mask_value(value) == {**value, "text": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"}


def test_masker_keeps_documented_names() -> None:
    masker = Masker(["host"], lambda: {"host", "hostUuid"})
    assert masker.mask_value({"host": {"hostUuid": "a host", "hosts": 1}}) == {
        "host": {"hostUuid": f"a {MASK}", f"{MASK}s": 1}
    }


def test_masker_masks_members_that_are_named_as_secrets() -> None:
    value = {"sshPassword": "a", "access_key_secret": 5, "password": None, "secret": "", "passwordExpired": "no"}
    assert Masker().mask_value(value) == {**value, "sshPassword": MASK, "access_key_secret": MASK}
    option = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
    assert Masker(["a", "1234"]).mask_value({**value, "size": 1234, "other": 123}) == {
        **value,
        "sshPassword": option,
        "access_key_secret": MASK,
        "size": option,
        "other": 123,
    }


def test_each_line_of_a_secret_is_a_secret() -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "Kc7dGzQ+2W/9yQ0Jc1kO0xZ8E7nq1aB3", "x=="]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    masker = Masker(collect_secrets({"key": {"no_log": True}}, {"key": f"{pem}\n"}))
    assert masker.mask_text(f"bad line: {lines[1]}!") == f"bad line: {MASK}!"
    assert masker.mask_text(f"bad: {' '.join(pem.split())}!") == f"bad: {MASK}!"
    assert masker.mask_text(f"{json.dumps(pem)}!") == f'"{MASK}"!'
    assert masker.mask_text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize("url", ["https://chat.example.com", "https://chat.example.com/"])
def test_scheme_and_host_alone_are_not_secret(url: str) -> None:
    assert collect_secrets({"url": {"no_log": True}}, {"url": url}) == set()


def test_addresses_in_conditions_are_secret() -> None:
    url = "https://chat.example.com/hook/key-0815"
    spec: dict[str, dict[str, Any]] = {"query": {}, "params": {"type": "dict"}}
    assert url in collect_secrets(spec, {"query": ["name=x", f"url = {url}"]})
    assert url in collect_secrets(spec, {"params": {"q": [f"url!={url}", "name=x"]}})
    assert collect_secrets(spec, {"query": ["name=https://a/b", "urls=https://a/b"], "params": {"q": "x=1"}}) == set()


HOOK = "https://bot:passw0rd@chat.example.com:8443/open-apis/v2/hook/KEY/A1b2C3d4?sign=abcdef&x=short&id=123456#part-7"


@pytest.mark.parametrize(
    ("options", "secrets"),
    [
        ({"secret": "abc"}, {"abc"}),
        ({"secret": " abc\n"}, {"abc"}),
        ({"secret": 4711}, {"4711"}),
        ({"secret": ""}, set()),
        ({"secret": " \n"}, set()),
        ({"secret": "https://[broken/key"}, {"https://[broken/key"}),
        ({"secret": "//path/key-of-path"}, {"//path/key-of-path"}),
        ({"secret": "first line\nlast"}, {"first line\nlast", "first line"}),
        ({"secret": "six-chars\n123456\n12345"}, {"six-chars\n123456\n12345", "six-chars", "123456"}),
        (
            {"secret": HOOK},
            {
                HOOK,
                "passw0rd",
                "open-apis/v2/hook/KEY/A1b2C3d4?sign=abcdef&x=short&id=123456",
                "abcdef",
                "A1b2C3d4",
            },
        ),
        (
            {"secret": "https://a.example.com/?about=host-1&operation=ChangeHostState&access_token=abcdef"},
            {
                "https://a.example.com/?about=host-1&operation=ChangeHostState&access_token=abcdef",
                "?about=host-1&operation=ChangeHostState&access_token=abcdef",
                "abcdef",
            },
        ),
        ({"secret": "https://a.example.com/?k"}, {"https://a.example.com/?k"}),
        ({"secret": "https://a.example.com/#k"}, {"https://a.example.com/#k"}),
        ({"secret": "https://user@a.example.com"}, {"https://user@a.example.com"}),
        (
            {
                "params": {
                    "name": "no-secret",
                    "password": "pw-of-params",
                    "sessionUuid": ["session-1", "", "session-2"],
                    "url": "https://a.example.com/hook",
                    "list": ["no-secret", {"sshPassword": "pw-in-list"}, [{"apiToken": "token-in-list"}]],
                    "inner": {"secret": "pw-inside", "other": "no-secret"},
                    "q": "url=https://a.example.com/key",
                }
            },
            {
                "pw-of-params",
                "session-1",
                "session-2",
                "https://a.example.com/hook",
                "pw-in-list",
                "token-in-list",
                "pw-inside",
                "https://a.example.com/key",
            },
        ),
        ({"filters": "url=https://a.example.com/key", "name": "no-secret"}, {"https://a.example.com/key"}),
    ],
)
def test_secrets_in_options(options: dict[str, Any], secrets: set[str]) -> None:
    spec: dict[str, dict[str, Any]] = {
        "secret": {"no_log": True},
        "params": {"type": "dict"},
        "filters": {},
        "name": {},
    }
    assert collect_secrets(spec, options) == secrets


def test_masker_with_further_secrets() -> None:
    masker = Masker(["hunter2"], lambda: {"host"})
    further = masker.with_secrets("swordfish", "host")
    masker.add("later-secret")
    text = "hunter2 swordfish later-secret"
    assert further.mask_text(text) == f"{MASK} {MASK} {MASK}"
    assert masker.mask_text(text) == f"{MASK} swordfish {MASK}"
    assert further.mask_value({"host": "a host"}) == {"host": f"a {MASK}"}


def test_masker_masks_values_that_are_no_json() -> None:
    encrypted = type("Encrypted", (), {"__ENCRYPTED__": True, "__str__": lambda self: "vault"})()
    members = {"a": encrypted, "b": [encrypted, ("hunter2", 1)], "c": {"d": encrypted}}
    option = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
    assert Masker(["hunter2"]).mask_value(members) == {"a": option, "b": [option, [option, 1]], "c": {"d": option}}


def test_masker_returns_a_record_without_secrets_unchanged() -> None:
    for record in ({"name": "web", "size": 5, "is_on": True}, {"name": "web", "tags": ["a", {"b": None}]}):
        assert Masker(["hunter2"]).mask_value(record) is record


def test_control_characters_are_shown() -> None:
    text = "one\ttwo\r\nthree\x1b[2J\u202e four  \u00e9"
    assert escape_controls(text) == r"one\ttwo\r\nthree\x1b[2J\u202e four  " + "\u00e9"
    assert make_printable(f" {text}\n") == "one two three [2J four \u00e9"


# --------------------------------------------------------------------------------- credentials of other tasks

CREDENTIALS = [
    ("ssh root:{}@10.0.0.1 failed", "ssh root:{}@10.0.0.1 failed"),
    ("ssh -p 22 -oX=y deploy:{}@kvm-3: refused", "ssh -p 22 -oX=y deploy:{}@kvm-3: refused"),
    ("cannot reach root:{}@kvm-3", "cannot reach root:{}@kvm-3"),
    ("failed:root:{}@kvm-3", "failed:root:{}@kvm-3"),
    ("mon deploy:{}@10.0.0.1/?monPort=6789", "mon deploy:{}@10.0.0.1/?monPort=6789"),
    ("mon deploy:{}@storage.example.com/?monPort=6789", "mon deploy:{}@storage.example.com/?monPort=6789"),
    ("deploy:{}@[2001:db8::1]", "deploy:{}@[2001:db8::1]"),
    ("see https://user:{}@h.example.com/x", "see https://user:{}@h.example.com/x"),
    ("jdbc:mysql://root:{}@h/db", "jdbc:mysql://root:{}@h/db"),
    ('login failed: {{"password": "{}", "user": "root"}}', 'login failed: {{"password": "{}", "user": "root"}}'),
    ("{{'sshPassword': '{}'}}", "{{'sshPassword': '{}'}}"),
    (r"{{\"password\":\"{}\",\"x\":1}}", r"{{\"password\":\"{}\",\"x\":1}}"),
    ("&quot;password&quot;: &quot;{}&quot;, x", "&quot;password&quot;: &quot;{}&quot;, x"),
    ("{{password={}, username=root}}", "{{password={}, username=root}}"),
    ("password={}&user=root", "password={}&user=root"),
    ("PASSWORD={}.", "PASSWORD={}."),
    ("consolePassword::{}", "consolePassword::{}"),
    ("sshpass -p {} ssh x", "sshpass -p {} ssh x"),
    ("ipmitool -H 10.0.0.5 -U admin -P {} chassis", "ipmitool -H 10.0.0.5 -U admin -P {} chassis"),
    ("curl -k -u admin:{} https://x", "curl -k -u admin:{} https://x"),
    ("Authorization: OAuth {}", "Authorization: OAuth {}"),
    ("POST https://q.example.com/cgi/send?v=1&key={}&x=1", "POST https://q.example.com/cgi/send?v=1&key={}&x=1"),
    ("POST https://hooks.example.com/services/{} failed", "POST https://hooks.example.com/{} failed"),
    ("https://o.example.com/open-apis/bot/v2/hook/{}.", "https://o.example.com/open-apis/bot/v2/hook/{}."),
    *[
        (
            f"-----BEGIN {kind}PRIVATE KEY-----{{}}-----END {kind}PRIVATE KEY-----",
            f"-----BEGIN {kind}PRIVATE KEY-----{{}}-----END {kind}PRIVATE KEY-----",
        )
        for kind in ("", "OPENSSH ", "EC ")
    ],
]
WORDS = st.text("abcXYZ0189!$%^*_+~", min_size=4, max_size=24)


@pytest.mark.parametrize(("text", "expected"), CREDENTIALS)
@given(password=WORDS)
def test_credentials_of_other_tasks_are_masked(text: str, expected: str, password: str) -> None:
    repeated = text.format(password)
    masked = mask_credentials(repeated)
    assert masked == expected.format(MASK)
    assert mask_credentials(masked) == masked
    assert may_hold_credentials(repeated)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssh root:my pass@10.0.0.1: denied", f"ssh root:{MASK}@10.0.0.1: denied"),
        ("root:p@ss/w0rd@kvm-3", f"root:{MASK}@kvm-3"),
        ('"password": "a\\"b c"', f'"password": "{MASK}"'),
        (r"{\"password\":\"ab\\\"c\"}", rf"{{\"password\":\"{MASK}\"}}"),
        ("sshPassword: 'cut off", f"sshPassword: '{MASK}"),
        ("{username=root,password=a,b}", f"{{username=root,password={MASK}}}"),
        ('<a href="https://u:p@h.example.com/">', f'<a href="https://u:{MASK}@h.example.com/">'),
        ("password=a</td>", f"password={MASK}</td>"),
        ("'-----BEGIN RSA PRIVATE KEY-----\\nMIIE cut off", f"'-----BEGIN RSA PRIVATE KEY-----{MASK}"),
    ],
)
def test_credentials_in_odd_shapes_are_masked(text: str, expected: str) -> None:
    assert mask_credentials(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "mailto:bob@example.com",
        "Contact:bob@example.com",
        "E-Mail:bob@example.com, tech_contact:ann@example.com",
        "bob@example.com",
        "quay.io/x/image:v1@sha256:abcd",
        "image:v1@sha256:abcdef",
        "at 12:30@room5",
        "aa:bb:cc:dd:ee:ff@10.0.0.1",
        "fa:16:3e:00:00:01@vlan10",
        "wrong password: please check",
        "Permission denied (publickey,password).",
        "ssh://git@github.com/x",
        "git@github.com:org/repo",
        "http://host:8080/a@b",
        "https://registry:5000/img@sha256:aa",
        "https://docs.example.com/guide?page=2",
        "iqn.2020-01.com.example:storage@lun1",
        "iqn.2020-01.com.example:storage@10.0.0.1",
        "rbd:pool/img@snap.daily",
        "pkg:npm/@scope/x@1.0.0",
        "user@host:path",
        "bond0:1@eth0",
        "java.lang.Foo:bar.Baz@1a2b3c",
        "password authentication failed for root@host",
        "10.0.0.1:/export",
        "the secret is out",
        "Basic authentication is required",
        "ssh: connect to host 10.0.0.1 port 22: Connection refused",
        "ipmitool -I lanplus -H 10.0.0.5 -p 623 power status",
        "curl -u https://x",
        "webhook https://example.com/hooks",
        "SYS.1006: operation failed, see /var/log/x.log",
        "",
    ],
)
def test_ordinary_texts_are_unchanged(text: str) -> None:
    assert mask_credentials(text) == text


@given(
    st.lists(st.sampled_from(["host-1", "10.0.0.1", "error:", "user", "at", "12:30", "a@b.example", "port=22", "/x"]))
)
def test_ordinary_words_in_any_order_are_unchanged(words: list[str]) -> None:
    text = " ".join(words)
    assert mask_credentials(text) == text


@given(st.text(max_size=200))
def test_masking_twice_changes_no_more(text: str) -> None:
    masked = mask_credentials(text)
    assert mask_credentials(masked) == masked
    assert masked == text or may_hold_credentials(text)


@pytest.mark.parametrize(
    "reply",
    [
        r'{"url": "https://a.example/x?sig\u003dabcdef"}',
        r'{"url": "https:\u002f\u002fchat.example\u002fhook\u002fabcdef"}',
        '{"description": "&signature=abcdef"}',
    ],
)
def test_credentials_are_recognized_in_json_with_escaped_characters(reply: str) -> None:
    (text,) = json.loads(reply).values()
    assert mask_credentials(text) != text
    assert may_hold_credentials(reply)


# ---------------------------------------------------------------------------------------------------- whole replies

TEXTS = st.sampled_from(
    [
        *("vm-1", "", "password", "the password is lost", "password=hunter2", '{"sshPassword": "a\\"b"}', "a\\", '"'),
        *("ftp://root:pw@10.0.0.1/", "https://chat.example.com/hook/abc", "x?sig=abc", "to\u212aen=abc1", "\ud83d"),
        *("s3cret-value", "my s3cret-value", "VALUE", "s3", "ipmitool -P abc", "curl -u a:b", "__ansible_password"),
        *("s3", "my s3", "\ns3\n", "\u00e9s3", "s3cret", "\\ns3", "pa\u017f\u017fword", "sshPa\u017fsphrase"),
        *("sshPassword", "accessKey", "secret", "description", "PASSWORD: 'x'", "\N{GRINNING FACE} api_key=abc"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 20000) | st.just(1234.5) | TEXTS | st.text(max_size=12),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(TEXTS | st.text(max_size=8), values, max_size=4),
    max_leaves=12,
)


@given(
    reply=st.dictionaries(TEXTS, VALUES, max_size=5),
    secrets=st.sets(st.sampled_from(["s3cret-value", "s3", "1234", "vm", "\u00e9", "!!", "true", "'x'"]), max_size=3),
    in_ascii=st.booleans(),
    escaped=st.sampled_from(["", "p", "=", "/", "3", "\u212a", "\u017f"]),
)
def test_a_reply_is_masked_like_each_of_its_values(
    reply: dict[str, Any], secrets: set[str], in_ascii: bool, escaped: str
) -> None:
    text = json.dumps(reply, ensure_ascii=in_ascii)
    if escaped:
        text = text.replace(escaped, f"\\u{ord(escaped):04x}")
    body = text.encode("utf-8", "surrogatepass" if in_ascii else "replace")
    decoded = decode_object(body)
    assume(decoded is not None)
    masker = Masker(secrets, lambda: {"description"})
    expected = masker.mask_value(decode_object(body))
    assert list(masker.mask_reply(decoded or {}, body).items()) == list(expected.items())


def test_only_texts_with_credentials_are_masked_in_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"uuid": f"{number:032x}", "tags": [f"tag-{number}"]} for number in range(1000)]
    records[5]["description"], records[6]["description"] = "the password is lost", "password=hunter2"
    body = json.dumps({"inventories": records}).encode()
    seen: list[Any] = []
    mask = Masker.mask_value

    def mask_value(masker: Masker, value: Any) -> Any:
        seen.append(value)
        return mask(masker, value)

    monkeypatch.setattr(Masker, "mask_value", mask_value)
    reply = Masker(["0123456789abcdefghij"]).mask_reply(json.loads(body), body)
    assert reply["inventories"] == [*records[:6], {**records[6], "description": f"password={MASK}"}, *records[7:]]
    assert set(seen) == {"the password is lost", "password=hunter2"}


# ----------------------------------------------------------------------------------------------- addresses with keys


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://chat.example.com/bot/v2/hook/SECRET", "https://chat.example.com/********"),
        ("https://user:SECRET@chat.example.com:8443/?key=SECRET#SECRET", "https://chat.example.com/********"),
        ("https://SECRET@[2001:db8::1]:8443/SECRET", "https://[2001:db8::1]/********"),
        ("https://[2001:db8::1]/SECRET", "https://[2001:db8::1]/********"),
        ("https://[2001:DB8::1]/SECRET", "https://[2001:DB8::1]/********"),
        ("chat.example.com/SECRET", MASK),
        ("https://[broken/SECRET", MASK),
        ("https:///SECRET", MASK),
        ("https://a b/SECRET", MASK),
        ("", ""),
        (None, None),
    ],
)
def test_mask_url_shows_scheme_and_host(url: Any, masked: Any) -> None:
    assert mask_url(url) == masked


def test_webhooks_are_masked_by_the_type_of_the_record() -> None:
    key, path = "https://chat.example.com/hook/KEY", "https://images.example.com/disk.qcow2"
    reply = {"inventories": [{"url": key, "nested": {"webhookUrl": key}, "mountPath": key}], "url": None}
    masked = {"url": "https://chat.example.com/********", "nested": {"webhookUrl": "https://chat.example.com/********"}}
    for record_type in ("SNSWorkchatEndpointInventory", "SNSApplicationEndpointInventory", "sns-endpoint", ""):
        assert mask_webhooks(reply, record_type) == {"inventories": [{**masked, "mountPath": key}], "url": None}
    assert record_to_result({"url": key, "atAll": True}, "SNSWorkchatEndpointInventory")["url"] == masked["url"]
    assert mask_webhooks({"url": path}, "image") == {"url": path}
    for record_type in ("PrimaryStorageInventory", "primarystorage", ""):
        assert mask_webhooks({"url": "10.0.0.1:/export"}, record_type) == {"url": "10.0.0.1:/export"}
    assert mask_webhooks({"url": "chat.example.com/KEY"}, "SNSWorkchatEndpointInventory") == {"url": MASK}


def test_compile_patterns_leaves_nothing_to_compile() -> None:
    """The controller compiles all patterns, because each task has its own process, which would compile them again."""
    _compile.cache_clear()
    compile_patterns()
    compiled = _compile.cache_info().misses
    is_secret_name("password")
    is_secret_parameter("key")
    mask_credentials(" ".join(hint for form in _FORMS for hint in form.hints))
    assert _compile.cache_info().misses == compiled == len(_FORMS) + 2


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("key", "KEY", "api_key", "access_token", "sign", "X-Signature", "client-secret")),
        *((name, True) for name in ("code", "auth", "password", "virtinfra_signature")),
        *((name, False) for name in ("about", "operation", "v", "id", "host", "design", "postcode", "author", "")),
    ],
)
def test_parameters_of_urls_that_are_secret(name: str, is_secret: bool) -> None:
    assert is_secret_parameter(name) is is_secret
