"""The module that a batch runs for its objects, and what to do with one that it does not run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import InvalidOptions, suggest_name
from ...module_utils._modules.spec import ModuleSpec
from ...module_utils._modules.wrong_forms import explain_several

# The folder of the modules.
MODULES = Path(__file__).parents[2] / "modules"

# What to do with modules that do the work for many objects in another way.
_INSTEAD = {
    "backup_point": "It runs on a data mover: use a loop, or the role vm_backup.",
    "backup_point_info": "It runs on a data mover, and one task lists the points of many VMs: use its option vm_uuids.",
    "backup_restore": "It runs on a data mover: use a loop, or the role vm_backup_restore.",
    "backup_run": "It runs on a data mover: use a loop, or the role vm_backup.",
    "host_network_info": "One task reads many hosts: use its option hosts.",
    "host_nic_candidate_info": "One task reads many hosts: use its option hosts.",
    "job_info": "One task reads many jobs: use its option jobs.",
    "job_wait": "One task waits for many jobs: use its option jobs.",
}


def load_spec(name: str) -> ModuleSpec:
    """Return the description of a module of this collection."""
    spec: ModuleSpec = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{name}").MODULE
    return spec


def choose_module(name: str, objects: Sequence[Mapping[str, Any]]) -> tuple[str, ModuleSpec]:
    """Return the full name and the description of a module. Raise InvalidOptions if it cannot be run for objects."""
    short = name.strip().removeprefix("virtinfra.manager.")
    hint = _INSTEAD.get(short, "")
    if re.fullmatch(r"[a-z][a-z0-9_]*", short) and not hint:
        try:
            spec = load_spec(short)
        except ImportError:
            hint = _suggest(short)
        else:
            if spec.can_change_objects and not spec.only_in_controller:
                return f"virtinfra.manager.{short}", spec
            hint = _explain_query(spec, short, objects) if "query" in spec.options else ""
    raise InvalidOptions(
        f"module must be a module of this collection that changes or calls something, such as kvm_host, not {name!r}."
        f" {hint}".rstrip()
    )


def _suggest(name: str) -> str:
    """Return the sentence with the module that a name may mean, an empty string if none is similar."""
    possible = (path.stem for path in MODULES.glob("*.py"))
    others = ("batch", "session", "workflow", *_INSTEAD)
    return suggest_name(name, (each for each in possible if not each.endswith("_info") and each not in others)).strip()


def _explain_query(spec: ModuleSpec, name: str, objects: Sequence[Mapping[str, Any]]) -> str:
    """Return what to write in place of a batch of a module that lists records, for these objects."""
    given = {option for each in objects for option in each}
    option = next(iter(given)) if len(given) == 1 else ""
    values = [each[option] for each in objects if option in each]
    if len(objects) == 1:
        return f"It only reads: give the options of the object to a task of {name} without batch."
    hint = explain_several(option, spec.options[option], values, spec.record_type) if option in spec.options else ""
    remedy = f"{hint}." if hint else f"One task of {name} reads many objects: use its option query."
    return f"It only reads: use a task of {name} without batch. {remedy}"
