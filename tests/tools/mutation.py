# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Change a room of ``plugins/module_utils`` in one place at a time with mutmut, and count what its tests detect.

Runs in a folder that contains ``ansible_collections``, a copy. ``--sample`` tests a random selection of the changes.
The changes that no test detects are written to a file, each as a diff.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

COLLECTION = Path("ansible_collections", "virtinfra", "manager")
MUTANTS = Path("mutants")

# The share of changes that the tests of each room must detect: the goal is 85 %, which two rooms do not reach yet.
LEAST_DETECTED = {"_engine": 0.85, "_client": 0.85, "_masking": 0.85, "_http": 0.75, "_api": 0.75}

# The exit codes of pytest and of mutmut: tests that failed or broke, that passed, and a change that no test runs.
# Every other code is a time limit or the end of the process.
DETECTED, NOT_DETECTED, WITHOUT_TESTS = (1, 3), (0,), (5, 33)


# What is slow by design: a change that no test detects runs all tests.
TOO_SLOW = ("replace_any_previous_types", "more_tasks_than_the_rate_limit")
# A change may cause an endless loop: then a test fails after a minute.
ARGUMENTS = ["--timeout=60", "--timeout-method=thread", "-k", " and ".join(f"not {name}" for name in TOO_SLOW)]
SETTINGS = {
    "source_paths": [f"{COLLECTION}/plugins/module_utils/"],
    "also_copy": [str(COLLECTION)],
    # The table of operations is built by its import, which precedes each change; tests compare it with the document.
    "do_not_mutate": ["*/_api/operations.py"],
    # Each change is tested in a process that has only imported the tests; what an earlier test left cannot affect it.
    "process_isolation": "forkserver",
    # The limit for all tests together is generous, for busy machines.
    "timeout_multiplier": 4.0,
    "timeout_constant": 120.0,
    "pytest_add_cli_args": ARGUMENTS,
}
IMPORT_PATHS = [".", f"{COLLECTION}/tests"]

# The tests of each room, in tests/unit.
ROOMS = {
    "_masking": ("_masking",),
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
        "modules/test_modules_errors.py",
        "modules/test_modules_reading.py",
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
        "_modules/test_resilience.py",
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
        "modules/test_modules_cbt.py",
        "modules/test_modules_errors.py",
        "modules/test_modules_host_life.py",
        "modules/test_modules_hosts.py",
        "modules/test_modules_removal.py",
        "modules/test_modules_snapshots.py",
        "modules/test_modules_sns.py",
        "modules/test_modules_topics.py",
        "modules/test_modules_vm_life.py",
        "modules/test_modules_vms.py",
    ),
}


def write_configuration(room: str) -> list[str]:
    """Write the pyproject.toml of mutmut for a room, and return the paths of its tests."""
    tests = [f"{COLLECTION}/tests/unit/{path}" for path in ROOMS[room]]
    settings = {**SETTINGS, "only_mutate": [f"*/{room}/*.py"], "pytest_add_cli_args_test_selection": tests}
    # Texts, numbers and lists are the same in TOML and JSON.
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    text = "\n".join(["[tool.mutmut]", *lines, "[tool.pytest.ini_options]", f"pythonpath = {json.dumps(IMPORT_PATHS)}"])
    Path("pyproject.toml").write_text(f"{text}\n", encoding="utf-8")
    return tests


def check_tests_in_fork(tests: list[str]) -> None:
    """Raise SystemExit if a test fails in a fork of a process that has imported it, as mutmut runs it.

    Such a test would detect every change.
    """
    command = [sys.executable, str(Path(__file__).resolve()), "--fork", *tests]
    folders = [str((MUTANTS / path).resolve()) for path in IMPORT_PATHS]
    environment = {**os.environ, "MUTANT_UNDER_TEST": "", "PYTHONPATH": os.pathsep.join(folders)}
    if subprocess.run(command, cwd=MUTANTS, env=environment, check=False).returncode:
        raise SystemExit("A test fails in a fork without a change; it would detect every change.")


