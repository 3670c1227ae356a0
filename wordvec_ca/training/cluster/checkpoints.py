"""Checkpoints of a cluster's run on shared storage: a folder that all nodes see, or a URL.

A checkpoint is an uncompressed zip archive of ``state.json`` and the parameters as ``.npy``; its CRC-32 sums
tell a whole file from a damaged one. Beside it lie ``cluster.json``, what was asked for, and ``vocab.tsv``.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, read_npy_header, write_npy

T = TypeVar("T")
CHECKPOINT_FORMAT = 1
BLOCK_BYTES = 1 << 24
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    NotImplementedError,
    OverflowError,
)


class CheckpointStorage(Storage):
    """A folder for checkpoints: a path that all nodes see, or a URL that fsspec knows."""

    def checkpoints(self) -> list[str]:
        """Return the checkpoints' names, newest first."""
        return sorted((n for n in self.names() if re.fullmatch(r"\d{6,9}\.checkpoint", n)), reverse=True)

    def next_checkpoint(self) -> str:
        """Return the name of the next one."""
        newest = self.checkpoints()[:1]
        return f"{int(newest[0].split('.')[0]) + 1 if newest else 1:06}.checkpoint"

    def drop_old(self) -> None:
        """Remove all checkpoints but the last two."""
        for name in self.checkpoints()[2:]:
            self.remove(name)

    def newest(self, unusable: Mapping[str, str] | None = None) -> tuple[str, dict[str, Any]] | None:
        """Return the newest checkpoint that is whole and its state; None if there is no checkpoint.

        Only the state is looked at here: the driver does not read parameters.

        Parameters
        ----------
        unusable : mapping of str to str, optional
            Checkpoints of which a node has found the parameters damaged, and how.

        Raises
        ------
        DataError
            There are some, and none is whole.
        """
        reasons = []
        for name in self.checkpoints():
            if unusable and name in unusable:
                reasons.append(unusable[name])
                continue
            try:
                state = read_state(self, name)
            except DataError as error:
                reasons.append(str(error))
                continue
            for reason in reasons:
                warnings.warn(f"{reason}; the one before it is used", stacklevel=2)
            return name, state
        if reasons:
            raise DataError(f"no checkpoint can be read: {'; '.join(reasons)}")
        return None

    def clear(self) -> None:
        """Remove all that a run has put there, and the folder if nothing else is in it."""
        for name in [*self.checkpoints(), "vocab.tsv", "counted.json", "cluster.json"]:
            self.remove(name)
        self.remove_folder()


class Counted(io.RawIOBase):
    """A stream to write to that tells of each piece.

    Parameters
    ----------
    file : binary file
    written : callable
        Is told of the bytes.
    """

    def __init__(self, file: IO[bytes], written: Callable[[int], None]) -> None:
        super().__init__()
        self._file, self._written = file, written

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write bytes."""
        for start in range(0, len(view := memoryview(data).cast("B")), BLOCK_BYTES):
            part = view[start : start + BLOCK_BYTES]
            self._file.write(part)
            self._written(len(part))
        return len(view)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()

    def flush(self) -> None:
        """Do nothing: whoever opened the file closes it."""


def write_checkpoint(
    storage: Storage,
    name: str,
    state: Mapping[str, Any],
    parameters: Mapping[str, np.ndarray],
    written: Callable[[int], None] = lambda n_bytes: None,
) -> int:
    """Write a checkpoint; it appears whole or not at all; return the bytes of its parameters.

    Parameters
    ----------
    storage, name
        Where to.
    state : mapping
    parameters : mapping of str to ndarray of float32
    written : callable
        Is told of bytes when they are written, and at the end of 0; what it raises ends the writing.

    Raises
    ------
    DataError
        It cannot be written.
    """
    record = {"format": CHECKPOINT_FORMAT, **state}

    def put(file: IO[bytes]) -> None:
        with zipfile.ZipFile(Counted(file, written), "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("state.json", json.dumps(record, indent=1))
            for name, array in parameters.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write_npy(member, array)
        written(0)

    try:
        storage.write(name, put)
    except DataError as error:
        raise DataError(f"no checkpoint could be written: {error}") from error
    return sum(array.nbytes for array in parameters.values())


def read_state(storage: Storage, name: str) -> dict[str, Any]:
    """Return the state in a checkpoint, having looked at whether the archive is complete.

    Raises
    ------
    DataError
        It is damaged, or of another version.
    """

    def state(archive: zipfile.ZipFile) -> dict[str, Any]:
        found = json.loads(archive.read("state.json"))
        if not isinstance(found, dict) or found.pop("format", None) != CHECKPOINT_FORMAT:
            raise ValueError("it has a format that this version does not know")
        return found

    return _read(storage, name, state)


def read_parameters(storage: Storage, name: str, parameters: Mapping[str, np.ndarray]) -> None:
    """Read the parameters in a checkpoint into arrays of their shape.

    Raises
    ------
    DataError
        It is damaged, or they do not fit.
    """

    def fill(archive: zipfile.ZipFile) -> None:
        for name, array in parameters.items():
            with archive.open(f"{name}.npy") as member:
                _read_into(member, array, name)

    _read(storage, name, fill)


def _read(storage: Storage, name: str, action: Callable[[zipfile.ZipFile], T]) -> T:
    """Return what an action finds in a checkpoint; a DataError tells of damage."""

    def read(file: IO[bytes]) -> T:
        try:
            with zipfile.ZipFile(file) as archive:
                return action(archive)
        except _DAMAGE as error:
            raise DataError(f"the checkpoint {storage.path(name)!r} cannot be used: {error}") from error

    try:
        return storage.read_with(name, read)
    except FileNotFoundError as error:
        raise DataError(f"there is no checkpoint {storage.path(name)!r}") from error


def _read_into(member: IO[bytes], array: np.ndarray, name: str) -> None:
    shape, fortran, dtype = read_npy_header(member)
    if shape != array.shape or fortran or dtype != np.dtype("<f4"):
        raise ValueError(f"{name} has shape {shape} and type {dtype}; expected {array.shape}, float32")
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK_BYTES // 4):
        part = flat[start : start + BLOCK_BYTES // 4]
        data = member.read(part.nbytes)
        if len(data) != part.nbytes:
            raise EOFError(f"{name} is cut off")
        part[:] = np.frombuffer(data, "<f4")
    if member.read(1):
        raise ValueError(f"{name} is longer than its header says")
