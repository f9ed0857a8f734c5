# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is PRIVATE to the collection. It can have breaking changes at any time.

"""Jinja expressions over the variables of many hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ansible.module_utils.parsing.convert_bool import boolean

from .hostvars import HAS_DATA_TAGGING
from .jinja_subset import LEFT_TO_CORE, compile_subset


@dataclass(frozen=True)
class EvaluationFailure:
    """The exception with which core refused an expression, in place of its result."""

    error: Exception


class Expression(NamedTuple):
    """An expression of the user.

    ``kind`` is ``value`` (evaluated as by core for compose and keys), ``condition`` (as for groups) or ``template``
    (a text with expressions in braces). ``hidden`` are names with another meaning than in other expressions.
    """

    source: Any
    kind: str = "value"
    hidden: frozenset[str] = frozenset()

    def may_reference(self, name: str) -> bool:
        """Return whether the expression may use the name; True if in doubt."""
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(self.source)) is not None


class Evaluation(NamedTuple):
    """The results of a batch for one host, and whether core evaluated any of them for this host."""

    results: list[Any]
    used_core: bool


class ExpressionBatch:
    """Expressions that are evaluated together, over the variables of one host after another.

    ``evaluate_with_core`` evaluates an expression with core; ``is_service_variable`` says whether a name is a variable
    with a plain value of the service. Expressions that Jinja alone can evaluate are not passed to core, which compiles
    an expression again for every host.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        evaluate_with_core: Callable[[Expression, dict[str, Any]], Any],
        is_service_variable: Callable[[str], bool],
    ) -> None:
        self._expressions, self._evaluate_with_core = expressions, evaluate_with_core
        self._evaluate_subset, self._constant_indexes = compile_subset(expressions, is_service_variable)
        self._constants: dict[int, Any] = {}

    def evaluate(self, variables: dict[str, Any], with_core: bool = False) -> Evaluation:
        """Return the results; an expression that core refuses has an EvaluationFailure.

        Core evaluates all expressions if ``with_core`` is true.
        """
        results = [LEFT_TO_CORE] * len(self._expressions) if with_core else self._evaluate_subset(variables)
        used_core = with_core
        for index, result in enumerate(results):
            if result is LEFT_TO_CORE:
                results[index] = self._ask_core(index, variables)
                used_core = used_core or index not in self._constants
        return Evaluation(results, used_core)

    def _ask_core(self, index: int, variables: dict[str, Any]) -> Any:
        """Return the result of core for one expression, and remember it if it is the same for every host."""
        if index in self._constants:
            return self._constants[index]
        try:
            result = self._evaluate_with_core(self._expressions[index], variables)
        except Exception as error:
            return EvaluationFailure(error)
        if index in self._constant_indexes:
            self._constants[index] = result
        return result


def create_evaluator(plugin: Any) -> Callable[[Expression, dict[str, Any]], Any]:
    """Return a function that evaluates an expression with core, as in an inventory plugin."""

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
