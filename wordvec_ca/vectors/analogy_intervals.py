"""Computes the uncertainty of answers to an analogy from models of resampled text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordvec_ca.vectors.intervals import LEVEL, Neighbour, Neighbours, judged
from wordvec_ca.vectors.keyed_vectors import KeyedVectors


def analogies(
    vectors: KeyedVectors,
    a: str,
    b: str,
    c: str,
    found: Sequence[tuple[str, float]],
    *,
    method: str = "add",
    restrict_vocab: int | None = None,
    level: float = LEVEL,
) -> Neighbours:
    """Return, for each answer to an analogy, an interval of its score, and in how many models it is the
    first.

    Parameters
    ----------
    vectors : KeyedVectors
    a, b, c : str
    found : sequence of (str, float)
        The answers of ``vectors.analogy``.
    method, restrict_vocab
        As in ``vectors.analogy``.
    level : float
        Probability of the intervals.

    Returns
    -------
    Neighbours
    """
    rows = [vectors.key_to_index.get(word, -1) for word in (a, b, c)]
    if min(rows) < 0:  # a vector from n-grams, which resampled models do not have
        return Neighbours([Neighbour(word, score) for word, score in found], 0)

    def scores(model: KeyedVectors) -> np.ndarray:
        search = model.most_similar if method == "add" else model.most_similar_cosmul
        first, second, third = rows
        values = search([second, third], [first], topn=None, restrict_vocab=restrict_vocab)
        assert isinstance(values, np.ndarray)
        return values

    return judged(vectors, found, scores, among=1, left_out=set(rows), level=level, cosine=method == "add")
