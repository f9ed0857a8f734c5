"""The page of the simulator in a browser: it follows the state, injects faults, fits a phone, and escapes all texts."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.http_client import HttpClient
from simulator.launch import Simulator
from simulator.state.store import seeded_uuid
from support.browser import Page

HOSTILE = "<script>window.isAttacked = true</script><img src=x onerror='window.isAttacked = true'>"
IS_LIVE = "document.querySelector('#connection').textContent === 'Live'"
NEW_HOST = {"name": "added-later", "managementIp": "10.0.0.99", "username": "root", "password": "secret"}


def shows(section: str, text: str) -> str:
    """Return a condition in JavaScript: a table of the page contains a text."""
    return f"document.querySelector('#{section} tbody').textContent.includes({text!r})"


def choose(page: Page, **values: str) -> None:
    """Fill in the form of the faults, member by member, and submit it."""
    for name, value in values.items():
        member = f"document.querySelector('form').elements[{name!r}]"
        page.evaluate(f"{member}.value = {value!r}; {member}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    page.evaluate("document.querySelector('form button').click()")


@pytest.fixture
def api(page: Page, sim: Simulator) -> HttpClient:
    """A client of the simulator whose page is open."""
    page.open(sim.url)
    page.wait_for(IS_LIVE)
    return HttpClient(sim)


def test_page_follows_the_state_without_reload(page: Page, api: HttpClient) -> None:
    page.evaluate("window.isSame = true")
    assert page.texts("#hosts tbody th")[0].split("\n") == ["host-1", "10.0.0.11, cluster-1"]
    assert page.texts("#vms tbody tr")[0].split() == ["vm-1", "10.101.0.11", "Running", "host-1"]
    assert page.texts("#cbt_tasks .note") == ["none"]
    api.inventory("POST", "hosts/kvm", {"params": {**NEW_HOST, "clusterUuid": seeded_uuid("cluster", 2)}})
    task = {"name": "backup-1", "vmInstanceUuid": seeded_uuid("vm", 2)}
    api.call("POST", "cbt-task/create", {"params": task})
    page.wait_for(shows("hosts", "added-later"))
    page.wait_for(shows("cbt_tasks", "backup-1"))
    assert page.texts("#cbt_tasks tbody tr")[0].split()[:3] == ["backup-1", "Created", "vm-2"]
    page.wait_for(shows("jobs", "CreateCbtTask"))
    assert [text.split()[:3] for text in page.texts("#jobs tbody tr")] == [
        ["CreateCbtTask", "backup-1", "Succeeded"],
        ["AddKVMHost", "added-later", "Succeeded"],
    ]
    assert page.evaluate("document.querySelector('#jobs td span').getClientRects().length") == 1
    storage = ["ps-1", "NFS,", "Enabled", "Connected", "8.0", "of", "10.0", "TiB"]
    assert page.texts("#storages tbody tr")[0].split() == storage
    assert page.texts("#endpoints tbody tr")[0].split() == ["snmp-endpoint-1", "Snmp", "Enabled", "snmp-1"]
    assert page.texts("[data-total=hosts], [data-summary=hosts]") == ["4", "4 Connected"]
    api.sim.reset(hosts=0)
    page.wait_for("document.querySelector('[data-total=hosts]').textContent === '0'")
    assert page.texts("[data-summary=hosts], #hosts tbody") == ["", ""]
    assert page.evaluate("window.isSame") is True


def test_fault_from_the_page_makes_the_next_call_fail(page: Page, api: HttpClient) -> None:
    api.sim.clear_log()
    choose(page, fault="fail", operation="ChangeHostState", code="HOST.1001", details="no room")
    page.wait_for(shows("faults", "for ChangeHostState"))
    assert page.texts("#result") == ["Injected fail."]
    assert api.sim.log() == []
    body = {"changeHostState": {"stateEvent": "disable"}}
    path = f"hosts/{seeded_uuid('host', 1)}/actions"
    assert api.error_code("PUT", path, body) == "HOST.1001"
    assert api.inventory("PUT", path, body)["state"] == "Disabled"
    page.wait_for(shows("jobs", "HOST.1001: no room"))
    page.wait_for(shows("calls", "fault: fail"))
    page.wait_for(shows("hosts", "Disabled"))
    assert page.texts("#injected tbody tr")[0].split() == ["fail", "for", "ChangeHostState", "once", "none"]
    page.evaluate("document.querySelector('#clear').click()")
    page.wait_for("document.querySelector('#injected').hidden")
    assert api.sim.faults() == []


@pytest.mark.parametrize(
    ("values", "label", "sent"),
    [
        ({"fault": "status", "status": "429", "count": ""}, "Status", {"status": 429, "count": None, "operation": "*"}),
        ({"fault": "slow", "seconds": "0.5", "operation": "poll"}, "Seconds", {"seconds": 0.5, "operation": "poll"}),
        ({"fault": "garbage", "garbage": "utf8", "count": "3"}, "Body", {"garbage": "utf8", "count": 3}),
        ({"fault": "redirect", "url": "https://example.com/"}, "Redirect to", {"url": "https://example.com/"}),
    ],
)
def test_members_of_a_fault_are_shown_and_sent(
    page: Page, api: HttpClient, values: dict[str, str], label: str, sent: dict[str, Any]
) -> None:
    choose(page, **values)
    page.wait_for("document.querySelectorAll('#injected tbody tr').length === 1")
    (fault,) = api.sim.faults()
    assert {name: fault[name] for name in sent} == sent
    labels = "[...document.querySelectorAll('label:not([hidden])')].map(label => label.firstChild.textContent.trim())"
    assert page.evaluate(labels) == ["Fault", "For", "How often", label]


def test_calls_are_grouped_by_task(page: Page, api: HttpClient) -> None:
    api.sim.clear_log()
    for dummy in range(2):
        task = HttpClient(api.sim)
        task.send("GET", "hosts")
        task.send("GET", "vm-instances")
    page.wait_for(shows("calls", "Earlier task"))
    assert [text for text in page.texts("#calls tbody tr") if "task" in text] == [
        "Last task: 2 calls",
        "Earlier task: 2 calls",
    ]


def test_reset_restores_the_start_after_a_question(page: Page, api: HttpClient) -> None:
    api.sim.change("host", seeded_uuid("host", 1), name="renamed")
    page.wait_for(shows("hosts", "renamed"))
    page.evaluate("window.confirm = () => false; document.querySelector('#reset').click()")
    assert api.sim.records("host")[0]["name"] == "renamed"
    page.evaluate("window.confirm = () => true; document.querySelector('#reset').click()")
    page.wait_for(shows("hosts", "host-1"))
    assert page.texts("#reset_result")[0].startswith("Reset at ")
    assert [host["name"] for host in api.sim.records("host")] == ["host-1", "host-2", "host-3"]


def test_rejected_fault_is_explained(page: Page, api: HttpClient) -> None:
    page.evaluate("document.querySelector('form').noValidate = true")
    choose(page, fault="redirect")
    page.wait_for("document.querySelector('#result').textContent === 'a redirect needs a url'")


def test_names_are_texts_and_the_page_fits_a_phone(page: Page, api: HttpClient) -> None:
    api.sim.reset(cbt_tasks=1)
    for kind, uuid in (("host", seeded_uuid("host", 1)), ("vm", seeded_uuid("vm", 1))):
        api.sim.change(kind, uuid, name=HOSTILE, state=HOSTILE)
    for kind, uuid in (("host", seeded_uuid("host", 2)), ("vm", seeded_uuid("vm", 2))):
        api.sim.change(kind, uuid, name="name-without-any-break" * 10)
    api.sim.change("cbttask", seeded_uuid("cbttask", 1), name=HOSTILE, status=HOSTILE)
    api.sim.change("primarystorage", seeded_uuid("primarystorage", 1), name=HOSTILE, status=HOSTILE, type=HOSTILE)
    api.sim.change("endpoint", seeded_uuid("endpoint", 1), name=HOSTILE, state=HOSTILE, type=HOSTILE)
    api.sim.fault("fail", "ChangeHostState", error={"code": "HOST.1001", "details": HOSTILE})
    api.error("PUT", f"hosts/{seeded_uuid('host', 1)}/actions", {"changeHostState": {"stateEvent": "disable"}})
    api.send("GET", HOSTILE.replace("/", "")[:40])
    page.open(api.sim.url, width=390)
    page.wait_for(shows("jobs", HOSTILE[:20]))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("[document.scripts.length, document.images.length, window.isAttacked]") == [1, 0, None]
    for section in ("hosts", "vms", "cbt_tasks", "storages", "endpoints", "jobs"):
        assert HOSTILE in "".join(page.texts(f"#{section} tbody th")), section
    assert [text for text in page.texts("#calls tbody th") if "<script>" in text]


def test_faults_are_reachable_on_a_phone_and_objects_are_sorted(page: Page, api: HttpClient) -> None:
    """The form comes before the tables, and nothing is cut at the right."""
    api.sim.reset(hosts=12, vms=12)
    api.sim.change("host", seeded_uuid("host", 1), name="host-20")
    page.open(api.sim.url, width=400)
    page.wait_for(shows("hosts", "host-12"))
    names = [text.partition("\n")[0] for text in page.texts("#hosts tbody th")]
    assert names == [f"host-{number}" for number in (*range(2, 13), 20)]
    tops = [
        page.evaluate(f"document.querySelector('#{name}').getBoundingClientRect().top") for name in ("faults", "hosts")
    ]
    assert tops[0] < tops[1]
    cut = "[...document.querySelectorAll('main *')].filter(each => each.getBoundingClientRect().right > 400).length"
    assert page.evaluate(cut) == 0
    choose(page, fault="fail", operation="ChangeHostState", code="HOST.1001", details="no room")
    page.wait_for(shows("faults", "for ChangeHostState"))


def test_page_says_when_the_simulator_has_stopped(page: Page) -> None:
    with Simulator() as stopping:
        page.open(stopping.url)
        page.wait_for(IS_LIVE)
    page.wait_for("document.querySelector('#connection').textContent.includes('does not answer')")
    assert len(page.texts("#hosts tbody tr")) == 3
