"""Run a module in a module process. No other file creates an AnsibleModule."""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from zipimport import zipimporter

from ansible.module_utils import basic


class PayloadImporter(zipimporter):
    """Imports modules from a zip file of sources, and compiles each of them once.

    Python's own importer compiles a module to find out its path, and again to load it.
    """

    def get_filename(self, fullname: str) -> str:
        """Return the path of a module in the zip file."""
        ending = "/__init__.py" if self.is_package(fullname) else ".py"
        return f"{self.archive}/{self.prefix}{fullname.rpartition('.')[2]}{ending}"


def speed_up_imports() -> None:
    """Halve the time of further imports in a module process, which takes a third of its time for them."""
    # Imports create hardly any garbage. run_as_module enables the collection again.
    gc.disable()
    sys.path_hooks.insert(0, PayloadImporter)
    for path, importer in sys.path_importer_cache.items():
        if isinstance(importer, zipimporter):
            sys.path_importer_cache[path] = PayloadImporter(path)


# The controller imports this file too, but only a module process has arguments. Each module imports this file first.
if basic._ANSIBLE_ARGS is not None:
    speed_up_imports()

from .._api.errors import InvalidOptions
from .._client.client import Hooks
from .._client.stores import MemoryStore
from .._http.connection import ConnectionOptions
from .._masking.masker import MIN_SECRET_LENGTH, collect_secrets
from .run import Task, build_masker, describe_option_errors, execute, mask_result
from .spec import ModuleSpec

# From verbosity 3 on, a module process returns a line for each request in the member virtinfra_requests. The action
# plugin shows the lines and removes the member, which remains in the result of an asynchronous task.
REQUEST_LOG_VERBOSITY = 3
REQUEST_LOG = "virtinfra_requests"

# The member with the time zone that the service accepts, if a module process had to find it. The action plugin stores
# it for the run and removes the member, which remains in the result of an asynchronous task.
FOUND_ZONE = "virtinfra_time_zone"

UNREAD_PROFILE = (
    "profile {profile} cannot be read here: the action plugin of the collection reads profiles in the controller, and"
    " this module was started without it. Run the module as a task of a playbook, or give the options of the connection"
)

# The environment variable with the mark of a session that the controller created for one module process, which ends it.
# It is on the command line, so it does not contain the session.
OWN_SESSION = "VIRTINFRA_OWN_SESSION"


def run_as_module(spec: ModuleSpec) -> None:
    """Run in a module process."""
    # Imported objects live until exit, so the collector need not visit them.
    gc.freeze()
    gc.enable()

    # Linters replace AnsibleModule in its module to read the options, so the class is looked up there at each call.
    class Module(basic.AnsibleModule):
        """An AnsibleModule that masks all its output, also for invalid options; Ansible itself masks less."""

        params: dict[str, Any]

        def exit_json(self, **result: Any) -> None:
            super().exit_json(**self._mask(result))

        def fail_json(self, msg: str, **result: Any) -> None:
            # A failure without the member error comes from Ansible, which does not accept the options.
            if "error" not in result and (errors := self.validation_result.errors.errors):
                msg = describe_option_errors(self._name, errors)
            super().fail_json(**self._mask({"msg": msg, "error": InvalidOptions(msg).error, **result}))

        def log(self, msg: str, log_args: Mapping[str, Any] | None = None) -> None:
            """Write to the system log, where Ansible does not mask options without C(no_log)."""
            masker = build_masker(spec, self.params)
            arguments = {name: masker.mask_text(str(value)) for name, value in (log_args or {}).items()}
            super().log(masker.mask_text(msg), arguments)

        def _mask(self, result: dict[str, Any]) -> dict[str, Any]:
            """Return a result with secrets masked, and mask the options, which Ansible shows with it."""
            masker = build_masker(spec, self.params)
            # Ansible would mask the characters of a very short secret in every word.
            secrets = collect_secrets(spec.argument_spec, self.params)
            secrets -= {result.get(name) for name in spec.secret_results}
            self.no_log_values = {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}
            self.params = masker.mask_value(self.params)
            return mask_result(spec, result, masker)

    module = Module(argument_spec=spec.argument_spec, supports_check_mode=True, **spec.constraints)
    if module.params["profile"]:
        # Profiles may contain commands, which must run in the controller. Its action plugin passes the options instead.
        module.fail_json(msg=UNREAD_PROFILE.format(profile=module.params["profile"]))
    requests: list[str] = []
    is_logged = module._verbosity >= REQUEST_LOG_VERBOSITY and not module.no_log
    stores: list[MemoryStore] = []

    hooks = Hooks(
        build_masker(spec, module.params),
        on_request=requests.append if is_logged else None,
        new_store=partial(_open_store, stores),
    )
    with _end_session_afterwards(module.params, hooks):
        outcome = execute(Task(spec, module.params, module.check_mode), hooks)
    zone = _find_zone(stores) if module.params["access_key_id"] else None
    outcome.result.update({name: value for name, value in ((REQUEST_LOG, requests), (FOUND_ZONE, zone)) if value})
    for warning in outcome.warnings:
        module.warn(warning)
    # Without gc.freeze() the interpreter takes 27 ms longer to exit, because it collects all objects of requests.
    gc.freeze()
    if outcome.result.get("failed"):
        module.fail_json(**outcome.result)
    module.exit_json(**outcome.result)


def _open_store(stores: list[MemoryStore], connection: ConnectionOptions) -> MemoryStore:
    """Return a new store of a client, which is also among ``stores`` from now on."""
    stores.append(MemoryStore(connection))
    return stores[-1]


def _find_zone(stores: list[MemoryStore]) -> str | None:
    """Return the time zone that clients of these stores had to find, None if they found none."""
    # Most processes use no access key, so they do not load the code for it.
    from .._client.time_zones import NO_ZONE, TIME_ZONE

    zones = [store.facts.get(TIME_ZONE) for store in stores]
    return next((zone for zone in zones if zone and zone != NO_ZONE), None)


def mark_own_session(session_id: str) -> str:
    """Return the value of OWN_SESSION for a session."""
    return hashlib.sha256(session_id.encode()).hexdigest()


@contextmanager
def _end_session_afterwards(params: Mapping[str, Any], hooks: Hooks) -> Iterator[None]:
    """Log out after the task, if the controller created the session for this process only."""
    session_id = params["session_id"]
    try:
        yield
    finally:
        if session_id and os.environ.get(OWN_SESSION) == mark_own_session(session_id):
            # Most processes end no session, so they do not load the code for it.
            from .._client.sessions import end_session

            end_session(ConnectionOptions.from_params(params), session_id, hooks)
