"""Drive headless Chromium or Chrome, with the DevTools protocol over pipes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--remote-debugging-pipe")
# The browser reads commands from descriptor 3 and writes replies to descriptor 4.
WITH_PIPES = 'exec "$@" 3<&{commands} 4>&{replies}'
WAIT = """new Promise((resolve, reject) => {
  const check = () => { if (%s) resolve(true); else setTimeout(check, 20); };
  setTimeout(() => reject(new Error("never true")), 60000);
  check();
})"""


class PageError(RuntimeError):
    """A command failed, or a script in the page raised an exception."""


class Page:
    """The only page of a browser."""

    def __init__(self, commands: IO[bytes], replies: IO[bytes]) -> None:
        self._commands, self._replies = commands, replies
        self._last_id = 0
        self._session = ""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        self._last_id += 1
        session = {"sessionId": self._session} if self._session else {}
        self._commands.write(json.dumps({"id": self._last_id, "method": method, "params": params, **session}).encode())
        self._commands.write(b"\0")
        self._commands.flush()
        while (message := json.loads(self._read())).get("id") != self._last_id:
            pass
        if "error" in message:
            raise PageError(f"{method}: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result

    def _read(self) -> bytes:
        """Return the next message; messages end with a zero byte."""
        message = bytearray()
        while not message.endswith(b"\0"):
            if not (byte := self._replies.read(1)):
                raise PageError("the browser has ended")
            message += byte
        return bytes(message[:-1])

    def open(self, url: str, width: int = 1280, height: int = 800, dark: bool = False, media: str = "screen") -> None:
        """Show the page at an address in a window of this size in pixels, and wait until it is complete."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        if error := self._send("Page.navigate", url=url).get("errorText"):
            raise PageError(f"{url}: {error}")
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, or of its promise."""
        reply = self._send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise PageError(f"{expression}: {reply['exceptionDetails']['exception'].get('description')}")
        return reply["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        self.evaluate(WAIT % condition)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of the elements that a selector matches."""
        found: list[str] = self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)"
        )
        return found

    def screenshot(self, path: Path) -> None:
        """Write a PNG image of the whole page."""
        data = self._send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


def find_browser() -> str | None:
    """Return the command of an installed browser, None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def open_page(browser: str) -> Iterator[Page]:
    """Start a browser with an empty profile and home, and yield its page."""
    command_reader, command_writer = os.pipe()
    reply_reader, reply_writer = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        script = WITH_PIPES.format(commands=command_reader, replies=reply_writer)
        process = subprocess.Popen(
            ["bash", "-c", script, "browser", browser, *OPTIONS, f"--user-data-dir={home}"],
            env={**os.environ, "HOME": home},
            pass_fds=(command_reader, reply_writer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_reader)
        os.close(reply_writer)
        # The browser ends when the pipe of its commands is closed.
        with process, os.fdopen(reply_reader, "rb") as replies, os.fdopen(command_writer, "wb") as commands:
            yield Page(commands, replies)
