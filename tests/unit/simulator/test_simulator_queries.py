# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulator's queries and cursors."""

from __future__ import annotations

import urllib.parse
from typing import Any

import pytest

from simulator.launch import Simulator
from simulator.schema import FIELDS
from simulator.store import seeded_uuid
from simulator.talk import Talk


@pytest.fixture
def talk(sim: Simulator) -> Talk:
    return Talk(sim)


def encoded(path: str, *pairs: tuple[str, Any]) -> str:
    return f"{path}?{urllib.parse.urlencode(pairs)}"


def names(talk: Talk, collection: str, *conditions: str) -> list[str]:
    path = encoded(collection, *(("q", condition) for condition in conditions))
    return sorted(record["name"] for record in talk.found(path))


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        (["name=vm-1"], ["vm-1"]),
        (["name=VM-1"], []),
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
        (["createDate>Jan 6, 2024 8:00:00 AM"], ["vm-5", "vm-6"]),
        (["createDate=Jan 6, 2024 4:52:16 AM"], ["vm-1"]),
        ([" name =vm-1"], ["vm-1"]),
        (["name="], []),
    ],
)
def test_conditions(talk: Talk, conditions: list[str], found: list[str]) -> None:
    assert names(talk, "vm-instances", *conditions) == found


@pytest.mark.parametrize("operator", ["!=", ">=", "<=", "~=", "?="])
def test_a_value_that_holds_an_operator_cannot_be_asked_for(talk: Talk, operator: str) -> None:
    talk.sim.change("vm", seeded_uuid("vm", 1), name=f"a{operator}b")
    assert talk.code("GET", encoded("vm-instances", ("q", f"name=a{operator}b"))) == "SYS.1007"


def test_a_value_that_holds_a_weaker_operator_can_be_asked_for(talk: Talk) -> None:
    for value in ("a=b", "a>b", "a<b", "a is null", "a not null"):
        talk.sim.change("vm", seeded_uuid("vm", 1), name=value)
        assert names(talk, "vm-instances", f"name={value}") == [value]


def test_conditions_that_cannot_be_read(talk: Talk) -> None:
    answer = talk.send("GET", "vm-instances?q=name")
    assert (answer.status_code, answer.headers.get("Content-Type")) == (400, None)
    assert talk.code("GET", "vm-instances?q=nonsense=1") == "SYS.1007"
    assert talk.code("GET", "vm-instances?sort=nonsense") == "SYS.1007"
    assert talk.code("GET", "vm-instances?fields=name,nonsense") == "SYS.1007"
    for query in ("limit=-1", "start=-1"):
        assert talk.code("GET", f"vm-instances?{query}") == "SYS.1007"
    for query in ("limit=abc", "limit=", "start=1.5", "count=maybe"):
        assert talk.refused("GET", f"vm-instances?{query}")


def test_conditions_on_tags(talk: Talk) -> None:
    params = {"name": "tagged", "systemTags": ["ha::always", "boot::cd"]}
    endpoint = talk.inventory("POST", "sns/application-endpoints/snmp", {"params": params, "userTags": ["night"]})
    path = "sns/application-endpoints"
    for condition in ("__systemTag__=ha::always", "__systemTag__~=boot%25", "__userTag__=night"):
        assert talk.found(f"{path}?q={condition}") == [endpoint]
    assert talk.found(f"{path}?q=__systemTag__=night") == []
    assert talk.found(f"{path}?q=__userTag__=night&q=name=other") == []


def test_a_read_by_uuid_ignores_all_parameters(talk: Talk) -> None:
    (host,) = talk.found(f"hosts/{seeded_uuid('host', 1)}")
    for query in ("limit=0", "start=5", "count=true", "fields=name", "q=name=other", "sort=nonsense"):
        assert talk.call("GET", f"hosts/{seeded_uuid('host', 1)}?{query}") == {"inventories": [host]}


@pytest.mark.parametrize(
    ("collection", "found"),
    [
        ("zones", "zone-1"),
        ("clusters", "cluster-1"),
        ("l3-networks", "l3-1"),
        ("volumes", "root-of-vm-1"),
        ("volume-snapshots/group", "snapshot-group-1"),
        ("sns/topics", "topic-1"),
    ],
)
def test_queries_that_the_document_does_not_list(talk: Talk, collection: str, found: str) -> None:
    (record,) = talk.found(f"{collection}?q=name={found}")
    assert talk.found(f"{collection}/{record['uuid']}") == [record]
    assert talk.found(f"{collection}/{seeded_uuid('host', 99)}") == []
    for switches in ({"further_operations": False}, {"companions": "404"}):
        talk.sim.reset(**switches)
        assert talk.send("GET", collection).status_code == 404


