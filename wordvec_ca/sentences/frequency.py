"""Frequency factors f(t): the weight of a word in a sentence, depending on its frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.sentences.counts import WordCounts
from wordvec_ca.sentences.tokens import TokenIds
from wordvec_ca.sentences.usif import usif_constant
from wordvec_ca.sentences.word_vectors import WordVectors

Frequency = Literal["idf", "sif", "usif"]
Counts = Literal["auto", "fit"] | Mapping[str, int] | NDArray[np.integer[Any]]
"""Source of p(w): a table, the text itself, or ("auto") the counts of the vectors if they have any."""


def frequency_factor(
    kind: str | None, text: TokenIds, vectors: WordVectors, counts: Counts, a: float
) -> tuple[NDArray[np.float64], int, float]:
    """Return f of each word, the number of words without a count, and f of a word that never occurs."""
    n_words = len(vectors.index_to_key)
    if kind == "idf":
        return inverse_document_frequency(text, n_words), 0, float(np.log(1.0 + len(text))) + 1.0
    if kind == "sif":
        return *smooth_inverse_frequency("sif", text, vectors, counts, a), 1.0
    if kind == "usif":
        return *smooth_inverse_frequency("usif", text, vectors, counts, a), 2.0
    return np.ones(n_words), 0, 1.0


def inverse_document_frequency(text: TokenIds, n_words: int) -> NDArray[np.float64]:
    """Return ln((1 + N) / (1 + df)) + 1 of each word, with N sentences of which df contain it."""
    sentence = np.repeat(np.arange(len(text)), np.diff(text.offsets))
    known = text.ids >= 0
    pairs = np.unique(sentence[known] * np.int64(n_words) + text.ids[known])
    df = np.bincount(pairs % n_words, minlength=n_words)
    return np.log((1.0 + len(text)) / (1.0 + df)) + 1.0


def smooth_inverse_frequency(
    kind: Literal["sif", "usif"], text: TokenIds, vectors: WordVectors, counts: Counts, a: float
) -> tuple[NDArray[np.float64], int]:
    """Return a / (a + p) of each word (sif), or a / (a/2 + p) with the constant of uSIF (usif)."""
    of_words, table = _word_counts(text, vectors, counts)
    total = int(table.sum())
    if total == 0:
        raise DataError("all counts are 0: give a table that has at least one word of the text")
    if kind == "usif":
        a = usif_constant(table[table > 0] / total, len(text.ids) / len(text))
    factor = a / ((a if kind == "sif" else a / 2.0) + of_words / total)
    return factor, int((of_words == 0).sum())


def _word_counts(
    text: TokenIds, vectors: WordVectors, given: Counts
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Return the count of each word of the vectors, and all counts of the table they come from."""
    n_words = len(vectors.index_to_key)
    if isinstance(given, str):
        kept = getattr(vectors, "counts", None) if given == "auto" else None
        if kept is None:
            fitted = WordCounts.from_ids(text.ids, n_words, 0)
            return fitted.counts, np.append(fitted.counts, fitted.n_oov)
        given = kept
    if isinstance(given, Mapping):
        counts = WordCounts.from_mapping(given, vectors.key_to_index).counts
        return counts, np.fromiter(given.values(), np.int64, len(given))
    array = np.asarray(given)
    if array.shape != (n_words,) or (array < 0).any():
        raise DataError(f"counts of shape {array.shape}: give one count >= 0 for each of the {n_words} words")
    return array, array
