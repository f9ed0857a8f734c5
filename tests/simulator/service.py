# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service as a whole: its state, its switches, and what is under way."""

from __future__ import annotations

import typing as t

from . import options
from .cursors import Cursors
from .errors import Failure, Refusal
from .faults import Faults
from .jobs import Job, Jobs
from .options import Seed, Switches
from .query import Selector
from .registry import Operation
from .render import Renderer
from .requestlog import RequestLog
from .seed import Seeder
from .sessions import Sessions
from .webhooks import Webhooks


class Service:
    """Everything that a reset renews."""

    def __init__(self, seed: Seed, switches: Switches) -> None:
        self._at_start = (seed, switches)
        self.log = RequestLog()
        self.webhooks = Webhooks(self)
        self._renew(seed, switches)

    def _renew(self, seed: Seed, switches: Switches) -> None:
        self.seed = seed
        self.switches = switches
        self.store = Seeder(seed).store()
        self.selector = Selector(self.store)
        self.jobs = Jobs(self._job_finished)
        self.faults = Faults()
        self.cursors = Cursors(switches)
        self.renderer = Renderer(switches)
        self.sessions = Sessions(switches, self.store.new_uuid)

    def reset(self, given: dict[str, t.Any]) -> None:
        """Start afresh, with these options instead of those of the start; raise BadOption for a wrong one."""
        seed, switches = options.changed(*self._at_start, given)
        self.jobs.cancel()
        self.webhooks.cancel()
        self.log.entries.clear()
        self._renew(seed, switches)

    def configure(self, given: dict[str, t.Any]) -> None:
        """Change switches, the state staying; raise BadOption for a wrong one."""
        seed, self.switches = options.changed(self.seed, self.switches, given)
        if seed != self.seed:
            raise options.BadOption("the seed changes by a reset only")
        self.cursors.switches = self.switches
        self.renderer = Renderer(self.switches)
        self.sessions.configure(self.switches, renew=given.get("session_expired") is False)

    def required_header(self, header: str | None, operation: Operation) -> str:
        """Return the Authorization header; refuse at once a call that needs one and has none of the right scheme."""
        if operation.open:
            return ""
        scheme = (header or "").partition(" ")[0].lower()
        if operation.uses_token and scheme != "bearer":
            raise Refusal(401, "this operation needs the header 'Authorization: Bearer <token>'")
        if header is None:
            raise Refusal(400, "missing header 'Authorization'")
        if not operation.uses_token and scheme != "oauth":
            raise Refusal(403, "the header 'Authorization' must be 'OAuth <session id>'")
        return header

    def check_credential(self, header: str, operation: Operation) -> None:
        """Raise the failure of a session or token that is not valid; a valid session lives on from now."""
        if operation.open:
            return
        credential = header.partition(" ")[2].strip()
        if operation.uses_token:
            valid = credential == self.switches.token and not self.switches.token_expired
        else:
            valid = self.sessions.use(credential)
        if not valid:
            raise Failure("ID.1001", "the session is invalid or expired")

    def text(self, operation: Operation, outcome: dict[str, t.Any] | Failure) -> str:
        """Return the reply of an operation, or of its failure, as JSON."""
        reply = self.renderer.error(outcome) if isinstance(outcome, Failure) else outcome
        if self.switches.success_members and operation.enveloped:
            reply = {"success": not isinstance(outcome, Failure), "error": None, **reply}
        if self.switches.extra_members and "inventory" in reply:
            reply = {**reply, "schema": {"inventory": f"{operation.name}Reply"}}
        return self.renderer.text(reply)

    def _job_finished(self, job: Job) -> None:
        if job.webhook:
            self.webhooks.deliver(job)
