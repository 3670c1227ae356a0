"""A text that can be read only with three secrets in its URL, and a check that they are nowhere else."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

PASSWORD, TOKEN, SESSION = "s3cretpassw0rd", "t0ken/of+access", "5e55ion0f"
MARKS = (PASSWORD, TOKEN, quote(TOKEN, safe=""), SESSION)
TEXT = "".join(f"the cat w{i % 70} sat on the w{i % 50} mat\n" for i in range(400)).encode()


class Handler(BaseHTTPRequestHandler):
    """Serves one text to those who know the password, the token and the id of the session."""

    def do_GET(self) -> None:
        known = "Basic " + b64encode(f"user:{PASSWORD}".encode()).decode()
        secrets = (f";session={SESSION}", f"token={TOKEN}")
        if self.headers.get("Authorization") != known or not all(
            each in unquote(self.path) for each in secrets
        ):
            self.send_error(403)
        elif "/missing" in self.path:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(TEXT)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(TEXT)

    do_HEAD = do_GET

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def guarded_text() -> Iterator[str]:
    """Serve the text, and yield its URL with the secrets; the name ``missing`` instead is not found."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        place = f"127.0.0.1:{server.server_port}/t.txt;session={SESSION}"
        yield f"http://user:{PASSWORD}@{place}?token={quote(TOKEN, safe='')}"
    finally:
        server.shutdown()
        server.server_close()


def check_no_secret(folder: Path, *texts: str) -> None:
    """Check that no secret is in the texts, nor in name or content of a file in the folder."""
    for text in texts:
        assert not [mark for mark in MARKS if mark in text], text
    for path in folder.rglob("*"):
        assert not [mark for mark in MARKS if mark in path.name], path
        if path.is_file():
            content = path.read_bytes()
            assert not [mark for mark in MARKS if mark.encode() in content], path
