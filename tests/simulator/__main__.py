# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command: python -m simulator."""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys

from . import options
from .app import application
from .options import BadOption, Seed, Switches
from .server import Place, Server
from .service import Service


def main() -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description="A simulated management service.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8080, help="port to listen on; 0: any free one")
    parser.add_argument("--port-file", type=pathlib.Path, help="file that tells the port once it listens")
    parser.add_argument("--parent", type=int, help="process to end with, by default the one that starts it; 0: none")
    parser.add_argument("--tls-cert", help="certificate chain, PEM")
    parser.add_argument("--tls-key", help="private key, PEM")
    parser.add_argument("--tls-client-ca", help="CA of the certificates that clients must present, PEM")
    options.add_arguments(parser)
    arguments = parser.parse_args()
    try:
        seed, switches = options.changed(Seed(), Switches(), options.from_arguments(arguments))
    except BadOption as error:
        parser.error(str(error))
    place = Place(**{name: getattr(arguments, name) for name in Place.__dataclass_fields__})
    service = Service(seed, switches)
    server = Server(application(service, lambda: setattr(server, "should_exit", True)), place)
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises a signal again after it stopped; by then there is nothing left to do.
        signal.signal(number, lambda *dummy: None)
    server.listen()
    return 0


if __name__ == "__main__":
    sys.exit(main())
