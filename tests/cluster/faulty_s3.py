"""An S3 server on this machine that fails as wanted: moto behind a proxy that refuses, hangs or throttles.

with FaultyS3() as server:
    server.fail("refuse", 40)
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

SERVER = """
import sys
from moto.s3.models import s3_backends
from moto.server import main

s3_backends["123456789012"]["aws"].create_bucket("bucket", "us-east-1")
main()
"""

SLOW_DOWN = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"""

FAULTS = ("refuse", "hang", "throttle", "cut")


class FaultyS3:
    """The server, for the duration of a ``with`` block, in which environment variables give boto its address.

    Attributes
    ----------
    share : float
        Share of the requests that fail.
    met : int
        Number of requests that have failed.
    """

    def __init__(self) -> None:
        self.fault, self.until, self.share, self.met = "", 0.0, 1.0, 0
        self._rng, self._lock = random.Random(1), threading.Lock()

    def __enter__(self) -> FaultyS3:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = int(found.getsockname()[1])
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", str(self._port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self._port}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._proxy.daemon_threads = True
        threading.Thread(target=self._proxy.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._proxy.server_address[1]}"
        self._former = {name: os.environ.get(name) for name in self.variables()}
        os.environ.update(self.variables())
        return self

    def variables(self) -> dict[str, str]:
        """Return the variables that the environment of a client needs."""
        return {
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
        }

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._process.kill()
        self._process.wait()
        for name, value in self._former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def fail(self, fault: str, seconds: float, share: float = 1.0) -> None:
        """Let a share of the requests fail, from now on and for a number of seconds."""
        self.fault, self.until, self.share = fault, time.monotonic() + seconds, share

    def fault_now(self) -> str:
        """Return the fault of a request, or an empty string."""
        with self._lock:
            if time.monotonic() >= self.until or self._rng.random() >= self.share:
                return ""
            self.met += 1
            return self.fault

    def forward(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, list, bytes]:
        """Return the status, the headers and the content with which the server answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


def _handler(server: FaultyS3) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = server.fault_now()
            if fault == "hang":
                while time.monotonic() < server.until:
                    time.sleep(0.2)
            if fault in ("refuse", "hang"):
                self.close_connection = True
                self.connection.close()
                return
            if fault == "throttle":
                self._send(503, [("Content-Type", "application/xml")], SLOW_DOWN, len(SLOW_DOWN))
                return
            status, headers, content = server.forward(self.command, self.path, dict(self.headers), body)
            n_bytes = len(content)
            if fault == "cut" and self.command == "GET":
                content = content[: n_bytes // 2]
                self.close_connection = True
            self._send(status, headers, content, n_bytes)

        def _send(self, status: int, headers: list[tuple[str, str]], content: bytes, n_bytes: int) -> None:
            self.send_response_only(status)
            kept = [(name, value) for name, value in headers if name.lower() not in LEFT_OUT]
            if self.command == "HEAD":
                kept += [(name, value) for name, value in headers if name.lower() == "content-length"]
            else:
                kept.append(("Content-Length", str(n_bytes)))
            for name, value in kept:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer

        def log_message(self, *args: object) -> None:
            pass

    return Handler


LEFT_OUT = ("content-length", "connection", "transfer-encoding")
