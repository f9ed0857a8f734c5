"""Records and conditions that are given to a batch in place of the options of its module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.resource_types import REFERS_TO, RESOURCE_TYPES, ResourceType
from ...module_utils._modules.spec import ModuleSpec
from ...module_utils._modules.wrong_forms import find_record_type

# Fields that most records have, and that are options of no module together.
_SIGNS = {"uuid", "create_date"}

# The types of objects that a module of their own lists, and the member with them if it has another name.
_LISTED = ("cbt_task", "host", "primary_storage", "vm", "vm_nic")
_LISTS = {"vm_nic": "nics"}


def refuse_records(objects: Sequence[Mapping[str, Any]], spec: ModuleSpec) -> None:
    """Raise InvalidOptions, with what to take from the records, if an object is one, as modules that list return it."""
    for number, given in enumerate(objects):
        if given.keys() >= _SIGNS:
            row = find_record_type(given)
            option = _choose_option(spec, row)
            rows = _show_rows(option, _LISTS.get(row.name, f"{row.name}s"))
            example = f", such as {rows}, where listed is the registered result" if option else ""
            raise InvalidOptions(
                f"objects[{number}] is a whole record of a {row.noun}, and nothing was sent. Take from the records what"
                f" the module needs{example}"
            )


def refuse_query(name: str, spec: ModuleSpec, options: Sequence[Mapping[str, Any]]) -> None:
    """Raise InvalidOptions, with the list to give as ``objects``, if options have a query and the module ``name`` not.

    ``options`` are those of the objects and those that they share.
    """
    if "query" in spec.all_options or not any("query" in given for given in options):
        return
    row = RESOURCE_TYPES.get(name if name in spec.own_types else next(iter(spec.own_types), ""))
    module = f"virtinfra.manager.{row.name if row and row.name in _LISTED else 'resource'}_info"
    example = ""
    if row and row.query:
        members = _LISTS.get(row.name, f"{row.name}s") if row.name in _LISTED else "resources"
        rows = _show_rows(_choose_option(spec, row), members)
        example = f" For example, with the registered result listed, {rows}"
    raise InvalidOptions(
        f"{name} has no option query, and nothing was sent. List the objects with {module} and its query, and give"
        f" them as objects.{example}"
    )


def _show_rows(option: str, members: str) -> str:
    """Return objects that have the uuids of the members of a result as an option."""
    columns = f"{{'{option}': listed.{members} | map(attribute='uuid')}}"
    return f'objects: "{{{{ {columns} | virtinfra.manager.columns_to_rows }}}}"'


def _choose_option(spec: ModuleSpec, row: ResourceType) -> str:
    """Return the option of a module that takes the uuid of an object of a type, empty if none does."""
    referring = [option for option, name in spec.references.items() if REFERS_TO.get(name) is row]
    if row.name in spec.own_types and row.name not in referring:
        return "uuid"
    return next(iter(referring), "")
