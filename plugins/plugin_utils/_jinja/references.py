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
GUARDS = frozenset("default d defined undefined ansible.builtin.default mandatory".split())

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
    tree = parse_expression(source)
    return find_undeclared_variables(tree) - _find_optional_names(tree) - _GLOBALS if tree else set()


def parse_expression(source: Any) -> nodes.Template | None:
    """Return the nodes of an expression or a template, None if it is not valid, or is not a string."""
    if not isinstance(source, str):
        return None
    try:
        tree = _ENVIRONMENT.parse(source if "{{" in source else f"{{{{ {source} }}}}")
    except TemplateError:
        return None
    # A template with a filter or a test that Jinja does not know, such as those of core, would not be valid.
    for filtered in tree.find_all(nodes.Filter):
        _ENVIRONMENT.filters.setdefault(filtered.name, _ignore)
    for tested in tree.find_all(nodes.Test):
        _ENVIRONMENT.tests.setdefault(tested.name, _ignore)
    return tree


def has_items(source: str) -> bool:
    """Return whether an expression is a tuple, or a template has several parts."""
    tree = parse_expression(source)
    parts = [part for output in tree.find_all(nodes.Output) for part in output.nodes] if tree else []
    return len(parts) > 1 or any(isinstance(part, nodes.Tuple) for part in parts)


def joins_name(source: Any, name: str) -> bool:
    """Return whether an expression compares a variable, or one of its members, with something or joins it to a text."""
    tree = parse_expression(source)
    joined = tree.find_all((nodes.Compare, nodes.Concat, nodes.Add, nodes.List, nodes.Tuple)) if tree else ()
    operands = (
        child.expr if isinstance(child, nodes.Operand) else child
        for each in joined
        for child in each.iter_child_nodes()
    )
    return any(_find_owner(operand) == name for operand in operands)


def _find_owner(node: nodes.Node) -> str:
    """Return the variable of a node that is a variable, or a member of one; empty for others."""
    while isinstance(node, nodes.Getattr):
        node = node.node
    return str(node.name) if isinstance(node, nodes.Name) else ""


def _find_optional_names(tree: nodes.Template) -> set[str]:
    """Return the names whose variables may be missing."""
    return {node.name for guard in find_guards(tree) for node in guard.find_all(nodes.Name)}


def find_guards(tree: nodes.Template) -> list[nodes.Node]:
    """Return the filters and tests that accept what is missing."""
    return [node for node in tree.find_all((nodes.Filter, nodes.Test)) if node.name in GUARDS]
