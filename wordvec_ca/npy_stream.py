"""Write a matrix of unknown length to an ``.npy`` file, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wordvec_ca.atomic_file import atomic_file

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
