# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of the role capacity_report in a browser: it fits a phone, and no name on it becomes markup."""

from __future__ import annotations

import functools
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.launch import Simulator
from support.playbook_runner import PlaybookRunner

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTS, STORAGES, TASKS = 30, 4, 8
HOSTILE = "<script>parent.isAttacked = true</script><img src=x onerror='parent.isAttacked = true'>{{ 40 + 2 }}"

# A page that shows the report in a frame as wide as a phone, and what it measures there. Browsers have windows of at
# least 500 pixels.
FRAME = """<!DOCTYPE html><iframe src="report.html" style="border: 0; width: 390px; height: 800px"></iframe><pre></pre>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, texts = selector => [...page.querySelectorAll(selector)].map(e => e.textContent);
  document.querySelector("pre").textContent = JSON.stringify({
    scrollWidth: page.documentElement.scrollWidth,
    scripts: page.scripts.length,
    images: page.images.length,
    isAttacked: window.isAttacked === true,
    bars: page.querySelectorAll("svg").length,
    untitled: [...page.querySelectorAll("svg")].filter(bar => !bar.querySelector("title").textContent).length,
    storages: texts("#storages tbody th"),
    hosts: texts("#hosts tbody th"),
    statuses: texts("#cbt_tasks tbody tr"),
    names: texts("#cbt_tasks li"),
  });
};
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.skip("there is no browser")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Write a report of many hosts, some with hostile names, and serve it; the address has no path."""
    folder = tmp_path_factory.mktemp("report")
    seed = ("--hosts", str(HOSTS), "--primary-storages", str(STORAGES), "--cbt-tasks", str(TASKS), "--vms", str(TASKS))
    with Simulator(*seed) as simulator:
        for kind in ("host", "primarystorage"):
            first, second, third = simulator.records(kind)[:3]
            simulator.change(kind, first["uuid"], name=HOSTILE, status=HOSTILE)
            simulator.change(kind, second["uuid"], name="name-without-any-break" * 10)
            capacities = ("Capacity", "CpuCapacity", "MemoryCapacity")
            simulator.change(kind, third["uuid"], **{f"available{name}": None for name in capacities})
        (failed, *dummy) = (task for task in simulator.records("cbttask") if task["status"] == "Failed")
        simulator.change("cbttask", failed["uuid"], name=HOSTILE)
        connection = {"base_url": simulator.url, "session_id": simulator.session, "api_token": simulator.token}
        run = PlaybookRunner(folder, simulator.url, {}).playbook(
            "virtinfra.manager.capacity_report",
            ["--extra-vars", f"capacity_report_path={folder}/report.html"],
            {f"VIRTINFRA_{name.upper()}": value for name, value in connection.items()},
        )
    assert run.code == 0, run.output
    (folder / "phone.html").write_text(FRAME, encoding="utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def measure(browser: str, url: str, folder: Path) -> dict[str, Any]:
    """Return what the page at an address measured."""
    command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=10000", "--dump-dom"]
    page = subprocess.run(
        [*command, f"--user-data-dir={folder}", url],
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search("<pre>(.+)</pre>", page, re.DOTALL)
    assert found, page
    measured: dict[str, Any] = json.loads(html.unescape(found[1]))
    return measured


def test_the_report_fits_a_phone_and_shows_names_as_text(browser: str, report: str, tmp_path: Path) -> None:
    measured = measure(browser, f"{report}/phone.html", tmp_path)
    assert measured["scrollWidth"] == 390
    assert (measured["scripts"], measured["images"], measured["isAttacked"]) == (0, 0, False)
    assert (measured["bars"], measured["untitled"]) == (2 * HOSTS + STORAGES, 0)
    assert len(measured["hosts"]) == HOSTS
    assert len(measured["storages"]) == STORAGES
    for texts in (measured["hosts"], measured["storages"], measured["names"]):
        assert [text for text in texts if text.startswith(HOSTILE)], texts
    assert "Failed2" in measured["statuses"]
