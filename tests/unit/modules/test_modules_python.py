"""A module process whose Python is too old says so, before it runs into newer syntax."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible_collections.virtinfra.manager.plugins.module_utils import _python

from support.collection import ROOT
from support.older_pythons import find_older_pythons, require_older_python


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 9, 18)])
def test_an_old_python_ends_the_process_with_the_remedy(
    version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.delitem(sys.modules, "ansible.errors")
    with pytest.raises(SystemExit, match="1"):
        runpy.run_path(str(ROOT / "plugins" / "module_utils" / "_python.py"))["check_python"]()
    result = json.loads(capsys.readouterr().out)
    assert (result["failed"], result["changed"], result["error"]["code"]) == (True, False, "INVALID")
    assert result["msg"] == result["error"]["details"]
    assert result["msg"] == (
        f"virtinfra.manager needs Python 3.10 or newer; this module ran with Python {'.'.join(map(str, version))}"
        f" ({sys.executable}). Set ansible_python_interpreter to a newer Python."
    )


def test_an_old_python_of_the_controller_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    check = runpy.run_path(str(ROOT / "plugins" / "module_utils" / "_python.py"))["check_python"]
    with pytest.raises(
        AnsibleError, match=r"needs ansible-core 2\.16 or newer with Python 3\.10 .* with Python 3\.9\.18"
    ):
        check()


def test_the_required_python_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    _python.check_python()
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    _python.check_python(_python.REQUIRED_ON_MOVERS)
    # As in a module process.
    monkeypatch.delitem(sys.modules, "ansible.errors", raising=False)
    monkeypatch.setattr(sys, "version_info", (3, 8, 18))
    with pytest.raises(SystemExit, match="1"):
        _python.check_python(_python.REQUIRED_ON_MOVERS)


@pytest.mark.parametrize("python", find_older_pythons() or [""])
def test_a_module_reaches_the_check(python: str, tmp_path: Path) -> None:
    """A module process has the packages up to module_utils without their content, as here."""
    python = require_older_python([python] if python else [])
    package = tmp_path / "ansible_collections" / "virtinfra" / "manager" / "plugins"
    for name in ("modules", "module_utils"):
        shutil.copytree(ROOT / "plugins" / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = "import runpy; runpy.run_module('ansible_collections.virtinfra.manager.plugins.modules.host_info')"
    line = [python, "-c", command]
    done = subprocess.run(line, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "needs Python 3.10 or newer; this module ran with Python 3." in json.loads(done.stdout)["msg"]
