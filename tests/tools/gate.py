"""Run sessions of nox, usually two at a time, and say at the end why one failed.

Without names it runs all default sessions, except those that have passed with the same files and, unless CI is set,
those whose Python is not installed. `nox --parallel` prints the whole output of each session. Here it goes to
.cache/gate/NAME.log; the terminal shows when a session ends, how far the others are, and the decisive lines of those
that failed, or of their parts that failed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
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
# The sessions that have passed, each with the hash of all files when it passed.
PASSED = GATE / "passed.json"
NOX = (sys.executable, "-m", "nox")

# How many sessions run at a time. Sessions that often wait count less: by the part of a processor that they use.
AT_A_TIME = 2
OFTEN_WAITING = {"backup": 0.75, "chaos-short": 0.5, "core-2.16": 0.5, "eda": 0.25}

STOP_TIMEOUT = 10.0

POLL_INTERVAL = 0.2

# The interval, in seconds, at which a running session shows its progress.
PROGRESS_INTERVAL = 20.0

# Durations in seconds until the machine has its own: the longest sessions start first, so that none runs alone at the
# end.
USUAL_SECONDS = {
    "core-2.21": 300,
    "core-2.16": 230,
    "backup": 190,
    "eda": 150,
    "chaos-short": 140,
    "unit": 140,
    "core-2.19": 110,
    "lint": 70,
    "core-2.22": 50,
    "package": 50,
    "proofs": 50,
    "generated": 40,
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
# What tests/tools/parts.py prints before and after the output of a part.
PART = re.compile(
    r"^nox > Part (?P<name>\S+) begins\n(?P<output>.*?)"
    r"^nox > Part (?P=name) (?P<result>passed|failed) in (?P<seconds>\d+) s(?:: )?(?P<reason>[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
LAST_LINES = 40
LONGEST_LINE = 500
SHOWN_LENGTH = 80
ESCAPES = re.compile(r"\x1b\[[0-9;]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\")


@dataclasses.dataclass
class Session:
    """A session of nox, and its result.

    A session that was named on the command line fails if its Python is not installed.
    """

    name: str
    is_named: bool
    last_time: float | None
    result: str = "waiting"
    reason: str | None = None
    started: float = 0.0
    last_shown: float = 0.0
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

    @property
    def weight(self) -> float:
        """Its part of the sessions that run at a time."""
        return OFTEN_WAITING.get(self.name, 1.0)

    def start(self) -> subprocess.Popen[bytes]:
        """Start nox for this session only, in its own process group."""
        self.report.unlink(missing_ok=True)
        self.started = self.last_shown = time.monotonic()
        self.result = "running"
        skip = () if self.is_named or "CI" in os.environ else ("--no-error-on-missing-interpreters",)
        command = (*NOX, "--session", self.name, *skip, "--report", str(self.report))
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
        parts = ", ".join(f"{part['name']} {part['seconds']} s" for part in PART.finditer(read_log(self.log)))
        show(f"{self.result:8} {self.name} in {self.seconds:.0f} s{parts and f': {parts}'}")

    def show_progress(self) -> None:
        """Print how long the session has been running, and what it printed last, if that is due."""
        now = time.monotonic()
        if now - self.last_shown < PROGRESS_INTERVAL:
            return
        self.last_shown = now
        usual = f" of about {self.expected:.0f}" if self.last_time or self.name in USUAL_SECONDS else ""
        show(f"running  {self.name} for {now - self.started:.0f}{usual} s: {last_line(self.log)}")

    @property
    def summary(self) -> str:
        """A line of the table at the end."""
        last = f"{self.last_time:.0f}" if self.last_time else "-"
        line = f"{self.name:24} {self.result:13} {self.seconds:6.0f} s {last:>8} s {self.processor_seconds:8.0f} s"
        return f"{line}   {self.reason}" if self.result == "skipped" else line


def show(line: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def last_line(log: Path) -> str:
    """Return the beginning of the last line of a log that is not empty."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * LONGEST_LINE))
        text = ESCAPES.sub("", file.read().decode("utf-8", "replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(filter(str.isprintable, lines[-1]))[:SHOWN_LENGTH] if lines else "starting"


def read_log(log: Path) -> str:
    """Return the text of a log without escapes."""
    return ESCAPES.sub("", log.read_text(encoding="utf-8", errors="replace"))


def describe_failure(log: str) -> list[str]:
    """Return the lines of a log that say why the session failed, for each of its parts that failed."""
    failed = [part for part in PART.finditer(log) if part["result"] == "failed"]
    if not failed:
        return decisive_lines(log)
    lines = []
    for part in failed:
        lines += [f"part {part['name']}: {part['reason'][:LONGEST_LINE]}", *decisive_lines(part["output"])]
    return lines


def decisive_lines(text: str) -> list[str]:
    """Return the lines of an output that show a failure."""
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
            free = AT_A_TIME - sum(session.weight for session, dummy in running.values())
            if session := next((session for session in waiting if session.weight <= free), None):
                waiting.remove(session)
                process = session.start()
                running[process.pid] = (session, process)
                continue
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if not pid:
                for session, dummy in running.values():
                    session.show_progress()
                time.sleep(POLL_INTERVAL)
                continue
            session, process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            session.finish(process.returncode, usage.ru_utime + usage.ru_stime)
    except KeyboardInterrupt:
        show("stopping")
        stop([process for dummy, process in running.values()])
        for session in sessions:
            if session.result in ("running", "waiting"):
                session.result = "not ended" if session.started else "not started"
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
    print(f"\n{'session':24} {'result':13} {'time':>8} {'last time':>10} {'processor':>10}")
    for session in sessions:
        print(session.summary)
    processor = sum(session.processor_seconds for session in sessions)
    print(f"{len(sessions)} sessions in {seconds / 60:.0f} minutes, {processor / 60:.0f} minutes of processor time")
    for session in sessions:
        if session.result == "failed":
            print(f"\nFAILED {session.name}; its whole output: {session.log}")
            for line in [*describe_failure(read_log(session.log)), *filter(None, [session.reason])]:
                print(f"    {line}")
    sys.stdout.flush()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, an empty one without the file."""
    with contextlib.suppress(FileNotFoundError):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    return {}


def list_sessions() -> list[str]:
    """Return the names of the default sessions."""
    listed = subprocess.run((*NOX, "--list", "--json"), check=True, capture_output=True, text=True)
    return [session["session"] for session in json.loads(listed.stdout)]


def hash_files() -> str:
    """Return a hash of the names and contents of all files that the sessions check."""
    listed = subprocess.run(("git", "ls-files", "-coz", "--exclude-standard"), check=True, capture_output=True)
    digest = hashlib.sha256()
    for name in sorted(filter(None, listed.stdout.split(b"\0"))):
        path = Path(os.fsdecode(name))
        digest.update(b"%s\0" % name)
        if path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def main(names: list[str]) -> int:
    """Run the named sessions, or all that are due; return 0 if none failed."""
    # A terminal that closes and a canceled CI job stop the sessions as Ctrl-C does.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    GATE.mkdir(parents=True, exist_ok=True)
    last_times, passed, files = read_json(LAST_TIMES), read_json(PASSED), hash_files()
    sessions = [Session(name, bool(names), last_times.get(name)) for name in names or list_sessions()]
    for session in sessions:
        if not names and passed.get(session.name) == files:
            session.result = "passed before"
    due = [session for session in sessions if session.result == "waiting"]
    all_of_them = sum(session.expected * session.weight for session in due) / AT_A_TIME
    expected = max(all_of_them, *(session.expected for session in due), 60)
    print(f"{len(due)} sessions: about {expected / 60:.0f} minutes. Output: {GATE}/*.log")
    started, is_interrupted = time.monotonic(), False
    try:
        run(due)
    except KeyboardInterrupt:
        is_interrupted = True
    ended = [session for session in due if session.result == "passed"]
    LAST_TIMES.write_text(json.dumps({**last_times, **{s.name: round(s.seconds, 1) for s in ended}}, indent=2))
    PASSED.write_text(json.dumps({**passed, **{session.name: files for session in ended}}, indent=2))
    summarize(sessions, time.monotonic() - started)
    if is_interrupted:
        return 128 + signal.SIGINT
    return int(any(session.result == "failed" for session in sessions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
