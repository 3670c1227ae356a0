"""Chooses rows that two threads copy, and how often they are merged (docs/decisions/004-private-rows.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.training.schedule import kept_counts

# Mean number of tokens of the other thread that are the same word as a token of this thread, between two
# merges: with more, the summed steps of the threads overshoot.
MEETINGS = 48.0

# Largest number of tokens that the other thread may read between two merges, with a usual window. The rows
# of frequent words converge within a few thousand tokens, mainly because they are frequent negatives.
DRIFT = 2_000

# Largest number of private rows; the other words are so rare that threads seldom touch a row at the same
# time.
MOST_ROWS = 256

# Smallest share of the text for which a word has private rows.
LEAST_SHARE = 2e-4

# Number of context words of a token with a window of 5; the numbers in this module were measured with it.
USUAL_CONTEXTS = 6

# Smallest number of tokens between merges for each private row, so that merging takes a small share of a
# thread's time. With more context words per token the number is divided accordingly: each token then takes
# longer, and more rows are in use at once.
TOKENS_PER_ROW = 16

# Largest number of tokens between two merges; more would not make two workers faster.
LONGEST = 1_000


def private_rows(
    counts: NDArray[np.int64],
    keep: NDArray[np.uint32],
    workers: int,
    predictions: float,
    *,
    contexts: float = USUAL_CONTEXTS,
) -> tuple[int, int]:
    """Return the number of words with private rows, and the tokens between merges."""
    if workers != 2:
        return 0, 0
    touches = kept_counts(counts, keep)
    shares = touches / max(touches.sum(), 1.0)
    same_word = float(np.square(shares).sum())  # probability that two tokens are the same word
    # a word moves farther in proportion to the predictions per token
    meetings = max(1.0, predictions / USUAL_CONTEXTS)
    merge_every = int(min(MEETINGS / max(same_word * meetings, 1e-12), DRIFT / meetings, LONGEST))
    # rarer words are not worth merging: threads seldom write to such a row at the same time
    frequent = int(np.count_nonzero(shares >= LEAST_SHARE))
    work = merge_every * max(1.0, contexts / USUAL_CONTEXTS)
    affordable = int(work / TOKENS_PER_ROW)
    n_private = min(max(1, frequent), MOST_ROWS, affordable, len(counts))
    return (n_private, merge_every) if n_private else (0, 0)
