"""The simulator's snapshot groups and data volumes."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

VM = seeded_uuid("vm", 1)
ROOT, DATA = seeded_uuid("volume", 1), seeded_uuid("volume", 2)
GROUP = seeded_uuid("snapshotgroup", 1)
FIRST, SECOND = seeded_uuid("snapshot", 1), seeded_uuid("snapshot", 2)
ABSENT = "0123456789ab4cde8f0123456789abcd"


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def create(api: HttpClient, name: str = "later", **params: Any) -> Any:
    body = {"params": {"rootVolumeUuid": ROOT, "name": name, **params}}
    return api.inventory("POST", "volume-snapshots/group", body)


def creation_error(api: HttpClient, **params: Any) -> Any:
    body = {"params": {"rootVolumeUuid": ROOT, "name": "later", **params}}
    return api.error_code("POST", "volume-snapshots/group", body)


def names(api: HttpClient) -> list[str]:
    return sorted(group["name"] for group in api.query("volume-snapshots/group"))


def revert(api: HttpClient) -> Any:
    return api.call("PUT", f"volume-snapshots/group/{GROUP}/actions", {"revertVmFromSnapshotGroup": {}})["results"]


def revert_error(api: HttpClient, group: str = GROUP) -> Any:
    return api.error_code("PUT", f"volume-snapshots/group/{group}/actions", {"revertVmFromSnapshotGroup": {}})


# -------------------------------------------------------------------------------------------------- snapshot groups


def test_group_has_a_snapshot_of_each_volume(api: HttpClient) -> None:
    group = create(api, description="before", withMemory=True)
    assert (group["name"], group["description"], group["snapshotCount"]) == ("later", "before", 2)
    assert [ref["volumeUuid"] for ref in group["volumeSnapshotRefs"]] == [ROOT, DATA]
    assert create(api)["uuid"] != group["uuid"], "nothing is unique"


def test_creation_needs_a_root_volume_that_is_ready(api: HttpClient) -> None:
    assert creation_error(api, rootVolumeUuid=ABSENT) == "SYS.1003"
    assert creation_error(api, rootVolumeUuid=DATA) == "SYS.1007"
    api.sim.change("vm", VM, state="Stopped")
    assert creation_error(api, withMemory=True) == "SYS.1007"
    api.sim.change("volume", DATA, status="NotInstantiated")
    assert creation_error(api) == "SYS.1006"
    api.sim.change("volume", DATA, status="Ready")
    api.sim.change("primarystorage", seeded_uuid("primarystorage", 1), state="Disabled")
    assert creation_error(api) == "SYS.1006"


@pytest.mark.parametrize(
    ("query", "remaining"), [("", []), ("?scope=chain", []), ("?scope=single", ["later"]), ("?scope=auto", ["later"])]
)
def test_deletion_includes_later_groups_of_the_chain(api: HttpClient, query: str, remaining: list[str]) -> None:
    create(api)
    results = api.call("DELETE", f"volume-snapshots/group/{GROUP}{query}")["results"]
    assert [result["snapshotUuid"] for result in results][:2] == [FIRST, SECOND]
    assert len(results) == 2 * (2 - len(remaining))
    assert names(api) == remaining
    assert api.call("DELETE", f"volume-snapshots/group/{GROUP}") == {}
    assert api.error_code("DELETE", "volume-snapshots/group/x") == "SYS.1003"


def test_deletion_succeeds_although_a_snapshot_fails(api: HttpClient) -> None:
    api.sim.configure(failing_snapshots=[SECOND])
    for expected in ([FIRST, SECOND], [SECOND]):
        results = api.call("DELETE", f"volume-snapshots/group/{GROUP}")["results"]
        assert [result["snapshotUuid"] for result in results] == expected
        assert [result["error"]["code"] for result in results if "error" in result] == ["SYS.1006"]
    (group,) = api.query(f"volume-snapshots/group/{GROUP}")
    assert [ref["snapshotDeleted"] for ref in group["volumeSnapshotRefs"]] == [True, False]
    api.sim.change("vm", VM, state="Stopped")
    assert revert_error(api) == "SYS.1006"


def test_revert_sets_the_volumes_of_a_stopped_vm_back(api: HttpClient) -> None:
    assert revert_error(api) == "SYS.1006"
    api.sim.change("vm", VM, state="Stopped")
    api.sim.configure(failing_snapshots=[SECOND])
    results = revert(api)
    assert [(result["volumeUuid"], "error" in result) for result in results] == [(ROOT, False), (DATA, True)]
    volumes = {volume["uuid"]: volume for volume in api.sim.records("volume")}
    assert (volumes[ROOT].get("_snapshotUuid"), volumes[DATA].get("_snapshotUuid")) == (FIRST, None)
    assert revert_error(api, ABSENT) == "SYS.1003"


def test_revert_with_memory_needs_a_running_vm(api: HttpClient) -> None:
    group = create(api, withMemory=True)["uuid"]
    api.sim.change("vm", VM, state="Stopped")
    assert revert_error(api, group) == "SYS.1007"
    api.sim.change("vm", VM, state="Paused")
    actions = f"volume-snapshots/group/{group}/actions"
    assert len(api.call("PUT", actions, {"revertVmFromSnapshotGroup": {}})["results"]) == 2


def test_revert_is_unavailable_after_a_volume_was_detached(api: HttpClient) -> None:
    check = f"volume-snapshots/groups/availabilities?uuids={GROUP}&uuids={create(api)['uuid']}"
    assert [result["available"] for result in api.call("GET", check)["results"]] == [True, True]
    api.sim.change("vm", VM, state="Stopped")
    api.call("DELETE", f"volumes/{DATA}")
    results = api.call("GET", check)["results"]
    assert [(result["available"], "detached" in result["reason"]) for result in results] == [(False, True)] * 2
    assert revert_error(api) == "SYS.1006"


def test_group_is_renamed_and_ungrouped(api: HttpClient) -> None:
    actions = f"volume-snapshots/group/{GROUP}/actions"
    group = api.inventory("PUT", actions, {"updateVolumeSnapshotGroup": {"name": "renamed"}})
    assert (group["name"], group["snapshotCount"]) == ("renamed", 2)
    for dummy in range(2):
        assert api.call("DELETE", f"volume-snapshots/ungroup/{GROUP}") == {}
    assert names(api) == []


# ----------------------------------------------------------------------------------------------------- data volumes


def volume_actions(uuid: str = DATA) -> str:
    return f"volumes/{uuid}/actions"


def test_volume_is_deleted_once_and_recovered(api: HttpClient) -> None:
    assert api.error_code("DELETE", f"volumes/{ROOT}") == "SYS.1007"
    assert api.call("DELETE", f"volumes/{ABSENT}") == {}
    assert api.call("DELETE", f"volumes/{DATA}") == {}
    assert api.error_code("DELETE", f"volumes/{DATA}") == "SYS.1006"
    assert [volume["uuid"] for volume in api.query(f"vm-instances/{VM}")[0]["allVolumes"]] == [ROOT]
    volume = api.inventory("PUT", volume_actions(), {"recoverDataVolume": {}})
    assert (volume["status"], volume.get("vmInstanceUuid")) == ("Ready", None)
    assert api.error_code("PUT", volume_actions(), {"recoverDataVolume": {}}) == "SYS.1006"
    assert api.error_code("PUT", volume_actions(ABSENT), {"recoverDataVolume": {}}) == "SYS.1003"


def test_only_a_deleted_volume_is_expunged(api: HttpClient) -> None:
    assert api.error_code("PUT", volume_actions(), {"expungeDataVolume": {}}) == "SYS.1006"
    api.call("DELETE", f"volumes/{DATA}")
    for dummy in range(2):
        assert api.call("PUT", volume_actions(), {"expungeDataVolume": {}}) == {}
    assert api.query(f"volumes?q=uuid={DATA}") == []


def test_deleted_volume_is_removed_at_once_with_the_policy_direct(api: HttpClient) -> None:
    api.sim.configure(deletion_policy="Direct")
    assert api.call("DELETE", f"volumes/{DATA}") == {}
    assert api.query(f"volumes?q=uuid={DATA}") == []
