"""Multinomial logistic regression with an L2 penalty: scikit-learn's, stopped early without a warning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from wordvec_ca.errors import DataError

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


def fit(
    features: np.ndarray,
    classes: np.ndarray,
    C: float,
    *,
    steps: int = 200,
    start: LogisticRegression | None = None,
) -> LogisticRegression:
    """Fit a classifier."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if (classes == classes[:1]).all():
        raise DataError("all training examples have the same class: a classifier needs two or more")
    model = start or LogisticRegression(warm_start=True)
    model.set_params(C=C, max_iter=steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # scikit-learn takes many classes for a regression; tags of a few sentences are many, and classes
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model.fit(features, classes)
    return model
