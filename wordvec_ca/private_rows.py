"""Which rows each of several threads has as its own, and how often they are merged (docs/decisions/004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEETINGS = 48.0
"""Pairs (token of this thread, token of another) of the same word between two merges, on average over the
tokens: with more, the summed steps of the threads overshoot."""

MOST_ROWS = 256
"""Beyond these the words are so rare that threads seldom touch a row at once."""

LEAST_SHARE = 2e-4
"""Share of the text from which a word's rows are kept."""

TOKENS_PER_ROW = 16
"""Least tokens between merges for each row kept, so that merging takes a small part of a thread's time."""

TOKENS_PER_ROW_AND_WORKER = 4
"""The same for each worker: all merge under one lock, and a row takes about as long as two tokens."""

LONGEST, SHORTEST = 4_000, 100
"""Limits of the tokens between two merges."""


def private_rows(
    counts: NDArray[np.int64], keep: NDArray[np.uint32], workers: int, predictions: float
) -> tuple[int, int]:
    """Return how many words have rows of each thread's own, and the tokens between merges.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), int64
        Most frequent first.
    keep : ndarray of shape (n_words,) or (0,), uint32
        The thresholds of sub-sampling; a token that is dropped touches nothing.
    workers : int
        Threads.
    predictions : float
        Mean predictions per token: 1, or the context words of a model that predicts from each.

    Returns
    -------
    n_private : int
        0 for one worker.
    merge_every : int
    """
    if workers == 1:
        return 0, 0
    touches = counts.astype(np.float64)
    if len(keep):
        touches *= keep / 2.0**32
    shares = touches / max(touches.sum(), 1.0)
    same_word = float(np.square(shares).sum())  # of two tokens
    others = (workers - 1) * max(1.0, predictions / 6)  # 6: a window of 5, where all this was measured
    merge_every = int(np.clip(MEETINGS / max(same_word * others, 1e-12), SHORTEST, LONGEST))
    frequent = int(np.count_nonzero(shares >= LEAST_SHARE))
    affordable = merge_every // max(TOKENS_PER_ROW, TOKENS_PER_ROW_AND_WORKER * workers)
    return max(1, min(frequent, MOST_ROWS, affordable, len(counts))), merge_every
