"""Finds the highest scores of each row of a block, in a separate module since numba is slow to import."""

from __future__ import annotations

from typing import Any

import numba


# cached, since compilation takes four seconds, as long as a map of some thousand words
@numba.njit(parallel=True, cache=True)
def keep_highest(scores: Any, first: int, rows: Any, cosines: Any) -> None:
    """Insert scores into each word's sorted list of its highest scores."""
    n_kept = rows.shape[1]
    for i in numba.prange(scores.shape[0]):
        for j in range(scores.shape[1]):
            score = scores[i, j]
            if score > cosines[i, n_kept - 1] and j != first + i:
                k = n_kept - 1
                while k > 0 and cosines[i, k - 1] < score:
                    cosines[i, k] = cosines[i, k - 1]
                    rows[i, k] = rows[i, k - 1]
                    k -= 1
                cosines[i, k] = score
                rows[i, k] = j
