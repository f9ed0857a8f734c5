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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible.constants import config
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from ansible_collections.virtinfra.manager.plugins.plugin_utils._harmless import (
    HAS_DATA_TAGGING,
    UnsupportedExpression,
    compiled,
    is_constant,
    parsed,
)
from jinja2 import nodes
from jinja2.exceptions import TemplateError

# Before 2.19 an option decides whether the results of templates are texts, or whatever reads like Python.
_NATIVE = not HAS_DATA_TAGGING and config.get_config_value("DEFAULT_JINJA2_NATIVE")

_SCALARS = frozenset((str, int, float, bool, type(None), AnsibleUnsafeText))


@dataclass(frozen=True)
class EvaluationFailure:
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
            return parsed(self.source, braces=self.kind == "template")
        except (UnsupportedExpression, TemplateError):
            return None

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that it refers to."""
        if isinstance(self.node, nodes.Name):
            return frozenset((self.node.name,))
        return frozenset(name.name for name in self.node.find_all(nodes.Name)) if self.node else frozenset()

    @cached_property
    def is_variable(self) -> bool:
        """Whether it is nothing but the name of a variable."""
        return isinstance(self.node, nodes.Name)

    @cached_property
    def is_constant(self) -> bool:
        """Whether its result is the same for every host."""
        return is_constant(self.node) if self.node else isinstance(self.source, bool)

    def uses_text(self, variables: Mapping[str, Any]) -> bool:
        """Whether a result must be marked as unsafe as core does it: before 2.19, when made of a text or container."""
        return not HAS_DATA_TAGGING and any(isinstance(variables.get(name), (str, list, dict)) for name in self.names)

    def may_reference(self, name: str) -> bool:
        """Whether the name may be used in it; never False wrongly."""
        return name in self.names if self.node else name in str(self.source)


class ExpressionBatch:
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
            and not expression.is_constant
            and not expression.names & expression.hidden
            and all(map(known, expression.names))
        ]
        self._slow = [place for place in range(len(expressions)) if place not in self._fast]
        self._converters = [_converter(expressions[place]) for place in self._fast]
        self._nodes = [node for place in self._fast if (node := expressions[place].node)]
        self._together = compiled(self._nodes)

    @cached_property
    def _alone(self) -> list[Callable[[dict[str, Any]], list[Any]]]:
        """Each of the fast expressions compiled by itself, for hosts on which one of them raises an exception."""
        return [compiled([node]) for node in self._nodes]

    def results(self, variables: dict[str, Any], by_core: bool = False) -> tuple[list[Any], bool]:
        """Return the results, Failed for those that core refuses, and whether core made none of them for this host.

        ``by_core`` leaves all to core.
        """
        if by_core:
            return [self._by_core(place, variables) for place in range(len(self.expressions))], False
        found: list[Any] = [None] * len(self.expressions)
        fast = True
        for place, convert, result in zip(self._fast, self._converters, self._fast_results(variables), strict=True):
            try:
                value = convert(result)
            except UnsupportedExpression:
                value, fast = self._by_core(place, variables), False
            found[place] = make_unsafe(value) if self.expressions[place].uses_text(variables) else value
        for place in self._slow:
            found[place] = self._by_core(place, variables)
            fast = fast and place in self._constants
        return found, fast

    def _fast_results(self, variables: dict[str, Any]) -> list[Any]:
        try:
            return self._together(variables)
        except Exception:
            return [_only(evaluate, variables) for evaluate in self._alone]

    def _by_core(self, place: int, variables: dict[str, Any]) -> Any:
        if place in self._constants:
            return self._constants[place]
        expression = self.expressions[place]
        try:
            result = self._evaluate(expression, variables)
        except Exception as error:
            return EvaluationFailure(error)
        if expression.is_constant:
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
        if HAS_DATA_TAGGING:
            return plugin.templar.evaluate_conditional(expression.source)
        return boolean(plugin.templar.template(f"{{% if {expression.source} %}} True {{% else %}} False {{% endif %}}"))

    return evaluate


def make_unsafe(value: Any) -> Any:
    """Return a value of the service so that no supported core takes a text in it for a template or an expression.

    Before 2.19 core evaluates any unmarked text that reaches a condition, so there every text is marked.
    """
    if HAS_DATA_TAGGING:
        return value
    if isinstance(value, str):
        return AnsibleUnsafeText(value)
    if isinstance(value, dict):
        return {make_unsafe(key): make_unsafe(each) for key, each in value.items()}
    if isinstance(value, list):
        return [make_unsafe(each) for each in value]
    return value


def _converter(expression: Expression) -> Callable[[Any], Any]:
    """Return a function that makes of a result what core would; it raises NotHere where core must do it itself."""
    if expression.kind == "condition":
        return _as_condition if HAS_DATA_TAGGING else _as_old_condition
    if HAS_DATA_TAGGING:
        return _as_any_value if expression.is_variable else _as_value
    return _as_old_plain_value if expression.is_variable else _as_old_value


def _as_condition(result: Any) -> Any:
    if isinstance(result, bool):
        return result
    raise UnsupportedExpression


def _as_old_condition(result: Any) -> Any:
    if type(result) in _SCALARS:
        return bool(result)
    raise UnsupportedExpression


def _as_value(result: Any) -> Any:
    if type(result) in _SCALARS:
        return result
    raise UnsupportedExpression


def _as_any_value(result: Any) -> Any:
    if type(result) in _SCALARS or type(result) in (list, dict):
        return result
    raise UnsupportedExpression


def _as_old_plain_value(result: Any) -> Any:
    return result if type(result) in (int, float) else _as_old_value(result)


def _as_old_value(result: Any) -> Any:
    """Before 2.19 the result is made a text, and of a text that looks like it a list, a mapping or a truth value."""
    if isinstance(result, bool):
        return result
    if type(result) not in _SCALARS or result is None or _NATIVE:
        raise UnsupportedExpression
    text = str(result)
    if text.startswith(("{", "[")) or text in ("True", "False"):
        raise UnsupportedExpression
    return text


def _only(evaluate: Callable[[dict[str, Any]], list[Any]], variables: dict[str, Any]) -> Any:
    """Return the only result; instead of an exception a class, which is no expression's result, so core is asked."""
    try:
        return evaluate(variables)[0]
    except Exception:
        return UnsupportedExpression
