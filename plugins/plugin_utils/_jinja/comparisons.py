"""Find what expressions of the user compare with constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jinja2 import nodes

from .members import BY_MEMBER, Reference, refer, refer_each, refer_element
from .references import parse_expression

# The tests that compare, and those that compare the order.
ORDERS = frozenset("gt gteq lt lteq > >= < <= ge le greaterthan lessthan".split())
_COMPARING = ORDERS.union("== eq equalto != ne in".split())

# The tests that compare with a regular expression.
MATCHING = frozenset(("match", "search", "regex"))

_IN = ("in", "notin")

# The operator of what is looked for in a variable, or a member: in a list or in a text.
CONTAINS = "contains"


class Compared(NamedTuple):
    """What an expression compares, the constants with which it does, and the operator, or the test."""

    reference: Reference
    values: list[Any]
    operator: str


def list_compared(source: Any) -> list[Compared]:
    """Return the variables and members that an expression compares with constants, or looks for in lists of them."""
    tree = parse_expression(source)
    return [*_list_operators(tree), *_list_tests(tree), *_list_filters(tree)] if tree else []


def _list_operators(tree: nodes.Template) -> Iterator[Compared]:
    """Yield what operators compare."""
    for comparison in tree.find_all(nodes.Compare):
        left: nodes.Node = comparison.expr
        for operand in comparison.ops:
            yield from _compare(refer(left), operand.expr, operand.op)
            yield from _compare_reversed(left, operand.expr, operand.op)
            left = operand.expr


def _list_tests(tree: nodes.Template) -> Iterator[Compared]:
    """Yield what tests compare."""
    for tested in tree.find_all(nodes.Test):
        name, arguments = _strip(tested.name), tested.args or []
        if name == "contains" and arguments:
            yield from _compare_reversed(arguments[0], tested.node, "in")
        elif not tested.kwargs:
            yield from _apply(name, refer(tested.node), arguments)
            if name in _COMPARING and arguments:
                yield from _compare_reversed(tested.node, arguments[0], name)


def _list_filters(tree: nodes.Template) -> Iterator[Compared]:
    """Yield what filters compare to select elements of a list."""
    for filtered in tree.find_all(nodes.Filter):
        arguments = list(filtered.args)
        if filtered.name in BY_MEMBER and arguments:
            compared = refer_each(filtered.node, arguments.pop(0))
        elif filtered.name in ("select", "reject"):
            compared = refer_element(refer(filtered.node))
        else:
            continue
        if arguments and not filtered.kwargs and isinstance(arguments[0], nodes.Const):
            yield from _apply(_strip(str(arguments[0].value)), compared, arguments[1:])


def _strip(name: str) -> str:
    return name.removeprefix("ansible.builtin.")


def _apply(test: str, compared: Reference | None, arguments: list[nodes.Expr]) -> Iterator[Compared]:
    """Yield what a test compares. Further arguments of one with a regular expression can change what it matches."""
    if (test in _COMPARING and arguments) or (test in MATCHING and len(arguments) == 1):
        yield from _compare(compared, arguments[0], test)


def _compare(compared: Reference | None, other: nodes.Node, operator: str) -> Iterator[Compared]:
    """Yield a variable, or a member, on the left of an operator. What is in a text is a part of it."""
    is_list = isinstance(other, (nodes.List, nodes.Tuple))
    if compared and not compared.is_each and (is_list or operator not in _IN):
        yield Compared(compared, _list_constants(other), operator)


def _compare_reversed(other: nodes.Node, right: nodes.Node, operator: str) -> Iterator[Compared]:
    """Yield a variable, or a member, on the right of an operator."""
    compared, is_in = refer(right), operator in _IN
    if compared and (is_in or not compared.is_each):
        yield Compared(compared, _list_constants(other), CONTAINS if is_in else operator)


def _list_constants(node: nodes.Node) -> list[Any]:
    """Return the value of a constant, or those in a list of them; none for anything else."""
    items = node.items if isinstance(node, (nodes.List, nodes.Tuple)) else [node]
    return [item.value for item in items if isinstance(item, nodes.Const)]
