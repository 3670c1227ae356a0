"""What words contribute to a sentence: their vectors, and the factors of the formula in ``vectorizer``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordvec_ca.sentences.ca_sem import chi
from wordvec_ca.sentences.methods import Readout
from wordvec_ca.sentences.unknown_words import FIRST
from wordvec_ca.sentences.word_vectors import check_finite
from wordvec_ca.tables import NgramVectors


@dataclass(frozen=True)
class WordRows:
    """Words with a row each."""

    matrix: NDArray[np.float32]  # (n, vector_size), float32: Vectors; possibly a memory map
    factors: NDArray[np.float32]  # (n,), float32: ``f a g`` and ``f b`` of the formula
    shifts: NDArray[np.float32]
    attention: NDArray[np.float32] | None  # (n,), float32, or None: ``g``, or None if it is 1
    names: Sequence[str]

    def of_batch(
        self, ids: NDArray[np.int32], made: Callable[[NDArray[np.int32]], WordRows]
    ) -> tuple[NDArray[np.int32], WordRows]:
        """Return the words of a batch, those without a row first, and tokens as rows of this table."""
        kinds, rows = np.unique(ids, return_inverse=True)
        first = int(np.searchsorted(kinds, 0))
        others, known = made(FIRST - kinds[:first]), kinds[first:]
        attention = None
        if self.attention is not None and others.attention is not None:
            attention = np.concatenate([others.attention, self.attention[known]])
        return rows.astype(np.int32), WordRows(
            np.concatenate([others.matrix, self.matrix[known]]),
            np.concatenate([others.factors, self.factors[known]]),
            np.concatenate([others.shifts, self.shifts[known]]),
            attention,
            [*others.names, *(self.names[row] for row in known)],
        )

    def weighted_sums(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the sum of ``f a g w`` over each sentence, shape (n_sentences, vector_size)."""
        shape = (len(offsets) - 1, len(self.matrix))
        out: NDArray[np.float32] = csr_array((self.factors[ids], ids, offsets), shape=shape) @ self.matrix
        if not np.isfinite(out).all():
            used = np.unique(ids)
            check_finite(self.matrix[used], [self.names[row] for row in used])
        return out


def words_of_ngrams(
    ngrams: NgramVectors,
    names: list[str],
    factor: float,
    attention: NDArray[np.float32] | None,
    v0: NDArray[np.float64] | None,
    readout: Readout,
) -> WordRows:
    """Return words without a row."""
    matrix = ngrams.vector_of_each(names)
    factors, shifts = np.full(len(names), factor), np.zeros(len(names))
    weights = None if attention is None else np.full(len(names), np.median(attention), np.float32)
    if v0 is not None:
        own, along = context_factors(matrix, v0, weights, readout)
        factors, shifts = factors * own, factors * along
    if weights is not None:
        factors = factors * weights
    return WordRows(matrix, factors.astype(np.float32), shifts.astype(np.float32), weights, names)


def context_factors(
    matrix: NDArray[np.float32],
    v0: NDArray[np.float64],
    weights: NDArray[np.float32] | None,
    readout: Readout,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a and b of words for ca-sem."""
    free = chi(matrix, v0, weights).astype(np.float64)
    # (1 - chi) w' = (1 - chi) w - (1 - chi) (p/r) v0
    projection: NDArray[Any] = (matrix @ v0.astype(np.float32)).astype(np.float64) / float(v0 @ v0)
    if weights is not None:
        projection *= weights
    shift = -(1.0 - free) * projection
    if readout != "sensitive":
        shift += free
    return 1.0 - free, shift
