"""Random tasks do what check mode predicts, as far as a read can show it, and a second run changes nothing."""

from __future__ import annotations

import pytest

from simulator.launch import Simulator
from support.examples import count_examples
from support.module_runner import ModuleRun, ModuleRunner
from support.predictions import list_disagreements
from support.random_tasks import SERVICES, RandomTask, build_random_task

# Parts of the tasks, so that workers share the tasks.
PARTS = 12
COUNT = count_examples(750)

# Values of options with which a task acts each time.
EACH_TIME = {
    ("state", "restarted"),
    ("state", "reconnected"),
    ("state", "reverted"),
    ("power", "reset"),
    ("update_password", "always"),
}


def check_second_run(task: RandomTask, again: ModuleRun) -> list[str]:
    """Return what is wrong with the second run of a task that succeeded."""
    if task.module == "cbt_volume_export" or any(task.options.get(name) == value for name, value in EACH_TIME):
        return []
    if again.failed:
        return [f"the second run fails: {again.message}"]
    is_hidden = any("the service does not show" in warning for warning in again.warnings)
    return [f"the second run changes {again['diff']}"] if again.changed and not is_hidden else []


@pytest.mark.parametrize("part", range(PARTS))
def test_runs_do_what_check_mode_predicts(run: ModuleRunner, sim: Simulator, part: int) -> None:
    wrong = []
    for seed in range(part, COUNT, PARTS):
        task, service = build_random_task(seed), list(SERVICES)[seed % len(SERVICES)]
        task.prepare(sim, SERVICES[service])
        checked, ran = (run(task.module, task.options, check=check) for check in (True, False))
        problems = list_disagreements(checked, ran)
        if not (problems or ran.failed):
            problems = check_second_run(task, run(task.module, task.options))
        wrong += [f"seed {seed}, {service}: {task}\n    {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)
