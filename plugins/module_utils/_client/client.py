"""Call operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from .._api.errors import (
    NOT_FOUND,
    UNAUTHORIZED,
    ApiError,
    InvalidOptions,
    JobNotFound,
    JobUuidUsed,
    OutdatedName,
    ResponseLost,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import Operation, Request, move_to_prefix, parse_version
from .._api.operations import get_operation
from .._api.records import Record
from .._http.adapter import MAX_CONNECTIONS, AdapterPool
from .._http.connection import (
    Authorization,
    ConnectionOptions,
    GivenSession,
    SessionSource,
)
from .._http.hooks import HttpHooks
from .._http.response import Response
from .._http.transport import Limits, Transport
from .._http.webhooks import NO_WEBHOOK, Webhook
from .jobs import (
    FAILED,
    RUNNING,
    UNKNOWN,
    Job,
    WaitPolicy,
    format_job_path,
    generate_uuid,
)
from .known_names import KnownNames
from .replies import (
    apply_poll,
    apply_response,
    extract_reply,
    is_duplicate,
)
from .stores import Lock, MemoryStore, ServerFacts, SessionStore
from .substitutes import (
    PathPrefix,
    read_either,
    start_either,
)

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from .._http.access_keys import AccessKey

SESSION_EXPIRED = "ID.1001"

# The fact with which code the service answers the poll of an id that it does not know; NO_CODE without an ErrorCode.
UNKNOWN_JOB, NO_CODE = "unknown_job", "none"

TOKEN_OPTION = "api_token (or VIRTINFRA_API_TOKEN in the environment)"

SESSION_OPTIONS = (
    "session_id, or account and account_password, or access_key_id and access_key_secret (or VIRTINFRA_SESSION_ID, or"
    " VIRTINFRA_ACCOUNT and VIRTINFRA_ACCOUNT_PASSWORD, or VIRTINFRA_ACCESS_KEY_ID and VIRTINFRA_ACCESS_KEY_SECRET in"
    " the environment)"
)

Params = Mapping[str, Any]
Item = TypeVar("Item")
Result = TypeVar("Result")


# The changed fields of objects by their uuids; None for an object that is removed.
Changes: TypeAlias = "Mapping[str, Record | None]"


class Reads(Protocol):
    """How objects are read: each with requests of its own, or together with those of other threads.

    A read that began up to ``max_age`` seconds before may answer one; the caller must not change its records then.
    """

    def get_by_uuid(self, client: Client, name: str, uuid: str, max_age: float) -> list[Record]:
        """Return a list with the record of this uuid, or an empty list."""

    def list_by_uuids(self, client: Client, name: str, uuids: Sequence[str]) -> list[Record]:
        """Return the records with these uuids."""

    def find_by_attribute(self, client: Client, name: str, attribute: str, value: str) -> list[Record]:
        """Return records, among them all whose attribute has the value."""

    def list_selected(self, client: Client, name: str, parameter: str, value: str) -> list[Record]:
        """Return records of a list, among them all that a parameter selects by a field of the same name."""

    def list_all(self, client: Client, name: str) -> list[Record]:
        """Return all records of a query, which the caller must not change."""

    def find_in_short_list(self, client: Client, name: str, uuid: str, max_age: float) -> list[Record]:
        """Return records of a short list, among them that of this uuid, if it is in the list."""


class Waits(Protocol):
    """How a thread waits for its jobs together with other threads."""

    def wait(self, client: Client, jobs: Sequence[Job], deadline: float) -> TransportError | None:
        """Wait until all jobs have ended or the deadline; return the error of the last poll if it was inconclusive."""


def ignore_job(dummy: Any) -> None:
    """Do nothing with a job."""


def ignore_target(dummy: str) -> None:
    """Do nothing with the target of a task."""


def ignore_types(dummy: Iterable[str]) -> None:
    """Do nothing with the types of objects that check mode predicts."""


def ignore_changes(dummy: Changes) -> None:
    """Do nothing with the changes of objects that check mode predicts."""


@dataclass(frozen=True)
class Hooks(HttpHooks):
    """What a run provides to its requests, and what its clients share with other tasks.

    ``new_store`` returns the store of an account's session, by default one that is not shared. ``new_lock`` returns the
    lock of a key, which the tasks of the run share; it is None in a module process, which shares no locks. ``on_job``
    is called with the job of each call. ``new_job_uuid`` returns the id of the next call, by default a random one.
    ``claim_target`` is called with what identifies the object of a task, its uuid or else the objects that it belongs
    to, before the first call; with an empty string if it does not exist. It raises InvalidOptions if another object of
    a batch has the same target. ``reads`` and ``waits`` are those of a batch, None for a task of its own.
    ``note_prediction`` is called in check mode with the types of the objects that a task would create, and with their
    names: a later task refers to one of them with null, or by its name. ``note_changes`` is called with the objects
    that it would change or remove. ``list_predicted`` returns what earlier tasks have noted, nothing outside check
    mode. ``is_hidden`` says that Ansible shows nothing of the task (no_log), so that secrets may be in its result.
    ``is_in_role`` says that a role runs the task, which the user cannot skip in check mode.
    """

    new_store: Callable[[ConnectionOptions], SessionStore] = MemoryStore
    new_lock: Callable[[ConnectionOptions, str], Lock] | None = None
    on_job: Callable[[Any], None] = ignore_job
    new_job_uuid: Callable[[], str] | None = None
    reads: Reads | None = None
    waits: Waits | None = None
    is_hidden: bool = False
    is_in_role: bool = False
    claim_target: Callable[[str], None] = ignore_target
    note_prediction: Callable[[Iterable[str]], None] = ignore_types
    note_changes: Callable[[Changes], None] = ignore_changes
    list_predicted: Callable[[], Mapping[str, Any]] = dict


class CallOptions(NamedTuple):
    """How a client makes its calls.

    With ``read_only`` it refuses everything but GET (check mode). With ``mask_replies``, for callers that show replies
    and compare nothing, it masks credentials in replies. It waits for ``wait_timeout`` seconds for jobs, or for a
    session of an account that has too many, and polls jobs at least every ``wait_interval`` seconds. The service ends
    a call after ``api_timeout``.
    """

    read_only: bool = False
    mask_replies: bool = False
    wait_timeout: float = 60
    wait_interval: float = 5
    webhook: Webhook = NO_WEBHOOK
    api_timeout: int | None = None

    def build_headers(self, job_uuid: str) -> dict[str, str]:
        """Return the headers of a writing call."""
        headers = {"X-Job-UUID": job_uuid, **self.webhook.build_headers(job_uuid)}
        if self.api_timeout:
            headers["X-API-Timeout"] = str(self.api_timeout)
        return headers


# The options of inventories and event sources, which change nothing and show replies.
READ_AND_MASK = CallOptions(read_only=True, mask_replies=True)


class Client:
    """The client of one task or inventory, which `open_session_client`, or `open_client` in sessions.py, creates.

    ``sessions`` provides the session, ``facts`` is what is known about the server, and ``names`` what is known about
    names. ``jobs`` are the jobs of the calls that were sent, in this order.
    """

    def __init__(
        self,
        connection: ConnectionOptions,
        options: CallOptions,
        hooks: Hooks,
        sessions: SessionSource,
        facts: ServerFacts,
        names: KnownNames,
    ) -> None:
        self.connection, self.options, self.hooks = connection, options, hooks
        self.sessions, self.facts, self.names = sessions, facts, names
        self.wait = WaitPolicy(hooks, options.wait_timeout, options.wait_interval)
        if connection.service_version:
            parse_version(connection.service_version)
        self.limits = Limits(connection.request_retries)
        self._connections = hooks.connections or AdapterPool()
        self._transports: list[Transport] = []
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self.jobs: list[Job] = []
        # A login with an account uses the path prefix, so it proves the prefix.
        self.prefix = PathPrefix(facts, is_known=sessions.credential == "account")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *dummy: object) -> None:
        for pool in self._pools.values():
            # A task that is stopped does not wait for outstanding responses.
            pool.shutdown(wait=False, cancel_futures=True)
        if self._connections is not self.hooks.connections:
            self._connections.close()
        # Tasks may have looked up names while the calls ran, which have changed them since.
        for job in self.jobs:
            self.names.note_change(get_operation(job.operation), is_over=job.state not in (RUNNING, UNKNOWN))

    def with_own_connections(self) -> Client:
        """Return a client with the session of this one, but with connections of its own, which the caller closes."""
        return Client(self.connection, self.options, self.hooks, self.sessions, self.facts, self.names.share())

    def with_deadline(self, deadline: float, slack: float = 0.0) -> Client:
        """Return this client with a deadline; a response may arrive ``wait_interval`` or ``slack`` seconds later."""
        limited = copy(self)
        limited.limits = self.limits._replace(deadline=deadline, slack=max(self.wait.interval, slack))
        return limited

    def with_wait(self, wait: WaitPolicy) -> Client:
        """Return this client with another policy for waiting."""
        patient = copy(self)
        patient.wait = wait
        return patient

    def with_retries(self, retries: int) -> Client:
        """Return this client with at most so many retries of a request."""
        limited = copy(self)
        limited.limits = self.limits._replace(retries=min(retries, self.limits.retries))
        return limited

    def build_request(self, name: str, params: Mapping[str, Any]) -> tuple[Operation, Request, Authorization]:
        """Return operation, request and authorization of a call; fail as the call would before sending."""
        operation = get_operation(name)
        return operation, _encode(self.connection, operation, params), _choose_auth(self, operation)

    def get(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Call a reading operation and return its reply. Raise Unsupported when the service does not have it."""
        operation = get_operation(name)
        _choose_auth(self, operation)  # Missing credentials say nothing about the server, so they are checked first.
        with self.prefix.observe(operation):
            return read_either(operation, params, self.facts, self._get)

    def _get(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        operation, request, auth = self.build_request(name, params)
        try:
            return self._read(operation, request, auth)
        except ApiError as failure:
            if not self.renew_session(failure, auth):
                raise
        return self._read(operation, request, _choose_auth(self, operation))

    def _read(self, operation: Operation, request: Request, auth: Authorization) -> dict[str, Any]:
        response = _send(self, request, operation.name, auth, is_poll=operation.name == "GetApiJob")
        kind = "api_token" if operation.credential == "token" else self.sessions.credential
        reply = extract_reply(operation, request, response, self.connection.path_prefix, self.prefix.is_known, kind)
        self.prefix.note(operation)
        return self.hooks.masker.mask_reply(reply, response.body) if self.options.mask_replies else reply

    def start_job(
        self,
        name: str,
        params: Mapping[str, Any],
        label: str = "",
        job_uuid: str | None = None,
        is_resend: bool = False,
    ) -> Job:
        """Send a writing call and return its job, which has ended if the service answered without a job.

        ``job_uuid`` replaces the id that the run provides; with ``is_resend`` it is the id of an earlier call with the
        same params. Raise ResponseLost, with the member ``job``, when the service may have accepted the call,
        JobUuidUsed when it knows another call with this id, and OutdatedName, before anything is sent, when a
        remembered name is that of another object now.
        """
        # With one job id for an operation and its substitute, a call that was performed though refused is not repeated.
        if not is_resend and get_operation(name).is_write and not self.names.verify():
            raise OutdatedName(f"{name} was not sent, because another object has the name now")
        uuid = job_uuid or (self.hooks.new_job_uuid or generate_uuid)()
        send = partial(self._start_job, params, label, uuid, job_uuid is None or is_resend)
        return start_either(get_operation(name), self.facts, send)

    def _start_job(self, params: Params, label: str, uuid: str, may_be_known: bool, name: str) -> Job:
        operation, request, auth = self.build_request(name, params)
        if self.options.read_only and operation.is_write:
            raise InvalidOptions(f"{name} changes something and is not sent in check mode")
        self.names.note_change(operation)
        prefix = self.connection.path_prefix
        job = Job(uuid, format_job_path(uuid, prefix), name, label, auth=auth, sent_uuid=uuid, is_guessed=True)
        job.credential = self.sessions.credential
        # A task that is interrupted now reports no job.
        self.hooks.before_send()
        self.jobs.append(job)
        self.hooks.on_job(job)
        try:
            response = _send(self, request, name, auth, self.options.build_headers(uuid))
            if is_duplicate(response) and not may_be_known:
                raise _describe_reuse(self, job)
            with self.prefix.observe(operation):
                apply_response(job, response, prefix, self.prefix.is_known, request.path)
            self.prefix.note(operation)
            return job
        except ResponseLost as lost:
            job.state = UNKNOWN
            lost.job = job
            raise
        except VirtinfraError:
            job.state = FAILED
            raise

    def poll(self, job: Job) -> bool:
        """Poll a job once, update its state, result and failure, and return whether it has ended.

        Raise TransportError when the response proves neither that it has ended nor that it is running.
        """
        self.send_poll(job)
        if job.state == FAILED and job.is_guessed and _answers_unknown_ids_like(self, job):
            job.state, job.failure = UNKNOWN, JobNotFound(job)
        return job.state != RUNNING

    def send_poll(self, job: Job) -> None:
        """Send a poll and update the job from the response."""
        label = " ".join(filter(None, (job.operation, f"job {job.uuid}")))
        request = Request("GET", job.location)
        auth = self.authorize_call() if job.needs_auth else None
        response = _send(self, request, label, auth, is_poll=True)
        if response.status in (401, 403) and self.connection.can_query and not job.needs_auth:
            # Servers of this API family need no credentials for polls. A server that requires them gets them from now
            # on.
            job.needs_auth = True
            response = _send(self, request, label, self.authorize_call(), is_poll=True)
        _apply_poll(self, job, response)

    def renew_session(self, failure: ApiError, auth: Authorization) -> bool:
        """Return whether a call failed because its session had expired, and can be repeated with a new one.

        The service refuses such a call without performing it. ``auth`` is what the call was authorized with.
        """
        scheme, dummy, session_id = auth.partition(" ") if isinstance(auth, str) else ("", "", "")
        if scheme != "OAuth" or (failure.code != SESSION_EXPIRED and failure.status != UNAUTHORIZED):
            return False
        return self.sessions.renew(session_id) is not None

    def map_concurrently(
        self, function: Callable[[Item], Result], items: Iterable[Item], connections: int = MAX_CONNECTIONS
    ) -> list[Result]:
        """Apply a function to items concurrently, over so many connections at most; return the results in order.

        When one fails, those that have not started are left out, and the others end before its error is raised.
        """
        items = list(items)
        if len(items) < 2:
            return [function(item) for item in items]
        return _run_concurrently(self._pools, connections, function, items)

    def authorize_call(self) -> Authorization:
        """Return the access key, or else the header with the session; None without either."""
        if key := self.connection.access_key:
            return _choose_zone(key, self.facts)
        return f"OAuth {session}" if (session := self.sessions.get_session()) else None

    @property
    def transport(self) -> Transport:
        """The transport of this client, created for its first request."""
        if not self._transports:
            self._transports.append(Transport(self.connection, self.hooks, self._connections))
        return self._transports[0]


def _run_concurrently(
    pools: dict[int, ThreadPoolExecutor], connections: int, function: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """Apply a function to items in so many threads of a pool; return the results in order."""
    # Most module processes send one request at a time, so they do not load the code for threads.
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    pool = pools.get(connections) or pools.setdefault(connections, ThreadPoolExecutor(connections))
    futures = [pool.submit(function, item) for item in items]
    # Nothing may still be sent when the caller learns of a failure. Items start in order, so the first result that is
    # missing is that of an item that failed.
    for future in wait(futures, return_when=FIRST_EXCEPTION).not_done:
        future.cancel()
    wait(futures)
    return [future.result() for future in futures]


def _choose_zone(key: AccessKey, facts: ServerFacts) -> AccessKey:
    # Few module processes use an access key, so the others do not load the code for it.
    from .time_zones import choose_zone

    return choose_zone(key, facts)


def _send(
    client: Client,
    request: Request,
    label: str,
    auth: Authorization,
    headers: Mapping[str, str] | None = None,
    is_poll: bool = False,
) -> Response:
    """Send a request and return the response; with an access key, in the time zone that the service accepts."""
    send = partial(client.transport.send, request, label, headers=headers or {}, limits=client.limits, is_poll=is_poll)
    if auth is None or isinstance(auth, str):
        return send(auth=auth)
    from .time_zones import send_in_any_zone

    return send_in_any_zone(send, auth, client.facts)


def get_without_credentials(client: Client, name: str, params: Params) -> dict[str, Any]:
    """Call a reading operation without credentials: a service that has it refuses the call with an ApiError.

    Raise Unsupported when the service does not have it.
    """
    operation, connection = get_operation(name), client.connection
    request = _encode(connection, operation, params)
    response = _send(client, request, name, None)
    kind = client.sessions.credential
    return extract_reply(operation, request, response, connection.path_prefix, client.prefix.is_known, kind)


def _encode(connection: ConnectionOptions, operation: Operation, params: Mapping[str, Any]) -> Request:
    """Return the request of a call. Raise InvalidOptions if the service's version does not support it."""
    version = connection.service_version
    if version and (reason := operation.explain_unsupported(params, version)):
        raise InvalidOptions(
            f"{reason}, but service_version is {version}. If the service is newer, correct service_version; to"
            " switch this check off, remove it (and VIRTINFRA_SERVICE_VERSION from the environment)"
        )
    return operation.request(params, connection.path_prefix)


def _choose_auth(client: Client, operation: Operation) -> Authorization:
    """Return what a call is authorized with; None for an operation that needs nothing."""
    if operation.credential == "none":
        return None
    needs_token = operation.credential == "token"
    if auth := _build_bearer(client.connection) if needs_token else client.authorize_call():
        return auth
    options = TOKEN_OPTION if needs_token else SESSION_OPTIONS
    # A profile, or an entry of an inventory with credentials, replaces those of the environment by empty texts.
    is_replaced = (client.connection.api_token if needs_token else client.connection.session_id) == ""
    has_token = not needs_token and client.connection.api_token
    hint = ". The service accepts api_token for cursor queries only, which change nothing" if has_token else ""
    raise Unsupported(f"{operation.name} needs {options.partition(' (or ')[0] if is_replaced else options}{hint}")


def _answers_unknown_ids_like(client: Client, job: Job) -> bool:
    """Return whether a job failed with the code with which the service answers polls of ids that it does not know.

    Only an address that no service has given can be that of an unknown id.
    """
    code = client.facts.get(UNKNOWN_JOB)
    if code is None:
        uuid = generate_uuid()
        unknown = Job(uuid, format_job_path(uuid, client.connection.path_prefix), needs_auth=job.needs_auth)
        client.send_poll(unknown)
        code = unknown.failure.code if unknown.state == FAILED and unknown.failure else NO_CODE
        client.facts[UNKNOWN_JOB] = code
    return job.failure is not None and job.failure.code == code


def _apply_poll(client: Client, job: Job, response: Response) -> None:
    """Update a job from the response to a poll. After a 404 without an ErrorCode, poll below the path prefix, too."""
    is_unknown_path = response.status == NOT_FOUND and response.error_code is None
    moved = move_to_prefix(job.location, client.connection.path_prefix) if is_unknown_path else None
    if not (moved and _poll_below_prefix(client, job, moved)):
        apply_poll(job, response)


def _poll_below_prefix(client: Client, job: Job, location: str) -> bool:
    """Poll a job below the path prefix, keep the answer if the service knows it there, and return whether it does.

    The service does not know what a gateway adds to its paths, so its polling address may lack it.
    """
    moved = replace(job, location=location, is_guessed=True)
    try:
        client.poll(moved)
    except TransportError as error:
        if error.status != NOT_FOUND:
            raise
        return False
    if moved.state == UNKNOWN:
        return False
    job.update(replace(moved, is_guessed=job.is_guessed))
    return True


def _build_bearer(connection: ConnectionOptions) -> str | None:
    """Return the Authorization header of the cursor operations, None without a token."""
    return f"Bearer {connection.api_token}" if connection.api_token else None


def _describe_reuse(client: Client, job: Job) -> JobUuidUsed:
    """Return the failure that a job id was used for an earlier call, with the state of that call."""
    earlier = Job(job.uuid, job.location, sent_uuid=job.uuid, is_guessed=True)
    with suppress(TransportError):
        client.poll(earlier)
    state = f"{earlier.state}: {str(earlier.failure).rstrip('.')}" if earlier.failure else earlier.state
    return JobUuidUsed(
        f"{job.operation} was not performed: job_uuid {job.uuid} was used for an earlier call (state of that job:"
        f" {state}). Use a new job_uuid for each call, or omit it.",
        job=earlier.build_handle(),
    )


def create_client(
    connection: ConnectionOptions, options: CallOptions, hooks: Hooks, sessions: SessionSource, store: SessionStore
) -> Client:
    """Return a client with what all clients of the store know about the server, and log its credentials."""
    if credentials := connection.describe_credentials():
        hooks.log_request(f"credentials: {credentials}")
    return Client(connection, options, hooks, sessions, store.facts, KnownNames(store.names, hooks.clock))


def open_session_client(connection: ConnectionOptions, options: CallOptions, hooks: Hooks) -> Client:
    """Open a client with the access key, or else the session of the option session_id; it never logs in."""
    kind = "session_before_account" if connection.account else "session_id"
    session = GivenSession(None, "access_key") if connection.access_key else GivenSession(connection.session_id, kind)
    return create_client(connection, options, hooks, session, hooks.new_store(connection))
