"""What the tests say about themselves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.collection import ROOT
from support.written import require_current


def test_an_empty_selection_says_that_nothing_was_tested() -> None:
    command = (sys.executable, "-m", "pytest", __file__, "-k", "misspelled")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"No test is selected by: {' '.join(command[3:])}. Check the paths, -k and -m." in done.stdout


def test_a_file_that_format_writes_is_named() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^galaxy\.yml is not up to date\. Run nox -s format"):
        require_current(ROOT / "galaxy.yml", "")
