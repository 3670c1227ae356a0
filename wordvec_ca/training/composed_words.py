"""Blocks of text whose words are composed of n-grams, trained as other words, and their gains scattered.

The training loop knows nothing of n-grams. Before a block, the vectors of its words are composed of the rows
that they share; after it, what each vector gained is added to each of its rows. A word's vector then moves by
just what it gained (its weights sum to 1), and so do the words that share rows with it, but these see it only
after the block: the one difference from fastText, where they see it after the next example.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.kernels import aligned_zeros, distinct_words
from wordvec_ca.models import Subwords

LONGEST = 8_000
"""Tokens of a block, at most. With longer ones little is gained: fewer rows are read for each token."""

SHORTEST = 100
"""Tokens of a block, at least."""

TOKENS_PER_PART = 500
"""Tokens of a block for each prediction that shares negatives, at least: where words have much in common,
their steps away from the same negative are one step many times over."""

MEETINGS = 24.0
"""Tokens of other words in a block, weighted by the share of its rows that a word has in common with them, on
average: their steps are summed without a look at each other. With 60 the loss rises, with 180 it diverges."""


def block_tokens(subwords: Subwords, counts: NDArray[np.int64], keep: NDArray[np.uint32]) -> int:
    """Return the tokens of a block.

    Parameters
    ----------
    subwords : Subwords
    counts : ndarray of shape (n_words,), int64
    keep : ndarray of shape (n_words,) or (0,), uint32
        The thresholds of sub-sampling; a token that is dropped touches nothing.
    """
    return int(min(LONGEST, max(SHORTEST, MEETINGS / max(shared_steps(subwords, counts, keep), 1e-12))))


def shared_steps(subwords: Subwords, counts: NDArray[np.int64], keep: NDArray[np.uint32]) -> float:
    """Return how much of the step of a random other token a token takes along, on average."""
    kept = counts.astype(np.float64)
    if len(keep):
        kept *= keep / 2.0**32
    shares = kept / max(kept.sum(), 1.0)
    word_of = np.repeat(np.arange(len(counts)), np.diff(subwords.offsets))
    of_row = np.bincount(subwords.columns, shares[word_of], minlength=len(subwords.rows))
    taken = np.bincount(word_of, subwords.weights * (of_row[subwords.columns] - shares[word_of]))
    return float(shares @ taken)


class ComposedWords:
    """The vectors of words as one thread sees them: composed before a block, scattered to n-grams after it.

    Parameters
    ----------
    subwords : Subwords
        Rows that all threads share.
    inputs : ndarray of shape (n_words, width), float32
        The vectors of the model.
    private : bool
        Whether this thread needs vectors of its own, since another one composes those of the model.

    Attributes
    ----------
    vectors : ndarray of shape (n_words, width), float32
        What the training loop takes for the inputs; only the words of the block are as they should be.
    """

    def __init__(self, subwords: Subwords, inputs: np.ndarray, *, private: bool) -> None:
        self._subwords = subwords
        self.vectors = aligned_zeros(inputs.shape) if private else inputs
        self._before = aligned_zeros((1, inputs.shape[1]))
        self._seen = np.zeros(len(inputs), np.int32)
        self._block = 0
        self._words = np.empty(0, np.int32)

    def compose(self, tokens: NDArray[np.int32]) -> None:
        """Compose the words of a block."""
        self._block += 1
        if self._block == 2**31 - 1:
            self._seen[:], self._block = 0, 1
        self._words = distinct_words(tokens, self._seen, self._block)
        if len(self._before) < len(self._words):
            self._before = aligned_zeros((len(self._words) * 5 // 4, self.vectors.shape[1]))
        self._subwords.compose(self._words, self.vectors, self._before)

    def scatter_gains(self) -> None:
        """Add what the words gained to their rows."""
        self._subwords.scatter_gains(self._words, self.vectors, self._before)
