"""Jinja expressions over the variables of many hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ansible.module_utils.parsing.convert_bool import boolean
from jinja2 import Environment, TemplateSyntaxError, nodes

from ...module_utils._api.errors import InvalidOptions, has_word
from ...module_utils._api.limits import find_size
from .marks import HAS_DATA_TAGGING
from .subset import LEFT_TO_CORE, compile_subset, find_syntax_error


@dataclass(frozen=True)
class EvaluationFailure:
    """The exception with which core refused an expression, in place of its result."""

    error: Exception


class Expression(NamedTuple):
    """An expression of the user.

    ``kind`` is ``value`` (evaluated as by core for compose and keys), ``condition`` (as for groups) or ``template``
    (a string with expressions in braces). ``hidden`` are names with another meaning than in other expressions.
    """

    source: Any
    kind: str = "value"
    hidden: frozenset[str] = frozenset()

    def may_reference(self, name: str) -> bool:
        """Return whether the expression may use the name; True if in doubt."""
        return has_word(str(self.source), name)


class Evaluation(NamedTuple):
    """The results of a batch for one host, and whether core evaluated any of them for this host."""

    results: list[Any]
    used_core: bool


class ExpressionBatch:
    """Expressions that are evaluated together, over the variables of one host after another.

    ``evaluate_with_core`` evaluates an expression with core; ``is_service_variable`` says whether a name is a variable
    with a plain value of the service. Expressions that Jinja alone can evaluate are not passed to core.
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
            result = EvaluationFailure(error)
        if index in self._constant_indexes:
            self._constants[index] = result
        return result


def check_syntax(plugin: Any) -> None:
    """Raise InvalidOptions for an expression that is not a valid one, for which core makes no group and no variable."""
    for label, source, kind in _list_expressions(plugin):
        if isinstance(source, str) and re.fullmatch(r"\s*{{.*}}\s*", source):
            raise InvalidOptions(f"{label}: {source!r} is in braces. Write the expression without {{{{ }}}}.")
        if kind == "condition" and isinstance(source, str) and "{%" in source:
            raise InvalidOptions(
                f"{label}: {source!r} is a template. Write the condition alone, such as virtinfra_state == 'Running'."
            )
        if reason := find_syntax_error(source, kind):
            hint = _explain_syntax(str(source), reason)
            raise InvalidOptions(f"{label}: {str(source)!r} is not a valid expression: {reason.rstrip('.')}.{hint}")
        if isinstance(source, str) and re.fullmatch(r"""\s*(['"]).*{{.*}}.*\1\s*""", source):
            raise InvalidOptions(
                f"{label}: {source!r} is a text with braces. Expressions are without them, such as"
                " 'vm-' ~ virtinfra_name"
            )
        if kind == "condition" and isinstance(source, str) and _gives_text(source):
            raise InvalidOptions(
                f"{label}: {source!r} gives a text, not true or false. To look for a part of a text, write 'web' in"
                " virtinfra_name"
            )


def _explain_syntax(source: str, reason: str) -> str:
    """Return a sentence, and a space before it, with what was probably meant by an expression that is not valid."""
    if reason.endswith("got '='"):
        return " Write == to compare."
    if re.fullmatch(r"[\w.@:~-]*/[\w./@:~-]+|\w+@[\w.-]+", source):
        return f""" To give the text {source}, write "'{source}'", with both kinds of quotes."""
    size = find_size(source)
    return f" Numbers have no units. Write {size[1]} in place of {size[0]}." if size else ""


def _list_expressions(plugin: Any) -> list[tuple[str, Any, str]]:
    """Return the expressions in the options of an inventory, each with the option and what it gives."""
    keys = [entry.get("key") for entry in plugin.get_option("keyed_groups") or () if isinstance(entry, Mapping)]
    conditions = plugin.get_option("groups") or {}
    return [
        *((f"compose: {name}", source, "value") for name, source in (plugin.get_option("compose") or {}).items()),
        *((f"groups: {name}", source, "condition") for name, source in conditions.items()),
        *(("keyed_groups", source, "value") for source in keys),
        *((name, source, "condition") for name in ("include", "exclude") for source in plugin.get_option(name)),
    ]


def _gives_text(source: str) -> bool:
    """Return whether a valid expression is a text, or puts texts together, whatever the variables are."""
    output = Environment().parse(f"{{{{ {source} }}}}").body[0]
    expression = output.nodes[0] if isinstance(output, nodes.Output) else output
    if isinstance(expression, nodes.Add):
        return any(
            isinstance(side, nodes.Const) and isinstance(side.value, str) for side in expression.iter_child_nodes()
        )
    return isinstance(expression, nodes.Concat) or (
        isinstance(expression, nodes.Const) and isinstance(expression.value, str)
    )


# How many compiled expressions are remembered, which are those of a source and of its variables.
MAX_COMPILED = 256


def create_evaluator(plugin: Any) -> Callable[[Expression, dict[str, Any]], Any]:
    """Return a function that evaluates an expression with core, as in an inventory plugin."""
    compile_once(plugin.templar)

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


def compile_once(templar: Any) -> None:
    """Make a templar remember the expressions that it has compiled, and evaluate the same ones for other variables.

    Core compiles an expression again for every host, which takes ten times as long as evaluating it. It offers no other
    way to prevent that. A templar without the functions that are replaced here compiles as usual.
    """
    engine = getattr(templar, "_engine", None)
    if engine is None:
        _compile_once_in_environment(templar.environment)
        return
    for name in ("_compile_expression", "_compile_template"):
        function = getattr(engine, name, None)
        if function is not None and not hasattr(function, "cache_info"):
            setattr(engine, name, lru_cache(MAX_COMPILED)(function))


def _compile_once_in_environment(environment: Any) -> None:
    """Do the same before core 2.19, where the environment compiles."""
    if "from_string" in vars(environment):
        return
    compile_template, create_overlay = environment.from_string, environment.overlay
    templates: dict[str, Any] = {}
    failures: dict[str, TemplateSyntaxError] = {}

    def from_string(source: str) -> Any:
        if source in failures:
            raise failures[source].with_traceback(None)
        template = templates.get(source)
        if template is None:
            try:
                template = compile_template(source)
            except TemplateSyntaxError as failure:
                failures[source] = failure
                raise
            if len(templates) < MAX_COMPILED and not _has_constant_filter(environment.parse(source)):
                templates[source] = template
        # Core replaces lookups in the globals of the template.
        template.globals = environment.make_globals(None)
        return template

    def overlay(**options: Any) -> Any:
        # An overlay inherits the attributes of the environment, but compiles differently.
        created = create_overlay(**options)
        del created.from_string
        return created

    environment.from_string, environment.overlay = from_string, overlay


def _has_constant_filter(template: nodes.Template) -> bool:
    """Return whether a filter has only constant arguments.

    Jinja calls it when it compiles, and it may be one that returns something else each time, such as ``random``.
    """
    return any(next(node.find_all(nodes.Name), None) is None for node in template.find_all(nodes.Filter))
