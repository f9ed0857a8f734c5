"""Find the members of variables, and of the records in lists of them, to which expressions of the user refer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jinja2 import nodes

from .references import GUARDS, find_guards, parse_expression

# The step from a list to one of its elements.
ELEMENT = "[0]"

# The filters that return an element of a list, those that return some of its elements, or all, and those that select
# elements by a member of them.
_OF_ELEMENT = frozenset(("first", "last", "random"))
_OF_ELEMENTS = frozenset(("list", "sort", "reverse", "unique"))
BY_MEMBER = frozenset(("selectattr", "rejectattr"))

_DEFAULT = frozenset(("default", "d"))


class Reference(NamedTuple):
    """A variable, and the steps from it to a member of a record: names, and ELEMENT from a list to an element.

    ``is_each`` says that an expression has a list of what the steps lead to.
    """

    name: str
    steps: tuple[str, ...] = ()
    is_each: bool = False


def list_members(source: Any) -> dict[Reference, bool]:
    """Return the members to which an expression refers, and whether it expects that they may be missing."""
    tree = parse_expression(source)
    if not tree:
        return {}
    selecting = [node for node in tree.find_all(nodes.Filter) if _selects_existing(node)]
    optional = {word for guard in (*find_guards(tree), *selecting) for word in _list_words(guard)}
    # An expression may ask whether a record has a member: 'name' in record.
    optional |= {each.expr.value for each in tree.find_all(nodes.Compare) if isinstance(each.expr, nodes.Const)}
    found = [reference for node in tree.find_all(nodes.Expr) for reference in _list_references(node)]
    return {each: not optional.isdisjoint(each.steps) for each in found if each.steps}


def _selects_existing(node: nodes.Filter) -> bool:
    """Return whether a filter selects elements with a test that accepts what is missing, such as ``defined``."""
    return any(isinstance(argument, nodes.Const) and argument.value in GUARDS for argument in node.args)


def _list_words(guard: nodes.Node) -> Iterator[str]:
    """Yield the names of members in a node."""
    for member in guard.find_all(nodes.Getattr):
        yield member.attr
    for constant in guard.find_all(nodes.Const):
        if isinstance(constant.value, str):
            yield from constant.value.split(".")


def _list_references(node: nodes.Expr) -> Iterator[Reference]:
    """Yield the member to which a node refers, and that by which a filter selects."""
    references = [refer(node)]
    if isinstance(node, nodes.Filter) and node.name in BY_MEMBER and node.args:
        references.append(refer_each(node.node, node.args[0]))
    yield from (each for each in references if each)


def refer(node: nodes.Node | None) -> Reference | None:
    """Return what a node refers to, None if it is neither a variable nor a member of one."""
    if isinstance(node, nodes.Name):
        return Reference(node.name)
    if isinstance(node, nodes.Getattr):
        return _step(refer(node.node), node.attr)
    if isinstance(node, nodes.Getitem):
        return _refer_item(node)
    return _refer_filtered(node) if isinstance(node, nodes.Filter) else None


def _refer_item(node: nodes.Getitem) -> Reference | None:
    """Return what a node in brackets refers to, None if an expression computes it."""
    owner = refer(node.node)
    if isinstance(node.arg, nodes.Slice):
        return owner
    # The parser makes a negative number of a sign and a number.
    number = node.arg.node if isinstance(node.arg, nodes.Neg) else node.arg
    if not isinstance(number, nodes.Const):
        return None
    return _step(owner, number.value) if isinstance(number.value, str) else refer_element(owner)


def _refer_filtered(node: nodes.Filter) -> Reference | None:
    """Return what the result of a filter refers to, None if it has other values."""
    owner, name = refer(node.node), node.name.removeprefix("ansible.builtin.")
    if name in _OF_ELEMENT:
        return refer_element(owner)
    if name in _OF_ELEMENTS or name in BY_MEMBER or (name in _DEFAULT and _is_empty(node.args)):
        return owner
    if name == "map" and [argument.key for argument in node.kwargs] == ["attribute"]:
        each = refer_each(node.node, node.kwargs[0].value)
        return each and each._replace(is_each=True)
    return None


def _is_empty(arguments: list[nodes.Expr]) -> bool:
    """Return whether the first argument of a filter is an empty value, or is not given."""
    if not arguments:
        return True
    first = arguments[0]
    content = first.value if isinstance(first, nodes.Const) else getattr(first, "items", True)
    return not content


def refer_element(owner: Reference | None) -> Reference | None:
    """Return the reference to an element of a list."""
    if owner and owner.is_each:
        return owner._replace(is_each=False)
    return _step(owner, ELEMENT)


def refer_each(node: nodes.Node | None, attribute: nodes.Node) -> Reference | None:
    """Return the reference to an attribute of an element of a list, by the name that a filter has for it."""
    if not isinstance(attribute, nodes.Const) or not isinstance(attribute.value, str):
        return None
    names = attribute.value.split(".")
    return _step(refer_element(refer(node)), *(ELEMENT if name.isdigit() else name for name in names))


def _step(owner: Reference | None, *steps: str) -> Reference | None:
    """Return the reference to a member, None for one of a list that an expression makes."""
    return owner._replace(steps=(*owner.steps, *steps)) if owner and not owner.is_each else None
