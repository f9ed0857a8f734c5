"""Run the task of a scenario on a new service, and count from the state how often its call was performed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import ModuleResult
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects

from simulator.launch import Simulator
from support.module_runner import run_module
from support.scenarios import Scenario


class Trial:
    """A scenario on a new service with the given switches. Its task is that of the module, or of ``batch``."""

    def __init__(
        self, sim: Simulator, scenario: Scenario, switches: Mapping[str, Any], is_in_batch: bool = False
    ) -> None:
        self.sim, self.scenario, self._is_in_batch = sim, scenario, is_in_batch
        sim.reset(latency=0.0, reconnect=0.0, boot=0.0, cbt_tasks=4, **switches)
        for kind, uuid, members in scenario.prepare:
            sim.change(kind, uuid, **members)
        self.before = sim.state()

    def run(self, **options: Any) -> ModuleResult:
        """Run the task once. ``options`` may override those of the scenario and of the connection."""
        connection = {"base_url": self.sim.url, "session_id": self.sim.session, "api_token": self.sim.token}
        given = {**self.scenario.options, **options}
        if not self._is_in_batch:
            return run_module(self.scenario.module, {**connection, **given})
        batch = {**connection, "module": self.scenario.module, "objects": [given]}
        ran = run_module("batch", batch, run=partial(run_objects, lambda name: {}))
        return ran._replace(result=ran.result["results"][0])

    def count(self) -> int:
        """Return how often the operation was performed since the service was new."""
        return self.scenario.times(self.before, self.sim.state())
