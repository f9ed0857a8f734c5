"""Compare what check mode predicts with what a run does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from support.module_runner import ModuleRun, ModuleRunner, drop_other_remedy

# Members of records that nobody can predict: the service chooses them.
CHOSEN = {"create_date", "last_op_date"}

# Members that the service chooses when it starts a VM or moves a NIC. They may stay the same.
BY_CHANCE = {"cluster_uuid", "host_uuid", "last_host_uuid", "netmask", "gateway"}


def run_as_predicted(run: ModuleRunner, name: str, options: Mapping[str, Any]) -> ModuleRun:
    """Run a module in check mode and outside it, require the same result, and return the second one."""
    checked, ran = run(name, options, check=True), run(name, options)
    assert list_disagreements(checked, ran) == []
    return ran


def list_disagreements(checked: ModuleRun, ran: ModuleRun) -> list[str]:
    """Return how the result of a run differs from its prediction; none if the prediction is true."""
    if checked.calls:
        return [f"check mode called {checked.calls}"]
    if checked.failed != ran.failed:
        return [f"check: {_describe(checked)}; run: {_describe(ran)}"]
    if ran.failed:
        texts = [f"{outcome['error']['code']} {drop_other_remedy(outcome)}" for outcome in (checked, ran)]
        return [] if texts[0] == texts[1] else [f"check: {texts[0]}; run: {texts[1]}"]
    if checked.changed != ran.changed:
        return [f"changed is {checked.changed} in check mode, and {ran.changed} in the run"]
    return list(_compare_records(checked.result, ran.result))


def _describe(outcome: ModuleRun) -> str:
    return f"{outcome['error']['code']} {outcome.message}" if outcome.failed else "succeeds"


def _compare_records(predicted: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    """Yield the members of the diffs that differ."""
    before = [result.get("diff", {}).get("before") for result in (predicted, actual)]
    if before[0] != before[1]:
        yield f"before: {before[0]} is predicted, and is {before[1]}"
    expected, shown = ({**result.get("diff", {}).get("after", {})} for result in (predicted, actual))
    if bool(expected) != bool(shown):
        yield f"after: {expected} is predicted, and is {shown}"
    for name in expected.keys() & shown.keys() - CHOSEN:
        is_kept = name not in BY_CHANCE and shown[name] == (before[1] or {}).get(name)
        if expected[name] != shown[name] and (is_kept or not is_possible(expected[name], shown[name])):
            yield f"{name}: {expected[name]!r} is predicted, and is {shown[name]!r}"


def is_possible(expected: Any, actual: Any) -> bool:
    """Return whether a value is the predicted one. Null says that the service chooses it, or a part of it."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(is_possible(expected[name], actual.get(name)) for name in expected.keys() - CHOSEN)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(is_possible, expected, actual))
    return expected is None or expected == actual
