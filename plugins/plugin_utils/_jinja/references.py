"""Find the variables that expressions of the user may refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import Environment, TemplateError, nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.meta import find_undeclared_variables

# Words of an expression that can reach a variable whose name is not in its text.
INDIRECT = frozenset("lookup query q vars hostvars varnames include import extends".split())

# The filters and tests that accept a variable that is missing.
_GUARDS = frozenset("default d defined undefined ansible.builtin.default mandatory".split())

# Names in every expression, of Jinja and of core.
_GLOBALS = INDIRECT.union(DEFAULT_NAMESPACE, ("now", "omit", "undef"))

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


def _ignore(dummy: Any) -> bool:
    """Stand for a filter or a test, which is never called."""
    return False


def find_required_names(source: Any) -> set[str]:
    """Return the variables without which an expression, or a template, fails.

    A variable that it compares with ``is defined``, or gives to ``default``, is not among them. An expression that is
    not valid, or is not a string, has none.
    """
    if not isinstance(source, str):
        return set()
    try:
        tree = _ENVIRONMENT.parse(source if "{{" in source else f"{{{{ {source} }}}}")
        # An expression with a filter or a test that Jinja does not know, such as those of core, would not be valid.
        for filtered in tree.find_all(nodes.Filter):
            _ENVIRONMENT.filters.setdefault(filtered.name, _ignore)
        for tested in tree.find_all(nodes.Test):
            _ENVIRONMENT.tests.setdefault(tested.name, _ignore)
        return find_undeclared_variables(tree) - _find_optional_names(tree) - _GLOBALS
    except TemplateError:
        return set()


def _find_optional_names(tree: nodes.Template) -> set[str]:
    """Return the names whose variables may be missing."""
    guards = [node for node in tree.find_all((nodes.Filter, nodes.Test)) if node.name in _GUARDS]
    return {node.name for guard in guards for node in guard.find_all(nodes.Name)}
