"""Run modules in this process, without Ansible."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._client.stores import MemoryStore, SessionStore
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import ModuleContext
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import (
    ModuleResult,
    Task,
    build_masker,
    execute,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.spec import ModuleSpec

from simulator.launch import Simulator
from support.collection import load_spec


def run_module(
    name: str,
    options: Mapping[str, Any],
    check: bool = False,
    predicted: Collection[str] = (),
    run: Callable[[ModuleContext], dict[str, Any]] | None = None,
    **hooks: Any,
) -> ModuleResult:
    """Run a module of the collection with its options, validated as Ansible does; ``hooks`` are members of Hooks.

    ``predicted`` are the types of the objects that earlier tasks would have created. ``run`` is what a module does that
    only the controller can run.
    """
    spec = load_spec(name)
    return run_spec(replace(spec, run=run) if run else spec, options, check, predicted, **hooks)


def run_spec(
    spec: ModuleSpec, options: Mapping[str, Any], check: bool = False, predicted: Collection[str] = (), **hooks: Any
) -> ModuleResult:
    """Run the module that a spec describes, as ``run_module`` does."""
    validator = ArgumentSpecValidator(spec.argument_spec, **spec.constraints)
    validation = validator.validate(spec.mark_nulls(options, predicted))
    assert not validation.error_messages, validation.error_messages
    params = validation.validated_parameters
    return execute(Task(spec, params, check), Hooks(build_masker(spec, params), **hooks))


@dataclass(frozen=True)
class ModuleRun:
    """The result and the warnings of a module, and the request log of the simulator."""

    result: dict[str, Any]
    warnings: list[str]
    log: list[dict[str, Any]]

    def __getitem__(self, name: str) -> Any:
        return self.result[name]

    @property
    def changed(self) -> bool:
        """Whether the module reports a change."""
        return bool(self.result["changed"])

    @property
    def failed(self) -> bool:
        """Whether the module failed."""
        return bool(self.result.get("failed"))

    @property
    def message(self) -> str:
        """The message of the failure; empty if the module did not fail."""
        return str(self.result.get("msg", ""))

    @property
    def calls(self) -> list[str]:
        """The operations that were called with another method than GET, in order."""
        return [str(entry["operation"]) for entry in self.log if entry["method"] != "GET"]

    def sent(self, operation: str, number: int = 0) -> dict[str, Any]:
        """Return the parameters in the body of call ``number`` of an operation."""
        bodies = [entry["body"] for entry in self.log if entry["operation"] == operation]
        return dict(next(value for name, value in bodies[number].items() if not name.endswith("Tags")))

    def queries(self, operation: str) -> list[dict[str, list[str]]]:
        """Return the query strings of the requests of a read."""
        return [dict(entry["query"]) for entry in self.log if entry["operation"] == operation]


def drop_other_remedy(ran: ModuleRun) -> str:
    """Return the message of a failure without the remedy that differs in check mode."""
    is_missing = ran["error"]["code"] == "NOT_FOUND"
    message = re.split(" The names are | Did you mean ", ran.message)[0]
    return message.rstrip(".").rpartition(". ")[0] if is_missing else message


class ModuleRunner:
    """Run modules against a simulator. With ``new_store``, as tasks of one run that share their sessions."""

    def __init__(self, sim: Simulator, new_store: Callable[[ConnectionOptions], SessionStore] = MemoryStore) -> None:
        self.sim, self.new_store = sim, new_store

    def __call__(
        self,
        name: str,
        options: Mapping[str, Any],
        check: bool = False,
        predicted: Collection[str] = (),
        **shared: Any,
    ) -> ModuleRun:
        """Run a module with its own and with ``shared`` options, validated as Ansible does.

        ``predicted`` are the types of the objects that earlier tasks would have created.
        """
        spec = load_spec(name)
        connection = {"base_url": self.sim.url, "session_id": self.sim.session, "api_token": self.sim.token}
        known = {option: value for option, value in connection.items() if option in spec.argument_spec}
        self.sim.clear_log()
        outcome = run_spec(spec, {**known, **shared, **options}, check, predicted, new_store=self.new_store)
        return ModuleRun(outcome.result, outcome.warnings, self.sim.log())

    def twice(self, name: str, options: Mapping[str, Any], **shared: Any) -> ModuleRun:
        """Check that a module changes something as check mode predicts, and nothing when it runs again."""
        checked = self(name, options, check=True, **shared)
        assert checked.calls == []
        assert checked.changed, checked.result
        ran = self(name, options, **shared)
        assert not ran.failed, ran.message
        assert ran.changed, ran.result
        for check in (False, True):
            again = self(name, options, check, **shared)
            assert again.calls == []
            assert not again.changed, again.result
            assert not again.failed, again.message
        return ran

    def idle(self, name: str, options: Mapping[str, Any], **shared: Any) -> ModuleRun:
        """Check that a module changes nothing, in check mode and outside it."""
        for check in (True, False):
            ran = self(name, options, check, **shared)
            assert not ran.failed, ran.message
            assert not ran.changed, ran.result
            assert ran.calls == []
        return ran

    def refused(self, name: str, options: Mapping[str, Any], **shared: Any) -> str:
        """Check that a module fails before it changes anything, in check mode too; return its message."""
        checked, ran = self(name, options, check=True, **shared), self(name, options, **shared)
        assert ran.failed, ran.result
        assert drop_other_remedy(checked) == drop_other_remedy(ran)
        assert checked.calls == ran.calls == []
        assert not ran.changed
        return ran.message
