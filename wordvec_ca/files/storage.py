"""The storage of a run: a local folder, a folder that several machines share, or a URL.

A run accesses its storage only through one `Storage`, which turns every error into a `DataError` with the
file's name. fsspec alone is not enough: it does not write local files atomically, and each of its file
systems raises different errors. Remote files, at URLs that fsspec supports (``s3://``, ``https://``), are
tried repeatedly.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable
from typing import IO, Any, TypeVar

from wordvec_ca.errors import DataError, install_extra
from wordvec_ca.files.atomic import atomic_file
from wordvec_ca.files.kinds import is_read_once
from wordvec_ca.showable import has_secrets, showable

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")

# Words that occur in the class names of transient errors.
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

# Seconds before the second attempt, and longest pause; each pause is twice as long as the previous one.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0

# Seconds between two warnings that a server does not answer.
WARN_EVERY = 30.0

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
    """Return action(), repeated with growing pauses while it raises transient errors."""
    # fsspec's file systems also retry, but each in its own way, only for seconds, and only for errors that
    # it knows. This function does it in one way for all of them, and warns the user.
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


# Errors that the system raises for a missing file; the second one if a parent in its path is a file.
ABSENT = (FileNotFoundError, NotADirectoryError)


class Storage:
    """A folder, named by its path or by a URL that fsspec supports."""

    def __init__(self, place: str | os.PathLike[str], patience: float = 0.0) -> None:
        given = os.fspath(place)
        self.is_remote = is_url(given)
        self.place = given.rstrip("/") if self.is_remote else os.path.abspath(given)
        self.patience = patience

    def path(self, name: str) -> str:
        """Return the path or URL of a file in the folder."""
        return f"{self.place}/{name}"

    def write(
        self,
        name: str,
        content: bytes | memoryview | Callable[[IO[bytes]], object],
        *,
        private: bool = False,
    ) -> None:
        """Write a file atomically, flushed to the disk."""
        put = content if callable(content) else lambda file: file.write(content)
        try:
            self._attempt("write", name, lambda: self._write(name, put, private))
        except ABSENT as error:
            raise DataError(f"cannot write {self.path(name)!r}: {error.strerror or error}") from error

    def _write(self, name: str, put: Callable[[IO[bytes]], object], private: bool) -> None:
        if not self.is_remote:
            os.makedirs(self.place, exist_ok=True)
            with atomic_file(self.path(name), follow_links=False, private=private) as stream:
                put(stream)
            return
        system, path = file_system(self.path(name))
        file = system.open(path, "wb")
        try:
            put(file)
        except BaseException:
            file.discard()
            file.closed = True
            raise
        file.close()

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        try:
            return self.read_with(name, lambda file: file.read())
        except ABSENT:
            return None

    def read_with(self, name: str, action: Callable[[IO[bytes]], T]) -> T:
        """Return action(file) for a file opened for reading; repeat it if the storage fails meanwhile."""

        def read() -> T:
            with self._open(name) as file:
                return action(file)

        return self._attempt("read", name, read)

    def _open(self, name: str) -> IO[bytes]:
        if not self.is_remote:
            return open(self.path(name), "rb")
        system, path = file_system(self.path(name))
        system.invalidate_cache()
        file: IO[bytes] = system.open(path, "rb")
        return file

    def names(self) -> list[str]:
        """Return the sorted names of the files and folders in the folder; none if it does not exist."""

        def look() -> list[str]:
            if not self.is_remote:
                return os.listdir(self.place)
            system, path = file_system(self.place)
            system.invalidate_cache()
            return [os.path.basename(file) for file in system.ls(path, detail=False)]

        try:
            return sorted(self._attempt("read", "", look))
        except ABSENT:
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

        def remove() -> None:
            if self.is_remote:
                system, path = file_system(self.path(name))
                system.rm_file(path)
            else:
                os.unlink(self.path(name))

        try:
            self._attempt("remove", name, remove)
        except ABSENT:
            pass

    def free_bytes(self) -> float:
        """Return the number of free bytes; infinity if unknown."""
        try:
            return math.inf if self.is_remote else shutil.disk_usage(self.place).free
        except OSError:
            return math.inf

    def remove_folder(self) -> None:
        """Remove the folder itself if it is empty; object stores do not have folders."""
        if not self.is_remote:
            try:
                os.rmdir(self.place)
            except OSError:
                pass

    def _attempt(self, verb: str, name: str, action: Callable[[], T]) -> T:
        """Return action(), repeated for up to ``patience`` seconds; every access to the storage uses this
        method.
        """
        place = self.path(name) if name else self.place
        try:
            return patiently(action, place, self.patience)
        except (DataError, *ABSENT):
            raise
        except Exception as error:
            if not (isinstance(error, OSError) or is_transient(error)):  # the action's own error
                raise
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            raise DataError(f"cannot {verb} {place!r}: {showable(reason, [place])}") from (
                None if has_secrets([place]) else error
            )
