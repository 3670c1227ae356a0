"""Interface of word vectors in this package: a matrix, a word for each row, and finite numbers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError

BLOCK_ROWS = 1024
"""Rows checked at a time."""


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
