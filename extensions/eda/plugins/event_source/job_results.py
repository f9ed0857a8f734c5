# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: job_results
short_description: Receive the results of jobs that the service posts
version_added: 1.0.0
author: Contributors to the virtinfra.manager project (@virtinfra)
description:
  - Listens for the posts that the service sends to the C(webhook_url) of a call when its job has ended, and emits one
    event for each job.
  - A post is acknowledged when its event is in the buffer. When the buffer is full, the post is refused with the HTTP
    status 503, and the service posts it again (15 times, every 2 seconds).
  - Further results of the same job are dropped. Malformed posts, posts to another path and posts without the token are
    refused, counted and logged. A connection serves one post.
  - With O(collect_seconds), one event contains all results of some seconds.
  - An event has C(job) with C(uuid), C(succeeded) and C(batch), and C(result), or C(error) and C(msg).
  - It has C(operation) and C(about) if the query of the URL has them, as in
    V(https://receiver.example.com/SECRET?about=host-1), and C(job.batch) is the outcome of an operation on several
    objects. Anyone who knows the URL can forge these three, so they depend on O(confirm) and O(webhook_key).
  - No text of an event can be evaluated as a template. A space separates the characters with which templates begin, as
    in C({ { name }}).
extends_documentation_fragment:
  - virtinfra.manager._connection
options:
  host:
    description:
      - The address to listen on.
    type: str
    default: 0.0.0.0
  port:
    description:
      - The TCP port to listen on.
    type: int
    required: true
  path:
    description:
      - The path of the URL. The service sends no credentials, so the path should contain a secret of your own.
    type: str
    required: true
  token:
    description:
      - "A secret that a relay adds to each post as C(Authorization: Bearer). Posts without it are refused."
    type: str
  certfile:
    description:
      - A file with the TLS certificate of the receiver, and its key unless O(keyfile) names another file. Without it,
        the receiver uses plain HTTP.
    type: path
  keyfile:
    description:
      - A file with the unencrypted key of O(certfile).
    type: path
  client_ca:
    description:
      - A file with CA certificates. Only clients with a certificate of these CAs can connect.
    type: path
  body_limit:
    description:
      - The maximum size of a post's body, in bytes.
    type: int
    default: 4194304
  buffer_size:
    description:
      - How many results are queued while the rules are busy.
    type: int
    default: 1000
  max_connections_per_peer:
    description:
      - How many connections the receiver keeps of one address, or of one IPv6 network with 64 bits. When a peer opens
        more, its oldest connection without a complete request is closed; the new one is closed if there is none.
      - In total there are at most as many connections as half of the files that the process may open (C(ulimit -n)),
        and never more than 1024; then the peer with most connections loses one. A connection without a complete head
        of a request is closed after 10 seconds.
      - Increase it if all posts come from one address, such as that of a proxy, and more of them are confirmed at the
        same time.
    type: int
    default: 64
  confirm:
    description:
      - Whether to confirm each result by polling the job, with the connection options. The event then contains the
        result of the poll instead of the posted one, which anyone who knows the URL can forge.
      - A result that cannot be confirmed because the service does not answer is refused with the HTTP status 503, and
        the service posts it again. The service must honour job ids. It keeps jobs for about three hours.
      - With V(false), every well-formed post is accepted, and the connection options are not used.
      - C(operation), C(about) and C(job.batch) cannot be confirmed, so the event does not contain them, unless
        O(webhook_key) shows that C(operation) and C(about) are genuine.
    type: bool
    default: true
  webhook_key:
    description:
      - A secret that the source shares with the tasks that start the jobs. The tasks sign C(operation) and C(about)
        with it, and posts without a valid signature are refused.
      - The environment variable E(VIRTINFRA_WEBHOOK_KEY) is used when the option is not given.
    type: str
  collect_seconds:
    description:
      - How long to wait for further results after the first one, in seconds. All of them become one event, with
        C(jobs), the list of what would be their own events, and the numbers C(failed), C(succeeded) and C(shortened).
      - An event has at most 500 results in 256 KiB, and the next event the rest. A result that alone is larger loses
        C(result) or C(error) and the end of C(msg), and has C(shortened). C(shortened) counts such results.
      - Use it for rules that react to many results together. A time window of a rule (C(throttle) with C(once_after))
        also collects events, but ansible-rulebook 1.3 can stop to react for good after a window with hundreds of them.
    type: float
  spool:
    description:
      - A SQLite file that stores the acknowledged results until they are delivered to the rules, so that none is lost
        when ansible-rulebook is killed. After a restart they are delivered, at most one of them a second time.
        Duplicates are recognized across restarts.
      - The file is readable by its owner only, and can be used by one source at a time.
    type: path
requirements:
  - aiohttp, which comes with ansible-rulebook
  - ansible-core in the Python environment of ansible-rulebook
"""

EXAMPLES = r"""
- name: React to jobs that fail
  hosts: localhost
  sources:
    - name: Results of jobs
      virtinfra.manager.job_results:
        port: 5443
        path: /{{ webhook_secret }}
        certfile: /etc/rulebook/receiver.pem
        spool: /var/lib/rulebook/job_results.sqlite
        base_url: https://manager.example.com:8443
  rules:
    - name: Report a failed job
      condition: not event.job.succeeded
      action:
        debug:
          msg: "{{ event.about | default(event.job.uuid) }}: {{ event.msg }}"
"""

import asyncio
import logging
import re
import ssl
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

# ansible-rulebook loads only this file, so the path of the collection is derived from it.
sys.path.insert(0, str(Path(__file__).absolute().parents[7]))

from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import ConnectionOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION, WEBHOOK_KEY, Options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.receiver import HAS_AIOHTTP, Receiver, listen
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.source import open_service, read_options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.store import Spool

LOG = logging.getLogger("virtinfra.manager.job_results")

OPTIONS: Options = {
    **CONNECTION,
    "host": {"type": "str", "default": "0.0.0.0"},
    "port": {"type": "int", "required": True},
    "path": {"type": "str", "required": True},
    "token": {"type": "str", "no_log": True},
    "certfile": {"type": "path"},
    "keyfile": {"type": "path", "no_log": False},
    "client_ca": {"type": "path"},
    "body_limit": {"type": "int", "default": 4 * 1024 * 1024},
    "buffer_size": {"type": "int", "default": 1000},
    "max_connections_per_peer": {"type": "int", "default": 64},
    "confirm": {"type": "bool", "default": True},
    **WEBHOOK_KEY,
    "collect_seconds": {"type": "float"},
    "spool": {"type": "path"},
}


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Receive posts and put their events into the queue, until the rulebook ends."""
    options = read_options(OPTIONS, args)
    check_options(options)
    context = build_tls_context(options)
    with ExitStack() as stack:
        client = None
        if options["confirm"]:
            client = stack.enter_context(open_service(ConnectionOptions.from_params(options)))
        spool = stack.enter_context(closing(Spool(options["spool"])))
        receiver = Receiver(options, spool, client, LOG)
        async with listen(receiver, options, context):
            await receiver.forward(queue)


def check_options(options: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for an invalid value."""
    if not HAS_AIOHTTP:
        raise InvalidOptions(
            f"the Python library aiohttp is not installed for {sys.executable}, which runs ansible-rulebook. Install it"
            " there."
        )
    if not 1 <= options["port"] <= 65535:
        raise InvalidOptions("port must be from 1 to 65535")
    if not options["path"]:
        raise InvalidOptions("path is empty. In the rulebooks of this collection, set the variable job_results_path")
    if not re.fullmatch(r"/[\w./~-]+", options["path"], re.ASCII):
        raise InvalidOptions(
            "path must have the form /a-secret-of-your-own: a slash, then letters, digits and . / _ ~ -"
        )
    if options["token"] is not None and not re.fullmatch(r"[\x21-\x7e]+", options["token"]):
        raise InvalidOptions("token must be printable ASCII without spaces, and not empty")
    _check_limits(options)
    for name in ("keyfile", "client_ca"):
        if options[name] and not options["certfile"]:
            raise InvalidOptions(f"{name} needs certfile")


def _check_limits(options: Mapping[str, Any]) -> None:
    """Raise InvalidOptions for a limit or a time that is not positive."""
    for name in ("body_limit", "buffer_size", "max_connections_per_peer"):
        if options[name] < 1:
            raise InvalidOptions(f"{name} must be at least 1")
    if options["collect_seconds"] is not None and not options["collect_seconds"] > 0:
        raise InvalidOptions("collect_seconds must be more than 0 seconds")


def build_tls_context(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    """Return the TLS context of the receiver, None for plain HTTP. Raise InvalidOptions for unusable files."""
    certfile, client_ca = options["certfile"], options["client_ca"]
    if not certfile:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Without a callback OpenSSL would ask for the password of an encrypted key at the terminal.
        context.load_cert_chain(certfile, options["keyfile"], password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise InvalidOptions(f"certfile {certfile} cannot be used: {error}") from None
    if client_ca:
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ssl.SSLError) as error:
            raise InvalidOptions(f"client_ca {client_ca} cannot be used: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context
