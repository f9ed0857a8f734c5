"""The simulator's queries and cursors."""

from __future__ import annotations

import urllib.parse
from typing import Any

import pytest

from simulator import kinds
from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.schema import FIELDS
from simulator.state.store import ADDED_KINDS, KINDS, seeded_uuid


@pytest.fixture
def api(sim: Simulator) -> HttpClient:
    return HttpClient(sim)


def encoded(path: str, *pairs: tuple[str, Any]) -> str:
    return f"{path}?{urllib.parse.urlencode(pairs)}"


def names(api: HttpClient, collection: str, *conditions: str) -> list[str]:
    path = encoded(collection, *(("q", condition) for condition in conditions))
    return sorted(record["name"] for record in api.query(path))


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["name=vm-1"], ["vm-1"]),
        (["name=VM-1"], ["vm-1"]),
        (["name=vm-1  "], ["vm-1"]),
        (["name= vm-1"], []),
        (["name==vm-1"], ["vm-1"]),
        (["name~=VM-1"], ["vm-1"]),
        (["name!=VM-1", "state=Running"], ["vm-3", "vm-5"]),
        (["name?=VM-1,x"], ["vm-1"]),
        (["name>VM-5"], ["vm-6"]),
        (["name=vm-1", "state=Running"], ["vm-1"]),
        (["name=vm-1", "state=Stopped"], []),
        (["name!=vm-1", "state=Running"], ["vm-3", "vm-5"]),
        (["name~=vm-%", "platform=Windows"], ["vm-3", "vm-6"]),
        (["name~=%1"], ["vm-1"]),
        (["name~=vm__"], ["vm-1", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6"]),
        (["name~=m-1"], []),
        (["name!~=%-1", "state=Running"], ["vm-3", "vm-5"]),
        (["name?=vm-1,vm-4,other"], ["vm-1", "vm-4"]),
        (["name!?=vm-1,vm-2,vm-3"], ["vm-4", "vm-5", "vm-6"]),
        (["name>vm-4"], ["vm-5", "vm-6"]),
        (["name>=vm-5"], ["vm-5", "vm-6"]),
        (["name<vm-2"], ["vm-1"]),
        (["name<=vm-2"], ["vm-1", "vm-2"]),
        (["cpuNum>=2", "memorySize=4294967296", "name=vm-1"], ["vm-1"]),
        (["cpuNum>2"], []),
        (["cpuNum=two"], []),
        (["description is null"], ["vm-2", "vm-4", "vm-6"]),
        (["description not null"], ["vm-1", "vm-3", "vm-5"]),
        (["description!=guest 1"], ["vm-3", "vm-5"]),
        ([f"vmNics.uuid={seeded_uuid('vmnic', 4)}"], ["vm-4"]),
        (["vmNics.ip=10.101.0.12"], ["vm-2"]),
        (["vmNics.l3Network.name=l3-1", "name=vm-2"], ["vm-2"]),
        (["host.managementIp=10.0.0.13"], ["vm-3"]),
        (["cluster.name=cluster-2", "state=Running"], ["vm-5"]),
        (["host.name is null"], ["vm-2", "vm-4", "vm-6"]),
        (["createDate>2024-01-06 08:00:00"], ["vm-5", "vm-6"]),
        (["createDate=2024-01-06 04:52:16"], ["vm-1"]),
        (["createDate~=2024-01-06 04:%"], ["vm-1"]),
        (["createDate>Jan 6, 2024 8:00:00 AM"], [f"vm-{number}" for number in range(1, 7)]),
        (["createDate>=yesterday"], [f"vm-{number}" for number in range(1, 7)]),
        (["createDate<Jan 6, 2024 8:00:00 AM"], []),
        (["createDate=Jan 6, 2024 4:52:16 AM"], []),
        (["cpuSpeed=abc"], [f"vm-{number}" for number in range(1, 7)]),
        ([" name =vm-1"], ["vm-1"]),
        (["name="], []),
    ],
)
def test_conditions_select_records(api: HttpClient, conditions: list[str], expected: list[str]) -> None:
    assert names(api, "vm-instances", *conditions) == expected


@pytest.mark.parametrize("operator", ["!=", ">=", "<=", "~=", "?="])
def test_conditions_split_at_an_operator_in_the_value(api: HttpClient, operator: str) -> None:
    api.sim.change("vm", seeded_uuid("vm", 1), name=f"a{operator}b")
    assert api.error_code("GET", encoded("vm-instances", ("q", f"name=a{operator}b"))) == "SYS.1000"


