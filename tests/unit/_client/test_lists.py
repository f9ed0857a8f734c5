"""Lists are complete or fail: pages, cursors, and values that queries cannot match."""

from __future__ import annotations

import itertools
import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._api.conditions import parse_condition
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    AmbiguousMatch,
    ApiError,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client import lists as _pagination
from ansible_collections.virtinfra.manager.plugins.module_utils._client.client import Client
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import (
    ReadAhead,
    find_by_attribute,
    get_by_uuid,
    paginate,
    paginate_cursor,
    query,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._resources.finders import find_by_query, find_by_type
from conftest import ClientFactory, client_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.stub_server import StubRequest, StubResponse, StubServer
from support.waiting import wait_until

HOST = "a0000003000040008000000000000001"

INCOMPLETE = r"the service repeats or truncates pages\. Set limit, or add conditions\.$"


def uuids(records: list[dict[str, Any]]) -> list[str]:
    """Return the uuids of records, sorted."""
    return sorted(record["uuid"] for record in records)


def list_by_pages(
    client: Client, page_size: int, limit: int | None = None, name: str = "QueryHost"
) -> list[dict[str, Any]]:
    """List records with a query."""
    return [
        record
        for page, dummy in paginate(client, name, {}, page_size=page_size, limit=limit, connections=1)
        for record in page
    ]


def list_by_cursor_pages(client: Client, page_size: int, limit: int | None = None) -> list[dict[str, Any]]:
    """List the hosts with a cursor query."""
    return [
        record for page, dummy in paginate_cursor(client, "host", page_size=page_size, limit=limit) for record in page
    ]


# ------------------------------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    ("hosts", "page_size"),
    [
        (0, 1000),
        (1, 1000),
        (25, 1),
        (25, 7),
        (25, 24),
        (25, 25),
        (25, 26),
        (999, 1000),
        (1000, 1000),
        (1001, 1000),
        (2500, 333),
        (2500, 1000),
        (2500, 1001),
        (2500, 5000),
    ],
)
def test_all_records_are_listed_once(sim: Simulator, client: Client, hosts: int, page_size: int) -> None:
    sim.reset(hosts=hosts)
    expected = [f"a0000003000040008000{number:012x}" for number in range(1, hosts + 1)]
    assert uuids(list_by_pages(client, page_size)) == expected
    assert uuids(list_by_cursor_pages(client, page_size)) == expected


@pytest.mark.parametrize("limit", [1, 6, 7, 8, 24, 25, 26])
def test_limit(sim: Simulator, client: Client, limit: int) -> None:
    sim.reset(hosts=25)
    for listed in (list_by_pages(client, 7, limit), list_by_cursor_pages(client, 7, limit)):
        assert len(set(uuids(listed))) == len(listed) == min(limit, 25)


def test_no_unnecessary_requests(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=25)
    list_by_pages(client, 1000, 10)
    assert [entry["query"]["limit"] for entry in sim.log()] == [["10"]]


