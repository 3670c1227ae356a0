"""The loops of the classifier (Joulin et al. 2016), from ``_classifier``, for the instruction set in use.

A line's hidden vector is the mean of the rows of its words, their n-grams of characters and n-grams of words.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from wordvec_ca.kernels import isa
from wordvec_ca.kernels._classifier import (
    LOSSES,
    LineModel,
    RowMatrix,
    TextLines,
    TokenTypes,
    learn,
    predict,
)

__all__ = [
    "LOSSES",
    "LineModel",
    "RowMatrix",
    "TextLines",
    "TokenTypes",
    "load_classifier_loop",
    "predict_labels",
]


def predict_labels(
    lines: TextLines,
    inputs: RowMatrix,
    outputs: RowMatrix,
    n_labels: int,
    loss: int,
    k: int,
    threshold: float,
    tree: Any = None,
) -> tuple[Any, Any, Any]:
    """Return the k best labels of each line, their probabilities, and how many there are.

    Parameters
    ----------
    lines : TextLines
    inputs, outputs : RowMatrix
    n_labels : int
    loss : int
        fastText's number: see ``LOSSES``.
    k : int
    threshold : float
        Smallest probability of a returned label. As in fastText, returned probabilities are 1e-5 larger.
    tree : ndarray of shape (2, 2 * n_labels - 1), int32, optional
        For hs: the left and the right child of each node; the labels come first, the root last.

    Returns
    -------
    labels : ndarray of shape (n_lines, k), int32
    probabilities : ndarray of shape (n_lines, k), float32
    n_found : ndarray of shape (n_lines,), int32
        Number of labels found, at most k; -1 for a line without rows.
    """
    found: tuple[Any, Any, Any] = predict(lines, inputs, outputs, n_labels, loss, k, threshold, tree, isa())
    return found


def load_classifier_loop() -> Any:
    """Return ``_classifier.learn`` on the instruction set in use."""
    return partial(learn, isa=isa())
