"""Rotates a model into the space of another, and several models into their mean space.

Two trainings of the same text differ by an arbitrary rotation, so vectors of two models can be compared only
after one is turned into the space of the other (orthogonal Procrustes: Schönemann 1966; for words in time:
Hamilton et al. 2016, section 3.2).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.vectors.keyed_vectors import KeyedVectors

# Largest number of successive fits; they converge in three or four.
ROUNDS = 10

# Share of the common words, those that move most, that the fit leaves out.
LEFT_OUT = 0.2


@dataclass(frozen=True)
class Fit:
    """How one model was rotated into the space of another.

    Attributes
    ----------
    rotation : ndarray of shape (vector_size, vector_size), float32
        Orthogonal matrix. Vectors of the first model multiplied by it are in the space of the second.
    words : int
        Number of common words.
    fitted : ndarray of shape (words,), bool
        For each common word, whether the rotation was fitted on it.
    cosines : ndarray of shape (words,), float32
        Cosine of the two vectors of each common word after rotation.
    """

    rotation: np.ndarray
    words: int
    fitted: np.ndarray
    cosines: np.ndarray

    def __str__(self) -> str:
        return (
            f"{self.words:,} common words, fitted on {int(self.fitted.sum()):,}; cosine of a word with "
            f"itself {self.cosines.mean():.3f} in the mean, {np.median(self.cosines):.3f} in the median"
        )


def directions(vectors: np.ndarray, *, centred: bool = True) -> np.ndarray:
    """Scale rows to unit length; if ``centred``, subtract their mean and scale again."""
    rows = _unit(np.asarray(vectors, np.float32))
    return _unit(rows - rows.mean(axis=0)) if centred else rows


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: np.ndarray = rows / np.where(lengths > 0, lengths, np.float32(1))
    return unit


def rotation(moved: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix R for which ``moved @ R`` is nearest to ``fixed``."""
    product = moved.T @ fixed  # not scipy's function: its BLAS takes 13 MB besides NumPy's
    left, _, right = np.linalg.svd(product.astype(np.float64))
    return np.asarray(left @ right, np.float32)


@one_blas_thread
def robust_fit(moved: np.ndarray, fixed: np.ndarray, *, left_out: float = LEFT_OUT) -> Fit:
    """Fit a rotation repeatedly, each time without the words that move most, until these are the same."""
    if not 0 <= left_out < 1:
        raise ValueError(f"left_out is {left_out}; it must be at least 0 and below 1")
    n_words = len(moved)
    n_fitted = max(1, round(n_words * (1 - left_out)))
    fitted = np.ones(n_words, bool)
    for _ in range(ROUNDS):
        turn = rotation(moved[fitted], fixed[fitted])
        cosines = np.einsum("ij,ij->i", moved @ turn, fixed)
        agree = np.zeros(n_words, bool)
        agree[np.argsort(-cosines, kind="stable")[:n_fitted]] = True
        if (agree == fitted).all():
            break
        fitted = agree
    return Fit(turn, n_words, fitted, cosines.astype(np.float32))


@one_blas_thread
def mean_space(models: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Turn models of the same words into one space, that of their mean (Procrustes: Gower 1975)."""
    if not models:
        raise ValueError("there is no model to take the mean of")
    mean = np.asarray(models[0], np.float32)
    for _ in range(ROUNDS):
        turns = [rotation(model, mean) for model in models]
        total = np.zeros(mean.shape, np.float32)
        for model, turn in zip(models, turns, strict=True):
            total += model @ turn
        former, mean = mean, total / np.float32(len(models))
        if np.linalg.norm(mean - former) <= 1e-4 * np.linalg.norm(mean):
            break
    return mean, turns


@one_blas_thread
def align(
    moved: KeyedVectors | str | os.PathLike[str],
    fixed: KeyedVectors | str | os.PathLike[str],
    *,
    left_out: float = LEFT_OUT,
) -> tuple[KeyedVectors, Fit]:
    """Rotate the vectors of one model into the space of another; cosines within the model do not change.

    Parameters
    ----------
    moved : KeyedVectors or path
        The model to rotate.
    fixed : KeyedVectors or path
        The model whose space the result has.
    left_out : float, default 0.2
        Share of the common words, those that move most, on which the rotation is not fitted.

    Returns
    -------
    aligned : KeyedVectors
        All words of ``moved`` with their rotated vectors and counts, without n-grams.
    fit : Fit
        The rotation, and how well it fits.

    Raises
    ------
    DataError
        The models differ in dimensions, or have too few words in common to fit a rotation.
    """
    moved, fixed = (
        model if isinstance(model, KeyedVectors) else KeyedVectors.load(model) for model in (moved, fixed)
    )
    if moved.vector_size != fixed.vector_size:
        raise DataError(
            f"the models have {moved.vector_size} and {fixed.vector_size} dimensions; "
            "only vectors of equal size can be aligned"
        )
    common = [word for word in moved.index_to_key if word in fixed.key_to_index]
    if len(common) < 2 * moved.vector_size:
        raise DataError(
            f"the models have {len(common):,} words in common; a rotation of {moved.vector_size} dimensions "
            f"needs {2 * moved.vector_size:,} or more. Are they of one language and split alike?"
        )
    ours = directions(moved.vectors[[moved.key_to_index[word] for word in common]], centred=False)
    theirs = directions(fixed.vectors[[fixed.key_to_index[word] for word in common]], centred=False)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise DataError("a vector holds NaN or infinity: such models cannot be aligned")
    fit = robust_fit(ours, theirs, left_out=left_out)
    turned = np.asarray(moved.vectors @ fit.rotation, np.float32)
    return KeyedVectors(moved.index_to_key, turned, moved.counts, {"aligned": True}), fit
