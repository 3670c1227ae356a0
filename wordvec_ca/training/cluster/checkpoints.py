"""Checkpoints of a cluster's run on shared storage: a folder that all nodes see, or a URL.

A checkpoint is an uncompressed zip archive of ``state.json`` and the parameters as ``.npy``; its CRC-32 sums
tell a whole file from a damaged one. Beside it lie ``cluster.json``, what was asked for, and ``vocab.tsv``.
"""

from __future__ import annotations

import json
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, read_npy_header, write_npy
from wordvec_ca.text import is_url

CHECKPOINT_FORMAT = 1
BLOCK_BYTES = 1 << 24
_DAMAGE = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    NotImplementedError,
    OverflowError,
)


class Storage:
    """A folder for checkpoints: a path that all nodes see, or a URL that fsspec knows.

    Parameters
    ----------
    place : str
        Path or URL of the folder.
    """

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/") if is_url(place) else os.path.abspath(place)

    def path(self, name: str) -> str:
        """Return the path or URL of a file in it."""
        return f"{self.place}/{name}"

    def write(self, name: str, data: bytes) -> None:
        """Write a file; it appears whole or not at all."""
        try:
            with written(self.path(name)) as file:
                file.write(data)
        except OSError as error:
            raise DataError(f"cannot write {self.path(name)!r}: {error}") from error

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        try:
            with opened(self.path(name)) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"cannot read {self.path(name)!r}: {error}") from error

    def names(self) -> list[str]:
        """Return the files' names."""
        if not is_url(self.place):
            return sorted(os.listdir(self.place)) if os.path.isdir(self.place) else []
        try:
            with _faults():
                system, path = _system(self.place)
                system.invalidate_cache()
                return sorted(os.path.basename(file) for file in system.ls(path, detail=False))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataError(f"cannot read {self.place!r}: {error}") from error

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        try:
            if is_url(self.place):
                with _faults():
                    system, path = _system(self.path(name))
                    system.rm_file(path)
            else:
                os.unlink(self.path(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DataError(f"cannot remove {self.path(name)!r}: {error}") from error

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
                state = read_state(self.path(name))
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

    def remove_folder(self) -> None:
        """Remove the folder itself, if nothing is in it."""
        if not is_url(self.place):
            try:
                os.rmdir(self.place)
            except OSError:
                pass


@contextmanager
def _faults() -> Iterator[None]:
    """Make errors of file systems, which each have their own, an OSError."""
    try:
        yield
    except (OSError, DataError):
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise DataError(
            f"{url!r} is a URL, and fsspec is not installed: pip install wordvec-ca[remote]"
        ) from error
    system, path = fsspec.core.url_to_fs(url)
    return system, path


def opened(place: str) -> IO[bytes]:
    """Open a file of the storage to read."""
    if not is_url(place):
        return open(place, "rb")
    with _faults():
        system, path = _system(place)
        system.invalidate_cache()
        file: IO[bytes] = system.open(path, "rb")
    return file


def written(place: str) -> Any:
    """Open a file of the storage to write; as a context it is there at the end, whole, or not."""
    if is_url(place):
        return _Upload(place)
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    return atomic_file(Path(place), follow_links=False)


class _Upload:
    """A file behind a URL that is completed only if the block ends well."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> IO[bytes]:
        with _faults():
            system, path = _system(self._url)
            self._file = system.open(path, "wb")
        file: IO[bytes] = self._file
        return file

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            with _faults():
                self._file.close()
        else:
            self._file.discard()
            self._file.closed = True


def write_checkpoint(place: str, state: Mapping[str, Any], parameters: Mapping[str, np.ndarray]) -> int:
    """Write a checkpoint; it appears whole or not at all; return the bytes of its parameters.

    Raises
    ------
    DataError
        It cannot be written.
    """
    record = {"format": CHECKPOINT_FORMAT, **state}
    try:
        with written(place) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("state.json", json.dumps(record, indent=1))
            for name, array in parameters.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write_npy(member, array)
    except OSError as error:
        raise DataError(f"no checkpoint could be written to {place!r}: {error}") from error
    return sum(array.nbytes for array in parameters.values())


def read_state(place: str) -> dict[str, Any]:
    """Return the state in a checkpoint, having looked at whether the archive is complete.

    Raises
    ------
    DataError
        It is damaged, or of another version.
    """
    try:
        with opened(place) as file, zipfile.ZipFile(file) as archive:
            state = json.loads(archive.read("state.json"))
        if not isinstance(state, dict) or state.pop("format", None) != CHECKPOINT_FORMAT:
            raise ValueError("it has a format that this version does not know")
    except _DAMAGE as error:
        raise DataError(f"the checkpoint {place!r} cannot be used: {error}") from error
    return state


def read_parameters(place: str, parameters: Mapping[str, np.ndarray]) -> None:
    """Read the parameters in a checkpoint into arrays of their shape.

    Raises
    ------
    DataError
        It is damaged, or they do not fit.
    """
    try:
        with opened(place) as file, zipfile.ZipFile(file) as archive:
            for name, array in parameters.items():
                with archive.open(f"{name}.npy") as member:
                    _read_into(member, array, name)
    except _DAMAGE as error:
        raise DataError(f"the checkpoint {place!r} cannot be used: {error}") from error


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
