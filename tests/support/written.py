"""Files that the session ``format`` writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.collection import ROOT

OUTDATED = "{path} is not up to date. Run nox -s format, and commit it."


def require_current(path: Path, text: str) -> None:
    """Fail with the name of the file if it does not have the text. Of Python, ruff may have changed the format."""
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    is_current = _parse(written) == _parse(text) if path.suffix == ".py" else written == text
    if not is_current:
        pytest.fail(OUTDATED.format(path=path.relative_to(ROOT)), pytrace=False)


def _parse(text: str) -> str:
    return ast.dump(ast.parse(text))