@pytest.mark.parametrize("hosts", [999, 1000, 1001, 4321])
def test_pages_that_are_read_concurrently(sim: Simulator, client: Client, hosts: int) -> None:
    """After the first page, which contains the total, pages are read concurrently, in order and once each."""
    sim.reset(hosts=hosts)
    pages = list(paginate(client, "QueryHost", {}, limit=None, connections=4))
    assert [len(page) for page, total in pages] == [1000] * (hosts // 1000) + [hosts % 1000] * (hosts % 1000 > 0)
    assert [record["uuid"] for page, total in pages for record in page] == [
        f"a0000003000040008000{number:012x}" for number in range(1, hosts + 1)
    ]
    starts = sorted(int(entry["query"]["start"][0]) for entry in sim.log())
    assert starts == [number * 1000 for number in range((hosts + 999) // 1000)]


def set_clocks(monkeypatch: pytest.MonkeyPatch, is_idle: bool) -> None:
    """Let each look at the clock take a second, in which this process is idle or not."""
    seconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(seconds), process_time=lambda: 0 if is_idle else next(seconds))
    monkeypatch.setattr(_pagination, "time", clock)


def test_pages_of_a_slow_service_come_over_several_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers none of the last four requests before it has received all four."""
    set_clocks(monkeypatch, is_idle=True)
    together = threading.Barrier(4, timeout=30)
    page = pages_of(RECORDS, 100, total=True)

    def answer(request: StubRequest) -> StubResponse:
        if int(request.query["start"][0]) >= len(RECORDS) - 400:
            together.wait()
        response: StubResponse = page(request)
        return response

    with StubServer(answer) as service:
        pages = list(paginate(client_of(service), "QueryHost", {}, page_size=100, limit=None, connections=4))
    assert [record for page, total in pages for record in page] == RECORDS
    assert len({request.client_port for request in service.requests}) == 4


def test_one_page_is_read_ahead_for_a_slow_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clocks(monkeypatch, is_idle=False)
    with StubServer(pages_of(RECORDS, 100, total=True)) as service:
        pages = paginate(client_of(service), "QueryHost", {}, page_size=100, limit=None, connections=4)
        assert all(len(service.requests) <= number + 2 for number, dummy in enumerate(pages))
        assert len(service.requests) == len(RECORDS) / 100


def test_truncated_pages_are_not_read_concurrently() -> None:
    """If the service truncates pages, the start of the next page is known only after the current page."""
    with StubServer(pages_of(RECORDS, 700, total=True)) as service:
        pages = list(paginate(client_of(service), "QueryHost", {}, limit=None, connections=4))
    assert [len(page) for page, total in pages] == [700, 700, 700, 400]
    assert [request.query["start"] for request in service.requests] == [["0"], ["700"], ["1400"], ["2100"]]


def has_requests(service: StubServer, number: int) -> bool:
    """Return whether a service has received at least a number of requests."""
    return len(service.requests) >= number


@pytest.mark.parametrize(("size", "total"), [(700, True), (1000, False)], ids=["truncated", "without a total"])
@pytest.mark.parametrize("connections", [1, 4])
def test_following_page_is_read_while_a_page_is_used(size: int, total: bool, connections: int) -> None:
    with StubServer(pages_of(RECORDS, size, total=total)) as service:
        pages = paginate(client_of(service), "QueryHost", {}, limit=None, connections=connections)
        for number, dummy in enumerate(pages, 1):
            expected = number + int(connections > 1 and number * size < len(RECORDS))
            wait_until(partial(has_requests, service, expected))
            assert len(service.requests) == expected


@pytest.mark.parametrize(("name", "sort"), [("QueryHost", "+uuid"), ("QuerySNSTopicSubscriber", "+topicUuid")])
def test_pages_are_sorted(sim: Simulator, client: Client, name: str, sort: str) -> None:
    """Pages without a sort order could overlap."""
    query(client, name)
    assert [entry["query"]["sort"] for entry in sim.log()] == [[sort]]


def test_total_is_returned(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=25)
    assert [
        (len(page), total) for page, total in paginate(client, "QueryHost", {}, page_size=10, limit=None, connections=1)
    ] == [
        (10, 25),
        (10, 25),
        (5, 25),
    ]
    assert [(len(page), total) for page, total in paginate_cursor(client, "host", page_size=10)] == [
        (10, 25),
        (10, 25),
        (5, 25),
    ]


def test_conditions_are_combined(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=25)
    found = query(client, "QueryHost", ["managementIp>10.0.0.1", "name!=host-1", f"uuid?={HOST},{HOST[:-1]}2"])
    assert [record["name"] for record in found] == ["host-2"]


def test_service_without_paging(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=2500, query_paging=False)
    assert len(set(uuids(list_by_pages(client, 1000)))) == 2500


def pages_of(records: list[dict[str, Any]], at_most: int, total: bool, honest_start: bool = True) -> Any:
    """Return a stub service that sends at most ``at_most`` records per page."""

    def answer(request: StubRequest) -> StubResponse:
        start = int(request.query.get("start", ["0"])[0]) if honest_start else 0
        size = min(at_most, int(request.query["limit"][0]))
        counted = {"total": len(records)} if total else {}
        return StubResponse(200, {"inventories": records[start : start + size], **counted})

    return answer


RECORDS = [{"uuid": f"{number:032x}", "name": f"host-{number}"} for number in range(2500)]


@pytest.mark.parametrize("at_most", [1, 100, 999, 1000])
def test_service_that_truncates_pages_with_a_total(at_most: int) -> None:
    records = RECORDS[:50] if at_most == 1 else RECORDS
    with StubServer(pages_of(records, at_most, total=True)) as service:
        assert uuids(list_by_pages(client_of(service), 5000)) == uuids(records)


def test_service_that_truncates_at_1000_without_a_total() -> None:
    with StubServer(pages_of(RECORDS, 1000, total=False)) as service:
        assert uuids(list_by_pages(client_of(service), 5000)) == uuids(RECORDS)


@pytest.mark.parametrize("total", [True, False])
def test_service_that_repeats_a_full_page(total: bool) -> None:
    with (
        StubServer(pages_of(RECORDS, 1000, total, honest_start=False)) as service,
        pytest.raises(VirtinfraError, match=rf"QueryHost returned only 1000 of (2500|more) records: {INCOMPLETE}"),
    ):
        list_by_pages(client_of(service), 1000)
    assert len(service.requests) == 2


def test_service_that_announces_more_than_it_sends() -> None:
    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": RECORDS[:3] if request.query["start"] == ["0"] else [], "total": 5})

    with (
        StubServer(answer) as service,
        pytest.raises(VirtinfraError, match=rf"^QueryHost returned only 3 of 5 records: {INCOMPLETE}"),
    ):
        list_by_pages(client_of(service), 1000)


def test_record_that_is_added_between_pages() -> None:
    """A new record at the front after the first page makes pages overlap, and is on no later page."""
    there = RECORDS[:7]

    def answer(request: StubRequest) -> StubResponse:
        start = int(request.query["start"][0])
        reply = StubResponse(200, {"inventories": there[start : start + 3], "total": len(there)})
        there[:] = RECORDS[7:8] + RECORDS[:7]
        return reply

    with StubServer(answer) as service:
        assert uuids(list_by_pages(client_of(service), 3)) == uuids(RECORDS[:8])


def test_total_that_keeps_changing() -> None:
    """New records appear in each attempt, so that the total grows between the pages."""
    numbers = iter(range(0, 1000, 3))

    def answer(request: StubRequest) -> StubResponse:
        first = next(numbers)
        return StubResponse(
            200, {"inventories": RECORDS[first : first + 3], "total": 4 if request.query["start"] == ["0"] else 5}
        )

    message = r"^QueryHost: the number of records changed during each of 5 attempts\. Run the task again\.$"
    with StubServer(answer) as service, pytest.raises(VirtinfraError, match=message):
        list_by_pages(client_of(service), 3)


def test_record_that_changes_from_page_to_page() -> None:
    """Records are identified by uuid, and only without a uuid by all of their members."""
    pages = {0: [{"uuid": "a", "name": "old"}, {"uuid": "b"}], 2: [{"uuid": "a", "name": "new"}, {"uuid": "c"}]}

    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": pages.get(int(request.query["start"][0]), []), "total": 3})

    with StubServer(answer) as service:
        assert list_by_pages(client_of(service), 2) == [{"uuid": "a", "name": "old"}, {"uuid": "b"}, {"uuid": "c"}]


def test_records_of_the_same_members_in_another_order() -> None:
    pages = {0: [{"type": "a", "name": None}, {"type": "b"}], 2: [{"name": None, "type": "a"}, {"type": "c"}]}

    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": pages.get(int(request.query["start"][0]), []), "total": 3})

    with StubServer(answer) as service:
        found = list_by_pages(client_of(service), 2, name="QuerySNSTopicSubscriber")
    assert found == [{"type": "a", "name": None}, {"type": "b"}, {"type": "c"}]


SUBSCRIBER = {"topicUuid": "t", "endpointUuid": "e", "createDate": "Jan 6, 2017 3:51:16 AM"}
OTHER = {**SUBSCRIBER, "endpointUuid": "f"}


@pytest.mark.parametrize(
    ("pages", "total"),
    [
        ([[SUBSCRIBER, SUBSCRIBER]], 2),
        ([[SUBSCRIBER, SUBSCRIBER]], None),
        ([[SUBSCRIBER, SUBSCRIBER, OTHER]], 3),
        ([[SUBSCRIBER, OTHER], [OTHER, SUBSCRIBER, {**OTHER, "topicUuid": "u"}]], 5),
    ],
)
def test_equal_records_without_a_uuid_count_separately(pages: list[list[dict[str, Any]]], total: int | None) -> None:
    starts = {str(sum(map(len, pages[:number]))): page for number, page in enumerate(pages)}
    reply = {} if total is None else {"total": total}
    with StubServer(
        lambda request: StubResponse(200, {**reply, "inventories": starts[request.query["start"][0]]})
    ) as service:
        listed = query(client_of(service), "QuerySNSTopicSubscriber")
    assert sorted(map(str, listed)) == sorted(str(record) for page in pages for record in page)


def test_pages_of_equal_records_without_a_uuid_may_be_a_service_without_paging() -> None:
    with (
        StubServer(lambda request: StubResponse(200, {"inventories": [SUBSCRIBER, OTHER], "total": 4})) as service,
        pytest.raises(VirtinfraError, match=rf"^QuerySNSTopicSubscriber returned only 2 of 4 records: {INCOMPLETE}"),
    ):
        query(client_of(service), "QuerySNSTopicSubscriber")


def test_equal_resources_without_a_uuid_by_a_cursor() -> None:
    pages = iter([cursor_page([SUBSCRIBER, OTHER], hasMore=True, nextCursor="n"), cursor_page([OTHER, SUBSCRIBER, {}])])
    with StubServer(lambda request: StubResponse(200, {**next(pages), "total": 5})) as service:
        assert len(list_by_cursor_pages(client_of(service), 3)) == 5


# Two records of the first page are repeated by the second and by the third.
WITH_EQUAL_RECORDS: tuple[list[dict[str, Any]], ...] = ([SUBSCRIBER, OTHER], [SUBSCRIBER, {"x": 1}], [OTHER, {"y": 1}])


@pytest.mark.parametrize("limit", [2, 3, 4, 5, 6])
def test_equal_resources_up_to_a_limit(limit: int) -> None:
    with StubServer(
        lambda request: StubResponse(
            200, {"inventories": WITH_EQUAL_RECORDS[int(request.query["start"][0]) // 2], "total": 6}
        )
    ) as service:
        assert len(list_by_pages(client_of(service), 2, limit, "QuerySNSTopicSubscriber")) == limit


@pytest.mark.parametrize("limit", [2, 3, 4, 5, 6])
def test_equal_resources_up_to_a_limit_by_a_cursor(limit: int) -> None:
    first, second, third = WITH_EQUAL_RECORDS
    pages = iter(
        [
            cursor_page(first, hasMore=True, nextCursor="2"),
            cursor_page(second, hasMore=True, nextCursor="3"),
            cursor_page(third),
        ]
    )
    with StubServer(lambda request: StubResponse(200, {**next(pages), "total": 6})) as service:
        assert len(list_by_cursor_pages(client_of(service), 2, limit)) == limit


@pytest.mark.parametrize("uuid", [{}, {"uuid": None}, {"uuid": ""}])
def test_record_without_its_uuid_is_refused(uuid: dict[str, Any]) -> None:
    with (
        StubServer(lambda dummy: StubResponse(200, {"inventories": [RECORDS[0], {"name": "x", **uuid}]})) as service,
        pytest.raises(TransportError, match="the response to QueryHost has a record without uuid"),
    ):
        list_by_pages(client_of(service), 1000)


def test_record_with_a_uuid_is_not_counted_twice() -> None:
    starts = {"0": RECORDS[:2], "2": RECORDS[1:3]}
    with (
        StubServer(
            lambda request: StubResponse(200, {"inventories": starts[request.query["start"][0]], "total": 4})
        ) as service,
        pytest.raises(VirtinfraError, match=rf"^QueryHost returned only 3 of 4 records: {INCOMPLETE}"),
    ):
        list_by_pages(client_of(service), 2)


def test_more_pages_are_read_ahead_of_a_slow_service() -> None:
    """A service that is faster than the user of the pages is not asked for more."""
    ahead = ReadAhead(6)
    ahead.note(used=1.0, waited=0.4)
    assert ahead.pages == 1
    for pages in (2, 4, 6, 6):
        ahead.note(used=1.0, waited=0.6)
        assert ahead.pages == pages
    ahead.note(used=1.0, waited=0.0)
    assert ahead.pages == 6


def test_list_without_a_total_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pagination, "MAX_PAGES", 5)
    pages = iter(range(1000))
    with (
        StubServer(lambda request: StubResponse(200, {"inventories": [{"uuid": str(next(pages))}]})) as service,
        pytest.raises(VirtinfraError) as caught,
    ):
        list_by_pages(client_of(service), 1)
    assert len(service.requests) == 6
    message = "QueryHost: the list takes more than 5 requests: it does not end. Set limit, or add conditions."
    assert str(caught.value) == message


@pytest.mark.parametrize("connections", [1, 4])
def test_list_that_would_never_end(connections: int) -> None:
    """A service announces a huge total, and each page has one new record."""
    numbers = iter(range(1_000_000))

    def answer(request: StubRequest) -> StubResponse:
        number = next(numbers)
        page = {"inventories": [{"uuid": str(number)}], "total": 10**9}
        return StubResponse(
            200,
            page
            if "q" in request.query or "start" in request.query
            else {**cursor_page([{"uuid": str(number)}], hasMore=True, nextCursor=str(number)), "total": 10**9},
        )

    message = (
        "takes more than 20000 requests: the service announces 1000000000 records and sends 1 at a time. Set limit, or"
        " add conditions."
    )
    with StubServer(answer) as service:
        with pytest.raises(VirtinfraError, match=f"^QueryHost: the list {message}$"):
            list(paginate(client_of(service), "QueryHost", {}, limit=None, connections=connections))
        with pytest.raises(VirtinfraError, match=f"^the cursor for host: the list {message}$"):
            list_by_cursor_pages(client_of(service), 1000)
        assert len(service.requests) < 5
        assert len(list_by_pages(client_of(service), 1000, limit=7)) == 7
        assert len(list_by_cursor_pages(client_of(service), 1000, limit=7)) == 7


def test_total_of_an_empty_list(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=0)
    assert list(paginate(client, "QueryHost", {}, limit=None, connections=1)) == []
    assert len(sim.log()) == 1


def test_records_without_a_uuid(sim: Simulator, client: Client) -> None:
    assert len(query(client, "QuerySNSTopicSubscriber")) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"inventories": []}, []),
        ({"inventories": None}, []),
        ({"inventory": {"uuid": "a"}}, ["a"]),
        ({"inventories": [{"uuid": "a"}], "success": True, "error": None}, ["a"]),
        ({"inventories": [{"uuid": "a"}], "total": "many"}, ["a"]),
        ({"inventories": [{"uuid": "a"}], "total": True}, ["a"]),
    ],
)
def test_forms_of_replies(reply: dict[str, Any], expected: list[str]) -> None:
    with StubServer(lambda request: StubResponse(200, reply)) as service:
        assert uuids(query(client_of(service), "QueryHost")) == expected


@pytest.mark.parametrize("reply", [{}, {"success": True}, {"results": []}])
def test_empty_replies(reply: dict[str, Any]) -> None:
    with StubServer(lambda request: StubResponse(200, reply)) as service:
        with pytest.raises(Unsupported, match=r"^the response to QueryHost has no inventories$"):
            query(client_of(service), "QueryHost")
        with pytest.raises(Unsupported, match=r"^the response to QueryHost has no inventories$"):
            get_by_uuid(client_of(service), "QueryHost", HOST)


@pytest.mark.parametrize("found", ["none", 5, ["a"], [[]], [{"uuid": "a"}, None], True])
def test_lists_of_something_else(found: Any) -> None:
    with (
        StubServer(lambda request: StubResponse(200, {"inventories": found})) as service,
        pytest.raises(
            TransportError, match=r"^the response to QueryHost has no list of records in inventories$"
        ) as caught,
    ):
        query(client_of(service), "QueryHost")
    assert caught.value.transient is False


# ------------------------------------------------------------------------------------------------------ single records


@pytest.mark.parametrize("single", [False, True])
def test_by_uuid(sim: Simulator, client: Client, single: bool) -> None:
    sim.configure(single_inventory=single)
    assert [record["name"] for record in get_by_uuid(client, "QueryHost", HOST)] == ["host-1"]
    assert [entry["path"] for entry in sim.log()] == [f"/service/v1/hosts/{HOST}"]


def test_by_uuid_without_a_match(client: Client) -> None:
    assert get_by_uuid(client, "QueryHost", "f" * 32) == []


def test_a_service_that_ignores_the_uuid() -> None:
    with StubServer(lambda request: StubResponse(200, {"inventories": RECORDS})) as service:
        assert get_by_uuid(client_of(service), "QueryHost", RECORDS[7]["uuid"]) == [RECORDS[7]]
        assert get_by_uuid(client_of(service), "QueryHost", HOST) == []
    assert [request.query.get("q") for request in service.requests[:3]] == [None, None, [f"uuid={HOST}"]]


def test_a_service_that_ignores_the_uuid_and_sends_a_page_of_others() -> None:
    """The record may be on another page, so the client asks again with a query condition."""

    def answer(request: StubRequest) -> StubResponse:
        return StubResponse(200, {"inventories": RECORDS[7:8] if "q" in request.query else RECORDS[:5]})

    with StubServer(answer) as service:
        assert get_by_uuid(client_of(service), "QueryHost", RECORDS[7]["uuid"]) == [RECORDS[7]]


def test_record_of_a_wrong_type_is_named() -> None:
    with StubServer(lambda request: StubResponse(200, {"inventories": [{"uuid": 5}]})) as service:
        client = client_of(service)
        with pytest.raises(
            TransportError, match=r"^the response to QueryHost has a record whose uuid has a wrong type$"
        ) as caught:
            get_by_uuid(client, "QueryHost", HOST)
    assert caught.value.transient is False


NAMES = [
    "plain",
    "a=b",
    "a!=b",
    "a>=b",
    "a<=b",
    "a!?=b",
    "a!~=b",
    "a~=b",
    "a?=b,c",
    "a>b",
    "a<b",
    "is null",
    "not null",
    "100%",
    "a_b",
    "a&q=name=host-2",
    "a+b",
    "a#b",
    "a;b",
    "a/b?c",
    "a,b",
    'it\'s "quoted"',
    "back\\slash",
    "{{ 7 * 7 }}",
    "\u00fcml\u00e4ut \u4e3b\u673a",
    "\U0001f5a5",
    "Bob's VM",
    "'",
    "it's 100%_\\",
    "=x",
    "==x",
    "=it's",
    "~=x",
    "copy",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_a_query_might_misread(sim: Simulator, client: Client, name: str) -> None:
    sim.change("host", HOST, name=name)
    assert uuids(find_by_attribute(client, "QueryHost", "name", name)) == [HOST]
    assert find_by_attribute(client, "QueryHost", "name", name + "x") == []


@given(parts=st.lists(st.sampled_from([*"'=%_\\!<>~?,&#aB\u00e9 ", "is null", "not null"]), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_of_any_characters_are_found(sim: Simulator, client: Client, parts: list[str]) -> None:
    name = "".join(parts).strip() or "'"
    sim.change("host", HOST, name=name)
    assert uuids(find_by_attribute(client, "QueryHost", "name", name)) == [HOST]
    condition = parse_condition(f"name= {name}", "HostInventory")
    assert (condition.value, condition.rejects({"name": name})) == (name, False)


@pytest.mark.parametrize("values", ["servers", "document"])
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Bob's VM", ["bob's vm", "Bob-s VM", "B\u00f6b's VM", "Bob's VM'"]),
        ("=x", ["x", "=X", "-x", "==x"]),
        ("web", ["WEB", "w\u00e9b", "web-1", "we"]),
        ("a>=b", ["a-=b", "A>=B", "axxb", "b"]),
    ],
)
def test_only_exactly_this_name_is_found(
    sim: Simulator, client: Client, name: str, others: list[str], values: str
) -> None:
    sim.reset(hosts=5, query_values=values)
    for number, each in enumerate([name, *others], 1):
        sim.change("host", seeded_uuid("host", number), name=each)
    assert uuids(find_by_attribute(client, "QueryHost", "name", name)) == [HOST]
    assert (find_by_query("QueryHost", "name")(client, {"name": name}) or {})["uuid"] == HOST


@pytest.mark.parametrize(
    ("attribute", "value", "query"),
    [
        ("name", "host-1", ["state=Enabled", "name=host-1"]),
        ("name", "a>b", ["state=Enabled", "name=a>b"]),
        ("name", "a!=b", ["state=Enabled", "name~=a__b"]),
        ("name", "Bob's VM", ["state=Enabled", "name~=Bob_s VM"]),
        ("name", "=x", ["state=Enabled", "name~=_x"]),
        ("nickname", "host-1", ["state=Enabled"]),
    ],
)
def test_query_by_an_attribute(sim: Simulator, client: Client, attribute: str, value: str, query: list[str]) -> None:
    """The query has the value, as a pattern if the service would misread it, unless the attribute is not known."""
    find_by_attribute(client, "QueryHost", attribute, value, ["state=Enabled"])
    assert [entry["query"]["q"] for entry in sim.log()] == [query]


def test_a_name_with_an_operator_is_found_among_many(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=1500)
    last = f"a0000003000040008000{1500:012x}"
    sim.change("host", last, name="a!=b")
    assert uuids(find_by_attribute(client, "QueryHost", "name", "a!=b")) == [last]
    assert len(sim.log()) == 1


@pytest.mark.parametrize("companions", ["present", "404"])
def test_two_with_the_same_name(sim: Simulator, client: Client, companions: str) -> None:
    other = HOST[:-1] + "2"
    sim.change("host", other, name="host-1")
    sim.configure(companions=companions)
    read = find_by_type("host", "uuid", "name")
    with pytest.raises(AmbiguousMatch, match=f"Their uuids: {HOST}, {other}") as caught:
        read(client, {"name": "host-1"})
    assert sorted(caught.value.result["uuids"]) == [HOST, other]
    assert (read(client, {"name": "host-1", "uuid": other}) or {})["uuid"] == other


def test_a_message_lists_few_of_many_uuids() -> None:
    many = AmbiguousMatch("the name 'eth1'", list("abcdefg"), "Give host.")
    assert str(many) == "7 objects have the name 'eth1'. Give host. Their uuids: a, b, c, d, e and 2 more"
    assert many.result["uuids"] == list("abcdefg")


@pytest.mark.parametrize("companions", ["present", "404"])
def test_readers_take_the_first_key_that_is_given(sim: Simulator, client: Client, companions: str) -> None:
    sim.configure(companions=companions)
    read = find_by_type("host", "uuid", "managementIp", "name")
    assert (read(client, {"managementIp": "10.0.0.12", "name": "host-1"}) or {})["name"] == "host-2"
    assert read(client, {"name": "none"}) is None
    assert read(client, {}) is None


def test_the_next_finder_is_used(sim: Simulator, client: Client, new_client: ClientFactory) -> None:
    sim.configure(companions="404")
    read = find_by_type("host", "name")
    assert (read(client, {"name": "host-2"}) or {})["name"] == "host-2"
    with pytest.raises(
        Unsupported, match=r"QueryHost, or path_prefix is wrong .*hosts\); CursorQuery needs api_token \("
    ):
        read(new_client(api_token=None), {"name": "host-2"})


# ------------------------------------------------------------------------------------------------------------- cursors


def test_filters_sort_and_order(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=12)
    pages = paginate_cursor(client, "host", ["name!=host-3"], sort="name", order="desc", page_size=5)
    names = [record["name"] for page, dummy in pages for record in page]
    assert names == sorted((f"host-{number}" for number in range(1, 13) if number != 3), reverse=True)


@pytest.mark.parametrize("how", ["text", "error"])
def test_expiring_cursor(sim: Simulator, client: Client, how: str) -> None:
    sim.reset(hosts=25, cursor_lifetime=0.0, cursor_expired=how)
    with pytest.raises(ApiError, match=r"CursorNext failed .*expired"):
        list_by_cursor_pages(client, 10)


def test_repeating_cursor(sim: Simulator, client: Client) -> None:
    sim.reset(hosts=25, cursor_repeat=True)
    with pytest.raises(
        VirtinfraError, match=r"^the cursor for host repeats itself after \d+ records\. Run the task again\.$"
    ):
        list_by_cursor_pages(client, 5)


def test_shrinking_total(sim: Simulator, client: Client) -> None:
    """The total shrinks below the number of records, and all records of the cursor are returned."""
    sim.reset(hosts=25, cursor_shrink=True)
    assert len(uuids(list_by_cursor_pages(client, 5))) == 25


def cursor_page(records: list[dict[str, Any]], **members: Any) -> dict[str, Any]:
    """Return the reply of a cursor operation."""
    return {"items": records, "total": 7, "nextCursor": None, "hasMore": False, **members}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (cursor_page([]), "ended after 4 of 7 records"),
        (cursor_page(RECORDS[4:6]), "ended after 6 of 7 records"),
        (cursor_page(RECORDS[:4], hasMore=True, nextCursor="third"), "repeats itself after 4 records"),
        (cursor_page([], hasMore=True, nextCursor="third"), "repeats itself after 4 records"),
        (cursor_page(RECORDS[4:6], hasMore=True, nextCursor=None), "repeats itself after 6 records"),
        (cursor_page(RECORDS[4:6], hasMore=True, nextCursor=""), "repeats itself after 6 records"),
        (cursor_page(RECORDS[4:6], hasMore=True, nextCursor=5), "repeats itself after 6 records"),
        (cursor_page(RECORDS[4:6], hasMore=True, nextCursor="second"), "repeats itself after 6 records"),
    ],
)
def test_cursor_that_does_not_reach_the_end(second: dict[str, Any], message: str) -> None:
    def answer(request: StubRequest) -> StubResponse:
        if request.path.endswith("cursor-query"):
            return StubResponse(200, cursor_page(RECORDS[:4], hasMore=True, nextCursor="second"))
        return StubResponse(200, second)

    with (
        StubServer(answer) as service,
        pytest.raises(VirtinfraError, match=rf"^the cursor for host {message}\. Run the task again\.$"),
    ):
        list_by_cursor_pages(client_of(service), 4)
    assert len(service.requests) == 2


def test_endless_cursor() -> None:
    """The service sends new records and cursors endlessly, although the total is small."""
    pages = iter(range(1_000_000))

    def answer(request: StubRequest) -> StubResponse:
        page = next(pages)
        records = [{"uuid": f"{page}-{number}"} for number in range(4)]
        return StubResponse(200, cursor_page(records, hasMore=True, nextCursor=str(page)))

    message = r"^the cursor for host does not end: 20 of 7 records were read\. Set limit\.$"
    with StubServer(answer) as service, pytest.raises(VirtinfraError, match=message):
        list_by_cursor_pages(client_of(service), 4)
    assert len(service.requests) < 20


@pytest.mark.parametrize("left_out", ["hasMore", "total", "nextCursor"])
def test_members_that_cursors_may_omit(left_out: str) -> None:
    def answer(request: StubRequest) -> StubResponse:
        first = request.path.endswith("cursor-query")
        reply = cursor_page(RECORDS[:4], hasMore=True, nextCursor="second") if first else cursor_page(RECORDS[4:7])
        if not (first and left_out == "nextCursor"):
            del reply[left_out]
        return StubResponse(200, reply)

    with StubServer(answer) as service:
        assert uuids(list_by_cursor_pages(client_of(service), 4)) == uuids(RECORDS[:7])


def test_cursors_are_sent_unchanged() -> None:
    def answer(request: StubRequest) -> StubResponse:
        if request.path.endswith("cursor-query"):
            return StubResponse(200, cursor_page(RECORDS[:4], hasMore=True, nextCursor="a+/=&b c\u00e9"))
        assert request.query["cursor"] == ["a+/=&b c\u00e9"]
        return StubResponse(200, cursor_page(RECORDS[4:7]))

    with StubServer(answer) as service:
        assert uuids(list_by_cursor_pages(client_of(service), 4)) == uuids(RECORDS[:7])
    assert service.requests[1].query["pageSize"] == ["4"]
