"""The virtual machines that the simulator creates: of an image, from an ISO, or with an empty disk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.kinds import ADMIN
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid

IMAGE, ISO = seeded_uuid("image", 1), seeded_uuid("image", 2)
NETWORK, OTHER_NETWORK = seeded_uuid("l3network", 1), seeded_uuid("l3network", 2)
UUID = "0123456789ab4cde8f0123456789abcd"
SIZE = {"cpuNum": 2, "memorySize": 2**31}
GUEST = {"platform": "Linux", "guestOsType": "Linux", "architecture": "x86_64"}
EMPTY = {"name": "restored", **SIZE, **GUEST, "rootDiskSize": 2**34}


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def create(api: HttpClient, **params: Any) -> Any:
    return api.inventory("POST", "vm-instances", {"params": params})


def test_vm_without_image_and_network_is_stopped_with_empty_volumes(api: HttpClient) -> None:
    vm = create(api, **EMPTY, dataDiskSizes=[2**30], strategy="CreateStopped", resourceUuid=UUID)
    assert (vm["uuid"], vm["state"], vm.get("imageUuid"), vm["vmNics"]) == (UUID, "Stopped", None, [])
    assert [(each["type"], each["size"]) for each in vm["allVolumes"]] == [("Root", 2**34), ("Data", 2**30)]
    assert vm["rootVolumeUuid"] == vm["allVolumes"][0]["uuid"]
    assert api.error_code("POST", "vm-instances", {"params": {**EMPTY, "resourceUuid": UUID}}) == "SYS.1007"


def test_vm_of_an_image_runs_with_addresses(api: HttpClient) -> None:
    address = json.dumps([{"l3NetworkUuid": OTHER_NETWORK, "ip": "10.102.0.77"}])
    networks = {"l3NetworkUuids": [NETWORK, OTHER_NETWORK], "defaultL3NetworkUuid": NETWORK}
    vm = create(api, name="web", imageUuid=IMAGE, **SIZE, **networks, vmNicParams=address)
    assert (vm["state"], vm["platform"], vm["allVolumes"][0]["rootImageUuid"]) == ("Running", "Linux", IMAGE)
    assert [(nic["l3NetworkUuid"], nic["deviceId"]) for nic in vm["vmNics"]] == [(NETWORK, 0), (OTHER_NETWORK, 1)]
    assert vm["vmNics"][1]["ip"] == "10.102.0.77"


def test_vm_that_is_only_created_has_no_volumes(api: HttpClient) -> None:
    vm = create(api, **EMPTY, strategy="JustCreate")
    assert (vm["state"], vm["allVolumes"], vm.get("rootVolumeUuid")) == ("Created", [], None)


def test_iso_is_in_the_cd_rom_of_an_empty_vm(api: HttpClient) -> None:
    vm = create(api, name="installed", imageUuid=ISO, rootDiskSize=2**33, **SIZE)
    assert (vm["vmCdRoms"][0]["isoUuid"], vm["allVolumes"][0]["size"]) == (ISO, 2**33)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "a", **SIZE}, "SYS.1007"),
        ({**EMPTY, "rootDiskSize": 0}, "SYS.1007"),
        ({"name": "a", "imageUuid": IMAGE}, "SYS.1007"),
        ({"name": "a", "imageUuid": ISO, **SIZE}, "SYS.1007"),
        ({"name": "a", "imageUuid": UUID, **SIZE}, "SYS.1003"),
        ({**EMPTY, "clusterUuid": UUID}, "SYS.1003"),
        ({**EMPTY, "l3NetworkUuids": [NETWORK, OTHER_NETWORK]}, "SYS.1007"),
        (
            {**EMPTY, "l3NetworkUuids": [NETWORK], "vmNicParams": f'[{{"l3NetworkUuid": "{OTHER_NETWORK}"}}]'},
            "SYS.1007",
        ),
        (
            {**EMPTY, "l3NetworkUuids": [NETWORK] * 2, "vmNicParams": json.dumps([{"l3NetworkUuid": NETWORK}] * 2)},
            "SYS.1007",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_refused(api: HttpClient, params: dict[str, Any], code: str) -> None:
    before = api.sim.records("vm")
    assert api.error_code("POST", "vm-instances", {"params": params}) == code
    assert api.sim.records("vm") == before


@pytest.mark.parametrize("change", [{"status": "Downloading"}, {"state": "Disabled"}])
def test_vm_of_an_image_that_is_not_usable_is_refused(api: HttpClient, change: dict[str, str]) -> None:
    api.sim.change("image", IMAGE, **change)
    assert api.error_code("POST", "vm-instances", {"params": {"name": "a", "imageUuid": IMAGE, **SIZE}}) == "SYS.1006"
    api.sim.change("image", IMAGE, state="Enabled", status="Ready", mediaType="DataVolumeTemplate")
    assert api.error_code("POST", "vm-instances", {"params": {"name": "a", "imageUuid": IMAGE, **SIZE}}) == "SYS.1007"


def test_exhausted_quota_permits_no_further_vm(api: HttpClient) -> None:
    quota = {"identityUuid": ADMIN, "name": "vm.totalNum", "value": len(api.sim.records("vm"))}
    api.call("PUT", "accounts/quotas/actions", {"updateQuota": quota})
    assert api.error_code("POST", "vm-instances", {"params": EMPTY}) == "ID.1003"
