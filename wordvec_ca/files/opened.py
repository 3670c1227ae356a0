"""Opens files now to read them later, even if their names refer to other files by then.

While a server uses a model, a new model may replace it on disk. If only file names were kept, they would
later refer to the new files, which do not fit the old vectors.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files.checksums import check_sample
from wordvec_ca.files.npy import map_npy

T = TypeVar("T")

# Number of attempts to read a folder while other processes replace its files.
ATTEMPTS = 5


class OpenedFile:
    """A file that stays open until its content is read or it is no longer needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content: bytes | None = None
        try:
            self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            self._error: OSError | None = error
            return
        self._error = None
        self._state = _state(os.fstat(self._descriptor))
        weakref.finalize(self, os.close, self._descriptor)

    def read(self) -> bytes:
        """Return the whole content."""
        if self._content is not None:
            return self._content
        if self._error is not None:
            raise DataError(f"cannot read {self._path}: {self._error.strerror or self._error}")
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            content = file.read()
        if _state(os.fstat(self._descriptor)) != self._state:
            raise DataError(f"{self._path} has changed since the model was loaded: load the model again")
        return content

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content, since an open file cannot be sent to another process."""
        return {"_path": self._path, "_content": self.read()}


class OpenedArray:
    """An ``.npy`` file that is mapped now. If it is missing or damaged, `get` raises the error."""

    def __init__(self, path: Path) -> None:
        self._array: NDArray[Any] | None = None
        self._error: Exception | None = None
        try:
            check_sample(path)
            self._array = map_npy(path)
        except (FileNotFoundError, DataError) as error:
            self._error = error

    def get(self) -> NDArray[Any]:
        """Return the array."""
        if self._array is None:
            assert self._error is not None
            raise self._error.with_traceback(None)
        return self._array

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content, not the name of the file."""
        return {
            "_array": None if self._array is None else in_memory(self._array),
            "_error": None if self._error is None else self._error.with_traceback(None),
        }


def in_memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in memory: the same array, or a copy if it is memory-mapped."""
    # This is needed for pickling: joblib would send the file's name, which may refer to another model
    # later.
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return np.array(array, subok=False) if isinstance(base, mmap.mmap) else array


def read_whole_folder(folder: Path, read: Callable[[], T]) -> T:
    """Return what a function reads from several files of a folder; repeat it if one was replaced."""
    for _ in range(ATTEMPTS):
        before = _states(folder)
        try:
            found = read()
        except (DataError, OSError):
            if _states(folder) == before:
                raise
            continue
        if _states(folder) == before:
            return found
    raise DataError(f"the files of {folder} change while they are read: try again when they are complete")


def _states(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return identifiers that change if files of a folder are replaced by others of the same names."""
    found = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                found[entry.name] = _state(os.stat(entry.path))
    return found


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
