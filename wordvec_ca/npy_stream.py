"""Arrays in ``.npy`` files: a matrix of unknown length written block by block; any array memory-mapped."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.errors import DataError

_HEADER_BYTES = 128
"""Room for a version 1.0 header of any two-dimensional shape, and the multiple of 64 that readers expect."""


def write_npy_stream(
    path: str | Path, blocks: Iterable[NDArray[Any]], n_columns: int, dtype: DTypeLike = np.float32
) -> int:
    """Write blocks of rows one after the other; the file appears only when all are written.

    Parameters
    ----------
    path : path
        File to make.
    blocks : iterable of ndarray of shape (n, n_columns)
        Rows, converted to ``dtype`` where needed.
    n_columns : int
        Columns of each block.
    dtype : dtype
        Of the file.

    Returns
    -------
    int
        Number of rows.
    """
    n_rows = 0
    with atomic_file(path) as file:
        file.write(bytes(_HEADER_BYTES))  # its place; the shape is known at the end
        for block in blocks:
            if block.ndim != 2 or block.shape[1] != n_columns:
                raise ValueError(f"a block of shape {block.shape} in a matrix of {n_columns} columns")
            file.write(np.ascontiguousarray(block, dtype).data)
            n_rows += len(block)
        file.seek(0)
        _write_header(file, (n_rows, n_columns), np.dtype(dtype))
    return n_rows


def _write_header(file: BinaryIO, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Write magic string, version 1.0, length and description, padded with spaces to ``_HEADER_BYTES``.

    References
    ----------
    NumPy Enhancement Proposal 1, format version 1.0.
    """
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode("ascii")
    length = _HEADER_BYTES - 10
    file.write(b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n")


def map_npy(path: str | Path) -> NDArray[Any]:
    """Memory-map an array of numbers, read-only, once its header is known to fit the file.

    ``numpy.load`` trusts the header more, and fails on a damaged one with whatever its parser raises.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    DataError
        It is no ``.npy`` file, is cut off, or holds objects or structures.
    """
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
        if n_bytes == 0:  # nothing to map
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
    """Return shape, Fortran order and type of the array that follows in a file.

    Raises
    ------
    ValueError
        The header is damaged, or of another version than 1.0 and 2.0.
    """
    try:
        version = np.lib.format.read_magic(file)
        if version in _HEADER_READERS:
            return _HEADER_READERS[version](file)
    except Exception as error:  # whatever the tokeniser and the parser of Python raise
        raise ValueError(str(error).partition("\n")[0][:200]) from error
    raise ValueError(f"version {version} of the format")


_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
