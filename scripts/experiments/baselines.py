"""Baselines that are missing in the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

STRENGTHS = np.logspace(-2, 1, 7)


def bag_of_words(strength: float | None = None, **options: Any) -> Any:
    """Return an L2 logistic regression on word occurrences; C comes from 5-fold cross-validation by default.

    Further options are those of :class:`sklearn.feature_extraction.text.CountVectorizer`.
    """
    words = CountVectorizer(binary=True, **({"token_pattern": r"\S+"} | options))
    regression = LogisticRegression(C=strength or 1.0, solver="liblinear")
    if strength is None:
        regression = GridSearchCV(regression, {"C": STRENGTHS}, cv=5)
    return make_pipeline(words, regression)
