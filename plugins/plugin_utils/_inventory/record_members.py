"""Follow the members of variables, to which expressions refer, through the records of all hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils._api.errors import suggest_name
from ...module_utils._api.record_fields import NESTED
from ...module_utils._api.records import RECORD_FIELDS, to_snake_case
from .._jinja.members import ELEMENT, Reference
from .hostvars import Added
from .unknown_names import OPTIONS_OF_MEMBERS

# The filters that other languages write as members of a list.
_FILTERS = ("first", "last", "length", "random")


@dataclass(frozen=True)
class Member:
    """A field of the records of a type, and its values for all hosts without null.

    ``content`` is the type of the records in the values. It and the field are empty if they are unknown.
    """

    field: str
    record_type: str
    content: str
    values: Sequence[Any]

    def follow(self, step: str) -> Member:
        """Return the member to which a step leads."""
        if step == ELEMENT:
            elements = [element for value in self.values if isinstance(value, list) for element in value]
            return Member("", "", self.content, elements)
        fields = {} if self.is_list else {to_snake_case(name): name for name in RECORD_FIELDS.get(self.content, ())}
        field = fields.get(step, "")
        values = [value for each in self.mappings if (value := each.get(step)) is not None]
        return Member(field, self.content, NESTED.get(field, ""), values)

    @property
    def is_list(self) -> bool:
        """Whether a value is a list."""
        return any(isinstance(value, list) for value in self.values)

    @property
    def mappings(self) -> list[Mapping[str, Any]]:
        """The values that are records."""
        return [value for value in self.values if isinstance(value, Mapping)]


def start(field: str, record_type: str, added: Mapping[str, Added], values: Iterable[Any]) -> Member:
    """Return the member that is a variable, from the API name of its field and its values for all hosts."""
    content = added[field].record if field in added else ""
    return Member(field, record_type, content or NESTED.get(field, ""), [each for each in values if each is not None])


def find_member(reference: Reference, variable: Member) -> Member:
    """Return the member to which an expression refers."""
    for step in reference.steps:
        variable = variable.follow(step)
    return variable


def describe_unknown_member(reference: Reference, variable: Member, is_optional: bool) -> str | None:
    """Return a clause about the first member that the records of no host have, None if there are all, or no records.

    A record may lack a member that is optional, but lists and texts never have one.
    """
    owner, name = variable, reference.name
    for step in reference.steps:
        # The methods of lists and mappings are no members.
        if step != ELEMENT and not (hasattr(dict, step) or hasattr(list, step)):
            if owner.content and owner.is_list:
                return (
                    f"{name} is a list. Write {name}[0].{step}, or {name} | map(attribute='{step}') for the values of"
                    " all elements"
                )
            if problem := _describe_texts(name, step, owner.values):
                return problem
            known = {each for record in owner.mappings for each in record}
            if owner.content and known and step not in known and not is_optional:
                return _describe_unknown(name, step, sorted(known), owner.content)
        owner, name = owner.follow(step), f"{name}{step}" if step == ELEMENT else f"{name}.{step}"
    return None


def _describe_texts(owner: str, name: str, values: Sequence[Any]) -> str | None:
    """Return that texts, or lists of them, have no members, None if a value is something else."""
    if values and all(isinstance(value, str) and not hasattr(value, name) for value in values):
        return f"{owner} is a text, and has no member {name}. Use the text itself, such as {name!r} in {owner}"
    texts = [text for value in values if isinstance(value, list) for text in value]
    if not (
        texts and all(isinstance(value, list) for value in values) and all(isinstance(text, str) for text in texts)
    ):
        return None
    example = str(next((text for text in texts if name in text), texts[0]))
    remedy = f"{owner} | {name}" if name in _FILTERS else f"{example!r} in {owner}"
    return f"{owner} is a list of texts, and has no member {name}. Write {remedy}"


def _describe_unknown(owner: str, name: str, known: Sequence[str], content: str) -> str:
    elements = owner.removesuffix(ELEMENT)
    has, their = ("has", "Its") if elements == owner else ("have", "Their")
    subject = owner if elements == owner else f"the elements of {elements}"
    if option := OPTIONS_OF_MEMBERS.get((content, name)):
        return f"{subject} {has} no {name}, which needs {option}"
    hint = suggest_name(name, known) or f" {their} members are {', '.join(known)}."
    return f"{subject} {has} no {name}.{hint}"
