"""Unknown words of sentences, which get vectors if their n-grams are known.

Rows of the vectors are numbered from 0. In a batch of text -1 is a token without any vector, and -2, -3, ...
are those words without a row for which n-grams give a vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.tables import NgramVectors
from wordvec_ca.vectors import KeyedVectors

NO_VECTOR = -1
FIRST = -2
"""The id of the first word of a batch that has a vector, but no row."""


def ngrams_in_use(vectors: Any) -> NgramVectors | None:
    """Return the n-grams of word vectors, or None if they have none or ``oov`` is 'refuse'."""
    ngrams: NgramVectors | None = getattr(vectors, "ngrams", None)
    return None if getattr(vectors, "oov", "ngrams") == "refuse" else ngrams


def number_unknown(
    ids: NDArray[np.int32], places: Sequence[int] | NDArray[Any], words: Sequence[str], ngrams: NgramVectors
) -> tuple[str, ...]:
    """Number the unknown tokens of a batch that get a vector from n-grams, and return their words."""
    kinds = list(dict.fromkeys(words))
    known = ngrams.knows_each(kinds)
    others = tuple(word for word, has_vector in zip(kinds, known.tolist(), strict=True) if has_vector)
    number = {word: FIRST - k for k, word in enumerate(others)}
    ids[places] = [number.get(word, NO_VECTOR) for word in words]
    return others


def renumbered(ids: NDArray[np.int32], others: Sequence[str], places: dict[str, int]) -> NDArray[np.int32]:
    """Renumber ids of a batch by a growing table of the words of several batches."""
    if not others:
        return ids
    place = np.array([places.setdefault(word, len(places)) for word in others], np.int32)
    changed = ids.copy()
    chosen = ids <= FIRST
    changed[chosen] = FIRST - place[FIRST - ids[chosen]]
    return changed


def with_rows_for(vectors: KeyedVectors, table: Mapping[str, int]) -> KeyedVectors:
    """Add a row for each unknown word of a text that gets a vector from n-grams; the result has no n-grams.

    Parameters
    ----------
    vectors : KeyedVectors
    table : mapping of str to int
        The words of the text and how often they occur; the new rows are in this order, with these counts.
    """
    ngrams = ngrams_in_use(vectors)
    unknown = [word for word in table if word not in vectors.key_to_index]
    if ngrams is None or not unknown:
        return vectors
    known = ngrams.knows_each(unknown)
    words = [word for word, has_vector in zip(unknown, known.tolist(), strict=True) if has_vector]
    counts = vectors.counts
    if counts is not None:
        counts = np.append(counts, [table[word] for word in words])
    rows = np.concatenate([vectors.vectors, ngrams.vector_of_each(words)])
    return KeyedVectors([*vectors.index_to_key, *words], rows, counts, vectors.metadata)
