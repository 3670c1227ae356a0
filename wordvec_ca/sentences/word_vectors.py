"""Word vectors as this package needs them: a matrix, a word for each row, and finite numbers. Unknown words
get vectors if their n-grams are known.

Rows of the vectors are numbered from 0. In a batch of text -1 is a token without any vector, and -2, -3, ...
are those words without a row for which n-grams give a vector.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.tables import NgramVectors
from wordvec_ca.vectors import KeyedVectors

# Rows checked at a time.
BLOCK_ROWS = 1024


class WordVectors(Protocol):
    """Interface of word vectors, which ``KeyedVectors`` of this package and of gensim both have."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """A row for each word, shape (n_words, vector_size); may be a read-only memory map."""

    @property
    def index_to_key(self) -> list[str]:
        """The word of each row."""

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""


def check_finite(matrix: NDArray[np.floating[Any]], words: list[str] | None = None) -> None:
    """Raise if a row holds NaN or infinity."""
    for start in range(0, len(matrix), BLOCK_ROWS):
        bad = ~np.isfinite(matrix[start : start + BLOCK_ROWS]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax())
            name = f"in row {row}" if words is None else f"of {words[row]!r}"
            raise DataError(f"the vector {name} holds NaN or infinity: drop or repair it first")


def fingerprint(vectors: WordVectors) -> dict[str, Any]:
    """Return a fingerprint of a vocabulary: its size and a checksum of its words in order."""
    checksum = 0
    words = vectors.index_to_key
    for start in range(0, len(words), 65536):
        checksum = zlib.crc32(
            "\n".join(words[start : start + 65536]).encode("utf-8", "surrogatepass"), checksum
        )
    return {"n_words": len(words), "vector_size": int(vectors.vectors.shape[1]), "crc32": checksum}


NO_VECTOR = -1
# The id of the first word of a batch that has a vector, but no row.
FIRST = -2


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
    """Add a row for each unknown word of a text, given with its count, that gets a vector from n-grams; the
    result has no n-grams.
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
