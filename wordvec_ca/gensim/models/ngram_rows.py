"""Conversion of rows of words and buckets between a gensim model and the training loop.

gensim keeps a row for each word and each bucket. The loop has one row for all n-grams that occur in
exactly the same words (``wordvec_ca.models.Subwords``): it starts as the mean of their rows, and its gain is
added to each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.models import EmbeddingModel


def ngram_options(wv: Any) -> dict[str, Any]:
    """Return the n-gram options of a ``TrainConfig``; an empty dict for vectors without n-grams."""
    if not getattr(wv, "bucket", 0):
        return {}
    return {"subwords": True, "min_n": max(1, wv.min_n), "max_n": wv.max_n, "buckets": wv.bucket}


class NgramRows:
    """The rows of a model while it trains."""

    def __init__(self, wv: Any, engine: EmbeddingModel) -> None:
        assert engine.subwords is not None
        assert engine.subwords.index.keys is not None
        self._wv, self._subwords = wv, engine.subwords
        self._buckets = engine.subwords.index.keys.astype(np.int64)
        self._subwords.begin_with(
            np.arange(len(wv)),
            np.asarray(wv.vectors_vocab, np.float32),
            np.arange(len(self._buckets)),
            np.asarray(wv.vectors_ngrams[self._buckets], np.float32),
        )
        engine.compose()
        self._before = self._rows().copy()

    def _rows(self) -> np.ndarray:
        return self._subwords.rows[:, : self._wv.vector_size]

    def scatter_gains(self) -> None:
        """Add the gains since the last call to the rows of words and buckets, and compose the vectors."""
        wv = self._wv
        gains = self._rows() - self._before
        self._before += gains
        wv.vectors_vocab += gains[: len(wv)] * _factors(wv.vectors_vocab_lockf, np.arange(len(wv)))
        of_buckets = gains[self._subwords.index.rows]
        wv.vectors_ngrams[self._buckets] += of_buckets * _factors(wv.vectors_ngrams_lockf, self._buckets)
        wv.adjust_vectors()


def _factors(lockf: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the factors of some rows' gains, shape (n, 1)."""
    factors = np.asarray(lockf, np.float32)
    return factors[rows % len(factors), np.newaxis]