def test_servers_compare_names_without_accents(api: HttpClient) -> None:
    api.sim.change("vm", seeded_uuid("vm", 1), name="Zürich-Café")
    for condition in ("name=zurich-cafe", "name=ZÜRICH-CAFE", "name~=zurich%"):
        assert names(api, "vm-instances", condition) == ["Zürich-Café"]


@pytest.mark.parametrize("condition", ["name=Bob's VM", "name~=Bob's%", "name?=a,Bob's VM", "__userTag__=Bob's"])
def test_an_apostrophe_in_a_value_is_a_syntax_error(api: HttpClient, condition: str) -> None:
    error = api.error("GET", encoded("vm-instances", ("q", condition)))
    assert (error["code"], "token recognition error" in error["details"]) == ("SYS.1000", True)


def test_conditions_can_compare_exactly(api: HttpClient) -> None:
    api.sim.configure(query_values="document")
    for name in ("Bob's VM", "=x"):
        api.sim.change("vm", seeded_uuid("vm", 1), name=name)
        assert names(api, "vm-instances", f"name={name}") == [name]
    for condition in ("name=VM-2", "name~=VM-2", "name==vm-2"):
        assert names(api, "vm-instances", condition) == []


def test_deleted_volumes_keep_their_names(api: HttpClient) -> None:
    api.sim.reset(deleted_volumes=1)
    attached, deleted = sorted(
        api.query("volumes?q=name=data-of-vm-1"), key=lambda volume: volume["status"] == "Deleted"
    )
    assert [attached["uuid"], deleted["uuid"]] == [seeded_uuid("volume", 2), seeded_uuid("volume", 13)]
    assert (deleted["status"], deleted.get("vmInstanceUuid")) == ("Deleted", None)
    assert api.query(f"volumes/{deleted['uuid']}") == [deleted]
    assert len(api.sim.records("volume")) == 13


def test_query_replies_have_a_schema(api: HttpClient) -> None:
    assert api.call("GET", "zones")["schema"].keys() == {"inventories[0]"}
    assert len(api.call("GET", "hosts")["schema"]) == 3
    api.sim.configure(extra_members=False)
    assert "schema" not in api.call("GET", "hosts")


def test_conditions_keep_a_weaker_operator_in_the_value(api: HttpClient) -> None:
    for value in ("a=b", "a>b", "a<b", "a is null", "a not null"):
        api.sim.change("vm", seeded_uuid("vm", 1), name=value)
        assert names(api, "vm-instances", f"name={value}") == [value]


def test_invalid_query_params_are_rejected(api: HttpClient) -> None:
    response = api.send("GET", "vm-instances?q=name")
    assert (response.status_code, response.headers.get("Content-Type")) == (400, None)
    assert api.error_code("GET", "vm-instances?q=nonsense=1") == "SYS.1000"
    assert api.error_code("GET", "vm-instances?sort=nonsense") == "SYS.1000"
    assert api.error_code("GET", "vm-instances?fields=name,nonsense") == "SYS.1000"
    for query in ("hosts?fields=name,cpuNum", "vm-instances?fields=vmNics", "primary-storage?fields=totalCapacity"):
        assert api.error_code("GET", query) == "SYS.1000"
    for query in ("limit=-1", "start=-1"):
        assert api.error_code("GET", f"vm-instances?{query}") == "SYS.1007"
    for query in ("limit=abc", "limit=", "start=1.5", "count=maybe"):
        assert api.is_rejected("GET", f"vm-instances?{query}")


def test_conditions_select_by_tags(api: HttpClient) -> None:
    params = {"name": "tagged", "systemTags": ["ha::always", "boot::cd"]}
    endpoint = api.inventory("POST", "sns/application-endpoints/snmp", {"params": params})
    tag = {"resourceType": "SNSApplicationEndpointVO", "resourceUuid": endpoint["uuid"], "tag": "night"}
    api.inventory("POST", "user-tags", {"params": tag})
    path = "sns/application-endpoints"
    for condition in ("__systemTag__=ha::always", "__systemTag__~=boot%25", "__userTag__=night"):
        assert api.query(f"{path}?q={condition}") == [endpoint]
    assert api.query(f"{path}?q=__systemTag__=night") == []
    assert api.query(f"{path}?q=__userTag__=night&q=name=other") == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_query_answers_the_verbs_of_missing_writes(sim: Simulator, api: HttpClient, method: str) -> None:
    sim.configure(missing_operations=["CreateUserTag"])
    response = api.send(method, "user-tags", {})
    assert response.status_code == 200
    assert [tag["tag"] for tag in response.json()["inventories"]] == ["tag-1"]
    sim.configure(verbs_matter=True)
    assert api.send(method, "user-tags", {}).status_code in (405, 500)


