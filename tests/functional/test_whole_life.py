"""The example whole_life: from nothing but an account to everything, and back to nothing."""

from __future__ import annotations

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Run

# What build.yml creates.
BUILT = {"host", "vm", "snapshotgroup", "topic", "endpoint", "subscriber"}

EXAMPLE = ROOT / "docs" / "examples" / "whole_life"


def test_everything_is_built_and_removed(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    """Each half is predicted with reads only, run, and run again without a change; the store is then what it was."""
    environment = {
        "CHAT_KEY": "key-of-the-chat",
        "NEW_HOSTS_PASSWORD": "pa55w0rd-of-ssh",
        "VIRTINFRA_ACCOUNT": "admin",
        "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password",
        "VIRTINFRA_BASE_URL": sim.url,
    }

    def play(half: str, *arguments: str) -> Run:
        run = playbook_runner.playbook(str(EXAMPLE / f"{half}.yml"), arguments, environment)
        assert run.code == 0, run.output
        return run

    def changed(run: Run) -> list[str]:
        return [played.task for played in run if played.result.get("changed")]

    nothing = sim.state()
    states = []
    for half in ("build", "remove"):
        before = sim.state()
        predicted = play(half, "--check", "--diff")
        assert sim.state() == before
        done = play(half)
        assert changed(predicted) == changed(done)
        assert len(changed(done)) > 4
        after = sim.state()
        assert changed(play(half)) == []
        assert sim.state() == after
        states.append(after)
    built, removed = states
    assert {kind for kind in built if built[kind] != nothing[kind]} >= BUILT
    assert removed == nothing
