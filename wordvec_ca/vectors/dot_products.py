"""Multiplies many stored rows with a few queries, as fast as memory can be read.

BLAS is not used: its threads busy-wait for each other, and while another program ran, one product of blocks
of some MB took 20 times as long. One thread reads a row about as fast as two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 8192
"""Number of rows of a block, which stays in the cache while several queries are multiplied with it."""


def row_products(
    rows: NDArray[Any], queries: NDArray[np.float32], out: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Compute ``out[i, j] = <queries[i], rows[j]>``."""
    n_queries, size = queries.shape
    if rows.ndim != 2 or rows.shape[1] != size or out.shape != (n_queries, len(rows)):
        raise ValueError(f"rows {rows.shape}, queries {queries.shape} and out {out.shape} do not fit")
    if rows.dtype == np.float16:
        from wordvec_ca.vectors.half_products import half_products

        half_products(rows, queries, out)
    elif rows.dtype == np.float32:
        for start in range(0, len(rows), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            for query, scores in zip(queries, out, strict=True):
                np.einsum("ij,j->i", rows[part], query, out=scores[part])
    else:
        raise ValueError(f"rows are {rows.dtype}: they must be float32 or float16")
    return out
