"""Storms of events in a real ansible-rulebook: no rule of the collection loses one, or stops to react."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import yaml

from simulator.launch import Simulator
from support.collection import ROOT
from support.rulebook_runner import run_rulebook
from support.rulebook_storm import run_storm
from support.waiting import wait_until

STORM, NEXT = 1000, 5
# ansible-rulebook sends what a time window has collected in one message, of which it reads only the first part.
COLLECTING_WINDOWS = {"once_after", "accumulate_within"}


def test_failed_jobs(installed_collection: Path, tmp_path: Path) -> None:
    """Each of many failures at the same time is reported once, and so are the failures after them."""
    with run_storm(tmp_path, installed_collection) as storm:
        for first, last in ((1, STORM), (STORM + 1, STORM + NEXT)):
            storm.fail(first, last)
        numbers = range(1, STORM + NEXT + 1)
        assert storm.reported == Counter(f"host-{number}" for number in numbers), storm.rules.output


def test_hardware_errors(installed_collection: Path, tmp_path: Path) -> None:
    """The rule of the rulebook fires for each host. Its playbook takes minutes for each, so a message stands for it."""
    rulebook = yaml.safe_load((ROOT / "extensions/eda/rulebooks/hardware_errors.yml").read_text(encoding="utf-8"))
    (rule,) = rulebook[0]["rules"]
    rule["action"] = {"debug": {"msg": "<{{ event.change.uuid }}>"}}
    file = tmp_path / "rulebook.yml"
    file.write_text(yaml.safe_dump(rulebook), encoding="utf-8")
    with Simulator("--hosts", str(STORM + NEXT), "--vms", "1", "--latency", "0") as sim:
        known = {"VIRTINFRA_BASE_URL": sim.url, "VIRTINFRA_SESSION_ID": sim.session}
        uuids = sorted(record["uuid"] for record in sim.records("host"))
        for uuid in uuids:
            sim.change("host", uuid, diskStatus="Normal")
        variables = {"hardware_errors_interval": 0.2}
        with run_rulebook(str(file), tmp_path, installed_collection, variables, None, **known) as rules:

            def has_fired(portion: list[str]) -> bool:
                return {*portion} <= {*rules.fired()}

            wait_until(lambda: sum(entry["operation"] == "QueryHost" for entry in sim.log()) > 1)
            for portion in (uuids[:STORM], uuids[STORM:]):
                for uuid in portion:
                    sim.change("host", uuid, diskStatus="Error")
                wait_until(partial(has_fired, portion))
            assert Counter(rules.fired()) == Counter(uuids)


def test_no_rulebook_has_a_window_that_collects() -> None:
    rulebooks = sorted((ROOT / "extensions/eda/rulebooks").glob("*.yml"))
    assert rulebooks
    for path in rulebooks:
        for rule in (rule for ruleset in yaml.safe_load(path.read_text(encoding="utf-8")) for rule in ruleset["rules"]):
            assert not COLLECTING_WINDOWS & rule.get("throttle", {}).keys(), path.name
