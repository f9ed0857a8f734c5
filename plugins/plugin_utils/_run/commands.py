"""Get secrets from commands of the user, such as those of a password manager: in the controller, once per run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._masking.masker import Masker
from ...module_utils._masking.patterns import mask_credentials
from ...module_utils._masking.terminal import make_printable
from .memory import edit_secrets

# The timeout of a command in seconds. A password manager may ask the user.
TIMEOUT = 60.0

# The longest text of a command's standard error that a message quotes.
MAX_QUOTED = 300


def read_secret(command: Sequence[str], label: str) -> str:
    """Return the first line that a command prints. ``label`` names the command in messages.

    The command runs without a shell, and once in a run: all processes of the run share its outcome in memory, also
    that it failed. Raise InvalidOptions if it fails.
    """
    with edit_secrets() as secrets:
        key = json.dumps([label, *command])
        if key not in secrets:
            try:
                secrets[key] = {"secret": _run(command, label)}
            except InvalidOptions as failure:
                secrets[key] = {"failure": str(failure)}
        outcome = secrets[key]
    if "failure" in outcome:
        raise InvalidOptions(outcome["failure"])
    return str(outcome["secret"])


def _open_memory() -> IO[bytes]:
    """Open a file that is in memory where the system can do that, and has no name elsewhere."""
    return os.fdopen(os.memfd_create("output"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile()


def _read_again(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _run(command: Sequence[str], label: str) -> str:
    """Run a command and return its first line."""
    # A process that the command leaves in the background would keep pipes open.
    output_file, error_file = _open_memory(), _open_memory()
    try:
        with (
            output_file,
            error_file,
            # In a process group of its own, so that what the command starts ends with it if it takes too long.
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output_file, stderr=error_file, start_new_session=True
            ) as process,
        ):
            try:
                process.wait(TIMEOUT)
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
            output, errors = _read_again(output_file), _read_again(error_file)
    except subprocess.TimeoutExpired:
        raise InvalidOptions(f"{label} did not end within {TIMEOUT:g} s") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it contains a null character"
        raise InvalidOptions(f"{label}: {make_printable(command[0])} cannot be run: {reason}") from None
    lines = output.decode("utf-8", "replace").splitlines()
    if process.returncode:
        masker = Masker(line.strip() for line in lines)
        # sh -x prints commands with their arguments, which may be secrets.
        said = [line for line in errors.decode("utf-8", "replace").splitlines() if not line.startswith("+")]
        text = make_printable(mask_credentials(masker.mask_text("\n".join(said).strip())))[:MAX_QUOTED]
        end = f"was ended by signal {-process.returncode}" if process.returncode < 0 else ""
        end = end or f"ended with exit code {process.returncode}"
        raise InvalidOptions(f"{label} {end}{f': {text}' if text else ''}")
    secret = lines[0].strip() if lines else ""
    if not secret or "\ufffd" in secret:
        raise InvalidOptions(f"{label} must print the secret in its first line, as UTF-8 text")
    return secret
