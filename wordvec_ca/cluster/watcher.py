"""Writes a message if Ray ends this process, which happens at once and without an exception.

The driver's raylet, its object store or the GCS may die. The part of Ray in this process then calls
``_exit``, and no handler of ours runs. So another process watches this one and reports what to do.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WATCH = """message=$1
while IFS= read -r line; do message=$line; done
[ -z "$message" ] || printf "%s\\n" "$message" >&2"""


@contextmanager
def reported_if_ended(message: str) -> Iterator[Callable[[str], None]]:
    """Have a message written to stderr if this process ends within the block.

    Yields a function that replaces the message by another line of text; with an empty text nothing is
    written.
    """
    try:
        watcher = subprocess.Popen(
            ["sh", "-c", _WATCH, "sh", message],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the driver
        )
    except OSError:  # a system without a shell
        yield lambda message: None
        return

    def replace(message: str) -> None:
        assert watcher.stdin is not None
        with contextlib.suppress(OSError):
            watcher.stdin.write(message.encode("utf-8", "replace") + b"\n")
            watcher.stdin.flush()

    try:
        yield replace
    finally:
        replace("")
        with contextlib.suppress(OSError):
            watcher.communicate()