def test_creations_of_some_types_take_user_tags(sim: Simulator, api: HttpClient) -> None:
    api.inventory("POST", "sns/topics", {"params": {"name": "ignored"}, "userTags": ["a"]})
    assert [tag["tag"] for tag in sim.records("usertag")] == ["tag-1"]
    host = {"name": "new", "managementIp": "192.0.2.77", "username": "root", "password": "x"}
    cluster = {"clusterUuid": seeded_uuid("cluster", 1)}
    api.inventory("POST", "hosts/kvm", {"params": {**host, **cluster}, "userTags": ["a"]})
    assert [tag["tag"] for tag in sim.records("usertag")] == ["tag-1", "a"]


def test_a_tag_pattern_is_attached_and_detached(sim: Simulator, api: HttpClient) -> None:
    vm, host, pattern = (seeded_uuid(kind, 1) for kind in ("vm", "host", "tagpattern"))
    path = f"tags/{pattern}/resources"
    for dummy in range(2):
        results = api.call("POST", path, {"params": {"resourceUuids": [vm, "unknown", host]}})["results"]
        assert [result["success"] for result in results] == [True, False, True]
        assert results[1]["error"]["code"] == "SYS.1003"
    assert [tag["tag"] for tag in sim.records("usertag")] == ["tag-1", "pattern-1", "pattern-1"]
    assert {result["inventory"]["tagPatternUuid"] for result in results[::2]} == {pattern}
    api.call("DELETE", f"{path}?resourceUuids={vm}")
    assert [tag["resourceUuid"] for tag in sim.records("usertag")] == [vm, host]
    api.call("DELETE", f"tags/{pattern}")
    assert (api.query("tags"), [tag["tag"] for tag in sim.records("usertag")]) == ([], ["tag-1"])
    assert api.error_code("POST", path, {"params": {"resourceUuids": [vm]}}) == "SYS.1003"


def test_a_pattern_with_a_token_makes_different_tags(sim: Simulator, api: HttpClient) -> None:
    params = {"name": "stage", "value": "env::{stage}", "type": "withToken"}
    pattern = api.inventory("POST", "tags", {"params": params})
    attachment = {"resourceUuids": [seeded_uuid("vm", 2)], "tokens": {"stage": "prod"}}
    api.call("POST", f"tags/{pattern['uuid']}/resources", {"params": attachment})
    assert sim.records("usertag")[-1]["tag"] == "env::prod"


def test_read_by_uuid_ignores_all_parameters(api: HttpClient) -> None:
    (host,) = api.query(f"hosts/{seeded_uuid('host', 1)}")
    for query in ("limit=0", "start=5", "count=true", "fields=name", "q=name=other", "sort=nonsense"):
        assert api.query(f"hosts/{seeded_uuid('host', 1)}?{query}") == [host]


@pytest.mark.parametrize(
    ("collection", "name"),
    [
        ("zones", "zone-1"),
        ("clusters", "cluster-1"),
        ("l3-networks", "l3-1"),
        ("volumes", "root-of-vm-1"),
        ("volume-snapshots/group", "snapshot-group-1"),
        ("sns/topics", "topic-1"),
    ],
)
def test_further_queries_list_records(api: HttpClient, collection: str, name: str) -> None:
    (record,) = api.query(f"{collection}?q=name={name}")
    assert api.query(f"{collection}/{record['uuid']}") == [record]
    assert api.query(f"{collection}/{seeded_uuid('host', 99)}") == []
    for switches in ({"all_companions": False}, {"companions": "404"}):
        api.sim.reset(**switches)
        assert api.send("GET", collection).status_code == 404


def test_queries_page_and_sort(api: HttpClient) -> None:
    api.sim.reset(hosts=1005)
    uuids = [seeded_uuid("host", number) for number in range(1, 1006)]
    ascending = [host["uuid"] for host in api.query("hosts?sort=%2Buuid")]
    assert ascending == uuids[:1000]
    assert [host["uuid"] for host in api.query("hosts?sort=+uuid&limit=3")] == uuids[:3]
    assert [host["uuid"] for host in api.query("hosts?sort=uuid&limit=3&start=1003")] == uuids[1003:]
    assert [host["uuid"] for host in api.query("hosts?sort=-uuid&limit=2")] == [uuids[1004], uuids[1003]]
    assert len(api.query("hosts?limit=1005")) == 1005
    assert api.query("hosts?limit=0") == []
    assert api.query("hosts?sort=uuid&start=2000") == []
    dates = api.query("hosts?sort=-createDate&limit=1")
    assert [host["uuid"] for host in dates] == [uuids[1004]]


