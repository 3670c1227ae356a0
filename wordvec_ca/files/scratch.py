"""Creates working arrays in files, with reserved disk space.

The system allocates the space of a mapped sparse file page by page. If the disk gets full, it ends the
process with SIGBUS, without a message. So the space is reserved before the file is mapped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wordvec_ca.errors import DataError


def scratch_array(path: str | os.PathLike[str], dtype: DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
    """Return zeros that are memory-mapped from a new file whose blocks are all allocated."""
    size = np.dtype(dtype).itemsize * math.prod(shape)
    try:
        with open(path, "wb+") as file:
            _reserve(file.fileno(), size)
            return np.memmap(file, dtype, "r+", shape=tuple(shape))
    except OSError as error:
        raise DataError(
            f"cannot reserve {size / 1e6:,.0f} MB for {os.fspath(path)!r}: {error.strerror or error}; "
            "make room there"
        ) from error


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    block = bytes(1 << 20)
    for start in range(0, size, len(block)):
        os.write(descriptor, block[: size - start])
    os.lseek(descriptor, 0, os.SEEK_SET)
