"""Intervals over words and over models together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wordvec_ca.vectors import LEVEL, WIDENING


def jackknife_variance(without_one: np.ndarray) -> float:
    """Return the variance of a figure over independent words, from the figures with one word left out.

    References
    ----------
    Efron and Stein 1981, "The Jackknife Estimate of Variance" (Annals of Statistics 9).
    """
    n = len(without_one)
    known = without_one[np.isfinite(without_one)]
    return float((n - 1) * known.var()) if len(known) > 1 else math.nan


def crossed_interval(
    value: float, variance: float, degrees: int, of_models: Sequence[float]
) -> tuple[float, float]:
    """Return the interval in which the figure would be for other words of the same kind and other text.

    The variances over words and over models are added, with degrees of freedom after Satterthwaite 1946.
    """
    from scipy.special import stdtrit

    parts = [(variance, degrees)] if degrees > 0 and math.isfinite(variance) else []
    if len(of_models) > 1:
        parts.append((WIDENING**2 * float(np.var(of_models, ddof=1)), len(of_models) - 1))
    total = sum(part for part, _ in parts)
    if not parts:
        return math.nan, math.nan
    if total == 0:
        return value, value
    df = total**2 / sum(part**2 / n for part, n in parts)
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * math.sqrt(total)
    return value - half, value + half
