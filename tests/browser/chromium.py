"""A headless Chromium, driven through its DevTools protocol: enough to open pages and look at them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*", "--allow-file-access-from-files"),
)


def executable() -> str | None:
    """Return the path of Debian's Chromium, or of another one."""
    return next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )


class Chromium:
    """A browser with one tab.

    Attributes
    ----------
    complaints : list of str
        Errors of the console, of scripts and of loading, and addresses outside the disk, since the last page.
    """

    def __init__(self, path: str) -> None:
        import websocket

        address = self._launched([path, *FLAGS, "about:blank"], "--user-data-dir=")
        self._socket = websocket.create_connection(address, timeout=60)
        self._number, self._session = 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _launched(self, command: list[str], profile: str) -> str:
        """Start the browser with an empty profile; return the address at which it takes commands."""
        self.complaints: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [*command, *f"{profile}{self._profile.name}".split()],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        found = (re.search(r"listening on (ws://\S+)", line) for line in self._process.stderr)
        return next(one[1] for one in found if one)

    def __enter__(self) -> Self:
        """Return the browser."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)
        self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps({**message, "sessionId": self._session} if self._session else message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]  # type: ignore[no-any-return]
            self._notice(answer)

    def _notice(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {what['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled" and what["type"] == "error":
            self.complaints.append(f"console: {what['args']}")
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.complaints.append(f"log: {what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(
            ("file:", "data:", "blob:")
        ):
            self.complaints.append(f"fetched from elsewhere: {what['request']['url']}")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, address: str) -> None:
        """Open a page and wait until it has been loaded."""
        self.complaints = []
        self.call("Page.navigate", url=address)
        there = f"location.href.startsWith({json.dumps(address.partition('#')[0])})"
        self.wait(f"{there} && document.readyState == 'complete'")

    def wait(self, condition: str, seconds: float = 30.0) -> None:
        """Wait until an expression in the page is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not become true in {seconds} s"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click on the middle of the first element of a selector."""
        self.drag([self._middle(selector)])

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Press at the first place of the window, move over the others, and let go at the last."""
        button: dict[str, Any] = {"button": "left", "clickCount": 1}
        (x, y), *others = places
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        for x, y in others:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **button)

    def _middle(self, selector: str) -> tuple[float, float]:
        found = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        assert found, f"there is no {selector}"
        return found[0], found[1]

    def type(self, text: str) -> None:
        """Type into the element that has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key: Enter, ArrowDown, or a character."""
        code = {"Enter": 13, "ArrowDown": 40, "Escape": 27}.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                **({"text": text} if kind == "keyDown" and text else {}),
            )  # fmt: skip

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def screenshot(self, path: Path, of: str | None = None) -> None:
        """Save a picture of the window, or of one element of it, with twice as many pixels each way."""
        import base64

        clip = {}
        if of is not None:
            box = self.evaluate(
                f"(({{x, y, width, height}}) => ({{x, y, width, height}}))"
                f"(document.querySelector({of!r}).getBoundingClientRect())"
            )
            clip = {"clip": {**box, "scale": 2}}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **clip)["data"]))
