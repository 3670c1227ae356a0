"""The reference implementation of the loops over n-gram rows (``ngrams_rows.h``).

A word's vector is a weighted sum of rows that it shares with other words. Both functions take the same
arguments:

Parameters
----------
rows : ndarray of shape (n_rows, width), float32
    The rows that words share, padded with zeros to a multiple of 16 floats.
offsets, columns, weights : ndarray
    Sparse matrix: word i uses the rows ``columns[offsets[i] : offsets[i + 1]]``, with these weights.
words : ndarray of shape (n,), int32
    The words to process, all different.
vectors : ndarray of shape (n_words, width), float32
    The vectors of all words.
before : ndarray of shape (n or more, width), float32
    The vectors of these words as they were composed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def compose(
    rows: Floats,
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: Floats,
    words: NDArray[np.int32],
    vectors: Floats,
    before: Floats,
) -> None:
    """Set ``vectors[word]`` and ``before[i]`` to the weighted sum of the word's rows."""
    for i, word in enumerate(words):
        own = slice(offsets[word], offsets[word + 1])
        vectors[word] = before[i] = weights[own] @ rows[columns[own]]


def give_back(
    rows: Floats,
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: Floats,
    words: NDArray[np.int32],
    vectors: Floats,
    before: Floats,
) -> None:
    """Add what each word gained, ``vectors[word] - before[i]``, to each of its rows.

    fastText's update (Bojanowski et al. 2017): every row gets the whole gradient of the vector. If the
    weights sum to 1, these updates move the vector by exactly what it had gained.
    """
    for i, word in enumerate(words):
        np.add.at(rows, columns[offsets[word] : offsets[word + 1]], vectors[word] - before[i])
