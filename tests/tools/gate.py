# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the default sessions of nox, or those named, two at a time, and say at the end why one failed.

`nox --parallel` prints the whole output of each session. Here it goes to .cache/gate/NAME.log; the terminal shows when
a session starts and ends, how long it took last time, and the decisive lines of those that failed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GATE = Path(".cache", "gate")
LAST_TIMES = GATE / "last_times.json"
NOX = (sys.executable, "-m", "nox")
AT_A_TIME = 2
STOP_TIMEOUT = 10.0

# Durations in seconds until the machine has its own: the longest sessions start first, so that none runs alone at the
# end.
USUAL_SECONDS = {
    "unit-2.19": 600,
    "integration-2.21": 400,
    "integration-2.16": 350,
    "unit-2.21": 300,
    "sanity-2.19": 240,
    "chaos-short": 180,
    "integration-2.19": 150,
    "sanity-2.21": 120,
    "unit-requests-2.28": 90,
    "ansible-lint": 80,
    "eda": 80,
    "artifact": 60,
    "integration-2.18": 60,
}
USUAL = 30

# The lines of a log that show a failure, and how many of them are printed: those of pytest, ansible-test and
# tests/chaos, the beginning of each exception under pytest, and the last failed task of each integration target that
# failed, because earlier failures were expected. Without such lines, the last lines are printed.
DECISIVE = (
    (re.compile(r"^(?:FAILED(?! - RETRYING)|ERROR|FATAL|WRONG)\b.*", re.MULTILINE), slice(20)),
    (re.compile(r"^(?!E ).*\n(E {3}.*(?:\nE {3}.*){0,3})", re.MULTILINE), slice(10)),
    (
        re.compile(
            r"^(?:fatal|failed): \[.*(?:\n {4}.*){0,8}(?=(?:\n(?!fatal|failed).*)*\n(?:FATAL|ERROR): Command )",
            re.MULTILINE,
        ),
        slice(10),
    ),
)
LAST_LINES = 40
LONGEST_LINE = 500
ESCAPES = re.compile(r"\x1b\[[0-9;]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\")


@dataclasses.dataclass
class Session:
    """A session of nox, and its result."""

    name: str
    last_time: float | None
    result: str = "running"
    reason: str | None = None
    started: float = 0.0
    seconds: float = 0.0
    processor_seconds: float = 0.0

    @property
    def log(self) -> Path:
        """The file with its whole output."""
        return GATE / f"{self.name}.log"

    @property
    def report(self) -> Path:
        """The file in which nox reports its result."""
        return GATE / f"{self.name}.json"

    @property
    def expected(self) -> float:
        """The expected duration in seconds."""
        return self.last_time or USUAL_SECONDS.get(self.name, USUAL)

    def start(self) -> subprocess.Popen[bytes]:
        """Start nox for this session only, in its own process group."""
        self.report.unlink(missing_ok=True)
        self.started = time.monotonic()
        last = f"{self.last_time:.0f} s last time" if self.last_time else "first time"
        show(f"start    {self.name} ({last})")
        command = (*NOX, "--session", self.name, "--no-dependencies", "--report", str(self.report))
        with self.log.open("wb") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def finish(self, exit_code: int, processor_seconds: float) -> None:
        """Read the result that nox reports; the exit code decides."""
        self.seconds = time.monotonic() - self.started
        self.processor_seconds = processor_seconds
        reported: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError, LookupError):
            reported = json.loads(self.report.read_text(encoding="utf-8"))["sessions"][0]
        self.reason = reported.get("reason")
        if exit_code:
            self.result = "failed"
        else:
            self.result = "skipped" if reported.get("result") == "skipped" else "passed"
        show(f"{self.result:8} {self.name} in {self.seconds:.0f} s")

    @property
    def summary(self) -> str:
        """A line of the table at the end."""
        last = f"{self.last_time:.0f}" if self.last_time else "-"
        line = f"{self.name:24} {self.result:8} {self.seconds:6.0f} s {last:>8} s {self.processor_seconds:8.0f} s"
        return f"{line}   {self.reason}" if self.result == "skipped" else line


def show(line: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def decisive_lines(log: str) -> list[str]:
    """Return the lines of a log that say why the session failed."""
    text = ESCAPES.sub("", log)
    found = sorted(
        (match.start(match.lastindex or 0), match[match.lastindex or 0])
        for pattern, kept in DECISIVE
        for match in list(pattern.finditer(text))[kept]
    )
    lines = [line for dummy, part in found for line in part.splitlines()] or text.splitlines()[-LAST_LINES:]
    return [line[:LONGEST_LINE] for line in lines if line.strip()]


def run(sessions: list[Session]) -> None:
    """Run the sessions. A KeyboardInterrupt stops those that run, with all their processes."""
    waiting = sorted(sessions, key=lambda session: -session.expected)
    running: dict[int, tuple[Session, subprocess.Popen[bytes]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < AT_A_TIME:
                session = waiting.pop(0)
                process = session.start()
                running[process.pid] = (session, process)
            pid, status, usage = os.wait4(-1, 0)
            session, process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            session.finish(process.returncode, usage.ru_utime + usage.ru_stime)
    except KeyboardInterrupt:
        show("stopping")
        stop([process for dummy, process in running.values()])
        raise


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Interrupt process groups as Ctrl-C does, and kill those that do not end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))


def summarize(sessions: list[Session], seconds: float) -> None:
    """Print a table of the sessions, and the decisive lines of those that failed."""
    print(f"\n{'session':24} {'result':8} {'time':>8} {'last time':>10} {'processor':>10}")
    for session in sessions:
        print(session.summary)
    processor = sum(session.processor_seconds for session in sessions)
    print(f"{len(sessions)} sessions in {seconds / 60:.0f} minutes, {processor / 60:.0f} minutes of processor time")
    for session in sessions:
        if session.result == "failed":
            print(f"\nFAILED {session.name}; its whole output: {session.log}")
            log = session.log.read_text(encoding="utf-8", errors="replace")
            for line in [*decisive_lines(log), *filter(None, [session.reason])]:
                print(f"    {line}")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    """Run the named sessions, all default ones without names; return 0 if none failed."""
    # A terminal that closes and a canceled CI job stop the sessions as Ctrl-C does.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    GATE.mkdir(parents=True, exist_ok=True)
    last_times: dict[str, float] = {}
    with contextlib.suppress(FileNotFoundError):
        last_times = json.loads(LAST_TIMES.read_text(encoding="utf-8"))
    if not names:
        listed = subprocess.run((*NOX, "--list", "--json"), check=True, capture_output=True, text=True)
        names = [session["session"] for session in json.loads(listed.stdout)]
    sessions = [Session(name, last_times.get(name)) for name in names]
    expected = max(sum(session.expected for session in sessions) / AT_A_TIME, *(s.expected for s in sessions), 60)
    print(f"{len(sessions)} sessions, {AT_A_TIME} at a time: about {expected / 60:.0f} minutes. Output: {GATE}/*.log")
    started = time.monotonic()
    try:
        run(sessions)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    last_times.update({session.name: round(session.seconds, 1) for session in sessions if session.result == "passed"})
    LAST_TIMES.write_text(json.dumps(last_times, indent=2), encoding="utf-8")
    summarize(sessions, time.monotonic() - started)
    return int(any(session.result == "failed" for session in sessions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
