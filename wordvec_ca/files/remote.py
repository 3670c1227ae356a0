"""Accesses remote files at URLs that fsspec supports (``s3://``, ``https://``), with repeated attempts."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from wordvec_ca.errors import DataError, install_extra
from wordvec_ca.files.pipes import is_read_once
from wordvec_ca.showable import has_secrets, showable

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")

_OF_CONNECTIONS = (
    "connect",
    "timeout",
    "payload",
    "endpoint",
    "clienterror",
    "ssl",
    "incompleteread",
    "slowdown",
)
"""Words that occur in the class names of transient errors."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""Seconds before the second attempt, and longest pause; each pause is twice as long as the previous one."""

WARN_EVERY = 30.0
"""Seconds between two warnings that a server does not answer."""

T = TypeVar("T")


def is_url(path: str) -> bool:
    """Return whether a path is a URL (``s3://bucket/key``), not a file of this machine."""
    return _URL.match(path) is not None


def absolute_name(name: str) -> str:
    """Return the absolute name of a file; URLs and ``-`` are returned unchanged."""
    remote = is_url(name) and not os.path.exists(name)
    if is_read_once(name):
        return "-"
    return name if remote else os.path.abspath(name)


def file_system(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise DataError(
            f"{url!r} is a URL, and fsspec is not installed: {install_extra('remote')}"
        ) from error
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:  # the message names the package
        raise DataError(f"cannot open {url!r}: {error}; pip install it") from error
    except ValueError as error:
        why = showable(str(error), [url])
        raise DataError(
            f"cannot open {url!r}: {why}; give a file of this machine, or a URL such as s3://bucket/key"
        ) from (None if has_secrets([url]) else error)
    return system, path


def patiently(action: Callable[[], T], place: str, patience: float) -> T:
    """Return action(), repeated with growing pauses while it raises transient errors.

    fsspec's file systems also retry, but each in its own way, only for seconds, and only for errors that it
    knows. This function does it in one way for all of them, and warns the user.
    """
    pause = FIRST_PAUSE
    first = warned_at = 0.0
    while True:
        try:
            return action()
        except Exception as error:  # each file system raises errors of its own
            now = time.monotonic()
            first = first or now
            if not is_transient(error) or now + pause > first + patience:
                raise
            if now - warned_at > WARN_EVERY:
                lasts = f" for {now - first:.0f} s" if warned_at else ""
                message = f"{place!r} does not answer{lasts} ({error}); it is tried again"
                warnings.warn(showable(message, [place]), stacklevel=3)
                warned_at = now
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def is_transient(error: BaseException | None) -> bool:
    """Return whether an error is due to the connection, so that another attempt may succeed."""
    while error is not None:
        if isinstance(error, DataError | FileNotFoundError | PermissionError):
            return False
        if isinstance(error, TimeoutError | ConnectionError | EOFError):
            return True
        kind = type(error).__name__.lower()
        if any(name in kind for name in _OF_CONNECTIONS) and "nocredentials" not in kind:
            return True
        if getattr(error, "errno", None) in (5, 11, 32, 104, 110, 111, 112, 113):
            return True
        error = error.__cause__
    return False
