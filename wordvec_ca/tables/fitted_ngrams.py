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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.machine import usable_cpus
from wordvec_ca.tables.ngrams import NgramIndex, NgramVectors, ngrams_of, with_boundary_marks
from wordvec_ca.tables.published import FITTED, FittedForm, Halves, unit

# Characters of an n-gram, as in fastText; 2 to 5 and 4 to 6 give nearly the same.
MIN_N, MAX_N = 3, 6

# Median length of words up to which single characters are n-grams, too: of Chinese words, mostly of two
# characters, longer ones explain nothing. In other scripts characters alone would add rows and little else.
SHORT_WORDS = 2

# Number of words in which an n-gram must occur: what fewer words share is not a form but these words.
LEAST_WORDS = 3

# Weight of the penalty (a); from .1 to 3 little changes.
RIDGE = 0.3

# Count from which all words weigh the same; vectors of rarer words are noisier.
MOST_COUNTED = 200

# Steps of conjugate gradients; more change no figure.
STEPS = 15

# Dimensions that are fitted at a time: the memory for n-grams stays small beside that of the vectors.
COLUMNS_AT_ONCE = 25

# Weight of what n-grams tell of a known word (l): with 1, similarity and analogies gain more, but parts of
# speech that are induced from the vectors lose .05 of V.
WEIGHT = 0.5

# Number of words whose forms are held at a time.
BLOCK_ROWS = 8_192

# One word in so many is left out of a first fit, which tells whether n-grams say anything of it.
HELD_OUT = 10

# Share of the variance of held-out words that n-grams must explain (R squared).
LEAST_EXPLAINED = 0.02


def published_vectors(
    form: FittedForm, halves: Halves, words: Sequence[str], counts: Any
) -> tuple[NDArray[np.float32], NgramVectors | None]:
    """Return the vectors of a form, and those of n-grams if the form is made with them."""
    made = form.matrix(halves)
    return with_fitted_ngrams(words, made, counts)[:2] if form.form == "fitted" else (made, None)


def with_fitted_ngrams(
    words: Sequence[str], vectors: NDArray[np.float32], counts: Any, weight: float = WEIGHT
) -> tuple[NDArray[np.float32], NgramVectors, float]:
    """Return vectors with what n-grams tell of each word, vectors of the n-grams, and R squared; DataError if
    the spelling of the words tells nothing of their vectors.
    """
    units = np.empty(vectors.shape, np.float32)
    for start in range(0, len(units), BLOCK_ROWS):  # no second copy of all vectors
        block = slice(start, start + BLOCK_ROWS)
        units[block] = unit(np.nan_to_num(np.asarray(vectors[block], np.float32)))
    units -= units[:FITTED].mean(axis=0)
    fit = fit_ngrams(words, units, counts)
    if not fit.says_something:
        raise DataError(
            "the spelling of the words tells nothing of their vectors: n-grams explain "
            f"{fit.explained:.3f} of the variance of held-out words, and {LEAST_EXPLAINED} is needed; "
            "the vectors stay as they are"
        )
    return fit.added_to(units, weight), fit.ngrams(weight), fit.explained


