"""Change a room of the plugins' code in one place at a time, and count what its tests detect.

mutmut makes the changes and finds out which tests run which function. Here all tests first run once without a change,
to learn which of them run which line. Then each change is tested in a fork of a process that has imported the tests,
with those that run the changed line, and that say most about its function first, until one fails or
``PROCESSOR_SECONDS`` are used. So the share is a lower bound: with unlimited time, tests may detect more.

Runs in a folder that contains ``ansible_collections``, a copy. The results are kept, so that an interrupted run goes on
where it stopped. The changes that were not detected are written to a file, each as a diff.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import difflib
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest
from mutmut.mutation.trampoline import set_mutant_under_test

COLLECTION = Path("ansible_collections", "virtinfra", "manager")
MUTANTS = Path("mutants")
SETTINGS_FILE = Path("pyproject.toml")

# The share of changes that the tests of each room must detect: the goal is 85 %, which some do not reach yet.
LEAST_DETECTED = {
    "_engine": 0.85,
    "_client": 0.85,
    "_masking": 0.85,
    "_http": 0.85,
    "_api": 0.75,
    "_batch": 0.75,
    "_backup": 0.85,
    "_site": 0.85,
    "_vm_backups": 0.85,
    "_vm_restores": 0.85,
    "_pages": 0.85,
    "_workflows": 0.85,
}

# What the tests of one change may cost.
PROCESSOR_SECONDS = 4.0
# A test that needs this many times its usual processor time, and a second, has detected an endless loop.
ENDLESS = 10
# A test that waits is no proof on a busy machine: after this many seconds the change counts as not detected.
LONGEST_WAIT = 300.0
# In which round the first test of a file is tried whose simulator listens on a socket.
RANK_WITH_SOCKET = 3
# How many tests may fail in a fork without a change; they are left out.
MOST_LEFT_OUT = 10

PROGRESS_INTERVAL = 20.0
POLL_INTERVAL = 0.02

# The exit codes of a process that tests a change.
ALL_PASSED, TEST_FAILED, TOO_EXPENSIVE = 0, 1, 2

DETECTED = ("detected", "endless")

# What is slow by design, and what runs files of module_utils in other processes, which do not have mutmut.
LEFT_OUT = ("replace_any_previous_types", "more_tasks_than_the_rate_limit", "modules_python", "imports_the_room")
SELECTION = ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
# Only the exit code of a test counts. Tracebacks through the files with all changes would cost seconds.
ARGUMENTS = ["-c", "pyproject.toml", "-qqq", "-s", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", *SELECTION]
SETTINGS = {
    "source_paths": [f"{COLLECTION}/plugins/module_utils/", f"{COLLECTION}/plugins/plugin_utils/"],
    "also_copy": [str(COLLECTION)],
    # The session `format` writes these tables, and tests compare them with their sources.
    "do_not_mutate": [f"*/_api/{name}.py" for name in ("service", "record_fields", "catalogue_rows")],
    "process_isolation": "forkserver",
    "pytest_add_cli_args": SELECTION,
}
IMPORT_PATHS = [".", f"{COLLECTION}/tests"]

# The files of a room that are changed, if not all. The files named of _backup decide without disks; tests/backup runs
# the others.
FILES = {"_backup": ("extents", "manifest", "plan", "repository", "retention")}

# The tests of each room, in tests/unit.
ROOMS = {
    "_masking": ("_masking", "_http/test_proxies.py"),
    "_api": (
        "_api",
        "_client/test_access_keys.py",
        "_client/test_client.py",
        "_client/test_lists.py",
        "_client/test_replies.py",
        "_client/test_safe_reads.py",
        "_client/test_undeclared_records.py",
        "_engine/test_planner.py",
        "modules/test_management_addresses.py",
        "modules/test_modules_by_path.py",
        "modules/test_modules_errors.py",
        "modules/test_modules_reading.py",
        "modules/test_modules_waiting.py",
    ),
    "_http": (
        "_http",
        "_client/test_access_keys.py",
        "_client/test_client.py",
        "_client/test_sessions.py",
        "_modules/test_resilience.py",
    ),
    "_client": (
        "_client",
        "_engine/test_exactly_once.py",
        "_engine/test_other_calls.py",
        "_modules/test_resilience.py",
        "_run/test_remembered_names.py",
        "modules/test_modules_errors.py",
        "modules/test_modules_hosts.py",
        "modules/test_modules_reading.py",
        "modules/test_modules_sns.py",
    ),
    "_engine": (
        "_api/test_error_codes.py",
        "_api/test_references.py",
        "_client/test_sessions.py",
        "_engine",
        "_modules/test_resilience.py",
        "modules",
    ),
    "_batch": ("_batch",),
    "_backup": ("_backup",),
    "_site": ("_site", "_workflows"),
    "_vm_backups": ("_vm_backups", "_workflows"),
    "_vm_restores": ("_workflows",),
    "_pages": ("_pages", "_workflows"),
    "_workflows": ("_workflows",),
}


@dataclasses.dataclass
class Change:
    """A change, and what became of it: detected, endless, survived, too expensive, without tests or hung."""

    name: str
    result: str = ""
    # The test that ran last: that which detected the change, if one did.
    test: str = ""

    @property
    def function(self) -> str:
        """The changed function, as mutmut names it."""
        return self.name.rpartition("__mutmut_")[0]


@dataclasses.dataclass
class Trial:
    """A process that runs tests, with or without a change."""

    change: Change
    items: list[pytest.Item]
    log: IO[bytes]
    started: float
    # Without a change: the lines that each test has run, as lines of JSON.
    lines: IO[bytes] | None = None

    def read_log(self) -> list[tuple[float, str]]:
        """Return the tests that were started, each with the processor time used before."""
        self.log.seek(0)
        lines = self.log.read().decode().splitlines()
        return [(float(seconds), test) for seconds, dummy, test in (line.partition(" ") for line in lines)]


class Sources:
    """The files of a room with all changes, in each of which a function is followed by its changed copies."""

    def __init__(self, room: str) -> None:
        (folder,) = Path(COLLECTION, "plugins").glob(f"*_utils/{room}")
        self._part = f"/{folder.parent.name}/{room}/"
        self._lines: dict[str, list[str]] = {}
        self._functions: dict[tuple[str, str], ast.FunctionDef] = {}
        for path in folder.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            self._lines[path.stem] = text.splitlines()
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            self._functions.update({(path.stem, node.name): node for node in nodes})

    def get_file(self, path: str) -> str:
        """Return the name of a file of the room without its suffix, empty for all other files."""
        return Path(path).stem if self._part in path else ""

    def find_lines(self, change: Change) -> tuple[str, range]:
        """Return the file and the lines of the statement that is changed; no lines if it is the signature."""
        file, original, changed = self._find_functions(change)
        texts = [self._lines[file][node.lineno : node.end_lineno] for node in (original, changed)]
        # The first line has the name of the function, which differs.
        pairs = enumerate(zip_longest(*texts), original.lineno + 1)
        line = next((number for number, (before, after) in pairs if before != after), original.lineno)
        around = [node for node in ast.walk(original) if isinstance(node, ast.stmt) and node is not original]
        around = [node for node in around if node.lineno <= line <= (node.end_lineno or 0)]
        if not around:
            return file, range(0)
        statement = max(around, key=lambda node: node.lineno)
        body: list[ast.stmt] = getattr(statement, "body", [])
        end = body[0].lineno if body else (statement.end_lineno or line) + 1
        return file, range(statement.lineno, end) if line < end else range(line, line + 1)

    def describe(self, change: Change) -> str:
        """Return what is changed, as the differences of the lines of the function."""
        file, *nodes = self._find_functions(change)
        name = change.function.rpartition(".")[2]
        texts = ["\n".join(self._lines[file][node.lineno - 1 : node.end_lineno]) for node in nodes]
        # The copies of a function have names of their own.
        before, after = (text.replace(node.name, name) for text, node in zip(texts, nodes, strict=True))
        return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))

    def _find_functions(self, change: Change) -> tuple[str, ast.FunctionDef, ast.FunctionDef]:
        """Return the name of the file of a change, and the original function and the changed one in it."""
        file, name = get_file(change.function).rpartition(".")[2], change.name.rpartition(".")[2]
        original = self._functions[file, f"{name.rpartition('__mutmut_')[0]}__mutmut_orig"]
        return file, original, self._functions[file, name]


class Tracer:
    """Collects the lines of the room's files that are run, by file."""

    def __init__(self, sources: Sources) -> None:
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        self._sources = sources
        self._files: dict[str, str] = {}

    def start(self) -> None:
        """Collect the lines that all threads run from now on."""
        self.seen.clear()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def stop(self) -> dict[str, list[int]]:
        """Return the lines since the start."""
        sys.settrace(None)
        return {file: sorted(lines) for file, lines in self.seen.items()}

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if path not in self._files:
            self._files[path] = self._sources.get_file(path)
        file = self._files[path]
        if not file:
            return None
        if event == "line":
            self.seen[file].add(frame.f_lineno)
        return self._trace


