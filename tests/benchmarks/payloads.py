"""Measure what is sent to the machine on which a module process runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ansible.executor.module_common import modify_module
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader, module_loader
from ansible.template import Templar

from benchmarks.figures import Figure

# The goals: that of a read before hints, and that of VMs before they were created, with 5 % more.
GOALS = {"host_info": 360.0, "vm": 466.0}


def measure_payloads() -> Iterator[Figure]:
    """Yield the size of the payload of a module that reads, and of one that creates."""
    init_plugin_loader()
    for name, goal in GOALS.items():
        yield Figure(f"payload_{name}", f"the payload of `{name}`, KB", measure_payload(name) / 1000, goal, "G1b")


def measure_payload(name: str) -> int:
    """Return the bytes of the payload of a module."""
    full_name = f"virtinfra.manager.{name}"
    path = module_loader.find_plugin_with_context(full_name).plugin_resolved_path
    built = modify_module(
        module_name=full_name,
        module_path=path,
        module_args={},
        templar=Templar(loader=DataLoader()),
        task_vars={"ansible_python_interpreter": sys.executable},
        module_compression="ZIP_DEFLATED",
    )
    # Versions before 2.19 return a tuple.
    return len(built[0] if isinstance(built, tuple) else built.b_module_data)
