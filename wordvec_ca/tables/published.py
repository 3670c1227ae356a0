"""Computes published vectors from the two matrices that a model learns.

Training learns input rows W, from which words are predicted, and output rows O, which are predicted. Each
form computes one vector from the two rows of a word::

    input    W
    output   O less its mean
    both     principal components of W and O side by side: as many as W has columns
    fitted   both, to which `fitted_ngrams` adds what n-grams tell of each word

Means and components are those of the most frequent words, whose rows have the least noise. All output rows
share a large common vector, because negative sampling asks that most products of input and output rows are
small; without it they distinguish words better than input rows do (docs/both-halves.md).

Unknown words do not have an output row: a rotation, fitted on known words, maps the mean of the rows of their
n-grams into the space of the vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from wordvec_ca.errors import known_names
from wordvec_ca.specs.models import VECTOR_FORMS

# Decorator for functions whose products are thin: BLAS threads wait busily for each other, which takes ten
# times as long when other programs use the cores.
one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")


# Number of the most frequent words from which means and components are computed.
FITTED = 20_000

# Weight of output rows relative to input rows, both at unit length (chosen in docs/evidence, both-halves).
OUTPUT_WEIGHT = 2.0

# The same where input rows are made of n-grams: with 2, what n-grams know of word forms is lost.
OUTPUT_WEIGHT_WITH_NGRAMS = 1.0

# Number of rows computed at a time; fixed, since the last bits of a product may depend on it.
BLOCK_ROWS = 8_192


class Halves(NamedTuple):
    """The two matrices of a model."""

    # shape (n_words, vector_size), float32; W; possibly a view or a memory map.
    inputs: np.ndarray
    # shape (n_words, n_vectors, vector_size), float32; O. If a word has several vectors, one for each place
    # of the window, their mean is used.
    outputs: np.ndarray
    # Weight of O beside W, in the form ``both``.
    output_weight: float = OUTPUT_WEIGHT

    def blocks(self, stop: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of rows of both matrices: two arrays of shape (n_rows, vector_size), float32."""
        n_rows = len(self.inputs) if stop is None else min(stop, len(self.inputs))
        for start in range(0, n_rows, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, n_rows))
            outputs = self.outputs[rows]
            yield (
                np.array(self.inputs[rows], np.float32),
                outputs[:, 0].astype(np.float32) if outputs.shape[1] == 1 else outputs.mean(axis=1),
            )


def output_weight(with_ngrams: bool) -> float:
    """Return the weight of output rows beside input rows that are made of n-grams, or are not."""
    return OUTPUT_WEIGHT_WITH_NGRAMS if with_ngrams else OUTPUT_WEIGHT


def check_form(form: str) -> None:
    """Raise a ValueError if vectors have no such form."""
    if form not in VECTOR_FORMS:
        raise ValueError(f"vectors is {form!r}; known are {known_names(form, VECTOR_FORMS, repr)}")


class FittedForm:
    """A form with the means and components of the first words of one model whose rows are finite."""

    @one_blas_thread
    def __init__(self, form: str, halves: Halves) -> None:
        check_form(form)
        self.form = form
        self.n_columns = halves.inputs.shape[1]
        self._output_weight = halves.output_weight
        # n-grams are fitted to all rows together, afterwards
        self._made_as = "both" if form == "fitted" else form
        self._mean, covariance = _sums(self._made_as, halves)
        if self._made_as == "both":
            vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, : self.n_columns]
            # v and -v are equally good; choose the one whose largest number is positive, for the same result
            # each time
            largest = np.abs(vectors).argmax(axis=0)
            vectors = vectors * np.where(vectors[largest, np.arange(self.n_columns)] < 0, -1.0, 1.0)
            self._components = np.asarray(vectors, np.float32)

    def rows(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return the vectors of some words."""
        if self._made_as == "input":
            return inputs
        if self._made_as == "output":
            return np.asarray(outputs - self._mean[1])
        both = _side_by_side(inputs, outputs, self._output_weight)
        both -= self._mean.reshape(-1)
        return np.asarray(both @ self._components)

    @one_blas_thread
    def with_means_of(self, halves: Halves) -> FittedForm:
        """Return the form with the same components, but with the means of another model in the same space."""
        other = copy.copy(self)
        other._mean = _sums(self._made_as, halves)[0]
        return other

    def blocks(self, halves: Halves) -> Iterator[np.ndarray]:
        """Yield the vectors of all words, block by block."""
        make = one_blas_thread(self.rows)
        return (make(inputs, outputs) for inputs, outputs in halves.blocks())

    def matrix(self, halves: Halves) -> np.ndarray:
        """Return the vectors of all words, shape (n_words, n_columns), float32."""
        made = np.empty((len(halves.inputs), self.n_columns), np.float32)
        for number, block in enumerate(self.blocks(halves)):
            made[number * BLOCK_ROWS : number * BLOCK_ROWS + len(block)] = block
        return made


@one_blas_thread
def map_of_inputs(inputs: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the map of input rows at unit length to the published form, for words without output rows."""
    # It consists of the rotation, scale and shift that fit known words best (orthogonal Procrustes:
    # Schönemann 1966). Unrestricted least squares shrink directions that are hard to predict, and are worse
    # in similarity.
    rows = unit(np.asarray(inputs[:FITTED], np.float32)).astype(np.float64)
    targets = np.asarray(vectors[:FITTED], np.float64)
    used = np.isfinite(rows).all(axis=1) & np.isfinite(targets).all(axis=1)
    rows, targets = rows[used], targets[used]
    centre, target = rows.sum(axis=0) / max(1, len(rows)), targets.sum(axis=0) / max(1, len(rows))
    rows = rows - centre
    left, values, right = np.linalg.svd(rows.T @ (targets - target), full_matrices=False)
    turn = left @ right * (values.sum() / max((rows**2).sum(), 1e-30))
    return np.asarray(np.vstack([turn, target - centre @ turn]), np.float32)


def _side_by_side(inputs: np.ndarray, outputs: np.ndarray, output_weight: float) -> np.ndarray:
    """Return W and O at unit length, O with its weight, side by side."""
    return np.hstack([unit(inputs), np.float32(output_weight) * unit(outputs)])


def _sums(form: str, halves: Halves) -> tuple[np.ndarray, np.ndarray]:
    """Return the means, shape (2, vector_size), and, if components need it, the covariance of first words."""
    size = halves.inputs.shape[1]
    total, products, n_rows = np.zeros(2 * size), np.zeros((2 * size, 2 * size)), 0
    for inputs, outputs in halves.blocks(0 if form == "input" else FITTED):
        if form == "both":
            both = _side_by_side(inputs, outputs, halves.output_weight)
        else:
            both = np.hstack([inputs, outputs])
        both = both[np.isfinite(both).all(axis=1)].astype(np.float64)
        total += both.sum(axis=0)
        n_rows += len(both)
        if form == "both":
            products += both.T @ both
    mean = total / max(1, n_rows)
    return mean.reshape(2, size).astype(np.float32), products / max(1, n_rows) - np.outer(mean, mean)


def unit(rows: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; rows of zeros stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, np.float32(1))[:, None], np.float32)
