"""Decoding replies: keys that are special to Ansible, encodings, numbers, and nesting."""

from __future__ import annotations

import json

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import TransportError
from ansible_collections.virtinfra.manager.plugins.module_utils._api.records import record_to_result
from ansible_collections.virtinfra.manager.plugins.module_utils._http.response import MAX_JSON_DEPTH, decode_object
from conftest import client_of

from support.stub_server import StubResponse, StubServer


@pytest.mark.parametrize(
    "key",
    [
        "__ansible_type",
        r"\u005f_ansible_type",
        r"_\u005Fansible_type",
        r"__\u0061nsible_type",
        r"__ansib\u006c\u0065_type",
        r"\u005f\u005f\u0061\u006e\u0073\u0069\u0062\u006c\u0065\u005f\u0074\u0079\u0070\u0065",
        "_AnsibleType",
        "__ansibleType",
    ],
)
def test_reserved_keys_are_renamed_in_any_spelling(key: str) -> None:
    body = '{"inventories": [{"a": [{"b": {"KEY": "x", "kept_key": "__ansible_type"}}]}]}'.replace("KEY", key)
    with StubServer(lambda request: StubResponse(200, body.encode())) as service, client_of(service) as client:
        reply = client.get("QueryHost", {})
    assert not any(name.startswith("__ansible_") for name in reply["inventories"][0]["a"][0]["b"])
    (record,) = record_to_result(reply["inventories"])
    assert record["a"] == [{"b": {"ansible_type": "x", "kept_key": "__ansible_type"}}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_reply_in_another_encoding_is_not_json(encoding: str) -> None:
    body = json.dumps({"inventories": [{"uuid": "a" * 32}]}).encode(encoding)
    with (
        StubServer(lambda request: StubResponse(200, body)) as service,
        client_of(service, request_retries=0) as client,
        pytest.raises(TransportError, match="not a JSON object"),
    ):
        client.get("QueryHost", {})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_without_a_value_is_no_json(text: str) -> None:
    assert decode_object(b'{"inventories": [{"size": %s}]}' % text.encode()) is None


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(("depth", "is_accepted"), [(MAX_JSON_DEPTH - 1, True), (MAX_JSON_DEPTH, False), (5000, False)])
def test_nesting_is_limited(opening: str, depth: int, is_accepted: bool) -> None:
    closing = "]" if opening == "[" else "}"
    body = '{"a":' + opening * depth + "1" + closing * depth + "}"
    assert (decode_object(body.encode()) is not None) is is_accepted


@pytest.mark.parametrize("body", ["[]", "null", "1", '"a"', "", "{", '{"a": 1} x'])
def test_only_an_object_is_a_reply(body: str) -> None:
    assert decode_object(body.encode()) is None


def test_half_of_a_character_becomes_a_question_mark() -> None:
    assert decode_object(rb'{"name": "a\ud83d", "next": "\ud83d\ude00"}') == {"name": "a?", "next": "\N{GRINNING FACE}"}


def test_a_byte_order_mark_is_skipped() -> None:
    assert decode_object(b'\xef\xbb\xbf{"size": 1.5}') == {"size": 1.5}
