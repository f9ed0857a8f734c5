# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's CBT tasks."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.store import seeded_uuid
from simulator.talk import Talk

RUNNING = seeded_uuid("vm", 1)
STOPPED = seeded_uuid("vm", 2)


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def create(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "backup", **params}}


def new_task(talk: Talk, vm: str = RUNNING) -> str:
    return str(talk.inventory("POST", "cbt-task/create", create(vmInstanceUuid=vm))["uuid"])


def status(talk: Talk, uuid: str) -> Any:
    return talk.found(f"cbt-task/{uuid}")[0]["status"]


def test_create(talk: Talk) -> None:
    task = talk.inventory("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING, description=" x "))
    assert (task["name"], task["description"], task["status"]) == ("backup", "x", "Created")
    assert task["resourceRefs"] == [{"taskUuid": task["uuid"], "resourceUuid": RUNNING, "resourceType": "VmInstanceVO"}]
    assert talk.found(f"cbt-task?q=resourceRefs.resourceUuid={RUNNING}") == [task]
    assert talk.code("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING)) == "SYS.1006"
    talk.inventory("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED))
    assert len(talk.found("cbt-task?q=name=backup")) == 2


def test_create_by_resource_uuids(talk: Talk) -> None:
    task = talk.inventory("POST", "cbt-task/create", create(taskType="VM", resourceUuids=[RUNNING, STOPPED, RUNNING]))
    assert [ref["resourceUuid"] for ref in task["resourceRefs"]] == [RUNNING, STOPPED]
    assert talk.code("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED)) == "SYS.1006"


def test_resource_uuid_makes_a_retry_safe(talk: Talk) -> None:
    uuid = "0123456789ab4def8123456789abcdef"
    assert talk.inventory("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING, resourceUuid=uuid))["uuid"] == uuid
    assert talk.code("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED, resourceUuid=uuid)) == "SYS.1007"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "SYS.1007"),
        ({"vmInstanceUuid": RUNNING, "name": None}, "SYS.1007"),
        ({"vmInstanceUuid": seeded_uuid("vm", 99)}, "SYS.1003"),
        ({"resourceUuids": [RUNNING]}, "SYS.1007"),
        ({"taskType": "VM"}, "SYS.1007"),
        ({"taskType": "VM", "resourceUuids": []}, "SYS.1007"),
        ({"vmInstanceUuid": RUNNING, "resourceUuid": "0123"}, "SYS.1007"),
        ({"vmInstanceUuid": RUNNING, "resourceUuid": "0123456789ab1def8123456789abcdef"}, "SYS.1007"),
        ({"vmInstanceUuid": RUNNING, "tagUuids": ["x"]}, "SYS.1007"),
    ],
)
def test_a_task_that_cannot_be_created(talk: Talk, params: dict[str, Any], code: str) -> None:
    assert talk.code("POST", "cbt-task/create", create(**params)) == code
    assert talk.found("cbt-task") == []


def test_a_value_that_cannot_be_parsed_is_refused_at_once(talk: Talk) -> None:
    assert talk.refused("POST", "cbt-task/create", create(taskType="VM", resourceUuids=RUNNING))
    assert talk.refused("POST", "cbt-task/create", create(vmInstanceUuid=[RUNNING]))
    assert talk.refused("DELETE", f"cbt-task/{RUNNING}?force=perhaps")


def test_servers_that_read_one_form_only(talk: Talk) -> None:
    by_vm = create(vmInstanceUuid=RUNNING)
    by_resources = create(taskType="VM", resourceUuids=[STOPPED])
    talk.sim.configure(cbt_create="literal")
    assert talk.code("POST", "cbt-task/create", by_vm) == "SYS.1007"
    talk.inventory("POST", "cbt-task/create", by_resources)
    talk.sim.configure(cbt_create="vm_only")
    assert talk.code("POST", "cbt-task/create", by_resources) == "SYS.1007"
    talk.inventory("POST", "cbt-task/create", by_vm)


def test_enable_and_disable(talk: Talk) -> None:
    uuid = new_task(talk)
    talk.sim.configure(latency=600.0)
    answer = talk.send("POST", f"cbt-task/enable/{uuid}", {"params": {"bitmapName": "bits"}})
    assert status(talk, uuid) == "Starting"
    assert talk.code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    talk.sim.advance()
    reply = talk.finished(answer).json()
    assert "inventory" not in reply
    infos = reply["volumeCbtBackupInfos"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 1), seeded_uuid("volume", 2)]
    assert {info["bitmapName"] for info in infos} == {"bits"}
    members = "volume bitmapName bitmapBase64 target scratchNodeName nbdServer nbdPort mode"
    assert set(infos[0]) == set(members.split())
    assert set(infos[0]["volume"]) == {"volumeUuid", "installPath", "deviceId", "deviceType"}
    assert status(talk, uuid) == "Running"
    talk.sim.configure(latency=0.0)
    assert talk.code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    for dummy in range(2):
        assert talk.call("POST", f"cbt-task/disable/{uuid}", {"params": {"force": True}}) == {}
        assert status(talk, uuid) == "Stopped"
    talk.sim.configure(disable_reply="inventory")
    assert talk.inventory("POST", f"cbt-task/disable/{uuid}", {"params": {}})["status"] == "Stopped"
    talk.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})
    assert status(talk, uuid) == "Running"


def test_enable_needs_a_running_vm(talk: Talk) -> None:
    uuid = new_task(talk, STOPPED)
    assert talk.code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    assert status(talk, uuid) == "Created"
    assert talk.code("POST", f"cbt-task/enable/{seeded_uuid('cbttask', 99)}", {"params": {}}) == "SYS.1003"


def test_a_failed_enable_leaves_the_task_failed(talk: Talk) -> None:
    uuid = new_task(talk)
    talk.sim.fault("fail", "EnableCbtTask", error={"code": "SYS.1000", "details": "no nbd"})
    assert talk.code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1000"
    assert status(talk, uuid) == "Failed"
    assert "volumeCbtBackupInfos" in talk.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})


