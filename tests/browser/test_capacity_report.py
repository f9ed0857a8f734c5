"""The page of the role capacity_report in a browser: it fits a phone, and names are not interpreted as markup."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from simulator.launch import Simulator
from support.browser import Page
from support.playbook_runner import PlaybookRunner
from support.repositories import make_repository

HOSTS, STORAGES, TASKS = 30, 4, 8
# A control character, and a mark that reverses the direction of what follows.
MARKS = "\x07\u202e"
ESCAPED_MARKS = "\\x07\\u202e"
HOSTILE = "<script>parent.isAttacked = true</script><img src=x onerror='parent.isAttacked = true'>{{ 40 + 2 }}"

MEASURES = """({
  scrollWidth: document.documentElement.scrollWidth,
  scripts: document.scripts.length,
  images: document.images.length,
  isAttacked: parent.isAttacked === true,
  bars: document.querySelectorAll("svg").length,
  untitled: [...document.querySelectorAll("svg")].filter(bar => !bar.querySelector("title").textContent).length,
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a report of many hosts, some with hostile names, and return its address."""
    folder = tmp_path_factory.mktemp("report")
    repository = make_repository(folder / "repository")
    variables = {
        "capacity_report_path": str(folder / "report.html"),
        "capacity_report_backup_repository": str(repository),
    }
    seed = ("--hosts", str(HOSTS), "--primary-storages", str(STORAGES), "--cbt-tasks", str(TASKS), "--vms", str(TASKS))
    with Simulator(*seed) as simulator:
        for kind in ("host", "primarystorage"):
            first, second, third = simulator.records(kind)[:3]
            simulator.change(kind, first["uuid"], name=HOSTILE + MARKS, status=HOSTILE)
            simulator.change(kind, second["uuid"], name="name-without-any-break" * 10)
            capacities = ("Capacity", "CpuCapacity", "MemoryCapacity")
            simulator.change(kind, third["uuid"], **{f"available{name}": None for name in capacities})
        (failed, *dummy) = (task for task in simulator.records("cbttask") if task["status"] == "Failed")
        simulator.change("cbttask", failed["uuid"], name=HOSTILE)
        (opened, *dummy) = (task for task in simulator.records("cbttask") if task["status"] == "Running")
        simulator.change("cbttask", opened["uuid"], name=HOSTILE)
        simulator.change("vm", simulator.records("vm")[0]["uuid"], name=HOSTILE + MARKS)
        connection = {"base_url": simulator.url, "session_id": simulator.session, "api_token": simulator.token}
        run = PlaybookRunner(folder, simulator.url, {}).playbook(
            "virtinfra.manager.capacity_report",
            ["--extra-vars", json.dumps(variables)],
            {f"VIRTINFRA_{name.upper()}": value for name, value in connection.items()},
        )
    assert run.code == 0, run.output
    return (folder / "report.html").as_uri()


def test_the_report_fits_a_phone_and_shows_names_as_text(page: Page, report: str) -> None:
    page.open(report, width=390)
    measured = page.evaluate(MEASURES)
    assert measured["scrollWidth"] == 390
    assert (measured["scripts"], measured["images"], measured["isAttacked"]) == (0, 0, False)
    assert (measured["bars"], measured["untitled"]) == (2 * HOSTS + STORAGES, 0)
    hosts, storages = page.texts("#hosts tbody th"), page.texts("#storages tbody th")
    assert (len(hosts), len(storages)) == (HOSTS, STORAGES)
    for texts in (hosts, storages, page.texts("#cbt_tasks li"), page.texts("#cbt_tasks .sessions li")):
        assert [text for text in texts if text.startswith(HOSTILE)], texts
    assert "Failed\t2" in page.texts("#cbt_tasks tbody tr")
    assert [text for text in page.texts("#cbt_tasks .sessions li") if "open since " not in text] == []
    assert [text for text in hosts if text.startswith(HOSTILE + ESCAPED_MARKS)], hosts
    names = page.evaluate("[...document.querySelectorAll('tbody th')].map(cell => cell.firstChild.nodeName)")
    assert {*names} == {"BDI"}


def test_a_card_shows_the_worst_of_what_it_counts(page: Page, report: str) -> None:
    page.open(report)
    cards = "Object.fromEntries([...document.querySelectorAll('.cards li')].map(card => [%s, %s]))"
    levels = page.evaluate(cards % ("card.querySelector('a').textContent", "card.querySelector('b').className"))
    assert {name: levels[name] for name in ("Storage", "Hosts", "CBT tasks")} == {
        "Storage": "warn",
        "Hosts": "bad",
        "CBT tasks": "warn",
    }


def test_the_report_lists_vms_without_restore_points(page: Page, report: str) -> None:
    page.open(report, width=390)
    names = page.texts("#backups tbody th")
    assert len(names) == TASKS
    assert [name for name in names if name.startswith(HOSTILE + ESCAPED_MARKS)], names
    assert {*page.texts("#backups tbody td")} == {"none"}


def test_the_report_says_as_of_when_it_is_and_is_printed_on_white(page: Page, report: str) -> None:
    page.open(report, dark=True)
    (time,) = page.texts("time")
    assert datetime.strptime(time, "%Y-%m-%d %H:%M UTC")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) != "rgb(255, 255, 255)"
    page.open(report, dark=True, media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('tbody tr')).breakInside") == "avoid"
