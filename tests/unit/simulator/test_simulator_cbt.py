"""The simulator's CBT tasks."""

from __future__ import annotations

import base64
import json
import zlib
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
        ({"vmInstanceUuid": seeded_uuid("vm", 99)}, "SYS.1003"),
        ({"resourceUuids": [RUNNING]}, "SYS.1007"),
        ({"taskType": "VM"}, "SYS.1007"),
        ({"taskType": "VM", "resourceUuids": []}, "SYS.1007"),
        ({"vmInstanceUuid": RUNNING, "tagUuids": ["x"]}, "SYS.1007"),
    ],
)
def test_create_cbt_task_rejects_invalid_params(api: HttpClient, params: dict[str, Any], code: str) -> None:
    assert api.error_code("POST", "cbt-task/create", create(**params)) == code
    assert api.query("cbt-task") == []


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
    assert "bits" not in {info["bitmapName"] for info in infos}
    members = "volume bitmapName bitmapBase64 target scratchNodeName nbdServer nbdPort mode"
    assert set(infos[0]) == set(members.split())
    assert {"volumeUuid", "resourceUuid", "installPath", "deviceId", "format"} <= set(infos[0]["volume"])
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
    assert set(infos[0]) == {"volume", "nbdServer", "nbdPort", "scratchNodeName"}
    assert [info["scratchNodeName"] for info in infos] == [seeded_uuid("volume", 3), seeded_uuid("volume", 4)]
    assert infos[0]["nbdPort"] != infos[1]["nbdPort"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 3), seeded_uuid("volume", 4)]
    assert api.error_code("POST", path, export(4)) == "SYS.1006"
    assert api.error_code("POST", path, export(4, force=False)) == "SYS.1006"
    assert "volumeInfos" in api.call("POST", path, export(4, force=True))
    api.sim.configure(extra_members=False)
    assert api.call("POST", path, export(4, force=True)) == {}


def test_volumes_of_another_vm_are_exported(api: HttpClient) -> None:
    """Servers do not compare the volumes with the VM."""
    infos = api.call("POST", "cbt-task/exportvolume", export(1))["volumeInfos"]
    assert [info["volume"]["volumeUuid"] for info in infos] == [seeded_uuid("volume", 1)]


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
        (export(99), "SYS.1003"),
        (export(), "SYS.1007"),
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


# ------------------------------------------------------------------------------------------------------ backup sessions


def enable(api: HttpClient, task: str, base: str | None = None) -> list[dict[str, Any]]:
    params = {"bitmapName": base} if base else {}
    infos: list[dict[str, Any]] = api.call("POST", f"cbt-task/enable/{task}", {"params": params})[
        "volumeCbtBackupInfos"
    ]
    return infos


def disable(api: HttpClient, task: str) -> None:
    api.call("POST", f"cbt-task/disable/{task}", {"params": {}})


def capacity(api: HttpClient) -> int:
    return sum(storage["availableCapacity"] for storage in api.sim.records("primarystorage"))


def scratch_volumes(api: HttpClient) -> list[dict[str, Any]]:
    return [volume for volume in api.sim.records("volume") if volume["name"].startswith("Cbt-volume-of-")]


def test_session_has_scratch_volumes_that_take_capacity(api: HttpClient) -> None:
    before, uuid = capacity(api), new_task(api)
    infos = enable(api, uuid)
    scratch = scratch_volumes(api)
    (vm,) = [vm for vm in api.sim.records("vm") if vm["uuid"] == RUNNING]
    assert [volume["size"] for volume in scratch] == [volume["size"] for volume in vm["allVolumes"]]
    assert [volume["description"] for volume in scratch] == [f"cbt-volume-for-{v['uuid']}" for v in vm["allVolumes"]]
    assert [info["target"] for info in infos] == [volume["installPath"] for volume in scratch]
    assert capacity(api) == before - sum(volume["size"] for volume in scratch)
    refs = api.query(f"cbt-task/{uuid}")[0]["resourceRefs"]
    assert [ref["resourceType"] for ref in refs] == ["VolumeVO", "VolumeVO", "VmInstanceVO"]
    disable(api, uuid)
    assert (scratch_volumes(api), capacity(api)) == ([], before)
    assert len(api.query(f"cbt-task/{uuid}")[0]["resourceRefs"]) == 1


def test_enable_needs_capacity_for_the_scratch_volumes(api: HttpClient) -> None:
    uuid = new_task(api)
    for storage in api.sim.records("primarystorage"):
        api.sim.change("primarystorage", storage["uuid"], availableCapacity=1)
    assert api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}}) == "SYS.1006"
    assert scratch_volumes(api) == []


