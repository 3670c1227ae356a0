"""Reads the zip archive of a checkpoint; any damage becomes one kind of error."""

from __future__ import annotations

import errno
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, TypeVar

from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage

T = TypeVar("T")

# Exceptions that reading a damaged archive raises.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)


def read_archive(storage: Storage, name: str, read: Callable[[zipfile.ZipFile], T]) -> T:
    """Call ``read`` with the archive of a checkpoint and return its result."""

    def checked(file: IO[bytes]) -> T:
        try:
            with zipfile.ZipFile(file) as archive:
                return read(archive)
        except DataError:
            raise
        except (*DAMAGE, OSError) as error:
            if (
                isinstance(error, OSError) and error.errno != errno.EINVAL
            ):  # raised for a position before the beginning of the file
                raise
            raise DataError(f"the checkpoint {storage.path(name)!r} cannot be used: {error}") from error

    try:
        return storage.read_with(name, checked)
    except FileNotFoundError as error:
        raise DataError(f"the checkpoint {storage.path(name)!r} cannot be used: it does not exist") from error
