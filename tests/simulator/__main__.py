"""Start the simulator: python -m simulator."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path


def main() -> int:
    """Run the command line; explain what to do if a package is missing."""
    # Ctrl-C during the imports ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from .switches import command_line
    except ModuleNotFoundError as error:
        requirements = Path(__file__).with_name("requirements.txt")
        install = shlex.join([sys.executable, "-m", "pip", "install", "-r", str(requirements)])
        print(
            f"The simulator needs the Python package {error.name}. Start it with 'make simulator', which installs its"
            f" packages in a folder of the checkout, or run: {install}",
            file=sys.stderr,
        )
        return 1
    return command_line.main()


if __name__ == "__main__":
    sys.exit(main())