def test_queries_have_no_order_without_sort(api: HttpClient) -> None:
    api.sim.reset(hosts=200)
    orders = [[host["uuid"] for host in api.query("hosts")] for dummy in range(3)]
    assert [sorted(order) for order in orders] == [sorted(orders[0])] * 3
    assert orders[0] != orders[1] != orders[2]
    pages = [host["uuid"] for start in (0, 100) for host in api.query(f"hosts?limit=100&start={start}")]
    assert len(set(pages)) < 200


def test_queries_count_and_select_fields(api: HttpClient) -> None:
    assert api.call("GET", "hosts?count=true&q=clusterUuid=" + seeded_uuid("cluster", 1)) == {"total": 2}
    reply = api.call("GET", "hosts?replyWithCount=true&limit=1")
    assert (reply["total"], len(reply["inventories"])) == (3, 1)
    found = api.query("hosts?fields=uuid, name&sort=name")
    assert found[0] == {"uuid": seeded_uuid("host", 1), "name": "host-1"}


def test_read_by_uuid_returns_a_record_or_none(api: HttpClient) -> None:
    assert [host["name"] for host in api.query(f"hosts/{seeded_uuid('host', 2)}")] == ["host-2"]
    assert api.query(f"hosts/{seeded_uuid('host', 99)}") == []
    assert api.query("cbt-task/nonsense") == []
    api.sim.configure(single_inventory=True)
    assert api.inventory("GET", f"hosts/{seeded_uuid('host', 2)}")["name"] == "host-2"
    assert api.call("GET", f"hosts/{seeded_uuid('host', 99)}").get("inventory") is None


def test_queries_can_lack_paging(api: HttpClient) -> None:
    api.sim.reset(hosts=1005, query_paging=False)
    reply = api.call("GET", "hosts?limit=1&start=3&count=true&replyWithCount=true&fields=name")
    assert len(reply["inventories"]) == 1005
    assert "total" not in reply
    assert "managementIp" in reply["inventories"][0]


def test_conditions_match_elements_of_lists(api: HttpClient) -> None:
    cluster = seeded_uuid("cluster", 2)
    assert names(api, "primary-storage", f"attachedClusterUuids={cluster}") == ["ps-2"]
    assert names(api, "primary-storage", f"attachedClusterUuids?={cluster},x") == ["ps-2"]
    assert names(api, "primary-storage", "cluster.name=cluster-1") == ["ps-1"]


COMPANIONS = (
    "hosts",
    "vm-instances",
    "vm-instances/nics",
    "sns/application-endpoints",
    "sns/application-platforms",
    "sns/application-platforms/snmp",
    "sns/application-endpoints/teamchat/at-persons",
    "hosts/nics",
)


@pytest.mark.parametrize("status", [404, 405, 500])
def test_companion_reads_can_be_absent(api: HttpClient, status: int) -> None:
    for path in COMPANIONS:
        assert len(api.query(path)) > 0
    api.sim.configure(companions=str(status))
    for path in (*COMPANIONS, "hosts/hosts-network-interfaces/service-type-statistic", "hosts/x"):
        response = api.send("GET", path)
        assert (response.status_code, response.headers.get("Content-Type")) == (status, None)
        assert response.text.startswith("No query API found for the path[") == (status == 500)
    api.query("primary-storage")
    api.query("sns/application-endpoints/workchat")


def cursor(api: HttpClient, kind: str, *pairs: tuple[str, Any]) -> Any:
    return api.call("GET", encoded("/api/v1/resources/cursor-query", ("resourceType", kind), *pairs))


def following(api: HttpClient, page: Any, *pairs: tuple[str, Any]) -> Any:
    return api.call("GET", encoded("/api/v1/resources/cursor-next", ("cursor", page["nextCursor"]), *pairs))


def test_cursor_returns_all_pages(api: HttpClient) -> None:
    api.sim.reset(hosts=250)
    page = cursor(api, "host", ("sort", "managementIp"), ("order", "asc"))
    assert (page["total"], len(page["items"]), page["hasMore"]) == (250, 100, True)
    second = following(api, page)
    assert following(api, page)["items"] == second["items"]
    third = following(api, second, ("pageSize", 500))
    assert (len(third["items"]), third["hasMore"], "nextCursor" in third) == (50, False, False)
    found = [host["uuid"] for host in page["items"] + second["items"] + third["items"]]
    assert len(set(found)) == 250
    assert len(cursor(api, "host", ("pageSize", 5000))["items"]) == 250
    api.sim.reset(hosts=1500)
    assert len(cursor(api, "host", ("pageSize", 5000))["items"]) == 1000


