r"""Vectors of n-grams that are fitted to finished vectors of words, and added to them.

Words of similar spelling (*walks*, *walked*) mostly have similar meanings. Ridge regression finds what the
n-grams of a word tell of its vector; half of it is added back to the word, and unknown words are made of it::

    Z   = argmin sum_w c_w |u_w - x_w Z|^2 + a c |Z|^2        u: unit rows less their mean
    v_w = u_w + l x_w Z                                       unknown words: the direction of x_w Z

Row x_w has a one for each n-gram of ``<word>``, divided by the root of their number. Fitting n-grams for
unknown words alone is due to Zhao, Mudgal and Liang (2018); see docs/forms.md for what is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.kernels import aligned_zeros, load_ngram_loops, padded
from wordvec_ca.machine import usable_cpus
from wordvec_ca.tables.ngrams import NgramIndex, NgramVectors, ngrams_of, with_boundary_marks
from wordvec_ca.tables.published import FITTED, FittedForm, Halves, unit

Floats = NDArray[np.float32]

# Characters of an n-gram, as in fastText; 2 to 5 and 4 to 6 give nearly the same.
MIN_N, MAX_N = 3, 6

# Median length of words up to which single characters are n-grams, too: of Chinese words, mostly of two
# characters, longer ones explain nothing. In other scripts characters alone would add rows and little else.
SHORT_WORDS = 2

# Number of words in which an n-gram must occur: what fewer words share is not a form but these words.
LEAST_WORDS = 4

# Weight of the penalty (a); with .3, n-grams of few words fit noise where vectors are noisy.
RIDGE = 1.0

# Count from which all words weigh the same; vectors of rarer words are noisier.
MOST_COUNTED = 200

# Steps of conjugate gradients; more gain nothing.
STEPS = 4

# Dimensions that a thread fits at a time, a cache line of each row, and threads at most: so the memory for
# n-grams stays small beside that of the vectors.
COLUMNS_AT_ONCE = 16
MOST_THREADS = 4

# Weight of what n-grams tell of a known word (l): with 1, similarity and analogies gain more, but parts of
# speech that are induced from the vectors lose .05 of V.
WEIGHT = 0.5

# Number of words whose vectors are made at a time.
BLOCK_ROWS = 4_096

# One word in so many is left out of a first fit, which tells whether n-grams say anything of it.
HELD_OUT = 10

# Share of the variance of held-out words that n-grams must explain (R squared).
LEAST_EXPLAINED = 0.02


def published_vectors(
    form: FittedForm, halves: Halves, words: Sequence[str], counts: Any
) -> tuple[Floats, NgramVectors | None]:
    """Return the vectors of a form, and those of n-grams if the form is made with them."""
    made = form.matrix(halves)
    return with_fitted_ngrams(words, made, counts)[:2] if form.form == "fitted" else (made, None)


def with_fitted_ngrams(
    words: Sequence[str], vectors: Floats, counts: Any, weight: float = WEIGHT
) -> tuple[Floats, NgramVectors, float]:
    """Return vectors with what n-grams tell of each word, vectors of the n-grams, and R squared; DataError if
    the spelling of the words tells nothing of their vectors. The bits do not depend on threads.
    """
    if not len(words):
        raise DataError("there are no words, so n-grams cannot be fitted to their vectors")
    blocks, index = _design(words)
    units: Floats = np.empty(vectors.shape, np.float32)
    for start in range(0, len(units), BLOCK_ROWS):  # no second copy of all vectors
        block = slice(start, start + BLOCK_ROWS)
        units[block] = unit(np.nan_to_num(np.asarray(vectors[block], np.float32)))
    units -= units[:FITTED].mean(axis=0)
    weights = np.ones(len(words), np.float32)
    if counts is not None:
        weights = np.sqrt(np.clip(np.asarray(counts, np.float32), 1, MOST_COUNTED))
        weights /= weights.mean()
    n_rows = len(index.rows)
    some_columns = units[:, :COLUMNS_AT_ONCE]  # they tell as much as all
    explained = _explained(n_rows, blocks, some_columns, weights)
    if explained < LEAST_EXPLAINED:
        raise DataError(
            "the spelling of the words tells nothing of their vectors: n-grams explain "
            f"{explained:.3f} of the variance of held-out words, and {LEAST_EXPLAINED} is needed; "
            "the vectors stay as they are"
        )
    rows = np.empty((n_rows, units.shape[1]), np.float32)
    # an unknown word gets the mean of rows; in X they have 1 / root of their number
    mean_number = sum(len(block.columns) for block in blocks) / len(words)
    scale = np.float32((1 + weight) * np.sqrt(max(1.0, mean_number)))

    def fit(start: int) -> None:
        some = slice(start, min(start + COLUMNS_AT_ONCE, units.shape[1]))
        found = _solved(n_rows, blocks, units[:, some], weights)
        for block in blocks:
            units[block.words, some] += np.float32(weight) * block.told(found)[:, : some.stop - start]
        np.multiply(found[:, : some.stop - start], scale, out=rows[:, some])

    with ThreadPoolExecutor(min(usable_cpus(), MOST_THREADS)) as threads:
        list(threads.map(fit, range(0, units.shape[1], COLUMNS_AT_ONCE)))
    return units, NgramVectors(index, rows), explained


def _explained(n_rows: int, blocks: list[_Block], units: Floats, weights: Floats) -> float:
    """Return R squared on words that a first fit leaves out; names and numbers of items are near 0."""
    left_out = np.zeros(len(units), bool)
    left_out[np.random.default_rng(1).permutation(len(units))[: -(-len(units) // HELD_OUT)]] = True
    used = np.where(left_out, 0, weights).astype(np.float32)
    found = _solved(n_rows, blocks, units, used)
    told = np.concatenate([block.told(found)[left_out[block.words]] for block in blocks])
    # words weigh as in the fit: the vectors of rare ones, which are most, are mainly noise
    held, share = units[left_out], weights[left_out, None]
    errors = share * (held - told[:, : units.shape[1]]) ** 2
    around = share * (held - np.average(held, axis=0, weights=share[:, 0])) ** 2
    variance = float(around.sum())
    # of words that do not differ nothing can be told
    return 1.0 - float(errors.sum()) / variance if variance > 0 else 0.0


class _Block(NamedTuple):
    """Rows of X: some words and their n-grams."""

    words: slice
    # The n-grams of word i are columns[offsets[i] : offsets[i + 1]].
    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    # The entries of each word: 1 / root of the number of its n-grams.
    entries: Floats

    def told(self, rows: Floats) -> Floats:
        """Return x_w Z of each word, for the rows of Z."""
        return self._over(0, rows, aligned_zeros((len(self.entries), rows.shape[1]))) * self.entries[:, None]

    def give_back(self, vectors: Floats, rows: Floats) -> None:
        """Add x_w' v_w of each word to rows."""
        given = aligned_zeros((len(self.entries), rows.shape[1]))
        np.multiply(vectors, self.entries[:, None], out=given[:, : vectors.shape[1]])
        self._over(1, rows, given)

    def _over(self, loop: int, rows: Floats, vectors: Floats) -> Floats:
        ones, every = np.ones(len(self.columns), np.float32), np.arange(len(vectors), dtype=np.int32)
        before = aligned_zeros(vectors.shape)
        load_ngram_loops()[loop](rows, self.offsets, self.columns, ones, every, vectors, before)
        return vectors