class Trials:
    """A plugin of pytest that tests the changes instead of running the tests once."""

    def __init__(self, results: Results, names: list[str], jobs: int) -> None:
        self.results, self.names, self.jobs = results, names, jobs
        self.running: dict[int, Trial] = {}
        self.usual: dict[str, float] = {}
        self.left_out: set[str] = set()
        self.sources = Sources(results.room)
        self.tests_of_line: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        # For each file and test the number of functions of the file that the test runs, each divided by its tests.
        self.rareness_of: defaultdict[tuple[str, str], float] = defaultdict(float)
        # For each function the tests that detected changes in it.
        self.finders: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.tests_of: dict[str, list[str]] = json.loads(Path("mutmut-stats.json").read_text(encoding="utf-8"))[
            "tests_by_mangled_function_name"
        ]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests without a change, then those of each change."""
        for function, tests in self.tests_of.items():
            for test in tests:
                self.rareness_of[get_file(function), test] += 1 / len(tests)
        self.check_tests(session)
        items = {item.nodeid: item for item in session.items if item.nodeid not in self.left_out}
        shown = time.monotonic()
        for name in self.names:
            change = self.results.changes.get(name) or Change(name)
            if not change.result:
                tests = [test for test in self.order_tests(change) if test in items]
                self.start(session, change, [items[test] for test in tests], PROCESSOR_SECONDS)
            else:
                self.remember(change)
            while len(self.running) >= self.jobs:
                self.reap()
            if time.monotonic() - shown > PROGRESS_INTERVAL:
                shown = time.monotonic()
                print(f"{time.strftime('%H:%M:%S')} {self.results.describe(len(self.names))}", flush=True)
        while self.running:
            self.reap()
        return True

    def check_tests(self, session: pytest.Session) -> None:
        """Run all tests without a change, and learn what each one costs. Raise SystemExit if many fail.

        A test that fails in a fork would detect every change; it is left out.
        """
        size = len(session.items) // self.jobs + 1
        parts = [session.items[first : first + size] for first in range(0, len(session.items), size)]
        while parts or self.running:
            if parts:
                self.start(session, Change(""), parts.pop(), float("inf"))
            elif (trial := self.reap()).change.result != "survived":
                failed = trial.change.test
                print(f"Left out, because it fails in a fork without a change: {failed}", flush=True)
                self.left_out.add(failed)
                if len(self.left_out) > MOST_LEFT_OUT:
                    raise SystemExit("Too many tests fail without a change.")
                position = next(index for index, item in enumerate(trial.items) if item.nodeid == failed)
                if following := trial.items[position + 1 :]:
                    parts.append(following)

    def order_tests(self, change: Change) -> list[str]:
        """Return the tests that run what is changed, those first that probably detect the change at the least cost.

        Tests that have detected a change come first, then the best of each file, the second best of each, and so on.
        The best are those that take little time and run functions of the changed file that few tests run. Files whose
        tests need a simulator with a socket come later, because each process would have to start it.
        """
        function, found = change.function, self.finders[change.function]
        tests = self.tests_of.get(function, [])
        file, lines = self.sources.find_lines(change)
        if lines:
            known = set().union(*(self.tests_of_line[file, line] for line in lines))
            tests = [test for test in tests if test in known]
        costs = {test: self.usual.get(test, 0.0) / self.rareness_of[get_file(function), test] for test in tests}
        ranks: dict[str, int] = {}
        next_ranks: dict[str, int] = {}
        for test in sorted(tests, key=costs.__getitem__):
            path = test.partition("::")[0]
            ranks[test] = next_ranks.get(path, RANK_WITH_SOCKET if needs_socket(path) else 0)
            next_ranks[path] = ranks[test] + 1
        return sorted(tests, key=lambda test: (-found[test], ranks[test], costs[test]))

    def start(self, session: pytest.Session, change: Change, items: list[pytest.Item], limit: float) -> None:
        """Start a process that runs tests until one fails, or until they have used the limit of processor time."""
        trial = Trial(change, items, tempfile.TemporaryFile(), time.monotonic())  # noqa: SIM115
        if not change.name:
            trial.lines = tempfile.TemporaryFile()  # noqa: SIM115
        pid = os.fork()
        if pid:
            self.running[pid] = trial
            return
        try:
            self.run_tests(session, trial, limit)
        finally:
            os._exit(TEST_FAILED)

    def run_tests(self, session: pytest.Session, trial: Trial, limit: float) -> None:
        """Run the tests of a trial, and end this process."""
        os.setpgid(0, 0)
        set_mutant_under_test(trial.change.name)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        for item, following in zip(trial.items, [*trial.items[1:], None], strict=True):
            used = time.process_time()
            if used > limit:
                os._exit(TOO_EXPENSIVE)
            os.write(trial.log.fileno(), f"{used:.4f} {item.nodeid}\n".encode())
            if item.nodeid in self.usual:
                # The first test of a process starts the simulator.
                most = int(used + ENDLESS * self.usual[item.nodeid]) + 2
                resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
            tracer = Tracer(self.sources)
            if trial.lines:
                tracer.start()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if trial.lines:
                os.write(trial.lines.fileno(), f"{json.dumps([item.nodeid, tracer.stop()])}\n".encode())
            if session.testsfailed:
                os._exit(TEST_FAILED)
        os.write(trial.log.fileno(), f"{time.process_time():.4f} \n".encode())
        os._exit(ALL_PASSED)

    def reap(self) -> Trial:
        """Wait for a process that has ended, keep its result, and return its trial."""
        while True:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid in self.running:
                break
            for child, trial in self.running.items():
                if trial.change.name and time.monotonic() - trial.started > LONGEST_WAIT:
                    os.kill(child, signal.SIGKILL)
            time.sleep(POLL_INTERVAL)
        # What a test has started in other processes.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        trial = self.running.pop(pid)
        log, change = trial.read_log(), trial.change
        trial.log.close()
        change.test = log[-1][1] if log else ""
        change.result = describe_end(os.waitstatus_to_exitcode(status)) if trial.items else "without tests"
        if change.name:
            self.remember(change)
            self.results.add(change, usage.ru_utime + usage.ru_stime)
        else:
            ends = [seconds for seconds, dummy in log[1:]]
            self.usual.update({test: end - start for (start, test), end in zip(log, ends, strict=False)})
        if trial.lines:
            trial.lines.seek(0)
            for test, files in map(json.loads, trial.lines):
                for file, numbers in files.items():
                    for number in numbers:
                        self.tests_of_line[file, number].add(test)
            trial.lines.close()
        return trial

    def remember(self, change: Change) -> None:
        """Let the test that detected a change run first for other changes of its function."""
        if change.result in DETECTED:
            self.finders[change.function][change.test] += 1


class Results:
    """The results of a room, in a file of JSON lines, the first of which is the digest of all files."""

    def __init__(self, room: str, path: Path) -> None:
        self.room, self.path = room, path
        self.changes: dict[str, Change] = {}
        self.processor_seconds = 0.0
        digest = hash_files()
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == digest:
            known = [Change(**json.loads(line)) for line in lines[1:]]
            self.changes = {change.name: change for change in known}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{json.dumps(digest)}\n", encoding="utf-8")

    def add(self, change: Change, processor_seconds: float) -> None:
        """Keep a result."""
        self.processor_seconds += processor_seconds
        self.changes[change.name] = change
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(dataclasses.asdict(change))}\n")

    @property
    def share(self) -> float:
        """The share of the changes that tests detected."""
        return sum(change.result in DETECTED for change in self.changes.values()) / max(len(self.changes), 1)

    def describe(self, total: int) -> str:
        """Return a line with the figures so far."""
        counts = Counter(change.result for change in self.changes.values())
        found = sum(counts.pop(kind, 0) for kind in DETECTED)
        others = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
        tested = f"{found} of {len(self.changes)} changes were detected, {self.share:.1%}; {others or 'no other'}"
        return f"{self.room}: {tested}; {total} in all; {self.processor_seconds / 60:.1f} minutes of processor time"


def needs_socket(path: str) -> bool:
    """Return whether the simulator of the tests in a file listens on a socket."""
    about_http: set[str] = sys.modules["conftest"].ABOUT_HTTP
    return not about_http.isdisjoint((Path(path).parent.name, Path(path).stem))


def get_file(function: str) -> str:
    """Return the module of a function, as mutmut names both."""
    return function.rpartition(".")[0]


def describe_end(code: int) -> str:
    """Return the result of a change for the exit code of its process, negative for a signal."""
    if code == -signal.SIGXCPU:
        return "endless"
    if code == -signal.SIGKILL:
        return "hung"
    # Any other end, such as that of a process that a change has broken, counts as a failure.
    return {ALL_PASSED: "survived", TOO_EXPENSIVE: "too expensive"}.get(code, "detected")


def hash_files() -> str:
    """Return a hash of all files of the collection."""
    digest = hashlib.sha256()
    for path in sorted(path for path in COLLECTION.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(b"%s\0%s" % (os.fsencode(path), hashlib.sha256(path.read_bytes()).digest()))
    return digest.hexdigest()


def write_settings(room: str) -> list[str]:
    """Write the pyproject.toml of mutmut for a room, and return the paths of its tests."""
    tests = [f"{COLLECTION}/tests/unit/{path}" for path in ROOMS[room]]
    settings = {
        **SETTINGS,
        "only_mutate": [f"*/{room}/{name}.py" for name in FILES.get(room, ("*",))],
        "pytest_add_cli_args_test_selection": tests,
    }
    # Texts, numbers and lists are the same in TOML and JSON.
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    text = "\n".join(["[tool.mutmut]", *lines, "[tool.pytest.ini_options]", f"pythonpath = {json.dumps(IMPORT_PATHS)}"])
    SETTINGS_FILE.write_text(f"{text}\n", encoding="utf-8")
    return tests


def make_changes(tests: list[str]) -> list[str]:
    """Let mutmut make the changes, and find out which tests run which function; return their names."""
    # No change has the name none, so mutmut makes the changes and ends.
    log = subprocess.run(("mutmut", "run", "none"), capture_output=True, text=True, check=False)
    names = [
        name
        for file in sorted(MUTANTS.rglob("*.meta"))
        for name in json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
    ]
    if not names:
        raise SystemExit(f"mutmut made no changes: {log.stdout[-2000:]}{log.stderr[-2000:]}")
    if not (MUTANTS / "mutmut-stats.json").exists():
        # mutmut shows nothing of the test that failed.
        command = (sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "--rootdir=.", *SELECTION, *tests)
        shown = subprocess.run(command, cwd=MUTANTS, capture_output=True, text=True, check=False).stdout
        raise SystemExit(f"A test may have failed without a change: {shown[-3000:]}")
    return names


def test_changes(tests: list[str], trials: Trials) -> None:
    """Import the tests, and run them for each change. Raise SystemExit if pytest cannot."""
    code = pytest.main([*ARGUMENTS, *tests], plugins=[trials])
    if code:
        raise SystemExit(code)


def write_survivors(results: Results, sources: Sources, output: Path) -> None:
    """Write the diffs of the changes that were not detected."""
    with output.open("w", encoding="utf-8") as file:
        for change in sorted(results.changes.values(), key=lambda change: change.name):
            if change.result not in DETECTED:
                file.write(f"{change.result}: {change.name}\n{sources.describe(change)}\n\n")
    print(f"The others are in {output}")


def main() -> int:
    """Test the changes of a room; return 0 if enough of them are detected."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, help="how many changes to test")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many changes to test at a time")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the results")
    parser.add_argument("room", choices=ROOMS)
    options = parser.parse_args()
    # With it, Ansible would import the collection from another folder, whose files are unchanged.
    os.environ.pop("ANSIBLE_COLLECTIONS_PATH", None)
    output = options.output.resolve()
    results = Results(options.room, output / f"{options.room}.jsonl")
    tests = write_settings(options.room)
    names = make_changes(tests)
    # In random order, what is known at any time is a random sample of the changes.
    names = random.Random(options.seed).sample(names, min(options.sample or len(names), len(names)))
    folder = Path.cwd()
    os.chdir(MUTANTS)
    trials = Trials(results, names, options.jobs)
    test_changes(tests, trials)
    os.chdir(folder)
    print(results.describe(len(names)))
    write_survivors(results, trials.sources, output / f"{options.room}.txt")
    return int(results.share < LEAST_DETECTED[options.room])


if __name__ == "__main__":
    sys.exit(main())
