"""Records of objects that are given to a batch in place of the options of its module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.resource_types import REFERS_TO, ResourceType
from ...module_utils._modules.spec import ModuleSpec
from ...module_utils._modules.wrong_forms import find_record_type

# Fields that most records have, and that are options of no module together.
_SIGNS = {"uuid", "create_date"}


def refuse_records(objects: Sequence[Mapping[str, Any]], spec: ModuleSpec) -> None:
    """Raise InvalidOptions, with what to take from the records, if an object is one, as modules that list return it."""
    for number, given in enumerate(objects):
        if given.keys() >= _SIGNS:
            row = find_record_type(given)
            option = _choose_option(spec, row)
            columns = f"{{'{option}': listed.{row.name}s | map(attribute='uuid')}}"
            rows = f'objects: "{{{{ {columns} | virtinfra.manager.columns_to_rows }}}}"'
            example = f", such as {rows}, where listed is the registered result" if option else ""
            raise InvalidOptions(
                f"objects[{number}] is a whole record of a {row.noun}, and nothing was sent. Take from the records what"
                f" the module needs{example}"
            )


def _choose_option(spec: ModuleSpec, row: ResourceType) -> str:
    """Return the option of a module that takes the uuid of an object of a type, empty if none does."""
    referring = [option for option, name in spec.references.items() if REFERS_TO.get(name) is row]
    if row.name in spec.own_types and row.name not in referring:
        return "uuid"
    return next(iter(referring), "")
