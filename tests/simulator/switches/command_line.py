"""The command line of the simulator."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..app import create_app
from ..disks.disks import Disks, DisksUnavailable
from ..http.server import Server, ServerOptions, StartFailed
from ..service import Service
from . import parsing as option_parsing
from .options import Seed, Switches
from .parsing import InvalidOption

BANNER = """\
The simulator listens on {url}

To connect, paste this into the terminal in which you run Ansible:

export VIRTINFRA_BASE_URL={base_url}
export VIRTINFRA_SESSION_ID={session}
export VIRTINFRA_API_TOKEN={token}

To log in without the session, use the account {account} with the password {password}

To watch hosts, VMs, CBT tasks and jobs, and to inject faults, open {url}/
To stop the simulator, press Ctrl-C. It keeps nothing."""


UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BLOCK = 1 << 16


def main() -> int:
    """Serve until stopped, and return the exit code."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.detach and arguments.parent is None:
        parser.error("--detach needs --parent")
    if not arguments.tls_cert and (arguments.tls_key or arguments.tls_client_ca):
        parser.error("--tls-key and --tls-client-ca need --tls-cert")
    try:
        seed, switches = option_parsing.apply_options(Seed(), Switches(), option_parsing.parse_arguments(arguments))
        disks = Disks(arguments.disks, arguments.disk_size) if arguments.disks else None
    except (InvalidOption, DisksUnavailable) as error:
        parser.error(str(error))
    server_options = ServerOptions(**{name: getattr(arguments, name) for name in ServerOptions.__dataclass_fields__})
    service = Service(seed, switches, disks)
    server = Server(create_app(service, lambda: setattr(server, "should_exit", True)), server_options)

    def stop(number: int, dummy: object) -> None:
        # uvicorn has its own handlers while it runs. It raises the signal again after its shutdown.
        server.should_exit = True
        if number == signal.SIGINT:
            print("\nThe simulator has stopped.")

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, stop)
    try:
        listener = server.listen()
    except StartFailed as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.detach:
        if os.fork():
            print(listener.getsockname()[1])
            return 0
        detach()
    else:
        print(_banner(service, server_options, listener.getsockname()[1]), flush=True)
    with _removing(disks):
        server.run(sockets=[listener])
    return 0


@contextmanager
def _removing(disks: Disks | None) -> Iterator[None]:
    """Leave no processes and no files of disks."""
    try:
        yield
    finally:
        if disks:
            disks.clear()


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _size(text: str) -> int:
    """Return a size in bytes: a multiple of the 64 KiB of which qcow2 keeps track."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "")
    size = int(number) * UNITS.get(unit, 1) if number.isdecimal() else 0
    if size <= 0 or size % BLOCK:
        raise argparse.ArgumentTypeError(f"a size is a multiple of 64K such as 16M or 1G, not {text!r}")
    return size


# The arguments that are neither seed options nor switches, for the parser and for the guide.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "--host": {"default": "127.0.0.1", "metavar": "ADDRESS", "help": "address to listen on"},
    "--port": {"type": _port, "default": 8080, "metavar": "PORT", "help": "port to listen on; 0: any free port"},
    "--port-file": {
        "type": Path,
        "metavar": "FILE",
        "help": "file that the port is written to, atomically, when the simulator listens; removed when it stops",
    },
    "--parent": {
        "type": int,
        "metavar": "PID",
        "help": "the simulator stops when this process ends; default: the process that started it; 0: none",
    },
    "--detach": {
        "action": "store_true",
        "help": "run in the background, and print the port once it listens; needs `--parent`, with 0 it runs until it"
        " is stopped",
    },
    "--tls-cert": {"metavar": "FILE", "help": "certificate chain, PEM"},
    "--tls-key": {"metavar": "FILE", "help": "private key, PEM"},
    "--tls-client-ca": {"metavar": "FILE", "help": "CA of the certificates that clients must present, PEM"},
    "--disks": {
        "type": Path,
        "metavar": "DIR",
        "help": "real disks in an empty folder, for backup sessions and exports with QEMU",
    },
    "--disk-size": {"type": _size, "default": "16M", "metavar": "SIZE", "help": "size of each disk, such as 16M or 1G"},
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simulator",
        usage="%(prog)s [--port PORT] [--hosts NUMBER] [OPTION ...], or --help for all options",
        description="A simulated management service.",
    )
    for name, settings in ARGUMENTS.items():
        parser.add_argument(name, **settings)
    option_parsing.add_arguments(parser)
    return parser


def _banner(service: Service, options: ServerOptions, port: int) -> str:
    """Return what a user needs to connect."""
    switches = service.switches
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    url = f"http{'s' if options.tls_cert else ''}://{f'[{host}]' if ':' in host else host}:{port}"
    exports = {"base_url": url, "session": switches.session, "token": switches.token}
    exports |= {"account": switches.account, "password": switches.account_password}
    return BANNER.format(url=url, **{name: shlex.quote(text) for name, text in exports.items()})


def detach() -> None:
    """Detach from the terminal and from the output of the parent process, whose readers would wait for its end."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
