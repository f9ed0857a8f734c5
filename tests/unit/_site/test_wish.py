"""What a workflow reports, held against what it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.report import Entry, Outcome, Report
from ansible_collections.virtinfra.manager.plugins.plugin_utils._site.wish import LOST, Wish, hold
from ansible_collections.virtinfra.manager.plugins.plugin_utils._workflows import run

from chaos.store import compare
from chaos.workflows import WORKS, Stage, Work
from simulator.launch import Simulator
from support import workflow_runner
from support.scenarios import State
from support.workflow_runner import WorkflowRun


class Dropper:
    """Drops the last object of one batch: nothing is done for it, and its result is ``result``."""

    def __init__(self, number: int, result: dict[str, Any]) -> None:
        self._number, self._result = number, result
        self.count = 0

    def __call__(self, find_defaults: Callable[[str], Any], context: Any, **options: Any) -> dict[str, Any]:
        """Run a batch, perhaps without its last object."""
        self.count += not context.check_mode
        if self.count != self._number + 1 or context.check_mode:
            return run_objects(find_defaults, context, **options)
        *others, dropped = context.params["objects"]
        rest = replace(context, params={**context.params, "objects": others})
        done = run_objects(find_defaults, rest, **options)["results"] if others else []
        context.changed = rest.changed
        return {"results": [*done, {"changed": False, "failed": False, "item": dropped, **self._result}]}


def has_failed(ran: WorkflowRun) -> bool:
    """Return whether a run is red."""
    return bool(ran.result.get("failed") or ran.result.get("failed_count"))


@pytest.fixture
def stage(sim: Simulator, tmp_path: Path) -> Callable[[Work], Stage]:
    """Prepare a new service for a role."""
    return lambda work: Stage(sim, work, "honours job ids", tmp_path)


OUTCOMES = ("not_started", "unchanged")

WORKFLOWS = [work for work in WORKS if not work.breaks]


@pytest.mark.parametrize("work", WORKFLOWS, ids=str)
@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_an_object_that_is_dropped_turns_the_run_red(
    stage: Callable[[Work], Stage], monkeypatch: pytest.MonkeyPatch, work: Work, first: int
) -> None:
    """Whichever batch drops it, and whatever it says about it; unless a later batch of the run does its work, too."""

    def run_with(dropper: Dropper) -> tuple[WorkflowRun, State]:
        monkeypatch.setattr(workflow_runner, "run_objects", run_objects)
        fresh = stage(work)
        monkeypatch.setattr(workflow_runner, "run_objects", dropper)
        return fresh.run(), fresh.read()

    clean = Dropper(-1, {})
    ran, wanted = run_with(clean)
    assert not has_failed(ran)
    for number in range(clean.count):
        ran, state = run_with(Dropper(number, {"outcome": OUTCOMES[(first + number) % len(OUTCOMES)]}))
        difference = compare(wanted, state)
        assert has_failed(ran) or not difference, f"batch {number} of {clean.count}: {ran.message}: {difference}"


@pytest.mark.parametrize("work", WORKFLOWS, ids=str)
def test_an_entry_that_is_dropped_turns_the_run_red(
    stage: Callable[[Work], Stage], monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    fresh, load = stage(work), run.load_workflow
    dropped: list[Entry] = []

    def load_lossy(*arguments: Any) -> Callable[..., Report]:
        return partial(drop_entry, load(*arguments))

    def drop_entry(workflow: Callable[..., Report], *arguments: Any) -> Report:
        report = workflow(*arguments)
        dropped[:] = report.entries[-1:]
        return replace(report, entries=report.entries[:-1])

    monkeypatch.setattr(run, "load_workflow", load_lossy)
    ran = fresh.run()
    assert ran.result["failed_count"] == 1
    assert f"{dropped[0].name}: {LOST}"[:-1] in ran.message
    assert ran.report[-1].keys() >= ran.report[0].keys()


def build_report(*outcomes: Outcome) -> Report:
    """Return a report of VMs."""
    return Report("VMs", list(build_entries(outcomes)))


def build_entries(outcomes: tuple[Outcome, ...]) -> Iterator[Entry]:
    """Yield an entry for each outcome."""
    for number, outcome in enumerate(outcomes):
        yield Entry(
            outcome, f"vm-{number}", {"vm": f"vm-{number}", "outcome": outcome.name, "error": None}, f"u{number}"
        )


ASKED = {f"u{number}": {"vm": f"vm-{number}", "vm_uuid": f"u{number}"} for number in range(3)}


def test_done_is_what_a_read_after_the_last_action_shows() -> None:
    """What has failed or was skipped is not asked for, and a missing row is no success."""

    def find_lack(dummy: str, record: dict[str, Any] | None) -> str | None:
        return None if record and record["state"] == "Stopped" else "It runs"

    wish = Wish(ASKED, lambda: {"u0": {"state": "Stopped"}, "u1": {"state": "Running"}}, find_lack)
    report = build_report(Outcome(is_changed=True), Outcome(), Outcome(is_changed=True))
    assert [entry.members["error"] for entry in hold(report, [wish], False).entries] == [None, "It runs", "It runs"]
    known = build_report(Outcome(error="full"), Outcome(skipped="late"), Outcome(error="full"))
    assert [entry.outcome.name for entry in hold(known, [wish], False).entries] == ["failed", "skipped", "failed"]
    predicted = build_report(Outcome(), Outcome(), Outcome())
    assert hold(predicted, [wish], True).failed_count == 0


def test_what_cannot_be_read_again_is_not_done() -> None:
    def read() -> dict[str, Any]:
        raise VirtinfraError("no database")

    report = hold(build_report(Outcome(), Outcome(error="full"), Outcome()), [Wish(ASKED, read)], False)
    assert report.failed_count == 3
    assert "no database" in str(report.entries[0].outcome.error)
    assert report.entries[1].outcome.error == "full"
