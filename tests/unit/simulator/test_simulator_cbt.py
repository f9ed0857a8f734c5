# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's CBT tasks."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

RUNNING = seeded_uuid("vm", 1)
STOPPED = seeded_uuid("vm", 2)


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def create(**params: Any) -> dict[str, Any]:
    return {"params": {"name": "backup", **params}}


def new_task(api: HttpClient, vm: str = RUNNING) -> str:
    return str(api.inventory("POST", "cbt-task/create", create(vmInstanceUuid=vm))["uuid"])


def status(api: HttpClient, uuid: str) -> Any:
    return api.query(f"cbt-task/{uuid}")[0]["status"]


def test_create_cbt_task_by_vm(api: HttpClient) -> None:
    task = api.inventory("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING, description=" x "))
    assert (task["name"], task["description"], task["status"]) == ("backup", "x", "Created")
    assert task["resourceRefs"] == [{"taskUuid": task["uuid"], "resourceUuid": RUNNING, "resourceType": "VmInstanceVO"}]
    assert api.query(f"cbt-task?q=resourceRefs.resourceUuid={RUNNING}") == [task]
    assert api.error_code("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING)) == "SYS.1006"
    api.inventory("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED))
    assert len(api.query("cbt-task?q=name=backup")) == 2


def test_create_cbt_task_by_resource_uuids(api: HttpClient) -> None:
    task = api.inventory("POST", "cbt-task/create", create(taskType="VM", resourceUuids=[RUNNING, STOPPED, RUNNING]))
    assert [ref["resourceUuid"] for ref in task["resourceRefs"]] == [RUNNING, STOPPED]
    assert api.error_code("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED)) == "SYS.1006"


def test_create_cbt_task_takes_a_resource_uuid_once(api: HttpClient) -> None:
    uuid = "0123456789ab4def8123456789abcdef"
    assert api.inventory("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING, resourceUuid=uuid))["uuid"] == uuid
    assert api.error_code("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED, resourceUuid=uuid)) == "SYS.1007"


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
def test_create_cbt_task_rejects_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", "cbt-task/create", create(**params)) == code
    assert api.query("cbt-task") == []


def test_cbt_params_that_cannot_be_parsed_are_rejected_at_once(api: HttpClient) -> None:
    assert api.is_rejected("POST", "cbt-task/create", create(taskType="VM", resourceUuids=RUNNING))
    assert api.is_rejected("POST", "cbt-task/create", create(vmInstanceUuid=[RUNNING]))
    assert api.is_rejected("DELETE", f"cbt-task/{RUNNING}?force=perhaps")


def test_create_cbt_task_reads_the_form_of_the_switch(api: HttpClient) -> None:
    by_vm = create(vmInstanceUuid=RUNNING)
    by_resources = create(taskType="VM", resourceUuids=[STOPPED])
    api.sim.configure(cbt_create="literal")
    assert api.error_code("POST", "cbt-task/create", by_vm) == "SYS.1007"
    api.inventory("POST", "cbt-task/create", by_resources)
    api.sim.configure(cbt_create="vm_only")
    assert api.error_code("POST", "cbt-task/create", by_resources) == "SYS.1007"
    api.inventory("POST", "cbt-task/create", by_vm)


def test_cbt_task_is_enabled_and_disabled(api: HttpClient) -> None:
    uuid = new_task(api)
    api.sim.configure(latency=600.0)
    response = api.send("POST", f"cbt-task/enable/{uuid}", {"params": {"bitmapName": "bits"}})
    assert status(api, uuid) == "Starting"
    assert api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    api.sim.advance()
    reply = api.wait_for_job(response).json()
    assert "inventory" not in reply
    infos = reply["volumeCbtBackupInfos"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 1), seeded_uuid("volume", 2)]
    assert {info["bitmapName"] for info in infos} == {"bits"}
    members = "volume bitmapName bitmapBase64 target scratchNodeName nbdServer nbdPort mode"
    assert set(infos[0]) == set(members.split())
    assert set(infos[0]["volume"]) == {"volumeUuid", "installPath", "deviceId", "deviceType"}
    assert status(api, uuid) == "Running"
    api.sim.configure(latency=0.0)
    assert api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    for dummy in range(2):
        assert api.call("POST", f"cbt-task/disable/{uuid}", {"params": {"force": True}}) == {}
        assert status(api, uuid) == "Stopped"
    api.sim.configure(disable_reply="inventory")
    assert api.inventory("POST", f"cbt-task/disable/{uuid}", {"params": {}})["status"] == "Stopped"
    api.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})
    assert status(api, uuid) == "Running"


def test_enable_cbt_task_needs_a_running_vm(api: HttpClient) -> None:
    uuid = new_task(api, STOPPED)
    assert api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    assert status(api, uuid) == "Created"
    assert api.error_code("POST", f"cbt-task/enable/{seeded_uuid('cbttask', 99)}", {"params": {}}) == "SYS.1003"


def test_enable_cbt_task_leaves_failed_status_on_error(api: HttpClient) -> None:
    uuid = new_task(api)
    api.sim.fault("fail", "EnableCbtTask", error={"code": "SYS.1000", "details": "no nbd"})
    assert api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1000"
    assert status(api, uuid) == "Failed"
    assert "volumeCbtBackupInfos" in api.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})


def test_disable_cbt_task_during_start(api: HttpClient) -> None:
    uuid = new_task(api)
    api.sim.configure(latencies={"EnableCbtTask": 600.0})
    response = api.send("POST", f"cbt-task/enable/{uuid}", {"params": {}})
    api.call("POST", f"cbt-task/disable/{uuid}", {"params": {}})
    api.sim.advance()
    assert api.wait_for_job(response).json()["error"]["code"] == "SYS.1006"
    assert status(api, uuid) == "Stopped"


@pytest.mark.parametrize(
    ("switch", "members"),
    [
        ("inventory", {"inventory"}),
        ("both", {"inventory", "volumeCbtBackupInfos"}),
        ("volumeCbtBackupInfos", {"volumeCbtBackupInfos"}),
        ("empty", set()),
    ],
)
def test_enable_cbt_task_reply_depends_on_the_switch(api: HttpClient, switch: str, members: set[str]) -> None:
    api.sim.configure(enable_reply=switch)
    uuid = new_task(api)
    assert set(api.call("POST", f"cbt-task/enable/{uuid}", {"params": {}})) - {"schema"} == members
    assert api.call("POST", f"cbt-task/disable/{uuid}", {"params": {}}) == {}
    assert status(api, uuid) == "Stopped"


def test_delete_cbt_task(api: HttpClient) -> None:
    uuid = new_task(api)
    assert api.error_code("DELETE", f"cbt-task/{uuid}?deleteMode=permissive") == "SYS.1000"
    assert api.call("DELETE", f"cbt-task/{uuid}?deleteMode=Enforcing&force=true") == {}
    assert api.query("cbt-task") == []
    assert api.error_code("DELETE", f"cbt-task/{uuid}") == "SYS.1006"
    assert api.error_code("POST", f"cbt-task/disable/{uuid}", {"params": {}}) == "SYS.1003"


def test_delete_params_are_read_where_the_switch_says(api: HttpClient) -> None:
    uuid = new_task(api)
    wrong = {"deleteMode": "wrong"}
    for where in ("body", "both"):
        api.sim.configure(delete_params=where)
        assert api.error_code("DELETE", f"cbt-task/{uuid}", wrong) == "SYS.1000"
        assert api.error_code("DELETE", f"cbt-task/{uuid}", {"params": wrong}) == "SYS.1000"
    assert api.error_code("DELETE", f"cbt-task/{uuid}?deleteMode=wrong", {}) == "SYS.1000"
    api.sim.configure(delete_params="body")
    assert api.call("DELETE", f"cbt-task/{uuid}?deleteMode=wrong", {"force": True}) == {}
    uuid = new_task(api)
    api.sim.configure(delete_params="query")
    assert api.call("DELETE", f"cbt-task/{uuid}", wrong) == {}


def export(*volumes: int, **params: Any) -> dict[str, Any]:
    uuids = [seeded_uuid("volume", number) for number in volumes]
    return {"params": {"volumeUuids": uuids, "vmInstanceUuid": STOPPED, **params}}


def test_export_nbd_volumes(api: HttpClient) -> None:
    path = "cbt-task/exportvolume"
    infos = api.call("POST", path, export(3, 4))["volumeInfos"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 3), seeded_uuid("volume", 4)]
    assert api.error_code("POST", path, export(4)) == "SYS.1006"
    assert api.error_code("POST", path, export(4, force=False)) == "SYS.1006"
    assert "volumeInfos" in api.call("POST", path, export(4, force=True))
    api.sim.configure(extra_members=False)
    assert api.call("POST", path, export(4, force=True)) == {}


def test_unexport_nbd_volumes(api: HttpClient) -> None:
    api.call("POST", "cbt-task/exportvolume", export(3, 4))
    assert api.call("POST", "cbt-task/unexportvolume", export(4)) == {}
    assert api.sim.state()["exported"] == {STOPPED: [seeded_uuid("volume", 3)]}
    assert api.error_code("POST", "cbt-task/unexportvolume", export()) == "SYS.1007"
    api.call("POST", "cbt-task/exportvolume", export(4))


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
def test_export_nbd_volumes_rejects_invalid_params(api: HttpClient, body: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", "cbt-task/exportvolume", body) == code
    assert api.sim.state()["exported"] == {}


def test_create_cbt_task_reply_is_empty_in_old_versions(api: HttpClient) -> None:
    api.sim.configure(version="4.10.10")
    assert api.call("POST", "cbt-task/create", create(vmInstanceUuid=RUNNING)) == {}
    api.sim.configure(version="5.3.20")
    assert "inventory" in api.call("POST", "cbt-task/create", create(vmInstanceUuid=STOPPED))
