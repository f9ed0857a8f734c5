"""The subset of expressions that Jinja alone evaluates as ansible-core would, at a fraction of the cost.

Core prepares an environment for every result. Here expressions with names, constants, comparisons, arithmetic, and
filters and tests that depend on nothing but their arguments are compiled once and together. All other expressions, and
those that raise an exception or have a result that core would convert further, are passed to core. The other files use
only ``compile_subset``: an ``ExpressionBatch`` that passes everything to core has the same results.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ansible.constants import config
from ansible.plugins.loader import filter_loader, test_loader
from ansible.utils.unsafe_proxy import AnsibleUnsafeText
from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.nativetypes import NativeEnvironment

from ...module_utils._api.records import SCALARS
from .marks import HAS_DATA_TAGGING, make_unsafe

# The marker in place of a result that core must evaluate.
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
    nodes.Slice,
    nodes.TemplateData,
)
_FILTERS = frozenset(
    "abs capitalize count d default first float int join last length list lower replace round string title trim"
    " upper".split()
)
_TESTS = frozenset("defined none number string undefined".split())
_PLAIN_TESTS = frozenset("boolean divisibleby eq equalto even float ge gt in integer le lt ne odd".split())

# Filters and tests of core and of this collection that depend on nothing but their arguments.
_PLUGINS = {
    filter_loader: frozenset(
        "b64decode b64encode basename bool checksum dirname hash human_readable human_to_bytes log md5 pow quote"
        " regex_escape regex_findall regex_replace regex_search root sha1 split splitext ternary to_datetime to_uuid"
        " urldecode urlsplit win_basename win_dirname virtinfra.manager.escape_controls"
        " virtinfra.manager.to_datetime".split()
    ),
    test_loader: frozenset(
        "contains match regex search version version_compare virtinfra.manager.remote_address".split()
    ),
}
_SOURCES = ("ansible.builtin.", "virtinfra.manager.")

_METHODS = frozenset(
    "capitalize casefold endswith isalnum isalpha isdigit isoformat ljust lower lstrip partition removeprefix"
    " removesuffix replace rjust rpartition rsplit rstrip split splitlines startswith strftime strip title upper"
    " zfill".split()
)
_ATTRIBUTES = frozenset(
    name for kind in (str, int, float, dict, list, datetime.datetime, datetime.timedelta) for name in dir(kind)
) - frozenset("year month day hour minute second days seconds".split())
_ENVIRONMENT = NativeEnvironment(undefined=StrictUndefined)

# Before 2.19 an option decides whether the results of templates are strings or parsed as Python values.
_NATIVE = not HAS_DATA_TAGGING and config.get_config_value("DEFAULT_JINJA2_NATIVE")

_SCALARS = SCALARS | {AnsibleUnsafeText}
_PLAIN = _SCALARS | {datetime.datetime, datetime.timedelta}
# Subclasses are excluded, because core uses them for values with tags.
_LISTS = frozenset((list,))

Results = Callable[[dict[str, Any]], "list[Any]"]


class UnsupportedExpression(Exception):
    """Only core can evaluate the expression."""


def _restrict_to_defined(test: Any) -> Callable[[Any], bool]:
    """Return a test that leaves undefined values to core; Jinja's own tests return False for them."""

    def run_test(value: Any) -> bool:
        if isinstance(value, Undefined):
            raise UnsupportedExpression
        return bool(test(value))

    return run_test


_DEFINED_ONLY = ("none", "number", "string")
_ENVIRONMENT.tests.update({name: _restrict_to_defined(_ENVIRONMENT.tests[name]) for name in _DEFINED_ONLY})


