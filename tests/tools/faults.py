# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Put faults of the past into a copy of the collection, one at a time, and say which session finds each of them.

The tests that are known to find a fault run first. If they pass, the sessions of `make test` run, and with ``--gate``
those of `make gate`; the first that fails has found the fault. `make test` must find most of the faults.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.past_faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
NOX = (sys.executable, "-m", "nox", "--envdir", str(ROOT / ".nox"), "--no-install")

# How many of the faults `make test` must find.
LEAST_FOUND = 30

# A fault may cause an endless wait: a session that takes longer, in seconds, has found it.
LONGEST_SESSION = 1200.0

TESTS_OF_UNIT = "tests/unit/"


class Copy:
    """A copy of the collection, with the environments of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        # Sessions ask git for the files.
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)

    @property
    def log(self) -> Path:
        """The file with the output of the last session."""
        return self.folder / ".cache" / "session.log"

    def read_log(self) -> str:
        """Return the output of the last session."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    @contextlib.contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """Put a fault into the copy, and restore the file afterwards."""
        path = self.folder / fault.file
        text = path.read_text(encoding="utf-8")
        path.write_text(replace_once(text, fault), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")

    def passes(self, session: str, arguments: Sequence[str] = ()) -> bool:
        """Return whether a session of nox passes in the copy, in time."""
        self.log.parent.mkdir(exist_ok=True)
        command = (*NOX, "--session", session, *(("--", *arguments) if arguments else ()))
        # The modules of this checkout must not take the place of those in the copy.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(LONGEST_SESSION) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def replace_once(text: str, fault: Fault) -> str:
    """Return the text with the fault. Raise SystemExit unless the text to replace occurs exactly once."""
    if text.count(fault.old) != 1:
        raise SystemExit(f"{fault.name}: the text to replace occurs {text.count(fault.old)} times in {fault.file}")
    return text.replace(fault.old, fault.new)


def select_tests(fault: Fault) -> list[str]:
    """Return the arguments of pytest for the tests that are known to find a fault."""
    tests = [test if test.startswith("tests/") else TESTS_OF_UNIT + test for test in fault.tests.split()]
    return ["--exitfirst", "--quiet", *tests]


def list_test_sessions() -> list[str]:
    """Return the sessions of `make test`."""
    found = re.search(r"^SESSIONS \?= (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].split() if found else []


def list_gate_sessions() -> list[str]:
    """Return the sessions of `make gate` that `make test` does not run."""
    listed = subprocess.run((*NOX, "--list", "--json"), cwd=ROOT, check=True, capture_output=True, text=True)
    names = [session["session"] for session in json.loads(listed.stdout)]
    return [name for name in names if name not in list_test_sessions()]


def find_session(copy: Copy, fault: Fault, sessions: Sequence[str]) -> str | None:
    """Return the session that finds a fault; None if all pass."""
    if is_found_by(copy, fault, fault.session, select_tests(fault)):
        return fault.session
    return next((session for session in sessions if is_found_by(copy, fault, session)), None)


def is_found_by(copy: Copy, fault: Fault, session: str, arguments: Sequence[str] = ()) -> bool:
    """Return whether a session fails with a fault, and what has failed passes without it."""
    with copy.with_fault(fault):
        if copy.passes(session, arguments):
            return False
    is_caused = copy.passes(session, [*arguments, "--last-failed"] if arguments else ())
    if not is_caused:
        print(f"{session} fails without {fault.name}, too:\n{copy.read_log()[-2000:]}", file=sys.stderr)
    return is_caused


def main() -> int:
    """Look for the faults, print which session finds each, and return 0 if enough are found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--known", action="store_true", help="run only the tests that are known to find a fault")
    parser.add_argument("--gate", action="store_true", help="run the sessions of make gate, too")
    parser.add_argument("names", nargs="*", help="the faults to look for, by default all")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if not options.names or fault.name in options.names]
    tested = list_test_sessions()
    sessions = [] if options.known else [*tested, *(list_gate_sessions() if options.gate else ())]
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for fault in faults:
            begin = time.monotonic()
            found[fault.name] = find_session(copy, fault, sessions)
            seconds = time.monotonic() - begin
            print(f"{found[fault.name] or 'NOT FOUND':16} {fault.name} ({seconds:.0f} s): {fault.broken}", flush=True)
    by_test = sum(session in tested for session in found.values())
    missing = [name for name, session in found.items() if session is None]
    by_gate = len(faults) - by_test - len(missing)
    print(f"make test finds {by_test} of {len(faults)} faults, make gate {by_gate} others, {len(missing)} are missed")
    return int(bool(missing) or by_test < min(LEAST_FOUND, len(faults) * LEAST_FOUND // len(FAULTS)))


if __name__ == "__main__":
    sys.exit(main())
