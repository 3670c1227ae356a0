"""A headless Firefox, driven through WebDriver BiDi; what does not depend on the protocol is Chromium's."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

from chromium import Chromium

KEYS = {"Enter": "\ue007", "ArrowDown": "\ue015", "Escape": "\ue00c"}


def executable() -> str | None:
    """Return the path of Debian's Firefox, or of another one."""
    return next((found for name in ("firefox-esr", "firefox") if (found := shutil.which(name))), None)


class Firefox(Chromium):
    """A browser with one tab.

    Attributes
    ----------
    complaints : list of str
        Errors of the console and of scripts, and addresses outside the disk, since the last page.
    """

    def __init__(self, path: str) -> None:
        import websocket

        address = self._launched(
            [path, "--headless", "--no-remote", "--remote-debugging-port=0"], "--profile "
        )
        self._socket = websocket.create_connection(f"{address}/session", timeout=120, suppress_origin=True)
        self._number = 0
        self.call("session.new", capabilities={})
        self._tab = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]  # type: ignore[no-any-return]
            self._notice(answer)

    def _notice(self, event: dict[str, Any]) -> None:
        what = event.get("params", {})
        if event.get("method") == "log.entryAdded" and what["level"] == "error":
            self.complaints.append(f"{what['type']}: {what['text']}")
        elif event.get("method") == "network.beforeRequestSent":
            address = what["request"]["url"]
            if not address.startswith(("file:", "data:", "blob:")):
                self.complaints.append(f"fetched from elsewhere: {address}")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "script.evaluate",
            expression=f"Promise.resolve({script}).then(value => JSON.stringify(value))",
            target={"context": self._tab},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        found = answer["result"].get("value")
        return None if found is None else json.loads(found)

    def open(self, address: str) -> None:
        """Open a page and wait until it has been loaded."""
        self.complaints = []
        self.call("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Press at the first place of the window, move over the others, and let go at the last."""
        moves: list[dict[str, Any]] = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0} for x, y in places
        ]
        press, release = ({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp"))
        actions = [moves[0], press, *moves[1:], release]
        self._act({"type": "pointer", "id": "mouse", "actions": actions})

    def type(self, text: str) -> None:
        """Type into the element that has the focus."""
        keys = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keys", "actions": keys})

    def press(self, key: str) -> None:
        """Press a key: Enter, ArrowDown, or a character."""
        self.type(KEYS.get(key, key))

    def _act(self, source: dict[str, Any]) -> None:
        self.call("input.performActions", context=self._tab, actions=[source])

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window, in CSS pixels."""
        size = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self._tab, viewport=size, devicePixelRatio=1)

    def screenshot(self, path: Path, of: str | None = None) -> None:
        """Save a picture of the window."""
        found = self.call("browsingContext.captureScreenshot", context=self._tab)
        path.write_bytes(base64.b64decode(found["data"]))
