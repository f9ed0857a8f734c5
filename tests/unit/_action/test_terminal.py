"""Where lines about long work are shown."""

from __future__ import annotations

import pytest
from ansible.utils.display import Display
from ansible_collections.virtinfra.manager.plugins.plugin_utils._action import terminal


@pytest.mark.parametrize(
    ("is_terminal", "verbosity", "is_shown"), [(True, 0, True), (False, 1, True), (False, 0, False)]
)
def test_a_log_has_lines_of_progress_only_on_request(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_terminal: bool,
    verbosity: int,
    is_shown: bool,
) -> None:
    monkeypatch.setattr(terminal, "IS_TERMINAL", is_terminal)
    monkeypatch.setattr(Display(), "verbosity", verbosity)
    terminal.show_progress("restore", "42%")
    assert capsys.readouterr().out == ("restore: 42%\n" if is_shown else "")
