# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Find the variables that expressions of the user may refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import Environment, TemplateError, nodes

# Words of an expression that can reach a variable whose name is not in its text.
INDIRECT = frozenset("lookup query q vars hostvars varnames include import extends".split())

_ENVIRONMENT = Environment(autoescape=True)


def list_texts(sources: Iterable[Any]) -> list[str]:
    """Return all strings in expressions and in lists and mappings of them."""
    texts: list[str] = []
    for source in sources:
        if isinstance(source, str):
            texts.append(str(source))
        elif isinstance(source, Mapping):
            texts += list_texts(source.values())
        elif isinstance(source, (list, tuple)):
            texts += list_texts(source)
    return texts


def find_words(texts: Iterable[str]) -> set[str]:
    """Return all words of expressions, also those in their strings, which may be names of variables for a filter."""
    return {word for text in texts for word in re.findall(r"\w+", text)}


def find_names(texts: Iterable[str]) -> set[str]:
    """Return the names in expressions and templates, with those of loops; all words of one that is not valid."""
    names: set[str] = set()
    for text in texts:
        template = text if "{{" in text or "{%" in text else f"{{{{ {text} }}}}"
        try:
            names |= {node.name for node in _ENVIRONMENT.parse(template).find_all(nodes.Name)}
        except TemplateError:
            names |= find_words([text])
    return names
