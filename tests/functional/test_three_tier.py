"""What a newcomer writes on the first day: a VM with its image, network and disk, and the example three_tier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.collection import ROOT
from support.playbook_runner import PlaybookRunner, Run

EXAMPLE = ROOT / "docs" / "examples" / "three_tier"
FIRST_DAY = """\
- hosts: localhost
  gather_facts: false
  vars: {state: present, size: 20G}
  tasks:
    - when: state == 'present'
      block:
        - virtinfra.manager.resource:
            kind: image
            name: debian
            properties: {url: "https://images.example.com/debian.qcow2", format: qcow2, backup_storages: [bs-1]}
        - virtinfra.manager.resource: {kind: l3_network, name: office, parent: l2-1}
        - virtinfra.manager.resource:
            kind: ip_range
            name: office
            parent: office
            properties: {network_cidr: 10.50.0.0/24}
        - virtinfra.manager.vm:
            name: desk-1
            state: running
            image: debian
            cpu: 2
            memory: 4G
            networks: [{l3_network: office, static_ip: 10.50.0.20}]
            user_data: |
              #cloud-config
              hostname: desk-1
        - virtinfra.manager.volume: {name: data-of-desk-1, vm: desk-1, size: "{{ size }}"}
    - when: state == 'absent'
      block:
        - virtinfra.manager.vm: {name: desk-1, state: absent, data_volumes: delete, expunge: true}
        - virtinfra.manager.resource: {kind: l3_network, name: office, state: absent, force: true}
        - virtinfra.manager.resource: {kind: image, name: debian, state: absent, expunge: true}
"""

Play = Callable[..., Run]


@pytest.fixture
def play(sim: Simulator, playbook_runner: PlaybookRunner) -> Play:
    environment = {
        "VIRTINFRA_ACCOUNT": "admin",
        "VIRTINFRA_ACCOUNT_PASSWORD": "simulator-password",
        "VIRTINFRA_BASE_URL": sim.url,
    }

    def run(path: Path, *arguments: str) -> Run:
        played = playbook_runner.playbook(str(path), arguments, environment)
        assert played.code == 0, played.output
        return played

    return run


def list_changed(run: Run) -> list[str]:
    return [played.task for played in run if played.result.get("changed")]


def converge(sim: Simulator, play: Play, path: Path, *arguments: str) -> dict[str, Any]:
    """Predict a playbook, run it as predicted, and run it again without a change; return the state."""
    before = sim.state()
    predicted = play(path, "--check", "--diff", *arguments)
    assert sim.state() == before
    done = play(path, *arguments)
    assert list_changed(predicted) == list_changed(done) != []
    after = sim.state()
    assert list_changed(play(path, *arguments)) == []
    assert sim.state() == after
    return after


def volume_of(state: dict[str, Any]) -> dict[str, Any]:
    (volume,) = [volume for volume in state["volume"] if volume["name"] == "data-of-desk-1"]
    return dict(volume)


def test_play_of_the_first_day_builds_grows_and_removes(sim: Simulator, play: Play, tmp_path: Path) -> None:
    assert len(FIRST_DAY.splitlines()) <= 40
    path = tmp_path / "first_day.yml"
    path.write_text(FIRST_DAY)
    nothing = sim.state()
    built = converge(sim, play, path)
    (vm,) = [vm for vm in built["vm"] if vm["name"] == "desk-1"]
    assert (vm["state"], vm["vmNics"][0]["ip"]) == ("Running", "10.50.0.20")
    assert (volume_of(built)["size"], volume_of(built)["vmInstanceUuid"]) == (20 * 2**30, vm["uuid"])
    grown = converge(sim, play, path, "-e", "size=40G")
    assert volume_of(grown)["size"] == 40 * 2**30
    assert converge(sim, play, path, "-e", "state=absent") == nothing


def test_site_of_three_tiers_is_built_and_removed(sim: Simulator, play: Play) -> None:
    nothing = sim.state()
    built = converge(sim, play, EXAMPLE / "build.yml")
    assert {vm["name"] for vm in built["vm"]} >= {"shop-web-1", "shop-web-2", "shop-app-1", "shop-db-1"}
    assert converge(sim, play, EXAMPLE / "remove.yml") == nothing
