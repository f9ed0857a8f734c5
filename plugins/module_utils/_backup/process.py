"""Run a module on the data mover. Of the files that it runs, only this one creates an AnsibleModule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any

from ansible.module_utils import basic
from ansible.module_utils.common import respawn

from .connection import has_libnbd
from .failures import BackupFailure
from .images import QemuImg, RunCommand
from .parts import LIBNBD, describe_missing

Params = Mapping[str, Any]

# The Pythons of distributions, for which packages contain libnbd.
_PLATFORM_PYTHONS = ("/usr/libexec/platform-python", "/usr/bin/python3", "/usr/bin/python")


@dataclass(frozen=True)
class MoverModule:
    """A module that runs on the data mover.

    ``run`` gets the options, whether it only predicts, and qemu-img. It returns the result, or raises BackupFailure.
    ``parts`` returns what it needs of the machine for these options. ``nothing`` is in the result of a failure before
    anything was done. ``keep`` gets the options and the result, unless the module only predicts.
    """

    run: Callable[[Params, bool, QemuImg], dict[str, Any]]
    parts: Callable[[Params], Sequence[str]]
    options: Mapping[str, Any]
    constraints: Mapping[str, Any] = field(default_factory=dict)
    nothing: Mapping[str, Any] = field(default_factory=dict)
    keep: Callable[[Params, Mapping[str, Any]], None] = lambda dummy_params, dummy_result: None


def execute(spec: MoverModule, params: Params, predict: bool, run_command: RunCommand) -> dict[str, Any]:
    """Return the result of a module, with ``failed`` and ``msg`` after a failure."""
    result = _run(spec, params, predict, QemuImg(run_command))
    if not predict:
        with suppress(BackupFailure):
            spec.keep(params, result)
    # The job events of Automation Controller show check mode only by the member check_mode.
    return {**result, "check_mode": True} if predict else result


def _run(spec: MoverModule, params: Params, predict: bool, qemu: QemuImg) -> dict[str, Any]:
    if message := describe_missing(spec.parts(params)):
        return {"failed": True, "changed": False, **spec.nothing, "msg": message}
    try:
        return spec.run(params, predict, qemu)
    except BackupFailure as failure:
        return {"failed": True, "changed": False, **spec.nothing, "msg": str(failure), **failure.result}
    except OSError as error:
        return {"failed": True, "changed": False, "msg": str(error)}
    except Exception as mistake:
        message = f"This is a bug in the collection: {type(mistake).__name__}: {mistake}"
        return {"failed": True, "changed": False, "msg": message, "exception": format_exc()}


def run_on_mover(spec: MoverModule) -> None:
    """Run in a module process, if needed again with the Python of the platform, which has libnbd."""
    # Linters replace AnsibleModule in its module to read the options, so the class is looked up there at each call.
    # The system log would get addresses of exports that need no password, and bitmaps of megabytes: no_log is about it.
    module = basic.AnsibleModule(
        argument_spec=dict(spec.options), supports_check_mode=True, no_log=True, **spec.constraints
    )
    if LIBNBD in spec.parts(module.params) and not has_libnbd() and not respawn.has_respawned():
        interpreter = respawn.probe_interpreters_for_module(_PLATFORM_PYTHONS, LIBNBD)
        if interpreter:
            respawn.respawn_module(interpreter)

    def run_command(command: Sequence[str]) -> tuple[int, str, str]:
        done: tuple[int, str, str] = module.run_command(
            list(command), environ_update={"LC_ALL": "C"}, expand_user_and_vars=False
        )
        return done

    result = execute(spec, module.params, module.check_mode, run_command)
    for warning in result.pop("warnings", ()):
        module.warn(warning)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)
