"""Multiplies rows stored as float16 with a few float32 queries, without a float32 copy of the rows."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Sums may be reordered, so that they vectorise; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def half_products(rows: NDArray[np.float16], queries: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Fill ``out[i, j] = <queries[i], rows[j]>``; shapes as in :mod:`wordvec_ca.vectors.dot_products`."""
    # The bits of a float16, moved to those of a float32, give the number times 2^-112, also for subnormals.
    _half_products(rows.view(np.uint16), queries * np.float32(2.0**112), out)


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _half_products(rows: Any, queries: Any, out: Any) -> None:
    size = rows.shape[1]
    bits = np.empty(size, np.uint32)
    row = bits.view(np.float32)
    sign, rest = np.uint32(0x8000), np.uint32(0x7FFF)
    for j in range(rows.shape[0]):
        for k in range(size):
            half = np.uint32(rows[j, k])
            bits[k] = ((half & sign) << np.uint32(16)) | ((half & rest) << np.uint32(13))
        for i in range(queries.shape[0]):
            total = np.float32(0)
            for k in range(size):
                total += queries[i, k] * row[k]
            out[i, j] = total
