"""The page of the role vm_backup_report in a browser: it fits a phone, and texts of the service are no markup."""

from __future__ import annotations

import json

import pytest

from simulator.launch import Simulator
from support.browser import Page
from support.playbook_runner import PlaybookRunner
from support.repositories import make_repository

HOSTILE = "<script>parent.isAttacked = true</script><img src=x onerror='parent.isAttacked = true'>{{ 40 + 2 }}"

MEASURES = """({
  scrollWidth: document.documentElement.scrollWidth,
  scripts: document.scripts.length,
  images: document.images.length,
  isAttacked: parent.isAttacked === true,
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a page about VMs without points, one with a hostile name, and return its address."""
    folder = tmp_path_factory.mktemp("report")
    variables = {
        "vm_backup_report_path": str(folder / "backups.html"),
        "vm_backup_report_repository": str(make_repository(folder / "repository")),
    }
    with Simulator("--vms", "6") as simulator:
        first, second = simulator.records("vm")[:2]
        simulator.change("vm", first["uuid"], name=HOSTILE)
        simulator.change("vm", second["uuid"], name="name-without-any-break" * 10)
        connection = {"base_url": simulator.url, "session_id": simulator.session}
        run = PlaybookRunner(folder, simulator.url, {}).playbook(
            "virtinfra.manager.vm_backup_report",
            ["--extra-vars", json.dumps(variables)],
            {f"VIRTINFRA_{name.upper()}": value for name, value in connection.items()},
        )
    assert run.code == 0, run.output
    return (folder / "backups.html").as_uri()


def test_the_page_fits_a_phone_and_shows_names_as_text(page: Page, report: str) -> None:
    page.open(report, width=390)
    assert page.evaluate(MEASURES) == {"scrollWidth": 390, "scripts": 0, "images": 0, "isAttacked": False}
    # The title of a row has a line of its own.
    lines = "[...document.querySelectorAll('#vms tbody tr')].map(row => row.children[1].offsetTop > row.offsetTop + 9)"
    assert page.evaluate(lines) == [True] * 6
    names = page.texts("#vms tbody th")
    assert len(names) == 6
    assert [name for name in names if name.startswith(HOSTILE)], names


def test_the_page_is_dark_on_a_screen_and_white_in_print(page: Page, report: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page.open(report, dark=True)
    assert page.evaluate(background) != "rgb(255, 255, 255)"
    page.open(report, dark=True, media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
