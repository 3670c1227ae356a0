"""Trains words with n-grams: composes the words of a block, trains them, and updates the rows of n-grams.

The training loop does not handle n-grams. Before a block, the vectors of its words are composed of their
rows; after it, the gain of each vector is added to each of its rows. Since the weights sum to 1, the vector
of a word then moves by exactly its gain. Words that share rows with it move too, but only after the block.
This is the only difference from fastText, where they move after each example.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.kernels import aligned_zeros, distinct_words
from wordvec_ca.models import Subwords
from wordvec_ca.training.schedule import kept_counts

# Largest number of tokens of a block. Longer blocks read fewer rows per token, but that saves little.
LONGEST = 8_000

# Smallest number of tokens of a block: one or two lines, as a block that cuts lines cuts windows.
SHORTEST = 100

# Smallest number of tokens of a block for each prediction that shares negatives: words with many common
# n-grams would repeat nearly the same step away from a shared negative.
TOKENS_PER_PART = 500

# Largest mean number of other tokens whose steps a token does not see, weighted by the share of rows that
# they have in common: those of its block and of the blocks of other threads, all computed independently and
# summed. If the number is 60, the loss rises; if it is 180, training diverges.
MEETINGS = 24.0

# A tree and negative samples together give steps about three times as large as negatives alone: with 24
# meetings CBOW diverges (3 M words), with 18 to 3 it ends at the same loss. A tree alone bears 24.
BESIDE_TREE = 3.0


def blocks_at_once(
    subwords: Subwords,
    counts: NDArray[np.int64],
    keep: NDArray[np.uint32],
    threads: int = 1,
    meetings: float = MEETINGS,
) -> tuple[int, int]:
    """Return how many blocks threads may train at the same time, and the number of tokens of a block; the
    blocks of more threads, which meet each other, are shorter.
    """
    other_words, same_word = shared_steps(subwords, counts, keep)
    # Within a block a word sees its own earlier steps, but not those that other threads take with it.
    met_by_each = max(other_words + same_word, 1e-12)
    # If words have so much in common that the shortest blocks of all threads would meet too often, some wait.
    blocks = min(threads, max(1, int((meetings / SHORTEST + same_word) / met_by_each)))
    met = max(blocks * met_by_each - same_word, 1e-12)
    return blocks, int(min(LONGEST, max(SHORTEST, meetings / met)))


def in_blocks(chunk: NDArray[np.int32], size: int) -> list[NDArray[np.int32]]:
    """Return a chunk, which is longer than ``size`` by the rest of its last line, in blocks of about that."""
    # A long rest is cut off: with blocks of nearly twice the size two threads diverge (10 M words in lines of
    # 5,000). A short one is not, since words at a cut lose half of their window.
    most = max(1.2 * size, size + SHORTEST)
    return np.array_split(chunk, max(1, len(chunk) // size, math.ceil(len(chunk) / most)))


def shared_steps(
    subwords: Subwords, counts: NDArray[np.int64], keep: NDArray[np.uint32]
) -> tuple[float, float]:
    """Return the mean share of its rows that a token has in common with a random token of another word, and
    the probability that two tokens are the same word.
    """
    kept = kept_counts(counts, keep)  # a dropped token touches no rows
    shares = kept / max(kept.sum(), 1.0)
    word_of = np.repeat(np.arange(len(counts)), np.diff(subwords.offsets))
    of_row = np.bincount(subwords.columns, shares[word_of], minlength=len(subwords.rows))
    taken = np.bincount(word_of, subwords.weights * (of_row[subwords.columns] - shares[word_of]))
    return float(shares @ taken), float(shares @ shares)


class ComposedWords:
    """The word vectors of one thread: composed before a block, their gains scattered to n-grams after it.

    Attributes
    ----------
    vectors : ndarray of shape (n_words, width), float32
        Input rows for the training loop; only rows of words that occur in the block are valid.
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
        # In the order of rows in memory: a tenth less time than in that of the text. In alphabetical order,
        # in which words share n-grams with their neighbours, nothing is gained.
        self._words = np.sort(distinct_words(tokens, self._seen, self._block))
        if len(self._before) < len(self._words):
            self._before = aligned_zeros((len(self._words) * 5 // 4, self.vectors.shape[1]))
        self._subwords.compose(self._words, self.vectors, self._before)

    def scatter_gains(self) -> None:
        """Add the gains of the words to their rows."""
        self._subwords.scatter_gains(self._words, self.vectors, self._before)
