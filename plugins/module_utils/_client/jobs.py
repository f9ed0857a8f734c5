"""Jobs of asynchronous operations as data: their state, their paths, and the policy for waiting."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from .._api.errors import InvalidOptions, TransportError, VirtinfraError
from .._api.operations import get_operation
from .._http.connection import Authorization
from .._http.hooks import HttpHooks

FIRST_INTERVAL = 0.03
SHORTEST_INTERVAL = 0.05
BACKOFF_RATIO = 0.05
FIRST_PROGRESS_AFTER = 10.0

RUNNING, SUCCEEDED, FAILED, UNKNOWN = "running", "succeeded", "failed", "unknown"


@dataclass
class Job:
    """One asynchronous call: ``location`` is the path to poll at the configured origin.

    ``state`` is running, succeeded, failed, or unknown when the service no longer knows the job. ``result`` is the
    reply of the operation, ``failure`` what went wrong. ``needs_auth`` is True when the service refused a poll without
    credentials. ``sent_uuid`` is the id that was sent with the call in the header X-Job-UUID. ``is_guessed`` is True
    unless the service has given the polling address. ``auth`` is what the call was authorized with, ``credential`` the
    kind of its credential, one of CREDENTIALS in ``_api/errors.py``.
    """

    uuid: str
    location: str
    operation: str = ""
    label: str = ""
    state: str = RUNNING
    result: dict[str, Any] = field(default_factory=dict)
    failure: VirtinfraError | None = None
    needs_auth: bool = False
    sent_uuid: str = ""
    is_guessed: bool = False
    auth: Authorization = field(default=None, repr=False)
    credential: str = "started"

    @property
    def has_own_uuid(self) -> bool:
        """Whether the service uses the id that was sent with the call."""
        return self.uuid == self.sent_uuid

    @property
    def outcome(self) -> tuple[Any, ...]:
        """The state with the result or the error, to compare the responses to two polls."""
        return self.state, self.result, self.failure and self.failure.error

    def copy_pending(self) -> Job:
        """Return this job as it was before its end."""
        return replace(self, state=RUNNING, result={}, failure=None)

    def copy_as_sent(self, prefix: str) -> Job:
        """Return the job with the id that was sent with the call, before its end."""
        path = format_job_path(self.sent_uuid, prefix)
        return replace(self.copy_pending(), uuid=self.sent_uuid, location=path, is_guessed=True)

    def update(self, other: Job) -> None:
        """Replace all values by those of another job."""
        vars(self).update(vars(other))

    def build_handle(self) -> dict[str, Any]:
        """Return the handle with which a later task can wait for the job."""
        return {
            "uuid": self.uuid or None,
            "job_uuid": self.sent_uuid or None,
            "location": self.location or None,
            "operation": self.operation,
            "object": self.label or None,
            "state": self.state,
        }


def predict_job(operation: str) -> Job:
    """Return a placeholder for the job of a call that check mode does not make. Its uuid is unknown."""
    return Job("", "", operation, state=UNKNOWN)


def generate_uuid() -> str:
    """Return a new job id: 32 hexadecimal digits."""
    # Reads start no job, so the module processes of reading modules do not load the library uuid.
    import uuid

    return uuid.uuid4().hex


def extract_job_uuid(location: Any) -> str | None:
    """Return the job id in a polling address, also in a malformed one; None without one."""
    uuids = re.findall(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", str(location))
    return uuids[-1] if uuids else None


def format_job_path(uuid: str, prefix: str) -> str:
    """Return the path to poll for the job with this uuid."""
    return get_operation("GetApiJob").request({"uuid": uuid}, prefix).path


# A path by RFC 3986.
_PATH = re.compile(r"/(?!/)([\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})*", re.ASCII | re.IGNORECASE)


def parse_polling_path(location: Any, base: str = "/") -> str | None:
    """Return the path, with its query, of a polling address; None if it is malformed.

    A relative address starts at the path ``base``. Scheme, host and port are ignored: services often send those of
    their own network, at which the client does not reach them.
    """
    if not isinstance(location, str):
        return None
    try:
        parts = urlsplit(location.strip())
    except ValueError:
        return None
    if parts.scheme and not parts.netloc:
        return None
    path = urljoin("/" if parts.netloc else base.partition("?")[0], parts.path)
    path = path if path.startswith("/") else f"/{path}"
    if not (_PATH.fullmatch(path) and re.fullmatch(r"[\x21-\x7e]*", parts.query)) or not (parts.path or parts.query):
        return None
    if path == "/" and not parts.query:
        return None
    return path + (f"?{parts.query}" if parts.query else "")


def extract_last_segment(path: str) -> str:
    """Return the last segment of a polling address: the id of its job. A query without a path is the id, too."""
    name, dummy, query = path.partition("?")
    return name.rstrip("/").rpartition("/")[2] or query


class WaitPolicy:
    """The policy of a task for waiting: for how many seconds in total, and how often it polls.

    The first poll follows after 30 ms, each further poll when the elapsed time has grown by 5 %, at least 50 ms and at
    most ``interval`` seconds after the previous one. A line of progress is shown after 10 s and then each time the
    elapsed time has doubled; it contains the time that remains until the timeout. ``prefix`` is that of the options
    ``timeout`` and ``interval`` in messages.
    """

    def __init__(self, hooks: HttpHooks, timeout: float, interval: float, prefix: str = "wait_") -> None:
        if math.isnan(timeout) or timeout < 0:
            raise InvalidOptions(f"{prefix}timeout must not be negative")
        if math.isnan(interval) or interval < SHORTEST_INTERVAL:
            raise InvalidOptions(f"{prefix}interval must be at least {SHORTEST_INTERVAL} seconds")
        self.timeout, self.interval = timeout, interval
        self._hooks, self._clock = hooks, hooks.clock

    def compute_deadline(self) -> float:
        """Return the deadline of a task that begins to wait now, in seconds of the clock."""
        return float(self._clock.monotonic() + self.timeout)

    def format_elapsed(self, deadline: float) -> str:
        """Return how many seconds of the timeout have passed, for messages."""
        return f"{round(self.timeout - max(deadline - self._clock.monotonic(), 0), 2):g}"

    def poll_intervals(
        self,
        label: str,
        deadline: float,
        ratio: float = BACKOFF_RATIO,
        get_error: Callable[[], TransportError | None] = lambda: None,
    ) -> Iterator[float]:
        """Sleep and yield the elapsed seconds before each poll: at least once, and until ``deadline``.

        ``ratio`` is the growth of the elapsed time after which the next poll follows. ``get_error`` returns the error
        of the last poll for the lines of progress.
        """
        begin = self._clock.monotonic()
        pause, quiet_until = FIRST_INTERVAL, FIRST_PROGRESS_AFTER
        while True:
            self._clock.sleep(max(0.0, min(pause, deadline - self._clock.monotonic())))
            elapsed = self._clock.monotonic() - begin
            if elapsed >= quiet_until:
                remaining = max(deadline - self._clock.monotonic(), 0)
                line = f"still waiting for {label}, {elapsed:.0f} s, at most {remaining:.0f} s more"
                error = get_error()
                self._hooks.show_progress(f"{line}. The last poll failed: {error}" if error else line)
                quiet_until = elapsed * 2
            yield elapsed
            if self._clock.monotonic() >= deadline:
                return
            pause = compute_interval(self._clock.monotonic() - begin, self.interval, self._clock.random(), ratio)


def compute_interval(elapsed: float, interval: float, chance: float, ratio: float = BACKOFF_RATIO) -> float:
    """Return the seconds until the next poll; at the longest interval up to 10 % less, to spread the polls of tasks."""
    return max(SHORTEST_INTERVAL, min(ratio * elapsed, interval * (1 - 0.1 * chance)))
