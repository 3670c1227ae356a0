"""Writes a message if this process is ended at once and without an exception, and ends Ray's on this machine.

If the driver's raylet or the GCS dies, the part of Ray in this process calls ``_exit``, and no handler of
ours runs; nor does one after kill -9. So another process waits for the end of this one.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WATCH = """
import os, signal, sys
message, mark, folder = sys.argv[1], None, None


def is_ours(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        if mark in file.read().split(b"\\0"):
            return True
    # A process that Ray has given a title has lost its environment, but not the files of its log.
    files = f"/proc/{pid}/fd"
    return folder is not None and any(
        os.readlink(f"{files}/{one}").startswith(folder) for one in os.listdir(files)
    )


for line in sys.stdin:
    kind, _, rest = line.rstrip("\\n").partition(" ")
    if kind == "mark":
        mark = rest.encode()
    elif kind == "folder":
        folder = rest
    else:
        message = rest
if message:
    print(message, file=sys.stderr, flush=True)
    for pid in os.listdir("/proc") if mark and os.path.isdir("/proc") else []:
        try:
            if is_ours(pid):
                os.kill(int(pid), signal.SIGKILL)
        except (OSError, ValueError):
            pass
"""


class Watcher:
    """What is to be done when this process is ended."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def message(self, text: str) -> None:
        """Set the message."""
        self._tell(f"message {text}")

    def kill(self, mark: str) -> None:
        """Set the variable, as ``NAME=VALUE``, that the processes have which are to be ended too."""
        self._tell(f"mark {mark}")

    def kill_users(self, folder: str) -> None:
        """Set a folder in which the processes have open files that are to be ended, too."""
        self._tell(f"folder {folder}")


@contextmanager
def watched(message: str) -> Iterator[Watcher]:
    """Have a message written to stderr, and processes ended, if this process ends within the block."""
    watcher = subprocess.Popen(
        [sys.executable, "-ISc", _WATCH, message],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the driver
    )

    def tell(line: str) -> None:
        assert watcher.stdin is not None
        with contextlib.suppress(OSError):
            watcher.stdin.write(line.encode("utf-8", "replace") + b"\n")
            watcher.stdin.flush()

    try:
        yield Watcher(tell)
    finally:
        tell("message ")
        with contextlib.suppress(OSError):
            watcher.communicate()
