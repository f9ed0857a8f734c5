# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""The subset of expressions that Jinja alone evaluates as ansible-core would, at a fraction of the cost.

Core compiles an expression again for every host. Here expressions with names, constants, comparisons, arithmetic and a
few of Jinja's own filters are compiled once and together. All other expressions, and those that raise an exception or
have a result that core would convert further, are passed to core. The other files use only ``compile_subset``: an
``ExpressionBatch`` that passes everything to core has the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ansible.constants import config
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateError
from jinja2.nativetypes import NativeEnvironment

from ...module_utils._api.records import SCALARS
from .hostvars import HAS_DATA_TAGGING, make_unsafe

# In place of a result that core must evaluate
LEFT_TO_CORE = object()

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

# Before 2.19 an option decides whether the results of templates are strings or parsed as Python values.
_NATIVE = not HAS_DATA_TAGGING and config.get_config_value("DEFAULT_JINJA2_NATIVE")

_SCALARS = SCALARS | {AnsibleUnsafeText}

Results = Callable[[dict[str, Any]], "list[Any]"]


class UnsupportedExpression(Exception):
    """Only core can evaluate the expression."""


def _of_something(test: Any) -> Callable[[Any], bool]:
    """Return a test that passes undefined values to core; Jinja's own tests simply return False for them."""

    def checked(value: Any) -> bool:
        if isinstance(value, Undefined):
            raise UnsupportedExpression
        return bool(test(value))

    return checked


_ENVIRONMENT.tests.update({name: _of_something(_ENVIRONMENT.tests[name]) for name in ("none", "number", "string")})


def compile_subset(
    expressions: Sequence[tuple[Any, str, frozenset[str]]], is_service_variable: Callable[[str], bool]
) -> tuple[Results, frozenset[int]]:
    """Return a function from the variables of a host to the results of expressions, LEFT_TO_CORE for those of core.

    An ``Expression`` has its source, its kind and the hidden names. The second value contains the indexes of
    expressions with the same result for every host.
    """
    constant: set[int] = set()
    chosen: dict[int, nodes.Expr] = {}
    names: dict[int, set[str]] = {}
    for index, (source, kind, hidden) in enumerate(expressions):
        node = _parse(source, kind == "template")
        if isinstance(source, bool) or (node and _is_constant(node)):
            constant.add(index)
        elif node:
            used = {name.name for name in [node, *node.find_all(nodes.Name)] if isinstance(name, nodes.Name)}
            if not used & hidden and all(map(is_service_variable, used)):
                chosen[index], names[index] = node, used
    converters = [_converter(expressions[index][1], node) for index, node in chosen.items()]
    together = _compile(*chosen.values())

    def results(variables: dict[str, Any]) -> list[Any]:
        found = [LEFT_TO_CORE] * len(expressions)
        try:
            values = together(variables)
        except Exception:
            values = [_evaluate_alone(node, variables) for node in chosen.values()]
        for index, convert, value in zip(chosen, converters, values, strict=True):
            result = convert(value)
            # Before 2.19 core marks results from strings and containers as unsafe.
            if not HAS_DATA_TAGGING and any(
                isinstance(variables.get(name), (str, list, dict)) for name in names[index]
            ):
                result = make_unsafe(result)
            found[index] = result
        return found

    return results, frozenset(constant)


# Several batches may contain the same expression.
@lru_cache(maxsize=256)
def _compile(*expressions: nodes.Expr) -> Results:
    """Return a function from variables to the results of these expressions."""
    if not expressions:
        return lambda variables: []
    tree = nodes.Template([nodes.Output(list(expressions), lineno=1)], lineno=1)
    tree.set_environment(_ENVIRONMENT)
    template = _ENVIRONMENT.from_string(tree)
    render, context = template.root_render_func, template.new_context({}, shared=True)

    # One context is used for all hosts, because creating it takes longer than most expressions.
    def evaluate(variables: dict[str, Any]) -> list[Any]:
        context.parent = variables
        return list(render(context))

    return evaluate


def _is_constant(node: nodes.Expr) -> bool:
    """Return whether an expression has the same result for every host."""
    try:
        node.as_const(nodes.EvalContext(_ENVIRONMENT))
    except nodes.Impossible:
        return False
    return True


def _parse(source: Any, braces: bool) -> nodes.Expr | None:
    """Return the node of an expression, None if only core can evaluate it."""
    try:
        return _parse_text(source, braces) if isinstance(source, str) else None
    except (UnsupportedExpression, TemplateError):
        return None


@lru_cache(maxsize=256)
def _parse_text(source: str, braces: bool) -> nodes.Expr:
    # How core treats backslashes, and templates inside constants, depends on its version.
    if "\\" in source or (not braces and "{" in source):
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
        _compile(node)
    except Exception as error:
        # Jinja evaluates constant parts when it compiles, and raises their errors then.
        raise UnsupportedExpression from error
    return node


def _text(part: nodes.Expr) -> nodes.Expr:
    """Return a part of a template so that the joined parts are the same string as in core."""
    if isinstance(part, nodes.TemplateData):
        return nodes.Const(part.data, lineno=1)
    if HAS_DATA_TAGGING:
        return part
    missing = nodes.Test(part, "none", [], [], None, None, lineno=1)
    return nodes.CondExpr(missing, nodes.Const("", lineno=1), part, lineno=1)


def _check(node: nodes.Node) -> None:
    """Raise UnsupportedExpression unless the whole node has the same result in Jinja's environment as in core's."""
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


def _converter(kind: str, node: nodes.Expr) -> Callable[[Any], Any]:
    """Return a function that converts a result as core would, to LEFT_TO_CORE if only core can convert it."""
    is_variable = isinstance(node, nodes.Name)
    if kind == "condition":
        return _as_condition if HAS_DATA_TAGGING else _as_old_condition
    if HAS_DATA_TAGGING:
        return _as_any_value if is_variable else _as_value
    return _as_old_plain_value if is_variable else _as_old_value


def _as_condition(result: Any) -> Any:
    if isinstance(result, bool):
        return result
    return LEFT_TO_CORE


def _as_old_condition(result: Any) -> Any:
    if type(result) in _SCALARS:
        return bool(result)
    return LEFT_TO_CORE


def _as_value(result: Any) -> Any:
    if type(result) in _SCALARS:
        return result
    return LEFT_TO_CORE


def _as_any_value(result: Any) -> Any:
    if type(result) in _SCALARS or type(result) in (list, dict):
        return result
    return LEFT_TO_CORE


def _as_old_plain_value(result: Any) -> Any:
    return result if type(result) in (int, float) else _as_old_value(result)


def _as_old_value(result: Any) -> Any:
    """Convert as before 2.19: to a string, and to a list, mapping or boolean if the string looks like one."""
    if isinstance(result, bool):
        return result
    if type(result) not in _SCALARS or result is None or _NATIVE:
        return LEFT_TO_CORE
    text = str(result)
    if text.startswith(("{", "[")) or text in ("True", "False"):
        return LEFT_TO_CORE
    return text


def _evaluate_alone(node: nodes.Expr, variables: dict[str, Any]) -> Any:
    """Return the result of one expression; for an exception, a value that every converter passes to core."""
    try:
        return _compile(node)(variables)[0]
    except Exception:
        return LEFT_TO_CORE
