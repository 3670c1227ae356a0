"""Vectors of several models cut down to the words that all have, so that all choose among the same words.

An analogy is answered with the nearest of all words of a model, so the same vectors seem better without their
rarer words: .050 better, for vectors of 23,691 words cut to the first 4,000. Categories and induced parts of
speech depend on the vocabulary too, because its words are the ones that are clustered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wordvec_ca.eval.lookup import Vectors
from wordvec_ca.vectors import KeyedVectors


def common_words(vocabularies: Iterable[Sequence[str]]) -> list[str]:
    """Return the words that are in all vocabularies, in the order of the first one.

    Parameters
    ----------
    vocabularies : iterable of sequence of str
        Vocabularies are read one at a time; only the words that all have had so far are kept in memory.
    """
    words: list[str] | None = None
    for vocabulary in vocabularies:
        if words is None:
            words = list(vocabulary)
        else:
            others = set(vocabulary)
            words = [word for word in words if word in others]
    return words or []


def cut_to(vectors: Vectors, words: Sequence[str]) -> Vectors:
    """Return the vectors of some words, in this order; the vectors themselves if nothing would change."""
    if vectors.index_to_key == words:
        return vectors
    index = vectors.key_to_index
    rows = np.array([index[word] for word in words], dtype=np.int64)
    counts = getattr(vectors, "counts", None)
    return KeyedVectors(
        list(words), np.asarray(vectors.vectors)[rows], None if counts is None else np.asarray(counts)[rows]
    )
