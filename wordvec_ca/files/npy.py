"""Writes arrays to ``.npy`` files block by block, also with an unknown number of rows, and maps them; working
arrays in files have reserved disk space.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files.atomic import atomic_file

BLOCK_BYTES = 4 << 20
"""Approximate size in bytes of the blocks in which arrays are written, so that no array is copied whole."""


def write_npy(
    file: BinaryIO | IO[bytes],
    array: NDArray[Any],
    dtype: DTypeLike | None = None,
    row_shape: tuple[int, ...] | None = None,
) -> None:
    """Write an array to an open stream, which need not be seekable."""
    kind = np.dtype(array.dtype if dtype is None else dtype)
    row_shape = array.shape[1:] if row_shape is None else row_shape
    _write_header(file, (len(array), *row_shape), kind)
    step = max(1, BLOCK_BYTES // max(1, kind.itemsize * math.prod(row_shape)))
    for start in range(0, len(array), step):
        file.write(np.ascontiguousarray(array[start : start + step], kind).data)


def write_npy_pieces(
    file: BinaryIO | IO[bytes], pieces: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: DTypeLike
) -> None:
    """Write an array of known shape to an open stream, from pieces of its rows, one after the other."""
    kind = np.dtype(dtype)
    _write_header(file, shape, kind)
    for piece in pieces:
        file.write(np.ascontiguousarray(piece, kind).data)


def release_pages(array: NDArray[Any] | None) -> None:
    """Return the memory of a mapped file to the system; written data are kept."""
    # The system counts mapped pages as memory of the process, although it could read them from the file
    # again.
    found: Any = array
    while found is not None and not isinstance(found, mmap.mmap):
        found = getattr(found, "base", None)
    if found is not None and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)


def save_npy(
    path: str | os.PathLike[str],
    array: NDArray[Any],
    dtype: DTypeLike | None = None,
    row_shape: tuple[int, ...] | None = None,
) -> None:
    """Write an array to a file, completely or not at all; parameters as in `write_npy`."""
    with atomic_file(path) as file:
        write_npy(file, array, dtype, row_shape)


def write_npy_stream(
    path: str | Path, blocks: Iterable[NDArray[Any]], n_columns: int, dtype: DTypeLike = np.float32
) -> int:
    """Write blocks of rows one after the other; the file appears only when all are written."""
    n_rows, kind = 0, np.dtype(dtype)
    with atomic_file(path) as file:
        _write_header(file, (0, n_columns), kind)
        begin = file.tell()
        for block in blocks:
            if block.ndim != 2 or block.shape[1] != n_columns:
                raise ValueError(f"a block of shape {block.shape} in a matrix of {n_columns} columns")
            file.write(np.ascontiguousarray(block, kind).data)
            n_rows += len(block)
        file.seek(0)
        _write_header(file, (n_rows, n_columns), kind)  # same length: NumPy pads it for more rows
        if file.tell() != begin:
            raise AssertionError(f"the header takes {file.tell()} bytes instead of {begin}")
    return n_rows


def _write_header(file: BinaryIO | IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    description = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, description)


def map_npy(path: str | Path) -> NDArray[Any]:
    """Memory-map an array of numbers, read-only, after checking that its header fits the file."""
    # ``numpy.load`` checks the header less strictly, and raises errors of its parser for a damaged one.
    try:
        with open(path, "rb") as file:
            shape, fortran_order, dtype = read_npy_header(file)
            offset = file.tell()
            size = os.fstat(file.fileno()).st_size
        if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None or not dtype.itemsize:
            raise ValueError(f"it holds {dtype}, not numbers")
        if any(isinstance(side, bool) or side < 0 for side in shape):
            raise ValueError(f"the shape {shape}")
        n_bytes = math.prod(shape) * dtype.itemsize
        if offset + n_bytes > size:
            raise ValueError(f"shape {shape} of {dtype} takes {n_bytes} bytes, and {size - offset} are there")
        order: Literal["C", "F"] = "F" if fortran_order else "C"
        if n_bytes == 0:  # an empty array cannot be mapped
            return np.zeros(shape, dtype, order)
        return np.memmap(path, dtype, "r", offset, shape, order)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise DataError(
            f"{str(path)!r} is not a readable .npy array (damaged or cut off?): {error}"
        ) from error


def read_npy_header(file: BinaryIO | IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, Fortran order and type of the array that follows in a file."""
    try:
        version = np.lib.format.read_magic(file)
        if version in _HEADER_READERS:
            return _HEADER_READERS[version](file)
    except Exception as error:  # Python's tokeniser and parser raise many types of errors
        raise ValueError(str(error).partition("\n")[0][:200]) from error
    raise ValueError(f"version {version} of the format")


_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def scratch_array(path: str | os.PathLike[str], dtype: DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
    """Return zeros that are memory-mapped from a new file whose blocks are all allocated."""
    size = np.dtype(dtype).itemsize * math.prod(shape)
    try:
        with open(path, "wb+") as file:
            reserve(file.fileno(), size)
            return np.memmap(file, dtype, "r+", shape=tuple(shape))
    except OSError as error:
        raise DataError(
            f"cannot reserve {size / 1e6:,.0f} MB for {os.fspath(path)!r}: {error.strerror or error}; "
            "make room there"
        ) from error


def reserve(descriptor: int, size: int) -> None:
    """Allocate all blocks of a new file, which is to be mapped."""
    # The system would allocate a sparse file page by page; on a full disk it ends the process with SIGBUS.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    block = bytes(1 << 20)
    for start in range(0, size, len(block)):
        os.write(descriptor, block[: size - start])
    os.lseek(descriptor, 0, os.SEEK_SET)
