"""The nearest words of every word; the search is exact, and every run gives the same result."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

# Number of neighbours of each word.
NEAREST = 20

BLOCK_BYTES = 64 << 20


class NeighbourGraph(NamedTuple):
    """The nearest words of every word, best first."""

    # shape (n_words, topn), int32
    rows: np.ndarray
    # shape (n_words, topn), float32
    cosines: np.ndarray


def neighbour_graph(
    directions: np.ndarray,
    topn: int = NEAREST,
    tell: Callable[[str], None] | None = None,
    *,
    first: int | None = None,
) -> NeighbourGraph:
    """Return the words with the highest cosines with each word, without the word itself."""
    keep_highest = _keep_highest()
    topn = max(0, min(topn, len(directions) - 1))
    n_words = len(directions) if first is None else min(first, len(directions))
    rows = np.zeros((n_words, topn), np.int32)
    cosines = np.full((n_words, topn), -np.inf, np.float32)
    step = max(1, BLOCK_BYTES // (4 * max(1, len(directions))))
    reported = 0
    for start in range(0, n_words if topn else 0, step):
        block = slice(start, min(start + step, n_words))
        keep_highest(directions[block] @ directions.T, start, rows[block], cosines[block])
        tenths = 10 * block.stop // n_words
        if tell is not None and tenths > reported and n_words > 20_000:
            tell(f"neighbours: {10 * tenths} %")
            reported = tenths
    return NeighbourGraph(rows, np.clip(cosines, -1, 1))


def change(one: NeighbourGraph, other: NeighbourGraph) -> np.ndarray:
    """Return the share of each word's neighbours, in [0, 1], that two models do not have in common."""
    n_words, topn = one.rows.shape
    both = np.sort(np.concatenate([one.rows, other.rows], axis=1), axis=1)
    common = (both[:, 1:] == both[:, :-1]).sum(axis=1) if topn else np.zeros(n_words)
    return (1 - common / max(1, topn)).astype(np.float32)


def distance_of_neighbourhoods(
    one: NeighbourGraph, other: NeighbourGraph, directions: np.ndarray, directions_other: np.ndarray
) -> np.ndarray:
    """Return how differently two models place each word among its neighbours in either model.

    References
    ----------
    Hamilton, Leskovec & Jurafsky 2016, Cultural shift or linguistic drift?, eq. 2.
    """
    rows = np.concatenate([one.rows, other.rows], axis=1)
    a, b = cosines_with(directions, rows), cosines_with(directions_other, rows)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(1 - (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1), np.float32)


def cosines_with(directions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the cosines of each word with some others."""
    found = np.zeros(rows.shape, np.float32)
    step = max(1, BLOCK_BYTES // (4 * max(1, rows.shape[1] * directions.shape[1])))
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        found[block] = np.einsum("ij,ikj->ik", directions[block], directions[rows[block]])
    return found


@cache
def _keep_highest() -> Any:
    """Return the compiled loop over a block of scores; numba is slow to import, and only a map needs it."""
    import numba

    # cached on disk, since compilation takes four seconds, as long as a map of some thousand words
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

    return keep_highest
