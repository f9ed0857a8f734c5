"""The parts of a nox session: which ones run, with which arguments, and that one that fails hides no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest
from tools.parts import run_parts


class SessionFailed(Exception):
    """A session ended as failed."""


class Session:
    """A substitute for a session of nox."""

    def __init__(self, *posargs: str) -> None:
        self.posargs, self.lines, self.ran = list(posargs), list[str](), list[tuple[str, ...]]()

    def log(self, message: str) -> None:
        self.lines.append(message)

    def error(self, message: str) -> NoReturn:
        raise SessionFailed(message)


def record(name: str, error: Exception | None = None) -> Callable[[Session], None]:
    """Return a part that notes its name and its arguments, and can fail."""

    def run(session: Session) -> None:
        session.ran.append((name, *session.posargs))
        if error:
            raise error

    return run


PARTS = {name: record(name) for name in ("units", "types", "style")}


@pytest.mark.parametrize(
    ("posargs", "ran"),
    [
        ((), [("units",), ("types",), ("style",)]),
        (("types",), [("types",)]),
        (("style", "units"), [("style",), ("units",)]),
        (("types", "-k", "units"), [("types", "-k", "units")]),
    ],
)
def test_parts_are_chosen_by_name(posargs: tuple[str, ...], ran: list[tuple[str, ...]]) -> None:
    session = Session(*posargs)
    run_parts(session, PARTS)
    assert session.ran == ran


def test_part_that_is_not_usual_runs_when_it_is_named() -> None:
    session = Session()
    run_parts(session, PARTS, usual=["types"])
    assert session.ran == [("types",)]
    session = Session("style")
    run_parts(session, PARTS, usual=["types"])
    assert session.ran == [("style",)]


@pytest.mark.parametrize("posargs", [("unit",), ("-k", "types"), ("units", "types", "-k", "x")])
def test_arguments_without_one_part_are_refused(posargs: tuple[str, ...]) -> None:
    session = Session(*posargs)
    with pytest.raises(SessionFailed, match="name it before them: units, types, style"):
        run_parts(session, PARTS)
    assert session.ran == []


def test_part_that_fails_hides_no_other() -> None:
    session = Session()
    parts = {**PARTS, "units": record("units", ValueError("why")), "style": record("style", SessionFailed("refused"))}
    with pytest.raises(SessionFailed, match=r"^failed: units, style$"):
        run_parts(session, parts)
    assert [name for name, *dummy in session.ran] == ["units", "types", "style"]
    ends = [line for line in session.lines if " in " in line]
    assert ends == [
        "Part units failed in 0 s: ValueError: why",
        "Part types passed in 0 s",
        "Part style failed in 0 s: test_parts.SessionFailed: refused",
    ]
