"""A machine whose memory is exhausted."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._engine.context import ModuleContext
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.run import Task, build_masker, execute
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.spec import ModuleSpec

from simulator.launch import Simulator


@pytest.mark.parametrize("mistake", [MemoryError(), OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))])
def test_a_machine_without_memory_is_no_bug(sim: Simulator, mistake: Exception) -> None:
    def run_out_of_memory(context: ModuleContext) -> dict[str, Any]:
        raise mistake

    spec = ModuleSpec(run_out_of_memory, {})
    params = {name: option.get("default") for name, option in spec.argument_spec.items()}
    params.update(base_url=sim.url, session_id=sim.session)
    result = execute(Task(spec, params, False), Hooks(build_masker(spec, params))).result
    assert result["error"]["code"] == "FAILED"
    assert result["msg"].startswith("This machine has no memory left for the task.")
    assert "exception" not in result
