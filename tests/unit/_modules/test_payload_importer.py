"""Imports from the payload of a module process."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.process import PayloadImporter

SOURCES = {"package/__init__.py": "", "package/inner/__init__.py": "", "package/inner/broken.py": "1 +"}
PROCESS = "ansible_collections.virtinfra.manager.plugins.module_utils._modules.process"

# Prints whether the collector is enabled, and the importers of zip files.
STATE_AFTER_IMPORT = f"""
import gc, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = %s
import {PROCESS}
print(gc.isenabled(), sys.path_hooks[0].__name__)
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return a zip file with packages and a module that cannot be compiled."""
    path = tmp_path / "payload.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in SOURCES.items():
            file.writestr(name, text)
    return path


def find_module(folder: str, name: str) -> ModuleSpec:
    """Return the spec of a module in a folder of a zip file."""
    spec = PayloadImporter(folder).find_spec(name)
    assert spec is not None
    return spec


def test_a_module_is_not_compiled_to_be_found(archive: Path) -> None:
    """The module has an error in its syntax, so it is found only if it is not compiled."""
    spec = find_module(f"{archive}/package/inner", "package.inner.broken")
    assert spec.origin == f"{archive}/package/inner/broken.py"


def test_packages_have_the_same_path_as_with_the_importer_of_python(archive: Path) -> None:
    """The package at the top has the same path, and so does one inside it."""
    inner = find_module(f"{archive}/package", "package.inner")
    assert find_module(str(archive), "package").origin == f"{archive}/package/__init__.py"
    assert inner.origin == f"{archive}/package/inner/__init__.py"
    assert inner.submodule_search_locations == [f"{archive}/package/inner"]


@pytest.mark.parametrize(("arguments", "state"), [("None", "True zipimporter"), ("b''", "False PayloadImporter")])
def test_only_a_module_process_changes_imports(arguments: str, state: str) -> None:
    """The controller, which imports the same file, keeps its collector and its importers."""
    command = [sys.executable, "-c", STATE_AFTER_IMPORT % arguments]
    path = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run(command, env=path, check=True, stdout=subprocess.PIPE, text=True).stdout.strip() == state
