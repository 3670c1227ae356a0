"""Which rows each of several threads has as its own, and how often they are merged (docs/decisions/004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEETINGS = 48.0
"""Pairs (token of this thread, token of another) of the same word between two merges, on average over the
tokens: with more, the summed steps of the threads overshoot."""

DRIFT = 2_000
"""Tokens that all other threads together may read between two merges. The rows of frequent words settle
within some thousands of tokens, as negatives most of all; threads that each take a row all the way there add
up to that many times the way, and with three or more of them what is left grows from merge to merge."""

MOST_ROWS = 256
"""Beyond these the words are so rare that threads seldom touch a row at once."""

LEAST_SHARE = 2e-4
"""Share of the text from which a word's rows are kept."""

USUAL_CONTEXTS = 6
"""Context words of a token with a window of 5, with which the numbers here were measured."""

TOKENS_PER_ROW = 16
"""Least tokens between merges for each row kept, so that merging takes a small part of a thread's time. As
many times fewer if they meet more context words: each then takes longer, and more rows are in use at once."""

TOKENS_PER_ROW_AND_WORKER = 4
"""The same for each worker: all merge under one lock, and a row takes about as long as two tokens."""

LONGEST = 1_000
"""Most tokens between two merges; more would make two workers no faster."""


def private_rows(
    counts: NDArray[np.int64],
    keep: NDArray[np.uint32],
    workers: int,
    predictions: float,
    *,
    contexts: float = USUAL_CONTEXTS,
    slots: bool = False,
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
    contexts : float, default 6
        Mean context words per token.
    slots : bool, default False
        Whether there are attention logits of places. Every prediction moves them, so that they settle within
        few tokens: three threads or more, each with its own, would throw them about until a place dies.

    Returns
    -------
    n_private : int
        0 for one worker, and for so many that they would have to merge all the time: they all work on the
        shared rows.
    merge_every : int
    """
    if workers == 1 or (slots and workers > 2):
        return 0, 0
    touches = counts.astype(np.float64)
    if len(keep):
        touches *= keep / 2.0**32
    shares = touches / max(touches.sum(), 1.0)
    same_word = float(np.square(shares).sum())  # of two tokens
    others = (workers - 1) * max(1.0, predictions / USUAL_CONTEXTS)
    merge_every = int(min(MEETINGS / max(same_word * others, 1e-12), DRIFT / others, LONGEST))
    frequent = int(np.count_nonzero(shares >= LEAST_SHARE))
    work = merge_every * max(1.0, contexts / USUAL_CONTEXTS)
    affordable = int(work / max(TOKENS_PER_ROW, TOKENS_PER_ROW_AND_WORKER * workers))
    n_private = min(max(1, frequent), MOST_ROWS, affordable, len(counts))
    return (n_private, merge_every) if n_private else (0, 0)
