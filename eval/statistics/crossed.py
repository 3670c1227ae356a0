"""Means of items that each depend on two units, such as analogy questions on two pairs of words.

"Athens Greece Oslo Norway" fails when either pair is badly placed. Every question that shares a pair with
it, on either side, depends on it. Resampling by the first pair alone ignores the dependence through the
second: in a simulation with the sections of questions-words (406 pairs) its standard error was half of the
true one, and 24 to 31 % of equal models were called different at a nominal 5 %.

The variance is the sum of the products of the residuals of all questions that share a pair (Aronow, Samii
and Assenova 2015, eq. 2; Fafchamps and Gubert 2007; Cameron, Gelbach and Miller 2011 for two sides that do
not mix). It needs no resampling, so its p-values have no floor. In the simulation it called 3.2 to 5.8 %
different. The pigeonhole bootstrap (Owen 2007) and the jackknife over pairs, which were tried too, were as
good where pairs matter and called 0 to .3 % different where they do not.

References
----------
Aronow, Samii and Assenova 2015, "Cluster-Robust Variance Estimation for Dyadic Data" (Political Analysis 23).
Fafchamps and Gubert 2007, "The formation of risk sharing networks" (Journal of Development Economics 83).
Cameron, Gelbach and Miller 2011, "Robust Inference With Multiway Clustering" (JBES 29).
Owen 2007, "The pigeonhole bootstrap" (Annals of Applied Statistics 1).
"""

from __future__ import annotations

import numpy as np


def standard_error_of_mean(values: np.ndarray, units: np.ndarray) -> tuple[float, int]:
    """Return the standard error of a mean over crossed units, and how many units there are."""
    n_items = len(values)
    distinct, unit = np.unique(units, return_inverse=True)
    n_units = len(distinct)
    if n_units < 2:
        return float("nan"), n_units
    unit = np.sort(unit.reshape(-1, 2), axis=1)
    residuals = values - values.mean()
    of_unit = np.bincount(unit[:, 0], residuals, n_units)
    crossed = unit[:, 0] != unit[:, 1]
    of_unit += np.bincount(unit[crossed, 1], residuals[crossed], n_units)
    # Two questions on the same two pairs are in the sums of both pairs: subtract them once.
    couple = np.unique(unit[crossed, 0] * n_units + unit[crossed, 1], return_inverse=True)[1]
    of_couple = np.bincount(couple, residuals[crossed])
    shared = (of_unit**2).sum() - (of_couple**2).sum()
    variance = max(shared, (residuals**2).sum()) * n_units / (n_units - 1)
    return float(np.sqrt(variance) / n_items), n_units
