# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line: python -m simulator."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

from . import option_parsing
from .app import create_app
from .option_parsing import InvalidOption
from .options import Seed, Switches
from .server import Server, ServerOptions
from .service import Service


def main() -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description="A simulated management service.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on; 0: any free port")
    parser.add_argument("--port-file", type=pathlib.Path, help="file to write the port to when the server listens")
    parser.add_argument(
        "--parent",
        type=int,
        help="PID of the process whose end stops the simulator; default: the one that starts it; 0: none",
    )
    parser.add_argument("--detach", action="store_true", help="run in the background, print the port; needs --parent")
    parser.add_argument("--tls-cert", help="certificate chain, PEM")
    parser.add_argument("--tls-key", help="private key, PEM")
    parser.add_argument("--tls-client-ca", help="CA of the certificates that clients must present, PEM")
    option_parsing.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.detach and arguments.parent is None:
        parser.error("--detach needs --parent")
    try:
        seed, switches = option_parsing.apply_options(Seed(), Switches(), option_parsing.parse_arguments(arguments))
    except InvalidOption as error:
        parser.error(str(error))
    server_options = ServerOptions(**{name: getattr(arguments, name) for name in ServerOptions.__dataclass_fields__})
    service = Service(seed, switches)
    server = Server(create_app(service, lambda: setattr(server, "should_exit", True)), server_options)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal again after its shutdown, when nothing is left to do.
        signal.signal(signal_number, lambda *dummy: None)
    listener = server.listen()
    if arguments.detach:
        if os.fork():
            print(listener.getsockname()[1])
            return 0
        detach()
    server.run(sockets=[listener])
    return 0


def detach() -> None:
    """Leave the terminal and the output of the parent process, which would otherwise not end for whoever reads it."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


if __name__ == "__main__":
    sys.exit(main())
