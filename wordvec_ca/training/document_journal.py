"""Stores rows of documents in checkpoints: each contains the rows that changed since the previous one.

Training changes the rows in place, in ``documents.work``. After a crash that file holds a mixture of states,
so it is rebuilt. The first checkpoint of a run contains all rows. Each later one contains the blocks that
were touched, and the name of the previous checkpoint. Before a checkpoint is removed, its rows are copied to
``documents.base``. The base and the checkpoints, applied in order, give the rows of any checkpoint that is
kept. If a process is killed while it copies, the base is mixed too, but the checkpoint still exists and is
copied again. Any damage of a checkpoint's archive becomes one kind of error.
"""

from __future__ import annotations

import errno
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import (
    Storage,
    read_npy_header,
    release_pages,
    scratch_array,
    write_npy,
    write_npy_pieces,
)
from wordvec_ca.models import TOUCHED_ROWS, DocumentRows

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


# File with the rows of documents from checkpoints that were removed.
BASE = "documents.base"

# Members of a checkpoint: the name of the previous checkpoint, the numbers of the blocks, and their rows.
BEFORE, BLOCKS, ROWS = "documents.before", "documents.blocks.npy", "documents.rows.npy"

BLOCKS_AT_ONCE = 64


class DocumentJournal:
    """Writes the rows of documents to the checkpoints of a run, and restores them."""

    def __init__(self, storage: Storage, documents: DocumentRows) -> None:
        assert documents.touched_blocks is not None
        self._storage, self._documents, self._touched = storage, documents, documents.touched_blocks
        self._chain: list[str] = []  # the checkpoints to apply to the base, oldest first
        self._base = Path(storage.path(BASE))

    @property
    def untouched_bytes(self) -> int:
        """Number of bytes of rows that the next checkpoint leaves out."""
        row = self._documents.rows[0].nbytes
        return row * (
            len(self._documents) - min(len(self._documents), TOUCHED_ROWS * int(self._touched.sum()))
        )

    def write(self, archive: zipfile.ZipFile) -> None:
        """Write the touched rows to a checkpoint."""
        rows, blocks = self._documents.rows, np.flatnonzero(self._touched)
        n = sum(stop - start for start, stop in _runs(blocks, len(rows)))
        archive.writestr(BEFORE, self._chain[-1] if self._chain else "")
        with archive.open(BLOCKS, "w", force_zip64=True) as member:
            write_npy(member, blocks)
        with archive.open(ROWS, "w", force_zip64=True) as member:
            pieces = (rows[start:stop] for start, stop in _runs(blocks, len(rows)))
            write_npy_pieces(member, _released(pieces, rows), (n, rows.shape[1]), np.float32)

    def was_written(self, name: str) -> None:
        """Mark all blocks as unchanged, since this checkpoint contains the changes."""
        self._touched[:] = False
        self._chain.append(name)

    def fold(self, name: str) -> None:
        """Copy the rows of a checkpoint that is about to be removed to the base."""
        if name not in self._chain:  # a damaged checkpoint, instead of which an older one was used
            return
        rows = self._documents.rows
        if not self._base.exists():
            scratch_array(self._base, np.float32, rows.shape)
        base = np.memmap(self._base, np.float32, "r+", shape=rows.shape)
        self._read(name, base)
        base.flush()
        self._chain.remove(name)

    def restore(self, name: str) -> None:
        """Restore the rows of a checkpoint."""
        rows, chain = self._documents.rows, [name]
        present = set(self._storage.names())
        while (before := self._before(chain[-1])) in present:
            chain.append(before)
        if before:
            if not self._base.exists() or self._base.stat().st_size != rows.nbytes:
                raise DataError(f"{str(self._base)!r}, on which {name} builds, is missing or cut off")
            base = np.memmap(self._base, np.float32, "r", shape=rows.shape)
            every = np.arange(len(self._touched))
            for start, stop in _runs(every, len(rows)):
                rows[start:stop] = base[start:stop]
                release_pages(base)
                release_pages(rows)
        for one in reversed(chain):
            self._read(one, rows)
        self._touched[:] = False
        self._chain = chain[::-1]

    def _before(self, name: str) -> str:
        return read_archive(self._storage, name, lambda archive: archive.read(BEFORE).decode())

    def _read(self, name: str, rows: np.ndarray) -> None:
        """Read the rows of a checkpoint into the array."""

        def read(archive: zipfile.ZipFile) -> None:
            with archive.open(BLOCKS) as member:
                shape, _, dtype = read_npy_header(member)
                blocks = np.frombuffer(member.read(), dtype)
            if blocks.shape != shape or np.any(blocks < 0) or np.any(blocks >= len(self._touched)):
                raise ValueError("the blocks of documents in it do not fit")
            with archive.open(ROWS) as member:
                shape, _, dtype = read_npy_header(member)
                n = sum(stop - start for start, stop in _runs(blocks, len(rows)))
                if shape != (n, rows.shape[1]) or dtype != np.float32:
                    raise ValueError(f"the rows of documents in it have shape {shape} and type {dtype}")
                for start, stop in _runs(blocks, len(rows)):
                    data = member.read(rows[start:stop].nbytes)
                    rows[start:stop] = np.frombuffer(data, np.float32).reshape(stop - start, -1)
                    release_pages(rows)
                member.read(1)  # reading to the end compares the checksum

        read_archive(self._storage, name, read)


def _runs(blocks: np.ndarray, n_rows: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows (begin, end) that join consecutive blocks, each of limited size."""
    breaks = np.flatnonzero(np.diff(blocks) != 1) + 1
    for run in np.split(blocks, breaks):
        for at in range(0, len(run), BLOCKS_AT_ONCE):
            part = run[at : at + BLOCKS_AT_ONCE]
            yield int(part[0]) * TOUCHED_ROWS, min(n_rows, (int(part[-1]) + 1) * TOUCHED_ROWS)


def _released(pieces: Iterator[np.ndarray], rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield pieces of mapped rows, and release the memory of each."""
    for piece in pieces:
        yield piece
        release_pages(rows)
