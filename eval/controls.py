"""Vectors that keep everything about a model except what its words mean, the floor of every task; and vectors
cut down to the words that several models have.

An analogy is answered with the nearest of all words of a model, so the same vectors seem better without their
rarer words: .050 better, for vectors of 23,691 words cut to the first 4,000. Categories and induced parts of
speech depend on the vocabulary too, because its words are the ones that are clustered.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from wordvec_ca.eval.lookup import Vectors
from wordvec_ca.vectors import KeyedVectors

CONTROLS = ("permuted", "random")


def permuted(vectors: Vectors, *, seed: int = 1) -> KeyedVectors:
    """Give each word the vector of another word of about its frequency."""
    # Rows are sorted by falling frequency; they are permuted within bins of ranks 1, 2-3, 4-7, 8-15, ... so
    # that frequency, norm and the distribution of the vectors stay as they are. What a task still finds
    # comes not from the words' vectors but from frequency, norm, or the identity of the words.
    rng = np.random.default_rng([seed, 0x5EED])
    n_words = len(vectors.index_to_key)
    edges = [0]
    while edges[-1] < n_words:
        edges.append(min(n_words, 2 * edges[-1] + 1))
    order = np.arange(n_words)
    for start, end in itertools.pairwise(edges):
        order[start:end] = rng.permutation(order[start:end])
    return KeyedVectors(
        vectors.index_to_key, np.asarray(vectors.vectors)[order], getattr(vectors, "counts", None)
    )


def random_directions(vectors: Vectors, *, seed: int = 1) -> KeyedVectors:
    """Give each word a vector of random direction, as long as its own."""
    rng = np.random.default_rng([seed, 0xD1CE])
    matrix = rng.standard_normal(vectors.vectors.shape, dtype=np.float32)
    lengths = np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    matrix *= lengths / np.linalg.norm(matrix, axis=1, keepdims=True)
    return KeyedVectors(vectors.index_to_key, matrix, getattr(vectors, "counts", None))


def control(name: str, vectors: Vectors, *, seed: int = 1) -> KeyedVectors:
    """Return the named control of some vectors: one of ``CONTROLS``."""
    if name == "permuted":
        return permuted(vectors, seed=seed)
    if name == "random":
        return random_directions(vectors, seed=seed)
    raise ValueError(f"unknown control {name!r}; the controls are {', '.join(CONTROLS)}")


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
