# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Option values as playbooks write them, and as templates return them on every ansible-core version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.store import seeded_uuid
from support.playbook_runner import PlaybookRunner

BOTH_PROCESSES = pytest.mark.parametrize("as_module", [False, True], ids=["controller", "module process"])

VM, NIC, NETWORK = seeded_uuid("vm", 5), seeded_uuid("vmnic", 2), seeded_uuid("l3network", 3)
NIC_PARAMS = {"up": True, "list": [1, "x"], "text": "it's"}


# ---------------------------------------------------------------------------------------------------------------- JSON


@BOTH_PROCESSES
@pytest.mark.parametrize(
    "value",
    [NIC_PARAMS, "{{ as_mapping }}", "{{ as_text }}", "{{ as_mapping | to_json }}", json.dumps(NIC_PARAMS)],
    ids=["mapping", "variable", "variable of JSON text", "to_json", "JSON text"],
)
def test_json_option_arrives_as_json_text(playbook_runner: PlaybookRunner, value: Any, as_module: bool) -> None:
    variables = {"as_mapping": NIC_PARAMS, "as_text": json.dumps(NIC_PARAMS)}
    moved = {"uuid": NIC, "l3_network": NETWORK, "vm_nic_params": value}
    called = {"vmNicUuid": NIC, "destL3NetworkUuid": NETWORK, "vmNicParams": value}
    run = playbook_runner.play(
        {"virtinfra.manager.vm_nic": moved},
        {"virtinfra.manager.api": {"operation": "ChangeVmNicNetwork", "params": called}},
        vars=variables,
        as_module=as_module,
    )
    bodies = [
        entry["body"] for played in run for entry in played.requests if entry["operation"] == "ChangeVmNicNetwork"
    ]
    assert len(bodies) == 2, run.results
    for body in bodies:
        text = body["params"]["vmNicParams"]
        assert isinstance(text, str)
        assert json.loads(text) == NIC_PARAMS


def test_list_of_json_arrives_as_objects(sim: Simulator, playbook_runner: PlaybookRunner) -> None:
    encryptions = [{"uuid": seeded_uuid("volume", 1), "encrypted": True}]
    options = {"name": "n", "snapshot_group": seeded_uuid("snapshotgroup", 1)}
    for value in (encryptions, "{{ encryptions }}", [json.dumps(encryptions[0])], ["{{ encryptions[0] | to_json }}"]):
        sim.reset()
        task = {"virtinfra.manager.vm_from_snapshot_group": {**options, "volume_snapshot_encryptions": value}}
        (played,) = playbook_runner.play(task, vars={"encryptions": encryptions})
        (body,) = [entry["body"] for entry in played.requests if entry["method"] == "POST"]
        assert body["params"]["volumeSnapshotEncryptions"] == encryptions


@pytest.mark.parametrize("text", ["{'up': True}", "up=1", ""])
def test_json_option_that_is_no_json_is_refused(sim: Simulator, playbook_runner: PlaybookRunner, text: str) -> None:
    options = {"uuid": NIC, "l3_network": NETWORK, "vm_nic_params": text}
    for check in (True, False):
        played = playbook_runner.run_module("vm_nic", options, check)
        assert "vmNicParams of ChangeVmNicNetwork must be JSON" in played.result["msg"]
        assert played.written == []


# ------------------------------------------------------------------------------------------------------------ versions


@BOTH_PROCESSES
def test_version_that_yaml_reads_as_a_number_is_refused(playbook_runner: PlaybookRunner, as_module: bool) -> None:
    for version in (4.10, 5):
        played = playbook_runner.run_module("host_info", {"service_version": version}, as_module=as_module)
        assert "service_version must be quoted" in played.result["msg"]
        assert played.requests == []
    played = playbook_runner.run_module("host_info", {"service_version": "4.10"}, as_module=as_module)
    assert played.status == "ok"
