"""The page of the role site_drift in a browser: it fits a phone, and texts of the service are no markup."""

from __future__ import annotations

import json

import pytest

from simulator.launch import Simulator
from support.browser import Page
from support.playbook_runner import PlaybookRunner

HOSTILE = "<img src=x onerror='parent.isAttacked = true'>{{ 40 + 2 }}" + "name-without-any-break" * 10
CUT = "[...document.querySelectorAll('main *')].filter(each => each.getBoundingClientRect().right > %d).length"
WORDS_ON_TWO_LINES = """[...document.querySelectorAll('code')].filter(code => {
  const text = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (text.nextNode()) for (const word of text.currentNode.data.matchAll(/(?<!\\S)--?\\w+/g)) {
    range.setStart(text.currentNode, word.index);
    range.setEnd(text.currentNode, word.index + word[0].length);
    if (range.getClientRects().length > 1) return true;
  }
}).length"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Describe a service, change it, write the page of the drift, and return its address."""
    folder = tmp_path_factory.mktemp("drift")
    site, path = folder / "my site", folder / "drift.html"
    with Simulator() as simulator:
        connection = {"base_url": simulator.url, "session_id": simulator.session, "api_token": simulator.token}
        environment = {f"VIRTINFRA_{name.upper()}": value for name, value in connection.items()}
        runner = PlaybookRunner(folder, simulator.url, {})
        given = ["--extra-vars", json.dumps({"site_description_folder": str(site)})]
        assert runner.playbook("virtinfra.manager.describe", given, environment).code == 0
        for kind in ("host", "topic"):
            simulator.change(kind, simulator.records(kind)[0]["uuid"], name=HOSTILE)
        given = ["-i", str(site / "hosts.yml"), "--extra-vars", json.dumps({"site_drift_path": str(path)})]
        run = runner.playbook("virtinfra.manager.drift", given, environment)
    assert (run.code, path.exists()) == (2, True), run.output
    return path.as_uri()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_the_page_fits(page: Page, report: str, width: int, dark: bool) -> None:
    page.open(report, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT % width) == 0
    assert page.evaluate(WORDS_ON_TWO_LINES) == 0
    assert (page.evaluate(BACKGROUND) == "rgb(255, 255, 255)") is not dark


def test_texts_are_no_markup_and_commands_are_complete(page: Page, report: str) -> None:
    page.open(report)
    assert page.evaluate("[document.scripts.length, document.images.length, parent.isAttacked === true]") == [
        0,
        0,
        False,
    ]
    assert [text for text in page.texts("#not_described tbody th") if text.startswith(HOSTILE)]
    assert [text for text in page.texts("#differs tbody td") if HOSTILE in text]
    commands = page.texts("tbody code")
    assert [text for text in commands if text.endswith("my site/hosts.yml' --limit host-1")]
    titles = page.texts(".cards strong, .cards a")
    assert titles == ["As described", "Different", "Missing", "Not described"]
    links = "[...document.querySelectorAll('.cards a')].every(link => document.querySelector(link.hash))"
    assert page.evaluate(links)


def test_it_is_printed_on_white(page: Page, report: str) -> None:
    page.open(report, dark=True, media="print")
    assert page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('tbody tr')).breakInside") == "avoid"
