"""The service: its state, its switches, and its pending jobs."""

from __future__ import annotations

import random
from typing import Any

from starlette.requests import Request

from .disks.disks import Disks
from .errors import OperationError, RequestRejected
from .http.replies import ReplySerializer
from .http.request_log import RequestLog
from .http.webhooks import Webhooks
from .registry import Operation
from .seed.objects import Seeder
from .state.access_keys import check_signature
from .state.cursors import Cursors
from .state.jobs import Job, Jobs
from .state.query import Selector
from .state.sessions import Sessions
from .switches import parsing as option_parsing
from .switches.faults import Faults
from .switches.options import Seed, Switches


class Service:
    """The service; a reset replaces all its parts but the request log, and clears the disks."""

    def __init__(self, seed: Seed, switches: Switches, disks: Disks | None = None) -> None:
        self._disks = disks
        self._initial_options = (seed, switches)
        self.log = RequestLog()
        self.webhooks = Webhooks(self)
        self._initialize(seed, switches)

    def _initialize(self, seed: Seed, switches: Switches) -> None:
        self.seed = seed
        self.switches = switches
        self.random = random.Random(seed.random_seed)
        if self._disks:
            self._disks.clear()
        self.store = Seeder(seed, self._disks.size if self._disks else None).store()
        self.store.disks = self._disks
        self.selector = Selector(self.store, switches)
        self.jobs = Jobs(self._job_finished)
        self.faults = Faults()
        self.cursors = Cursors(switches)
        self.serializer = ReplySerializer(switches)
        self.sessions = Sessions(switches, self.store.generate_uuid)

    def reset(self, overrides: dict[str, Any]) -> None:
        """Restore the seeded state; the options replace those of the start. Raise InvalidOption for an invalid one."""
        seed, switches = option_parsing.apply_options(*self._initial_options, overrides)
        self.jobs.cancel()
        self.webhooks.cancel()
        self.log.entries.clear()
        self.log.recent.clear()
        self._initialize(seed, switches)

    def configure(self, overrides: dict[str, Any]) -> None:
        """Change switches and keep the state; raise InvalidOption for an invalid one."""
        seed, self.switches = option_parsing.apply_options(self.seed, self.switches, overrides)
        if seed != self.seed:
            raise option_parsing.InvalidOption("seed options can only be changed by a reset")
        self.cursors.switches = self.switches
        self.selector.switches = self.switches
        self.serializer = ReplySerializer(self.switches)
        self.sessions.configure(self.switches, renew=overrides.get("session_expired") is False)

    def required_header(self, request: Request, operation: Operation) -> str:
        """Return the Authorization header.

        Raise RequestRejected if it is missing or has the wrong scheme, or if its signature is wrong.
        """
        if operation.is_public:
            return ""
        header = request.headers.get("authorization")
        scheme = (header or "").partition(" ")[0].lower()
        if operation.uses_token and scheme != "bearer":
            raise RequestRejected(401, "this operation needs the header 'Authorization: Bearer <token>'")
        if header is None:
            raise RequestRejected(400, "missing header 'Authorization'")
        if not operation.uses_token and scheme == "zstack":
            check_signature(self.switches, request)
        elif not operation.uses_token and scheme != "oauth":
            raise RequestRejected(403, "the header 'Authorization' must be 'OAuth <session id>'")
        return header

    def check_credential(self, header: str, operation: Operation) -> None:
        """Raise OperationError for an invalid session or token, or a denied operation; renew a valid session."""
        scheme, dummy, credential = map(str.strip, header.partition(" "))
        if operation.is_public:
            return
        if operation.uses_token:
            valid = credential == self.switches.token and not self.switches.token_expired
        else:
            valid = scheme.lower() == "zstack" or self.sessions.use(credential)
        if not valid:
            raise OperationError("ID.1001", "the session is invalid or expired")
        if operation.name in self.switches.denied_operations:
            raise OperationError(self.switches.denial, f"operation[{operation.name}] is denied")

    def reply_text(self, operation: Operation, outcome: dict[str, Any] | OperationError) -> str:
        """Return the reply of an operation, or of its error, as JSON."""
        reply = self.serializer.error_reply(outcome) if isinstance(outcome, OperationError) else outcome
        if self.switches.success_members and operation.has_envelope:
            reply = {"success": not isinstance(outcome, OperationError), "error": None, **reply}
        if self.switches.unknown_members and operation.is_write:
            reply = {"success": not isinstance(outcome, OperationError), "error": None, **reply, "exportInfos": []}
        if self.switches.extra_members and reply.keys() & {"inventory", "inventories"}:
            members = ["inventory"] if "inventory" in reply else _elements(reply["inventories"])
            reply = {**reply, "schema": dict.fromkeys(members, f"{operation.name}Reply")}
        return self.serializer.to_json(reply)

    def _job_finished(self, job: Job) -> None:
        if job.webhook:
            self.webhooks.deliver(job)


def _elements(records: list[Any]) -> list[str]:
    return [f"inventories[{index}]" for index in range(len(records))]