def test_disabling_while_it_starts(talk: Talk) -> None:
    uuid = new_task(talk)
    talk.sim.configure(latencies={"EnableCbtTask": 600.0})
    answer = talk.send("POST", f"cbt-task/enable/{uuid}", {"params": {}})
    talk.call("POST", f"cbt-task/disable/{uuid}", {"params": {}})
    talk.sim.advance()
    assert talk.finished(answer).json()["error"]["code"] == "SYS.1006"
    assert status(talk, uuid) == "Stopped"


@pytest.mark.parametrize(
    ("switch", "members"),
    [
        ("inventory", {"inventory"}),
        ("both", {"inventory", "volumeCbtBackupInfos"}),
        ("volumeCbtBackupInfos", {"volumeCbtBackupInfos"}),
        ("empty", set()),
    ],
)
def test_replies_of_enable(talk: Talk, switch: str, members: set[str]) -> None:
    talk.sim.configure(enable_reply=switch)
    uuid = new_task(talk)
    assert set(talk.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})) - {"schema"} == members
    assert talk.call("POST", f"cbt-task/disable/{uuid}", {"params": {}}) == {}
    assert status(talk, uuid) == "Stopped"


def test_delete(talk: Talk) -> None:
    uuid = new_task(talk)
    assert talk.code("DELETE", f"cbt-task/{uuid}?deleteMode=permissive") == "SYS.1007"
    assert talk.call("DELETE", f"cbt-task/{uuid}?deleteMode=Enforcing&force=true") == {}
    assert talk.found("cbt-task") == []
    assert talk.code("DELETE", f"cbt-task/{uuid}") == "SYS.1006"
    assert talk.code("POST", f"cbt-task/disable/{uuid}", {"params": {}}) == "SYS.1003"


def test_where_delete_reads_its_parameters(talk: Talk) -> None:
    uuid = new_task(talk)
    wrong = {"deleteMode": "wrong"}
    for where in ("body", "both"):
        talk.sim.configure(delete_params=where)
        assert talk.code("DELETE", f"cbt-task/{uuid}", wrong) == "SYS.1007"
        assert talk.code("DELETE", f"cbt-task/{uuid}", {"params": wrong}) == "SYS.1007"
    assert talk.code("DELETE", f"cbt-task/{uuid}?deleteMode=wrong", {}) == "SYS.1007"
    talk.sim.configure(delete_params="body")
    assert talk.call("DELETE", f"cbt-task/{uuid}?deleteMode=wrong", {"force": True}) == {}
    uuid = new_task(talk)
    talk.sim.configure(delete_params="query")
    assert talk.call("DELETE", f"cbt-task/{uuid}", wrong) == {}


def export(*volumes: int, **params: Any) -> dict[str, Any]:
    uuids = [seeded_uuid("volume", number) for number in volumes]
    return {"params": {"volumeUuids": uuids, "vmInstanceUuid": STOPPED, **params}}


def test_export(talk: Talk) -> None:
    path = "cbt-task/exportvolume"
    infos = talk.call("POST", path, export(3, 4))["volumeInfos"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 3), seeded_uuid("volume", 4)]
    assert talk.code("POST", path, export(4)) == "SYS.1006"
    assert talk.code("POST", path, export(4, force=False)) == "SYS.1006"
    assert "volumeInfos" in talk.call("POST", path, export(4, force=True))
    talk.sim.configure(extra_members=False)
    assert talk.call("POST", path, export(4, force=True)) == {}


def test_unexport(talk: Talk) -> None:
    talk.call("POST", "cbt-task/exportvolume", export(3, 4))
    assert talk.call("POST", "cbt-task/unexportvolume", export(4)) == {}
    assert talk.sim.state()["exported"] == {STOPPED: [seeded_uuid("volume", 3)]}
    assert talk.code("POST", "cbt-task/unexportvolume", export()) == "SYS.1007"
    talk.call("POST", "cbt-task/exportvolume", export(4))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (export(1, 2, vmInstanceUuid=RUNNING), "SYS.1006"),
        (export(1), "SYS.1007"),
        (export(99), "SYS.1003"),
        (export(), "SYS.1007"),
        (export(3, vmInstanceUuid=None), "SYS.1007"),
        (export(3, vmInstanceUuid=seeded_uuid("vm", 99)), "SYS.1003"),
    ],
)
def test_an_export_that_is_refused(talk: Talk, body: dict[str, Any], code: str) -> None:
    assert talk.code("POST", "cbt-task/exportvolume", body) == code
    assert talk.sim.state()["exported"] == {}


def test_older_servers_reply_to_create_with_nothing(talk: Talk) -> None:
    talk.sim.configure(version="4.10.10")
    assert talk.call("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING)) == {}
    talk.sim.configure(version="5.3.20")
    assert "inventory" in talk.call("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED))
