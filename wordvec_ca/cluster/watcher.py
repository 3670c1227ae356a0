"""A message for when Ray ends this process, which it does at once and without an exception.

The driver's raylet, its object store or the GCS may die. What of Ray runs in this process then calls
``_exit``, and no handler of ours runs any more. So another process watches this one and says what to do.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_WATCH = 'read -r ended || printf "%s\\n" "$1" >&2'


@contextmanager
def reported_if_ended(message: str) -> Iterator[None]:
    """Within the block, have a message written to stderr if this process ends without leaving it."""
    try:
        watcher = subprocess.Popen(
            ["sh", "-c", _WATCH, "sh", message],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the driver
        )
    except OSError:  # a system without a shell
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            watcher.communicate(b"yes\n")
