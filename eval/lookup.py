"""Find the rows of words: as they are written, else lower-cased, else without the Penn Treebank's escapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from wordvec_ca.errors import DataError


class Vectors(Protocol):
    """What every task needs; ``KeyedVectors`` of ``wordvec_ca`` and of gensim have it."""

    vectors: np.ndarray
    index_to_key: list[str]

    @property
    def key_to_index(self) -> dict[str, int]:
        """Word -> row."""
        ...


class UncoveredError(DataError):
    """The vectors know too few of the words of a data set for the task to mean anything."""


RULE = "words are looked up as written, then lower-cased"

ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
}
"""Signs that the Penn Treebank (and SST) writes otherwise than everybody else."""


def rows_of(vectors: Vectors, words: Sequence[str], *, first: int | None = None) -> np.ndarray:
    """Return the row of each word, -1 where it has none.

    A word is looked up as it is written and, if it has no vector so, in lower case; one of ``ESCAPES`` then
    as the sign that it stands for.

    Parameters
    ----------
    vectors : KeyedVectors
    words : sequence of str
    first : int, optional
        Only the first so many rows count as known.

    Returns
    -------
    ndarray of shape (n_words,), int64

    Raises
    ------
    DataError
        The vector of one of the words has NaN or infinity in it.
    """
    index = vectors.key_to_index
    stop = len(vectors.index_to_key) if first is None else first
    rows = np.empty(len(words), dtype=np.int64)
    for i, word in enumerate(words):
        row = index.get(word, -1)
        if row < 0 or row >= stop:
            row = index.get(word.lower(), -1)
            if row < 0 and word in ESCAPES:
                row = index.get(ESCAPES[word], -1)
        rows[i] = row if row < stop else -1
    known = np.unique(rows[rows >= 0])
    sums = np.asarray(vectors.vectors[known]).sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        word = vectors.index_to_key[int(known[np.flatnonzero(~np.isfinite(sums))[0]])]
        raise DataError(
            f"the vector of {word!r} has NaN or infinite numbers; the training has diverged or the file is "
            "damaged: train again with a smaller alpha, or fetch the vectors again"
        )
    return rows


def unit_rows(vectors: Vectors, rows: np.ndarray) -> np.ndarray:
    """Return the vectors of the rows with length 1 (zero vectors stay zero), as float32."""
    chosen = np.array(vectors.vectors[rows], dtype=np.float32)
    lengths = np.linalg.norm(chosen, axis=1, keepdims=True)
    np.divide(chosen, lengths, out=chosen, where=lengths > 0)
    return chosen
