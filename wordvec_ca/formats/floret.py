r"""Writes floret's tables, of which spaCy makes a vector for any string (``init vectors --mode floret``).

    header  = rows " " vector_size " " min_n " " max_n " 1 2166136261 < >\n"
    line    = number of the row, from 0, and its numbers

The vector of a string is the mean of the rows of ``<string>`` as a whole and of each of its n-grams; the row
of a string is its hash modulo the number of rows (the first 32 bits of MurmurHash3, x64, 128 bits). The table
starts with the n-gram rows of the model; n-grams that share a row of the table get the mean of their rows.
Then conjugate gradients find the change with the smallest sum of squares that gives the words of the
vocabulary exactly their vectors. Unknown words get nearly the same vectors as from the model.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordvec_ca.errors import DataError, Option, install_extra
from wordvec_ca.files import atomic_file
from wordvec_ca.formats.text import TEXT_PART
from wordvec_ca.kernels import write_rows
from wordvec_ca.tables import (
    END_OF_LINE,
    NgramVectors,
    VectorTable,
    encoded,
    ngrams_of,
    row_blocks,
    with_boundary_marks,
)

SEED = 2_166_136_261

# Largest number of steps of conjugate gradients.
MOST_STEPS = 60

# Relative error, in every dimension, below which the steps end.
CLOSE = 1e-5


def write_floret(table: VectorTable, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a table, all or nothing, with as many rows as there are words and n-grams."""
    ngrams = table.ngrams
    if ngrams is None or not ngrams.index.max_n:
        raise DataError(
            "these vectors have no n-grams, which floret's table needs: train with ",
            Option("subwords", True),
            ", or give the .bin of fastText",
        )
    if ngrams.index.min_n < 2:
        raise DataError(
            "n-grams of one character are not those of floret, which has the marks < and > too: train with ",
            Option("min_n"),
            " of 2 or more",
        )
    ngrams.check_unpublished("floret")
    rows = floret_rows(table, ngrams)
    sizes = *rows.shape, ngrams.index.min_n, ngrams.index.max_n
    with atomic_file(path, overwrite=overwrite) as stream:
        stream.write(b"%d %d %d %d 1 %d < >\n" % (*sizes, SEED))
        for part in row_blocks(rows, TEXT_PART):
            names = [b"%d" % row for row in range(part.start, part.start + len(rows[part]))]
            stream.write(write_rows(np.ascontiguousarray(rows[part]), names, " "))


def floret_rows(table: VectorTable, ngrams: NgramVectors) -> NDArray[np.float32]:
    """Return the rows of floret's table, shape (n_rows, vector_size)."""
    index, words = ngrams.index, table.words
    offsets, keys, starts, lengths = ngrams_of(words, index.min_n, index.max_n, 0)
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    text, _ = with_boundary_marks(words)
    names = [text[at : at + n] for at, n in zip(starts[first].tolist(), lengths[first].tolist(), strict=True)]
    n_rows = len(words) + len(names)
    place = _places(names, n_rows)
    wholes = [END_OF_LINE.encode() if word == END_OF_LINE else encoded(word) for word in words]
    place_of_whole = _places([b"<%b>" % word for word in wholes], n_rows)
    rows = np.zeros((n_rows, table.vectors.shape[1]), np.float32)
    _, row_of = index.rows_of(words)  # the row of each n-gram in our model, in the same order
    known = row_of[first] >= 0
    np.add.at(rows, place[known], np.asarray(ngrams.rows[row_of[first][known]], np.float32))
    rows /= np.maximum(np.bincount(place[known], minlength=n_rows), 1).astype(np.float32)[:, None]
    word_of = np.append(np.repeat(np.arange(len(words)), np.diff(offsets)), np.arange(len(words)))
    columns = np.append(place[kind.reshape(-1)], place_of_whole)
    shares = (1.0 / (1 + np.diff(offsets)))[word_of]
    means = csr_array((shares, (word_of, columns)), shape=(len(words), n_rows), dtype=np.float32)
    return nearest_solution(means, np.asarray(table.vectors, np.float32), rows)


def nearest_solution(
    means: csr_array, vectors: NDArray[np.float32], rows: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the rows nearest to ``rows`` that satisfy ``means @ result == vectors``."""
    # They are ``rows + means.T @ y``, where y solves ``means @ means.T @ y == vectors - means @ rows``, for
    # all dimensions at once.
    transposed = means.T.tocsr()
    rest = vectors - means @ rows
    direction, squares = rest.copy(), np.square(rest).sum(axis=0)
    goal = CLOSE**2 * np.maximum(np.square(vectors).sum(axis=0), 1e-30)
    for _ in range(MOST_STEPS):
        if (squares <= goal).all():
            break
        spread = transposed @ direction
        step = squares / np.maximum(np.square(spread).sum(axis=0), 1e-30)
        rows = rows + step * spread
        rest -= step * (means @ spread)
        before, squares = squares, np.square(rest).sum(axis=0)
        direction = rest + squares / np.maximum(before, 1e-30) * direction
    return np.asarray(rows, np.float32)


def _places(strings: list[bytes], n_rows: int) -> NDArray[np.int64]:
    """Return the row of each string in floret's table."""
    try:
        import mmh3
    except ImportError as error:
        raise ImportError(
            f"the format floret needs mmh3, which cannot be imported ({error}): {install_extra('spacy')}"
        ) from error
    hashes = (mmh3.hash64(string, SEED, x64arch=True, signed=False)[0] for string in strings)
    return np.fromiter(((h & 0xFFFFFFFF) % n_rows for h in hashes), np.int64, len(strings))
