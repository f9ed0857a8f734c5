"""Sessions: the one of the switches, and those created by logging in. Each use renews a session."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

from ..errors import LOGIN_REFUSALS, OperationError
from ..switches.options import Switches


class Sessions:
    """The sessions of the account."""

    def __init__(
        self, switches: Switches, generate_uuid: Callable[[], str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._switches = switches
        self._generate_uuid = generate_uuid
        self._now = now
        self._last_uses = {switches.session: now()}
        self._logins = self._failed_logins = self._logouts = 0

    def configure(self, switches: Switches, renew: bool) -> None:
        """Apply changed switches; renew their session if it changed, or with `renew`."""
        renew = renew or switches.session != self._switches.session
        self._switches = switches
        if renew:
            self._last_uses[switches.session] = self._now()

    def log_in(self, account: str, password: str) -> str:
        """Return a new session. `password` is its SHA-512 in hex. Raise OperationError for a refused login."""
        try:
            self._check_login(account, password)
        except OperationError:
            self._failed_logins += 1
            raise
        session = self._generate_uuid()
        self._last_uses[session] = self._now()
        self._logins += 1
        return session

    def _check_login(self, account: str, password: str) -> None:
        refusal = self._switches.login_refusal
        if refusal:
            raise OperationError(refusal, LOGIN_REFUSALS[refusal])
        expected = hashlib.sha512(self._switches.account_password.encode()).hexdigest()
        if account != self._switches.account or not hmac.compare_digest(password.encode(), expected.encode()):
            raise OperationError("ID.1000", "wrong account name or password")
        if sum(map(self.is_valid, self._last_uses)) >= self._switches.session_limit:
            raise OperationError("ID.1006", LOGIN_REFUSALS["ID.1006"])

    def log_out(self, session: str) -> None:
        """End a session, if it exists."""
        self._logouts += self._last_uses.pop(session, None) is not None

    def end_all(self) -> None:
        """End all sessions that were created by logging in."""
        self._last_uses = {
            session: last_use for session, last_use in self._last_uses.items() if session == self._switches.session
        }

    def counts(self) -> dict[str, int]:
        """Return the number of valid sessions that were created by logging in, and of logins and logouts so far."""
        created = [session for session in self._last_uses if session != self._switches.session]
        return {
            "live": sum(map(self.is_valid, created)),
            "logins": self._logins,
            "failed_logins": self._failed_logins,
            "logouts": self._logouts,
        }

    def is_valid(self, session: str) -> bool:
        """Return whether a session is valid, without renewing it."""
        if session == self._switches.session and self._switches.session_expired:
            return False
        last_use = self._last_uses.get(session)
        return last_use is not None and self._now() - last_use <= self._switches.session_lifetime

    def use(self, session: str) -> bool:
        """Return whether a session is valid, and renew it."""
        if not self.is_valid(session):
            return False
        self._last_uses[session] = self._now()
        return True
