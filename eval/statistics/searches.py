"""Figures of tasks with a random search inside: k-means, an HMM by EM, a network from random weights.

Two searches on the same vectors give different results: V-measures of induced parts of speech differ by
.03 (standard deviation), as much as models do. So such a task searches several times, its figure is the mean
over the searches, and the variance of this mean is added to the variance over items. The outcomes of searches
are columns of a table, (n_items, n_searches); other items are of shape (n_items,).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def n_searches(columns: Sequence[np.ndarray]) -> int:
    """Return the number of searches that gave the items; 1 if the task has no search inside."""
    return max((column.shape[1] for column in columns if column.ndim == 2), default=1)


def of_each_search(columns: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Return for each search its columns, all of shape (n_items,)."""
    return [
        [column[:, search] if column.ndim == 2 else column for column in columns]
        for search in range(n_searches(columns))
    ]


def variance_of_mean(figures: Sequence[float]) -> float:
    """Return the variance of the mean of the figures of several searches; 0 for one figure."""
    return float(np.var(figures, ddof=1)) / len(figures) if len(figures) > 1 else 0.0


def degrees_of_freedom(parts: Sequence[tuple[float, int]]) -> float:
    """Return the degrees of freedom of a sum of estimated variances (Satterthwaite 1946).

    Examples
    --------
    >>> degrees_of_freedom([(1.0, 10), (0.0, 3)])
    10.0

    References
    ----------
    Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components" (Biometrics 2).
    """
    total = math.fsum(variance for variance, _ in parts)
    squares = math.fsum(variance**2 / n for variance, n in parts if n > 0)
    return total**2 / squares if squares > 0 else float(max(n for _, n in parts))
