# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run modules in this process with a clock that runs faster while they wait."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, TypeVar
from unittest import mock

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.virtinfra.manager.plugins.module_utils._http.hooks import Clock, Hooks
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.spec import ModuleResult, ModuleSpec

Result = TypeVar("Result")

LONGEST_SLEEP = 0.0005
_slept = 0.0


def monotonic() -> float:
    """Return the time in seconds, including skipped sleep."""
    return time.monotonic() + _slept


def sleep(seconds: float) -> None:
    """Sleep briefly and advance the clock by the rest."""
    global _slept
    real = min(seconds, LONGEST_SLEEP)
    time.sleep(real)
    _slept += seconds - real


@contextmanager
def with_fast_clock() -> Iterator[None]:
    """Make modules wait with the fast clock."""
    with mock.patch.multiple(Clock, monotonic=staticmethod(monotonic), sleep=staticmethod(sleep)):
        yield


@cache
def task_of(module: str) -> ModuleSpec:
    """Return the MODULE of a module."""
    task: ModuleSpec = import_module(f"ansible_collections.virtinfra.manager.plugins.modules.{module}").MODULE
    return task


def run(module: str, options: Mapping[str, Any], check: bool = False) -> ModuleResult:
    """Run a module with its options, validated as Ansible does."""
    task = task_of(module)
    validation = ArgumentSpecValidator(task.argument_spec, **task.constraints).validate(dict(options))
    assert not validation.error_messages, validation.error_messages
    params = validation.validated_parameters
    return task.execute(params, check, Hooks(task.masker(params)))


def in_time(function: Callable[[], Result], seconds: int = 120) -> Result:
    """Call a function; raise TimeoutError if it does not return in time."""

    def stop(*dummy: object) -> NoReturn:
        raise TimeoutError(f"it did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return function()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
