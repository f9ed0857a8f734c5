"""Operations and collections that the table does not have, which the user describes by method and path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.filter.resource_uuid import make_resource_uuid

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.module_runner import ModuleRun, ModuleRunner
from support.other_service import OtherService

HOST = seeded_uuid("host", 1)


@pytest.fixture
def other() -> Iterator[OtherService]:
    with OtherService() as service:
        yield service


def call(run: ModuleRunner, other: OtherService, method: str, path: str, **options: Any) -> ModuleRun:
    check = options.pop("check", False)
    return run("api", {"method": method, "path": path, **options}, check, base_url=other.url)


def create(run: ModuleRunner, other: OtherService, **options: Any) -> ModuleRun:
    params = {"name": "data-1", "diskSize": 1 << 30, "resourceUuid": make_resource_uuid("volume data-1")}
    return call(run, other, "POST", "v1/volumes/data", params=params, **options)


def test_object_is_created_once(run: ModuleRunner, other: OtherService) -> None:
    created = create(run, other, system_tags=["a::b"])
    assert created.changed
    assert created["reply"]["inventory"]["name"] == "data-1"
    assert json.loads(other.requests[0].body).keys() == {"params", "systemTags"}
    again = create(run, other)
    assert again.failed
    assert "POST volumes/data failed (SYS.1007)" in again.message
    assert list(other.records["volumes"]) == [make_resource_uuid("volume data-1")]


def test_lost_answer_makes_no_second_object(run: ModuleRunner, other: OtherService) -> None:
    other.lost = 1
    params = {"name": "data-1"}
    created = call(run, other, "POST", "volumes/data", params=params)
    assert created.changed, created.message
    assert other.performed == ["POST volumes/data"]


def test_action_and_removal(run: ModuleRunner, other: OtherService) -> None:
    uuid = other.add("volumes", name="data-1", size=1)
    resized = call(run, other, "PUT", f"/v1/volumes/{uuid}/actions", body_key="resizeDataVolume", params={"size": 2})
    assert resized["reply"]["inventory"]["size"] == 2
    assert json.loads(other.requests[0].body) == {"resizeDataVolume": {"size": 2}}
    removed = call(run, other, "DELETE", f"v1/volumes/{uuid}", params={"deleteMode": "Permissive"})
    assert removed.changed
    assert [request.query for request in other.requests if request.method == "DELETE"] == [
        {"deleteMode": ["Permissive"]}
    ]
    assert call(run, other, "DELETE", f"v1/volumes/{uuid}").message.startswith("DELETE volumes/")


def test_job_is_taken_up_later(run: ModuleRunner, other: OtherService) -> None:
    started = create(run, other, wait=False)
    assert started["job"]["operation"] == "POST volumes/data"
    waited = run("job_wait", {"jobs": [started["job"]]}, base_url=other.url)
    assert waited["jobs"][0]["result"]["inventory"]["name"] == "data-1"


def test_check_mode_sends_reads_only(run: ModuleRunner, other: OtherService) -> None:
    other.add("images", name="image-1")
    assert create(run, other, check=True).changed
    read = call(run, other, "GET", "v1/images", check=True)
    assert not read.changed
    assert read["reply"]["total"] == 1
    assert {request.method for request in other.requests} == {"GET"}


def test_known_operation_by_its_path(run: ModuleRunner, sim: Simulator) -> None:
    params = {"method": "PUT", "path": f"v1/hosts/{HOST}/actions", "body_key": "changeHostState"}
    ran = run("api", {**params, "params": {"stateEvent": "disable"}})
    assert ran["reply"]["inventory"]["state"] == "Disabled"
    read = run("api", {"method": "GET", "path": f"v1/hosts/{HOST}"})
    assert read["reply"]["inventories"][0]["uuid"] == HOST


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "GET", "path": f"v1/primary-storage/{HOST}/"}, "is not sent: no server has a read at this path"),
        (
            {"method": "GET", "path": "v1/cbt-task/create"},
            "no server has a read at this path, but ZSvirt has CreateCbtTask",
        ),
        ({"method": "PUT", "path": f"v1/volumes/{HOST}/actions"}, "PUT needs body_key"),
        ({"method": "PUT", "path": "v1/accounts/login", "body_key": "logInByAccount"}, "Use virtinfra.manager.session"),
        (
            {"method": "POST", "path": "v1/volumes?x=1"},
            "path must be without query string. Give path: v1/volumes, and params: {x: 1}",
        ),
        (
            {"method": "GET", "path": "service/v1/hosts?q=state=Enabled"},
            "without path_prefix and query string. Give path: v1/hosts, and params: {q: ['state=Enabled']}",
        ),
        (
            {"method": "GET", "path": "v1/hosts?q=name=host-1&q=state=Enabled&limit=5"},
            "Give path: v1/hosts, and params: {q: ['name=host-1', 'state=Enabled'], limit: 5}",
        ),
        (
            {"method": "PUT", "path": f"v1/hosts/{HOST}/actions", "body_key": "ChangeHostState"},
            "body_key must be changeHostState, not ChangeHostState. If your service has it, set trust_path",
        ),
        (
            {
                "method": "PUT",
                "path": f"v1/hosts/{HOST}/actions",
                "body_key": "changeHostState",
                "params": {"changeHostState": {"stateEvent": "enable"}},
            },
            "params must contain the members of changeHostState themselves: stateEvent",
        ),
        ({"method": "POST", "path": "v1/../volumes"}, "a path such as"),
        ({"method": "POST", "path": "v1/a b"}, "a path such as"),
        ({"method": "POST", "path": "v1//volumes"}, "a path such as"),
        ({"method": "POST", "path": "v1/volumes/%2e%2e"}, "a path such as"),
        ({"method": "PUT", "path": "v1/volumes", "body_key": 'a": {}'}, "a path such as"),
        ({"method": "GET", "path": "v1/images", "params": {"q": {"a": 1}}}, "must be a scalar or a list of scalars"),
        ({"method": "DELETE", "path": "v1/vm-instances/vm-1"}, "With operation DestroyVmInstance, it can be a name"),
        ({"method": "GET", "path": "v1/hosts/host-1"}, "'host-1' in the path hosts/host-1 must be a uuid"),
        (
            {"method": "PUT", "path": "v1/hosts/host-1/actions", "body_key": "changeHostState"},
            "must be a uuid (32 hexadecimal digits). With operation ChangeHostState, it can be a name",
        ),
        (
            {"method": "POST", "path": f"v1/l2-networks/{HOST}/clusters/cluster-1"},
            "'cluster-1' in the path l2-networks/",
        ),
    ],
)
def test_refused_before_sending(run: ModuleRunner, sim: Simulator, options: dict[str, Any], message: str) -> None:
    for check in (True, False):
        ran = run("api", options, check)
        assert ran.failed
        assert message in ran.message
        assert ran.log == []


def test_name_in_a_path_that_is_trusted_or_unknown_is_sent(run: ModuleRunner, sim: Simulator) -> None:
    for options in (
        {"method": "DELETE", "path": "v1/vm-instances/vm-1", "trust_path": True},
        {"method": "DELETE", "path": "v1/wonders/first"},
        {"method": "PUT", "path": "v1/global-configurations/vm/numa/actions", "body_key": "updateGlobalConfig"},
    ):
        assert run("api", options).log[0]["method"] == options["method"]


@pytest.mark.parametrize(
    ("request_", "meant"),
    [
        ({"method": "DELETE", "path": f"v1/vm-instance/{HOST}"}, f" Did you mean v1/vm-instances/{HOST}?"),
        ({"method": "DELETE", "path": f"v1/l2network/{HOST}"}, f" Did you mean v1/l2-networks/{HOST}?"),
        ({"method": "DELETE", "path": f"v1/tapes/{HOST}"}, "edition of the service."),
        (
            {"method": "PUT", "path": f"v1/hosts/{HOST}/actions", "body_key": "changeHostStat"},
            " Did you mean body_key changeHostState?",
        ),
    ],
)
def test_request_that_was_meant(run: ModuleRunner, request_: dict[str, str], meant: str) -> None:
    """The service lacks the operation, so nothing was performed."""
    ran = run("api", request_)
    assert ran["error"]["code"] == "UNSUPPORTED"
    assert ran.message.endswith(meant)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_unknown_path_does_not_blame_a_prefix_that_is_right(
    run: ModuleRunner, other: OtherService, method: str
) -> None:
    """A read below the prefix succeeds, so only the operation is missing."""
    other.records["primary-storage"] = {}
    other.missing = ("licenses/mine",)
    ran = call(run, other, method, "v1/licenses/mine", trust_path=True)
    assert ran.message.endswith(
        f"the service does not offer {method} licenses/mine (HTTP status 404 for {method} /service/v1/licenses/mine)."
        " Check the version and edition of the service."
    )


def test_any_collection_is_listed_whole(run: ModuleRunner, other: OtherService) -> None:
    for number in range(1200):
        other.add(
            "images", name=f"image-{number}", state="Enabled" if number % 2 else "Disabled", uuid=f"{number:032x}"
        )
    listed = run("resource_info", {"path": "v1/images"}, base_url=other.url)
    assert listed["total"] == len(listed["resources"]) == 1200
    enabled = run("resource_info", {"path": "v1/images", "query": ["state=Enabled"]}, base_url=other.url)
    assert len(enabled["resources"]) == 600
    found = run("resource_info", {"path": "v1/images", "uuid": f"{7:032x}"}, base_url=other.url)
    assert [image["name"] for image in found["resources"]] == ["image-7"]
    assert "q" in other.requests[-1].query
    named = run("resource_info", {"path": "v1/images", "name": "image-9", "limit": 5}, base_url=other.url)
    assert [image["name"] for image in named["resources"]] == ["image-9"]


def test_condition_that_services_misread_is_refused(run: ModuleRunner, other: OtherService) -> None:
    other.add("images", name="image-1")
    ran = run("resource_info", {"path": "v1/images", "query": ["name==image-1"]}, base_url=other.url)
    assert "Write =" in ran.message
    assert other.requests == []


def test_uuids_of_texts() -> None:
    uuid = make_resource_uuid("volume data-1")
    assert uuid == make_resource_uuid("volume data-1") != make_resource_uuid("volume data-2")
    assert len(uuid) == 32
    assert uuid[12] == "4"
