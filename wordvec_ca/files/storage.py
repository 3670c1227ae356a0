"""The storage of a run: a local folder, a folder that several machines share, or a URL.

A run accesses its storage only through one `Storage`, which turns every error into a `DataError` with the
file's name. fsspec alone is not enough: it does not write local files atomically, and each of its file
systems raises different errors.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from typing import IO, TypeVar

from wordvec_ca.errors import DataError
from wordvec_ca.files.atomic import atomic_file
from wordvec_ca.files.remote import file_system, is_transient, is_url, patiently
from wordvec_ca.showable import has_secrets, showable

T = TypeVar("T")

ABSENT = (FileNotFoundError, NotADirectoryError)
"""Errors that the system raises for a missing file; the second one if a parent in its path is a file."""


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
