"""The URL of a webhook: its form, and the signature that shows who wrote it."""

from __future__ import annotations

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.webhooks import (
    NO_WEBHOOK,
    Webhook,
    is_signed,
    read_parameter,
    sign_url,
)

RECEIVER = "https://receiver.example.com"
JOB, KEY = "0f" * 16, "a key"
# Computed with openssl: the id of the job, ``about`` and ``operation``, as a list of JSON.
SIGNATURE = "99f9e2963ebf2788cb74647b1e30b7651b4c293c5ce851566c8b342e9fb93603"
SIGNATURE_WITHOUT_PARAMETERS = "ae8aa5d9ac5c551cffa55d9538351bb6686f3d6f60a044baae41f52c9b2d1a6a"


@pytest.mark.parametrize(
    ("url", "signed"),
    [
        (f"{RECEIVER}/", f"{RECEIVER}/?virtinfra_signature={SIGNATURE_WITHOUT_PARAMETERS}"),
        (
            f"{RECEIVER}/?about=vm-1&operation=StartVmInstance#a#b?",
            f"{RECEIVER}/?about=vm-1&operation=StartVmInstance&virtinfra_signature={SIGNATURE}#a#b?",
        ),
        # A question mark in the fragment begins no query.
        (f"{RECEIVER}/#a?", f"{RECEIVER}/?virtinfra_signature={SIGNATURE_WITHOUT_PARAMETERS}#a?"),
    ],
)
def test_signature_of_a_url(url: str, signed: str) -> None:
    assert sign_url(url, JOB, KEY) == signed
    assert Webhook(url, KEY).build_headers(JOB) == {"X-Web-Hook": signed}
    assert is_signed(signed, JOB, KEY)
    assert is_signed(signed.removeprefix(RECEIVER).partition("#")[0], JOB, KEY)


def test_signature_is_that_of_one_call() -> None:
    """The signature of another job, key or object is refused, as are a missing one and one that is not ASCII."""
    signed = sign_url("/?about=vm-1&operation=StartVmInstance", JOB, KEY)
    assert is_signed(signed, JOB, KEY)
    assert not is_signed(signed, "1f" * 16, KEY)
    assert not is_signed(signed, JOB, "another key")
    assert not is_signed(signed.replace("vm-1", "vm-2"), JOB, KEY)
    assert not is_signed(signed.replace("Start", "Stop"), JOB, KEY)
    for text in ("", "?virtinfra_signature=", "?virtinfra_signature=\ud800", "?virtinfra_signature=%ff", "//[x"):
        assert not is_signed(f"/{text}", JOB, KEY)


def test_parameters_of_a_url() -> None:
    target = "/hook?about=a%20b&about=c&name=%ff&empty="
    values = [read_parameter(target, name) for name in ("about", "name", "empty", "other")]
    assert values == ["a b", "\ufffd", "", ""]
    assert read_parameter("//[x?about=a", "about") == ""


def test_without_a_key_the_url_is_not_signed() -> None:
    assert Webhook(RECEIVER, None).build_headers(JOB) == {"X-Web-Hook": RECEIVER}
    assert NO_WEBHOOK.build_headers(JOB) == {}


@pytest.mark.parametrize("url", ["receiver.example.com", "ftp://receiver.example.com", f"{RECEIVER}/a b", "http://"])
def test_wrong_url(url: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        Webhook(url, None)
    assert str(caught.value) == "webhook_url must have the form https://HOST/path, without spaces"
