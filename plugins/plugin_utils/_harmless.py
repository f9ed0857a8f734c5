# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Expressions that Jinja alone can evaluate as core would: what they may be made of, and how they are compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.template import Templar
from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.nativetypes import NativeEnvironment

# Since 2.19 a string is a template only where it comes from a file of the user; before, wherever it comes from.
HAS_DATA_TAGGING = hasattr(Templar, "evaluate_expression")

_OPERATIONS = (
    nodes.Name,
    nodes.Const,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Neg,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
    nodes.Concat,
    nodes.CondExpr,
    nodes.List,
    nodes.Tuple,
    nodes.TemplateData,
)
_FILTERS = frozenset(
    "abs capitalize count d default first float int join last length lower replace string title trim upper".split()
)
_TESTS = frozenset("defined none number string undefined".split())
_METHODS = frozenset("endswith lower removeprefix removesuffix replace split startswith strip title upper".split())
_ATTRIBUTES = frozenset(name for kind in (str, int, float, dict, list) for name in dir(kind))
_ENVIRONMENT = NativeEnvironment(undefined=StrictUndefined)


class UnsupportedExpression(Exception):
    """The expression is one for core."""


def _of_something(test: Any) -> Callable[[Any], bool]:
    """Return a test that leaves what is undefined to core; for Jinja it is simply no text, no number and not None."""

    def checked(value: Any) -> bool:
        if isinstance(value, Undefined):
            raise UnsupportedExpression
        return bool(test(value))

    return checked


_ENVIRONMENT.tests.update({name: _of_something(_ENVIRONMENT.tests[name]) for name in ("none", "number", "string")})


def compiled(expressions: Sequence[nodes.Expr]) -> Callable[[dict[str, Any]], list[Any]]:
    """Return a function from variables to the results of these expressions."""
    if not expressions:
        return lambda variables: []
    tree = nodes.Template([nodes.Output(list(expressions), lineno=1)], lineno=1)
    tree.set_environment(_ENVIRONMENT)
    template = _ENVIRONMENT.from_string(tree)
    render, context = template.root_render_func, template.new_context({}, shared=True)

    # One context serves all hosts: to make one takes longer than most expressions.
    def evaluate(variables: dict[str, Any]) -> list[Any]:
        context.parent = variables
        return list(render(context))

    return evaluate


def is_constant(node: nodes.Expr) -> bool:
    """Whether an expression has the same result for every host."""
    try:
        node.as_const(nodes.EvalContext(_ENVIRONMENT))
    except nodes.Impossible:
        return False
    return True


def parsed(source: Any, braces: bool) -> nodes.Expr:
    """Return the node of an expression that may be evaluated here; raises NotHere, or TemplateError of Jinja."""
    # What core does with backslashes, and with templates inside of constants, depends on its version.
    if not isinstance(source, str) or "\\" in source or (not braces and "{" in source):
        raise UnsupportedExpression
    body = _ENVIRONMENT.parse(source if braces else f"{{{{ {source} }}}}").body
    if len(body) != 1 or not isinstance(body[0], nodes.Output):
        raise UnsupportedExpression
    parts = body[0].nodes
    if len(parts) != 1 and not braces:
        raise UnsupportedExpression
    for part in parts:
        _check(part)
    node = parts[0]
    if len(parts) > 1 or isinstance(node, nodes.TemplateData):
        node = nodes.Concat([_text(part) for part in parts], lineno=1)
        node.set_environment(_ENVIRONMENT)
    try:
        compiled([node])
    except Exception as error:
        # Jinja evaluates what is constant while it compiles, and so stumbles over mistakes in it.
        raise UnsupportedExpression from error
    return node


def _text(part: nodes.Expr) -> nodes.Expr:
    """Return a part of a template so that joined with others it makes the same text as in core."""
    if isinstance(part, nodes.TemplateData):
        return nodes.Const(part.data, lineno=1)
    if HAS_DATA_TAGGING:
        return part
    missing = nodes.Test(part, "none", [], [], None, None, lineno=1)
    return nodes.CondExpr(missing, nodes.Const("", lineno=1), part, lineno=1)


def _check(node: nodes.Node) -> None:
    """Raise NotHere unless the node and all in it give the same results in Jinja's own environment as in core's."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        if node.node.attr not in _METHODS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise UnsupportedExpression
        inside: list[nodes.Node] = [node.node.node, *node.args]
    elif _is_allowed(node):
        inside = list(node.iter_child_nodes())
    else:
        raise UnsupportedExpression
    for child in inside:
        _check(child)


def _is_allowed(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS and node.node is not None
    if isinstance(node, nodes.Test):
        return node.name in _TESTS
    if isinstance(node, nodes.Getattr):
        return node.attr not in _ATTRIBUTES and not node.attr.startswith("_")
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, (nodes.Const, nodes.Neg)) and getattr(node.arg, "value", "") not in _ATTRIBUTES
    return isinstance(node, _OPERATIONS)
