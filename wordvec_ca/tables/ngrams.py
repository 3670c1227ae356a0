"""Vectors of words from the vectors of their n-grams (Bojanowski et al. 2017, section 3.2).

A word between ``<`` and ``>`` has all n-grams of ``min_n`` to ``max_n`` characters; its vector is the mean of
a row of its own and one row for each n-gram. A word that was never seen has no row of its own. The word
``</s>``, fastText's end of line, has no n-grams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import escape_lines, in_memory
from wordvec_ca.kernels import ngram_keys, word_ngrams

END_OF_LINE = "</s>"


class NgramIndex:
    """Maps n-grams to rows, by an explicit list of n-grams or by fastText's buckets."""

    def __init__(
        self,
        min_n: int,
        max_n: int,
        buckets: int,
        keys: NDArray[np.uint64] | None,
        rows: Any,
        names: Callable[[], list[bytes]] | None = None,
        absent_count: bool = True,
    ) -> None:
        self.absent_count = absent_count
        self.min_n, self.max_n, self.buckets = min_n, max_n, buckets
        self.keys, self.rows, self.names = keys, rows, names

    def rows_of(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the n-grams of words."""
        offsets, keys, _, _ = ngrams_of(words, self.min_n, self.max_n, self.buckets)
        if self.keys is None:
            return offsets, self.rows + keys.astype(np.int64)
        if not len(self.keys):
            return offsets, np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        rows = np.where(self.keys[at] == keys, self.rows[at], -1).astype(np.int64)
        if self.absent_count:
            return offsets, rows
        present = rows >= 0
        return np.append(0, np.cumsum(present))[offsets], rows[present]

    def save(self, path: Path) -> None:
        """Write ``n-gram TAB row`` lines, escaped as in ``vocab.tsv``; with buckets, ``bucket TAB row``."""
        assert self.keys is not None
        order = np.argsort(self.rows, kind="stable")
        if self.names is None or self.buckets:
            names = [str(key) for key in self.keys[order].tolist()]
        else:
            grams = self.names()
            names = [grams[i].decode("utf-8") for i in order.tolist()]
        with open(path, "wb") as file:
            for start in range(0, len(names), 65_536):
                escaped = escape_lines(names[start : start + 65_536]).split("\n")
                numbers = self.rows[order[start : start + 65_536]].tolist()
                lines = (f"{name}\t{row}\n" for name, row in zip(escaped, numbers, strict=False))
                file.write("".join(lines).encode("utf-8"))

    def shared_with(self, other: NgramIndex) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of n-grams that another index contains too, and their rows in the other."""
        assert self.keys is not None
        if other.keys is None:
            return np.arange(len(self.keys)), other.rows + self.keys.astype(np.int64)
        _, here, there = np.intersect1d(self.keys, other.keys, assume_unique=True, return_indices=True)
        return here, other.rows[there]


class NgramVectors:
    """Computes vectors for any word from rows of n-grams."""

    # index: The row of each n-gram, or a function that returns it, called at the first use.
    # rows: shape (n_rows, vector_size), float32; may be a memory map.
    # source: The file of the n-grams, for writers that can copy it unchanged.
    # to_published: Returns the map of means of rows, scaled to unit length, to the published form: an array
    # of shape (vector_size + 1, n_columns), whose last row is added (`published.map_of_inputs`). By default
    # the means themselves are published.

    def __init__(
        self,
        index: NgramIndex | Callable[[], NgramIndex],
        rows: np.ndarray,
        source: Any = None,
        to_published: Callable[[], np.ndarray] | None = None,
    ) -> None:
        self._index, self.rows, self.source = index, rows, source
        self._to_published = to_published

    @property
    def are_published(self) -> bool:
        """Whether the means of rows are the published vectors."""
        return self._to_published is None

    def check_unpublished(self, name: str) -> None:
        """Raise a DataError if means of rows are not the published vectors, as readers of a format assume."""
        if not self.are_published:
            raise DataError(
                f"readers of {name} make vectors of n-grams, and these vectors are in another form: read the "
                "model with ",
                Option("vectors", "input"),
            )

    @cached_property
    def _linear_map(self) -> np.ndarray:
        assert self._to_published is not None
        return self._to_published()

    def _published(self, means: np.ndarray) -> NDArray[np.float32]:
        """Convert means of rows to the published form."""
        if self._to_published is None:
            return np.asarray(means, np.float32)
        lengths = np.linalg.norm(means, axis=-1, keepdims=True)
        rows = means / np.where(lengths > 0, lengths, 1)
        return np.asarray(rows @ self._linear_map[:-1] + self._linear_map[-1], np.float32)

    @cached_property
    def index(self) -> NgramIndex:
        """The row of each n-gram."""
        return self._index if isinstance(self._index, NgramIndex) else self._index()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all data, also data not read yet. Rows that the source contains too are pickled once."""
        shared = getattr(self.source, "inputs", None) is self.rows
        return {
            "_index": self.index,
            "rows": None if shared else in_memory(self.rows),
            "source": self.source,
            "_to_published": self._to_published and partial(np.asarray, in_memory(self._linear_map)),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.rows is None:
            self.rows = self.source.inputs

    def as_published(self, to_published: Callable[[], np.ndarray]) -> NgramVectors:
        """Return the same n-grams with another map to the published form (see the class)."""
        return NgramVectors(self._index, self.rows, self.source, to_published)

    def vector(self, word: str) -> np.ndarray | None:
        """Return the vector of a word without a row of its own, or None if it has no known n-gram.

        The vector is the sum over the n-grams that have a row, divided by the number of all n-grams of the
        word, as in fastText, or by the number of those with a row; see ``NgramIndex``.
        """
        _, rows = self.index.rows_of([word])
        known = rows[rows >= 0]
        if not len(known):
            return None
        total = np.asarray(self.rows[known], np.float64).sum(axis=0)
        return self._published(total / len(rows))

    def knows_each(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each word whether ``vector`` returns a vector, shape (n_words,)."""
        offsets, rows = self.index.rows_of(words)
        known = np.append(0, np.cumsum(rows >= 0))
        return known[offsets[1:]] > known[offsets[:-1]]

    def vector_of_each(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return ``vector`` of each word, shape (n_words, vector_size); zeros where it is None."""
        offsets, rows = self.index.rows_of(words)
        sums = np.zeros((len(words), self.rows.shape[1]))
        known = rows >= 0
        word_of = np.repeat(np.arange(len(words)), np.diff(offsets))[known]
        if len(word_of):
            begins = np.flatnonzero(np.diff(word_of, prepend=-1))
            sums[word_of[begins]] = np.add.reduceat(np.asarray(self.rows[rows[known]], np.float64), begins)
        vectors = self._published(sums / np.maximum(np.diff(offsets), 1)[:, None])
        vectors[np.bincount(word_of, minlength=len(words)) == 0] = 0
        return vectors

    def bucket_rows(self, buckets: int) -> np.ndarray:
        """Return a row for each bucket of fastText, zero for unused ones; if each n-gram has its own row,
        there are ``buckets``, and each gets the mean of its n-grams' rows.
        """
        index = self.index
        if index.keys is None:
            return np.asarray(self.rows[index.rows : index.rows + index.buckets])
        rows = np.zeros((index.buckets or buckets, self.rows.shape[1]), np.float32)
        if index.buckets:
            rows[index.keys.astype(np.int64)] = self.rows[index.rows]
            return rows
        assert index.names is not None
        bucket_of = keys_of(index.names(), buckets).astype(np.int64)
        np.add.at(rows, bucket_of, np.asarray(self.rows[index.rows]))
        rows /= np.maximum(np.bincount(bucket_of, minlength=buckets), 1).astype(np.float32)[:, None]
        return rows

    def vectors_of(self, words: Sequence[str], own_rows: np.ndarray) -> np.ndarray:
        """Return the input vectors of words that have a row of their own, in the shape of these rows."""
        vectors = np.empty(own_rows.shape, np.float32)
        step = max(1, (16 << 20) // (4 * max(1, own_rows.shape[1]) * 30))
        for start in range(0, len(words), step):
            some = list(words[start : start + step])
            offsets, rows = self.index.rows_of(some)
            sums = np.array(own_rows[start : start + step], np.float32)
            known = rows >= 0
            word_of = np.repeat(np.arange(len(some)), np.diff(offsets))[known]
            if len(word_of):
                begins = np.flatnonzero(np.diff(word_of, prepend=-1))
                sums[word_of[begins]] += np.add.reduceat(
                    np.asarray(self.rows[rows[known]], np.float32), begins, axis=0
                )
            vectors[start : start + step] = sums / (1 + np.diff(offsets)).astype(np.float32)[:, None]
        return vectors


def keys_of(names: Sequence[bytes], buckets: int) -> NDArray[np.uint64]:
    """Return the keys of n-grams given as text: their buckets or, without buckets, hashes of 64 bits."""
    lengths = np.fromiter(map(len, names), np.int64, count=len(names))
    keys: NDArray[np.uint64] = ngram_keys(
        np.frombuffer(b"".join(names), np.uint8), np.cumsum(lengths), buckets
    )
    return keys


def ngrams_of(words: Sequence[str], min_n: int, max_n: int, buckets: int) -> tuple[np.ndarray, ...]:
    """Return offsets, keys, places and lengths of the n-grams of words, as ``kernels.word_ngrams`` does."""
    # Places are positions in ``with_boundary_marks(words)``.
    text, ends = with_boundary_marks(words)
    found: tuple[np.ndarray, ...] = word_ngrams(np.frombuffer(text, np.uint8), ends, min_n, max_n, buckets)
    return found


def with_boundary_marks(words: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Return all words, each between ``<`` and ``>``, as one string of bytes, and where each word ends."""
    pieces = [b"" if word == END_OF_LINE else b"<%b>" % encoded(word) for word in words]
    lengths = np.fromiter(map(len, pieces), np.int64, count=len(pieces))
    return b"".join(pieces), np.cumsum(lengths)


def encoded(word: str) -> bytes:
    """Return a word in UTF-8; lone surrogates become the bytes that they encode."""
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return word.encode("utf-8", "surrogatepass")
