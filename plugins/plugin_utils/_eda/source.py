"""Code that the event sources share: their options, their client, and the delivery of events to the rules."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._client.client import READ_AND_MASK, Client, Hooks
from ...module_utils._client.sessions import open_client
from ...module_utils._http.adapter import HAS_REQUESTS
from ...module_utils._http.connection import ConnectionOptions
from ...module_utils._masking.masker import Masker, collect_secrets
from ...module_utils._modules.forms import check_forms
from ...module_utils._modules.hints import describe_unknown
from ...module_utils._modules.options import Options
from .._run.profiles import Profiles
from .texts import disarm_templates

# The longest pause, in seconds, between two checks whether the rules have taken an event.
LONGEST_PAUSE = 0.05

# How many iterations of the event loop the rules get to start the action of an event that they have taken.
SETTLING_TURNS = 20


def read_options(spec: Options, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated arguments of a source, with defaults and values of the profile and the environment.

    ansible-rulebook does not validate arguments. Raise InvalidOptions for the first error.
    """
    arguments = {name: value for name, value in args.items() if value is not None}
    if unknown := [str(name) for name in args if name not in spec]:
        raise InvalidOptions(describe_unknown(unknown, spec, "source", beginning="unknown argument"))
    check_forms(spec, arguments)
    arguments = Profiles().complete(arguments, spec)
    validation = ArgumentSpecValidator(spec).validate(arguments)
    if validation.error_messages:
        raise InvalidOptions(Masker(collect_secrets(spec, arguments)).mask_text(validation.error_messages[0]))
    params: dict[str, Any] = validation.validated_parameters
    return params


@contextmanager
def open_service(connection: ConnectionOptions) -> Iterator[Client]:
    """Open the client of a source, which only reads. At the end, log out of the session of an account.

    A thread of the source that is still running then can send no further requests, and thus not log in again.
    """
    if not HAS_REQUESTS:
        raise InvalidOptions(
            f"the Python library requests is not installed for {sys.executable}, which runs ansible-rulebook. Install"
            " requests>=2.28 there."
        )
    has_ended = threading.Event()

    def check_end() -> None:
        if has_ended.is_set():
            raise VirtinfraError("the event source has ended")

    hooks = Hooks(connection.create_masker(), before_send=check_end)
    if connection.needs_login:
        restore_signal_handlers()
    with open_client(connection, READ_AND_MASK, hooks) as client:
        try:
            yield client
        finally:
            has_ended.set()


def restore_signal_handlers() -> None:
    """Let a signal end the process with an exception, so that the event sources can end their sessions.

    ansible-rulebook has such handlers, but Java, which it starts afterwards, replaces them by its own, which end the
    process at once. Signals that are ignored remain ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler):
            signal.signal(number, handler)
        elif handler == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


async def deliver_event(queue: asyncio.Queue[Any], event: dict[str, Any]) -> None:
    """Put an event into the queue, and return when the rules have taken it and had time to start its action.

    No text of the event is a template.

    The queue of ansible-rulebook holds one event. A kill loses the event in the queue, and an event that was taken from
    there until its action begins. The source stores the event until then, and delivers the next event only after it has
    removed this one: after a kill, at most one event is delivered twice.
    """
    await queue.put(disarm_templates(event))
    # The queue that ansible-rulebook passes to a source only filters events, and contains the queue of the rules.
    of_rules = getattr(queue, "queue", queue)
    pause = 0.0
    while not of_rules.empty():
        await asyncio.sleep(pause)
        pause = min(pause + 0.001, LONGEST_PAUSE)
    for dummy in range(SETTLING_TURNS):
        await asyncio.sleep(0)