def run_in_fork(tests: list[str]) -> int:
    """Import the tests, run them in a fork, and return the exit code of pytest."""
    usual = ["--rootdir=.", "-x", "-q", *ARGUMENTS]
    pytest.main(["--collect-only", "-qqq", *usual, *tests])
    child = os.fork()
    if child == 0:
        os._exit(pytest.main([*usual, *tests]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_results() -> dict[str, int | None]:
    """Return the exit code of the tests for each change, None for those that were not tested."""
    files = sorted(MUTANTS.rglob("*.meta"))
    results = [json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"] for file in files]
    return {name: code for result in results for name, code in result.items()}


def describe_result(code: int | None) -> str:
    """Return what became of a change."""
    if code in DETECTED:
        return "detected"
    if code in NOT_DETECTED:
        return "survived"
    if code in WITHOUT_TESTS:
        return "without tests"
    return "timed out"


def run_mutmut(*arguments: str) -> int:
    """Run mutmut without its progress display, and return its exit code."""
    with Path("mutmut.log").open("ab") as log:
        return subprocess.run(("mutmut", *arguments), stdout=log, stderr=log, check=False).returncode


def select_changes(sample: int | None, seed: int) -> list[str]:
    """Return the names of the changes to test: all, or a random sample."""
    names = sorted(read_results())
    return names if sample is None or sample >= len(names) else random.Random(seed).sample(names, sample)


def test_changes(names: list[str], jobs: int) -> dict[str, int | None]:
    """Run the tests for each change, again one at a time after a time limit, and return their exit codes."""
    run_mutmut("run", "--max-children", str(jobs), *names)
    late = [name for name, code in read_results().items() if name in names and describe_result(code) == "timed out"]
    if late:
        run_mutmut("run", "--max-children", "1", *late)
    results = read_results()
    return {name: results[name] for name in names}


def report(room: str, results: dict[str, int | None], total: int, output: Path) -> bool:
    """Print how many changes were detected, write the diffs of the others, and return whether it is enough."""
    counts = Counter(map(describe_result, results.values()))
    # A change that exceeds the time limit may be detected, or the machine was busy.
    share = counts["detected"] / len(results)
    scope = "" if len(results) == total else f" (a random sample of {total})"
    details = ", ".join(f"{counts[kind]} {kind}" for kind in ("survived", "without tests", "timed out"))
    print(f"{room}: {counts['detected']} of {len(results)} changes{scope} were detected, {share:.1%}; {details}")
    survivors = sorted(name for name, code in results.items() if code not in DETECTED)
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8") as file:
        for name in survivors:
            shown = subprocess.run(("mutmut", "show", name), capture_output=True, text=True, check=False).stdout
            file.write(f"{describe_result(results[name])}: {shown}\n")
    print(f"The others are in {output}")
    return share >= LEAST_DETECTED[room]


def main() -> int:
    """Test the changes of a room; return 0 if enough of them are detected."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fork", nargs="+", metavar="TEST", help=argparse.SUPPRESS)
    parser.add_argument("--sample", type=int, help="how many changes to test")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many changes to test at a time")
    parser.add_argument("--output", type=Path, help="where to write the changes that are not detected")
    parser.add_argument("room", nargs="?", choices=ROOMS)
    options = parser.parse_args()
    if options.fork:
        return run_in_fork(options.fork)
    tests = write_configuration(options.room)
    # With a name that no change has, mutmut makes the changes, finds out which tests run which function, and ends.
    run_mutmut("run", "--max-children", str(options.jobs), "none")
    names = select_changes(options.sample, options.seed)
    if not names:
        raise SystemExit(f"mutmut made no changes: {Path('mutmut.log').read_text(encoding='utf-8')[-2000:]}")
    check_tests_in_fork(tests)
    results = test_changes(names, options.jobs)
    return int(not report(options.room, results, len(read_results()), options.output))


if __name__ == "__main__":
    sys.exit(main())