def _restrict_to_plain(function: Any) -> Any:
    """Return a filter or test that leaves everything but scalars, times and lists of them to core.

    Core passes containers and undefined values to plugins in types of its own.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if not _PLAIN.issuperset(map(type, values)) and not all(map(_is_plain, values)):
            raise UnsupportedExpression
        result = function(*args, **kwargs)
        if not _is_plain(result):
            raise UnsupportedExpression
        return result

    return run


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) in _LISTS and _PLAIN.issuperset(map(type, value)))


_ENVIRONMENT.tests.update({name: _restrict_to_plain(_ENVIRONMENT.tests[name]) for name in _PLAIN_TESTS})


def _is_pure_plugin(loader: Any, functions: Any, name: str) -> bool:
    """Return whether a name is one of the plugins that depend on their arguments only, and add its function."""
    if name.removeprefix("ansible.builtin.") not in _PLUGINS[loader]:
        return False
    plugin = loader.get(name)
    # A plugin of the user can have the name of one of core.
    if plugin is None or not plugin.ansible_name.startswith(_SOURCES) or hasattr(plugin.j2_function, "jinja_pass_arg"):
        return False
    functions[name] = _restrict_to_plain(plugin.j2_function)
    return True


class _Selected(NamedTuple):
    """An expression that Jinja evaluates, the names in it, and the function that converts its result as core would."""

    node: nodes.Expr
    names: frozenset[str]
    convert: Callable[[Any], Any]


def compile_subset(
    expressions: Sequence[tuple[Any, str, frozenset[str]]], is_service_variable: Callable[[str], bool]
) -> tuple[Results, frozenset[int]]:
    """Return a function from the variables of a host to the results of expressions, LEFT_TO_CORE for those of core.

    An ``Expression`` has its source, its kind and the hidden names. The second value contains the indexes of
    expressions with the same result for every host, which may be a failure.
    """
    constant: set[int] = set()
    selected: dict[int, _Selected] = {}
    for index, (source, kind, hidden) in enumerate(expressions):
        node = _parse(source, kind)
        if isinstance(source, bool) or (node and _is_constant(node)) or find_syntax_error(source, kind):
            constant.add(index)
        elif node:
            names = _find_names(node)
            if not names & hidden and all(map(is_service_variable, names)):
                selected[index] = _Selected(node, names, _choose_converter(kind, node))
    evaluate_together = _compile(*(expression.node for expression in selected.values()))

    def evaluate(variables: dict[str, Any]) -> list[Any]:
        results = [LEFT_TO_CORE] * len(expressions)
        try:
            values = evaluate_together(variables)
        except Exception:
            values = [_evaluate_alone(expression.node, variables) for expression in selected.values()]
        for (index, expression), value in zip(selected.items(), values, strict=True):
            result = expression.convert(value)
            results[index] = result if HAS_DATA_TAGGING else _mark(result, expression.names, variables)
        return results

    return evaluate, frozenset(constant)


def _find_names(node: nodes.Expr) -> frozenset[str]:
    """Return the names of the variables in an expression."""
    return frozenset(child.name for child in [node, *node.find_all(nodes.Name)] if isinstance(child, nodes.Name))


def _mark(result: Any, names: frozenset[str], variables: dict[str, Any]) -> Any:
    """Return a result as core before 2.19 marks it: as unsafe if it comes from a string or container."""
    if any(isinstance(variables.get(name), (str, list, dict)) for name in names):
        return make_unsafe(result)
    return result


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


def _parse(source: Any, kind: str) -> nodes.Expr | None:
    """Return the node of an expression, None if only core can evaluate it."""
    try:
        return _parse_string(source, kind) if isinstance(source, str) else None
    except (UnsupportedExpression, TemplateError):
        return None


@lru_cache(maxsize=256)
def _parse_string(source: str, kind: str) -> nodes.Expr:
    is_template = kind == "template"
    # How core treats templates inside constants, and backslashes between expressions, depends on its version.
    if ("\\" if is_template else "{") in source:
        raise UnsupportedExpression
    parts = _parse_parts(source if is_template else f"{{{{ {_escape_backslashes(source, kind)} }}}}")
    if len(parts) != 1 and not is_template:
        raise UnsupportedExpression
    for part in parts:
        _check(part)
    node = _join(parts)
    try:
        _compile(node)
    except Exception as error:
        # Jinja evaluates constant parts when it compiles, and raises their errors then.
        raise UnsupportedExpression from error
    return node


def find_syntax_error(source: Any, kind: str) -> str:
    """Return why an expression is not a valid one, so that core refuses it for every host; empty if it may be valid."""
    # A condition in braces is a template since 2.19.
    if kind == "template" or not isinstance(source, str) or "\\" in source or (kind == "condition" and "{" in source):
        return ""
    try:
        _ENVIRONMENT.parse(f"{{{{ {source} }}}}")
    except TemplateSyntaxError as error:
        return str(error.message)
    return ""


def _escape_backslashes(source: str, kind: str) -> str:
    """Return an expression whose backslashes mean the same as in core: before 2.19 it escapes those in values."""
    if "\\" not in source or kind != "value" or HAS_DATA_TAGGING:
        return source
    if re.search(r"""\\['"]""", source):
        raise UnsupportedExpression
    return source.replace("\\", "\\\\")


def _parse_parts(template: str) -> list[nodes.Expr]:
    """Return the texts and expressions of a template; raise UnsupportedExpression if it also has statements."""
    body = _ENVIRONMENT.parse(template).body
    if len(body) != 1 or not isinstance(body[0], nodes.Output):
        raise UnsupportedExpression
    return body[0].nodes


def _join(parts: list[nodes.Expr]) -> nodes.Expr:
    """Return one expression for all parts of a template: a string unless there is only one expression."""
    if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
        return parts[0]
    node = nodes.Concat([_convert_part(part) for part in parts], lineno=1)
    node.set_environment(_ENVIRONMENT)
    return node


def _convert_part(part: nodes.Expr) -> nodes.Expr:
    """Return a part of a template so that the joined parts are the same string as in core."""
    if isinstance(part, nodes.TemplateData):
        return nodes.Const(part.data, lineno=1)
    if HAS_DATA_TAGGING:
        return part
    is_none = nodes.Test(part, "none", [], [], None, None, lineno=1)
    return nodes.CondExpr(is_none, nodes.Const("", lineno=1), part, lineno=1)


def _check(node: nodes.Node) -> None:
    """Raise UnsupportedExpression unless the whole node has the same result in Jinja's environment as in core's."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        if node.node.attr not in _METHODS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise UnsupportedExpression
        children: list[nodes.Node] = [node.node.node, *node.args]
    elif _is_allowed(node):
        children = list(node.iter_child_nodes())
    else:
        raise UnsupportedExpression
    for child in children:
        _check(child)


def _is_allowed(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter):
        is_known = node.name in _FILTERS or _is_pure_plugin(filter_loader, _ENVIRONMENT.filters, node.name)
        return node.node is not None and is_known
    if isinstance(node, nodes.Test):
        known_tests = _TESTS | _PLAIN_TESTS
        return node.name in known_tests or _is_pure_plugin(test_loader, _ENVIRONMENT.tests, node.name)
    if isinstance(node, nodes.Keyword):
        return node.key != "attribute"
    if isinstance(node, nodes.Getattr):
        return node.attr not in _ATTRIBUTES and not node.attr.startswith("_")
    if isinstance(node, nodes.Getitem):
        return (
            isinstance(node.arg, (nodes.Const, nodes.Neg, nodes.Slice))
            and getattr(node.arg, "value", "") not in _ATTRIBUTES
        )
    return isinstance(node, _OPERATIONS)


def _choose_converter(kind: str, node: nodes.Expr) -> Callable[[Any], Any]:
    """Return a function that converts a result as core would, to LEFT_TO_CORE if only core can convert it."""
    is_variable = isinstance(node, nodes.Name)
    if kind == "condition":
        return _convert_condition if HAS_DATA_TAGGING else _convert_old_condition
    if HAS_DATA_TAGGING:
        return _convert_any_value if is_variable else _convert_value
    return _convert_old_plain_value if is_variable else _convert_old_value


def _convert_condition(result: Any) -> Any:
    if isinstance(result, bool):
        return result
    return LEFT_TO_CORE


def _convert_old_condition(result: Any) -> Any:
    if type(result) in _SCALARS:
        return bool(result)
    return LEFT_TO_CORE


def _convert_value(result: Any) -> Any:
    if type(result) in _SCALARS:
        return result
    if type(result) in _LISTS and _SCALARS.issuperset(map(type, result)):
        # The list may be part of the expression, or of a variable.
        return result.copy()
    return LEFT_TO_CORE


def _convert_any_value(result: Any) -> Any:
    if type(result) in _SCALARS or type(result) in (list, dict):
        return result
    return LEFT_TO_CORE


def _convert_old_plain_value(result: Any) -> Any:
    return result if type(result) in (int, float) else _convert_old_value(result)


def _convert_old_value(result: Any) -> Any:
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