@dataclass(frozen=True)
class NgramFit:
    """Vectors of n-grams fitted to vectors of words."""

    # R squared on words that a first fit had left out; names and numbers of items are near 0.
    explained: float
    # csr matrix of shape (n_words, n_ngrams), float32; X.
    design: Any
    # shape (n_ngrams, vector_size), float32; Z; zeros if n-grams explain too little.
    rows: NDArray[np.float32]
    # The row of each n-gram.
    index: NgramIndex

    @property
    def says_something(self) -> bool:
        """Whether n-grams explain enough to be used."""
        return self.explained >= LEAST_EXPLAINED

    def added_to(self, units: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
        """Add what n-grams tell of each word to its vector, in place."""
        for start in range(0, len(units), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            units[block] += np.float32(weight) * (self.design[block] @ self.rows)
        return units

    def ngrams(self, weight: float) -> NgramVectors:
        """Return vectors for unknown words, as long as those of known words on average."""
        # an unknown word gets the mean of rows; in X they have 1 / root of their number
        root = np.sqrt(max(1.0, float(np.diff(self.design.indptr).mean())))
        return NgramVectors(self.index, np.asarray(np.float32((1 + weight) * root) * self.rows))


def fit_ngrams(words: Sequence[str], units: NDArray[np.float32], counts: Any = None) -> NgramFit:
    """Fit vectors of n-grams to unit vectors of words less their mean; the bits do not depend on threads."""
    design, index = _design(words)
    weights = np.ones(len(words), np.float32)
    if counts is not None:
        weights = np.sqrt(np.clip(np.asarray(counts, np.float32), 1, MOST_COUNTED))
        weights /= weights.mean()
    left_out = np.zeros(len(words), bool)
    left_out[np.random.default_rng(1).permutation(len(words))[: -(-len(words) // HELD_OUT)]] = True
    some = slice(0, min(COLUMNS_AT_ONCE, units.shape[1]))  # some dimensions tell as much as all
    first = _solved(design, units[:, some], np.where(left_out, 0, weights).astype(np.float32))
    # words weigh as in the fit: the vectors of rare ones, which are most, are mainly noise
    held, share = units[left_out, some], weights[left_out, None]
    errors = share * (held - design[left_out] @ first) ** 2
    around = share * (held - np.average(held, axis=0, weights=share[:, 0])) ** 2
    explained = 1.0 - float(errors.sum()) / max(float(around.sum()), 1e-30)
    fit = NgramFit(explained, design, np.zeros((design.shape[1], units.shape[1]), np.float32), index)
    return replace(fit, rows=_fitted(design, units, weights)) if fit.says_something else fit


def _design(words: Sequence[str]) -> tuple[Any, NgramIndex]:
    """Return the matrix X of words and their n-grams, and the row of each n-gram."""
    from scipy.sparse import csr_matrix

    shortest = MIN_N if np.median([len(word) for word in words]) > SHORT_WORDS else 1
    offsets, keys, places, lengths = ngrams_of(words, shortest, MAX_N, 0)
    known, first, column, n_words = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    kept = n_words >= LEAST_WORDS
    places, lengths = places[first[kept]], lengths[first[kept]]
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[column.reshape(-1)]
    word = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(offsets))
    word, number = word[number >= 0], number[number >= 0]
    n_of_word = np.bincount(word, minlength=len(words))
    values = (1 / np.sqrt(np.maximum(n_of_word, 1))).astype(np.float32)[word]
    design = csr_matrix((values, (word, number)), (len(words), int(kept.sum())))

    def names() -> list[bytes]:
        text, _ = with_boundary_marks(words)
        return [text[at : at + n] for at, n in zip(places.tolist(), lengths.tolist(), strict=True)]

    rows = np.arange(design.shape[1], dtype=np.int32)
    return design, NgramIndex(shortest, MAX_N, 0, known[kept], rows, names)


def _fitted(design: Any, units: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors of all n-grams; threads fit some dimensions each."""
    rows = np.empty((design.shape[1], units.shape[1]), np.float32)

    def fit(start: int) -> None:
        columns = slice(start, start + COLUMNS_AT_ONCE)
        rows[:, columns] = _solved(design, units[:, columns], weights)

    with ThreadPoolExecutor(usable_cpus()) as threads:
        list(threads.map(fit, range(0, units.shape[1], COLUMNS_AT_ONCE)))
    return rows


def _solved(design: Any, targets: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Solve the normal equations (X' C X + a) Z = X' C U by conjugate gradients, each column on its own."""
    transposed = design.T  # by columns: a copy by rows, one for each thread, is no faster

    def normal(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(transposed @ (weights[:, None] * (design @ rows)) + np.float32(RIDGE) * rows)

    residual = np.asarray(transposed @ (weights[:, None] * np.ascontiguousarray(targets)), np.float32)
    solution, direction = np.zeros_like(residual), residual.copy()
    squared = (residual**2).sum(axis=0)
    for _ in range(STEPS):
        product = normal(direction)
        step = squared / np.maximum((direction * product).sum(axis=0), np.float32(1e-30))
        solution += step * direction
        residual -= step * product
        before, squared = squared, (residual**2).sum(axis=0)
        direction = residual + (squared / np.maximum(before, np.float32(1e-30))) * direction
    return solution
