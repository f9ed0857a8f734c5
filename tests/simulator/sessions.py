# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sessions: the one of the switches, and those that were made by logging in. Each slides with its use."""

from __future__ import annotations

import collections.abc as c
import hashlib
import hmac
import time

from .errors import Failure
from .options import Switches


class Sessions:
    """The sessions of the one account."""

    def __init__(
        self, switches: Switches, new_uuid: c.Callable[[], str], now: c.Callable[[], float] = time.monotonic
    ) -> None:
        self._switches = switches
        self._new_uuid = new_uuid
        self._now = now
        self._used = {switches.session: now()}
        self._logins = self._failed_logins = self._logouts = 0

    def configure(self, switches: Switches, renew: bool) -> None:
        """Take over changed switches; with `renew`, or where it is another, their session starts to live now."""
        renew = renew or switches.session != self._switches.session
        self._switches = switches
        if renew:
            self._used[switches.session] = self._now()

    def log_in(self, account: str, password: str) -> str:
        """Return a new session; raise the failure of a wrong account or password, given as SHA-512 in hex."""
        right = hashlib.sha512(self._switches.account_password.encode()).hexdigest()
        if account != self._switches.account or not hmac.compare_digest(password.encode(), right.encode()):
            self._failed_logins += 1
            raise Failure("ID.1000", "wrong account name or password")
        if sum(map(self.is_valid, self._used)) >= self._switches.session_limit:
            self._failed_logins += 1
            raise Failure("ID.1003", f"account[{account}] has {self._switches.session_limit} sessions already")
        session = self._new_uuid()
        self._used[session] = self._now()
        self._logins += 1
        return session

    def log_out(self, session: str) -> None:
        """End a session. Ending one that does not exist is a success."""
        self._logouts += self._used.pop(session, None) is not None

    def end_all(self) -> None:
        """End every session that was created by logging in."""
        self._used = {session: used for session, used in self._used.items() if session == self._switches.session}

    def counts(self) -> dict[str, int]:
        """Return the number of valid sessions that were created by logging in, and of logins and logouts so far."""
        created = [session for session in self._used if session != self._switches.session]
        return {
            "live": sum(map(self.is_valid, created)),
            "logins": self._logins,
            "failed_logins": self._failed_logins,
            "logouts": self._logouts,
        }

    def is_valid(self, session: str) -> bool:
        """Tell whether a session is valid."""
        if session == self._switches.session and self._switches.session_expired:
            return False
        used = self._used.get(session)
        return used is not None and self._now() - used <= self._switches.session_lifetime

    def use(self, session: str) -> bool:
        """Tell whether a session is valid; if so it lives on from now."""
        if not self.is_valid(session):
            return False
        self._used[session] = self._now()
        return True
