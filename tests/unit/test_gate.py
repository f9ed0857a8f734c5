"""The runner of `make test` and `make gate`: its output, its files, and that it stops all processes that it started."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GATE = Path(__file__).parents[1] / "tools" / "gate.py"

# A substitute for nox, with sessions that pass, fail, are skipped, or never end and have a child process.
NOX = """
import json, os, subprocess, sys, time
if "--list" in sys.argv:
    print(json.dumps([{"session": name} for name in ("passing", "failing", "skipped")]))
    sys.exit()
name, report = sys.argv[2], sys.argv[-1]
open("started.log", "a").write(name + "\\n")
if name == "parted":
    print("nox > Part units begins\\nFAILED test_a.py::test_expected\\nnox > Part units passed in 12 s")
    print("nox > Part types begins\\nplugins/a.py:1: error: why\\nnox > Part types failed in 3 s: CommandFailed")
    json.dump({"sessions": [{"result": "failed", "reason": "failed: types"}]}, open(report, "w"))
    sys.exit(1)
print("TASK [one]\\nfatal: [host]: expected\\nnoise\\nTASK [two]\\nfatal: [host]: FAILED! => {")
print("    \\"msg\\": 1\\n}\\nPLAY RECAP")
print("ERROR: Command failed\\nFAILED - RETRYING\\nTASK [of the next target]\\nfatal: [host]: expected")
print("E       AssertionError: why\\nFAILED test_a.py::test_b - why\\n" + 100 * "noise\\n")
# The two that start at the same time: neither ends before the other has started.
other = {"long": "middle", "middle": "long"}.get(name, name)
while other not in open("started.log").read().split():
    time.sleep(0.01)
if name == "slow":
    sys.stdout.flush()
    time.sleep(1)
if name == "endless":
    alive = os.open(os.environ["ALIVE"], os.O_WRONLY)
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=[alive])
missing = "skipped" if "--no-error-on-missing-interpreters" in sys.argv else "failed"
result = {"failing": "failed", "skipped": missing}.get(name, "success")
reason = "no such interpreter" if name == "skipped" else None
json.dump({"sessions": [{"result": result, "reason": reason}]}, open(report, "w"))
sys.exit(result == "failed")
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A folder with the fake nox."""
    (tmp_path / "nox.py").write_text(NOX, encoding="utf-8")
    (tmp_path / ".gitignore").write_text("*.log\n.cache/\n__pycache__/\nalive\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def start(folder: Path, *names: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "ALIVE": str(folder / "alive")}
    environment.pop("CI", None)
    command = [sys.executable, str(GATE), *names]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def test_summary_has_the_result_of_each_session_and_the_reason_of_a_failure(gate: Path) -> None:
    process = start(gate)
    output, dummy = process.communicate()
    assert process.returncode == 1
    table, reasons = output.split("processor time\n")
    results = {"passing": "passed", "failing": "failed", "skipped": "skipped"}
    rows = [line.split() for line in table.splitlines() if line.split() and line.split()[0] in results]
    assert {name: result for name, result, *dummy in rows} == results
    assert "no such interpreter" in table
    assert reasons.split("\n") == [
        "",
        "FAILED failing; its whole output: .cache/gate/failing.log",
        "    fatal: [host]: FAILED! => {",
        '        "msg": 1',
        "    ERROR: Command failed",
        "    E       AssertionError: why",
        "    FAILED test_a.py::test_b - why",
        "",
    ]
    assert (gate / ".cache" / "gate" / "failing.log").read_text(encoding="utf-8").count("noise") == 101


def test_failure_is_shown_by_part(gate: Path) -> None:
    output, dummy = start(gate, "parted").communicate()
    assert re.search(r"failed   parted in \d+ s: units 12 s, types 3 s\n", output)
    assert output.partition("FAILED parted")[2].splitlines()[1:] == [
        "    part types: CommandFailed",
        "    plugins/a.py:1: error: why",
        "    failed: types",
    ]


def test_longest_sessions_of_last_time_start_first(gate: Path) -> None:
    times = gate / ".cache" / "gate" / "last_times.json"
    times.parent.mkdir(parents=True)
    times.write_text(json.dumps({"short": 1, "long": 900, "middle": 60}), encoding="utf-8")
    process = start(gate, "short", "middle", "long")
    process.communicate()
    assert process.returncode == 0
    # The first two start at the same time.
    assert sorted(started_sessions(gate)[:2]) == ["long", "middle"]
    assert json.loads(times.read_text(encoding="utf-8"))["long"] < 900


def started_sessions(folder: Path) -> list[str]:
    """Return the sessions that were started, in this order."""
    return (folder / "started.log").read_text(encoding="utf-8").split()


def test_session_that_passed_runs_again_only_when_a_file_changes(gate: Path) -> None:
    for dummy in range(2):
        start(gate).communicate()
    assert started_sessions(gate).count("passing") == 1
    assert started_sessions(gate).count("failing") == 2
    (gate / "new.py").write_text("", encoding="utf-8")
    start(gate).communicate()
    assert started_sessions(gate).count("passing") == 2


def test_named_session_runs_although_it_has_passed(gate: Path) -> None:
    for dummy in range(2):
        output, dummy_errors = start(gate, "passing").communicate()
        assert "passed before" not in output
    assert started_sessions(gate) == ["passing", "passing"]


def test_named_session_without_its_python_fails(gate: Path) -> None:
    process = start(gate, "passing", "skipped")
    output, dummy = process.communicate()
    assert process.returncode == 1
    assert "FAILED skipped" in output
    assert output.endswith("    no such interpreter\n")


def test_running_session_shows_its_last_line(gate: Path) -> None:
    script = "import gate; gate.PROGRESS_INTERVAL = 0.0; gate.main(['slow'])"
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=gate,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(gate), str(GATE.parent)])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "running  slow for " in process.stdout
    assert " s: noise\n" in process.stdout


def test_interrupt_stops_the_processes_of_the_sessions(gate: Path) -> None:
    os.mkfifo(gate / "alive")
    process = start(gate, "endless")
    with (gate / "alive").open(encoding="utf-8") as held_by_the_session:
        process.send_signal(signal.SIGINT)
        output, dummy = process.communicate()
        # read() returns when the session and its child process have ended.
        assert held_by_the_session.read() == ""
    assert process.returncode == 128 + signal.SIGINT
    assert "stopping" in output
    assert [line.split()[:3] for line in output.splitlines() if line.startswith("endless")] == [
        ["endless", "not", "ended"]
    ]