def test_mode_is_that_of_each_volume(api: HttpClient) -> None:
    uuid = new_task(api)
    first = enable(api, uuid)
    assert {info["mode"] for info in first} == {"full"}
    extents = json.loads(zlib.decompress(base64.b64decode(first[0]["bitmapBase64"])))
    assert all(offset.isdecimal() and isinstance(length, int) for offset, length in extents.items())
    disable(api, uuid)
    second = enable(api, uuid, first[0]["bitmapName"])
    assert {info["mode"] for info in second} == {"incremental"}
    assert second[0]["bitmapName"] != first[0]["bitmapName"]
    disable(api, uuid)
    assert {info["mode"] for info in enable(api, uuid, first[0]["bitmapName"])} == {"full"}


def test_restart_of_the_vm_loses_checkpoints(api: HttpClient) -> None:
    uuid = new_task(api)
    base = enable(api, uuid)[0]["bitmapName"]
    disable(api, uuid)
    api.call("PUT", f"vm-instances/{RUNNING}/actions", {"rebootVmInstance": {}})
    assert {info["mode"] for info in enable(api, uuid, base)} == {"full"}


def test_disable_fails_while_the_vm_does_not_run(api: HttpClient) -> None:
    uuid = new_task(api)
    enable(api, uuid)
    api.call("PUT", f"vm-instances/{RUNNING}/actions", {"stopVmInstance": {}})
    assert api.error_code("POST", f"cbt-task/disable/{uuid}", {"params": {"force": True}}) == "SYS.1006"
    assert (status(api, uuid), len(scratch_volumes(api))) == ("Running", 2)
    api.call("PUT", f"vm-instances/{RUNNING}/actions", {"startVmInstance": {}})
    disable(api, uuid)
    assert (status(api, uuid), scratch_volumes(api)) == ("Stopped", [])


@pytest.mark.parametrize("what", ["task of a stopped VM", "VM"])
def test_deletion_leaks_scratch_volumes(api: HttpClient, what: str) -> None:
    uuid, before = new_task(api), capacity(api)
    enable(api, uuid)
    if what == "VM":
        api.call("DELETE", f"vm-instances/{RUNNING}")
    else:
        api.call("PUT", f"vm-instances/{RUNNING}/actions", {"stopVmInstance": {}})
        api.call("DELETE", f"cbt-task/{uuid}")
    assert api.query("cbt-task") == []
    scratch = scratch_volumes(api)
    assert len(scratch) == 2
    for volume in scratch:
        api.call("DELETE", f"volumes/{volume['uuid']}")
        api.call("PUT", f"volumes/{volume['uuid']}/actions", {"expungeDataVolume": {}})
    assert capacity(api) == before


def test_deletion_of_a_running_task_ends_its_session(api: HttpClient) -> None:
    uuid = new_task(api)
    enable(api, uuid)
    api.call("DELETE", f"cbt-task/{uuid}")
    assert scratch_volumes(api) == []


def test_failed_enable_leaves_no_scratch_volumes(api: HttpClient) -> None:
    uuid, before = new_task(api), capacity(api)
    api.sim.fault("fail", "EnableCbtTask", error={"code": "SYS.1000", "details": "no nbd"})
    api.error_code("POST", f"cbt-task/enable/{uuid}", {"params": {}})
    assert (scratch_volumes(api), capacity(api)) == ([], before)


def test_seeded_running_task_has_a_session(api: HttpClient) -> None:
    api.sim.reset(cbt_tasks=3)
    (task,) = [task for task in api.sim.records("cbttask") if task["status"] == "Running"]
    scratch = {volume["uuid"] for volume in scratch_volumes(api)}
    assert scratch == {ref["resourceUuid"] for ref in task["resourceRefs"] if ref["resourceType"] == "VolumeVO"}
    assert len(scratch) == 2
    disable(api, task["uuid"])
    assert scratch_volumes(api) == []


def test_checkpoints_that_hosts_lost(api: HttpClient) -> None:
    uuid = new_task(api)
    base = enable(api, uuid)[0]["bitmapName"]
    disable(api, uuid)
    api.sim.configure(cbt_bitmap="lost")
    assert {info["mode"] for info in enable(api, uuid, base)} == {"full"}


def test_crash_loses_checkpoints(api: HttpClient) -> None:
    uuid = new_task(api)
    base = enable(api, uuid)[0]["bitmapName"]
    disable(api, uuid)
    for state in ("Crashed", "Running"):
        api.sim.change("vm", RUNNING, state=state)
    assert {info["mode"] for info in enable(api, uuid, base)} == {"full"}


def test_disable_that_is_refused(api: HttpClient) -> None:
    uuid = new_task(api)
    enable(api, uuid)
    api.sim.configure(cbt_disable="refused")
    assert api.error_code("POST", f"cbt-task/disable/{uuid}", {"params": {}}) == "SYS.1006"
    assert api.error_code("DELETE", f"cbt-task/{uuid}") == "SYS.1006"
    assert (status(api, uuid), len(scratch_volumes(api))) == ("Running", 2)
