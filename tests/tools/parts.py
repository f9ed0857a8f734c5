"""Run the parts of a nox session, all of them or those that its arguments name.

tests/tools/gate.py finds the parts that failed in the output.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, Protocol, TypeVar


class Session(Protocol):
    """What the parts have in common with `nox.Session`, which the unit tests lack."""

    @property
    def posargs(self) -> list[str]:
        """The arguments after `--`."""

    def log(self, message: str) -> None:
        """Print a line."""

    def error(self, message: str) -> NoReturn:
        """End the session as failed."""


S = TypeVar("S", bound=Session)


def run_parts(session: S, parts: Mapping[str, Callable[[S], None]], usual: Iterable[str] = ()) -> None:
    """Run the parts that the first arguments name, by default the usual ones, or all; the others too when one fails.

    What follows the name of a part are its arguments, which it finds in ``posargs``. Ends the session as failed with
    the names of the parts that failed.
    """
    named = list(itertools.takewhile(parts.__contains__, session.posargs))
    del session.posargs[: len(named)]
    if session.posargs and len(named) != 1:
        session.error(f"Arguments belong to one part; name it before them: {', '.join(parts)}")
    chosen = named or list(usual) or list(parts)
    failed = [name for name in chosen if not has_passed(session, name, parts[name])]
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def has_passed(session: S, name: str, run: Callable[[S], None]) -> bool:
    """Run a part, and return whether it passed."""
    session.log(f"Part {name} begins")
    started = time.monotonic()
    result, reason = "passed", ""
    # Whatever ends a part, the results of the others count too.
    try:
        run(session)
    except Exception as error:
        result, reason = "failed", f": {traceback.format_exception_only(error)[-1].strip()}"
    session.log(f"Part {name} {result} in {time.monotonic() - started:.0f} s{reason}")
    return not reason
