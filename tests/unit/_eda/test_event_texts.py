"""Texts of the service in events are no templates, and no literals of templates."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.texts import disarm_templates
from hypothesis import given
from hypothesis import strategies as st

from support.hostile_texts import hostile_texts

BEGINNINGS = ("{{", "{%", "{#", "#jinja2:")
# Pieces of templates and of literals, so that many joined texts are a template or a literal.
PIECES = st.sampled_from(
    [*"{%#'\"\\[],\n ", "#jin", "ja2:", "#jinja2:", "x7b", "u007b", "173", "N{LEFT CURLY BRACKET}"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def readings(text: str) -> Iterator[str]:
    """Yield the text, and the strings in the value of which it is a literal in Python or JSON, also repeatedly."""
    yield text
    for read in (ast.literal_eval, json.loads):
        try:
            value = read(text)
        except (SyntaxError, TypeError, ValueError):
            continue
        for each in strings(value):
            if each != text:
                yield from readings(each)


def strings(value: Any) -> list[str]:
    """Return the strings in a value, also those in lists and sets."""
    if isinstance(value, str):
        return [value]
    return [text for each in value for text in strings(each)] if isinstance(value, (list, set, tuple)) else []


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@given(TEXTS)
def test_no_literal_is_a_template(text: str) -> None:
    for reading in readings(disarm_templates(text)):
        assert not any(beginning in reading for beginning in BEGINNINGS), reading


@given(TEXTS, TEXTS)
def test_texts_form_no_template_together(first: str, second: str) -> None:
    joined = disarm_templates(first) + disarm_templates(second)
    assert not any(beginning in joined for beginning in BEGINNINGS[:3])
    assert not joined.startswith("#jinja2:")


@given(TEXTS)
def test_disarmed_texts_remain_as_they_are(text: str) -> None:
    disarmed = disarm_templates(text)
    assert disarm_templates(disarmed) == disarmed


def test_other_texts_remain_as_they_are(tmp_path: Path) -> None:
    value = {"a": ["issue #1: 50 % of {a} }} %} C:\\temp \u00e4", 1, None, True, {"b": {}}]}
    assert disarm_templates(value) == value
    assert all(disarm_templates(text) != text for text in hostile_texts(tmp_path))
