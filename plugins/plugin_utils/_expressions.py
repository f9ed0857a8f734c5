# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Jinja expressions over the variables of many hosts, with ansible-core's results at a fraction of its cost.

Core compiles an expression anew for every host. Here those that are made of harmless parts (names, constants,
comparisons, arithmetic, a few filters of Jinja's own) are compiled once and together by Jinja itself; everything else,
and whatever raises an exception or has a result that core would still convert, is left to core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible.constants import config
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.template import Templar
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import TemplateError
from jinja2.nativetypes import NativeEnvironment

# Since 2.19 a string is a template only where it comes from a file of the user; before, wherever it comes from.
TRUSTS_NOBODY = hasattr(Templar, "evaluate_expression")

# Before 2.19 an option decides whether the results of templates are texts, or whatever reads like Python.
_NATIVE = not TRUSTS_NOBODY and config.get_config_value("DEFAULT_JINJA2_NATIVE")

_OPERATIONS = (
    nodes.Name,
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
_SCALARS = frozenset((str, int, float, bool, type(None), AnsibleUnsafeText))

_ENVIRONMENT = NativeEnvironment(undefined=StrictUndefined)


class _NotHere(Exception):
    """The expression is one for core."""


@dataclass(frozen=True)
class Failed:
    """In place of a result: the exception with which core refused the expression."""

    error: Exception


@dataclass(frozen=True)
class Expression:
    """An expression of the user.

    ``kind`` is ``value`` (evaluated as by core for compose and keys), ``condition`` (as for groups) or ``template``
    (a text with expressions in braces). ``hidden`` are names that mean something else than in other expressions.
    """

    source: Any
    kind: str = "value"
    hidden: frozenset[str] = frozenset()

    @cached_property
    def node(self) -> nodes.Expr | None:
        """The expression as Jinja parsed it, None when it is one for core."""
        try:
            return _parsed(self.source, braces=self.kind == "template")
        except (_NotHere, TemplateError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that it refers to."""
        if isinstance(self.node, nodes.Name):
            return frozenset((self.node.name,))
        return frozenset(name.name for name in self.node.find_all(nodes.Name)) if self.node else frozenset()

    @cached_property
    def plain(self) -> bool:
        """Whether it is nothing but the name of a variable."""
        return isinstance(self.node, nodes.Name)

    @cached_property
    def constant(self) -> bool:
        """Whether its result is the same for every host."""
        if self.node is None:
            return isinstance(self.source, bool)
        try:
            self.node.as_const(nodes.EvalContext(_ENVIRONMENT))
        except nodes.Impossible:
            return False
        return True

    def mentions(self, name: str) -> bool:
        """Whether the name may be used in it; never False wrongly."""
        return name in self.names if self.node else name in str(self.source)


class Batch:
    """Expressions that are evaluated together, over the variables of one host after another.

    ``evaluate`` is core's way; ``known`` tells of a name whether it stands for a plain value of the service.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        evaluate: Callable[[Expression, dict[str, Any]], Any],
        known: Callable[[str], bool],
    ) -> None:
        self.expressions, self._evaluate = expressions, evaluate
        self._constants: dict[int, Any] = {}
        self._fast = [
            place
            for place, expression in enumerate(expressions)
            if expression.node is not None
            and not expression.constant
            and not expression.names & expression.hidden
            and all(map(known, expression.names))
        ]
        self._slow = [place for place in range(len(expressions)) if place not in self._fast]
        self._converters = [_converter(expressions[place]) for place in self._fast]
        self._together = _compiled([expressions[place] for place in self._fast])

    @cached_property
    def _alone(self) -> list[Callable[[dict[str, Any]], list[Any]]]:
        """Each of the fast expressions compiled by itself, for hosts on which one of them raises an exception."""
        return [_compiled([self.expressions[place]]) for place in self._fast]

    def results(self, variables: dict[str, Any], by_core: bool = False) -> tuple[list[Any], bool]:
        """Return the results, Failed for those that core refuses, and whether core made none of them for this host.

        ``by_core`` leaves all to core.
        """
        found: list[Any] = [None] * len(self.expressions)
        fast = not by_core
        slow: Iterable[int] = self._slow
        if by_core:
            slow = range(len(found))
        else:
            for place, convert, result in zip(self._fast, self._converters, self._fast_results(variables), strict=True):
                try:
                    found[place] = convert(result)
                except _NotHere:
                    found[place], fast = self._by_core(place, variables), False
        for place in slow:
            found[place] = self._by_core(place, variables)
            fast = fast and place in self._constants
        return found, fast

    def _fast_results(self, variables: dict[str, Any]) -> list[Any]:
        try:
            return self._together(variables)
        except Exception:
            return [_or_none_here(compiled, variables) for compiled in self._alone]

    def _by_core(self, place: int, variables: dict[str, Any]) -> Any:
        if place in self._constants:
            return self._constants[place]
        expression = self.expressions[place]
        try:
            result = self._evaluate(expression, variables)
        except Exception as error:
            return Failed(error)
        if expression.constant:
            self._constants[place] = result
        return result


def evaluator(plugin: Any) -> Callable[[Expression, dict[str, Any]], Any]:
    """Return core's way to evaluate an expression in an inventory plugin."""

    def evaluate(expression: Expression, variables: dict[str, Any]) -> Any:
        if expression.kind == "value":
            return plugin._compose(expression.source, variables)
        plugin.templar.available_variables = variables
        if expression.kind == "template":
            return plugin.templar.template(expression.source)
        if TRUSTS_NOBODY:
            return plugin.templar.evaluate_conditional(expression.source)
        return boolean(plugin.templar.template(f"{{% if {expression.source} %}} True {{% else %}} False {{% endif %}}"))

    return evaluate


def unsafe(value: Any) -> Any:
    """Return a value of the service so that no supported core takes it, or a text made with it, for a template.

    Where core asks for that, it is done to texts without which there is no template: those with a brace, or with a
    number sign as in the header ``#jinja2:`` that declares other delimiters.
    """
    if TRUSTS_NOBODY:
        return value
    if isinstance(value, str):
        return AnsibleUnsafeText(value) if "{" in value or "#" in value else value
    if isinstance(value, dict):
        return {unsafe(key): unsafe(each) for key, each in value.items()}
    if isinstance(value, list):
        return [unsafe(each) for each in value]
    return value


def _converter(expression: Expression) -> Callable[[Any], Any]:
    """Return a function that makes of a result what core would; it raises _NotHere where core must do it itself."""
    if expression.kind == "condition":
        return _as_condition if TRUSTS_NOBODY else _as_old_condition
    if TRUSTS_NOBODY:
        return _as_any_value if expression.plain else _as_value
    return _as_old_plain_value if expression.plain else _as_old_value


def _as_condition(result: Any) -> Any:
    if isinstance(result, bool):
        return result
    raise _NotHere


def _as_old_condition(result: Any) -> Any:
    if type(result) in _SCALARS:
        return bool(result)
    raise _NotHere


def _as_value(result: Any) -> Any:
    if type(result) in _SCALARS:
        return result
    raise _NotHere


def _as_any_value(result: Any) -> Any:
    if type(result) in _SCALARS or type(result) in (list, dict):
        return result
    raise _NotHere


def _as_old_plain_value(result: Any) -> Any:
    return result if type(result) in (int, float) else _as_old_value(result)


def _as_old_value(result: Any) -> Any:
    """Before 2.19 the result is made a text, and of a text that looks like it a list, a mapping or a truth value."""
    if isinstance(result, bool):
        return result
    if type(result) not in _SCALARS or result is None or _NATIVE:
        raise _NotHere
    text = str(result)
    if text.startswith(("{", "[")) or text in ("True", "False"):
        raise _NotHere
    return unsafe(text)


def _or_none_here(compiled: Callable[[dict[str, Any]], list[Any]], variables: dict[str, Any]) -> Any:
    """Return the only result, or an exception class, which no expression results in, to have core called."""
    try:
        return compiled(variables)[0]
    except Exception:
        return _NotHere


def _compiled(expressions: Sequence[Expression]) -> Callable[[dict[str, Any]], list[Any]]:
    """Return a function from variables to the results of these expressions."""
    if not expressions:
        return lambda variables: []
    tree = nodes.Template([nodes.Output([expression.node for expression in expressions], lineno=1)], lineno=1)
    tree.set_environment(_ENVIRONMENT)
    template = _ENVIRONMENT.from_string(tree)
    render, context = template.root_render_func, template.new_context({}, shared=True)

    def evaluate(variables: dict[str, Any]) -> list[Any]:
        context.parent = variables
        return list(render(context))

    return evaluate


def _parsed(source: Any, braces: bool) -> nodes.Expr:
    """Return the node of an expression that may be evaluated here; raises _NotHere or Jinja's TemplateError."""
    # What core does with these, and with templates inside of constants, depends on its version.
    if not isinstance(source, str) or "\\" in source or "\n" in source or (not braces and "{" in source):
        raise _NotHere
    body = _ENVIRONMENT.parse(source if braces else f"{{{{ {source} }}}}").body
    if len(body) != 1 or not isinstance(body[0], nodes.Output):
        raise _NotHere
    parts = body[0].nodes
    if len(parts) != 1 and not braces:
        raise _NotHere
    for part in parts:
        _check(part)
    if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
        return parts[0]
    text = nodes.Concat([_text(part) for part in parts], lineno=1)
    text.set_environment(_ENVIRONMENT)
    return text


def _text(part: nodes.Expr) -> nodes.Expr:
    """Return a part of a template so that joined with others it makes the same text as in core."""
    if isinstance(part, nodes.TemplateData):
        return nodes.Const(part.data, lineno=1)
    if TRUSTS_NOBODY:
        return part
    missing = nodes.Test(part, "none", [], [], None, None, lineno=1)
    return nodes.CondExpr(missing, nodes.Const("", lineno=1), part, lineno=1)


def _check(node: nodes.Node) -> None:
    """Raise _NotHere unless the node and all in it give the same results in Jinja's own environment as in core's."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        if node.node.attr not in _METHODS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise _NotHere
        inside: list[nodes.Node] = [node.node.node, *node.args]
    elif _is_allowed(node):
        inside = list(node.iter_child_nodes())
    else:
        raise _NotHere
    for child in inside:
        _check(child)


def _is_allowed(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Const):
        return "{" not in str(node.value)
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS and node.node is not None
    if isinstance(node, nodes.Test):
        return node.name in _TESTS
    if isinstance(node, nodes.Getattr):
        return node.attr not in _ATTRIBUTES and not node.attr.startswith("_")
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, (nodes.Const, nodes.Neg)) and getattr(node.arg, "value", "") not in _ATTRIBUTES
    return isinstance(node, _OPERATIONS)