def test_cursor_reads_a_snapshot(api: HttpClient) -> None:
    page = cursor(api, "host", ("sort", "name"), ("pageSize", 1))
    api.sim.change("host", seeded_uuid("host", 2), description="changed")
    new = {"username": "root", "password": "x", "name": "host-0", "managementIp": "10.9.9.9"}
    api.inventory("POST", "hosts/kvm", {"params": {**new, "clusterUuid": seeded_uuid("cluster", 1)}})
    second = following(api, page, ("pageSize", 10))
    assert [host["name"] for host in second["items"]] == ["host-2", "host-3"]
    assert second["total"] == 3
    assert second["items"][0].get("description") is None


def test_cursor_filters_and_sorts(api: HttpClient) -> None:
    page = cursor(api, "vm", ("sort", "name"), ("order", "desc"), ("filter", "state=Running"), ("filter", "name!=vm-3"))
    assert [vm["name"] for vm in page["items"]] == ["vm-5", "vm-1"]
    assert (page["total"], page["hasMore"]) == (2, False)
    assert len(cursor(api, "vmnic", ("filter", f"vmInstanceUuid={seeded_uuid('vm', 1)}"))["items"]) == 1


def seeded_kinds() -> list[str]:
    """Return the types of which there are objects after a start, and those of the persons that a change adds."""
    without = {kind.table for kind in kinds.KINDS} - KINDS.keys() - {"account"}
    return sorted(FIELDS.keys() - without - kinds.ROWS.keys())


@pytest.mark.parametrize("kind", seeded_kinds())
def test_cursor_reads_every_type(api: HttpClient, kind: str) -> None:
    api.sim.reset(cbt_tasks=4, templates=1, null_members=True, at_person_list="list")
    if kind in ADDED_KINDS and kind != "templatedvminstance":
        key = "phoneNumber" if kind == "dingtalkperson" else "userId"
        api.sim.change(kind, seeded_uuid(kind, 1), **{key: "carol", "endpointUuid": seeded_uuid("endpoint", 2)})
    items = cursor(api, kind)["items"]
    assert items
    assert set().union(*items) == FIELDS[kind]


DOCUMENTED = ("cbttask", "host", "person", "platform", "primarystorage", "subscriber", "vm", "vmnic", "volume")


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_every_documented_field_has_a_seeded_value(api: HttpClient, kind: str) -> None:
    api.sim.reset(cbt_tasks=4, null_members=True)
    items = cursor(api, kind)["items"]
    assert [name for name in FIELDS[kind] if all(item[name] is None for item in items)] == []


def test_invalid_cursor_params_are_rejected(api: HttpClient) -> None:
    query = "/api/v1/resources/cursor-query"
    assert api.error_code("GET", query) == "SYS.1007"
    assert api.error_code("GET", f"{query}?resourceType=unicorn") == "SYS.1007"
    assert api.error_code("GET", f"{query}?resourceType=host&order=up") == "SYS.1007"
    assert api.error_code("GET", f"{query}?resourceType=host&sort=nonsense") == "SYS.1000"
    assert api.error_code("GET", f"{query}?resourceType=host&pageSize=0") == "SYS.1007"
    assert api.send("GET", f"{query}?resourceType=host&filter=name").status_code == 400
    unknown = "/api/v1/resources/cursor-next?cursor=unknown"
    assert api.send("GET", unknown).status_code == 400
    assert api.send("GET", "/api/v1/resources/cursor-next").status_code == 400
    api.sim.configure(cursor_expired="error")
    assert api.error_code("GET", unknown) == "SYS.1007"


def test_cursor_faults(api: HttpClient) -> None:
    page = cursor(api, "vm", ("pageSize", 1))
    api.sim.configure(cursor_shrink=True)
    second = following(api, page)
    assert (page["total"], second["total"], following(api, second)["total"]) == (6, 5, 4)
    api.sim.configure(cursor_shrink=False, cursor_repeat=True)
    assert following(api, second)["nextCursor"] == second["nextCursor"]
    api.sim.configure(cursor_lifetime=0.0)
    response = api.send("GET", f"/api/v1/resources/cursor-next?cursor={page['nextCursor']}")
    assert response.status_code == 400