def test_limit_start_and_sort(talk: Talk) -> None:
    talk.sim.reset(hosts=1005)
    uuids = [seeded_uuid("host", number) for number in range(1, 1006)]
    ascending = [host["uuid"] for host in talk.found("hosts?sort=%2Buuid")]
    assert ascending == uuids[:1000]
    assert [host["uuid"] for host in talk.found("hosts?sort=+uuid&limit=3")] == uuids[:3]
    assert [host["uuid"] for host in talk.found("hosts?sort=uuid&limit=3&start=1003")] == uuids[1003:]
    assert [host["uuid"] for host in talk.found("hosts?sort=-uuid&limit=2")] == [uuids[1004], uuids[1003]]
    assert len(talk.found("hosts?limit=1005")) == 1005
    assert talk.found("hosts?limit=0") == []
    assert talk.found("hosts?sort=uuid&start=2000") == []
    dates = talk.found("hosts?sort=-createDate&limit=1")
    assert [host["uuid"] for host in dates] == [uuids[1004]]


def test_there_is_no_order_without_sort(talk: Talk) -> None:
    talk.sim.reset(hosts=200)
    orders = [[host["uuid"] for host in talk.found("hosts")] for dummy in range(3)]
    assert [sorted(order) for order in orders] == [sorted(orders[0])] * 3
    assert orders[0] != orders[1] != orders[2]
    pages = [host["uuid"] for start in (0, 100) for host in talk.found(f"hosts?limit=100&start={start}")]
    assert len(set(pages)) < 200


def test_counts_and_fields(talk: Talk) -> None:
    assert talk.call("GET", "hosts?count=true&q=clusterUuid=" + seeded_uuid("cluster", 1)) == {"total": 2}
    reply = talk.call("GET", "hosts?replyWithCount=true&limit=1")
    assert (reply["total"], len(reply["inventories"])) == (3, 1)
    found = talk.found("hosts?fields=uuid, name&sort=name")
    assert found[0] == {"uuid": seeded_uuid("host", 1), "name": "host-1"}


def test_one_record(talk: Talk) -> None:
    assert [host["name"] for host in talk.found(f"hosts/{seeded_uuid('host', 2)}")] == ["host-2"]
    assert talk.found(f"hosts/{seeded_uuid('host', 99)}") == []
    assert talk.found("cbt-task/nonsense") == []
    talk.sim.configure(single_inventory=True)
    assert talk.inventory("GET", f"hosts/{seeded_uuid('host', 2)}")["name"] == "host-2"
    assert talk.call("GET", f"hosts/{seeded_uuid('host', 99)}").get("inventory") is None


def test_servers_whose_queries_know_no_paging(talk: Talk) -> None:
    talk.sim.reset(hosts=1005, query_paging=False)
    reply = talk.call("GET", "hosts?limit=1&start=3&count=true&replyWithCount=true&fields=name")
    assert len(reply["inventories"]) == 1005
    assert "total" not in reply
    assert "managementIp" in reply["inventories"][0]


def test_primary_storages_of_a_cluster(talk: Talk) -> None:
    cluster = seeded_uuid("cluster", 2)
    assert names(talk, "primary-storage", f"attachedClusterUuids={cluster}") == ["ps-2"]
    assert names(talk, "primary-storage", f"attachedClusterUuids?={cluster},x") == ["ps-2"]
    assert names(talk, "primary-storage", "cluster.name=cluster-1") == ["ps-1"]


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


@pytest.mark.parametrize("status", [404, 405])
def test_companion_reads_can_be_absent(talk: Talk, status: int) -> None:
    for path in COMPANIONS:
        assert len(talk.found(path)) > 0
    talk.sim.configure(companions=str(status))
    for path in (*COMPANIONS, "hosts/hosts-network-interfaces/service-type-statistic", "hosts/x"):
        answer = talk.send("GET", path)
        assert (answer.status_code, answer.headers.get("Content-Type")) == (status, None)
    talk.found("primary-storage")
    talk.found("sns/application-endpoints/workchat")


def cursor(talk: Talk, kind: str, *pairs: tuple[str, Any]) -> Any:
    return talk.call("GET", encoded("/api/v1/resources/cursor-query", ("resourceType", kind), *pairs))


def following(talk: Talk, page: Any, *pairs: tuple[str, Any]) -> Any:
    return talk.call("GET", encoded("/api/v1/resources/cursor-next", ("cursor", page["nextCursor"]), *pairs))


