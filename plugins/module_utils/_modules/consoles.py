"""The module that lists VMs adds the addresses of their consoles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from .._api.errors import VirtinfraError
from .._api.records import Record, to_snake_case
from .._client.client import Client
from .._engine.context import ModuleContext
from .spec import ModuleSpec

_OPERATION = "GetVmConsoleAddress"
_MEMBERS = ("protocol", "hostIp", "port")


def with_consoles(spec: ModuleSpec) -> ModuleSpec:
    """Return the module with the option ``console``, which reads the console of each listed VM that runs."""

    def run(context: ModuleContext) -> dict[str, Any]:
        result = spec.run(context)
        if context.params["console"]:
            vms = result["vms"]
            consoles = context.client.map_concurrently(partial(_read_console, context.client), vms)
            result = {**result, "vms": [{**vm, "console": console} for vm, console in zip(vms, consoles, strict=True)]}
        return result

    return replace(spec, run=run, options={**spec.options, "console": {"type": "bool", "default": False}})


def _read_console(client: Client, vm: Record) -> Record | None:
    """Return where the console of a VM is, None if the VM does not run: only then it has one."""
    if vm.get("state") != "Running":
        return None
    try:
        reply = client.get(_OPERATION, {"uuid": vm["uuid"]})
    except VirtinfraError as failure:
        raise failure.with_label(f"console of {vm.get('name')}") from None
    return {to_snake_case(name): reply.get(name) for name in _MEMBERS}