def _design(words: Sequence[str]) -> tuple[list[_Block], NgramIndex]:
    """Return the matrix X of words and their n-grams, and the row of each n-gram in Z."""
    shortest = MIN_N if np.median([len(word) for word in words]) > SHORT_WORDS else 1
    parts = [slice(at, at + BLOCK_ROWS) for at in range(0, len(words), BLOCK_ROWS)]
    keys = np.concatenate([ngrams_of(words[part], shortest, MAX_N, 0)[1] for part in parts])
    keys.sort()
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    keys = keys[begins[np.diff(begins, append=len(keys)) >= LEAST_WORDS]]
    place, length, n_bytes = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32), 0
    blocks = []
    for part in parts:
        offsets, of_words, places, lengths = ngrams_of(words[part], shortest, MAX_N, 0)
        column = np.searchsorted(keys, of_words).astype(np.int32)
        known = column < len(keys)
        known[known] = keys[column[known]] == of_words[known]
        offsets, column = np.append(0, np.cumsum(known))[offsets], column[known]
        entries = (1 / np.sqrt(np.maximum(np.diff(offsets), 1))).astype(np.float32)
        blocks.append(_Block(part, offsets, column, entries))
        place[column], length[column] = n_bytes + places[known], lengths[known]
        n_bytes += len(with_boundary_marks(words[part])[0])

    rows = np.arange(len(keys), dtype=np.int32)
    return blocks, NgramIndex(shortest, MAX_N, 0, keys, rows, partial(_names, words, place, length))


def _names(words: Sequence[str], places: NDArray[np.int64], lengths: NDArray[np.int32]) -> list[bytes]:
    """Return the n-grams at places of the words between their marks."""
    text, _ = with_boundary_marks(words)
    return [text[at : at + n] for at, n in zip(places.tolist(), lengths.tolist(), strict=True)]


def _solved(n_rows: int, blocks: list[_Block], targets: Floats, weights: Floats) -> Floats:
    """Solve (X' C X + a) Z = X' C U by conjugate gradients, each column on its own."""
    # The equations are divided by their diagonal: fewer steps, since n-grams differ in frequency.
    solution, residual, direction, product = (
        aligned_zeros((n_rows, padded(targets.shape[1]))) for _ in range(4)
    )
    for block in blocks:
        block.give_back(weights[block.words, None] * targets[block.words], residual)
        block.give_back((weights[block.words] * block.entries)[:, None], product)
    diagonal = product[:, :1] + np.float32(RIDGE)
    np.divide(residual, diagonal, out=direction)
    squared = np.einsum("ij,ij->j", residual, direction)
    for _ in range(STEPS):
        np.multiply(direction, np.float32(RIDGE), out=product)
        for block in blocks:
            block.give_back(weights[block.words, None] * block.told(direction), product)
        step = squared / np.maximum(np.einsum("ij,ij->j", direction, product), np.float32(1e-30))
        before, squared = squared, np.zeros_like(squared)
        for at in range(0, n_rows, BLOCK_ROWS):  # no further matrix
            part = slice(at, at + BLOCK_ROWS)
            solution[part] += step * direction[part]
            residual[part] -= step * product[part]
            product[part] = residual[part] / diagonal[part]
            squared += np.einsum("ij,ij->j", residual[part], product[part])
        direction *= squared / np.maximum(before, np.float32(1e-30))
        direction += product
    return solution