def test_cursor_pages(talk: Talk) -> None:
    talk.sim.reset(hosts=250)
    page = cursor(talk, "host", ("sort", "managementIp"), ("order", "asc"))
    assert (page["total"], len(page["items"]), page["hasMore"]) == (250, 100, True)
    second = following(talk, page)
    assert following(talk, page)["items"] == second["items"]
    third = following(talk, second, ("pageSize", 500))
    assert (len(third["items"]), third["hasMore"], "nextCursor" in third) == (50, False, False)
    found = [host["uuid"] for host in page["items"] + second["items"] + third["items"]]
    assert len(set(found)) == 250
    assert len(cursor(talk, "host", ("pageSize", 5000))["items"]) == 250
    talk.sim.reset(hosts=1500)
    assert len(cursor(talk, "host", ("pageSize", 5000))["items"]) == 1000


def test_a_cursor_reads_a_snapshot(talk: Talk) -> None:
    page = cursor(talk, "host", ("sort", "name"), ("pageSize", 1))
    talk.sim.change("host", seeded_uuid("host", 2), description="changed")
    new = {"username": "root", "password": "x", "name": "host-0", "managementIp": "10.9.9.9"}
    talk.inventory("POST", "hosts/kvm", {"params": {**new, "clusterUuid": seeded_uuid("cluster", 1)}})
    second = following(talk, page, ("pageSize", 10))
    assert [host["name"] for host in second["items"]] == ["host-2", "host-3"]
    assert second["total"] == 3
    assert second["items"][0].get("description") is None


def test_cursor_filters_and_order(talk: Talk) -> None:
    page = cursor(
        talk, "vm", ("sort", "name"), ("order", "desc"), ("filter", "state=Running"), ("filter", "name!=vm-3")
    )
    assert [vm["name"] for vm in page["items"]] == ["vm-5", "vm-1"]
    assert (page["total"], page["hasMore"]) == (2, False)
    assert len(cursor(talk, "vmnic", ("filter", f"vmInstanceUuid={seeded_uuid('vm', 1)}"))["items"]) == 1


@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_cursors_read_every_kind_whose_fields_are_known(talk: Talk, kind: str) -> None:
    talk.sim.reset(cbt_tasks=4, null_members=True, at_person_list="list")
    items = cursor(talk, kind)["items"]
    assert items
    assert set().union(*items) == FIELDS[kind]


DOCUMENTED = ("cbttask", "host", "person", "platform", "primarystorage", "subscriber", "vm", "vmnic", "volume")


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_every_documented_field_is_seeded_with_a_value_somewhere(talk: Talk, kind: str) -> None:
    talk.sim.reset(cbt_tasks=4, null_members=True)
    items = cursor(talk, kind)["items"]
    assert [name for name in FIELDS[kind] if all(item[name] is None for item in items)] == []


def test_cursor_refusals(talk: Talk) -> None:
    query = "/api/v1/resources/cursor-query"
    assert talk.code("GET", query) == "SYS.1007"
    assert talk.code("GET", f"{query}?resourceType=unicorn") == "SYS.1007"
    assert talk.code("GET", f"{query}?resourceType=host&order=up") == "SYS.1007"
    assert talk.code("GET", f"{query}?resourceType=host&sort=nonsense") == "SYS.1007"
    assert talk.code("GET", f"{query}?resourceType=host&pageSize=0") == "SYS.1007"
    assert talk.send("GET", f"{query}?resourceType=host&filter=name").status_code == 400
    unknown = "/api/v1/resources/cursor-next?cursor=unknown"
    assert talk.send("GET", unknown).status_code == 400
    assert talk.send("GET", "/api/v1/resources/cursor-next").status_code == 400
    talk.sim.configure(cursor_expired="error")
    assert talk.code("GET", unknown) == "SYS.1007"


def test_cursors_that_misbehave(talk: Talk) -> None:
    page = cursor(talk, "vm", ("pageSize", 1))
    talk.sim.configure(cursor_shrink=True)
    second = following(talk, page)
    assert (page["total"], second["total"], following(talk, second)["total"]) == (6, 5, 4)
    talk.sim.configure(cursor_shrink=False, cursor_repeat=True)
    assert following(talk, second)["nextCursor"] == second["nextCursor"]
    talk.sim.configure(cursor_lifetime=0.0)
    answer = talk.send("GET", f"/api/v1/resources/cursor-next?cursor={page['nextCursor']}")
    assert answer.status_code == 400
